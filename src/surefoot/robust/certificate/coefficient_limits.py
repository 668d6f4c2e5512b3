"""How large the coefficients of a good model can be, before any model is known.

Let (beta, lambda) be any point with F(beta, lambda) <= U. Every r_i >= 0 (staying costs nothing and the loss is positive), so
with radius > 0

    sum_{i in I} w_i r_i <= U - lambda radius   for every set I of rows,  and  lambda <= U / radius =: L.        (1)

Suppose all weights gamma, delta are finite. Write low_l, high_l for the smallest and largest coefficient of feature l (the
reference level is 0, so low_l <= 0 <= high_l), Delta = sum_l delta_l over features with at least two levels (a single one
cannot move), c for any fixed centre of the numeric columns, and

    b0 = beta_0 + beta_x . c,    A = b0 + sum_l low_l <= b0 <= B = b0 + sum_l high_l.

Moving ALL features of a row to their lowest levels with final label +1 is one of the shifts in r_i, and softplus(v) >= v:

    r_i >= -(A + beta_x . (x_i - c)) - lambda (Delta + kappa 1[y_i = -1]).

Average this over the rows of one label with their weights (W their total, xbar their mean), use (1), and write |v| for the
price || (gamma_j v_j)_j || of a shift v. By Hoelder's inequality |beta_x . v| <= lambda |v|, so

    -A <= (U - lambda radius) / W + lambda (Delta + kappa' + |xbar - c|),     kappa' = 0 or kappa,

and the same with final label -1 bounds B. The right-hand side is linear in lambda, so over 0 <= lambda <= L its maximum is

    |b0| <= max(-A, B)   with each side at most   max(U / W, L (Delta + kappa' + |xbar - c|)).

Adding the two sides before bounding lets beta_0 and c cancel:

    B - A = sum_l (high_l - low_l) <= max(U (1/W + 1/W'), L (2 Delta + kappa'' + |xbar - xbar'|)),

and sum_l max_c |beta_lc| <= B - A. Each side may use the rows of either label, those of the other label at the extra price
kappa; the smallest bound counts. Where a weight is infinite nothing holds and the bounds are ``inf``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.core.enclosure import Enclosure, enclose
from surefoot.robust.certificate.posed_rows import Frame, Part, Sums, blocks


@dataclass(frozen=True)
class CoefficientLimits:
    """Bounds for every model at least as good as some number.

    On lambda; on |beta_0 + beta_x . centre|, 0 without an intercept; on the sum over features of the largest |coefficient|.
    """

    price: float
    intercept: float
    levels: float


@dataclass(frozen=True)
class LabelSums(Sums):
    """Weight, and weighted sum of each centred numeric column, over the rows of one label."""

    weight: Enclosure
    columns: Enclosure


def label_sums(part: Part, frame: Frame, label: float) -> LabelSums:
    """The sums of a part; weights are divided by the total of all parts."""
    weight, columns = enclose(0.0), enclose(np.zeros(part.numeric.shape[1]))
    for rows in blocks(part.labels.size):
        shares = enclose(np.where(part.labels[rows] == label, part.weights[rows], 0.0)) / frame.total
        numeric = part.numeric_block(rows, frame.centre)
        weight = weight + shares.sum()
        columns = columns + (numeric.T if part.is_sparse else numeric.transposed) @ shares
    return LabelSums(weight, columns)


def coefficient_limits(frame: Frame, positive: LabelSums, negative: LabelSums, upper: float) -> CoefficientLimits:
    """Limits of every model with an objective at or below ``upper``."""
    setting = frame.setting
    moving = setting.delta[setting.n_levels > 1]
    no_intercept = not setting.fit_intercept
    if setting.radius == 0:
        return CoefficientLimits(np.inf, 0.0 if no_intercept else np.inf, np.inf)
    price = enclose(upper) / setting.radius
    if not (np.isfinite(setting.gamma[frame.live]).all() and np.isfinite(moving).all()):
        return CoefficientLimits(float(price.high), 0.0 if no_intercept else np.inf, np.inf)
    delta = enclose(moving).sum()
    # Ways to get final label +1, and final label -1: rows of that label, or of the other one at the price of a flip.
    ways: tuple[list[tuple[LabelSums, Enclosure]], ...] = ([(positive, delta)], [(negative, delta)])
    if np.isfinite(setting.kappa):
        ways[0].append((negative, delta + setting.kappa))
        ways[1].append((positive, delta + setting.kappa))

    def limit(inverse: Enclosure, moves: Enclosure) -> float:
        return float((inverse * upper).maximum(price * moves).high)

    def one_side(sums: LabelSums, charge: Enclosure) -> float:
        return limit(1.0 / sums.weight, charge + setting.shift_price(sums.columns / sums.weight))

    def both_sides(one: tuple[LabelSums, Enclosure], other: tuple[LabelSums, Enclosure]) -> float:
        apart = one[0].columns / one[0].weight - other[0].columns / other[0].weight
        return limit(1.0 / one[0].weight + 1.0 / other[0].weight, one[1] + other[1] + setting.shift_price(apart))

    intercept = max(min(one_side(*way) for way in side) for side in ways)
    levels = min(both_sides(one, other) for one in ways[0] for other in ways[1])
    return CoefficientLimits(float(price.high), 0.0 if no_intercept else intercept, levels)
