"""Separation: the worst shift of every row, by Algorithm 1 of the paper and by a prefix argument that needs no distances.

    r_i = max over labels y' and category vectors z' of
          log(1 + exp(-y' (beta_0 + beta_x . x_i + beta_z(z')))) - lambda * ground cost of (z', y')

For a final label s let t be the loss argument -s * score at the row's own categories and u_l the largest rise of it when
feature l moves to its best OTHER level.

:class:`DistanceProgramme` is the dynamic programme of Sun, Justin, Gomez and Vayanos (AISTATS 2025; Bellman equations (9) and
(10), with row weights and a label price): the state after k features is the weighted distance spent so far, its value the
largest argument. Which distances are attainable depends on the weights alone, so all rows have the same state space and every
step is a vector operation over rows. The state space is at most the sum of the weights for integers but doubles with each
feature for real numbers.

:func:`prefix_worst_shifts` uses convexity instead: softplus(v) = max over tau in [0, 1] of tau v - h(tau), and for a fixed
tau feature l should move exactly if tau u_l > lambda delta_l. The best set is therefore a prefix of the features sorted by
u_l / delta_l, at most m + 1 candidates for any real weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray, IndexArray, IntArray
from surefoot.core.row_blocks import row_blocks
from surefoot.robust.conic.parameters import DistanceParameters
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem


@dataclass(frozen=True)
class WorstShifts:
    """Where the adversary takes each row.

    Attributes
    ----------
    loss : ndarray of shape (n_rows,)
        Largest loss minus price * ground cost.
    codes : ndarray of shape (n_rows, n_categorical)
        The category vector that attains it.
    flipped : ndarray of shape (n_rows,)
        Whether the label flips.
    """

    loss: FloatArray
    codes: IntArray
    flipped: BoolArray


@dataclass(frozen=True)
class Moves:
    """What the adversary gains by moving each feature alone, for one final label per row.

    ``start`` is the loss argument at the own categories, ``gain[:, l]`` its rise when feature l moves to ``level[:, l]``,
    the best level other than the own. The gain is -inf where a feature cannot move.
    """

    start: FloatArray
    gain: FloatArray
    level: IntArray


_BestSet = Callable[[Moves], tuple[FloatArray, BoolArray]]


def softplus(argument: FloatArray) -> FloatArray:
    """log(1 + exp(argument)) without overflow."""
    return np.logaddexp(0.0, argument)


def movable_features(problem: RobustLogisticProblem) -> IndexArray:
    """Categorical features that have somewhere to go and a finite price."""
    return np.flatnonzero(np.isfinite(problem.cost.categorical_weights) & (problem.n_levels > 1))


def own_scores(problem: RobustLogisticProblem, coefficients: RobustCoefficients, rows: slice = slice(None)) -> FloatArray:
    """beta_0 + beta_x . x + beta_z(z) of the rows as they are."""
    scores: FloatArray = coefficients.intercept + problem.numeric[rows] @ coefficients.numeric
    offsets = problem.level_offsets
    for l in range(problem.n_categorical):
        scores += coefficients.levels[offsets[l] + problem.codes[rows, l]]
    return scores


def best_moves(problem: RobustLogisticProblem, coefficients: RobustCoefficients, sign: FloatArray, rows: slice) -> Moves:
    """The best single moves of the rows towards the final labels ``sign``."""
    codes = problem.codes[rows]
    gain = np.full(codes.shape, -np.inf)
    level = codes.copy()
    offsets = problem.level_offsets
    for l in movable_features(problem):
        values = coefficients.levels[offsets[l] : offsets[l + 1]]
        for label in (-1.0, 1.0):
            # The two best levels: the second serves rows that are at the first.
            first, second = np.argsort(label * values, kind="stable")[:2]
            held = sign == label
            own = codes[held, l]
            target = np.where(own == first, second, first).astype(np.int32)
            gain[held, l] = -label * (values[target] - values[own])
            level[held, l] = target
    return Moves(-sign * own_scores(problem, coefficients, rows), gain, level)


def prefix_worst_shifts(problem: RobustLogisticProblem, coefficients: RobustCoefficients) -> WorstShifts:
    """The worst shift of every row, by trying the prefixes of the features sorted by gain per price."""
    return _over_labels(
        problem, coefficients, lambda moves: _best_prefix(moves, problem.cost.categorical_weights, coefficients.price)
    )


def _best_prefix(moves: Moves, delta: FloatArray, price: float) -> tuple[FloatArray, BoolArray]:
    """Worst-case loss and the set that attains it."""
    useful = moves.gain > 0
    gain = np.where(useful, moves.gain, 0.0)
    cost = np.where(useful, delta, 0.0)
    ratio = np.where(useful, gain / delta, -1.0)
    order = np.argsort(-ratio, axis=1, kind="stable")
    nothing = np.zeros((gain.shape[0], 1))
    gains = np.hstack((nothing, np.cumsum(np.take_along_axis(gain, order, axis=1), axis=1)))
    costs = np.hstack((nothing, np.cumsum(np.take_along_axis(cost, order, axis=1), axis=1)))
    values = softplus(moves.start[:, None] + gains) - price * costs
    best = np.argmax(values, axis=1)
    moved = np.empty_like(useful)
    np.put_along_axis(moved, order, np.arange(gain.shape[1]) < best[:, None], axis=1)
    return values[np.arange(best.size), best], moved & useful


class DistanceProgramme:
    """Attainable weighted distances, layer by layer, and the dynamic programme over them.

    Layer k (k = 0..m) holds the distances that the first k movable features can add up to. ``stay[k]`` and ``move[k]`` map each
    distance of layer k to its place in layer k + 1 when feature k stays or moves.

    Attributes
    ----------
    features : ndarray of int
        The movable features, in the order of the layers.
    distances : list of ndarray
        m + 1 sorted arrays.
    stay, move : list of ndarray of int
        m arrays each.
    """

    def __init__(
        self,
        problem: RobustLogisticProblem,
        *,
        most_states: float = np.inf,
        parameters: DistanceParameters | None = None,
    ) -> None:
        """Build the layers; raises ``OverflowError`` as soon as they hold more than ``most_states`` distances."""
        self.parameters = parameters or DistanceParameters()
        features = movable_features(problem)
        # Any order is right. Small weights first keep the early layers short; of equal weights, many levels belong to short
        # layers.
        order = np.lexsort((-problem.n_levels[features], problem.cost.categorical_weights[features]))
        self.features = features[order]
        weights = problem.cost.categorical_weights[self.features]
        width = self.parameters.same_distance * float(weights.sum())
        self.distances: list[FloatArray] = [np.zeros(1)]
        self.stay: list[IndexArray] = []
        self.move: list[IndexArray] = []
        self.n_states = 1
        for weight in weights:
            last = self.distances[-1]
            sums = np.concatenate((last, last + weight))
            order = np.argsort(sums, kind="stable")
            layer, place = _merge(sums[order], width)
            self.n_states += layer.size
            if self.n_states > most_states:
                raise OverflowError(f"the categorical weights add up to more than {most_states:.0f} different distances")
            position = np.empty(sums.size, dtype=np.intp)
            position[order] = place
            self.distances.append(layer)
            self.stay.append(position[: last.size])
            self.move.append(position[last.size :])

    def worst_shifts(self, problem: RobustLogisticProblem, coefficients: RobustCoefficients) -> WorstShifts:
        """Algorithm 1 for every row and, at a finite label price, both labels."""
        return _over_labels(problem, coefficients, lambda moves: self._best_set(moves, coefficients.price))

    def _best_set(self, moves: Moves, price: float) -> tuple[FloatArray, BoolArray]:
        loss = np.empty(moves.start.size)
        moved = np.zeros(moves.gain.shape, dtype=np.bool_)
        size = max(1, self.parameters.states_at_a_time // self.n_states)
        for first in range(0, loss.size, size):
            rows = slice(first, first + size)
            loss[rows], moved[rows] = self._solve(moves.start[rows], moves.gain[rows], price)
        return loss, moved

    def _solve(self, start: FloatArray, gain: FloatArray, price: float) -> tuple[FloatArray, BoolArray]:
        rows = np.arange(start.size)
        value = np.zeros((start.size, 1))
        choices: list[BoolArray] = []
        for k, l in enumerate(self.features):
            shape = (start.size, self.distances[k + 1].size)
            stayed, moved = np.full(shape, -np.inf), np.full(shape, -np.inf)
            stayed[:, self.stay[k]] = value
            moved[:, self.move[k]] = value + gain[:, l, None]
            choices.append(moved > stayed)
            value = np.maximum(stayed, moved)
        final = softplus(start[:, None] + value) - price * self.distances[-1]
        at = np.argmax(final, axis=1)
        loss = final[rows, at]
        chosen = np.zeros(gain.shape, dtype=np.bool_)
        for k in range(self.features.size - 1, -1, -1):
            here = choices[k][rows, at]
            chosen[:, self.features[k]] = here
            before = np.zeros((2, self.distances[k + 1].size), dtype=np.intp)
            before[0, self.stay[k]] = before[1, self.move[k]] = np.arange(self.distances[k].size)
            at = before[here.astype(np.intp), at]
        return loss, chosen


def _merge(values: FloatArray, width: float) -> tuple[FloatArray, IndexArray]:
    """Sorted values in groups no wider than ``width``: the first value of each, and each value's group."""
    begins = np.ones(values.size, dtype=np.bool_)
    begins[1:] = np.diff(values) > width
    while True:
        group = np.cumsum(begins) - 1
        beyond = np.flatnonzero(values - values[begins][group] > width)
        if beyond.size == 0:
            return values[begins], group
        # A chain of near neighbours is longer than the width: it breaks where the width ends.
        _, earliest = np.unique(group[beyond], return_index=True)
        begins[beyond[earliest]] = True


