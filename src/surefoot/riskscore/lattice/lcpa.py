"""The lattice cutting-plane algorithm with its improvements (Algorithms 2 to 6 of Ustun and Rudin, JMLR 2019).

Cuts are added inside one branch-and-bound tree, so no programme has to be solved to the end before the loss is known better:
that is what keeps the method from stalling where ``cpa`` does. HiGHS has no callback for rows added inside its own tree, so by
default the tree is ours (:mod:`surefoot.riskscore.lattice.cut_tree`), and its linear relaxations are solved by HiGHS. Where the
extra ``scip`` is installed, the tree is that of SCIP (:mod:`surefoot.riskscore.lattice.lazy_cuts`); ``dual.tree`` of the
outcome says which.

0. A card to begin with: supports grown and exchanged column by column (:mod:`surefoot.riskscore.search.heuristic_score`).
1. Initialisation: cuts along the path of the l1-penalised fit, then cuts at solutions of the linear relaxation and halfway
   between them and the best real-valued point, until relaxation and loss agree. Its value is a first bound.
2. Real-valued points are rounded one coordinate at a time, and every card is polished by discrete coordinate descent, on a
   sample of rows where there are many; what a card is worth is always asked of all rows.
3. Cuts are made at every card the tree comes upon, at the card it becomes by polishing, and at the real-valued fit of its
   columns.
4. Bounds of objective, loss and number of columns are chained.
"""

from __future__ import annotations

import importlib.util
from typing import Literal

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InfeasibleProblemError
from surefoot.riskscore.baselines.discrete_descent import polished
from surefoot.riskscore.baselines.merged_rows import coordinates
from surefoot.riskscore.baselines.regularisation_path import PenalisedFit, regularisation_path
from surefoot.riskscore.baselines.rounding import sequential
from surefoot.riskscore.baselines.tangent_bound import tangent_bound
from surefoot.riskscore.lattice.cut_run import NO_CARD, CutOutcome, CutRun, refuses_to_cut
from surefoot.riskscore.lattice.cut_tree import CutTree
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.search.heuristic_score import first_card

PATH_CUTS = 25
RELAXED_CUTS = 150
# The relaxation is close enough to its loss; what remains is for whole points to close.
RELAXED_GAP = 1e-4
# Share of a time limit that the initialisation may take.
FIRST_SHARE = 0.1
HEURISTIC_ROWS = 20_000
# Most time for the first card, which takes less on small tables.
HEURISTIC_SECONDS = 1.0
# Cards within a tenth of the best are worth polishing.
PROMISING = 1.1
BETWEEN_REPORTS = 0.5


class LCPA:
    """Cutting planes within one tree.

    Parameters
    ----------
    first_card : RiskScore or None, default=None
        A card to begin with; by default that of a short heuristic.
    tree : {"auto", "own", "scip"}, default="auto"
        Whose branch and bound the cuts are added to. "auto" is SCIP's where pyscipopt is installed.
    """

    name = "lcpa"

    def __init__(self, first_card: RiskScore | None = None, *, tree: Literal["auto", "own", "scip"] = "auto") -> None:
        self.first_card = first_card
        self.tree: Literal["own", "scip"] = ("scip" if scip_is_there() else "own") if tree == "auto" else tree

    def refuses(self, problem: RiskScoreProblem) -> str | None:
        """Why the problem cannot be taken, or None."""
        return refuses_to_cut(problem)

    def solve(self, problem: RiskScoreProblem, options: SolveOptions) -> CutOutcome:
        """The best card up to ``options.tolerance``, or the best found with a valid bound.

        Raises
        ------
        InfeasibleProblemError
            If no card obeys the rules.
        SolveInterrupted
            On Ctrl-C: a ``KeyboardInterrupt`` whose ``outcome`` is what would have been returned.
        """
        run = _LatticeRun(problem, options)
        try:
            seconds = min(HEURISTIC_SECONDS, FIRST_SHARE * run.seconds_left)
            card = first_card(problem, options, seconds) if self.first_card is None else self.first_card
            if card is not None:
                run.offer(card)
            run.initialise()
        except KeyboardInterrupt:
            return run.outcome(Status.INTERRUPTED, 0)
        return run.through_lazy_cuts() if self.tree == "scip" else run.through_the_tree()


def scip_is_there() -> bool:
    """Whether the extra ``scip`` is installed."""
    return importlib.util.find_spec("pyscipopt") is not None


