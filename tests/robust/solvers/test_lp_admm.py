from __future__ import annotations

import re
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from problem_bank import PROBLEM_BANK, draw_problem
from reference import worst_case as reference
from reference.enumerated_model import solve_enumerated
from reference.proof import TOLERANCE, assert_proven

from surefoot.core.outcome import Progress, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import SeparableDataError, UnsupportedProblemError
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.first_order.admm_splitting import Splitting
from surefoot.robust.first_order.ball_least_squares import BallLeastSquares
from surefoot.robust.first_order.lp_admm import LpAdmm
from surefoot.robust.first_order.parameters import AdmmParameters, PublishedLpAdmm
from surefoot.robust.first_order.price_search import PriceSearch, Tangent
from surefoot.robust.first_order.signed_rows import SignedRows
from surefoot.robust.first_order.value_minorants import MinorantBundle, combined, minorant_of, shift_plan, zero_minorant
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.numeric_norm import NUMERIC_NORMS, coefficient_norm, gradient_norm
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.robust.registry import RobustOutcome
from surefoot.robust.sqp.sqp import SQP

# What the reference solver's own optimum may be off by.
SLACK = 1e-7
NUMERIC_BANK = [name for name, make in PROBLEM_BANK.items() if make().n_categorical == 0 and make().radius > 0]


def solve(problem: RobustLogisticProblem, **options: object) -> RobustOutcome:
    return LpAdmm().solve(problem, SolveOptions(**options))


def with_norm(problem: RobustLogisticProblem, norm: str) -> RobustLogisticProblem:
    return replace(problem, cost=replace(problem.cost, numeric_norm=norm))


def assert_monotone(outcome: RobustOutcome) -> None:
    """No step of the history takes back what an earlier one had reached or proven."""
    assert [line.iteration for line in outcome.history] == list(range(1, outcome.iterations + 1))
    assert (np.diff([line.upper_bound for line in outcome.history]) <= 0).all()
    assert (np.diff([line.lower_bound for line in outcome.history]) >= 0).all()
    assert (np.diff([line.seconds for line in outcome.history]) >= 0).all()


def cvxpy_optimum(problem: RobustLogisticProblem) -> float:
    """The model with the margin as a variable, one softplus and one hinge a row, in the norm of the problem."""
    beta, price = cp.Variable(problem.n_numeric), cp.Variable(nonneg=True)
    intercept = cp.Variable() if problem.fit_intercept else 0.0
    margins = cp.multiply(problem.labels, problem.numeric @ beta + intercept)
    losses = cp.logistic(-margins)
    if np.isfinite(problem.cost.label_weight):
        losses = losses + cp.pos(margins - price * problem.cost.label_weight)
    dual = {"l1": "inf", "l2": 2, "linf": 1}[problem.cost.numeric_norm]
    admitted = cp.norm(cp.multiply(1.0 / problem.cost.numeric_weights, beta), dual) <= price
    model = cp.Problem(cp.Minimize(price * problem.radius + problem.weights @ losses), [admitted])
    model.solve(solver=cp.CLARABEL, tol_gap_abs=SLACK, tol_gap_rel=SLACK, tol_feas=SLACK)
    assert model.status == cp.OPTIMAL
    return float(model.value)


def synthetic(n_rows: int, n_columns: int) -> RobustLogisticProblem:
    """Standard normal columns and labels from a logistic model, unit weights, a radius of 0.1 and a label price of 1."""
    draw = np.random.default_rng(0)
    x = draw.standard_normal((n_rows, n_columns))
    w = 2 * draw.standard_normal(n_columns) / np.sqrt(n_columns)
    labels = np.where(draw.uniform(size=n_rows) < 1 / (1 + np.exp(-x @ w)), 1.0, -1.0)
    return RobustLogisticProblem(
        numeric=x,
        codes=np.zeros((n_rows, 0)),
        n_levels=np.zeros(0),
        labels=labels,
        weights=np.full(n_rows, 1 / n_rows),
        cost=GroundCost(np.ones(n_columns), np.zeros(0), 1.0),
        radius=0.1,
        fit_intercept=False,
    )


