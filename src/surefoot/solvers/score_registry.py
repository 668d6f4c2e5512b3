"""Names of the solvers for score cards, and the refusal of a problem a solver does not accept."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from surefoot.exceptions import UnsupportedProblemError
from surefoot.problems.risk_score import RiskScore, RiskScoreProblem
from surefoot.solvers.outcome import SolveOutcome
from surefoot.solvers.registry import SolveOptions


class RiskScoreSolver(Protocol):
    """An algorithm for :class:`RiskScoreProblem`; ``refuses`` returns why it cannot take one, or None."""

    @property
    def name(self) -> str: ...

    def refuses(self, problem: RiskScoreProblem) -> str | None: ...

    def solve(self, problem: RiskScoreProblem, options: SolveOptions) -> SolveOutcome[RiskScore, Any]: ...


def make_score_solver(name: str) -> RiskScoreSolver:
    """The solver of that name."""
    # Imported here: solvers may import this module for its types.
    from surefoot.solvers.automatic_score import AutomaticScore
    from surefoot.solvers.cpa import CPA
    from surefoot.solvers.exact_score import ExactScore
    from surefoot.solvers.heuristic_score import HeuristicScore
    from surefoot.solvers.lcpa import LCPA
    from surefoot.solvers.rounded_score import NAMES, RoundedScore

    makers: dict[str, Callable[[], RiskScoreSolver]] = {
        "auto": AutomaticScore,
        "exact": ExactScore,
        "lcpa": LCPA,
        "cpa": CPA,
        "heuristic": HeuristicScore,
    }
    makers |= {rounded: partial(RoundedScore, rounded) for rounded in NAMES}
    if name not in makers:
        raise ValueError(f"solver={name!r} is not known. Choose one of {', '.join(map(repr, makers))}.")
    return makers[name]()


def require_score_acceptance(solver: RiskScoreSolver, problem: RiskScoreProblem) -> None:
    """Raise if the solver does not accept the problem."""
    reason = solver.refuses(problem)
    if reason is not None:
        raise UnsupportedProblemError(f"solver={solver.name!r} cannot solve this problem: {reason}")
