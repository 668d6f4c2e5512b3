"""The predictability loss by branch and bound: equation (28) of Zattoni Scroccaro, Atasoy and Mohajerin Esfahani (2024).

    min over costs theta of one norm of   (1/N) sum_i min of d(x_i, x) over the best decisions x of theta at s_i

Node: for some observations, a decision that is to be a best one. The sum of their distances bounds every cost of the node;
whether a cost makes all of them best is a feasibility problem (:mod:`~.sphere_facets`), whose solution is a candidate for the
incumbent. Branching: the observation that this cost predicts worst, with its decisions by increasing distance. Nodes are taken
best bound first. Termination: no node has a bound below the incumbent, or a limit; the problem is NP-hard.

A cost that explains all observations predicts all of them: no search is needed then, and no list of decisions.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import replace

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.inverse.exact.balanced_units import ObservationSizes
from surefoot.inverse.exact.cost_run import CostRun
from surefoot.inverse.exact.parameters import ConsistencyParameters, PredictabilityParameters
from surefoot.inverse.exact.sphere_facets import LeastSuboptimality
from surefoot.inverse.oracle.binary_vectors import enumerated_decisions
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.distance import NO_DISTANCE
from surefoot.inverse.problem.predicted_distances import predicted_distances, tied_costs
from surefoot.inverse.problem.problem import Example, InverseProblem

PredictabilityOutcome = SolveOutcome[FloatArray, None]

# Which decision of which observation is to be a best one.
_Fixed = tuple[tuple[int, int], ...]


class Predictability:
    """The cost that predicts decisions best."""

    name = "predictability"

    def __init__(self, separation: Separation, parameters: PredictabilityParameters | None = None) -> None:
        self.separation = separation
        self.feasibility = LeastSuboptimality(separation, any_consistent=True)
        self.parameters = PredictabilityParameters() if parameters is None else parameters

    def refuses(self, problem: InverseProblem) -> str | None:
        """None: whether decisions must be listed shows when no cost explains all of them."""
        return None

    def solve(self, problem: InverseProblem, options: SolveOptions) -> PredictabilityOutcome:
        everything = replace(problem, distance=NO_DISTANCE, kappa=0.0)
        guess = self.feasibility.solve(everything, options)
        if guess.status is Status.INTERRUPTED:
            return CostRun[FloatArray, None](options, guess.primal, lower_bound=0.0).outcome(guess.status, guess.iterations)
        losses = self.separation.losses(everything, guess.primal, seconds=options.seconds_left)[1]
        if np.all(losses <= tied_costs(problem, guess.primal)) and all(example.inside for example in problem.examples):
            run: CostRun[FloatArray, None] = CostRun(options, guess.primal, 0.0, lower_bound=0.0)
            return run.outcome(Status.OPTIMAL, guess.iterations)
        return _Search(self, problem, options, guess.primal).run_to_end()


class _Search:
    """One branch and bound; node bounds and ``total`` are sums of distances, the bounds of the run their means."""

    def __init__(self, solver: Predictability, problem: InverseProblem, options: SolveOptions, guess: FloatArray) -> None:
        self.feasibility, self.parameters = solver.feasibility, solver.parameters
        self.problem, self.options, self.guess = problem, options, guess
        self.points = enumerated_decisions(problem)
        self.distances = [
            example.distances(problem.distance, points) for example, points in zip(problem.examples, self.points, strict=True)
        ]
        self.order = [np.argsort(distances, kind="stable") for distances in self.distances]
        self.total, self.evaluated = np.inf, 0
        self.run: CostRun[FloatArray, None] = CostRun(options, guess, lower_bound=0.0)

    def run_to_end(self) -> PredictabilityOutcome:
        try:
            return self._search()
        except KeyboardInterrupt:
            return self.run.outcome(Status.INTERRUPTED, self.evaluated)

    def _search(self) -> PredictabilityOutcome:
        options, n, tolerance = self.options, self.problem.n_examples, self.parameters.value_tolerance
        counter = itertools.count()
        nodes: list[tuple[float, int, _Fixed, int | None]] = []
        self._evaluate(self.guess)
        worst = self._worst(self.guess, ())
        if worst is not None:
            nodes.append((0.0, next(counter), (), worst))
        most = self.parameters.max_nodes if options.max_iter is None else options.max_iter
        status = Status.OPTIMAL
        while nodes:
            bound, _, fixed, branch = heapq.heappop(nodes)
            if bound >= self.total - tolerance:
                break
            self.run.tighten(bound / n)
            if self.evaluated >= most or options.out_of_time:
                status = Status.TIME_LIMIT if options.out_of_time else Status.ITERATION_LIMIT
                break
            assert branch is not None
            for choice in self.order[branch].tolist():
                child = bound + float(self.distances[branch][choice])
                if child >= self.total - tolerance:
                    break
                self.evaluated += 1
                more = (*fixed, (branch, choice))
                theta = self._consistent(more)
                if theta is None:
                    continue
                self._evaluate(theta)
                worst = self._worst(theta, more)
                if worst is not None:
                    heapq.heappush(nodes, (child, -next(counter), more, worst))
            self.run.record(self.evaluated)
        if status is Status.OPTIMAL:
            self.run.lower_bound = self.run.upper_bound
        return self.run.outcome(status, self.evaluated)

    def _consistent(self, fixed: _Fixed) -> FloatArray | None:
        """A cost that makes decisions best ones, or None."""
        examples = tuple(Example(self.problem.examples[i].instance, self.points[i][choice]) for i, choice in fixed)
        task = replace(self.problem, examples=examples, distance=NO_DISTANCE, kappa=0.0, clamp=True)
        found = self.feasibility.solve(task, self.options)
        if found.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        size = float(ObservationSizes.of(task).losses(found.primal).mean())
        few = ConsistencyParameters.suboptimality * min(self.feasibility.unit(task), size)
        return found.primal if found.upper_bound <= few else None

    def _losses(self, theta: FloatArray) -> FloatArray:
        return predicted_distances(self.problem, theta, self.points)

    def _evaluate(self, theta: FloatArray) -> None:
        """Take a cost as the incumbent if it predicts better."""
        total = float(self._losses(theta).sum())
        if total < self.total:
            self.total = total
            self.run.primal, self.run.upper_bound = theta, total / self.problem.n_examples

    def _worst(self, theta: FloatArray, fixed: _Fixed) -> int | None:
        """The observation that is predicted worst among those that are not fixed; None if all are as they were observed."""
        losses = self._losses(theta)
        losses[[i for i, _ in fixed]] = -1.0
        at = int(np.argmax(losses))
        return at if losses[at] > 0 else None