@pytest.mark.parametrize("name", NUMERIC_BANK)
def test_reaches_and_proves_the_optimum_of_the_enumerated_model(name):
    problem = PROBLEM_BANK[name]()
    outcome = solve(problem)
    assert_proven(problem, outcome)
    assert_monotone(outcome)
    optimum = solve_enumerated(problem).optimum
    assert outcome.upper_bound == pytest.approx(optimum, rel=TOLERANCE)
    assert outcome.lower_bound <= optimum + SLACK
    model = replace(outcome.primal, price=outcome.primal.price * (1 + 1e-12))
    assert reference.objective(problem, model) == pytest.approx(outcome.upper_bound, rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 60),
    st.integers(0, 5),
    st.sampled_from([1e-3, 0.02, 0.1, 0.5, 3.0]),
    st.sampled_from([np.inf, 0.3, 1.5]),
    st.booleans(),
    st.sampled_from(NUMERIC_NORMS),
)
def test_random_problems_end_with_a_verified_certificate(seed, rows, numeric, radius, label_weight, fit_intercept, norm):
    problem = draw_problem(
        seed, rows=rows, numeric=numeric, radius=radius, label_weight=label_weight, fit_intercept=fit_intercept
    )
    problem = with_norm(problem, norm)
    outcome = solve(problem)
    assert_monotone(outcome)
    assert_proven(problem, outcome)


@pytest.mark.parametrize("label_weight", [np.inf, 0.8])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("norm", NUMERIC_NORMS)
def test_every_norm_agrees_with_an_independent_convex_model(norm, fit_intercept, label_weight):
    problem = draw_problem(31, rows=40, numeric=4, radius=0.06, label_weight=label_weight, fit_intercept=fit_intercept)
    problem = with_norm(problem, norm)
    outcome = solve(problem)
    assert_proven(problem, outcome)
    assert outcome.upper_bound == pytest.approx(cvxpy_optimum(problem), rel=1.5e-6)


@pytest.mark.parametrize("seed", range(8))
def test_agrees_with_the_quadratic_solver_where_rows_have_unequal_weights(seed):
    problem = draw_problem(200 + seed, rows=80, numeric=5, radius=0.05, label_weight=[np.inf, 0.6][seed % 2])
    weights = 10.0 ** np.random.default_rng(seed).uniform(-4, 0, size=80)
    weights[::5] = 0.0
    problem = replace(problem, weights=weights / weights.sum())
    outcome = solve(problem)
    assert_proven(problem, outcome)
    assert outcome.upper_bound == pytest.approx(SQP().solve(problem, SolveOptions()).upper_bound, rel=2e-6)


@pytest.mark.parametrize(("n_rows", "n_columns", "optimum"), [(5000, 100, 0.66772637), (10000, 100, 0.66596745)])
def test_known_optima_of_gaussian_data_are_reached_and_proven_within_a_thousand_steps(n_rows, n_columns, optimum):
    problem = synthetic(n_rows, n_columns)
    outcome = solve(problem)
    assert_proven(problem, outcome)
    assert outcome.upper_bound == pytest.approx(optimum, rel=1.1e-6)
    assert outcome.lower_bound <= optimum * (1 + 1e-7)
    assert outcome.iterations <= 1000


def test_a_tight_tolerance_is_reached_too():
    problem = synthetic(2000, 20)
    outcome = solve(problem, tolerance=1e-9)
    assert_proven(problem, outcome, 2e-9)


def test_the_published_settings_freeze_above_the_optimum_and_say_so():
    problem = synthetic(5000, 100)
    common_rules = PublishedLpAdmm(coefficient_step="exact", residual=1e-6, max_steps=500, bracket_width=1e-3)
    outcome = LpAdmm(common_rules).solve(problem, SolveOptions())
    assert outcome.status is Status.STALLED
    assert_monotone(outcome)
    assert outcome.lower_bound <= 0.66772637 <= outcome.upper_bound * (1 + 1e-7)
    assert outcome.upper_bound > 0.66772637 * (1 + 2e-5)
    assert not certify_robust_logistic(problem, outcome.primal, outcome.dual, TOLERANCE).verified


