"""Distances between features, and functions: the incenter of Definition 3.3, claims that name their source, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference.enumerated_inverse import binary_vectors
from scipy.optimize import minimize

from surefoot import verify
from surefoot.exceptions import CertificateError, InvalidObservationError, UnsupportedProblemError, ZeroCostWarning
from surefoot.inverse import InverseOptimizer, InverseOptimizerCV, forward
from surefoot.inverse.certificate.observation import exact_product

TASTE = np.array([-1.0, -2.0, 0.5])


def described(signal: Any, x: Any) -> Any:
    """What is bought, how much of it is sweet, and whether two go together."""
    return np.array([x[0] + 3 * x[1], 2 * x[2] + x[3], 0.2 * x[0] - x[3]])


def baskets(n: int = 8) -> tuple[list[Any], list[Any]]:
    draw, every = np.random.default_rng(0), binary_vectors(4)
    signals, responses = [], []
    for _ in range(n):
        prices = draw.uniform(0.2, 1.0, 4)
        signals.append((prices[None, :], np.array([1.2])))
        open_ = every[every @ prices <= 1.2]
        costs = [described(None, x) @ TASTE for x in open_]
        responses.append(open_[int(np.argmin(costs))])
    return signals, responses


@pytest.mark.parametrize("distance", ["auto", "features"])
def test_the_incenter_of_features_is_that_of_definition_3_3(distance: str) -> None:
    """The widest angle to all planes <theta, g> = 0, found by a general solver from the definition."""
    signals, responses = baskets()
    model = InverseOptimizer(forward.BinaryProgram(), approach="incenter", features=described, distance=distance)
    model.fit(signals, responses)
    normals = []
    for (prices, budget), response in zip(signals, responses, strict=True):
        for x in binary_vectors(4):
            g = described(None, x) - described(None, response)
            if x @ prices[0] <= budget[0] and np.linalg.norm(g) > 0:
                normals.append(g / np.linalg.norm(g))
    planes = np.array(normals)
    sine = float(np.min(planes @ model.cost_) / np.linalg.norm(model.cost_))
    start = np.append(TASTE / np.linalg.norm(TASTE), 0.0)
    limits = [
        {"type": "ineq", "fun": lambda v: planes @ v[:3] - v[3]},
        {"type": "ineq", "fun": lambda v: 1.0 - v[:3] @ v[:3]},
    ]
    best = minimize(lambda v: -v[3], start, constraints=limits, options={"ftol": 1e-12, "maxiter": 500})
    assert sine == pytest.approx(-best.fun, abs=1e-6) and sine > 0.01
    assert model.certificate_.verified and verify(model, signals, responses).verified
    assert f"The sine of its angle to the nearest cost vector that another decision refutes is at least {sine:.5f}"[:90] in (
        model.certificate_.claim
    )


def test_a_function_that_is_a_known_distance_gives_the_same_cost() -> None:
    signals, responses = baskets()
    settings: Any = {"features": described, "kappa": 0.05}
    named = InverseOptimizer(forward.BinaryProgram(), distance="l1", **settings).fit(signals, responses)
    model = InverseOptimizer(
        forward.BinaryProgram(), distance=lambda signal, seen, other: np.abs(seen - other).sum(), **settings
    )
    model.fit(signals, responses)
    np.testing.assert_allclose(model.cost_, named.cost_, atol=1e-5)
    assert model.certificate_.upper_bound == pytest.approx(named.certificate_.upper_bound, rel=1e-6)
    assert model.certificate_.verified and "the distances that a function of the caller's returned" in model.certificate_.claim
    assert verify(model, signals, responses).verified


def test_a_function_may_use_the_signal_and_a_change_of_it_is_noticed() -> None:
    offers = [np.random.default_rng(k).uniform(0, 1, (4, 2)) for k in range(10)]
    chosen = [int(np.argmin(offer @ [1.0, 2.0])) for offer in offers]
    importance = {"factor": 1.0}

    def dear(signal: Any, seen: Any, other: Any) -> float:
        return importance["factor"] * float(np.linalg.norm(seen - other) * len(signal))

    model = InverseOptimizer(forward.FiniteChoice(), distance=dear, kappa=0.1).fit(offers, chosen)
    assert verify(model, offers, chosen).verified
    importance["factor"] = 2.0
    with pytest.raises(CertificateError):
        verify(model, offers, chosen)


@pytest.mark.parametrize("distance", ["l1", "l2", "squared-l2", "zero-one", "linf"])
def test_whole_numbers_beyond_0_and_1_take_every_distance(distance: str) -> None:
    """How many of each to buy; the same choices as a list have the same best objective."""
    draw = np.random.default_rng(3)
    signals, listed, chosen = [], [], []
    every = np.array(np.meshgrid(*[np.arange(4.0)] * 3, indexing="ij")).reshape(3, -1).T
    for _ in range(6):
        prices = draw.uniform(0.5, 1.5, 3)
        signals.append((np.empty((1, 0)), prices[None, :], np.array([4.0])))
        listed.append(every[every @ prices <= 4.0])
        chosen.append(listed[-1][int(np.argmin(listed[-1] @ [-1.0, -0.8, -1.3] + draw.normal(0, 0.3, len(listed[-1]))))])
    model = InverseOptimizer(forward.MixedIntegerProgram(integer_bounds=(0, 3)), distance=distance, kappa=0.1)
    other = InverseOptimizer(forward.FiniteChoice(), distance=distance, kappa=0.1).fit(listed, chosen)
    assert model.fit(signals, chosen).certificate_.verified
    assert model.certificate_.upper_bound == pytest.approx(other.certificate_.upper_bound, rel=1e-5)


def test_a_pair_without_a_distance_of_whole_unknowns_needs_no_solver_of_its_own() -> None:
    corners = binary_vectors(2)
    problem = forward.CallableProblem(lambda theta, signal: corners[np.argmin(corners @ theta)], n_unknowns=2)
    with pytest.warns(ZeroCostWarning):  # in truth there is no distance
        model = InverseOptimizer(problem, distance=("linf", "none"), kappa=0.1).fit([0], [[0, 0]])
    assert model.certificate_.trust and not model.cost_.any()


def test_features_of_decisions_as_they_are_need_no_list() -> None:
    draw = np.random.default_rng(1)
    signals = [(draw.uniform(0.2, 1.0, (1, 20)), np.array([4.0])) for _ in range(4)]
    cost = -draw.uniform(0.2, 1.0, 20)
    solver = InverseOptimizer(forward.BinaryProgram(), approach="incenter").fit(signals, np.zeros((4, 20)))
    solver.cost_ = cost
    responses = solver.predict(signals)
    found = [
        InverseOptimizer(forward.BinaryProgram(), approach="incenter", distance=name).fit(signals, responses).cost_.tolist()
        for name in ("l2", "features")
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("distance", ["features", lambda signal, seen, other: 0.0])
def test_what_cannot_be_listed_is_refused_with_what_can_be_done(distance: Any) -> None:
    signal = (np.array([[1.0, 1.0]]), np.array([1.0]))
    model = InverseOptimizer(forward.LinearProgram(upper=1.0), distance=distance, kappa=0.1)
    with pytest.raises(UnsupportedProblemError, match="needs decisions that can be listed: alternatives, or at most 16"):
        model.fit([signal], [[1.0, 0.0]])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda signal, seen, other: 1.0, "the distance of the response itself is 1.0; it must be 0"),
        (lambda signal, seen, other: -float(np.abs(seen - other).sum()), "it must be 0 for the response itself, and a finite"),
        (lambda signal, seen, other: "far", "observation 0: the distance failed"),
    ],
)
def test_functions_that_are_no_distances_are_refused(function: Any, message: str) -> None:
    with pytest.raises(InvalidObservationError, match=message):
        InverseOptimizer(forward.FiniteChoice(), distance=function, kappa=0.1).fit([np.eye(2)], [0])


def test_tiny_features_are_not_proven_by_a_tolerance_of_another_size() -> None:
    draw = np.random.default_rng(2)
    offers = [draw.uniform(0, 1e-7, (4, 2)) for _ in range(12)]
    chosen = [int(np.argmin(offer @ [1.0, 2.0] + draw.normal(0, 5e-8, 4))) for offer in offers]
    model = InverseOptimizer(forward.FiniteChoice(), distance="features", kappa=1e-9).fit(offers, chosen)
    assert model.certificate_.verified
    certificate, objective = model.certificate_, model.certificate_.upper_bound
    assert certificate.lower_bound > 0 and objective - certificate.lower_bound <= 1e-5 * objective


def test_functions_can_be_chosen_from() -> None:
    offers = [np.random.default_rng(k).uniform(0, 1, (4, 2)) for k in range(9)]
    chosen = [int(np.argmin(offer @ [1.0, 2.0])) for offer in offers]

    def squared(signal: Any, seen: Any, other: Any) -> float:
        return float(np.sum((seen - other) ** 2))

    search = InverseOptimizerCV(forward.FiniteChoice(), kappas=[0.0], distances=[squared, "features"], cv=3)
    assert search.fit(offers, chosen).best_params_["distance"] in (squared, "features") and search.certificate_.verified


def test_angles_are_spoken_of_only_where_features_are_measured() -> None:
    signals, responses = baskets()
    model = InverseOptimizer(forward.BinaryProgram(), approach="incenter", features=described, distance="l2")
    assert "The sine of its angle" not in model.fit(signals, responses).certificate_.claim and model.certificate_.verified


def test_exact_products_count_what_is_below_0() -> None:
    assert exact_product([-1.0, 0.0, 2.0], [3.0, 5.0, 0.5]) == -2
