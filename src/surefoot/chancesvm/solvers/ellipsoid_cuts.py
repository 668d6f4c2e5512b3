"""The default solver: the worst points of the ellipsoids show in which few directions they matter.

Every batch stands for an ellipsoid in feature space, and the problem asks to separate them all. They are flattened to a few
directions (:mod:`surefoot.chancesvm.solvers.flat_ellipsoids`). A pass

1. solves the dual over the flat ellipsoids (:mod:`surefoot.chancesvm.solvers.ellipsoid_dual`). Its value is a lower bound:
   smaller ellipsoids, fewer demands;
2. takes w, the mix of points that the dual has found, and the best intercept for the full ellipsoids: an upper bound;
3. gives every batch whose full ellipsoid is not clear of the margin the direction of its worst point, u = A_i w / ||A_i w||,
   made orthogonal to those it has.

In the directions it has, an ellipsoid keeps its curvature, so that the gap closes in a handful of passes, where a pool of
single worst points takes dozens as soon as eps is small; and after as many passes as a batch has samples nothing is left to
find. Only batches at the margin take part in the dual. A pass costs one product of the Gram matrix with the new directions.

If eps is small and batches are large, w must be nearly orthogonal to most of an ellipsoid, and needs most of its directions.
Where only batch i counts, the optimal u solves (s I + B_i) u = r with B_i = A_i A_i', and worst points build up the Krylov
space of B_i one vector a pass. So a slow pass doubles the number of vectors of this space that the next one adds, which no
longer takes a dual to be solved for each: passes grow with the logarithm of the number of directions.
"""

from __future__ import annotations

import time

from surefoot.chancesvm.problem.problem import ChanceSVMProblem
from surefoot.chancesvm.registry import ChanceOutcome
from surefoot.chancesvm.solvers.best_plane import BestPlane
from surefoot.chancesvm.solvers.flat_ellipsoids import FlatEllipsoids
from surefoot.chancesvm.solvers.point_images import DEFAULT_MEMORY, OutOfTimeError, make_images
from surefoot.chancesvm.solvers.price_path import WorstPath
from surefoot.core.blas_threads import blas_threads
from surefoot.core.outcome import Progress, Status
from surefoot.core.solve_options import SolveOptions

DEFAULT_PASSES = 500
# The dual is solved to this share of the gap that the last pass left.
INNER_SHARE, LEAST_SHARE = 0.01, 1e-6
# Or, with the directions of other problems at hand, to this share of the gap that is asked for.
READY_SHARE = 0.1
# Rounding does not allow for more.
LEAST_TOLERANCE = 1e-12
# A first model may be off in size by much.
FIRST_SIZES = (0.0, 64.0)
# Factorisations below this number of unknowns, and products with so many times as many samples, are over before a second
# thread is awake.
SHARED_UNKNOWNS, SHARED_SAMPLES = 1500, 10
# A pass that leaves more than this share of the gap doubles the directions that a batch gets. The first knows only means.
SLOW_SHARE = 0.5


class WorstPoints:
    """The default solver; see the module docstring.

    Parameters
    ----------
    memory : int, default=2**31
        Bytes that a Gram matrix may take; a larger one is computed anew, in blocks, in every pass.
    """

    name = "worst-points"

    def __init__(self, memory: int = DEFAULT_MEMORY) -> None:
        self.memory = memory

    def refuses(self, problem: ChanceSVMProblem) -> str | None:
        """Every problem is taken."""
        return None

    def solve(self, problem: ChanceSVMProblem, options: SolveOptions, path: WorstPath | None = None) -> ChanceOutcome:
        """Minimise until the relative gap is at most the tolerance, or a limit ends it.

        With a path, begin with what is known of problems on the same batches, and leave there what was found.
        """
        started = time.perf_counter()
        path = WorstPath() if path is None else path
        path.require_same(problem)
        best = BestPlane(problem)
        status, history = Status.ITERATION_LIMIT, list[Progress]()
        limit = DEFAULT_PASSES if options.max_iter is None else options.max_iter
        inner, count = INNER_SHARE, 1

        def tell(iteration: int) -> None:
            history.append(Progress(iteration, best.upper, best.lower, time.perf_counter() - started))
            if options.on_progress is not None:
                options.on_progress(history[-1])

        try:
            if path.flat is None:
                images = make_images(problem, self.memory, options)
            with blas_threads(_threads(problem, problem.n_batches, options)):
                if path.flat is None:
                    path.flat = FlatEllipsoids(problem, images)
                flat = path.flat
                flat.pose(problem, options)
                for known in path.near:
                    known.offer(best)
                    if best.relative_gap <= options.tolerance:
                        break
                if not path.near:
                    best.offer(*flat.least_squares(), sizes=FIRST_SIZES)
            tell(0)
            if best.relative_gap <= options.tolerance:
                return best.outcome(Status.OPTIMAL, history, started)
            # Where directions are known, one dual may be all that it takes.
            ready = flat.has_directions
            for iteration in range(1, limit + 1):
                before = best.relative_gap
                with blas_threads(_threads(problem, flat.batch.size, options)):
                    wanted = inner * min(before, 1.0)
                    flat.solve(max(min(wanted, READY_SHARE * options.tolerance) if ready else wanted, LEAST_TOLERANCE))
                    path.remember()
                    best.offer(flat.share * flat.mix, flat.values, flat.squared_length)
                    best.offer_bound(flat.mix, flat.bound)
                    tell(iteration)
                    if best.relative_gap <= options.tolerance:
                        status = Status.OPTIMAL
                        break
                    if options.out_of_time:
                        status = Status.TIME_LIMIT
                        break
                    if iteration > 1 and best.relative_gap > SLOW_SHARE * before:
                        count *= 2
                    if flat.extend(count, options):
                        continue
                # Nothing is left to find: what remains of the gap is the dual's own.
                inner *= 0.1
                if inner < LEAST_SHARE:
                    status = Status.STALLED
                    break
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        except OutOfTimeError:
            status = Status.TIME_LIMIT
        return best.outcome(status, history, started)


def _threads(problem: ChanceSVMProblem, unknowns: int, options: SolveOptions) -> int:
    return options.n_threads if max(unknowns, problem.n_samples // SHARED_SAMPLES) >= SHARED_UNKNOWNS else 1
