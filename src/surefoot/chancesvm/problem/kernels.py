"""Kernels: inner products of samples in a feature space that need not be written down.

    linear        k(x, z) = x . z
    poly          k(x, z) = (gamma x . z + coef0)^degree
    rbf           k(x, z) = exp(-gamma ||x - z||^2)
    callable      k(X, Z) is a user's function of two blocks of rows
    precomputed   the "samples" are the rows of the Gram matrix itself

Parameters mean what they mean in scikit-learn.

Centre. The three formulas may be seen from a point m: k_m(x, z) = (phi(x) - phi(m)) . (phi(z) - phi(m)). A plane with an
intercept does not change when the origin of the feature space moves, w . phi(x) + b = w . (phi(x) - phi(m)) + b', so problems
with k and k_m have the same solutions. But the entries of k are dominated by phi(m) where columns have an offset (pressures
near 101,325 Pa) or where gamma is tiny, and what tells samples apart is lost in their last digits. Those of k_m are computed
from x - m without cancellation. With u = x - m, v = z - m, r = gamma u . v, p = gamma u . m, q = gamma v . m and
a = gamma m . m + coef0:

    linear   u . v
    poly     (a + p + q + r)^d - (a + p)^d - (a + q)^d + a^d  =  T_d,    where  T_0 = P_0 = Q_0 = 0  and
             T_{j+1} = (a + p + q + r) T_j + r (a^j + P_j + Q_j) + q P_j + p Q_j,
             P_{j+1} = (a + p) P_j + a^j p,    Q_{j+1} = (a + q) Q_j + a^j q       (P_j = (a + p)^j - a^j)
    rbf      expm1(-gamma ||u - v||^2) - expm1(-gamma ||u||^2) - expm1(-gamma ||v||^2)

The polynomial kernel has a finite feature space. By the multinomial theorem

    (gamma x . z + coef0)^d = sum over k_0 + k_1 + ... + k_n = d of  d! / (k_0! ... k_n!) coef0^{k_0} gamma^{d - k_0} x^k z^k,

so that one coordinate sqrt(d! / prod k! coef0^{k_0} gamma^{d - k_0}) x^k for each exponent k reproduces it: 153 of them for the
quadratic kernel of 16 columns, however many samples there are. Seen from m a coordinate is that of x^k - m^k, built up column
by column: x^k x_j - m^k m_j = (x^k - m^k) x_j + m^k (x_j - m_j).
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy.spatial.distance
from numpy.typing import NDArray

from surefoot.core.arrays import FloatArray

KernelFunction = Callable[[FloatArray, FloatArray], FloatArray]
# A user's function computes squares of so many rows where only their diagonal is wanted.
_SQUARE = 64
# Bytes of products or features that are made at a time.
BLOCK_MEMORY = 1 << 27
# RBF kernels whose exponents are all smaller than this are nearly 1 everywhere: they are seen from a centre.
FLAT_EXPONENT = 0.1
# Exponents of RBF kernels are a single product while none is larger than this; then differences of columns keep more digits.
FAR_EXPONENT = 1e3
# "landmarks" is that of surefoot.chancesvm.problem.landmark_kernel alone.
KernelName = Literal["linear", "poly", "rbf", "callable", "precomputed", "landmarks"]


@dataclass(frozen=True)
class Kernel:
    """One kernel with its parameters; see the module docstring.

    Parameters
    ----------
    name : {"linear", "poly", "rbf", "callable", "precomputed"}
    gamma : float, default=1.0
        Above 0; used by "poly" and "rbf".
    degree : int, default=2
        At or above 1; used by "poly".
    coef0 : float, default=1.0
        At or above 0, since below it a polynomial kernel is no inner product; used by "poly".
    function : callable, optional
        For "callable": takes blocks of rows of shapes (p, n) and (q, n), returns their products, of shape (p, q).
    centre : tuple of float, optional
        m of the module docstring, one number for each column; for "linear", "poly" and "rbf".
    added : float, default=0.0
        For "callable" and "precomputed": what is added to the diagonal of the matrix of all samples, not to products with other
        rows. See :mod:`surefoot.chancesvm.problem.kernel_matrix`.
    """

    name: KernelName = "rbf"
    gamma: float = 1.0
    degree: int = 2
    coef0: float = 1.0
    function: KernelFunction | None = None
    centre: tuple[float, ...] | None = None
    added: float = 0.0

    def __post_init__(self) -> None:
        if self.name not in ("linear", "poly", "rbf", "callable", "precomputed"):
            raise ValueError(f"kernel {self.name!r} is not known. Choose 'linear', 'poly', 'rbf', 'callable' or 'precomputed'.")
        if self.name in ("poly", "rbf") and not (np.isfinite(self.gamma) and self.gamma > 0):
            raise ValueError(f"gamma = {self.gamma} must be a finite number above 0.")
        if self.name == "poly" and not (self.degree == int(self.degree) and self.degree >= 1):
            raise ValueError(f"degree = {self.degree} must be a whole number at or above 1.")
        if self.name == "poly" and not (np.isfinite(self.coef0) and self.coef0 >= 0):
            raise ValueError(f"coef0 = {self.coef0} must be a finite number at or above 0: below, this is no inner product.")
        if (self.name == "callable") != (self.function is not None):
            raise ValueError("kernel='callable' needs a function, and only it takes one.")
        if self.centre is not None and not (self.name in ("linear", "poly", "rbf") and np.isfinite(self.centre).all()):
            raise ValueError("a centre is finite, and for the linear, polynomial and RBF kernels only.")
        if self.added != 0 and not (self.name in ("callable", "precomputed") and 0 < self.added < np.inf):
            raise ValueError("what is added to a diagonal is finite, above 0, and for given kernel matrices only.")

    def products(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Inner products of two blocks of rows, of shape (left, right); finite, or ``ValueError``.

        For "precomputed", ``left`` holds rows of the Gram matrix and ``right`` is ignored.
        """
        if self.name == "precomputed":
            return left
        if self.name == "callable":
            assert self.function is not None
            block = np.asarray(self.function(left, right), dtype=np.float64)
            if block.shape != (left.shape[0], right.shape[0]):
                raise ValueError(
                    f"the kernel function returned shape {block.shape} for {left.shape[0]} and {right.shape[0]} rows; it must "
                    f"return {(left.shape[0], right.shape[0])}."
                )
        elif self.name == "rbf":
            block = _exponents(left, right, self.gamma, self.centre)
            if self.centre is None:
                np.exp(block, out=block)
            else:
                np.expm1(block, out=block)
                block -= self._central(left)[:, None]
                block -= self._central(right)
        elif self.centre is not None:
            u, v = self._moved(left), self._moved(right)
            block = u @ v.T
            if self.name == "poly":
                p, q = self.gamma * (u @ np.array(self.centre)), self.gamma * (v @ np.array(self.centre))
                block = _polynomial(self._at_centre(), p[:, None], q, self.gamma * block, int(self.degree))
        else:
            block = left @ right.T
            if self.name == "poly":
                block *= self.gamma
                block += self.coef0
                block **= int(self.degree)
        # The sum is finite unless an entry is not (or the sum alone overflows, which the second look tells apart).
        if not np.isfinite(block.sum()) and not np.isfinite(block).all():
            row, column = np.argwhere(~np.isfinite(block))[0]
            raise ValueError(
                f"the {self.name} kernel of samples {row} and {column} of a block is {block[row, column]}; kernels must be "
                "finite. Scale the columns, or choose smaller parameters."
            )
        return block

    def diagonal(self, samples: FloatArray) -> FloatArray:
        """k(x, x) of every row."""
        if self.name == "precomputed":
            return np.ascontiguousarray(np.diagonal(samples))
        if self.name == "rbf":
            return np.ones(samples.shape[0]) if self.centre is None else -2.0 * self._central(samples)
        if self.name == "callable":
            parts = [samples[start : start + _SQUARE] for start in range(0, samples.shape[0], _SQUARE)]
            return np.concatenate([np.diagonal(self.products(part, part)) for part in parts])
        moved = self._moved(samples)
        squares = np.einsum("ij,ij->i", moved, moved)
        if self.name == "poly" and self.centre is not None:
            p = self.gamma * (moved @ np.array(self.centre))
            return _polynomial(self._at_centre(), p, p, self.gamma * squares, int(self.degree))
        return np.asarray(squares if self.name == "linear" else (self.gamma * squares + self.coef0) ** int(self.degree))

    def from_centre(self, samples: FloatArray) -> NDArray[np.longdouble]:
        """k(x, m) - k(m, m) of every row, without cancellation and in extended precision."""
        centre = np.array(self.centre or (), dtype=np.longdouble)
        moved = samples - centre
        if self.name == "rbf":
            return np.asarray(np.expm1(-self.gamma * np.square(moved).sum(axis=1)))
        gamma, coef0, degree = (1.0, 0.0, 1) if self.name == "linear" else (self.gamma, self.coef0, int(self.degree))
        p, a = gamma * (moved @ centre), gamma * (centre @ centre) + coef0
        found, power = np.zeros_like(p), np.ones_like(a)
        for _ in range(degree):
            found, power = (a + p) * found + power * p, power * a
        return np.asarray(found)

    def n_features(self, n_columns: int) -> int | None:
        """How many coordinates the explicit feature space has, or None where there is none."""
        if self.name == "linear":
            return n_columns
        if self.name == "poly":
            return math.comb(n_columns + int(self.degree) - (self.coef0 == 0), int(self.degree))
        return None

    def features(self, samples: FloatArray) -> FloatArray:
        """Explicit coordinates of every row: ``features(x) @ features(z).T`` is ``products(x, z)``."""
        if self.name == "linear":
            return self._moved(samples)
        if self.name != "poly":
            raise ValueError(f"the {self.name} kernel has no explicit feature space.")
        degree = int(self.degree)
        mapped = np.empty((samples.shape[0], self.n_features(samples.shape[1]) or 0), order="F")
        at = 0
        lowest = degree if self.coef0 == 0 else 0
        for total in range(lowest, degree + 1):
            scale = math.comb(degree, total) * self.coef0 ** (degree - total) * self.gamma**total
            for chosen in itertools.combinations_with_replacement(range(samples.shape[1]), total):
                repeats = math.factorial(total)
                for column in set(chosen):
                    repeats //= math.factorial(chosen.count(column))
                # x^k, or x^k - m^k seen from m.
                monomial, at_centre = np.full(samples.shape[0], 0.0 if self.centre else 1.0), 1.0
                for column in chosen:
                    monomial = monomial * samples[:, column]
                    if self.centre:
                        monomial += at_centre * (samples[:, column] - self.centre[column])
                        at_centre *= self.centre[column]
                mapped[:, at] = math.sqrt(scale * repeats) * monomial
                at += 1
        return np.ascontiguousarray(mapped)

    def combined(
        self,
        rows: FloatArray,
        others: FloatArray,
        weights: FloatArray,
        memory: int = BLOCK_MEMORY,
        on_block: Callable[[], None] | None = None,
    ) -> FloatArray:
        """``products(rows, others) @ weights``, in blocks of so many bytes; by features where these are fewer than the others.

        ``on_block`` is called before every block of rows; an exception it raises reaches the caller. Not for "precomputed".
        """
        if len(others) == 0:
            return np.zeros((len(rows), *weights.shape[1:]))
        n_features = self.n_features(others.shape[1])
        explicit = n_features is not None and n_features < len(others)
        height = max(1, memory // (8 * (n_features if explicit and n_features is not None else len(others))))
        if explicit:
            parts = [slice(start, start + height) for start in range(0, len(others), height)]
            w = np.sum([self.features(others[part]).T @ weights[part] for part in parts], axis=0)
        out = np.empty((len(rows), *weights.shape[1:]))
        for start in range(0, len(rows), height):
            if on_block is not None:
                on_block()
            block = rows[start : start + height]
            with np.errstate(over="ignore", invalid="ignore"):
                part = self.features(block) @ w if explicit else None
            # Products say which of them is not finite.
            finite = part is not None and np.isfinite(part).all()
            out[start : start + height] = part if finite else self.products(block, others) @ weights
        return out

    def spelled(self) -> str:
        """The kernel in words, for fingerprints."""
        numbers = {"rbf": (self.gamma,), "poly": (self.gamma, self.degree, self.coef0)}.get(self.name, ())
        seen = () if self.centre is None else ("from", *map(repr, self.centre))
        if self.added > 0:
            seen = ("plus", repr(self.added))
        if self.function is not None:
            seen = (getattr(self.function, "__module__", ""), getattr(self.function, "__qualname__", str(self.function)), *seen)
        return " ".join((self.name, *map(repr, numbers), *seen))

    def digest(self) -> str:
        """Fingerprint of the kernel."""
        return hashlib.sha256(self.spelled().encode()).hexdigest()

    def _moved(self, samples: FloatArray) -> FloatArray:
        return samples if self.centre is None else samples - np.array(self.centre)

    def _central(self, samples: FloatArray) -> FloatArray:
        """expm1(-gamma ||x - m||^2) of every row."""
        moved = self._moved(samples)
        return np.asarray(np.expm1(-self.gamma * np.einsum("ij,ij->i", moved, moved)))

    def _at_centre(self) -> float:
        """a of the module docstring."""
        return self.gamma * float(np.dot(self.centre or (), self.centre or ())) + self.coef0


def _short(samples: FloatArray) -> FloatArray:
    """Means of the columns to a 64th of their spread: numbers of few digits, which do not depend on how a machine adds."""
    means = samples.mean(axis=0)
    spread = np.abs(samples - means).max(axis=0)
    constant = spread <= 1e-12 * np.abs(means)
    unit = np.exp2(np.floor(np.log2(np.where(constant, 1.0, spread))) - 6)
    return np.asarray(np.where(constant, samples[0], np.round(means / unit) * unit))


def centred(kernel: Kernel, samples: FloatArray) -> Kernel:
    """The kernel seen from about the mean of samples, where that keeps digits: linear, polynomial, and nearly constant RBF."""
    if kernel.name not in ("linear", "poly", "rbf"):
        return kernel
    with np.errstate(over="ignore", invalid="ignore"):
        centre = _short(samples)
        farthest = float(np.square(samples - centre).sum(axis=1).max())
    if not np.isfinite(farthest):
        return kernel
    if kernel.name == "rbf" and kernel.gamma * farthest > FLAT_EXPONENT:
        return kernel
    return replace(kernel, centre=tuple(centre.tolist()))


def _polynomial(a: float, p: FloatArray, q: FloatArray, r: FloatArray, degree: int) -> FloatArray:
    """T_d of the module docstring; p, q and r are broadcast."""
    total, at_p, at_q, power = np.zeros_like(r), np.zeros_like(p), np.zeros_like(q), 1.0
    whole = a + p + q + r
    for _ in range(degree):
        total = whole * total + r * (power + at_p + at_q) + q * at_p + p * at_q
        at_p, at_q = (a + p) * at_p + power * p, (a + q) * at_q + power * q
        power *= a
    return total


def _exponents(left: FloatArray, right: FloatArray, gamma: float, centre: tuple[float, ...] | None) -> FloatArray:
    """-gamma ||x - z||^2 = 2 gamma x . z - gamma ||x||^2 - gamma ||z||^2, as a single product of rows with two more entries."""
    if not (left.shape[0] and right.shape[0]):
        return np.zeros((left.shape[0], right.shape[0]))
    # Distances do not depend on where the origin is, but what cancels in their expansion does.
    origin = right.mean(axis=0) if centre is None else np.array(centre)
    left, right = left - origin, right - origin
    one, other = np.ones(left.shape[0]), np.ones(right.shape[0])
    lengths, others = np.einsum("ij,ij->i", left, left), np.einsum("ij,ij->i", right, right)
    if gamma * max(lengths.max(initial=0.0), others.max(initial=0.0)) > FAR_EXPONENT:
        # What cancels in the expansion is then more than exponents near 0 have.
        return np.asarray(-gamma * scipy.spatial.distance.cdist(left, right, "sqeuclidean"))
    wide = np.column_stack((2 * gamma * left, -gamma * lengths, one))
    block = wide @ np.column_stack((right, other, -gamma * others)).T
    np.minimum(block, 0.0, out=block)
    return np.asarray(block)
