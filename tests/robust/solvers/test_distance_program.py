from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problem_bank import PROBLEM_BANK, draw_problem
from reference import worst_case as reference
from reference.random_points import random_model

from surefoot.robust.conic.distance_program import (
    DistanceProgramme,
    WorstShifts,
    deterring_price,
    prefix_worst_shifts,
    robust_objective,
)
from surefoot.robust.conic.parameters import DistanceParameters
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem


def weighted(weights: list[float], levels: int = 2, rows: int = 3) -> RobustLogisticProblem:
    problem = draw_problem(0, rows=rows, levels=(levels,) * len(weights))
    return replace(problem, cost=GroundCost(np.zeros(0), np.array(weights)))


def assert_worst(problem: RobustLogisticProblem, model: RobustCoefficients, worst: WorstShifts) -> None:
    """The losses are those of full enumeration, and the shifts that are said to attain them do."""
    for row in range(problem.n_rows):
        assert worst.loss[row] == pytest.approx(reference.worst_case_loss(problem, model, row, model.price), abs=1e-11)
        codes = tuple(int(code) for code in worst.codes[row])
        label = -problem.labels[row] if worst.flipped[row] else problem.labels[row]
        shift = next(s for s in reference.all_shifts(problem, row) if s.codes == codes and s.label == label)
        attained = reference.softplus(-label * reference.score(problem, model, row, codes)) - model.price * shift.cost
        assert attained == pytest.approx(worst.loss[row], abs=1e-11)


random_problems = st.builds(
    draw_problem,
    st.integers(0, 2**32 - 1),
    rows=st.integers(1, 6),
    numeric=st.integers(0, 2),
    levels=st.lists(st.integers(1, 4), max_size=4).map(tuple),
    label_weight=st.sampled_from([np.inf, 0.4, 2.0]),
    fit_intercept=st.booleans(),
)


@settings(max_examples=150, deadline=None)
@given(random_problems, st.integers(0, 2**32 - 1), st.sampled_from([0.1, 1.0, 5.0]), st.booleans())
def test_both_oracles_equal_full_enumeration(problem, seed, size, whole):
    draw = np.random.default_rng(seed)
    delta = problem.cost.categorical_weights
    delta = np.ceil(2.0 * delta) if whole else delta
    delta = np.where(draw.random(delta.size) < 0.15, np.inf, delta)
    problem = replace(problem, cost=replace(problem.cost, categorical_weights=delta))
    model = random_model(problem, draw, size)
    assert_worst(problem, model, prefix_worst_shifts(problem, model))
    assert_worst(problem, model, DistanceProgramme(problem).worst_shifts(problem, model))


def test_rows_in_blocks_give_the_same_answer_as_all_at_once():
    problem = draw_problem(4, rows=30, numeric=1, levels=(3, 2, 4), label_weight=0.8)
    model = random_model(problem, np.random.default_rng(4))
    programme = DistanceProgramme(problem)
    together = programme.worst_shifts(problem, model)
    few_states = DistanceParameters(states_at_a_time=3 * programme.n_states + 1)
    apart = DistanceProgramme(problem, parameters=few_states).worst_shifts(problem, model)
    np.testing.assert_array_equal(apart.loss, together.loss)
    np.testing.assert_array_equal(apart.codes, together.codes)


def test_integer_weights_share_distances_and_real_ones_do_not():
    assert DistanceProgramme(weighted([1, 2, 3, 1])).distances[-1].tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert DistanceProgramme(weighted([0.1, 0.2, 0.4, 0.8])).distances[-1].size == 16


def test_sums_that_differ_by_rounding_only_are_one_distance():
    # 0.1 + 0.2 and 0.3 are different floating-point numbers.
    distances = DistanceProgramme(weighted([0.1, 0.2, 0.3])).distances[-1]
    np.testing.assert_allclose(distances, [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6], atol=1e-15)


def test_a_chain_of_near_distances_is_cut_and_loses_no_shift():
    # Neighbours lie within the width of each other, the ends of the chain do not.
    width = 0.8 * DistanceParameters.same_distance * 3.0
    problem = weighted([1.0, 1.0 + width, 1.0 + 2.0 * width], rows=8)
    programme = DistanceProgramme(problem)
    assert all(np.unique(place).size == place.size for place in (*programme.stay, *programme.move))
    model = random_model(problem, np.random.default_rng(1), 3.0)
    assert_worst(problem, model, programme.worst_shifts(problem, model))


def test_features_that_cannot_move_have_no_layer():
    problem = draw_problem(5, rows=4, levels=(3, 1, 2))
    problem = replace(problem, cost=GroundCost(np.zeros(0), np.array([np.inf, 1.0, 2.0])))
    programme = DistanceProgramme(problem)
    assert programme.features.tolist() == [2]
    assert programme.distances[-1].tolist() == [0.0, 2.0]


def test_too_many_states_are_noticed_before_they_are_built():
    with pytest.raises(OverflowError, match="more than 1000 different distances"):
        DistanceProgramme(weighted(list(np.sqrt(np.arange(2.0, 60.0)))), most_states=1000)


@pytest.mark.parametrize("name", PROBLEM_BANK)
def test_objective_equals_the_enumerated_one(name):
    problem = PROBLEM_BANK[name]()
    model = random_model(problem, np.random.default_rng(8))
    assert robust_objective(problem, model) == pytest.approx(reference.objective(problem, model), rel=1e-12)


@settings(max_examples=50, deadline=None)
@given(random_problems, st.integers(0, 2**32 - 1))
def test_deterring_price_is_the_smallest_that_admits_the_model_and_tempts_no_row(problem, seed):
    model = random_model(problem, np.random.default_rng(seed))
    price = deterring_price(problem, model)
    admitted = float((np.abs(model.numeric) / problem.cost.numeric_weights).max(initial=0.0))
    assert price >= admitted

    def tempted(at: float) -> float:
        losses = (reference.worst_case_loss(problem, model, row, at) for row in range(problem.n_rows))
        plain = (reference.worst_case_loss(problem, model, row, 1e12) for row in range(problem.n_rows))
        return max(loss - own for loss, own in zip(losses, plain, strict=True))

    assert tempted(price) <= 1e-9
    if price > admitted * (1 + 1e-9) + 1e-9:
        assert tempted(0.99 * price) > 0.0
