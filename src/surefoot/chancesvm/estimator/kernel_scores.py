"""Scores of rows under a kernel classifier: sum over support samples of coefficient times kernel, plus an intercept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.chancesvm.inputs.column_units import ColumnUnits
from surefoot.chancesvm.problem.kernels import BLOCK_MEMORY, Kernel
from surefoot.chancesvm.problem.problem import ChanceSVMProblem, KernelPlane
from surefoot.core.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class KernelScores:
    """What predictions need, and nothing else.

    Attributes
    ----------
    kernel : Kernel
    support : ndarray of shape (n_support,)
        Places of the support samples among the rows of training.
    samples : ndarray of shape (n_support, n_columns)
        The support samples; no columns for a precomputed kernel.
    coefficients : ndarray of shape (n_support,)
    intercept : float
    units : ColumnUnits or None
        The units of the support samples, into which rows are brought.
    """

    kernel: Kernel
    support: NDArray[np.intp]
    samples: FloatArray
    coefficients: FloatArray
    intercept: float
    units: ColumnUnits | None = None

    @classmethod
    def of_plane(
        cls, problem: ChanceSVMProblem, plane: KernelPlane, order: NDArray[np.intp], units: ColumnUnits | None
    ) -> KernelScores:
        """The classifier of a solution; ``order`` leads from the samples of the problem to the rows of training."""
        used = np.flatnonzero(plane.coefficients)
        used = used[np.argsort(order[used], kind="stable")]
        samples = problem.samples[used, :0] if problem.kernel.name == "precomputed" else problem.samples[used]
        return cls(problem.kernel, order[used], samples, plane.coefficients[used], float(plane.intercept), units)

    def plain_intercept(self, coef: FloatArray | None) -> tuple[float, list[float]]:
        """The intercept of the same scores by a kernel without a centre m, rounded, and by how much with each set of numbers.

        Seen from m, scores are sum_s c_s (k(x_s, x) - k(x_s, m) - k(m, x) + k(m, m)) + intercept, and coefficients add up to 0.
        With the linear kernel w is rounded too, to ``coef`` in the units of the columns: then it is the intercept of coef . x.
        """
        exact: Any = np.longdouble(self.intercept)
        if self.kernel.centre is not None:
            exact -= self.coefficients @ self.kernel.from_centre(self.samples)
        if coef is None or (self.kernel.centre is None and self.units is None):
            return float(exact), [float(np.longdouble(float(exact)) - exact)]
        centre = [Fraction(m) for m in self.kernel.centre or (0.0,) * coef.size]
        if self.units is not None:
            # Coefficients in the units of the columns are those of x - offset - scale * centre.
            offsets, scales = self.units.offsets, self.units.scales
            places = zip(offsets.tolist(), scales.tolist(), centre, strict=True)
            centre = [Fraction(offset) + Fraction(scale) * m for offset, scale, m in places]
            exact -= self.coefficients.astype(np.longdouble) @ self.kernel.features(self.samples) / scales @ offsets
        at_centre = sum((Fraction(a) * m for a, m in zip(coef.tolist(), centre, strict=True)), Fraction(0))
        wanted = Fraction(self.intercept) - at_centre
        return float(wanted), [float(Fraction(float(wanted)) - wanted), float(np.longdouble(float(wanted)) - exact)]

    def by_public_numbers(self, rows: FloatArray, coef: FloatArray | None, intercept: float) -> FloatArray:
        """Scores of rows in standard units as anybody would compute them, without the centre."""
        if coef is not None:
            return np.asarray((rows if self.units is None else self.units.back(rows)) @ coef + intercept)
        # Not by features, whose rounding is another one.
        plain, scores = replace(self.kernel, centre=None), np.empty(len(rows))
        height = max(1, BLOCK_MEMORY // (8 * max(1, len(self.samples))))
        for start in range(0, len(rows), height):
            block = slice(start, start + height)
            scores[block] = plain.products(rows[block], self.samples) @ self.coefficients + intercept
        return scores

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Scores of rows; with a precomputed kernel the columns are the kernels with all rows of training."""
        if self.kernel.name == "precomputed":
            return np.asarray(rows[:, self.support] @ self.coefficients + self.intercept)
        return self.of_samples(rows if self.units is None else self.units.standardized(rows))

    def of_samples(self, samples: FloatArray) -> FloatArray:
        """Scores of rows that are in standard units already."""
        return self.kernel.combined(samples, self.samples, self.coefficients) + self.intercept
