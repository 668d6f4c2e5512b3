"""Cone programmes by Clarabel, an interior-point method; the only importer of it, when a programme is solved.

min 1/2 x' P x + q . x   subject to   b - A x in a product of cones.
"""

from __future__ import annotations

import signal
import threading
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import scipy.sparse

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions

if TYPE_CHECKING:
    import clarabel

ConeKind = Literal["zero", "nonnegative", "second-order", "psd", "exponential"]


class Cone(NamedTuple):
    """A cone of so many rows; for "psd" the order of the matrix.

    The rows of a "psd" cone are the upper triangle, column by column, off-diagonal entries times sqrt(2). An "exponential" cone
    {(p, q, t): q exp(p / q) <= t} has three rows.
    """

    kind: ConeKind
    size: int


@dataclass(frozen=True)
class ConeSettings:
    """How Clarabel iterates.

    Attributes
    ----------
    step_fraction : float
        The fraction of the way to the boundary of the cones that a step may take. Clarabel's own is 0.99; shorter steps stay
        central, which ties want, and cost iterations.
    switch_step_length : float
        The step length below which the scaling of the cones changes. Clarabel's own is 0.1; shorter is safer and takes more
        iterations.
    equilibrate : bool
        Whether rows and columns are scaled first.
    tolerance : float or None
        On relative gap, absolute gap and residuals. None: a little below what the options ask for.
    objective_scale : float
        What the optimum is expected to be; Clarabel takes gaps as relative to objectives above 1 only.
    max_iter : int
        Iterations; a solve that converges takes 10 to 60.
    stall_fraction, stall_iterations : float, int
        A solve whose relative gap has not fallen to this fraction in so many iterations has stalled. Ties can keep Clarabel
        going for hundreds of iterations without arriving; solves that arrive stay clear of this (tables of bench_sqp_vs_graph).
    least_tolerance : float
        Clarabel gets no closer than this on gaps and residuals, whatever the options say.
    """

    step_fraction: float = 0.99
    switch_step_length: float = 0.1
    equilibrate: bool = True
    tolerance: float | None = None
    objective_scale: float = 1.0
    max_iter: int = 400
    stall_fraction: float = 0.6
    stall_iterations: int = 30
    least_tolerance: float = 1e-11


# For masters and oracles, whose answers other methods go on with: as close as Clarabel comes without stalling.
CLOSE = ConeSettings(tolerance=1e-10)


@dataclass(frozen=True, eq=False)
class ConeResult:
    """Where an interior point ended.

    Attributes
    ----------
    x : ndarray
        The unknowns.
    multipliers : ndarray
        One per row of the programme, in the dual cones up to rounding.
    status : Status
        ``OPTIMAL`` if Clarabel met its own tolerances.
    nearly : bool
        Whether it met reduced tolerances at least.
    iterations : int
    """

    x: FloatArray
    multipliers: FloatArray
    status: Status
    nearly: bool
    iterations: int

    @property
    def ended(self) -> Status:
        """The status, for methods that can use a nearly solved programme, and to which all failures are one."""
        if self.nearly:
            return Status.OPTIMAL
        return self.status if self.status in (Status.TIME_LIMIT, Status.ITERATION_LIMIT) else Status.STALLED


@dataclass(frozen=True, eq=False)
class ConeProgramme:
    """min 1/2 x' quadratic x + cost . x  subject to  right - matrix x in the cones, in the order of the rows.

    Of ``quadratic`` only the upper triangle is read; a vector is a diagonal, None is 0.
    """

    cost: FloatArray
    matrix: scipy.sparse.csc_matrix
    right: FloatArray
    cones: tuple[Cone, ...]
    quadratic: scipy.sparse.csc_matrix | FloatArray | None = None

    def solve(self, options: SolveOptions, settings: ConeSettings | None = None) -> ConeResult:
        """Run Clarabel within what is left of the options' time, and for a millisecond at least."""
        import clarabel

        chosen = ConeSettings() if settings is None else settings
        solver = clarabel.DefaultSolver(
            self._curvature(),
            self.cost,
            self.matrix,
            self.right,
            [_native_cone(cone) for cone in self.cones if cone.size],
            _native_settings(options, chosen),
        )
        result = _StallMonitor(chosen).solve(solver)
        x, multipliers = (np.nan_to_num(np.asarray(part), nan=0.0, posinf=0.0, neginf=0.0) for part in (result.x, result.z))
        name = str(result.status)
        return ConeResult(x, multipliers, _STATUS[name], name in ("Solved", "AlmostSolved"), int(result.iterations))

    def _curvature(self) -> scipy.sparse.csc_matrix:
        n = self.cost.size
        if self.quadratic is None:
            return scipy.sparse.csc_matrix((n, n))
        if isinstance(self.quadratic, np.ndarray):
            place = np.arange(n + 1)
            return scipy.sparse.csc_matrix((self.quadratic, place[:-1], place), shape=(n, n))
        return scipy.sparse.triu(self.quadratic, format="csc")


_CONES: dict[ConeKind, str] = {
    "zero": "ZeroConeT",
    "nonnegative": "NonnegativeConeT",
    "second-order": "SecondOrderConeT",
    "psd": "PSDTriangleConeT",
    "exponential": "ExponentialConeT",
}
# Every status that Clarabel has, by name.
_STATUS = {
    "Solved": Status.OPTIMAL,
    "AlmostSolved": Status.STALLED,
    "PrimalInfeasible": Status.INFEASIBLE,
    "AlmostPrimalInfeasible": Status.INFEASIBLE,
    "DualInfeasible": Status.UNBOUNDED,
    "AlmostDualInfeasible": Status.UNBOUNDED,
    "MaxIterations": Status.ITERATION_LIMIT,
    "MaxTime": Status.TIME_LIMIT,
    "InsufficientProgress": Status.STALLED,
    "CallbackTerminated": Status.STALLED,
    "NumericalError": Status.NUMERICAL_ERROR,
    "Unsolved": Status.NUMERICAL_ERROR,
}


def _native_cone(cone: Cone) -> Any:
    import clarabel

    kind = getattr(clarabel, _CONES[cone.kind])
    return kind() if cone.kind == "exponential" else kind(cone.size)


def _native_settings(options: SolveOptions, chosen: ConeSettings) -> clarabel.DefaultSettings:
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    if hasattr(settings, "max_threads"):  # not in every release of Clarabel
        settings.max_threads = options.n_threads
    settings.max_iter = chosen.max_iter
    settings.max_step_fraction = chosen.step_fraction
    settings.min_switch_step_length = chosen.switch_step_length
    settings.equilibrate_enable = chosen.equilibrate
    tolerance = chosen.tolerance
    if tolerance is None:
        tolerance = min(1e-8, max(options.tolerance * min(1.0, chosen.objective_scale), chosen.least_tolerance))
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = tolerance
    if options.time_limit is not None:
        settings.time_limit = max(options.time_limit - options.elapsed, 1e-3)
    return settings


class _StallMonitor:
    """Looks on while Clarabel runs: ends a solve that stalls, and lets Ctrl-C end it after the iteration at hand.

    Clarabel swallows exceptions that are raised while it runs, so the signal only leaves a mark there and is raised again,
    for whatever handler the program has, once Clarabel is back. Only the main thread may touch handlers; in others Ctrl-C
    is none of our business.
    """

    def __init__(self, settings: ConeSettings) -> None:
        self.settings = settings
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
        window, fraction = self.settings.stall_iterations, self.settings.stall_fraction
        stalled = len(self.gaps) > window and self.gaps[-1] > fraction * self.gaps[-1 - window]
        return self.interrupted or stalled
