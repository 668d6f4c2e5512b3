"""A few observations that no cost explains together.

    max t   subject to   slopes_k . theta + t offsets_k <= 0,   theta in Theta,  -1 <= theta <= 1,  0 <= t <= 1

has the optimum 0 if no cost leaves the decisions found their distances. Its prices w say why: sum_k w_k slopes_k = 0 (or has
signs that Theta forbids to use) and sum_k w_k offsets_k >= 1. The simplex method ends in a corner, where at most p + 1 of them
are above 0.
"""

from __future__ import annotations

import numpy as np

from surefoot.core.backends.highs import LinearProgramme
from surefoot.inverse.problem.cost_proof import CostProof
from surefoot.inverse.problem.problem import Cuts, InverseProblem

# Prices below this share of the largest are rounding.
SMALL = 1e-9


def few_in_conflict(problem: InverseProblem, cuts: Cuts, reach: float) -> CostProof | None:
    """A proof with few decisions that losses cannot all be 0, or None if there is none of this kind."""
    p, n, prior = problem.n_features, problem.n_examples, problem.prior
    if not prior.is_cone or prior.psd or cuts.size == 0:
        return None
    lower, upper = np.append(np.maximum(prior.lower, -1.0), 0.0), np.append(np.minimum(prior.upper, 1.0), 1.0)
    programme = LinearProgramme(lower, upper, np.append(np.zeros(p), -1.0))
    columns = np.arange(p + 1, dtype=np.int32)
    for row in prior.matrix:
        programme.add_row(columns[:p], row, -np.inf, 0.0)
    for slope, offset in zip(cuts.slopes, cuts.offsets, strict=True):
        programme.add_row(columns, np.append(slope, offset), -np.inf, 0.0)
    answer = programme.solve()
    if answer.prices is None or answer.bound < -1e-7:
        return None
    prices = np.maximum(-answer.prices, 0.0)
    rows, weights = prices[: prior.matrix.shape[0]], prices[prior.matrix.shape[0] :]
    used = np.flatnonzero(weights > SMALL * max(float(weights.max()), SMALL))
    if used.size == 0:
        return None
    kept = cuts.chosen(used)
    share = 1.0 / (n * np.bincount(kept.owners, weights=weights[used]).max())
    return CostProof(kept.owners, kept.points, share * weights[used], share * rows, reach=reach)
