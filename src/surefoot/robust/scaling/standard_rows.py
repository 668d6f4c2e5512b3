"""Presolve: distinct rows, centred and scaled columns, prices near 1, fewer levels; and the way back.

Rows without weight leave, equal rows become one row with the sum of their weights. Of columns with very many levels those that
one coefficient serves are merged (:mod:`surefoot.robust.scaling.merged_levels`). Objective and shift plans are the same in
both worlds; units are those of :mod:`surefoot.robust.scaling.standard_units`. Columns are centred only if an intercept can
absorb the shift, and never if they are sparse: centred they would be dense.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse

from surefoot.core.arrays import AnyArray, FloatArray, RowArray
from surefoot.design.encode.duplicates import collapse_rows
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.numeric_columns import column_sizes
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem, ShiftPlan
from surefoot.robust.scaling.merged_levels import MergedLevels, may_merge
from surefoot.robust.scaling.standard_units import LEAST_SHARE, StandardUnits, standard_cost


@dataclass(frozen=True)
class StandardRows(StandardUnits):
    """A standardised problem and its ties to the original."""

    problem: RobustLogisticProblem
    original: RobustLogisticProblem
    centre: FloatArray
    scale: FloatArray
    unit: float
    weighted: RowArray
    group: RowArray
    levels: MergedLevels | None = None

    @classmethod
    def of(cls, whole_problem: RobustLogisticProblem) -> StandardRows:
        levels = MergedLevels.of(whole_problem)
        original = whole_problem if levels is None else levels.merged(whole_problem)
        weighted = np.flatnonzero(original.weights > 0)
        whole = weighted.size == original.n_rows
        numeric, codes, labels, weights = original.numeric, original.codes, original.labels, original.weights
        if not whole:
            numeric, codes, labels, weights = numeric[weighted], codes[weighted], labels[weighted], weights[weighted]
        collapsed = collapse_rows(numeric, codes, labels, np.maximum(weights, LEAST_SHARE))
        if collapsed.representatives.size < labels.size:
            first = collapsed.representatives
            numeric, codes, labels = numeric[first], codes[first], labels[first]
        weights = collapsed.weights
        if original.is_sparse:
            centre = np.zeros(original.n_numeric)
            numeric, scale = _scaled(numeric, weights)
        else:
            centre = _mean(numeric, weights) if original.fit_intercept else np.zeros(original.n_numeric)
            numeric, scale = _centred_and_scaled(numeric, weights, centre)
        cost, unit = standard_cost(original.cost, centre, scale)
        problem = replace(
            original, numeric=numeric, codes=codes, labels=labels, weights=weights, cost=cost, radius=original.radius / unit
        )
        group = np.asarray(collapsed.groups, dtype=np.int64)
        return cls(problem, whole_problem, centre, scale, unit, weighted, group, levels)

    @classmethod
    def unchanged(cls, original: RobustLogisticProblem) -> StandardRows:
        """The problem as it is, for methods that are to see it so."""
        rows = np.arange(original.n_rows)
        nothing, ones = np.zeros(original.n_numeric), np.ones(original.n_numeric)
        return cls(original, original, nothing, ones, 1.0, rows, rows.astype(np.int64))

    def posed_as(self, original: RobustLogisticProblem) -> StandardRows | None:
        """These rows for a problem that has the same ones, but perhaps another radius or other prices; None if it has not."""
        mine = self.original
        if original.fit_intercept != mine.fit_intercept or not (
            _equal(original.n_levels, mine.n_levels)
            and _equal(original.labels, mine.labels)
            and _equal(original.weights, mine.weights)
            and _equal(original.codes, mine.codes)
            and _equal_columns(original.numeric, mine.numeric)
            and (self.levels is None or _equal(may_merge(original.terms), may_merge(mine.terms)))
        ):
            return None
        same = original.cost is mine.cost
        cost, unit = (self.problem.cost, self.unit) if same else standard_cost(original.cost, self.centre, self.scale)
        return replace(self, problem=self.problem.priced(cost, original.radius / unit), original=original, unit=unit)

    @property
    def cost(self) -> GroundCost:
        return self.problem.cost

    def standardize(self, coefficients: RobustCoefficients) -> RobustCoefficients:
        """A model in the units of the table as one in standard units."""
        standard = super().standardize(coefficients)
        return standard if self.levels is None else replace(standard, levels=standard.levels[self.levels.representatives])

    def restore(self, coefficients: RobustCoefficients) -> RobustCoefficients:
        """A model in standard units as one in the units of the table."""
        restored = super().restore(coefficients)
        return restored if self.levels is None else replace(restored, levels=restored.levels[self.levels.groups])

    def restore_plan(self, plan: ShiftPlan) -> ShiftPlan:
        """The same plan, each distinct row's moves divided among the rows it represents, and each group's among its levels."""
        plan = self._of_all_rows(plan)
        return plan if self.levels is None else self.levels.divided_plan(plan, self.original)

    def _of_all_rows(self, plan: ShiftPlan) -> ShiftPlan:
        if self.problem.n_rows == self.original.n_rows:
            return plan
        # Entries of a plan come row after row.
        count = np.bincount(plan.row, minlength=self.problem.n_rows)
        repeats = count[self.group]
        begin, ends = np.cumsum(count) - count, np.cumsum(repeats)
        entry = np.arange(ends[-1]) + np.repeat(begin[self.group] - (ends - repeats), repeats)
        fraction = self.original.weights[self.weighted] / self.problem.weights[self.group]
        return replace(
            plan,
            row=np.repeat(self.weighted, repeats),
            moved=plan.moved[entry],
            flipped=plan.flipped[entry],
            mass=plan.mass[entry] * np.repeat(fraction, repeats),
            slope=plan.slope[entry],
        )


def _equal(a: AnyArray, b: AnyArray) -> bool:
    # Problems of one path have the same arrays.
    return a is b or np.array_equal(a, b)


def _equal_columns(a: FloatArray | scipy.sparse.csr_array, b: FloatArray | scipy.sparse.csr_array) -> bool:
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b)
    parts = ((a.indptr, b.indptr), (a.indices, b.indices), (a.data, b.data))
    return a.shape == b.shape and all(np.array_equal(mine, other) for mine, other in parts)


def _centred_and_scaled(numeric: FloatArray, weights: FloatArray, centre: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Dense columns minus their centre, over the root of their weighted mean square."""
    numeric = numeric - centre
    sizes = column_sizes(numeric)
    scale: FloatArray = np.sqrt(weights @ np.square(numeric / np.maximum(sizes, 1e-300))) * sizes
    scale[scale == 0] = 1.0
    numeric /= scale
    return numeric, scale


def _mean(numeric: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted means, counted from the first row: a large offset takes no digits from them, and a constant is its own mean."""
    first = numeric[0] / 2  # halves, because differences of numbers of +-1e308 would overflow
    mean: FloatArray = 2 * (first + weights @ (numeric / 2 - first) / weights.sum())
    return mean


def _scaled(numeric: scipy.sparse.csr_array, weights: FloatArray) -> tuple[scipy.sparse.csr_array, FloatArray]:
    """Sparse columns over the root of their weighted mean square."""
    sizes = column_sizes(numeric)
    within = numeric.indices
    squares = np.repeat(weights, np.diff(numeric.indptr)) * np.square(numeric.data / np.maximum(sizes, 1e-300)[within])
    scale: FloatArray = np.sqrt(np.bincount(within, weights=squares, minlength=sizes.size)) * sizes
    scale[scale == 0] = 1.0
    shrunk = scipy.sparse.csr_array((numeric.data / scale[within], within, numeric.indptr), shape=numeric.shape)
    return shrunk, scale
