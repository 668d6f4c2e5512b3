"""Nesterov and Todd's scaling of second-order cones: W u = W^-1 v.

In the i-th cone W^2 = e^2 (2 w w' - J) with J = diag(1, -1, ..., -1), so that W^-2 = (2 (Jw)(Jw)' - J) / e^2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.chancesvm.interior.ellipsoid_cones import Cones
from surefoot.core.arrays import FloatArray

# Divisors that underflow are replaced by this.
TINY = 1e-300


@dataclass(frozen=True)
class Scaling:
    """Nesterov and Todd's W of a pair (v, u): the scaling point w and the factor e of the module docstring."""

    cones: Cones
    w: FloatArray
    factor: FloatArray

    @classmethod
    def of(cls, cones: Cones, v: FloatArray, u: FloatArray) -> Scaling:
        v_det, u_det = np.maximum(cones.determinant(v), TINY), np.maximum(cones.determinant(u), TINY)
        whole = cones.whole
        v_unit, u_unit = v / np.sqrt(v_det)[whole], u / np.sqrt(u_det)[whole]
        (v0, v1), (u0, u1) = cones.parts(v_unit), cones.parts(u_unit)
        middle = np.sqrt(0.5 * (1.0 + v0 * u0 + cones.sums(v1 * u1)))
        w = np.concatenate((v0 + u0, v1 - u1)) / (2.0 * middle)[whole]
        return cls(cones, w, (v_det / u_det) ** 0.25)

    def times(self, x: FloatArray) -> FloatArray:
        """W x, along the last axis of x."""
        return self._apply(x, self.w, self.factor)

    def over(self, x: FloatArray) -> FloatArray:
        """W^-1 x, along the last axis of x."""
        head, tail = self.cones.parts(self.w)
        return self._apply(x, np.concatenate((head, -tail)), 1.0 / self.factor)

    def _apply(self, x: FloatArray, w: FloatArray, factor: FloatArray) -> FloatArray:
        cones = self.cones
        (x0, x1), (w0, w1) = cones.parts(x), cones.parts(w)
        dot = cones.sums(w1 * x1)
        tail = factor[cones.batch] * (x1 + w1 * (x0 + dot / (1.0 + w0))[..., cones.batch])
        return np.concatenate((factor * (w0 * x0 + dot), tail), axis=-1)
