"""One column of a comparison, in numbers and in words."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from surefoot.shift.comparison.column_pairs import CategoricalPair, ColumnPair, NumericPair, shown_levels

# Levels of a column whose names are spelled out.
_MOST_NAMED = 3
# A level that has gone is named if so many rows of the second table should have had it; rarer ones go by chance.
_EXPECTED_ROWS = 5


@dataclass(frozen=True)
class ColumnLine:
    """What happened to a column.

    Attributes
    ----------
    name, kind : str
    change : str
        "mean 31.9 to 38.2", or the level whose share changed most.
    distance : float
        The least price of the change per row: exact, of all rows.
    by_chance : float
        What two samples of one population of this size reach in 95 of 100 cases.
    shift : float
        The distance without what chance adds to it.
    p_value : float
        For all columns together.
    shifted : bool
        Whether the change is beyond chance.
    joint_cost, joint_share : float
        What the column pays in the cheapest plan between samples of whole rows, and its share of the plan; 0 if not counted.
    joint_by_chance : float
        What it pays there if rows are exchanged at random.
    price : float
        Of a unit or a change of level.
    note : str
        New levels, gaps, and why a column is not counted.
    """

    name: str
    kind: str
    change: str
    distance: float
    by_chance: float
    shift: float
    p_value: float
    shifted: bool
    joint_cost: float
    joint_share: float
    joint_by_chance: float
    price: float
    note: str


def change_words(column: ColumnPair) -> str:
    """What changed most, from the first table to the second."""
    if isinstance(column, NumericPair):
        means = [column.mean(which) for which in (0, 1)]
        return "mean " + " to ".join("(no value)" if math.isnan(mean) else f"{mean:.4g}" for mean in means)
    before, after = column.shares(0), column.shares(1)
    most = int(np.argmax(np.abs(after - before)))
    return f"{_level(column, most)} {before[most]:.1%} to {after[most]:.1%}"


def notes(column: ColumnPair, *, label: bool) -> str:
    """What the user should know about a column beside its distance."""
    found = _number_notes(column) if isinstance(column, NumericPair) else _level_notes(column, label=label)
    if not column.counted:
        found.append("has no price here: not part of the radius" if label else "never shifts, says the model")
    return "; ".join(found)


def _number_notes(column: NumericPair) -> list[str]:
    missing = [float(gaps.mean()) for gaps in column.gaps]
    if missing[1] == 1 > missing[0] or missing[0] == 1 > missing[1]:
        return ["no value in " + ("the second table" if missing[1] == 1 else "the first table")]
    found = [f"missing {missing[0]:.1%} to {missing[1]:.1%}"] if max(missing) > 0 else []
    if column.outside > 0:
        found.append(f"beyond the range of the model in {column.outside:.1%} of the rows")
    return found


def _level_notes(column: CategoricalPair, *, label: bool) -> list[str]:
    before, after = column.shares(0), column.shares(1)
    found = []
    if column.levels[-1] is None and (after[-1] == 1 > before[-1] or before[-1] == 1 > after[-1]):
        return ["no value in " + ("the second table" if after[-1] == 1 else "the first table")]
    for what, here, there, fewest in (("new", after, before, 0.0), ("gone", before, after, _EXPECTED_ROWS)):
        least = fewest / column.codes[1].size
        levels = [at for at in range(len(column.levels)) if here[at] > 0 and there[at] == 0 and here[at] >= least]
        if levels:
            named = shown_levels([column.levels[at] for at in levels], _MOST_NAMED)
            found.append(f"{what}: {named} ({float(here[levels].sum()):.1%})")
    return found


def _level(column: CategoricalPair, at: int) -> str:
    level = column.levels[at]
    return "(missing)" if level is None else str(level)
