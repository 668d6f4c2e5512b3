"""Points of the feature space as combinations of samples, and the inner products that the solvers need of them.

A point is sum_s a_s phi(x_s). Its image is what is stored of it:

- :class:`ExplicitFeatureSpace`, where the feature map is explicit and has fewer coordinates than there are samples: the
  coordinates themselves.
- :class:`GramFeatureSpace`, for all other kernels: the inner products with all samples, K a. The Gram matrix K is stored if it
  fits into memory, and otherwise computed in blocks for every product.
"""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol

import numpy as np
import scipy.sparse

from surefoot.chancesvm.problem.problem import ChanceSVMProblem, require_inner_products
from surefoot.chancesvm.solvers.parameters import FeatureSpaceParameters
from surefoot.core.arrays import FloatArray, RowArray
from surefoot.core.blas_threads import blas_threads
from surefoot.core.solve_options import SolveOptions


class OutOfTimeError(Exception):
    """The time limit came in the middle of a product that may take minutes."""


class FeatureSpace(Protocol):
    """Rows of ``combinations`` are points: sparse, one column for each sample."""

    # Whether images are coordinates, so that inner products of points are those of their images.
    has_coordinates: bool

    def images(self, combinations: scipy.sparse.csr_array) -> FloatArray:
        """The images of points, column by column."""

    def inner_products(self, combinations: scipy.sparse.csr_array, others: FloatArray) -> FloatArray:
        """Inner products of points with others of which only the images are known."""

    def values(self, image: FloatArray) -> FloatArray:
        """Inner products of the point with this image with all samples."""

    def values_of_columns(self, images: FloatArray, columns: RowArray) -> FloatArray:
        """Inner product of every sample with the point in its own column of the images."""

    def set_options(self, options: SolveOptions) -> None:
        """Keep to the time limit of another solve from now on."""


class ExplicitFeatureSpace:
    """Images are coordinates."""

    has_coordinates = True

    def __init__(self, problem: ChanceSVMProblem, parameters: FeatureSpaceParameters, options: SolveOptions) -> None:
        self.parameters = parameters
        count, width = problem.n_samples, problem.kernel.n_features(problem.samples.shape[1]) or 0
        self.features = np.empty((count, width))
        height = max(1, parameters.feature_block_memory // (8 * max(width, 1)))
        for start in range(0, count, height):
            _check_time(options)
            self.features[start : start + height] = problem.kernel.features(problem.samples[start : start + height])

    def images(self, combinations: scipy.sparse.csr_array) -> FloatArray:
        return np.ascontiguousarray((combinations @ self.features).T)

    def inner_products(self, combinations: scipy.sparse.csr_array, others: FloatArray) -> FloatArray:
        return np.asarray((combinations @ self.features) @ others)

    def values(self, image: FloatArray) -> FloatArray:
        return np.asarray(self.features @ image)

    def values_of_columns(self, images: FloatArray, columns: RowArray) -> FloatArray:
        first = np.concatenate(([0], np.flatnonzero(np.diff(columns)) + 1, [columns.size]))
        if self.parameters.run_length * first.size > columns.size:
            return np.asarray(np.einsum("sf,fs->s", self.features, images[:, columns]))
        # Samples of a batch stand together and have the same column, so there is no need to repeat it for each.
        out = np.empty(columns.size)
        for start, end in itertools.pairwise(first.tolist()):
            out[start:end] = self.features[start:end] @ images[:, columns[start]]
        return out

    def set_options(self, options: SolveOptions) -> None:
        """Nothing here takes so long that it looks at a clock."""


class GramFeatureSpace:
    """Images are inner products with all samples."""

    has_coordinates = False

    def __init__(self, problem: ChanceSVMProblem, parameters: FeatureSpaceParameters, options: SolveOptions) -> None:
        self.problem, self.parameters, self.options = problem, parameters, options
        self.gram: FloatArray | None = None
        if problem.kernel.name == "precomputed" or problem.gram is not None:
            _check_time(options)
            self.gram = problem.kernel_matrix()
        elif 8 * problem.n_samples**2 <= parameters.gram_memory:
            self.gram = _gram_matrix(problem, parameters.block_memory, options)
            if problem.kernel.name == "callable":
                require_inner_products(self.gram, "matrix of the kernel function")

    def images(self, combinations: scipy.sparse.csr_array) -> FloatArray:
        if self.gram is not None:
            return np.ascontiguousarray((combinations @ self.gram).T)
        check = partial(_check_time, self.options)
        return self.problem.values(combinations.toarray().T, self.parameters.block_memory, check)

    def inner_products(self, combinations: scipy.sparse.csr_array, others: FloatArray) -> FloatArray:
        return np.asarray(combinations @ others)

    def values(self, image: FloatArray) -> FloatArray:
        return image

    def values_of_columns(self, images: FloatArray, columns: RowArray) -> FloatArray:
        return images[np.arange(columns.size), columns]

    def set_options(self, options: SolveOptions) -> None:
        self.options = options


def _gram_matrix(problem: ChanceSVMProblem, block_memory: int, options: SolveOptions) -> FloatArray:
    """All inner products, in blocks divided among threads: most of the time goes into functions of single entries."""
    count, kernel, samples = problem.n_samples, problem.kernel, problem.samples
    gram = np.empty((count, count))
    height = max(1, block_memory // (8 * count))

    def fill(start: int) -> None:
        _check_time(options)
        gram[start : start + height] = kernel.products(samples[start : start + height], samples)

    # Nobody knows whether a user's function may be called by two threads at once.
    with blas_threads(1), ThreadPoolExecutor(1 if kernel.name == "callable" else options.n_threads) as threads:
        for _ in threads.map(fill, range(0, count, height)):
            pass
    return gram


def _check_time(options: SolveOptions) -> None:
    if options.out_of_time:
        raise OutOfTimeError


def make_feature_space(problem: ChanceSVMProblem, parameters: FeatureSpaceParameters, options: SolveOptions) -> FeatureSpace:
    """Coordinates where there are fewer of them than samples, else inner products."""
    n_features = problem.kernel.n_features(problem.samples.shape[1])
    if (
        n_features is not None
        and n_features < problem.n_samples
        and 8 * n_features * problem.n_samples <= parameters.gram_memory
    ):
        with blas_threads(options.n_threads):
            return ExplicitFeatureSpace(problem, parameters, options)
    return GramFeatureSpace(problem, parameters, options)
