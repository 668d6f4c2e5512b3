"""The chance-constrained kernel SVM: separate uncertain inputs, each known by a batch of samples.

Input i has a label y_i and a batch of samples with weights p_s (summing to 1 within the batch), hence in feature space a mean
mu_i = sum_s p_s phi(x_s) and a covariance Sigma_i = sum_s p_s (phi(x_s) - mu_i)(phi(x_s) - mu_i)'. For every distribution with
these two moments the probability of a margin below 1 - slack_i is at most eps_i exactly if

    y_i (w . mu_i + b) >= 1 - slack_i + tau_i sqrt(w' Sigma_i w),      tau_i = sqrt((1 - eps_i) / eps_i),

so the model (DRCKSVM_aSOCP) of Lin, Fang, Fang and Gao (Computers and Operations Research, 2024) is the convex problem

    min over w, b of  1/2 ||w||^2
        + sum_i C_i max(0, 1 - y_i (w . mu_i + b) + tau_i sqrt(w' Sigma_i w + v_i ||w||^2) + r_i ||w||).

The paper has C_i = C and r_i = v_i = 0. The two radii guard against moments that were only estimated: see
:mod:`surefoot.chancesvm.problem.moment_radii`.

Dual. Write w = sum_s c_s phi(x_s). The ellipsoid's points are mu_i + tau_i sum_s sqrt(p_s) u_s (phi(x_s) - mu_i), ||u|| <= 1,
and one may take u orthogonal to sqrt(p). Multiplying a point of every ellipsoid by y_i alpha_i (Lemma 1 of the paper) gives,
batch by batch, c_s = y_i (alpha_i p_s + tau_i sqrt(p_s) g_s) with sum_s sqrt(p_s) g_s = 0 and ||g|| <= alpha_i. So alpha_i =
y_i sum_s c_s, and since 1 + tau_i^2 = 1 / eps_i, ||g|| <= alpha_i reads sum_s c_s^2 / p_s <= alpha_i^2 / eps_i. The dual is
over ONE coefficient per sample:

    max over c of  sum_i alpha_i - 1/2 c' K c,   alpha_i = y_i sum_{s in i} c_s,
    0 <= alpha_i <= C_i,   sum_s c_s = 0,   sum_{s in i} c_s^2 / p_s <= alpha_i^2 / eps_i.

With radii the multiplied points may also leave their ellipsoids in any direction of the feature space, in all by at most
R = sum_i (tau_i sqrt(v_i) sqrt(alpha_i^2 - ||g_i||^2) + r_i alpha_i), and the best they can do is to shorten w:

    max over c of  sum_i alpha_i - 1/2 max(0, sqrt(c' K c) - R)^2.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from surefoot.chancesvm.problem.kernels import BLOCK_MEMORY, Kernel
from surefoot.core.array_checks import require_dimensions
from surefoot.core.arrays import FloatArray, RowArray

# Batch weights sum to 1 within this.
BATCH_WEIGHT_SLACK = 1e-9
# Bounds the asymmetry, and the negative eigenvalues, of a precomputed kernel over its largest diagonal entry: rounding.
INDEFINITE_SLACK = 1e-8


@dataclass(frozen=True, eq=False)
class KernelPlane:
    """A primal point: the classifier sign(sum_s coefficients_s k(x_s, x) + intercept)."""

    coefficients: FloatArray = field(repr=False)
    intercept: float


@dataclass(frozen=True, eq=False)
class EllipsoidMix:
    """A dual point: the coefficient c_s of every sample in a mix of one point of every ellipsoid; see the module docstring.

    Where moments were given, ``directions`` has a row z_i for each input: its point is alpha_i M_i + S_i z_i.
    """

    coefficients: FloatArray = field(repr=False)
    directions: FloatArray | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False, repr=False)
class ChanceSVMProblem:
    """One instance of the chance-constrained SVM; its objective stands in the module docstring.

    Parameters
    ----------
    samples : ndarray of shape (n_samples, n_columns)
        Samples of a batch stand together. With a precomputed kernel: the Gram matrix.
    starts : ndarray of shape (n_batches + 1,)
        Batch i holds the samples from starts[i] to starts[i + 1]; none is empty.
    labels : ndarray of shape (n_batches,)
        -1.0 and +1.0, both present.
    costs : ndarray of shape (n_batches,)
        C_i, above 0.
    violation : ndarray of shape (n_batches,)
        eps_i, above 0 and below 1.
    kernel : Kernel
    weights : ndarray of shape (n_samples,), optional
        Above 0, summing to 1 within every batch; equal if not given.
    mean_radius, covariance_radius : ndarray of shape (n_batches,), optional
        r_i and v_i, not negative; 0 if not given.
    means, covariances : ndarrays of shapes (n_batches, n_columns) and (n_batches, n_columns, n_columns), optional
        The moments that the samples stand for, linear kernel only. Solvers go by the samples, the certificate by these.
    widening : float, default=0.0
        d in S_i + d diag(S_i), which is what is meant by the covariance S_i: rounding may leave a given one with a negative
        eigenvalue.
    standardized : bool, default=False
        Whether columns of the samples, or of the moments, are in standard units; for the words of claims.
    borrowed : bool, default=False
        Whether batches have samples that are no measurements of theirs, but deviations borrowed from other batches; likewise.
    gram : ndarray of shape (n_samples, n_samples), optional
        The matrix of a "callable" or "precomputed" kernel, without what is added to it, once somebody has made sure that it is
        positive semidefinite: :func:`surefoot.chancesvm.problem.kernel_matrix.mended`.

    Raises
    ------
    ValueError
        If a part breaks these conventions; the message names batch, sample and value.
    """

    samples: FloatArray
    starts: RowArray
    labels: FloatArray
    costs: FloatArray
    violation: FloatArray
    kernel: Kernel
    weights: FloatArray = None  # type: ignore[assignment]
    mean_radius: FloatArray = None  # type: ignore[assignment]
    covariance_radius: FloatArray = None  # type: ignore[assignment]
    gram: FloatArray | None = None
    means: FloatArray | None = None
    covariances: FloatArray | None = None
    widening: float = 0.0
    standardized: bool = False
    borrowed: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "starts", np.ascontiguousarray(self.starts, dtype=np.int64))
        sizes = np.diff(self.starts)
        if self.weights is None:
            object.__setattr__(self, "weights", np.repeat(1.0 / np.maximum(sizes, 1), np.maximum(sizes, 0)))
        for name in ("mean_radius", "covariance_radius"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.zeros(sizes.size))
        for name in ("samples", "labels", "costs", "violation", "weights", "mean_radius", "covariance_radius"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))
        self.check()

    def __repr__(self) -> str:
        return f"ChanceSVMProblem(batches={self.n_batches}, samples={self.n_samples}, kernel={self.kernel.name!r})"

    @property
    def n_batches(self) -> int:
        return self.starts.size - 1

    @property
    def n_samples(self) -> int:
        return int(self.samples.shape[0])

    @property
    def sizes(self) -> RowArray:
        """Number of samples in every batch."""
        return np.diff(self.starts)

    @property
    def batch(self) -> RowArray:
        """The batch of every sample."""
        return np.repeat(np.arange(self.n_batches), self.sizes)

    @property
    def tau(self) -> FloatArray:
        """sqrt((1 - eps) / eps) of every batch."""
        return np.sqrt((1.0 - self.violation) / self.violation)

    @property
    def has_radii(self) -> bool:
        return bool(self.mean_radius.any() or self.covariance_radius.any())

    def check(self) -> None:
        """Raise ``ValueError`` if the arrays, as they are now, break the conventions of the class."""
        names = ("labels", "costs", "violation", "mean_radius", "covariance_radius")
        require_dimensions(self, (("samples", 2), ("starts", 1), ("weights", 1), *((name, 1) for name in names)))
        _check_batches(self)
        for name, wanted in (("weights", self.n_samples), *((name, self.n_batches) for name in names)):
            if getattr(self, name).size != wanted:
                raise ValueError(f"{name} has {getattr(self, name).size} entries, but {wanted} are needed.")
        _check_samples(self)
        _check_numbers(self)
        _check_moments(self)
        if not (np.any(self.labels == 1.0) and np.any(self.labels == -1.0)):
            raise ValueError(f"all batches have the label {self.labels[0]:+.0f}; two classes are needed to be separated.")

    def sums(self, values: FloatArray) -> FloatArray:
        """Sum of the values of every batch's samples."""
        return np.asarray(np.add.reduceat(values, self.starts[:-1]))

    def moments(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """For values w . phi(x_s): their means w . mu_i and standard deviations sqrt(w' Sigma_i w), batch by batch."""
        means = self.sums(self.weights * values)
        deviations = values - np.repeat(means, self.sizes)
        return means, np.sqrt(self.sums(self.weights * deviations * deviations))

    def demands(self, values: FloatArray, squared_length: float) -> FloatArray:
        """1 - y_i w . mu_i + tau_i sqrt(w' Sigma_i w + v_i ||w||^2) + r_i ||w||: the least y_i b without slack."""
        means, spreads = self.moments(values)
        widened = np.sqrt(spreads * spreads + self.covariance_radius * squared_length)
        return np.asarray(1.0 - self.labels * means + self.tau * widened + self.mean_radius * np.sqrt(squared_length))

    def hinge(self, demands: FloatArray, intercept: float) -> float:
        """sum_i C_i max(0, demand_i - y_i b)."""
        return float(self.costs @ np.maximum(demands - self.labels * intercept, 0.0))

    def best_intercept(self, demands: FloatArray) -> float:
        """The intercept of least hinge loss; of an interval of them the middle.

        The loss is convex and piecewise linear in b, with breakpoints y_i demand_i: coming from minus infinity its slope is
        minus the cost of all positive batches, and every breakpoint adds the cost of its batch.
        """
        points = self.labels * demands
        order = np.argsort(points, kind="stable")
        slopes = np.cumsum(self.costs[order]) - float(self.costs[self.labels > 0].sum())
        slack = 1e-12 * float(self.costs.sum())
        first = int(np.argmax(slopes >= -slack))
        last = int(np.argmax(slopes > slack)) if np.any(slopes > slack) else first
        return 0.5 * float(points[order[first]] + points[order[last]])

    def values(
        self, coefficients: FloatArray, memory: int = BLOCK_MEMORY, on_block: Callable[[], None] | None = None
    ) -> FloatArray:
        """sum_t c_t k(x_s, x_t) of every sample s, for each column of c; in blocks as in :meth:`Kernel.combined`."""
        gram = self.samples if self.kernel.name == "precomputed" else self.gram
        if gram is not None:
            found = np.asarray(gram @ coefficients)
        else:
            used = np.flatnonzero(np.any(coefficients.reshape(self.n_samples, -1) != 0, axis=1))
            found = self.kernel.combined(self.samples, self.samples[used], coefficients[used], memory, on_block)
        return found if self.kernel.added == 0 else found + self.kernel.added * coefficients

    def kernel_matrix(self) -> FloatArray:
        """k of all pairs of samples; not to be written to."""
        if self.kernel.name == "precomputed" or self.gram is None:
            found = self.kernel.products(self.samples, self.samples)
        else:
            found = self.gram
        return found if self.kernel.added == 0 else found + self.kernel.added * np.eye(self.n_samples)

    def objective(self, plane: KernelPlane) -> float:
        """The objective of the module docstring."""
        values = self.values(plane.coefficients)
        squared_length = max(float(plane.coefficients @ values), 0.0)
        return 0.5 * squared_length + self.hinge(self.demands(values, squared_length), plane.intercept)

    def digest(self) -> str:
        """Fingerprint of everything that defines the optimum."""
        mark = hashlib.sha256(self.kernel.spelled().encode())
        for part in (
            self.samples,
            self.starts,
            self.labels,
            self.costs,
            self.violation,
            self.weights,
            self.mean_radius,
            self.covariance_radius,
            *(part for part in (self.means, self.covariances) if part is not None),
        ):
            mark.update(str(part.shape).encode())
            mark.update(np.ascontiguousarray(part).data if part.size else b"")
        mark.update(repr(self.widening).encode() if self.widening else b"")
        return mark.hexdigest()


def _check_batches(problem: ChanceSVMProblem) -> None:
    starts = problem.starts
    if starts.size < 3:
        raise ValueError(f"there are {max(starts.size - 1, 0)} batches; at least 2 are needed.")
    if starts[0] != 0 or starts[-1] != problem.n_samples:
        raise ValueError(f"starts runs from {starts[0]} to {starts[-1]}; it must run from 0 to {problem.n_samples}.")
    empty = np.flatnonzero(np.diff(starts) < 1)
    if empty.size:
        raise ValueError(f"batch {empty[0]} holds no samples; leave it out.")


def _check_samples(problem: ChanceSVMProblem) -> None:
    wrong = np.argwhere(~np.isfinite(problem.samples))
    if wrong.size:
        row, column = wrong[0]
        raise ValueError(f"sample {row} holds {problem.samples[row, column]} in column {column}; samples are finite.")
    if problem.kernel.name == "precomputed" and problem.gram is None:
        require_inner_products(problem.samples)


def _check_numbers(problem: ChanceSVMProblem) -> None:
    for name, bad, rule in (
        ("labels", np.abs(problem.labels) != 1.0, "labels are -1.0 and +1.0"),
        ("costs", ~(np.isfinite(problem.costs) & (problem.costs > 0)), "costs are finite and above 0"),
        ("violation", ~((problem.violation > 0) & (problem.violation < 1)), "a violation lies above 0 and below 1"),
        ("weights", ~(np.isfinite(problem.weights) & (problem.weights > 0)), "weights are finite and above 0"),
        ("mean_radius", ~(np.isfinite(problem.mean_radius) & (problem.mean_radius >= 0)), "radii are finite, not negative"),
        (
            "covariance_radius",
            ~(np.isfinite(problem.covariance_radius) & (problem.covariance_radius >= 0)),
            "radii are finite, not negative",
        ),
    ):
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            raise ValueError(f"{name}[{at}] = {getattr(problem, name)[at]}; {rule}.")
    totals = problem.sums(problem.weights)
    wrong = np.flatnonzero(~(np.abs(totals - 1.0) <= BATCH_WEIGHT_SLACK))
    if wrong.size:
        raise ValueError(f"the weights of batch {wrong[0]} sum to {totals[wrong[0]]}; divide them by their sum.")


def _check_moments(problem: ChanceSVMProblem) -> None:
    if problem.means is None and problem.covariances is None:
        return
    columns = problem.samples.shape[1]
    for name, given, wanted in (
        ("means", problem.means, (problem.n_batches, columns)),
        ("covariances", problem.covariances, (problem.n_batches, columns, columns)),
    ):
        if given is None or given.shape != wanted or not np.isfinite(given).all():
            raise ValueError(f"{name} are finite and of shape {wanted}: both moments are given, or none.")
    if not 0 <= problem.widening < np.inf:
        raise ValueError(f"widening = {problem.widening} is finite and not negative.")


def require_inner_products(gram: FloatArray, name: str = "precomputed kernel") -> None:
    """Raise ``ValueError`` unless the matrix is square, symmetric and positive semidefinite up to rounding."""
    require_symmetry(gram, name)
    slack = INDEFINITE_SLACK * max(float(np.abs(gram).max(initial=0.0)), np.finfo(np.float64).tiny)
    try:
        # Many times faster than eigenvalues, which are only needed for the message.
        np.linalg.cholesky(gram + slack * np.eye(gram.shape[0]))
    except np.linalg.LinAlgError:
        least = float(np.linalg.eigvalsh(gram)[0])
        if least < -slack:
            raise ValueError(
                f"the {name} is indefinite: its smallest eigenvalue is {least:.3g}. Inner products have none below "
                "0; clip the negative eigenvalues, or choose another kernel."
            ) from None


def require_symmetry(gram: FloatArray, name: str) -> None:
    """Raise ``ValueError`` unless the matrix is square, and symmetric up to rounding."""
    if gram.shape[0] != gram.shape[1]:
        raise ValueError(f"the {name} must be square, but it has shape {gram.shape}.")
    largest = float(np.abs(gram).max(initial=0.0))
    skew = np.abs(gram - gram.T)
    if skew.max(initial=0.0) > INDEFINITE_SLACK * largest:
        row, column = np.unravel_index(int(skew.argmax()), skew.shape)
        raise ValueError(
            f"the {name} is not symmetric: it holds {gram[row, column]} at ({row}, {column}), but "
            f"{gram[column, row]} at ({column}, {row})."
        )
