"""Integer programmes with a convex term, cut by its tangents inside the tree of SCIP. The only importer of pyscipopt.

    min cost . x + theta   subject to   theta >= f(x_J),   lower <= x <= upper,   low_r <= a_r . x <= high_r,   x integer,

f convex, and known by an oracle that evaluates it and its tangents (outer approximation within one branch-and-bound tree:
Quesada and Grossmann, Computers & Chemical Engineering 1992). SCIP learns of f through a constraint handler:

- an integer solution, of the relaxation or of a heuristic, stands if theta is at least f up to ``violation``; if not, tangents
  cut it off;
- a fractional solution of the relaxation is cut off where the oracle says so;
- whenever the oracle's cutoff falls, so does the upper bound of theta, which prunes nodes.

The tree is exhausted once no open node can be below the cutoff. pyscipopt is an extra: import this module where it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse
from pyscipopt import SCIP_RESULT, Conshdlr, Model, quicksum

from surefoot.core.arrays import FloatArray, IntArray
from surefoot.core.outcome import Status


@dataclass(frozen=True)
class LazySettings:
    """How closely SCIP solves a programme.

    Attributes
    ----------
    feasibility : float
        Largest violation of a row and of a reduced cost. SCIP's own 1e-6 is coarser than f and theta are compared.
    violation : float
        f may exceed theta by so much at a solution that stands: more than SCIP may violate a row by, less than bounds are
        trusted to.
    """

    feasibility: float = 1e-9
    violation: float = 1e-8


class Tangent(NamedTuple):
    """The cut theta >= slope . x_J + base."""

    slope: FloatArray
    base: float


class TangentOracle(Protocol):
    """The convex term of a programme, and what its user wants to know on the way.

    What a method raises ends the search and reaches the caller of :meth:`LazyProgramme.solve`.
    """

    def cutoff(self) -> float:
        """Solutions with an objective at or above it are of no interest; it may fall."""
        ...

    def excess(self, point: FloatArray, theta: float) -> float:
        """f(point) - theta."""
        ...

    def new_tangents(self, point: FloatArray | None) -> Sequence[Tangent]:
        """Cuts that the programme does not have yet: that at a point, if one is given, and all that were made elsewhere."""
        ...

    def found(self, point: FloatArray, theta: float) -> None:
        """An integer solution came up, whether it stands or not."""
        ...

    def may_separate(self, node: int, value: float) -> bool:
        """Whether a fractional solution of this objective should be looked at, at a node of this number."""
        ...

    def cuts_off(self, point: FloatArray, theta: float) -> bool:
        """Whether the tangent at a fractional solution should become a row."""
        ...


@dataclass(frozen=True)
class LazyResult:
    """Where a search ended.

    Attributes
    ----------
    status : Status
        ``OPTIMAL`` and ``INFEASIBLE`` mean that the tree is exhausted, the latter that nothing in it was below the cutoff.
    bound : float
        No solution below the cutoff has a smaller objective; infinite if there is none.
    nodes : int
        Nodes of the tree until now.
    """

    status: Status
    bound: float
    nodes: int

    @property
    def exhausted(self) -> bool:
        """Whether no open node is left."""
        return self.status in (Status.OPTIMAL, Status.INFEASIBLE)


class LazyProgramme:
    """One programme and its tree, which :meth:`solve` can go on with after a limit.

    Parameters
    ----------
    cost : ndarray of shape (n,)
    lower, upper : ndarray of shape (n,)
        Of the integer unknowns x.
    matrix : csr_matrix of shape (n_rows, n)
    row_lower, row_upper : ndarray of shape (n_rows,)
        May be infinite.
    columns : ndarray of int
        The unknowns J that f depends on.
    oracle : TangentOracle
    settings : LazySettings
    """

    def __init__(
        self,
        cost: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        matrix: scipy.sparse.csr_matrix,
        row_lower: FloatArray,
        row_upper: FloatArray,
        columns: IntArray,
        oracle: TangentOracle,
        settings: LazySettings | None = None,
    ) -> None:
        self.oracle = oracle
        self.settings = LazySettings() if settings is None else settings
        self._raised: BaseException | None = None
        self._theta_limit = np.inf
        self._model = model = Model()
        model.hideOutput()
        model.setParam("numerics/feastol", self.settings.feasibility)
        model.setParam("numerics/dualfeastol", self.settings.feasibility)
        # Restarts build the tree anew, which the handler would have to follow.
        model.setParam("presolving/maxrestarts", 0)
        limits = zip(lower.tolist(), upper.tolist(), strict=True)
        x = [model.addVar(f"x{at}", vtype="I", lb=low, ub=high) for at, (low, high) in enumerate(limits)]
        self._point = [x[at] for at in columns.tolist()]
        self._theta = model.addVar("theta", lb=0.0)
        for row in range(row_lower.size):
            own = slice(matrix.indptr[row], matrix.indptr[row + 1])
            terms = zip(matrix.indices[own].tolist(), matrix.data[own].tolist(), strict=True)
            total = quicksum(value * x[at] for at, value in terms)
            for side, limit in ((total, row_lower[row]), (-total, -row_upper[row])):
                if limit > -np.inf:
                    model.addCons(side >= float(limit))
        priced = np.flatnonzero(cost).tolist()
        model.setObjective(self._theta + quicksum(float(cost[at]) * x[at] for at in priced))
        model.includeConshdlr(
            _TangentHandler(self),
            "tangents",
            "theta is at least the convex term",
            sepafreq=1,
            enfopriority=-1,
            chckpriority=-1,
            eagerfreq=-1,
            needscons=False,
        )
        self._add(oracle.new_tangents(None))
        self._lower_theta()

    @property
    def bound(self) -> float:
        """No solution below the cutoff has a smaller objective; infinite if there is none."""
        if self._model.getStageName() == "PROBLEM":
            return 0.0  # SCIP knows nothing yet, and refuses the question
        bound = float(self._model.getDualbound())
        return np.inf if bound >= self._model.infinity() else max(bound, 0.0)

    @property
    def nodes(self) -> int:
        return 0 if self._model.getStageName() == "PROBLEM" else int(self._model.getNTotalNodes())

    def solve(self, *, seconds: float = np.inf, nodes: int | None = None) -> LazyResult:
        """Search for so many seconds more, up to so many nodes in all, or until the tree is exhausted.

        Raises
        ------
        Exception
            What a method of the oracle raised.
        """
        model = self._model
        model.setParam("limits/time", min(model.getSolvingTime() + seconds, 1e20))
        model.setParam("limits/totalnodes", -1 if nodes is None else nodes)
        model.optimize()
        if self._raised is not None:
            raise self._raised
        return LazyResult(_STATUS[str(model.getStatus())], self.bound, self.nodes)

    def stop(self) -> None:
        """End a search that is under way, as Ctrl-C does; for methods of the oracle."""
        self._model.interruptSolve()

    def guarded(self, step: Callable[[], Any], otherwise: Any) -> Any:
        """What a step returns. SCIP would swallow what it raises, so that is stored and ends the search."""
        try:
            return step()
        except BaseException as raised:
            self._raised = self._raised or raised
            self.stop()
            return otherwise

    def enforce(self) -> dict[str, Any]:
        """Whether the relaxation's integer solution stands; if not, it is cut off."""
        point, theta = self._integer_solution(None)
        violated = self.oracle.excess(point, theta) > self.settings.violation
        # A tangent that is there already and still violated is a matter of rounding.
        added = self._add(self.oracle.new_tangents(point))
        return {"result": SCIP_RESULT.CONSADDED if violated and added else SCIP_RESULT.FEASIBLE}

    def separate(self) -> dict[str, Any]:
        """Cut off the relaxation's fractional solution, if the oracle says so."""
        node = int(self._model.getCurrentNode().getNumber())
        if not self.oracle.may_separate(node, float(self._model.getLPObjVal())):
            return {"result": SCIP_RESULT.DIDNOTRUN}
        point, theta = self._solution(None)
        if not self.oracle.cuts_off(point, theta):
            return {"result": SCIP_RESULT.DIDNOTFIND}
        added = self._add(self.oracle.new_tangents(point))
        return {"result": SCIP_RESULT.CONSADDED if added else SCIP_RESULT.DIDNOTFIND}

    def check(self, solution: Any) -> dict[str, Any]:
        """Whether an integer solution that SCIP found by other means stands."""
        point, theta = self._integer_solution(solution)
        stands = self.oracle.excess(point, theta) <= self.settings.violation
        return {"result": SCIP_RESULT.FEASIBLE if stands else SCIP_RESULT.INFEASIBLE}

    def add_locks(self, up: int, down: int) -> None:
        """A tangent may rise or fall along any unknown of f, and always asks for more theta."""
        self._model.addVarLocks(self._theta, up, down)
        for variable in self._point:
            self._model.addVarLocks(variable, up + down, up + down)

    def _solution(self, solution: Any) -> tuple[FloatArray, float]:
        value = self._model.getSolVal
        return np.array([value(solution, variable) for variable in self._point]), float(value(solution, self._theta))

    def _integer_solution(self, solution: Any) -> tuple[FloatArray, float]:
        point, theta = self._solution(solution)
        point = np.rint(point) + 0.0  # equal points have equal bytes: no negative zeros
        self.oracle.found(point, theta)
        self._lower_theta()
        return point, theta

    def _add(self, tangents: Sequence[Tangent]) -> bool:
        for slope, base in tangents:
            used = np.flatnonzero(slope).tolist()
            self._model.addCons(self._theta - quicksum(float(slope[at]) * self._point[at] for at in used) >= base)
        return bool(tangents)

    def _lower_theta(self) -> None:
        """Solutions whose convex term alone reaches the cutoff are of no interest."""
        limit = self.oracle.cutoff()
        if limit < self._theta_limit:
            self._theta_limit = limit
            self._model.chgVarUbGlobal(self._theta, max(limit, 0.0))


