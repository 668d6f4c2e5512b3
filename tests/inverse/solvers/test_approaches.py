"""Every approach to inverse optimization, against all decisions at once."""

from __future__ import annotations

import itertools

import cvxpy as cp
import numpy as np
import pytest
from reference.enumerated_inverse import binary_vectors, decisions, distance, drawn, loss
from sklearn.base import clone

from surefoot.exceptions import ConvergenceLimitWarning, InconsistentDataError, UnsupportedProblemError
from surefoot.inverse import InverseOptimizer, forward
from surefoot.inverse.exact.parameters import DoubleDescriptionParameters

CONSISTENT = (
    "asl",
    "feasibility",
    "incenter",
    "circumcenter",
    "ellipsoidal-incenter",
    "ellipsoidal-circumcenter",
    "cutting-plane",
    "suboptimality",
    "predictability",
)


def slopes(signals, responses):
    """phi(response) - phi(x) of all decisions but the response, one array per observation."""
    found = []
    for signal, response in zip(signals, responses, strict=True):
        apart = response - decisions(signal)
        found.append(apart[np.any(apart != 0, axis=1)])
    return found


@pytest.mark.parametrize("approach", CONSISTENT)
@pytest.mark.parametrize("prior", ["nonnegative", None])
def test_consistent_data_leave_no_suboptimality(approach: str, prior: str | None) -> None:
    _, signals, responses = drawn(4, 3, 25, seed=3, signed=prior is None)
    model = InverseOptimizer(forward.BinaryProgram(), approach=approach, prior=prior).fit(signals, responses)
    assert model.certificate_.verified, model.certificate_.claim
    assert np.abs(model.cost_).max() > 0
    cost = model.cost_ / np.linalg.norm(model.cost_)
    assert loss(cost, signals, responses, "none").max() <= 1e-7
    if prior is not None:
        assert model.cost_.min() >= 0


@pytest.mark.parametrize("approach", ["asl", "incenter", "ellipsoidal-incenter"])
def test_costs_inside_the_cone_reproduce_every_decision(approach: str) -> None:
    _, signals, responses = drawn(5, 3, 30, seed=4)
    model = InverseOptimizer(forward.BinaryProgram(), approach=approach, prior="nonnegative").fit(signals, responses)
    assert all(np.array_equal(found, wanted) for found, wanted in zip(model.predict(signals), responses, strict=True))


@pytest.mark.parametrize(("prior", "name"), [("nonnegative", "l2"), (None, "l2"), ("nonnegative", "l1")])
def test_the_incenter_is_that_of_the_enumerated_programme(prior: str | None, name: str) -> None:
    _, signals, responses = drawn(5, 3, 30, seed=5, signed=prior is None)
    theta = cp.Variable(5)
    rules = [] if prior is None else [theta >= 0]
    for signal, response in zip(signals, responses, strict=True):
        points = decisions(signal)
        rules.append((response - points) @ theta + distance(name, response, points) <= 0)
    cp.Problem(cp.Minimize(cp.sum_squares(theta) / 2), rules).solve(solver=cp.CLARABEL)
    model = InverseOptimizer(forward.BinaryProgram(), approach="incenter", distance=name, prior=prior, tol=1e-8).fit(
        signals, responses
    )
    np.testing.assert_allclose(model.cost_, theta.value, rtol=1e-4, atol=1e-4)
    assert model.certificate_.upper_bound == pytest.approx(theta.value @ theta.value / 2, rel=1e-6)


def test_the_incenter_does_not_depend_on_the_scale_of_rows_or_the_order_of_observations() -> None:
    _, signals, responses = drawn(5, 3, 20, seed=6)
    first = InverseOptimizer(forward.BinaryProgram(), approach="incenter", prior="nonnegative").fit(signals, responses)
    scaled = [(7.0 * matrix, 7.0 * ceiling) for matrix, ceiling in signals[::-1]]
    second = InverseOptimizer(forward.BinaryProgram(), approach="incenter", prior="nonnegative").fit(scaled, responses[::-1])
    np.testing.assert_allclose(first.cost_, second.cost_, rtol=1e-5)
    # Features in other units: the cost is in their inverse where decisions are measured, and the same between features.
    for name, unit in (("l2", 1000.0), ("auto", 1.0)):
        third = InverseOptimizer(
            forward.BinaryProgram(),
            approach="incenter",
            prior="nonnegative",
            features=lambda _s, x: 1000.0 * x,
            distance=name,
        ).fit(signals, responses)
        np.testing.assert_allclose(first.cost_, unit * third.cost_, rtol=1e-4)


