"""How much better other cuts of a column could be: a number below which none of them has an objective.

The objective is that of :mod:`surefoot.design.binarize.cuts`: the negative log-likelihood of the step function plus log W for
each cut. Where all cuts can be tried, the best objective is the bound. Of columns with more distinct values two relaxations
are solved to the end, and the better bound is taken:

- The values are put into cells. A cut lies in one of them. Without the rows of that cell the loss is no larger, since the best
  likelihood of fewer rows is no smaller, and what is left depends on the cell alone. Directions and least shares are left out.
- Of step functions that rise, the best have their cuts where isotonic regression has its steps, least shares left out. For take
  a best one and a block of the regression, in which it has cuts. With the levels held, the loss as a function of the weights
  W_c below these cuts is at least a linear function of them that is exact where every cut is at an end of the block: loss is
  linear in the positive weight S_c below a cut, with a factor above 0 for it where levels rise, and S_c >= r W_c in a block
  of share r. A linear function over 0 <= W_1 <= W_2 <= ... <= W has its least value where all are 0 or W: at ends of the
  block. Where that leaves no cut, there is none to pay for but the one that has to be made.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from surefoot.design.binarize.cuts import (
    PARAMETERS,
    Direction,
    best_stations,
    cut_price,
    interval_costs,
    quantile_cuts,
)

Floats = NDArray[np.float64]
# Sums and logarithms of a million rows are off by less, relative to the objective.
_ROUNDING = 1e-9


def cut_objective(positives: Floats, negatives: Floats, cuts: NDArray[np.intp]) -> float:
    """Loss plus price of cuts at these positions."""
    up, down = _cumulated(positives), _cumulated(negatives)
    stations = np.concatenate([[0], np.asarray(cuts, dtype=np.intp) + 1, [positives.size]])
    costs = interval_costs(up[stations], down[stations], 0.0)
    return float(np.diagonal(costs, 1).sum()) + len(cuts) * cut_price(float(up[-1] + down[-1]))


def cut_bound(positives: Floats, negatives: Floats, most: int, min_share: float, direction: Direction | None) -> float:
    """A number that no objective of between 1 and ``most`` allowed cuts is below; infinite where none is allowed.

    The parameters are those of :func:`surefoot.design.binarize.cuts.supervised_cuts`.
    """
    up, down = _cumulated(positives), _cumulated(negatives)
    if positives.size <= PARAMETERS.most_values:
        best = best_stations(up, down, most, min_share, direction)
        return math.inf if best is None else _lowered(best.value)
    bounds = [_cell_bound(up, down, quantile_cuts(positives + negatives, PARAMETERS.most_values - 1), most)]
    if direction is not None:
        signs = {"increasing": [True], "decreasing": [False], "either": [True, False]}[direction]
        bounds.append(min(_isotonic_bound(positives, negatives, most, rising=rising) for rising in signs))
    return _lowered(max(bounds))


def _cell_bound(up: Floats, down: Floats, cuts: NDArray[np.intp], most: int) -> float:
    """The least objective of cuts where each takes the rows of its cell away."""
    stations = np.concatenate([[0], cuts + 1, [up.size - 1]])
    costs = interval_costs(up[stations], down[stations], 0.0)
    n_cells = stations.size - 1
    # What lies between cuts in cells c <= d: the cells c + 1, ..., d - 1.
    between = np.zeros((n_cells, n_cells))
    between[:, 2:] = np.where(np.isinf(costs[1:, 2:-1]), 0.0, costs[1:, 2:-1])
    between[np.tri(n_cells, k=-1, dtype=bool)] = math.inf
    first, last = np.append(0.0, costs[0, 1:-1]), np.append(costs[1:-1, -1], 0.0)
    best, values = first, []
    for count in range(1, most + 1):
        values.append(float((best + last).min()) + count * cut_price(float(up[-1] + down[-1])))
        best = (best[:, None] + between).min(axis=0)
    return min(values)


def _isotonic_bound(positives: Floats, negatives: Floats, most: int, *, rising: bool) -> float:
    """The least objective of a step function that rises, or falls, whatever the weight of its intervals."""
    weights = positives + negatives
    fitted = isotonic_regression(positives / weights, weights=weights, increasing=rising)
    ends = np.concatenate([[0], np.asarray(fitted.blocks)[1:-1], [weights.size]])
    if ends.size > PARAMETERS.most_values:
        return -math.inf
    uncut = cut_objective(positives, negatives, np.zeros(0, dtype=np.intp)) + cut_price(float(weights.sum()))
    if ends.size == 2:
        return uncut
    up, down = _cumulated(positives)[ends], _cumulated(negatives)[ends]
    best = best_stations(up, down, most, 0.0, "increasing" if rising else "decreasing")
    return uncut if best is None else min(uncut, best.value)


def _cumulated(weights: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(weights)])


def _lowered(value: float) -> float:
    return value - _ROUNDING * (1.0 + abs(value)) if math.isfinite(value) else value
