"""Prices of rows under a quadratic cost: what they prove, and what they are refused for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from reference.decision_bound import bound_of

from surefoot.inverse.forward.programs import CallableProblem
from surefoot.inverse.forward.quadratic_program import QuadraticProgram
from surefoot.inverse.oracle.forward_oracle import ForwardOracle
from surefoot.inverse.problem.decision_proof import DecisionTrees
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.problem import Example

RANKS = (0, 1, 2)


def posed(seed: int, rank: int, *, boxed: bool, closed: bool = False) -> tuple[Example, np.ndarray]:
    """Two continuous unknowns in a box, given as rows or as bounds, and one whole one; ``closed`` forbids its value 1."""
    random = np.random.default_rng(seed)
    rows, mixed, side = random.normal(size=(2, 2)), random.normal(size=(2, 1)), random.uniform(1.5, 2.5, 2)
    if not boxed:
        rows = np.vstack((rows, np.eye(2), -np.eye(2)))
        mixed, side = np.vstack((mixed, np.zeros((4, 1)))), np.append(side, np.full(4, 1.0))
    if closed:
        rows, mixed, side = np.vstack((rows, [[1.0, 1.0]])), np.vstack((mixed, [[9.0]])), np.append(side, 5.0)
    forward = QuadraticProgram(continuous_bounds=(-1.0, 1.0) if boxed else (-np.inf, np.inf))
    half = random.normal(size=(2, rank))
    theta = np.concatenate(((half @ half.T).ravel(), random.normal(size=2 * 2 + 1)))
    return forward.example(0, (rows, mixed, side), np.append(random.uniform(-0.1, 0.1, 2), 0.0)), theta


def values_on_a_grid(example: Example, theta: np.ndarray, distance: Distance) -> np.ndarray:
    line = np.linspace(-1, 1, 13)
    points = np.array([(a, b, z) for a in line for b in line for z in (0.0, 1.0)])
    points = points[example.instance.decisions.allowed(points, 0.0)]
    return np.asarray(example.slopes(points) @ theta + example.distances(distance, points))


@pytest.mark.parametrize("name", ["none", ("linf", "l1")])
@pytest.mark.parametrize("boxed", [True, False])
@pytest.mark.parametrize("rank", RANKS)
def test_prices_prove_the_largest_value_and_no_less(name: object, boxed: bool, rank: int) -> None:
    distance, oracle = Distance.of(name), ForwardOracle()
    for seed in range(4):
        example, theta = posed(seed, rank, boxed=boxed, closed=seed % 2 == 1)
        best = oracle.augmented(example, theta, distance).value
        grid = values_on_a_grid(example, theta, distance)
        found = bound_of(example, theta, distance, proof=oracle.proof(example, theta, distance))
        assert found is not None
        assert found == pytest.approx(best, abs=1e-7)
        assert found >= max(best - 1e-9, grid.max() - 1e-12)
        assert bound_of(example, theta, distance) is None


@pytest.mark.parametrize("boxed", [True, False])
@pytest.mark.parametrize("rank", RANKS)
def test_no_prices_prove_less_than_the_truth(boxed: bool, rank: int) -> None:
    distance, oracle, random = Distance.of(("linf", "l1")), ForwardOracle(), np.random.default_rng(0)
    example, theta = posed(7, rank, boxed=boxed)
    prices = oracle.proof(example, theta, distance)
    assert prices is not None
    best = max(oracle.augmented(example, theta, distance).value, values_on_a_grid(example, theta, distance).max())
    proven = 0
    for share in (1e-6, 1e-2, 1.0):
        changed = prices.multipliers + share * random.normal(size=prices.multipliers.shape)
        moved = prices.points + share * random.normal(size=prices.points.shape)
        found = bound_of(example, theta, distance, proof=replace(prices, multipliers=np.maximum(changed, 0.0), points=moved))
        # Rows with one entry bound the unknowns too.
        assert found is None or found >= best - 1e-9
        proven += found is not None
    assert proven == 3


def test_prices_that_are_none_are_refused() -> None:
    distance, oracle = Distance.of("none"), ForwardOracle()
    example, theta = posed(1, 2, boxed=True)
    prices = oracle.proof(example, theta, distance)
    assert prices is not None
    y, points = prices.multipliers, prices.points
    for wrong in (
        replace(prices, multipliers=-y - 1.0),
        replace(prices, multipliers=y[:1]),
        replace(prices, multipliers=np.full_like(y, np.nan)),
        replace(prices, points=points[:1]),
        replace(prices, points=np.full_like(points, np.inf)),
        # A leaf that knows the whole unknown not at all.
        DecisionTrees(np.array([-1], dtype=np.int32), np.zeros(1), y[:1], np.zeros(1), points[:1]),
    ):
        assert bound_of(example, theta, distance, proof=wrong) is None
    # The value of the whole unknown is that of the leaf, whatever the point says.
    other = replace(prices, points=points + np.array([0.0, 0.0, 5.0]))
    assert bound_of(example, theta, distance, proof=other) == bound_of(example, theta, distance, proof=prices)
    # A cost that bends the wrong way has its largest values elsewhere.
    bent = theta.copy()
    bent[0] = -1.0
    found = bound_of(example, bent, distance, proof=prices)
    assert found is not None
    assert found >= values_on_a_grid(example, bent, distance).max()
    assert oracle.proof(example, bent, distance) is None


def test_a_solver_of_the_callers_own_is_not_vouched_for() -> None:
    forward = CallableProblem(lambda cost, _signal: (cost < 0).astype(float), n_unknowns=2)
    example = forward.example(0, None, np.zeros(2))
    assert bound_of(example, np.array([-1.0, 1.0]), Distance.of("none")) is None
