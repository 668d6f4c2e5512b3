"""Cone programmes by Clarabel, the only importer of it.

:class:`SoftplusProgramme` takes constraints softplus(c . x) <= a . x, which say

    exp(-a . x) + exp((c - a) . x) <= 1,

with one auxiliary v as (-a . x, 1, 1 - v) and ((c - a) . x, 1, v) in the exponential cone {(p, q, t): q exp(p / q) <= t}.
If z and z' are the multipliers of the two cones, then -(z_p + z'_p) is the mass of the constraint and -z'_p its flow, mass
times slope. Besides, there may be one second-order cone, for numeric shifts that are priced in the l2 norm.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import clarabel
import numpy as np
import scipy.sparse

from surefoot.core.arrays import FloatArray, IndexArray
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions

DEFAULT_ITERATIONS = 400


@dataclass(frozen=True)
class Pace:
    """How boldly Clarabel walks towards the boundary of its cones.

    With its defaults (0.99, 0.1, True) it stalls short of the optimum on tables with many ties. No single setting got through
    all the tables we tried, but what one of these paces left open another closed.

    Attributes
    ----------
    step_fraction : float
        The share of the way to the boundary that a step may take.
    switch_length : float
        The step length below which the scaling of the cones changes. Shorter is safer and takes more iterations.
    equilibrate : bool
        Whether Clarabel scales rows and columns; they are near 1 as they come.
    """

    step_fraction: float
    switch_length: float
    equilibrate: bool


PACES = (Pace(0.9, 0.03, True), Pace(0.9, 0.03, False), Pace(0.9, 0.01, True), Pace(0.9, 0.01, False))
# An interior point that has not cut its gap to this share in so many iterations is creeping and will not arrive.
CREEPING_SHARE, CREEPING_ITERATIONS = 0.6, 30


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

    def solve(
        self, options: SolveOptions, *, worth: float = 1.0, pace: Pace = PACES[0], max_iter: int = DEFAULT_ITERATIONS
    ) -> ConeSolution:
        """Run Clarabel within what is left of the options' time; ``worth`` is what the optimum is expected to be."""
        n_limits, n_softplus = self.limits.shape[0], self.arguments.shape[0]
        if options.out_of_time:
            nothing = np.zeros(n_softplus)
            return ConeSolution(np.zeros(self.cost.size), np.zeros(n_limits), nothing, nothing, Status.TIME_LIMIT, 0)
        # Costs near 1: the dual residual is an absolute number, and weights of 1/N would drown in it.
        scale = 1.0 / float(np.abs(self.cost[self.cost != 0]).mean())
        matrix, right, used = self._standard_form()
        cost = np.concatenate((scale * self.cost[used], np.zeros(n_softplus)))
        cones = [clarabel.NonnegativeConeT(n_limits)] if n_limits else []
        cones += [clarabel.SecondOrderConeT(self.n_cone)] if self.n_cone else []
        cones += [clarabel.ExponentialConeT()] * (2 * n_softplus)
        quadratic = scipy.sparse.csc_matrix((cost.size, cost.size))
        solver = clarabel.DefaultSolver(
            quadratic, cost, matrix, right, cones, _settings(options, scale * worth, pace, max_iter)
        )
        result = _Watch().solve(solver)
        x = np.zeros(self.cost.size)
        x[used] = np.asarray(result.x)[: used.size]
        dual = np.asarray(result.z) / scale
        cone_dual = dual[n_limits + self.n_cone :].reshape(n_softplus, 2, 3)
        flow = np.maximum(-cone_dual[:, 1, 0], 0.0)
        mass = np.maximum(-cone_dual[:, 0, 0], 0.0) + flow
        x, dual, mass, flow = (np.nan_to_num(part, nan=0.0, posinf=0.0, neginf=0.0) for part in (x, dual, mass, flow))
        ended = _ENDED.get(str(result.status), Status.STALLED)
        return ConeSolution(x, np.maximum(dual[:n_limits], 0.0), mass, flow, ended, int(result.iterations))

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


@dataclass(frozen=True)
class NormProgramme:
    """min 1/2 x' quadratic x + cost . x  subject to  right - matrix x in the cones.

    The first ``n_linear`` rows must not be negative; the others come in groups of the sizes ``norms``, in each of which the
    first entry is at least the Euclidean length of the others. Only the upper triangle of ``quadratic`` is read.
    """

    quadratic: scipy.sparse.csc_matrix
    cost: FloatArray
    matrix: scipy.sparse.csc_matrix
    right: FloatArray
    n_linear: int
    norms: tuple[int, ...]

    def solve(self, options: SolveOptions, max_iter: int = DEFAULT_ITERATIONS) -> tuple[FloatArray, FloatArray, Status, int]:
        """Unknowns and multipliers, how Clarabel ended, and its iterations; zeros if there was no time."""
        if options.out_of_time:
            return np.zeros(self.cost.size), np.zeros(self.right.size), Status.TIME_LIMIT, 0
        cones = [clarabel.NonnegativeConeT(self.n_linear), *map(clarabel.SecondOrderConeT, self.norms)]
        settings = _settings(options, 1.0, Pace(0.99, 0.1, True), max_iter)
        result = _Watch().solve(clarabel.DefaultSolver(self.quadratic, self.cost, self.matrix, self.right, cones, settings))
        x, dual = (np.nan_to_num(np.asarray(part), posinf=0.0, neginf=0.0) for part in (result.x, result.z))
        return x, dual, _ENDED.get(str(result.status), Status.STALLED), int(result.iterations)


