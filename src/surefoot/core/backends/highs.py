"""Linear programmes that grow while they are solved again and again, and files of models; the only importer of highspy.

    min cost . x   subject to   lower <= x <= upper,   low_r <= a_r . x <= high_r for every row r.

Whole variables are the business of :mod:`surefoot.riskscore.lattice.cut_tree`. HiGHS has a branch-and-bound tree of its own,
but no working callback for rows added inside it, and with these programmes version 1.15.1 did not always find the best
solution: with presolve it found none where two rows with the same coefficients meet in an equality, and without it solutions
were called optimal that were not. Its simplex method is all that is used, on one thread.

All instances of HiGHS in a process share one pool of threads, which the first of them makes, whoever it belongs to. An instance
that asks for another number is refused, and solves nothing; one that asks for none in particular takes the pool as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray, IntArray
from surefoot.core.outcome import Status

# Largest violation of a row or a reduced cost; the tightest that HiGHS meets reliably.
TOLERANCE = 1e-9
# Bounds the error of an optimum that follows: rows violated by the tolerance, each times its dual price.
BOUND_SLACK = 2e-8


@dataclass(frozen=True, eq=False)
class LinearResult:
    """What a solve found.

    Attributes
    ----------
    status : Status
        ``OPTIMAL``, ``INFEASIBLE`` and ``UNBOUNDED`` are facts about the programme; everything else says why there is none.
    bound : float
        No solution has a smaller objective, up to ``BOUND_SLACK``: the optimum if solved, -inf if stopped or unbounded.
    point : ndarray or None
        A solution with that objective, if solved.
    prices : ndarray or None
        What a unit more of every row's side would add to the objective, if solved.
    """

    status: Status
    bound: float
    point: FloatArray | None = None
    prices: FloatArray | None = None

    @property
    def stopped(self) -> bool:
        """Whether the solve ended before anything was known."""
        return self.status not in (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED)


class LinearProgramme:
    """A linear programme under construction, without rows at first."""

    def __init__(self, lower: FloatArray, upper: FloatArray, cost: FloatArray) -> None:
        import highspy

        solver = self._solver = highspy.Highs()
        solver.silent()
        self._refused = False
        for tolerance in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            solver.setOptionValue(tolerance, TOLERANCE)
        solver.setOptionValue("presolve", "off")
        solver.setOptionValue("threads", 1)
        n = lower.size
        solver.addVars(n, lower, upper)
        solver.changeColsCost(n, np.arange(n, dtype=np.int32), cost)

    def add_row(self, columns: IntArray | Sequence[int], values: FloatArray | Sequence[float], low: float, high: float) -> int:
        """Add a row; its number."""
        at = np.asarray(columns, dtype=np.int32)
        status = self._solver.addRow(low, high, at.size, at, np.asarray(values, dtype=np.float64))
        # HiGHS takes no entries beyond 1e15: without the row this would be another programme.
        self._refused |= status.name == "kError"
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

    def solve(self, *, seconds: float = np.inf) -> LinearResult:
        """The optimum, from the last solution on."""
        solver = self._solver
        if self._refused:
            return LinearResult(Status.NUMERICAL_ERROR, -np.inf)
        # HiGHS counts the time of all solves of an instance together.
        solver.setOptionValue("time_limit", min(float(solver.getRunTime()) + max(seconds, 0.0), 1e9))
        if solver.run().name == "kError":
            # The pool of threads is somebody else's.
            solver.setOptionValue("threads", 0)
            solver.run()
        if solver.getModelStatus().name not in ("kOptimal", "kInfeasible", "kTimeLimit", "kUnbounded"):
            # The basis of another programme can lead the simplex method astray; without it the method starts afresh.
            solver.clearSolver()
            solver.run()
        status = _STATUS.get(solver.getModelStatus().name, Status.NUMERICAL_ERROR)
        if status is not Status.OPTIMAL:
            return LinearResult(status, np.inf if status is Status.INFEASIBLE else -np.inf)
        value, solution = float(solver.getInfo().objective_function_value), solver.getSolution()
        return LinearResult(status, value, np.array(solution.col_value), np.array(solution.row_dual))


# Every status that HiGHS documents, by name. "Unbounded or infeasible" decides nothing.
_STATUS = {
    "kOptimal": Status.OPTIMAL,
    "kModelEmpty": Status.OPTIMAL,
    "kInfeasible": Status.INFEASIBLE,
    "kUnbounded": Status.UNBOUNDED,
    "kUnboundedOrInfeasible": Status.NUMERICAL_ERROR,
    "kTimeLimit": Status.TIME_LIMIT,
    "kIterationLimit": Status.ITERATION_LIMIT,
    "kSolutionLimit": Status.ITERATION_LIMIT,
    "kObjectiveBound": Status.STALLED,
    "kObjectiveTarget": Status.STALLED,
    "kInterrupt": Status.INTERRUPTED,
    "kMemoryLimit": Status.NUMERICAL_ERROR,
    "kUnknown": Status.NUMERICAL_ERROR,
    "kNotset": Status.NUMERICAL_ERROR,
    "kLoadError": Status.NUMERICAL_ERROR,
    "kModelError": Status.NUMERICAL_ERROR,
    "kPresolveError": Status.NUMERICAL_ERROR,
    "kSolveError": Status.NUMERICAL_ERROR,
    "kPostsolveError": Status.NUMERICAL_ERROR,
}


@dataclass(frozen=True, eq=False)
class FileModel:
    """What a file holds: columns and rows with their names, and one objective.

    Attributes
    ----------
    columns, rows : list of str
    matrix : tuple of (rows, columns, values)
        Entries that are not 0.
    low, high, lower, upper, cost : ndarray
    kinds : list of str
        "continuous", "integer", "semi-continuous" or "semi-integer" for each column.
    maximised, quadratic : bool
    """

    columns: list[str]
    rows: list[str]
    matrix: tuple[IntArray, IntArray, FloatArray]
    low: FloatArray
    high: FloatArray
    lower: FloatArray
    upper: FloatArray
    cost: FloatArray
    kinds: list[str]
    maximised: bool
    quadratic: bool


_KINDS = {
    "kContinuous": "continuous",
    "kInteger": "integer",
    "kImplicitInteger": "integer",
    "kSemiContinuous": "semi-continuous",
}


def read_model_file(path: str) -> FileModel | None:
    """The model in an MPS or LP file; None if HiGHS cannot read it."""
    import highspy

    solver = highspy.Highs()
    solver.silent()
    if solver.readModel(path).name == "kError":
        return None
    model = solver.getLp()
    matrix = model.a_matrix_
    starts, inner = np.asarray(matrix.start_, dtype=np.int64), np.asarray(matrix.index_, dtype=np.int32)
    outer = np.repeat(np.arange(starts.size - 1, dtype=np.int32), np.diff(starts))
    across, down = (outer, inner) if matrix.format_.name == "kColwise" else (inner, outer)
    count, height = int(model.num_col_), int(model.num_row_)
    return FileModel(
        list(model.col_names_) or [f"c{k}" for k in range(count)],
        list(model.row_names_) or [f"r{k}" for k in range(height)],
        (down, across, np.array(matrix.value_, dtype=np.float64)),
        np.array(model.row_lower_, dtype=np.float64),
        np.array(model.row_upper_, dtype=np.float64),
        np.array(model.col_lower_, dtype=np.float64),
        np.array(model.col_upper_, dtype=np.float64),
        np.array(model.col_cost_, dtype=np.float64),
        [_KINDS.get(kind.name, "semi-integer") for kind in model.integrality_] or ["continuous"] * count,
        model.sense_.name == "kMaximize",
        int(solver.getModel().hessian_.dim_) > 0,
    )