def test_twice_the_same_observations_change_nothing() -> None:
    _, signals, responses = drawn(4, 3, 10, seed=7, noise=0.3, signed=True)
    once = InverseOptimizer(forward.BinaryProgram(), kappa=0.05).fit(signals, responses)
    twice = InverseOptimizer(forward.BinaryProgram(), kappa=0.05).fit(signals * 2, responses * 2)
    np.testing.assert_allclose(once.cost_, twice.cost_, atol=1e-5)


def test_a_single_observation_is_enough() -> None:
    _, signals, responses = drawn(4, 3, 1, seed=8)
    for approach in ("asl", "incenter", "feasibility", "suboptimality", "cutting-plane"):
        model = InverseOptimizer(forward.BinaryProgram(), approach=approach, prior="nonnegative").fit(signals, responses)
        assert loss(model.cost_, signals, responses, "none").max() <= 1e-7


@pytest.mark.parametrize("signed", [False, True])
def test_the_least_suboptimality_is_that_of_the_enumerated_programmes(signed: bool) -> None:
    _, signals, responses = drawn(4, 3, 15, seed=9, noise=0.5, signed=signed)
    values = []
    for j, value in itertools.product(range(4), (1.0, -1.0)):
        theta, beta = cp.Variable(4), cp.Variable(15)
        rules = [beta >= 0, cp.norm_inf(theta) <= 1, theta[j] == value] if signed else [theta >= 0, cp.sum(theta) == 1]
        for i, slope in enumerate(slopes(signals, responses)):
            rules.append(slope @ theta <= beta[i])
        rules.append(beta >= 0)
        task = cp.Problem(cp.Minimize(cp.sum(beta) / 15), rules)
        task.solve(solver=cp.CLARABEL)
        values.append(task.value)
    prior = None if signed else "nonnegative"
    model = InverseOptimizer(forward.BinaryProgram(), approach="suboptimality", prior=prior).fit(signals, responses)
    assert model.certificate_.verified
    assert model.certificate_.upper_bound == pytest.approx(min(values), abs=1e-6)


# cvxpy's model of a logarithm of a determinant ends a little short of its tolerance; it is compared at 1e-5.
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize(("approach", "noise"), [("ellipsoidal-incenter", 0.0), ("ellipsoidal-asl", 0.4)])
def test_ellipsoids_are_those_of_the_enumerated_programme(approach: str, noise: float) -> None:
    _, signals, responses = drawn(4, 3, 15, seed=10, noise=noise)
    kappa, hard = (1.0, True) if approach == "ellipsoidal-incenter" else (0.05, False)
    shape, theta, beta = cp.Variable((4, 4), PSD=True), cp.Variable(4), cp.Variable(15)
    rules = [cp.norm(theta) <= 1, theta >= 0, beta >= 0]
    for i, slope in enumerate(slopes(signals, responses)):
        rules += [row @ theta + cp.norm(shape @ row) <= (0 if hard else beta[i]) for row in slope]
    task = cp.Problem(cp.Minimize(-kappa * cp.log_det(shape) + (0 if hard else cp.sum(beta) / 15)), rules)
    task.solve(solver=cp.CLARABEL)
    model = InverseOptimizer(forward.BinaryProgram(), approach=approach, kappa=kappa, prior="nonnegative").fit(
        signals, responses
    )
    assert model.certificate_.verified, model.certificate_.claim
    assert model.certificate_.upper_bound == pytest.approx(task.value, abs=1e-5)


@pytest.mark.parametrize(("approach", "noise"), [("ellipsoidal-incenter", 0.0), ("ellipsoidal-asl", 0.4)])
def test_ellipsoids_have_room_only_where_decisions_vary(approach: str, noise: float) -> None:
    _, signals, responses = drawn(4, 3, 12, seed=12, noise=noise, signed=True)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 4)))[0]
    plain = InverseOptimizer(forward.BinaryProgram(), approach=approach, kappa=0.05).fit(signals, responses)
    turned = InverseOptimizer(forward.BinaryProgram(), approach=approach, kappa=0.05, features=lambda _signal, x: turn @ x).fit(
        signals, responses
    )
    assert turned.certificate_.verified, turned.certificate_.claim
    assert "flat but for the 4 of 6 directions" in turned.certificate_.claim
    assert turned.certificate_.upper_bound == pytest.approx(plain.certificate_.upper_bound, abs=1e-6)
    np.testing.assert_allclose(turn.T @ turned.cost_, plain.cost_, atol=2e-3)


def extreme_rays(rows: np.ndarray) -> np.ndarray:
    found = set()
    for chosen in itertools.combinations(range(len(rows)), rows.shape[1] - 1):
        _, size, axes = np.linalg.svd(rows[list(chosen)])
        if size[-1] > 1e-9:
            found |= {tuple(np.round(ray, 8) + 0.0) for ray in (axes[-1], -axes[-1]) if np.all(rows @ ray <= 1e-9)}
    return np.array(sorted(found))


