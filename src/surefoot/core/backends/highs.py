"""Linear programmes that grow while they are solved again and again. The only importer of highspy.

    min cost . x   subject to   lower <= x <= upper,   low_r <= a_r . x <= high_r for every row r.

Whole variables are the business of :mod:`surefoot.riskscore.lattice.cut_tree`. HiGHS has a branch-and-bound tree of its own,
but no working callback for rows added inside it, and with these programmes version 1.15.1 did not always find the best
solution: with presolve it found none where two rows with the same coefficients meet in an equality, and without it solutions
were called optimal that were not. Its simplex method is all that is used.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import highspy
import numpy as np

from surefoot.core.arrays import FloatArray, IntArray

# How far HiGHS may miss a row; the tightest that it keeps to reliably.
TOLERANCE = 1e-9
# How far a value may be off for it: rows missed by the tolerance, each by what its dual price makes of it.
BOUND_SLACK = 2e-8


class End(enum.Enum):
    """Why a solve ended."""

    SOLVED = "solved"
    INFEASIBLE = "no solution"
    UNBOUNDED = "no smallest value"
    STOPPED = "stopped"


@dataclass(frozen=True, eq=False)
class Answer:
    """What a solve found.

    Attributes
    ----------
    end : End
    bound : float
        No solution has a smaller objective, up to ``BOUND_SLACK``: the optimum if solved, -inf if stopped or unbounded.
    point : ndarray or None
        A solution with that objective, if solved.
    prices : ndarray or None
        What a unit more of every row's side would add to the objective, if solved.
    """

    end: End
    bound: float
    point: FloatArray | None = None
    prices: FloatArray | None = None


class Programme:
    """A linear programme under construction, without rows at first."""

    def __init__(self, lower: FloatArray, upper: FloatArray, cost: FloatArray, n_threads: int = 1) -> None:
        solver = self._solver = highspy.Highs()
        solver.silent()
        for tolerance in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            solver.setOptionValue(tolerance, TOLERANCE)
        solver.setOptionValue("presolve", "off")
        solver.setOptionValue("threads", n_threads)
        n = lower.size
        solver.addVars(n, lower, upper)
        solver.changeColsCost(n, np.arange(n, dtype=np.int32), cost)

    def add_row(self, columns: IntArray | Sequence[int], values: FloatArray | Sequence[float], low: float, high: float) -> int:
        """Add a row; its number."""
        at = np.asarray(columns, dtype=np.int32)
        self._solver.addRow(low, high, at.size, at, np.asarray(values, dtype=np.float64))
        return int(self._solver.getNumRow()) - 1

    def price(self, cost: FloatArray) -> None:
        """Give every unknown another cost."""
        self._solver.changeColsCost(cost.size, np.arange(cost.size, dtype=np.int32), cost)

    def limit_row(self, row: int, low: float, high: float) -> None:
        self._solver.changeRowBounds(row, low, high)

    def limit_column(self, column: int, low: float, high: float) -> None:
        self._solver.changeColBounds(column, low, high)

    def limit_columns(self, columns: IntArray, low: FloatArray, high: FloatArray) -> None:
        if columns.size:
            self._solver.changeColsBounds(columns.size, columns, low, high)

    def solve(self, *, seconds: float = np.inf) -> Answer:
        """The optimum, from the last solution on."""
        solver, statuses = self._solver, highspy.HighsModelStatus
        # HiGHS counts the time of all solves of an instance together.
        solver.setOptionValue("time_limit", min(float(solver.getRunTime()) + max(seconds, 0.0), 1e9))
        solver.run()
        known = (statuses.kOptimal, statuses.kInfeasible, statuses.kTimeLimit, statuses.kUnbounded)
        if solver.getModelStatus() not in known:
            # The basis of another programme can lead the simplex method astray; without it the method starts afresh.
            solver.clearSolver()
            solver.run()
        status = solver.getModelStatus()
        if status == statuses.kInfeasible:
            return Answer(End.INFEASIBLE, np.inf)
        if status == statuses.kUnbounded:
            return Answer(End.UNBOUNDED, -np.inf)
        if status != statuses.kOptimal:
            return Answer(End.STOPPED, -np.inf)
        value, solution = float(solver.getInfo().objective_function_value), solver.getSolution()
        return Answer(End.SOLVED, value, np.array(solution.col_value), np.array(solution.row_dual))