def test_a_penalty_that_froze_the_iterates_is_restarted(monkeypatch):
    problem = synthetic(1000, 10)
    monkeypatch.setattr(Splitting, "natural_penalty", lambda self, price: 1e7)
    restarted = []
    restart = Splitting.restart_penalty
    monkeypatch.setattr(Splitting, "restart_penalty", lambda self, price: (restarted.append(price), restart(self, price)))
    assert_proven(problem, solve(problem))
    assert restarted


@pytest.mark.parametrize("limit", [{"time_limit": 1e-6}, {"max_iter": 1}, {"max_iter": 7}])
@pytest.mark.parametrize("name", NUMERIC_BANK)
def test_a_limit_ends_with_a_finite_model_and_true_bounds(name, limit):
    problem = PROBLEM_BANK[name]()
    outcome = solve(problem, tolerance=1e-12, **limit)
    assert outcome.status is (Status.TIME_LIMIT if "time_limit" in limit else Status.ITERATION_LIMIT)
    assert outcome.iterations == len(outcome.history) == limit.get("max_iter", 1)
    optimum = solve_enumerated(problem).optimum
    assert 0 < outcome.lower_bound <= optimum + SLACK
    assert outcome.upper_bound >= optimum - SLACK
    certificate = certify_robust_logistic(problem, outcome.primal, outcome.dual, TOLERANCE)
    assert certificate.upper_bound == pytest.approx(outcome.upper_bound, rel=1e-9)
    assert outcome.lower_bound * (1 - 1e-6) <= certificate.lower_bound <= optimum + SLACK


def test_the_impossible_tolerance_0_ends_as_stalled_unless_both_bounds_meet():
    solver = LpAdmm(parameters=AdmmParameters(stall_iterations=300))
    outcome = solver.solve(synthetic(300, 5), SolveOptions(tolerance=0.0))
    met = outcome.upper_bound <= outcome.lower_bound
    assert outcome.status is (Status.OPTIMAL if met else Status.STALLED)
    assert outcome.upper_bound - outcome.lower_bound <= 1e-7


def test_without_a_label_price_no_label_flips():
    problem = PROBLEM_BANK["numeric_only"]()
    assert np.isinf(problem.cost.label_weight)
    outcome = solve(problem)
    assert_proven(problem, outcome)
    assert not outcome.dual.flipped.any()
    # Nothing but the coefficients asks for a price then.
    assert outcome.primal.price == pytest.approx(problem.cost.admitting_price(outcome.primal.numeric), rel=1e-12)


def test_no_row_is_lost_from_the_plan_when_rows_repeat_or_weigh_nothing():
    few = draw_problem(5, rows=12, numeric=2, radius=0.1, label_weight=0.5)
    pick = np.random.default_rng(0).integers(0, 12, size=60)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=60)
    weights[::7] = 0.0
    weights /= weights.sum()
    codes = np.zeros((60, 0), dtype=np.int32)
    problem = replace(few, numeric=few.numeric[pick], labels=few.labels[pick], codes=codes, weights=weights)
    outcome = solve(problem)
    assert_proven(problem, outcome)
    np.testing.assert_allclose(np.bincount(outcome.dual.row, outcome.dual.mass, minlength=60), weights, rtol=1e-12)


def test_repeating_a_row_is_the_same_as_weighing_it():
    problem = PROBLEM_BANK["numeric_with_label_price"]()
    times = np.random.default_rng(0).integers(1, 4, size=problem.n_rows)
    weighed = replace(problem, weights=times / times.sum())
    pick = np.repeat(np.arange(problem.n_rows), times)
    repeated = replace(
        problem,
        numeric=problem.numeric[pick],
        codes=problem.codes[pick],
        labels=problem.labels[pick],
        weights=np.full(pick.size, 1.0 / pick.size),
    )
    first, second = solve(weighed, tolerance=1e-8), solve(repeated, tolerance=1e-8)
    assert second.upper_bound == pytest.approx(first.upper_bound, rel=2e-8)


