"""Ellipsoidal costs by constraint generation: equations (12) and (26) of Zattoni Scroccaro et al. (2024).

    min over theta, A of   -kappa log det A + (1/N) sum_i loss_i(theta, A),     ||theta||_2 <= 1,  theta in Theta

(:mod:`surefoot.inverse.problem.ellipsoidal_cost`). One iteration solves the master with the decisions found so far, a conic
programme in which log det A is a sum of logarithms of the diagonal of a lower triangular Z with [A, Z; Z', diag Z] positive
semidefinite; its multipliers bound the optimum from below. The most violated decision maximises a convex function, so decisions
are enumerated. With hard losses the ellipsoid is scaled down until no decision is violated. Termination: the gap is closed, no
decision is new, the master fails, or a limit of the options.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse

from surefoot.core.arrays import FloatArray
from surefoot.core.backends.clarabel import CLOSE, Cone, ConeProgramme
from surefoot.core.outcome import SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import UnsupportedProblemError
from surefoot.inverse.exact.constraint_generation import ConstraintGeneration
from surefoot.inverse.exact.cost_master import unpacked
from surefoot.inverse.exact.cost_run import CostRun
from surefoot.inverse.exact.incenter import Incenter
from surefoot.inverse.exact.parameters import EllipsoidalParameters
from surefoot.inverse.exact.sparse_rows import SparseRows
from surefoot.inverse.oracle.binary_vectors import enumerated_decisions
from surefoot.inverse.oracle.cut_pool import CutPool
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.ellipsoidal_cost import (
    EllipsoidalCost,
    EllipsoidProof,
    ellipsoid_bound,
    ellipsoid_objective,
    moving_directions,
)
from surefoot.inverse.problem.problem import Cuts, InverseProblem

PARAMETERS = EllipsoidalParameters()

EllipsoidOutcome = SolveOutcome[EllipsoidalCost, EllipsoidProof]


class EllipsoidalGeneration:
    """Constraint generation for the problem of :mod:`surefoot.inverse.problem.ellipsoidal_cost`."""

    def solve(self, problem: InverseProblem, options: SolveOptions, start: FloatArray) -> EllipsoidOutcome:
        """Close the gap; ``start`` is a cost vector, inside the cone of consistent ones if ``hard``."""
        try:
            return self._solve(problem, options, start)
        except KeyboardInterrupt:
            return cut_short(options, start)

    def _solve(self, problem: InverseProblem, options: SolveOptions, start: FloatArray) -> EllipsoidOutcome:
        prior = problem.prior
        if not prior.is_cone or prior.matrix.shape[0] or prior.psd:
            raise UnsupportedProblemError("ellipsoidal approaches know two prior sets: none, and 'nonnegative'.")
        points = enumerated_decisions(problem)
        every = [(each, example.slopes(each)) for each, example in zip(points, problem.examples, strict=True)]
        moving = moving_directions(np.vstack([slope for _, slope in every]))
        pool = self._first(problem, every, start, moving.shape[1])
        run: CostRun[EllipsoidalCost, EllipsoidProof] | None = None
        status, iteration = Status.ITERATION_LIMIT, 0
        while options.max_iter is None or iteration < options.max_iter:
            iteration += 1
            cuts = pool.cuts()
            cost, claim, ended = self._master(problem, cuts, options, moving)
            bound = ellipsoid_bound(problem, cuts.slopes, claim, moving)
            used = np.flatnonzero(claim.weights > 0)
            active = cuts.chosen(used)
            proof = EllipsoidProof(active.owners, active.points, claim.weights[used], claim.directions[used])
            fresh, cost, losses = self._separate(problem, every, pool, cost)
            value = ellipsoid_objective(problem, cost, losses, moving)
            run = CostRun(options, cost, value) if run is None else run
            run.improve(cost, value)
            run.tighten(bound, proof)
            run.record(iteration)
            if self._closed(run, options):
                status = Status.OPTIMAL
                break
            if options.out_of_time or ended is not Status.OPTIMAL or not fresh:
                status = Status.TIME_LIMIT if options.out_of_time else Status.STALLED
                break
        assert run is not None
        return run.outcome(status, iteration)

    @staticmethod
    def _closed(run: CostRun[EllipsoidalCost, EllipsoidProof], options: SolveOptions) -> bool:
        scale = max(abs(run.upper_bound), PARAMETERS.least_objective)
        return bool(np.isfinite(run.upper_bound) and run.gap <= max(options.tolerance, PARAMETERS.relative_gap) * scale)

    def _first(
        self, problem: InverseProblem, every: list[tuple[FloatArray, FloatArray]], start: FloatArray, order: int
    ) -> CutPool:
        """Decisions in every direction, so that the ellipsoid is bounded, and the nearest ones to the first cost."""
        pool = CutPool(problem)
        owners = np.concatenate([np.full(len(points), i) for i, (points, _) in enumerate(every)])
        within = np.concatenate([np.arange(len(points)) for points, _ in every])
        slopes = np.vstack([slope for _, slope in every])
        _, _, longest = scipy.linalg.qr(slopes.T, mode="economic", pivoting=True)
        for k in longest[:order]:
            pool.add(int(owners[k]), every[int(owners[k])][0][int(within[k])])
        for i, (points, slope) in enumerate(every):
            norm = np.linalg.norm(slope, axis=1)
            nearness = np.where(norm > 0, slope @ start / np.maximum(norm, 1e-12), -np.inf)
            if np.isfinite(nearness.max()):
                pool.add(i, points[int(np.argmax(nearness))])
        return pool

    def _separate(
        self, problem: InverseProblem, every: list[tuple[FloatArray, FloatArray]], pool: CutPool, cost: EllipsoidalCost
    ) -> tuple[bool, EllipsoidalCost, FloatArray]:
        """Add the most violated decisions; the cost, scaled down if losses must not be above 0; and the losses."""
        losses, fresh, scale = np.zeros(len(every)), False, 1.0
        for i, (points, slope) in enumerate(every):
            extent = np.linalg.norm(slope @ cost.shape, axis=1)
            gains = slope @ cost.theta
            values = gains + extent
            worst = int(np.argmax(values))
            losses[i] = max(float(values[worst]), 0.0)
            if values[worst] > PARAMETERS.violation:
                fresh |= pool.add(i, points[worst])
            moved = extent > PARAMETERS.still * extent.max()
            if problem.hard and moved.any():
                scale = min(scale, float(np.min(-gains[moved] / extent[moved])))
        if problem.hard:
            return fresh, EllipsoidalCost(cost.theta, cost.shape * max(scale, 0.0)), np.zeros(len(every))
        return fresh, cost, losses

    def _master(
        self, problem: InverseProblem, cuts: Cuts, options: SolveOptions, moving: FloatArray
    ) -> tuple[EllipsoidalCost, EllipsoidProof, Status]:
        p, n = problem.n_features, 0 if problem.hard else problem.n_examples
        r = moving.shape[1]
        pairs = [(row, column) for column in range(r) for row in range(column + 1)]
        place = {pair: k for k, pair in enumerate(pairs)}
        shape, lower, logs = p + n, p + n + len(pairs), p + n + 2 * len(pairs)
        size = logs + r
        rows = SparseRows(size)
        for i in range(n):
            rows.row([p + i], [-1.0], 0.0)
        for j in range(p):
            if problem.prior.lower[j] == 0:
                rows.row([j], [-1.0], 0.0)
            if problem.prior.upper[j] == 0:
                rows.row([j], [1.0], 0.0)
        cones = [Cone("nonnegative", rows.count)]
        rows.row([], [], 1.0)
        for j in range(p):
            rows.row([j], [-1.0], 0.0)
        cones.append(Cone("second-order", p + 1))
        first = rows.count
        turned = cuts.slopes @ moving
        for owner, slope, part in zip(cuts.owners.tolist(), cuts.slopes, turned, strict=True):
            head = list(range(p)) + ([] if problem.hard else [p + owner])
            rows.row(head, [*slope.tolist(), *([] if problem.hard else [-1.0])], 0.0)
            for a in range(r):
                columns = [shape + place[(min(a, b), max(a, b))] for b in range(r)]
                rows.row(columns, (-part).tolist(), 0.0)
            cones.append(Cone("second-order", r + 1))
        # [A, Z; Z', diag Z] by columns of its upper triangle; Z is lower triangular, Z_ab = lower + place[(b, a)] for a >= b.
        root = np.sqrt(2.0)
        for column in range(2 * r):
            for row in range(column + 1):
                scale = -1.0 if row == column else -root
                if column < r:
                    rows.row([shape + place[(row, column)]], [scale], 0.0)
                elif row < r:
                    inside = row >= column - r
                    rows.row([lower + place[(column - r, row)]] if inside else [], [scale] if inside else [], 0.0)
                else:
                    inside = row == column
                    rows.row([lower + place[(row - r, row - r)]] if inside else [], [scale] if inside else [], 0.0)
        cones.append(Cone("psd", 2 * r))
        for j in range(r):
            rows.row([logs + j], [-1.0], 0.0)
            rows.row([], [], 1.0)
            rows.row([lower + place[(j, j)]], [-1.0], 0.0)
            cones.append(Cone("exponential", 3))
        cost = np.zeros(size)
        cost[p : p + n] = 1.0 / max(n, 1)
        cost[logs:] = -problem.kappa
        found = ConeProgramme(cost, rows.matrix(), np.array(rows.sides), tuple(cones)).solve(options, CLOSE)
        triangle = found.x[shape:lower] * np.array([1.0 if a == b else root for a, b in pairs])
        # A half-axis of 1 where no decision notices.
        matrix = moving @ unpacked(triangle, r) @ moving.T + (np.eye(p) - moving @ moving.T)
        duals = found.multipliers[first : first + cuts.size * (r + 1)].reshape(cuts.size, r + 1)
        weights = np.maximum(duals[:, 0], 0.0)
        directions = -duals[:, 1:] @ moving.T / np.maximum(weights, 1e-300)[:, None]
        theta = found.x[:p] / max(1.0, float(np.linalg.norm(found.x[:p])))
        theta = np.clip(theta, problem.prior.lower, problem.prior.upper)
        proof = EllipsoidProof(cuts.owners, cuts.points, weights, np.where(weights[:, None] > 0, directions, 0.0))
        return EllipsoidalCost(theta, matrix), proof, found.ended


def cut_short(options: SolveOptions, theta: FloatArray) -> EllipsoidOutcome:
    """The outcome of a solve that Ctrl-C or its time limit has ended: a cost without any room around it, about which nothing
    is known.
    """
    status = Status.TIME_LIMIT if options.out_of_time else Status.INTERRUPTED
    cost = EllipsoidalCost(theta, np.zeros((theta.size, theta.size)))
    return CostRun[EllipsoidalCost, EllipsoidProof](options, cost).outcome(status, 0)


class EllipsoidalIncenter:
    """Equation (12): the centre of the largest ellipsoid of consistent costs, from the incenter on."""

    name = "ellipsoidal-incenter"

    def __init__(self, separation: Separation) -> None:
        self.incenter = Incenter(separation)

    def refuses(self, problem: InverseProblem) -> str | None:
        return self.incenter.refuses(problem)

    def solve(self, problem: InverseProblem, options: SolveOptions) -> EllipsoidOutcome:
        start = self.incenter.solve(problem, options)
        if start.status is Status.INTERRUPTED or options.out_of_time:
            return cut_short(options, start.primal)
        return EllipsoidalGeneration().solve(problem, options, start.primal)


class EllipsoidalLoss:
    """Equation (26): the augmented suboptimality loss with an ellipsoid, from the cost without one on."""

    name = "ellipsoidal-asl"

    def __init__(self, separation: Separation) -> None:
        self.generation = ConstraintGeneration(separation)

    def refuses(self, problem: InverseProblem) -> str | None:
        return self.generation.refuses(problem)

    def solve(self, problem: InverseProblem, options: SolveOptions) -> EllipsoidOutcome:
        start = self.generation.solve(problem, options)
        if start.status is Status.INTERRUPTED or options.out_of_time:
            return cut_short(options, start.primal)
        return EllipsoidalGeneration().solve(problem, options, start.primal)
