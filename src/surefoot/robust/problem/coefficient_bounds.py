"""How large the coefficients of a good model can be, before any model is known.

Let (beta, lambda) be any point with F(beta, lambda) <= U; the optimum is the infimum over these points whenever U is the
objective of some model. Every r_i >= 0 (staying costs nothing and the loss is positive), so with radius > 0

    sum_{i in I} w_i r_i <= U - lambda radius   for every set I of rows,  and  lambda <= U / radius =: L.        (1)

Suppose all weights gamma, delta are finite. Write low_l, high_l for the smallest and largest coefficient of feature l (the
reference level is 0, so low_l <= 0 <= high_l), Delta = sum_l delta_l over features with at least two levels (a single one is
lowest and highest at once, so nothing moves and its weight may be infinite), c for any fixed centre of the numeric columns, and

    b0 = beta_0 + beta_x . c,    A = b0 + sum_l low_l <= b0 <= B = b0 + sum_l high_l.

Moving ALL features of a row to their lowest levels with final label +1 is one of the shifts in r_i, and softplus(v) >= v:

    r_i >= -(A + beta_x . (x_i - c)) - lambda (Delta + kappa 1[y_i = -1]).

Average this over the rows of one label with their weights (W their total, xbar their mean), use (1), and write |v| for the
price || (gamma_j v_j)_j || of a numeric shift v in the norm of the ground cost. The dual norm of the model is at most lambda,
so by Hoelder's inequality |beta_x . v| <= lambda |v| whatever the norm (see ``numeric_norm``), and

    -A <= (U - lambda radius) / W + lambda (Delta + kappa' + |xbar - c|),     kappa' = 0 or kappa,

and the same with final label -1 bounds B. The right-hand side is linear in lambda, so over 0 <= lambda <= L its maximum is

    |b0| <= max(-A, B)   with each side at most   max(U / W, L (Delta + kappa' + |xbar - c|)).

Adding the two sides before bounding lets beta_0 and c cancel:

    B - A = sum_l (high_l - low_l) <= max(U (1/W + 1/W'), L (2 Delta + kappa'' + |xbar - xbar'|)).

So sum_l max_c |beta_lc| <= B - A.

A numeric column with a range [lo_j, hi_j] counts as a feature of which each row moves to the worse end: low_j and high_j are
the smaller and the larger one of beta_j (lo_j - c_j) and beta_j (hi_j - c_j), high_j - low_j = |beta_j| (hi_j - lo_j), and
Delta grows by gamma_j (hi_j - lo_j), the most that the move can cost. It leaves xbar - c and xbar - xbar'. The centre must lie
in the range for low_j <= 0 <= high_j, which only the bound on |b0| needs. So the last bound is one on sum_l max_c |beta_lc| +
sum_j |beta_j| (hi_j - lo_j).

Each side may use the rows of either label, those of the other label at the extra price
kappa; the smallest bound counts. With one label only and kappa = inf, or with an infinite weight, nothing holds and the
bounds are ``inf``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.row_blocks import row_blocks
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.robust.problem.row_batch import PosedRows
from surefoot.robust.problem.terms import Terms

# Relative enlargement of the bounds. They multiply residuals, not objectives: one part in 10^9 covers every rounding made on
# the way to them.
ROUNDING_FACTOR = 1.0 + 1e-9


@dataclass(frozen=True)
class CoefficientBounds:
    """Bounds that hold for every model with an objective at or below the one they were made from.

    Attributes
    ----------
    price : float
        Bound on lambda.
    intercept : float
        Bound on |beta_0 + beta_x . centre|; 0 without an intercept.
    levels : float
        Bound on the sum over features of the largest |coefficient| of a level, and over columns with a range of |coefficient|
        times the width of the range.
    """

    price: float
    intercept: float
    levels: float


@dataclass(frozen=True)
class LabelSums:
    """Weight, then weighted sum of each numeric column (relative to a centre), over the rows of either label."""

    positive: FloatArray
    negative: FloatArray

    def __add__(self, other: LabelSums) -> LabelSums:
        return LabelSums(self.positive + other.positive, self.negative + other.negative)


@dataclass(frozen=True)
class _Side:
    """One way to get a final label: rows of one label, moved at a price per unit of lambda."""

    weight: float
    mean: FloatArray
    price: float


def numeric_centre(problem: RobustLogisticProblem) -> FloatArray:
    """The weighted mean of the numeric columns, or 0 where no intercept can absorb a shift of the columns.

    Sparse columns stay where they are too: centred they would be dense.
    """
    if not problem.fit_intercept or problem.is_sparse:
        return np.zeros(problem.n_numeric)
    mean: FloatArray = problem.weights @ problem.numeric / problem.weights.sum()
    return mean


def label_sums(problem: PosedRows, centre: FloatArray) -> LabelSums:
    """The sums of a table; those of its parts add up to them."""
    positive = np.zeros(problem.n_numeric + 1)
    negative = np.zeros(problem.n_numeric + 1)
    for rows in row_blocks(problem.n_rows):
        weights, above = problem.weights[rows], problem.labels[rows] > 0
        # Dense columns are centred before they are summed, which retains the digits of columns with a large mean.
        centred = problem.numeric[rows] if problem.is_sparse else problem.numeric[rows] - centre
        for sums, part in ((positive, weights * above), (negative, weights * ~above)):
            sums[0] += part.sum()
            sums[1:] += part @ centred
            if problem.is_sparse:
                sums[1:] -= part.sum() * centre
    return LabelSums(positive, negative)


def _moving_weights(terms: Terms) -> FloatArray:
    """What it costs at most to move each categorical feature that can move at all, and each column with a range to an end."""
    weights: FloatArray = terms.cost.categorical_weights[terms.n_levels > 1]
    if terms.cost.numeric_ranges is None:
        return weights
    ranged = terms.cost.ranged
    widths = np.diff(terms.cost.numeric_ranges[ranged], axis=1)[:, 0]
    return np.concatenate((weights, terms.cost.numeric_weights[ranged] * widths))


def _sides(terms: Terms, sums_of: LabelSums) -> tuple[list[_Side], list[_Side]]:
    """Ways to get final label +1, and final label -1; means are relative to the centre."""
    delta = float(_moving_weights(terms).sum())
    kappa = terms.cost.label_weight
    towards: tuple[list[_Side], list[_Side]] = ([], [])
    for sums, own in ((sums_of.positive, 0), (sums_of.negative, 1)):
        if sums[0] > 0:
            mean = sums[1:] / sums[0]
            towards[own].append(_Side(weight=float(sums[0]), mean=mean, price=delta))
            if np.isfinite(kappa):
                towards[1 - own].append(_Side(weight=float(sums[0]), mean=mean, price=delta + kappa))
    return towards


@dataclass(frozen=True)
class BoundingRows:
    """What the bounds need of a table and of the prices of its shifts: they hold at any radius.

    Attributes
    ----------
    above, below : sequence of (float, float)
        Every way to bound -A, and B: W, and Delta + kappa' + |xbar - c|. None if nothing holds.
    both : sequence of (float, float)
        Every way to bound B - A: 1/W + 1/W', and 2 Delta + kappa'' + |xbar - xbar'|.
    fit_intercept : bool
    """

    above: tuple[tuple[float, float], ...]
    below: tuple[tuple[float, float], ...]
    both: tuple[tuple[float, float], ...]
    fit_intercept: bool

    @classmethod
    def of(cls, terms: Terms, sums: LabelSums) -> BoundingRows:
        """From the sums of a table; the radius of the terms does not matter."""
        if terms.cost.immovable.any() or not np.isfinite(_moving_weights(terms)).all():
            return cls((), (), (), terms.fit_intercept)
        endless = ~terms.cost.ranged

        def distance(shift: FloatArray) -> float:
            return terms.cost.numeric_price(np.where(endless, shift, 0.0))

        above, below = _sides(terms, sums)
        each_above, each_below = (
            tuple((side.weight, side.price + distance(side.mean)) for side in sides) for sides in (above, below)
        )
        both = tuple(
            (1.0 / one.weight + 1.0 / other.weight, one.price + other.price + distance(one.mean - other.mean))
            for one in above
            for other in below
        )
        return cls(each_above, each_below, both, terms.fit_intercept)

    def bounds(self, radius: float, upper_bound: float) -> CoefficientBounds:
        """Bounds on every model at least as good as ``upper_bound``."""
        if radius == 0:
            return CoefficientBounds(price=np.inf, intercept=np.inf if self.fit_intercept else 0.0, levels=np.inf)
        price = upper_bound / radius

        def least(sides: tuple[tuple[float, float], ...]) -> float:
            return min((max(upper_bound / weight, price * moves) for weight, moves in sides), default=np.inf)

        intercept = max(least(self.above), least(self.below))
        levels = min((max(upper_bound * inverse, price * moves) for inverse, moves in self.both), default=np.inf)
        return CoefficientBounds(
            price=price * ROUNDING_FACTOR,
            intercept=intercept * ROUNDING_FACTOR if self.fit_intercept else 0.0,
            levels=levels * ROUNDING_FACTOR,
        )


def coefficient_bounds(problem: RobustLogisticProblem, upper_bound: float, centre: FloatArray) -> CoefficientBounds:
    """Bounds on every model at least as good as ``upper_bound``; see the module docstring for their derivation."""
    return bounds_from_sums(problem.terms, label_sums(problem, centre), upper_bound)


def bounds_from_sums(terms: Terms, sums: LabelSums, upper_bound: float) -> CoefficientBounds:
    """The same for a table of which only the sums are at hand."""
    return BoundingRows.of(terms, sums).bounds(terms.radius, upper_bound)
