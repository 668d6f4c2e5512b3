"""Whether the parameters of a fitted model are those of the problem that its proof is about.

A fit makes radius and prices of its parameters, and a proof is about these. Both are in a model file, where anybody can change
the one and leave the other: a report would then show settings that nothing was proven for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.design.encode.schema import Kind, Schema
from surefoot.exceptions import CertificateError
from surefoot.robust.estimator.weights import column_weights
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.sklearn_api.proven_model import CHANGED

# What is computed, such as a standard deviation, may differ on another machine in its last digits.
SAME = 1e-6


def require_proven_settings(
    proven: GroundCost,
    radius: float,
    label_weight: float,
    *,
    norm: Any,
    points: Sequence[tuple[float, float]],
) -> None:
    """Raise unless parameters lead to the radius, the label weight and the norm that were proven.

    Parameters
    ----------
    proven : GroundCost
    radius, label_weight : float
        As the model states them.
    norm : parameter of the model
    points : list of (radius, label weight)
        Those that the parameters allow: one, or those of a grid.
    """
    if label_weight != proven.label_weight:
        raise CertificateError(f"{CHANGED}: label_weight_ is {label_weight!r}, and {proven.label_weight!r} was proven.")
    if norm != proven.numeric_norm:
        raise CertificateError(f"{CHANGED}: its parameter norm is {norm!r}, and {proven.numeric_norm!r} was proven.")
    radii, weights = ([point[at] for point in points] for at in (0, 1))
    for name, known, found in (("radius", radii, radius), ("label weight", weights, label_weight)):
        if not any(math.isclose(each, found, rel_tol=SAME) for each in known):
            listed = ", ".join(repr(float(each)) for each in dict.fromkeys(known))
            raise CertificateError(f"{CHANGED}: its parameters say {name} {listed:.200}, and {found!r} was proven.")


def require_proven_prices(kind: Kind, given: Any, schema: Schema, proven: FloatArray, default: FloatArray) -> None:
    """Raise unless parameters lead to the prices of columns that were proven; columns without one have that of ``default``."""
    weights = column_weights(kind, given, schema, default)
    wrong = np.flatnonzero(~np.isclose(weights, proven, rtol=SAME, atol=0.0))
    if wrong.size:
        columns = schema.numeric_positions if kind == "numeric" else schema.categorical_positions
        at = int(wrong[0])
        raise CertificateError(
            f"{CHANGED}: by its parameters {schema.label(columns[at])} has the price {float(weights[at])!r}, and "
            f"{float(proven[at])!r} was proven."
        )


def require_proven_ranges(schema: Schema, proven: FloatArray | None, wanted: FloatArray | None) -> None:
    """Raise unless parameters lead to the ranges that were proven; ends that nobody knows here are NaN."""
    none = np.tile([-np.inf, np.inf], (len(schema.numeric_positions), 1))
    found, known = (none if ends is None else ends for ends in (proven, wanted))
    scale = np.where(np.isfinite(found).all(axis=1), np.abs(found).max(axis=1, initial=0.0), 0.0)[:, None]
    with np.errstate(invalid="ignore"):
        wrong = np.flatnonzero(~(np.isnan(known) | (found == known) | (np.abs(found - known) <= SAME * scale)).all(axis=1))
    for at in wrong[:1].tolist():
        raise CertificateError(
            f"{CHANGED}: by its parameters {schema.label(schema.numeric_positions[at])} has the range {known[at].tolist()!r}, "
            f"and {found[at].tolist()!r} was proven."
        )
