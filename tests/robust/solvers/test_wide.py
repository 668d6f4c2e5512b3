from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from problem_bank import NORM_BANK, PROBLEM_BANK, SPARSE_BANK, draw_problem
from sklearn.linear_model import LogisticRegression

from surefoot.core.outcome import Progress, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import SeparableDataError, UnsupportedProblemError
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.conic.monolithic import Monolithic
from surefoot.robust.problem.numeric_norm import NUMERIC_NORMS, coefficient_norm, gradient_norm
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.robust.registry import RobustOutcome
from surefoot.robust.wide.cone_projection import project_onto_polar
from surefoot.robust.wide.wide import Wide

TOLERANCE = 1e-6
BANK = {**PROBLEM_BANK, **NORM_BANK, **SPARSE_BANK}
ACCEPTED = [name for name, make in BANK.items() if Wide().refuses(make()) is None]


def solve(problem: RobustLogisticProblem, **options: object) -> RobustOutcome:
    return Wide().solve(problem, SolveOptions(**options))


def assert_proven(problem: RobustLogisticProblem, outcome: RobustOutcome, tolerance: float = TOLERANCE) -> None:
    assert outcome.status is Status.OPTIMAL
    assert outcome.upper_bound - outcome.lower_bound <= tolerance * outcome.upper_bound
    certificate = certify_robust_logistic(problem, outcome.primal, outcome.dual, tolerance)
    assert certificate.verified, certificate.claim
    # Columns near 1e6 cost the solver's own sums digits that the certificate keeps.
    assert certificate.upper_bound == pytest.approx(outcome.upper_bound, rel=1e-11)
    assert certificate.lower_bound == pytest.approx(outcome.lower_bound, rel=1e-8)


def text_problem(
    seed: int = 0, *, rows: int = 400, columns: int = 3000, norm: str = "l1", label_weight: float = np.inf, share: float = 0.1
) -> RobustLogisticProblem:
    """Words of very unequal frequency; the radius is a share of what would leave nothing but the intercept."""
    draw = np.random.default_rng(seed)
    frequency = 1.0 / np.arange(1, columns + 1)
    words = draw.choice(columns, size=(rows, 20), p=frequency / frequency.sum())
    entries = (draw.exponential(size=words.size), words.ravel(), np.arange(0, words.size + 1, 20))
    numeric = scipy.sparse.csr_array(entries, shape=(rows, columns))
    numeric.sum_duplicates()
    effects = np.where(draw.random(columns) < 0.2, draw.normal(size=columns), 0.0)
    labels = np.where(numeric @ effects + draw.logistic(size=rows) > 0, 1.0, -1.0)
    frame = draw_problem(0, rows=rows, numeric=columns, norm=norm, label_weight=label_weight, density=0.0)
    cost = replace(frame.cost, numeric_weights=np.ones(columns))
    slopes = np.where(labels > 0, np.mean(labels < 0), np.mean(labels > 0))
    critical = gradient_norm((slopes * labels / rows) @ numeric, cost.numeric_weights, norm)
    radius = share * min(critical, 0.5 * label_weight)
    return replace(frame, numeric=numeric, labels=labels, cost=cost, radius=radius)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("density", [None, 0.3])
@pytest.mark.parametrize("label_weight", [np.inf, 0.7])
@pytest.mark.parametrize("norm", NUMERIC_NORMS)
def test_optimum_agrees_with_the_cone_programme(norm, label_weight, density, fit_intercept):
    for rows, columns in ((60, 5), (30, 45)):
        problem = draw_problem(
            3, rows=rows, numeric=columns, norm=norm, label_weight=label_weight, density=density, fit_intercept=fit_intercept
        )
        outcome = solve(problem)
        assert_proven(problem, outcome)
        reference = Monolithic().solve(problem, SolveOptions(tolerance=1e-7))
        assert outcome.upper_bound == pytest.approx(reference.upper_bound, rel=TOLERANCE)


@pytest.mark.parametrize("name", ACCEPTED)
def test_problem_bank_is_solved(name):
    problem = BANK[name]()
    outcome = solve(problem)
    assert_proven(problem, outcome)
    reference = Monolithic().solve(problem, SolveOptions(tolerance=1e-7))
    assert outcome.upper_bound == pytest.approx(reference.upper_bound, rel=2 * TOLERANCE)


def test_problem_bank_holds_problems_for_every_norm_and_both_forms():
    kinds = {(BANK[name]().cost.numeric_norm, BANK[name]().is_sparse) for name in ACCEPTED}
    assert {norm for norm, _ in kinds} == set(NUMERIC_NORMS)
    assert {sparse for _, sparse in kinds} == {True, False}


@pytest.mark.parametrize("label_weight", [np.inf, 1.0])
@pytest.mark.parametrize("norm", NUMERIC_NORMS)
def test_text_with_more_columns_than_rows_is_proven(norm, label_weight):
    problem = text_problem(norm=norm, label_weight=label_weight)
    outcome = solve(problem, tolerance=1e-4)
    assert_proven(problem, outcome, 1e-4)
    assert outcome.upper_bound < np.log(2.0) - 0.01


