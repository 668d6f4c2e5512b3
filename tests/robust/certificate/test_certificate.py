from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problem_bank import WHOLE_BANK, draw_problem
from reference import worst_case as reference
from reference.enumerated_model import ReferenceSolution, solve_enumerated
from reference.random_points import random_model, random_plan

from surefoot.core.certificate import Certificate
from surefoot.exceptions import CertificateError
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.certificate.lower_bound import coefficient_limits
from surefoot.robust.polished_plan import polished_plan
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem, ShiftPlan

TOLERANCE = 1e-5
# What the reference solver's own optimum may be off by.
SLACK = 1e-7


@cache
def solved(name: str) -> tuple[RobustLogisticProblem, ReferenceSolution]:
    problem = WHOLE_BANK[name]()
    best = solve_enumerated(problem)
    return problem, replace(best, plan=polished_plan(problem, best.plan))


def assert_true(certificate: Certificate, optimum: float) -> None:
    """Whatever the certificate says about a problem with this optimum holds."""
    assert 0.0 <= certificate.lower_bound <= optimum + SLACK
    assert certificate.upper_bound >= optimum - SLACK
    if certificate.verified:
        assert certificate.upper_bound - optimum <= certificate.tolerance * certificate.upper_bound + SLACK


@pytest.mark.parametrize("name", WHOLE_BANK)
def test_optimal_model_and_plan_close_the_gap(name):
    problem, best = solved(name)
    certificate = certify_robust_logistic(problem, best.coefficients, best.plan, TOLERANCE)
    assert_true(certificate, best.optimum)
    assert certificate.verified
    assert certificate.relative_gap <= TOLERANCE
    assert certificate.upper_bound == pytest.approx(best.optimum, abs=SLACK)
    assert certificate.witness is best.plan
    assert certificate.problem_digest == certify_robust_logistic(problem, best.coefficients, None, TOLERANCE).problem_digest
    assert certificate.claim.startswith("No linear logistic model with these columns")
    assert pickle.loads(pickle.dumps(certificate)).to_dict()["upper_bound"] == certificate.upper_bound


# How well the reference solver does depends on the problem: the same forty each time.
@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 2),
    st.lists(st.integers(1, 3), min_size=1, max_size=2).map(tuple),
    st.sampled_from([0.01, 0.2]),
    st.sampled_from([np.inf, 0.6]),
)
def test_certificates_of_random_problems_are_true_and_close_at_the_optimum(seed, numeric, levels, radius, label_weight):
    problem = draw_problem(seed, rows=7, numeric=numeric, levels=levels, radius=radius, label_weight=label_weight)
    best = solve_enumerated(problem)
    certificate = certify_robust_logistic(problem, best.coefficients, best.plan, TOLERANCE)
    assert_true(certificate, best.optimum)
    assert certificate.gap < 1e-4
    draw = np.random.default_rng(seed)
    for model, plan in (
        (random_model(problem, draw), best.plan),
        (best.coefficients, random_plan(problem, draw)),
        (random_model(problem, draw), random_plan(problem, draw)),
    ):
        assert_true(certify_robust_logistic(problem, model, plan, TOLERANCE), best.optimum)


def test_bank_has_an_optimum_with_every_kind_of_shift():
    problem, best = solved("mixed_with_label_price")
    plan = best.plan
    assert plan.mass[plan.moved.any(axis=1)].sum() > 0.01
    assert plan.mass[plan.flipped].sum() > 0.01
    assert np.abs(best.coefficients.numeric / problem.cost.numeric_weights).max() == pytest.approx(
        best.coefficients.price, rel=1e-4
    )


