"""What cones and ceilings add to the hessian of a master problem, and a root of its inverse.

    B = W^-2 + diag(c) on the weights,  c = x / t;      B^-1 = P' P,  P = (1 + c q q')^{-1/2} W,  q = W e,

with e the first coordinate of each cone (:mod:`surefoot.chancesvm.interior.ellipsoid_dual`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from surefoot.chancesvm.interior.cone_scaling import Scaling
from surefoot.core.arrays import FloatArray


@dataclass(frozen=True)
class Barrier:
    """B of the module docstring, what the cones and the ceilings add to the hessian: ``ceiling`` is c = x / t."""

    scaling: Scaling
    ceiling: FloatArray
    lifts: tuple[float, ...]

    def matrix_added_to(self, hessian: FloatArray) -> FloatArray:
        """The same array, with B added to it."""
        scaling, cones = self.scaling, self.scaling.cones
        rows, columns = cones.pairs
        reflected = np.concatenate((scaling.w[: cones.n_batches], -scaling.w[cones.n_batches :]))
        reflected = reflected / scaling.factor[cones.whole]
        hessian[rows, columns] += 2.0 * reflected[rows] * reflected[columns]
        inverse = 1.0 / (scaling.factor * scaling.factor)
        hessian.flat[:: cones.size + 1] += np.concatenate((self.ceiling - inverse, inverse[cones.batch]))
        return hessian

    def times(self, x: FloatArray) -> FloatArray:
        """B x."""
        found = self.scaling.over(self.scaling.over(x))
        found[..., : self.ceiling.size] += self.ceiling * x[..., : self.ceiling.size]
        return found

    @cached_property
    def turn(self) -> tuple[FloatArray, FloatArray]:
        """q, and f with (1 + c q q')^{-1/2} = 1 - f q q'."""
        scaling, cones = self.scaling, self.scaling.cones
        q = scaling.factor[cones.whole] * scaling.w
        head, tail = cones.parts(q)
        square = head * head + cones.sums(tail * tail)
        growth = self.ceiling * square
        # 1 - 1 / sqrt(1 + g), without cancellation.
        root = np.sqrt(1.0 + growth)
        return q, self.ceiling / (root * (1.0 + root))

    def root(self, x: FloatArray) -> FloatArray:
        """P x."""
        return self._turned(self.scaling.times(x))

    def root_transposed(self, x: FloatArray) -> FloatArray:
        """P' x."""
        return self.scaling.times(self._turned(x))

    def _turned(self, x: FloatArray) -> FloatArray:
        cones, (q, fraction) = self.scaling.cones, self.turn
        (x0, x1), (q0, q1) = cones.parts(x), cones.parts(q)
        along = fraction * (q0 * x0 + cones.sums(q1 * x1))
        return x - q * along[..., cones.whole]
