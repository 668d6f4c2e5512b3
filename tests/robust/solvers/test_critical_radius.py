from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
from hypothesis import example, given, settings
from hypothesis import strategies as st
from problem_bank import PROBLEM_BANK, draw_problem
from reference.enumerated_model import solve_enumerated
from reference.worst_case import all_shifts, objective

from surefoot.core.certificate import Certificate
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.problem import RobustLogisticProblem, ShiftPlan
from surefoot.robust.sqp import critical_radius as module
from surefoot.robust.sqp.critical_radius import critical_radius, intercept_only
from surefoot.robust.sqp.sqp import SQP

COUNTED = [name for name, build in PROBLEM_BANK.items() if build().fit_intercept and np.isinf(build().cost.label_weight)]
FINITE = [name for name in COUNTED if name != "infinite_weights"]
SHAPES = st.lists(st.integers(1, 4), max_size=3).map(tuple)


def entropy(problem: RobustLogisticProblem) -> float:
    """Loss of the best model without features."""
    parts = np.array([problem.weights[problem.labels == label].sum() for label in (1.0, -1.0)])
    return float(-parts @ np.log(parts / parts.sum()))


def with_uneven_weights(problem: RobustLogisticProblem, seed: int) -> RobustLogisticProblem:
    """Real weights, some of them 0, both labels still present."""
    draw = np.random.default_rng(seed)
    weights = draw.exponential(size=problem.n_rows) * (draw.random(problem.n_rows) < 0.7)
    for label in (1.0, -1.0):
        weights[np.flatnonzero(problem.labels == label)[0]] = 0.5
    return replace(problem, weights=weights / weights.sum())


def random_problem(seed: int, *, rows: int, numeric: int, levels: tuple[int, ...]) -> RobustLogisticProblem:
    """Skewed or even classes, with label +1 or label -1 in the majority, and uneven weights in half of the cases."""
    problem = draw_problem(seed, rows=rows, numeric=numeric, levels=levels)
    if seed % 2:
        problem = with_uneven_weights(problem, seed)
    return replace(problem, labels=-problem.labels) if seed % 3 == 0 else problem


def at_share(problem: RobustLogisticProblem, share: float) -> RobustLogisticProblem:
    """The same problem with a radius at this share of the critical one."""
    critical = critical_radius(problem)
    assert critical is not None
    return replace(problem, radius=share * critical)


def certified(problem: RobustLogisticProblem, tolerance: float) -> Certificate:
    answer = intercept_only(problem)
    assert answer is not None
    certificate = certify_robust_logistic(problem, *answer, tolerance)
    assert certificate.verified, certificate.claim
    assert certificate.upper_bound == pytest.approx(entropy(problem), rel=1e-12)
    return certificate


def plan_of(problem: RobustLogisticProblem) -> ShiftPlan:
    answer = intercept_only(problem)
    assert answer is not None
    return answer[1]


def least_spending(problem: RobustLogisticProblem) -> float:
    """What the adversary must spend so that nobody gains by leaving the intercept-only model: a linear programme.

    One variable per row and category vector: mass moved there. Slopes are those of the model's losses, so the numeric
    gradient is a constant.
    """
    share = problem.weights[problem.labels > 0].sum() / problem.weights.sum()
    slope = np.where(problem.labels > 0, 1.0 - share, share)
    shifts = [(row, shift) for row in range(problem.n_rows) for shift in all_shifts(problem, row)]
    row = np.array([at for at, _ in shifts])
    codes = np.array([shift.codes for _, shift in shifts], dtype=np.int64).reshape(len(shifts), problem.n_categorical)
    pull = -(slope * problem.labels)[row]
    equations = [row == at for at in range(problem.n_rows)]
    targets = list(problem.weights)
    for l, count in enumerate(problem.n_levels):
        equations += [pull * (codes[:, l] == level) for level in range(count)]
        targets += [0.0] * int(count)
    answer = scipy.optimize.linprog(
        [shift.cost for _, shift in shifts], A_eq=np.array(equations, dtype=np.float64), b_eq=targets, method="highs"
    )
    if answer.status == 2:
        return np.inf
    assert answer.status == 0, answer.message
    gradient = np.abs((problem.weights * slope * problem.labels) @ (problem.numeric - problem.numeric.mean(axis=0)))
    return float(answer.fun) + float(problem.cost.numeric_weights @ gradient)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(4, 14), st.integers(0, 2), SHAPES)
