"""Ellipsoidal costs by generating decisions, with a small semidefinite programme as master.

log det A is a sum of logarithms of the diagonal of a lower triangular Z with [A, Z; Z', diag Z] positive semidefinite. The most
violated decision maximises a convex function, so decisions are listed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.linalg
import scipy.sparse

from surefoot.core.arrays import FloatArray
from surefoot.core.backends.clarabel import CLOSE, Cone, ConeProgramme
from surefoot.core.outcome import Progress, SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import UnsupportedProblemError
from surefoot.inverse.exact.cost_master import unpacked
from surefoot.inverse.exact.cut_pool import CutPool
from surefoot.inverse.exact.sparse_rows import SparseRows
from surefoot.inverse.oracle.binary_vectors import few_decisions
from surefoot.inverse.problem.decision_set import LinearSet, ListedSet
from surefoot.inverse.problem.ellipsoidal_cost import (
    EllipsoidalCost,
    EllipsoidProof,
    ellipsoid_bound,
    ellipsoid_objective,
    moving_directions,
)
from surefoot.inverse.problem.problem import Cuts, InverseProblem

# 0/1 unknowns whose decisions can be listed for this.
MOST_UNKNOWNS = 16

EllipsoidOutcome = SolveOutcome[EllipsoidalCost, EllipsoidProof]


def listed(problem: InverseProblem) -> list[tuple[FloatArray, FloatArray]]:
    """Decisions of every observation, and their slopes."""
    found = []
    for example in problem.examples:
        decisions = example.instance.decisions
        points = decisions.points if isinstance(decisions, ListedSet) else None
        if isinstance(decisions, LinearSet):
            points = few_decisions(decisions, MOST_UNKNOWNS)
        if points is None:
            raise UnsupportedProblemError(
                f"observation {example.index}: this approach needs decisions that can be listed: alternatives, or at "
                f"most {MOST_UNKNOWNS} unknowns that are all 0/1."
            )
        found.append((points, example.slopes(points)))
    return found


class Ellipsoidal:
    """Constraint generation for the problem of :mod:`surefoot.inverse.problem.ellipsoidal_cost`."""

    def solve(self, problem: InverseProblem, options: SolveOptions, start: FloatArray) -> EllipsoidOutcome:
        """Close the gap; ``start`` is a cost vector, inside the cone of consistent ones if ``hard``."""
        prior = problem.prior
        if not prior.is_cone or prior.matrix.shape[0] or prior.psd:
            raise UnsupportedProblemError("ellipsoidal approaches know two prior sets: none, and 'nonnegative'.")
        every = listed(problem)
        moving = moving_directions(np.vstack([slope for _, slope in every]))
        pool = self._first(problem, every, start, moving.shape[1])
        best, upper, lower, proof = None, np.inf, -np.inf, None
        history: list[Progress] = []
        status, iteration = Status.ITERATION_LIMIT, 0
        while options.max_iter is None or iteration < options.max_iter:
            iteration += 1
            cuts = pool.cuts()
            cost, claim, ended = self._master(problem, cuts, options, moving)
            bound = ellipsoid_bound(problem, cuts.slopes, claim, moving)
            if bound > lower:
                used = np.flatnonzero(claim.weights > 0)
                kept = cuts.chosen(used)
                lower = bound
                proof = EllipsoidProof(kept.owners, kept.points, claim.weights[used], claim.directions[used])
            fresh, cost, losses = self._separate(problem, every, pool, cost)
            value = ellipsoid_objective(problem, cost, losses, moving)
            if best is None or value < upper:
                best, upper = cost, value
            line = Progress(iteration, upper, lower, options.elapsed)
            history.append(line)
            if options.on_progress is not None:
                options.on_progress(line)
            if np.isfinite(upper) and upper - lower <= max(options.tolerance, 1e-6) * max(abs(upper), 1e-3):
                status = Status.OPTIMAL
                break
            if options.out_of_time or ended is not Status.OPTIMAL or not fresh:
                status = Status.TIME_LIMIT if options.out_of_time else Status.STALLED
                break
        assert best is not None
        return SolveOutcome(status, best, proof, upper, lower, iteration, options.elapsed, tuple(history))

    def _first(
        self, problem: InverseProblem, every: list[tuple[FloatArray, FloatArray]], start: FloatArray, order: int
    ) -> CutPool:
        """Decisions in every direction, so that the room is bounded, and those that matter at the start."""
        pool = CutPool(problem)
        owners = np.concatenate([np.full(len(points), i) for i, (points, _) in enumerate(every)])
        within = np.concatenate([np.arange(len(points)) for points, _ in every])
        slopes = np.vstack([slope for _, slope in every])
        _, _, longest = scipy.linalg.qr(slopes.T, mode="economic", pivoting=True)
        for k in longest[:order]:
            pool.add(int(owners[k]), every[int(owners[k])][0][int(within[k])])
        for i, (points, slope) in enumerate(every):
            far = np.linalg.norm(slope, axis=1)
            nearness = np.where(far > 0, slope @ start / np.maximum(far, 1e-12), -np.inf)
            if np.isfinite(nearness.max()):
                pool.add(i, points[int(np.argmax(nearness))])
        return pool

    def _separate(
        self, problem: InverseProblem, every: list[tuple[FloatArray, FloatArray]], pool: CutPool, cost: EllipsoidalCost
    ) -> tuple[bool, EllipsoidalCost, FloatArray]:
        """Add the most violated decisions; the cost, with less room if losses must not be above 0; and the losses."""
        losses, fresh, share = np.zeros(len(every)), False, 1.0
        for i, (points, slope) in enumerate(every):
            room = np.linalg.norm(slope @ cost.shape, axis=1)
            gains = slope @ cost.theta
            values = gains + room
            worst = int(np.argmax(values))
            losses[i] = max(float(values[worst]), 0.0)
            if values[worst] > 1e-9:
                fresh |= pool.add(i, points[worst])
            # What is less is the response itself, and rounding.
            moved = room > 1e-12 * room.max()
            if problem.hard and moved.any():
                share = min(share, float(np.min(-gains[moved] / room[moved])))
        if problem.hard:
            return fresh, EllipsoidalCost(cost.theta, cost.shape * max(share, 0.0)), np.zeros(len(every))
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
                    kept = row >= column - r
                    rows.row([lower + place[(column - r, row)]] if kept else [], [scale] if kept else [], 0.0)
                else:
                    kept = row == column
                    rows.row([lower + place[(row - r, row - r)]] if kept else [], [scale] if kept else [], 0.0)
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
        room = unpacked(triangle, r)
        # As much room as 1 where no decision notices.
        matrix = moving @ room @ moving.T + (np.eye(p) - moving @ moving.T)
        duals = found.multipliers[first : first + cuts.size * (r + 1)].reshape(cuts.size, r + 1)
        weights = np.maximum(duals[:, 0], 0.0)
        pushed = -duals[:, 1:] @ moving.T / np.maximum(weights, 1e-300)[:, None]
        theta = found.x[:p] / max(1.0, float(np.linalg.norm(found.x[:p])))
        theta = np.clip(theta, problem.prior.lower, problem.prior.upper)
        proof = EllipsoidProof(cuts.owners, cuts.points, weights, np.where(weights[:, None] > 0, pushed, 0.0))
        return EllipsoidalCost(theta, matrix), proof, found.ended


def hardened(problem: InverseProblem) -> InverseProblem:
    """The problem of the ellipsoidal incenter."""
    return replace(problem, hard=True, kappa=1.0)
