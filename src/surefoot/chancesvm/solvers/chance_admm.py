"""ADMM on a bilinear form: Algorithm 2 of Lin, Fang, Fang and Gao (Computers and Operations Research, 2024).

Problem. With points d_i = y_i mu_i - tau_i zeta_i A_i' u_i of the ellipsoids, |zeta_i| <= 1 and u_i a unit vector,

    min over w, b, d, a of  1/2 ||w||^2 + sum_i C_i max(0, a_i)    subject to  a_i = 1 - w . d_i - y_i b.

Step. With multipliers beta and penalty rho, the augmented Lagrangian (14) is minimised over one block after the other:

- w and b. The paper inverts a matrix with a row for each sample, K + rho H'H, and where that is ill-conditioned, as Gram
  matrices are, a regularised one by N rank-one updates (Algorithm 1). But w = sum_i theta_i d_i, and with G the inner products
  of the points

      (G + I / rho) theta + y b = 1 - a - beta / rho,      y' theta = 0

  is the same update with a row for each batch. Its condition is at most 1 + rho ||G||; where even that is too much, it is
  regularised and corrected by iterative refinement, which is what Algorithm 1 does.
- Points d (Lemma 4). u_i = A_i w / ||A_i w||, and zeta_i = h_i / ||A_i w||, clipped to [-1, 1], with
  h_i = (beta_i / rho - 1 + y_i (w . mu_i + b) + a_i) / tau_i.
- a: the proximal operator of C_i max(0, .) / rho, one-sided soft thresholding, at 1 - w . d_i - y_i b - beta_i / rho.
- Multipliers: beta_i grows by rho (w . d_i + y_i b + a_i - 1).
  (The paper prints the other sign, and (16) without rho; these are the ones that belong to its augmented Lagrangian (14).)

Termination. The method's own test: the norm of the primal residual and the squared change of w and b are small. That is called
stalled, unless the duality gap is closed: only a closed gap is called optimal. Returned is the iterate, w and b, whatever its
objective; since theta gives a dual point, the weak-duality bound of that is reported with it.

The limit need not be optimal, for two reasons. The form is not convex in w and the points together. And the points are chosen
to make the Lagrangian small, whereas the norm in the constraint is a maximum over them: where zeta_i ends inside (-1, 1),
beta_i must be 0, so that an ellipsoid that could be cut in its favour demands nothing. On the paper's own kind of data the
objective is then many times the optimum, and often more than that of w = 0, although most means are on the right side; for the
same reason the bound of theta is next to nothing. Which limit it is depends on the penalty.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse

from surefoot.chancesvm.problem.feasible_mix import feasible_mix
from surefoot.chancesvm.problem.problem import ChanceSVMProblem, EllipsoidMix, KernelPlane
from surefoot.chancesvm.registry import ChanceOutcome, require_chance_acceptance
from surefoot.chancesvm.solvers.feature_space import OutOfTimeError, make_feature_space
from surefoot.chancesvm.solvers.parameters import ChanceAdmmParameters, FeatureSpaceParameters
from surefoot.chancesvm.solvers.plane_run import PlaneRun
from surefoot.core.arrays import FloatArray
from surefoot.core.blas_threads import blas_threads
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions


class ChanceADMM:
    """Algorithm 2 of the paper; see the module docstring.

    Parameters
    ----------
    parameters : ChanceAdmmParameters, optional
    """

    name = "admm"

    def __init__(self, parameters: ChanceAdmmParameters | None = None) -> None:
        self.parameters = ChanceAdmmParameters() if parameters is None else parameters

    def refuses(self, problem: ChanceSVMProblem) -> str | None:
        """Why the problem cannot be taken, or None."""
        if problem.has_radii:
            return "the paper's method has no radii. Use solver='worst-points'."
        return None

    def solve(self, problem: ChanceSVMProblem, options: SolveOptions) -> ChanceOutcome:
        """Iterate until the method's own termination test, a closed gap, or a limit."""
        require_chance_acceptance(self, problem)
        run, parameters, ended = PlaneRun(problem, options), self.parameters, Status.ITERATION_LIMIT
        limit = parameters.max_iterations if options.max_iter is None else options.max_iter
        iteration = 0
        try:
            with blas_threads(options.n_threads, problem.n_samples):
                state = _AdmmIterate(problem, parameters, options)
                for iteration in range(1, limit + 1):
                    residual, change = state.advance()
                    stationary = residual <= parameters.residual_tolerance and change <= parameters.change_tolerance
                    last = stationary or iteration == limit or options.out_of_time
                    if last or iteration % parameters.bound_interval == 0:
                        state.report(run)
                        run.record(iteration)
                    if run.converged:
                        ended = Status.OPTIMAL
                        break
                    if stationary:
                        ended = Status.STALLED
                        break
                    if options.out_of_time:
                        ended = Status.TIME_LIMIT
                        break
        except KeyboardInterrupt:
            ended = Status.INTERRUPTED
        except OutOfTimeError:
            ended = Status.TIME_LIMIT
        return run.outcome(ended, iteration)


