"""The solvers for robust logistic regression by name."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from surefoot.core.outcome import SolveOutcome
from surefoot.core.registry import SolverRegistry
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem, ShiftPlan

RobustOutcome = SolveOutcome[RobustCoefficients, ShiftPlan]


class RobustLogisticSolver(Protocol):
    """A :class:`~surefoot.core.registry.Solver` of :class:`RobustLogisticProblem` that may start from a known model."""

    @property
    def name(self) -> str: ...

    def refuses(self, problem: RobustLogisticProblem) -> str | None: ...

    def solve(
        self, problem: RobustLogisticProblem, options: SolveOptions, warm_start: RobustCoefficients | None = None
    ) -> RobustOutcome: ...


# "auto" chooses by size between "sqp" and "wide".
SOLVERS: SolverRegistry[RobustLogisticSolver] = SolverRegistry(
    {
        "auto": "surefoot.robust.automatic:Automatic",
        "sqp": "surefoot.robust.sqp.sqp:SQP",
        "graph": "surefoot.robust.conic.graph:Graph",
        "cutting-plane": "surefoot.robust.conic.scenario_cuts:ScenarioCuts",
        "lp-admm": "surefoot.robust.first_order.lp_admm:LpAdmm",
        "wide": "surefoot.robust.wide.wide:Wide",
        "conic": "surefoot.robust.conic.monolithic:Monolithic",
    },
    advice="Use solver='auto'.",
    default="sqp",
)
make_solver = SOLVERS.make
require_acceptance = SOLVERS.require_acceptance


def ranges_refused(problem: RobustLogisticProblem) -> str | None:
    """Why a method that moves numeric columns without end, or not at all, cannot take the problem, or None."""
    if problem.cost.numeric_ranges is None:
        return None
    at = int(np.flatnonzero(np.isfinite(problem.cost.numeric_ranges[:, 0]))[0])
    return f"numeric column {at} has a range, and this method knows columns that move without end or never."
