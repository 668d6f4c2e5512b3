"""The solver ``"exact"``: the algorithm that closes the gap of an approach's problem."""

from __future__ import annotations

from surefoot.core.solve_options import SolveOptions
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.problem import InverseProblem
from surefoot.inverse.registry import EXACT_SOLVERS, InverseOutcome


class ExactSolver:
    """The exact algorithm of one approach, imported when it is made.

    Parameters
    ----------
    approach : str
    separation : Separation, optional
        One that has solved forward problems of the same examples before.
    """

    name = "exact"

    def __init__(self, approach: str, separation: Separation | None = None) -> None:
        self.algorithm = EXACT_SOLVERS.make(approach, Separation() if separation is None else separation)

    def refuses(self, problem: InverseProblem) -> str | None:
        """None: what an algorithm cannot take shows as it looks at the decisions, and it raises then."""
        return self.algorithm.refuses(problem)

    def solve(self, problem: InverseProblem, options: SolveOptions) -> InverseOutcome:
        """Solve the problem that the approach poses."""
        return self.algorithm.solve(problem, options)
