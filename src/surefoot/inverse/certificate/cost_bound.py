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

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray, IntArray
from surefoot.core.definite import square_near
from surefoot.core.enclosure import Enclosure, between, choose, enclose, join
from surefoot.inverse.certificate.observation import are_decisions, cuts, features_of

if TYPE_CHECKING:
    from surefoot.inverse.problem.problem import Example, InverseProblem


def decisions_flaw(problem: InverseProblem, owners: IntArray, points: Any) -> str:
    """What is wrong with the decisions of a proof, or nothing."""
    if len(owners) != len(points):
        return "the proof is refused because owners and decisions differ in number"
    for owner in np.unique(owners).tolist():
        if not 0 <= owner < len(problem.examples):
            return f"the proof is refused because observation {owner} does not exist"
        example = problem.examples[owner]
        own = [np.asarray(points[k], dtype=np.float64) for k in np.flatnonzero(owners == owner)]
        if any(point.shape != example.response.shape for point in own) or not (
            are_decisions(example.instance.decisions, np.array(own)).all()
        ):
            return f"the proof is refused because it uses a point that is no decision of observation {example.instance.index}"
    return ""


def proof_flaw(problem: InverseProblem, proof: Any) -> str:
    """What is wrong with a proof, or nothing."""
    n_multipliers = len(proof.weights) + len(proof.row_prices) + (problem.prior.total is not None)
    if len(proof.owners) != len(proof.weights) or len(proof.exact) not in (0, n_multipliers):
        return "the proof is refused because owners and weights differ in number"
    if proof.row_prices.shape != problem.prior.ceiling.shape:
        return "the proof is refused because its prices are not those of the prior set's rows"
    if not (np.isfinite(proof.weights).all() and np.isfinite(proof.row_prices).all() and np.isfinite(proof.total_price)):
        return "the proof is refused because its weights are not finite"
    return decisions_flaw(problem, proof.owners, proof.points)


def proof_cuts(problem: InverseProblem, owners: IntArray, points: Any) -> tuple[Enclosure, Enclosure]:
    """Slopes and distances of decisions, sorted by owner as ``np.argsort(owners, kind="stable")`` does."""
    own = {i: np.flatnonzero(owners == i).tolist() for i in np.unique(owners).tolist()}
    pairs = [(problem.examples[i], np.array([points[k] for k in at], dtype=np.float64)) for i, at in own.items()]
    if not pairs:
        return enclose(np.empty((0, problem.prior.lower.size))), enclose(np.empty(0))
    return cuts(pairs, problem.distance)


def cost_bound(problem: InverseProblem, proof: Any) -> float:
    """The bound of the module docstring for a proof without flaw; -inf if it proves nothing."""
    prior, n, p = problem.prior, len(problem.examples), problem.prior.lower.size
    order = np.argsort(proof.owners, kind="stable")
    steep, apart = proof_cuts(problem, proof.owners, proof.points)
    rows = [steep, prior.matrix, *([] if prior.total is None else [np.ones((1, p))])]
    sides = [apart, -prior.ceiling, *([] if prior.total is None else [np.array([-prior.total])])]
    total = np.array([] if prior.total is None else [float(proof.total_price)])
    free = np.array([example.inside or problem.clamp for example in problem.examples])
    values = _exact_multipliers(problem, proof, order) if free.all() or problem.hard else []
    if values:
        near, none = np.array([float(value) for value in values]), np.array([value == 0 for value in values])
        multipliers = choose(none, 0.0, between(np.nextafter(near, -np.inf), np.nextafter(near, np.inf)))
    else:
        weights = enclose(np.maximum(proof.weights[order], 0.0))
        if not problem.hard:
            owners = proof.owners[order]
            sums = weights.sums_by_place(owners, n) if len(owners) else enclose(np.zeros(n))
            if np.any((sums.low <= 0) & ~free):
                return -np.inf
            # Real numbers: weights over their own sum have the sum 1 exactly.
            full = (sums.high * n >= 1.0) | ~free
            weights = choose(full[owners], weights / (sums[owners] * n), weights)
        multipliers = join([weights, np.maximum(proof.row_prices, 0.0), total])
    slope = multipliers @ join(rows)
    if prior.psd and proof.block_price is not None:
        slope = slope - join([square_near(proof.block_price).reshape(prior.psd**2), np.zeros(p - prior.psd**2)])
    falling = (np.isinf(prior.lower) & (slope.high > problem.kappa)) | (np.isinf(prior.upper) & (slope.low < -problem.kappa))
    flat = np.zeros(p, dtype=np.bool_)
    if values and falling.any() and not prior.psd:
        at = np.flatnonzero(falling).tolist()
        columns = [exact_slope(problem.examples[proof.owners[k]], proof.points[k], at) for k in order]
        columns += [[Fraction(float(row[j])) for j in at] for row in prior.matrix] + [[Fraction(1)] * len(at)] * len(total)
        kappa = Fraction(float(problem.kappa))
        for place, j in enumerate(at):
            total_slope = sum((value * column[place] for value, column in zip(values, columns, strict=True)), Fraction(0))
            rises = total_slope <= kappa or np.isfinite(prior.lower[j]), total_slope >= -kappa or np.isfinite(prior.upper[j])
            flat[j] = all(rises)
    return float((multipliers @ join(sides) + _separable_minimum(problem, slope, flat)).low)