@pytest.mark.parametrize("name", WHOLE_BANK)
def test_upper_bound_is_the_objective_found_by_enumeration(name):
    problem, best = solved(name)
    model = random_model(problem, np.random.default_rng(3), 0.5)
    certificate = certify_robust_logistic(problem, model, best.plan, TOLERANCE)
    assert certificate.upper_bound == pytest.approx(reference.objective(problem, model), rel=1e-9)
    assert certificate.gap == np.nextafter(certificate.upper_bound - certificate.lower_bound, np.inf)
    assert certificate.relative_gap == np.nextafter(certificate.gap / certificate.upper_bound, np.inf)
    assert_true(certificate, best.optimum)


@pytest.mark.parametrize("name", WHOLE_BANK)
def test_without_a_plan_the_lower_bound_is_zero(name):
    problem, best = solved(name)
    certificate = certify_robust_logistic(problem, best.coefficients, None, TOLERANCE)
    assert certificate.lower_bound == 0.0
    assert certificate.witness is None
    assert not certificate.verified
    assert "no plan" in certificate.claim


@pytest.mark.parametrize("name", ["mixed", "categorical_only", "mixed_with_label_price"])
def test_a_good_plan_bounds_the_optimum_whatever_the_model(name):
    problem, best = solved(name)
    zero = RobustCoefficients(0.0, np.zeros(problem.n_numeric), np.zeros(int(problem.level_offsets[-1])), 0.0)
    certificate = certify_robust_logistic(problem, zero, best.plan, TOLERANCE)
    assert certificate.upper_bound == pytest.approx(np.log(2.0))
    assert certificate.lower_bound == pytest.approx(best.optimum, rel=1e-4)
    assert not certificate.verified


TAMPERED = [
    "mixed",
    "mixed_with_label_price",
    "unequal_weights",
    "infinite_weights",
    "plain_logistic",
    "mixed_l2",
    "mixed_linf",
    "infinite_weight_l2",
    "sparse_mixed_with_label_price",
    "sparse_mixed_linf",
]


# What somebody may have changed between the solver and the certificate, from crude to subtle.
MODEL_TAMPERS: dict[str, Callable[[RobustCoefficients], RobustCoefficients]] = {
    "intercept": lambda model: replace(model, intercept=model.intercept + 0.1),
    "numeric": lambda model: replace(model, numeric=model.numeric + 0.3),
    "levels": lambda model: replace(model, levels=np.where(model.levels != 0, model.levels - 0.5, 0.0)),
    "signs": lambda model: replace(model, numeric=-model.numeric, levels=-model.levels),
    "price up": lambda model: replace(model, price=model.price + 0.5),
}
PLAN_TAMPERS: dict[str, Callable[[ShiftPlan], ShiftPlan]] = {
    "slopes up": lambda plan: replace(plan, slope=np.minimum(plan.slope + 0.01, 1.0)),
    "slopes at one half": lambda plan: replace(plan, slope=np.full(plan.slope.size, 0.5)),
    "moves undone": lambda plan: replace(plan, moved=np.zeros_like(plan.moved)),
    "moves inverted": lambda plan: replace(plan, moved=~plan.moved),
    "mixes exchanged": lambda plan: replace(plan, lowest=plan.highest, highest=plan.lowest),
    "masses doubled": lambda plan: replace(plan, mass=2 * plan.mass),
    "masses exchanged": lambda plan: replace(plan, mass=plan.mass[::-1].copy()),
    "rows rolled": lambda plan: replace(plan, row=np.roll(plan.row, 1)),
}


@pytest.mark.parametrize("tamper", MODEL_TAMPERS)
@pytest.mark.parametrize("name", TAMPERED)
def test_tampered_models_are_not_verified(name, tamper):
    problem, best = solved(name)
    model = MODEL_TAMPERS[tamper](best.coefficients)
    certificate = certify_robust_logistic(problem, model, best.plan, TOLERANCE)
    assert_true(certificate, best.optimum)
    # With radius 0 the price is free: any price belongs to the same optimal model.
    assert certificate.verified == (tamper == "price up" and problem.radius == 0)


