"""Lifted coordinates of a robust problem, and the constraints that all rows share.

Lifted coordinates (see cpp/include/surefoot/robust/mixed_table.hpp) put the lowest and the highest coefficient of every
categorical feature beside the coefficients themselves. A feature that moved contributes its envelope instead of its own level,
so every piece of the loss is smooth, and the constraints

    low_l <= beta_lc <= high_l        dual norm of (beta_j / gamma_j)_j <= lambda        lambda >= 0

are the same for all rows. A numeric column with a range is like a feature without envelopes: a row that moved has another entry
there, and the coefficient is not in the norm. Envelopes couple two coordinates each. The dual norm depends on the ground
cost's: for "l1" it is a maximum, two coordinates each again; for "l2" it is a second-order cone; for "linf" it is a sum, for
which the lifted vector holds a magnitude t_j >= |beta_j| per column and one constraint runs over all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from surefoot import _native
from surefoot.core.arrays import FloatArray, IntArray, RowArray
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.problem import RobustCoefficients
from surefoot.robust.problem.terms import Terms

# A dense matrix, or (start of each row's entries and the end, columns, values, number of columns) of a sparse one.
NativeColumns = FloatArray | tuple[RowArray, IntArray, FloatArray, int]


@dataclass(frozen=True)
class PairConstraints:
    """Rows ``first_coef * x[first] + second_coef * x[second] <= 0``."""

    first: IntArray
    first_coef: FloatArray
    second: IntArray
    second_coef: FloatArray


@dataclass(frozen=True)
class NormConstraint:
    """The constraint on the dual norm of the numeric coefficients; empty arrays where there is none.

    Attributes
    ----------
    sum_slot, sum_coef
        sum_k sum_coef_k x[sum_slot_k] <= 0.
    cone_slot, cone_scale
        || (cone_scale_k x[cone_slot_k])_k ||_2 <= x[price].
    """

    sum_slot: IntArray
    sum_coef: FloatArray
    cone_slot: IntArray
    cone_scale: FloatArray


class LiftedCoordinates:
    """Where each coefficient lives in the lifted vector, and the constraints on it that all rows share."""

    # A price at which no shift gains anything, small enough for its products to stay finite.
    PROHIBITIVE = 1e150

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        cost = terms.cost
        # Columns whose shifts have a price and no end; the others' coefficients are free.
        self.priced = np.flatnonzero(np.isfinite(cost.endless_weights)) if terms.radius > 0 else np.empty(0, np.intp)
        # Rows are needed for sums only; the layout and the prices of shifts are the same without them.
        self.layout = self._native_rows(
            np.empty((0, terms.n_numeric)), np.empty((0, terms.n_categorical), np.int32), np.empty(0), np.empty(0)
        )
        self.size: int = self.layout.size
        self.mask_words: int = self.layout.mask_words
        self.price_slot: int = self.layout.price_slot
        self.numeric_slots = slice(self.layout.first_numeric, self.layout.first_numeric + terms.n_numeric)
        self.level_slots: IntArray = self.layout.level_slots
        self.low_slots: IntArray = self.layout.low_slots
        self.high_slots: IntArray = self.layout.high_slots
        self.feature_of_level = np.repeat(np.arange(terms.n_categorical), terms.n_levels)
        self.movable = self.low_slots < self.size
        self.n_coefficients = self.numeric_slots.stop + int(np.count_nonzero(self.level_slots < self.size))
        self.magnitude_slots = slice(self.price_slot + 1, self.size)
        self.constraints = self._pair_constraints()
        self.norm_constraint = self._norm_constraint()
        self.space = self._native_space()

    def _native_rows(
        self, numeric: NativeColumns, codes: IntArray, labels: FloatArray, weights: FloatArray
    ) -> _native.RobustRows:
        cost = self.terms.cost
        return _native.RobustRows(
            numeric=numeric,
            codes=codes,
            labels=labels,
            weights=weights,
            n_levels=self.terms.n_levels,
            move_price=cost.categorical_weights,
            flip_price=cost.label_weight,
            fit_intercept=self.terms.fit_intercept,
            n_extra=self.priced.size if cost.numeric_norm == "linf" else 0,
            ranges=_range_lines(cost),
        )

    def _pair_constraints(self) -> PairConstraints:
        if self.terms.radius == 0:
            self.constrained_levels = np.empty(0, np.int64)
            return PairConstraints(np.empty(0, np.int32), np.empty(0), np.empty(0, np.int32), np.empty(0))
        levels = np.flatnonzero(self.movable[self.feature_of_level]) if self.terms.n_categorical else np.empty(0, np.int64)
        own, feature = self.level_slots[levels], self.feature_of_level[levels]
        one = np.ones(levels.size)
        cost = self.terms.cost
        column, limit = self.numeric_slots.start + self.priced, np.full(self.priced.size, self.price_slot)
        gamma = cost.numeric_weights[self.priced]
        small, large = np.minimum(1.0, 1.0 / gamma), -np.minimum(1.0, gamma)
        if cost.numeric_norm == "linf":
            limit, small, large = np.arange(self.size)[self.magnitude_slots], np.ones(limit.size), -np.ones(limit.size)
        elif cost.numeric_norm == "l2":
            column, limit, small, large = column[:0], limit[:0], small[:0], large[:0]
        first = np.concatenate((self.low_slots[feature], own, column, column, [self.price_slot]))
        first_coef = np.concatenate((one, one, small, -small, [-1.0]))
        second = np.concatenate((own, self.high_slots[feature], limit, limit, [self.size]))
        second_coef = np.concatenate((-one, -one, large, large, [0.0]))
        self.constrained_levels = levels
        return PairConstraints(first.astype(np.int32), first_coef, second.astype(np.int32), second_coef)

    def _norm_constraint(self) -> NormConstraint:
        cost = self.terms.cost
        slots, numbers = np.empty(0, np.int32), np.empty(0)
        total, cone = (slots, numbers), (slots, numbers)
        if self.priced.size and cost.numeric_norm == "linf":
            terms = np.append(np.arange(self.size)[self.magnitude_slots], self.price_slot)
            total = terms.astype(np.int32), np.append(1.0 / cost.numeric_weights[self.priced], -1.0)
        if self.priced.size and cost.numeric_norm == "l2":
            cone = (self.numeric_slots.start + self.priced).astype(np.int32), 1.0 / cost.numeric_weights[self.priced]
        return NormConstraint(*total, *cone)

    def _native_space(self) -> _native.LiftedSpace:
        pairs, norm, cost = self.constraints, self.norm_constraint, self.terms.cost
        return _native.LiftedSpace(
            self.layout,
            numeric_weights=cost.endless_weights,
            norm=cost.numeric_norm,
            priced=self.priced.astype(np.int32),
            constrained_levels=self.constrained_levels.astype(np.int32),
            first=pairs.first,
            first_coef=pairs.first_coef,
            second=pairs.second,
            second_coef=pairs.second_coef,
            sum_slot=norm.sum_slot,
            sum_coef=norm.sum_coef,
            cone_slot=norm.cone_slot,
            cone_scale=norm.cone_scale,
        )

    def lift(self, coefficients: RobustCoefficients) -> FloatArray:
        """The lifted vector of a model, envelopes tight."""
        x = np.zeros(self.size + 1)
        if self.terms.fit_intercept:
            x[0] = coefficients.intercept
        x[self.numeric_slots] = coefficients.numeric
        x[self.level_slots] = coefficients.levels
        x[self.price_slot] = coefficients.price
        x[self.size] = 0.0
        return self.tighten(x)

    def tighten(self, x: FloatArray) -> FloatArray:
        """Sets the envelopes to the extreme levels and the price to the least that numeric coefficients allow; in place."""
        self.space.tighten(x)
        return x

    def least_price(self, x: FloatArray) -> float:
        """The dual norm of (beta_j / gamma_j)_j."""
        return self.space.least_price(x)

    @cached_property
    def fully_priced(self) -> bool:
        """Whether every direction costs the model something, so that its coefficients are bounded a priori."""
        cost = self.terms.cost
        finite = not cost.immovable.any() and np.isfinite(cost.categorical_weights).all()
        return self.terms.radius > 0 and bool(finite)

    def unlift(self, x: FloatArray) -> RobustCoefficients:
        """The model behind a lifted vector."""
        return RobustCoefficients(
            intercept=float(x[0]) if self.terms.fit_intercept else 0.0,
            numeric=x[self.numeric_slots].copy(),
            levels=x[self.level_slots],
            price=float(x[self.price_slot]),
        )


def _range_lines(cost: GroundCost) -> FloatArray | None:
    """Column, low end, high end and price of each numeric column with a range, as the native rows take them."""
    if cost.numeric_ranges is None:
        return None
    ranged = np.flatnonzero(cost.ranged)
    return np.column_stack((ranged.astype(np.float64), cost.numeric_ranges[ranged], cost.numeric_weights[ranged]))
