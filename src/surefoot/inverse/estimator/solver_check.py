"""Whether a caller's forward solver can be relied on, as far as a few questions tell.

It is asked about a few observations at the learned cost, and about the first of them at other costs of the prior set, until it
answers differently. An exact solver never returns a decision that costs more than the observed one, which is open too.
"""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.exceptions import ForwardSolveError
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.decision_set import OpaqueSet
from surefoot.inverse.problem.distance import NO_DISTANCE
from surefoot.inverse.problem.problem import Example, InverseProblem

# Observations that are asked about at the learned cost, and other costs at which the first ones are asked about.
OBSERVATIONS, COSTS = 5, 6
# By how much a decision may cost more than the observed one, per unit of what both cost.
ROUNDING = 1e-6


def solver_doubt(problem: InverseProblem, separation: Separation, cost: FloatArray) -> str:
    """What speaks against a caller's solver; nothing, if nothing does, or if decisions are known as data."""
    asked = [example for example in problem.examples if isinstance(example.instance.decisions, OpaqueSet)][:OBSERVATIONS]
    others = _costs(problem)
    try:
        for theta in [cost] if np.any(cost) else others[:2]:
            for example in asked:
                doubt = _worse(separation, example, theta)
                if doubt:
                    return doubt
        for example in asked:
            if _reacts(separation, example, others):
                return ""
    except ForwardSolveError:
        return ""  # a solver may refuse costs that no fit would ask about
    if not asked:
        return ""
    about = f"{len(asked)} observations" if len(asked) > 1 else "an observation"
    return (
        f"asked at {COSTS} different costs about {about}, it always returned the same decision. Check that it uses the cost "
        "that it is given, and its sign (decisions of least cost are asked for), and that the prior leaves it a choice."
    )


def _costs(problem: InverseProblem) -> list[FloatArray]:
    """Costs of very different directions, within the bounds of the prior set as far as these have a sign."""
    drawn = np.random.default_rng(0).normal(size=(COSTS // 2, problem.n_features))
    prior = problem.prior
    both = np.vstack([pair for row in drawn for pair in (row, -row)])
    both = np.where(prior.lower >= 0, np.exp(2 * both), np.where(prior.upper <= 0, -np.exp(2 * both), both))
    return list(both)


def _worse(separation: Separation, example: Example, theta: FloatArray) -> str:
    decisions = example.instance.decisions
    assert isinstance(decisions, OpaqueSet)
    found = separation.oracle.augmented(example, theta, NO_DISTANCE)
    size = float(np.abs(theta) @ (np.abs(example.own) + np.abs(example.own - found.slope)))
    if not decisions.exact or not example.inside or found.value >= -ROUNDING * size:
        return ""
    first, more = ", ".join(f"{entry:.3g}" for entry in theta[:10]), ", ..." if theta.size > 10 else ""
    return (
        f"at a cost of ({first}{more}) its decision for observation {example.index} costs {-found.value:.3g} more than the "
        "observed one. Let it return a cheapest decision, or say exact=False; give contains= if the observed decision was not "
        "open."
    )


def _reacts(separation: Separation, example: Example, costs: list[FloatArray]) -> bool:
    first = None
    for theta in costs:
        found = separation.oracle.decide(example.instance, theta).point
        first = found if first is None else first
        if not np.array_equal(found, first):
            return True
    return False