@example(seed=4, rows=10, numeric=0, levels=())
@example(seed=5, rows=10, numeric=0, levels=(1,))
def test_it_is_the_least_that_the_adversary_must_spend_to_cancel_the_gradient(seed, rows, numeric, levels):
    problem = random_problem(seed, rows=rows, numeric=numeric, levels=levels)
    assert critical_radius(problem) == pytest.approx(least_spending(problem), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("name", FINITE)
def test_it_is_the_least_spending_on_the_problem_bank(name):
    problem = PROBLEM_BANK[name]()
    assert critical_radius(problem) == pytest.approx(least_spending(problem), rel=1e-7)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 60),
    st.integers(0, 3),
    SHAPES,
    st.sampled_from([1.0 + 1e-9, 1.001, 1.7, 40.0]),
)
def test_at_or_above_it_the_model_is_certified(seed, rows, numeric, levels, share):
    problem = at_share(random_problem(seed, rows=rows, numeric=numeric, levels=levels), share)
    certified(problem, tolerance=1e-8)


def test_rows_that_all_have_one_level_are_certified():
    # Its coefficient and the intercept are told apart by no row: the loss has no curvature along their difference.
    problem = RobustLogisticProblem(
        numeric=np.zeros((2, 0)),
        codes=np.array([[1], [1]]),
        n_levels=np.array([4]),
        labels=np.array([-1.0, 1.0]),
        weights=np.array([0.5, 0.5]),
        cost=GroundCost(numeric_weights=np.zeros(0), categorical_weights=np.array([1.3])),
        radius=0.0,
    )
    certified(problem, tolerance=1e-9)


@pytest.mark.parametrize("name", FINITE)
@pytest.mark.parametrize("share", [1.0, 1.5])
def test_the_problem_bank_is_certified_at_and_above_it(name, share):
    certified(at_share(PROBLEM_BANK[name](), share), tolerance=1e-9)


@pytest.mark.parametrize("name", FINITE)
def test_below_it_there_is_no_answer(name):
    assert intercept_only(at_share(PROBLEM_BANK[name](), 1.0 - 1e-9)) is None


@pytest.mark.parametrize("seed", range(8))
def test_below_it_a_step_along_the_ray_lowers_the_objective(seed):
    problem = at_share(random_problem(seed, rows=30, numeric=1, levels=(3, 2)), 0.97)
    above = at_share(problem, 1.0)
    model, _ = intercept_only(above)
    # The ray of the module docstring, for small t; the objective is convex, so one lower point is proof.
    weight = problem.weights / problem.weights.sum()
    share = weight[problem.labels > 0].sum()
    slope = np.where(problem.labels > 0, 1 - share, share)
    pull = problem.weights * slope * problem.labels
    levels = np.zeros(int(problem.level_offsets[-1]))
    step, intercept = 1e-4, model.intercept
    for l, (first, last) in enumerate(zip(problem.level_offsets[:-1], problem.level_offsets[1:], strict=True)):
        surplus = np.bincount(problem.codes[:, l], weights=pull, minlength=last - first)
        rise = np.where(surplus > 0, step * problem.cost.categorical_weights[l] / max(share, 1 - share), 0.0)
        intercept += rise[0]
        levels[first:last] = rise - rise[0]
    numeric = step * problem.cost.numeric_weights * np.sign(pull @ problem.numeric)
    ray = replace(model, intercept=intercept, numeric=numeric, levels=levels, price=step)
    assert objective(problem, ray) < entropy(problem) - 0.01 * step * problem.radius
    assert objective(above, ray) >= entropy(problem)


