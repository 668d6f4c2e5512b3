"""The default solver: worst points of the ellipsoids, generated pass by pass.

Every batch stands for an ellipsoid (widened by its radii), and the problem asks to separate all their points. A pass

1. solves the SVM dual over a finite pool of points of the ellipsoids, with sum_{k in batch i} a_k <= C_i
   (:mod:`surefoot.solvers.pool_dual`). Its value is a lower bound: fewer points, fewer demands;
2. takes w = sum_k a_k y_k p_k and the best intercept for all ellipsoids: an upper bound;
3. adds, for each batch whose ellipsoid asks for more than its points do, the point where it is worst,

       p = mu_i - y_i tau_i (Sigma_i w + v_i w) / n_i - y_i r_i w / ||w||,      n_i = sqrt(w' Sigma_i w + v_i ||w||^2),

   that is, with d_s = w . (phi(x_s) - mu_i), the combination p_s (1 - y_i tau_i d_s / n_i) of the batch's own samples, and a
   multiple of w where there are radii;
4. drops points without weight.

A pass costs one product of the Gram matrix with the new points. The mix of the pool's points is a dual point of the problem.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import scipy.sparse

from surefoot.problems.arrays import BoolArray, FloatArray, RowArray
from surefoot.problems.chance_svm import ChanceSVMProblem, EllipsoidMix, KernelPlane
from surefoot.solvers.blas_threads import blas_threads
from surefoot.solvers.chance_registry import ChanceOutcome
from surefoot.solvers.outcome import Progress, SolveOutcome, Status
from surefoot.solvers.point_images import DEFAULT_MEMORY, PointImages, make_images
from surefoot.solvers.pool_dual import pool_weights
from surefoot.solvers.registry import SolveOptions

DEFAULT_PASSES = 500
# The pool is solved to this share of the gap that the last pass left.
INNER_SHARE = 0.05
# Points with less than this share of the pool's mean weight are dropped.
IDLE_SHARE = 1e-6
# A w whose square is below this share of that of its parts has cancelled: its direction is mostly rounding.
SHORT_SHARE = 1e-10


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

    def solve(self, problem: ChanceSVMProblem, options: SolveOptions) -> ChanceOutcome:
        """Minimise until the relative gap is at most the tolerance, or a limit ends it."""
        with blas_threads(options.n_threads, problem.n_samples):
            return self._solve(problem, options)

    def _solve(self, problem: ChanceSVMProblem, options: SolveOptions) -> ChanceOutcome:
        started = time.perf_counter()
        best = _Best(problem)
        status, history = Status.ITERATION_LIMIT, list[Progress]()
        limit = DEFAULT_PASSES if options.max_iter is None else options.max_iter
        try:
            pool = _Pool(problem, make_images(problem, self.memory))
            for iteration in range(1, limit + 1):
                pool.solve(max(INNER_SHARE * min(best.relative_gap, 1.0), 0.1 * options.tolerance))
                best.offer(pool)
                history.append(Progress(iteration, best.upper, best.lower, time.perf_counter() - started))
                if options.on_progress is not None:
                    options.on_progress(history[-1])
                if best.relative_gap <= options.tolerance:
                    status = Status.OPTIMAL
                    break
                if options.out_of_time:
                    status = Status.TIME_LIMIT
                    break
                pool.renew()
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        return SolveOutcome(
            status=status,
            primal=best.plane,
            dual=best.mix,
            upper_bound=best.upper,
            lower_bound=best.lower,
            iterations=len(history),
            seconds=time.perf_counter() - started,
            history=tuple(history),
        )


class _Pool:
    """The points, their inner products, their weights and the w they make."""

    def __init__(self, problem: ChanceSVMProblem, images: PointImages) -> None:
        self.problem, self.images = problem, images
        self.batch: RowArray = np.empty(0, dtype=np.int64)
        self.combinations = scipy.sparse.csr_array((0, problem.n_samples))
        # Multiple of an earlier w in each point, and the pass that w is of.
        self.multiple, self.origin = np.empty(0), np.empty(0, dtype=np.int64)
        self.earlier = [np.zeros(problem.n_samples)]
        self.image: FloatArray | None = None
        self.inner = np.empty((0, 0))
        every = np.arange(problem.n_batches)
        self._add(every, problem.weights, np.zeros(every.size))

    @property
    def labels(self) -> FloatArray:
        return self.problem.labels[self.batch]

    def solve(self, tolerance: float) -> None:
        """Weigh the points."""
        labels = self.labels
        quadratic = self.inner * (labels[:, None] * labels)
        found = pool_weights(quadratic, labels, self.batch, self.problem.costs, tolerance)
        self.weights = found.weights
        signed = labels * self.weights
        self.squared_length = max(float(signed @ self.inner @ signed), 0.0)
        self.lower = float(self.weights.sum()) - 0.5 * self.squared_length
        assert self.image is not None
        self.coefficients = self.own = self.combinations.T @ signed
        self.w_image = self.image.T @ signed
        if self.problem.has_radii:
            # Points hold multiples of earlier w, whose rounding errors would grow from pass to pass: begin from coefficients.
            passed = np.bincount(self.origin, signed * self.multiple, len(self.earlier))
            self.coefficients = self.own + passed @ np.array(self.earlier)
            self.w_image = self.images.of(scipy.sparse.csr_array(self.coefficients[None]))[0]
        self.values = self.images.values(self.w_image)

    def renew(self) -> None:
        """Drop points without weight and add the worst points at w."""
        problem = self.problem
        self._keep(self.weights > IDLE_SHARE * self.weights.mean())
        means, spreads = problem.moments(self.values)
        length = np.sqrt(self.squared_length)
        norm = np.sqrt(spreads * spreads + problem.covariance_radius * self.squared_length)
        safe = np.where(norm > 0, norm, 1.0)
        push = -problem.labels * problem.tau / safe
        deviations = self.values - np.repeat(means, problem.sizes)
        combination = problem.weights * (1.0 + np.repeat(push, problem.sizes) * deviations)
        multiple = np.zeros(problem.n_batches)
        if self.squared_length > SHORT_SHARE * float(self.weights.sum()) ** 2 * float(np.diagonal(self.inner).mean()):
            multiple = push * problem.covariance_radius - problem.labels * problem.mean_radius / length
        demands = problem.demands(self.values, self.squared_length)
        chosen = np.flatnonzero(demands > problem.labels * problem.best_intercept(demands))
        self._add(chosen, combination, multiple)

    def _keep(self, kept: BoolArray) -> None:
        assert self.image is not None
        self.batch, self.multiple, self.origin = self.batch[kept], self.multiple[kept], self.origin[kept]
        self.combinations, self.image = self.combinations[np.flatnonzero(kept)], self.image[kept]
        self.inner = self.inner[np.ix_(kept, kept)]
        self.weights = self.weights[kept]

    def _add(self, batches: RowArray, combination: FloatArray, multiple: FloatArray) -> None:
        problem = self.problem
        sizes = problem.sizes[batches]
        mask = np.zeros(problem.n_batches, dtype=np.bool_)
        mask[batches] = True
        columns = np.flatnonzero(np.repeat(mask, problem.sizes))
        pointers = np.concatenate(([0], np.cumsum(sizes)))
        new = scipy.sparse.csr_array((combination[columns], columns, pointers), shape=(batches.size, problem.n_samples))
        image = self.images.of(new)
        multiple = multiple[batches]
        cross = self.images.inner(new, self.image, image) if self.image is not None else np.empty((batches.size, 0))
        corner = self.images.inner(new, image, image)
        if multiple.any():
            own_with_w = new @ self.values
            earlier = np.array(self.earlier) @ self.values
            cross = cross + np.outer(multiple, self.combinations @ self.values + self.multiple * earlier[self.origin])
            corner = corner + np.outer(multiple, own_with_w + multiple * self.squared_length) + np.outer(own_with_w, multiple)
            image = image + np.outer(multiple, self.w_image)
            self.earlier.append(self.coefficients)
        origin = np.full(batches.size, len(self.earlier) - 1)
        self.inner = np.block([[self.inner, cross.T], [cross, corner]])
        self.image = image if self.image is None else np.concatenate((self.image, image))
        self.batch = np.concatenate((self.batch, batches))
        self.combinations = scipy.sparse.csr_array(scipy.sparse.vstack((self.combinations, new)))
        self.multiple = np.concatenate((self.multiple, multiple))
        self.origin = np.concatenate((self.origin, origin))


@dataclass
class _Best:
    """The best plane and the best bound so far."""

    problem: ChanceSVMProblem

    def __post_init__(self) -> None:
        # Without any pass: w = 0, and no loss is negative.
        problem = self.problem
        demands = np.ones(problem.n_batches)
        intercept = problem.best_intercept(demands)
        self.plane = KernelPlane(np.zeros(problem.n_samples), intercept)
        self.upper, self.lower = problem.hinge(demands, intercept), 0.0
        self.mix = EllipsoidMix(np.zeros(problem.n_samples))

    @property
    def relative_gap(self) -> float:
        return (self.upper - self.lower) / self.upper if self.upper > 0 else self.upper - self.lower

    def offer(self, pool: _Pool) -> None:
        demands = self.problem.demands(pool.values, pool.squared_length)
        intercept = self.problem.best_intercept(demands)
        upper = 0.5 * pool.squared_length + self.problem.hinge(demands, intercept)
        if upper < self.upper:
            self.upper, self.plane = upper, KernelPlane(pool.coefficients, intercept)
        if pool.lower > self.lower:
            self.lower, self.mix = pool.lower, EllipsoidMix(pool.own)
