"""What thousands of shifted tables did to one or more models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.design.encode.schema import Level
from surefoot.design.write.output_frame import build_frame
from surefoot.design.write.shown_table import shown_table
from surefoot.shift.stress.metrics import REWARDS

# Lines that are printed: a screen full, with the headings of all scenarios.
_LISTED = 18


@dataclass(frozen=True, eq=False)
class StressReport:
    """Metrics of models on perturbed tables.

    Attributes
    ----------
    values : ndarray of shape (n_scenarios, n_models, n_metrics, n_sets)
        Every metric on every set. Set k of a scenario is the same table for all models.
    unshifted : ndarray of shape (n_models, n_metrics)
        The same metrics on the table as it was.
    scenarios, models, metrics : tuple of str
        Names along the axes.
    quantiles : tuple of float
        Those that ``table`` shows.
    library : str or None
        Data frame library of ``table``.
    """

    values: FloatArray
    unshifted: FloatArray
    scenarios: tuple[str, ...]
    models: tuple[str, ...]
    metrics: tuple[str, ...]
    quantiles: tuple[float, ...] = (0.05, 0.5, 0.95)
    library: str | None = None

    @property
    def n_sets(self) -> int:
        return int(self.values.shape[3])

    def of(self, metric: str, *, model: str | None = None, scenario: str | None = None) -> FloatArray:
        """One metric of one model on all sets of a scenario.

        Parameters
        ----------
        metric : str
        model, scenario : str, optional
            None means the first one.

        Returns
        -------
        ndarray of shape (n_sets,)
        """
        at = [
            _place(names, names[0] if name is None else name, what)
            for names, name, what in (
                (self.scenarios, scenario, "scenario"),
                (self.models, model, "model"),
                (self.metrics, metric, "metric"),
            )
        ]
        chosen: FloatArray = self.values[at[0], at[1], at[2]]
        return chosen

    @cached_property
    def table(self) -> Any:
        """One line per scenario, metric and model, as a data frame of the user's library.

        Columns ``scenario``, ``metric``, ``model``, ``unshifted``, ``mean``, ``worst`` (the least AUC and accuracy, the
        greatest calibration error and log loss) and one per quantile, such as ``5%``.
        """
        names: list[tuple[Level, Level, Level]] = []
        rows = []
        for scenario, metric, model, unshifted, values in self._lines():
            names.append((scenario, metric, model))
            rows.append([unshifted, *self._summary(metric, values)])
        numbers = np.array(rows, dtype=np.float64)
        columns: dict[str, Any] = {
            label: [line[at] for line in names] for at, label in enumerate(("scenario", "metric", "model"))
        }
        columns |= {label: numbers[:, at] for at, label in enumerate(self._headings)}
        return build_frame(columns, self.library)

    def to_frame(self) -> Any:
        """The same as ``table``."""
        return self.table

    def _repr_html_(self) -> str:
        heads = ("scenario", "metric", "model", *self._headings)
        rows = [
            (scenario, metric, model, *(f"{value:.4f}" for value in (unshifted, *self._summary(metric, values))))
            for scenario, metric, model, unshifted, values in self._lines()
        ]
        return shown_table(self._title, heads, rows)

    @property
    def _title(self) -> str:
        return f"Stress test: {self.n_sets} shifted tables" + (" per scenario" if len(self.scenarios) > 1 else "")

    @property
    def _headings(self) -> tuple[str, ...]:
        return ("unshifted", "mean", "worst", *(f"{100 * level:g}%" for level in self.quantiles))

    def _lines(self) -> list[tuple[str, str, str, float, FloatArray]]:
        return [
            (scenario, metric, model, float(self.unshifted[m, k]), self.values[s, m, k])
            for s, scenario in enumerate(self.scenarios)
            for k, metric in enumerate(self.metrics)
            for m, model in enumerate(self.models)
        ]

    def _summary(self, metric: str, values: FloatArray) -> list[float]:
        worst = values.min() if metric in REWARDS else values.max()
        return [float(values.mean()), float(worst), *np.quantile(values, self.quantiles).tolist()]

    def __str__(self) -> str:
        return self._text(None)

    def __repr__(self) -> str:
        return self._text(_LISTED)

    def _text(self, most: int | None) -> str:
        """The lines of the table; at most so many of them."""
        width = max(len("model"), *map(len, self.models))
        text = [self._title]
        before: tuple[str, str] | None = None
        lines = self._lines()
        for scenario, metric, model, unshifted, values in lines[:most]:
            if before is None or before[0] != scenario:
                heading = "".join(f"{label:>11}" for label in self._headings)
                text += ["", f"{scenario + ' shifts' if scenario == 'expected' else scenario}"]
                text += [f"  {'metric':<9} {'model':<{width}}{heading}"]
            shown = metric if before != (scenario, metric) else ""
            numbers = "".join(f"{value:>11.4f}" for value in (unshifted, *self._summary(metric, values)))
            text.append(f"  {shown:<9} {model:<{width}}{numbers}")
            before = (scenario, metric)
        if most is not None and len(lines) > most:
            text.append(f"  ... and {len(lines) - most:,} more lines: print it, or see to_frame()")
        return "\n".join(text)


def _place(names: Sequence[str], name: str, what: str) -> int:
    if name not in names:
        raise ValueError(f"{what} = {name!r} is not in this report; it has {', '.join(map(repr, names))}.")
    return list(names).index(name)
