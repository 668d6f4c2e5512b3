"""Trees, covers and fractions that solvers hand over: what they prove, by brute force, and what they are refused for."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from reference.decision_bound import bound_of
from reference.enumerated_inverse import binary_vectors, drawn

from surefoot.core.solve_options import SolveOptions
from surefoot.inverse import InverseOptimizer, forward
from surefoot.inverse.certificate.certificate import certify_cost
from surefoot.inverse.certificate.cone_center import certify_rays
from surefoot.inverse.certificate.cost_bound import cost_bound
from surefoot.inverse.exact.constraint_generation import ConstraintGeneration
from surefoot.inverse.exact.exact_solver import ExactSolver
from surefoot.inverse.oracle.binary_tree import prove_binary_loss
from surefoot.inverse.problem.approaches import APPROACHES
from surefoot.inverse.problem.cost_proof import CostProof
from surefoot.inverse.problem.decision_proof import DecisionTrees
from surefoot.inverse.problem.decision_set import ListedSet
from surefoot.inverse.problem.distance import NO_DISTANCE, Distance
from surefoot.inverse.problem.hypothesis import LinearFeatures
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import Example, Instance, InverseProblem, Regularizer


def largest(example: Example, theta: np.ndarray, distance: Distance, signal: Any) -> float:
    every = binary_vectors(theta.size)
    points = every[np.all(every @ signal[0].T <= signal[1], axis=1)]
    return float((example.slopes(points) @ theta + example.distances(distance, points)).max())


@pytest.mark.parametrize("name", ["none", "l1", "l2", "linf", "squared-l2", "zero-one"])
def test_trees_over_zeros_and_ones_prove_the_largest_value(name: str) -> None:
    distance, random = Distance.of(name), np.random.default_rng(3)
    for seed in range(3):
        _, signals, responses = drawn(12, 4, 1, seed=seed, signed=True)
        example = forward.BinaryProgram().example(0, signals[0], responses[0])
        theta = 10.0 ** random.uniform(-4, 4) * random.normal(size=12)
        best = largest(example, theta, distance, signals[0])
        size = np.abs(theta).max() + 1.0
        tree = prove_binary_loss(example, theta, distance, best)
        assert tree is not None
        found = bound_of(example, theta, distance, tree)
        assert found is not None
        assert best - 1e-12 * size <= found <= best + 1e-8 * size
        assert prove_binary_loss(example, theta, distance, best - 1e-6 * size) is None


def test_no_change_of_a_tree_proves_less_than_the_truth() -> None:
    distance, random, refused = Distance.of("l2"), np.random.default_rng(0), 0
    _, signals, responses = drawn(11, 3, 1, seed=8, signed=True)
    # More unknowns than are listed, so that nothing else is known.
    matrix = np.hstack((signals[0][0], np.zeros((3, 6))))
    example = forward.BinaryProgram().example(0, (matrix, signals[0][1]), np.append(responses[0], np.zeros(6)))
    theta = np.append(random.normal(size=11), np.full(6, 2.0))
    best = float(
        max(
            largest(forward.BinaryProgram().example(0, signals[0], responses[0]), theta[:11], Distance.of("none"), signals[0]),
            0.0,
        )
    )
    tree = prove_binary_loss(example, theta, distance, best + 4.0)
    assert tree is not None
    for _ in range(60):
        fields = {name: getattr(tree, name).copy() for name in ("column", "at", "multipliers", "slope")}
        name = str(random.choice(list(fields)))
        part = fields[name].ravel()
        if name == "column":
            part[random.integers(part.size)] = random.integers(-1, 20)
        elif name == "at":
            part[random.integers(part.size)] += random.choice([0.5, 1.0, -1.0, 2.0**53, np.nan])
        else:
            part += 10.0 ** random.uniform(-6, 2) * random.normal(size=part.size)
        found = bound_of(example, theta, distance, replace(tree, **fields))
        refused += found is None
        assert found is None or found >= best - 1e-9
    assert refused > 5
    shorter = DecisionTrees(tree.column[:-1], tree.at[:-1], tree.multipliers[:-1], tree.slope[:-1])
    assert bound_of(example, theta, distance, shorter) is None
    longer = DecisionTrees(
        *(np.concatenate((getattr(tree, n), getattr(tree, n)[-1:])) for n in ("column", "at", "multipliers", "slope"))
    )
    assert bound_of(example, theta, distance, longer) is None


@pytest.mark.parametrize("p", [2, 3, 4])
@pytest.mark.parametrize("prior", [None, "nonnegative"])
def test_no_consistent_cost_is_farther_than_a_cover_proves(p: int, prior: Any) -> None:
    random = np.random.default_rng(p)
    theta = np.abs(random.normal(size=p))
    signals = [random.normal(size=(5, p)) for _ in range(3 * p)]
    responses = [int(np.argmin(signal @ theta)) for signal in signals]
    problem = forward.FiniteChoice()
    examples = tuple(problem.example(i, s, x) for i, (s, x) in enumerate(zip(signals, responses, strict=True)))
    task = InverseProblem(examples, NO_DISTANCE, Regularizer("l2", np.zeros(p)), 1.0, PriorSet.of(prior, p), hard=True)
    rows = np.vstack([s[k] - s for s, k in zip(signals, responses, strict=True)])
    draws = theta + random.normal(size=(20_000, p)) * 10.0 ** random.uniform(-2, 0.5, size=(20_000, 1))
    inside = draws[np.all(draws @ rows.T <= 0, axis=1) & ((prior is None) | np.all(draws >= 0, axis=1))]
    assert len(inside) > 20
    unit = inside / np.linalg.norm(inside, axis=1)[:, None]
    for approach in ("circumcenter", "ellipsoidal-circumcenter"):
        outcome = ExactSolver(approach).solve(APPROACHES[approach].pose(task), SolveOptions())
        ellipsoid = approach != "circumcenter"
        proof = outcome.dual
        found = certify_rays(task, outcome.primal, proof, 1e-6, ellipsoid=ellipsoid)
        assert found.verified
        cover = proof.cover
        changes = [
            replace(cover, prices=0.0 * cover.prices),
            replace(cover, prices=cover.prices - 1.0),
            replace(cover, shares=-cover.shares),
            replace(cover, shares=cover.shares[:-1]),
            replace(cover, split=np.append(cover.split, False)),
            replace(cover, split=cover.split[:-1], prices=cover.prices[:-1]),
        ]
        if ellipsoid:
            changes += [
                replace(cover, mixes=0.5 * cover.mixes),
                replace(cover, mixes=-cover.mixes),
                replace(cover, axis=0.0 * cover.axis),
            ]
        for wrong in changes:
            assert not certify_rays(task, outcome.primal, replace(proof, cover=wrong), 1e-6, ellipsoid=ellipsoid).verified
        for _ in range(0 if ellipsoid else 10):
            # Any cover at all proves a bound that holds.
            moved = replace(cover, prices=np.maximum(cover.prices * random.uniform(0, 2, cover.prices.shape), 0.0))
            other = outcome.primal + 0.2 * random.normal(size=p)
            angles = np.arccos(np.clip(unit @ other / np.linalg.norm(other), -1.0, 1.0))
            claimed = certify_rays(task, other, replace(proof, cover=moved), 1e-6).upper_bound
            assert angles.max() <= claimed + 1e-9
        angles = np.arccos(np.clip(unit @ outcome.primal / np.linalg.norm(outcome.primal), -1.0, 1.0))
        assert ellipsoid or angles.max() <= found.upper_bound + 1e-9
        assert not certify_rays(task, outcome.primal, replace(proof, cover=None), 1e-6, ellipsoid=ellipsoid).verified


def three_choices() -> InverseProblem:
    """One coordinate, slopes 1, -2 and 3 with distances 1, 1 and 0."""
    instance = Instance(0, ListedSet(np.array([[0.0], [-1.0], [2.0], [-3.0]])), LinearFeatures(np.eye(1), np.zeros(1)))
    example = Example(instance, np.zeros(1))
    return InverseProblem((example,), Distance.of("zero-one"), Regularizer("l2", np.zeros(1)), 0.0, PriorSet.of(None, 1))


@pytest.mark.parametrize(
    ("exact", "bound"),
    [
        # 2/3 of the first and 1/3 of the second: slope 0, and the mean distance 1.
        (("2/3", "1/3"), 1.0),
        # More than a weight of 1 proves nothing.
        (("4/3", "2/3"), -np.inf),
        (("1/3", "1/6"), 0.5),
        # A slope that is not 0 to the last digit proves nothing without bounds.
        (("2/3", "0.3333333333333333"), -np.inf),
        (("-2/3", "-1/3"), -np.inf),
        (("1/0", "1/3"), -np.inf),
        (("two thirds", "1/3"), -np.inf),
    ],
)
def test_slopes_are_flat_only_if_fractions_say_so(exact: tuple[str, ...], bound: float) -> None:
    problem = three_choices()
    proof = CostProof(
        np.zeros(2, dtype=np.int32), (np.array([-1.0]), np.array([2.0])), np.array([2 / 3, 1 / 3]), np.empty(0), exact=exact
    )
    assert cost_bound(problem, proof) == pytest.approx(bound, abs=1e-12)
    judged = certify_cost(problem, np.zeros(1), proof, 1e-6)
    assert judged.verified == (bound == 1.0)
    assert "differ in number" in certify_cost(problem, np.zeros(1), replace(proof, exact=(*exact, "1")), 1e-6).claim


def test_an_l1_slope_may_be_as_large_as_kappa_and_no_larger() -> None:
    problem = replace(three_choices(), regularizer=Regularizer("l1", np.zeros(1)), kappa=0.5)
    proof = CostProof(np.zeros(1, dtype=np.int32), (np.array([-1.0]),), np.array([0.5]), np.empty(0), exact=("1/2",))
    assert cost_bound(problem, proof) == pytest.approx(0.5)
    assert cost_bound(problem, replace(proof, exact=("500000000000000001/1000000000000000000",))) == -np.inf
    assert cost_bound(problem, replace(proof, exact=())) == -np.inf
    assert cost_bound(problem, replace(proof, exact=(), weights=np.array([0.49]))) == pytest.approx(0.49)


def test_fitted_fractions_are_exact_where_doubles_cannot_be() -> None:
    random = np.random.default_rng(5)
    signals = [random.normal(size=(5, 3)) for _ in range(25)]
    responses = [int(np.argmin(s @ np.ones(3) + random.normal(size=5))) for s in signals]
    problem = forward.FiniteChoice()
    examples = tuple(problem.example(i, s, x) for i, (s, x) in enumerate(zip(signals, responses, strict=True)))
    task = InverseProblem(examples, Distance.of("l2"), Regularizer("l2", np.zeros(3)), 0.0, PriorSet.of(None, 3))
    proof = ConstraintGeneration().solve(task, SolveOptions()).dual
    assert proof is not None and proof.exact
    for j in range(3):
        total = Fraction(0)
        for text, owner, x in zip(proof.exact, proof.owners, proof.points, strict=True):
            total += Fraction(text) * (Fraction(examples[owner].response[j]) - Fraction(x[j]))
        assert total == 0


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.ZeroCostWarning")
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_quadratic_masters_are_closed_in_any_units(unit: float) -> None:
    random = np.random.default_rng(11)
    for seed in range(8):
        signals = [unit * np.round(3 * random.normal(size=(4, 3))) for _ in range(3)]
        responses = [int(random.integers(4)) for _ in signals]
        model = InverseOptimizer(forward.FiniteChoice(), kappa=10.0 ** (seed - 5), distance="zero-one")
        assert model.fit(signals, responses).certificate_.verified


def test_facets_that_hold_no_cost_are_proven_empty() -> None:
    signals = [np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]]), np.array([[0.0, 3.0], [1.0, 1.0]])]
    model = InverseOptimizer(forward.FiniteChoice(), approach="suboptimality", prior={"A": [[-1.0, 0.0]], "b": [0.0]})
    assert model.fit(signals, [2, 1]).certificate_.verified
    assert model.certificate_.lower_bound > 0.1


@pytest.mark.parametrize(("slope", "bound"), [(Fraction(0), 0.5), (Fraction(1, 10**30), 0.5), (Fraction(-1, 10**30), -np.inf)])
def test_a_coordinate_with_one_bound_may_rise_towards_infinity(slope: Fraction, bound: float) -> None:
    """Slopes 1 and -2 with weights 1/3 + slope and 1/6, over theta >= 0."""
    problem = replace(three_choices(), prior=PriorSet.of("nonnegative", 1))
    points = (np.array([-1.0]), np.array([2.0]))
    exact = (str(Fraction(1, 3) + slope), "1/6")
    proof = CostProof(np.zeros(2, dtype=np.int32), points, np.array([1 / 3, 1 / 6]), np.empty(0), exact=exact)
    assert cost_bound(problem, proof) == pytest.approx(bound, abs=1e-12)


def test_fractions_beyond_doubles_prove_nothing() -> None:
    points = (np.array([-1.0]), np.array([2.0]))
    proof = CostProof(np.zeros(2, dtype=np.int32), points, np.ones(2), np.empty(0), exact=("2e400", "1e400"))
    assert certify_cost(three_choices(), np.zeros(1), proof, 1e-6).lower_bound == 0.0
