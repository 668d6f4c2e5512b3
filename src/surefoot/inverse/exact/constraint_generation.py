"""The regularised loss by generating decisions: solve the master, ask every forward problem for its worst decision, repeat.

The master's prices bound the optimum from below (:mod:`surefoot.inverse.problem.cost_proof`); the losses at its cost vector,
which the forward problems settle, bound it from above.
"""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Progress, SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import ForwardSolveError
from surefoot.inverse.exact.cost_master import LinearMaster, MasterPoint, solve_conic_master
from surefoot.inverse.exact.cut_pool import CutPool
from surefoot.inverse.exact.least_distance import LeastDistance
from surefoot.inverse.oracle.binary_batch import FlipBatch, Worst
from surefoot.inverse.oracle.decision_tree import prove_loss
from surefoot.inverse.oracle.forward_oracle import ForwardOracle
from surefoot.inverse.problem.cost_proof import CostProof, proven_bound
from surefoot.inverse.problem.decision_proof import LossProof
from surefoot.inverse.problem.decision_set import LinearSet
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.hypothesis import LinearFeatures, QuadraticFeatures
from surefoot.inverse.problem.problem import Cuts, Example, InverseProblem

CostOutcome = SolveOutcome[FloatArray, CostProof]
# How far an unregularised cost vector may go: as far as numbers near 1 stay exact to the tolerance.
REACH = 1e4
# Losses this small are what the tolerances of forward solvers leave open.
NOTHING = 5e-8
# How far a first guess may lie outside the prior set.
MEMBER = 1e-9
# What a proof may add to a loss: the rounding of its multipliers.
PROOF_SLACK = 1e-8
# And so are losses, where they must not be above 0.
HARD_SLACK = 2e-8
# The share of its distance that a decision may be missed by; costs have to grow by as much.
SLIVER = 1e-7


class LossCuts:
    """Constraint generation for :class:`InverseProblem`."""

    name = "exact"

    def __init__(self, oracle: ForwardOracle | None = None) -> None:
        self.oracle = ForwardOracle() if oracle is None else oracle
        # The observations too, so that their identity in the key stays theirs.
        self._batch: tuple[tuple[int, Distance], tuple[Example, ...], FlipBatch | None] | None = None

    def losses(
        self, problem: InverseProblem, theta: FloatArray, pool: CutPool | None = None, *, weight: float = 1.0
    ) -> tuple[FloatArray, FloatArray]:
        """Losses at a cost vector as found, and bounds they do not exceed; worst decisions go into the pool."""
        least = np.array([0.0 if example.inside or problem.clamp else -np.inf for example in problem.examples])
        found, bounds = np.empty(least.size), np.empty(least.size)
        left = np.ones(least.size, dtype=np.bool_)
        together = self._together(problem, theta, weight)
        if together is not None:
            left = ~together.known
            found, bounds = np.maximum(together.values, least), np.maximum(together.bounds, least)
            if pool is not None:
                at = np.flatnonzero(together.known & (together.values > least))
                pool.add_all(at, together.points[at], together.slopes[at], together.distances[at])
        for i in np.flatnonzero(left).tolist():
            choice = self.oracle.augmented(problem.examples[i], theta, problem.distance, weight=weight)
            found[i], bounds[i] = max(choice.value, least[i]), max(choice.bound, least[i])
            if pool is not None and choice.value > least[i]:
                pool.add(i, choice.point, choice.slope, choice.distance)
        return found, bounds

    def trees(self, problem: InverseProblem, theta: FloatArray, losses: FloatArray) -> list[LossProof | None]:
        """Proofs of losses at a cost vector, for observations whose decisions are linear but not all 0/1."""
        found: list[LossProof | None] = []
        for example, loss in zip(problem.examples, losses.tolist(), strict=True):
            decisions = example.instance.decisions
            if not isinstance(decisions, LinearSet) or not np.isfinite(loss):
                found.append(None)
            elif isinstance(example.instance.features, QuadraticFeatures):
                found.append(self.oracle.prices(example, theta, problem.distance))
            elif decisions.binary.all() or not isinstance(example.instance.features, LinearFeatures):
                found.append(None)
            else:
                # Rounding grows with the cost; what is not needed of it is not allowed for.
                sizes = (max(1.0, abs(loss)), max(1.0, abs(loss), float(np.abs(theta).sum())))
                trees = (prove_loss(example, theta, problem.distance, loss + PROOF_SLACK * size) for size in sizes)
                found.append(next((tree for tree in trees if tree is not None), None))
        return found

    def _together(self, problem: InverseProblem, theta: FloatArray, weight: float) -> Worst | None:
        """Worst decisions from one call, where that is possible; the batch of the last observations is kept."""
        key = (id(problem.examples), problem.distance)
        if self._batch is None or self._batch[0] != key:
            self._batch = (key, problem.examples, FlipBatch.of(problem))
        batch = self._batch[2]
        return None if batch is None else batch.worst(theta, weight)

    def solve(
        self, problem: InverseProblem, options: SolveOptions, pool: CutPool | None = None, *, cutoff: float = np.inf
    ) -> CostOutcome:
        """Close the gap between the master and the losses, or prove that no objective is below ``cutoff``."""
        run = _Run(self, problem, options, CutPool(problem) if pool is None else pool, cutoff)
        try:
            return run.go()
        except ForwardSolveError as flaw:
            raise ForwardSolveError(str(flaw), run.outcome(Status.STALLED)) from flaw
        except KeyboardInterrupt:
            return run.outcome(Status.INTERRUPTED)


