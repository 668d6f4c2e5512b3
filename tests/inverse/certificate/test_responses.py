"""Responses are decisions where they are so but for rounding, whatever a record says of them, and claims tell how closely."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from surefoot import inverse
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import CertificateError, InconsistentDataError, InvalidObservationError
from surefoot.inverse import forward
from surefoot.inverse.certificate.certificate import certify_cost, certify_predictions
from surefoot.inverse.certificate.cone_center import certify_rays
from surefoot.inverse.certificate.cost_ellipsoid import certify_ellipsoid
from surefoot.inverse.certificate.observation import ROUNDED, SLACK, is_decision
from surefoot.inverse.exact.constraint_generation import ConstraintGeneration
from surefoot.inverse.problem.decision_set import OpaqueSet
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.ellipsoidal_cost import EllipsoidalCost
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import InverseProblem, Regularizer
from surefoot.inverse.problem.ray_proof import RayProof


def posed(program: Any, signals: Any, responses: Any, distance: Any = "none", kappa: float = 0.1) -> InverseProblem:
    examples = tuple(program.example(i, s, x) for i, (s, x) in enumerate(zip(signals, responses, strict=True)))
    p = examples[0].instance.features.n_features
    regularizer = Regularizer("l2", np.zeros(p))
    return InverseProblem(examples, Distance.of(distance), regularizer, kappa, PriorSet.of(None, p), clamp=False)


def forged(problem: InverseProblem, response: Any) -> InverseProblem:
    """The same problem with another response, which the record still calls a decision."""
    first = replace(problem.examples[0], response=np.asarray(response, dtype=np.float64), inside=True)
    return replace(problem, examples=(first, *problem.examples[1:]))


@pytest.fixture
def shopper() -> InverseProblem:
    return posed(forward.BinaryProgram(), [(np.ones((1, 3)), np.array([2.0]))] * 2, [[1.0, 1.0, 0.0]] * 2, "l2")


def test_a_response_that_is_no_decision_proves_nothing(shopper: InverseProblem) -> None:
    """Distances from (5, 5, 5), and losses of it, are nowhere near 0."""
    theta, false = np.array([-1.0, -1.0, 0.5]), forged(shopper, [5.0, 5.0, 5.0])
    listed = posed(forward.FiniteChoice(), [np.eye(3)] * 2, [0, 0], "l2")
    rays = RayProof(np.empty(0, dtype=np.int32), (), np.array([theta]), np.ones(1))
    assert certify_predictions(shopper, theta, 1e-6).verified
    for certificate in (
        certify_predictions(false, theta, 1e-6),
        certify_cost(false, theta, None, 1e-6),
        certify_ellipsoid(false, EllipsoidalCost(theta / 2, np.eye(3)), None, 1e-6),
        certify_rays(false, theta, rays, 1e-6),
        certify_predictions(forged(listed, [1.0, 1e-300, 0.0]), -np.eye(3)[0], 1e-6),
    ):
        assert not certificate.verified and "the response of observation 0 is no decision" in certificate.claim
        assert certificate.upper_bound == np.inf and certificate.lower_bound == -np.inf


def test_a_programme_s_response_is_not_believed_to_be_a_decision() -> None:
    problem = posed(forward.LinearProgram(upper=1.0), [(np.ones((1, 2)), np.ones(1))], [[1.0, 0.0]])
    outcome = ConstraintGeneration().solve(problem, SolveOptions())
    certificate = certify_cost(forged(problem, [5.0, 5.0]), outcome.primal, outcome.dual, 1e-6)
    assert not certificate.verified and "the response of observation 0 is no decision" in certificate.claim


def test_a_set_of_the_caller_s_own_is_believed(shopper: InverseProblem) -> None:
    """There is nothing else to know it by."""
    example = shopper.examples[0]
    own = replace(example, instance=replace(example.instance, decisions=OpaqueSet(3, lambda theta: theta)))
    assert is_decision(own) and not is_decision(replace(own, inside=False))


@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1.0, 1e6])
@pytest.mark.parametrize("over", [0.0, 0.9e-6, 1.2e-6, 0.1])
def test_responses_are_decisions_to_a_millionth_of_their_own_row(unit: float, over: float) -> None:
    """Whatever the row is measured in, but for what certificates allow to all decisions."""
    program, signal = forward.LinearProgram(upper=3.0), (unit * np.ones((1, 2)), unit * np.ones(1))
    example = program.example(0, signal, [1.0 + over, 0.0])
    missed = unit * over
    certain = missed <= 0.99 * ROUNDED * unit + 0.49 * SLACK * max(1.0, unit)
    hopeless = missed > 1.01 * (ROUNDED * unit * (1 + over) + SLACK * max(1.0, unit))
    assert certain or hopeless or unit == 1e-9 or over == 1.2e-6
    if certain or hopeless:
        assert example.inside == certain and is_decision(example) == certain
    assert is_decision(example) or not example.inside


def test_bounds_are_met_to_a_millionth_of_the_response() -> None:
    program, signal = forward.LinearProgram(upper=1e-6), (np.ones((1, 2)), np.array([5.0]))
    assert not program.example(0, signal, [1.9e-6, 1e-6]).inside
    assert not is_decision(replace(program.example(0, signal, [1.9e-6, 1e-6]), inside=True))
    wide = forward.LinearProgram(upper=1.0)
    assert wide.example(0, signal, [1.0 + 9e-7, 1.0]).inside and is_decision(wide.example(0, signal, [1.0 + 9e-7, 1.0]))
    with pytest.raises(InvalidObservationError, match="the response is no decision"):
        inverse.InverseOptimizer(program, approach="feasibility", distance="none").fit([signal], [[1.9e-6, 1e-6]])


def test_ellipsoids_are_met_to_a_millionth_of_their_terms() -> None:
    program = forward.EllipsoidProgram()
    for unit in (1e-6, 1.0, 1e6):
        signal = (unit * np.eye(2), np.zeros(2), -unit)
        for x, wanted in ((1.0, True), (1.0 + 4e-7, True), (1.0 + 2e-6, False), (1.2, False)):
            example = program.example(0, signal, [x, 0.0])
            assert example.inside == wanted and is_decision(replace(example, inside=True)) == wanted


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.ZeroCostWarning")
def test_claims_say_how_closely_decisions_meet_what_occurs() -> None:
    def claim(program: Any, signal: Any, response: Any, **params: Any) -> str:
        model = inverse.InverseOptimizer(program, kappa=0.1, **params).fit([signal], [response])
        assert model.certificate_.verified
        return model.certificate_.claim

    whole = "rows of whole unknowns alone to within 1e-12 times their largest entry"
    mixed = "rows with continuous unknowns to within 2e-09 times their largest entry, or 2e-09 where no entry reaches 1"
    bounds, numbers = "bounds of continuous unknowns to within 2e-09", "bounds of whole unknowns exactly, in whole numbers"
    row, side = np.ones((1, 2)), np.ones(1)
    of_binary = claim(forward.BinaryProgram(), (row, side), [1.0, 0.0])
    assert f", decisions being the responses and all that meets {whole}, and {numbers}; this one" in of_binary
    of_linear = claim(forward.LinearProgram(upper=1.0), (row, side), [1.0, 0.0], distance="linf")
    assert f", decisions being the responses and all that meets {mixed}, and {bounds}; this one" in of_linear
    of_mixed = claim(forward.MixedIntegerProgram(), (np.ones((1, 1)), row, side), [0.0, 1.0, 0.0])
    assert f"all that meets {mixed}, and {bounds}, and {numbers}; this one" in of_mixed
    assert "meets" not in claim(forward.FiniteChoice(), np.eye(2), 0)
    ellipsoid = claim(forward.EllipsoidProgram(), (np.eye(2), np.zeros(2), -1.0), [0.6, 0.8], distance="none")
    assert "all that meets ellipsoids to within 1e-12 times the largest of 1, |c| and the entries of |A|; this one" in ellipsoid


def test_whole_corners_that_are_only_said_to_be_whole_are_no_whole_decisions() -> None:
    problem = posed(forward.LinearProgram(upper=1.0), [(np.ones((1, 2)), np.ones(1))], [[1.0, 0.0]])
    example = problem.examples[0]
    decisions: Any = replace(example.instance.decisions, integral=True)
    said = replace(problem, examples=(replace(example, instance=replace(example.instance, decisions=decisions)),))
    assert "whole" not in certify_cost(said, np.array([-1.0, 0.0]), None, 1e-6).claim


def test_nothing_is_verified_of_no_observations_and_of_no_decisions(shopper: InverseProblem) -> None:
    theta, none = np.array([-1.0, -1.0, 0.5]), copy(shopper)
    object.__setattr__(none, "examples", ())  # as files are read, without the checks of the class
    rays = RayProof(np.empty(0, dtype=np.int32), (), np.array([theta]), np.ones(1))
    for judged in (
        lambda: certify_predictions(none, theta, 1e-6),
        lambda: certify_cost(none, theta, None, 1e-6),
        lambda: certify_ellipsoid(none, EllipsoidalCost(theta, np.eye(3)), None, 1e-6),
        lambda: certify_rays(none, theta, rays, 1e-6),
    ):
        with pytest.raises(CertificateError, match="there are no observations"):
            judged()
    empty = []
    for example in shopper.examples:
        decisions: Any = replace(example.instance.decisions, high=-np.ones(1))
        empty.append(replace(example, instance=replace(example.instance, decisions=decisions), inside=False))
    for distance in ("none", "l2"):
        for clamp in (True, False):
            shut = replace(shopper, examples=tuple(empty), clamp=clamp, distance=Distance.of(distance))
            assert not certify_predictions(shut, theta, 1e-6).verified
            assert not certify_cost(shut, np.zeros(3), None, 1e-6).verified
            assert not certify_ellipsoid(shut, EllipsoidalCost(theta / 2, np.eye(3)), None, 1e-6).verified


def test_an_error_names_the_distances_of_unknowns_that_exist() -> None:
    model = inverse.InverseOptimizer(forward.BinaryProgram(), approach="incenter", prior=([-1, -1], [1e-3, 1e-3]))
    with pytest.raises(InconsistentDataError, match=r"by its distance \('l2'\); the mean loss"):
        model.fit([(np.ones((1, 2)), np.ones(1))], [[1.0, 0.0]])
