"""How points of the feature space are held while worst points are generated.

A point is a combination of samples. What the method needs of it are inner products with all samples and with other points.

- :class:`FeatureImages`, where the feature space is explicit and smaller than the number of samples: coordinates.
- :class:`GramImages`, for all other kernels: the inner products with all samples themselves. The Gram matrix is kept if it fits
  into a memory limit, and otherwise computed anew in blocks for every product.
"""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol

import numpy as np
import scipy.sparse

from surefoot.chancesvm.problem.problem import ChanceSVMProblem, require_inner_products
from surefoot.core.arrays import FloatArray, RowArray
from surefoot.core.blas_threads import blas_threads
from surefoot.core.solve_options import SolveOptions

# Bytes that a Gram matrix may take; a larger one is computed again in every pass.
DEFAULT_MEMORY = 1 << 31
# Blocks in which a Gram matrix is computed: small enough to stay in a processor's cache between the steps that make them.
BLOCK_MEMORY = 1 << 22
# Runs of samples with one column that are worth a product of their own.
RUN_LENGTH = 8


class OutOfTimeError(Exception):
    """The time limit came in the middle of a product that may take minutes."""


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

    def obey(self, options: SolveOptions) -> None:
        """Look at another clock from now on."""


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
        first = np.concatenate(([0], np.flatnonzero(np.diff(columns)) + 1, [columns.size]))
        if RUN_LENGTH * first.size > columns.size:
            return np.asarray(np.einsum("sf,fs->s", self.features, images[:, columns]))
        # Samples of a batch stand together and share a column, so there is no need to repeat it for each.
        out = np.empty(columns.size)
        for start, end in itertools.pairwise(first.tolist()):
            out[start:end] = self.features[start:end] @ images[:, columns[start]]
        return out

    def obey(self, options: SolveOptions) -> None:
        """Nothing here takes so long that it looks at a clock."""


class GramImages:
    """Images are inner products with all samples."""

    def __init__(self, problem: ChanceSVMProblem, memory: int, options: SolveOptions) -> None:
        self.problem, self.options = problem, options
        self.gram: FloatArray | None = None
        if problem.kernel.name == "precomputed":
            self.gram = problem.samples
        elif 8 * problem.n_samples**2 <= memory:
            self.gram = _gram_matrix(problem, options)
            if problem.kernel.name == "callable":
                require_inner_products(self.gram, "matrix of the kernel function")

    def of(self, combinations: scipy.sparse.csr_array) -> FloatArray:
        if self.gram is not None:
            return np.ascontiguousarray((combinations @ self.gram).T)
        return self.problem.values(combinations.toarray().T, BLOCK_MEMORY, partial(_look_at_clock, self.options))

    def inner(self, combinations: scipy.sparse.csr_array, others: FloatArray, own: FloatArray) -> FloatArray:
        return np.asarray(combinations @ others)

    def values(self, image: FloatArray) -> FloatArray:
        return image

    def own(self, images: FloatArray, columns: RowArray) -> FloatArray:
        return images[np.arange(columns.size), columns]

    def obey(self, options: SolveOptions) -> None:
        self.options = options


def _gram_matrix(problem: ChanceSVMProblem, options: SolveOptions) -> FloatArray:
    """All inner products, in blocks that are shared between threads: most of the time goes into functions of single entries."""
    count, kernel, samples = problem.n_samples, problem.kernel, problem.samples
    gram = np.empty((count, count))
    height = max(1, BLOCK_MEMORY // (8 * count))

    def fill(start: int) -> None:
        _look_at_clock(options)
        gram[start : start + height] = kernel.products(samples[start : start + height], samples)

    # Nobody knows whether a user's function may be called by two threads at once.
    with blas_threads(1), ThreadPoolExecutor(1 if kernel.name == "callable" else options.n_threads) as threads:
        for _ in threads.map(fill, range(0, count, height)):
            pass
    return gram


def _look_at_clock(options: SolveOptions) -> None:
    if options.out_of_time:
        raise OutOfTimeError


def make_images(problem: ChanceSVMProblem, memory: int, options: SolveOptions) -> PointImages:
    """Coordinates where there are fewer of them than samples, else inner products."""
    n_features = problem.kernel.n_features(problem.samples.shape[1])
    if n_features is not None and n_features < problem.n_samples and 8 * n_features * problem.n_samples <= memory:
        with blas_threads(options.n_threads):
            return FeatureImages(problem)
    return GramImages(problem, memory, options)
