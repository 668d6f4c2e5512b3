"""The dual over whole ellipsoids at once, for many batches of few samples whose Gram matrix is in memory.

Where most batches touch the margin and need most of their directions, cutting planes end with as many columns as there are
samples, after several masters on the way. Here all directions are there from the start, and Newton's systems are solved by
conjugate gradients (:mod:`surefoot.chancesvm.interior.gram_objective`).

Every iterate of the interior-point method is a dual point, and its w an incumbent: the method ends as soon as the two prove
each other, long before its own residuals would say so. Where it ends without, cutting planes go on from there.
"""

from __future__ import annotations

import numpy as np

from surefoot.chancesvm.interior.ellipsoid_dual import solve_ellipsoid_dual
from surefoot.chancesvm.interior.gram_objective import GramObjective
from surefoot.chancesvm.problem.feasible_mix import feasible_mix
from surefoot.chancesvm.problem.problem import ChanceSVMProblem, EllipsoidMix
from surefoot.chancesvm.solvers.feature_space import FeatureSpace, GramFeatureSpace
from surefoot.chancesvm.solvers.parameters import EllipsoidDualParameters, WholeEllipsoidParameters
from surefoot.chancesvm.solvers.path_solution import PathSolution
from surefoot.chancesvm.solvers.plane_run import PlaneRun
from surefoot.core.arrays import FloatArray


class WholeEllipsoids:
    """The solve of one problem.

    Attributes
    ----------
    solution : PathSolution or None
        The last iterate that was an incumbent or a bound.
    """

    def __init__(self, run: PlaneRun, gram: FloatArray, parameters: WholeEllipsoidParameters) -> None:
        self.run, self.parameters = run, parameters
        self.objective = GramObjective(run.problem, gram, parameters.objective, lambda: run.options.out_of_time)
        self.solution: PathSolution | None = None

    def solve(self) -> None:
        """Iterate until the gap is closed, the time is over, or rounding ends it."""
        problem = self.run.problem
        solve_ellipsoid_dual(
            self.objective,
            problem.labels,
            problem.costs,
            self.objective.batch,
            # Of the method's own gap: an end that closed gaps forestall.
            self.parameters.gap_fraction * self.run.options.tolerance,
            EllipsoidDualParameters(max_iterations=self.parameters.max_iterations),
            is_over=self._offer,
        )

    def _offer(self) -> bool:
        """Offer the iterate to the run; whether that ends it."""
        run, problem = self.run, self.run.problem
        coefficients, values = self.objective.point
        square = max(float(coefficients @ values), 0.0)
        mix = feasible_mix(problem, coefficients)
        bound, demands = mix.bound(values), problem.demands(values, square)
        upper = 0.5 * square + problem.hinge(demands, problem.best_intercept(demands))
        # A line search takes longer than all the rest, and closes no gap that is wide.
        if upper - bound <= self.parameters.near_gap * upper or self.solution is None:
            run.improve_along(coefficients, values, square)
            run.tighten(bound, EllipsoidMix(coefficients))
            self.solution = PathSolution(coefficients, values, square, coefficients, mix.weights, bound, problem.tau)
        return run.converged or run.options.out_of_time


def whole_ellipsoids(run: PlaneRun, space: FeatureSpace, parameters: WholeEllipsoidParameters) -> WholeEllipsoids | None:
    """The method for a problem, or None if it has radii, no Gram matrix in memory, or batches that are few or large."""
    problem = run.problem
    if not isinstance(space, GramFeatureSpace) or space.gram is None or problem.has_radii:
        return None
    least, most = parameters.norms
    if not least < float(np.diagonal(space.gram).max()) < most:
        return None
    if problem.n_samples < parameters.least_samples or not _is_even(problem, parameters):
        return None
    return WholeEllipsoids(run, space.gram, parameters)


def _is_even(problem: ChanceSVMProblem, parameters: WholeEllipsoidParameters) -> bool:
    """Whether blocks as large as the largest batch are mostly full, and small for how long the ellipsoids are."""
    largest = int(problem.sizes.max())
    is_long = float(np.median(problem.tau)) >= parameters.long_tau
    most = parameters.most_long_batch_samples if is_long else parameters.most_batch_samples
    return largest <= most and largest * problem.n_batches <= 2 * problem.n_samples