@pytest.mark.filterwarnings("ignore:InverseOptimizer is optimal only provided that the ends of the rays lie in a plane")
@pytest.mark.parametrize("prior", ["nonnegative", None])
def test_circumcenters_are_those_of_all_extreme_rays(prior: str | None) -> None:
    _, signals, responses = drawn(4, 3, 20, seed=11, signed=prior is None)
    rows = np.vstack([*slopes(signals, responses), *([] if prior is None else [-np.eye(4)])])
    rows = np.unique(np.round(rows / np.linalg.norm(rows, axis=1)[:, None], 12), axis=0)
    rays = extreme_rays(rows)
    theta = cp.Variable(4)
    cp.Problem(cp.Maximize(cp.min(rays @ theta)), [cp.norm(theta) <= 1]).solve(solver=cp.CLARABEL)
    model = InverseOptimizer(forward.BinaryProgram(), approach="circumcenter", prior=prior).fit(signals, responses)
    assert len(model.certificate_.witness.rays) == len(rays)
    np.testing.assert_allclose(model.cost_, theta.value, atol=1e-5)
    # The smallest ellipsoid in the plane of the ends, from its convex programme.
    middle = rays.mean(axis=0)
    _, size, axes = np.linalg.svd(rays - middle, full_matrices=False)
    flat = (rays - middle) @ axes[: int((size > 1e-9).sum())].T
    shape, shift = cp.Variable((flat.shape[1],) * 2, PSD=True), cp.Variable(flat.shape[1])
    task = cp.Problem(cp.Maximize(cp.log_det(shape)), [cp.norm(shape @ end - shift) <= 1 for end in flat])
    task.solve(solver=cp.CLARABEL)
    center = middle + np.linalg.solve(shape.value, shift.value) @ axes[: flat.shape[1]]
    other = InverseOptimizer(forward.BinaryProgram(), approach="ellipsoidal-circumcenter", prior=prior).fit(signals, responses)
    np.testing.assert_allclose(other.cost_, center / np.linalg.norm(center), atol=1e-4)


def test_without_a_consistent_cost_the_cutting_plane_takes_the_least_suboptimality() -> None:
    _, signals, responses = drawn(4, 3, 15, seed=9, noise=0.6)
    best = InverseOptimizer(forward.BinaryProgram(), approach="suboptimality", prior="nonnegative").fit(signals, responses)
    assert best.certificate_.lower_bound > 1e-3
    model = InverseOptimizer(forward.BinaryProgram(), approach="cutting-plane", prior="nonnegative").fit(signals, responses)
    assert model.certificate_.verified
    mean = loss(model.cost_ / model.cost_.sum(), signals, responses, "none").mean()
    assert mean == pytest.approx(best.certificate_.upper_bound, abs=1e-7)


