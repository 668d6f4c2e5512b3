"""Certificates of problems whose numeric columns have ranges: objectives, plans and limits, against enumeration and optima."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from problem_bank import draw_problem
from reference import worst_case as reference
from reference.certificate_parts import checked, corrected_bound, objective, posed
from reference.random_points import random_model, random_plan

from surefoot.core.enclosure import enclose
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import CertificateError
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.certificate.lower_bound import coefficient_limits, curvature_sums, plan_sums
from surefoot.robust.certificate.objective import row_sums
from surefoot.robust.certificate.posed_rows import read_part, read_setting
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem, ShiftPlan
from surefoot.robust.sqp.sqp import SQP


def drawn(seed: int, radius: float | None = None) -> RobustLogisticProblem:
    draw = np.random.default_rng((seed, 4))
    numeric = int(draw.integers(1, 4))
    return draw_problem(
        seed,
        rows=6,
        numeric=numeric,
        levels=tuple(draw.integers(1, 4, size=draw.integers(0, 3)).tolist()),
        radius=float(draw.choice([0.0, 0.05, 0.5])) if radius is None else radius,
        label_weight=float(draw.choice([np.inf, 0.4, 2.0])),
        fit_intercept=bool(draw.random() < 0.8),
        ranged=int(draw.integers(1, numeric + 1)),
    )


def telling_column(rows: int = 40) -> RobustLogisticProblem:
    """One column that tells the labels apart but for a few, in balance, with a range; a shift is cheap and rare."""
    x = np.repeat([-1.0, 1.0], rows // 2)
    labels = np.where(np.arange(rows) % 10 == 0, -x, x)
    cost = GroundCost(np.array([1.0]), np.empty(0), numeric_ranges=np.array([[-1.0, 1.0]]))
    none = np.zeros((rows, 0), dtype=np.int32)
    return RobustLogisticProblem(x[:, None], none, np.empty(0, np.int32), labels, np.full(rows, 1 / rows), cost, 1e-3)


@pytest.mark.parametrize("seed", range(150))
def test_objectives_equal_enumeration(seed):
    problem = drawn(seed)
    model = random_model(problem, np.random.default_rng(seed), size=[0.1, 1.0, 20.0][seed % 3])
    found = objective(problem, model)
    assert found.low <= reference.objective(problem, model) * (1 + 1e-12) + 1e-12
    assert found.mid == pytest.approx(reference.objective(problem, model), rel=1e-12, abs=1e-12)
    assert found.high - found.low <= 1e-11 * (1 + found.mid)


@pytest.mark.parametrize("seed", range(60))
def test_sums_of_plans_are_those_of_the_places_that_rows_went_to(seed):
    """Price and gradient in fractions, entry by entry; both moves at once are the mirror image."""
    problem = drawn(seed, radius=0.3)
    plan = random_plan(problem, np.random.default_rng(seed))
    ends = plan.moved[:, problem.n_categorical :]
    ends[::7, :2] = True
    price, gradient = Fraction(0), [Fraction(0)] * problem.n_numeric
    centre = posed(problem).centre
    for k, row in enumerate(plan.row.tolist()):
        mass, numbers = Fraction(plan.mass[k]), [Fraction(x) for x in problem.numeric[row].tolist()]
        if plan.flipped[k]:
            price += mass * Fraction(problem.cost.label_weight)
        for l in np.flatnonzero(plan.moved[k, : problem.n_categorical]):
            price += mass * Fraction(problem.cost.categorical_weights[l])
        for r, column in enumerate(np.flatnonzero(problem.cost.ranged).tolist()):
            low, high = map(Fraction, problem.cost.numeric_ranges[column].tolist())
            own, (to_low, to_high) = numbers[column], ends[k, 2 * r : 2 * r + 2].tolist()
            numbers[column] = {(0, 0): own, (1, 0): low, (0, 1): high, (1, 1): low + high - own}[to_low, to_high]
            price += mass * Fraction(problem.cost.numeric_weights[column]) * abs(numbers[column] - own)
        sign = float(problem.labels[row]) * (-1 if plan.flipped[k] else 1)
        for column in range(problem.n_numeric):
            flow = mass * Fraction(plan.slope[k]) * Fraction(-sign)
            gradient[column] += flow * (numbers[column] - Fraction(float(centre[column])))
    _, found, _, numeric, *_ = plan_sums(checked(problem, plan))
    assert found.mid == pytest.approx(float(price), rel=1e-12)
    assert numeric.mid == pytest.approx([float(g) for g in gradient], rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("seed", range(80))
def test_no_plan_proves_more_than_the_optimum(seed):
    draw = np.random.default_rng(seed)
    problem = drawn(seed, radius=float(draw.choice([0.02, 0.3, 3.0])))
    best = SQP().solve(problem, SolveOptions())
    for plan in (best.dual, random_plan(problem, draw), replace(best.dual, slope=np.full(best.dual.slope.size, 0.5))):
        certificate = certify_robust_logistic(problem, best.primal, plan, 1e-6)
        assert certificate.lower_bound <= best.upper_bound * (1 + 1e-12)
    assert certify_robust_logistic(problem, best.primal, best.dual, 2e-6).verified


def test_what_a_plan_leaves_of_a_ranged_gradient_is_paid_for():
    problem = telling_column()
    best = SQP().solve(problem, SolveOptions())
    everyone = np.arange(problem.n_rows)
    stays = ShiftPlan(
        row=everyone,
        moved=np.zeros((problem.n_rows, 2), dtype=np.bool_),
        flipped=np.zeros(problem.n_rows, dtype=np.bool_),
        mass=problem.weights,
        slope=np.full(problem.n_rows, 0.5),
        lowest=np.empty(0),
        highest=np.empty(0),
    )
    assert best.upper_bound < 0.5 < np.log(2.0)
    assert certify_robust_logistic(problem, best.primal, stays, 1e-6).lower_bound <= best.upper_bound
    limits = coefficient_limits(posed(problem).setting, *label_sums(problem, best.primal), best.upper_bound)
    assert corrected_bound(problem, stays, _Limits(limits)) == -np.inf, "no slopes near 1/2 make this gradient vanish"


class _Limits:
    def __init__(self, limits) -> None:
        self.price, self.intercept, self.levels = (float(limit.high) for limit in limits)


def label_sums(problem, model):
    part = posed(problem)
    _, weights, columns = row_sums(part, model, float(model.price))
    return weights, columns


def test_limits_contain_what_it_costs_to_go_to_an_end():
    """Without it the limit would be about 4 times the objective, whatever the coefficient."""
    problem = telling_column()
    best = SQP().solve(problem, SolveOptions())
    limits = coefficient_limits(posed(problem).setting, *label_sums(problem, best.primal), best.upper_bound)
    reach = float(np.abs(best.primal.numeric[0]) * 2.0)
    assert reach > 4.1 * best.upper_bound
    assert reach <= limits[2].high
    assert abs(best.primal.intercept) <= limits[1].high


@pytest.mark.parametrize("seed", range(60))
def test_limits_hold_for_models_on_the_way_to_the_best_and_beyond(seed):
    problem = drawn(seed, radius=0.2)
    best = SQP().solve(problem, SolveOptions()).primal
    ranged = problem.cost.ranged
    widths = np.diff(problem.cost.numeric_ranges[ranged], axis=1)[:, 0]
    for part in (0.3, 1.0, 2.0):
        model = RobustCoefficients(part * best.intercept, part * best.numeric, part * best.levels, part * best.price)
        upper = reference.objective(problem, model) * (1 + 1e-12)
        price, intercept, levels = coefficient_limits(posed(problem).setting, *label_sums(problem, model), upper)
        starts = problem.level_offsets[:-1]
        largest = np.maximum.reduceat(np.abs(model.levels), starts).sum() if starts.size else 0.0
        assert model.price <= price.high
        assert abs(model.intercept + float(model.numeric @ posed(problem).centre)) <= intercept.high
        assert largest + float(np.abs(model.numeric[ranged]) @ widths) <= levels.high


def test_nothing_but_its_range_limits_a_ranged_coefficient():
    """A price far below |beta| / gamma is the price of the model: there is no constraint to raise it for."""
    problem = telling_column()
    model = RobustCoefficients(0.0, np.array([5.0]), np.empty(0), 1e-3)
    assert objective(problem, model).mid == pytest.approx(reference.objective(problem, model), rel=1e-12)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"numeric_ranges": np.array([[-1.0, 0.5]])}, "a number lies outside its range"),
        ({"numeric_ranges": np.array([[1.0, -1.0]])}, "a range does not have two finite ends in order"),
        ({"numeric_ranges": np.array([[-1.0, np.inf]])}, "a range does not have two finite ends in order"),
        ({"numeric_ranges": np.array([[-1.0, 1.0]]), "numeric_norm": "l2"}, "ranges under another norm than l1"),
    ],
)
def test_forged_ranges_are_refused(change, what):
    problem = telling_column()
    for name, value in change.items():
        object.__setattr__(problem.cost, name, value)
    with pytest.raises(CertificateError, match=what):
        read_part(problem, read_setting(problem))


def test_ranges_of_another_shape_are_refused():
    problem = telling_column()
    object.__setattr__(problem.cost, "numeric_ranges", np.zeros((2, 2)))
    with pytest.raises(CertificateError, match="numeric_ranges is float64 of shape"):
        read_setting(problem)


def test_moves_of_another_number_of_ranges_are_refused():
    problem = drawn(1, radius=0.1)
    plan = random_plan(problem, np.random.default_rng(1))
    with pytest.raises(CertificateError, match=r"plan\.moved"):
        certify_robust_logistic(
            problem, SQP().solve(problem, SolveOptions()).primal, replace(plan, moved=plan.moved[:, :-1]), 1e-6
        )


def test_the_name_of_a_problem_without_ranges_is_the_one_it_always_had():
    problem = draw_problem(1, rows=5, numeric=2, levels=(2,))
    model = RobustCoefficients(0.0, np.zeros(2), np.zeros(2), 0.0)
    certificate = certify_robust_logistic(problem, model, None, 1e-6)
    assert certificate.problem_digest == "d72f6dd01db6d3761601d8ad381bcdf86e95884e1f26005c97af765bde9a51fd"
    ranged = draw_problem(1, rows=5, numeric=2, levels=(2,), ranged=1)
    assert certify_robust_logistic(ranged, model, None, 1e-6).problem_digest != certificate.problem_digest
    assert "1 of the columns within their ranges" in certify_robust_logistic(ranged, model, None, 1e-6).claim
    assert "within their ranges" not in certificate.claim


def test_enclosures_of_ways_hold_rounding():
    """(hi - x) gamma is not a double; the enclosure of the loss contains the exact one."""
    problem = telling_column(20)
    table = problem.numeric * 0.1
    cost = replace(problem.cost, numeric_weights=np.array([1 / 3]), numeric_ranges=np.array([[-0.3, 0.7]]))
    problem = replace(problem, numeric=table, cost=cost, radius=0.05)
    model = RobustCoefficients(0.1, np.array([3.0]), np.empty(0), 0.7)
    found, wanted = objective(problem, model), reference.objective(problem, model)
    assert isinstance(found, type(enclose(0.0)))
    assert found.low - 1e-16 <= wanted <= found.high + 1e-16
    assert found.high > found.low


@pytest.mark.parametrize("seed", range(6))
def test_curvature_is_taken_where_rows_have_gone_to(seed):
    problem = draw_problem(seed, rows=6, numeric=2, radius=0.3, ranged=1)
    plan = random_plan(problem, np.random.default_rng(seed))
    sound = checked(problem, plan)
    wanted = np.zeros((3, 3))
    for k, row in enumerate(plan.row.tolist()):
        x = problem.numeric[row].copy()
        for end in (0, 1):
            if plan.moved[k, end]:
                x[0] = problem.cost.numeric_ranges[0, end]
        vector = np.append(1.0, x - sound.part.centre)
        wanted += plan.mass[k] * plan.slope[k] * (1.0 - plan.slope[k]) * np.outer(vector, vector)
    found, *_ = curvature_sums(sound)
    assert found.mid == pytest.approx(wanted, rel=1e-9, abs=1e-12)