class _LatticeRun(CutRun):
    def __init__(self, problem: RiskScoreProblem, options: SolveOptions) -> None:
        super().__init__(problem, options)
        self.sample = self.rows.sample(HEURISTIC_ROWS)
        self.fitter = PenalisedFit(self.rows, problem)
        self.fitted: set[bytes] = set()

    def through_the_tree(self) -> CutOutcome:
        """Node by node until the gap is closed or a limit is reached."""
        tree = CutTree(self.master, lambda: self.upper_bound - self.accepted_gap, self.take_card)
        ended, told = Status.STALLED, 0.0
        try:
            while not self.closed and not tree.empty:
                if self.options.out_of_time and self.card is not None:
                    ended = Status.TIME_LIMIT
                    break
                if self.options.max_iter is not None and tree.n_nodes >= self.options.max_iter:
                    ended = Status.ITERATION_LIMIT
                    break
                tree.advance(self.seconds_left if self.card is not None else np.inf)
                self.raise_bound(min(tree.bound, self.upper_bound - self.accepted_gap))
                if self.options.elapsed - told >= BETWEEN_REPORTS:
                    told = self.options.elapsed
                    self.record(tree.n_nodes)
        except KeyboardInterrupt:
            ended = Status.INTERRUPTED
        if tree.empty:
            if self.card is None and not np.isfinite(tree.bound):
                raise InfeasibleProblemError(NO_CARD)
            self.raise_bound(min(tree.bound, self.upper_bound - self.accepted_gap))
        self.record(tree.n_nodes)
        self.programmes = tree.n_nodes
        return self.outcome(ended, tree.n_nodes)

    def through_lazy_cuts(self) -> CutOutcome:
        """The same in the tree of SCIP."""
        # Only here: the module needs pyscipopt, which is an extra.
        from surefoot.riskscore.lattice.lazy_cuts import LazyTree, TreeEnd

        self.tree = "scip"
        told = 0.0

        def step() -> None:
            nonlocal told
            if hurried and self.card is not None:
                tree.stop()
            if self.options.elapsed - told >= BETWEEN_REPORTS:
                told = self.options.elapsed
                self.raise_bound(min(tree.bound, self.upper_bound - self.accepted_gap))
                self.record(tree.n_nodes)

        hurried = False
        tree = LazyTree(self.master, lambda: self.upper_bound - self.accepted_gap, self.take_card, step)
        end = TreeEnd.DONE if self.closed else tree.run(self.seconds_left, self.options.max_iter)
        if end is TreeEnd.TIME and self.card is None:
            # Even without time there should be a card to return.
            hurried = True
            end = tree.run(np.inf, self.options.max_iter)
            end = TreeEnd.TIME if self.card is not None else end
        if end is TreeEnd.DONE and self.card is None:
            raise InfeasibleProblemError(NO_CARD)
        self.raise_bound(min(tree.bound, self.upper_bound - self.accepted_gap))
        self.record(tree.n_nodes)
        self.programmes = tree.n_nodes
        ends = {TreeEnd.TIME: Status.TIME_LIMIT, TreeEnd.NODES: Status.ITERATION_LIMIT, TreeEnd.INTERRUPTED: Status.INTERRUPTED}
        return self.outcome(ends.get(end, Status.STALLED), tree.n_nodes)

    def take_card(self, card: RiskScore, value: float) -> None:
        """A card that the tree came upon, whatever value the cuts gave it."""
        before = self.upper_bound
        if self.offer(card):
            self.improve(card)
        if self.upper_bound < before:
            self.master.chain(self.upper_bound, self.lower_bound)

    def initialise(self) -> None:
        """Cuts, cards and a bound before the first programme over whole points (Algorithm 6)."""
        self.try_card(RiskScore(0, np.zeros(self.problem.n_columns, dtype=np.int32)))
        limit = FIRST_SHARE * self.seconds_left
        started = self.options.elapsed
        best, best_loss = np.zeros(self.problem.n_columns + 1), np.inf
        for model in regularisation_path(self.rows, self.problem, (1.0,), PATH_CUTS):
            self.cut_at(model.point)
            self.lower_bound = max(self.lower_bound, tangent_bound(self.problem, model.point, model.loss, model.gradient))
            if self._within_budget(model.point) and model.loss < best_loss:
                best, best_loss = model.point, model.loss
            self.round(model.point)
        for _ in range(RELAXED_CUTS):
            if self.options.elapsed - started > limit:
                break
            answer = self.master.programme.solve(seconds=max(self.seconds_left, 1.0))
            if answer.point is None:
                break
            self.raise_bound(answer.bound)
            point = self.master.point_of(answer.point)
            for there in (point, 0.5 * (point + best)):
                loss = self.master.cut(there)
                if loss < best_loss:
                    best, best_loss = there, loss
            if best_loss - self.lower_bound <= RELAXED_GAP * best_loss:
                break
        self.round(best)

    def _within_budget(self, point: FloatArray) -> bool:
        """Whether a point shares out no more than the columns a card may have: only then it competes with the relaxation's."""
        limits = np.where(point[1:] > 0, self.problem.upper, -self.problem.lower)
        used = point[1:] != 0
        return float((np.abs(point[1:][used]) / np.maximum(limits[used], 1)).sum()) <= self.problem.max_features

    def round(self, point: FloatArray) -> None:
        """A card from a real-valued point."""
        card = sequential(self.problem, self.sample, point, self.problem.max_features)
        if card is not None:
            self.try_card(card)

    def try_card(self, card: RiskScore) -> None:
        """Offer a card, polish it if it is promising, and cut at both."""
        if self.offer(card):
            self.cut_at(coordinates(card))
            self.improve(card)

    def improve(self, card: RiskScore) -> None:
        """What a card leads to: its polished form, and the best real-valued points of its columns."""
        if self.problem.admits(card) and self.problem.objective(card) <= PROMISING * self.upper_bound:
            better = polished(self.problem, self.sample, card, stopped=lambda: self.options.out_of_time)
            self.offer(better)
            self.cut_at(coordinates(better))
            card = better
        used = np.flatnonzero(card.points).astype(np.int32)
        if used.tobytes() not in self.fitted:
            self.fitted.add(used.tobytes())
            self.cut_at(self.fitter.fit(self.fitter.at(coordinates(card)), columns=used).point)
