"""Trees of multipliers: what they prove, and what they are refused for."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from reference.decision_bound import bound_of
from reference.enumerated_inverse import binary_vectors

from surefoot.inverse.forward.programs import MixedIntegerProgram
from surefoot.inverse.oracle.forward_oracle import ForwardOracle
from surefoot.inverse.oracle.proof_tree import prove_loss
from surefoot.inverse.problem.decision_proof import DecisionTrees, Leaf, Split, TermBound
from surefoot.inverse.problem.decision_set import LinearSet
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.problem import Example

DISTANCES: list[Any] = ["none", "linf", ("none", "l1"), ("none", "l2"), ("linf", "l2"), ("none", "zero-one")]


def mixed_example(seed: int) -> tuple[Example, np.ndarray]:
    random = np.random.default_rng(seed)
    signal = (random.uniform(-1, 0, (3, 2)), random.uniform(-1, 0, (3, 4)), random.uniform(-1.5, -0.5, 3))
    theta = random.normal(size=6)
    problem = MixedIntegerProgram()
    response = ForwardOracle().decide(problem.instance(0, signal), random.uniform(0, 1, 6)).point
    return problem.example(0, signal, response), theta


def largest(example: Example, theta: np.ndarray, distance: Distance) -> float:
    """By listing the whole part and the corners of the rest: the value is convex in the continuous part."""
    decisions = example.instance.decisions
    assert isinstance(decisions, LinearSet)
    matrix = np.vstack((decisions.matrix[:, :2], np.eye(2), -np.eye(2)))
    best = -np.inf
    for z in binary_vectors(4):
        side = np.concatenate((decisions.high - decisions.matrix[:, 2:] @ z, np.ones(2), np.zeros(2)))
        for pair in itertools.combinations(range(len(side)), 2):
            if abs(np.linalg.det(matrix[list(pair)])) < 1e-9:
                continue
            y = np.linalg.solve(matrix[list(pair)], side[list(pair)])
            if np.all(matrix @ y <= side + 1e-9):
                point = np.concatenate((y, z))[None, :]
                best = max(best, float(example.slopes(point)[0] @ theta + example.distances(distance, point)[0]))
    return best


@pytest.mark.parametrize("name", DISTANCES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_trees_prove_the_largest_value_and_no_less(name: Any, seed: int) -> None:
    example, theta = mixed_example(seed)
    distance = Distance.of(name)
    best = largest(example, theta, distance)
    trees = prove_loss(example, theta, distance, best + 1e-7)
    assert trees is not None
    found = bound_of(example, theta, distance, proof=trees)
    assert found == pytest.approx(best, abs=2e-7) and found >= best - 1e-12
    assert prove_loss(example, theta, distance, best - 1e-3) is None
    assert bound_of(example, theta, distance) is None


def spoiled(trees: DecisionTrees) -> DecisionTrees:
    """Trees whose first leaf says nothing."""
    first = np.arange(len(trees.slope)) == 0
    return replace(trees, multipliers=np.where(first[:, None], 0.0, trees.multipliers), slope=np.where(first, 0.0, trees.slope))


def doubled(trees: DecisionTrees) -> DecisionTrees:
    """The same trees twice."""
    return DecisionTrees(*(np.concatenate((part, part)) for part in (trees.column, trees.at, trees.multipliers, trees.slope)))


def test_spoiled_trees_prove_less_and_are_never_below_the_truth() -> None:
    random = np.random.default_rng(0)
    for seed in range(4):
        example, theta = mixed_example(seed)
        distance = Distance.of(("none", "l2"))
        best = largest(example, theta, distance)
        trees = prove_loss(example, theta, distance, best + 1e-7)
        assert trees is not None
        assert bound_of(example, theta, distance, proof=spoiled(trees)) > best
        task = TermBound(example.instance.decisions, theta, None, example.response)  # type: ignore[arg-type]
        for _ in range(20):
            # Any multipliers at all bound the truth from above.
            leaf = Leaf(random.normal(size=3))
            decisions = example.instance.decisions
            assert task.leaf(leaf, decisions.lower, decisions.upper) >= largest(  # type: ignore[union-attr]
                example, theta, Distance.of("none")
            ) - float(example.own @ theta)
    assert bound_of(example, theta, distance, proof=doubled(trees)) is None


def test_splits_must_be_of_whole_unknowns_at_whole_values() -> None:
    example, theta = mixed_example(1)
    decisions = example.instance.decisions
    assert isinstance(decisions, LinearSet)
    task = TermBound(decisions, theta, None, example.response)
    leaf = Leaf(np.zeros(3))
    assert task.tree(Split(0, 0.0, leaf, leaf)) == np.inf
    assert task.tree(Split(3, 0.5, leaf, leaf)) == np.inf
    assert np.isfinite(task.tree(Split(3, 0.0, leaf, leaf)))
    assert task.leaf(Leaf(np.zeros(2)), decisions.lower, decisions.upper) == np.inf


@pytest.mark.parametrize(("upper", "bound"), [(np.inf, np.inf), (1e9, 1e9)])
def test_an_unknown_is_followed_to_its_own_bound_however_far(upper: float, bound: float) -> None:
    # x_0 <= x_1 binds neither; the cost falls along x_0.
    decisions = LinearSet(
        np.array([[1.0, -1.0]]), np.array([-np.inf]), np.zeros(1), np.zeros(2), np.full(2, upper), np.zeros(2, dtype=bool)
    )
    term = TermBound(decisions, np.array([-1.0, 0.0]), None, np.zeros(2))
    assert term.tree(Leaf(np.zeros(1))) == bound
    assert term.tree(Leaf(np.ones(1))) == bound


def test_a_slope_that_is_rounding_proves_as_if_it_were_none() -> None:
    # -0.3 + 0.1 * 3 is not 0 in floating point; the unknown has no bound, its row has.
    decisions = LinearSet(
        np.full((3, 1), 0.1), np.full(3, -np.inf), np.ones(3), np.zeros(1), np.array([np.inf]), np.zeros(1, dtype=bool)
    )
    assert 0.3 - (0.1 + 0.1 + 0.1) != 0
    assert TermBound(decisions, np.array([-0.3]), None, np.zeros(1)).tree(Leaf(np.ones(3))) == 3.0
