"""The best plane and the best bound that a solver for chance-constrained SVMs has seen."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from surefoot.problems.arrays import FloatArray
from surefoot.problems.chance_svm import ChanceSVMProblem, EllipsoidMix, KernelPlane
from surefoot.solvers.chance_registry import ChanceOutcome
from surefoot.solvers.outcome import Progress, SolveOutcome, Status


class BestPlane:
    """Begins with w = 0 and the bound 0: no loss is negative."""

    def __init__(self, problem: ChanceSVMProblem) -> None:
        self.problem = problem
        nothing, demands = np.zeros(problem.n_samples), np.ones(problem.n_batches)
        self.plane = KernelPlane(nothing, problem.best_intercept(demands))
        self.upper, self.lower = problem.hinge(demands, self.plane.intercept), 0.0
        self.mix = EllipsoidMix(nothing)

    @property
    def relative_gap(self) -> float:
        return (self.upper - self.lower) / self.upper if self.upper > 0 else self.upper - self.lower

    def offer(self, coefficients: FloatArray, values: FloatArray, squared_length: float) -> None:
        """Take a w, given by its coefficients, its values at the samples and its length, with its best intercept."""
        demands = self.problem.demands(values, squared_length)
        intercept = self.problem.best_intercept(demands)
        upper = 0.5 * float(squared_length) + self.problem.hinge(demands, intercept)
        if upper < self.upper:
            self.upper, self.plane = upper, KernelPlane(coefficients, intercept)

    def offer_bound(self, coefficients: FloatArray, bound: float) -> None:
        """Take a mix and what it proves."""
        if bound > self.lower:
            self.lower, self.mix = bound, EllipsoidMix(coefficients)

    def outcome(
        self, status: Status, history: Sequence[Progress], started: float, iterations: int | None = None
    ) -> ChanceOutcome:
        """What a solver returns that began at ``started``."""
        return SolveOutcome(
            status=status,
            primal=self.plane,
            dual=self.mix,
            upper_bound=self.upper,
            lower_bound=self.lower,
            iterations=len(history) if iterations is None else iterations,
            seconds=time.perf_counter() - started,
            history=tuple(history),
        )
