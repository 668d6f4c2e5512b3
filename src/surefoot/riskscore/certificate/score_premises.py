"""The premises of a proof, checked from the raw columns: limits, columns, intercepts and twins.

Intercepts. By convexity the mean loss of a class is at least the loss at its mean score. With W the weight of the negatives,
m_j their mean of column j, t = 1 / multiplier, and q_j = t points_j, a card with an objective up to v has

    W log(1 + exp(t intercept + sum_j q_j m_j)) <= v,

so t intercept <= log(exp(v / W) - 1) + (the most that the largest -q_j m_j of max_features columns can add up to), and likewise
for the positives. A shift of the rows only raises the loss.

Twins. If columns a and b are equal, or a + b is the same whole number in every row (checked exactly, without rounding), moving
the points of b to a, or their negatives with the rest going into the intercept, leaves every score as it is. That needs
the same limits, an intercept that stays within its own, equal prices of shifts, and no rules. Of all cards
better than the threshold take one whose columns come first in the order of the proof: no claim about a missing twin can hide
it, since its twin, as good, would come earlier.
"""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.riskscore.certificate.score_claims import Integers, RefusedProofError
from surefoot.riskscore.problem.card_rules import PointSetRule
from surefoot.riskscore.problem.problem import RiskScoreProblem
from surefoot.riskscore.problem.score_proof import ScoreProof

# Bounds, relative to the size of the terms, the rounding of column means, of sums of up to max_features of them and of a
# logarithm.
MARGIN = 1e-11
# Beyond this log(exp(x) - 1) is x to 1e-13.
LINEAR_FROM = 30.0


def used_limits(problem: RiskScoreProblem) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest points of every column once it has any; +inf and -inf for a column that cannot have points."""
    lower, upper = np.full(problem.n_columns, np.inf), np.full(problem.n_columns, -np.inf)
    for column in range(problem.n_columns):
        values = set(range(int(problem.lower[column]), int(problem.upper[column]) + 1)) - {0}
        for rule in problem.rules:
            if isinstance(rule, PointSetRule) and rule.column == column:
                values &= set(rule.values)
        if values:
            lower[column], upper[column] = min(values), max(values)
    return lower, upper


def scale_range(problem: RiskScoreProblem) -> tuple[float, float]:
    """Smallest and largest 1 / multiplier."""
    low, high = problem.multiplier_range
    return 1.0 / high, 1.0 / low


def intercept_range(problem: RiskScoreProblem, threshold: float) -> tuple[int, int]:
    """No card with an objective up to the threshold has an intercept outside of this."""
    lower, upper = used_limits(problem)
    usable = np.isfinite(lower)
    small, large = scale_range(problem)
    low, high = problem.intercept_lower, problem.intercept_upper
    # Sums along contiguous memory are added up in pairs.
    columns = np.ascontiguousarray(problem.columns.T)
    for label in (-1.0, 1.0):
        weights = np.where(problem.labels == label, problem.weights, 0.0)
        weight = float(weights.sum())
        if not (weight > 0 and threshold > 0):
            continue
        means = -label * np.array([np.sum(column * weights) for column in columns]) / weight
        sizes = np.array([np.sum(np.abs(column) * weights) for column in columns]) / weight
        ends = np.stack([t * end[usable] * means[usable] for t in (small, large) for end in (lower, upper)])
        moves = -ends.min(axis=0, initial=0.0)
        moved = float(np.sort(moves)[::-1][: problem.max_features].sum())
        furthest = np.maximum(np.abs(lower[usable]), np.abs(upper[usable])) * sizes[usable]
        class_loss = threshold / weight
        most = (class_loss if class_loss > LINEAR_FROM else float(np.log(np.expm1(class_loss)))) + moved
        most += MARGIN * (1.0 + abs(most) + problem.max_features * large * float(np.max(furthest, initial=0.0)))
        end = float(np.floor(most / (small if most > 0 else large) + MARGIN * (1.0 + abs(most))))
        if label < 0:
            high = int(min(high, end))
        else:
            low = int(max(low, -end))
    return low, high


def checked_columns(problem: RiskScoreProblem, proof: ScoreProof) -> Integers:
    """The columns of the proof, in its order.

    Raises
    ------
    RefusedProofError
        If they are not the columns that may have points, or if twins are claimed or intercepts left out without reason.
    """
    columns: Integers = np.asarray(proof.columns, dtype=np.int64)
    lower, upper = used_limits(problem)
    may = set(np.flatnonzero(np.isfinite(lower)).tolist())
    must = may if problem.rules else may & set(np.flatnonzero(problem.columns.any(axis=0)).tolist())
    listed = set(columns.tolist())
    if len(listed) != columns.size or not must <= listed <= may:
        raise RefusedProofError("its list of columns is not that of the columns that may have points")
    low, high = intercept_range(problem, proof.threshold)
    if not (proof.intercepts[0] <= low and high <= proof.intercepts[1]):
        raise RefusedProofError(f"it leaves out intercepts between {low} and {high}")
    if np.shape(proof.twins) != columns.shape:
        raise RefusedProofError("its list of twins does not match its columns")
    for at in np.flatnonzero(np.asarray(proof.twins) != -1).tolist():
        first = int(proof.twins[at])
        if not (0 <= first < at and _are_twins(problem, int(columns[first]), int(columns[at]), low, high, lower, upper)):
            raise RefusedProofError(f"column {columns[at]} has not the twin that it claims")
    return columns


def _are_twins(
    problem: RiskScoreProblem, first: int, second: int, low: int, high: int, lower: FloatArray, upper: FloatArray
) -> bool:
    shift = problem.shift
    if problem.rules:
        return False
    if shift is not None and (shift.prices[first] != shift.prices[second] or shift.flips[first] != shift.flips[second]):
        return False
    a, b = problem.columns[:, first], problem.columns[:, second]
    if np.array_equal(a, b):
        return bool(lower[first] == lower[second] and upper[first] == upper[second])
    total = a + b
    part = total - a
    exact = not np.any((a - (total - part)) + (b - part))
    if not exact or np.any(total != total[0]) or total[0] != np.round(total[0]):
        return False
    moved = abs(float(total[0])) * max(abs(lower[second]), abs(upper[second]))
    stays = low - moved >= problem.intercept_lower and high + moved <= problem.intercept_upper
    return bool(stays and lower[first] == -upper[second] and upper[first] == -lower[second])
