"""The nearest cost that keeps to growing cuts, against all cuts at once."""

from __future__ import annotations

import numpy as np
import pytest
from reference.enumerated_inverse import drawn

from surefoot.core.outcome import Status
from surefoot.inverse.exact.least_distance import LeastDistance, shortest, solve_least_distance
from surefoot.inverse.forward.programs import BinaryProgram
from surefoot.inverse.oracle.binary_vectors import few_decisions
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import InverseProblem, Regularizer


@pytest.mark.parametrize("prior", [None, "nonnegative"])
@pytest.mark.parametrize("seed", range(4))
def test_cuts_that_were_set_aside_come_back_when_they_are_missed(prior: str | None, seed: int) -> None:
    _, signals, responses = drawn(5, 3, 8, seed=seed)
    pairs = enumerate(zip(signals, responses, strict=True))
    examples = tuple(BinaryProgram().example(at, signal, response) for at, (signal, response) in pairs)
    regularizer = Regularizer("l2", np.zeros(5))
    problem = InverseProblem(examples, Distance("l2", "none"), regularizer, 1.0, PriorSet.of(prior, 5), hard=True)
    every = [few_decisions(example.instance.decisions) for example in examples]  # type: ignore[arg-type]
    owners = np.repeat(np.arange(len(every)), [len(points) for points in every if points is not None])
    whole = problem.cuts(owners.tolist(), np.vstack([points for points in every if points is not None]))
    order = np.random.default_rng(seed).permutation(whole.size)
    master = LeastDistance(problem)
    for size in range(3, whole.size + 1, 3):
        cuts = whole.chosen(order[:size])
        found, wanted = master.solve(cuts), solve_least_distance(problem, cuts)
        assert found.status is wanted.status is Status.OPTIMAL
        np.testing.assert_allclose(found.theta, wanted.theta, rtol=1e-7, atol=1e-7)
        # Multipliers of all cuts, in their order: they make up the cost.
        pull = -(found.weights @ cuts.slopes)
        np.testing.assert_allclose(np.maximum(pull, 0.0) if prior else pull, found.theta, rtol=1e-7, atol=1e-7)


def test_without_rows_the_centre_itself_is_nearest() -> None:
    away, multipliers = shortest(np.empty((0, 3)), np.empty(0))
    assert away.tolist() == [0.0, 0.0, 0.0] and multipliers.size == 0


def test_rows_without_a_common_point_are_infeasible() -> None:
    assert shortest(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1.0, 1.0])) is Status.INFEASIBLE