@pytest.mark.parametrize("seed", range(6))
def test_a_solver_finds_a_better_model_below_it_and_none_above(seed):
    problem = random_problem(seed, rows=40, numeric=1, levels=(3, 2))
    below = SQP().solve(at_share(problem, 0.9), SolveOptions())
    assert objective(at_share(problem, 0.9), below.primal) < entropy(problem) * (1 - 1e-5)
    above = SQP().solve(at_share(problem, 1.01), SolveOptions())
    assert above.upper_bound == pytest.approx(entropy(problem), rel=1e-6)


@pytest.mark.parametrize("seed", [1, 6])
def test_the_enumerated_model_has_the_same_optimum_above_it(seed):
    problem = at_share(random_problem(seed, rows=16, numeric=1, levels=(3, 2)), 1.05)
    assert solve_enumerated(problem).optimum == pytest.approx(entropy(problem), rel=1e-6)


def test_the_largest_radius_of_the_bank_is_above_it():
    problem = PROBLEM_BANK["large_radius"]()
    assert critical_radius(problem) < problem.radius
    certified(problem, tolerance=1e-9)


@pytest.mark.parametrize("name", ["no_intercept", "numeric_with_label_price", "one_class_with_label_price"])
def test_no_closed_form_without_intercept_or_with_a_label_price(name):
    problem = replace(PROBLEM_BANK[name](), radius=1e6)
    assert critical_radius(problem) is None
    assert intercept_only(problem) is None


@pytest.mark.parametrize("label", [1.0, -1.0])
def test_no_closed_form_if_all_rows_that_weigh_something_share_a_label(label):
    problem = draw_problem(3, rows=12, numeric=1, levels=(2,), radius=1e6)
    assert critical_radius(replace(problem, labels=np.full(12, label))) is None
    weights = (problem.labels == label) / np.count_nonzero(problem.labels == label)
    unheard = replace(problem, weights=weights)
    assert critical_radius(unheard) is None
    assert intercept_only(unheard) is None


def test_no_closed_form_where_columns_overflow():
    problem = draw_problem(3, rows=12, numeric=1, radius=1e6)
    # Eleven rows pull the mean so low that the distance of the twelfth is no longer a number.
    first = np.arange(12) == 0
    problem = replace(problem, labels=np.where(first, 1.0, -1.0), numeric=np.where(first, 1.7e308, -1.7e308)[:, None])
    assert critical_radius(problem) is None
    assert intercept_only(problem) is None


def test_no_features_need_no_radius():
    problem = draw_problem(5, rows=9, radius=1e-3)
    assert critical_radius(problem) == 0.0
    certified(problem, tolerance=1e-9)


@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_a_telling_column_that_never_shifts_makes_it_infinite(kind):
    problem = draw_problem(11, rows=30, numeric=2, levels=(3, 2), radius=1e9)
    weights = {"numeric_weights": problem.cost.numeric_weights, "categorical_weights": problem.cost.categorical_weights}
    weights[f"{kind}_weights"] = np.array([0.7, np.inf])
    fixed = replace(problem, cost=GroundCost(**weights))
    assert critical_radius(fixed) == np.inf
    assert intercept_only(fixed) is None
    assert critical_radius(PROBLEM_BANK["infinite_weights"]()) == np.inf


def twice_with_both_labels(problem: RobustLogisticProblem, factor: float) -> RobustLogisticProblem:
    """Every row once with either label, one of them ``factor`` times as heavy: no column tells the labels apart."""
    twice = [np.concatenate((part, part)) for part in (problem.numeric, problem.codes, problem.weights)]
    return replace(
        problem,
        numeric=twice[0],
        codes=twice[1],
        labels=np.repeat([1.0, -1.0], problem.n_rows),
        weights=twice[2] * np.repeat([factor, 1.0], problem.n_rows) / (1.0 + factor),
    )


