"""The smallest ellipsoid around points, within the plane they span.

    max over weights w >= 0 of sum 1 of   log det sum_k w_k q_k q_k',     q_k = (p_k, 1)

is its dual, and d = dimension + 1 the value of every active q_k' M(w)^-1 q_k at the optimum. One step of Khachiyan's method
moves weight to the point of the largest such value, or, as an away step, from the active point of the smallest one, whichever
violates the optimality conditions more, with exact line search (Todd and Yildirim, 2007). Termination: both violations are at
most gap * d.
"""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.inverse.exact.parameters import MinimumEllipsoidParameters

PARAMETERS = MinimumEllipsoidParameters()


def ellipsoid_center(
    points: FloatArray, options: SolveOptions | None = None, parameters: MinimumEllipsoidParameters = PARAMETERS
) -> tuple[FloatArray, FloatArray, Status]:
    """The centre of the ellipsoid, the weights of the points, and whether the optimality conditions were met."""
    middle = points.mean(axis=0)
    _, size, axes = np.linalg.svd(points - middle, full_matrices=False)
    rank = int((size > parameters.rank * max(float(size[0]), 1e-300)).sum()) if size.size else 0
    if rank == 0:
        return middle, np.full(len(points), 1.0 / len(points)), Status.OPTIMAL
    flat = (points - middle) @ axes[:rank].T
    lifted = np.hstack((flat, np.ones((len(flat), 1))))
    d = rank + 1
    weights = np.full(len(flat), 1.0 / len(flat))
    ended = Status.ITERATION_LIMIT
    for _ in range(parameters.max_steps):
        if options is not None and options.out_of_time:
            ended = Status.TIME_LIMIT
            break
        try:
            inverse = np.linalg.inv((lifted * weights[:, None]).T @ lifted)
        except np.linalg.LinAlgError:  # ends that lie in a plane but for rounding
            ended = Status.STALLED
            break
        values = np.einsum("ki,ij,kj->k", lifted, inverse, lifted)
        largest, smallest = int(np.argmax(values)), int(np.argmin(np.where(weights > parameters.support, values, np.inf)))
        if values[largest] - d <= parameters.gap * d and d - values[smallest] <= parameters.gap * d:
            ended = Status.OPTIMAL
            break
        if values[largest] - d >= d - values[smallest]:
            step, at = (values[largest] - d) / (d * (values[largest] - 1.0)), largest
        else:
            step = (values[smallest] - d) / (d * (values[smallest] - 1.0))
            step, at = max(step, -weights[smallest] / (1.0 - weights[smallest])), smallest
        weights = (1.0 - step) * weights
        weights[at] += step
    return middle + (weights @ flat) @ axes[:rank], weights, ended
