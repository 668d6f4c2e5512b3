"""What is claimed of a learned cost is true as printed: distances, units, ties, and what was tampered with."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InconsistentDataError
from surefoot.inverse import InverseOptimizer, forward
from surefoot.inverse.certificate.certificate import certify_cost
from surefoot.inverse.certificate.observation import are_decisions
from surefoot.inverse.exact.constraint_generation import ConstraintGeneration
from surefoot.inverse.exact.sphere_facets import LeastSuboptimality
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.approaches import APPROACHES
from surefoot.inverse.problem.cost_proof import FacetProof
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import InverseProblem, Regularizer


def choices(seed: int, n: int, *, scale: float = 1.0, p: int = 3, noise: float = 0.0) -> tuple[list[Any], list[int]]:
    random = np.random.default_rng(seed)
    theta = np.abs(random.normal(size=p)) + 0.1
    signals = [scale * random.normal(size=(5, p)) for _ in range(n)]
    return signals, [int(np.argmin(s @ theta + scale * noise * random.normal(size=5))) for s in signals]


def posed(signals: Any, responses: Any, *, kappa: float = 0.0, prior: Any = None, kind: Any = "l2") -> InverseProblem:
    problem = forward.FiniteChoice()
    examples = tuple(problem.example(i, s, x) for i, (s, x) in enumerate(zip(signals, responses, strict=True)))
    p = signals[0].shape[1]
    return InverseProblem(examples, Distance.of("l2"), Regularizer(kind, np.zeros(p)), kappa, PriorSet.of(prior, p))


def least_loss(signals: Any, responses: Any, *, nonnegative: bool = False) -> float:
    """min of the mean loss with Euclidean distances, by another program."""
    theta, losses, rules = cp.Variable(signals[0].shape[1], nonneg=nonnegative), [], []
    for signal, at in zip(signals, responses, strict=True):
        losses.append(cp.max((signal[at] - signal) @ theta + np.linalg.norm(signal - signal[at], axis=1)))
    return float(cp.Problem(cp.Minimize(sum(losses) / len(losses)), rules).solve(solver=cp.CLARABEL))


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.ZeroCostWarning")
@pytest.mark.parametrize("options", [{}, {"approach": "incenter"}, {"distance": "none"}, {"approach": "suboptimality"}])
def test_an_observation_with_one_decision_is_explained_by_every_cost(options: dict[str, Any]) -> None:
    model = InverseOptimizer(forward.FiniteChoice(), **options).fit([np.array([[1.0, 2.0]])], [0])
    assert model.certificate_.verified
    assert model.certificate_.upper_bound <= 1e-290
    only = np.array([[1.0, 0.0], [0.0, 1.0]]), np.zeros(2)
    assert InverseOptimizer(forward.BinaryProgram(), **options).fit([only], [[0, 0]]).certificate_.verified


@pytest.mark.parametrize("distance", ["l2", "none"])
def test_a_centre_that_explains_the_data_is_the_answer(distance: str) -> None:
    signal = np.array([[1.0, 2.0], [20.0, 30.0]])
    model = InverseOptimizer(forward.FiniteChoice(), approach="incenter", center=[1.0, 1.0], distance=distance).fit(
        [signal], [0]
    )
    np.testing.assert_array_equal(model.cost_, [1.0, 1.0])
    assert model.certificate_.verified


@pytest.mark.parametrize("distance", ["l1", "l2", "linf"])
@pytest.mark.parametrize("turned", [False, True])
def test_angles_are_claimed_only_where_distances_are_lengths_of_slopes(distance: str, turned: bool) -> None:
    signals, responses = choices(3, 12)
    mix = np.array([[1.0, 0.5, 0.0], [0.0, 2.0, 0.0], [0.3, 0.0, 0.7]])
    features = (lambda _s, x: mix @ x) if turned else None
    model = InverseOptimizer(forward.FiniteChoice(), approach="incenter", distance=distance, features=features)
    claim = model.fit(signals, responses).certificate_.claim
    assert model.certificate_.verified
    assert ("sine of its angle" in claim) == (distance == "l2" and not turned)
    assert f"'{distance}'" in claim
    if "sine of its angle" in claim:
        low, high = (float(word.rstrip(".,")) for word in claim.split("sine")[1].split() if word.startswith("0."))
        rows = np.vstack([s[k] - np.delete(s, k, axis=0) for s, k in zip(signals, responses, strict=True)])
        sine = np.min(-rows @ model.cost_ / np.linalg.norm(rows, axis=1)) / np.linalg.norm(model.cost_)
        assert low <= sine <= high


@pytest.mark.parametrize("prior", [None, "nonnegative"])
def test_choices_in_euros_are_learned_without_a_box(prior: Any) -> None:
    random = np.random.default_rng(0)
    theta = np.array([1.0, 3000.0, 50000.0])
    spans = ((5e3, 6e4), (0.0, 10.0), (0.0, 1.0))
    signals = [np.column_stack([random.uniform(*span, 6) for span in spans]) for _ in range(60)]
    responses = [int(np.argmin(signal @ theta)) for signal in signals]
    model = InverseOptimizer(forward.FiniteChoice(), prior=prior).fit(signals, responses)
    assert model.certificate_.verified and model.certificate_.lower_bound == 0.0
    found = model.predict(signals)
    assert all(np.array_equal(x, s[k]) for x, s, k in zip(found, signals, responses, strict=True))


@pytest.mark.parametrize("scale", [1e-7, 1.0, 1e6])
@pytest.mark.parametrize("prior", [None, "nonnegative"])
def test_noisy_choices_have_a_proven_optimum_over_all_cost_vectors(scale: float, prior: Any) -> None:
    signals, responses = choices(5, 25, scale=scale, noise=1.0)
    model = InverseOptimizer(forward.FiniteChoice(), prior=prior).fit(signals, responses)
    verdict = model.certificate_
    wanted = scale * least_loss([s / scale for s in signals], responses, nonnegative=prior is not None)
    assert verdict.verified
    assert verdict.lower_bound <= wanted * (1 + 1e-7) and verdict.upper_bound >= wanted * (1 - 1e-7)


@pytest.mark.parametrize("approach", ["incenter", "feasibility", "circumcenter"])
@pytest.mark.parametrize("scale", [1e-7, 1.0, 1e4])
def test_data_are_called_inconsistent_only_if_they_are(approach: str, scale: float) -> None:
    refused = 0
    for seed in range(12):
        signals, responses = choices(seed, 3, scale=scale, p=2, noise=1.0)
        theta, room = cp.Variable(2), cp.Variable()
        rows = np.vstack([s[k] - s for s, k in zip(signals, responses, strict=True)]) / scale
        rules = [rows[np.any(rows != 0, axis=1)] @ theta + room <= 0, cp.norm_inf(theta) <= 1, room <= 1]
        widest = float(cp.Problem(cp.Maximize(room), rules).solve(solver=cp.CLARABEL))
        model = InverseOptimizer(forward.FiniteChoice(), approach=approach)
        if widest > 1e-6:
            assert model.fit(signals, responses).certificate_.verified
        else:
            refused += 1
            with pytest.raises(InconsistentDataError, match="no cost vector"):
                model.fit(signals, responses)
    assert 0 < refused < 12


def test_decisions_that_look_alike_are_said_to_leave_no_distance_and_nothing_more() -> None:
    signal = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    model = InverseOptimizer(forward.FiniteChoice(), approach="incenter", features=lambda _s, x: x[:1], distance="l2")
    with pytest.raises(InconsistentDataError, match="by the distance asked for") as caught:
        model.fit([signal], [0])
    assert caught.value.certificate.lower_bound > 0
    # Without distances the same choice is explained.
    assert model.set_params(approach="feasibility").fit([signal], [0]).certificate_.verified
    # So it is with distances between features, of which Definition 3.3 speaks.
    assert model.set_params(approach="incenter", distance="auto").fit([signal], [0]).certificate_.verified


def test_empty_priors_are_named() -> None:
    signal = np.array([[1.0, 2.0], [2.0, 1.0]])
    for prior in ({"A": [[1.0, 0.0], [-1.0, 0.0]], "b": [-1.0, 0.0]}, {"A": [[1.0, 1.0]], "b": [-1.0], "bounds": (0.0, 1.0)}):
        with pytest.raises(ValueError, match="the set is empty"):
            InverseOptimizer(forward.FiniteChoice(), prior=prior).fit([signal], [0])


def test_a_failed_refit_leaves_the_estimator_as_it_was() -> None:
    signals, responses = choices(1, 6)
    model = InverseOptimizer(forward.FiniteChoice(), approach="feasibility").fit(signals, responses)
    cost, certificate, outcome = model.cost_, model.certificate_, model.outcome_
    with pytest.raises(InconsistentDataError):
        model.fit([np.array([[0.0], [1.0], [-1.0]])], [0])
    assert model.cost_ is cost and model.certificate_ is certificate and model.outcome_ is outcome


def test_costs_that_miss_their_conditions_by_more_than_rounding_are_refused() -> None:
    signals, responses = choices(2, 10)
    problem = APPROACHES["incenter"].pose(posed(signals, responses, prior="nonnegative"))
    outcome = ConstraintGeneration().solve(problem, SolveOptions())
    assert certify_cost(problem, outcome.primal, outcome.dual, 1e-6).verified
    shorter = certify_cost(problem, outcome.primal * (1 - 1e-5), outcome.dual, 1e-6)
    assert not shorter.verified and "nothing shows that the cost vector explains" in shorter.claim
    outside = certify_cost(problem, outcome.primal - 1e-5 - outcome.primal.min(), outcome.dual, 1e-6)
    assert not outside.verified and "outside its prior set" in outside.claim
    simplex = posed(signals, responses, prior="simplex")
    found = ConstraintGeneration().solve(simplex, SolveOptions())
    assert certify_cost(simplex, found.primal, found.dual, 1e-6).verified
    assert "outside its prior set by 1e-05" in certify_cost(simplex, found.primal * (1 + 1e-5), found.dual, 1e-6).claim
    assert "outside its prior set by at most 5" in certify_cost(simplex, found.primal * (1 + 5e-8), found.dual, 1e-2).claim


def test_the_upper_bound_is_that_of_the_cost_itself_and_not_of_a_member_nearby() -> None:
    signals, responses = choices(3, 8, noise=0.5)
    problem = posed(signals, responses, kappa=50.0, prior="simplex")
    found = ConstraintGeneration().solve(problem, SolveOptions())
    theta = found.primal * (1 + 5e-8)
    exact = 25 * sum(Fraction(each) ** 2 for each in theta.tolist())
    for signal, at in zip(signals, responses, strict=True):
        gains = [
            sum(Fraction(t) * (Fraction(a) - Fraction(b)) for t, a, b in zip(theta.tolist(), signal[at], row, strict=True))
            + Fraction(float(np.linalg.norm(row - signal[at]))) * (1 - Fraction(1, 10**15))
            for row in signal
        ]
        exact += max(gains) / len(signals)
    certificate = certify_cost(problem, theta, found.dual, 1e-6)
    assert np.isfinite(certificate.upper_bound)
    assert Fraction(certificate.upper_bound) >= exact


def test_points_that_violate_a_row_by_more_than_is_said_are_no_decisions() -> None:
    decisions = forward.LinearProgram(upper=1.0).decisions((np.array([[1.0, 1.0]]), np.array([1.0])))
    points = np.array([[0.5, 0.5], [0.5, 0.5 + 1e-9], [0.5, 0.5 + 1e-6], [1.0 + 1e-6, 0.0], [-1e-6, 0.0]])
    assert are_decisions(decisions, points).tolist() == [True, True, False, False, False]
    whole = forward.BinaryProgram().decisions((np.array([[1.0, 1.0]]), np.array([1.0])))
    assert are_decisions(whole, np.array([[1.0, 0.0], [1.0 - 1e-9, 0.0], [1.0, 1.0]])).tolist() == [True, False, False]


def test_a_proof_that_leaves_out_a_facet_or_names_another_is_refused() -> None:
    signals, responses = choices(4, 10, noise=1.5)
    problem = APPROACHES["suboptimality"].pose(posed(signals, responses))
    separation = Separation()
    outcome = LeastSuboptimality(separation).solve(problem, SolveOptions())
    assert certify_cost(problem, outcome.primal, outcome.dual, 1e-6).verified
    proof = outcome.dual
    for fewer in (
        FacetProof(proof.facets[1:], proof.proofs[1:]),
        FacetProof((), ()),
        FacetProof((replace(proof.facets[0], lower=proof.facets[0].upper),), proof.proofs[:1]),
        FacetProof(proof.facets, proof.proofs[1:]),
    ):
        verdict = certify_cost(problem, outcome.primal, fewer, 1e-6)
        assert not verdict.verified
        assert verdict.lower_bound <= outcome.upper_bound


def test_a_cost_that_is_huge_where_decisions_do_not_differ_gains_nothing() -> None:
    """The scale that gaps are put in relation to is that of the data, not of the cost."""
    signals, responses = choices(6, 15, noise=1.0)
    flat = [np.column_stack((s, np.ones(len(s)))) for s in signals]
    problem = posed(flat, responses)
    outcome = ConstraintGeneration().solve(problem, SolveOptions())
    bad = np.array([0.1, 0.1, 0.1, 1e12])
    assert not certify_cost(problem, bad, outcome.dual, 1e-6).verified


@pytest.mark.parametrize("kappa", [0.0, 1e-7, 0.05])
@pytest.mark.parametrize("kind", ["l1", "l2"])
def test_lower_bounds_of_random_weights_hold_in_rational_arithmetic(kind: Any, kappa: float) -> None:
    signals, responses = choices(7, 6, noise=1.0)
    problem = posed(signals, responses, kappa=kappa, kind=kind)
    solver = ConstraintGeneration()
    outcome = solver.solve(problem, SolveOptions())
    assert certify_cost(problem, outcome.primal, outcome.dual, 1e-6).verified
    random = np.random.default_rng(8)
    for _ in range(10):
        weights = outcome.dual.weights * random.uniform(0.5, 2.0, outcome.dual.weights.size)
        verdict = certify_cost(problem, outcome.primal, replace(outcome.dual, weights=weights), 1e-6)
        theta = outcome.primal + 0.1 * random.normal(size=3)
        exact = [Fraction(float(a)) for a in theta]
        away = sum(abs(a) if kind == "l1" else a * a / 2 for a in exact)
        total = Fraction(kappa) * away
        for signal, at in zip(signals, responses, strict=True):
            gains = [
                sum((Fraction(float(b)) - Fraction(float(a))) * c for a, b, c in zip(row, signal[at], exact, strict=True))
                + Fraction(float(np.linalg.norm(row - signal[at])))
                for row in signal
            ]
            total += max(gains) / len(signals)
        assert Fraction(verdict.lower_bound) <= total + Fraction(1, 10**12)


def test_responses_that_are_no_decisions_are_named() -> None:
    """x1 + x2 >= 1, and the response (0.4, 0.5) misses it by 0.1: a claim about decisions that meet rows is not about it."""
    signals = [(-np.ones((1, 2)), np.array([-1.0]))] * 2
    model = InverseOptimizer(forward.LinearProgram(upper=2.0), infeasible="clamp", kappa=0.1, distance="l1")
    claim = model.fit(signals, [[0.4, 0.5], [1.0, 0.0]]).certificate_.claim
    assert "1 of the responses are no decisions, and negative losses count as 0" in claim
    assert "whose decisions meet" not in claim
    # Continuous unknowns only, of which there is one distance.
    assert "with the distance 'linf'" in claim and "whole unknowns" not in claim
    inside = model.fit(signals, [[0.5, 0.5], [1.0, 0.0]]).certificate_.claim
    assert "no decisions" not in inside and "negative" not in inside


def test_distances_of_both_kinds_of_unknowns_are_named_where_there_are_both() -> None:
    signals = [(-np.ones((1, 1)), -np.ones((1, 1)), np.array([-1.0]))]
    response = (np.array([0.0]), np.array([1.0]))
    claim = InverseOptimizer(forward.MixedIntegerProgram(), kappa=0.1).fit(signals, [response]).certificate_.claim
    assert "the distances 'linf' of continuous and 'l2' of whole unknowns" in claim


def test_what_is_predicted_is_said_in_a_sentence_of_its_own() -> None:
    signals, responses = choices(0, 3)
    claim = InverseOptimizer(forward.FiniteChoice(), approach="predictability").fit(signals, responses).certificate_.claim
    assert "No cost vector has a mean distance between observed and predicted decisions below 0 on these 3" in claim
    assert ". Predicted are all decisions that cost at most 1e-07 more than the cheapest one" in claim


def test_costs_that_explain_without_a_distance_are_said_to_price_no_decision_lower() -> None:
    signals, responses = choices(0, 3)
    claim = InverseOptimizer(forward.FiniteChoice(), approach="cutting-plane").fit(signals, responses).certificate_.claim
    assert "No cost vector of the prior set that prices no decision below the observed one has a distance from" in claim
