"""Two tables compared, as a picture: how far each column moved, and how far chance alone would have moved it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.reports.displays.axes_display import PlainDisplay
from surefoot.reports.displays.canvas import GREY, INK, ORANGE, plain


@dataclass(eq=False)
class ComparisonDisplay(PlainDisplay):
    """Distances of the columns that shifted most; made by :meth:`from_comparison` or ``Comparison.plot``.

    Attributes
    ----------
    names : list of str
    distances, by_chance : ndarray of shape (n_columns,)
        The price of the change per row, and what two samples of one population reach in 95 of 100 cases.
    shifted : ndarray of shape (n_columns,)
        Whether the change is beyond chance.
    title : str
    ax_, figure_ : matplotlib objects
        Set by :meth:`plot`, like the two below.
    bars_ : matplotlib.container.BarContainer
    marks_ : matplotlib.collections.LineCollection
    """

    names: Sequence[str]
    distances: FloatArray
    by_chance: FloatArray
    shifted: BoolArray
    title: str = ""
    bars_: Any = field(default=None, init=False, repr=False)
    marks_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_comparison(cls, comparison: Any, *, max_columns: int = 12, ax: Any = None) -> Self:
        """Draw what :func:`surefoot.compare` found.

        Parameters
        ----------
        comparison : Comparison
        max_columns : int, default=12
            So many of the columns that shifted most are shown.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ComparisonDisplay
        """
        if not (isinstance(max_columns, (int, np.integer)) and max_columns >= 1):
            raise ValueError(f"max_columns = {max_columns!r} must be a whole number of at least 1.")
        lines = comparison.lines[:max_columns]
        radius = comparison.radius
        amount = f"a radius of {radius.estimate:.3g}" if radius.beyond_chance else "no shift beyond chance"
        own = "" if radius.model_radius is None else f"; the model's is {radius.model_radius:.3g}"
        return cls(
            names=[line.name for line in lines],
            distances=np.array([line.distance for line in lines]),
            by_chance=np.array([line.by_chance for line in lines]),
            shifted=np.array([line.shifted for line in lines], dtype=bool),
            title=f"Shift: {amount}{own}",
        ).plot(ax=ax)

    def _size(self) -> tuple[float, float]:
        return 6.4, 1.6 + 0.34 * len(self.names)

    def _draw(self, ax: Any) -> None:
        places = np.arange(len(self.names))
        colours = [ORANGE if own else GREY for own in self.shifted]
        self.bars_ = ax.barh(places, self.distances, color=colours, height=0.6)
        self.marks_ = ax.vlines(self.by_chance, places - 0.42, places + 0.42, color=INK, linewidth=1.6, label="reach of chance")
        ax.barh([0], [0], color=ORANGE, label="beyond chance")
        ax.set_yticks(places, [plain(name) for name in self.names])
        ax.invert_yaxis()
        ax.set_xlim(0.0, 1.1 * float(max(self.distances.max(), self.by_chance.max())) or 1.0)
        ax.set(xlabel="price of the change per row", title=self.title)
        ax.legend(frameon=False, loc="lower right")
