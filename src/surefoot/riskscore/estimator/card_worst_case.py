"""The shift that would hurt a score card most.

A card is a logistic model: its 0/1 columns are categories of two levels, with the coefficients 0 and points / multiplier, and
its other columns are numbers. So the adversary of :mod:`surefoot.robust.problem.problem` answers to it as to any other model.
"""

from __future__ import annotations

from typing import Any

import joblib
import numpy as np

from surefoot.design.encode.labels import encode_labels
from surefoot.design.encode.mixed_design import MixedDesign
from surefoot.design.encode.schema import ColumnSchema, Schema
from surefoot.design.write.output_frame import frame_library
from surefoot.riskscore.estimator.card_shift import score_prices
from surefoot.riskscore.estimator.posed_card import binary_columns
from surefoot.robust.estimator.worst_case import WorstCase, describe_worst_case
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.sqp.adversary import worst_case_distribution
from surefoot.sklearn_api.number_table import dense
from surefoot.sklearn_api.parameter_checks import require_radius
from surefoot.sklearn_api.training_rows import flat_labels, require_same_length


def card_worst_case(card: Any, X: Any, design: MixedDesign, y: Any, radius: float | None) -> WorstCase:
    """The adversary's best distribution for a fitted score card.

    Parameters
    ----------
    card : RiskScoreClassifier
    X : table
        As it came; a shift model is calibrated on it.
    design : MixedDesign
        The same, all columns numeric.
    y : array-like of shape (n_rows,)
    radius : float or None
        None means that of the card.
    """
    labels = encode_labels(flat_labels(y), classes=card.card_classes_).signs
    require_same_length(design, labels)
    block, weights = dense(design.numeric), np.full(design.n_rows, 1.0 / design.n_rows)
    binary = binary_columns(block)
    own, prices = score_prices(design, weights, binary, radius=card.radius, model=card.shift, table=X)
    points = card.coef_[0] / card.multiplier_
    flipped, moved = (np.flatnonzero((points != 0) & chosen) for chosen in (binary, ~binary))
    problem = RobustLogisticProblem(
        numeric=block[:, moved],
        codes=block[:, flipped].astype(np.int32),
        n_levels=np.full(flipped.size, 2, dtype=np.int32),
        labels=labels,
        weights=weights,
        cost=GroundCost(prices[moved], prices[flipped]),
        radius=own if radius is None else require_radius(radius),
    )
    coefficients = RobustCoefficients(
        card.intercept_ / card.multiplier_,
        points[moved],
        np.column_stack([np.zeros(flipped.size), points[flipped]]).ravel(),
        0.0,
    )
    names = card.schema_.names
    columns = [(at, ColumnSchema(names[at], "categorical", (0, 1))) for at in flipped]
    columns += [(at, ColumnSchema(names[at], "numeric")) for at in moved]
    scores = block @ points + coefficients.intercept
    return describe_worst_case(
        problem,
        coefficients,
        worst_case_distribution(problem, coefficients, n_threads=joblib.effective_n_jobs(card.n_jobs)),
        schema=Schema(tuple(column for _, column in sorted(columns, key=lambda entry: int(entry[0])))),
        classes=card.card_classes_,
        nominal_loss=float(weights @ np.logaddexp(0.0, -labels * scores)),
        library=frame_library(X),
    )
