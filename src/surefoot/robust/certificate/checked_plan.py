"""A shift plan that has been checked and repaired, and its entries block by block.

A plan (``ShiftPlan``) proves something only if it is one: masses of a row that sum to the row's share of the weight, slopes in
[0, 1], level mixes that are probabilities, no move that the ground cost forbids. Solvers come close to that in doubles. Repair:
masses, slopes and probabilities that stick out by rounding are clipped, then the masses of each row and the probabilities of
each feature are divided by their sum, as real numbers (enclosed). The result is exactly a plan, whatever the numbers were, and
what it proves is worked out from it alone; what the repair changed shows as a residual, which is paid for. What deviates by
more than ``DEVIATION`` is refused all the same: it is a plan for another problem. Rows of almost no weight need no masses, and
masses that doubles cannot tell from 0 do not count: the loss of such a row counts as 0, and it is at least that.

A feature that moved goes to a mix of levels, the same for all entries with the same final label. Each feature l has
n_levels[l] + 2 places: its levels, then "mixed to lowest", then "mixed to highest". A column with a range has three: where the
row has it, the low end, the high end, and with both moves the mirror image of the number: any place in a range may be gone to.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from surefoot.core.arrays import AnyArray, FloatArray, RowArray
from surefoot.core.enclosure import Enclosure, choose, enclose, join
from surefoot.exceptions import CertificateError
from surefoot.robust.certificate.posed_rows import Part, Setting, read_array

# Relative deviation of a sum, and size of a negative mass or probability, up to which a plan is repaired.
DEVIATION = 1e-9


class RefusedPlanError(CertificateError):
    """The plan proves nothing; the message says why."""


@dataclass(frozen=True)
class CheckedPlan:
    """The entries of positive mass of a valid plan; build it with :func:`check_plan`.

    Per entry: row, mass, slope, final label s, place of each feature and of each column with a range, ground cost. ``mixes``
    are "lowest" and "highest", not yet divided by the sums of each feature.
    """

    part: Part
    row: RowArray
    mass: Enclosure
    slope: FloatArray
    sign: FloatArray
    places: RowArray
    ends: RowArray
    price: Enclosure
    mixes: list[FloatArray]

    def dense(self, entries: RowArray) -> AnyArray:
        """The numeric columns of some entries: where they moved to, not centred."""
        numeric = self.part.dense(self.row[entries])
        return moved_columns(self.part.setting, numeric, self.ends[entries]) if self.ends.size else numeric

    def columns(self, entries: RowArray) -> Any:
        """The same minus the centre: an enclosure, or sparse and exact."""
        return self.part.centred(self.dense(entries)) if self.ends.size else self.part.columns(self.row[entries])

    def mixed(self, feature: int) -> Enclosure:
        """The level vectors of the places "mixed to lowest" and "mixed to highest" of the feature, (2, n_levels)."""
        own = self.part.setting.features == feature
        return join([(enclose(mix[own]) / enclose(mix[own]).sum())[None, :] for mix in self.mixes])

    def level_vectors(self, feature: int, entries: RowArray) -> Enclosure:
        """The level vectors of the feature in some entries: one level, or a mix, (n_entries, n_levels)."""
        place, count = self.places[entries, feature][:, None], self.part.setting.n_levels[feature]
        return choose(place < count, place == np.arange(count), self.mixed(feature)[np.maximum(place[:, 0] - count, 0)])

    def place_values(self, feature: int, values: FloatArray) -> list[Fraction]:
        """What values of the levels are at the places of the feature, exactly."""
        own = self.part.setting.features == feature
        levels, *mixes = (list(map(Fraction, part[own].tolist())) for part in (values, *self.mixes))
        return levels + [sum((p * v for p, v in zip(mix, levels, strict=True)), Fraction(0)) / sum(mix) for mix in mixes]


def moved_columns(setting: Setting, numeric: AnyArray, ends: RowArray) -> AnyArray:
    """Rows of numeric columns, those with a range where ``ends`` says: 0 where they are, 1 low, 2 high, 3 mirrored."""
    moved, columns, (low, high) = numeric.copy(), setting.ranged, setting.ranges[:, 1:3].T
    own = numeric[:, columns]
    places = np.where(ends == 1, low, np.where(ends == 2, high, np.clip(low - own + high, low, high)))
    moved[:, columns] = np.where(ends == 0, own, places)
    return moved


def check_plan(part: Part, plan: Any) -> CheckedPlan:
    """The plan, repaired; raises ``CertificateError`` for wrong shapes, and ``RefusedPlanError`` for what is no plan."""
    if plan is None:
        raise RefusedPlanError("there is no plan to prove a better bound")
    setting, n_rows, n_entries, n_levels = part.setting, part.labels.size, np.size(plan.row), part.setting.features.size

    def read(name: str, kinds: str, *shape: int) -> Any:
        return read_array(f"plan.{name}", getattr(plan, name), kinds, shape)

    row, flipped = read("row", "iu", n_entries).astype(np.int64), read("flipped", "b", n_entries)
    given, slope = read("mass", "f", n_entries), read("slope", "f", n_entries)
    moves = read("moved", "b", n_entries, setting.delta.size + 2 * len(setting.ranges))
    mixes = [read("lowest", "f", n_levels), read("highest", "f", n_levels)]

    def refuse(wrong: Any, values: AnyArray, what: str) -> None:
        rows = f"rows {part.first_row} to {part.first_row + n_rows - 1}"
        for at in np.flatnonzero(wrong)[:1]:
            raise RefusedPlanError(f"the plan of {rows} is refused because {what} at position {at} is {values[at]}")

    refuse((row < 0) | (row >= n_rows), row, f"a row of the plan (there are {n_rows} rows)")
    allowed = DEVIATION * part.shares.mid + 1e-15 * part.shares.mid.max(initial=0.0)
    refuse(~(np.isfinite(given) & (given >= -allowed[row])), given, "a mass of the plan")
    totals = enclose(np.maximum(given, 0.0)).sums_by_place(row, n_rows)
    refuse(np.abs(totals.mid - part.shares.mid) > allowed, totals.mid, "the masses do not sum to the row's weight; the sum")
    full = (given > 0) & (totals.low > 0)[row]
    row, mass, slope, moves, flipped = row[full], enclose(given[full]), slope[full], moves[full], flipped[full]
    moved, ends = moves[:, : setting.delta.size], moves[:, setting.delta.size :: 2] + 2 * moves[:, setting.delta.size + 1 :: 2]
    refuse(~((slope >= -DEVIATION) & (slope <= 1 + DEVIATION)), slope, "a slope, which must lie between 0 and 1,")
    refuse(flipped & np.isinf(setting.kappa), row, "a label flips although label_weight is inf; its row")
    refuse((moved & np.isinf(setting.delta)).any(axis=1), row, "a feature moves although its weight is inf; its row")
    for mix in mixes:
        refuse(~(np.isfinite(mix) & (mix >= -DEVIATION)), mix, "the probability of a level")
        sums = np.bincount(setting.features, weights=mix, minlength=setting.n_levels.size)
        refuse(np.abs(sums - 1.0) > DEVIATION, sums, "the sum of the probabilities of a feature's levels")
    sign = np.where(flipped, -part.labels[row], part.labels[row])
    places = np.where(moved, setting.n_levels + (sign < 0)[:, None], part.codes[row])
    movable, kappa = np.isfinite(setting.delta), setting.kappa if np.isfinite(setting.kappa) else 0.0
    price = enclose(moved[:, movable] * setting.delta[movable]).sum(axis=1) + kappa * flipped
    if ends.size:
        own = part.dense(row)
        ways = enclose(moved_columns(setting, own, ends)[:, setting.ranged]) - own[:, setting.ranged]
        price = price + (abs(ways) * setting.ranges[:, 3]).sum(axis=1)
    mass, mixes = mass / totals[row] * part.shares[row], [np.maximum(mix, 0.0) for mix in mixes]
    return CheckedPlan(part, row, mass, slope.clip(0.0, 1.0), sign, places, ends, price, mixes)
