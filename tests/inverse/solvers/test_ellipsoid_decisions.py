"""Quadratic costs over ellipsoids: Appendix B of the paper, against its semidefinite programmes."""

from __future__ import annotations

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from reference.decision_bound import bound_of

from surefoot.exceptions import InvalidObservationError, UnsupportedProblemError
from surefoot.inverse import InverseOptimizer, forward
from surefoot.inverse.oracle.forward_oracle import ForwardOracle
from surefoot.inverse.oracle.trust_region import smallest_in_ball
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.trust_region_dual import trust_region_bound


@pytest.mark.parametrize("seed", range(12))
def test_the_smallest_value_in_a_ball_meets_its_bound(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 5))
    form = random.normal(size=(n, n))
    form, slope = form + form.T, random.normal(size=n)
    if seed % 3 == 0:  # the hard case: no slope along the flattest direction
        flattest = np.linalg.eigh(form)[1][:, 0]
        slope = 0.1 * (slope - (slope @ flattest) * flattest)
    radius = float(random.uniform(0.5, 2))
    y, multiplier = smallest_in_ball(form, slope, radius)
    bound = trust_region_bound(form, slope, radius, multiplier)
    value = y @ form @ y + 2 * slope @ y
    assert np.linalg.norm(y) <= radius * (1 + 1e-12)
    assert bound <= value + 1e-9
    assert value == pytest.approx(bound, abs=1e-8)
    others = random.normal(size=(5000, n))
    others *= radius * random.uniform(0, 1, (5000, 1)) / np.linalg.norm(others, axis=1)[:, None]
    assert value <= np.min(np.einsum("ki,ij,kj->k", others, form, others) + 2 * others @ slope) + 1e-9
    # Weak duality: no other multiplier proves more, and those that leave H + mu I indefinite prove nothing.
    for factor in (0.0, 0.5, 0.99, 1.01, 2.0, 10.0):
        assert trust_region_bound(form, slope, radius, factor * multiplier) <= value + 1e-9
    assert trust_region_bound(form, slope, radius, -1.0) == -np.inf
    assert trust_region_bound(form, slope, radius, np.nan) == -np.inf
    assert trust_region_bound(form, slope, radius, multiplier + 1.0) == pytest.approx(
        -slope @ np.linalg.solve(form + (multiplier + 1.0) * np.eye(n), slope) - (multiplier + 1.0) * radius**2, abs=1e-8
    )


def test_certificates_bound_ellipsoids_by_the_multiplier_they_are_given_and_no_other() -> None:
    random = np.random.default_rng(5)
    root = random.normal(size=(3, 3))
    signal, response = (root @ root.T + np.eye(3), 0.2 * random.normal(size=3), -1.0), 0.1 * random.normal(size=3)
    example = forward.EllipsoidProgram().example(0, signal, response)
    theta, distance, oracle = random.normal(size=12), Distance.of("squared-l2"), ForwardOracle()
    best = oracle.augmented(example, theta, distance).value
    proof = oracle.proof(example, theta, distance)
    assert proof is not None
    assert bound_of(example, theta, distance, proof=proof) == pytest.approx(best, abs=1e-9)
    for factor in (1.5, 3.0):
        assert bound_of(example, theta, distance, proof=replace(proof, multipliers=factor * proof.multipliers)) > best
    # Any other point proves less, since the tangent plane there lies below.
    assert bound_of(example, theta, distance, proof=replace(proof, points=proof.points + 0.1)) > best
    # Without a multiplier the function is not convex, and one below 0 is none; nothing is proven then.
    for wrong in (0.0 * proof.multipliers, -proof.multipliers, np.tile(proof.multipliers, 2)):
        assert bound_of(example, theta, distance, proof=replace(proof, multipliers=wrong)) is None
    assert bound_of(example, theta, distance) is None


@pytest.mark.parametrize("name", ["squared-l2", "none"])
def test_learned_costs_are_those_of_the_semidefinite_programme(name: str) -> None:
    random = np.random.default_rng(3)
    n, count, kappa = 2, 6, 0.1
    signals, responses = [], []
    for _ in range(count):
        root = random.normal(size=(n, n))
        form, shift = root @ root.T + np.eye(n), 0.3 * random.normal(size=n)
        signals.append((form, shift, -1.0))
        responses.append(-np.linalg.solve(form, shift) + 0.1 * random.normal(size=n))
    square, slope, beta = cp.Variable((n, n), symmetric=True), cp.Variable(n), cp.Variable(count)
    center_q = 0.5 * np.eye(n)
    rules = []
    far = 1.0 if name == "squared-l2" else 0.0
    for i, ((form, shift, constant), x) in enumerate(zip(signals, responses, strict=True)):
        t, price = cp.Variable(), cp.Variable(nonneg=True)
        bend = cp.reshape(slope + far * x + price * shift, (n, 1), order="C")
        corner = cp.reshape(price * constant - t, (1, 1), order="C")
        rules.append(cp.bmat([[square - far * np.eye(n) + price * form, bend], [bend.T, corner]]) >> 0)
        own = cp.sum(cp.multiply(square, np.outer(x, x))) + 2 * slope @ x
        rules.append(own + far * x @ x - t <= beta[i])
    size = cp.sum_squares(square - center_q) + cp.sum_squares(slope - 0.2)
    wanted = cp.Problem(cp.Minimize(kappa * size / 2 + cp.sum(beta) / count), rules).solve(solver=cp.CLARABEL)
    center = np.concatenate((center_q.ravel(), np.full(n, 0.2)))
    model = InverseOptimizer(forward.EllipsoidProgram(), distance=name, kappa=kappa, center=center, tol=1e-7)
    model.fit(signals, responses)
    assert model.certificate_.verified, model.certificate_.claim
    assert model.certificate_.upper_bound == pytest.approx(wanted, rel=1e-5, abs=1e-6)
    assert model.certificate_.lower_bound == pytest.approx(wanted, rel=1e-5, abs=1e-6)


def test_what_is_no_ellipsoid_is_refused() -> None:
    model = InverseOptimizer(forward.EllipsoidProgram(), distance="squared-l2", kappa=0.1)
    for signal, message in (
        ((-np.eye(2), np.zeros(2), -1.0), "observation 0: A must be symmetric and positive definite"),
        ((np.eye(2), np.zeros(2), 1.0), "observation 0: the constraint leaves no point"),
        ((np.eye(2), np.zeros(3), -1.0), "observation 0: A has shape"),
        ((np.eye(2), np.zeros(2)), "observation 0: the signal must be"),
    ):
        with pytest.raises(InvalidObservationError, match=message):
            model.fit([signal], [np.zeros(2)])
    with pytest.raises(UnsupportedProblemError, match="choose 'squared-l2' or 'none'"):
        model.set_params(distance="linf").fit([(np.eye(2), np.zeros(2), -1.0)], [np.zeros(2)])
