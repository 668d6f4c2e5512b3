"""What all pictures share: the axes they are drawn on, and what :meth:`plot` leaves behind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from surefoot.reports.displays.canvas import axes


@dataclass(eq=False)
class AxesDisplay:
    """A picture on one pair of axes; in scikit-learn's manner ``plot`` sets ``ax_`` and ``figure_`` and returns the display."""

    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    def _plot_on(self, ax: Any, size: tuple[float, float], draw: Callable[[Any], None]) -> Self:
        """Draw on the axes given, or on a new figure of that size in inches."""
        ax = axes(ax, size)
        draw(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass(eq=False)
class PlainDisplay(AxesDisplay, ABC):
    """A display with one picture to show; subclasses say how large it is and how it is drawn."""

    def plot(self, ax: Any = None) -> Self:
        """Draw once more.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where; a new figure by default.

        Returns
        -------
        The display itself
        """
        return self._plot_on(ax, self._size(), self._draw)

    @abstractmethod
    def _size(self) -> tuple[float, float]:
        """Width and height of a new figure in inches."""

    @abstractmethod
    def _draw(self, ax: Any) -> None: ...


def require_kind(kind: str, kinds: Sequence[str]) -> None:
    """Raise unless a display has this kind of picture."""
    if kind not in kinds:
        raise ValueError(f"kind = {kind!r} must be one of {', '.join(map(repr, kinds))}.")
