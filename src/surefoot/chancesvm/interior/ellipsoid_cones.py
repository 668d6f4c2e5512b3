"""The second-order cones of a master problem, ||g_i|| <= a_i: their products, determinants and step lengths."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse

from surefoot.core.arrays import FloatArray, RowArray


@dataclass(frozen=True)
class Cones:
    """Which unknown belongs to which batch: first the weights of all batches, then coordinates, each with its batch.

    Products are Jordan's: v o u = (v . u, v_0 u_1 + u_0 v_1) within each cone.
    """

    n_batches: int
    batch: RowArray

    def sums(self, values: FloatArray) -> FloatArray:
        """Sums of coordinates along the last axis, batch by batch."""
        if values.ndim == 1:
            return np.asarray(np.bincount(self.batch, values, self.n_batches), dtype=np.float64)
        return np.asarray(values @ self.members)

    @property
    def size(self) -> int:
        return self.n_batches + self.batch.size

    @cached_property
    def whole(self) -> RowArray:
        """The batch of each unknown."""
        return np.concatenate((np.arange(self.n_batches), self.batch))

    @cached_property
    def pairs(self) -> tuple[RowArray, RowArray]:
        """All pairs of unknowns of the same batch."""
        order = np.argsort(self.whole, kind="stable")
        counts = np.bincount(self.whole)
        first = np.cumsum(counts) - counts
        sizes = counts[self.whole[order]]
        rows = np.repeat(order, sizes)
        within = np.arange(rows.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return rows, order[np.repeat(first[self.whole[order]], sizes) + within]

    @cached_property
    def members(self) -> scipy.sparse.csr_array:
        """A row for each coordinate, with a 1 at its batch."""
        places = np.arange(self.batch.size + 1)
        ones = np.ones(self.batch.size)
        return scipy.sparse.csr_array((ones, self.batch, places), shape=(self.batch.size, self.n_batches))

    def parts(self, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        return v[..., : self.n_batches], v[..., self.n_batches :]

    def determinant(self, v: FloatArray) -> FloatArray:
        """a^2 - ||g||^2 of each cone."""
        head, tail = self.parts(v)
        length = np.sqrt(self.sums(tail * tail))
        return np.asarray((head - length) * (head + length))

    def product(self, v: FloatArray, u: FloatArray) -> FloatArray:
        (v0, v1), (u0, u1) = self.parts(v), self.parts(u)
        return np.concatenate((v0 * u0 + self.sums(v1 * u1), v0[self.batch] * u1 + u0[self.batch] * v1))

    def quotient(self, v: FloatArray, y: FloatArray) -> FloatArray:
        """The x with v o x = y."""
        (v0, v1), (y0, y1) = self.parts(v), self.parts(y)
        x0 = (v0 * y0 - self.sums(v1 * y1)) / self.determinant(v)
        return np.concatenate((x0, (y1 - x0[self.batch] * v1) / v0[self.batch]))

    def max_step(self, v: FloatArray, change: FloatArray) -> float:
        """The step length to the boundary of the first cone that is left."""
        (v0, v1), (d0, d1) = self.parts(v), self.parts(change)
        square, mixed, start = d0 * d0 - self.sums(d1 * d1), v0 * d0 - self.sums(v1 * d1), self.determinant(v)
        # The first positive root of square t^2 + 2 mixed t + start, in the form that does not cancel.
        root = np.sqrt(np.maximum(mixed * mixed - square * start, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            at = np.where(mixed < 0, start / (root - mixed), np.where(square < 0, (mixed + root) / -square, np.inf))
        return float(np.where((mixed >= 0) & (square >= 0), np.inf, np.maximum(at, 0.0)).min())
