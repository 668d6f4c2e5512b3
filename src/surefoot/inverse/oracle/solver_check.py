"""Whether a caller's own solver answers as it promises: as far as the observed decisions can tell.

Its decision must never cost more than the observed one, at any cost that is asked. A solver that ignores the cost is found out
by a cost at which the observed decision is cheaper than the one it returns.
"""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.exceptions import ForwardSolveError
from surefoot.inverse.oracle.forward_oracle import Choice, ForwardOracle
from surefoot.inverse.problem.decision_set import OpaqueSet
from surefoot.inverse.problem.distance import NO_DISTANCE
from surefoot.inverse.problem.problem import Example, InverseProblem

# By how much the decision of a caller's solver may cost more than the observed one, per unit of the terms of both: what
# solvers leave by default.
SOLVER_TOLERANCE = 1e-5
# Observations whose solver is asked at a cost made for it, and the price there of what tells no decisions apart.
PROBED = 3
SMALL_PRICE = 1e-3
_REASONS = (
    "it does not solve to optimality (exact=False says so), or does not react to the cost that it is given, or the observed "
    "decision is none at this signal (infeasible='clamp' keeps such observations)"
)


def require_no_worse(example: Example, theta: FloatArray, choice: Choice) -> None:
    """Raise if a caller's solver has returned a decision that is worse than the observed one.

    Raises
    ------
    ForwardSolveError
        Naming the solver and the observation.
    """
    decisions = example.instance.decisions
    if not isinstance(decisions, OpaqueSet) or not decisions.exact or not example.inside:
        return
    size = float(np.abs(theta) @ (np.abs(example.own) + np.abs(example.own - choice.slope)))
    if choice.value < -SOLVER_TOLERANCE * size:
        raise ForwardSolveError(
            f"observation {example.index}: {decisions.solver} returned a decision that is worse than the observed one by "
            f"{-choice.value:.3g} at the cost it was asked for: {_REASONS}."
        )


def require_reaction(problem: InverseProblem, oracle: ForwardOracle) -> None:
    """Raise if the solver of a few observations ignores the cost, as far as their responses can tell."""
    probed = 0
    for example in problem.examples:
        decisions = example.instance.decisions
        if problem.clamp or probed == PROBED or not isinstance(decisions, OpaqueSet) or not decisions.exact:
            return
        first = _member(problem, np.ones(problem.n_features))
        if first is None:
            return
        probed += 1
        away = -oracle.augmented(example, first, NO_DISTANCE, weight=0.0).slope
        if not np.any(away):
            continue  # the observed decision itself
        # A cost at which the observed decision is cheaper than that one, without negative entries if there is such a cost.
        for wanted in (np.maximum(away, 0.0) + SMALL_PRICE * np.abs(away).max(), away):
            probe = _member(problem, wanted)
            if probe is None or not probe @ away > 0:
                continue
            choice = oracle.augmented(example, probe, NO_DISTANCE, weight=0.0)
            if choice.slope @ probe < 0 and np.array_equal(choice.slope, -away):
                raise ForwardSolveError(
                    f"observation {example.index}: {decisions.solver} returned the same decision at two costs, although the "
                    f"observed one is cheaper at the second: {_REASONS}."
                )
            require_no_worse(example, probe, choice)
            break


def _member(problem: InverseProblem, wanted: FloatArray) -> FloatArray | None:
    """A cost along a direction that the prior set holds, if there is an obvious one."""
    total = float(wanted.sum())
    sizes = [1.0, 1.0 / max(float(np.abs(wanted).max()), 1e-300)]
    if problem.prior.total is not None and total > 0:
        sizes = [problem.prior.total / total]
    return next((wanted * size for size in sizes if problem.prior.excess(wanted * size) <= 1e-9), None)
