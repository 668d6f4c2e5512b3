"""Names of the solvers for chance-constrained SVMs, and the refusal of a problem a solver does not accept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from surefoot.exceptions import UnsupportedProblemError
from surefoot.problems.chance_svm import ChanceSVMProblem, EllipsoidMix, KernelPlane
from surefoot.solvers.outcome import SolveOutcome
from surefoot.solvers.registry import SolveOptions

ChanceOutcome = SolveOutcome[KernelPlane, EllipsoidMix]


class ChanceSVMSolver(Protocol):
    """An algorithm for :class:`ChanceSVMProblem`; ``refuses`` returns why it cannot take one, or None."""

    @property
    def name(self) -> str: ...

    def refuses(self, problem: ChanceSVMProblem) -> str | None: ...

    def solve(self, problem: ChanceSVMProblem, options: SolveOptions) -> ChanceOutcome: ...


def make_chance_solver(name: str) -> ChanceSVMSolver:
    """The solver of that name; ``"auto"`` is ``"worst-points"``."""
    # Imported here: the solvers import this module for their types.
    from surefoot.solvers.chance_admm import ChanceADMM
    from surefoot.solvers.chance_socp import ChanceSOCP
    from surefoot.solvers.worst_points import WorstPoints

    makers: dict[str, Callable[[], ChanceSVMSolver]] = {
        "auto": WorstPoints,
        "worst-points": WorstPoints,
        "socp": ChanceSOCP,
        "admm": ChanceADMM,
    }
    if name not in makers:
        raise ValueError(f"solver={name!r} is not known. Choose one of {', '.join(map(repr, makers))}.")
    return makers[name]()


def require_chance_acceptance(solver: ChanceSVMSolver, problem: ChanceSVMProblem) -> None:
    """Raise if the solver does not accept the problem."""
    reason = solver.refuses(problem)
    if reason is not None:
        raise UnsupportedProblemError(f"solver={solver.name!r} cannot solve this problem: {reason}")
