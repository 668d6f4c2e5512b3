"""The lower bound that a quadratic step proves, and the shift plan that proves it.

How it is found: cpp/include/surefoot/robust/dual_bound.hpp. Where nothing bounds the coefficients a priori it is a claim, not a
proof; the certificate proves such cases by corrected slopes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot import _native
from surefoot.core.arrays import FloatArray
from surefoot.robust.problem.problem import ShiftPlan
from surefoot.robust.sqp.row_sums import TableRows


@dataclass(frozen=True)
class PlanBound:
    """A lower bound and what it takes to write its proof down."""

    native_plan: _native.Plan
    lowest: FloatArray
    highest: FloatArray
    point: FloatArray
    value: float

    @classmethod
    def of(cls, bound: _native.DualBound) -> PlanBound:
        return cls(bound.plan, bound.lowest, bound.highest, bound.point, bound.value)

    def plan(self, rows: TableRows, first_row: int = 0) -> ShiftPlan:
        """The proof, for all rows or for a part of them that starts at ``first_row``."""
        part = self.native_plan.of_rows(first_row, first_row + rows.n_rows, rows.mask_words)
        written = _native.write_plan(rows.native, part, self.point)
        shape = (len(written.row), rows.terms.n_moves)
        return ShiftPlan(
            row=written.row,
            moved=written.moved.view(np.bool_).reshape(shape),
            flipped=written.flipped.view(np.bool_),
            mass=written.mass,
            slope=written.slope,
            lowest=self.lowest,
            highest=self.highest,
        )
