"""Cutting planes: Algorithm 2 of Sun, Justin, Gomez and Vayanos (AISTATS 2025).

A relaxation of problem (3) guards each row against a few category vectors only. Solve it, find for every row the shift that
hurts the relaxed model most (Algorithm 1, or the prefix argument; see :mod:`surefoot.robust.conic.distance_program`), add it,
repeat.

The paper adds one constraint per round, which takes thousands of rounds; by default every row that is violated gets its
own. The upper bound is the exact objective at the relaxation's model rather than the paper's e* + theta* (never worse), the
lower bound the shift plan in the relaxation's multipliers.

The first relaxations may have no solution, because without its worst shifts a table can be separable. A box around the
coefficients keeps them finite. It never enters a bound: a plan is judged against the problem without it. A box that still
binds when no shift violates any more is widened.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.conic.distance_program import DistanceProgramme, WorstShifts, prefix_worst_shifts
from surefoot.robust.conic.incumbent import Incumbent
from surefoot.robust.conic.monolithic import piece_programme, solve_pieces, too_wide
from surefoot.robust.conic.pieces import Pieces
from surefoot.robust.conic.proven_plan import Multipliers
from surefoot.robust.conic.softplus_programme import SETTINGS
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.registry import RobustOutcome, require_acceptance

Separation = Literal["dynamic-programme", "prefix"]
CutsPerRound = Literal["per-row", "most-violated"]

# States of the dynamic programme over all rows: about a minute a round.
MOST_STATES = 1_000_000_000
DEFAULT_ROUNDS = 10_000
# In standard units: a score of 30 is a probability of 1 - 1e-13.
FIRST_BOX = 30.0
LAST_BOX = 1e6


class ScenarioCuts:
    """The paper's cutting-plane method on Clarabel.

    Parameters
    ----------
    separation : {"dynamic-programme", "prefix"}
        How the worst shift of a row is found: Algorithm 1, or the prefix argument, which takes any real weights in its stride.
    cuts_per_round : {"per-row", "most-violated"}
        One cut for every violated row, or, as in the paper, one in all.
    """

    name = "cutting-plane"

    def __init__(self, *, separation: Separation = "dynamic-programme", cuts_per_round: CutsPerRound = "per-row") -> None:
        for name, value, choices in (
            ("separation", separation, get_args(Separation)),
            ("cuts_per_round", cuts_per_round, get_args(CutsPerRound)),
        ):
            if value not in choices:
                raise ValueError(f"{name}={value!r} is not known. Choose one of {', '.join(map(repr, choices))}.")
        self.separation = separation
        self.cuts_per_round = cuts_per_round

    def refuses(self, problem: RobustLogisticProblem) -> str | None:
        """Why the problem cannot be taken, or None."""
        if (reason := too_wide(problem)) is not None or self.separation == "prefix" or problem.radius == 0:
            return reason
        most = MOST_STATES // max(problem.n_rows, 1)
        try:
            DistanceProgramme(problem, most_states=most)
        except OverflowError:
            return (
                f"its categorical weights add up to more than {most} different distances for each of {problem.n_rows} rows. "
                "Round the weights, or take separation='prefix'."
            )
        return None

    def solve(
        self, problem: RobustLogisticProblem, options: SolveOptions, warm_start: RobustCoefficients | None = None
    ) -> RobustOutcome:
        """Add cuts until the gap is closed; a warm start contributes its worst shifts as first cuts."""
        require_acceptance(self, problem)
        incumbent = Incumbent(problem, options, warm_start)
        if problem.radius == 0:
            return solve_pieces(incumbent, Pieces.unmoved(incumbent.problem))
        programme = DistanceProgramme(incumbent.problem) if self.separation == "dynamic-programme" else None
        pieces = Pieces.unmoved(incumbent.problem)
        if warm_start is not None:
            worst = self._worst(programme, incumbent.problem, incumbent.standard.standardize(warm_start))
            pieces = _with_new(pieces, Pieces(np.arange(incumbent.problem.n_rows), worst.codes, worst.flipped))
        box, tried, ended, iteration = FIRST_BOX, 0, Status.ITERATION_LIMIT, 0
        for iteration in range(1, (options.max_iter or DEFAULT_ROUNDS) + 1):
            solution = piece_programme(incumbent.coordinates, pieces, box=box).solve(
                incumbent.cone_options, replace(SETTINGS[tried], objective_scale=incumbent.upper_bound)
            )
            multipliers = Multipliers.of_pieces(incumbent.coordinates, pieces, solution.mass, solution.flow)
            coefficients = incumbent.offer(solution.x, multipliers)
            incumbent.record(iteration)
            if incumbent.optimal:
                break
            if options.out_of_time:
                ended = Status.TIME_LIMIT
                break
            worst = self._worst(programme, incumbent.problem, coefficients)
            cuts = self._cuts(incumbent, worst, worst.loss - solution.x[incumbent.coordinates.loss :])
            grown = _with_new(pieces, cuts)
            if grown.row.size > pieces.row.size:
                pieces = grown
            elif box < LAST_BOX and np.abs(solution.x[: incumbent.coordinates.n_coefficients]).max(initial=0.0) > 0.99 * box:
                box *= 10.0
            elif tried + 1 < len(SETTINGS):
                tried += 1
            else:
                ended = Status.STALLED
                break
        return incumbent.outcome(ended, iteration)

    def _worst(
        self, programme: DistanceProgramme | None, problem: RobustLogisticProblem, coefficients: RobustCoefficients
    ) -> WorstShifts:
        if programme is None:
            return prefix_worst_shifts(problem, coefficients)
        return programme.worst_shifts(problem, coefficients)

    def _cuts(self, incumbent: Incumbent, worst: WorstShifts, violation: FloatArray) -> Pieces:
        """The violated constraints to add."""
        everyone = Pieces(np.arange(incumbent.problem.n_rows), worst.codes, worst.flipped)
        # Smaller violations, of all rows together, are no reason for a gap that is still open.
        violated = np.flatnonzero(violation > 0.1 * incumbent.options.tolerance * incumbent.upper_bound)
        if self.cuts_per_round == "most-violated":
            violated = violated[np.argsort(-violation[violated], kind="stable")[:1]]
        return everyone.chosen(violated)


def _with_new(pieces: Pieces, cuts: Pieces) -> Pieces:
    """The pieces and those cuts that are not among them yet."""
    both = pieces.joined(cuts)
    keys = np.column_stack((both.row, both.flipped, both.codes))
    _, first = np.unique(keys, axis=0, return_index=True)
    return both.chosen(np.sort(first))
