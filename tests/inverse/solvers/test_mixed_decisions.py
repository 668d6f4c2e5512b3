"""Mixed-integer, linear and quadratic forward problems, against the paper's reformulations."""

from __future__ import annotations

import itertools
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from reference.enumerated_inverse import binary_vectors

from surefoot.exceptions import ConvergenceLimitWarning, ForwardSolveError, UnsupportedProblemError
from surefoot.inverse import InverseOptimizer, forward
from surefoot.inverse.certificate.cone_center import certify_rays
from surefoot.inverse.oracle.forward_oracle import ForwardOracle
from surefoot.inverse.problem.distance import NO_DISTANCE
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import InverseProblem, Regularizer


def mixed_data(u: int, v: int, t: int, n_examples: int, seed: int, noise: float = 0.0) -> tuple[list[Any], list[np.ndarray]]:
    random = np.random.default_rng(seed)
    theta = random.uniform(0, 1, u + v)
    oracle, problem = ForwardOracle(), forward.MixedIntegerProgram()
    signals: list[Any] = []
    responses: list[np.ndarray] = []
    while len(signals) < n_examples:
        first, second = random.uniform(-1, 0, (t, u)), random.uniform(-1, 0, (t, v))
        side = random.uniform(-2, 0, t)
        if np.all(first.sum(axis=1) + second.sum(axis=1) <= side):
            signals.append((first, second, side))
            cost = theta + noise * random.normal(size=u + v)
            responses.append(oracle.decide(problem.instance(0, signals[-1]), cost).point)
    return signals, responses


def certified_task(model: InverseOptimizer, signals: list[Any], responses: list[np.ndarray]) -> InverseProblem:
    """The problem that a model poses."""
    pairs = enumerate(zip(signals, responses, strict=True))
    examples = tuple(model.forward.example(i, s, x, None) for i, (s, x) in pairs)
    p = responses[0].size
    return InverseProblem(examples, NO_DISTANCE, Regularizer("l2", np.zeros(p)), 0.0, PriorSet.of(model.prior, p))


def by_corollary(signals: list[Any], responses: list[np.ndarray], turns: np.ndarray, kappa: float) -> float:
    """Corollary 4.6 with d_z = l2 and nonnegative costs."""
    u, v = signals[0][0].shape[1], signals[0][1].shape[1]
    theta, beta = cp.Variable(u + v), cp.Variable(len(signals))
    rules = [theta >= 0]
    for i, ((first, second, side), response) in enumerate(zip(signals, responses, strict=True)):
        matrix = np.vstack((first, np.eye(u), -np.eye(u)))
        ceiling = np.concatenate((side, np.ones(u), np.zeros(u)))
        other = np.vstack((second, np.zeros((2 * u, v))))
        for z, turn in itertools.product(binary_vectors(v), turns):
            price = cp.Variable(len(ceiling), nonneg=True)
            rules.append(
                response @ theta + price @ (ceiling - other @ z) - z @ theta[u:] + turn @ response[:u]
                + np.linalg.norm(response[u:] - z) <= beta[i]
            )  # fmt: skip
            rules.append(theta[:u] + turn + matrix.T @ price == 0)
    task = cp.Problem(cp.Minimize(kappa * cp.sum_squares(theta) / 2 + cp.sum(beta) / len(signals)), rules)
    return float(task.solve(solver=cp.CLARABEL))


@pytest.mark.parametrize(("distance", "yz"), [("l2", True), (("none", "l2"), False)])
def test_linear_costs_over_mixed_sets_are_those_of_corollary_4_6(distance: Any, yz: bool) -> None:
    signals, responses = mixed_data(2, 3, 3, 6, seed=1, noise=0.4)
    turns = np.vstack((np.eye(2), -np.eye(2))) if yz else np.zeros((1, 2))
    model = InverseOptimizer(forward.MixedIntegerProgram(), distance=distance, kappa=0.05, prior="nonnegative")
    model.fit(signals, responses)
    wanted = by_corollary(signals, responses, turns, 0.05)
    assert model.outcome_.upper_bound == pytest.approx(wanted, abs=2e-6)
    assert model.certificate_.lower_bound == pytest.approx(wanted, abs=2e-6)
    # Losses are proven anew from multipliers, leaf by leaf.
    assert model.certificate_.verified and "forward solver" not in model.certificate_.claim


