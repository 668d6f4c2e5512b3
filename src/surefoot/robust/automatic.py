"""The choice between a dense and a matrix-free second-order method, by size."""

from __future__ import annotations

from itertools import chain

from surefoot.core.solve_options import SolveOptions
from surefoot.robust.dear_columns import relaxed_attempts
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.registry import RobustLogisticSolver, RobustOutcome
from surefoot.robust.second_attempts import finish
from surefoot.robust.small_cones import conic_attempts
from surefoot.robust.sqp.sqp import SQP
from surefoot.robust.wide.wide import Wide


class Automatic:
    """SQP, or matrix-free Newton steps where a Hessian over all coefficients would not fit.

    ``name`` is that of the solver chosen, once a problem has been seen.
    """

    name = "auto"

    def __init__(self) -> None:
        # The same ones for every problem: they remember the rows of the last.
        self._dense, self._matrix_free = SQP(), Wide()

    def refuses(self, problem: RobustLogisticProblem) -> str | None:
        """Why the solver that fits the problem best cannot take it, or None."""
        return self._choose(problem).refuses(problem)

    def solve(
        self, problem: RobustLogisticProblem, options: SolveOptions, warm_start: RobustCoefficients | None = None
    ) -> RobustOutcome:
        """Solve with the method chosen; if that one got stuck, without columns that are too dear to move, and as cones."""
        chosen = self._choose(problem)
        outcome = chosen.solve(problem, options, warm_start)
        attempts = chain(relaxed_attempts(chosen.solve, problem, options), conic_attempts(chosen.solve, problem, options))
        return finish(attempts, options, outcome)

    def _choose(self, problem: RobustLogisticProblem) -> RobustLogisticSolver:
        fits = self._dense.refuses(problem) is None or self._matrix_free.refuses(problem) is not None
        chosen: RobustLogisticSolver = self._dense if fits else self._matrix_free
        self.name = chosen.name
        return chosen
