"""What bounds the objective of inverse optimization from below, for every cost vector of the prior set at once.

Take decisions k with owners i(k) and weights w_k >= 0 whose sum per observation is at most 1/N (1/N exactly for an observation
whose loss may be negative; any sum if losses must not be above 0). With slopes g_k, distances d_k, and multipliers mu >= 0 of
the rows of Theta, nu of its sum and a positive semidefinite S of its block,

    objective(theta)  >=  kappa R(theta) + (sum_k w_k g_k + matrix' mu + nu 1 - vec S) . theta
                          + sum_k w_k d_k - mu . ceiling - nu total

for every theta in Theta: weak duality. The right-hand side is a sum over coordinates, each smallest at an end of its bounds or
where its slope is 0. Where nothing else bounds a coordinate its slope s must be 0 to the last digit, or |s| <= kappa with an l1
regularizer. Weights of doubles do not achieve that: ``exact`` has all multipliers as fractions, and such slopes are summed in
rational numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray, IntArray
from surefoot.core.definite import square_near
from surefoot.core.enclosure import Enclosure, between, choose, enclose, join
from surefoot.inverse.certificate.decision_bound import lowest
from surefoot.inverse.certificate.observation import are_decisions, cuts, exact_product, exact_slope

if TYPE_CHECKING:
    from surefoot.inverse.problem.problem import InverseProblem


# Fractions as Python writes them: an exponent could ask for more digits than there is memory.
FRACTION = re.compile(r"-?[0-9]+(/[0-9]+)?")


def decisions_flaw(problem: InverseProblem, owners: IntArray, points: Any) -> str:
    """What is wrong with the decisions of a proof, or nothing."""
    if len(owners) != len(points):
        return "the proof is refused because owners and decisions differ in number"
    for owner in np.unique(owners).tolist():
        if not 0 <= owner < len(problem.examples):
            return f"the proof is refused because observation {owner} does not exist"
        example = problem.examples[owner]
        own = [np.asarray(points[k], dtype=np.float64) for k in np.flatnonzero(owners == owner)]
        fit = all(point.shape == example.response.shape for point in own)
        if not fit or not are_decisions(example.instance.decisions, np.array(own)).all():
            return f"the proof is refused because it uses a point that is no decision of observation {example.instance.index}"
    return ""


def proof_flaw(problem: InverseProblem, proof: Any) -> str:
    """What is wrong with a proof, or nothing."""
    n_multipliers = len(proof.weights) + len(proof.row_prices) + (problem.prior.total is not None)
    if len(proof.owners) != len(proof.weights) or len(proof.exact) not in (0, n_multipliers):
        return "the proof is refused because owners and weights differ in number"
    if proof.row_prices.shape != problem.prior.ceiling.shape:
        return "the proof is refused because its prices are not those of the prior set's rows"
    if not np.isfinite([*proof.weights, *proof.row_prices, proof.total_price]).all():
        return "the proof is refused because its weights are not finite"
    block = getattr(proof, "block_price", None)
    if block is not None and (block.shape != (problem.prior.psd, problem.prior.psd) or not np.isfinite(block).all()):
        return "the proof is refused because its price of the block is no finite matrix of that order"
    return decisions_flaw(problem, proof.owners, proof.points)


def proof_cuts(problem: InverseProblem, owners: IntArray, points: Any) -> tuple[Enclosure, Enclosure]:
    """Slopes and distances of decisions."""
    order = np.argsort(owners, kind="stable")
    pairs = [(problem.examples[owners[k]], np.asarray(points[k], dtype=np.float64)[None, :]) for k in order]
    if not pairs:
        return enclose(np.empty((0, problem.prior.lower.size))), enclose(np.empty(0))
    steep, apart = cuts(pairs, problem.distance)
    return steep[np.argsort(order)], apart[np.argsort(order)]


def shared_weights(problem: InverseProblem, proof: Any, free: BoolArray) -> Enclosure:
    """Weights whose sums are at most 1/N, or 1/N where losses are not ``free`` to count as 0."""
    weights = enclose(np.maximum(proof.weights, 0.0))
    if problem.hard:
        return weights
    sums = weights.sums_by_place(proof.owners, len(free)) * float(len(free))
    # Real numbers: weights over their own sum have the sum 1 exactly.
    return weights / choose(free, sums.maximum(1.0), sums)[proof.owners]


def cost_bound(problem: InverseProblem, proof: Any) -> float:
    """The bound of the module docstring for a proof without flaw; -inf if it proves nothing."""
    prior, p = problem.prior, problem.prior.lower.size
    steep, apart = proof_cuts(problem, proof.owners, proof.points)
    # A row of ones, if a sum is prescribed.
    sum_row, total = (np.empty((0, p)), np.empty(0)) if prior.total is None else (np.ones((1, p)), np.array([prior.total]))
    free = np.array([example.inside or problem.clamp for example in problem.examples])
    if not problem.hard and not np.isin(np.flatnonzero(~free), proof.owners).all():
        return -np.inf
    # Products of doubles are no doubles: slopes of quadratic costs are known to rounding only.
    rational = not prior.psd and not any(hasattr(example.instance.features, "inner") for example in problem.examples)
    prices = np.maximum(proof.row_prices, 0.0), np.full(len(total), float(proof.total_price))
    values = _fractions(problem, proof, prices) if rational and (free.all() or problem.hard) else []
    multipliers = _enclosed(values) if values else join([shared_weights(problem, proof, free), *prices])
    slope = multipliers @ join([steep, prior.matrix, sum_row])
    if prior.psd and proof.block_price is not None:
        slope = slope - join([square_near(proof.block_price).reshape(prior.psd**2), np.zeros(p - prior.psd**2)])
    low, high = slope.low, slope.high
    falling = (np.isinf(prior.lower) & (high > problem.kappa)) | (np.isinf(prior.upper) & (low < -problem.kappa))
    falling &= problem.regularizer.kind == "l1" or problem.kappa == 0  # a square ends every fall
    # Beside columns of large units rounding may be all that is left of a slope.
    at, flat = np.flatnonzero(falling | ((low < 0) & (high > 0))), np.zeros(p, dtype=np.bool_)
    if values and at.size:
        rows = [exact_slope(problem.examples[i], x, at) for i, x in zip(proof.owners, proof.points, strict=True)]
        rows += [row[at] for row in (*prior.matrix, *sum_row)]
        known = [exact_product(values, column) for column in zip(*rows, strict=True)]
        above, below = (np.array([sign * exact <= problem.kappa for exact in known]) for sign in (1, -1))
        flat[at] = (above | np.isfinite(prior.lower[at])) & (below | np.isfinite(prior.upper[at]))
        low[at], high[at] = _enclosed(known).low, _enclosed(known).high
        slope = between(low, high)
    constant = multipliers @ join([apart, -prior.ceiling, -total])
    return float((constant + _separable_minimum(problem, slope, flat)).low)


def _enclosed(values: list[Fraction]) -> Enclosure:
    return join([enclose(0.0).of_fraction(value).reshape(1) for value in values])


def _fractions(problem: InverseProblem, proof: Any, prices: Sequence[FloatArray]) -> list[Fraction]:
    """The multipliers of a proof as fractions; none if one is negative, or an observation has more than its weight."""
    if problem.hard and not len(proof.exact):  # doubles do: no sum is prescribed that they would miss
        return [Fraction(float(value)) for value in np.concatenate((np.maximum(proof.weights, 0.0), *prices))]
    try:
        if any(FRACTION.fullmatch(text) is None for text in proof.exact):
            return []
        given = [Fraction(text) for text in proof.exact]
    except (TypeError, ValueError, ArithmeticError):
        return []
    sums = [Fraction(0)] * len(problem.examples)
    for owner, value in zip(proof.owners, given, strict=False):
        sums[owner] += value * len(sums)
    signed = given[: len(proof.weights) + len(proof.row_prices)]
    right = min(signed, default=0) >= 0 and (problem.hard or max(sums) <= 1)
    return given if right else []


def _separable_minimum(problem: InverseProblem, slope: Enclosure, flat: BoolArray) -> Enclosure:
    """The least kappa R(theta) + slope . theta within lower <= theta <= upper; it falls to no infinite end where ``flat``."""
    center, kappa, lower, upper = problem.regularizer.center, problem.kappa, problem.prior.lower, problem.prior.upper
    if problem.regularizer.kind == "l2" and kappa > 0:
        at = np.clip(center - slope.mid / kappa, lower, upper)
        away = enclose(at) - center
        rest = lowest(kappa * away + slope, at, lower, upper, kappa / 2)
        return (kappa * 0.5 * (away * away) + slope * at + rest).sum()
    # Piecewise linear, with a corner at the centre, or at the end that is nearest to it; straight without a price, also at 0.
    at = np.clip(center if kappa > 0 else 0.0, lower, upper)
    rest = lowest(slope + kappa, at, at, upper, 0.0, flat) + lowest(slope - kappa, at, lower, at, 0.0, flat)
    return (kappa * abs(enclose(at) - center) + slope * at + rest).sum()