def test_the_radius_of_the_consistent_costs_is_that_around_the_incenter() -> None:
    _, signals, responses = drawn(5, 3, 20, seed=6)
    model = InverseOptimizer(forward.BinaryProgram(), approach="incenter", prior="nonnegative").fit(signals, responses)
    rows = np.vstack(slopes(signals, responses))
    # The sine of the angle to the nearest cost that a decision not taken would refute.
    radius = np.min(-rows @ model.cost_ / np.linalg.norm(rows, axis=1)) / np.linalg.norm(model.cost_)
    claim = model.certificate_.claim
    assert "sine of its angle to the nearest cost vector that another decision refutes" in claim
    low, high = (float(word.rstrip(".,")) for word in claim.split("sine")[1].split() if word.startswith("0."))
    assert low <= radius * (1 + 1e-6)
    assert radius <= high * (1 + 1e-6)
    assert high == pytest.approx(low, rel=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_rays_that_a_search_finds_have_the_circumcenter_of_all_rays(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _, signals, responses = drawn(6, 4, 20, seed=seed)
    model = InverseOptimizer(forward.BinaryProgram(), approach="circumcenter", prior="nonnegative")
    every = clone(model).fit(signals, responses)
    limits = DoubleDescriptionParameters(few_dimensions=1, few_rays=1)
    monkeypatch.setattr("surefoot.inverse.cone.circumcenter.PARAMETERS", limits)
    with pytest.warns(ConvergenceLimitWarning):
        few = clone(model).fit(signals, responses)
    np.testing.assert_allclose(few.cost_, every.cost_, atol=1e-6)
    proven = few.certificate_
    # Rays prove how wide the cone is at least; that it is no wider takes all of them.
    assert proven.lower_bound == pytest.approx(every.certificate_.lower_bound, abs=1e-6)
    assert proven.upper_bound >= every.certificate_.upper_bound - 1e-9
    assert not proven.verified and "too many rays" in proven.claim
    other = drawn(6, 4, 20, seed=seed, noise=2.0)
    with pytest.raises(InconsistentDataError):
        clone(model).fit(*other[1:])


def test_the_cutting_plane_cost_is_the_nearest_consistent_one() -> None:
    _, signals, responses = drawn(4, 3, 20, seed=12)
    guess = np.array([0.4, 0.1, 0.3, 0.2])
    theta = cp.Variable(4)
    rules = [theta >= 0, *[slope @ theta <= 0 for slope in slopes(signals, responses)]]
    wanted = cp.Problem(cp.Minimize(cp.norm1(theta - guess)), rules).solve(solver=cp.CLARABEL)
    model = InverseOptimizer(forward.BinaryProgram(), approach="cutting-plane", center=guess, prior="nonnegative")
    model.fit(signals, responses)
    assert np.abs(model.cost_ - guess).sum() == pytest.approx(wanted, abs=1e-6)


def test_predictability_beats_every_cost_on_a_grid() -> None:
    _, signals, responses = drawn(3, 2, 8, seed=13, noise=0.8)
    model = InverseOptimizer(
        forward.BinaryProgram(), approach="predictability", distance="squared-l2", prior="nonnegative"
    ).fit(signals, responses)

    listed = [decisions(signal) for signal in signals]

    def predicted(theta: np.ndarray) -> float:
        total = 0.0
        for points, response in zip(listed, responses, strict=True):
            prices = points @ theta
            total += distance("squared-l2", response, points[prices <= prices.min() + 1e-9]).min()
        return total / len(signals)

    assert model.certificate_.upper_bound == pytest.approx(predicted(model.cost_), abs=1e-9)
    grid = [np.array(t) for t in itertools.product(np.linspace(0, 1, 21), repeat=3) if any(t)]
    assert model.certificate_.upper_bound <= min(predicted(theta) for theta in grid) + 1e-9
    assert model.outcome_.lower_bound == pytest.approx(model.outcome_.upper_bound)


@pytest.mark.parametrize("approach", ["feasibility", "incenter", "circumcenter", "ellipsoidal-incenter"])
def test_data_without_a_consistent_cost_are_refused(approach: str) -> None:
    matrix, ceiling = np.zeros((1, 2)), np.zeros(1)
    signals = [(matrix, ceiling)] * 3
    responses = [np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([1.0, 1.0])]
    with pytest.raises(InconsistentDataError):
        InverseOptimizer(forward.BinaryProgram(), approach=approach).fit(signals, [*responses[:2], np.array([0.0, 0.0])])


@pytest.mark.parametrize("seed", range(4))
def test_observations_in_conflict_are_few_and_conflict_by_themselves(seed: int) -> None:
    _, signals, responses = drawn(4, 3, 30, seed=seed, noise=0.6, signed=True)
    model = InverseOptimizer(forward.BinaryProgram(), approach="incenter")
    with pytest.raises(InconsistentDataError) as caught:
        model.fit(signals, responses)
    proof = caught.value.certificate.witness
    named = sorted(set(proof.owners.tolist()))
    assert len(named) <= 5
    assert caught.value.certificate.lower_bound > 0
    assert all(str(i) in str(caught.value) for i in named)
    slope, offset = np.zeros(4), 0.0
    for i, point, weight in zip(proof.owners, proof.points, proof.weights, strict=True):
        slope += weight * (responses[i] - point)
        offset += weight * np.linalg.norm(responses[i] - point)
    np.testing.assert_allclose(slope, 0.0, atol=1e-12)
    assert offset > 0
    with pytest.raises(InconsistentDataError):
        model.fit([signals[i] for i in named], [responses[i] for i in named])


def test_a_cone_with_a_line_has_no_circumcenter() -> None:
    _, signals, responses = drawn(4, 3, 1, seed=15, signed=True)
    rows = slopes(signals, responses)[0]
    if np.linalg.matrix_rank(rows) == 4:
        signals, responses = [(np.zeros((1, 4)), np.zeros(1), 0)], [np.array([0.0, 1, 1, 1])]
    model = InverseOptimizer(forward.BinaryProgram(), approach="circumcenter", features=lambda _s, x: np.append(x, 0.0))
    with pytest.raises(UnsupportedProblemError, match="line"):
        model.fit(signals, responses)


def test_all_vectors_are_listed() -> None:
    assert len(np.unique(binary_vectors(5), axis=0)) == 32


def test_a_prior_set_without_costs_but_0_or_next_to_it_is_refused() -> None:
    _, signals, responses = drawn(4, 3, 5, seed=16)
    for prior, words in (((-1e-200, 0.5), "scale its bounds up"), ((0.0, 0.0), "none but 0")):
        with pytest.raises(UnsupportedProblemError, match=words):
            InverseOptimizer(forward.BinaryProgram(), approach="suboptimality", prior=prior).fit(signals, responses)
