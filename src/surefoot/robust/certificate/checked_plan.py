"""A shift plan that has been checked and repaired, and its entries block by block.

A plan (``ShiftPlan``) proves something only if it is one: masses of a row that sum to the row's share of the weight, slopes in
[0, 1], level mixes that are probabilities, no move that the ground cost forbids. Solvers come close to that in doubles. Repair:
masses, slopes and probabilities that stick out by rounding are clipped, then the masses of each row and the probabilities of
each feature are divided by their sum, as real numbers (enclosed). The result is exactly a plan, whatever the numbers were, and
what it proves is worked out from it alone; whatever the repair changed shows as a residual, which is paid for. What deviates by
more than ``DEVIATION`` is refused all the same: it is a plan for another problem.

Places. A feature that moved goes to a mix of levels, the same for all entries with the same final label. Each feature l has
n_levels[l] + 2 places: its levels, then "mixed to lowest", then "mixed to highest". Sums are taken per place and folded onto
the levels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surefoot.core.arrays import AnyArray, BoolArray, FloatArray, RowArray
from surefoot.core.enclosure import Enclosure, choose, enclose, join
from surefoot.exceptions import CertificateError
from surefoot.robust.certificate.posed_rows import Frame, Part, Setting, blocks

# Relative deviation of a sum, and size of a negative mass or probability, up to which a plan is repaired.
DEVIATION = 1e-9


class RefusedPlanError(Exception):
    """The plan proves nothing; the message says why. Never leaves this folder."""


@dataclass(frozen=True)
class EntryBlock:
    """Some entries: mass, slope, final label s, centred numeric columns, place of each feature, ground cost of the shift."""

    mass: Enclosure
    slope: FloatArray
    sign: FloatArray
    numeric: Any
    places: RowArray
    price: Enclosure


@dataclass(frozen=True)
class CheckedPlan:
    """The entries of positive mass of a valid plan; build it with :func:`check_plan`."""

    part: Part
    frame: Frame
    row: RowArray
    moved: BoolArray
    flipped: BoolArray
    slope: FloatArray
    mass: Enclosure
    lowest: Enclosure
    highest: Enclosure

    def without_negligible_mass(self, fraction: float) -> CheckedPlan:
        """A plan that is as valid: mass below that fraction of its row stays with the row, such levels leave the mix."""
        negligible = self.mass.mid < fraction * (self.part.weights / self.frame.total.mid)[self.row]
        lowest, highest = (
            _normalised(self.frame.setting, choose(mix.mid < fraction, 0.0, mix)) for mix in (self.lowest, self.highest)
        )
        moved, flipped = self.moved & ~negligible[:, None], self.flipped & ~negligible
        return replace(self, moved=moved, flipped=flipped, lowest=lowest, highest=highest)

    def blocks(self) -> Iterator[EntryBlock]:
        """All entries, block by block."""
        part, setting = self.part, self.frame.setting
        movable = np.isfinite(setting.delta)
        for at in blocks(self.row.size):
            row, moved, flipped = self.row[at], self.moved[at], self.flipped[at]
            sign = np.where(flipped, -part.labels[row], part.labels[row])
            price = enclose(moved[:, movable] * setting.delta[movable]).sum(axis=1)
            yield EntryBlock(
                mass=self.mass[at],
                slope=self.slope[at],
                sign=sign,
                numeric=part.numeric_block(row, self.frame.centre),
                places=np.where(moved, setting.n_levels + (sign < 0)[:, None], part.codes[row]),
                price=price + np.where(flipped, setting.kappa, 0.0) if flipped.any() else price,
            )

    def place_matrix(self, feature: int) -> Enclosure:
        """One row per place of the feature: the level vector it stands for, (n_levels + 2, n_levels)."""
        start, stop = self.frame.setting.offsets[feature : feature + 2]
        return join([np.eye(stop - start), self.lowest[start:stop][None, :], self.highest[start:stop][None, :]])


def check_plan(part: Part, frame: Frame, plan: Any) -> CheckedPlan:
    """The plan, repaired.

    Raises
    ------
    CertificateError
        If the arrays do not have the shapes of a plan for these rows.
    RefusedPlanError
        If they do, but hold something that is not a plan.
    """
    setting = frame.setting
    _require_shapes(setting, plan)
    given = np.asarray(plan.mass, dtype=np.float64)
    row: RowArray = np.asarray(plan.row).astype(np.int64)
    _refuse_at((row < 0) | (row >= part.labels.size), row, f"a row of the plan (there are {part.labels.size} rows)")
    shares = enclose(part.weights) / frame.total
    allowed = DEVIATION * shares.mid + 1e-15 * shares.mid.max(initial=0.0)
    _refuse_at(~(np.isfinite(given) & (given >= -allowed[row])), given, "a mass of the plan")
    full = np.flatnonzero(given > 0)
    row, mass = row[full], enclose(given[full])
    moved, flipped = np.asarray(plan.moved)[full], np.asarray(plan.flipped)[full]
    slope: FloatArray = np.asarray(plan.slope, dtype=np.float64)[full]
    _refuse_at(~((slope >= -DEVIATION) & (slope <= 1 + DEVIATION)), slope, "a slope, which must lie between 0 and 1,")
    if np.isinf(setting.kappa):
        _refuse_at(flipped, row, "a label flips although label_weight is inf; its row")
    fixed = np.isinf(setting.delta)
    _refuse_at(np.asarray(moved[:, fixed].any(axis=1)), row, "a feature moves although its weight is inf; its row")
    totals = mass.sums_by_place(row, part.labels.size) if row.size else enclose(np.zeros(part.labels.size))
    deviates = (np.abs(totals.mid - shares.mid) > allowed) | ((totals.mid == 0) & (part.weights > 0))
    _refuse_at(deviates, totals.mid, "the masses do not sum to the row's weight; the sum")
    return CheckedPlan(
        part=part,
        frame=frame,
        row=row,
        moved=moved,
        flipped=flipped,
        slope=np.clip(slope, 0.0, 1.0),
        mass=mass / totals[row] * shares[row],
        lowest=_level_mix(setting, plan, "lowest"),
        highest=_level_mix(setting, plan, "highest"),
    )


def _require_shapes(setting: Setting, plan: Any) -> None:
    entries, total = np.shape(plan.row), int(setting.n_levels.sum())
    expected: dict[str, tuple[tuple[int, ...], str]] = {
        "row": (entries if len(entries) == 1 else (-1,), "iu"),
        "moved": ((*entries, setting.n_levels.size), "b"),
        "flipped": (entries, "b"),
        "mass": (entries, "f"),
        "slope": (entries, "f"),
        "lowest": ((total,), "f"),
        "highest": ((total,), "f"),
    }
    for name, (shape, kind) in expected.items():
        array = np.asarray(getattr(plan, name))
        if array.shape != shape or array.dtype.kind not in kind:
            raise CertificateError(
                f"plan.{name} is {array.dtype} of shape {array.shape}; shape {shape} belongs to a plan of {entries} entries "
                f"for {setting.n_levels.size} categorical columns with {total} levels in all."
            )


def _level_mix(setting: Setting, plan: Any, name: str) -> Enclosure:
    mix = np.asarray(getattr(plan, name), dtype=np.float64)
    _refuse_at(~(np.isfinite(mix) & (mix >= -DEVIATION)), mix, f"a probability in plan.{name}")
    sums = np.bincount(setting.features, weights=mix, minlength=setting.n_levels.size)
    _refuse_at(np.abs(sums - 1.0) > DEVIATION, sums, f"the sum over a feature's levels of plan.{name}")
    return _normalised(setting, enclose(np.maximum(mix, 0.0)))


def _normalised(setting: Setting, mix: Enclosure) -> Enclosure:
    """Numbers at or above 0, one per level, divided by their sum within each feature."""
    if setting.n_levels.size == 0:
        return mix
    return mix / mix.sums_by_place(setting.features, setting.n_levels.size)[setting.features]


def _refuse_at(wrong: AnyArray, values: AnyArray, what: str) -> None:
    at = np.flatnonzero(wrong)
    if at.size:
        raise RefusedPlanError(f"{what} at position {at[0]} is {values[at[0]]}")
