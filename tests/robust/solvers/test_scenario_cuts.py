from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problem_bank import WHOLE_BANK, draw_problem
from reference.known_tables import car, tic_tac_toe
from reference.proof import TOLERANCE, assert_proven, optimum

from surefoot.core.outcome import Progress, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import SeparableDataError, UnsupportedProblemError
from surefoot.robust.conic.parameters import ScenarioCutParameters
from surefoot.robust.conic.scenario_cuts import ScenarioCuts
from surefoot.robust.registry import RobustOutcome

# What the reference solver's own optimum may be off by.
SLACK = 1e-7
PREFIX = ScenarioCuts(separation="prefix")
VARIANTS = {
    "ours": ScenarioCuts(),
    "prefix": PREFIX,
    "the paper's": ScenarioCuts(separation="dynamic-programme", cuts_per_round="most-violated"),
}


def assert_monotone(outcome: RobustOutcome) -> None:
    assert [line.iteration for line in outcome.history] == list(range(1, outcome.iterations + 1))
    assert (np.diff([line.upper_bound for line in outcome.history]) <= 0).all()
    assert (np.diff([line.lower_bound for line in outcome.history]) >= 0).all()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", WHOLE_BANK)
def test_reaches_and_proves_the_optimum_of_the_enumerated_model(name, variant):
    problem = WHOLE_BANK[name]()
    outcome = VARIANTS[variant].solve(problem, SolveOptions())
    assert_proven(problem, outcome)
    assert outcome.upper_bound == pytest.approx(optimum(name), rel=TOLERANCE)
    assert outcome.lower_bound <= optimum(name) + SLACK
    if problem.radius > 0:
        assert_monotone(outcome)


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(8, 30),
    st.integers(0, 2),
    st.lists(st.integers(1, 4), max_size=3).map(tuple),
    st.sampled_from([0.02, 0.1, 0.5]),
    st.sampled_from([np.inf, 0.5]),
)
def test_both_separations_lead_to_the_same_optimum(seed, rows, numeric, levels, radius, label_weight):
    problem = draw_problem(seed, rows=rows, numeric=numeric, levels=levels, radius=radius, label_weight=label_weight)
    one = ScenarioCuts().solve(problem, SolveOptions())
    two = PREFIX.solve(problem, SolveOptions())
    assert one.upper_bound == pytest.approx(two.upper_bound, rel=TOLERANCE)


@pytest.mark.parametrize(
    ("table", "theta", "known"), [(car, 0.9, 0.47221791), (car, 0.65, 0.60489542), (tic_tac_toe, 0.9, 0.59889196)]
)
def test_reaches_what_other_programs_found_on_public_tables(table, theta, known):
    problem = table(theta)
    outcome = ScenarioCuts().solve(problem, SolveOptions())
    assert_proven(problem, outcome)
    assert outcome.upper_bound == pytest.approx(known, rel=TOLERANCE)


def test_one_cut_per_round_takes_more_rounds_than_one_per_row():
    problem = draw_problem(31, rows=30, levels=(4, 3, 3), radius=0.2)
    one, many = (VARIANTS[name].solve(problem, SolveOptions()) for name in ("the paper's", "ours"))
    assert one.upper_bound == pytest.approx(many.upper_bound, rel=TOLERANCE)
    assert one.iterations > 2 * many.iterations


def test_warm_starts_at_the_optimum_save_rounds():
    rounds = {"cold": 0, "warm": 0}
    for seed in (33, 34, 35, 36):
        problem = draw_problem(seed, rows=60, numeric=1, levels=(4, 3, 3), radius=0.1)
        cold = PREFIX.solve(problem, SolveOptions())
        warm = PREFIX.solve(problem, SolveOptions(), warm_start=cold.primal)
        assert warm.upper_bound == pytest.approx(cold.upper_bound, rel=TOLERANCE)
        rounds["cold"] += cold.iterations
        rounds["warm"] += warm.iterations
    assert rounds["warm"] < 0.8 * rounds["cold"]


def test_a_box_that_binds_is_widened():
    problem = WHOLE_BANK["mixed"]()
    expected = PREFIX.solve(problem, SolveOptions())
    small = ScenarioCuts(separation="prefix", parameters=ScenarioCutParameters(initial_box=0.01))
    boxed = small.solve(problem, SolveOptions())
    assert_proven(problem, boxed)
    assert boxed.upper_bound == pytest.approx(expected.upper_bound, rel=TOLERANCE)
    assert boxed.iterations > expected.iterations


def test_listeners_hear_every_round():
    heard: list[Progress] = []
    outcome = PREFIX.solve(WHOLE_BANK["mixed"](), SolveOptions(on_progress=heard.append))
    assert tuple(heard) == outcome.history
    assert len(heard) == outcome.iterations > 1


def test_a_round_limit_ends_with_bounds_that_hold():
    outcome = PREFIX.solve(WHOLE_BANK["mixed"](), SolveOptions(max_iter=1))
    assert outcome.status is Status.ITERATION_LIMIT
    assert outcome.iterations == 1
    assert outcome.lower_bound <= optimum("mixed") + SLACK
    assert optimum("mixed") <= outcome.upper_bound + SLACK


def test_no_time_at_all_ends_with_bounds_that_hold():
    outcome = PREFIX.solve(WHOLE_BANK["mixed"](), SolveOptions(time_limit=0.0))
    assert outcome.status is Status.TIME_LIMIT
    assert 0.0 < outcome.lower_bound <= optimum("mixed")
    assert outcome.upper_bound == pytest.approx(np.log(2.0))


def test_the_dynamic_programme_refuses_what_the_prefix_takes():
    problem = draw_problem(0, rows=5000, levels=(2,) * 40)
    with pytest.raises(UnsupportedProblemError, match=r"different distances for each of 5000 rows.*separation='prefix'"):
        ScenarioCuts().solve(problem, SolveOptions())
    assert PREFIX.refuses(problem) is None


@pytest.mark.parametrize("options", [{"separation": "guess"}, {"cuts_per_round": "all"}], ids=["separation", "cuts_per_round"])
def test_unknown_options_are_named(options):
    ((name, value),) = options.items()
    with pytest.raises(ValueError, match=f"{name}='{value}' is not known. Choose one of"):
        ScenarioCuts(**options)


def test_radius_zero_on_separable_data_says_so():
    with pytest.raises(SeparableDataError, match="radius=0"):
        PREFIX.solve(replace(WHOLE_BANK["separable"](), radius=0.0), SolveOptions())