class _AdmmIterate:
    """The iterate: points and their inner products, theta, b, a, beta."""

    def __init__(self, problem: ChanceSVMProblem, parameters: ChanceAdmmParameters, options: SolveOptions) -> None:
        self.problem, self.parameters, self.penalty = problem, parameters, parameters.penalty
        self.space = make_feature_space(problem, FeatureSpaceParameters(), options)
        self.a, self.beta = np.zeros(problem.n_batches), np.zeros(problem.n_batches)
        self.coefficients, self.b = np.zeros(problem.n_samples), 0.0
        self.values = np.zeros(problem.n_samples)
        self._set_points(np.repeat(problem.labels, problem.sizes) * problem.weights)

    def advance(self) -> tuple[float, float]:
        """One iteration; the norm of the residual and the squared change of w's coefficients and b."""
        problem, rho = self.problem, self.penalty
        theta, b = self._weights()
        coefficients = self.points.T @ theta
        change = float(np.sum((coefficients - self.coefficients) ** 2) + (b - self.b) ** 2)
        self.coefficients, self.b = coefficients, b
        self.values = self.space.values(self.image @ theta)
        self.squared_norm = max(float(theta @ self.inner @ theta), 0.0)
        means, spreads = problem.moments(self.values)
        h = (self.beta / rho - 1.0 + problem.labels * (means + b) + self.a) / problem.tau
        safe = np.where(spreads > 0, spreads, 1.0)
        zeta = np.where(spreads > 0, np.clip(h / safe, -1.0, 1.0), 0.0)
        deviations = self.values - np.repeat(means, problem.sizes)
        mean = np.repeat(problem.labels, problem.sizes)
        self._set_points(problem.weights * (mean - np.repeat(problem.tau * zeta / safe, problem.sizes) * deviations))
        met = self.points @ self.values + problem.labels * b
        wanted = 1.0 - met - self.beta / rho
        threshold = problem.costs / rho
        self.a = np.where(wanted > threshold, wanted - threshold, np.minimum(wanted, 0.0))
        residual = met + self.a - 1.0
        self.beta = self.beta + rho * residual
        return float(np.linalg.norm(residual)), change

    def report(self, run: PlaneRun) -> None:
        """Make w and b the incumbent, better or not, and offer the bound of their dual point."""
        demands = self.problem.demands(self.values, self.squared_norm)
        objective = 0.5 * self.squared_norm + self.problem.hinge(demands, self.b)
        run.primal, run.upper_bound = KernelPlane(self.coefficients, self.b), objective
        feasible = feasible_mix(self.problem, self.coefficients)
        image = self.space.images(scipy.sparse.csr_array(feasible.coefficients[None]))[:, 0]
        run.tighten(feasible.bound(self.space.values(image)), EllipsoidMix(self.coefficients))

    def _set_points(self, coefficients: FloatArray) -> None:
        problem = self.problem
        columns = np.arange(problem.n_samples)
        self.points = scipy.sparse.csr_array(
            (coefficients, columns, problem.starts), shape=(problem.n_batches, problem.n_samples)
        )
        self.image = self.space.images(self.points)
        inner = self.space.inner_products(self.points, self.image)
        self.inner = 0.5 * (inner + inner.T)

    def _weights(self) -> tuple[FloatArray, float]:
        """theta and b of the small system, by the Schur complement of its last row."""
        labels, count = self.problem.labels, self.problem.n_batches
        matrix = self.inner + np.eye(count) / self.penalty
        right = np.stack((1.0 - self.a - self.beta / self.penalty, labels), axis=1)
        solved = _solve(matrix, right, self.parameters)
        b = float(labels @ solved[:, 0] / (labels @ solved[:, 1]))
        return solved[:, 0] - b * solved[:, 1], b


def _solve(matrix: FloatArray, right: FloatArray, parameters: ChanceAdmmParameters) -> FloatArray:
    """Solve a positive definite system; an ill-conditioned one is regularised, and the answer refined."""
    factor, flaw = scipy.linalg.lapack.dpotrf(matrix, lower=1)
    condition, lift = 0.0, 0.0
    if flaw == 0:
        # The estimate of the condition costs little beside the factor; that of NumPy inverts the matrix.
        condition = float(scipy.linalg.lapack.dpocon(factor, np.abs(matrix).sum(axis=0).max(), uplo="L")[0])
    if not condition > parameters.min_reciprocal_condition:
        lift = parameters.regularisation * float(np.trace(matrix)) / matrix.shape[0]
        factor = scipy.linalg.cho_factor(matrix + lift * np.eye(matrix.shape[0]), lower=True, check_finite=False)[0]
    solved = scipy.linalg.cho_solve((factor, True), right, check_finite=False)
    for _ in range(parameters.refinements if lift > 0 else 0):
        solved = solved + scipy.linalg.cho_solve((factor, True), right - matrix @ solved, check_finite=False)
    return np.asarray(solved)
