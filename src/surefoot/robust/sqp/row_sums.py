"""Sums over the rows of a robust problem, in lifted coordinates.

They are the oracle of the solver: it learns nothing else about the rows (:class:`RowSums`), so these may as well be read batch
by batch or live on other machines; see :mod:`surefoot.robust.streaming.partitioned_rows`. Here they are arrays in memory
(:class:`TableRows`).
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np

from surefoot import _native
from surefoot.core.arrays import FloatArray
from surefoot.robust.problem.coefficient_bounds import BoundingRows, CoefficientBounds, LabelSums, label_sums
from surefoot.robust.problem.numeric_columns import is_sparse
from surefoot.robust.problem.row_batch import PosedRows
from surefoot.robust.sqp.lifted_coordinates import LiftedCoordinates, NativeColumns

# Below, a loss has lost digits or is 0.
SMALLEST_LOSS = 1e-300


class RowSums(LiftedCoordinates):
    """The oracle of the SQP loop."""

    n_rows: int
    n_threads: int

    @abstractmethod
    def value(self, x: FloatArray) -> float:
        """Weighted sum of the worst-case losses."""

    @abstractmethod
    def row_model(self, x: FloatArray, region: _native.ModelRegion, working_set: _native.WorkingSet) -> _native.RowModel:
        """Value, gradient, curvature and tied rows around a point; see cpp/include/surefoot/robust/row_model.hpp.

        The caller owns the answer and may change it.
        """

    @abstractmethod
    def plan_sums(self, plan: _native.Plan, x: FloatArray, with_curvature: bool) -> _native.PlanSums:
        """Conjugate, cost, gradient and curvature of a plan; see cpp/include/surefoot/robust/shift_plan.hpp."""

    @property
    def oracle(self) -> _native.RobustRows | _native.RowOracle:
        """What the native loop evaluates: rows that it holds itself, or this object."""
        return self

    @abstractmethod
    def worst_pieces(self, x: FloatArray, before: FloatArray) -> _native.WorkingSet:
        """The worst piece of every row whose worst piece is another one than at the point ``before``."""

    @property
    @abstractmethod
    def label_sums(self) -> LabelSums:
        """Weights and column sums of either label."""

    @property
    @abstractmethod
    def level_weights(self) -> FloatArray:
        """Fraction of the rows' weight at each level."""

    def objective(self, x: FloatArray) -> float:
        """lambda * radius + weighted mean of the worst-case losses."""
        return self.value(x) + self.terms.radius * float(x[self.price_slot])

    def coefficient_bounds(self, upper_bound: float) -> CoefficientBounds:
        """Bounds on every model at least as good."""
        return self._bounding.bounds(self.terms.radius, upper_bound)

    @cached_property
    def _bounding(self) -> BoundingRows:
        return BoundingRows.of(self.terms, self.label_sums)


class TableRows(RowSums):
    """Rows in memory."""

    def __init__(self, problem: PosedRows, n_threads: int) -> None:
        super().__init__(problem.terms)
        self.problem = problem
        self.n_threads = n_threads
        self.n_rows = problem.n_rows
        self.native = self._native_rows(_native_columns(problem), problem.codes, problem.labels, problem.weights)

    def __reduce__(self) -> tuple[type[TableRows], tuple[PosedRows, int]]:
        # The native rows only look at the arrays of the problem, and are made again from them.
        return TableRows, (self.problem, self.n_threads)

    def posed_as(self, problem: PosedRows, n_threads: int) -> TableRows:
        """These rows for a problem that has the same ones."""
        here, there = self.terms, problem.terms
        if n_threads != self.n_threads or there.cost is not here.cost or min(here.radius, there.radius) == 0:
            return TableRows(problem, n_threads)
        # Between two positive radii nothing else changes.
        posed = object.__new__(TableRows)
        posed.__dict__.update(self.__dict__, terms=there, problem=problem)
        return posed

    def value(self, x: FloatArray) -> float:
        return float(self.native.worst_case_sum(x, self.n_threads).loss)

    def row_model(self, x: FloatArray, region: _native.ModelRegion, working_set: _native.WorkingSet) -> _native.RowModel:
        return _native.build_row_model(self.native, x, region, working_set, n_threads=self.n_threads)

    def plan_sums(self, plan: _native.Plan, x: FloatArray, with_curvature: bool) -> _native.PlanSums:
        return _native.sum_plan(self.native, plan, x, with_curvature=with_curvature, n_threads=self.n_threads)

    @property
    def oracle(self) -> _native.RobustRows:
        return self.native

    def worst_pieces(self, x: FloatArray, before: FloatArray) -> _native.WorkingSet:
        return _native.worst_pieces(self.native, x, before, n_threads=self.n_threads)

    @cached_property
    def label_sums(self) -> LabelSums:
        return label_sums(self.problem, np.zeros(self.terms.n_numeric))

    @cached_property
    def level_weights(self) -> FloatArray:
        problem = self.problem
        parts = [
            np.bincount(problem.codes[:, l], weights=problem.weights, minlength=count)
            for l, count in enumerate(problem.n_levels)
        ]
        return np.concatenate([*parts, np.empty(0)])

    def plain_losses(self, x: FloatArray) -> FloatArray:
        """The loss of every row without a shift."""
        deterred = x.copy()
        deterred[self.price_slot] = self.PROHIBITIVE
        return self.native.worst_case_rows(deterred, self.n_threads).loss

    def deterring_price(self, x: FloatArray) -> float:
        """A price at which no shift of any row pays: the slope of softplus is below 1, so a gain is at most the move's own."""
        prices = [self.least_price(x)]
        cost = self.problem.cost
        if self.problem.n_categorical:
            with np.errstate(over="ignore"):  # infinite where a shift costs next to nothing
                prices.append(float(np.max((x[self.high_slots] - x[self.low_slots]) / cost.categorical_weights)))
        ranged = cost.ranged
        if ranged.any():
            prices.append(float(np.max(np.abs(x[self.numeric_slots][ranged]) / cost.numeric_weights[ranged])))
        if np.isfinite(cost.label_weight):
            prices.append(self._largest_margin(x) / cost.label_weight)
        # A hair above, so that rounding cannot let a shift pay that gains exactly its price.
        return max(prices) * (1.0 + 1e-12)

    def _largest_margin(self, x: FloatArray) -> float:
        """What a flip alone gains at most: softplus(v) - softplus(-v) = v at the margin v = y score."""
        loss = self.plain_losses(x)
        # The plain loss gives the margin away, -log(exp(loss) - 1), but where it is too small for a double to tell it.
        told = loss > SMALLEST_LOSS
        least = loss[told]
        # A small margin is the difference of two numbers near log 2, known to their rounding only.
        largest = float(np.max(-least - np.log(-np.expm1(-least)), initial=-np.inf)) + 1e-14
        if told.all():
            return largest
        problem, rows = self.problem, np.flatnonzero(~told)
        scores = np.asarray(problem.numeric[rows] @ x[self.numeric_slots]) + (x[0] if self.terms.fit_intercept else 0.0)
        starts = np.concatenate(([0], np.cumsum(problem.n_levels)))[:-1]
        scores += x[self.level_slots[starts + problem.codes[rows]]].sum(axis=1)
        return max(largest, float(np.max(problem.labels[rows] * scores)))


def _native_columns(problem: PosedRows) -> NativeColumns:
    """The numeric columns as the native rows take them."""
    numeric = problem.numeric
    if not is_sparse(numeric):
        return numeric
    return numeric.indptr.astype(np.int64), numeric.indices.astype(np.int32), numeric.data, problem.n_numeric
