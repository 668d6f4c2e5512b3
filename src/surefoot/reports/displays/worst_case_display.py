"""The worst shift as a picture: which moves it makes, and what part of the radius each takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.reports.displays.axes_display import PlainDisplay
from surefoot.reports.displays.canvas import BLUE, plain
from surefoot.reports.wording import risk_text


@dataclass(eq=False)
class WorstCaseDisplay(PlainDisplay):
    """Moves of the worst shift by falling part of the radius; made by :meth:`from_estimator`.

    Attributes
    ----------
    moves : list of str
        "channel: web to shop"; numeric columns are named alone.
    shares : ndarray of shape (n_moves,)
        Part of the radius that pays for the move.
    masses : ndarray of shape (n_moves,)
        Share of the table that makes it.
    radius, nominal_loss, expected_loss : float
    ax_, figure_ : matplotlib objects
        Set by :meth:`plot`, like ``bars_``.
    bars_ : matplotlib.container.BarContainer
    """

    moves: Sequence[str]
    shares: FloatArray
    masses: FloatArray
    radius: float
    nominal_loss: float
    expected_loss: float
    bars_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, radius: float | None = None, max_moves: int = 10, ax: Any = None
    ) -> Self:
        """Draw what would hurt a fitted model most.

        Parameters
        ----------
        estimator : RobustLogisticRegression, RobustLogisticRegressionCV or RiskScoreClassifier
        X : table
        y : array-like of shape (n_rows,)
        radius : float, optional
            How far the table may shift; None means as far as in the fit.
        max_moves : int, default=10
            So many of the largest moves are shown.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        WorstCaseDisplay
        """
        return cls.from_worst_case(estimator.worst_case(X, y, radius=radius), max_moves=max_moves, ax=ax)

    @classmethod
    def from_worst_case(cls, worst: Any, *, max_moves: int = 10, ax: Any = None) -> Self:
        """Draw a worst case that was computed already, by ``worst_case(X, y)`` of a model."""
        if not (isinstance(max_moves, (int, np.integer)) and max_moves >= 1):
            raise ValueError(f"max_moves = {max_moves!r} must be a whole number of at least 1.")
        summed = worst.summed()
        ends = zip(summed["feature"], summed["from"], summed["to"], strict=True)
        names = [str(name) if old is None and new is None else f"{name}: {old} to {new}" for name, old, new in ends]
        return cls(
            moves=names[:max_moves],
            shares=summed["budget"][:max_moves] / (worst.radius or 1.0),
            masses=summed["mass"][:max_moves],
            radius=worst.radius,
            nominal_loss=worst.nominal_loss,
            expected_loss=worst.expected_loss,
        ).plot(ax=ax)

    def _size(self) -> tuple[float, float]:
        return 6.4, 1.4 + 0.34 * max(len(self.moves), 1)

    def _draw(self, ax: Any) -> None:
        places = np.arange(len(self.moves))
        self.bars_ = ax.barh(places, self.shares, color=BLUE, height=0.7)
        for place, share, mass in zip(places, self.shares, self.masses, strict=True):
            ax.annotate(
                f"{risk_text(float(mass))} of rows", (share, place), (4, 0), textcoords="offset points", va="center", fontsize=8
            )
        ax.set_yticks(places, [plain(move) for move in self.moves])
        ax.invert_yaxis()
        ax.set_xlim(0.0, 1.25 * float(self.shares.max(initial=0.0)) or 1.0)
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        ax.set(
            xlabel="part of the radius",
            title=f"Mean log loss {self.nominal_loss:.3f} to {self.expected_loss:.3f} within radius {self.radius:g}",
        )
