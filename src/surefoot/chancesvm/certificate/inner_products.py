"""Inner products of samples in a kernel's feature space, as enclosures; written from the formulas alone.

    linear   x . z           poly   (gamma x . z + coef0)^degree           rbf   exp(-gamma ||x - z||^2)

A kernel with a centre m is (phi(x) - phi(m)) . (phi(z) - phi(m)) instead. With u = x - m, v = z - m, r = gamma u . v,
p = gamma u . m, q = gamma v . m and a = gamma m . m + coef0 it is computed without cancellation:

    poly     (a + p + q + r)^d - (a + p)^d - (a + q)^d + a^d = T_d,  T_1 = r,  P_1 = p,  Q_1 = q,  P_j = (a + p)^j - a^j,
             T_{j+1} = (a + p + q + r) T_j + r (a^j + P_j + Q_j) + q P_j + p Q_j,       P_{j+1} = (a + p) P_j + a^j p
    rbf      expm1(-gamma ||u - v||^2) - expm1(-gamma ||u||^2) - expm1(-gamma ||v||^2)

The linear kernel is the polynomial one with gamma = 1, coef0 = 0, d = 1; without a centre k(x, z) = T_d at m = 0 plus coef0^d.
By the multinomial theorem  T_d = sum over exponents k of  d! / (k_0! ...) coef0^{k_0} gamma^{d - k_0} (x^k - m^k) (z^k - m^k),
which is the shorter way where there are few columns; x^k x_j - m^k m_j = (x^k - m^k) x_j + m^k (x_j - m_j).

A matrix (precomputed, or what a function returned for all samples) is taken as it is. Rounding may have left it indefinite, so
that no feature space has these inner products; then a small number that certainly mends it is added to its diagonal, and the
claim says so.
"""

from __future__ import annotations

import itertools
import math
from functools import cached_property
from typing import Any

import numpy as np

from surefoot.core.arrays import AnyArray, FloatArray
from surefoot.core.enclosure import UNIT_ROUNDOFF, Enclosure, enclose, join, sum_error
from surefoot.exceptions import CertificateError

# A matrix further from symmetric and positive semidefinite than this, over its largest entry, holds no inner products.
INDEFINITE = 1e-8
# Exponents of RBF kernels are a single product while none is below this; then differences of columns keep more digits.
FAR = -1e3


