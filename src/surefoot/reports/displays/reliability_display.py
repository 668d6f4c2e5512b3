"""A reliability diagram with intervals: what was predicted, and what happened."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.design.encode.labels import encode_labels
from surefoot.exceptions import InvalidTableError
from surefoot.reports.displays.axes_display import PlainDisplay
from surefoot.reports.displays.canvas import BLUE, GREY, INK, plain
from surefoot.reports.reliability import Reliability, reliability_of
from surefoot.sklearn_api.own_rows import own_rows


@dataclass(eq=False)
class ReliabilityDisplay(PlainDisplay):
    """Observed shares against predicted probabilities, with 95 % intervals; made by :meth:`from_estimator`.

    Attributes
    ----------
    bins : Reliability
        ``predicted``, ``observed``, ``low``, ``high`` and ``weight`` of each group of rows.
    name : str
        What the legend calls the model.
    positive : str
        Name of the positive class.
    ax_, figure_ : matplotlib objects
        Set by :meth:`plot`, like the two below.
    points_ : matplotlib.collections.PathCollection
    intervals_ : matplotlib.container.ErrorbarContainer
    """

    bins: Reliability
    name: str = ""
    positive: str = ""
    points_: Any = field(default=None, init=False, repr=False)
    intervals_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, n_bins: int = 10, name: str = "", ax: Any = None
    ) -> Self:
        """Draw a fitted classifier on a table.

        Parameters
        ----------
        estimator : fitted binary classifier with ``predict_proba``
        X : table
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), optional
        n_bins : int, default=10
            Most groups of rows; rows of equal probability are never parted.
        name : str, default=""
            For the legend; by default the class of the estimator.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ReliabilityDisplay
        """
        probability = np.asarray(estimator.predict_proba(own_rows(X)), dtype=np.float64)[:, 1]
        return cls.from_predictions(
            y,
            probability,
            classes=estimator.classes_,
            sample_weight=sample_weight,
            n_bins=n_bins,
            name=name or type(estimator).__name__,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        classes: Any = None,
        sample_weight: Any = None,
        n_bins: int = 10,
        name: str = "",
        ax: Any = None,
    ) -> Self:
        """Draw probabilities that somebody predicted.

        Parameters
        ----------
        y_true : array-like of shape (n_rows,)
        y_prob : array-like of shape (n_rows,)
            Probabilities of the second class.
        classes : pair of labels, optional
            By default the two labels in sorted order.
        sample_weight, n_bins, name, ax
            As in :meth:`from_estimator`.

        Returns
        -------
        ReliabilityDisplay
        """
        labels = encode_labels(y_true, classes=classes)
        probability = np.asarray(y_prob, dtype=np.float64)
        weights = np.ones(labels.signs.size) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        _require_rows(probability, weights, labels.signs.size)
        if not (isinstance(n_bins, (int, np.integer)) and n_bins >= 1):
            raise ValueError(f"n_bins = {n_bins!r} must be a whole number of at least 1.")
        bins = reliability_of(probability, labels.signs > 0, weights, int(n_bins))
        return cls(bins, name, str(np.asarray(labels.classes).tolist()[1])).plot(ax=ax)

    def _size(self) -> tuple[float, float]:
        return 5.2, 5.0

    def _draw(self, ax: Any) -> None:
        bins = self.bins
        spread = np.maximum([bins.observed - bins.low, bins.high - bins.observed], 0.0)
        ax.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1, label="as predicted")
        self.intervals_ = ax.errorbar(
            bins.predicted, bins.observed, yerr=spread, fmt="none", ecolor=INK, elinewidth=1, capsize=2, zorder=3
        )
        sizes = 20 + 100 * bins.weight / bins.weight.max()
        label = plain(self.name) if self.name else "groups of rows"
        self.points_ = ax.scatter(bins.predicted, bins.observed, s=sizes, color=BLUE, alpha=0.85, zorder=4, label=label)
        of = f" of {plain(self.positive)}" if self.positive else ""
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel=f"predicted probability{of}", ylabel="observed share")
        ax.set_aspect("equal")
        ax.legend(loc="upper left", frameon=False)


def _require_rows(probability: FloatArray, weights: FloatArray, count: int) -> None:
    for name, values in (("y_prob", probability), ("sample_weight", weights)):
        if values.shape != (count,):
            raise InvalidTableError(f"{name} has shape {values.shape}, but there are {count} labels.")
    wrong = np.flatnonzero(~((probability >= 0) & (probability <= 1)))
    if wrong.size:
        raise InvalidTableError(f"y_prob[{wrong[0]}] = {probability[wrong[0]]} is no probability of the second class.")
    if not (np.all(np.isfinite(weights) & (weights >= 0)) and weights.sum() > 0):
        raise InvalidTableError("sample_weight must hold finite weights at or above 0, and not only 0.")
