"""What bounds the objective of inverse optimization from below, for every cost vector at once.

Take decisions k with owners i(k) and weights w_k >= 0 whose sum per observation is at most 1/N (1/N exactly for an observation
whose loss may be negative). Then, with G = sum_k w_k slopes_k and D = sum_k w_k offsets_k,

    kappa R(theta) + (1/N) sum_i loss_i(theta)   >=   kappa R(theta) + G . theta + D        for every theta,

and for multipliers mu >= 0 of the rows of Theta, nu of its sum and a positive semidefinite S of its block, by weak duality,

    ...   >=   kappa R(theta) + (G + matrix' mu + nu 1 - vec S) . theta + D - mu . ceiling - nu total     on Theta.

If losses must not be above 0 (``hard``), weights may have any sum: they are multipliers then.

The right-hand side is a sum over coordinates, whose smallest value on [lower_j, upper_j] has a closed form. Where it has none,
because a coordinate is unbounded and its slope is not 0 to the last digit, the bound holds for cost vectors within ``reach`` of
the centre in every coordinate. If kappa > 0 and losses cannot be negative, every cost vector that beats an objective U has
kappa R(theta) <= U, so that ``reach`` = U / kappa (l1) loses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray, IntArray
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import Cuts, InverseProblem

# Slopes up to this fraction of their terms are 0 where a coordinate has no bound. A certificate makes them so exactly, or
# proves nothing; solvers need to know when to stop.
SLOPE_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class CostProof:
    """Weighted decisions, and multipliers of the prior set (``..._price``).

    Attributes
    ----------
    owners : ndarray of shape (k,)
    points : tuple of ndarray
    weights : ndarray of shape (k,)
    row_prices : ndarray, one per row of the prior set
    total_price : float
    block_price : ndarray
        Positive semidefinite, of the order of the prior set's block.
    reach : float
        Largest distance of a coordinate from the centre for which the bound is claimed.
    exact : tuple of str
        Weights, row prices and, if the prior set prescribes a sum, its price, as fractions: where nothing bounds a coordinate
        its slope must be 0 to the last digit, and doubles do not achieve that. Empty where there is no need.
    """

    owners: IntArray
    points: tuple[FloatArray, ...]
    weights: FloatArray
    row_prices: FloatArray
    total_price: float = 0.0
    block_price: FloatArray | None = None
    reach: float = np.inf
    exact: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class FacetProof:
    """What bounds the objective on every facet of a sphere of cost vectors; no proof means that losses are at least 0."""

    facets: tuple[PriorSet, ...]
    proofs: tuple[CostProof | None, ...]


def proven_bound(problem: InverseProblem, cuts: Cuts, proof: CostProof) -> float:
    """The bound of the module docstring; ``cuts`` are the proof's decisions with slopes and offsets."""
    n, prior = problem.n_examples, problem.prior
    weights = np.maximum(np.nan_to_num(proof.weights), 0.0)
    if not problem.hard:
        sums = np.bincount(cuts.owners, weights=weights, minlength=n)
        free = np.array([example.inside or problem.clamp for example in problem.examples])
        # Scaling an observation's weights to their sum keeps the bound valid, whatever the solver's rounding.
        most = np.where(free, np.minimum(sums, 1.0 / n), 1.0 / n)
        if np.any((sums == 0) & ~free):
            return -np.inf
        weights = weights * np.divide(most, sums, out=np.zeros(n), where=sums > 0)[cuts.owners]
    slope = weights @ cuts.slopes
    constant = float(weights @ cuts.offsets)
    multipliers = np.maximum(proof.row_prices, 0.0)
    slope = slope + prior.matrix.T @ multipliers
    constant -= float(multipliers @ prior.ceiling)
    if prior.total is not None:
        slope = slope + proof.total_price
        constant -= proof.total_price * prior.total
    if prior.psd and proof.block_price is not None:
        values, vectors = np.linalg.eigh((proof.block_price + proof.block_price.T) / 2)
        slope = slope.copy()
        slope[: prior.psd**2] -= ((vectors * np.maximum(values, 0.0)) @ vectors.T).ravel()
    noise = SLOPE_ROUNDING * (weights @ np.abs(cuts.slopes) + np.abs(prior.matrix).T @ multipliers + abs(proof.total_price))
    return constant + float(separable_minimum(problem, slope, proof.reach, noise).sum())


def separable_minimum(problem: InverseProblem, slope: FloatArray, radius: float, noise: FloatArray | float = 0.0) -> FloatArray:
    """min of kappa R_j(t) + slope_j t over lower_j <= t <= upper_j and |t - center_j| <= radius, for every coordinate j.

    Towards an infinite end slopes up to ``noise`` are none.
    """
    center, kappa = problem.regularizer.center, problem.kappa
    lower, upper = np.maximum(problem.prior.lower, center - radius), np.minimum(problem.prior.upper, center + radius)
    # Of a prior that lies outside of the radius altogether its nearest end is left.
    lower, upper = np.minimum(lower, problem.prior.upper), np.maximum(upper, problem.prior.lower)
    if problem.regularizer.kind == "l2" and kappa > 0:
        at = np.clip(center - slope / kappa, lower, upper)
        return np.asarray(kappa / 2 * (at - center) ** 2 + slope * at)
    ends = np.array([lower, upper, np.clip(center, lower, upper)])
    # At an infinite end only the growth counts: downwards it falls short of nothing, or of everything.
    growth = np.array([kappa - slope, kappa + slope, np.zeros_like(slope)])
    finite = np.where(np.isfinite(ends), ends, 0.0)
    values = kappa * np.abs(finite - center) + slope * finite
    values = np.where(np.isfinite(ends), values, np.where(growth < -noise, -np.inf, np.inf))
    return np.asarray(values.min(axis=0))
