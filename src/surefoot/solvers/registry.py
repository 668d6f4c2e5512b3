"""Names of the solvers, and the refusal of a problem a solver does not accept."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from surefoot.exceptions import UnsupportedProblemError
from surefoot.problems.robust_logistic import RobustCoefficients, RobustLogisticProblem, ShiftPlan
from surefoot.solvers.outcome import Progress, SolveOutcome

RobustOutcome = SolveOutcome[RobustCoefficients, ShiftPlan]


@dataclass(frozen=True)
class SolveOptions:
    """When to stop and whom to tell.

    ``tolerance`` is the relative gap (upper - lower) / |upper| to reach. With ``settle``, and a tolerance that is not coarse, a
    solver that can do so goes on until the coefficients themselves stand still, so that they do not depend on where it came
    from; otherwise it stops as soon as the gap is closed. ``on_progress`` is called once per iteration, and before the first if
    a good model is known by then (iteration 0); an exception it raises ends the solve and reaches the caller.
    """

    tolerance: float = 1e-6
    max_iter: int | None = None
    time_limit: float | None = None
    n_threads: int = 1
    settle: bool = True
    on_progress: Callable[[Progress], None] | None = None
    started: float = field(default_factory=time.perf_counter)

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self.started

    @property
    def out_of_time(self) -> bool:
        return self.time_limit is not None and self.elapsed >= self.time_limit


class RobustLogisticSolver(Protocol):
    """An algorithm for :class:`RobustLogisticProblem`; ``refuses`` returns why it cannot take one, or None."""

    name: str

    def refuses(self, problem: RobustLogisticProblem) -> str | None: ...

    def solve(
        self, problem: RobustLogisticProblem, options: SolveOptions, warm_start: RobustCoefficients | None = None
    ) -> RobustOutcome: ...


def make_solver(name: str) -> RobustLogisticSolver:
    """The solver of that name; ``"auto"`` chooses by size between ``"sqp"`` and ``"wide"``."""
    # Imported here: the solvers import this module for their types.
    from surefoot.solvers.automatic import Automatic
    from surefoot.solvers.conic import Monolithic
    from surefoot.solvers.graph import Graph
    from surefoot.solvers.lp_admm import LpAdmm
    from surefoot.solvers.scenario_cuts import ScenarioCuts
    from surefoot.solvers.sqp import SQP
    from surefoot.solvers.wide import Wide

    makers: dict[str, Callable[[], RobustLogisticSolver]] = {
        "auto": Automatic,
        "sqp": SQP,
        "graph": Graph,
        "cutting-plane": ScenarioCuts,
        "lp-admm": LpAdmm,
        "wide": Wide,
        "conic": Monolithic,
    }
    if name not in makers:
        raise ValueError(f"solver={name!r} is not known. Choose one of {', '.join(map(repr, makers))}.")
    return makers[name]()


def require_acceptance(solver: RobustLogisticSolver, problem: RobustLogisticProblem) -> None:
    """Raise if the solver does not accept the problem."""
    reason = solver.refuses(problem)
    if reason is not None:
        advice = "" if solver.name == "sqp" else " Use solver='auto'."
        raise UnsupportedProblemError(f"solver={solver.name!r} cannot solve this problem: {reason}{advice}")
