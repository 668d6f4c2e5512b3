"""The exact search for robust score cards of free scale; complete enumeration of them is in ``test_score_agreement``, too."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from reference.enumerated_robust_score import robust_losses
from reference.enumerated_scaled_robust_score import best_scaled_robust_card, scaled_robust_cards

from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.riskscore.problem.card_rules import LinearRule
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.problem.score_shift import ScoreShift
from surefoot.riskscore.search.exact_score import ExactScore, ScoreOutcome
from surefoot.riskscore.search.heuristic_score import HeuristicScore

# The reference finds price and multiplier by the golden section, to about this much of the loss.
ROUNDING = 1e-11


def solve(problem: RiskScoreProblem, solver: ExactScore | None = None, **options: object) -> ScoreOutcome:
    return (solver or ExactScore()).solve(problem, SolveOptions(**{"tolerance": 0.0, **options}))


def table(seed: int = 0, n: int = 300, d: int = 9, size: int = 3, label_price: float = np.inf) -> RiskScoreProblem:
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < rng.uniform(0.2, 0.8, d)).astype(float)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-(X @ rng.normal(size=d)))), 1.0, -1.0)
    shift = ScoreShift(0.02, np.ones(d), np.ones(d, dtype=bool), label_price)
    return RiskScoreProblem(
        X, y, np.full(n, 1 / n), np.full(d, -3), np.full(d, 3), -20, 20, size, 1e-8, (), shift, "free", (0.6, 20.0)
    )


def test_a_free_scale_is_no_worse_than_any_fixed_one():
    problem = table()
    free, unit = solve(problem), solve(dataclasses.replace(problem, scale="unit"))
    assert free.upper_bound < unit.upper_bound
    for multiplier in (0.6, 1.0, 2.0):
        assert problem.objective(dataclasses.replace(unit.primal, multiplier=multiplier)) >= free.upper_bound
    near = free.primal.multiplier * np.array([0.999, 1.001])
    assert all(problem.objective(dataclasses.replace(free.primal, multiplier=m)) > free.upper_bound for m in near)


def test_a_radius_that_vanishes_leaves_the_plain_card():
    problem = table()
    assert problem.shift is not None
    plain = solve(dataclasses.replace(problem, shift=None))
    tiny = solve(dataclasses.replace(problem, shift=dataclasses.replace(problem.shift, radius=1e-9)))
    assert plain.upper_bound < tiny.upper_bound < plain.upper_bound + 1e-7
    np.testing.assert_array_equal(plain.primal.points, tiny.primal.points)


def test_a_narrow_range_of_multipliers_is_met_at_its_end():
    problem = dataclasses.replace(table(), multipliers=(1.0, 1.0 + 1e-9))
    unit = solve(dataclasses.replace(problem, scale="unit"))
    assert solve(problem).upper_bound == pytest.approx(unit.upper_bound, abs=1e-8)


@pytest.mark.parametrize("label_price", [np.inf, 1.0])
def test_bit_counts_and_row_groups_and_threads_find_the_same_card(label_price: float):
    problem = table(seed=3, label_price=label_price)
    weights = problem.weights * (1 + 1e-13 * np.arange(problem.n_rows))
    grouped = dataclasses.replace(problem, weights=weights / weights.sum())
    first, *others = solve(problem), solve(grouped), solve(problem, n_threads=2)
    for other in others:
        assert other.primal.intercept == first.primal.intercept
        np.testing.assert_array_equal(other.primal.points, first.primal.points)
        assert other.upper_bound == pytest.approx(first.upper_bound, abs=1e-12)


@pytest.mark.parametrize("label_price", [np.inf, 1.0, 0.2])
@pytest.mark.parametrize("rare", [0.5, 0.2, 0.03])
def test_a_card_without_columns_has_the_best_of_all_intercepts(rare: float, label_price: float):
    """Where labels may change, the best score is not the log odds of the labels as they are."""
    shift = ScoreShift(0.05, np.ones(1), np.ones(1, dtype=bool), label_price)
    problem = RiskScoreProblem(
        np.array([[0.0], [1.0]]), np.array([-1.0, 1.0]), np.array([1 - rare, rare]), np.array([-5]), np.array([5]), -4, 4, 0,
        shift=shift, scale="free", multipliers=(0.3, 9.0),
    )  # fmt: skip
    scores = np.unique(np.arange(-4, 5)[:, None] / np.linspace(0.3, 9.0, 1001))
    least = robust_losses(problem, np.column_stack([scores, np.zeros(scores.size)])).min()
    assert least - 1e-5 <= solve(problem).upper_bound <= least + ROUNDING


@pytest.mark.parametrize("ruled", [False, True])
@pytest.mark.parametrize("kind", ["binary", "mixed"])
@pytest.mark.parametrize("seed", range(2))
def test_near_optimal_cards_are_all_there_are(kind: str, ruled: bool, seed: int):
    problem = table(seed, n=15, d=3, size=2, label_price=2.0)
    X, flips = problem.columns.copy(), np.array([kind == "binary", True, True])
    X[:, 0] += 0.5 * (kind == "mixed") * np.arange(15) / 15
    problem = dataclasses.replace(
        problem, columns=X, lower=np.full(3, -2), upper=np.full(3, 2), intercept_lower=-3, intercept_upper=3,
        shift=ScoreShift(0.05, np.array([1.0, 0.7, 1.4]), flips, 2.0),
        rules=(LinearRule(np.array([1.0, 0.0, 1.0]), lower=-0.4, upper=0.9),) if ruled else (),
    )  # fmt: skip
    listed = solve(problem, ExactScore(near_optimal=0.15)).dual.near_optimal
    assert listed is not None and listed.complete
    values = {(c.intercept, *c.points.tolist()): value for value, c in scaled_robust_cards(problem, 0.15)}
    found = {
        (int(b), *p.tolist()): (value, m)
        for value, b, p, m in zip(listed.objectives, listed.intercepts, listed.points, listed.multipliers, strict=True)
    }
    assert len(found) == listed.n_found > 3 and found.keys() <= values.keys()
    for card, (value, multiplier) in found.items():
        assert value == pytest.approx(values[card], abs=ROUNDING)
        shown = RiskScore(card[0], np.array(card[1:], dtype=np.int32), float(multiplier))
        assert problem.admits(shown) and problem.objective(shown) == pytest.approx(value, abs=1e-12)
    # Those left out are multiples of smaller ones that are as good.
    for card in values.keys() - found.keys():
        assert any(
            all(entry % k == 0 for entry in card)
            and values.get(tuple(entry // k for entry in card), np.inf) <= values[card] + ROUNDING
            for k in (2, 3)
        )


def test_the_heuristic_returns_an_admissible_card_near_the_best_and_a_bound():
    for seed in range(3):
        problem = table(seed)
        outcome = HeuristicScore().solve(problem, SolveOptions(tolerance=0.0, time_limit=10.0))
        assert problem.admits(outcome.primal)
        assert outcome.upper_bound == pytest.approx(problem.objective(outcome.primal), abs=1e-12)
        best = solve(problem).upper_bound
        assert best - ROUNDING <= outcome.upper_bound <= best * (1 + 5e-3)
        assert outcome.lower_bound <= best + ROUNDING


def test_a_stopped_search_has_a_card_and_a_bound_that_hold(tmp_path: Path):
    problem = table(seed=1, d=14, size=5)
    best = solve(problem)
    assert best.status is Status.OPTIMAL
    checkpoint = tmp_path / "search"
    stopped = solve(problem, ExactScore(checkpoint=checkpoint), time_limit=0.05)
    assert stopped.lower_bound <= best.upper_bound <= stopped.upper_bound
    assert stopped.upper_bound == pytest.approx(problem.objective(stopped.primal), abs=1e-12)
    resumed = solve(problem, ExactScore(checkpoint=checkpoint))
    assert resumed.upper_bound == best.upper_bound
    np.testing.assert_array_equal(resumed.primal.points, best.primal.points)


def test_a_column_of_zeros_that_can_be_flipped_gets_no_points():
    """An adversary alone could make use of it."""
    problem = table(n=40, d=3)
    X = problem.columns.copy()
    X[:, 1] = 0.0
    problem = dataclasses.replace(
        problem, columns=X, lower=np.full(3, -2), upper=np.full(3, 2), intercept_lower=-3, intercept_upper=3
    )
    outcome = solve(problem)
    assert outcome.primal.points[1] == 0
    assert outcome.upper_bound == pytest.approx(best_scaled_robust_card(problem)[0], abs=ROUNDING)
