"""Inputs that are points: the plain support vector machine, by sequential minimal optimisation and an active set.

Where every batch is a single sample no ellipsoid is left, and the dual is that of the ordinary kernel machine,

    max over c of  sum_s |c_s| - 1/2 c' K c    subject to  0 <= y_s c_s <= C_s,   sum_s c_s = 0.

LIBSVM solves it for tens of thousands of points, with kernels in single precision: where C is large, that leaves a gap of 1e-5.
It has then found which coefficients are 0, which are at their ceiling and which are free; on the free ones the optimum is the
solution of

    K_FF c_F + b = y_F - K_FC c_C,     sum_F c_s = - sum_C c_s,

in double precision. Steps along it end at the first ceiling or zero that they meet, whose coefficient is no longer free.
"""

from __future__ import annotations

import warnings

import numpy as np
import scipy.linalg
import scipy.sparse

from surefoot.chancesvm.problem.problem import ChanceSVMProblem
from surefoot.chancesvm.solvers.feature_space import GramFeatureSpace
from surefoot.chancesvm.solvers.parameters import PointMachineParameters
from surefoot.core.arrays import FloatArray
from surefoot.core.backends.libsvm import PointDual
from surefoot.core.solve_options import SolveOptions


def is_of_points(problem: ChanceSVMProblem) -> bool:
    """Whether every input is one sample, of which nothing else is known."""
    return problem.n_samples == problem.n_batches and not problem.has_radii


def solve_points(
    problem: ChanceSVMProblem, space: GramFeatureSpace, options: SolveOptions, parameters: PointMachineParameters
) -> FloatArray | None:
    """Coefficients near the optimum, or None if there is no time for any, or none are finite."""
    labels, costs = problem.labels, problem.costs
    if space.gram is not None:
        rows, gamma = space.gram, None
    elif problem.kernel.name == "rbf":
        # Distances do not depend on where the origin is, but what cancels in them does.
        rows = problem.samples - (problem.samples.mean(axis=0) if problem.kernel.centre is None else problem.kernel.centre)
        gamma = problem.kernel.gamma
    else:
        return None
    dual = PointDual(rows, labels, costs, gamma, parameters.margin_tolerance, parameters.cache_megabytes)
    steps = _affordable_steps(dual, options, parameters)
    if steps == 0:
        return None
    found = dual.solve(steps)
    if not np.isfinite(found).all():
        return None
    found = labels * np.clip(labels * found, 0.0, costs)
    for _ in range(parameters.max_polishes):
        if options.out_of_time:
            break
        polished = _polished(problem, space, found, parameters)
        if polished is None:
            break
        found = polished
    return found


def _affordable_steps(dual: PointDual, options: SolveOptions, parameters: PointMachineParameters) -> int:
    """How many steps there is time for. LIBSVM looks at no clock, so its first steps are timed."""
    most = parameters.steps_a_point * dual.labels.size
    if options.time_limit is None:
        return most
    each = dual.seconds_a_step(parameters.timed_steps)
    return int(min(max(0.0, parameters.time_fraction * options.seconds_left / each), most))


def _polished(
    problem: ChanceSVMProblem, space: GramFeatureSpace, found: FloatArray, parameters: PointMachineParameters
) -> FloatArray | None:
    """One step of the active set; None if it changes nothing, or there are too many free coefficients."""
    weights, costs, labels = problem.labels * found, problem.costs, problem.labels
    near = parameters.near_ceiling * costs
    weights = np.where(weights <= near, 0.0, np.where(weights >= costs - near, costs, weights))
    free = np.flatnonzero((weights > 0.0) & (weights < costs))
    if free.size == 0 or free.size > parameters.most_free:
        return None
    signed = labels * weights
    values = space.values(space.images(scipy.sparse.csr_array(signed[None]))[:, 0])
    inner = space.gram[np.ix_(free, free)] if space.gram is not None else problem.kernel.products(*(problem.samples[free],) * 2)
    size = free.size
    system = np.ones((size + 1, size + 1))
    system[:size, :size] = inner
    system[np.arange(size), np.arange(size)] += parameters.ridge * float(np.trace(inner)) / size
    system[size, size] = 0.0
    right = np.append(labels[free] - values[free], -float(signed.sum()))
    try:
        with warnings.catch_warnings():
            # A step that an ill-conditioned system spoils is seen below, or in the gap.
            warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)
            change = labels[free] * scipy.linalg.solve(system, right, assume_a="symmetric")[:size]
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(change).all():
        return None
    room = np.where(change > 0, costs[free] - weights[free], weights[free])
    with np.errstate(divide="ignore", invalid="ignore"):
        step = min(1.0, float(np.where(change != 0, room / np.abs(change), np.inf).min()))
    weights[free] = np.clip(weights[free] + step * change, 0.0, costs[free])
    polished = labels * weights
    return None if np.array_equal(polished, found) else polished