class InnerProducts:
    """The inner products k(x_s, x_t) of samples, by their places; one of each pair is a landmark if there are any."""

    def __init__(self, kernel: Any, samples: FloatArray, landmarks: AnyArray | None) -> None:
        self.kernel, self.samples, self.added = kernel, samples, 0.0
        self.gamma, self.coef0, self.degree = float(kernel.gamma), float(kernel.coef0), int(kernel.degree)
        self.matrix: FloatArray | None = None
        if kernel.name == "linear":
            self.gamma, self.coef0, self.degree = 1.0, 0.0, 1
        elif kernel.name in ("callable", "precomputed"):
            columns = np.arange(samples.shape[0]) if landmarks is None else landmarks
            self.column = np.full(samples.shape[0], -1)
            self.column[columns] = np.arange(columns.size)
            self.matrix, self.added = _matrix(kernel, samples, columns)
        elif kernel.name not in ("poly", "rbf") or not (
            0 < self.gamma < np.inf and 0 <= self.coef0 < np.inf and self.degree > 0
        ):
            raise CertificateError(f"{kernel!r:.200} is no kernel: its products are no inner products.")
        self.centred = kernel.centre is not None
        # Distances do not depend on the origin, but their rounding does.
        origin = samples.mean(axis=0) if kernel.name == "rbf" else np.zeros(samples.shape[1])
        self.centre = np.array(kernel.centre) if self.centred else origin
        if self.centre.shape != origin.shape or not np.isfinite(self.centre).all():
            raise CertificateError(f"the centre of the kernel is not one finite number for each of {origin.size} columns.")

    def words(self) -> str:
        """The kernel as a claim names it."""
        if self.matrix is not None:
            return "the given kernel" + (f", {self.added!r} added to the diagonal of its matrix," if self.added > 0 else "")
        numbers = {"poly": f" of degree {self.degree}, gamma = {self.gamma!r}, coef0 = {self.coef0!r},"}
        return f"the {self.kernel.name} kernel" + numbers.get(
            self.kernel.name, f" of gamma = {self.gamma!r}" * (self.degree > 1)
        )

    def combined(self, rows: AnyArray, others: AnyArray, coefficients: Enclosure) -> Enclosure:
        """sum_t k(x_s, x_t) c_t for the samples s at ``rows`` and t at ``others``, for each column of c."""
        if self._has_few_monomials(others.size):
            return self._monomials[rows] @ (self._along(others, coefficients) * self._factors[:, None])
        total = enclose(np.zeros((rows.size, coefficients.shape[1])))
        for part in _parts(others.size):
            total = total + self.block(rows, others[part]) @ coefficients[part]
        return total

    def lengths(self, places: AnyArray, coefficients: Enclosure, values: Enclosure | None = None) -> Enclosure:
        """||sum_s c_s phi(x_s)||^2 for each column of c, given what ``combined`` says of these places if that is known."""
        if self._has_few_monomials(places.size):
            along = self._along(places, coefficients)
            return (along * along * self._factors[:, None]).sum(axis=0)
        values = self.combined(places, places, coefficients) if values is None else values
        return (coefficients * values).sum(axis=0)

    def block(self, rows: AnyArray, others: AnyArray) -> Enclosure:
        """k(x_s, x_t) for all pairs."""
        if self.matrix is not None:
            turned = bool((self.column[others] < 0).any())
            rows, others = (others, rows) if turned else (rows, others)
            found = enclose(self.matrix[np.ix_(rows, self.column[others])])
            found = found + self.added * (rows[:, None] == others) if self.added > 0 else found
            return found.transposed if turned else found
        u, v = enclose(self.samples[rows]) - self.centre, enclose(self.samples[others]) - self.centre
        if self.kernel.name == "rbf":
            left, right = (u * u).sum(axis=1) * -self.gamma, (v * v).sum(axis=1) * -self.gamma
            wide = join((u * (2 * self.gamma), left[:, None], np.ones((rows.size, 1))), axis=1)
            exponents = wide @ join((v, np.ones((others.size, 1)), right[:, None]), axis=1).transposed
            if min(left.low.min(), right.low.min()) < FAR:
                exponents = enclose(np.zeros((rows.size, others.size)))
                for column in self.samples.T:
                    apart = enclose(column[rows, None]) - column[others]
                    exponents = exponents - apart * apart * self.gamma
            return exponents.expm1() - left.expm1()[:, None] - right.expm1() if self.centred else exponents.exp()
        total, q = (u * self.gamma) @ v.transposed, (v @ self.centre) * self.gamma
        p = ((u @ self.centre) * self.gamma)[:, None]
        r, at_p, at_q = total, p, q
        a = power = (enclose(self.centre) * self.centre).sum() * self.gamma + self.coef0
        for _ in range(self.degree - 1):
            total = (p + q + r + a) * total + r * (at_p + at_q + power) + q * at_p + p * at_q
            at_p, at_q, power = (p + a) * at_p + power * p, (q + a) * at_q + power * q, power * a
        return total if self.centred else total + _power(self.coef0, self.degree)

    def _has_few_monomials(self, count: int) -> bool:
        # Factorials up to this degree are doubles.
        few = self.degree <= 18 and math.comb(self.samples.shape[1] + self.degree, self.degree) < count
        return few and self.kernel.name in ("linear", "poly")

    def _along(self, places: AnyArray, coefficients: Enclosure) -> Enclosure:
        """sum_s c_s (x_s^k - m^k) for all k."""
        total = enclose(np.zeros((self._factors.shape[0], coefficients.shape[1])))
        for part in _parts(places.size):
            total = total + self._monomials[places[part]].transposed @ coefficients[part]
        return total

    @cached_property
    def _exponents(self) -> list[tuple[int, ...]]:
        """Every k as a list of columns. k = 0 is a coordinate of kernels without a centre; seen from one it is 0."""
        sizes, columns = range(self.centred, self.degree + 1), range(self.samples.shape[1])
        return [k for size in sizes for k in itertools.combinations_with_replacement(columns, size)]

    @cached_property
    def _factors(self) -> Enclosure:
        """d! / (k_0! k_1! ...) coef0^{k_0} gamma^{d - k_0} for all k."""
        found = []
        for k in self._exponents:
            rest = self.degree - len(k)
            repeats = math.prod(math.factorial(k.count(column)) for column in set(k)) * math.factorial(rest)
            found.append(_power(self.coef0, rest) * _power(self.gamma, len(k)) * float(math.factorial(self.degree) // repeats))
        return join([factor[None] for factor in found])

    @cached_property
    def _monomials(self) -> Enclosure:
        """x^k - m^k of all samples for all k; 1 for k = 0."""
        found = []
        for k in self._exponents:
            column, at_centre = enclose(np.full(self.samples.shape[0], float(not k))), enclose(1.0)
            for at in k:
                x = enclose(self.samples[:, at])
                column, at_centre = column * x + at_centre * (x - self.centre[at]), at_centre * self.centre[at]
            found.append(column[:, None])
        return join(found, axis=1)


def _parts(count: int) -> list[slice]:
    """Long sums are taken in parts, which keeps their rounding small."""
    size = max(16, math.isqrt(count))
    return [slice(start, start + size) for start in range(0, count, size)]


def _power(base: float, exponent: int) -> Enclosure:
    found = enclose(1.0)
    for _ in range(exponent):
        found = found * base
    return found


def least_eigenvalue(matrix: FloatArray, shift: float) -> float:
    """A number that no eigenvalue of a symmetric matrix of doubles lies below: near the shift, or -inf if one may lie there.

    If Cholesky's method runs to its end on A = matrix - shift I, the factors' product differs from A by at most g trace(A) in
    norm, g = g_{n+1} / (1 - g_{n+1}), in whatever order sums are taken (Rump, BIT 46, 2006): no eigenvalue of A is below that.
    """
    moved = matrix - shift * np.eye(matrix.shape[0])
    try:
        np.linalg.cholesky(moved)
    except np.linalg.LinAlgError:
        return -np.inf
    diagonal = enclose(np.abs(np.diagonal(moved)))
    error = diagonal.sum() * (2 * sum_error(matrix.shape[0] + 2)) + diagonal.max() * (4 * UNIT_ROUNDOFF)
    return float((shift - error).low)


def _matrix(kernel: Any, samples: FloatArray, columns: AnyArray) -> tuple[FloatArray, float]:
    """Columns of the kernel matrix, and what to add to its diagonal so that it is certainly positive semidefinite."""
    given = samples[:, columns] if kernel.name == "precomputed" else kernel.function(samples, samples[columns])
    matrix = np.array(given, dtype=np.float64)
    if matrix.shape != (samples.shape[0], columns.size) or not np.isfinite(matrix).all():
        raise CertificateError(f"the kernel matrix is not finite, or has shape {matrix.shape}.")
    square = matrix[columns]
    largest, skew = float(np.abs(square).max()), float(np.abs(square - square.T).max())
    matrix[columns] = 0.5 * square + 0.5 * square.T
    # What Cholesky's method cannot tell from 0. Of landmarks the least eigenvalue is looked at later.
    step = 4 * sum_error(columns.size + 2) * float(np.abs(np.diagonal(square)).sum())
    added = 0.0
    while max(added, skew) <= INDEFINITE * largest:
        if columns.size < samples.shape[0] or least_eigenvalue(matrix, step - added) >= -added:
            return matrix, added
        added = 4 * added + 2 * step
    raise CertificateError("the kernel matrix is not symmetric or has negative eigenvalues: it holds no inner products.")
