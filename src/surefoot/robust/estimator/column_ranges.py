"""Ranges of numeric columns by name, as the ends that a ground cost needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray, NumericArray
from surefoot.design.encode.numeric_range import is_observed, range_of
from surefoot.design.encode.schema import Schema, column_position
from surefoot.exceptions import InvalidTableError
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.numeric_columns import is_sparse
from surefoot.sklearn_api.training_rows import TrainingRows

# From so many times the spread of the rows on, ends of a range are too far for doubles: at 1e10 spreads a fit is still proven.
FAR_RANGE = 1e9
# Smallest and largest number of each numeric column.
Observed = tuple[FloatArray, FloatArray]


def observed_numbers(numeric: NumericArray) -> Observed:
    """The smallest and the largest number of each column."""
    if is_sparse(numeric):
        raise InvalidTableError(
            "numeric_range needs a dense table: the columns of a sparse one have no ranges. Pass X.toarray(), or leave "
            "numeric_range out."
        )
    return numeric.min(axis=0), numeric.max(axis=0)


def with_ranges(
    cost: GroundCost, given: Any, schema: Schema, observed: Observed, rows: TrainingRows | None = None
) -> GroundCost:
    """The same prices within ranges.

    Parameters
    ----------
    cost : GroundCost
    given : str or mapping of columns to ranges
        Checked already, see :mod:`surefoot.design.encode.numeric_range`.
    schema : Schema
    observed : pair of ndarrays of shape (n_numeric,)
        The smallest and the largest number of each column, for ranges that depend on it.
    rows : TrainingRows, optional
        They tell in messages where a number outside its range stands.

    Raises
    ------
    InvalidTableError
        If a row holds a number outside its range.
    """
    ends = np.array([range_of(spec, *seen) for spec, *seen in zip(specs(given, schema), *observed, strict=True)]).reshape(-1, 2)
    _require_within(ends, schema, observed, rows)
    return replace(cost, numeric_ranges=ends)


def specs(given: Any, schema: Schema) -> list[Any]:
    """The range of each numeric column as the user said it."""
    if not isinstance(given, Mapping):
        return [given] * len(schema.numeric_positions)
    found = dict.fromkeys(schema.numeric_positions)
    for column, spec in given.items():
        position = column_position(column, schema.names, schema.named, "numeric_range")
        if position not in found:
            raise ValueError(
                f"numeric_range names {schema.label(position)}, which is categorical: its levels are its range. Leave it out, "
                "or list it as a number with categorical_features."
            )
        found[position] = spec
    return list(found.values())


def unknown_ranges(given: Any, schema: Schema) -> FloatArray:
    """The ends that parameters say, NaN where they depend on rows that are not at hand."""
    said = specs(given, schema)
    return np.array([(np.nan, np.nan) if is_observed(spec) else range_of(spec, np.nan, np.nan) for spec in said]).reshape(-1, 2)


def widened(cost: GroundCost, numeric: NumericArray) -> GroundCost:
    """The same prices within ranges that hold these rows as well: another table may have numbers that the first had not."""
    if cost.numeric_ranges is None:
        return cost
    low, high = observed_numbers(numeric)
    ends = np.column_stack((np.minimum(cost.numeric_ranges[:, 0], low), np.maximum(cost.numeric_ranges[:, 1], high)))
    # A range without width is a column that never shifts, whatever it holds.
    flat = cost.numeric_ranges[:, 0] == cost.numeric_ranges[:, 1]
    weights = np.where(flat, np.inf, cost.numeric_weights)
    return replace(cost, numeric_weights=weights, numeric_ranges=ends)


def far_ranges(cost: GroundCost, schema: Schema, numeric: NumericArray | None) -> str:
    """What to do about a fit that failed because ranges end beyond all that doubles can weigh; nothing if none does.

    Parameters
    ----------
    cost : GroundCost
    schema : Schema
    numeric : matrix of shape (n_rows, n_numeric), or None
        The rows; without them the price of a column stands for its spread.
    """
    if cost.numeric_ranges is None:
        return ""
    if numeric is None or is_sparse(numeric):
        with np.errstate(divide="ignore"):
            sizes = np.where(np.isfinite(cost.numeric_weights) & (cost.numeric_weights > 0), 1.0 / cost.numeric_weights, np.inf)
    else:
        sizes = np.ptp(numeric, axis=0)
    ends = cost.numeric_ranges
    # Ends on either side of a wide range may be further apart than the largest double.
    reach = np.where(np.isfinite(ends).all(axis=1), np.abs(ends).max(axis=1, initial=0.0), 0.0)
    at = np.flatnonzero((reach > FAR_RANGE * sizes) & (sizes > 0))
    if not at.size:
        return ""
    told = ", ".join(f"{schema.label(schema.numeric_positions[k])} ({ends[k, 0]:g} to {ends[k, 1]:g})" for k in at[:5].tolist())
    return (
        f"A reason is numeric_range of {told}: an end so far off is reached by so small a share of a row that doubles cannot "
        "weigh it. Leave out the range, which is nearly the same, or say one that the column could reach."
    )


def _require_within(ends: FloatArray, schema: Schema, observed: Observed, rows: TrainingRows | None) -> None:
    low, high = observed
    for at in np.flatnonzero((low < ends[:, 0]) | (high > ends[:, 1]))[:1]:
        value, where = float(low[at] if low[at] < ends[at, 0] else high[at]), "the training rows hold"
        if rows is not None:
            where = f"row {int(rows.positions[np.flatnonzero(rows.design.numeric[:, at] == value)[0]])} holds"
        raise InvalidTableError(
            f"numeric_range of {schema.label(schema.numeric_positions[at])} is from {ends[at, 0]:g} to {ends[at, 1]:g}, but "
            f"{where} {value:g}. Widen the range, or correct the number."
        )
