"""Which point of a path to take, from its scores on the folds or environments that were held out.

With s_ke the score of point k on environment e, larger better, and E environments::

    "mean"            max over k of  (1/E) sum_e s_ke
    "worst"           max over k of  min_e s_ke
    "worst-quarter"   max over k of  the mean of the ceil(E/4) smallest s_ke
    "one-se"          with b the best by the mean and d_ke = s_be - s_ke: the last k, in the order of rising caution, whose mean
                      of d_ke is at most its standard error, sd_e(d_ke) / sqrt(E)

The standard error is that of a difference, environment by environment. The usual one, of the best mean itself, also counts how
much harder one environment is than another, which is the same for all points and says nothing about their choice.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.exceptions import GridEdgeWarning

Select: TypeAlias = Literal["mean", "worst", "worst-quarter", "one-se"]
SELECTS: tuple[str, ...] = ("mean", "worst", "worst-quarter", "one-se")

# How a reason for a choice calls what it went by.
CRITERION_WORDS = {
    "mean": "mean score",
    "worst": "worst score",
    "worst-quarter": "mean score of the worst quarter",
    "one-se": "the most cautious within a standard error of the best mean score",
}


def require_select(select: Any) -> None:
    """Raise unless there is such a rule."""
    if not (isinstance(select, str) and select in SELECTS):
        raise ValueError(f"select = {select!r} must be one of {', '.join(map(repr, SELECTS))}.")


def chosen_point(scores: FloatArray, select: str) -> int:
    """The point that a rule takes; of equally good ones the last, the most cautious.

    Parameters
    ----------
    scores : ndarray of shape (n_points, n_environments)
        Points in the order of rising caution.
    select : {"mean", "worst", "worst-quarter", "one-se"}
    """
    criterion = judged(scores, select)
    best = int(np.flatnonzero(criterion == criterion.max())[-1])
    count = scores.shape[1]
    if select != "one-se" or count < 2:
        return best
    behind = scores[best] - scores
    errors = behind.std(axis=1, ddof=1) / math.sqrt(count)
    return int(np.flatnonzero(behind.mean(axis=1) <= errors)[-1])


def judged(scores: FloatArray, select: str) -> FloatArray:
    """What is maximised over the points; for "one-se" what is maximised before the rule is applied."""
    if select == "worst":
        found: FloatArray = scores.min(axis=1)
    elif select == "worst-quarter":
        found = np.sort(scores, axis=1)[:, : math.ceil(scores.shape[1] / 4)].mean(axis=1)
    else:
        found = scores.mean(axis=1)
    return found


def warn_of_edge(name: str, values: Sequence[float], chosen: float, parameter: str, who: str) -> None:
    """Say so if the value chosen is the smallest or the largest of several and better ones may lie beyond.

    Nothing lies below a radius of 0 or beyond a price of inf.
    """
    grid = sorted(set(values))
    if len(grid) < 2 or chosen not in (grid[0], grid[-1]) or chosen in (0.0, math.inf):
        return
    smallest = chosen == grid[0]
    step = grid[1] / grid[0] if smallest else grid[-1] / grid[-2]
    factor = step if 1 < step < math.inf else 10.0
    beyond = [chosen / factor**2, chosen / factor] if smallest else [chosen * factor, chosen * factor**2]
    further = ", ".join(f"{value:.2g}" for value in beyond)
    warnings.warn(
        f"{who}: of {len(grid)} values of the {name}, from {grid[0]:.3g} to {grid[-1]:.3g}, the "
        f"{'smallest' if smallest else 'largest'} was chosen, so that a better one may lie beyond. Add some to {parameter}, "
        f"such as {further}, and fit again. {_IF_IT_STAYS[name, smallest]}",
        GridEdgeWarning,
        stacklevel=4,
    )


_IF_IT_STAYS = {
    (
        "radius",
        True,
    ): "If the smallest stays the best, caution does not help on the environments held out: they do not differ in "
    "the way that these prices describe.",
    ("radius", False): "If the largest stays the best, no model that leans on the columns does better in another environment "
    "than one that does not.",
    ("label weight", True): "If the smallest stays the best, labels follow the columns differently in each environment.",
    ("label weight", False): "inf stands for labels that never flip.",
    ("certainty scale", True): "If the smallest stays the best, columns are surer than the shift model says.",
    ("certainty scale", False): "If the largest stays the best, columns are less sure than the shift model says.",
    ("kappa", True): "If the smallest stays the best, the observations hardly contradict each other, and kappa=0 may do.",
    ("kappa", False): "If the largest stays the best, costs near the centre predict as well as any.",
}
