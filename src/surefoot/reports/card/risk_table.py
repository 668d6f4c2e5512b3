"""From total points to risk: which totals a card can reach, and how many rows they make on paper.

The risk of a total t is 1 / (1 + exp(-(intercept + t) / multiplier)); it grows with t.

Which totals can occur
----------------------
Lines of one feature exclude each other: of thresholds "age >= 65", "age >= 75" only 0, the first, or both hold; of levels of a
category at most one; a missing value meets neither. Where the meaning of the lines is known, these are counted, otherwise every
subset of binary lines. Totals of different features add up freely.

Few totals make one row each. Many totals, or real-valued columns, are grouped: rows of equal width, and one row at either end
where the risk is within ``TAIL`` of 0 or 1. A grouped row states the totals and the risks at its two ends, so whatever a
person's total is, the risk lies between the two numbers of its row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import expit

from surefoot.reports.card.card_line import CardLine

# Rows that fit on one page next to the points.
MOST_ROWS = 24
TAIL = 0.005
# Sets of totals beyond this are treated as if all whole totals between the smallest and the largest occurred.
_MOST_TOTALS = 10_000


@dataclass(frozen=True)
class RiskRow:
    """Totals from ``low`` to ``high`` and the risks at these ends; -inf and inf where the row has no end."""

    low: float
    high: float
    low_risk: float
    high_risk: float


@dataclass(frozen=True)
class RiskTable:
    """Rows by ascending total.

    Attributes
    ----------
    rows : tuple of RiskRow
    exact : bool
        Whether every total that can occur has a row of its own; otherwise the rows are groups.
    whole : bool
        Whether all totals are whole numbers; otherwise a group ends just below its upper number.
    """

    rows: tuple[RiskRow, ...]
    exact: bool
    whole: bool


def risk_of(total: float, intercept: int, multiplier: float) -> float:
    """Risk of a total, in the arithmetic of ``predict_proba``."""
    return float(expit((intercept + np.float64(total)) / multiplier))


def reachable_totals(lines: Sequence[CardLine]) -> list[int] | None:
    """All totals that can occur, ascending; None if they are not whole numbers, not bounded, or too many to list."""
    totals = {0}
    for options in _options(lines):
        if options is None:
            return None
        totals = {total + option for total in totals for option in options}
        if len(totals) > _MOST_TOTALS:
            return None
    return sorted(totals)


def _options(lines: Sequence[CardLine]) -> Iterable[set[int] | None]:
    """What the lines of each feature can add."""
    by_feature: dict[str, list[CardLine]] = {}
    for line in lines:
        if line.meaning is not None:
            by_feature.setdefault(line.meaning.feature, []).append(line)
        elif line.kind == "binary":
            yield {0, line.points}
        elif line.kind == "integer" and line.lowest is not None and line.highest is not None:
            low, high = math.ceil(line.lowest), math.floor(line.highest)
            yield {line.points * value for value in range(low, high + 1)} if high - low <= _MOST_TOTALS else None
        else:
            yield None
    for own in by_feature.values():
        yield _feature_options(own)


def _feature_options(lines: list[CardLine]) -> set[int]:
    thresholds = [line for line in lines if line.meaning is not None and line.meaning.operator == ">="]
    others = [line.points for line in lines if line not in thresholds]
    ascending = sorted(thresholds, key=lambda line: float(line.meaning.value))  # type: ignore[union-attr, arg-type]
    return {0, *others, *np.cumsum([line.points for line in ascending], dtype=int).tolist()}


def risk_table(lines: Sequence[CardLine], intercept: int, multiplier: float, most_rows: int = MOST_ROWS) -> RiskTable:
    """The table of a card; see the module docstring."""

    def risk(total: float) -> float:
        return risk_of(total, intercept, multiplier)

    totals = reachable_totals(lines)
    if totals is not None and len(totals) <= most_rows:
        return RiskTable(tuple(RiskRow(t, t, risk(t), risk(t)) for t in totals), exact=True, whole=True)
    whole = all(line.kind != "real" for line in lines)
    low, high = (float(totals[0]), float(totals[-1])) if totals is not None else _range(lines)
    # Outside of these the risk is within TAIL of 0 or 1.
    reach = math.log(1 / TAIL - 1) * multiplier
    inner_low, inner_high = max(low, math.floor(-reach - intercept)), min(high, math.ceil(reach - intercept))
    if inner_low >= inner_high:  # the card never leaves a tail
        inner_low, inner_high = (low, high) if math.isfinite(high - low) else (inner_high, inner_low)
    width = _width((inner_high - inner_low) / (most_rows - 4))
    edges = [edge * width for edge in range(math.floor(inner_low / width), math.ceil(inner_high / width) + 1)]
    bounds = [low, *(edge for edge in edges if low < edge < high), high]
    ends: list[tuple[float, float]]
    if totals is not None:
        parts = np.split(np.array(totals), np.searchsorted(totals, bounds[1:-1]))
        ends = [(int(part[0]), int(part[-1])) for part in parts if part.size]
    else:
        step = 1 if whole else 0
        last = len(bounds) - 2
        ends = [(a, b - step if at < last else b) for at, (a, b) in enumerate(pairwise(bounds))]
    return RiskTable(tuple(RiskRow(a, b, risk(a), risk(b)) for a, b in ends), exact=False, whole=whole)


def _range(lines: Sequence[CardLine]) -> tuple[float, float]:
    """Smallest and largest total that the known ranges of the columns allow."""
    low = high = 0.0
    by_feature: dict[str, list[CardLine]] = {}
    for line in lines:
        if line.meaning is not None:
            by_feature.setdefault(line.meaning.feature, []).append(line)
            continue
        ends = (0.0, 1.0) if line.kind == "binary" else (line.lowest, line.highest)
        if ends[0] is None or ends[1] is None:
            return -math.inf, math.inf
        reached = sorted((line.points * ends[0], line.points * ends[1]))
        low, high = low + reached[0], high + reached[1]
    for own in by_feature.values():
        options = _feature_options(own)
        low, high = low + min(options), high + max(options)
    return low, high


def _width(least: float) -> int:
    """The smallest of 1, 2, 5, 10, 20, 50, ... at or above a number."""
    unit: int = 10 ** max(0, math.floor(math.log10(max(least, 1.0))))
    return next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= least)
