"""Tuning of the penalised fits, of rounding and of polishing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PathParameters:
    """Grid and Newton steps of the regularisation path. The grid is the paper's; the rest is not tuned.

    Attributes
    ----------
    mixtures : tuple of float
        Fractions alpha of the penalty that are l1.
    n_penalties : int
        Penalties per mixture.
    smallest_ratio : float
        The smallest penalty over the largest.
    least_mixture : float
        A mixture without l1 has no penalty that leaves all columns out; it takes the largest penalty of this one.
    flat_decrease : float
        Relative decrease of the loss from one penalty to the next below which a path has arrived at the fit without penalty.
    least_gain : float
        Relative gain over the empty model below which a path has not left its start, however flat it is.
    curvature_rows : int
        Rows, drawn once, whose Hessian is that of the quadratic model. More: better steps, longer ones.
    max_steps : int
        Newton steps per fit.
    tolerance : float
        Relative decrease of the objective at which a fit ends. Points are rounded to integers afterwards, so closer is no use.
    model_tolerance : float
        Decrease at which coordinate descent on the quadratic model ends, as a fraction of that of the fit.
    model_sweeps : int
        Most sweeps of it.
    least_step : float
        Step length below which the line search gives up.
    """

    mixtures: tuple[float, ...] = tuple(np.linspace(0.0, 1.0, 11))
    n_penalties: int = 100
    smallest_ratio: float = 1e-4
    least_mixture: float = 1e-3
    flat_decrease: float = 1e-5
    least_gain: float = 1e-3
    curvature_rows: int = 2048
    max_steps: int = 12
    tolerance: float = 1e-6
    model_tolerance: float = 0.01
    model_sweeps: int = 200
    least_step: float = 1e-4


@dataclass(frozen=True)
class RoundingParameters:
    """Steps between integer points.

    Attributes
    ----------
    integrality : float
        Distance to an integer below which a coordinate of a real-valued fit counts as integer: a fit is no more accurate.
    least_decrease : float
        Decrease of the objective that a change of a card must bring, in units of the loss: more than rounding errors could
        feign.
    longest_table : int
        Most entries of a table of log(1 + exp(score)). A longer one leaves the cache, and computing is faster than looking up.
    """

    integrality: float = 1e-9
    least_decrease: float = 1e-13
    longest_table: int = 1 << 14


ROUNDING_PARAMETERS = RoundingParameters()
