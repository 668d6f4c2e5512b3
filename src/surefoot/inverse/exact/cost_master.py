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
        below, above = np.isfinite(prior.upper), np.isfinite(prior.lower)
        rows = np.vstack((prior.matrix, identity[below], -identity[above]))
        sides = np.concatenate((prior.ceiling, prior.upper[below], -prior.lower[above]))
        equal = np.empty((0, p)) if prior.total is None else np.ones((1, p))
        equal_sides = np.empty(0) if prior.total is None else np.array([prior.total])
        extra, block = symmetric_rows(prior.psd, p)
        if prior.psd:
            equal, equal_sides = np.vstack((equal, extra)), np.concatenate((equal_sides, np.zeros(extra.shape[0])))
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


def solve_conic_master(problem: InverseProblem, cuts: Cuts, options: SolveOptions) -> MasterPoint:
    """The master by an interior point; losses and costs are in units of their own, whatever the units of the data."""
    steepest = float(np.abs(cuts.slopes).max(initial=0.0)) or 1.0
    at_center = np.abs(cuts.slopes @ problem.regularizer.center).max(initial=0.0)
    unit = float(max(np.abs(cuts.offsets).max(initial=0.0), at_center)) or steepest
    unit = 1.0 if problem.hard else unit
    # A cost of this size makes the steepest cut as large as a loss.
    size_of_cost = 1.0 if problem.hard or problem.prior.psd else unit / steepest
    kappa = problem.kappa / unit
    p, n, prior = problem.n_features, 0 if problem.hard else problem.n_examples, problem.prior
    known = PriorRows.of(prior)
    l1 = problem.regularizer.kind == "l1"
    floor = np.flatnonzero([not problem.hard and (example.inside or problem.clamp) for example in problem.examples])
    n_equal, m, at_loss, at_size = known.equal.shape[0], cuts.size, p, p + n
    size = p + n + (p if l1 else 0)
    # Blocks of rows: dense ones over theta, and single entries beside them.
    blocks = [known.equal, cuts.slopes / unit, np.empty((floor.size, p)), known.rows]
    sides = [known.equal_sides, -cuts.offsets / unit, np.zeros(floor.size), known.sides]
    blocks[2][:] = 0.0
    owners = cuts.owners if n else cuts.owners[:0]
    single = [(n_equal + np.arange(owners.size), at_loss + owners), (n_equal + m + np.arange(floor.size), at_loss + floor)]
    if l1:
        start = sum(len(block) for block in blocks)
        blocks += [np.eye(p), -np.eye(p)]
        sides += [problem.regularizer.center, -problem.regularizer.center]
        single += [(start + np.arange(p), at_size + np.arange(p)), (start + p + np.arange(p), at_size + np.arange(p))]
    n_linear = sum(len(block) for block in blocks) - n_equal
    blocks.append(-known.block)
    sides.append(np.zeros(known.block.shape[0]))
    over = np.vstack(blocks) * size_of_cost
    row, column = np.nonzero(over)
    at_row, at_column = (np.concatenate(part) for part in zip(*single, strict=True))
    values = np.concatenate((over[row, column], np.full(at_row.size, -1.0)))
    place = (np.concatenate((row, at_row)), np.concatenate((column, at_column)))
    rows = scipy.sparse.csc_matrix((values, place), shape=(over.shape[0], size))
    cost = np.concatenate((np.zeros(p), np.full(n, 1.0 / max(n, 1)), np.full(size - p - n, kappa)))
    curvature = None
    if not l1:
        cost[:p] = -kappa * size_of_cost * problem.regularizer.center
        curvature = np.concatenate((np.full(p, kappa * size_of_cost**2), np.zeros(n)))
    cones = (Cone("zero", n_equal), Cone("nonnegative", n_linear), Cone("psd", prior.psd))
    found = ConeProgramme(cost, rows, np.concatenate(sides), cones, curvature).solve(options, CLOSE)
    triangle = found.multipliers[rows.shape[0] - known.block.shape[0] :]
    prior_at = n_equal + m + floor.size
    return MasterPoint(
        size_of_cost * found.x[:p],
        np.maximum(found.multipliers[n_equal : n_equal + m], 0.0),
        unit * np.maximum(found.multipliers[prior_at : prior_at + prior.matrix.shape[0]], 0.0),
        unit * float(found.multipliers[0]) if prior.total is not None else 0.0,
        unit * unpacked(triangle, prior.psd) if prior.psd else None,
        Status.OPTIMAL if found.nearly else found.status,
    )


