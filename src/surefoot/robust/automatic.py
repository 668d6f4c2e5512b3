"""The choice between a dense and a matrix-free second-order method, by size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from surefoot.core.solve_options import SolveOptions
from surefoot.robust.dear_columns import relaxed_attempts
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.registry import RobustLogisticSolver, RobustOutcome
from surefoot.robust.second_attempts import Attempt, finish
from surefoot.robust.small_cones import conic_attempts
from surefoot.robust.sqp.sqp import SQP
from surefoot.robust.wide.wide import Wide

# Tolerance of a further solve over that of the first. Not tuned.
FURTHER = 0.1


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
        """Solve with the method chosen; if that one got stuck, in other ways: see :meth:`attempts`."""
        outcome = self._choose(problem).solve(problem, options, warm_start)
        return finish(self.attempts(problem, options), options, outcome)

    def attempts(self, problem: RobustLogisticProblem, options: SolveOptions) -> Iterator[Attempt]:
        """What to try where a solve got stuck or its optimum was not confirmed; see :mod:`surefoot.robust.second_attempts`."""
        chosen = self._choose(problem)
        exactly = replace(options, tolerance=FURTHER * options.tolerance)
        yield lambda best: chosen.solve(problem, exactly, best)
        yield lambda _: chosen.solve(problem, exactly)
        yield from relaxed_attempts(chosen.solve, problem, options)
        yield from conic_attempts(chosen.solve, problem, options)

    def _choose(self, problem: RobustLogisticProblem) -> RobustLogisticSolver:
        fits = self._dense.refuses(problem) is None or self._matrix_free.refuses(problem) is not None
        chosen: RobustLogisticSolver = self._dense if fits else self._matrix_free
        self.name = chosen.name
        return chosen
