"""What users say about weights, as the arrays a problem needs.

Two kinds of weights. Those of rows (``sample_weight``) say how often a row counts. Those of columns are prices: what it costs
the adversary to shift a column, gamma per unit for numbers and delta per change for categories.
"""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray, NumericArray
from surefoot.design.encode.mixed_design import MixedDesign
from surefoot.design.encode.schema import Kind, Schema, column_position
from surefoot.exceptions import DoubtfulColumnWarning
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.numeric_columns import is_sparse
from surefoot.robust.problem.numeric_norm import NumericNorm
from surefoot.robust.problem.unit_free_weights import unit_free_weights

_OTHER_KIND: dict[Kind, Kind] = {"numeric": "categorical", "categorical": "numeric"}


def ground_cost(
    design: MixedDesign,
    weights: FloatArray,
    *,
    numeric: Any,
    categorical: Any,
    label: float,
    norm: NumericNorm = "l1",
) -> GroundCost:
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
    norm : {"l1", "l2", "linf"}
    """
    return GroundCost(
        numeric_weights=column_weights("numeric", numeric, design.schema, unit_free_weights(design.numeric, weights)),
        categorical_weights=column_weights("categorical", categorical, design.schema, np.ones(design.n_categorical)),
        label_weight=label,
        numeric_norm=norm,
    )


def shift_prices(design: MixedDesign, numeric: Any, categorical: Any) -> tuple[Any, Any]:
    """Prices of a shift model, sorted by how the model reads the columns.

    Two kinds of columns may be numbers to the one and categories to the other. A price of inf, "never shifts", means the same
    for both. A column of 0 and 1 that the shift model flips may be a number: a move by one unit then costs what the flip does,
    and moves of other lengths, allowed on top, make the model safe against more than was requested, and never less.
    """
    if not (isinstance(numeric, Mapping) and isinstance(categorical, Mapping)):
        return numeric, categorical
    schema = design.schema
    place = {schema.names[position]: at for at, position in enumerate(schema.numeric_positions)}
    known = set(schema.names)
    sorted_prices: tuple[dict[Any, Any], dict[Any, Any]] = ({}, {})
    for kind, given in enumerate((numeric, categorical)):
        for name, price in given.items():
            reads = kind if name not in known else int(name not in place)
            flip = kind == 1 and name in place and _is_binary(design.numeric, place[name])
            if reads != kind and price != math.inf and not flip:
                does, reading = (("moves", "a category"), ("changes levels of", "numbers"))[kind]
                raise ValueError(
                    f"the shift model {does} {schema.label(schema.names.index(name))}, which this model reads as {reading}. "
                    "Give both the same categorical_features, or name the column in the certainty of the right kind."
                )
            sorted_prices[reads][name] = price
    return sorted_prices


def warn_of_levels_without_price(where: str, design: MixedDesign, shift: Any, categorical: Any, *, stacklevel: int) -> None:
    """A certainty is priced by the levels that rows hold; worst cases may go to those that no row holds, too."""
    if getattr(shift, "categorical_certainty", None) is None or not isinstance(categorical, Mapping):
        return
    told = []
    for at, position in enumerate(design.schema.categorical_positions):
        held, all_levels = int(np.unique(design.codes[:, at]).size), int(design.n_levels[at])
        price = float(categorical.get(design.schema.names[position], math.inf))
        if 1 < held < all_levels and price < math.inf:
            whole = price + math.log((all_levels - 1) / (held - 1))
            name = design.schema.label(position)
            told.append(f"{name} is priced {price:.4g} for {held} levels, about {whole:.4g} for all {all_levels}")
    if told:
        warnings.warn(
            f"{where}: a shift model counts the levels that rows hold, and worst cases go to all those of category_levels, at "
            f"the same price: {'; '.join(told)}. Leave out category_levels; or leave out shift, and give radius and "
            "categorical_weights, those of shift.calibrate(X) with the prices for all levels.",
            DoubtfulColumnWarning,
            stacklevel=stacklevel,
        )


def _is_binary(numeric: NumericArray, at: int) -> bool:
    values = numeric[:, [at]].data if is_sparse(numeric) else numeric[:, at]
    return bool(np.all((values == 0) | (values == 1)))


def column_weights(kind: Kind, given: Any, schema: Schema, default: FloatArray) -> FloatArray:
    """The prices of the columns of a kind, from what the user said about them."""
    parameter = f"{kind}_weights"
    positions = schema.numeric_positions if kind == "numeric" else schema.categorical_positions
    if given is None:
        return default
    if isinstance(given, Mapping):
        place = {position: at for at, position in enumerate(positions)}
        weights = default.copy()
        for column, weight in given.items():
            position = column_position(column, schema.names, schema.named, parameter)
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
