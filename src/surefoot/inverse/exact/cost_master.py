"""The inverse problem with only the decisions found so far: a small programme in the cost vector and the losses.

    min kappa R(theta) + (1/N) sum_i beta_i    subject to    slopes_k . theta + offsets_k <= beta_i(k),  theta in Theta,

beta_i >= 0 where the response is a decision itself. Quadratic regularizers, and blocks that must be positive semidefinite, go
to an interior point; everything linear to the simplex method, which goes on from its last solution when decisions are added.
This is problem (14) of Zattoni Scroccaro, Atasoy and Mohajerin Esfahani (2024) in epigraph form, with some of its constraints.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from surefoot.core.arrays import FloatArray
from surefoot.core.backends.clarabel import CLOSE, Cone, ConeProgramme
from surefoot.core.backends.highs import LinearProgramme
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.inverse.exact.balanced_units import BalancedUnits, power_of_2
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import Cuts, InverseProblem


@dataclass(frozen=True, eq=False)
class MasterPoint:
    """A cost vector and the multipliers of cuts (``weights``) and of the prior set.

    ``status`` is ``OPTIMAL`` for a programme that is nearly solved, too: bounds are recomputed from the multipliers.
    """

    theta: FloatArray
    weights: FloatArray
    row_multipliers: FloatArray
    total_multiplier: float
    block_multiplier: FloatArray | None
    status: Status

    @property
    def failure(self) -> Status:
        """Why there is no solution: a fact about the master, or a stall, as which its own limits count."""
        known = (Status.INFEASIBLE, Status.UNBOUNDED, Status.NUMERICAL_ERROR)
        return self.status if self.status in known else Status.STALLED


@dataclass(frozen=True, eq=False)
class PriorRows:
    """A prior set as rows over the cost vector: equalities, inequalities, and a semidefinite block."""

    prior: PriorSet
    equal: FloatArray
    equal_sides: FloatArray
    rows: FloatArray
    sides: FloatArray
    block: FloatArray

    @classmethod
    def of(cls, prior: PriorSet) -> PriorRows:
        p = prior.n_features
        identity = np.eye(p)
        fixed = prior.lower == prior.upper
        below, above = np.isfinite(prior.upper) & ~fixed, np.isfinite(prior.lower) & ~fixed
        rows = np.vstack((prior.matrix, identity[below], -identity[above]))
        sides = np.concatenate((prior.ceiling, prior.upper[below], -prior.lower[above]))
        equal = np.empty((0, p)) if prior.total is None else np.ones((1, p))
        equal_sides = np.empty(0) if prior.total is None else np.array([prior.total])
        extra, block = symmetric_rows(prior.psd, p)
        if prior.psd:
            equal, equal_sides = np.vstack((equal, extra)), np.concatenate((equal_sides, np.zeros(extra.shape[0])))
        equal, equal_sides = np.vstack((equal, identity[fixed])), np.concatenate((equal_sides, prior.lower[fixed]))
        return cls(prior, equal, equal_sides, rows, sides, block)


def symmetric_rows(order: int, n_features: int) -> tuple[FloatArray, FloatArray]:
    """Rows that say that the leading block is symmetric, and its scaled upper triangle column by column."""
    alike, triangle = [], []
    for column in range(order):
        for row in range(column + 1):
            entry = np.zeros(n_features)
            entry[column * order + row] += 1.0 if row == column else np.sqrt(0.5)
            if row != column:
                entry[row * order + column] += np.sqrt(0.5)
                same = np.zeros(n_features)
                same[column * order + row], same[row * order + column] = 1.0, -1.0
                alike.append(same)
            triangle.append(entry)
    return (
        np.array(alike).reshape(len(alike), n_features),
        np.array(triangle).reshape(len(triangle), n_features),
    )


def unpacked(triangle: FloatArray, order: int) -> FloatArray:
    """The symmetric matrix of a scaled upper triangle."""
    found, k = np.zeros((order, order)), 0
    for column in range(order):
        for row in range(column + 1):
            found[row, column] = found[column, row] = triangle[k] if row == column else triangle[k] * np.sqrt(0.5)
            k += 1
    return found


def solve_conic_master(
    problem: InverseProblem, cuts: Cuts, options: SolveOptions, units: BalancedUnits | None = None
) -> MasterPoint:
    """The master by an interior point; losses and costs are in units of their own, whatever the units of the data."""
    p, n, prior = problem.n_features, 0 if problem.hard else problem.n_examples, problem.prior
    size_of_cost, size_of_loss, unit = _conic_units(problem, cuts, units)
    kappa = problem.kappa / unit
    known = PriorRows.of(prior)
    l1 = problem.regularizer.kind == "l1"
    floor = np.flatnonzero([not problem.hard and (example.inside or problem.clamp) for example in problem.examples])
    n_equal, m, at_loss, at_size = known.equal.shape[0], cuts.size, p, p + n
    size = p + n + (p if l1 else 0)
    # Blocks of rows: dense ones over theta, and single entries beside them.
    blocks = [known.equal, cuts.slopes, np.zeros((floor.size, p)), known.rows]
    sides = [known.equal_sides, -cuts.offsets, np.zeros(floor.size), known.sides]
    row_size = [np.ones(n_equal), size_of_loss[cuts.owners], np.ones(floor.size), np.ones(known.rows.shape[0])]
    if units is not None:
        row_size[0], row_size[3] = (_row_sizes(block * size_of_cost) for block in (known.equal, known.rows))
    owners = cuts.owners if n else cuts.owners[:0]
    single = [(n_equal + np.arange(owners.size), at_loss + owners), (n_equal + m + np.arange(floor.size), at_loss + floor)]
    if l1:
        start = sum(len(block) for block in blocks)
        blocks += [np.eye(p), -np.eye(p)]
        sides += [problem.regularizer.center, -problem.regularizer.center]
        row_size += [size_of_cost, size_of_cost]
        single += [(start + np.arange(p), at_size + np.arange(p)), (start + p + np.arange(p), at_size + np.arange(p))]
    n_linear = sum(len(block) for block in blocks) - n_equal
    blocks.append(-known.block)
    sides.append(np.zeros(known.block.shape[0]))
    row_size.append(np.ones(known.block.shape[0]))
    divisor = np.concatenate(row_size)
    over = np.vstack(blocks) * size_of_cost / divisor[:, None]
    row, column = np.nonzero(over)
    at_row, at_column = (np.concatenate(part) for part in zip(*single, strict=True))
    values = np.concatenate((over[row, column], np.full(at_row.size, -1.0)))
    place = (np.concatenate((row, at_row)), np.concatenate((column, at_column)))
    rows = scipy.sparse.csc_matrix((values, place), shape=(over.shape[0], size))
    cost = np.concatenate((np.zeros(p), size_of_loss[:n] / (unit * max(n, 1)), kappa * size_of_cost[: size - p - n]))
    curvature = None
    if not l1:
        cost[:p] = -kappa * size_of_cost * problem.regularizer.center
        curvature = np.concatenate((kappa * size_of_cost**2, np.zeros(n)))
    cones = (Cone("zero", n_equal), Cone("nonnegative", n_linear), Cone("psd", prior.psd))
    found = ConeProgramme(cost, rows, np.concatenate(sides) / divisor, cones, curvature).solve(options, CLOSE)
    multipliers = unit * found.multipliers / divisor
    triangle = multipliers[rows.shape[0] - known.block.shape[0] :]
    prior_at = n_equal + m + floor.size
    return MasterPoint(
        size_of_cost * found.x[:p],
        np.maximum(multipliers[n_equal : n_equal + m], 0.0),
        np.maximum(multipliers[prior_at : prior_at + prior.matrix.shape[0]], 0.0),
        float(multipliers[0]) if prior.total is not None else 0.0,
        unpacked(triangle, prior.psd) if prior.psd else None,
        Status.OPTIMAL if found.nearly else found.status,
    )


def _conic_units(problem: InverseProblem, cuts: Cuts, units: BalancedUnits | None) -> tuple[FloatArray, FloatArray, float]:
    """Units of the entries of a cost, of the losses, and of the objective."""
    if units is not None:
        curved = float((problem.kappa * units.cost ** (1 if problem.regularizer.kind == "l1" else 2)).max())
        return units.cost, units.loss, curved if problem.hard else float(units.loss.max())
    steepest = float(np.abs(cuts.slopes).max(initial=0.0)) or 1.0
    at_center = np.abs(cuts.slopes @ problem.regularizer.center).max(initial=0.0)
    unit = float(max(np.abs(cuts.offsets).max(initial=0.0), at_center)) or steepest
    unit = 1.0 if problem.hard else unit
    # A cost of this size makes the steepest cut as large as a loss.
    size_of_cost = 1.0 if problem.hard or problem.prior.psd else unit / steepest
    return np.full(problem.n_features, size_of_cost), np.full(problem.n_examples, unit), unit


def _row_sizes(rows: FloatArray) -> FloatArray:
    """Powers of 2 near the largest entries of rows, at most 1: rows that are made smaller are met less well."""
    largest = np.abs(rows).max(axis=1, initial=0.0)
    return power_of_2(np.where(largest > 0, np.minimum(largest, 1.0), 1.0))


class LinearMaster:
    """The master by the simplex method: l1 regularizers and none at all."""

    def __init__(self, problem: InverseProblem, box_radius: float, units: BalancedUnits | None = None) -> None:
        p, n, prior = problem.n_features, problem.n_examples, problem.prior
        # Without a regularizer the centre means nothing, and would leave its rounding where a cost is 0.
        center = self._center = problem.regularizer.center if problem.kappa > 0 else np.zeros(p)
        self.problem, self.p, self._n_cuts = problem, p, 0
        self._size_of_cost = np.ones(p) if units is None else units.cost
        self._size_of_loss = None if units is None else units.loss
        self._unit = 1.0
        # theta = center + size_of_cost (plus - minus)
        low = np.maximum(prior.lower - center, -box_radius) / self._size_of_cost
        high = np.minimum(prior.upper - center, box_radius) / self._size_of_cost
        least = np.array([0.0 if example.inside or problem.clamp else -np.inf for example in problem.examples])
        lower = np.concatenate((np.maximum(low, 0.0), np.maximum(-high, 0.0), least))
        most = np.full(n, 0.0 if problem.hard else np.inf)
        upper = np.concatenate((np.maximum(high, 0.0), np.maximum(-low, 0.0), most))
        self._programme = LinearProgramme(lower, upper, np.zeros(2 * p + n))
        both = np.arange(2 * p, dtype=np.int32)
        rows, sides = prior.matrix, prior.ceiling - prior.matrix @ center
        if prior.total is not None:
            rows, sides = np.vstack((rows, np.ones(p))), np.append(sides, prior.total - center.sum())
        self._row_size = np.ones(len(rows)) if units is None else _row_sizes(rows * self._size_of_cost)
        for k, row in enumerate(rows * self._size_of_cost / self._row_size[:, None]):
            side = float(sides[k] / self._row_size[k])
            at_least = side if k == len(prior.ceiling) else -np.inf
            self._programme.add_row(both, np.concatenate((row, -row)), at_least, side)

    def solve(self, cuts: Cuts, options: SolveOptions) -> MasterPoint:
        """The master with these cuts, of which the earlier ones are the same as last time."""
        p, center = self.p, self._center
        if self._n_cuts == 0:
            self._price(cuts)
        assert self._size_of_loss is not None
        for k in range(self._n_cuts, cuts.size):
            owner = int(cuts.owners[k])
            slope = cuts.slopes[k] / self._size_of_loss[owner]
            scaled = slope * self._size_of_cost
            at = np.flatnonzero(scaled)
            columns = np.concatenate((at, p + at, [2 * p + owner])).astype(np.int32)
            values = np.concatenate((scaled[at], -scaled[at], [-1.0]))
            side = -float(cuts.offsets[k] / self._size_of_loss[owner] + slope @ center)
            self._programme.add_row(columns, values, -np.inf, side)
        self._n_cuts = cuts.size
        seconds = np.inf if options.time_limit is None else options.time_limit - options.elapsed
        answer = self._programme.solve(seconds=seconds)
        m = self.problem.prior.matrix.shape[0]
        if answer.point is None or answer.prices is None:
            return MasterPoint(center.copy(), np.zeros(cuts.size), np.zeros(m), 0.0, None, answer.status)
        theta = center + self._size_of_cost * (answer.point[:p] - answer.point[p : 2 * p])
        first = self._row_size.size
        divisor = np.concatenate((self._row_size, self._size_of_loss[cuts.owners]))
        multipliers = -self._unit * answer.prices / divisor
        total = float(multipliers[m]) if self.problem.prior.total is not None else 0.0
        weights, rows = np.maximum(multipliers[first:], 0.0), np.maximum(multipliers[:m], 0.0)
        return MasterPoint(theta, weights, rows, total, None, Status.OPTIMAL)

    def _price(self, cuts: Cuts) -> None:
        """Give the programme its objective, in units of its own."""
        problem, n = self.problem, self.problem.n_examples
        if self._size_of_loss is None:
            # Losses are in units of the first cuts, whatever the units of the data.
            unit = float(max(np.abs(cuts.slopes).max(initial=0.0), np.abs(cuts.offsets).max(initial=0.0))) or 1.0
            self._size_of_loss = np.full(n, unit)
        kappa = problem.kappa * np.tile(self._size_of_cost, 2)
        # Reduced costs are told from 0 by an absolute tolerance: the least coefficients count.
        self._unit = float(kappa.max() if problem.hard and problem.kappa > 0 else self._size_of_loss.min())
        self._programme.price(np.append(kappa / self._unit, self._size_of_loss / (self._unit * n)))