@pytest.mark.parametrize("factor", [1.0, 0.3, 7.1])
@pytest.mark.parametrize("rows", [50, 9000])
def test_balanced_columns_count_as_balanced_whatever_rounding_says(factor, rows):
    problem = with_uneven_weights(draw_problem(13, rows=rows, numeric=2, levels=(4, 3), radius=1e-4), 13)
    problem = replace(problem, numeric=problem.numeric + np.array([1e9, 0.0]))
    problem = twice_with_both_labels(problem, factor)
    assert critical_radius(problem) == 0.0
    assert not plan_of(problem).moved.any()
    certified(problem, tolerance=1e-8)
    fixed = GroundCost(numeric_weights=np.array([np.inf, 1.0]), categorical_weights=np.array([1.0, np.inf]))
    certified(replace(problem, cost=fixed), tolerance=1e-8)
    certified(replace(problem, radius=0.0), tolerance=1e-8)


def test_a_balanced_column_that_never_shifts_leaves_the_others_to_decide():
    problem = twice_with_both_labels(draw_problem(14, rows=40, numeric=1, levels=(3, 2)), 0.6)
    telling = problem.codes.copy()
    telling[problem.labels > 0, 1] = 0
    cost = GroundCost(numeric_weights=np.array([np.inf]), categorical_weights=np.array([np.inf, 0.8]))
    problem = replace(problem, codes=telling, cost=cost)
    alone = replace(
        problem,
        numeric=np.zeros((80, 0)),
        codes=telling[:, 1:],
        n_levels=problem.n_levels[1:],
        cost=GroundCost(numeric_weights=np.zeros(0), categorical_weights=np.array([0.8])),
    )
    assert critical_radius(problem) == pytest.approx(critical_radius(alone), rel=1e-12)
    assert critical_radius(problem) > 0.01
    certified(at_share(problem, 1.001), tolerance=1e-6)


@pytest.mark.parametrize(("offset", "rel"), [(1e3, 1e-9), (1e6, 1e-7), (-1e9, 1e-5)])
def test_a_far_away_origin_of_a_column_changes_nothing(offset, rel):
    problem = random_problem(7, rows=60, numeric=2, levels=(3,))
    # What the shift itself rounds away is the table's loss, not the computation's.
    moved = replace(problem, numeric=problem.numeric + np.array([offset, 0.0]))
    assert critical_radius(moved) == pytest.approx(critical_radius(problem), rel=rel)
    exact = replace(moved, numeric=moved.numeric - np.array([offset, 0.0]))
    assert critical_radius(moved) == pytest.approx(critical_radius(exact), rel=1e-12)
    certified(at_share(moved, 1.0 + 1e-9), tolerance=1e-8)


def test_units_of_a_column_do_not_matter():
    problem = random_problem(7, rows=60, numeric=2, levels=(3,))
    unit = np.array([1e12, 1e-12])
    cost = replace(problem.cost, numeric_weights=problem.cost.numeric_weights / unit)
    assert critical_radius(replace(problem, numeric=problem.numeric * unit, cost=cost)) == pytest.approx(
        critical_radius(problem), rel=1e-12
    )


def test_rows_without_weight_are_neither_counted_nor_moved():
    problem = with_uneven_weights(draw_problem(21, rows=40, numeric=1, levels=(3, 4)), 21)
    heavy = problem.weights > 0
    assert np.count_nonzero(~heavy) > 0
    kept = {name: getattr(problem, name)[heavy] for name in ("numeric", "codes", "labels", "weights")}
    assert critical_radius(problem) == pytest.approx(critical_radius(replace(problem, **kept)), rel=1e-12)
    problem = at_share(problem, 1.1)
    assert heavy[plan_of(problem).row].all()
    certified(problem, tolerance=1e-9)


