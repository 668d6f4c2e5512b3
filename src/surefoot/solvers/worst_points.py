"""The default solver: the worst points of the ellipsoids show in which few directions they matter.

Every batch stands for an ellipsoid mu_i + tau_i A_i' u, ||u|| <= 1, in feature space, and the problem asks to separate them
all. The ellipsoids are flattened to a few directions u_i1, u_i2, ... that are found one by one. A pass

1. solves the dual over the flattened ellipsoids (:mod:`surefoot.solvers.ellipsoid_dual`). Its value is a lower bound: smaller
   ellipsoids, fewer demands;
2. takes w, the mix of points that the dual has found, and the best intercept for the full ellipsoids: an upper bound;
3. gives every batch whose full ellipsoid is not clear of the margin the direction of its worst point, u = A_i w / ||A_i w||,
   made orthogonal to those it has.

In the directions it has, an ellipsoid keeps its curvature, so that the gap closes in a handful of passes, where a pool of
single worst points takes dozens as soon as eps is small; and after as many passes as a batch has samples nothing is left to
find. Only batches at the margin take part in the dual. A pass costs one product of the Gram matrix with the new directions.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse

from surefoot.problems.arrays import FloatArray, RowArray
from surefoot.problems.chance_svm import ChanceSVMProblem
from surefoot.problems.feasible_mix import feasible_mix
from surefoot.solvers.best_plane import BestPlane
from surefoot.solvers.blas_threads import blas_threads
from surefoot.solvers.chance_registry import ChanceOutcome
from surefoot.solvers.ellipsoid_dual import Objective, ellipsoid_mix
from surefoot.solvers.outcome import Progress, Status
from surefoot.solvers.point_images import DEFAULT_MEMORY, PointImages, make_images
from surefoot.solvers.registry import SolveOptions

DEFAULT_PASSES = 500
# The dual is solved to this share of the gap that the last pass left.
INNER_SHARE, LEAST_SHARE = 0.01, 1e-6
# Rounding does not allow for more.
LEAST_TOLERANCE = 1e-12
# A first model may be off in size by much. Its scores need not be exact: that would take long w, and many systems are singular.
FIRST_SIZES, RIDGE = (0.0, 64.0), 0.03
# Batches with less than this share of the mean weight have none.
IDLE_SHARE = 1e-6
# What is left of a unit vector after those of its batch were taken away; less is rounding.
NEW_SHARE = 1e-6
# Factorisations below this size are over before a second thread is awake.
SHARED_UNKNOWNS = 1500
# So many batches take part from the beginning, and so many may join in a pass.
FIRST_BATCHES, JOINING_BATCHES = 1000, 500


class WorstPoints:
    """The default solver; see the module docstring.

    Parameters
    ----------
    memory : int, default=2**31
        Bytes that a Gram matrix may take; a larger one is computed anew, in blocks, in every pass.
    n_landmarks : int, optional
        Search w in the span of so many samples only, where that saves time. Its objective is that of the full problem all the
        same, and the bound that is returned holds for the full problem too, so that the gap says what the restriction may have
        cost: expect it to stay open, and the status to be ``STALLED``.
    """

    name = "worst-points"

    def __init__(self, memory: int = DEFAULT_MEMORY, n_landmarks: int | None = None) -> None:
        if n_landmarks is not None and n_landmarks < 1:
            raise ValueError(f"n_landmarks = {n_landmarks} must be at least 1.")
        self.memory, self.n_landmarks = memory, n_landmarks

    def refuses(self, problem: ChanceSVMProblem) -> str | None:
        """Every problem is taken."""
        return None

    def solve(self, problem: ChanceSVMProblem, options: SolveOptions) -> ChanceOutcome:
        """Minimise until the relative gap is at most the tolerance, or a limit ends it."""
        started = time.perf_counter()
        best = BestPlane(problem)
        status, history = Status.ITERATION_LIMIT, list[Progress]()
        limit = DEFAULT_PASSES if options.max_iter is None else options.max_iter
        inner = INNER_SHARE

        def tell(iteration: int) -> None:
            history.append(Progress(iteration, best.upper, best.lower, time.perf_counter() - started))
            if options.on_progress is not None:
                options.on_progress(history[-1])

        try:
            images = make_images(problem, self.memory, self.n_landmarks, options.n_threads)
            with blas_threads(options.n_threads, min(problem.n_batches, FIRST_BATCHES)):
                flat = _Flattened(problem, images, options.n_threads)
                best.offer(*flat.least_squares(), sizes=FIRST_SIZES)
            tell(0)
            for iteration in range(1, limit + 1):
                flat.solve(max(inner * min(best.relative_gap, 1.0), LEAST_TOLERANCE))
                best.offer(flat.share * flat.coefficients, flat.values, flat.squared_length)
                best.offer_bound(flat.mix, flat.bound)
                tell(iteration)
                if best.relative_gap <= options.tolerance:
                    status = Status.OPTIMAL
                    break
                if options.out_of_time:
                    status = Status.TIME_LIMIT
                    break
                if flat.extend():
                    continue
                # Nothing is left to find: what remains of the gap is the dual's own.
                inner *= 0.1
                if inner < LEAST_SHARE:
                    status = Status.STALLED
                    break
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        if self.n_landmarks is not None and best.lower > 0:
            status = _full_bound(problem, best, status, options)
        return best.outcome(status, history, started)


def _full_bound(problem: ChanceSVMProblem, best: BestPlane, status: Status, options: SolveOptions) -> Status:
    """Replace the bound of the restricted problem, which projections make too good, by that of the full one."""
    with blas_threads(options.n_threads, problem.n_samples):
        feasible = feasible_mix(problem, best.mix.coefficients)
        best.lower = max(0.0, feasible.bound(problem.values(feasible.coefficients)))
    return Status.STALLED if status is Status.OPTIMAL and best.relative_gap > options.tolerance else status


class _Flattened:
    """The flattened ellipsoids: columns y_i mu_i, and y_i tau_i A_i' u_ij for each direction, and the dual's mix of them."""

    def __init__(self, problem: ChanceSVMProblem, images: PointImages, n_threads: int) -> None:
        self.problem, self.images, self.n_threads = problem, images, n_threads
        self.signs = np.repeat(problem.labels, problem.sizes)
        self.batch = _first_batches(problem)
        self.is_mean = np.ones(self.batch.size, dtype=np.bool_)
        self.combinations = _rows(problem, self.batch, self.signs * problem.weights)
        self.image = images.of(self.combinations)
        self.inner = _symmetric(images.inner(self.combinations, self.image, self.image))
        # Unit vectors of all batches side by side, one array for each pass; zeros where a batch had none.
        # The first is no direction at all: along the roots of the weights lies the mean.
        self.directions = [np.sqrt(problem.weights)]
        self.joined = np.zeros(problem.n_batches, dtype=np.bool_)
        self.joined[self.batch] = True
        self.working = self.joined.copy()

    def least_squares(self) -> tuple[FloatArray, FloatArray, float]:
        """Coefficients, values and squared length of the w whose scores of the means are nearest to their labels.

        A solve of one linear system, and often a fair model already.
        """
        labels = self.problem.labels[self.batch]
        ridge = RIDGE * max(float(np.trace(self.inner)) / self.batch.size, np.finfo(np.float64).tiny)
        matrix = self.inner + ridge * np.eye(self.batch.size)
        # Scores are y_i (w . mu_i + b); the equation of b makes the signed multipliers sum to 0.
        ones, signs = np.linalg.solve(matrix, np.stack((np.ones(labels.size), labels), axis=1)).T
        v = ones - float(labels @ ones) / float(labels @ signs) * signs
        image = self.image @ v
        coefficients = self.images.coefficients(image, self.combinations.T @ v)
        return coefficients, self.images.values(image), max(float(v @ self.inner @ v), 0.0)

    def solve(self, tolerance: float) -> None:
        """Mix points of the flattened ellipsoids."""
        problem = self.problem
        members = np.flatnonzero(self.working)
        place = np.cumsum(self.working) - 1
        means = np.flatnonzero(self.is_mean & self.working[self.batch])
        means = means[np.argsort(self.batch[means])]
        coordinates = np.flatnonzero(~self.is_mean & self.working[self.batch])
        used = np.concatenate((means, coordinates))
        batch = place[self.batch[coordinates]]
        quadratic = self.inner[np.ix_(used, used)]
        if not problem.has_radii:
            objective = Objective(quadratic)
        else:
            # One more coordinate for each batch, along w: it shortens w and does nothing else.
            size = used.size + members.size
            padded = np.zeros((size, size))
            padded[: used.size, : used.size] = quadratic
            outward = problem.tau[members] * np.sqrt(problem.covariance_radius[members])
            shortening = np.concatenate((problem.mean_radius[members], np.zeros(coordinates.size), outward))
            objective = Objective(padded, shortening)
            batch = np.concatenate((batch, np.arange(members.size)))
        with blas_threads(self.n_threads if used.size >= SHARED_UNKNOWNS else 1):
            found = ellipsoid_mix(objective, problem.labels[members], problem.costs[members], batch, tolerance)
        self.weights = np.zeros(problem.n_batches)
        self.weights[members] = found.v[: members.size]
        v = np.zeros(self.batch.size)
        v[used] = found.v[: used.size]
        self.mix = self.combinations.T @ v
        self.share, self.bound = found.share, found.bound
        image = self.image @ v
        self.coefficients = self.images.coefficients(image, self.mix)
        self.values = found.share * self.images.values(image)
        self.squared_length = found.share**2 * max(float(v @ self.inner @ v), 0.0)

    def extend(self) -> bool:
        """Let batches join and give those at the margin the direction of their worst point; whether anything was new."""
        problem = self.problem
        demands = problem.demands(self.values, self.squared_length)
        excess = demands - problem.labels * problem.best_intercept(demands)
        # Rounding must not keep a batch that the margin touches from its direction.
        touched = excess > -1e-9
        joining = np.flatnonzero(touched & ~self.joined)
        if joining.size > JOINING_BATCHES:
            joining = np.sort(joining[np.argsort(-excess[joining])[:JOINING_BATCHES]])
        means, spreads = problem.moments(self.values)
        deviations = np.sqrt(problem.weights) * (self.values - np.repeat(means, problem.sizes))
        unit = deviations / np.repeat(np.where(spreads > 0, spreads, 1.0), problem.sizes)
        for _ in range(2):
            for direction in self.directions:
                unit = unit - np.repeat(problem.sums(direction * unit), problem.sizes) * direction
        lengths = np.sqrt(problem.sums(unit * unit))
        fresh = touched & self.joined
        fresh[joining] = True
        fresh &= (lengths > NEW_SHARE) & (spreads > 0) & (problem.tau > 0)
        unit *= np.repeat(np.where(fresh, 1.0 / np.where(fresh, lengths, 1.0), 0.0), problem.sizes)
        self._add(joining, unit, np.flatnonzero(fresh))
        working = (self.weights > IDLE_SHARE * self.weights.mean()) | (touched & self.joined)
        changed = bool(np.any(working & ~self.working) or fresh.any())
        self.working = working
        return changed

    def _add(self, joining: RowArray, unit: FloatArray, turned: RowArray) -> None:
        """Add the means of batches that join, and the directions of batches that have a new one in ``unit``."""
        problem = self.problem
        if joining.size + turned.size == 0:
            return
        reach = np.repeat(problem.tau, problem.sizes) * np.sqrt(problem.weights)
        means = _rows(problem, joining, self.signs * problem.weights)
        new = scipy.sparse.csr_array(scipy.sparse.vstack((means, _rows(problem, turned, self.signs * reach * unit))))
        image = self.images.of(new)
        corner = _symmetric(self.images.inner(new, image, image))
        cross = self.images.inner(new, self.image, image)
        self.inner = np.block([[self.inner, cross.T], [cross, corner]])
        self.image = np.concatenate((self.image, image), axis=1)
        self.combinations = scipy.sparse.csr_array(scipy.sparse.vstack((self.combinations, new)))
        self.batch = np.concatenate((self.batch, joining, turned))
        self.is_mean = np.concatenate((self.is_mean, np.arange(new.shape[0]) < joining.size))
        self.joined[joining] = True
        if turned.size:
            self.directions.append(unit)


def _rows(problem: ChanceSVMProblem, batches: RowArray, coefficients: FloatArray) -> scipy.sparse.csr_array:
    """One row for each of some batches in ascending order: the coefficients of its own samples."""
    mask = np.zeros(problem.n_batches, dtype=np.bool_)
    mask[batches] = True
    columns = np.flatnonzero(np.repeat(mask, problem.sizes))
    pointers = np.concatenate(([0], np.cumsum(problem.sizes[batches])))
    return scipy.sparse.csr_array((coefficients[columns], columns, pointers), shape=(batches.size, problem.n_samples))


def _symmetric(inner: FloatArray) -> FloatArray:
    return 0.5 * (inner + inner.T)


def _first_batches(problem: ChanceSVMProblem) -> RowArray:
    if problem.n_batches <= 2 * FIRST_BATCHES:
        return np.arange(problem.n_batches)
    chosen = [np.flatnonzero(problem.labels == label) for label in (-1.0, 1.0)]
    # Evenly spread, and always of both classes.
    return np.sort(np.concatenate([part[:: max(1, part.size * 2 // FIRST_BATCHES)] for part in chosen]))
