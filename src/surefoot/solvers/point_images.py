"""How points of the feature space are held while worst points are generated.

A point is a combination of samples. What the method needs of it are inner products with all samples and with other points.

- :class:`FeatureImages`, where the feature space is explicit and smaller than the number of samples: coordinates.
- :class:`GramImages`, for all other kernels: the inner products with all samples themselves. The Gram matrix is kept if it fits
  into a memory limit, and otherwise computed anew in blocks for every product.
- :class:`LandmarkImages`, for so many samples that even one product takes long: coordinates in the span of a few samples, the
  landmarks (Nystroem's method). With K_SS = R R' the kernel of the landmarks, a sample has the coordinates R^-1 k(S, x), those
  of its projection; for a w in this span, w . phi(x) is exact, and so is the objective.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
import scipy.linalg
import scipy.sparse

from surefoot.problems.arrays import FloatArray, RowArray
from surefoot.problems.chance_svm import ChanceSVMProblem, require_inner_products
from surefoot.solvers.blas_threads import blas_threads

# Bytes that a Gram matrix may take; a larger one is computed again in every pass.
DEFAULT_MEMORY = 1 << 31
# Blocks in which a Gram matrix is computed: small enough to stay in a processor's cache between the steps that make them.
BLOCK_MEMORY = 1 << 22

# Share of the mean diagonal that is added to the kernel of the landmarks.
LANDMARK_LIFT = 1e-12


class PointImages(Protocol):
    """Rows of ``combinations`` are points: sparse, one column for each sample."""

    def of(self, combinations: scipy.sparse.csr_array) -> FloatArray:
        """The images of points, column by column."""

    def inner(self, combinations: scipy.sparse.csr_array, others: FloatArray, own: FloatArray) -> FloatArray:
        """Inner products of points (their combinations and their images) with others of which only the images are known."""

    def values(self, image: FloatArray) -> FloatArray:
        """Inner products of the point with this image with all samples."""

    def own(self, images: FloatArray, columns: RowArray) -> FloatArray:
        """Inner product of every sample with the point in its column of the images."""

    def coefficients(self, image: FloatArray, combination: FloatArray) -> FloatArray:
        """Coefficients of the samples that make the point with this image, which is (the projection of) this combination."""


class FeatureImages:
    """Images are coordinates."""

    def __init__(self, problem: ChanceSVMProblem) -> None:
        self.features = problem.kernel.features(problem.samples)

    def of(self, combinations: scipy.sparse.csr_array) -> FloatArray:
        return np.ascontiguousarray((combinations @ self.features).T)

    def inner(self, combinations: scipy.sparse.csr_array, others: FloatArray, own: FloatArray) -> FloatArray:
        return np.asarray(own.T @ others)

    def values(self, image: FloatArray) -> FloatArray:
        return np.asarray(self.features @ image)

    def own(self, images: FloatArray, columns: RowArray) -> FloatArray:
        return np.asarray(np.einsum("sf,fs->s", self.features, images[:, columns]))

    def coefficients(self, image: FloatArray, combination: FloatArray) -> FloatArray:
        return combination


class GramImages:
    """Images are inner products with all samples."""

    def __init__(self, problem: ChanceSVMProblem, memory: int = DEFAULT_MEMORY, n_threads: int = 1) -> None:
        self.problem = problem
        self.gram: FloatArray | None = None
        if problem.kernel.name == "precomputed":
            self.gram = problem.samples
        elif 8 * problem.n_samples**2 <= memory:
            self.gram = _gram_matrix(problem, n_threads)
            if problem.kernel.name == "callable":
                require_inner_products(self.gram, "matrix of the kernel function")

    def of(self, combinations: scipy.sparse.csr_array) -> FloatArray:
        if self.gram is not None:
            return np.ascontiguousarray((combinations @ self.gram).T)
        return self.problem.values(combinations.toarray().T, BLOCK_MEMORY)

    def inner(self, combinations: scipy.sparse.csr_array, others: FloatArray, own: FloatArray) -> FloatArray:
        return np.asarray(combinations @ others)

    def values(self, image: FloatArray) -> FloatArray:
        return image

    def own(self, images: FloatArray, columns: RowArray) -> FloatArray:
        return images[np.arange(columns.size), columns]

    def coefficients(self, image: FloatArray, combination: FloatArray) -> FloatArray:
        return combination


def _gram_matrix(problem: ChanceSVMProblem, n_threads: int) -> FloatArray:
    """All inner products, in blocks that are shared between threads: most of the time goes into functions of single entries."""
    count, kernel, samples = problem.n_samples, problem.kernel, problem.samples
    gram = np.empty((count, count))
    height = max(1, BLOCK_MEMORY // (8 * count))

    def fill(start: int) -> None:
        gram[start : start + height] = kernel.products(samples[start : start + height], samples)

    # Nobody knows whether a user's function may be called by two threads at once.
    with blas_threads(1), ThreadPoolExecutor(1 if kernel.name == "callable" else n_threads) as threads:
        for _ in threads.map(fill, range(0, count, height)):
            pass
    return gram


class LandmarkImages(FeatureImages):
    """Images are coordinates in the span of landmarks: samples drawn evenly from all batches."""

    def __init__(self, problem: ChanceSVMProblem, n_landmarks: int) -> None:
        rng = np.random.default_rng(0)
        # Within a batch samples come in any order; evenly spaced places in a shuffled batch are a fair draw from each.
        order = np.argsort(problem.batch + rng.random(problem.n_samples), kind="stable")
        self.landmarks = np.unique(order[np.linspace(0, problem.n_samples - 1, n_landmarks).astype(np.int64)])
        chosen = problem.samples[self.landmarks]
        if problem.kernel.name == "precomputed":
            cross = problem.samples[:, self.landmarks]
        else:
            cross = np.empty((problem.n_samples, self.landmarks.size))
            height = max(1, BLOCK_MEMORY // (8 * self.landmarks.size))
            for start in range(0, problem.n_samples, height):
                rows = slice(start, start + height)
                cross[rows] = problem.kernel.products(problem.samples[rows], chosen)
        square = cross[self.landmarks]
        # Landmarks that nearly coincide would make the root singular.
        lift = LANDMARK_LIFT * float(np.trace(square)) / self.landmarks.size
        self.root = np.linalg.cholesky(0.5 * (square + square.T) + lift * np.eye(self.landmarks.size))
        self.n_samples = problem.n_samples
        self.features = np.ascontiguousarray(scipy.linalg.solve_triangular(self.root, cross.T, lower=True).T)

    def coefficients(self, image: FloatArray, combination: FloatArray) -> FloatArray:
        spread = np.zeros(self.n_samples)
        spread[self.landmarks] = scipy.linalg.solve_triangular(self.root, image, lower=True, trans="T")
        return spread


def make_images(
    problem: ChanceSVMProblem, memory: int = DEFAULT_MEMORY, n_landmarks: int | None = None, n_threads: int = 1
) -> PointImages:
    """Coordinates where there are fewer of them than samples, else inner products, or coordinates of landmarks if allowed."""
    n_features = problem.kernel.n_features(problem.samples.shape[1])
    if n_features is not None and n_features < problem.n_samples and 8 * n_features * problem.n_samples <= memory:
        return FeatureImages(problem)
    if n_landmarks is not None and n_landmarks < problem.n_samples:
        with blas_threads(n_threads):
            return LandmarkImages(problem, n_landmarks)
    return GramImages(problem, memory, n_threads)
