"""A shift plan that has been checked and repaired, and its entries block by block.

A plan (``ShiftPlan``) proves something only if it is one: masses of a row that sum to the row's share of the weight, slopes in
[0, 1], level mixes that are probabilities, no move that the ground cost forbids. Solvers come close to that in doubles. Repair:
masses, slopes and probabilities that stick out by rounding are clipped, then the masses of each row and the probabilities of
each feature are divided by their sum, as real numbers (enclosed). The result is exactly a plan, whatever the numbers were, and
what it proves is worked out from it alone; what the repair changed shows as a residual, which is paid for. What deviates by
more than ``DEVIATION`` is refused all the same: it is a plan for another problem. Rows of almost no weight need no masses, and
masses that doubles cannot tell from 0 do not count: the loss of such a row counts as 0, and it is at least that.

A feature that moved goes to a mix of levels, the same for all entries with the same final label. Each feature l has
n_levels[l] + 2 places: its levels, then "mixed to lowest", then "mixed to highest".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from surefoot.core.arrays import AnyArray, BoolArray, FloatArray, RowArray
from surefoot.core.enclosure import Enclosure, enclose, join
from surefoot.exceptions import CertificateError
from surefoot.robust.certificate.posed_rows import Frame, Part, Setting, blocks

# Relative deviation of a sum, and size of a negative mass or probability, up to which a plan is repaired.
DEVIATION = 1e-9
# Fields of a plan that are not doubles: integers and truth values.
KINDS = {"row": "iu", "flipped": "b", "moved": "b"}


class RefusedPlanError(CertificateError):
    """The plan proves nothing; the message says why."""


@dataclass(frozen=True)
class EntryBlock:
    """Some entries: row, mass, slope, final label s, centred numeric columns, place of each feature, ground cost."""

    row: RowArray
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
    lowest: FloatArray
    highest: FloatArray

    def blocks(self) -> Iterator[EntryBlock]:
        """All entries, block by block."""
        part, setting = self.part, self.frame.setting
        movable, kappa = np.isfinite(setting.delta), setting.kappa if np.isfinite(setting.kappa) else 0.0
        for at in blocks(self.row.size):
            row, moved, flipped = self.row[at], self.moved[at], self.flipped[at]
            sign = np.where(flipped, -part.labels[row], part.labels[row])
            places = np.where(moved, setting.n_levels + (sign < 0)[:, None], part.codes[row])
            price = enclose(moved[:, movable] * setting.delta[movable]).sum(axis=1) + kappa * flipped
            yield EntryBlock(row, self.mass[at], self.slope[at], sign, part.columns(row, self.frame.centre), places, price)

    def place_matrix(self, feature: int) -> Enclosure:
        """One row per place of the feature: the level vector it stands for, (n_levels + 2, n_levels)."""
        own = self.frame.setting.features == feature
        mixes = (enclose(mix[own]) for mix in (self.lowest, self.highest))
        return join([np.eye(int(own.sum())), *((mix / mix.sum())[None, :] for mix in mixes)])

    def place_values(self, feature: int, values: FloatArray) -> list[Fraction]:
        """What values of the levels are at the places of the feature, exactly."""
        own = self.frame.setting.features == feature
        levels, *mixes = (list(map(Fraction, part[own].tolist())) for part in (values, self.lowest, self.highest))
        return levels + [sum((p * v for p, v in zip(mix, levels, strict=True)), Fraction(0)) / sum(mix) for mix in mixes]


def check_plan(part: Part, frame: Frame, plan: Any) -> CheckedPlan:
    """The plan, repaired; raises ``CertificateError`` for wrong shapes, and ``RefusedPlanError`` for what is no plan."""
    setting, n_rows = frame.setting, part.labels.size
    _require_shapes(setting, plan)
    row, given = np.asarray(plan.row, dtype=np.int64), np.asarray(plan.mass, dtype=np.float64)
    _refuse_at((row < 0) | (row >= n_rows), row, f"a row of the plan (there are {n_rows} rows)")
    shares = enclose(part.weights) / frame.total
    allowed = DEVIATION * shares.mid + 1e-15 * shares.mid.max(initial=0.0)
    _refuse_at(~(np.isfinite(given) & (given >= -allowed[row])), given, "a mass of the plan")
    totals = enclose(np.maximum(given, 0.0)).sums_by_place(row, n_rows)
    _refuse_at(np.abs(totals.mid - shares.mid) > allowed, totals.mid, "the masses do not sum to the row's weight; the sum")
    full = (given > 0) & (totals.low > 0)[row]
    row, mass, slope = row[full], enclose(given[full]), np.asarray(plan.slope, dtype=np.float64)[full]
    moved, flipped = np.asarray(plan.moved)[full], np.asarray(plan.flipped)[full]
    _refuse_at(~((slope >= -DEVIATION) & (slope <= 1 + DEVIATION)), slope, "a slope, which must lie between 0 and 1,")
    _refuse_at(flipped & np.isinf(setting.kappa), row, "a label flips although label_weight is inf; its row")
    _refuse_at((moved & np.isinf(setting.delta)).any(axis=1), row, "a feature moves although its weight is inf; its row")
    mixes = (_level_mix(setting, name, np.asarray(getattr(plan, name))) for name in ("lowest", "highest"))
    return CheckedPlan(part, frame, row, moved, flipped, slope.clip(0.0, 1.0), mass / totals[row] * shares[row], *mixes)


def _require_shapes(setting: Setting, plan: Any) -> None:
    entries, levels, moved = (np.size(plan.row),), (setting.features.size,), (np.size(plan.row), setting.n_levels.size)
    for names, shape in (("row mass slope flipped", entries), ("moved", moved), ("lowest highest", levels)):
        for name in names.split():
            array = np.asarray(getattr(plan, name))
            if array.shape != shape or array.dtype.kind not in KINDS.get(name, "f"):
                kind = "whole numbers" if name == "row" else "truth values" if name in KINDS else "real numbers"
                raise CertificateError(
                    f"plan.{name} is {array.dtype} of shape {array.shape}; {kind} of shape {shape} belong there."
                )


def _level_mix(setting: Setting, name: str, mix: FloatArray) -> FloatArray:
    _refuse_at(~(np.isfinite(mix) & (mix >= -DEVIATION)), mix, f"a probability in plan.{name}")
    sums = np.bincount(setting.features, weights=mix, minlength=setting.n_levels.size)
    _refuse_at(np.abs(sums - 1.0) > DEVIATION, sums, f"the sum over a feature's levels of plan.{name}")
    return np.maximum(mix, 0.0)


def _refuse_at(wrong: Any, values: AnyArray, what: str) -> None:
    for at in np.flatnonzero(wrong)[:1]:
        raise RefusedPlanError(f"{what} at position {at} is {values[at]}")
