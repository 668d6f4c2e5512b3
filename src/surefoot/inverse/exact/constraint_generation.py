"""Constraint generation for the regularised mean of augmented suboptimality losses.

    min over theta in Theta of   kappa R(theta) + (1/N) sum_i loss_i(theta)

(equation (14) of Zattoni Scroccaro, Atasoy and Mohajerin Esfahani, 2024), and with ``hard`` losses that must not be above 0
(equation (13)). A loss is a maximum of functions that are linear in theta, one per decision.

One iteration solves the master, the same problem with the decisions found so far (:mod:`~.cost_master`). Its multipliers bound
the optimum from below by weak duality (:mod:`surefoot.inverse.problem.cost_proof`). Separation finds the worst decision of
every observation at the master's cost: the losses bound the optimum from above, and the decisions are new cuts.

Termination: the gap is closed; the lower bound meets a cutoff; a hard master is infeasible; no decision is new, so that the
master is as good as its arithmetic; or a limit of the options.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import ForwardSolveError
from surefoot.inverse.exact.balanced_units import BalancedUnits, ObservationSizes
from surefoot.inverse.exact.cost_master import LinearMaster, MasterPoint, solve_conic_master
from surefoot.inverse.exact.cost_run import CUT_SHORT, CostRun
from surefoot.inverse.exact.kkt_polish import polished
from surefoot.inverse.exact.least_distance import LeastDistance
from surefoot.inverse.exact.parameters import ConstraintGenerationParameters, KktPolishParameters
from surefoot.inverse.oracle.cut_pool import CutPool
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.cost_proof import CostProof, proven_bound
from surefoot.inverse.problem.exact_weights import exact_proof
from surefoot.inverse.problem.problem import Cuts, InverseProblem

CostOutcome = SolveOutcome[FloatArray, CostProof]


class ConstraintGeneration:
    """Constraint generation for :class:`InverseProblem`.

    Parameters
    ----------
    separation : Separation, optional
    parameters : ConstraintGenerationParameters, optional
    """

    name = "constraint generation"

    def __init__(self, separation: Separation | None = None, parameters: ConstraintGenerationParameters | None = None) -> None:
        self.separation = Separation() if separation is None else separation
        self.parameters = ConstraintGenerationParameters() if parameters is None else parameters

    def refuses(self, problem: InverseProblem) -> str | None:
        """None: every prior set and every regularizer has a master."""
        return None

    def solve(
        self, problem: InverseProblem, options: SolveOptions, pool: CutPool | None = None, *, cutoff: float = np.inf
    ) -> CostOutcome:
        """Close the gap between the master and the losses, or prove that no objective is below ``cutoff``.

        ``INFEASIBLE`` means that the master of a ``hard`` problem is, to the tolerances of its solver.
        """
        pool, units = self.separation.pool(problem) if pool is None else pool, BalancedUnits.of(problem)
        found = self._run(problem, options, pool, cutoff, units)
        if units is None or found.status in (Status.OPTIMAL, *CUT_SHORT):
            return found
        # Balanced units are a choice, and for some data the wrong one.
        again = self._run(problem, options, pool, cutoff, None)
        gaps = [outcome.upper_bound - outcome.lower_bound for outcome in (again, found)]
        return again if again.status is Status.OPTIMAL or gaps[0] < gaps[1] else found

    def _run(
        self, problem: InverseProblem, options: SolveOptions, pool: CutPool, cutoff: float, units: BalancedUnits | None
    ) -> CostOutcome:
        generation = _Generation(self, problem, options, pool, cutoff, units)
        try:
            return generation.run_to_end()
        except ForwardSolveError as flaw:
            raise ForwardSolveError(str(flaw), generation.outcome(Status.STALLED)) from flaw
        except KeyboardInterrupt:
            return generation.outcome(Status.INTERRUPTED)


class _Generation:
    """One solve."""

    def __init__(
        self,
        solver: ConstraintGeneration,
        problem: InverseProblem,
        options: SolveOptions,
        pool: CutPool,
        cutoff: float,
        units: BalancedUnits | None,
    ) -> None:
        self.separation, self.parameters = solver.separation, solver.parameters
        self.problem, self.options, self.pool, self.cutoff = problem, options, pool, cutoff
        first = np.clip(problem.regularizer.center, problem.prior.lower, problem.prior.upper)
        self.sizes, self.units = ObservationSizes.of(problem), units
        # Half of the tolerance: proofs over real numbers lose a little of what doubles tell.
        self.run: CostRun[FloatArray, CostProof] = CostRun(options, first, relative=options.tolerance / 2)
        self.nonzero_objective = np.inf
        self.iterations = 0
        self.is_linear = (problem.regularizer.kind == "l1" or problem.kappa == 0) and not problem.prior.psd
        # Losses that cannot be negative bound the linear master by themselves. Others get a box, which the bound then assumes.
        bounded = all(example.inside or problem.clamp for example in problem.examples)
        self.box_radius = self.parameters.box_radius if self.is_linear and not bounded else np.inf
        self._linear: LinearMaster | None = None
        self._nearest: LeastDistance | None = None

    def run_to_end(self) -> CostOutcome:
        problem, options = self.problem, self.options
        if not problem.prior.excess(self.run.primal) > self.parameters.member_tolerance:
            self._separate(self.run.primal)
        most = np.inf if options.max_iter is None else options.max_iter
        while self.iterations < most:
            if self.closed:
                return self.outcome(Status.OPTIMAL)
            if options.out_of_time:
                return self.outcome(Status.TIME_LIMIT)
            self.iterations += 1
            known = len(self.pool.owners)
            cuts = self.pool.cuts()
            master = self._solve_master(cuts)
            if problem.hard and master.status is not Status.OPTIMAL:
                return self.outcome(Status.TIME_LIMIT if options.out_of_time else master.failure)
            self._tighten(cuts, master)
            if not self.closed:
                self._separate(_inside(problem, master.theta))
            self.run.record(self.iterations)
            if len(self.pool.owners) == known and not self.closed:
                self._polish(cuts, master)
            if len(self.pool.owners) == known and not self.closed:
                # Searches without time find nothing new either.
                return self.outcome(Status.TIME_LIMIT if options.out_of_time else Status.STALLED)
        return self.outcome(Status.OPTIMAL if self.closed else Status.ITERATION_LIMIT)

    @property
    def closed(self) -> bool:
        return self.run.converged or self.run.lower_bound >= self.cutoff

    def _solve_master(self, cuts: Cuts) -> MasterPoint:
        if self.problem.hard and self.problem.regularizer.kind == "l2" and not self.problem.prior.psd:
            if self._nearest is None:
                self._nearest = LeastDistance(self.problem)
            found = self._nearest.solve(cuts)
            if found.status is Status.OPTIMAL:
                return found
        if not self.is_linear:
            return solve_conic_master(self.problem, cuts, self.options, self.units)
        if self._linear is None:
            self._linear = LinearMaster(self.problem, self.box_radius, self.units)
        return self._linear.solve(cuts, self.options)

    def _polish(self, cuts: Cuts, master: MasterPoint) -> None:
        """Bounds from the KKT equations of what is active, where a quadratic master ends short of the tolerance."""
        if self.is_linear or self.problem.prior.psd or master.status is not Status.OPTIMAL:
            return
        candidates = [
            partial(polished, self.problem, cuts, master, active, self.units) for active in KktPolishParameters.active
        ]
        if self.problem.hard and self.units is not None:
            candidates.insert(0, partial(solve_conic_master, self.problem, cuts, self.options, self.units))
        if not self.problem.hard:
            # Where regularizers are tiny beside losses the best cost may be the nearest one without any.
            candidates.insert(0, partial(LeastDistance(replace(self.problem, hard=True)).solve, cuts))
        for candidate in candidates:
            if self.options.out_of_time:
                return
            found = candidate()
            if found.status is Status.OPTIMAL and np.isfinite(found.theta).all():
                self._tighten(cuts, found)
                self._separate(_inside(self.problem, found.theta))
            if self.closed:
                return

    def _tighten(self, cuts: Cuts, master: MasterPoint) -> None:
        """The lower bound that the master's multipliers prove."""
        used = np.flatnonzero(master.weights > 0)
        active = cuts.chosen(used)
        proof = CostProof(
            active.owners,
            active.points,
            master.weights[used],
            master.row_multipliers,
            master.total_multiplier,
            master.block_multiplier,
            self.box_radius,
        )
        self.run.tighten(proven_bound(self.problem, active, proof), proof)

    def _separate(self, theta: FloatArray) -> None:
        """The upper bound at a cost, and the cuts that its worst decisions are."""
        problem, parameters = self.problem, self.parameters
        # Decisions that a consistent cost violates by a tiny fraction of their distance are no reason to go on: a multiple of
        # the cost, larger by as much, does not violate them.
        fraction = 1.0 - min(self.options.tolerance, parameters.distance_fraction) / 8 if problem.hard else 1.0
        left = self.options.seconds_left
        _, bounds = self.separation.losses(problem, theta, self.pool, weight=fraction, seconds=left)
        if problem.distance.absent and not np.any(theta):
            bounds = np.zeros_like(bounds)  # nothing is priced, whatever forward solvers allow for
        objective = problem.kappa * problem.regularizer(theta) + float(bounds.mean())
        if np.any(theta) and (self.run.fallback is None or objective < self.nonzero_objective):
            self.run.fallback, self.nonzero_objective = (theta, objective), objective
        if problem.prior.excess(theta) > parameters.outside * max(1.0, float(np.abs(theta).max())):
            return
        sizes, units = self.sizes.losses(theta), self.sizes.units(theta)
        if problem.hard:
            allowed = np.maximum(parameters.hard_tolerance * units, parameters.rounding * sizes)
            if np.any(bounds > np.where(sizes > 0, allowed, parameters.hard_tolerance)):
                return
            theta = theta / fraction if problem.scalable else theta
        if self.run.improve(theta, problem.objective(theta, bounds)):
            self.run.absolute = parameters.absolute_gap * float(units.mean())
        elif np.isinf(self.run.upper_bound):
            # Forward solvers that promise no bound: of costs about which nothing is known the last one is as good as any.
            self.run.primal = theta

    def outcome(self, status: Status) -> CostOutcome:
        if self.problem.hard and self.run.fallback is not None:
            # Losses that must be 0 are no objective.
            self.run.fallback = (self.run.fallback[0], self.run.upper_bound)
        found = self.run.outcome(status, self.iterations)
        return replace(found, dual=exact_proof(self.problem, found.dual))


def _inside(problem: InverseProblem, theta: FloatArray) -> FloatArray:
    """A master's cost vector without what its arithmetic put outside the prior set's bounds."""
    prior = problem.prior
    inside = np.clip(theta, prior.lower, prior.upper)
    if prior.total is not None and np.all(prior.lower == 0) and inside.sum() > 0 and prior.total > 0:
        inside = inside * (prior.total / inside.sum())
    return np.asarray(inside)
