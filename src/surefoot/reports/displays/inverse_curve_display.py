"""Learning curves of inverse optimizers: an error over the number of examples learned from, mean and band over several runs.

matplotlib is optional; it is imported when a picture is drawn.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from surefoot.core.arrays import AnyArray, FloatArray
from surefoot.inverse.measures.decision_metrics import cost_angle, decision_error, relative_cost_difference, unpredicted_share
from surefoot.reports.displays.axes_display import PlainDisplay
from surefoot.reports.displays.canvas import plain

# Told apart in print and by people who see fewer colours (Okabe and Ito), then by their line.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#1b1f24")
_LINES = ("solid", "dashed", "dotted", "dashdot")
_LABELS = {
    "cost angle": "angle to the true cost (radians)",
    "decision error": "mean distance of decisions",
    "relative cost difference": "relative cost difference",
    "unpredicted share": "share of decisions not repeated",
}
_NEED_COST = ("cost angle", "relative cost difference")
_N_SIZES = 5


@dataclass(eq=False)
class InverseCurveDisplay(PlainDisplay):
    """Errors over the number of examples; made by :meth:`from_estimator`, or from errors computed elsewhere.

    Parameters
    ----------
    train_sizes : array-like of shape (n_sizes,)
        Numbers of examples, increasing.
    errors : mapping from name to array-like of shape (n_runs, n_sizes)
        One curve per name; runs differ by the order of the examples, or by the cost behind them. NaN: no answer.
    metric : str, default="error"
        What was measured; the label of the vertical axis.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Set by :meth:`plot`, like the two below.
    lines_ : dict from name to matplotlib.lines.Line2D
        Means over the runs.
    bands_ : dict from name to matplotlib.collections.FillBetweenPolyCollection
        From the 5th to the 95th percentile; none of a single run.
    """

    train_sizes: AnyArray
    errors: Mapping[str, AnyArray]
    metric: str = "error"
    lines_: dict[str, Any] = field(default_factory=dict, init=False, repr=False)
    bands_: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self.train_sizes = np.asarray(self.train_sizes, dtype=np.int64)
        self.errors = {name: np.atleast_2d(np.asarray(found, dtype=np.float64)) for name, found in self.errors.items()}
        if self.train_sizes.ndim != 1 or self.train_sizes.size == 0 or np.any(np.diff(self.train_sizes) <= 0):
            raise ValueError(f"train_sizes = {self.train_sizes.tolist()} must be a list of increasing whole numbers.")
        if not self.errors:
            raise ValueError("errors holds no curve.")
        for name, found in self.errors.items():
            if found.ndim != 2 or found.shape[1] != self.train_sizes.size or found.shape[0] == 0:
                raise ValueError(
                    f"the errors of {name!r} have shape {found.shape}: give one column for each of the {self.train_sizes.size} "
                    "numbers of examples."
                )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        signals: Sequence[Any],
        responses: AnyArray,
        test_signals: Sequence[Any],
        test_responses: AnyArray,
        *,
        metric: str = "decision error",
        cost: AnyArray | None = None,
        features: Callable[[Any, Any], AnyArray] | None = None,
        train_sizes: Sequence[int] | None = None,
        n_orders: int = 5,
        random_state: int | np.random.Generator | None = None,
        ax: Any = None,
    ) -> Self:
        """Fit to growing parts of the examples, measure on others, and draw.

        Parameters
        ----------
        estimator : InverseOptimizer, or mapping from name to InverseOptimizer
            Copied before each fit; the one given is not changed.
        signals, responses : sequence of n_examples signals, array-like of shape (n_examples, n_variables)
        test_signals, test_responses
            Likewise; never learned from.
        metric : {"decision error", "unpredicted share", "cost angle", "relative cost difference"}
        cost : array-like of shape (n_features,), optional
            The true cost; the last two metrics need it.
        features : callable, optional
            ``features(signal, response)`` where the true cost is not linear in the decision itself.
        train_sizes : sequence of int, optional
            By default five numbers up to all examples.
        n_orders : int, default=5
            Random orders of the examples; each is a run.
        random_state : int, numpy.random.Generator or None
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        InverseCurveDisplay
        """
        score = _scorer(metric, cost, features)
        named = dict(estimator) if isinstance(estimator, Mapping) else {type(estimator).__name__: estimator}
        rows = np.asarray(responses, dtype=np.float64)
        count = len(signals)
        if rows.shape[:1] != (count,):
            raise ValueError(f"there are {count} signals, but responses of shape {rows.shape}: give one row per signal.")
        sizes = _sizes(train_sizes, count)
        generator = np.random.default_rng(random_state)
        orders = [generator.permutation(count) for _ in range(n_orders)]
        errors = {name: np.empty((n_orders, len(sizes))) for name in named}
        for run, order in enumerate(orders):
            for at, size in enumerate(sizes):
                chosen = order[:size]
                for name, model in named.items():
                    fitted = copy.deepcopy(model).fit([signals[k] for k in chosen], rows[chosen])
                    errors[name][run, at] = score(fitted, test_signals, np.asarray(test_responses, dtype=np.float64))
        return cls(np.array(sizes), errors, metric).plot(ax=ax)

    def _size(self) -> tuple[float, float]:
        return 6.4, 4.4

    def _draw(self, ax: Any) -> None:
        self.lines_, self.bands_ = {}, {}
        for at, (name, found) in enumerate(self.errors.items()):
            colour, line = _COLOURS[at % len(_COLOURS)], _LINES[at // len(_COLOURS) % len(_LINES)]
            mean, low, high = _summary(np.asarray(found))
            if len(found) > 1:
                self.bands_[name] = ax.fill_between(self.train_sizes, low, high, color=colour, alpha=0.15, linewidth=0)
            (self.lines_[name],) = ax.plot(
                self.train_sizes,
                mean,
                color=colour,
                linestyle=line,
                marker="o",
                markersize=3.5,
                linewidth=1.6,
                label=plain(name),
            )
        ax.set(xlabel="examples learned from", ylabel=_LABELS.get(self.metric, self.metric))
        ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize=9)


def _summary(errors: FloatArray) -> FloatArray:
    """Mean, 5th and 95th percentile of every column, of the runs that have a value; NaN where none has."""
    known = [column[np.isfinite(column)] for column in errors.T]
    rows = [[column.mean(), *np.percentile(column, [5.0, 95.0])] if column.size else [np.nan] * 3 for column in known]
    return np.array(rows, dtype=np.float64).T


def _scorer(
    metric: str, cost: AnyArray | None, features: Callable[[Any, Any], AnyArray] | None
) -> Callable[[Any, Sequence[Any], FloatArray], float]:
    if metric not in _LABELS:
        raise ValueError(f"metric={metric!r} is not known. Choose one of {', '.join(map(repr, _LABELS))}.")
    if metric in _NEED_COST and cost is None:
        raise ValueError(f"metric={metric!r} compares with the true cost: give it as cost=...")
    truth = None if cost is None else np.asarray(cost, dtype=np.float64)

    def mapped(signals: Sequence[Any], rows: AnyArray) -> FloatArray:
        if features is None:
            return np.asarray(rows, dtype=np.float64)
        return np.array([features(signal, row) for signal, row in zip(signals, rows, strict=True)], dtype=np.float64)

    def score(model: Any, signals: Sequence[Any], responses: FloatArray) -> float:
        if metric == "cost angle" and truth is not None:
            return cost_angle(truth, model.cost_)
        ours = np.asarray(model.predict(signals), dtype=np.float64)
        if metric == "relative cost difference" and truth is not None:
            return relative_cost_difference(truth, mapped(signals, responses), mapped(signals, ours))
        return decision_error(responses, ours) if metric == "decision error" else unpredicted_share(responses, ours)

    return score


def _sizes(given: Sequence[int] | None, count: int) -> list[int]:
    if given is None:
        return sorted({int(size) for size in np.rint(np.linspace(1, count, _N_SIZES + 1)[1:])})
    sizes = [int(size) for size in given]
    for size in sizes:
        if not 1 <= size <= count:
            raise ValueError(f"train_sizes holds {size}; there are {count} examples.")
    return sizes
