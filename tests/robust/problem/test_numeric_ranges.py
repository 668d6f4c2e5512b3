"""Ranges of numeric columns: what is a range, what a row may hold, and what a fingerprint sees of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from problem_bank import draw_problem
from reference.worst_case import objective

from surefoot.core.solve_options import SolveOptions
from surefoot.robust.problem.coefficient_bounds import coefficient_bounds, numeric_centre
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.sqp.sqp import SQP

ONE = np.array([1.0])


@pytest.mark.parametrize("ends", [(2.0, 1.0), (np.nan, 1.0), (0.0, np.inf), (-np.inf, 0.0), (-1.7e308, 1.7e308)])
def test_a_range_has_two_finite_ends_in_order(ends):
    with pytest.raises(ValueError, match=r"numeric_ranges\[0\] = .* is no range: two finite ends, the lower one first"):
        GroundCost(ONE, np.empty(0), numeric_ranges=np.array([ends]))


def test_every_column_has_two_ends():
    with pytest.raises(ValueError, match=r"shape \(1, 3\), but 1 numeric columns need two ends each"):
        GroundCost(ONE, np.empty(0), numeric_ranges=np.zeros((1, 3)))


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_other_norms_than_l1_refuse_ranges_with_the_reason(norm):
    with pytest.raises(ValueError, match=r"numeric_ranges need the norm 'l1'.*depends on the moves along the others"):
        GroundCost(ONE, np.empty(0), numeric_norm=norm, numeric_ranges=np.array([[0.0, 1.0]]))


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_infinite_ends_are_no_range(norm):
    cost = GroundCost(ONE, np.empty(0), numeric_norm=norm, numeric_ranges=np.array([[-np.inf, np.inf]]))
    assert cost.numeric_ranges is None


def test_columns_that_move_within_a_range_without_end_or_never():
    weights = np.array([1.0, 2.0, 3.0, np.inf, np.inf])
    ranges = np.array([[0.0, 1.0], [5.0, 5.0], [-np.inf, np.inf], [0.0, 1.0], [-np.inf, np.inf]])
    cost = GroundCost(weights, np.empty(0), numeric_ranges=ranges)
    assert cost.ranged.tolist() == [True, False, False, False, False]
    assert cost.endless_weights.tolist() == [np.inf, np.inf, 3.0, np.inf, np.inf]
    assert cost.immovable.tolist() == [False, True, False, True, True]
    assert cost.admitting_price(np.full(5, 6.0)) == 2.0


def test_a_number_outside_its_range_is_named():
    problem = draw_problem(1, rows=5, numeric=2, ranged=2)
    table = problem.numeric.copy()
    table[3, 1] = 77.0
    low, high = problem.cost.numeric_ranges[1].tolist()
    with pytest.raises(ValueError, match=f"numeric column 1 holds 77.0 in row 3, outside its range from {low} to {high}"):
        replace(problem, numeric=table)


def test_ends_belong_to_the_range():
    problem = draw_problem(1, rows=5, numeric=1, ranged=1)
    low, high = problem.numeric.min(), problem.numeric.max()
    replace(problem, cost=replace(problem.cost, numeric_ranges=np.array([[low, high]]))).check()


def test_sparse_columns_have_no_ranges():
    problem = draw_problem(1, rows=5, numeric=1, density=0.5)
    with pytest.raises(ValueError, match="columns of a sparse table have no ranges"):
        replace(problem, cost=replace(problem.cost, numeric_ranges=np.array([[-9.0, 9.0]])))


def test_another_cost_is_checked_too():
    problem = draw_problem(1, rows=5, numeric=1, ranged=1)
    with pytest.raises(ValueError, match="outside its range"):
        problem.priced(replace(problem.cost, numeric_ranges=np.array([[0.0, 0.1]])), 0.5)


def test_the_fingerprint_sees_ranges_and_is_the_old_one_without_them():
    problem = draw_problem(1, rows=5, numeric=1)
    endless = replace(problem, cost=replace(problem.cost, numeric_ranges=np.array([[-np.inf, np.inf]])))
    near, far = (replace(problem, cost=replace(problem.cost, numeric_ranges=np.array([[-end, end]]))) for end in (9.0, 10.0))
    assert problem.digest() == endless.digest()
    assert draw_problem(1, rows=5, numeric=2, levels=(2,)).digest() == (
        "e8bc3e8311808631e17e4afd7e17fdc0c1963fc370711634954a643a41cab474"
    )
    assert len({problem.digest(), near.digest(), far.digest()}) == 3


@pytest.mark.parametrize("seed", range(40))
def test_no_model_as_good_as_the_best_exceeds_the_bounds(seed):
    """Bounds made from the optimum hold for it, ranges and all; and the model of a looser problem that is no worse."""
    draw = np.random.default_rng(seed)
    problem = draw_problem(
        seed,
        rows=12,
        numeric=3,
        levels=(3,) if seed % 2 else (),
        radius=float(draw.choice([0.01, 0.1, 1.0])),
        label_weight=float(draw.choice([np.inf, 0.8])),
        fit_intercept=bool(seed % 3),
        ranged=int(draw.integers(1, 4)),
    )
    outcome = SQP().solve(problem, SolveOptions())
    centre = numeric_centre(problem)
    # A point on the way from 0 to the best model, and beyond it, is a model with a known objective.
    for part in (0.5, 1.0, 1.5):
        model = replace(
            outcome.primal,
            intercept=part * outcome.primal.intercept,
            numeric=part * outcome.primal.numeric,
            levels=part * outcome.primal.levels,
            price=part * outcome.primal.price,
        )
        bounds = coefficient_bounds(problem, objective(problem, model), centre)
        ranged = problem.cost.ranged
        widths = np.diff(problem.cost.numeric_ranges[ranged], axis=1)[:, 0]
        starts = problem.level_offsets[:-1]
        levels = np.maximum.reduceat(np.abs(model.levels), starts).sum() if starts.size else 0.0
        assert model.price <= bounds.price
        assert abs(model.intercept + float(model.numeric @ centre)) <= bounds.intercept + 1e-12
        assert levels + float(np.abs(model.numeric[ranged]) @ widths) <= bounds.levels
