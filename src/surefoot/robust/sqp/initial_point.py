"""The initial point: a Newton step of plain logistic regression, shrunk until no shift gains anything.

At a price lambda, a feature whose levels span at most lambda delta_l and a column with |beta_j| <= gamma_j lambda give the
adversary nothing, so the robust loss of the shrunk model is its plain loss. That leaves one number to choose, lambda, and
halving it until the objective stops falling is enough.
"""

from __future__ import annotations

import math

import numpy as np

from surefoot import _native
from surefoot.core.arrays import FloatArray
from surefoot.robust.sqp.parameters import INITIAL_POINT_DEFAULTS, InitialPointParameters
from surefoot.robust.sqp.row_sums import RowSums


def initial_point(
    rows: RowSums, parameters: InitialPointParameters = INITIAL_POINT_DEFAULTS, *, seconds_left: float = math.inf
) -> FloatArray:
    """A lifted vector with tight envelopes; the model without features where a Newton step would take longer than is left."""
    terms = rows.terms
    x = np.zeros(rows.size + 1)
    if terms.fit_intercept:
        above, below = rows.label_sums.positive[0], rows.label_sums.negative[0]
        positive = float(above / (above + below))
        positive = min(max(positive, parameters.min_probability), 1.0 - parameters.min_probability)
        x[0] = np.log(positive / (1.0 - positive))
    if terms.radius == 0:
        x[rows.price_slot] = rows.PROHIBITIVE
        return x
    in_time = float(rows.n_coefficients) ** 3 <= parameters.cubes_per_second * seconds_left
    newton = x + _newton_step(rows, x, parameters.ridge) if in_time else x
    price = _least_free_price(rows, newton)
    best, lowest = x, np.inf
    for _ in range(parameters.max_halvings):
        point = _shrink(rows, newton, price)
        objective = rows.objective(point)
        if objective >= lowest:
            break
        best, lowest = point, objective
        price *= 0.5
    return best


def _newton_step(rows: RowSums, x: FloatArray, ridge: float) -> FloatArray:
    """One Newton step of the plain, slightly ridged logistic loss."""
    n = rows.n_coefficients
    deterred = x.copy()
    deterred[rows.price_slot] = rows.PROHIBITIVE
    model = rows.row_model(deterred, _native.ModelRegion(), _native.WorkingSet())
    gradient, curvature = model.gradient, model.curvature
    hessian = np.tril(curvature[:n, :n]) + np.tril(curvature[:n, :n], -1).T
    hessian[np.diag_indices(n)] += ridge * np.diag(hessian) + 1e-9
    step = np.zeros(rows.size + 1)
    step[:n] = -np.linalg.solve(hessian, gradient[:n])
    return step


def _spans(rows: RowSums, x: FloatArray) -> FloatArray:
    levels = x[rows.level_slots]
    starts = rows.terms.level_offsets[:-1]
    spans: FloatArray = np.maximum.reduceat(levels, starts) - np.minimum.reduceat(levels, starts)
    return spans


def _least_free_price(rows: RowSums, x: FloatArray) -> float:
    """The least price at which no shift gains anything, but not more than any optimum can have."""
    price = rows.least_price(x)
    if rows.terms.n_categorical:
        price = max(price, float((_spans(rows, x) / rows.terms.cost.categorical_weights).max()))
    return min(max(price, 1e-6), float(np.log(2.0)) / rows.terms.radius)


def _shrink(rows: RowSums, newton: FloatArray, price: float) -> FloatArray:
    terms = rows.terms
    point = newton.copy()
    numeric = newton[rows.numeric_slots]
    if terms.cost.numeric_norm == "l1":
        limit = terms.cost.numeric_weights * price
        point[rows.numeric_slots] = np.clip(numeric, -limit, limit)
    else:
        shrunk = point[rows.numeric_slots]
        shrunk[rows.priced] *= min(1.0, price / max(rows.least_price(newton), 1e-300))
    if terms.n_categorical:
        spans = _spans(rows, newton)
        factor = np.minimum(1.0, price * terms.cost.categorical_weights / np.maximum(spans, 1e-300))
        point[rows.level_slots] *= factor[rows.feature_of_level]
        if terms.fit_intercept:
            # Shrink towards the mean score of each feature, not towards its reference level.
            means = np.bincount(
                rows.feature_of_level, weights=rows.level_weights * newton[rows.level_slots], minlength=terms.n_categorical
            )
            point[0] += float(((1.0 - factor) * means).sum())
    point[rows.price_slot] = price
    return rows.tighten(point)
