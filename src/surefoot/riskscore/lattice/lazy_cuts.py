"""Cuts inside the branch-and-bound tree of SCIP: the lattice cutting-plane algorithm as its authors run it (extra ``scip``).

SCIP asks a constraint handler about every whole solution it comes upon: is the loss that the solution claims (theta) at least
that of its card? If not, the handler adds the tangent plane at the card and the search goes on in the same tree. Where a plane
at a real-valued solution raises the relaxation by much, it is added as well, as in our own tree. Cards that are better than all
before lower the limit of theta, which closes nodes. This is the only importer of pyscipopt.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np
from pyscipopt import SCIP_RESULT, Conshdlr, Model, quicksum

from surefoot.core.arrays import FloatArray
from surefoot.core.backends.highs import BOUND_SLACK, TOLERANCE
from surefoot.riskscore.baselines.merged_rows import coordinates
from surefoot.riskscore.lattice.cut_tree import CUTS_PER_NODE, WORTH_A_CUT
from surefoot.riskscore.lattice.score_master import ScoreMaster
from surefoot.riskscore.problem.problem import RiskScore

# A loss that falls short by less counts as reached: more than SCIP may miss a row by, less than a bound is trusted to.
SHORTFALL = 0.5 * BOUND_SLACK


class TreeEnd(enum.Enum):
    """Why a search in the tree ended."""

    DONE = "no open node is left"
    TIME = "time limit"
    NODES = "node limit"
    INTERRUPTED = "Ctrl-C"


class LazyTree:
    """One search of SCIP.

    Parameters
    ----------
    master : ScoreMaster
        Its rows and cuts; cuts that are added to it meanwhile are taken over.
    cutoff : callable
        Cards with an objective at or above it are of no interest; it may fall.
    on_card : callable
        Called with every card that SCIP comes upon, and with the value that the cuts so far give it.
    on_step : callable
        Called now and then.
    """

    def __init__(
        self,
        master: ScoreMaster,
        cutoff: Callable[[], float],
        on_card: Callable[[RiskScore, float], None],
        on_step: Callable[[], None],
    ) -> None:
        self.master, self.cutoff, self.on_card, self.on_step = master, cutoff, on_card, on_step
        self.model = model = Model("score cards")
        model.hideOutput()
        # Theta and its loss are compared more closely than SCIP's own 1e-6 would.
        model.setParam("numerics/feastol", TOLERANCE)
        model.setParam("numerics/dualfeastol", TOLERANCE)
        # Restarts build the tree anew, for which the handler would have to be asked again.
        model.setParam("presolving/maxrestarts", 0)
        self._raised: BaseException | None = None
        self._known = 0
        self._limit = np.inf
        self._separated = (-1, 0)  # the last node with cuts at real-valued solutions, and how many it had
        parts = master.parts
        limits = zip(parts.lower.tolist(), parts.upper.tolist(), strict=True)
        whole = [model.addVar(f"x{at}", vtype="I", lb=low, ub=high) for at, (low, high) in enumerate(limits)]
        self.card = [whole[at] for at in master.card_columns]
        self.theta = model.addVar("theta", lb=0.0)
        for row in range(parts.low.size):
            own = slice(parts.matrix.indptr[row], parts.matrix.indptr[row + 1])
            terms = zip(parts.matrix.indices[own].tolist(), parts.matrix.data[own].tolist(), strict=True)
            total = quicksum(value * whole[at] for at, value in terms)
            for side, limit in ((total, parts.low[row]), (-total, -parts.high[row])):
                if limit > -np.inf:
                    model.addCons(side >= float(limit))
        penalty = master.problem.penalty
        model.setObjective(self.theta + quicksum(penalty * whole[at] for at in master.marks.tolist()))
        handler = _LossHandler(self)
        model.includeConshdlr(
            handler,
            "loss",
            "theta is at least the loss",
            sepafreq=1,
            enfopriority=-1,
            chckpriority=-1,
            eagerfreq=-1,
            needscons=False,
        )
        self._add_cuts()
        self._lower_limit()

    @property
    def bound(self) -> float:
        """No card of the programme as it is now, up to the cutoff, has a smaller objective; infinite if there is none."""
        if self.model.getStageName() == "PROBLEM":
            return 0.0  # SCIP knows nothing yet, and must not be asked
        bound = float(self.model.getDualbound())
        return np.inf if bound >= self.model.infinity() else max(bound, 0.0)

    @property
    def n_nodes(self) -> int:
        return 0 if self.model.getStageName() == "PROBLEM" else int(self.model.getNTotalNodes())

    def run(self, seconds: float, nodes: int | None) -> TreeEnd:
        """Search on until a limit, or until no node is left.

        Raises
        ------
        Exception
            What a callback raised.
        """
        self.model.setParam("limits/time", min(self.model.getSolvingTime() + seconds, 1e20))
        self.model.setParam("limits/totalnodes", -1 if nodes is None else nodes)
        self.model.optimize()
        if self._raised is not None:
            raise self._raised
        ends = {"timelimit": TreeEnd.TIME, "totalnodelimit": TreeEnd.NODES, "userinterrupt": TreeEnd.INTERRUPTED}
        return ends.get(str(self.model.getStatus()), TreeEnd.DONE)

    def stop(self) -> None:
        self.model.interruptSolve()

    def guarded(self, step: Callable[[], Any], otherwise: Any) -> Any:
        """What a step returns; SCIP would swallow what it raises, so that is kept and ends the search."""
        try:
            return step()
        except BaseException as raised:
            self._raised = self._raised or raised
            self.stop()
            return otherwise

    def shortfall(self, point: FloatArray, theta: float) -> float:
        """By how much theta is below the loss at a point."""
        return self.master.loss(point) - theta

    def take(self, solution: Any) -> tuple[RiskScore, float]:
        """Pass a solution's card on; the card and its theta."""
        values = np.array([self.model.getSolVal(solution, variable) for variable in self.card])
        theta = float(self.model.getSolVal(solution, self.theta))
        whole = np.rint(values).astype(np.int32)
        card = RiskScore(int(whole[0]), whole[1:])
        self.on_card(card, theta + self.master.problem.penalty * card.size)
        self._lower_limit()
        self.on_step()
        return card, theta

    def enforce(self) -> dict[str, Any]:
        """Whether the relaxation's whole solution stands; if not, it is cut off."""
        card, theta = self.take(None)
        point = coordinates(card)
        short = self.shortfall(point, theta) > SHORTFALL
        self.master.cut(point)
        # A cut that is there already and is missed by more is a matter of rounding.
        added = self._add_cuts()
        return {"result": SCIP_RESULT.CONSADDED if short and added else SCIP_RESULT.FEASIBLE}

    def separate(self) -> dict[str, Any]:
        """Cut off the relaxation's real-valued solution, if that is worth a cut."""
        node = int(self.model.getCurrentNode().getNumber())
        made = self._separated[1] if self._separated[0] == node else 0
        gap = self.cutoff() - float(self.model.getLPObjVal())
        if made >= CUTS_PER_NODE or not gap > 0:
            return {"result": SCIP_RESULT.DIDNOTRUN}
        point = np.array([self.model.getSolVal(None, variable) for variable in self.card])
        if self.shortfall(point, float(self.model.getSolVal(None, self.theta))) <= WORTH_A_CUT * gap:
            return {"result": SCIP_RESULT.DIDNOTFIND}
        self._separated = node, made + 1
        self.master.cut(point)
        return {"result": SCIP_RESULT.CONSADDED if self._add_cuts() else SCIP_RESULT.DIDNOTFIND}

    def check(self, solution: Any) -> dict[str, Any]:
        """Whether a solution that SCIP found by other means stands."""
        card, theta = self.take(solution)
        stands = self.shortfall(coordinates(card), theta) <= SHORTFALL
        return {"result": SCIP_RESULT.FEASIBLE if stands else SCIP_RESULT.INFEASIBLE}

    def _add_cuts(self) -> bool:
        """Take over the master's new cuts; whether there were any."""
        new = self.master.cuts[self._known :]
        self._known += len(new)
        for gradient, base in new:
            used = np.flatnonzero(gradient).tolist()
            self.model.addCons(self.theta - quicksum(float(gradient[at]) * self.card[at] for at in used) >= base)
        return bool(new)

    def _lower_limit(self) -> None:
        """Cards whose loss alone reaches the cutoff need not be looked at."""
        limit = self.cutoff()
        if limit < self._limit:
            self._limit = limit
            self.model.chgVarUbGlobal(self.theta, max(limit, 0.0))


