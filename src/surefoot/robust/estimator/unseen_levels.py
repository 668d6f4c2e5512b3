"""Coefficients of levels that a column may take and no row holds: the mean of the rows.

A loss knows such a level only as a place to move to. Moves go to the lowest or the highest coefficient of a column, so any
coefficient between those of the levels that rows hold leaves every worst case as it is, and one beyond them makes some worse.
No row says more. The mean over the rows is such a coefficient, treats new levels alike, and does not depend on where a solver
ends.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.problem.terms import Terms


def level_weights(problem: RobustLogisticProblem) -> FloatArray:
    """Weight of the rows at each level, feature after feature."""
    place = problem.codes + problem.level_offsets[:-1]
    weights = np.broadcast_to(problem.weights[:, None], place.shape)
    total = int(problem.n_levels.sum())
    return np.bincount(place.ravel(), weights=weights.ravel(), minlength=total).astype(np.float64, copy=False)


def with_unseen_levels(terms: Terms, model: RobustCoefficients, held: FloatArray) -> RobustCoefficients:
    """The model with the mean coefficient of a feature at its levels without rows; ``held`` is the weight of the rows at each.

    A reference level without rows keeps its 0; with an intercept to make up for it all others move instead.
    """
    if held.size == 0 or (held > 0).all():
        return model
    levels, intercept = model.levels.copy(), model.intercept
    for first, last in zip(terms.level_offsets[:-1], terms.level_offsets[1:], strict=True):
        own, weights = levels[first:last], held[first:last]
        if (weights > 0).all():
            continue
        rows = weights > 0
        mean = float(np.clip(weights @ own / weights.sum(), own[rows].min(), own[rows].max()))
        if not rows[0]:
            if terms.fit_intercept:
                own[rows] -= mean
                intercept += mean
            mean = 0.0 if terms.fit_intercept else mean
        own[1:][~rows[1:]] = mean
    return replace(model, levels=levels, intercept=intercept)