@dataclass(frozen=True)
class CentralPoint:
    """Where an interior point ended: the unknowns and the multipliers, one per row, block after block."""

    x: FloatArray
    multipliers: FloatArray
    ended: Status


def solve_cones(
    curvature: scipy.sparse.csc_matrix | FloatArray | None,
    cost: FloatArray,
    rows: scipy.sparse.csc_matrix,
    sides: FloatArray,
    cones: Sequence[tuple[str, int]],
    options: SolveOptions,
) -> CentralPoint:
    """min 1/2 x' curvature x + cost . x  subject to  sides - rows x in a product of cones; a vector is a diagonal curvature.

    ``cones`` names them in the order of the rows, with their sizes: "zero", "nonnegative", "second-order", "psd" (the order of
    the matrix; its rows are the upper triangle, column by column, off-diagonal entries times sqrt(2)) and "exponential" (3).
    """
    made = {
        "zero": clarabel.ZeroConeT,
        "nonnegative": clarabel.NonnegativeConeT,
        "second-order": clarabel.SecondOrderConeT,
        "psd": clarabel.PSDTriangleConeT,
        "exponential": lambda _size: clarabel.ExponentialConeT(),
    }
    if curvature is None:
        matrix = scipy.sparse.csc_matrix((cost.size, cost.size))
    elif isinstance(curvature, np.ndarray):
        place = np.arange(cost.size + 1)
        matrix = scipy.sparse.csc_matrix((curvature, place[:-1], place), shape=(cost.size, cost.size))
    else:
        matrix = scipy.sparse.triu(curvature, format="csc")
    settings = _settings(options, 1.0, Pace(0.99, 0.1, True), DEFAULT_ITERATIONS)
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = 1e-10
    parts = [made[name](size) for name, size in cones if size]
    result = _Watch().solve(clarabel.DefaultSolver(matrix, cost, rows, sides, parts, settings))
    x, multipliers = (np.nan_to_num(np.asarray(part), nan=0.0, posinf=0.0, neginf=0.0) for part in (result.x, result.z))
    name = str(result.status)
    ended = Status.OPTIMAL if name == "AlmostSolved" else _ENDED.get(name, Status.STALLED)
    return CentralPoint(x, multipliers, ended)


_ENDED = {"Solved": Status.OPTIMAL, "MaxTime": Status.TIME_LIMIT, "MaxIterations": Status.ITERATION_LIMIT}


def _settings(options: SolveOptions, worth: float, pace: Pace, max_iter: int) -> clarabel.DefaultSettings:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    if hasattr(settings, "max_threads"):  # not in every release of Clarabel
        settings.max_threads = options.n_threads
    settings.max_iter = max_iter
    settings.max_step_fraction = pace.step_fraction
    settings.min_switch_step_length = pace.switch_length
    settings.equilibrate_enable = pace.equilibrate
    # Clarabel takes gaps as relative to objectives above 1 only, and gets no closer than 1e-11.
    tolerance = min(1e-8, max(options.tolerance * min(1.0, worth), 1e-11))
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = tolerance
    if options.time_limit is not None:
        settings.time_limit = max(options.time_limit - options.elapsed, 1e-3)
    return settings


class _Watch:
    """Looks on while Clarabel runs: ends a solve that creeps, and lets Ctrl-C end it after the iteration at hand.

    Clarabel swallows exceptions that are raised while it runs, so the signal only leaves a mark there and is raised again,
    for whatever handler the program has, once Clarabel is back. Only the main thread may touch handlers; in others Ctrl-C
    is none of our business.
    """

    def __init__(self) -> None:
        self.interrupted = False
        self.gaps: list[float] = []

    def solve(self, solver: clarabel.DefaultSolver) -> Any:
        if hasattr(solver, "set_termination_callback"):  # not in every release of Clarabel
            solver.set_termination_callback(self._enough)
        previous = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or not callable(previous):
            return solver.solve()
        signal.signal(signal.SIGINT, self._mark)
        try:
            result = solver.solve()
        finally:
            signal.signal(signal.SIGINT, previous)
        if self.interrupted:
            signal.raise_signal(signal.SIGINT)
        return result

    def _mark(self, _number: int, _frame: FrameType | None) -> None:
        self.interrupted = True

    def _enough(self, info: Any) -> bool:
        self.gaps.append(float(info.gap_rel))
        creeps = len(self.gaps) > CREEPING_ITERATIONS and self.gaps[-1] > CREEPING_SHARE * self.gaps[-1 - CREEPING_ITERATIONS]
        return self.interrupted or creeps
