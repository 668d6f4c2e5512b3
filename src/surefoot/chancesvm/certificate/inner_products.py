"""Inner products of samples in a kernel's feature space, as enclosures; written from the formulas alone.

    linear   x . z           poly   (gamma x . z + coef0)^degree           rbf   exp(-gamma ||x - z||^2)

A kernel with a centre m is (phi(x) - phi(m)) . (phi(z) - phi(m)) instead. With u = x - m, v = z - m, r = gamma u . v,
p = gamma u . m, q = gamma v . m and a = gamma m . m + coef0 it is computed without cancellation:

    poly     (a + p + q + r)^d - (a + p)^d - (a + q)^d + a^d = T_d,  T_1 = r,  P_1 = p,  Q_1 = q,  P_j = (a + p)^j - a^j,
             T_{j+1} = (a + p + q + r) T_j + r (a^j + P_j + Q_j) + q P_j + p Q_j,       P_{j+1} = (a + p) P_j + a^j p
    rbf      expm1(-gamma ||u - v||^2) - expm1(-gamma ||u||^2) - expm1(-gamma ||v||^2)

The linear kernel is the polynomial one with gamma = 1, coef0 = 0, d = 1; without a centre k(x, z) = T_d at m = 0 plus coef0^d.
Multiplied out, T_d is the sum over all lists k of d columns, 1 being one of them, of coef0^{k_0} gamma^{d - k_0} (x^k - m^k)
(z^k - m^k), with x^k the product of these columns and k_0 how often 1 is among them: shorter, and more accurate.

A matrix (precomputed, or what a function returned for all samples) is taken as it is, with a number added to its diagonal that
the kernel names. Rounding may leave a matrix indefinite, so that no feature space has these inner products; it is refused
unless that number certainly mends it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surefoot.core.arrays import AnyArray, FloatArray
from surefoot.core.definite import inverse_form, least_eigenvalue
from surefoot.core.enclosure import Enclosure, close_product, enclose, join, sum_error
from surefoot.exceptions import CertificateError

MATRICES = ("callable", "precomputed")
# A matrix further from symmetric than this, over its largest entry, holds no inner products; a nearer one is made symmetric.
ASYMMETRY = 1e-8
# Exponents of RBF kernels are a single product while none is below this; then differences of columns keep more digits.
FAR = -1e3
# Each degree is a pass over all pairs of samples.
MOST_DEGREES = 1000
# So many products of columns are always worth it: ||w||^2 is then a sum of squares, of which nothing cancels.
FEW = 1000


class InnerProducts:
    """The inner products k(x_s, x_t) of samples, by their places; the second of each pair is a landmark if there are any."""

    def __init__(self, kernel: Any, samples: FloatArray) -> None:
        # Landmarks in their order, and none twice, whatever a file says.
        self.landmarks = np.flatnonzero(np.isin(np.arange(len(samples)), kernel.places)) if kernel.name == "landmarks" else None
        kernel = kernel if self.landmarks is None else kernel.base
        self.name, self.samples = str(kernel.name), samples
        # What is added to a diagonal mends a matrix; to formulas there is nothing to add.
        self.added = float(kernel.added) if self.name in MATRICES else 0.0
        parameters = (1.0, 0.0, 1) if self.name == "linear" else (float(kernel.gamma), float(kernel.coef0), int(kernel.degree))
        self.gamma, self.coef0, self.degree = parameters
        numbers = 0 < self.gamma < np.inf and 0 <= self.coef0 < np.inf and 0 <= self.added < np.inf
        numbers = numbers and 0 < self.degree <= MOST_DEGREES and (self.landmarks is None or self.added == 0)
        if self.name not in ("linear", "poly", "rbf", *MATRICES) or not numbers:
            raise CertificateError(f"{kernel!r:.200} is no kernel: its products are no inner products.")
        self.matrix = _matrix(kernel, samples, self.landmarks) if self.name in MATRICES else None
        self.centre = None if kernel.centre is None else np.array(kernel.centre, dtype=np.float64)
        # Distances do not depend on the origin, but their rounding does.
        origin = samples.mean(axis=0) if self.name == "rbf" else np.zeros(samples.shape[1])
        self.origin = origin if self.centre is None else self.centre
        if self.origin.shape != origin.shape or not np.isfinite(self.origin).all():
            raise CertificateError(f"the centre of the kernel is not one finite number for each of {origin.size} columns.")

    def words(self) -> str:
        """The kernel as a claim names it."""
        if self.matrix is not None:
            return "the given kernel" + (f", {self.added!r} added to the diagonal of its matrix," if self.added > 0 else "")
        numbers = {"poly": f" of degree {self.degree}, gamma = {self.gamma!r}, coef0 = {self.coef0!r},"}
        return f"the {self.name} kernel" + numbers.get(self.name, f" of gamma = {self.gamma!r}" * (self.name == "rbf"))

    def evaluated(self, planes: FloatArray, mixes: Enclosure, used: AnyArray) -> tuple[Enclosure, Enclosure, Enclosure]:
        """w . phi(x) of all samples and ||w||^2 of planes w = sum_s c_s phi(x_s), one a column, and ||g||^2 of mixes g.

        Both are 0 but at ``used``. Of landmarks it is ||P g||^2, with the projection P onto their span.
        """
        if self.landmarks is None:
            if self.matrix is not None:
                return self._by_matrix(self.matrix, planes, mixes, used)
            values, squares = self._combined(join((planes, mixes), axis=1), used)
            return values, squares[: planes.shape[1]], squares[planes.shape[1] :]
        if np.delete(planes, self.landmarks, axis=0).any():
            raise CertificateError("a plane uses samples that are no landmarks.")
        found, inner = [], enclose(np.zeros((self.landmarks.size, mixes.shape[1])))
        for part in _parts(np.arange(len(self.samples))):
            block = self.block(part, self.landmarks)
            found.append(block @ planes[self.landmarks])
            inner = inner + block.transposed @ mixes[part]
        values, square = join(found), self.block(self.landmarks, self.landmarks)
        return values, (values * planes)[self.landmarks].sum(axis=0), inverse_form(square, inner)

    def _by_matrix(self, matrix: Any, planes: Any, mixes: Enclosure, used: Any) -> tuple[Enclosure, Enclosure, Enclosure]:
        """The same from a matrix, whose entries are doubles as they are; of ||g||^2, what none is above.

        A mix is no farther from the middle of its enclosure than coefficients may be, times the lengths of samples.
        """
        given, k = np.concatenate((planes, mixes.mid), axis=1), planes.shape[1]
        rows = [close_product(matrix[np.ix_(part, used)], given[used]) for part in _parts(np.arange(len(matrix)))]
        values = join(rows) + enclose(given) * self.added
        squares = (values * given).sum(axis=0)
        beside = (enclose(np.diagonal(matrix)) + self.added).maximum(0.0).sqrt() @ mixes.rad
        longest = squares[k:].maximum(0.0).sqrt() + beside
        return values, squares[:k], longest * longest

    def _combined(self, coefficients: Enclosure, used: AnyArray) -> tuple[Enclosure, Enclosure]:
        """w . phi(x) of all samples and ||w||^2, for each column of coefficients."""
        if self.name in ("linear", "poly") and (self.samples.shape[1] + 1) ** self.degree < max(used.size, FEW):
            features, factors = self._monomials()
            w = enclose(np.zeros((features.shape[1], coefficients.shape[1])))
            for part in _parts(used):
                w = w + features[part].transposed @ coefficients[part]
            return features @ (w * factors), (w * w * factors).sum(axis=0)
        values = enclose(np.zeros(coefficients.shape))
        for part in _parts(used):
            values = values + self.block(np.arange(self.samples.shape[0]), part) @ coefficients[part]
        return values, (coefficients * values).sum(axis=0)

    def block(self, rows: AnyArray, others: AnyArray) -> Enclosure:
        """k(x_s, x_t) for all pairs, without what is added; of a matrix on landmarks the others are all of these."""
        if self.matrix is not None:
            return enclose(self.matrix[rows])
        u, v = enclose(self.samples[rows]) - self.origin, enclose(self.samples[others]) - self.origin
        if self.name == "rbf":
            left, right = (u * u).sum(axis=1) * -self.gamma, (v * v).sum(axis=1) * -self.gamma
            wide = join((u * (2 * self.gamma), left[:, None], np.ones((rows.size, 1))), axis=1)
            exponents = wide @ join((v, np.ones((others.size, 1)), right[:, None]), axis=1).transposed
            if min(left.low.min(), right.low.min()) < FAR:
                exponents = enclose(np.zeros((rows.size, others.size)))
                for column in self.samples.T:
                    apart = enclose(column[rows, None]) - column[others]
                    exponents = exponents - apart * apart * self.gamma
            return exponents.exp() if self.centre is None else exponents.expm1() - left.expm1()[:, None] - right.expm1()
        total, q = (u * self.gamma) @ v.transposed, (v @ self.origin) * self.gamma
        p = ((u @ self.origin) * self.gamma)[:, None]
        r, at_p, at_q = total, p, q
        a = power = (enclose(self.origin) * self.origin).sum() * self.gamma + self.coef0
        for _ in range(self.degree - 1):
            total = (p + q + r + a) * total + r * (at_p + at_q + power) + q * at_p + p * at_q
            at_p, at_q, power = (p + a) * at_p + power * p, (q + a) * at_q + power * q, power * a
        return total + power if self.centre is None else total

    def _monomials(self) -> tuple[Enclosure, Enclosure]:
        """x^k - m^k of all samples and coef0^{k_0} gamma^{d - k_0}, for every k as a list of d columns, the last one being 1.

        x^k x_j - m^k m_j = (x^k - m^k) x_j + m^k (x_j - m_j); without a centre x^k is all there is.
        """
        count, first = len(self.samples), float(self.centre is not None)
        x, origin = enclose(np.column_stack((self.samples, np.ones(count)))), np.append(self.origin, 1.0)
        scales = np.append(np.full(self.origin.size, self.gamma), self.coef0)
        found, powers, factors = enclose(np.full((count, 1), 1.0 - first)), enclose([first]), enclose([1.0])
        for _ in range(self.degree):
            found = found[:, :, None] * x[:, None, :] + (x - origin)[:, None, :] * powers[:, None]
            powers, factors = powers[:, None] * origin, factors[:, None] * scales
            found, powers, factors = found.reshape(count, -1), powers.reshape(-1), factors.reshape(-1)
        return found, factors[:, None]


def _parts(places: AnyArray) -> list[AnyArray]:
    """Long sums are taken in parts, which keeps their rounding small."""
    size = max(16, math.isqrt(places.size))
    return [places[start : start + size] for start in range(0, places.size, size)]


def _matrix(kernel: Any, samples: FloatArray, landmarks: AnyArray | None) -> FloatArray:
    """The kernel matrix, certainly positive semidefinite with what is added; or its columns of landmarks."""
    columns = slice(None) if landmarks is None else landmarks
    given = samples[:, columns] if kernel.name == "precomputed" else kernel.function(samples, samples[columns])
    matrix = np.array(given, dtype=np.float64)
    if matrix.shape != (samples.shape[0], samples[columns].shape[0]) or not np.isfinite(matrix).all():
        raise CertificateError(f"the kernel matrix is not finite, or has shape {matrix.shape}.")
    square = matrix[columns]
    if np.abs(square - square.T).max() > ASYMMETRY * np.abs(square).max():
        raise CertificateError("the kernel matrix is not symmetric: it holds no inner products.")
    matrix[columns] = 0.5 * square + 0.5 * square.T
    # What Cholesky's method cannot tell from 0. Of landmarks the least eigenvalue is looked at later.
    step = max(2.5 * sum_error(len(square) + 4) * float(np.abs(np.diagonal(square)).sum()), 0.5 * kernel.added)
    if landmarks is None and not least_eigenvalue(matrix, step - kernel.added) >= -kernel.added:
        raise CertificateError("the kernel matrix may have negative eigenvalues: too little is added to its diagonal.")
    return matrix
