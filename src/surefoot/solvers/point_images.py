"""How points of the feature space are held while worst points are generated.

A point is a combination of samples. What the method needs of it are inner products with all samples and with other points.

- :class:`FeatureImages`, where the feature space is explicit and smaller than the number of samples: coordinates.
- :class:`GramImages`, for all other kernels: the inner products with all samples themselves. The Gram matrix is kept if it fits
  into a memory limit, and otherwise computed anew in blocks for every product.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import scipy.sparse

from surefoot.problems.arrays import FloatArray
from surefoot.problems.chance_svm import ChanceSVMProblem

# Bytes that a Gram matrix may take; a larger one is computed again in every pass.
DEFAULT_MEMORY = 1 << 31
# Blocks in which a Gram matrix is computed: small enough to stay in a processor's cache between the steps that make them.
BLOCK_MEMORY = 1 << 22


class PointImages(Protocol):
    """Rows of ``combinations`` are points: sparse, one column for each sample."""

    def of(self, combinations: scipy.sparse.csr_array) -> FloatArray:
        """The images of points, column by column."""

    def inner(self, combinations: scipy.sparse.csr_array, others: FloatArray, own: FloatArray) -> FloatArray:
        """Inner products of points (their combinations and their images) with others of which only the images are known."""

    def values(self, image: FloatArray) -> FloatArray:
        """Inner products of the point with this image with all samples."""


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


class GramImages:
    """Images are inner products with all samples."""

    def __init__(self, problem: ChanceSVMProblem, memory: int = DEFAULT_MEMORY) -> None:
        self.problem = problem
        self.gram: FloatArray | None = None
        count = problem.n_samples
        if problem.kernel.name == "precomputed":
            self.gram = problem.samples
        elif 8 * count * count <= memory:
            self.gram = np.empty((count, count))
            for rows, block in problem.kernel.blocks(problem.samples, BLOCK_MEMORY):
                self.gram[rows] = block

    def of(self, combinations: scipy.sparse.csr_array) -> FloatArray:
        if self.gram is not None:
            return np.ascontiguousarray((combinations @ self.gram).T)
        return self.problem.values(combinations.toarray().T, BLOCK_MEMORY)

    def inner(self, combinations: scipy.sparse.csr_array, others: FloatArray, own: FloatArray) -> FloatArray:
        return np.asarray(combinations @ others)

    def values(self, image: FloatArray) -> FloatArray:
        return image


def make_images(problem: ChanceSVMProblem, memory: int = DEFAULT_MEMORY) -> PointImages:
    """Coordinates where there are fewer of them than samples, else inner products."""
    n_features = problem.kernel.n_features(problem.samples.shape[1])
    if n_features is not None and n_features < problem.n_samples and 8 * n_features * problem.n_samples <= memory:
        return FeatureImages(problem)
    return GramImages(problem, memory)
