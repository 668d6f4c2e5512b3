"""What a separation over all observations finds."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.core.arrays import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class WorstDecisions:
    """Worst decisions, one row per observation; searches of rows that are not ``solved`` were cut short."""

    points: FloatArray
    slopes: FloatArray
    distances: FloatArray
    values: FloatArray
    bounds: FloatArray
    solved: BoolArray
