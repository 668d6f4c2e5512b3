"""Cutting planes: Algorithm 2 of Sun, Justin, Gomez and Vayanos (AISTATS 2025).

Problem (3) (:mod:`surefoot.robust.conic.monolithic`) has a constraint for every row and category vector; the master problem is
its relaxation to a few of them. One round:

1. Solve the master by an interior point. Its model gets its exact objective as the upper bound (never worse than the paper's
   e* + theta*), its multipliers are repaired into a plan that gives the lower bound.
2. Separation: find for every row the most violated constraint, that is, the shift that hurts the model most (Algorithm 1, or
   the prefix argument; see :mod:`surefoot.robust.conic.distance_program`).
3. Add the violated constraints to the master. The paper adds one per round, which takes thousands of rounds; by default every
   violated row gets its own.

The duality gap ends the solve. Without a violated constraint and with an open gap, first the box and then the settings of the
interior point are changed; after the last of these the solve is stalled.

The first masters may have no solution, because without its worst shifts a table can be separable. A box around the coefficients
bounds them. It never enters a bound: a plan is judged against the problem without it. A box that is still active when no
constraint is violated is widened.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.conic.conic_run import ConicRun
from surefoot.robust.conic.distance_program import DistanceProgramme, WorstShifts, prefix_worst_shifts
from surefoot.robust.conic.monolithic import piece_programme, solve_pieces, too_wide
from surefoot.robust.conic.parameters import ConicParameters, ScenarioCutParameters
from surefoot.robust.conic.pieces import Pieces
from surefoot.robust.conic.proven_plan import Multipliers
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.registry import RobustOutcome, ranges_refused, require_acceptance

Separation = Literal["dynamic-programme", "prefix"]
CutsPerRound = Literal["per-row", "most-violated"]


class ScenarioCuts:
    """The paper's cutting-plane method on Clarabel.

    Parameters
    ----------
    separation : {"dynamic-programme", "prefix"}
        How the worst shift of a row is found: Algorithm 1, or the prefix argument, which takes any real weights.
    cuts_per_round : {"per-row", "most-violated"}
        One cut for every violated row, or, as in the paper, one in all.
    parameters : ScenarioCutParameters, optional
    conic_parameters : ConicParameters, optional
        Of the master problems.
    """

    name = "cutting-plane"

    def __init__(
        self,
        *,
        separation: Separation = "dynamic-programme",
        cuts_per_round: CutsPerRound = "per-row",
        parameters: ScenarioCutParameters | None = None,
        conic_parameters: ConicParameters | None = None,
    ) -> None:
        for name, value, choices in (
            ("separation", separation, get_args(Separation)),
            ("cuts_per_round", cuts_per_round, get_args(CutsPerRound)),
        ):
            if value not in choices:
                raise ValueError(f"{name}={value!r} is not known. Choose one of {', '.join(map(repr, choices))}.")
        self.separation = separation
        self.cuts_per_round = cuts_per_round
        self.parameters = parameters or ScenarioCutParameters()
        self.conic_parameters = conic_parameters or ConicParameters()

    def refuses(self, problem: RobustLogisticProblem) -> str | None:
        """Why the problem cannot be taken, or None."""
        reason = ranges_refused(problem) or too_wide(problem, self.conic_parameters)
        if reason is not None or self.separation == "prefix" or problem.radius == 0:
            return reason
        most = self.parameters.max_states // max(problem.n_rows, 1)
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
        settings, cone_settings = self.parameters, self.conic_parameters.cone_settings
        run = ConicRun(problem, options, warm_start, self.conic_parameters)
        if problem.radius == 0:
            return solve_pieces(run, Pieces.unmoved(run.problem))
        programme = DistanceProgramme(run.problem) if self.separation == "dynamic-programme" else None
        pieces = Pieces.unmoved(run.problem)
        if warm_start is not None:
            worst = self._separate(programme, run.problem, run.standard.standardize(warm_start))
            pieces = _with_new(pieces, Pieces(np.arange(run.problem.n_rows), worst.codes, worst.flipped))
        box, tried, ended, iteration = settings.initial_box, 0, Status.ITERATION_LIMIT, 0
        for iteration in range(1, (options.max_iter or settings.max_rounds) + 1):
            solution = piece_programme(run.coordinates, pieces, box=box).solve(
                run.cone_options, replace(cone_settings[tried], objective_scale=run.upper_bound)
            )
            multipliers = Multipliers.of_pieces(run.coordinates, pieces, solution.mass, solution.flow)
            coefficients = run.update(solution.x, multipliers)
            run.record(iteration)
            if run.converged:
                break
            if options.out_of_time:
                ended = Status.TIME_LIMIT
                break
            worst = self._separate(programme, run.problem, coefficients)
            cuts = self._cuts(run, worst, worst.loss - solution.x[run.coordinates.loss :])
            grown = _with_new(pieces, cuts)
            largest = float(np.abs(solution.x[: run.coordinates.n_coefficients]).max(initial=0.0))
            if grown.row.size > pieces.row.size:
                pieces = grown
            elif box < settings.largest_box and largest > settings.binding_fraction * box:
                box *= settings.box_growth
            elif tried + 1 < len(cone_settings):
                tried += 1
            else:
                ended = Status.STALLED
                break
        return run.restored_outcome(ended, iteration)

    def _separate(
        self, programme: DistanceProgramme | None, problem: RobustLogisticProblem, coefficients: RobustCoefficients
    ) -> WorstShifts:
        if programme is None:
            return prefix_worst_shifts(problem, coefficients)
        return programme.worst_shifts(problem, coefficients)

    def _cuts(self, run: ConicRun, worst: WorstShifts, violation: FloatArray) -> Pieces:
        """The violated constraints to add."""
        everyone = Pieces(np.arange(run.problem.n_rows), worst.codes, worst.flipped)
        violated = np.flatnonzero(violation > self.parameters.violation_fraction * run.options.tolerance * run.upper_bound)
        if self.cuts_per_round == "most-violated":
            violated = violated[np.argsort(-violation[violated], kind="stable")[:1]]
        return everyone.chosen(violated)


def _with_new(pieces: Pieces, cuts: Pieces) -> Pieces:
    """The pieces and those cuts that are not among them yet."""
    both = pieces.joined(cuts)
    keys = np.column_stack((both.row, both.flipped, both.codes))
    _, first = np.unique(keys, axis=0, return_index=True)
    return both.chosen(np.sort(first))
