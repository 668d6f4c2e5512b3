"""Truncated Newton steps for a convex function whose Hessian is known as a product only.

    min over x of f(x),     step d:  H d = -g  up to  || H d + g ||_M <= eta || g ||_M,     M = diag(H)^-1.

One step solves the Newton system by conjugate gradients, preconditioned with the diagonal, until the residual is the fraction
eta (the forcing term) of the gradient; then :func:`exact_line_search` finds where the slope along d has nearly vanished. It
ends early after a fixed number of products, where no curvature is left, and when time is up; the step is a direction of descent
all the same (Nocedal and Wright, Numerical Optimization, Section 7.1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.robust.wide.parameters import WideParameters


@dataclass(frozen=True)
class NewtonStep:
    """A step, and the norms of the gradient and of the residual of the Newton system, in the metric of the preconditioner."""

    step: FloatArray
    gradient_norm: float
    residual_norm: float


def truncated_newton_step(
    hessian_product: Callable[[FloatArray], FloatArray],
    gradient: FloatArray,
    diagonal: FloatArray,
    forcing_term: float,
    out_of_time: Callable[[], bool],
    parameters: WideParameters,
) -> NewtonStep:
    """Conjugate gradients, preconditioned by the diagonal, down to a residual of ``forcing_term`` times the gradient."""
    step = np.zeros_like(gradient)
    residual = -gradient
    preconditioned = residual / diagonal
    direction = preconditioned
    squared = initial = float(residual @ preconditioned)
    for _ in range(parameters.max_products):
        if squared <= forcing_term**2 * initial or out_of_time():
            break
        product = hessian_product(direction)
        curvature = float(direction @ product)
        if not curvature > 0:
            break
        length = squared / curvature
        step += length * direction
        residual = residual - length * product
        preconditioned = residual / diagonal
        new = float(residual @ preconditioned)
        direction = preconditioned + (new / squared) * direction
        squared = new
    return NewtonStep(step, float(np.sqrt(initial)), float(np.sqrt(squared)))


def exact_line_search(slope: Callable[[float], float], initial_slope: float, parameters: WideParameters) -> tuple[float, float]:
    """The step length at which the slope has nearly vanished, and a shorter one at which it was still negative.

    The function is convex along the direction, and evaluating it costs no product with the rows, so its minimum is sought:
    where a step crosses hinges, backtracking would stop well short of that.
    """
    low, high, length, slope_low = 0.0, np.inf, 1.0, initial_slope
    for _ in range(parameters.max_line_trials):
        here = slope(length)
        if abs(here) <= parameters.slope_fraction * abs(initial_slope) or (here < 0 and length >= parameters.longest_step):
            break
        if here < 0:
            low, slope_low = length, here
            length = 2.0 * length if np.isinf(high) else 0.5 * (low + high)
        else:
            high = length
            # The secant, safeguarded away from the ends.
            length = low + (high - low) * min(max(slope_low / (slope_low - here), 0.1), 0.9)
    return length, low
