"""Distances between features, and functions: the incenter of Definition 3.3, claims that name their source, refusals."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from reference.decision_bound import bound_of
from reference.enumerated_inverse import binary_vectors
from scipy.optimize import minimize

from surefoot import verify
from surefoot.exceptions import CertificateError, InvalidObservationError, UnsupportedProblemError, ZeroCostWarning
from surefoot.inverse import InverseOptimizer, InverseOptimizerCV, forward
from surefoot.inverse.certificate.certificate import certify_cost
from surefoot.inverse.certificate.observation import exact_product
from surefoot.inverse.problem.decision_proof import DecisionTrees
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.hypothesis import LinearFeatures
from surefoot.sklearn_api.verification import proof_parts

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


def test_no_angle_is_spoken_of_where_a_function_measures() -> None:
    """Three times the distance makes a cost that is three times as long, at the same angle."""
    offers = [np.random.default_rng(k).uniform(0, 1, (4, 2)) for k in range(6)]
    chosen = [int(np.argmin(offer @ [1.0, 2.0])) for offer in offers]

    def longer(signal: Any, seen: Any, other: Any) -> float:
        return 3.0 * float(np.linalg.norm(seen - other))

    models = [
        InverseOptimizer(forward.FiniteChoice(), approach="incenter", distance=d).fit(offers, chosen) for d in ("l2", longer)
    ]
    assert [("sine" in model.certificate_.claim, model.certificate_.verified) for model in models] == [
        (True, True),
        (False, True),
    ]


def forged(record: Any, **changes: Any) -> Any:
    """A record that its own checks would have refused."""
    changed = copy.copy(record)
    for name, value in changes.items():
        object.__setattr__(changed, name, value)
    return changed


def test_a_response_that_is_said_to_be_away_from_itself_proves_no_cost() -> None:
    """Its distance was a constant in the lower bound, and none in the loss: any cost at all was verified as the best."""
    points = np.array([[0.0, 1.0], [1.0, 0.0]])
    model = InverseOptimizer(forward.FiniteChoice(), distance=lambda signal, seen, other: float(np.abs(seen - other).sum()))
    model.set_params(kappa=0.1).fit([points], [0])
    given = proof_parts(model, [points], [0]).arguments
    worse = np.array([5.0, 3.0])
    loss = certify_cost(given["problem"], worse, None, 1e-6).upper_bound
    assert loss > 10 * model.certificate_.upper_bound
    (example,) = given["problem"].examples
    problem = forged(given["problem"], examples=(forged(example, lengths=np.array([loss, 2.0])),))
    proof = forged(given["proof"], owners=np.array([0]), points=points[:1], weights=np.ones(1), exact=())
    found = certify_cost(problem, worse, proof, 1e-6)
    assert not found.verified and found.lower_bound <= model.certificate_.upper_bound
    # A decision that is infinitely far away leaves no loss finite.
    far = forged(given["problem"], examples=(forged(example, lengths=np.array([0.0, np.inf])),))
    assert certify_cost(far, model.cost_, given["proof"], 1e-6).upper_bound == np.inf


@pytest.mark.parametrize("name", ["features", "given"])
def test_trees_prove_nothing_about_distances_that_they_do_not_know(name: str) -> None:
    """They took distances of features for those of equal and different decisions: 1 where it is the root of 200."""
    example = forward.BinaryProgram().example(0, (np.empty((0, 2)), np.empty(0)), np.zeros(2), None)
    example = forged(example, instance=forged(example.instance, features=LinearFeatures(10.0 * np.eye(2), np.zeros(2))))
    tree: Any = DecisionTrees(np.array([-1]), np.zeros(1), np.zeros((1, 0)), np.zeros(1))
    if name == "features":
        assert bound_of(example, np.zeros(2), Distance("features", "none"), tree) == pytest.approx(200**0.5)
    wide = forward.BinaryProgram().example(0, (np.empty((0, 17)), np.empty(0)), np.zeros(17), None)
    assert bound_of(wide, np.zeros(17), Distance(name, "none"), tree) is None
    assert bound_of(wide, np.zeros(17), Distance("zero-one", "none"), tree) == pytest.approx(1.0)


def test_exact_products_count_what_is_below_0() -> None:
    assert exact_product([-1.0, 0.0, 2.0], [3.0, 5.0, 0.5]) == -2
