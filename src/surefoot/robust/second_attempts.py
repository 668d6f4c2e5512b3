"""Problems that got stuck are tried again in other ways, and the best model and the best plan of all are taken.

Every model is a model of the problem and every plan is a plan of it, wherever they come from. An attempt is tried while the
problem is unfinished and there is time left; each knows by itself whether it has anything to offer:

- it is solved to a smaller tolerance, which makes all steps more exact: from the best model so far, and once more on another
  way there, afresh;
- columns that are too dear to move are left out of the ground cost (:mod:`surefoot.robust.dear_columns`);
- small problems are solved as cone programmes (:mod:`surefoot.robust.small_cones`).

Here they finish what is unfinished by the solver's own account. What is finished by that, and not confirmed by the certificate,
is tried again beside the certificate (:mod:`surefoot.robust.estimator.certified_outcome`): solvers do not know it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.registry import RobustOutcome

UNFINISHED = (Status.STALLED, Status.ITERATION_LIMIT, Status.NUMERICAL_ERROR)

# Solves a problem with the given options from a given model, if there is one.
Solve = Callable[[RobustLogisticProblem, SolveOptions, RobustCoefficients | None], RobustOutcome]
# What an attempt makes of the best model so far, or None if it has nothing to offer.
Attempt = Callable[[RobustCoefficients], RobustOutcome | None]


def finish(attempts: Iterable[Attempt], options: SolveOptions, outcome: RobustOutcome) -> RobustOutcome:
    """The outcome as it is, or with the models and the plans of attempts where they are better.

    Parameters
    ----------
    attempts : iterable of callables
        In the order in which they are tried, with these options.
    options : SolveOptions
        A limit on iterations is one on the first solve, which nobody exceeds by another.
    outcome : SolveOutcome
        What the first solve made of the problem.
    """
    for attempt in attempts:
        if outcome.status not in UNFINISHED or options.max_iter is not None or options.out_of_time:
            break
        other = attempt(outcome.primal)
        outcome = outcome if other is None else combined(outcome, other, options.tolerance)
    return outcome


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