@pytest.mark.parametrize("spread", [0.0, 2.0])
@pytest.mark.parametrize("label_weight", [np.inf, 1.0])
@pytest.mark.parametrize("radius", [1e-3, 0.2])
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_raw_units_take_few_steps_at_small_and_large_radii(norm, radius, label_weight, spread):
    # Rare words have small columns: in the units of the rows prices differ by orders of magnitude, and nearly all coefficients
    # are at an end of their box, or none.
    base = text_problem(rows=2000, columns=1000, norm=norm, label_weight=label_weight)
    weights = np.exp(spread * np.random.default_rng(5).normal(size=1000))
    problem = replace(base, radius=radius, cost=replace(base.cost, numeric_weights=weights))
    outcome = solve(problem, tolerance=1e-4, max_iter=150)
    assert_proven(problem, outcome, 1e-4)


def test_linf_metric_without_flips_is_l1_regularised_regression():
    problem = text_problem(1, columns=300, norm="linf")
    outcome = solve(problem, tolerance=1e-8)
    strength = 1.0 / (problem.radius * problem.n_rows)
    rival = LogisticRegression(l1_ratio=1.0, C=strength, solver="saga", tol=1e-7, max_iter=20_000)
    rival.fit(problem.numeric.toarray(), problem.labels)
    np.testing.assert_allclose(outcome.primal.numeric, rival.coef_[0], atol=2e-3)
    assert 0 < np.count_nonzero(outcome.primal.numeric) < 150


def test_weights_stand_for_repeated_rows():
    problem = draw_problem(5, rows=40, numeric=4, norm="l2", label_weight=0.9)
    counts = np.random.default_rng(5).integers(0, 4, size=40)
    weighted = replace(problem, weights=counts / counts.sum())
    rows = np.repeat(np.arange(40), counts)
    repeated = replace(
        problem,
        numeric=problem.numeric[rows],
        codes=problem.codes[rows],
        labels=problem.labels[rows],
        weights=np.full(rows.size, 1.0 / rows.size),
    )
    one, other = solve(weighted, tolerance=1e-7), solve(repeated, tolerance=1e-7)
    assert_proven(weighted, one)
    assert_proven(repeated, other)
    assert one.upper_bound == pytest.approx(other.upper_bound, rel=2e-7)


@pytest.mark.parametrize("norm", NUMERIC_NORMS)
def test_columns_of_zeros_get_no_coefficient(norm):
    problem = draw_problem(6, rows=40, numeric=6, norm=norm, density=0.5)
    numeric = problem.numeric.toarray()
    numeric[:, [1, 4]] = 0.0
    problem = replace(problem, numeric=scipy.sparse.csr_array(numeric))
    outcome = solve(problem)
    assert_proven(problem, outcome)
    np.testing.assert_array_equal(outcome.primal.numeric[[1, 4]], 0.0)


@pytest.mark.parametrize("label_weight", [np.inf, 1.0])
@pytest.mark.parametrize("norm", NUMERIC_NORMS)
def test_separable_data_have_an_optimum_at_a_positive_radius(norm, label_weight):
    problem = draw_problem(7, rows=50, numeric=3, norm=norm, radius=0.01, label_weight=label_weight)
    labels = np.where(problem.numeric[:, 0] > 0, 1.0, -1.0)
    problem = replace(problem, labels=labels)
    outcome = solve(problem)
    assert_proven(problem, outcome)
    assert outcome.primal.numeric[0] > 1.0


def test_units_of_columns_do_not_matter():
    problem = draw_problem(8, rows=60, numeric=5, norm="l1", label_weight=1.0)
    units = np.array([1e6, 1e-6, 1.0, 1e3, 1e-3])
    cost = replace(problem.cost, numeric_weights=problem.cost.numeric_weights / units)
    scaled = replace(problem, numeric=problem.numeric * units, cost=cost)
    one, other = solve(problem), solve(scaled)
    assert_proven(scaled, other)
    assert one.upper_bound == pytest.approx(other.upper_bound, rel=2 * TOLERANCE)


@pytest.mark.parametrize("norm", NUMERIC_NORMS)
def test_beyond_the_critical_radius_only_the_intercept_is_left(norm):
    problem = text_problem(2, rows=100, columns=150, norm=norm, share=1.5)
    outcome = solve(problem)
    assert_proven(problem, outcome)
    share = float(np.mean(problem.labels > 0))
    assert outcome.upper_bound == pytest.approx(-share * np.log(share) - (1 - share) * np.log(1 - share), rel=TOLERANCE)


