"""Whether a caller's forward solver answers alike whatever things cost.

Where the observed decisions contradict it, a solver that promises exactness is refused during the fit
(:mod:`surefoot.inverse.oracle.solver_check`). This is about the others: those that promise nothing, and those whose only answer
happens to be what was observed. They are asked about a few observations at other costs of the prior set, until one differs.
"""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.exceptions import ForwardSolveError
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.decision_set import OpaqueSet
from surefoot.inverse.problem.problem import Example, InverseProblem

# Observations that are asked about, and at how many costs.
OBSERVATIONS, COSTS = 5, 6


def deafness(problem: InverseProblem, separation: Separation) -> str:
    """What speaks for a solver that ignores the cost; nothing, if it reacts once, or if decisions are known as data."""
    asked = [example for example in problem.examples if isinstance(example.instance.decisions, OpaqueSet)][:OBSERVATIONS]
    costs = _costs(problem)
    try:
        if not asked or any(_reacts(separation, example, costs) for example in asked):
            return ""
    except ForwardSolveError:
        return ""  # a solver may refuse costs that no fit would ask about
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


def _reacts(separation: Separation, example: Example, costs: list[FloatArray]) -> bool:
    first = None
    for theta in costs:
        found = separation.oracle.decide(example.instance, theta).point
        first = found if first is None else first
        if not np.array_equal(found, first):
            return True
    return False
