"""The warning about a model that its radius has left without coefficients, and that a smaller one would not have.

Such a model is proven optimal and of no use, and its proof does not tell. The warning asks for a critical radius
(:mod:`surefoot.robust.sqp.critical_radius`) above the second bound of the automatic radius, which is what chance alone amounts
to: the rule of ``radius="auto"`` then leaves coefficients, though rows held out may ask for more caution. Columns that are
constant, or say less than that, leave none at any radius worth taking, and there is nothing to warn of.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np

from surefoot.exceptions import WeakModelWarning
from surefoot.robust.estimator.automatic_radius import sampling_error
from surefoot.robust.problem.column_moments import BatchSums, RowTally
from surefoot.robust.problem.problem import RobustCoefficients
from surefoot.robust.problem.terms import Terms
from surefoot.robust.sqp.critical_radius import critical_radius_from_sums

# Log odds that the columns may move in all where nothing is left of them but what solvers leave behind.
NEGLIGIBLE = 1e-6

LOWER_RADIUS = 'Lower the radius, or try radius="auto".'
SURER_SHIFT = "Raise the certainties of the shift model, or scale its doubts down with certainty_scale below 1."

MORE_RADII = "Add smaller radii, or leave radii out."
WORSE_HELD_OUT = "Models with more scored worse on the rows held out: what the columns say does not carry over to these."


def warn_of_lone_intercept(
    terms: Terms, model: RobustCoefficients, sums: BatchSums, tally: RowTally, where: str, advice: str = LOWER_RADIUS
) -> None:
    """Warn if the radius has left no coefficient of a model, and the automatic one would.

    Parameters
    ----------
    terms : Terms
        Those of the proven problem.
    model : RobustCoefficients
        Its optimum.
    sums, tally
        Of its rows, as :func:`sampling_error` takes them.
    where : str
        Who says so.
    advice : str
        What to do.
    """
    spread = sums.all_rows.spread
    moved = float(np.abs(model.numeric) @ spread) + float(np.abs(model.levels).max(initial=0.0))
    if terms.radius == 0 or moved > NEGLIGIBLE:
        return
    # Flips of labels, ends of ranges and a missing intercept have no closed form. Without them there is one, and it tells
    # whether columns say something, but not which radius leaves more.
    cost = replace(terms.cost, label_weight=math.inf, numeric_ranges=None)
    plain = replace(terms, cost=cost, fit_intercept=True)
    critical = critical_radius_from_sums(plain, sums)
    if critical is None or critical <= sampling_error(plain, sums, tally).highest:
        return
    exact = critical_radius_from_sums(terms, sums) is not None
    if exact and terms.radius < critical:  # the solve was cut short
        return
    left = (
        "only the intercept is left, and all rows get the same probability" if terms.fit_intercept else "no coefficient is left"
    )
    most = f" The largest radius that leaves more is about {critical:.2g}." if exact else ""
    warnings.warn(
        f"{where}: the radius, {terms.radius:.3g}, is so large that {left}.{most} {advice}",
        WeakModelWarning,
        stacklevel=4,  # who called fit
    )