@pytest.mark.parametrize("norm", NUMERIC_NORMS)
def test_units_of_a_column_change_its_coefficient_and_nothing_else(norm):
    problem = with_norm(draw_problem(7, rows=50, numeric=3, radius=0.05, label_weight=0.7), norm)
    # Powers of two near 1e6, 1 and 1e-6, so that the change of units itself rounds nothing.
    units = 2.0 ** np.array([20, 0, -20])
    cost = replace(problem.cost, numeric_weights=problem.cost.numeric_weights / units)
    plain, scaled = solve(problem), solve(replace(problem, numeric=problem.numeric * units, cost=cost))
    assert scaled.upper_bound == pytest.approx(plain.upper_bound, rel=1e-10)
    np.testing.assert_allclose(scaled.primal.numeric * units, plain.primal.numeric, rtol=1e-6)


@pytest.mark.parametrize("norm", NUMERIC_NORMS)
def test_columns_in_units_a_million_apart_with_equal_weights_are_proven(norm):
    problem = with_norm(draw_problem(5, rows=50, numeric=3, radius=0.05, label_weight=0.7), norm)
    problem = replace(problem, numeric=problem.numeric * np.array([1e6, 1.0, 1e-6]))
    assert_proven(problem, solve(problem))


@pytest.mark.parametrize(
    "change",
    [
        lambda problem: replace(problem, labels=np.ones(problem.n_rows)),
        lambda problem: replace(problem, numeric=problem.numeric[:, [0, 0, 1]]),
        lambda problem: replace(problem, numeric=problem.numeric * np.array([1.0, 0.0, 1.0]) + np.array([0.0, 5.0, 0.0])),
        lambda problem: replace(problem, cost=replace(problem.cost, numeric_weights=np.array([np.inf, 1.0, 0.5]))),
        lambda problem: replace(problem, radius=50.0),
        lambda problem: replace(problem, radius=1e-6),
    ],
    ids=["one class", "equal columns", "constant column", "column that never moves", "huge radius", "tiny radius"],
)
def test_awkward_problems_are_proven(change):
    problem = change(draw_problem(5, rows=50, numeric=3, radius=0.05, label_weight=0.7))
    assert_proven(problem, solve(problem))


def test_sparse_columns_give_the_same_model_as_dense_ones():
    dense = draw_problem(9, rows=60, numeric=4, radius=0.05, label_weight=1.0)
    dense = replace(dense, numeric=dense.numeric * (np.abs(dense.numeric) > 0.6))
    sparse = replace(dense, numeric=scipy.sparse.csr_array(dense.numeric))
    one, other = solve(dense), solve(sparse)
    assert_proven(sparse, other)
    np.testing.assert_array_equal(other.primal.numeric, one.primal.numeric)
    assert other.upper_bound == pytest.approx(one.upper_bound, rel=1e-14)


def test_a_warm_start_at_the_optimum_saves_most_steps():
    problem = synthetic(3000, 30)
    cold = solve(problem)
    warm = LpAdmm().solve(problem, SolveOptions(), warm_start=solve(problem, tolerance=1e-8).primal)
    assert_proven(problem, warm)
    assert warm.iterations <= 0.5 * cold.iterations
    assert warm.history[0].upper_bound <= cold.upper_bound


def test_a_bad_warm_start_costs_time_only():
    problem = PROBLEM_BANK["numeric_with_label_price"]()
    draw = np.random.default_rng(0)
    start = replace(solve(problem).primal, intercept=4.0, numeric=50.0 * draw.normal(size=2), price=0.0)
    outcome = LpAdmm().solve(problem, SolveOptions(), warm_start=start)
    assert_proven(problem, outcome)


