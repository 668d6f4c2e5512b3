"""Small problems that got stuck: cone programmes try too, and the best model and the best plan of all are taken.

Prices and weights that differ by many powers of ten leave quadratic steps too short to arrive. An interior point on the
enumerated model, or on its longest-path formulation, does not mind them as much; from where it ends, quadratic steps get on.
Every model is a model of the problem and every plan is a plan of it, wherever they come from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.conic.graph import Graph
from surefoot.robust.conic.monolithic import Monolithic
from surefoot.robust.conic.parameters import ConicParameters
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.registry import RobustOutcome

UNFINISHED = (Status.STALLED, Status.ITERATION_LIMIT, Status.NUMERICAL_ERROR)


@dataclass(frozen=True)
class SecondSolverParameters:
    """What is small enough: a cone programme of this size takes about a second. Not tuned."""

    max_pieces: int = 20_000
    max_coefficients: int = 200
    max_arcs: int = 50_000


PARAMETERS = SecondSolverParameters()


def combined(outcome: RobustOutcome, other: RobustOutcome, tolerance: float) -> RobustOutcome:
    """The better model and the better plan of two outcomes of one problem."""
    best = outcome if outcome.upper_bound <= other.upper_bound else other
    proof = outcome if outcome.lower_bound >= other.lower_bound else other
    closed = best.upper_bound - proof.lower_bound <= tolerance * best.upper_bound
    ended = other.status if other.status is not Status.OPTIMAL else Status.STALLED
    return replace(
        outcome,
        status=Status.OPTIMAL if closed else ended,
        primal=best.primal,
        dual=proof.dual,
        upper_bound=best.upper_bound,
        lower_bound=proof.lower_bound,
        iterations=outcome.iterations + other.iterations,
        seconds=outcome.seconds + other.seconds,
        history=outcome.history + other.history,
    )


def finish_with_cones(
    solve: Callable[[RobustLogisticProblem, SolveOptions, RobustCoefficients | None], RobustOutcome],
    problem: RobustLogisticProblem,
    options: SolveOptions,
    outcome: RobustOutcome,
) -> RobustOutcome:
    """The outcome as it is, or with the model and the plan of cone programmes, and of steps from there, where they are better.

    Parameters
    ----------
    solve : callable
        Solves a problem with the given options from a given model.
    problem : RobustLogisticProblem
    options : SolveOptions
    outcome : SolveOutcome
        What ``solve`` made of the problem.
    """
    if options.max_iter is not None:
        return outcome
    p = PARAMETERS
    conic = ConicParameters(max_pieces=p.max_pieces, max_coefficients=p.max_coefficients, max_arcs=p.max_arcs)
    for second in (Monolithic(parameters=conic), Graph(parameters=conic)):
        for attempt in (second.solve, solve):
            left = None if options.time_limit is None else options.time_limit - outcome.seconds
            if outcome.status not in UNFINISHED or (left is not None and left <= 0) or second.refuses(problem) is not None:
                return outcome
            other = attempt(problem, replace(options, time_limit=left), outcome.primal)
            outcome = combined(outcome, other, options.tolerance)
    return outcome
