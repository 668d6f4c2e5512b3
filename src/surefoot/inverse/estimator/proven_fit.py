"""One fit from its problem to its verdict: solved, witnessed and judged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from surefoot.core.arrays import FloatArray
from surefoot.core.certificate import Certificate
from surefoot.core.outcome import SolveOutcome, Status, handed_over
from surefoot.core.solve_options import SolveOptions
from surefoot.inverse.estimator.cost_fit import fit_cost
from surefoot.inverse.estimator.judged_cost import judged, witnessed
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.problem import InverseProblem

# Of a time limit, what solvers leave for the proofs of losses: they take all that they are given. Not tuned.
PROOF_SHARE = 0.1


class ProvenFit(NamedTuple):
    """What a fit has found, and the problem that its certificate is about."""

    problem: InverseProblem
    outcome: SolveOutcome[Any, Any]
    cost: FloatArray
    certificate: Certificate


def proven_fit(model: Any, separation: Separation, problem: InverseProblem, options: SolveOptions) -> ProvenFit:
    """Solve the problem that the approach of a model poses, and judge the answer."""
    limit = options.time_limit
    solving = options if limit is None else replace(options, time_limit=(1.0 - PROOF_SHARE) * limit)
    task, found = fit_cost(model, separation, problem, solving)
    outcome = witnessed(model.approach, task, handed_over(found), proof_seconds(model, options), separation)
    cost, certificate = judged(model.approach, task, outcome, options.tolerance)
    if certificate.verified and outcome.status not in (Status.ITERATION_LIMIT, Status.TIME_LIMIT, Status.INTERRUPTED):
        # The gap is closed after all: losses of rounding size end a solver, and are no gap.
        outcome = replace(outcome, status=Status.OPTIMAL)
    return ProvenFit(task, outcome, cost, certificate)


def proof_seconds(model: Any, options: SolveOptions) -> float:
    """What is left of the time limit to prove losses, and at least the share that is kept for it."""
    return max(options.seconds_left, PROOF_SHARE * (model.time_limit or 0.0))