def test_progress_is_told_once_per_iteration_and_its_exceptions_reach_the_caller():
    told: list[Progress] = []
    outcome = solve(PROBLEM_BANK["numeric_only"](), on_progress=told.append)
    assert tuple(told) == outcome.history
    assert len(told) == outcome.iterations > 1

    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(PROBLEM_BANK["numeric_only"](), on_progress=interrupt)


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (draw_problem(1, numeric=1, levels=(3, 2)), r"2 categorical columns.*Use solver='auto'"),
        (draw_problem(1, numeric=1, radius=0.0), r"radius is 0.*Use solver='auto'"),
        (
            draw_problem(1, rows=2, numeric=AdmmParameters.max_columns + 7),
            rf"{AdmmParameters.max_columns + 7} columns.*{AdmmParameters.max_columns}",
        ),
    ],
)
def test_problems_it_cannot_take_are_refused_with_the_reason(problem, reason):
    with pytest.raises(UnsupportedProblemError) as refusal:
        solve(problem)
    assert re.search(reason, str(refusal.value))


def test_separation_by_a_column_that_never_moves_is_refused():
    problem = draw_problem(5, rows=30, numeric=2, radius=0.05)
    labels = np.sign(problem.numeric[:, 0])
    cost = replace(problem.cost, numeric_weights=np.array([np.inf, 1.0]))
    with pytest.raises(SeparableDataError, match="weights are infinite"):
        solve(replace(problem, labels=labels, cost=cost))


# The parts.


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(0, 2), st.sampled_from(NUMERIC_NORMS))
def test_least_squares_over_a_ball_satisfies_the_optimality_conditions_right_after_right(seed, size, free, norm):
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(size + 3, size))
    gram = rows.T @ rows / size + 1e-6 * np.eye(size)
    gamma = draw.uniform(0.3, 3.0, size=size)
    gamma[: min(free, size)] = np.inf
    priced = np.isfinite(gamma)
    least_squares = BallLeastSquares(gram, gamma, norm)
    for _ in range(6):
        right, radius = draw.normal(size=size), float(draw.uniform(0.01, 2.0))
        point = least_squares.solve(right, radius)
        gradient = gram @ point - right
        assert coefficient_norm(point, gamma, norm) <= radius * (1 + 1e-12)
        np.testing.assert_allclose(gradient[~priced], 0.0, atol=1e-9)
        # No point of the ball lies farther down the gradient: g . v >= -radius |g| for all v in it, with equality here.
        left = gradient[priced] @ point[priced] + radius * gradient_norm(gradient[priced], gamma[priced], norm)
        inside = coefficient_norm(point, gamma, norm) < radius * (1 - 1e-9)
        assert np.abs(gradient).max() < 1e-8 if inside else left < 1e-8


@pytest.mark.parametrize("norm", NUMERIC_NORMS)
@pytest.mark.parametrize("radius", [0.0, 1e-300, 1e-12])
def test_least_squares_over_a_ball_that_rounding_hides_stays_in_it(norm, radius):
    least_squares = BallLeastSquares(np.array([[9.4e-7, -1.9e-7], [-1.9e-7, 1.6e-7]]), np.ones(2), norm)
    for right in (np.array([0.0167, 0.0026]), np.array([0.0167, 0.0]), np.array([0.01, 0.01])):
        point = least_squares.solve(right, radius)
        assert coefficient_norm(point, np.ones(2), norm) <= radius * (1 + 1e-12)


def random_rows(seed: int, *, label_weight: float = 0.8, fit_intercept: bool = True, norm: str = "l1") -> SignedRows:
    problem = draw_problem(seed, rows=30, numeric=3, radius=0.1, label_weight=label_weight, fit_intercept=fit_intercept)
    return SignedRows(with_norm(problem, norm))


