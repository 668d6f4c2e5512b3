"""The quadratic of whole ellipsoids by the Gram matrix K, and Newton's systems by preconditioned conjugate gradients.

Unknowns. Batch i has a weight a_i and all m_i - 1 coordinates g_i beside its mean: with H_i an orthonormal basis beside the
roots r_i of its sample weights, the coefficients of its samples are

    c_i = T_i v_i,     T_i = y_i diag(r_i) (r_i, tau_i H_i),     so that     Q = T' K T.

Nothing is left to separate, and Q, of as many rows as there are samples, is never factorised nor even formed.

Preconditioner. With some samples as landmarks, K = F F' + E with F of one column for each (Nystroem's method), and E is small
but for what batches keep for themselves. So M = Q + B is near T' F F' T + D + B with D the blocks T_i' E_ii T_i. With the root
P of B^-1 = P' P, Cholesky's L L' = 1 + P D P' in each block, and G = L^-1 P,

    G (B + D) G' = 1,     G M G' = L^-1 L^-T + G Q G',     near     1 + Y Y',   Y = G T' F,

whose inverse is that of a matrix of as many rows as there are landmarks. Conjugate gradients work in the scaled unknowns z,
v = G' z: there the barrier, whose entries grow without bound, has none above 1. They end at a fraction of the right-hand side;
what is left is a residual of the next step of the interior-point method, which computes it anew in double precision. So
products with K in single precision are good enough on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from surefoot.chancesvm.interior.cone_barrier import Barrier
from surefoot.chancesvm.interior.dual_objective import factorised
from surefoot.chancesvm.problem.landmark_kernel import independent
from surefoot.chancesvm.problem.problem import ChanceSVMProblem
from surefoot.chancesvm.solvers.parameters import GramObjectiveParameters
from surefoot.core.arrays import FloatArray, RowArray


class GramObjective:
    """phi over whole ellipsoids, without radii.

    Parameters
    ----------
    problem : ChanceSVMProblem
    gram : ndarray of shape (n_samples, n_samples)
        Not all zeros.
    parameters : GramObjectiveParameters
    is_over : callable
        Asked before every product: whether to end with what there is, since the time is over.

    Attributes
    ----------
    batch : ndarray of shape (n_samples - n_batches,)
        Batch of each coordinate.
    point : tuple of ndarray of shape (n_samples,)
        Where phi was asked for last: c and K c.
    """

    is_quadratic = True
    is_exact = False

    def __init__(
        self,
        problem: ChanceSVMProblem,
        gram: FloatArray,
        parameters: GramObjectiveParameters,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        self.gram, self.parameters, self.is_over = gram, parameters, is_over
        self.size = float(np.diagonal(gram).max())
        self.single: NDArray[np.float32] = np.empty(gram.shape, dtype=np.float32)
        np.multiply(gram, 1.0 / self.size, out=self.single, casting="same_kind")
        self.blocks = _Blocks(problem)
        self.point = np.zeros(problem.n_samples), np.zeros(problem.n_samples)
        self.batch = np.repeat(np.arange(problem.n_batches), problem.sizes - 1)
        features = _landmark_features(problem, gram, parameters)
        turned = self.blocks.turned(self.blocks.padded(features, axis=0).reshape(*self.blocks.shape, -1))
        self.features = turned.reshape(-1, features.shape[1])
        own = np.zeros((*self.blocks.shape, self.blocks.shape[1]))
        for at, (start, end) in enumerate(zip(problem.starts[:-1], problem.starts[1:], strict=True)):
            own[at, : end - start, : end - start] = gram[start:end, start:end]
        own = self.blocks.turned(own) @ self.blocks.basis
        self._diagonal = np.einsum("ikk->ik", own).reshape(-1)[self.blocks.places]
        left = own - turned @ turned.swapaxes(1, 2)
        along = np.arange(self.blocks.shape[1])
        left[:, along, along] += parameters.lift * float(self._diagonal.mean())
        self.left = 0.5 * (left + left.swapaxes(1, 2))

    def coefficients(self, v: FloatArray) -> FloatArray:
        """c of the module docstring."""
        return self.blocks.coefficients(self.blocks.spread(v))

    def at(self, v: FloatArray) -> tuple[float, FloatArray, float]:
        coefficients = self.coefficients(v)
        values = self.gram @ coefficients
        self.point = coefficients, values
        return 0.5 * max(float(coefficients @ values), 0.0), self.blocks.gradient(values), 1.0

    def diagonal(self) -> FloatArray:
        return np.asarray(self._diagonal)

    def newton(self, v: FloatArray, barrier: Barrier) -> GramNewton | None:
        blocks = self.blocks
        root = blocks.matrices(barrier)
        inside = root @ self.left @ root.swapaxes(1, 2)
        at = np.arange(blocks.shape[1])
        inside[:, at, at] += 1.0
        try:
            inverse = np.linalg.inv(np.linalg.cholesky(inside))
        except np.linalg.LinAlgError:
            return None
        scale = inverse @ root
        rooted = (scale @ self.features.reshape(*blocks.shape, -1)).reshape(self.features.shape)
        small = rooted.T @ rooted
        small.flat[:: len(small) + 1] += 1.0
        factor = factorised(small, barrier.lifts)
        if factor is None:
            return None
        return GramNewton(self, scale, inverse @ inverse.swapaxes(1, 2), blocks.basis @ scale.swapaxes(1, 2), rooted, factor)

    def products(self, coefficients: FloatArray) -> FloatArray:
        """K c in single precision."""
        largest = float(np.abs(coefficients).max()) or 1.0
        scaled = (coefficients / largest).astype(np.float32)
        # One triangle of it: large matrices take as long as it takes to read them.
        found = scipy.linalg.blas.ssymv(1.0, self.single.T, scaled, lower=0)
        return np.asarray(found, dtype=np.float64) * (largest * self.size)


@dataclass(frozen=True, eq=False)
class GramNewton:
    """M, preconditioned: G, L^-1 L^-T and T G' in blocks, Y, and Cholesky's factor of 1 + Y' Y."""

    objective: GramObjective
    scale: FloatArray
    barrier: FloatArray
    mixing: FloatArray
    rooted: FloatArray
    factor: FloatArray

    def solve(self, right: FloatArray) -> FloatArray:
        """Solutions for right-hand sides that are rows, to a fraction of each."""
        blocks, found = self.objective.blocks, np.empty_like(right)
        for at, row in enumerate(right):
            z = self._conjugate_gradients(_times(self.scale, blocks.spread(row)))
            found[at] = _times(self.scale.swapaxes(1, 2), z).reshape(-1)[blocks.places]
        return found

    def _conjugate_gradients(self, right: FloatArray) -> FloatArray:
        parameters = self.objective.parameters
        z, left = np.zeros_like(right), right
        turned = self._preconditioned(left)
        along, square = turned, float(left.ravel() @ turned.ravel())
        enough = parameters.residual_fraction**2 * square
        for _ in range(parameters.max_steps):
            if not square > enough or self.objective.is_over():
                break
            image = self._image(along)
            step = square / float(along.ravel() @ image.ravel())
            z, left = z + step * along, left - step * image
            turned = self._preconditioned(left)
            square, before = float(left.ravel() @ turned.ravel()), square
            along = turned + (square / before) * along
        return z

    def _image(self, z: FloatArray) -> FloatArray:
        """G M G' z."""
        blocks = self.objective.blocks
        values = self.objective.products(_times(self.mixing, z).reshape(-1)[blocks.samples])
        inside = blocks.padded(values).reshape(blocks.shape)
        return _times(self.barrier, z) + _times(self.mixing.swapaxes(1, 2), inside)

    def _preconditioned(self, z: FloatArray) -> FloatArray:
        """(1 + Y Y')^-1 z."""
        along = scipy.linalg.lapack.dpotrs(self.factor, self.rooted.T @ z.ravel(), lower=1)[0]
        return np.asarray(z - (self.rooted @ along).reshape(z.shape))


