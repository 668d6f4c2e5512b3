"""The best plane and the best bound that a solver for chance-constrained SVMs has seen."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from surefoot.chancesvm.problem.problem import ChanceSVMProblem, EllipsoidMix, KernelPlane
from surefoot.chancesvm.registry import ChanceOutcome
from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Progress, SolveOutcome, Status

# Sizes of w that are tried, relative to the one it comes with.
NEAR_SIZES = (0.5, 2.0)
# Pieces of the loss that are looked at in the search for a size, and what of the loss rounding may have made.
MOST_PIECES, ROUNDING = 60, 1e-15


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
        size = _best_size(self.problem, slopes, squared_length, sizes)
        demands = 1.0 + size * slopes
        intercept = self.problem.best_intercept(demands)
        upper = 0.5 * size * size * float(squared_length) + self.problem.hinge(demands, intercept)
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


def _best_size(problem: ChanceSVMProblem, slopes: FloatArray, squared_length: float, sizes: tuple[float, float]) -> float:
    """The size s between two sizes at which w of this length, with its best intercept, has the least objective.

    The loss with the best intercept is the largest of sum_i alpha_i (1 + s slope_i) over the multipliers 0 <= alpha_i <= C_i
    with sum_i y_i alpha_i = 0, hence convex and piecewise linear in s, and every alpha makes a line below it. The two lines at
    the ends of an interval say where in it the objective can be least; the line there takes the place of one of them. This
    ends on the very piece of the minimum, after about as many steps as bisection has among the pieces.
    """
    left, right = (_line(problem, slopes, size) for size in sizes)
    size = sizes[1]
    if squared_length * sizes[1] + right[1] <= 0.0:
        return size
    if squared_length * sizes[0] + left[1] >= 0.0:
        return sizes[0]
    for _ in range(MOST_PIECES):
        # Where the lines cross; or where a line and the square of the length are least together, if that is nearer.
        size = (left[0] - right[0]) / (right[1] - left[1]) if right[1] > left[1] else sizes[1]
        if squared_length > 0:
            size = min(max(size, -right[1] / squared_length), -left[1] / squared_length)
        size = min(max(size, sizes[0]), sizes[1])
        here = _line(problem, slopes, size)
        known = max(left[0] + size * left[1], right[0] + size * right[1])
        if here[0] + size * here[1] <= known + ROUNDING * here[0]:
            break
        if squared_length * size + here[1] < 0.0:
            left = here
        else:
            right = here
    return size


def _line(problem: ChanceSVMProblem, slopes: FloatArray, size: float) -> tuple[float, float]:
    """Height at 0 and slope of the line that touches the loss at this size."""
    labels, costs = problem.labels, problem.costs
    order = np.argsort(labels * (1.0 + size * slopes))
    signs, ceilings = labels[order], costs[order]
    # Coming from an intercept of minus infinity, the slope before each breakpoint; the one where it turns is passed in part.
    before = np.cumsum(ceilings) - ceilings - float(costs[labels > 0].sum())
    passed = np.clip(-before, 0.0, ceilings)
    alpha = np.where(signs > 0, ceilings - passed, passed)
    return float(alpha.sum()), float(alpha @ slopes[order])
