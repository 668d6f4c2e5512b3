"""A kernel restricted to few samples, the landmarks (Nystroem's method), for tables whose Gram matrix would take too long.

Let S be the landmarks, K_SS = R R' their kernels, and P the projection of the feature space onto their span. The reduced kernel

    k_S(x, z) = P phi(x) . P phi(z) = k(x, S) K_SS^-1 k(S, z)

has the explicit coordinates R^-1 k(S, x), one for each landmark. For a w in the span, w . P phi(x) = w . phi(x): such a w has
the same scores, the same length and the same objective under both kernels, and any other w is longer than it need be under the
reduced one. So a problem with the reduced kernel is the original problem over the combinations of landmarks: its optimum is the
best of them, and it lies above the optimum over all w.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.linalg

from surefoot.chancesvm.problem.kernels import Kernel, KernelName
from surefoot.chancesvm.problem.problem import ChanceSVMProblem, KernelPlane, require_inner_products
from surefoot.core.arrays import FloatArray, RowArray


@dataclass(frozen=True)
class LandmarkParameters:
    """Choice of landmarks and blocks of kernel values."""

    # Samples drawn for each landmark. Against one, which is no choice, the objective was nearer to that of all rows in 20 of 24
    # cases with fewer landmarks than inputs (six tables), and in 9 of 15 with more; with four candidates in 21 and 9.
    candidates: int = 2
    # How much longer the sample of each input that comes first is taken to be: lengths do not change spans.
    preference: float = 1e3
    # Bounds the pivot of a landmark, its squared distance from the span of the others, over the longest squared norm: one below
    # it adds nothing but rounding.
    pivot_tolerance: float = 1e-8
    # Bytes of kernel values computed at a time: they stay in a processor's cache between the steps that compute them.
    block_memory: int = 1 << 22


PARAMETERS = LandmarkParameters()


@dataclass(frozen=True, eq=False)
class LandmarkKernel(Kernel):
    """See the module docstring.

    Parameters
    ----------
    base : Kernel
        k.
    landmarks : ndarray of shape (n_landmarks, n_columns)
        S, samples that do not depend on each other in feature space.
    places : ndarray of shape (n_landmarks,)
        Where they stand among the samples.
    """

    name: KernelName = "landmarks"
    base: Kernel = field(kw_only=True)
    landmarks: FloatArray = field(kw_only=True, repr=False)
    places: RowArray = field(kw_only=True, repr=False)
    root: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        square = self._cross(self.landmarks)
        object.__setattr__(self, "root", np.linalg.cholesky(0.5 * (square + square.T)))

    def products(self, left: FloatArray, right: FloatArray) -> FloatArray:
        return np.asarray(self.features(left) @ self.features(right).T)

    def diagonal(self, samples: FloatArray) -> FloatArray:
        features = self.features(samples)
        return np.asarray(np.einsum("ij,ij->i", features, features))

    def n_features(self, n_columns: int) -> int:
        return int(self.places.size)

    def features(self, samples: FloatArray) -> FloatArray:
        """R^-1 k(S, x) of every row."""
        crossed = np.empty((samples.shape[0], self.places.size))
        height = max(1, PARAMETERS.block_memory // (8 * self.places.size))
        for start in range(0, samples.shape[0], height):
            crossed[start : start + height] = self._cross(samples[start : start + height])
        # In place: seen from the other side the table is in the order that the solve works in.
        turned = scipy.linalg.solve_triangular(self.root, crossed.T, lower=True, overwrite_b=True, check_finite=False)
        return np.asarray(turned.T)

    def on_landmarks(self, problem: ChanceSVMProblem, plane: KernelPlane) -> KernelPlane:
        """The same plane as a combination of the landmarks, which has the same scores under both kernels.

        w = sum_s c_s R^-1 k(S, x_s) in coordinates, and sum_j d_j P phi(s_j) has the coordinates R' d.
        """
        used = np.flatnonzero(plane.coefficients)
        w = np.zeros(self.places.size)
        height = max(1, (PARAMETERS.block_memory << 5) // (8 * self.places.size))
        for start in range(0, used.size, height):
            part = used[start : start + height]
            w += plane.coefficients[part] @ self.features(problem.samples[part])
        coefficients = np.zeros(problem.n_samples)
        coefficients[self.places] = scipy.linalg.solve_triangular(self.root, w, lower=True, trans="T")
        return KernelPlane(coefficients, plane.intercept)

    def spelled(self) -> str:
        mark = hashlib.sha256(np.ascontiguousarray(self.landmarks).data)
        mark.update(self.places.astype("<i8").data)
        return f"{self.base.spelled()} on {self.places.size} landmarks {mark.hexdigest()}"

    def _cross(self, samples: FloatArray) -> FloatArray:
        if self.base.name == "precomputed":
            return samples[:, self.places]
        return self.base.products(samples, self.landmarks)


def on_landmarks(
    problem: ChanceSVMProblem, n_landmarks: int | None, candidates: int = PARAMETERS.candidates
) -> ChanceSVMProblem:
    """The problem over combinations of so many samples; itself where that would save nothing.

    Candidates are drawn evenly from all batches. Where there are enough landmarks, each batch has one. All others are, one
    after another, the candidate furthest in feature space from the span of those before: the order of pivots of Cholesky's
    method. What depends on the others is left out, so that there may be fewer. One candidate for each leaves no choice, as it
    was in earlier versions.
    """
    n_features = problem.kernel.n_features(problem.samples.shape[1])
    if n_landmarks is None or n_landmarks >= problem.n_samples or (n_features is not None and n_features <= n_landmarks):
        return problem
    rng = np.random.default_rng(0)
    # Within a batch samples come in any order; evenly spaced places in a shuffled batch are a fair draw from each.
    order = np.argsort(problem.batch + rng.random(problem.n_samples), kind="stable")
    count = min(candidates * n_landmarks, problem.n_samples)
    places = np.unique(order[np.linspace(0, problem.n_samples - 1, count).astype(np.int64)])
    drawn = problem.samples[places]
    square = drawn[:, places] if problem.kernel.name == "precomputed" else problem.kernel.products(drawn, drawn)
    if problem.kernel.name == "callable":
        require_inner_products(square, "matrix of the kernel function")
    square = 0.5 * (square + square.T)
    lengths = np.where(np.diff(problem.batch[places], prepend=-1) > 0, PARAMETERS.preference, 1.0)
    if n_landmarks < problem.n_batches:
        lengths[:] = 1.0
    chosen = np.arange(places.size)
    if candidates > 1:
        chosen = independent(square * np.outer(lengths, lengths), n_landmarks, 0.0)
    places = places[chosen[independent(square[np.ix_(chosen, chosen)])]]
    kernel = LandmarkKernel(base=problem.kernel, landmarks=problem.samples[places], places=places)
    return replace(problem, kernel=kernel)


def independent(square: FloatArray, most: int | None = None, tolerance: float = PARAMETERS.pivot_tolerance) -> RowArray:
    """Places of samples that span what all do, or of the first so many pivots of Cholesky's method; the first if all are 0."""
    longest = max(float(np.diagonal(square).max()), np.finfo(np.float64).tiny)
    _, pivots, rank, _ = scipy.linalg.lapack.dpstrf(square, lower=1, tol=tolerance * longest)
    return np.sort(pivots[: max(rank, 1)][:most].astype(np.int64) - 1)