@pytest.mark.parametrize("tamper", PLAN_TAMPERS)
@pytest.mark.parametrize("name", WHOLE_BANK)
def test_tampered_plans_never_prove_anything_false(name, tamper):
    problem, best = solved(name)
    certificate = certify_robust_logistic(problem, best.coefficients, PLAN_TAMPERS[tamper](best.plan), TOLERANCE)
    assert_true(certificate, best.optimum)


@pytest.mark.parametrize("tamper", ["moves undone", "moves inverted", "mixes exchanged", "masses doubled", "rows rolled"])
@pytest.mark.parametrize("name", ["categorical_only", "mixed_with_label_price"])
def test_plans_that_send_mass_elsewhere_are_not_verified(name, tamper):
    problem, best = solved(name)
    certificate = certify_robust_logistic(problem, best.coefficients, PLAN_TAMPERS[tamper](best.plan), TOLERANCE)
    assert not certificate.verified


def _other_labels(problem: RobustLogisticProblem) -> RobustLogisticProblem:
    labels = problem.labels.copy()
    labels[[0, 5]] *= -1
    return replace(problem, labels=labels)


def _other_weights(problem: RobustLogisticProblem) -> RobustLogisticProblem:
    weights = problem.weights.copy()
    weights[0] += 0.5 * weights[1]
    weights[1] *= 0.5
    return replace(problem, weights=weights)


DATA_TAMPERS: dict[str, Callable[[RobustLogisticProblem], RobustLogisticProblem]] = {
    "labels": _other_labels,
    "weights": _other_weights,
    "numeric": lambda problem: replace(problem, numeric=problem.numeric[::-1]),
    "codes": lambda problem: replace(problem, codes=problem.codes[::-1]),
    "radius": lambda problem: replace(problem, radius=problem.radius * 1.1),
    "cost": lambda problem: replace(
        problem, cost=replace(problem.cost, categorical_weights=problem.cost.categorical_weights * 0.9)
    ),
}


@pytest.mark.parametrize("tamper", DATA_TAMPERS)
@pytest.mark.parametrize("name", ["mixed", "mixed_with_label_price"])
def test_model_and_plan_of_other_data_are_not_verified(name, tamper):
    problem, best = solved(name)
    other = DATA_TAMPERS[tamper](problem)
    certificate = certify_robust_logistic(other, best.coefficients, best.plan, TOLERANCE)
    assert_true(certificate, solve_enumerated(other).optimum)
    assert not certificate.verified
    own = certify_robust_logistic(problem, best.coefficients, best.plan, TOLERANCE)
    assert certificate.problem_digest != own.problem_digest
    assert certificate.model_digest == own.model_digest


def test_price_tampered_downward_is_judged_at_the_smallest_admissible_price():
    problem, best = solved("mixed")
    certificate = certify_robust_logistic(problem, replace(best.coefficients, price=0.0), best.plan, TOLERANCE)
    needed = float((np.abs(best.coefficients.numeric) / problem.cost.numeric_weights).max())
    expected = reference.objective(problem, replace(best.coefficients, price=needed * (1 + 1e-15)))
    assert certificate.upper_bound == pytest.approx(expected, rel=1e-12)
    assert_true(certificate, best.optimum)


NO_MODELS: dict[str, Callable[[RobustCoefficients], RobustCoefficients]] = {
    "negative price": lambda model: replace(model, price=-1e-12),
    "price not a number": lambda model: replace(model, price=np.nan),
    "infinite price": lambda model: replace(model, price=np.inf),
    "coefficient not a number": lambda model: replace(model, numeric=np.array([np.nan, 0.0])),
    "infinite coefficient": lambda model: replace(model, levels=np.array([0.0, np.inf, 0.0, 0.0, 0.0])),
    "reference level": lambda model: replace(model, levels=np.array([1e-9, 0.0, 0.0, 0.0, 0.0])),
    "intercept": lambda model: replace(model, intercept=1e-9),
}


