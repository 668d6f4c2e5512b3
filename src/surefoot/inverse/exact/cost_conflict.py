"""A few observations that no cost explains together: an infeasible subsystem with few rows.

    max t   subject to   slopes_k . theta + t offsets_k <= 0,   theta in Theta,  -1 <= theta <= 1,  0 <= t <= 1

has the optimum 0 if no cost leaves the decisions found their distances. Its multipliers w say why: sum_k w_k slopes_k = 0 (or
has signs that Theta forbids to use) and sum_k w_k offsets_k >= 1. The simplex method ends at a vertex, where at most p + 1 of
them are above 0.
"""

from __future__ import annotations

import numpy as np

from surefoot.core.backends.highs import LinearProgramme
from surefoot.inverse.exact.balanced_units import ObservationSizes
from surefoot.inverse.exact.parameters import ConsistencyParameters
from surefoot.inverse.problem.cost_proof import CostProof
from surefoot.inverse.problem.problem import Cuts, InverseProblem


def few_in_conflict(problem: InverseProblem, cuts: Cuts, box_radius: float) -> CostProof | None:
    """A proof with few decisions that losses cannot all be 0, or None if there is none of this kind."""
    p, n, prior = problem.n_features, problem.n_examples, problem.prior
    if not prior.is_cone or prior.psd or cuts.size == 0:
        return None
    lower, upper = np.append(np.maximum(prior.lower, -1.0), 0.0), np.append(np.minimum(prior.upper, 1.0), 1.0)
    # Costs in units of the columns: the prior set is a cone, so that its bounds stay as they are.
    units = ObservationSizes.of(problem).columns
    slopes = cuts.slopes / units
    programme = LinearProgramme(lower, upper, np.append(np.zeros(p), -1.0))
    columns = np.arange(p + 1, dtype=np.int32)
    matrix = prior.matrix / units
    sizes = np.maximum(np.abs(matrix).max(axis=1, initial=0.0), 1e-300)
    for row in matrix / sizes[:, None]:
        programme.add_row(columns[:p], row, -np.inf, 0.0)
    # Rows of length 1 and t in units of their largest offset: whatever the units of the data.
    length = np.linalg.norm(slopes, axis=1)
    length = np.where(length > 0, length, 1.0)
    unit = float(np.max(cuts.offsets / length)) or 1.0
    for slope, offset, size in zip(slopes, cuts.offsets, length, strict=True):
        programme.add_row(columns, np.append(slope / size, offset / size / unit), -np.inf, 0.0)
    answer = programme.solve()
    if answer.prices is None or answer.bound < -1e-7:
        return None
    multipliers = np.maximum(-answer.prices, 0.0)
    rows, weights = multipliers[: sizes.size] / sizes, multipliers[sizes.size :] / length
    small = ConsistencyParameters.multiplier_fraction
    used = np.flatnonzero(weights > small * max(float(weights.max()), small))
    if used.size == 0:
        return None
    active = cuts.chosen(used)
    scale = 1.0 / (n * np.bincount(active.owners, weights=weights[used]).max())
    return CostProof(active.owners, active.points, scale * weights[used], scale * rows, reach=box_radius)
