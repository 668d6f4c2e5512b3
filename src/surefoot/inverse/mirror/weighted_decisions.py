"""The lower bound of a first-order method: weighted averages of the cuts it has met.

Every decision x of example i is a cut, loss_i(theta) >= <phi(x_i) - phi(x), theta> + d(x_i, x), whether or not it was the
worst; so is every mean of cuts. With the weights that a run gave to its points, the mean over the examples, <a, theta> + c, has

    optimum  >=  min over theta in Theta of   kappa R(theta) + <a, theta> + c,

and a run that converges makes that minimum converge to the optimum (the usual argument for averages of subgradients). Where the
minimum is -inf, the response itself helps: as a decision it is the cut 0, so s (<a, theta> + c) with any fraction s in [0, 1]
is a mean of cuts as well, and a small enough one makes the minimum finite. The bound itself is that of
:mod:`surefoot.inverse.problem.cost_proof`, of which this is one proof.
"""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.inverse.mirror.mirror_map import shift_to_total
from surefoot.inverse.oracle.cut_pool import CutPool
from surefoot.inverse.problem.cost_proof import CostProof
from surefoot.inverse.problem.problem import InverseProblem


class WeightedDecisions:
    """The decisions a run has met, with the sums of the weights of the points where each was the worst."""

    def __init__(self, problem: InverseProblem) -> None:
        self.problem = problem
        self.pool = CutPool(problem)
        self._places: dict[tuple[int, bytes], int] = {}
        self._weights: list[float] = []
        self._totals = np.zeros(problem.n_examples)

    def add(self, owner: int, point: FloatArray | None, weight: float) -> None:
        """Add the weight of a decision of an example; None is the cut 0."""
        self._totals[owner] += weight
        if point is None:
            return
        # Zeros of either sign are one decision, as they are in the pool.
        mark = (owner, (point + 0.0).tobytes())
        if self.pool.add(owner, point):
            self._places[mark] = len(self._weights)
            self._weights.append(0.0)
        self._weights[self._places[mark]] += weight

    def proof(self) -> CostProof:
        """The mean of all cuts met, as a proof."""
        problem, cuts = self.problem, self.pool.cuts()
        n = problem.n_examples
        weights = np.asarray(self._weights, dtype=np.float64) / (n * self._totals[cuts.owners])
        fraction, multiplier = mean_multipliers(problem, weights @ cuts.slopes)
        rows = np.zeros(problem.prior.matrix.shape[0])
        return CostProof(cuts.owners, cuts.points, fraction * weights, rows, total_price=multiplier)


def mean_multipliers(problem: InverseProblem, slope: FloatArray) -> tuple[float, float]:
    """A fraction s of a mean cut, and a multiplier of the prior's total, that bound kappa R + s <slope, theta> from below.

    Rows and matrices of the prior have no multiplier here, which lowers the bound and leaves it valid.
    """
    prior, kappa, center = problem.prior, problem.kappa, problem.regularizer.center
    square = kappa > 0 and problem.regularizer.kind == "l2"
    if prior.total is not None:
        if square:
            return 1.0, kappa * shift_to_total(prior, center - slope / kappa)
        # No entry gains by growing: kappa + slope_j + multiplier >= 0, with the least multiplier that does it.
        return 1.0, -(float(slope.min()) + kappa)
    if square:
        return 1.0, 0.0
    # An entry may run to infinity only if its cost does not fall on the way: kappa + s slope_j >= 0 upwards.
    up, down = np.isposinf(prior.upper), np.isneginf(prior.lower)
    steepest = max(float(np.max(-slope[up], initial=0.0)), float(np.max(slope[down], initial=0.0)))
    # Less by a few digits, so that rounding leaves no slope on the wrong side of kappa.
    return (1.0 if steepest <= kappa else kappa / steepest * (1.0 - 1e-12)), 0.0
