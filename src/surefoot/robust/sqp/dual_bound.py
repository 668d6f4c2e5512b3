"""The lower bound that a quadratic step proves, and the shift plan that proves it.

How it is found: cpp/include/surefoot/plan_bound.hpp. Where nothing bounds the coefficients a priori it is a claim, not a proof;
certificates/ proves such cases by curvature.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot import _native
from surefoot.core.arrays import FloatArray
from surefoot.robust.problem.problem import ShiftPlan
from surefoot.robust.sqp.lifted_rows import LiftedRows


@dataclass(frozen=True)
class PlanBound:
    """A lower bound and what it takes to write its proof down."""

    native_plan: _native.Plan
    lowest: FloatArray
    highest: FloatArray
    point: FloatArray
    value: float

    def plan(self, rows: LiftedRows, first_row: int = 0) -> ShiftPlan:
        """The proof, for all rows or for a part of them that starts at ``first_row``."""
        part = self.native_plan.of_rows(first_row, first_row + rows.n_rows, rows.mask_words)
        row, moved, flipped, mass, slope = _native.write_plan(rows.native, part, self.point)
        shape = (len(row), rows.terms.n_categorical)
        return ShiftPlan(
            row=row,
            moved=moved.view(np.bool_).reshape(shape),
            flipped=flipped.view(np.bool_),
            mass=mass,
            slope=slope,
            lowest=self.lowest,
            highest=self.highest,
        )
