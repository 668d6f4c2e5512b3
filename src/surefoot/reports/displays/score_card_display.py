"""A score card as a plot: its points, or the risk of every total."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np

from surefoot.design.binarize.binary_column import BinaryColumn
from surefoot.reports.card.score_card import ScoreCard
from surefoot.reports.displays.axes_display import AxesDisplay, require_kind
from surefoot.reports.displays.canvas import BLUE, GREY, ORANGE, plain
from surefoot.reports.wording import line_points_text, risk_name, totals_text

_KINDS = ("points", "risk")


@dataclass(eq=False)
class ScoreCardDisplay(AxesDisplay):
    """Points of a card as bars, or its table of risks; made by :meth:`from_estimator`.

    Attributes
    ----------
    card : ScoreCard
    ax_, figure_ : matplotlib objects
        Set by :meth:`plot`, like ``bars_``.
    bars_ : matplotlib.container.BarContainer
    """

    card: ScoreCard
    bars_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, kind: str = "points", title: str = "", meanings: Iterable[BinaryColumn] = (), ax: Any = None
    ) -> Self:
        """Draw the card of a fitted model.

        Parameters
        ----------
        estimator : RiskScoreClassifier
        kind : {"points", "risk"}, default="points"
        title, meanings
            As in :meth:`surefoot.RiskScoreClassifier.score_card`.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ScoreCardDisplay
        """
        return cls(estimator.score_card(title=title, meanings=meanings)).plot(kind=kind, ax=ax)

    @classmethod
    def from_card(cls, card: ScoreCard, *, kind: str = "points", ax: Any = None) -> Self:
        """Draw a card that is there already."""
        return cls(card).plot(kind=kind, ax=ax)

    def plot(self, *, kind: str = "points", ax: Any = None) -> Self:
        """Draw once more.

        Parameters
        ----------
        kind : {"points", "risk"}, default="points"
        ax : matplotlib.axes.Axes, optional
            Where; a new figure by default.

        Returns
        -------
        ScoreCardDisplay
        """
        require_kind(kind, _KINDS)
        rows = len(self.card.lines) if kind == "points" else 6
        return self._plot_on(ax, (6.0, 1.4 + 0.4 * max(rows, 1)), partial(self._draw, kind))

    def _draw(self, kind: str, ax: Any) -> None:
        if kind == "points":
            self._points(ax)
        else:
            self._risks(ax)
        ax.set_title(plain(self.card.heading))

    def _points(self, ax: Any) -> None:
        lines = self.card.lines
        points = np.array([line.points for line in lines], dtype=np.int64)
        places = np.arange(len(lines))
        self.bars_ = ax.barh(places, points, color=[BLUE if own > 0 else ORANGE for own in points], height=0.65)
        labels = [line_points_text(line.points, line.kind) for line in lines]
        ax.bar_label(self.bars_, labels=labels, padding=3, fontsize=9)
        ax.set_yticks(places, [plain(line.feature) for line in lines])
        ax.invert_yaxis()
        ax.axvline(0.0, color=GREY, linewidth=0.8)
        room = 0.35 * max(int(points.max(initial=0)) - int(points.min(initial=0)), 1)
        ax.set_xlim(
            min(int(points.min(initial=0)), 0) - (room if np.any(points < 0) else 0), max(int(points.max(initial=0)), 0) + room
        )
        ax.set_xlabel("points")

    def _risks(self, ax: Any) -> None:
        table = self.card.table
        places = np.arange(len(table.rows))
        risks = np.array([(row.low_risk + row.high_risk) / 2 for row in table.rows])
        self.bars_ = ax.bar(places, risks, color=BLUE, width=0.8)
        ax.set_xticks(places, [totals_text(row, table) for row in table.rows], rotation=0 if table.exact else 45)
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        ax.set(ylim=(0.0, 1.0), xlabel="total points", ylabel=plain(risk_name(self.card.classes[1])))
