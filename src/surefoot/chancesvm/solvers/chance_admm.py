"""The paper's own method: alternating directions on a bilinear form (Algorithm 2 of Lin, Fang, Fang and Gao, 2024).

With points d_i = y_i mu_i - tau_i zeta_i A_i' u_i of the ellipsoids, |zeta_i| <= 1 and u_i a unit vector, the method minimises

    1/2 ||w||^2 + sum_i C_i max(0, a_i)    subject to  a_i = 1 - w . d_i - y_i b

over w and b, then over the points, then over a, and moves the multipliers beta of the equations:

- w and b. The paper inverts a matrix with a row for each sample, K + rho H'H, and where that is ill-conditioned, as Gram
  matrices are, a regularised one by N rank-one updates (Algorithm 1). But w = sum_i theta_i d_i, and with G the inner products
  of the points

      (G + I / rho) theta + y b = 1 - a - beta / rho,      y' theta = 0

  is the same update with a row for each batch. Its condition is at most 1 + rho ||G||; where even that is too much, it is
  regularised and corrected by refinement, which is what Algorithm 1 does.
- Points (Lemma 4). u_i = A_i w / ||A_i w||, and zeta_i = h_i / ||A_i w||, clipped to [-1, 1], with
  h_i = (beta_i / rho - 1 + y_i (w . mu_i + b) + a_i) / tau_i.
- a: soft thresholding of 1 - w . d_i - y_i b - beta_i / rho by C_i / rho. Last, beta_i grows by
  rho (w . d_i + y_i b + a_i - 1).
  (The paper prints the other sign, and (16) without rho; these are the ones that belong to its augmented Lagrangian (14).)

Where it ends need not be optimal, for two reasons. The form is not convex in w and the points together. And the points are
chosen to make the Lagrangian small, whereas the norm in the constraint is a maximum over them: where zeta_i ends inside
(-1, 1), beta_i must be 0, so that an ellipsoid that could be cut in its favour asks for nothing. On the paper's own kind of
data the objective is then many times the optimum, although most means are on the right side.

What is reported is the convex objective at its w with the best intercept. Since theta is a mix of points it proves a bound, so
that the gap says how far the method came. Only a closed gap is called optimal.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.linalg
import scipy.sparse

from surefoot.chancesvm.problem.feasible_mix import feasible_mix
from surefoot.chancesvm.problem.problem import ChanceSVMProblem
from surefoot.chancesvm.registry import ChanceOutcome, require_chance_acceptance
from surefoot.chancesvm.solvers.best_plane import BestPlane
from surefoot.chancesvm.solvers.point_images import DEFAULT_MEMORY, OutOfTimeError, make_images
from surefoot.core.arrays import FloatArray
from surefoot.core.blas_threads import blas_threads
from surefoot.core.outcome import Progress, Status
from surefoot.core.solve_options import SolveOptions

DEFAULT_ITERATIONS = 2000
# The bound costs a product with the Gram matrix: it is computed in every so many iterations, and at the end.
BOUND_EVERY = 25
# Reciprocal condition below which the small system is regularised, by this share of its trace, and refined so many times.
LEAST_CONDITION, REGULARISATION, REFINEMENTS = 1e-14, 1e-10, 3


class ChanceADMM:
    """Algorithm 2 of the paper; see the module docstring.

    Parameters
    ----------
    penalty : float, default=1.0
        rho.
    residual, movement : float, default=1e-3
        The method's own accuracy: it ends when the equations hold to ``residual`` (Euclidean norm) and w and b moved by less
        than ``movement`` (squared, as in the paper).
    """

    name = "admm"

    def __init__(self, penalty: float = 1.0, residual: float = 1e-3, movement: float = 1e-3) -> None:
        self.penalty, self.residual, self.movement = penalty, residual, movement

    def refuses(self, problem: ChanceSVMProblem) -> str | None:
        """Why the problem cannot be taken, or None."""
        if problem.has_radii:
            return "the paper's method has no radii. Use solver='worst-points'."
        return None

    def solve(self, problem: ChanceSVMProblem, options: SolveOptions) -> ChanceOutcome:
        """Alternate until the method's own thresholds, a closed gap, or a limit."""
        require_chance_acceptance(self, problem)
        started = time.perf_counter()
        best, history, status = BestPlane(problem), list[Progress](), Status.ITERATION_LIMIT
        limit = DEFAULT_ITERATIONS if options.max_iter is None else options.max_iter
        iteration = 0
        try:
            with blas_threads(options.n_threads, problem.n_samples):
                state = _Alternation(problem, self.penalty, options)
                for iteration in range(1, limit + 1):
                    residual, movement = state.advance()
                    settled = residual <= self.residual and movement <= self.movement
                    if settled or iteration % BOUND_EVERY == 0 or iteration == limit or options.out_of_time:
                        state.offer(best)
                        history.append(Progress(iteration, best.upper, best.lower, time.perf_counter() - started))
                        if options.on_progress is not None:
                            options.on_progress(history[-1])
                    if best.relative_gap <= options.tolerance:
                        status = Status.OPTIMAL
                        break
                    if settled:
                        status = Status.STALLED
                        break
                    if options.out_of_time:
                        status = Status.TIME_LIMIT
                        break
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        except OutOfTimeError:
            status = Status.TIME_LIMIT
        return best.outcome(status, history, started, iteration)