@pytest.mark.parametrize(
    "approach", ["asl", "incenter", "suboptimality", "feasibility", "cutting-plane", "circumcenter", "predictability"]
)
def test_consistent_mixed_decisions_are_explained(approach: str) -> None:
    signals, responses = mixed_data(2, 3, 3, 12, seed=2)
    model = InverseOptimizer(
        forward.MixedIntegerProgram(), approach=approach, distance=("none", "l2"), prior="nonnegative"
    ).fit(signals, responses)
    oracle, problem = ForwardOracle(), forward.MixedIntegerProgram()
    for signal, response in zip(signals, responses, strict=True):
        best = oracle.decide(problem.instance(0, signal), model.cost_)
        assert response @ model.cost_ <= best.value + 1e-6 * np.linalg.norm(model.cost_)
    # Trees of multipliers prove losses to rounding, which is part of what circumcenters say.
    assert model.certificate_.verified
    if approach == "circumcenter":
        assert "costs count as consistent at which no decision saves more than" in model.certificate_.claim
        # Rays that nobody proves are not vouched for.
        task, proof = certified_task(model, signals, responses), model.outcome_.dual.bound
        verdict = certify_rays(task, model.cost_, proof, 1e-6)
        assert not verdict.verified and "not recomputed" in verdict.claim


def test_predictions_that_miss_some_decision_need_a_list_of_them() -> None:
    signals, responses = mixed_data(2, 3, 3, 12, seed=2, noise=1.0)
    model = InverseOptimizer(forward.MixedIntegerProgram(), approach="predictability", prior="nonnegative")
    with pytest.raises(UnsupportedProblemError, match="observation 0: this approach needs decisions that can be listed"):
        model.fit(signals, responses)


def by_theorem(signals: list[Any], responses: list[np.ndarray], turns: np.ndarray, kappa: float, values: np.ndarray) -> float:
    """Theorem 4.5 with inner = (w, z, 1), outer = z, d_z = l1."""
    u, v = signals[0][0].shape[1], signals[0][1].shape[1]
    m = signals[0][3].size + v + 1
    square, slope, rest = cp.Variable((u, u), symmetric=True), cp.Variable((u, m)), cp.Variable(max(v, 1))
    beta = cp.Variable(len(signals))
    rules: list[Any] = [square >> 0]
    for i, ((first, second, side, w), response) in enumerate(zip(signals, responses, strict=True)):
        own, mine = response[:u], response[u:]
        price_own = cp.sum(cp.multiply(square, np.outer(own, own))) + own @ (slope @ np.concatenate((w, mine, [1.0])))
        price_own += (rest[:v] @ mine) if v else 0
        for z, turn in itertools.product(values, turns):
            price, alpha = cp.Variable(len(side), nonneg=True), cp.Variable()
            level = price_own + alpha + price @ (side - second @ z) - (rest[:v] @ z if v else 0)
            rules.append(level + turn @ own + np.abs(mine - z).sum() <= beta[i])
            bend = cp.reshape(slope @ np.concatenate((w, z, [1.0])) + turn + first.T @ price, (u, 1), order="C")
            rules.append(cp.bmat([[square, bend], [bend.T, cp.reshape(4 * alpha, (1, 1), order="C")]]) >> 0)
    size = cp.sum_squares(square) + cp.sum_squares(slope) + (cp.sum_squares(rest[:v]) if v else 0)
    task = cp.Problem(cp.Minimize(kappa * size / 2 + cp.sum(beta) / len(signals)), rules)
    return float(task.solve(solver=cp.CLARABEL))


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.ZeroCostWarning")
@pytest.mark.parametrize("v", [0, 1])
@pytest.mark.parametrize("yz", [True, False])
def test_quadratic_costs_are_those_of_theorem_4_5(v: int, yz: bool) -> None:
    random = np.random.default_rng(3)
    u = 2
    signals, responses = [], []
    for _ in range(5):
        matrix = np.vstack((random.normal(size=(2, u)), np.eye(u), -np.eye(u)))
        side = np.concatenate((random.uniform(0.5, 1.5, 2), np.full(2 * u, 2.0)))
        signals.append((matrix, np.zeros((len(side), v)), side, random.normal(size=2)))
        responses.append(np.concatenate((random.uniform(-0.2, 0.2, u), random.integers(0, 2, v))))
    turns = np.vstack((np.eye(u), -np.eye(u))) if yz else np.zeros((1, u))
    values = np.array(list(itertools.product((0.0, 1.0), repeat=v))).reshape(2**v, v)
    model = InverseOptimizer(forward.QuadraticProgram(), distance=("linf" if yz else "none", "l1"), kappa=0.02)
    model.fit(signals, responses)
    wanted = by_theorem(signals, responses, turns, 0.02, values)
    assert model.outcome_.upper_bound == pytest.approx(wanted, rel=1e-5, abs=1e-6)
    assert model.certificate_.lower_bound == pytest.approx(wanted, rel=1e-5, abs=1e-6)
    # Losses are proven anew from prices of the rows.
    assert model.certificate_.upper_bound == pytest.approx(wanted, rel=1e-5, abs=1e-6)
    assert "forward solver" not in model.certificate_.claim
    square = model.cost_[: u * u].reshape(u, u)
    np.testing.assert_allclose(square, square.T)
    assert np.linalg.eigvalsh(square)[0] >= -1e-9


