"""A shift plan that has been checked, and its entries block by block.

A plan proves something only if it is a plan: masses of a row that sum to the row's weight, slopes in [0, 1], level mixes
that are probabilities, no move that the ground cost forbids. Sums that deviate by rounding (a relative 1e-9) are rescaled,
which gives another plan that is exactly valid; anything further away is refused, because the bound would be about
a different problem.

Places
------
A feature that moved goes to a mix of levels, the same for all entries with the same final label. Each feature l therefore has
n_levels[l] + 2 places: its levels, then "mixed to lowest", then "mixed to highest". Sums over entries are taken per place
and then folded onto the levels, so no one-hot row is ever formed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from surefoot.core.arrays import AnyArray, BoolArray, FloatArray, NumericArray, RowArray
from surefoot.core.row_blocks import row_blocks
from surefoot.exceptions import CertificateError
from surefoot.robust.problem.problem import ShiftPlan
from surefoot.robust.problem.row_batch import PosedRows

# Largest relative deviation of a sum of masses, or of probabilities, that counts as rounding; beyond it, it is another plan.
SUM_TOLERANCE = 1e-9


class RefusedPlanError(Exception):
    """The plan proves nothing; the message says why. Never leaves this folder."""


@dataclass(frozen=True)
class EntryBlock:
    """Some entries of a plan.

    Attributes
    ----------
    mass, slope : ndarray of shape (k,)
    sign : ndarray of shape (k,)
        Final label s, after the flip if there is one.
    numeric : ndarray or sparse array of shape (k, n_numeric)
        Numeric columns of the entry's row minus ``centre``; sparse if the problem's are.
    places : ndarray of shape (k, n_categorical)
        Place of each feature: its own code, or n_levels[l] (moved to lowest), or n_levels[l] + 1 (moved to highest).
    price : ndarray of shape (k,)
        Ground cost of the entry's categorical moves and of its flip.
    """

    mass: FloatArray
    slope: FloatArray
    sign: FloatArray
    numeric: NumericArray
    places: RowArray
    price: FloatArray


@dataclass(frozen=True)
class CheckedPlan:
    """The entries of positive mass of a valid plan; build it with :func:`check_plan`."""

    problem: PosedRows
    row: RowArray
    moved: BoolArray
    flipped: BoolArray
    mass: FloatArray
    slope: FloatArray
    lowest: FloatArray
    highest: FloatArray

    @property
    def n_entries(self) -> int:
        return int(self.row.shape[0])

    def without_negligible_mass(self, fraction: float) -> CheckedPlan:
        """A plan that is as valid and no dearer, without moves of negligible mass.

        Mass below that fraction of its row's weight stays with the row, and levels below that fraction of a mix leave the mix.
        """
        negligible = self.mass < fraction * self.problem.weights[self.row]
        return replace(
            self,
            moved=self.moved & ~negligible[:, None],
            flipped=self.flipped & ~negligible,
            lowest=_rescaled(self.problem, np.where(self.lowest < fraction, 0.0, self.lowest)),
            highest=_rescaled(self.problem, np.where(self.highest < fraction, 0.0, self.highest)),
        )

    def blocks(self, centre: FloatArray) -> Iterator[EntryBlock]:
        """All entries in blocks, numeric columns shifted by ``centre``, which must be 0 for sparse columns."""
        problem = self.problem
        if problem.is_sparse and centre.any():
            raise CertificateError("sparse numeric columns cannot be centred; their centre is 0.")
        kappa = problem.cost.label_weight
        delta = problem.cost.categorical_weights
        movable = np.isfinite(delta)
        for part in row_blocks(self.n_entries):
            row, moved, flipped = self.row[part], self.moved[part], self.flipped[part]
            sign = np.where(flipped, -problem.labels[row], problem.labels[row])
            mixed = problem.n_levels[None, :].astype(np.int64) + (sign < 0)[:, None]
            price = moved[:, movable] @ delta[movable]
            if np.isfinite(kappa):
                price = price + kappa * flipped
            yield EntryBlock(
                mass=self.mass[part],
                slope=self.slope[part],
                sign=sign,
                numeric=problem.numeric[row] if problem.is_sparse else problem.numeric[row] - centre,
                places=np.where(moved, mixed, problem.codes[row]),
                price=price,
            )

    def place_matrix(self, feature: int) -> FloatArray:
        """One row per place of the feature: the level vector it stands for, (n_levels + 2, n_levels)."""
        start, stop = self.problem.level_offsets[feature : feature + 2]
        return np.vstack((np.eye(stop - start), self.lowest[start:stop], self.highest[start:stop]))

    def fold(self, feature: int, place_sums: FloatArray) -> FloatArray:
        """Sums per place of one feature, distributed over its levels."""
        start, stop = self.problem.level_offsets[feature : feature + 2]
        folded: FloatArray = (
            place_sums[:-2] + place_sums[-2] * self.lowest[start:stop] + place_sums[-1] * self.highest[start:stop]
        )
        return folded


def _require_shapes(problem: PosedRows, plan: ShiftPlan) -> None:
    entries = np.shape(plan.row)
    total = int(problem.level_offsets[-1])
    expected = {
        "row": entries if len(entries) == 1 else (-1,),
        "moved": (*entries, problem.n_categorical),
        "flipped": entries,
        "mass": entries,
        "slope": entries,
        "lowest": (total,),
        "highest": (total,),
    }
    kinds = {"row": "iu", "moved": "b", "flipped": "b"}
    for name, shape in expected.items():
        array = np.asarray(getattr(plan, name))
        if array.shape != shape:
            raise CertificateError(
                f"plan.{name} has shape {array.shape}, but {shape} belongs to a plan of {entries} entries for "
                f"{problem.n_categorical} categorical columns with {total} levels in all."
            )
        if array.dtype.kind not in kinds.get(name, "f"):
            raise CertificateError(f"plan.{name} has dtype {array.dtype}, which is not what a plan holds.")


def _refuse_at(wrong: AnyArray, values: AnyArray, what: str) -> None:
    at = np.flatnonzero(wrong)
    if at.size:
        raise RefusedPlanError(f"{what} at position {at[0]} is {values[at[0]]}")


def _rescaled(problem: PosedRows, mix: FloatArray) -> FloatArray:
    """Non-negative numbers per level, scaled to sum to 1 within each feature."""
    if problem.n_categorical == 0:
        return mix
    rescaled: FloatArray = mix / np.repeat(np.add.reduceat(mix, problem.level_offsets[:-1]), problem.n_levels)
    return rescaled


def _level_mix(problem: PosedRows, name: str, mix: FloatArray) -> FloatArray:
    if problem.n_categorical == 0:
        return mix
    _refuse_at(~(np.isfinite(mix) & (mix >= 0)), mix, f"a probability in plan.{name}")
    totals = np.add.reduceat(mix, problem.level_offsets[:-1])
    _refuse_at(~(np.abs(totals - 1.0) <= SUM_TOLERANCE), totals, f"the sum over a feature's levels of plan.{name}")
    return _rescaled(problem, mix)


def check_plan(problem: PosedRows, plan: ShiftPlan) -> CheckedPlan:
    """The plan without its empty entries and with sums that are right to the last digit.

    Raises
    ------
    CertificateError
        If the arrays do not have the shapes of a plan for this problem.
    RefusedPlanError
        If they do, but hold something that is not a plan.
    """
    _require_shapes(problem, plan)
    mass = np.asarray(plan.mass, dtype=np.float64)
    _refuse_at(~(np.isfinite(mass) & (mass >= 0)), mass, "a mass of the plan")
    # Most plans have no empty entries; a slice then takes all of them without a copy.
    full = slice(None) if (mass > 0).all() else np.flatnonzero(mass > 0)
    mass = mass[full]
    row: RowArray = np.asarray(plan.row)[full].astype(np.int64, copy=False)
    moved: BoolArray = np.asarray(plan.moved)[full]
    flipped: BoolArray = np.asarray(plan.flipped)[full]
    slope: FloatArray = np.asarray(plan.slope)[full].astype(np.float64, copy=False)
    _refuse_at((row < 0) | (row >= problem.n_rows), row, f"a row of the plan (the problem has {problem.n_rows} rows)")
    _refuse_at(~((slope >= 0) & (slope <= 1)), slope, "a slope of the plan, which must lie between 0 and 1,")
    if not np.isfinite(problem.cost.label_weight):
        _refuse_at(flipped, row, "a label flips although label_weight is inf; its row")
    fixed = ~np.isfinite(problem.cost.categorical_weights)
    if fixed.any():
        _refuse_at(np.asarray(moved[:, fixed].any(axis=1)), row, "a feature moves although its weight is inf; its row")
    totals = np.bincount(row, weights=mass, minlength=problem.n_rows)
    deviates = np.abs(totals - problem.weights) > SUM_TOLERANCE * problem.weights
    _refuse_at(deviates, totals, "the masses do not sum to the row's weight; the sum")
    scale = np.divide(problem.weights, totals, out=np.zeros(problem.n_rows), where=totals > 0)
    return CheckedPlan(
        problem=problem,
        row=row,
        moved=moved,
        flipped=flipped,
        mass=mass * scale[row],
        slope=slope,
        lowest=_level_mix(problem, "lowest", np.asarray(plan.lowest, dtype=np.float64)),
        highest=_level_mix(problem, "highest", np.asarray(plan.highest, dtype=np.float64)),
    )