class _Alternation:
    """The iterate: points and their inner products, theta, b, a, beta."""

    def __init__(self, problem: ChanceSVMProblem, penalty: float, options: SolveOptions) -> None:
        self.problem, self.penalty = problem, penalty
        self.images = make_images(problem, DEFAULT_MEMORY, options)
        self.a, self.beta = np.zeros(problem.n_batches), np.zeros(problem.n_batches)
        self.coefficients, self.b = np.zeros(problem.n_samples), 0.0
        self.values = np.zeros(problem.n_samples)
        self._set_points(np.repeat(problem.labels, problem.sizes) * problem.weights)

    def advance(self) -> tuple[float, float]:
        """One round; the residual of the equations and the squared movement of w's coefficients and b."""
        problem, rho = self.problem, self.penalty
        theta, b = self._weights()
        coefficients = self.points.T @ theta
        movement = float(np.sum((coefficients - self.coefficients) ** 2) + (b - self.b) ** 2)
        self.coefficients, self.b = coefficients, b
        self.values = self.images.values(self.image @ theta)
        self.squared_length = max(float(theta @ self.inner @ theta), 0.0)
        means, spreads = problem.moments(self.values)
        reach = (self.beta / rho - 1.0 + problem.labels * (means + b) + self.a) / problem.tau
        safe = np.where(spreads > 0, spreads, 1.0)
        zeta = np.where(spreads > 0, np.clip(reach / safe, -1.0, 1.0), 0.0)
        deviations = self.values - np.repeat(means, problem.sizes)
        mean = np.repeat(problem.labels, problem.sizes)
        self._set_points(problem.weights * (mean - np.repeat(problem.tau * zeta / safe, problem.sizes) * deviations))
        met = self.points @ self.values + problem.labels * b
        wanted = 1.0 - met - self.beta / rho
        threshold = problem.costs / rho
        self.a = np.where(wanted > threshold, wanted - threshold, np.minimum(wanted, 0.0))
        residual = met + self.a - 1.0
        self.beta = self.beta + rho * residual
        return float(np.linalg.norm(residual)), movement

    def offer(self, best: BestPlane) -> None:
        """Hand over w, and what its mix of points proves."""
        best.offer(self.coefficients, self.values, self.squared_length)
        feasible = feasible_mix(self.problem, self.coefficients)
        image = self.images.of(scipy.sparse.csr_array(feasible.coefficients[None]))[:, 0]
        best.offer_bound(self.coefficients, feasible.bound(self.images.values(image)))

    def _set_points(self, coefficients: FloatArray) -> None:
        problem = self.problem
        columns = np.arange(problem.n_samples)
        self.points = scipy.sparse.csr_array(
            (coefficients, columns, problem.starts), shape=(problem.n_batches, problem.n_samples)
        )
        self.image = self.images.of(self.points)
        inner = self.images.inner(self.points, self.image, self.image)
        self.inner = 0.5 * (inner + inner.T)

    def _weights(self) -> tuple[FloatArray, float]:
        """theta and b of the small system."""
        labels, count = self.problem.labels, self.problem.n_batches
        matrix = self.inner + np.eye(count) / self.penalty
        right = np.stack((1.0 - self.a - self.beta / self.penalty, labels), axis=1)
        solved = _solve(matrix, right)
        b = float(labels @ solved[:, 0] / (labels @ solved[:, 1]))
        return solved[:, 0] - b * solved[:, 1], b


def _solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a positive definite system; an ill-conditioned one is regularised, and the answer refined."""
    with np.errstate(all="ignore"):
        condition = 1.0 / np.linalg.cond(matrix, 1)
    lift = 0.0 if condition > LEAST_CONDITION else REGULARISATION * float(np.trace(matrix)) / matrix.shape[0]
    factor = scipy.linalg.cho_factor(matrix + lift * np.eye(matrix.shape[0]), check_finite=False)
    solved = scipy.linalg.cho_solve(factor, right, check_finite=False)
    for _ in range(REFINEMENTS if lift > 0 else 0):
        solved = solved + scipy.linalg.cho_solve(factor, right - matrix @ solved, check_finite=False)
    return np.asarray(solved)