def test_totally_unimodular_programmes_are_their_binary_twins() -> None:
    edges = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4)]
    path = forward.ShortestPath(edges)
    theta = np.array([1.0, 2.5, 1.0, 3.0, 1.0, 3.0, 1.5])
    signals = [(0, 4), (0, 3), (1, 4), (0, 2)]
    oracle = ForwardOracle()
    responses = [oracle.decide(path.instance(0, signal), theta).point for signal in signals]
    instances = [path.instance(0, signal).decisions for signal in signals]
    twins = [(np.vstack((s.matrix, -s.matrix)), np.concatenate((s.high, -s.low))) for s in instances]
    for name in ("l1", "l2"):
        first = InverseOptimizer(path, distance=name, kappa=0.02, prior="nonnegative").fit(signals, responses)
        second = InverseOptimizer(forward.BinaryProgram(), distance=name, kappa=0.02, prior="nonnegative").fit(twins, responses)
        third = InverseOptimizer(
            forward.LinearProgram(upper=1.0, totally_unimodular=True), distance=name, kappa=0.02, prior="nonnegative"
        ).fit(twins, responses)
        np.testing.assert_allclose(first.cost_, second.cost_, atol=1e-4)
        np.testing.assert_allclose(third.cost_, second.cost_, atol=1e-4)
        assert first.certificate_.verified and second.certificate_.verified
        assert third.certificate_.verified


def test_linear_programmes_are_learned_from_their_corners() -> None:
    random = np.random.default_rng(5)
    theta = np.array([-1.0, -0.5, 0.3])
    signals = [(random.uniform(0, 1, (4, 3)), random.uniform(1, 2, 4)) for _ in range(15)]
    problem, oracle = forward.LinearProgram(), ForwardOracle()
    responses = [oracle.decide(problem.instance(0, signal), theta).point for signal in signals]
    model = InverseOptimizer(problem, approach="suboptimality").fit(signals, responses)
    for signal, response in zip(signals, responses, strict=True):
        assert response @ model.cost_ <= oracle.decide(problem.instance(0, signal), model.cost_).value + 1e-6
    assert model.certificate_.verified


def test_assignments_and_knapsacks_are_decided_as_by_listing() -> None:
    random = np.random.default_rng(6)
    oracle = ForwardOracle()
    for _ in range(10):
        price = random.normal(size=(3, 3))
        found = oracle.decide(forward.Assignment(3).instance(0, None), price.ravel())
        assert found.value == pytest.approx(
            min(sum(price[i, p[i]] for i in range(3)) for p in itertools.permutations(range(3)))
        )
        weights, values = random.uniform(0, 1, 14), random.normal(size=14)
        found = oracle.decide(forward.Knapsack().instance(0, (weights, 3.0)), values)
        every = binary_vectors(14)
        assert found.value == pytest.approx(np.min(every[every @ weights <= 3.0] @ values))


