"""Exact search for risk scores: branch and bound over supports, and within supports over whole points.

    min over an intercept b and points p, whole numbers, of   sum_i w_i log(1 + exp(-y_i s_i)) + penalty * #{j : p_j != 0}

A node of the tree is a set of columns, the prefix, with a relaxed fit; its children have one column more
(cpp/include/surefoot/riskscore/search/support_search.hpp). Three bounds prune, all consequences of the convexity of the loss L:
with points q in a box [l, u], and any point p with gradient g,

    L(q) >= L(p) - sum_j (g_j p_j - min(g_j l_j, g_j u_j)).

1. At the fit of a prefix, with A the columns still to be added, the sum over A of the largest terms bounds all supports that
   extend the prefix: single columns and whole subtrees are pruned.
2. At every Newton iterate of a support's own relaxed fit it bounds all cards on that support.
3. Within a support branch and bound fixes the intercept and the points one after another, with the same bound over the rest.

Nodes are selected by best bound, the incumbent comes from a beam search, and the dual bound is the smallest bound of an open
node or of a convex relaxation. The search ends when no open node is below (1 - gap) times the incumbent.

0/1 columns are counted by bits: all counts of sets of up to four columns stand in a table, one AND and population count gives
each larger one, and inclusion and exclusion turns them into cells. Other columns are split into groups of equal rows. An
allowance in every bound covers rounding (cpp/include/surefoot/riskscore/search/rounding_slack.hpp derives it).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from surefoot import _native
from surefoot.core.arrays import FloatArray, IntArray
from surefoot.core.outcome import Progress, SolveOutcome, Status, handed_over
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import CheckpointWarning, InfeasibleProblemError, SolveInterrupted
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.problem.score_proof import ScoreProof
from surefoot.riskscore.search.checkpoint import CheckpointFile
from surefoot.riskscore.search.native_search import search_cards
from surefoot.riskscore.search.near_cards import NearOptimalCards

STATUS = {
    _native.SearchEnd.COMPLETE: Status.OPTIMAL,
    _native.SearchEnd.TIME_LIMIT: Status.TIME_LIMIT,
    _native.SearchEnd.INTERRUPTED: Status.INTERRUPTED,
}
# Objectives that differ by less, relative to them, are taken for equal.
NEAR_ROUNDING = 1e-12
# The core sizes its arrays by it; a longer card could not be added up by hand.
MOST_FEATURES = 15


@dataclass(frozen=True)
class SearchTally:
    """What a search did.

    Attributes
    ----------
    supports_fitted : int
        Supports whose relaxed fit was bounded; all others were pruned in groups.
    supports_searched : int
        Supports whose points were searched.
    boxes_fitted : int
        Boxes of points bounded in doing so.
    heuristic_value, heuristic_seconds : float
        Objective of the first incumbent, and when it was known.
    merging_seconds : float
        When equal rows had been merged; the heuristic begins there.
    near_optimal : NearOptimalCards or None
        All cards near the best, if they were requested.
    proof : ScoreProof or None
        A proof for :func:`~surefoot.riskscore.certificate.certificate.certify_risk_score`, if it was requested, fits into the
        limit and the search was complete.
    relaxed_point : ndarray or None
        The minimiser of a convex relaxation, intercept first: the tangent of the loss there bounds all cards. None if there was
        no time for it.
    """

    supports_fitted: int
    supports_searched: int
    boxes_fitted: int
    heuristic_value: float
    heuristic_seconds: float
    near_optimal: NearOptimalCards | None = None
    proof: ScoreProof | None = None
    merging_seconds: float = 0.0
    relaxed_point: FloatArray | None = None


ScoreOutcome = SolveOutcome[RiskScore, SearchTally]


CardBlock = Callable[[FloatArray, IntArray, IntArray, FloatArray], None]


class ExactScore:
    """Branch and bound over supports and whole points; ``options.tolerance`` is the relative gap at which it may stop.

    Parameters
    ----------
    near_optimal : float or None, default=None
        Collect every admissible card with an objective up to ``1 + near_optimal`` times the best, once the best is known: the
        outcome's ``dual.near_optimal``. The gap is then closed entirely, whatever ``options.tolerance`` says.
    near_limit : int, default=10000
        How many of them are stored, the best ones. All are counted.
    on_cards : callable, default=None
        Called with blocks of near-optimal cards as they are found: objectives, intercepts, a row of points for every card, and
        multipliers.
        Each card comes exactly once, stored or not, in no fixed order. What it raises ends the search and reaches the caller.
    proof_limit : int, default=0
        Log a proof of optimality of up to so many numbers, after the search: the outcome's ``dual.proof``. It takes one more
        traversal of the tree, on one thread.
    checkpoint : path, optional
        A file to which the state of the search for the best card is written every ``checkpoint_interval`` seconds and at its
        end. If it exists, the search resumes from there; one of other data is an error. Where it cannot be written the search
        goes on and a ``CheckpointWarning`` says so in the end.
    checkpoint_interval : float, default=60.0
    gives_up : callable, default=None
        Called with every line of progress and with the fraction of the tree that is done: of the supports in subtrees that are
        finished, or still open with a bound below the incumbent, the fraction in finished ones; NaN before there are subtrees.
        Once it returns True the search ends as at a time limit.
    """

    name = "exact"

    def __init__(
        self,
        *,
        near_optimal: float | None = None,
        near_limit: int = 10_000,
        on_cards: CardBlock | None = None,
        proof_limit: int = 0,
        checkpoint: str | Path | None = None,
        checkpoint_interval: float = 60.0,
        gives_up: Callable[[Progress, float], bool] | None = None,
    ) -> None:
        if near_optimal is not None and not 0 <= near_optimal < np.inf:
            raise ValueError(f"near_optimal = {near_optimal} must be a finite number at or above 0, or None.")
        if near_limit < 0:
            raise ValueError(f"near_limit = {near_limit} must be at or above 0.")
        if proof_limit < 0:
            raise ValueError(f"proof_limit = {proof_limit} must be at or above 0.")
        self.near_optimal = near_optimal
        self.near_limit = near_limit
        self.on_cards = on_cards
        if not checkpoint_interval > 0:
            raise ValueError(f"checkpoint_interval = {checkpoint_interval} must be a positive number of seconds.")
        self.proof_limit = proof_limit
        self.checkpoint = checkpoint
        self.checkpoint_interval = checkpoint_interval
        self.gives_up = gives_up

    def refuses(self, problem: RiskScoreProblem) -> str | None:
        """Why the search cannot take the problem, or None."""
        if min(problem.max_features, problem.n_columns) > MOST_FEATURES:
            return f"cards may have up to {problem.max_features} columns, and the search handles {MOST_FEATURES}."
        return None

    def solve(self, problem: RiskScoreProblem, options: SolveOptions) -> ScoreOutcome:
        """The best card, or the best found with a valid bound if the time limit came first.

        Raises
        ------
        InfeasibleProblemError
            If no card obeys the rules.
        SolveInterrupted
            On Ctrl-C: a ``KeyboardInterrupt`` whose ``outcome`` is what would have been returned.
        """
        history: list[Progress] = []

        given_up = False

        def report(line: _native.SearchProgress) -> bool:
            nonlocal given_up
            history.append(Progress(line.n_fitted, line.upper_bound, line.lower_bound, line.seconds))
            if options.on_progress is not None:
                options.on_progress(history[-1])
            given_up = self.gives_up is not None and self.gives_up(history[-1], line.fraction_done)
            return not given_up

        def pass_on(cards: _native.CardBlock) -> bool:
            assert self.on_cards is not None
            self.on_cards(cards.objectives, cards.intercepts, cards.points, cards.multipliers)
            return True

        gap = options.tolerance if self.near_optimal is None else 0.0
        file = None if self.checkpoint is None else CheckpointFile(self.checkpoint, problem, gap)
        result = search_cards(
            problem,
            options,
            seconds=np.inf if options.time_limit is None else max(options.time_limit - options.elapsed, 0.0),
            on_progress=report,
            near_optimal=self.near_optimal,
            near_limit=self.near_limit,
            on_cards=None if self.on_cards is None else pass_on,
            proof_limit=self.proof_limit,
            resume=None if file is None else file.state,
            snapshot_interval=self.checkpoint_interval,
            on_snapshot=None if file is None else file.save,
        )
        if file is not None:
            file.save(result.snapshot)
        status = Status.TIME_LIMIT if given_up else STATUS[result.end]
        if not np.isfinite(result.value):
            if status is Status.OPTIMAL:
                raise InfeasibleProblemError(
                    "no score card obeys the rules; drop one of them, or allow more columns or points."
                )
            if status is Status.INTERRUPTED:
                raise SolveInterrupted("interrupted before a score card that obeys the rules was found.")
            raise InfeasibleProblemError("no score card that obeys the rules was found in the time given; allow more of it.")
        if status is Status.TIME_LIMIT and result.lower_bound >= result.value:
            # The time ran out while cards near the best were collected: the best is known.
            status = Status.OPTIMAL
        outcome = SolveOutcome(
            status=status,
            primal=RiskScore(result.intercept, result.points, result.multiplier),
            dual=SearchTally(
                supports_fitted=result.n_fitted,
                supports_searched=result.n_searched,
                boxes_fitted=result.n_boxes,
                heuristic_value=result.heuristic_value,
                heuristic_seconds=result.heuristic_seconds,
                near_optimal=self._near_cards(problem, result),
                proof=_proof(problem, result),
                merging_seconds=result.merging_seconds,
                relaxed_point=result.relaxed_point if result.relaxed_point.size else None,
            ),
            upper_bound=result.value,
            lower_bound=min(result.lower_bound, result.value),
            iterations=result.n_fitted,
            seconds=options.elapsed,
            history=tuple(history),
        )
        if file is not None and file.error is not None:
            warnings.warn(f"{file.error}. The search is not lost: its outcome is here.", CheckpointWarning, stacklevel=2)
        return handed_over(outcome)

    def _near_cards(self, problem: RiskScoreProblem, result: _native.SearchResult) -> NearOptimalCards | None:
        if self.near_optimal is None:
            return None
        cards = result.near_cards
        ceiling = result.value * (1.0 + self.near_optimal) if result.near_ceiling > 0 else np.nan
        # The search allows for the rounding of its bounds, which grows with the columns; the cards themselves are told apart.
        near = ~(cards.objectives > ceiling + NEAR_ROUNDING * max(1.0, ceiling))
        objectives = cards.objectives[near]
        return NearOptimalCards(
            tolerance=self.near_optimal,
            ceiling=ceiling,
            objectives=objectives,
            intercepts=cards.intercepts[near],
            points=cards.points.reshape(len(near), problem.n_columns)[near],
            multipliers=cards.multipliers[near],
            # The best ones are stored: if one of them is too far, so are those that are not.
            n_found=result.n_near if near.all() else len(objectives),
            complete=result.near_complete,
        )


def _proof(problem: RiskScoreProblem, result: _native.SearchResult) -> ScoreProof | None:
    proof = result.proof
    if proof is None:
        return None
    return ScoreProof(
        problem_digest=problem.digest(),
        threshold=proof.threshold,
        intercepts=(proof.intercept_lower, proof.intercept_upper),
        columns=proof.columns,
        twins=proof.twins,
        steps=_smallest(proof.steps),
        points=proof.points,
    )


def _smallest(steps: IntArray) -> IntArray:
    """The same numbers in the smallest integers that hold them: most are marks and codes."""
    for kind in (np.int8, np.int16):
        limits = np.iinfo(kind)
        if limits.min <= steps.min(initial=0) and steps.max(initial=0) <= limits.max:
            return steps.astype(kind)
    return steps