def _over_labels(problem: RobustLogisticProblem, coefficients: RobustCoefficients, best_set: _BestSet) -> WorstShifts:
    """The worse of keeping and flipping the label, block by block of rows."""
    loss = np.empty(problem.n_rows)
    codes = problem.codes.copy()
    flipped = np.zeros(problem.n_rows, dtype=np.bool_)
    kappa = problem.cost.label_weight
    for rows in row_blocks(problem.n_rows):
        moves = best_moves(problem, coefficients, problem.labels[rows], rows)
        loss[rows], moved = best_set(moves)
        codes[rows] = np.where(moved, moves.level, codes[rows])
        if np.isfinite(kappa):
            moves = best_moves(problem, coefficients, -problem.labels[rows], rows)
            other, moved = best_set(moves)
            other = other - coefficients.price * kappa
            worse = other > loss[rows]
            flipped[rows] = worse
            loss[rows] = np.where(worse, other, loss[rows])
            codes[rows] = np.where(worse[:, None], np.where(moved, moves.level, problem.codes[rows]), codes[rows])
    return WorstShifts(loss, codes, flipped)


def robust_objective(problem: RobustLogisticProblem, coefficients: RobustCoefficients) -> float:
    """lambda * radius + weighted mean of the worst-case losses; the plain weighted mean loss for radius 0."""
    if problem.radius == 0:
        losses = softplus(-problem.labels * own_scores(problem, coefficients))
        return float(problem.weights @ losses)
    return problem.radius * coefficients.price + float(problem.weights @ prefix_worst_shifts(problem, coefficients).loss)