class _Blocks:
    """Batches side by side in blocks of one size, those that are smaller with zeros at their end.

    Attributes
    ----------
    shape : tuple of int
        Batches, and samples in the largest.
    samples, places : ndarray
        Where samples stand, and where unknowns do: weights first, then coordinates.
    basis : ndarray of shape (n_batches, largest, largest)
        T_i.
    """

    def __init__(self, problem: ChanceSVMProblem) -> None:
        sizes, largest = problem.sizes, int(problem.sizes.max())
        self.shape = (problem.n_batches, largest)
        inside = np.arange(problem.n_samples) - np.repeat(problem.starts[:-1], sizes)
        self.samples: RowArray = np.repeat(np.arange(problem.n_batches), sizes) * largest + inside
        self.places: RowArray = np.concatenate((np.arange(problem.n_batches) * largest, self.samples[inside > 0]))
        roots = self.padded(np.sqrt(problem.weights)).reshape(self.shape)
        # Householder's reflection that takes the first axis to the roots takes all others to a basis beside them.
        normal = -roots
        normal[:, 0] += 1.0
        lengths = np.sqrt(np.einsum("ik,ik->i", normal, normal))
        normal = normal / np.where(lengths > 0, lengths, 1.0)[:, None]
        basis = np.eye(largest) - 2.0 * normal[:, :, None] * normal[:, None, :]
        basis *= problem.labels[:, None, None] * roots[:, :, None]
        basis[:, :, 1:] *= problem.tau[:, None, None]
        self.basis = basis * (roots > 0)[:, None, :]

    def padded(self, values: FloatArray, axis: int = -1) -> FloatArray:
        """Values of samples in the places of their batches."""
        shape = list(values.shape)
        shape[axis] = self.shape[0] * self.shape[1]
        found = np.zeros(shape)
        if axis == 0:
            found[self.samples] = values
        else:
            found[..., self.samples] = values
        return found

    def spread(self, v: FloatArray) -> FloatArray:
        """Unknowns in their places."""
        found = np.zeros(self.shape[0] * self.shape[1])
        found[self.places] = v
        return found.reshape(self.shape)

    def coefficients(self, v: FloatArray) -> FloatArray:
        """T v."""
        return _times(self.basis, v).reshape(-1)[self.samples]

    def gradient(self, values: FloatArray) -> FloatArray:
        """T' f."""
        return _times(self.basis.swapaxes(1, 2), self.padded(values).reshape(self.shape)).reshape(-1)[self.places]

    def turned(self, blocks: FloatArray) -> FloatArray:
        """T_i' X_i of every block."""
        return np.asarray(self.basis.swapaxes(1, 2) @ blocks)

    def matrices(self, barrier: Barrier) -> FloatArray:
        """P, block by block; 0 in places that no unknown has."""
        scaling = barrier.scaling
        w, (turn, fraction) = self.spread(scaling.w), barrier.turn
        q = self.spread(turn)
        found = w[:, :, None] * (w / (1.0 + w[:, :1]))[:, None, :]
        at = np.arange(1, self.shape[1])
        found[:, at, at] += 1.0
        found[:, 0, :] = found[:, :, 0] = w
        found *= scaling.factor[:, None, None]
        # Before (1 + c q q')^{-1/2} = 1 - f q q' of the other side.
        return np.asarray(found - (fraction[:, None] * q)[:, :, None] * _times(found.swapaxes(1, 2), q)[:, None, :])


def _times(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    """Block by block."""
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])


def _landmark_features(problem: ChanceSVMProblem, gram: FloatArray, parameters: GramObjectiveParameters) -> FloatArray:
    """F of the module docstring, with landmarks drawn evenly from all batches."""
    rng = np.random.default_rng(0)
    order = np.argsort(problem.batch + rng.random(problem.n_samples), kind="stable")
    count = max(min(parameters.most_landmarks, problem.n_samples // parameters.samples_a_landmark), 1)
    places = np.unique(order[np.linspace(0, problem.n_samples - 1, count).astype(np.int64)])
    places = places[independent(gram[np.ix_(places, places)])]
    root = np.linalg.cholesky(gram[np.ix_(places, places)])
    return np.asarray(scipy.linalg.solve_triangular(root, gram[places], lower=True).T)