class _TangentHandler(Conshdlr):
    """The callbacks of SCIP, passed on to the programme."""

    def __init__(self, programme: LazyProgramme) -> None:
        self.programme = programme

    def consenfolp(self, constraints: Any, nusefulconss: int, solinfeasible: bool) -> Any:
        return self.programme.guarded(self.programme.enforce, {"result": SCIP_RESULT.FEASIBLE})

    def conssepalp(self, constraints: Any, nusefulconss: int) -> Any:
        return self.programme.guarded(self.programme.separate, {"result": SCIP_RESULT.DIDNOTRUN})

    def consenfops(self, constraints: Any, nusefulconss: int, solinfeasible: bool, objinfeasible: bool) -> Any:
        return {"result": SCIP_RESULT.SOLVELP}

    def conscheck(
        self, constraints: Any, solution: Any, checkintegrality: bool, checklprows: bool, printreason: bool, completely: bool
    ) -> Any:
        return self.programme.guarded(lambda: self.programme.check(solution), {"result": SCIP_RESULT.INFEASIBLE})

    def conslock(self, constraint: Any, locktype: Any, nlockspos: int, nlocksneg: int) -> None:
        self.programme.add_locks(nlockspos, nlocksneg)


# Every status that pyscipopt names. "Infeasible or unbounded" decides nothing.
_STATUS = {
    "optimal": Status.OPTIMAL,
    "infeasible": Status.INFEASIBLE,
    "unbounded": Status.UNBOUNDED,
    "inforunbd": Status.NUMERICAL_ERROR,
    "timelimit": Status.TIME_LIMIT,
    "nodelimit": Status.ITERATION_LIMIT,
    "totalnodelimit": Status.ITERATION_LIMIT,
    "stallnodelimit": Status.ITERATION_LIMIT,
    "sollimit": Status.ITERATION_LIMIT,
    "bestsollimit": Status.ITERATION_LIMIT,
    "restartlimit": Status.ITERATION_LIMIT,
    "gaplimit": Status.STALLED,
    "primallimit": Status.STALLED,
    "duallimit": Status.STALLED,
    "userinterrupt": Status.INTERRUPTED,
    "memlimit": Status.NUMERICAL_ERROR,
    "unknown": Status.NUMERICAL_ERROR,
}
