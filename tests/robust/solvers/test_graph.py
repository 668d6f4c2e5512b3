from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problem_bank import WHOLE_BANK, draw_problem
from reference.known_tables import balance_scale, car
from reference.proof import TOLERANCE, assert_proven, optimum

from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import SeparableDataError, UnsupportedProblemError
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.conic.graph import Digraphs, Graph, PathFlows
from surefoot.robust.conic.monolithic import Monolithic
from surefoot.robust.conic.parameters import ConicParameters
from surefoot.robust.conic.pieces import Coordinates
from surefoot.robust.conic.softplus_programme import ConeSolution
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.robust.registry import RobustOutcome, require_acceptance

# What the reference solver's own optimum may be off by.
SLACK = 1e-7


def solve(problem: RobustLogisticProblem, **options: object) -> RobustOutcome:
    return Graph().solve(problem, SolveOptions(**options))


@pytest.mark.parametrize("name", WHOLE_BANK)
def test_reaches_and_proves_the_optimum_of_the_enumerated_model(name):
    problem = WHOLE_BANK[name]()
    outcome = solve(problem)
    assert_proven(problem, outcome)
    assert outcome.upper_bound == pytest.approx(optimum(name), rel=TOLERANCE)
    assert outcome.lower_bound <= optimum(name) + SLACK


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(8, 30),
    st.integers(0, 2),
    st.lists(st.integers(1, 4), max_size=3).map(tuple),
    st.sampled_from([0.02, 0.1, 0.5]),
    st.sampled_from([np.inf, 0.5]),
    st.booleans(),
)
def test_agrees_with_the_monolithic_model_on_random_problems(seed, rows, numeric, levels, radius, label_weight, whole):
    problem = draw_problem(seed, rows=rows, numeric=numeric, levels=levels, radius=radius, label_weight=label_weight)
    draw = np.random.default_rng(seed)
    weights = draw.uniform(0.2, 1.0, size=rows)
    delta = problem.cost.categorical_weights
    cost = replace(problem.cost, categorical_weights=np.ceil(2.0 * delta) if whole else delta)
    problem = replace(problem, weights=weights / weights.sum(), cost=cost)
    other = Monolithic().solve(problem, SolveOptions())
    assert solve(problem).upper_bound == pytest.approx(other.upper_bound, rel=TOLERANCE)


@pytest.mark.parametrize(
    ("table", "theta", "known"), [(balance_scale, 0.9, 0.46391684), (balance_scale, 0.65, 0.64367573), (car, 0.9, 0.47221791)]
)
def test_reaches_what_other_programs_found_on_public_tables(table, theta, known):
    problem = table(theta)
    outcome = solve(problem)
    assert_proven(problem, outcome)
    assert outcome.upper_bound == pytest.approx(known, rel=TOLERANCE)


def paths_of(digraphs: Digraphs) -> list[tuple[int, ...]]:
    """Every way through the layers, as moved (1) or stayed (0) per feature."""
    return list(itertools.product((0, 1), repeat=digraphs.layers.features.size))


def test_flows_come_apart_into_the_shifts_they_were_made_of():
    problem = draw_problem(7, rows=3, levels=(2, 2, 2))
    problem = replace(problem, cost=replace(problem.cost, categorical_weights=np.array([1.0, 1.0, 2.0])))
    digraphs = Digraphs(Coordinates(problem))
    layers = digraphs.layers
    draw = np.random.default_rng(7)
    stay = [np.zeros((3, layer.size)) for layer in layers.distances[:-1]]
    move = [np.zeros((3, layer.size)) for layer in layers.distances[:-1]]
    sink = np.zeros((3, layers.distances[-1].size))
    # At most one path into each distance, so that the decomposition is unique.
    chosen = {
        row: {sum(np.multiply(path, problem.cost.categorical_weights[layers.features])): path for path in paths_of(digraphs)}
        for row in range(3)
    }
    for row, by_distance in chosen.items():
        for distance, path in by_distance.items():
            amount, at = draw.uniform(0.1, 1.0), 0
            for k, moved in enumerate(path):
                (move if moved else stay)[k][row, at] += amount
                at = (layers.move if moved else layers.stay)[k][at]
            assert layers.distances[-1][at] == distance
            sink[row, at] += amount
    total = sink.copy()
    slope = 0.25
    flows = PathFlows(digraphs, stay, move, sink, sink / slope, np.zeros(6), np.zeros(6))
    found = flows.multipliers()
    np.testing.assert_allclose(found.flow, slope * found.mass)
    assert found.flow.sum() == pytest.approx(total.sum())
    costs = np.where(found.moved, problem.cost.categorical_weights, 0.0).sum(axis=1)
    for row in range(3):
        for at, distance in enumerate(layers.distances[-1]):
            held = (found.row == row) & (costs == distance)
            assert found.flow[held].sum() == pytest.approx(total[row, at])


