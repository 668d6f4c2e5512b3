"""What a model's performance will be on new rows of the same kind, from the rows that it was made of.

Optimism (Harrell, Lee and Mark, Statistics in Medicine 1996): a model is fitted to a resample of the rows and measured there
and on the rows themselves; what it loses is, averaged over resamples, what the apparent performance of the model exceeds its
true one by. Folds: every row is predicted by a model that was fitted without it. Both refit everything that the estimator
learns.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.design.read.table import read_column
from surefoot.design.write.output_frame import build_frame, frame_library
from surefoot.exceptions import InfeasibleProblemError, InvalidTableError
from surefoot.reports.displays.canvas import BLUE, GREY, INK, axes
from surefoot.reports.evidence.calibration import Recalibration, recalibration
from surefoot.reports.evidence.performance import MEASURES, log_odds_of, performance, threshold_grid
from surefoot.reports.evidence.refits import Refit, card_parts, folds, positive_class_of, refit, resamples, risks_of
from surefoot.reports.sections.net_benefit import benefit_for_all, net_benefit
from surefoot.sklearn_api.training_rows import flat_labels

# Fewer resamples than these have no tails to read an interval from.
_FEWEST_FOR_INTERVALS = 40
_LISTED = 8


@dataclass(frozen=True, eq=False)
class InternalValidation:
    """Apparent, optimism-corrected and left-out performance of a model, and how stable it is.

    Attributes
    ----------
    model : object
        The estimator fitted to all rows.
    positive_class : object
        The class whose risk is meant.
    n_rows, n_positive : int
    n_resamples, n_folds : int
    n_failed : int
        Resamples on which no card obeyed the rules; they are left out.
    n_unproven : int
        Fits to resamples that a limit ended.
    apparent, optimism, corrected, left_out : ndarray of shape (5,)
        Log loss, Brier score, AUC, calibration in the large, calibration slope.
    intervals : ndarray of shape (5, 2)
        95 % intervals of ``corrected``: the spread of the apparent performance over resamples, around it. NaN for fewer than 40
        resamples.
    calibration : Recalibration
        Of the left-out risks, with 95 % intervals.
    left_out_risks : ndarray of shape (n_rows,)
    instability : ndarray of shape (n_rows,)
        By how much the risk of each row differs on average between the model and those of resamples (Riley and Collins, 2023).
    """

    model: Any
    positive_class: Any
    n_rows: int
    n_positive: int
    n_resamples: int
    n_folds: int
    n_failed: int
    n_unproven: int
    apparent: FloatArray
    optimism: FloatArray
    corrected: FloatArray
    intervals: FloatArray
    left_out: FloatArray
    calibration: Recalibration
    left_out_risks: FloatArray = field(repr=False)
    instability: FloatArray = field(repr=False)
    _benefits: dict[str, FloatArray] = field(repr=False)
    _refits: list[tuple[dict[str, int], dict[str, str]]] = field(repr=False)
    _library: str | None = field(repr=False, default=None)

    def table(self) -> Any:
        """A data frame with a row for every measure: apparent, optimism, corrected, low, high, left_out."""
        low, high = self.intervals.T
        content = {
            "measure": list(MEASURES),
            "apparent": self.apparent,
            "optimism": self.optimism,
            "corrected": self.corrected,
            "low": low.copy(),
            "high": high.copy(),
            "left_out": self.left_out,
        }
        return build_frame(content, self._library)

    def decision_curve(self) -> Any:
        """A data frame of net benefit by threshold of risk.

        Of acting by the risks of left-out rows (``left_out``), by the model with its optimism taken off (``corrected``), and on
        everybody (``all``). Acting on nobody has 0.
        """
        return build_frame(self._benefits, self._library)

    def stability(self) -> Any:
        """A data frame with a row for every variable of a card: whether it is on the card, and in which share of resamples."""
        _, variables = card_parts(self.model)
        used = [set(own.values()) for _, own in self._refits]
        names = sorted(set(variables.values()).union(*used), key=lambda name: (-_share(used, name), name))
        on_card = [name in variables.values() for name in names]
        content: dict[str, Any] = {
            "variable": names,
            "on_card": on_card,
            "used": np.array([_share(used, name) for name in names]),
        }
        return build_frame(content, self._library)

    def questions(self) -> Any:
        """A data frame with a row for every question with points: its points on the card, in which share of resamples it has
        points, and the smallest and largest of these.
        """
        points, _ = card_parts(self.model)
        used = [own for own, _ in self._refits]
        names = sorted(set(points).union(*used), key=lambda name: (-_share(used, name), name))
        own = [[card[name] for card in used if name in card] or [0] for name in names]
        content: dict[str, Any] = {
            "question": names,
            "points": np.array([points.get(name, 0) for name in names], dtype=np.int64),
            "used": np.array([_share(used, name) for name in names]),
            "least": np.array([min(values) for values in own], dtype=np.int64),
            "most": np.array([max(values) for values in own], dtype=np.int64),
        }
        return build_frame(content, self._library)

    def plot(self, ax: Any = None) -> Any:
        """The decision curve: net benefit of acting by the model, on everybody and on nobody; returns the axes."""
        ax = axes(ax, (6.0, 4.2))
        at, curves = self._benefits["threshold"], self._benefits
        ax.plot(at, curves["all"], color=GREY, linestyle="--", linewidth=1, label="act on everybody")
        ax.axhline(0.0, color=INK, linewidth=1, label="act on nobody")
        ax.plot(at, curves["corrected"], color=BLUE, label="act by the model (optimism taken off)")
        ax.plot(at, curves["left_out"], color=BLUE, linestyle=":", label="act by the model (left-out rows)")
        top = float(max(curves["all"].max(), curves["corrected"].max(), 0.0))
        ax.set(xlabel="risk from which one acts", ylabel="net benefit", ylim=(-0.15 * top - 1e-3, 1.1 * top + 1e-3))
        ax.set_title("Decision curve")
        ax.legend(frameon=False, fontsize=8)
        return ax

    def __str__(self) -> str:
        lines = [
            f"Internal validation on {self.n_rows:,} rows, {self.n_positive:,} of them {self.positive_class!s:.40}: "
            f"{self.n_resamples:,} resamples and {self.n_folds} folds, everything refitted",
            f"{'':<22}  {'apparent':>8}  {'optimism':>8}  {'corrected':>9}  {'95 % interval':>16}  {'left out':>8}",
        ]
        for name, row in zip(MEASURES, np.column_stack([self.apparent, self.optimism, self.corrected]), strict=True):
            at = MEASURES.index(name)
            low, high = self.intervals[at]
            span = f"{low:.3f} to {high:.3f}" if math.isfinite(low) else ""
            lines.append(f"{name:<22}  {row[0]:>8.3f}  {row[1]:>8.3f}  {row[2]:>9.3f}  {span:>16}  {self.left_out[at]:>8.3f}")
        low, high = self.calibration.slope_interval
        lines.append(f"Left-out risks: calibration slope {self.calibration.slope:.2f} (95 % interval {low:.2f} to {high:.2f}).")
        used = [set(own.values()) for _, own in self._refits if own]
        if used:
            names = sorted(set().union(*used), key=lambda name: (-_share(used, name), name))
            told = ", ".join(f"{name} {_share(used, name):.0%}" for name in names[:_LISTED])
            more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
            lines.append(f"On cards of resamples: {told}{more}.")
        lines.append(
            f"The risk of a person differs by {100 * self.instability.mean():.1f} percentage points on average between this "
            "model and those of resamples."
        )
        if self.n_failed:
            lines.append(f"{self.n_failed} resamples are left out: no card obeys the rules on them.")
        if self.n_unproven:
            lines.append(f"{self.n_unproven} fits to resamples were ended by a limit; theirs need not be the best cards.")
        return "\n".join(lines)


def internal_validation(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    n_resamples: int = 200,
    n_folds: int = 5,
    thresholds: Iterable[float] = (),
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> InternalValidation:
    """Performance of a model with its optimism taken off, by resamples and folds that refit everything, and its stability.

    Parameters
    ----------
    estimator : classifier of two classes, or a pipeline that ends in one
        What learns anything from the rows belongs into the pipeline: of ``ThresholdBinarizer`` and ``RiskScoreClassifier`` both
        thresholds and card are found again in every resample. It is cloned, never changed.
    X : data frame, 2-d array, or whatever the estimator takes
    y : array-like of shape (n_rows,)
    groups : array-like of shape (n_rows,), optional
        Rows that belong together, such as those of one patient: groups are drawn, and left out, as a whole.
    n_resamples : int, default=200
        Fits to resamples; 0 for none, with NaN for what they say.
    n_folds : int, default=5
        Fits that leave out a part of the rows.
    thresholds : iterable of float, optional
        Risks from which one might act, for the decision curve; by default 0.01 to 0.99.
    random_state : int, RandomState or None, default=0
    n_jobs : int, optional
        Fits at a time.

    Returns
    -------
    InternalValidation
        ``table()``, ``decision_curve()``, ``stability()``, ``questions()`` and ``plot()``; prints readably.

    Examples
    --------
    >>> import numpy as np, surefoot as sf
    >>> draw = np.random.default_rng(0)
    >>> answers = (draw.random((120, 6)) < 0.4).astype(int)
    >>> ill = draw.random(120) < 0.2 + 0.6 * answers[:, 0]
    >>> found = sf.internal_validation(sf.RiskScoreClassifier(max_features=2), answers, ill, n_resamples=20)
    >>> bool(found.apparent[2] > found.corrected[2])  # the AUC
    True
    """
    _require_counts(n_resamples, n_folds)
    grid = threshold_grid(thresholds)
    model = clone(estimator).fit(X, y)
    if not (hasattr(model, "predict_proba") and len(model.classes_) == 2):
        raise ValueError("internal validation needs a classifier of two classes that predicts probabilities.")
    wanted = positive_class_of(model)
    positive = np.asarray(flat_labels(y) == wanted, dtype=bool)
    together = None if groups is None else _group_codes(groups, positive.size)
    parts = 0 if together is None else np.unique(together).size
    if n_folds > (min(positive.sum(), (~positive).sum()) if together is None else parts):
        raise ValueError(f"n_folds = {n_folds!r} is more than there are rows of a class, or groups.")
    draw = check_random_state(random_state)
    random = np.random.default_rng(draw.randint(2**31 - 1))
    run = Parallel(n_jobs=n_jobs)
    drawn = run(delayed(refit)(estimator, X, y, rows, wanted) for rows in resamples(positive, together, n_resamples, random))
    refits: list[Refit] = [one for one in drawn if one is not None]
    if len(refits) < n_resamples / 2:
        raise InfeasibleProblemError(f"no card obeys the rules on {len(drawn) - len(refits)} of {n_resamples} resamples.")
    risks = risks_of(model, X, wanted)
    splits = list(folds(positive, together, n_folds, int(draw.randint(2**31 - 1))))
    held = run(delayed(refit)(estimator, X, y, rows, wanted) for rows, _ in splits)
    left_out = np.empty_like(risks)
    for (_, rows), one in zip(splits, held, strict=True):
        if one is None:
            raise InfeasibleProblemError(f"no card obeys the rules on the rows outside of one of {n_folds} folds.")
        left_out[rows] = one.risks[rows]
    apparent = performance(risks, positive)
    optimism, spread = _optimism(refits, positive)
    weights, count = np.ones(risks.size), len(refits)
    benefit = net_benefit(risks, positive, grid)
    gained = [
        net_benefit(one.risks[one.rows], positive[one.rows], grid) - net_benefit(one.risks, positive, grid) for one in refits
    ]
    differences = [np.abs(one.risks - risks) for one in refits]
    return InternalValidation(
        model=model,
        positive_class=wanted,
        n_rows=risks.size,
        n_positive=int(positive.sum()),
        n_resamples=n_resamples,
        n_folds=n_folds,
        n_failed=len(drawn) - count,
        n_unproven=sum(not one.proven for one in refits),
        apparent=apparent,
        optimism=optimism,
        corrected=apparent - optimism,
        intervals=(apparent - optimism)[:, None] + spread,
        left_out=performance(left_out, positive),
        calibration=recalibration(log_odds_of(left_out), positive, weights),
        left_out_risks=left_out,
        instability=np.mean(differences, axis=0) if count else np.full(risks.size, math.nan),
        _benefits={
            "threshold": grid,
            "left_out": net_benefit(left_out, positive, grid),
            "corrected": benefit - np.mean(gained, axis=0) if count else np.full(grid.size, math.nan),
            "all": benefit_for_all(positive, grid),
        },
        _refits=[(one.points, one.variables) for one in refits],
        _library=frame_library(X) if hasattr(X, "columns") else None,
    )


def _optimism(refits: list[Refit], positive: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Mean optimism of each measure, and ends of the spread of the apparent ones around their mean."""
    nothing = np.full((len(MEASURES), 2), math.nan)
    if not refits:
        return nothing[:, 0], nothing
    there = np.array([performance(one.risks[one.rows], positive[one.rows]) for one in refits])
    here = np.array([performance(one.risks, positive) for one in refits])
    # Where classes are separated there is no slope; such resamples say nothing about it.
    known = np.isfinite(there - here)
    count = np.maximum(known.sum(axis=0), 1)
    optimism = np.where(known, there - here, 0.0).sum(axis=0) / np.where(known.any(axis=0), count, math.nan)
    if known.sum(axis=0).min() < _FEWEST_FOR_INTERVALS:
        return optimism, nothing
    columns = [own[fine] for own, fine in zip(there.T, known.T, strict=True)]
    return optimism, np.array([np.quantile(own, [0.025, 0.975]) - own.mean() for own in columns])


def _require_counts(n_resamples: Any, n_folds: Any) -> None:
    for name, value, least in (("n_resamples", n_resamples, 0), ("n_folds", n_folds, 2)):
        if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
            raise ValueError(f"{name} = {value!r} must be a whole number of at least {least}.")


def _group_codes(groups: Any, n_rows: int) -> NDArray[np.intp]:
    codes = read_column(groups, "groups").categories().codes
    if codes.size != n_rows or np.any(codes < 0):
        raise InvalidTableError(f"groups must name the group of each of the {n_rows} rows, without gaps.")
    return codes


def _share(used: Sequence[Any], name: str) -> float:
    """In which share of cards something is used."""
    return sum(name in own for own in used) / len(used) if used else math.nan
