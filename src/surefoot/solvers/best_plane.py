"""The best plane and the best bound that a solver for chance-constrained SVMs has seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from surefoot.problems.arrays import FloatArray
from surefoot.problems.chance_svm import ChanceSVMProblem, EllipsoidMix, KernelPlane
from surefoot.solvers.chance_registry import ChanceOutcome
from surefoot.solvers.outcome import Progress, SolveOutcome, Status

# Sizes of w that are tried, relative to the one it comes with, and the interval left at the end, as a share of the gap at hand.
NEAR_SIZES, CLOSE = (0.5, 2.0), 1e-6
GOLDEN = 0.5 * (5.0**0.5 - 1.0)


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

    def offer(
        self,
        coefficients: FloatArray,
        values: FloatArray,
        squared_length: float,
        sizes: tuple[float, float] = NEAR_SIZES,
    ) -> None:
        """Take a w, given by its coefficients, its values at the samples and its length, with its best size and intercept.

        Demands are 1 plus something in proportion to w. Where the optimum has no slack, a w that is too short by a share of
        1e-9 pays C times that for every batch at the margin, and a w that is longer by as much next to nothing.
        """
        slopes = self.problem.demands(values, squared_length) - 1.0

        def objective(size: float) -> tuple[float, float]:
            demands = 1.0 + size * slopes
            intercept = self.problem.best_intercept(demands)
            return 0.5 * size * size * float(squared_length) + self.problem.hinge(demands, intercept), intercept

        size = _least(lambda size: objective(size)[0], sizes, max(CLOSE * min(self.relative_gap, 1.0), 1e-12))
        upper, intercept = objective(size)
        if upper < self.upper:
            self.upper, self.plane = upper, KernelPlane(size * coefficients, intercept)

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
            iterations=(history[-1].iteration if history else 0) if iterations is None else iterations,
            seconds=time.perf_counter() - started,
            history=tuple(history),
        )


def _least(function: Callable[[float], float], sizes: tuple[float, float], close: float) -> float:
    """Where a convex function of the size is least, by golden section until it is known so closely; 1 if nothing is better."""
    low, high = sizes
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    while high - low > close:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = function(right)
    return min((1.0, left, right), key=function)
