"""What a first-order method has seen bounds the optimum from below.

Every decision x of example i is a cut, loss_i(theta) >= <phi(x_i) - phi(x), theta> + d(x_i, x), whether or not it was the
worst; so is every mean of cuts. With the weights that a run gave to its points, the mean over the examples, <a, theta> + c, has

    optimum  >=  min over theta in Theta of   kappa R(theta) + <a, theta> + c,

and a run that converges makes that minimum converge to the optimum (the usual argument for averages of subgradients). Where the
minimum is -inf, the response itself helps: as a decision it is the cut 0, so s (<a, theta> + c) with any share s in [0, 1] is a
mean of cuts as well, and a small enough share makes the minimum finite. The bound itself is that of
:mod:`surefoot.inverse.problem.cost_proof`, of which this is one proof.
"""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.inverse.exact.cut_pool import CutPool
from surefoot.inverse.mirror.mirror_map import shift_to_total
from surefoot.inverse.problem.cost_proof import CostProof
from surefoot.inverse.problem.problem import InverseProblem


class VisitedDecisions:
    """The decisions a run has met, and how much weight each has gathered."""

    def __init__(self, problem: InverseProblem) -> None:
        self.problem = problem
        self.pool = CutPool(problem)
        self._places: dict[tuple[int, bytes], int] = {}
        self._weights: list[float] = []
        self._gathered = np.zeros(problem.n_examples)

    def add(self, owner: int, point: FloatArray | None, weight: float) -> None:
        """Count a decision of an example; None is the cut 0."""
        self._gathered[owner] += weight
        if point is None:
            return
        # Zeros of either sign are one decision, as they are in the pool.
        mark = (owner, (point + 0.0).tobytes())
        if self.pool.add(owner, point):
            self._places[mark] = len(self._weights)
            self._weights.append(0.0)
        self._weights[self._places[mark]] += weight

    def proof(self) -> CostProof:
        """The mean of everything seen, as a proof."""
        problem, cuts = self.problem, self.pool.cuts()
        n = problem.n_examples
        weights = np.asarray(self._weights, dtype=np.float64) / (n * self._gathered[cuts.owners])
        share, price = mean_prices(problem, weights @ cuts.slopes)
        rows = np.zeros(problem.prior.matrix.shape[0])
        return CostProof(cuts.owners, cuts.points, share * weights, rows, total_price=price)


def mean_prices(problem: InverseProblem, slope: FloatArray) -> tuple[float, float]:
    """A share s of a mean cut, and a price of the prior's total, that bound kappa R(theta) + s <slope, theta> from below.

    Rows and matrices of the prior have no price here, which lowers the bound and keeps it true.
    """
    prior, kappa, center = problem.prior, problem.kappa, problem.regularizer.center
    square = kappa > 0 and problem.regularizer.kind == "l2"
    if prior.total is not None:
        if square:
            return 1.0, kappa * shift_to_total(prior, center - slope / kappa)
        # No entry pays for growing: kappa + slope_j + price >= 0, and as little as that allows.
        return 1.0, -(float(slope.min()) + kappa)
    if square:
        return 1.0, 0.0
    # An entry may run to infinity only if its cost does not fall on the way: kappa + s slope_j >= 0 upwards.
    up, down = np.isposinf(prior.upper), np.isneginf(prior.lower)
    steepest = max(float(np.max(-slope[up], initial=0.0)), float(np.max(slope[down], initial=0.0)))
    # The last digit is given away, so that rounding leaves no slope on the wrong side of kappa.
    return (1.0 if steepest <= kappa else kappa / steepest * (1.0 - 1e-12)), 0.0
