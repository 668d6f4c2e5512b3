"""What a solver claims, judged by the certificate; and what is done where that does not confirm it.

A solver stops by its own account of the gap. The certificate trusts no account and pays for every rounding, so it may prove a
little less. Then, one after the other, until it proves enough:

1. the plan is polished (:mod:`surefoot.robust.polished_plan`)
2. the problem is solved more exactly, and then in the other ways of :mod:`surefoot.robust.second_attempts`; each answer is
   judged in its turn, as claims of an account that was not confirmed say nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from itertools import product

from surefoot.core.certificate import Certificate
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.estimator.unseen_levels import level_weights, with_unseen_levels
from surefoot.robust.polished_plan import polished_plan
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.robust.registry import RobustLogisticSolver, RobustOutcome
from surefoot.robust.second_attempts import Attempt

# What a polished plan may leave of its budget, in the objective: this share of the tolerance.
SPARE_SHARE = 0.02
# Plans are polished where the solver's gap is at most this many times the tolerance.
SETTLED_GAP = 100.0
# How coarsely they are polished, one after the other.
COARSENESS = (1.0, 1e2, 1e4)
# Seconds for that which a time limit leaves at least: enough for small tables.
LEAST_SECONDS = 0.05


def further_attempts(solver: RobustLogisticSolver, problem: RobustLogisticProblem, options: SolveOptions) -> Iterable[Attempt]:
    """What is left to try: only the automatic choice has more than one way; who names a solver wants that one."""
    attempts: Iterable[Attempt] = solver.attempts(problem, options) if hasattr(solver, "attempts") else ()
    return attempts


def certified(
    problem: RobustLogisticProblem, outcome: RobustOutcome, options: SolveOptions, attempts: Iterable[Attempt] = ()
) -> tuple[Certificate, RobustOutcome]:
    """The certificate of an outcome, and the outcome with the model and the plan that it is about.

    Parameters
    ----------
    problem : RobustLogisticProblem
    outcome : SolveOutcome
    options : SolveOptions
        Those of the solve, whose time goes on. Nothing is tried again beyond a limit.
    attempts : iterable of callables
        Tried in turn on outcomes that are optimal by the account of the solver only.
    """
    certificate, outcome = _judged(problem, outcome, options)
    if outcome.status is not Status.OPTIMAL or options.max_iter is not None:
        return certificate, outcome
    for attempt in attempts:
        if certificate.verified or options.out_of_time:
            break
        other = attempt(outcome.primal)
        if other is None:
            continue
        again, other = _judged(problem, other, options)
        better = again.upper_bound - again.lower_bound < certificate.upper_bound - certificate.lower_bound
        certificate = again if better else certificate
        outcome = replace(
            replace(other, status=Status.OPTIMAL) if better else outcome,
            iterations=outcome.iterations + other.iterations,
            seconds=outcome.seconds + other.seconds,
            history=outcome.history + other.history,
        )
    return certificate, outcome


def _judged(problem: RobustLogisticProblem, outcome: RobustOutcome, options: SolveOptions) -> tuple[Certificate, RobustOutcome]:
    """The certificate of an outcome, whose plan is polished if it proves too little.

    That is if the solver's own bound, which may be a claim, is near enough and the time is not over.
    """
    until = time.perf_counter() + max(options.seconds_left, LEAST_SECONDS)
    outcome = replace(outcome, primal=with_unseen_levels(problem.terms, outcome.primal, level_weights(problem)))
    tolerance = options.tolerance
    certificate = certify_robust_logistic(problem, outcome.primal, outcome.dual, tolerance)
    near = outcome.upper_bound - outcome.lower_bound <= SETTLED_GAP * tolerance * abs(outcome.upper_bound)
    if certificate.verified or outcome.dual is None or not near:
        return certificate, outcome
    charge = outcome.primal.price * problem.radius
    spare = min(0.5, SPARE_SHARE * tolerance * outcome.upper_bound / charge) if charge > 0 else 0.0
    given = outcome.dual
    for left, coarseness in product(dict.fromkeys((0.0, spare)), COARSENESS):
        if time.perf_counter() >= until:
            break
        plan = polished_plan(problem, given, left, coarseness)
        again = certify_robust_logistic(problem, outcome.primal, plan, tolerance)
        if again.lower_bound > certificate.lower_bound:
            certificate, outcome = again, replace(outcome, dual=plan)
        if certificate.verified:
            break
    return certificate, outcome