@pytest.mark.parametrize("what", NO_MODELS)
def test_numbers_that_are_no_model_of_the_problem_are_refused(what):
    problem, best = solved("no_intercept")
    certificate = certify_robust_logistic(problem, NO_MODELS[what](best.coefficients), best.plan, 1e9)
    assert not certificate.verified
    assert certificate.upper_bound == np.inf
    assert certificate.lower_bound == 0.0
    assert certificate.relative_gap == np.inf


def test_models_too_large_for_double_precision_are_not_verified():
    problem, best = solved("mixed")
    for size in (1e150, 1e200, 1e308):
        model = random_model(problem, np.random.default_rng(1), size=1.0)
        model = replace(model, numeric=model.numeric / 2 * size, levels=model.levels / 4 * size, price=size)
        certificate = certify_robust_logistic(problem, model, best.plan, TOLERANCE)
        assert not certificate.verified
        assert_true(certificate, best.optimum)


def test_claim_says_why_a_plan_was_refused():
    problem, best = solved("mixed")
    certificate = certify_robust_logistic(problem, best.coefficients, replace(best.plan, mass=2 * best.plan.mass), TOLERANCE)
    assert "refused" in certificate.claim
    assert "weight" in certificate.claim
    assert certificate.witness is None
    assert certificate.lower_bound == 0.0


@pytest.mark.parametrize("size", [0.01, 3.0])
def test_residuals_are_paid_with_bounds_that_hold_for_every_better_model(monkeypatch, size):
    problem, best = solved("mixed")
    model = random_model(problem, np.random.default_rng(2), size)
    ceilings = []

    def remember(*arguments: Any) -> Any:
        ceilings.append(arguments[-1])
        return coefficient_limits(*arguments)

    monkeypatch.setattr("surefoot.robust.certificate.certificate.coefficient_limits", remember)
    certificate = certify_robust_logistic(problem, model, best.plan, TOLERANCE)
    # The zero model, with loss log 2, is always there to be better than.
    assert ceilings == [pytest.approx(min(certificate.upper_bound, np.log(2.0)), rel=1e-9)]
    assert ceilings[0] >= min(certificate.upper_bound, np.log(2.0))


def test_bounds_that_contradict_each_other_are_not_verified(monkeypatch):
    problem, best = solved("mixed")
    too_high = best.optimum * (1 + 1e-6)
    monkeypatch.setattr("surefoot.robust.certificate.lower_bound.weak_duality_bound", lambda setting, sums, limits: too_high)
    certificate = certify_robust_logistic(problem, best.coefficients, best.plan, TOLERANCE)
    assert (certificate.upper_bound, certificate.lower_bound) == (np.inf, -np.inf)
    assert not certificate.verified
    assert "contradict" in certificate.claim


def test_radius_zero_takes_any_price_and_needs_no_moves():
    problem, best = solved("plain_logistic")
    for price in (0.0, 3.0, np.inf):
        certificate = certify_robust_logistic(problem, replace(best.coefficients, price=price), best.plan, 1e-9)
        assert certificate.verified
        assert "worst-case" not in certificate.claim


def test_separable_data_with_radius_zero_are_never_certified_by_large_coefficients():
    labels = np.array([-1.0, -1.0, 1.0, 1.0])
    problem = RobustLogisticProblem(
        numeric=np.array([[-2.0], [-1.0], [1.0], [2.0]]),
        codes=np.zeros((4, 0)),
        n_levels=np.zeros(0),
        labels=labels,
        weights=np.full(4, 0.25),
        cost=GroundCost(np.ones(1), np.zeros(0)),
        radius=0.0,
    )
    for size in (1.0, 10.0, 100.0):
        scores = size * problem.numeric[:, 0]
        plan = ShiftPlan(
            row=np.arange(4),
            moved=np.zeros((4, 0), dtype=bool),
            flipped=np.zeros(4, dtype=bool),
            mass=problem.weights,
            slope=1 / (1 + np.exp(labels * scores)),
            lowest=np.zeros(0),
            highest=np.zeros(0),
        )
        certificate = certify_robust_logistic(problem, RobustCoefficients(0.0, np.array([size]), np.zeros(0), size), plan, 1e-6)
        assert not certificate.verified
        assert certificate.lower_bound == 0.0