@pytest.mark.parametrize("flip", [False, True])
def test_only_the_rarer_label_moves_and_the_plan_spends_the_critical_radius(flip, monkeypatch):
    # Small blocks, so that chains of several blocks are put together.
    monkeypatch.setattr(module, "PARAMETERS", module.CriticalRadiusParameters(chain_rows=7))
    problem = draw_problem(31, rows=60, levels=(3, 2, 4))
    rarer = -1.0 if flip else 1.0
    # A third of the rows at the first level of the first column, and nobody else.
    problem = replace(problem, labels=np.where((np.arange(60) % 3 == 0) & (problem.codes[:, 0] == 0), rarer, -rarer))
    problem = at_share(problem, 1.0)
    plan = plan_of(problem)
    assert 0 < np.count_nonzero(problem.labels == rarer) < 30
    assert (problem.labels[plan.row[plan.moved.any(axis=1)]] == rarer).all()
    assert plan.moved.any(axis=0).all()
    spent = float(plan.mass @ (plan.moved @ problem.cost.categorical_weights))
    assert spent == pytest.approx(problem.radius, rel=1e-12)
    assert (np.diff(plan.row) >= 0).all()
    assert (plan.mass > 0).all()
    np.testing.assert_allclose(np.bincount(plan.row, weights=plan.mass, minlength=60), problem.weights, rtol=1e-14)
    certified(problem, tolerance=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_features_that_mirror_each_other_move_together(seed):
    # Every row a second time with its two columns swapped: equal sums, taken in another order.
    half = with_uneven_weights(draw_problem(seed, rows=60, levels=(4, 4)), seed)
    half = replace(half, cost=replace(half.cost, categorical_weights=np.ones(2)), codes=np.sort(half.codes, axis=1))
    problem = replace(
        half,
        numeric=np.zeros((120, 0)),
        codes=np.concatenate((half.codes, half.codes[::-1, ::-1])),
        labels=np.concatenate((half.labels, half.labels[::-1])),
        weights=np.concatenate((half.weights, half.weights[::-1])) / 2,
    )
    problem = at_share(problem, 1.2)
    plan = plan_of(problem)
    same_level = problem.codes[plan.row, 0] == problem.codes[plan.row, 1]
    assert plan.moved[same_level].any()
    np.testing.assert_array_equal(plan.moved[same_level, 0], plan.moved[same_level, 1])
    certified(problem, tolerance=1e-9)


@pytest.mark.parametrize("label", [1.0, -1.0])
def test_a_crumb_at_one_level_that_no_other_level_misses_counts_as_balance(label):
    # Level 0 holds 1e-16 of one label; at level 1 that is far below what sums can tell.
    problem = RobustLogisticProblem(
        numeric=np.zeros((3, 0)),
        codes=np.array([[0], [1], [1]]),
        n_levels=np.array([2]),
        labels=np.array([label, label, -label]),
        weights=np.array([1e-16, 0.3, 0.7]),
        cost=GroundCost(numeric_weights=np.zeros(0), categorical_weights=np.array([np.inf])),
        radius=0.1,
    )
    assert critical_radius(problem) == 0.0
    # As real numbers 1e-16 is something: the coefficient of that level has no best value, and no plan proves a bound.
    certificate = certify_robust_logistic(problem, *intercept_only(problem), 1e-9)
    assert certificate.upper_bound == pytest.approx(entropy(problem), rel=1e-12)
    assert not certificate.verified


def test_swapping_the_labels_changes_nothing():
    problem = random_problem(41, rows=50, numeric=2, levels=(4, 2))
    assert critical_radius(replace(problem, labels=-problem.labels)) == pytest.approx(critical_radius(problem), rel=1e-12)


def test_many_rows_are_certified():
    problem = at_share(draw_problem(51, rows=30_000, numeric=2, levels=(5, 3, 4, 2)), 1.0 + 1e-9)
    certificate = certified(problem, tolerance=1e-8)
    assert certificate.relative_gap < 1e-9
