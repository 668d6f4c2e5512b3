"""The predictability loss by branch and bound: equation (28) of the paper.

    min over costs theta of norm 1 of   (1/N) sum_i min of d(x_i, x) over the best decisions x of theta at s_i

A node says of some observations which decision is to be a best one; whether a cost makes all of them best is a linear problem
(:mod:`surefoot.inverse.exact.consistent_cost`). Their distances, and 0 for the others, bound every cost of the node. The cost
that the linear problem returns is tried, and the observation that it predicts worst is branched on: first as observed, then
ever farther. Nodes are taken by their bounds. The problem is NP-hard, so there is a limit to their number.

A cost that explains all observations predicts all of them: no search is needed then, and no list of decisions.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import replace

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Progress, SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.inverse.exact.consistent_cost import on_sphere
from surefoot.inverse.exact.constraint_generation import LossCuts
from surefoot.inverse.exact.ellipsoidal_master import listed
from surefoot.inverse.problem.distance import NO_DISTANCE
from surefoot.inverse.problem.predicted_distances import TIED, predicted_distances
from surefoot.inverse.problem.problem import Example, InverseProblem

MOST_NODES = 2000
# A suboptimality of no more, for costs of norm 1, counts as none.
NONE = 1e-7

# Which decision of which observation is to be a best one.
_Wishes = tuple[tuple[int, int], ...]


def predictability(
    solver: LossCuts, problem: InverseProblem, options: SolveOptions
) -> tuple[InverseProblem, SolveOutcome[FloatArray, None]]:
    """The cost that predicts decisions best."""
    everything = replace(problem, distance=NO_DISTANCE, kappa=0.0)
    guess = on_sphere(solver, everything, options, any_consistent=True)
    worst = float(solver.losses(everything, guess.primal)[1].max())
    if worst <= TIED * np.abs(guess.primal).max() and all(example.inside for example in problem.examples):
        return problem, SolveOutcome(Status.OPTIMAL, guess.primal, None, 0.0, 0.0, guess.iterations, options.elapsed)
    return problem, _Search(solver, problem, options).run(guess.primal)


class _Search:
    def __init__(self, solver: LossCuts, problem: InverseProblem, options: SolveOptions) -> None:
        self.solver, self.problem, self.options = solver, problem, options
        self.points = [points for points, _ in listed(problem)]
        self.far = [
            example.distances(problem.distance, points) for example, points in zip(problem.examples, self.points, strict=True)
        ]
        self.order = [np.argsort(far, kind="stable") for far in self.far]
        self.best: FloatArray | None = None
        self.upper = np.inf

    def run(self, guess: FloatArray) -> SolveOutcome[FloatArray, None]:
        """Begin with a guess."""
        options, n = self.options, self.problem.n_examples
        counter = itertools.count()
        nodes: list[tuple[float, int, _Wishes, int | None]] = []
        self._try(guess)
        worst = self._worst(guess, ())
        if worst is not None:
            nodes.append((0.0, next(counter), (), worst))
        most = MOST_NODES if options.max_iter is None else options.max_iter
        taken, lower, status = 0, 0.0, Status.OPTIMAL
        history: list[Progress] = []
        while nodes:
            bound, _, wishes, branch = heapq.heappop(nodes)
            lower = bound / n
            if bound >= self.upper - 1e-9:
                lower = self.upper / n
                break
            if taken >= most or options.out_of_time:
                status = Status.TIME_LIMIT if options.out_of_time else Status.ITERATION_LIMIT
                break
            assert branch is not None
            for choice in self.order[branch].tolist():
                paid = bound + float(self.far[branch][choice])
                if paid >= self.upper - 1e-9:
                    break
                taken += 1
                more = (*wishes, (branch, choice))
                theta = self._consistent(more)
                if theta is None:
                    continue
                self._try(theta)
                worst = self._worst(theta, more)
                if worst is not None:
                    heapq.heappush(nodes, (paid, -next(counter), more, worst))
            line = Progress(taken, self.upper / n, lower, options.elapsed)
            history.append(line)
            if options.on_progress is not None:
                options.on_progress(line)
        else:
            lower = self.upper / n
        assert self.best is not None
        return SolveOutcome(status, self.best, None, self.upper / n, lower, taken, options.elapsed, tuple(history))

    def _consistent(self, wishes: _Wishes) -> FloatArray | None:
        """A cost of norm 1 that makes decisions best ones, or None."""
        examples = tuple(Example(self.problem.examples[i].instance, self.points[i][choice]) for i, choice in wishes)
        task = replace(self.problem, examples=examples, distance=NO_DISTANCE, kappa=0.0, clamp=True)
        found = on_sphere(self.solver, task, self.options, any_consistent=True)
        return found.primal if found.upper_bound <= NONE else None

    def _losses(self, theta: FloatArray) -> FloatArray:
        return predicted_distances(self.problem, theta, self.points)

    def _try(self, theta: FloatArray) -> None:
        value = float(self._losses(theta).sum())
        if value < self.upper:
            self.upper, self.best = value, theta

    def _worst(self, theta: FloatArray, wishes: _Wishes) -> int | None:
        """The observation that is predicted worst among those without a wish; None if all are as they were observed."""
        losses = self._losses(theta)
        losses[[i for i, _ in wishes]] = -1.0
        at = int(np.argmax(losses))
        if losses[at] > 0:
            return at
        return None
