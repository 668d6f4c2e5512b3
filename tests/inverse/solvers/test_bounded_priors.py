"""Costs within bounds: whatever the prior set reaches, its directions are all searched.

The references are linear programmes over all alternatives and over the prior set itself, by another library.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from surefoot.exceptions import ForwardSolveError, InconsistentDataError
from surefoot.inverse import InverseOptimizer, forward
from surefoot.inverse.certificate.certificate import certify_cost
from surefoot.inverse.problem.cost_proof import FacetProof

SEEDS = range(40)


def drawn(seed: int) -> tuple[list[Any], list[int], dict[str, Any]]:
    """Alternatives of small whole numbers, some choice among them, and a prior set that holds 0, often on its edge."""
    random = np.random.default_rng(seed)
    p, n = int(random.integers(1, 4)), int(random.integers(1, 4))
    signals = [random.integers(-2, 3, (int(random.integers(2, 4)), p)).astype(float) for _ in range(n)]
    signals[0][0], signals[0][1] = 0.0, 1.0
    sizes = np.array([0.0, 1e-3, 0.3, 0.8, 1.0, 7.0, np.inf])
    lower, upper = -random.choice(sizes, p), random.choice(sizes[1:], p)
    prior: dict[str, Any] = {"bounds": (lower, upper)}
    if seed % 2 == 0:
        prior |= {"A": random.integers(-2, 3, (2, p)).astype(float), "b": random.choice([0.0, 0.05, 3.0], 2)}
    return signals, [int(random.integers(len(signal))) for signal in signals], prior


def slopes(signals: list[Any], chosen: list[int]) -> list[Any]:
    return [signal[at] - signal for signal, at in zip(signals, chosen, strict=True)]


def members(prior: dict[str, Any], p: int) -> tuple[Any, Any, Any]:
    """Rows, their right-hand sides, and bounds of a prior set."""
    return prior.get("A", np.empty((0, p))), prior.get("b", np.empty(0)), list(zip(*prior["bounds"], strict=True))


def explained(signals: list[Any], chosen: list[int], prior: dict[str, Any]) -> bool:
    """Whether a member of the prior set other than 0 explains everything: some entry of one can be other than 0."""
    p = signals[0].shape[1]
    rows, ends, bounds = members(prior, p)
    rows = np.vstack((*slopes(signals, chosen), rows))
    ends = np.append(np.zeros(len(rows) - len(ends)), ends)
    for direction in np.vstack((np.eye(p), -np.eye(p))):
        answer = linprog(-direction, rows, ends, bounds=bounds, method="highs")
        if answer.status == 3 or (answer.status == 0 and -answer.fun > 1e-6):
            return True
    return False


def least_loss(signals: list[Any], chosen: list[int], prior: dict[str, Any]) -> float:
    """The least mean suboptimality over the largest entry, of all directions of the prior set."""
    p, n = signals[0].shape[1], len(signals)
    rows, ends, bounds = members(prior, p)
    rows, found = rows[ends == 0], np.inf
    cone = [(0.0 if low == 0 else -1.0, 0.0 if high == 0 else 1.0) for low, high in bounds]
    cuts = [np.append(g, -np.eye(n)[i]) for i, part in enumerate(slopes(signals, chosen)) for g in part]
    cuts += [np.append(row, np.zeros(n)) for row in rows]
    for j in range(p):
        for end in (1.0, -1.0):
            if cone[j][0] <= end <= cone[j][1]:
                sides = [(end, end) if k == j else side for k, side in enumerate(cone)] + [(0.0, None)] * n
                answer = linprog(np.append(np.zeros(p), np.full(n, 1 / n)), np.array(cuts), np.zeros(len(cuts)), bounds=sides)
                found = min(found, answer.fun) if answer.status == 0 else found
    return found


def require_member(cost: Any, prior: dict[str, Any]) -> None:
    rows, ends, bounds = members(prior, cost.size)
    assert np.abs(cost).max() > 0
    assert all(low <= entry <= high for entry, (low, high) in zip(cost, bounds, strict=True))
    assert np.all(rows @ cost <= ends + 1e-9 * np.abs(cost).max())


def fitted(approach: str, seed: int, **params: Any) -> InverseOptimizer:
    signals, chosen, prior = drawn(seed)
    return InverseOptimizer(forward.FiniteChoice(), approach=approach, prior=prior, **params).fit(signals, chosen)


def test_both_answers_are_drawn() -> None:
    answers = [explained(*drawn(seed)) for seed in SEEDS]
    assert 8 <= sum(answers) <= 32


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cost_is_found_if_and_only_if_a_member_of_the_prior_set_explains_everything(seed: int) -> None:
    signals, chosen, prior = drawn(seed)
    if np.isinf(least_loss(signals, chosen, prior)):
        pytest.skip("0 is alone")
    if explained(signals, chosen, prior):
        model = fitted("feasibility", seed)
        assert model.certificate_.verified, model.certificate_.claim
        require_member(model.cost_, prior)
        assert max((g @ model.cost_).max() for g in slopes(signals, chosen)) <= 1e-8 * np.abs(model.cost_).max()
        return
    with pytest.raises(InconsistentDataError, match="but 0 explains") as caught:
        fitted("feasibility", seed)
    certificate, tried = caught.value.certificate, caught.value.outcome.primal
    size = np.abs(tried).max()
    assert certificate.lower_bound == pytest.approx(size * least_loss(signals, chosen, prior), rel=1e-5)
    assert f"whose largest entry, without its sign, is {size:.17g}" in certificate.claim or "sum to 1" in certificate.claim


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.WeakModelWarning")
@pytest.mark.parametrize("seed", SEEDS)
def test_the_least_suboptimality_is_that_of_all_directions(seed: int) -> None:
    signals, chosen, prior = drawn(seed)
    least = least_loss(signals, chosen, prior)
    if np.isinf(least):
        pytest.skip("0 is alone")
    model = fitted("suboptimality", seed)
    assert model.certificate_.verified, model.certificate_.claim
    require_member(model.cost_, prior)
    if "sum to 1" not in model.certificate_.claim:
        assert model.certificate_.upper_bound == pytest.approx(np.abs(model.cost_).max() * least, rel=1e-5, abs=1e-10)
        assert f"is {np.abs(model.cost_).max():.17g} has" in model.certificate_.claim


@pytest.mark.parametrize("seed", SEEDS)
def test_costs_that_predict_everything_are_found_within_bounds(seed: int) -> None:
    signals, chosen, prior = drawn(seed)
    if not explained(signals, chosen, prior):
        pytest.skip("no cost explains these choices")
    model = fitted("predictability", seed)
    assert model.certificate_.verified, model.certificate_.claim
    assert model.certificate_.upper_bound == 0
    require_member(model.cost_, prior)


@pytest.mark.parametrize("kind", ["l1", "l2"])
@pytest.mark.parametrize("seed", [1, 4, 6, 9, 13])
def test_regularizers_are_those_of_costs_within_bounds(seed: int, kind: str) -> None:
    _, _, prior = drawn(seed)
    model = fitted("suboptimality", seed, regularizer=kind, kappa=0.7)
    assert model.certificate_.verified, model.certificate_.claim
    require_member(model.cost_, prior)


@pytest.mark.parametrize(
    "bounds", [([-1.0], [0.8]), ([-1.0, -1.0], [0.8, 0.8]), ([-1e-7], [1e-9]), ([-1.0, 0.0], [0.8, 1e-30])]
)
def test_the_right_sign_is_found_however_far_the_bounds_reach(bounds: Any) -> None:
    p = len(bounds[0])
    for approach in ("feasibility", "suboptimality", "predictability"):
        for at in (0, 1):
            model = InverseOptimizer(forward.FiniteChoice(), approach=approach, prior=bounds)
            model.fit([np.outer([0.0, 1.0], np.ones(p))], [at])
            assert model.certificate_.verified
            assert (model.cost_.sum() >= 0) == (at == 0) or model.cost_.sum() == 0
            assert np.all((model.cost_ >= bounds[0]) & (model.cost_ <= bounds[1]))
            assert model.cost_.any()


def test_a_cost_of_the_wrong_sign_is_refused_however_small_costs_must_be() -> None:
    """Gaps and misses are measured by the largest entry that costs of this prior set have."""
    model = InverseOptimizer(forward.FiniteChoice(), approach="suboptimality", prior=([-1e-7], [1e-9]))
    model.fit([np.array([[0.0], [1.0]])], [0])
    problem = model._proof_parts([np.array([[0.0], [1.0]])], [0], None, None).arguments["problem"]
    proof = model.outcome_.dual.bound
    assert isinstance(proof, FacetProof)
    assert certify_cost(problem, model.cost_, proof, 1e-6).verified
    for wrong in (-model.cost_, 0 * model.cost_, 0.9 * model.cost_):
        assert not certify_cost(problem, wrong, proof, 1e-6).verified


def test_what_was_found_before_a_forward_solver_failed_is_a_cost_of_the_prior_set() -> None:
    calls = []

    def decide(cost: Any, signal: Any) -> Any:
        calls.append(np.array(cost))
        if len(calls) > 2:
            raise RuntimeError("no more")
        return np.array([0.0, 1.0]) if cost[0] > cost[1] else np.array([1.0, 0.0])

    model = InverseOptimizer(forward.CallableProblem(decide, n_unknowns=2), approach="suboptimality", prior=(-0.25, 0.125))
    with pytest.raises(ForwardSolveError):
        model.fit([None, None], [np.array([1.0, 0.0]), np.array([0.0, 1.0])])
    assert 0 < np.abs(model.cost_).max() <= 0.125
