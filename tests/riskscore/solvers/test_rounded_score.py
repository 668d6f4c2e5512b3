"""Rounded penalised fits: what each step promises, and the bounds that come with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from reference.enumerated_score import best_card
from reference.random_scores import binary_table, draw_problem

from surefoot import _native
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import SolveInterrupted, UnsupportedProblemError
from surefoot.riskscore.baselines.discrete_descent import polished
from surefoot.riskscore.baselines.merged_rows import INTERCEPT, ScoreRows, coordinates
from surefoot.riskscore.baselines.parameters import PathParameters
from surefoot.riskscore.baselines.regularisation_path import regularisation_path
from surefoot.riskscore.baselines.rounded_score import RoundedScore
from surefoot.riskscore.baselines.rounding import nearest, rescaled, sequential
from surefoot.riskscore.baselines.tangent_bound import tangent_bound
from surefoot.riskscore.problem.card_rules import GroupRule, LinearRule
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.problem.score_shift import ScoreShift
from surefoot.riskscore.registry import ROUNDED, make_score_solver

ROUNDING = 1e-12


def with_rules(problem: RiskScoreProblem, *rules: GroupRule | LinearRule) -> RiskScoreProblem:
    return RiskScoreProblem(
        problem.columns, problem.labels, problem.weights, problem.lower, problem.upper,
        problem.intercept_lower, problem.intercept_upper, problem.max_features, problem.penalty, rules,
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["binary", "integer", "real"])
def test_merged_rows_have_the_loss_and_the_gradient_of_the_table(kind: str):
    problem = draw_problem(3, kind, weighted=True)
    rows = ScoreRows.of(problem)
    x = np.random.default_rng(0).normal(size=problem.n_columns + 1)
    margins = problem.labels * (problem.columns @ x[1:] + x[0])
    scores = rows.scores(x)
    assert rows.loss(scores) == pytest.approx(problem.weights @ np.logaddexp(0.0, -margins), abs=ROUNDING)
    residual = -problem.weights * problem.labels / (1 + np.exp(margins))
    expected = np.append(residual.sum(), problem.columns.T @ residual)
    np.testing.assert_allclose(rows.gradient(scores), expected, atol=ROUNDING)
    np.testing.assert_allclose(rows.gradient(scores, np.array([1, 0])), expected[[1, 0]], atol=ROUNDING)


@pytest.mark.parametrize("kind", ["binary", "integer"])
@pytest.mark.parametrize("column", [INTERCEPT, 0, 1])
def test_looking_up_losses_is_computing_them(kind: str, column: int):
    problem = draw_problem(5, kind)
    rows = ScoreRows.of(problem)
    assert rows.integers is not None
    scores = rows.scores(coordinates(RiskScore(2, np.where(np.arange(problem.n_columns) == 1, problem.upper, 0))))
    steps = np.arange(-2, 3, dtype=np.int32)
    looked_up, computed = rows.card_losses_along(scores, column, steps), rows.losses_along(scores, column, steps)
    np.testing.assert_allclose(looked_up, computed, rtol=0, atol=ROUNDING)


def test_a_score_outside_the_table_is_refused():
    one, column = np.ones(1), np.array([3], dtype=np.int32)
    with pytest.raises(ValueError, match="table"):
        _native.axis_table_losses(one, one, column, column, np.array([1], dtype=np.int32), np.zeros(5), 0)


@pytest.mark.parametrize("seed", range(8))
def test_a_penalised_fit_is_stationary(seed: int):
    problem = binary_table(seed=seed, n=300, d=8)
    rows = ScoreRows.of(problem)
    deviation = problem.columns.std(axis=0)
    start, *models = regularisation_path(rows, problem, PathParameters(mixtures=(0.5,), n_penalties=6))
    largest = (np.abs(start.gradient[1:]) / deviation).max() / 0.5
    # Optimality in each coordinate: the slope of the loss is answered by the penalty, or by the box.
    for reg, model in zip(largest * np.geomspace(1, 1e-4, 6), models, strict=False):
        points, slope = model.point[1:], model.gradient[1:] + reg * 0.5 * deviation**2 * model.point[1:]
        price = reg * 0.5 * deviation
        inside = (points != 0) & (np.abs(points) < problem.upper)
        np.testing.assert_allclose(slope[inside], -np.sign(points[inside]) * price[inside], atol=2e-3 * largest)
        assert np.all(np.abs(slope[points == 0]) <= price[points == 0] + 2e-3 * largest)
        assert abs(model.gradient[0]) <= 2e-3


def test_an_elastic_step_solves_its_quadratic_programme():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(6, 6))
    H, g, start = A @ A.T, rng.normal(size=6), rng.normal(size=6) * 0.1
    l1, l2, lower, upper = rng.random(6), rng.random(6), np.full(6, -0.3), np.full(6, 0.4)
    x = _native.elastic_step(H, g, start, lower, upper, l1, l2, 1e-18, 10_000)
    slope = g + H @ (x - start) + l2 * x
    free = (x != 0) & (x > lower) & (x < upper)
    np.testing.assert_allclose(slope[free] + l1[free] * np.sign(x[free]), 0, atol=1e-8)
    assert np.all(np.abs(slope[x == 0]) <= l1[x == 0] + 1e-8)
    assert np.all(slope[x == lower] - l1[x == lower] >= -1e-8)
    assert np.all(slope[x == upper] + l1[x == upper] <= 1e-8)


@pytest.mark.parametrize("seed", range(10))
def test_no_single_change_improves_a_polished_card(seed: int):
    problem = draw_problem(seed, "mixed", ruled=True)
    rows = ScoreRows.of(problem)
    rng = np.random.default_rng(seed)
    draws = (RiskScore(int(rng.integers(-6, 7)), rng.integers(problem.lower, problem.upper + 1)) for _ in range(3000))
    start = next((card for card in draws if problem.admits(card)), None)
    assert (start is None) == (best_card(problem)[1] is None)
    if start is None:
        return
    card = polished(problem, rows, start)
    assert problem.admits(card)
    value = problem.objective(card)
    for at in range(problem.n_columns):
        for points in range(problem.lower[at], problem.upper[at] + 1):
            other = card.points.copy()
            other[at] = points
            changed = RiskScore(card.intercept, other)
            assert not problem.admits(changed) or problem.objective(changed) >= value - ROUNDING
    for intercept in range(problem.intercept_lower, problem.intercept_upper + 1):
        changed = RiskScore(intercept, card.points)
        assert not problem.admits(changed) or problem.objective(changed) >= value - ROUNDING


def test_rounding_keeps_to_the_limits():
    problem = binary_table(d=6, size=6)
    rounded = nearest(problem, np.array([-31.7, 2.4, -2.6, 0.4, -0.6, 9.0, 0.0]))
    np.testing.assert_array_equal(rounded.points, [2, -3, 0, -1, 3, 0])
    assert rounded.intercept == problem.intercept_lower
    stretched = rescaled(problem, np.array([0.5, 0.1, -0.2, 0.0, 0.06, 0.0, 0.0]))
    np.testing.assert_array_equal(stretched.points, [2, -3, 0, 1, 0, 0])
    assert stretched.intercept == 8


@pytest.mark.parametrize("seed", range(8))
def test_sequential_rounding_takes_the_cheapest_rounding_at_every_step(seed: int):
    problem = binary_table(seed=seed, n=200, d=5, size=5)
    rows = ScoreRows.of(problem)
    point = np.random.default_rng(seed).uniform(-2.5, 2.5, 6)
    x = point.copy()
    left = set(range(6))

    def objective(z: np.ndarray) -> float:
        margins = problem.labels * (problem.columns @ z[1:] + z[0])
        return float(problem.weights @ np.logaddexp(0.0, -margins) + problem.penalty * np.count_nonzero(z[1:]))

    while left:
        options = []
        for j in left:
            for whole in (np.floor(x[j]), np.ceil(x[j])):
                z = x.copy()
                z[j] = whole
                options.append((objective(z), j, whole))
        _, j, whole = min(options)
        x[j] = whole
        left.remove(j)
    card = sequential(problem, rows, point)
    np.testing.assert_array_equal(coordinates(card), x)


def test_sequential_rounding_gives_up_on_fits_with_too_many_large_points():
    problem = binary_table(d=6, size=2)
    rows = ScoreRows.of(problem)
    assert sequential(problem, rows, np.array([0.0, 1.5, 1.5, 1.5, 0, 0, 0]), most=2) is None
    assert sequential(problem, rows, np.array([0.0, 1.5, 1.5, 0.5, 0, 0, 0]), most=3) is not None


@pytest.mark.parametrize("kind", ["binary", "integer", "real"])
@pytest.mark.parametrize("seed", range(8))
def test_the_tangent_bounds_every_card(kind: str, seed: int):
    problem = draw_problem(seed, kind, weighted=True, ruled=seed % 2 == 0)
    best, _ = best_card(problem)
    rows = ScoreRows.of(problem)
    for point in np.random.default_rng(seed).normal(size=(20, problem.n_columns + 1)):
        scores = rows.scores(point)
        assert tangent_bound(problem, point, rows.loss(scores), rows.gradient(scores)) <= best


@pytest.mark.parametrize("name", ROUNDED)
@pytest.mark.parametrize("seed", range(3))
def test_baselines_stay_between_their_bounds(name: str, seed: int):
    problem = draw_problem(seed, ("binary", "integer", "real")[seed % 3], weighted=True)
    best, _ = best_card(problem)
    outcome = RoundedScore(name).solve(problem, SolveOptions(tolerance=0.0))
    assert problem.admits(outcome.primal)
    assert outcome.upper_bound == problem.objective(outcome.primal)
    assert outcome.lower_bound <= best <= outcome.upper_bound + ROUNDING
    rows = ScoreRows.of(problem)
    scores = rows.scores(outcome.dual.point)
    proven = tangent_bound(problem, outcome.dual.point, rows.loss(scores), rows.gradient(scores))
    assert outcome.lower_bound == pytest.approx(max(proven, 0.0), abs=ROUNDING)


@pytest.mark.parametrize("name", ["rd", "rsrd", "seqrd"])
@pytest.mark.parametrize("seed", range(2))
def test_polishing_never_hurts(name: str, seed: int):
    problem = binary_table(seed=seed, n=200, d=6, size=3)
    options = SolveOptions(tolerance=0.0)
    plain, star = RoundedScore(name).solve(problem, options), RoundedScore(name + "*").solve(problem, options)
    assert star.upper_bound <= plain.upper_bound
    assert star.lower_bound == plain.lower_bound


def test_rules_are_kept_and_impossible_ones_refused():
    problem = binary_table(n=300, d=6, size=3)
    kept = with_rules(problem, GroupRule((0, 1, 2), most=1), GroupRule((3, 4, 5), most=1))
    outcome = RoundedScore("seqrd*").solve(kept, SolveOptions(tolerance=0.0))
    assert kept.admits(outcome.primal)
    odd = with_rules(problem, LinearRule(np.zeros(6), lower=17.0, upper=17.0))
    with pytest.raises(UnsupportedProblemError, match=r"obeys size and rules.*exact"):
        RoundedScore("rd").solve(odd, SolveOptions(tolerance=0.0))


def test_no_time_gives_the_first_card_with_a_valid_bound():
    problem = binary_table(n=300, d=6, size=3)
    outcome = RoundedScore("rd").solve(problem, SolveOptions(tolerance=0.0, time_limit=0.0))
    assert outcome.status is Status.TIME_LIMIT
    assert outcome.iterations == 1
    assert 0 <= outcome.lower_bound <= outcome.upper_bound


def test_progress_tells_of_every_better_card_and_may_end_the_run():
    told = []
    problem = binary_table(n=300, d=6, size=3)
    outcome = RoundedScore("seqrd").solve(problem, SolveOptions(tolerance=0.0, on_progress=told.append))
    assert tuple(told) == outcome.history
    assert [line.upper_bound for line in told] == sorted((line.upper_bound for line in told), reverse=True)
    assert told[-1].upper_bound == outcome.upper_bound


def test_an_interrupt_leaves_the_best_card():
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    problem = binary_table(n=300, d=6)
    with pytest.raises(SolveInterrupted, match="none is below") as caught:
        RoundedScore("rd").solve(problem, SolveOptions(tolerance=0.0, on_progress=interrupt))
    outcome = caught.value.outcome
    assert outcome.status is Status.INTERRUPTED
    assert outcome.upper_bound == problem.objective(outcome.primal)


def test_robust_problems_are_refused():
    problem = binary_table(n=50, d=3)
    shift = ScoreShift(0.1, np.ones(3), np.ones(3, dtype=bool))
    assert "robust" in RoundedScore("rd").refuses(replace(problem, shift=shift))
    assert "free scale" in RoundedScore("rd").refuses(replace(problem, scale="free"))
    assert RoundedScore("rd").refuses(problem) is None


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="'seqrd'"):
        RoundedScore("round")


@pytest.mark.parametrize("name", ROUNDED)
def test_baselines_are_known_by_name(name: str):
    assert make_score_solver(name).name == name
