"""Ellipsoid cutting planes, the default solver: generate the few directions in which the ellipsoids matter.

Problem. Every batch stands for an ellipsoid E_i in feature space, and the problem is the support vector machine over all their
points (Lemma 1 of Lin, Fang, Fang and Gao, Computers and Operations Research, 2024):

    min over w, b of  1/2 ||w||^2 + sum_i C_i max(0, 1 - min over d in E_i of y_i (w . d + b)),

written here without radii; :mod:`surefoot.chancesvm.problem.problem` has them. These are infinitely many margin constraints.

One pass:

1. Master. Solve the dual over the ellipsoids restricted to the directions generated so far
   (:mod:`surefoot.chancesvm.solvers.ellipsoid_master`), to a fraction of the current gap. Its objective is a lower bound.
2. Incumbent. Take w, the dual point of the master, with its best scale and intercept for the full ellipsoids: an upper bound.
3. Separation. Give every batch whose full ellipsoid crosses the margin the direction of its worst point, u = A_i w / ||A_i w||.

Termination. The relative gap is at most the tolerance; or a limit; or separation finds nothing and a more accurate master does
not help (stalled).

A pool of single worst points is Kelley's method and takes dozens of passes as soon as eps is small. Within the directions it
has, a restricted ellipsoid keeps its curvature, so that the gap closes in a handful of passes; and after as many passes as a
batch has samples its ellipsoid is complete. Only batches at the margin take part in the master. A pass costs one product of the
Gram matrix with the new directions.

If eps is small and batches are large, w must be nearly orthogonal to most of an ellipsoid, and needs most of its directions.
Where only batch i counts, the optimal u solves (s I + B_i) u = r with B_i = A_i A_i', and worst points build up the Krylov
space of B_i one vector a pass. So a slow pass doubles the number of Krylov vectors that the next separation adds without a
master for each: passes grow with the logarithm of the number of directions.
"""

from __future__ import annotations

from surefoot.chancesvm.problem.problem import ChanceSVMProblem
from surefoot.chancesvm.registry import ChanceOutcome
from surefoot.chancesvm.solvers.ellipsoid_master import EllipsoidMaster
from surefoot.chancesvm.solvers.feature_space import OutOfTimeError, make_feature_space
from surefoot.chancesvm.solvers.parameters import EllipsoidCutParameters
from surefoot.chancesvm.solvers.plane_run import PlaneRun
from surefoot.chancesvm.solvers.price_path import PricePath
from surefoot.core.blas_threads import blas_threads
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions


class EllipsoidCuts:
    """The default solver; see the module docstring.

    Parameters
    ----------
    parameters : EllipsoidCutParameters, optional
    """

    name = "worst-points"

    def __init__(self, parameters: EllipsoidCutParameters | None = None) -> None:
        self.parameters = EllipsoidCutParameters() if parameters is None else parameters

    def refuses(self, problem: ChanceSVMProblem) -> str | None:
        """Every problem is taken."""
        return None

    def solve(self, problem: ChanceSVMProblem, options: SolveOptions, path: PricePath | None = None) -> ChanceOutcome:
        """Minimise until the relative gap is at most the tolerance, or a limit ends it.

        With a path, warm-start from what is known of problems on the same batches, and leave there what was found.
        """
        path = PricePath() if path is None else path
        path.require_same(problem)
        run = PlaneRun(problem, options, self.parameters.scale)
        try:
            master = self._initialise(run, path)
            ended = Status.OPTIMAL if run.converged else self._iterate(run, path, master)
        except KeyboardInterrupt:
            ended = Status.INTERRUPTED
        except OutOfTimeError:
            ended = Status.TIME_LIMIT
        return run.outcome(ended)

    def _initialise(self, run: PlaneRun, path: PricePath) -> EllipsoidMaster:
        """The master, and incumbents of neighbours or of least squares."""
        problem, options = run.problem, run.options
        if path.master is None:
            space = make_feature_space(problem, self.parameters.feature_space, options)
        with blas_threads(self._threads(problem, problem.n_batches, options)):
            if path.master is None:
                path.master = EllipsoidMaster(problem, space, self.parameters)
            master = path.master
            master.reset(problem, options)
            for known in path.neighbours:
                known.warm_start(run)
                if run.converged:
                    break
            if not path.neighbours:
                run.improve_along(*master.least_squares(), wide=True)
        run.record(0)
        return master

    def _iterate(self, run: PlaneRun, path: PricePath, master: EllipsoidMaster) -> Status:
        """Passes until the gap is closed or something else ends them."""
        problem, options, parameters = run.problem, run.options, self.parameters
        limit = parameters.max_passes if options.max_iter is None else options.max_iter
        gap_fraction, count = parameters.master_gap_fraction, 1
        # Where directions are known, one master may be all that it takes.
        warm = master.has_directions
        for iteration in range(1, limit + 1):
            before = run.relative_gap
            with blas_threads(self._threads(problem, master.batch.size, options)):
                gap = gap_fraction * min(before, 1.0)
                if warm:
                    gap = min(gap, parameters.warm_gap_fraction * options.tolerance)
                master.solve(max(gap, parameters.min_master_tolerance))
                path.remember()
                run.improve_along(master.fraction * master.mix, master.values, master.squared_norm)
                run.tighten(master.bound, master.dual)
                run.record(iteration)
                if run.converged:
                    return Status.OPTIMAL
                if options.out_of_time:
                    return Status.TIME_LIMIT
                if iteration > 1 and run.relative_gap > parameters.slow_pass_fraction * before:
                    count *= 2
                if master.separate(count, options):
                    continue
            # Nothing is left to separate: what remains of the gap is the master's own.
            gap_fraction *= 0.1
            if gap_fraction < parameters.min_master_gap_fraction:
                return Status.STALLED
        return Status.ITERATION_LIMIT

    def _threads(self, problem: ChanceSVMProblem, unknowns: int, options: SolveOptions) -> int:
        work = max(unknowns, problem.n_samples // self.parameters.threaded_samples)
        return options.n_threads if work >= self.parameters.threaded_unknowns else 1
