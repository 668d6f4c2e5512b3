"""Native searches of small mixed programmes against programmes of HiGHS, and their proofs against the certificate."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.inverse.certificate.decision_bound import decision_bounds
from surefoot.inverse.oracle.boxed_batch import BoxedBatch
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.oracle.forward_oracle import ForwardOracle
from surefoot.inverse.problem.decision_set import LinearSet
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.hypothesis import LinearFeatures, identity_features
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import Example, Instance, InverseProblem, Regularizer


def posed(seed: int, distance: Distance, top: int, count: int = 4) -> InverseProblem:
    """Sets with rows of both sides and an equality, around a response that is one of the decisions."""
    generator = np.random.default_rng(seed)
    n, marks = 5, np.array([False, True, False, True, True])
    examples = []
    for i in range(count):
        matrix = np.round(generator.normal(size=(4, n)), 1)
        matrix[3, ~marks] = [1.0, -1.0]
        response = np.where(marks, generator.integers(0, top + 1, size=n), generator.uniform(size=n))
        sides = matrix @ response
        low, high = sides - generator.uniform(0, 2, size=4), sides + generator.uniform(0, 2, size=4)
        low[:2], high[2] = -np.inf, np.inf
        low[3] = high[3] = sides[3]
        upper = np.where(marks, float(top), 1.0)
        decisions = LinearSet(matrix, low, high, np.zeros(n), upper, marks)
        features = identity_features(n) if seed % 2 else LinearFeatures(generator.normal(size=(3, n)), np.ones(3))
        examples.append(Example(Instance(i, decisions, features), response))
    p = examples[0].instance.features.n_features
    return InverseProblem(tuple(examples), distance, Regularizer("l2", np.zeros(p)), 0.1, PriorSet.of(None, p))


CASES = [
    (Distance("l2", "linf"), 1),
    (Distance("l2", "none"), 1),
    (Distance("l1", "linf"), 1),
    (Distance("zero-one", "none"), 1),
    (Distance("none", "none"), 1),
    (Distance("none", "linf"), 3),
    (Distance("linf", "none"), 3),
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("distance", "top"), CASES)
def test_worst_decisions_are_those_of_highs_and_proofs_are_proofs(distance: Distance, top: int, seed: int) -> None:
    problem = posed(seed, distance, top)
    batch = BoxedBatch.of(problem)
    assert batch is not None
    generator = np.random.default_rng(100 + seed)
    for scale in (0.0, 1.0, 30.0):
        theta = scale * generator.normal(size=problem.n_features)
        found = batch.worst(theta, 1.0)
        assert found.solved.all()
        proofs = batch.proofs(theta, found.values + 1e-7)
        bounds = decision_bounds(problem.examples, theta, distance, proofs)
        for i, example in enumerate(problem.examples):
            choice = ForwardOracle().augmented(example, theta, distance)
            assert found.values[i] == pytest.approx(choice.value, abs=1e-6)
            assert found.values[i] <= found.bounds[i]
            assert example.instance.decisions.allowed(found.points[i : i + 1])[0]
            assert found.values[i] - 1e-6 <= bounds[i] <= found.values[i] + 1e-5


def test_a_goal_below_the_loss_is_not_proven() -> None:
    problem = posed(1, Distance("l2", "linf"), 1)
    batch = BoxedBatch.of(problem)
    assert batch is not None
    theta = np.random.default_rng(0).normal(size=problem.n_features)
    assert batch.proofs(theta, batch.worst(theta, 1.0).values - 1e-3) == [None] * 4


def test_a_response_that_is_no_decision_is_no_incumbent_and_an_empty_set_is_left_to_the_oracle() -> None:
    problem = posed(3, Distance("none", "none"), 1, count=2)
    first, second = (example.instance.decisions for example in problem.examples)
    assert isinstance(first, LinearSet) and isinstance(second, LinearSet)
    none = LinearSet(np.ones((4, 5)), np.full(4, 7.0), np.full(4, 9.0), second.lower, second.upper, second.whole)
    examples = (
        Example(problem.examples[0].instance, np.full(5, 9.0), inside=False),
        Example(Instance(1, none, problem.examples[1].instance.features), np.zeros(5), inside=False),
    )
    batch = BoxedBatch.of(InverseProblem(examples, problem.distance, problem.regularizer, 0.1, problem.prior))
    assert batch is not None
    found = batch.worst(np.ones(5), 1.0)
    assert found.solved.tolist() == [True, False] and found.values[0] == pytest.approx(
        ForwardOracle().augmented(examples[0], np.ones(5), problem.distance).value
    )


def test_time_that_is_over_leaves_everything_unsolved() -> None:
    problem = posed(1, Distance("l2", "linf"), 1)
    batch = BoxedBatch.of(problem)
    assert batch is not None
    theta = np.ones(problem.n_features)
    assert not batch.worst(theta, 1.0, 0.0).solved.any()
    assert batch.proofs(theta, np.full(4, 1e9), 0.0) == [None] * 4


@pytest.mark.parametrize("change", [{"upper": np.inf}, {"upper": 1e9}, {"upper": 1.5, "whole": np.ones(5, dtype=np.bool_)}])
def test_sets_that_are_not_small_boxes_are_left_to_others(change: dict[str, object]) -> None:
    problem = posed(1, Distance("none", "none"), 1, count=1)
    old = problem.examples[0].instance.decisions
    assert isinstance(old, LinearSet)
    parts = {"upper": np.full(5, change["upper"]), "whole": change.get("whole", np.zeros(5, dtype=np.bool_))}
    other = LinearSet(old.matrix, old.low, old.high, old.lower, **parts)  # type: ignore[arg-type]
    example = Example(Instance(0, other, problem.examples[0].instance.features), np.zeros(5))
    task = InverseProblem((example,), problem.distance, problem.regularizer, 0.1, problem.prior)
    assert BoxedBatch.of(task) is None


def test_separations_that_begin_afresh_find_the_same() -> None:
    problem = posed(2, Distance("l2", "linf"), 1)
    separation, theta = Separation(), np.ones(problem.n_features)
    first = separation.losses(problem, theta)
    np.testing.assert_array_equal(separation.afresh().losses(problem, theta), first)
    np.testing.assert_array_equal(Separation().losses(problem, theta), first)
