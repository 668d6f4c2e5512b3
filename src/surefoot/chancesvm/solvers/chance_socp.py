"""The second-order cone programme, posed for Clarabel: for small problems, and as a check on other solvers.

Problem, reduced form. With F the coordinates of the samples in a basis of their span (explicit features, or a root of the Gram
matrix), the unknowns are w in this basis, b, the slacks, and rho >= ||w|| where there are radii:

    min 1/2 ||w||^2 + sum_i C_i slack_i      (1/2 rho^2 with radii, since every term grows with ||w||)
    (y_i (w . mu_i + b) - 1 + slack_i - r_i rho,  tau_i A_i w,  tau_i sqrt(v_i) rho)  in the second-order cone,  slack_i >= 0,

with A_i of as many rows as batch i has samples.

Dual point. If (z_0, z_1) is the multiplier of the i-th cone, the mix of the dual has
alpha_i = z_0 and, in batch i, c_s = y_i z_0 p_s + tau_i sqrt(p_s) z_1s, since w = sum_i (z_0 y_i mu_i + tau_i A_i' z_1).

Full form. The paper's own, (DRCKSVM_aSOCP) of Lin, Fang, Fang and Gao (2024): one unknown v_s for every sample, the quadratic
v' K v, and cones in K itself. It is here for comparison; the Gram matrix of an RBF kernel is dense and has full numerical rank,
which a conic solver cannot use.

Units. Lengths are divided by that of a typical sample, w is multiplied by it, and the objective by its square. In these units
an optimum without slack has multipliers of moderate size, however large C is: costs are cut off first, and the programme is
solved again with all of them if that leaves a gap. Where samples are long and overlap, slack is all that counts and costs of
1e20 spoil everything else: then the objective is divided by the largest of them.

Time. Clarabel looks at the clock between its iterations, and each factorises a system as large as the programme. A limit that
would not last for a few of them is refused before anything is built.

Step and termination are Clarabel's: a primal-dual interior-point method on the homogeneous embedding, to its own residuals. Its
w and its dual point are then made feasible here, and only a closed gap between the two is called optimal.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy as np
import scipy.sparse

from surefoot.chancesvm.problem.feasible_mix import feasible_mix
from surefoot.chancesvm.problem.problem import ChanceSVMProblem, EllipsoidMix
from surefoot.chancesvm.registry import ChanceOutcome, require_chance_acceptance
from surefoot.chancesvm.solvers.mix_polish import polished_mix
from surefoot.chancesvm.solvers.parameters import ChanceSocpParameters
from surefoot.chancesvm.solvers.plane_run import PlaneRun
from surefoot.chancesvm.solvers.short_coefficients import summing_to_0
from surefoot.core.arrays import FloatArray
from surefoot.core.backends.clarabel import Cone, ConeProgramme, ConeSettings
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import UnsupportedProblemError


class ChanceSOCP:
    """Clarabel on the cone programme of the module docstring.

    Parameters
    ----------
    form : {"reduced", "full"}, default="reduced"
    parameters : ChanceSocpParameters, optional
    """

    name = "socp"

    def __init__(self, form: Literal["reduced", "full"] = "reduced", parameters: ChanceSocpParameters | None = None) -> None:
        self.form = form
        self.parameters = ChanceSocpParameters() if parameters is None else parameters

    def refuses(self, problem: ChanceSVMProblem) -> str | None:
        """Why the problem cannot be taken, or None."""
        n_features = problem.kernel.n_features(problem.samples.shape[1])
        most = self.parameters.max_gram_rows
        if min(problem.n_samples, np.inf if n_features is None else n_features) > most:
            return f"its kernel matrix has {problem.n_samples} rows, more than {most}. Use solver='worst-points'."
        if self.form == "full" and problem.has_radii:
            return "the full form has no radii. Use the reduced form."
        return None

    def _require_time(self, problem: ChanceSVMProblem, options: SolveOptions) -> None:
        """Raise if a few iterations, of many, would take longer than the time limit: nothing would come of them."""
        n_features = problem.kernel.n_features(problem.samples.shape[1])
        width = problem.n_samples if n_features is None else min(n_features, problem.n_samples)
        work = width * width * (problem.n_samples + width / 3.0)
        seconds = self.parameters.few_iterations * work / self.parameters.work_per_second
        limit = options.time_limit
        if limit is not None and seconds > max(limit, self.parameters.short_seconds):
            raise UnsupportedProblemError(
                f"solver='socp' cannot keep to a time limit of {limit:g} s: its programme has {problem.n_samples} x {width} "
                f"entries, and {self.parameters.few_iterations} iterations take about {seconds:.0f} s. Use solver="
                "'worst-points', which stops at any time, or a longer limit."
            )

    def solve(self, problem: ChanceSVMProblem, options: SolveOptions) -> ChanceOutcome:
        """Solve once, and once more with all costs if they were cut off."""
        require_chance_acceptance(self, problem)
        self._require_time(problem, options)
        run = PlaneRun(problem, options)
        ended, iterations = Status.TIME_LIMIT, 0
        if options.out_of_time:
            return run.outcome(ended, iterations)
        try:
            features, back = _coordinates(problem, self.form, self.parameters.rank_tolerance)
            # Where all samples are one point of the feature space, there is no length.
            unit = float(problem.kernel.diagonal(problem.samples).mean()) or 1.0
            # The basis of the full form is the Gram matrix, which has lengths squared.
            scale = unit if self.form == "full" else math.sqrt(unit)
            highest = unit * float(problem.costs.max())
            for ceiling, divisor in ((self.parameters.first_cost, 1.0), (math.inf, 1.0), (math.inf, max(highest, 1.0))):
                left = ConeSettings.max_iter if options.max_iter is None else options.max_iter - iterations
                if options.out_of_time or left < 1:
                    ended = Status.TIME_LIMIT if options.out_of_time else Status.ITERATION_LIMIT
                    break
                posed = _balanced(problem, unit, ceiling, divisor)
                programme = _programme(posed, features / scale, _quadratic(posed, features / scale, self.form) / divisor)
                found = programme.solve(options, ConeSettings(max_iter=left))
                ended, iterations = found.status, iterations + found.iterations
                mix, own = _mix(problem, found.multipliers) * (divisor / unit), back @ found.x[: features.shape[1]] / scale
                own = own if problem.kernel.centre is None else summing_to_0(own, features / scale)
                feasible = feasible_mix(problem, mix)
                values = problem.values(np.stack((feasible.coefficients, own), axis=1))
                run.tighten(feasible.bound(values[:, 0]), EllipsoidMix(mix))
                if divisor > 1.0 and not problem.has_radii:
                    polished = polished_mix(
                        problem, EllipsoidMix(mix), own, self.parameters.polish_fraction * options.tolerance
                    )
                    if polished is not None and np.isfinite(polished[1]) and polished[1] <= run.upper_bound:
                        run.tighten(polished[1], polished[0])
                # Both are w at the optimum. Without radii the dual point is the better one; with them it is longer than w.
                for coefficients, at in ((feasible.coefficients, values[:, 0]), (own, values[:, 1])):
                    run.improve_along(coefficients, at, max(float(coefficients @ at), 0.0))
                if run.converged or (divisor == 1.0 and highest <= min(ceiling, self.parameters.first_cost)):
                    break
        except KeyboardInterrupt:
            ended = Status.INTERRUPTED
        run.record(iterations)
        return run.outcome(ended, iterations)


def _balanced(problem: ChanceSVMProblem, unit: float, ceiling: float, divisor: float) -> ChanceSVMProblem:
    """The problem in lengths over sqrt(unit), its objective times unit over the divisor; costs are at most the ceiling."""
    return replace(
        problem,
        costs=np.minimum(unit * problem.costs, ceiling) / divisor,
        mean_radius=problem.mean_radius / math.sqrt(unit),
        covariance_radius=problem.covariance_radius / unit,
    )


def _mix(problem: ChanceSVMProblem, dual: FloatArray) -> FloatArray:
    """Coefficients of the samples from the multipliers of the cones, which come after those of the slacks."""
    sizes = problem.sizes + 1 + (1 if problem.has_radii else 0)
    heads = problem.n_batches + np.cumsum(sizes) - sizes
    weights = dual[heads]
    inside = np.arange(problem.n_samples) - np.repeat(problem.starts[:-1], problem.sizes) + 1 + np.repeat(heads, problem.sizes)
    roots = np.sqrt(problem.weights)
    along = dual[inside]
    along = along - roots * np.repeat(problem.sums(roots * along), problem.sizes)
    mean = np.repeat(problem.labels * weights, problem.sizes) * problem.weights
    return np.asarray(mean + np.repeat(problem.tau, problem.sizes) * roots * along)


def _coordinates(problem: ChanceSVMProblem, form: str, rank_tolerance: float) -> tuple[FloatArray, FloatArray]:
    """Coordinates of the samples, and the matrix that turns those of w into coefficients of the samples."""
    if form == "full":
        return problem.kernel_matrix(), np.eye(problem.n_samples)
    n_features = problem.kernel.n_features(problem.samples.shape[1])
    if n_features is not None and n_features < problem.n_samples:
        features = problem.kernel.features(problem.samples)
        return features, np.asarray(np.linalg.pinv(features).T, dtype=np.float64)
    values, vectors = np.linalg.eigh(problem.kernel_matrix())
    positive = values > rank_tolerance * values[-1]
    roots = np.sqrt(values[positive])
    return vectors[:, positive] * roots, vectors[:, positive] / roots


def _quadratic(problem: ChanceSVMProblem, features: FloatArray, form: str) -> scipy.sparse.csc_matrix:
    if form == "full":
        return scipy.sparse.csc_matrix(np.triu(features))
    width = features.shape[1]
    if not problem.has_radii:
        return scipy.sparse.identity(width, format="csc")
    return scipy.sparse.diags(np.concatenate((np.zeros(width), [1.0])), format="csc")


def _programme(problem: ChanceSVMProblem, features: FloatArray, quadratic: scipy.sparse.csc_matrix) -> ConeProgramme:
    """Unknowns: w (and rho, if the quadratic has one more row than there are features), b, slacks."""
    radii = quadratic.shape[0] > features.shape[1]
    width, count, sizes = features.shape[1], problem.n_batches, problem.sizes
    means = np.add.reduceat(problem.weights[:, None] * features, problem.starts[:-1])
    spread = np.sqrt(problem.weights)[:, None] * (features - np.repeat(means, sizes, axis=0))
    spread *= np.repeat(problem.tau, sizes)[:, None]
    n_rows = 1 + sizes + (1 if radii else 0)
    heads = np.cumsum(n_rows) - n_rows
    inside = np.arange(problem.n_samples) - np.repeat(problem.starts[:-1], sizes) + 1 + np.repeat(heads, sizes)
    cones = np.zeros((int(n_rows.sum()), width + (1 if radii else 0) + 1))
    cones[heads, :width] = problem.labels[:, None] * means
    cones[heads, -1] = problem.labels
    cones[inside, :width] = spread
    if radii:
        cones[heads, width] = -problem.mean_radius
        cones[heads + n_rows - 1, width] = problem.tau * np.sqrt(problem.covariance_radius)
    slack = scipy.sparse.coo_matrix((np.ones(count), (heads, np.arange(count))), shape=(cones.shape[0], count))
    nothing = scipy.sparse.coo_matrix((count, cones.shape[1]))
    blocks = [[nothing, scipy.sparse.identity(count)], [scipy.sparse.coo_matrix(cones), slack]]
    right = np.zeros(count + cones.shape[0])
    right[count + heads] = -1.0
    norms = tuple(n_rows.tolist())
    if radii:
        order = np.concatenate(([width], np.arange(width)))
        length = scipy.sparse.coo_matrix((np.ones(width + 1), (np.arange(width + 1), order)), shape=(width + 1, cones.shape[1]))
        blocks.append([length, None])
        right = np.concatenate((right, np.zeros(width + 1)))
        norms = (*norms, width + 1)
    padding = scipy.sparse.csc_matrix((1 + count, 1 + count))
    return ConeProgramme(
        quadratic=scipy.sparse.csc_matrix(scipy.sparse.block_diag((quadratic, padding))),
        cost=np.concatenate((np.zeros(cones.shape[1]), problem.costs)),
        matrix=scipy.sparse.csc_matrix(-scipy.sparse.bmat(blocks)),
        right=right,
        cones=(Cone("nonnegative", count), *(Cone("second-order", int(size)) for size in norms)),
    )