def test_an_unbounded_forward_problem_names_its_observation() -> None:
    signals = [(np.array([[1.0, 0.0]]), np.array([1.0]))] * 2
    responses = [np.array([0.0, 0.0]), np.array([1.0, 0.0])]
    model = InverseOptimizer(forward.LinearProgram(), distance="none", kappa=1.0, center=[-1.0, -1.0])
    with pytest.raises(ForwardSolveError, match="observation 0: the forward problem has no smallest cost"):
        model.set_params(infeasible="clamp").fit(signals, [[2.0, 0.0], *responses[1:]])
    # From a response that is a decision the way towards infinity is known, and costs that fall along it are cut off; the best
    # cost lies at the edge of the others, where no multipliers prove a loss.
    with pytest.warns(ConvergenceLimitWarning, match="the forward solver is right about the losses of observation 0"):
        model.set_params(infeasible="error").fit(signals, responses)
    assert np.allclose(model.cost_, [-0.5, 0.0], atol=1e-6)
    # Costs that cannot be negative are not to blame: the distance grows without a bound.
    model = InverseOptimizer(forward.LinearProgram(), distance="linf", kappa=1.0, prior="nonnegative")
    with pytest.raises(ForwardSolveError, match=r"observation 0: what a decision saves plus its distance .* distance='none'"):
        model.fit(signals, responses)
    assert model.set_params(distance="none", center=[1.0, 1.0]).fit(signals, responses).certificate_.verified


def test_distances_that_cannot_be_priced_exactly_are_refused() -> None:
    signals, responses = [(np.zeros((1, 1)), np.zeros((1, 2)), np.zeros(1))], [np.zeros(3)]
    wide = forward.MixedIntegerProgram(integer_bounds=(0, 3))
    with pytest.raises(UnsupportedProblemError, match="0/1 unknowns only, and unknown 1 ranges from 0 to 3"):
        InverseOptimizer(wide, distance=("none", "l2")).fit(signals, responses)
    with pytest.raises(ValueError, match="not possible for continuous unknowns"):
        InverseOptimizer(wide, distance=("l2", "l2")).fit(signals, responses)
    InverseOptimizer(wide, distance=("none", "linf"), kappa=0.1).fit(signals, responses)


def test_a_search_without_time_does_not_say_that_there_is_no_decision() -> None:
    """x + z_1 + z_2 >= 2 is met by z = (1, 1): that nothing was found is not that there is nothing."""
    problem, oracle = forward.MixedIntegerProgram(), ForwardOracle()
    signal = (np.array([[-1.0]]), np.array([[-1.0, -1.0]]), np.array([-2.0]))
    with pytest.raises(ForwardSolveError, match="no decision was found in time"):
        oracle.decide(problem.instance(0, signal), np.ones(3), seconds=0.0)
    # With time to find out, the same words are about what is so.
    assert problem.instance(0, signal).decisions.allowed(oracle.decide(problem.instance(0, signal), np.ones(3)).point[None, :])
    nothing = (np.array([[1.0], [-1.0]]), np.zeros((2, 2)), np.array([0.0, -1.0]))
    with pytest.raises(ForwardSolveError, match="no decision is allowed at this signal"):
        oracle.decide(problem.instance(0, nothing), np.ones(3))


def test_quadratic_costs_of_very_different_units_are_proven() -> None:
    """Months, and contexts of large and of small numbers, as in patients' records."""
    draw = np.random.default_rng(4)
    context = draw.uniform(0.5, 1.5, (40, 6)) * [2000.0, 1e-2, 100.0, 1.0, 0.1, 1e-2]
    months = np.maximum(10.0 + 0.02 * context[:, 0] + draw.normal(0, 30, 40), 0.0)
    signals = [(-np.ones((1, 1)), np.zeros(1), row) for row in context]
    model = InverseOptimizer(forward.QuadraticProgram(), distance="linf", kappa=1e3, tol=1e-4)
    assert model.fit(signals, months[:, None]).certificate_.verified
