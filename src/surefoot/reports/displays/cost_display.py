"""A learned cost as a picture: its entries with all costs that explain as much, or, of two entries, the cone of those costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np

from surefoot.inverse.estimator.cost_confidence import CostConfidence, cost_confidence
from surefoot.inverse.estimator.cost_names import cost_names
from surefoot.reports.displays.axes_display import AxesDisplay, require_kind
from surefoot.reports.displays.canvas import BLUE, GREY, ORANGE, plain
from surefoot.sklearn_api.proven_model import refitted

_KINDS = ("entries", "cone")
# Ends of ranges are drawn up to this many lengths of the cost.
_FAR = 2.0


@dataclass(eq=False)
class CostDisplay(AxesDisplay):
    """The entries of a learned cost at length 1, with ranges and bands, or its cone; made by :meth:`from_estimator`.

    Attributes
    ----------
    confidence : CostConfidence
        What is known about the cost.
    names : list of str
        What its entries price.
    max_entries : int
        So many of the largest entries are drawn.
    ax_, figure_ : matplotlib objects
        Set by :meth:`plot`, like the others.
    points_ : matplotlib.collections.PathCollection
        The entries, or the arrow's end of the cost.
    ranges_, bands_ : list of matplotlib artists
        Ranges of all costs that explain everything (the cone), and bands of refits; empty where there are none.
    """

    confidence: CostConfidence
    names: list[str]
    max_entries: int = 20
    points_: Any = field(default=None, init=False, repr=False)
    ranges_: list[Any] = field(default_factory=list, init=False, repr=False)
    bands_: list[Any] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.names) != self.confidence.cost.size:
            raise ValueError(f"there are {len(self.names)} names, but the cost has {self.confidence.cost.size} entries.")
        if self.max_entries < 1:
            raise ValueError(f"max_entries={self.max_entries!r} must be at least 1.")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        signals: Sequence[Any],
        responses: Sequence[Any],
        *,
        kind: str = "entries",
        names: Sequence[str] | None = None,
        max_entries: int = 20,
        n_resamples: int = 30,
        random_state: int | np.random.Generator | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the cost of a fitted model.

        Parameters
        ----------
        estimator : fitted InverseOptimizer or InverseOptimizerCV
        signals, responses
            The observations it was fitted to.
        kind : {"entries", "cone"}, default="entries"
            "cone" is for costs of two entries: the plane of both, with every cost that explains all observations.
        names : sequence of str, optional
            What the entries price; by default what the forward problem calls them.
        max_entries : int, default=20
            So many of the largest entries are drawn.
        n_resamples : int, default=30
            Refits for the bands; 0 for no bands.
        random_state : int, numpy.random.Generator or None, default=None
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        CostDisplay
        """
        require_kind(kind, _KINDS)
        model = refitted(estimator)
        band = "bootstrap" if n_resamples else None
        trust = cost_confidence(model, signals, responses, band=band, n_resamples=n_resamples or 2, random_state=random_state)
        return cls.from_confidence(trust, names=names or cost_names(model), kind=kind, max_entries=max_entries, ax=ax)

    @classmethod
    def from_confidence(
        cls,
        confidence: CostConfidence,
        *,
        names: Sequence[str] | None = None,
        kind: str = "entries",
        max_entries: int = 20,
        ax: Any = None,
    ) -> Self:
        """Draw what :func:`surefoot.inverse.cost_confidence` has found already."""
        given = [f"entry {k}" for k in range(confidence.cost.size)] if names is None else [str(name) for name in names]
        return cls(confidence, given, max_entries).plot(kind=kind, ax=ax)

    def plot(self, *, kind: str = "entries", ax: Any = None) -> Self:
        """Draw once more.

        Parameters
        ----------
        kind : {"entries", "cone"}, default="entries"
        ax : matplotlib.axes.Axes, optional
            Where; a new figure by default.

        Returns
        -------
        CostDisplay
        """
        require_kind(kind, _KINDS)
        if kind == "cone" and self.confidence.cost.size != 2:
            raise ValueError(
                f"kind='cone' draws costs of two entries, and this one has {self.confidence.cost.size}; use kind='entries'."
            )
        rows = min(self.max_entries, self.confidence.cost.size)
        size = (4.6, 4.6) if kind == "cone" else (6.4, 1.3 + 0.32 * rows)
        return self._plot_on(ax, size, partial(self._draw, kind))

    def _draw(self, kind: str, ax: Any) -> None:
        self.ranges_, self.bands_ = [], []
        if kind == "cone":
            self._cone(ax)
        else:
            self._entries(ax)

    def _entries(self, ax: Any) -> None:
        trust = self.confidence
        order = np.argsort(-np.abs(trust.cost), kind="stable")[: self.max_entries]
        places = np.arange(order.size)
        ax.axvline(0.0, color=GREY, linewidth=0.8)
        if np.isfinite(trust.cone_degrees):
            least, most = (np.clip(part[order], -_FAR, _FAR) for part in (trust.least, trust.most))
            label = "all costs that explain everything"
            self.ranges_ = [ax.barh(places, most - least, left=least, height=0.5, color=BLUE, alpha=0.25, label=label)]
        if np.isfinite(trust.low).all():
            label = f"{trust.level:.0%} of refits" if trust.band == "bootstrap" else "refits without one observation"
            self.bands_ = [ax.hlines(places, trust.low[order], trust.high[order], color=ORANGE, linewidth=2, label=label)]
        self.points_ = ax.scatter(trust.cost[order], places, color=BLUE, s=30, zorder=3, label="learned")
        ax.use_sticky_edges = False
        ax.set_yticks(places, [plain(self.names[at]) for at in order.tolist()])
        ax.invert_yaxis()
        left_out = trust.cost.size - order.size
        ax.set_xlabel("cost at length 1" + (f" ({left_out:,} smaller entries left out)" if left_out else ""))
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.legend(
            frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.45 / (1.3 + 0.32 * order.size)), ncols=3
        )

    def _cone(self, ax: Any) -> None:
        trust = self.confidence
        middle = float(np.arctan2(trust.cost[1], trust.cost[0]))
        if np.isfinite(trust.cone_degrees):
            low, high = self._ends()
            arc = np.linspace(middle + low, middle + high, 91)
            xs, ys = np.append(0.0, np.cos(arc)), np.append(0.0, np.sin(arc))
            label = "all costs that explain everything"
            self.ranges_ = ax.fill(xs, ys, color=BLUE, alpha=0.25, linewidth=0, label=label)
        ax.plot([0.0, trust.cost[0]], [0.0, trust.cost[1]], color=BLUE, linewidth=1.8)
        self.points_ = ax.scatter(*trust.cost, color=BLUE, s=34, zorder=3, label="learned")
        ax.axhline(0.0, color=GREY, linewidth=0.8)
        ax.axvline(0.0, color=GREY, linewidth=0.8)
        ax.set(xlabel=plain(self.names[0]), ylabel=plain(self.names[1]), xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal")
        ax.set(xticks=[-1.0, -0.5, 0.0, 0.5, 1.0], yticks=[-1.0, -0.5, 0.0, 0.5, 1.0])
        ax.legend(frameon=False, fontsize=9, loc="best")

    def _ends(self) -> tuple[float, float]:
        """Angles of the cone's ends from the learned cost: of costs as long along it, entries tell how far aside they go."""
        trust = self.confidence
        aside = np.array([-trust.cost[1], trust.cost[0]])
        at = int(np.argmax(np.abs(aside)))  # the entry that moves most
        ends = (np.array([trust.least[at], trust.most[at]]) - trust.cost[at]) / aside[at]
        low, high = np.sort(np.arctan(ends)).tolist()
        return low, high
