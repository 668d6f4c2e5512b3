"""The lattice cutting-plane algorithm with its improvements (Algorithms 2 to 6 of Ustun and Rudin, JMLR 2019).

The problem is that of :mod:`surefoot.riskscore.lattice.cutting_planes`. Cuts are added inside one branch-and-bound tree, so no
programme has to be solved to the end before the outer approximation improves: that keeps the method from stalling where ``cpa``
does.

1. First incumbent: greedy supports and exchanges of columns (:mod:`surefoot.riskscore.search.heuristic_score`).
2. Initialisation (Algorithm 6, :mod:`surefoot.riskscore.lattice.lattice_run`): cuts, cards and a first bound from real-valued
   fits.
3. The tree (Algorithm 2, :mod:`surefoot.riskscore.lattice.cut_tree`). Every card that a relaxation comes upon is polished
   (Algorithm 3) and cut at, and a better incumbent tightens the bounds of objective, loss and number of columns (Algorithm 5).

It ends when no open node is below the cutoff. HiGHS has no callback for rows added inside its own tree, so by default the tree
is ours and HiGHS solves its linear relaxations. Where the extra ``scip`` is installed, the tree is that of SCIP
(:mod:`surefoot.riskscore.lattice.lazy_cuts`); ``dual.tree`` of the outcome says which.
"""

from __future__ import annotations

import importlib.util
import logging
from typing import Literal

import numpy as np

from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InfeasibleProblemError
from surefoot.riskscore.lattice.cut_run import NO_CARD
from surefoot.riskscore.lattice.cut_tree import CutTree
from surefoot.riskscore.lattice.cutting_planes import CuttingPlanes
from surefoot.riskscore.lattice.lattice_run import LatticeRun
from surefoot.riskscore.lattice.parameters import CutParameters
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.search.heuristic_score import first_card

_log = logging.getLogger(__name__)


class LCPA(CuttingPlanes[LatticeRun]):
    """Cutting planes within one tree.

    Parameters
    ----------
    first_card : RiskScore or None, default=None
        A card to begin with; by default that of a short heuristic.
    tree : {"auto", "own", "scip"}, default="auto"
        Whose branch and bound the cuts are added to. "auto" is SCIP's where pyscipopt is installed.
    parameters : CutParameters, optional
    """

    name = "lcpa"

    def __init__(
        self,
        first_card: RiskScore | None = None,
        *,
        tree: Literal["auto", "own", "scip"] = "auto",
        parameters: CutParameters | None = None,
    ) -> None:
        self.first_card = first_card
        self.tree: Literal["own", "scip"] = ("scip" if scip_is_there() else "own") if tree == "auto" else tree
        self.parameters = CutParameters() if parameters is None else parameters

    def _begin(self, problem: RiskScoreProblem, options: SolveOptions) -> LatticeRun:
        return LatticeRun(problem, options, self.parameters)

    def _iterate(self, run: LatticeRun) -> Status:
        seconds = min(self.parameters.first_card_seconds, self.parameters.initial_fraction * run.options.seconds_left)
        card = first_card(run.problem, run.options, seconds) if self.first_card is None else self.first_card
        if card is not None:
            run.offer(card)
        run.initialise()
        return _search_in_scip(run) if self.tree == "scip" else _search(run)


def scip_is_there() -> bool:
    """Whether the extra ``scip`` is installed."""
    return importlib.util.find_spec("pyscipopt") is not None


def _search(run: LatticeRun) -> Status:
    """Node by node in our own tree, until the gap is closed or a limit is reached."""
    tree = CutTree(run.master, lambda: run.cutoff, run.take_card, run.parameters.tree)
    ended = Status.STALLED
    try:
        while not run.converged and not tree.empty:
            limit = run.limit_reached(tree.n_nodes)
            if limit is not None:
                ended = limit
                break
            tree.advance(run.options.seconds_left)
            run.raise_bound(min(tree.bound, run.cutoff))
            run.record_now_and_then(tree.n_nodes)
    except KeyboardInterrupt:
        ended = Status.INTERRUPTED
    if tree.empty:
        if run.primal is None and not np.isfinite(tree.bound):
            raise InfeasibleProblemError(NO_CARD)
        run.raise_bound(min(tree.bound, run.cutoff))
    run.programmes = tree.n_nodes
    run.record(tree.n_nodes)
    return ended


def _search_in_scip(run: LatticeRun) -> Status:
    """The same in the tree of SCIP."""
    # Only here: the module needs pyscipopt, which is an extra.
    from surefoot.riskscore.lattice.lazy_cuts import LossOracle

    run.tree = "scip"

    def step() -> None:
        run.record_now_and_then(tree.nodes, lambda: min(tree.bound, run.cutoff))

    tree = LossOracle(run.master, lambda: run.cutoff, run.take_card, step, run.parameters.tree).programme()
    status = Status.OPTIMAL
    if not run.converged:
        try:
            result = tree.solve(seconds=run.options.seconds_left, nodes=run.options.max_iter)
        except Exception as failure:  # pyscipopt has no class of its own for SCIP's errors
            if not str(failure).startswith("SCIP:"):
                raise
            _log.info("%s Our own tree goes on from the cuts and cards there are.", failure)
            run.tree = "own"
            return _search(run)
        status = result.status
        if result.exhausted and run.primal is None:
            raise InfeasibleProblemError(NO_CARD)
    run.raise_bound(min(tree.bound, run.cutoff))
    run.programmes = tree.nodes
    run.record(tree.nodes)
    return status if status in (Status.TIME_LIMIT, Status.ITERATION_LIMIT, Status.INTERRUPTED) else Status.STALLED