class _Run:
    """The state of one solve."""

    def __init__(self, solver: LossCuts, problem: InverseProblem, options: SolveOptions, pool: CutPool, cutoff: float) -> None:
        self.solver, self.problem, self.options, self.pool, self.cutoff = solver, problem, options, pool, cutoff
        self.best = np.clip(problem.regularizer.center, problem.prior.lower, problem.prior.upper)
        self.upper, self.lower = np.inf, -np.inf
        # The best cost that is not 0: what a run that is cut short returns, since 0 decides nothing.
        self.telling: tuple[float, FloatArray] | None = None
        self.proof: CostProof | None = None
        self.history: list[Progress] = []
        self.iterations = 0
        linear = (problem.regularizer.kind == "l1" or problem.kappa == 0) and not problem.prior.psd
        self._linear: LinearMaster | None = None
        self._nearest: LeastDistance | None = None
        self.reach = REACH if linear else np.inf
        self.is_linear = linear

    def go(self) -> CostOutcome:
        problem, options = self.problem, self.options
        if not problem.prior.excess(self.best) > MEMBER:
            self._try(self.best)
        most = np.inf if options.max_iter is None else options.max_iter
        while self.iterations < most:
            if self.closed:
                return self.outcome(Status.OPTIMAL)
            if options.out_of_time:
                return self.outcome(Status.TIME_LIMIT)
            self.iterations += 1
            known = len(self.pool.owners)
            cuts = self.pool.cuts()
            master = self._master(cuts)
            if problem.hard and master.ended is not Status.OPTIMAL:
                return self.outcome(Status.TIME_LIMIT if options.out_of_time else Status.STALLED)
            self._raise(cuts, master)
            if not self.closed:
                self._try(_inside(problem, master.theta))
            self._record()
            if len(self.pool.owners) == known and not self.closed:
                # No new decision: the master is as good as its arithmetic.
                return self.outcome(Status.STALLED)
        return self.outcome(Status.OPTIMAL if self.closed else Status.ITERATION_LIMIT)

    @property
    def closed(self) -> bool:
        tight = np.isfinite(self.upper) and self.upper - self.lower <= self.options.tolerance * abs(self.upper) + NOTHING
        return bool(tight or self.lower >= self.cutoff)

    def _master(self, cuts: Cuts) -> MasterPoint:
        if self.problem.hard and self.problem.regularizer.kind == "l2" and not self.problem.prior.psd:
            if self._nearest is None:
                self._nearest = LeastDistance(self.problem)
            found = self._nearest.solve(cuts)
            if found.ended is Status.OPTIMAL:
                return found
        if not self.is_linear:
            return solve_conic_master(self.problem, cuts, self.options)
        if self._linear is None:
            self._linear = LinearMaster(self.problem, self.reach)
        return self._linear.solve(cuts, self.options)

    def _raise(self, cuts: Cuts, master: MasterPoint) -> None:
        used = np.flatnonzero(master.weights > 0)
        kept = cuts.chosen(used)
        proof = CostProof(
            kept.owners,
            kept.points,
            master.weights[used],
            master.row_prices,
            master.total_price,
            master.block_price,
            self.reach,
        )
        bound = proven_bound(self.problem, kept, proof)
        if bound > self.lower:
            self.lower, self.proof = bound, proof

    def _try(self, theta: FloatArray) -> None:
        problem = self.problem
        # Decisions that a consistent cost misses by a sliver of their distance are no reason to go on: a multiple of the cost,
        # larger by as much, does not miss them.
        share = 1.0 - min(self.options.tolerance, SLIVER) / 8 if problem.hard else 1.0
        _, bounds = self.solver.losses(problem, theta, self.pool, weight=share)
        worth = problem.kappa * problem.regularizer(theta) + float(bounds.mean())
        if np.any(theta) and (self.telling is None or worth < self.telling[0]):
            self.telling = (worth, theta)
        if problem.hard:
            if bounds.max() > HARD_SLACK:
                return
            theta = theta / share if problem.scalable else theta
        value = problem.objective(theta, bounds)
        if value < self.upper or not np.isfinite(self.upper):
            self.best, self.upper = theta, value

    def _record(self) -> None:
        line = Progress(self.iterations, self.upper, self.lower, self.options.elapsed)
        self.history.append(line)
        if self.options.on_progress is not None:
            self.options.on_progress(line)

    def outcome(self, status: Status) -> CostOutcome:
        best, upper = self.best, self.upper
        if status is not Status.OPTIMAL and self.telling is not None and not np.any(best):
            best = self.telling[1]
            upper = upper if self.problem.hard else self.telling[0]
        return SolveOutcome(
            status, best, self.proof, upper, self.lower, self.iterations, self.options.elapsed, tuple(self.history)
        )


def _inside(problem: InverseProblem, theta: FloatArray) -> FloatArray:
    """A master's cost vector without what its arithmetic put outside the prior set's bounds."""
    prior = problem.prior
    inside = np.clip(theta, prior.lower, prior.upper)
    if prior.total is not None and np.all(prior.lower == 0) and inside.sum() > 0 and prior.total > 0:
        inside = inside * (prior.total / inside.sum())
    return np.asarray(inside)
