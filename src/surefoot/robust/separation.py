"""Separation: can a hyperplane put some rows strictly on their side and no row on the wrong one?

    max sum_i y_i a_i . beta    subject to    0 <= y_i a_i . beta <= 1

is positive exactly if plain logistic regression has no minimiser (Albert and Anderson 1984): along such a beta the loss falls
for ever.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.optimize
import scipy.sparse

from surefoot.exceptions import SeparableDataError
from surefoot.robust.problem.problem import RobustLogisticProblem


@dataclass(frozen=True)
class SeparationParameters:
    """Constants of this test; not tuned."""

    # Entries of the linear programme. Beyond this many it takes longer than most fits; such tables are hardly ever separable.
    max_entries: int = 20_000_000
    # Objective above which the linear programme says that a separating direction exists; it sums margins of at most 1 per row.
    positive: float = 1e-6


PARAMETERS = SeparationParameters()


def separable_without_price(problem: RobustLogisticProblem) -> bool:
    """Whether the loss falls for ever along coefficients that cost the model nothing.

    Without a radius those are all of them; with one, the columns and features of infinite weight. A finite label price puts a
    price on every direction.
    """
    if problem.radius > 0 and np.isfinite(problem.cost.label_weight):
        return False
    free_columns = problem.cost.immovable | (problem.radius == 0)
    free_features = (np.isinf(problem.cost.categorical_weights) | (problem.radius == 0)) & (problem.n_levels > 1)
    width = int(free_columns.sum()) + int(free_features.sum()) + int(problem.fit_intercept)
    if not (free_columns.any() or free_features.any()) or problem.n_rows * width > PARAMETERS.max_entries:
        return False
    parts = [scipy.sparse.csr_array(problem.numeric[:, free_columns])]
    if problem.fit_intercept:
        parts.append(scipy.sparse.csr_array(np.ones((problem.n_rows, 1))))
    rows = np.arange(problem.n_rows)
    for l in np.flatnonzero(free_features):
        held = problem.codes[:, l] > 0
        entries = (np.ones(int(held.sum())), (rows[held], problem.codes[held, l] - 1))
        parts.append(scipy.sparse.csr_array(entries, shape=(problem.n_rows, int(problem.n_levels[l]) - 1)))
    signed = scipy.sparse.csr_array(scipy.sparse.diags_array(problem.labels) @ scipy.sparse.hstack(parts, format="csr"))
    limits = scipy.optimize.LinearConstraint(signed, 0.0, 1.0)
    result = scipy.optimize.milp(-np.asarray(signed.sum(axis=0)).ravel(), constraints=limits, bounds=scipy.optimize.Bounds())
    return result.x is not None and -float(result.fun) > PARAMETERS.positive


def require_attained(problem: RobustLogisticProblem) -> None:
    """Refuse problems whose coefficients would grow without end.

    Along a direction in which no loss may rise, the price must not grow (it costs the radius) and a numeric column with a
    finite weight cannot either; movable categories only weaken such a direction, because the adversary takes every row to its
    worst level. So what remains is separation by what never shifts, and none at all once labels may flip.
    """
    one_label = problem.fit_intercept and problem.labels.min() == problem.labels.max()
    if one_label and not (problem.radius > 0 and np.isfinite(problem.cost.label_weight)):
        raise SeparableDataError(
            "all rows have the same label, so the intercept would grow without end. Both classes are needed."
        )
    if not separable_without_price(problem):
        return
    cause = "radius=0" if problem.radius == 0 else "some weights are infinite"
    raise SeparableDataError(
        f"{cause}, and the classes, or some rows of them, can be separated without error by columns that cost the model "
        "nothing: their coefficients would grow without end, and no model is best. Use a radius above 0 and finite weights, "
        "which make the model finite and robust, or remove the columns or levels that occur with one label only."
    )
