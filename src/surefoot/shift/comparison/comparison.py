"""Two tables compared: which columns shifted, what radius that amounts to, and what it did to a model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from html import escape
from textwrap import wrap
from typing import Any

import numpy as np

from surefoot.design.encode.schema import Level
from surefoot.design.write.output_frame import build_frame
from surefoot.reports.displays.comparison_display import ComparisonDisplay
from surefoot.shift.comparison.column_line import ColumnLine
from surefoot.shift.comparison.column_pairs import price_text, shown_levels
from surefoot.shift.comparison.decomposition import Decomposition
from surefoot.shift.comparison.joint_chance import JointChance
from surefoot.shift.comparison.observed_radius import ObservedRadius

# Columns of the printed form before it says "and so many more", and letters of their names, of changes, and of a line of notes.
_LISTED, _NAME, _CHANGE, _NOTE = 12, 24, 34, 60


@dataclass(frozen=True, eq=False)
class Comparison:
    """What :func:`~surefoot.compare` found out about two tables; prints readably.

    Attributes
    ----------
    lines : tuple of ColumnLine
        One per column, by falling distance beyond chance. :attr:`columns` is the same as a data frame.
    radius : ObservedRadius
        What radius the shift amounts to; ``str(radius)`` says it in a sentence, ``float(radius)`` is the number.
    decomposition : Decomposition or None
        Where the change of the model's loss comes from; None unless model and labels of both tables were given.
    joint : JointChance
        The cheapest plan between samples of whole rows.
    n_rows : pair of int
    n_chance_rows : pair of int
        Rows of each table that were exchanged to see what chance does.
    model_name : str or None
    missing, extra : tuple of str
        Columns that the second table lacks, and columns of it that were not compared.
    lacking : tuple of str
        Columns of the model that the first table lacks.
    retyped : tuple of str
        Columns of numbers in one table and of text or truth values in the other, which were not compared.
    identifiers : tuple of str
        Columns with a value of its own in every row, or nearly so, which were not compared.
    unknown : tuple of str
        Columns of either table that the model was not fitted to, which were not compared.
    unjudged : str
        Why there is no decomposition although model and labels were given: the model refuses a level or a gap, or lacks a
        column.
    library : str or None
        Data frame library of ``columns``.
    """

    lines: tuple[ColumnLine, ...]
    radius: ObservedRadius
    decomposition: Decomposition | None
    joint: JointChance
    n_rows: tuple[int, int]
    n_chance_rows: tuple[int, int]
    model_name: str | None = None
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    retyped: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    unjudged: str = ""
    library: str | None = None

    @cached_property
    def columns(self) -> Any:
        """One line per column, those that shifted most first, as a data frame of the user's library.

        ``column``, ``kind``, ``change`` (in words), ``distance`` (the least price of the change per row), ``by_chance`` (95 %
        quantile of two samples of one population), ``shift`` (the distance without chance), ``p_value`` (for all columns
        together), ``shifted``, ``joint_cost``, ``joint_share`` and ``joint_by_chance`` (in the cheapest plan between whole
        rows), ``price`` and ``note``.
        """
        texts = {
            label: [getattr(line, name) for line in self.lines]
            for label, name in (("column", "name"), ("kind", "kind"), ("change", "change"))
        }
        numbers = ("distance", "by_chance", "shift", "p_value")
        content: dict[str, Any] = dict(texts)
        content |= {name: self._numbers(name) for name in numbers}
        content["shifted"] = np.array([line.shifted for line in self.lines])
        content |= {name: self._numbers(name) for name in ("joint_cost", "joint_share", "joint_by_chance", "price")}
        content["note"] = [line.note for line in self.lines]
        return build_frame(content, self.library)

    @property
    def shifted(self) -> tuple[str, ...]:
        """Names of the columns that shifted beyond chance."""
        return tuple(line.name for line in self.lines if line.shifted)

    @property
    def beyond_chance(self) -> bool:
        """Whether the tables differ by more than chance: in a column, in the labels, or in how columns go together."""
        return self.radius.beyond_chance or bool(self.shifted)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What could not be compared or judged, in sentences."""
        found = []
        for names, told in (
            (self.missing, "The second table lacks"),
            (self.lacking, "The first table lacks, and the model needs,"),
            (
                self.retyped,
                "Not compared, because the type changed, numbers in one table and text or truth values in the other:",
            ),
            (self.identifiers, "Not compared, because every row or nearly has its own value, as in an identifier:"),
            (self.extra, "Not compared, because only the second table has"),
            (self.unknown, "Not compared, because the model was not fitted to"),
        ):
            if names:
                found.append(f"{told} {'the column' if len(names) == 1 else 'the columns'} {shown_levels(names, 5)}.")
        return (*found, self.unjudged) if self.unjudged else tuple(found)

    def to_frame(self) -> Any:
        """Every number in long form, for a log that grows by one comparison a month.

        Columns ``part`` ("column", "radius", "loss"), ``name``, ``value``, ``low``, ``high`` (of intervals, and for columns
        from 0 to what chance reaches) and ``p_value``; numbers that do not exist are NaN.
        """
        nan = math.nan
        rows: list[tuple[str, str, float, float, float, float]] = [
            ("column", line.name, line.distance, 0.0, line.by_chance, line.p_value) for line in self.lines
        ]
        radius = self.radius
        rows += [
            ("radius", "estimate", radius.estimate, radius.low, radius.high, radius.p_value),
            ("radius", "proven", nan, radius.lower, radius.upper, nan),
            ("radius", "joint plan", self.joint.cost, 0.0, self.joint.by_chance, self.joint.p_value),
        ]
        if radius.model_radius is not None:
            rows.append(("radius", "model", radius.model_radius, nan, nan, nan))
        if self.decomposition is not None:
            found = self.decomposition
            rows += [
                ("loss", "first table", found.loss_a, nan, nan, nan),
                ("loss", "second table", found.loss_b, nan, nan, nan),
            ]
            for name in ("change", "inputs", "relation"):
                part = getattr(found, name)
                rows.append(("loss", name, *((nan,) * 3 if part is None else (part.value, part.low, part.high)), nan))
            drift = None if found.calibration is None else found.calibration.drift
            if drift is not None:
                rows.append(("loss", "calibration drift", drift.value, drift.low, drift.high, nan))
        names: dict[str, list[Level]] = {"part": [row[0] for row in rows], "name": [row[1] for row in rows]}
        numbers = np.array([row[2:] for row in rows], dtype=np.float64)
        heads = ("value", "low", "high", "p_value")
        return build_frame({**names, **{head: numbers[:, at] for at, head in enumerate(heads)}}, self.library)

    def plot(self, ax: Any = None, *, max_columns: int = 12) -> ComparisonDisplay:
        """Draw the distances of the columns, and what chance reaches.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        max_columns : int, default=12
            So many of the columns that shifted most are shown.

        Returns
        -------
        ComparisonDisplay
        """
        return ComparisonDisplay.from_comparison(self, max_columns=max_columns, ax=ax)

    def __repr__(self) -> str:
        lines = [self._heading(), "", *self._table(), "", f"Radius: {self.radius}", f"  {self.radius.proven}"]
        lines += [f"  {told}" for told in self._joint_words()]
        if self.decomposition is not None:
            lines += ["", f"Model: {self.decomposition}"]
        if self.remarks:
            lines += ["", *self.remarks]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        heads, rows = self._cells()
        head = "".join(f"<th>{escape(text)}</th>" for text in heads)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        said = [f"<b>Radius:</b> {escape(str(self.radius))}", escape(self.radius.proven), *map(escape, self._joint_words())]
        if self.decomposition is not None:
            said.append("<b>Model:</b> " + escape(str(self.decomposition)).replace("\n", "<br/>"))
        said += map(escape, self.remarks)
        more = "".join(f"<p>{text}</p>" for text in said)
        return (
            f"<div><p>{escape(self._heading())}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f"<p>{escape(self._legend())}</p>{more}</div>"
        )

    def _numbers(self, name: str) -> Any:
        return np.array([getattr(line, name) for line in self.lines], dtype=np.float64)

    def _heading(self) -> str:
        whose = "prices of a default model" if self.model_name is None else f"prices of the {self.model_name}"
        return f"Comparison of {self.n_rows[0]:,} with {self.n_rows[1]:,} rows, {len(self.lines):,} columns ({whose})"

    def _cells(self) -> tuple[tuple[str, ...], list[list[str]]]:
        heads = ("", "column", "change", "distance", "by chance", "p", "")
        rows = [
            [
                "*" if line.shifted else "",
                _short(line.name, _NAME),
                _short_change(line.change),
                price_text(line.distance),
                price_text(line.by_chance),
                f"{line.p_value:.2g}",
                " ".join(line.note.split()),
            ]
            for line in self._listed
        ]
        return heads, rows

    @property
    def _listed(self) -> tuple[ColumnLine, ...]:
        # "and 1 more" would take the room of that one.
        return self.lines if len(self.lines) == _LISTED + 1 else self.lines[:_LISTED]

    def _table(self) -> list[str]:
        heads, rows = self._cells()
        widths = [max(len(row[at]) for row in (heads, *rows)) for at in range(len(heads) - 1)]
        left = (True, True, True, False, False, False)
        shown = []
        for row in (heads, *rows):
            cells = [cell.ljust(w) if flush else cell.rjust(w) for cell, w, flush in zip(row, widths, left, strict=False)]
            # A note goes on below itself: what stands at its end may be the figure that matters.
            head, *more = wrap(row[-1], _NOTE) or [""]
            shown.append("  ".join([*cells, head]).rstrip())
            shown += [" " * (sum(widths) + 2 * len(widths)) + text for text in more]
        if len(self.lines) > len(self._listed):
            shown.append(f"   and {len(self.lines) - len(self._listed):,} more columns, which shifted less")
        return [*shown, self._legend()]

    def _legend(self) -> str:
        return (
            f"* beyond chance at the level {self.radius.level:g}, all columns together; "
            "by chance: 95 of 100 pairs of samples of one population are nearer"
        )

    def _joint_words(self) -> list[str]:
        joint = self.joint
        told = (
            f"Whole rows, {joint.n_rows:,} of each: the cheapest plan costs {price_text(joint.cost)}, by chance "
            f"{price_text(joint.by_chance)} (p = {joint.p_value:.2g})."
        )
        only = self.radius.beyond_chance and not self.shifted
        return [told, *(["No column shifted alone, but how columns go together has changed."] if only else [])]


def _short(text: str, most: int) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= most else one_line[: most - 3] + "..."


def _short_change(text: str) -> str:
    """A change whose figures stand: of a long level some letters are enough."""
    if len(text) <= _CHANGE:
        return _short(text, _CHANGE)
    level, *figures = text.rsplit(" ", 3)
    end = " ".join(figures)
    return f"{_short(level, _CHANGE - 1 - len(end))} {end}"