@pytest.mark.parametrize("label_weight", [np.inf, 0.8])
@pytest.mark.parametrize("norm", NUMERIC_NORMS)
def test_a_minorant_of_any_slopes_is_below_the_objective_of_any_model_at_any_price(norm, label_weight):
    rows = random_rows(3, label_weight=label_weight, norm=norm)
    draw = np.random.default_rng(0)
    closest = np.inf
    for _ in range(200):
        coefficients = draw.normal(size=rows.gamma.size) * draw.choice([0.1, 1.0, 5.0])
        price = rows.least_price(coefficients) * float(draw.choice([1.0, 1.2]))
        margins = rows.rows @ coefficients
        value = rows.value(margins, price)
        # The slopes of the model itself, which come close, and some that belong to no model.
        own = -1.0 / (1.0 + np.exp(margins)) + (margins > price * rows.kappa)
        for slopes in (own, draw.uniform(-1.5, 1.5, size=30)):
            minorant = minorant_of(rows, slopes, price, coefficients)
            assert minorant.at(price) <= value + 1e-12
            closest = min(closest, value - minorant.at(price))
    assert closest < 0.2


def test_a_mixture_stays_within_the_radius_and_proves_at_least_the_crossing():
    rows = random_rows(4)
    draw = np.random.default_rng(1)
    mixed = 0
    for _ in range(50):
        falling = minorant_of(rows, draw.uniform(-1.0, 0.5, size=30), 0.5, np.zeros(4))
        if falling.slack >= 0:
            continue
        for rising in (zero_minorant(rows), minorant_of(rows, np.full(30, -1e-3), 50.0, np.zeros(4))):
            assert rising.slack > 0
            mixture = combined(rows, falling, rising)
            share = rising.slack / (rising.slack - falling.slack)
            assert mixture.slack >= 0
            assert mixture.entropy >= share * falling.entropy + (1 - share) * rising.entropy - 1e-12
            mixed += 1
    assert mixed > 20


def test_the_bundle_is_what_the_certificate_makes_of_its_plan():
    problem = draw_problem(6, rows=30, numeric=3, radius=0.1, label_weight=0.8)
    rows = SignedRows(problem)
    bundle, draw = MinorantBundle(rows), np.random.default_rng(2)
    for _ in range(20):
        bundle.add(minorant_of(rows, draw.uniform(-0.7, 0.3, size=30), 1.0, np.zeros(4)))
        model = solve(problem, max_iter=1).primal
        certificate = certify_robust_logistic(problem, model, shift_plan(rows, bundle.best), TOLERANCE)
        assert certificate.lower_bound >= bundle.lower_bound * (1 - 1e-9)
    assert bundle.lower_bound > 0.1


@pytest.mark.parametrize("least", [0.0, 0.3, 5.0])
def test_the_best_price_of_a_model_beats_every_other_price(least):
    rows = random_rows(8)
    margins = np.random.default_rng(0).normal(size=30)
    price = rows.best_price(margins, least)
    assert price >= least
    others = np.concatenate((least + np.linspace(0.0, 4.0, 400), np.maximum(margins / rows.kappa, least)))
    assert rows.value(margins, price) <= min(rows.value(margins, other) for other in others) + 1e-15


def test_the_price_search_finds_the_bottom_of_a_parabola_from_inexact_tangents():
    draw = np.random.default_rng(0)
    bottom, radius = 0.7, 0.1
    search, price, upper = PriceSearch(radius), 0.05, np.inf
    for step in range(12):
        error = 1e-2 * 0.1**step
        value, slope = 0.5 + 0.05 * (price - bottom) ** 2, 0.1 * (price - bottom)
        # A minorant that touches the parabola nearby is within the error at the price itself.
        slope += float(draw.uniform(-1.0, 1.0)) * np.sqrt(0.2 * error) * 0.5
        touch = bottom + slope / 0.1
        entropy = 0.5 + 0.05 * (touch - bottom) ** 2 - slope * touch
        upper = min(upper, value)
        search.add(Tangent(price, entropy, slope, value - entropy - slope * price), 0.5)
        low, high = search.bracket(upper)
        assert low <= bottom <= high
        price = search.next_price(upper)
    assert price == pytest.approx(bottom, abs=1e-4)