def test_problem_without_any_coefficient_is_certified():
    problem = replace(draw_problem(1, rows=3, radius=0.1), fit_intercept=False)
    plan = ShiftPlan(
        np.arange(3), np.zeros((3, 0), bool), np.zeros(3, bool), problem.weights, np.full(3, 0.5), np.zeros(0), np.zeros(0)
    )
    certificate = certify_robust_logistic(problem, RobustCoefficients(0.0, np.zeros(0), np.zeros(0), 0.0), plan, 1e-9)
    assert certificate.verified
    assert certificate.upper_bound == pytest.approx(np.log(2.0))


def test_repeating_a_row_is_the_same_as_weighting_it():
    problem, best = solved("mixed")
    twice = np.repeat(np.arange(problem.n_rows), 2)
    doubled = replace(
        problem,
        numeric=problem.numeric[twice],
        codes=problem.codes[twice],
        labels=problem.labels[twice],
        weights=problem.weights[twice] / 2,
    )
    entries = np.concatenate((2 * best.plan.row, 2 * best.plan.row + 1))
    plan = ShiftPlan(
        row=entries,
        moved=np.tile(best.plan.moved, (2, 1)),
        flipped=np.tile(best.plan.flipped, 2),
        mass=np.tile(best.plan.mass / 2, 2),
        slope=np.tile(best.plan.slope, 2),
        lowest=best.plan.lowest,
        highest=best.plan.highest,
    )
    once = certify_robust_logistic(problem, best.coefficients, best.plan, TOLERANCE)
    again = certify_robust_logistic(doubled, best.coefficients, plan, TOLERANCE)
    assert again.upper_bound == pytest.approx(once.upper_bound, rel=1e-13)
    assert again.lower_bound == pytest.approx(once.lower_bound, rel=1e-9)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("numeric", np.zeros(3)),
        ("levels", np.zeros(4)),
        ("levels", np.zeros((5, 1))),
        ("intercept", np.zeros(1)),
        ("price", np.zeros(2)),
        ("numeric", np.array(["a", "b"])),
    ],
)
def test_coefficients_of_the_wrong_shape_are_an_error(part, value):
    problem, best = solved("mixed")
    with pytest.raises(CertificateError, match=part):
        certify_robust_logistic(problem, replace(best.coefficients, **{part: value}), best.plan, TOLERANCE)


@pytest.mark.parametrize("tolerance", [-1e-9, np.nan, np.inf])
def test_tolerances_that_prove_nothing_are_an_error(tolerance):
    problem, best = solved("mixed")
    with pytest.raises(CertificateError, match="tolerance"):
        certify_robust_logistic(problem, best.coefficients, best.plan, tolerance)


@pytest.mark.parametrize(
    ("part", "at", "value"),
    [
        ("numeric", (2, 1), np.nan),
        ("codes", (2, 1), 2),
        ("codes", (2, 1), -1),
        ("labels", 2, 0.0),
        ("weights", 2, -0.1),
        ("weights", 2, 0.9),
    ],
)
def test_arrays_that_break_the_conventions_are_an_error(part, at, value):
    problem, best = solved("mixed")
    array = getattr(problem, part).copy()
    array[at] = value
    broken = replace(problem)
    object.__setattr__(broken, part, array)
    with pytest.raises(CertificateError):
        certify_robust_logistic(broken, best.coefficients, best.plan, TOLERANCE)


@pytest.mark.parametrize("part", ["labels", "weights"])
def test_columns_in_place_of_vectors_are_an_error(part):
    problem, best = solved("mixed")
    broken = replace(problem)
    object.__setattr__(broken, part, getattr(problem, part)[:, None])
    with pytest.raises(CertificateError, match=part):
        certify_robust_logistic(broken, best.coefficients, best.plan, TOLERANCE)
