"""What users say about weights, as the arrays a problem needs.

Two kinds of weights. Those of rows (``sample_weight``) say how often a row counts. Those of columns are prices: what it costs
the adversary to shift a column, gamma per unit for numbers and delta per change for categories.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from surefoot.design.mixed_design import MixedDesign
from surefoot.design.schema import Kind, Schema
from surefoot.exceptions import InvalidTableError
from surefoot.problems.arrays import FloatArray
from surefoot.problems.ground_cost import GroundCost

_OTHER_KIND: dict[Kind, Kind] = {"numeric": "categorical", "categorical": "numeric"}


def row_weights(sample_weight: Any, n_rows: int) -> FloatArray:
    """Weights of the rows, summing to 1.

    Parameters
    ----------
    sample_weight : None, number, or array-like of shape (n_rows,)
        None and a positive number weigh all rows equally.
    n_rows : int
    """
    if sample_weight is None or isinstance(sample_weight, numbers.Real):
        weights = np.full(n_rows, 1.0 if sample_weight is None else float(sample_weight))
    else:
        weights = np.asarray(sample_weight, dtype=np.float64)
        if weights.ndim != 1:
            raise InvalidTableError(f"Sample weights must be 1D array or scalar, got an array of shape {weights.shape}.")
        if weights.size != n_rows:
            raise InvalidTableError(f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}: one weight per row.")
    wrong = np.flatnonzero(~np.isfinite(weights))
    if wrong.size:
        raise InvalidTableError(
            f"Input sample_weight contains NaN or infinity: row {wrong[0]} has weight {weights[wrong[0]]}. "
            "Use 0 to leave a row out."
        )
    wrong = np.flatnonzero(weights < 0)
    if wrong.size:
        raise InvalidTableError(
            f"Negative values in data passed to `sample_weight`: row {wrong[0]} has weight {weights[wrong[0]]}. "
            "Use 0 to leave a row out."
        )
    largest = weights.max(initial=0.0)
    if not largest > 0:
        raise InvalidTableError("Sample weights must contain at least one non-zero number, but all rows have weight 0.")
    # Divided twice, because the sum of huge weights would overflow.
    scaled = weights / largest
    normalized: FloatArray = scaled / scaled.sum()
    return normalized


def ground_cost(design: MixedDesign, weights: FloatArray, *, numeric: Any, categorical: Any, label: float) -> GroundCost:
    """The price of moving a row, from whatever the user said about the columns.

    Parameters
    ----------
    design : MixedDesign
        The training rows.
    weights : ndarray of shape (n_rows,)
        Row weights, for the standard deviations behind the default.
    numeric : None, number, array-like of shape (n_numeric,), or mapping of columns to numbers
        None, and columns a mapping does not name: 1 / standard deviation, 1 for a constant column.
    categorical : None, number, array-like of shape (n_categorical,), or mapping of columns to numbers
        None, and columns a mapping does not name: 1.
    label : float
    """
    return GroundCost(
        numeric_weights=_column_weights("numeric", numeric, design.schema, _unit_free(design.numeric, weights)),
        categorical_weights=_column_weights("categorical", categorical, design.schema, np.ones(design.n_categorical)),
        label_weight=label,
    )


def _unit_free(numeric: FloatArray, weights: FloatArray) -> FloatArray:
    """1 / standard deviation of each column; 1 where it is constant."""
    if numeric.shape[1] == 0:
        return np.ones(0)
    lowest, highest = numeric.min(axis=0), numeric.max(axis=0)
    # Half ranges, because the full range of a column of +-1e308 would overflow.
    reach = highest / 2 - lowest / 2
    constant = reach == 0
    reach[constant] = 1.0
    # In units of the half range nothing over- or underflows, and a mean far from 0 takes no digits from the spread.
    standard = (numeric / 2 - lowest / 2) / reach
    spread = np.sqrt(weights @ np.square(standard - weights @ standard))
    # A column may also be constant but for rows whose weight is beyond the precision of the others.
    constant |= spread == 0
    spread[constant] = 1.0
    with np.errstate(over="ignore"):
        inverse = 1.0 / spread / reach / 2
    return np.where(constant, 1.0, np.minimum(inverse, np.finfo(np.float64).max))


def _column_weights(kind: Kind, given: Any, schema: Schema, default: FloatArray) -> FloatArray:
    parameter = f"{kind}_weights"
    positions = schema.numeric_positions if kind == "numeric" else schema.categorical_positions
    if given is None:
        return default
    if isinstance(given, Mapping):
        place = {position: at for at, position in enumerate(positions)}
        weights = default.copy()
        for column, weight in given.items():
            position = _position(column, schema, parameter)
            if position not in place:
                raise ValueError(
                    f"{parameter} names {schema.label(position)}, which is {_OTHER_KIND[kind]}. "
                    f"Its weight belongs in {_OTHER_KIND[kind]}_weights."
                )
            weights[place[position]] = _number(weight, parameter, schema.label(position))
    elif isinstance(given, numbers.Real):
        _require_price(float(given), parameter, "every column")
        return np.full(len(positions), float(given))
    else:
        entries = list(given) if hasattr(given, "__iter__") and not isinstance(given, str) else None
        if entries is None:
            raise ValueError(f"{parameter} = {given!r} is not understood; use a number, one number per column, or a mapping.")
        if len(entries) != len(positions):
            named = ", ".join(repr(schema.columns[at].name) for at in positions) or "none"
            raise ValueError(
                f"{parameter} holds {len(entries)} weights, but the table has {len(positions)} {kind} columns: {named}."
            )
        labels = [schema.label(at) for at in positions]
        weights = np.array(
            [_number(entry, parameter, label) for entry, label in zip(entries, labels, strict=True)], dtype=np.float64
        )
    for position, weight in zip(positions, weights, strict=True):
        _require_price(float(weight), parameter, schema.label(position))
    return weights


def _position(column: Any, schema: Schema, parameter: str) -> int:
    """Input position of a column that is given by name or, for tables without names, by position."""
    names = schema.names
    for name in (column, str(column)):
        if name in names:
            return names.index(name)
    if not schema.named and isinstance(column, (int, np.integer)) and 0 <= column < len(names):
        return int(column)
    raise ValueError(f"{parameter} names column {column!r}, but the columns are {', '.join(map(repr, names))}.")


def _number(weight: Any, parameter: str, label: str) -> float:
    if isinstance(weight, numbers.Real):
        return float(weight)
    raise ValueError(f"{parameter} of {label} is {weight!r}, which is not a number.")


def _require_price(weight: float, parameter: str, label: str) -> None:
    if math.isnan(weight) or weight <= 0:
        raise ValueError(
            f"{parameter} of {label} is {weight}, but a weight must be positive. It is the price of a shift: small where "
            "shifts are likely, inf where they cannot happen."
        )
