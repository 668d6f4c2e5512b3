"""Linear programmes with softplus constraints, as exponential-cone programmes.

    min cost . x   subject to   limits x <= ceilings,   softplus(c_k . x) <= a_k . x.

A softplus constraint says

    exp(-a . x) + exp((c - a) . x) <= 1,

with one auxiliary v as (-a . x, 1, 1 - v) and ((c - a) . x, 1, v) in the exponential cone {(p, q, t): q exp(p / q) <= t}. If z
and z' are the multipliers of the two cones, then -(z_p + z'_p) is the mass of the constraint and -z'_p its flow, mass times
slope. Besides, there may be one second-order cone, for numeric shifts that are priced in the l2 norm.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse

from surefoot.core.arrays import FloatArray, IndexArray
from surefoot.core.backends.clarabel import Cone, ConeProgramme, ConeSettings
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.conic.parameters import ConicParameters


@dataclass(frozen=True)
class ConeSolution:
    """Where an interior point ended.

    Attributes
    ----------
    x : ndarray
        The unknowns.
    multipliers : ndarray
        Of the linear limits, not negative.
    mass, flow : ndarray
        Of the softplus constraints: their multipliers, and those times the slope of softplus.
    ended : Status
        ``OPTIMAL`` if the interior point met its own tolerances.
    iterations : int
    """

    x: FloatArray
    multipliers: FloatArray
    mass: FloatArray
    flow: FloatArray
    ended: Status
    iterations: int


@dataclass(frozen=True)
class SoftplusProgramme:
    """min cost . x  subject to  limits x <= ceilings  and  softplus(arguments x) <= allowances x, row by row.

    If ``cone`` has rows, the first entry of ``cone x`` must also be at least the Euclidean length of the others. ``cost`` and
    the matrices may leave unknowns out that nothing depends on; those come back as 0.
    """

    cost: FloatArray
    limits: scipy.sparse.csr_array
    ceilings: FloatArray
    arguments: scipy.sparse.csr_array
    allowances: scipy.sparse.csr_array
    cone: scipy.sparse.csr_array | None = None

    @property
    def n_cone(self) -> int:
        return 0 if self.cone is None else int(self.cone.shape[0])

    def solve(self, options: SolveOptions, settings: ConeSettings = ConicParameters.cone_settings[0]) -> ConeSolution:
        """Solve within what is left of the options' time."""
        n_limits, n_softplus = self.limits.shape[0], self.arguments.shape[0]
        if options.out_of_time:
            nothing = np.zeros(n_softplus)
            return ConeSolution(np.zeros(self.cost.size), np.zeros(n_limits), nothing, nothing, Status.TIME_LIMIT, 0)
        # Costs near 1: the dual residual is an absolute number, and weights of 1/N would drown in it.
        scale = 1.0 / float(np.abs(self.cost[self.cost != 0]).mean())
        matrix, right, used = self._standard_form()
        cost = np.concatenate((scale * self.cost[used], np.zeros(n_softplus)))
        cones = (
            Cone("nonnegative", n_limits),
            Cone("second-order", self.n_cone),
            *((Cone("exponential", 3),) * (2 * n_softplus)),
        )
        scaled = replace(settings, objective_scale=scale * settings.objective_scale)
        result = ConeProgramme(cost, matrix, right, cones).solve(options, scaled)
        x = np.zeros(self.cost.size)
        x[used] = result.x[: used.size]
        dual = result.multipliers / scale
        cone_dual = dual[n_limits + self.n_cone :].reshape(n_softplus, 2, 3)
        flow = np.maximum(-cone_dual[:, 1, 0], 0.0)
        mass = np.maximum(-cone_dual[:, 0, 0], 0.0) + flow
        return ConeSolution(x, np.maximum(dual[:n_limits], 0.0), mass, flow, result.status, result.iterations)

    def _standard_form(self) -> tuple[scipy.sparse.csc_matrix, FloatArray, IndexArray]:
        """Clarabel's A and b of A x + s = b, s in the cones, and which unknowns occur at all."""
        n_limits, n_softplus = self.limits.shape[0], self.arguments.shape[0]
        first = self.allowances.tocoo()
        second = (self.allowances - self.arguments).tocoo()
        linear = self.limits if self.cone is None else scipy.sparse.vstack((self.limits, -self.cone))
        limits = linear.tocoo()
        width = self.cost.size
        entry = np.arange(n_softplus)
        base = n_limits + self.n_cone + 6 * entry
        row = np.concatenate((limits.row, base[first.row], base[second.row] + 3, base + 2, base + 5))
        column = np.concatenate((limits.col, first.col, second.col, width + entry, width + entry))
        value = np.concatenate((limits.data, first.data, second.data, np.ones(n_softplus), -np.ones(n_softplus)))
        present = value != 0
        row, column, value = row[present], column[present], value[present]
        occurs = np.zeros(width + n_softplus, dtype=np.bool_)
        occurs[column] = True
        place = np.cumsum(occurs) - 1
        used = np.flatnonzero(occurs[:width])
        shape = (n_limits + self.n_cone + 6 * n_softplus, used.size + n_softplus)
        matrix = scipy.sparse.csc_matrix((value, (row, place[column])), shape=shape)
        right = np.concatenate((self.ceilings, np.zeros(self.n_cone), np.tile([0.0, 1.0, 1.0, 0.0, 1.0, 0.0], n_softplus)))
        return matrix, right, used
