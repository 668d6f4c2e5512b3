"""What a table says about the cuts of its columns: evidence interval by interval, and how far the cuts are from the best.

The weight of evidence of an interval is log((P_b / P) / (N_b / N)), with P_b of the P positive and N_b of the N negative
weight in it; (P_b / P - N_b / N) times it, summed over intervals, is the information value of the column.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.design.binarize.binary_column import BinaryColumn
from surefoot.design.binarize.cut_bound import cut_bound, cut_objective
from surefoot.design.binarize.cuts import Direction, spelled
from surefoot.design.binarize.table_binarizer import BinaryPlan, filled_numbers, numeric_columns
from surefoot.design.read.table import Table

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CutColumn:
    """A numeric column with thresholds: weights of positive and negative rows by value, and weights where it is missing."""

    feature: str
    at: int
    values: Floats
    positives: Floats
    negatives: Floats
    missing: tuple[float, float]
    thresholds: tuple[float, ...]


def cut_columns(plan: BinaryPlan, table: Table, positive: NDArray[np.bool_], weights: Floats) -> Iterator[CutColumn]:
    """The columns of a table that a plan cuts."""
    for at, found in numeric_columns(plan.schema, table, allow_missing=plan.missing != "error"):
        thresholds = tuple(float(own.value) for own in plan.outputs[at] if own.operator == ">=")  # type: ignore[arg-type]
        if not thresholds:
            continue
        own = filled_numbers(found, plan.fills[at]) if plan.missing == "typical" else found
        known, counts = ~np.isnan(own), weights > 0
        values, place = np.unique(own[known & counts], return_inverse=True)
        up, down = (
            np.bincount(place, (weights * rows)[known & counts], minlength=values.size) for rows in (positive, ~positive)
        )
        gaps = weights * ~known
        yield CutColumn(
            plan.schema.columns[at].name,
            at,
            values,
            up.astype(np.float64),
            down.astype(np.float64),
            (float(gaps[positive].sum()), float(gaps[~positive].sum())),
            thresholds,
        )


def evidence_rows(columns: Iterator[CutColumn]) -> dict[str, Any]:
    """Columns of a table with a row for every interval."""
    names = ("feature", "answer", "weight", "observed", "woe", "information")
    rows: list[tuple[str, str, float, float, float, float]] = []
    for column in columns:
        edges = np.searchsorted(column.values, column.thresholds)
        parts = [
            (_told(column.thresholds, k), float(up.sum()), float(down.sum()))
            for k, (up, down) in enumerate(
                zip(np.split(column.positives, edges), np.split(column.negatives, edges), strict=True)
            )
        ]
        if sum(column.missing) > 0:
            parts.append((BinaryColumn(column.feature, "missing").name.removeprefix(f"{column.feature} "), *column.missing))
        all_up, all_down = sum(up for _, up, _ in parts), sum(down for _, _, down in parts)
        for told, up, down in parts:
            share_up, share_down = up / all_up, down / all_down
            woe = math.log(share_up / share_down) if share_up > 0 and share_down > 0 else math.copysign(math.inf, up - down)
            woe = woe if up + down > 0 else math.nan
            observed = up / (up + down) if up + down > 0 else math.nan
            rows.append((column.feature, told, up + down, observed, woe, (share_up - share_down) * woe))
    return _columns(names, rows)


def gap_rows(
    columns: Iterator[CutColumn], most: Sequence[int], min_share: float, directions: Mapping[int, Direction]
) -> dict[str, Any]:
    """Columns of a table with a row for every column that is cut: what its cuts are worth, and what none is below."""
    names = ("feature", "n_cuts", "objective", "lower_bound", "gap")
    rows: list[tuple[str, int, float, float, float]] = []
    for column in columns:
        places = np.unique(np.searchsorted(column.values, column.thresholds))
        cuts = places[(places > 0) & (places < column.values.size)] - 1
        value = cut_objective(column.positives, column.negatives, cuts)
        bound = cut_bound(column.positives, column.negatives, most[column.at], min_share, directions.get(column.at))
        gap = math.nan if math.isinf(bound) else max(value / bound - 1.0, 0.0) if bound > 0 else math.inf
        rows.append((column.feature, int(cuts.size), value, bound, gap))
    return _columns(names, rows)


def _columns(names: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    """Columns by name from rows; numbers as arrays."""
    made = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    return {name: own if name in ("feature", "answer") else np.array(own) for name, own in made.items()}


def _told(thresholds: tuple[float, ...], k: int) -> str:
    if k == 0:
        return f"below {spelled(thresholds[0])}"
    if k == len(thresholds):
        return f"{spelled(thresholds[-1])} or more"
    return f"{spelled(thresholds[k - 1])} to below {spelled(thresholds[k])}"
