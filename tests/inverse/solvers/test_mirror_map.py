"""Steps of mirror descent: each is the minimiser it claims to be, and stays inside its set."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.core.arrays import FloatArray
from surefoot.inverse.mirror.mirror_map import EuclideanMap, ExponentiatedMap, project, refuses_exponentiated
from surefoot.inverse.problem.prior_set import PriorSet

SETS: dict[str, Any] = {
    "all": None,
    "nonnegative": "nonnegative",
    "simplex": "simplex",
    "box": (-0.5, [0.2, 1.0, 2.0, 0.0]),
    "rows": {"A": [[1.0, 1.0, 1.0, 1.0], [1.0, -1.0, 0.0, 0.5]], "b": [1.0, 0.25]},
    "rows and bounds": {"A": [[1.0, 2.0, -1.0, 0.0]], "b": [-0.5], "bounds": (-1.0, 1.0)},
    "matrix": PriorSet(
        lower=np.array([-np.inf, -np.inf, -np.inf, 0.5]),
        upper=np.full(4, np.inf),
        matrix=np.empty((0, 4)),
        ceiling=np.empty(0),
        psd=1,
    ),
}


def nearest(prior: PriorSet, point: FloatArray) -> FloatArray:
    theta = cp.Variable(point.size)
    rules = [prior.matrix @ theta <= prior.ceiling] if len(prior.ceiling) else []
    for sign, side in ((1, prior.lower), (-1, prior.upper)):
        at = np.isfinite(side)
        rules += [sign * theta[at] >= sign * side[at]] if at.any() else []
    rules += [cp.sum(theta) == prior.total] if prior.total is not None else []
    rules += [theta[0] >= 0] if prior.psd == 1 else []
    cp.Problem(cp.Minimize(cp.sum_squares(theta - point)), rules).solve(solver=cp.CLARABEL)
    found: FloatArray = theta.value
    return found


@pytest.mark.parametrize("name", SETS)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_projection_is_the_nearest_point(name: str, seed: int) -> None:
    prior = PriorSet.of(SETS[name], 4)
    point = np.random.default_rng(seed).normal(size=4) * 2
    found = project(prior, point)
    assert prior.excess(found) <= 1e-9
    np.testing.assert_allclose(found, nearest(prior, point), atol=2e-5)
    np.testing.assert_allclose(project(prior, found), found, atol=1e-9)


def test_the_projection_onto_a_total_is_exact_at_the_ends_of_the_bounds() -> None:
    prior = PriorSet(np.zeros(3), np.array([1.0, 1.0, np.inf]), np.empty((0, 3)), np.empty(0), total=5.0)
    np.testing.assert_allclose(project(prior, np.array([9.0, 9.0, 0.0])), [1.0, 1.0, 3.0])
    free = PriorSet(np.full(2, -np.inf), np.full(2, np.inf), np.empty((0, 2)), np.empty(0), total=3.0)
    np.testing.assert_allclose(project(free, np.array([1.0, 0.0])), [2.0, 1.0])


def test_matrices_are_projected_onto_the_positive_semidefinite_ones() -> None:
    prior = PriorSet(np.full(4, -np.inf), np.full(4, np.inf), np.empty((0, 4)), np.empty(0), psd=2)
    np.testing.assert_allclose(project(prior, np.array([1.0, 2.0, 2.0, 1.0])), np.full(4, 1.5))
    np.testing.assert_allclose(project(prior, np.array([1.0, 1.0, -1.0, 1.0])), [1.0, 1.0, -1.0, 1.0])


@pytest.mark.parametrize(("given_prior", "radius"), [("nonnegative", 2.0), ("simplex", 1.0), (None, 2.0)])
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_an_exponentiated_step_minimises_the_linear_model_plus_divergence(given_prior: Any, radius: float, seed: int) -> None:
    prior = PriorSet.of(given_prior, 3)
    draw = np.random.default_rng(seed)
    chart = ExponentiatedMap(prior, radius)
    state = chart.step(chart.begin(None), draw.normal(size=3), 1.0)
    gradient, size = draw.normal(size=3), 0.5
    pull = np.concatenate([gradient, -gradient]) if given_prior is None else gradient
    weights = cp.Variable(pull.size, nonneg=True)
    sums = cp.sum(weights) == radius if given_prior == "simplex" else cp.sum(weights) <= radius
    model = size * pull @ weights + cp.sum(cp.kl_div(weights, np.exp(state)))
    least = cp.Problem(cp.Minimize(model), [sums]).solve(solver=cp.CLARABEL)
    # Around its minimum the model is flat, so values are compared more sharply than points.
    weights.value = np.exp(chart.step(state, gradient, size))
    assert weights.value.sum() <= radius * (1 + 1e-12)
    assert model.value == pytest.approx(least, abs=1e-7)


def test_exponentiated_points_stay_inside_and_signs_are_free_where_they_may_be() -> None:
    draw = np.random.default_rng(0)
    for given_prior in ("nonnegative", None, "simplex"):
        prior = PriorSet.of(given_prior, 5)
        chart = ExponentiatedMap(prior, 1.0 if given_prior == "simplex" else 3.0)
        state = chart.begin(None)
        for step in range(200):
            state = chart.step(state, draw.normal(size=5) * 50, 1 / np.sqrt(step + 1))
            theta = chart.point(state)
            assert prior.excess(theta) <= 1e-9 and np.abs(theta).sum() <= chart.radius * (1 + 1e-9)
            assert np.all(np.isfinite(state))
        signs = set(np.sign(theta))
        assert (-1.0 in signs) == (given_prior is None)


@pytest.mark.parametrize("given_prior", ["nonnegative", None])
def test_a_start_is_kept_up_to_a_small_share(given_prior: Any) -> None:
    theta = np.array([0.5, 0.0, 1.0]) if given_prior else np.array([0.5, 0.0, -1.0])
    chart = ExponentiatedMap(PriorSet.of(given_prior, 3), 10.0)
    np.testing.assert_allclose(chart.point(chart.begin(theta)), theta, atol=2e-3)
    ends = EuclideanMap(PriorSet.of(given_prior, 3))
    np.testing.assert_array_equal(ends.begin(theta), theta)
    np.testing.assert_array_equal(ends.begin(None), np.zeros(3))


def test_divergences_are_zero_at_home_and_positive_elsewhere() -> None:
    chart = ExponentiatedMap(PriorSet.of("nonnegative", 3), 2.0)
    state = chart.begin(np.array([0.4, 0.3, 0.2]))
    assert chart.divergence(chart.point(state), state) == pytest.approx(0.0, abs=1e-12)
    assert chart.divergence(np.array([0.0, 1.0, 0.0]), state) > 0.1
    plain = EuclideanMap(PriorSet.of(None, 2))
    assert plain.divergence(np.array([3.0, 4.0]), np.zeros(2)) == pytest.approx(12.5)
    assert plain.dual_norm(np.array([3.0, -4.0])) == 5.0 and chart.dual_norm(np.array([3.0, -4.0, 0.0])) == 4.0


@pytest.mark.parametrize(
    ("name", "reason"), [("rows", "no rows"), ("box", "no bounds"), ("matrix", "no matrices"), ("rows and bounds", "no rows")]
)
def test_exponentiated_steps_refuse_sets_they_cannot_stay_in(name: str, reason: str) -> None:
    found = refuses_exponentiated(PriorSet.of(SETS[name], 4))
    assert found is not None and reason in found
    assert all(refuses_exponentiated(PriorSet.of(SETS[name], 4)) is None for name in ("all", "nonnegative", "simplex"))