def _exact_multipliers(problem: InverseProblem, proof: Any, order: Any) -> list[Fraction]:
    """The multipliers of a proof as fractions, scaled down until no observation has more than its weight; or none."""
    try:
        given = [Fraction(text) for text in proof.exact if np.isfinite(float(Fraction(text)))]
    except (TypeError, ValueError, ArithmeticError):
        return []
    signed = len(given) - (problem.prior.total is not None)
    if not given or min(given[:signed], default=Fraction(0)) < 0:
        return []
    n, most = len(problem.examples), Fraction(1)
    if not problem.hard:
        sums = dict.fromkeys(proof.owners.tolist(), Fraction(0))
        for owner, value in zip(proof.owners.tolist(), given, strict=False):
            sums[owner] += value * n
        most = max(most, *sums.values()) if sums else most
    places = [*order.tolist(), *range(len(order), len(given))]
    return [given[k] / most for k in places]


def _separable_minimum(problem: InverseProblem, slope: Enclosure, flat: BoolArray) -> Enclosure:
    """The least kappa R(theta) + slope . theta within lower <= theta <= upper; it falls to no infinite end where ``flat``."""
    center, kappa, lower, upper = problem.regularizer.center, problem.kappa, problem.prior.lower, problem.prior.upper
    if problem.regularizer.kind == "l2" and kappa > 0:
        at = np.clip(center - slope.mid / kappa, lower, upper)
        away, tilt = enclose(at) - center, kappa * (enclose(at) - center) + slope
        # kappa/2 (t - at)^2 + tilt (t - at) is what other t add; at an end only one sign of t - at is possible.
        rise = np.where(at == lower, np.maximum(-tilt.low, 0.0), np.where(at == upper, np.maximum(tilt.high, 0.0), tilt.size))
        fall = enclose(np.where(lower == upper, 0.0, rise))
        return (kappa * 0.5 * (away * away) + slope * at - fall * fall / (2.0 * kappa)).sum()
    # Piecewise linear: smallest at an end or at the centre; towards an infinite end it must not fall.
    if np.any(~flat & ((np.isinf(lower) & (slope.high > kappa)) | (np.isinf(upper) & (slope.low < -kappa)))):
        return enclose(-np.inf)
    inner = np.clip(center, lower, upper)
    ends = [np.where(np.isfinite(end), end, inner) for end in (lower, upper, inner)]
    values = join([(kappa * abs(enclose(end) - center) + slope * end)[None, :] for end in ends])
    return (-((-values).max(axis=0))).sum()


def exact_slope(example: Example, point: FloatArray, at: list[int]) -> list[Fraction]:
    """phi(response) - phi(x) in rational numbers, at some coordinates."""
    features: Any = example.instance.features
    if not hasattr(features, "matrix"):
        own, other = (features_of(example, part[None, :]).mid[0] for part in (example.response, point))
        return [Fraction(float(own[j])) - Fraction(float(other[j])) for j in at]
    apart = [Fraction(float(a)) - Fraction(float(b)) for a, b in zip(example.response, point, strict=True)]
    moved = [k for k, value in enumerate(apart) if value]
    return [sum((Fraction(float(features.matrix[j, k])) * apart[k] for k in moved), Fraction(0)) for j in at]