def shift_costs(problem: RobustLogisticProblem, rows: IndexArray, codes: IntArray, flipped: BoolArray) -> FloatArray:
    """Ground cost of taking the rows to these categories and labels."""
    moved = codes != problem.codes[rows]
    delta = problem.cost.categorical_weights
    costs: FloatArray = np.where(moved, delta, 0.0).sum(axis=1)
    return costs + np.where(flipped, problem.cost.label_weight, 0.0)


def deterring_price(problem: RobustLogisticProblem, coefficients: RobustCoefficients) -> float:
    """The smallest price that admits the numeric coefficients and at which no row gains by a shift.

    The largest ratio of gain to cost, by Dinkelbach's method: the best shift at a price that is too low has a ratio above
    it, which is the next price. Each price is attained by some shift, so the iteration ends.
    """
    price = problem.cost.admitting_price(coefficients.numeric)
    unmoved = softplus(-problem.labels * own_scores(problem, coefficients))
    everyone = np.arange(problem.n_rows)
    for _ in range(DistanceParameters.max_dinkelbach_steps):
        worst = prefix_worst_shifts(problem, replace(coefficients, price=price))
        costs = shift_costs(problem, everyone, worst.codes, worst.flipped)
        tempted = np.flatnonzero(costs > 0)
        gains = worst.loss[tempted] + price * costs[tempted] - unmoved[tempted]
        needed = float((gains / costs[tempted]).max(initial=0.0))
        if needed <= price * (1.0 + 1e-12):
            break
        price = needed
    return price