class _LossHandler(Conshdlr):
    """What SCIP asks; every answer comes from the tree."""

    def __init__(self, tree: LazyTree) -> None:
        self.tree = tree

    def consenfolp(self, constraints: Any, nusefulconss: int, solinfeasible: bool) -> Any:
        return self.tree.guarded(self.tree.enforce, {"result": SCIP_RESULT.FEASIBLE})

    def conssepalp(self, constraints: Any, nusefulconss: int) -> Any:
        return self.tree.guarded(self.tree.separate, {"result": SCIP_RESULT.DIDNOTRUN})

    def consenfops(self, constraints: Any, nusefulconss: int, solinfeasible: bool, objinfeasible: bool) -> Any:
        return {"result": SCIP_RESULT.SOLVELP}

    def conscheck(
        self, constraints: Any, solution: Any, checkintegrality: bool, checklprows: bool, printreason: bool, completely: bool
    ) -> Any:
        return self.tree.guarded(lambda: self.tree.check(solution), {"result": SCIP_RESULT.INFEASIBLE})

    def conslock(self, constraint: Any, locktype: Any, nlockspos: int, nlocksneg: int) -> None:
        # A cut to come may rise or fall along any of the points, and always asks for more theta.
        self.model.addVarLocks(self.tree.theta, nlockspos, nlocksneg)
        for variable in self.tree.card:
            self.model.addVarLocks(variable, nlockspos + nlocksneg, nlockspos + nlocksneg)