def test_arcs_guard_against_every_level_of_every_feature():
    # Potentials set by longest paths must satisfy every limit, and lowering any of them must break one.
    problem = draw_problem(9, rows=4, numeric=1, levels=(3, 2), label_weight=0.6)
    coordinates = Coordinates(problem)
    digraphs = Digraphs(coordinates)
    draw = np.random.default_rng(9)
    programme = digraphs.programme()
    x = np.zeros(digraphs.size)
    x[: coordinates.n_coefficients] = draw.normal(size=coordinates.n_coefficients)
    x[coordinates.price] = 100.0
    model = coordinates.unpack(x)
    offsets = problem.level_offsets
    layers = digraphs.layers
    for graph, (row, sign) in enumerate(zip(digraphs.row, digraphs.sign, strict=True)):
        longest = {0: {0.0: -sign * (model.intercept + problem.numeric[row] @ model.numeric)}}
        for k, l in enumerate(layers.features):
            longest[k + 1] = {}
            for spent, value in longest[k].items():
                for level in range(problem.n_levels[l]):
                    reached = round(spent + (level != problem.codes[row, l]) * problem.cost.categorical_weights[l], 9)
                    candidate = value - sign * model.levels[offsets[l] + level]
                    longest[k + 1][reached] = max(longest[k + 1].get(reached, -np.inf), candidate)
        for k in longest:
            for place, distance in zip(digraphs.vertices(k)[graph], layers.distances[k], strict=True):
                x[place] = longest[k][round(distance, 9)]
    slack = programme.ceilings - programme.limits @ x
    assert slack.min() > -1e-12
    for place in range(coordinates.size, digraphs.size):
        lower = x.copy()
        lower[place] -= 1e-3
        assert (programme.ceilings - programme.limits @ lower).min() < -1e-4


def test_refuses_before_building_anything_with_the_count_in_the_message():
    problem = draw_problem(0, rows=2000, levels=(6,) * 16)
    whole = replace(problem, cost=replace(problem.cost, categorical_weights=np.arange(20.0, 36.0)))
    most = ConicParameters.max_arcs
    with pytest.raises(UnsupportedProblemError, match=rf"2000 digraphs have \d+ arcs together, more than {most}"):
        require_acceptance(Graph(), whole)
    real = replace(draw_problem(0, rows=2000, levels=(2,) * 40), radius=0.1)
    assert f"more than {most} arcs" in Graph().refuses(real)
    assert "round them" in Graph().refuses(real)


@pytest.mark.parametrize("name", ["mixed", "mixed_with_label_price", "mixed_l2", "sparse_mixed_linf"])
@pytest.mark.parametrize("iterations", [1, 6, 10])
def test_few_iterations_end_with_bounds_that_hold(name, iterations):
    outcome = solve(WHOLE_BANK[name](), max_iter=iterations)
    assert outcome.status is Status.ITERATION_LIMIT
    assert outcome.iterations <= iterations
    assert outcome.lower_bound <= optimum(name) + SLACK
    assert outcome.upper_bound >= optimum(name) - SLACK


def test_a_time_limit_ends_with_bounds_that_hold():
    problem = draw_problem(11, rows=800, levels=(4, 4, 4, 4), radius=0.05)
    problem = replace(problem, cost=replace(problem.cost, categorical_weights=np.array([1.0, 2.0, 2.0, 3.0])))
    outcome = solve(problem, time_limit=0.4)
    assert outcome.status is Status.TIME_LIMIT
    assert 0.0 < outcome.lower_bound < outcome.upper_bound <= np.log(2.0) + 1e-12
    certificate = certify_robust_logistic(problem, outcome.primal, outcome.dual, TOLERANCE)
    assert certificate.lower_bound >= outcome.lower_bound - 1e-9


def test_silent_multipliers_make_an_empty_list_of_paths():
    digraphs = Digraphs(Coordinates(WHOLE_BANK["mixed"]()))
    programme = digraphs.programme()
    nothing = np.zeros(programme.arguments.shape[0])
    solution = ConeSolution(
        np.zeros(digraphs.size), np.zeros(programme.limits.shape[0]), nothing, nothing, Status.TIME_LIMIT, 0
    )
    assert PathFlows.of(digraphs, solution).multipliers().row.size == 0


def test_radius_zero_on_separable_data_says_so():
    with pytest.raises(SeparableDataError, match="radius=0"):
        solve(replace(WHOLE_BANK["separable"](), radius=0.0))
