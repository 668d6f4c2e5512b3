"""State of one solve of a chance-constrained SVM: the incumbent plane, the dual bound, the history.

An incumbent comes as a direction w. With slope_i the part of the demand of batch i that is in proportion to w,

    g(s) = 1/2 s^2 ||w||^2 + L(s),      L(s) = min over b of  sum_i C_i max(0, 1 + s slope_i - y_i b),

is minimised over s in a bracket by an exact line search. By linear programming duality

    L(s) = max over alpha of  sum_i alpha_i (1 + s slope_i)    subject to  0 <= alpha_i <= C_i,  sum_i y_i alpha_i = 0,

so L is convex and piecewise linear, and every alpha gives a supporting line.

Step. The lines at the two ends of the bracket say where in it g can be least: where they cross, or where one of them and the
quadratic are least together. The supporting line there replaces the one on its side of the minimum.
Termination. The line there lies on the other two up to rounding: this piece holds the minimum. That takes about as many steps
as bisection among the pieces.

Reserve. Where C is large a margin that is missed in the last digit costs more than the gap. So scale and intercept are those of
slope_i + reserve, a small fraction of the tolerance: then margins hold in any arithmetic, an independent one's included. Since
at an optimum the C_i of batches at or beyond their margin sum to at most twice the objective, this costs at most twice the
reserve, relative to it.
"""

from __future__ import annotations

import numpy as np

from surefoot.chancesvm.problem.problem import ChanceSVMProblem, EllipsoidMix, KernelPlane
from surefoot.chancesvm.solvers.parameters import PlaneScaleParameters
from surefoot.core.arrays import FloatArray
from surefoot.core.solve_options import SolveOptions
from surefoot.core.solve_run import SolveRun


class PlaneRun(SolveRun[KernelPlane, EllipsoidMix]):
    """Begins with w = 0 and the bound 0: no loss is negative."""

    def __init__(
        self, problem: ChanceSVMProblem, options: SolveOptions, parameters: PlaneScaleParameters | None = None
    ) -> None:
        self.problem = problem
        self.parameters = PlaneScaleParameters() if parameters is None else parameters
        zero, demands = np.zeros(problem.n_samples), np.ones(problem.n_batches)
        intercept = problem.best_intercept(demands)
        super().__init__(
            options,
            KernelPlane(zero, intercept),
            problem.hinge(demands, intercept),
            lower_bound=0.0,
            dual=EllipsoidMix(zero),
        )

    def improve_along(self, coefficients: FloatArray, values: FloatArray, squared_norm: float, *, wide: bool = False) -> None:
        """Take s w with the best s in the bracket and the best intercept, if it is better than the incumbent.

        Where the optimum has no slack, a w that is too short by 1e-9 of its length costs C times that for every batch at the
        margin, and a w that is longer by as much next to nothing: hence the line search.

        Parameters
        ----------
        coefficients, values : ndarray of shape (n_samples,)
            w as a combination of samples, and w . phi(x_s).
        squared_norm : float
            ||w||^2.
        wide : bool
            Whether w solves another problem and may be off in scale by much.
        """
        slopes = self.problem.demands(values, squared_norm) - 1.0
        reserved = slopes + self.parameters.reserve * self.options.tolerance
        scale = _best_scale(self.problem, reserved, squared_norm, self.parameters, wide=wide)
        intercept = self.problem.best_intercept(1.0 + scale * reserved)
        upper = 0.5 * scale * scale * float(squared_norm) + self.problem.hinge(1.0 + scale * slopes, intercept)
        if upper < self.upper_bound:
            self.improve(KernelPlane(scale * coefficients, intercept), upper)


def _best_scale(
    problem: ChanceSVMProblem, slopes: FloatArray, squared_norm: float, parameters: PlaneScaleParameters, *, wide: bool
) -> float:
    """The s of the module docstring."""
    bracket = parameters.wide_bracket if wide else parameters.bracket
    left, right = (_supporting_line(problem, slopes, scale) for scale in bracket)
    scale = bracket[1]
    if squared_norm * bracket[1] + right[1] <= 0.0:
        return scale
    if squared_norm * bracket[0] + left[1] >= 0.0:
        return bracket[0]
    for _ in range(parameters.max_pieces):
        scale = (left[0] - right[0]) / (right[1] - left[1]) if right[1] > left[1] else bracket[1]
        if squared_norm > 0:
            scale = min(max(scale, -right[1] / squared_norm), -left[1] / squared_norm)
        scale = min(max(scale, bracket[0]), bracket[1])
        here = _supporting_line(problem, slopes, scale)
        known = max(left[0] + scale * left[1], right[0] + scale * right[1])
        if here[0] + scale * here[1] <= known + parameters.loss_rounding * here[0]:
            break
        if squared_norm * scale + here[1] < 0.0:
            left = here
        else:
            right = here
    return scale


def _supporting_line(problem: ChanceSVMProblem, slopes: FloatArray, scale: float) -> tuple[float, float]:
    """Value at 0 and slope of the line that supports L at this scale."""
    labels, costs = problem.labels, problem.costs
    order = np.argsort(labels * (1.0 + scale * slopes))
    signs, ceilings = labels[order], costs[order]
    # Coming from an intercept of minus infinity, the slope before each breakpoint; the one where it turns is passed in part.
    before = np.cumsum(ceilings) - ceilings - float(costs[labels > 0].sum())
    passed = np.clip(-before, 0.0, ceilings)
    alpha = np.where(signs > 0, ceilings - passed, passed)
    return float(alpha.sum()), float(alpha @ slopes[order])