class LinearMaster:
    """The master by the simplex method: l1 regularizers and none at all."""

    def __init__(self, problem: InverseProblem, box_radius: float) -> None:
        p, n, prior = problem.n_features, problem.n_examples, problem.prior
        center = problem.regularizer.center
        self.problem, self.p, self._n_cuts = problem, p, 0
        self._unit: float | None = None
        # theta = center + plus - minus
        low = np.maximum(prior.lower - center, -box_radius)
        high = np.minimum(prior.upper - center, box_radius)
        least = np.array([0.0 if example.inside or problem.clamp else -np.inf for example in problem.examples])
        lower = np.concatenate((np.maximum(low, 0.0), np.maximum(-high, 0.0), least))
        most = np.full(n, 0.0 if problem.hard else np.inf)
        upper = np.concatenate((np.maximum(high, 0.0), np.maximum(-low, 0.0), most))
        self._programme = LinearProgramme(lower, upper, np.concatenate((np.zeros(2 * p), np.full(n, 1.0 / max(n, 1)))))
        both = np.arange(2 * p, dtype=np.int32)
        for row, side in zip(prior.matrix, prior.ceiling, strict=True):
            self._programme.add_row(both, np.concatenate((row, -row)), -np.inf, float(side - row @ center))
        if prior.total is not None:
            side = float(prior.total - center.sum())
            self._programme.add_row(both, np.concatenate((np.ones(p), -np.ones(p))), side, side)
        self._first = prior.matrix.shape[0] + (prior.total is not None)

    def solve(self, cuts: Cuts, options: SolveOptions) -> MasterPoint:
        """The master with these cuts, of which the earlier ones are the same as last time."""
        p, center = self.p, self.problem.regularizer.center
        if self._unit is None:
            # Losses are in units of the first cuts, whatever the units of the data.
            self._unit = float(max(np.abs(cuts.slopes).max(initial=0.0), np.abs(cuts.offsets).max(initial=0.0))) or 1.0
            n = self.problem.n_examples
            self._programme.price(np.append(np.full(2 * p, self.problem.kappa / self._unit), np.full(n, 1.0 / max(n, 1))))
        unit = self._unit
        for k in range(self._n_cuts, cuts.size):
            slope = cuts.slopes[k] / unit
            at = np.flatnonzero(slope)
            columns = np.concatenate((at, p + at, [2 * p + int(cuts.owners[k])])).astype(np.int32)
            values = np.concatenate((slope[at], -slope[at], [-1.0]))
            self._programme.add_row(columns, values, -np.inf, -float(cuts.offsets[k] / unit + slope @ center))
        self._n_cuts = cuts.size
        seconds = np.inf if options.time_limit is None else options.time_limit - options.elapsed
        answer = self._programme.solve(seconds=seconds)
        m = self.problem.prior.matrix.shape[0]
        if answer.point is None or answer.prices is None:
            return MasterPoint(center.copy(), np.zeros(cuts.size), np.zeros(m), 0.0, None, answer.status)
        theta = center + answer.point[:p] - answer.point[p : 2 * p]
        multipliers = -answer.prices
        total = unit * float(multipliers[m]) if self.problem.prior.total is not None else 0.0
        weights = np.maximum(multipliers[self._first :], 0.0)
        return MasterPoint(theta, weights, unit * np.maximum(multipliers[:m], 0.0), total, None, Status.OPTIMAL)