def test_flips_that_can_all_be_paid_leave_nothing_to_learn():
    problem = draw_problem(9, rows=40, numeric=3, radius=0.6, label_weight=1.0)
    outcome = solve(problem)
    assert_proven(problem, outcome)
    assert outcome.upper_bound == pytest.approx(np.log(2.0), rel=TOLERANCE)
    assert outcome.lower_bound == pytest.approx(np.log(2.0), rel=1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_without_columns_only_the_labels_count(fit_intercept):
    problem = draw_problem(10, rows=20, numeric=0, fit_intercept=fit_intercept)
    outcome = solve(problem)
    assert_proven(problem, outcome)
    share = float(np.mean(problem.labels > 0)) if fit_intercept else 0.5
    assert outcome.upper_bound == pytest.approx(-share * np.log(share) - (1 - share) * np.log(1 - share), rel=TOLERANCE)


@pytest.mark.parametrize("limit", [{"time_limit": 0.0}, {"max_iter": 3}])
def test_limits_leave_a_model_and_a_bound_that_hold(limit):
    problem = text_problem(3, columns=500, norm="l2", label_weight=1.0)
    outcome = solve(problem, **limit)
    assert outcome.status is (Status.TIME_LIMIT if "time_limit" in limit else Status.ITERATION_LIMIT)
    assert outcome.iterations == len(outcome.history) == limit.get("max_iter", 1)
    certificate = certify_robust_logistic(problem, outcome.primal, outcome.dual, TOLERANCE)
    assert not certificate.verified
    assert 0 < certificate.lower_bound == pytest.approx(outcome.lower_bound, rel=1e-8)
    assert certificate.upper_bound == pytest.approx(outcome.upper_bound, rel=1e-12)
    optimum = solve(problem, tolerance=1e-4)
    assert outcome.lower_bound <= optimum.upper_bound
    assert outcome.upper_bound >= optimum.lower_bound


def test_progress_is_monotone_and_ends_with_the_outcome():
    seen: list[Progress] = []
    problem = draw_problem(11, rows=50, numeric=8, norm="linf", label_weight=1.0)
    outcome = solve(problem, on_progress=seen.append)
    assert tuple(seen) == outcome.history
    assert [line.iteration for line in seen] == list(range(1, outcome.iterations + 1))
    for before, after in itertools.pairwise(seen):
        assert after.upper_bound <= before.upper_bound
        assert after.lower_bound >= before.lower_bound
    assert seen[-1].lower_bound == outcome.lower_bound


def test_error_of_a_listener_reaches_the_caller():
    def stop(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(draw_problem(11, rows=20, numeric=2), on_progress=stop)


@pytest.mark.parametrize("norm", NUMERIC_NORMS)
def test_warm_start_at_the_optimum_takes_fewer_steps(norm):
    problem = text_problem(4, norm=norm)
    cold = solve(problem, tolerance=1e-4)
    warm = Wide().solve(problem, SolveOptions(tolerance=1e-4), cold.primal)
    assert_proven(problem, warm, 1e-4)
    assert warm.history[0].upper_bound <= cold.upper_bound * (1 + 1e-12)
    assert warm.iterations < cold.iterations


def test_refusals_say_why():
    cases = [
        (draw_problem(1, numeric=1, levels=(3,)), "1 categorical column"),
        (draw_problem(1, numeric=1, radius=0.0), "radius is 0"),
    ]
    fixed = draw_problem(1, numeric=2)
    cost = replace(fixed.cost, numeric_weights=np.array([1.0, np.inf]))
    cases.append((replace(fixed, cost=cost), "numeric column 1 has an infinite weight"))
    for problem, reason in cases:
        assert reason in Wide().refuses(problem)
        with pytest.raises(UnsupportedProblemError, match=reason):
            solve(problem)
    assert Wide().refuses(fixed) is None


def test_one_label_without_flips_is_refused():
    problem = draw_problem(12, rows=10, numeric=2)
    with pytest.raises(SeparableDataError, match="same label"):
        solve(replace(problem, labels=np.ones(10)))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(NUMERIC_NORMS))
def test_polar_part_is_the_nearest_point_of_the_polar_cone(seed, norm):
    draw = np.random.default_rng(seed)
    size = int(draw.integers(0, 7))
    weights = np.ones(size) if norm == "l2" else np.exp(draw.normal(size=size))
    v = draw.normal(size=size + 1) * np.append(np.ones(size), 3.0)
    polar = project_onto_polar(v, weights, norm)
    nearest = v - polar.point
    # Moreau: both parts lie in their cones and are perpendicular, which no other pair does.
    assert coefficient_norm(nearest[:-1], weights, norm) <= nearest[-1] + 1e-12
    assert gradient_norm(polar.point[:-1], weights, norm) <= -polar.point[-1] + 1e-12
    assert float(nearest @ polar.point) == pytest.approx(0.0, abs=1e-11)
    jacobian = np.column_stack([polar.derivative(column) for column in np.eye(size + 1)])
    np.testing.assert_allclose(jacobian, jacobian.T, atol=1e-12)
    np.testing.assert_allclose(np.diag(jacobian), polar.diagonal, atol=1e-12)
    step = draw.normal(size=size + 1)
    forward = project_onto_polar(v + 1e-7 * step, weights, norm).point - polar.point
    np.testing.assert_allclose(forward / 1e-7, jacobian @ step, atol=1e-4)
