"""The heuristic at a free scale: cards that are what they claim to be, and about as good as the best."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InfeasibleProblemError
from surefoot.riskscore.problem.card_rules import GroupRule, PointSetRule
from surefoot.riskscore.problem.problem import RiskScoreProblem
from surefoot.riskscore.search.exact_score import ExactScore
from surefoot.riskscore.search.heuristic_score import HeuristicScore
from surefoot.riskscore.search.native_search import search_cards


def _problem(
    seed: int, *, steps: int = 1, kind: str = "binary", rows: int = 120, columns: int = 6, size: int = 3
) -> RiskScoreProblem:
    generator = np.random.default_rng(seed)
    table = generator.normal(size=(rows, columns)) if kind == "real" else generator.integers(0, 2, size=(rows, columns)) * 1.0
    truth = generator.normal(size=columns) * 1.5
    labels = np.where(table @ truth - 0.4 + generator.logistic(size=rows) > 0, 1.0, -1.0)
    limits = np.full(columns, 5)
    return RiskScoreProblem(
        table * steps, labels, np.full(rows, 1 / rows), -limits, limits, -50 * steps, 50 * steps, size, 1e-8,
        scale="free", multipliers=(0.2 * steps, 20.0 * steps),
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["binary", "real"])
@pytest.mark.parametrize("steps", [1, 64])
@pytest.mark.parametrize("seed", range(4))
def test_a_free_scale_card_is_admissible_and_nearly_the_best(seed: int, steps: int, kind: str) -> None:
    problem = _problem(seed, steps=steps, kind=kind)
    outcome = HeuristicScore().solve(problem, SolveOptions(tolerance=0.0, time_limit=10.0))
    assert problem.admits(outcome.primal)
    assert outcome.upper_bound == pytest.approx(problem.objective(outcome.primal), rel=1e-9)
    assert outcome.lower_bound <= outcome.upper_bound
    # The best card with whole intercepts is one of those with fractions of a point, so both must come close to it.
    best = ExactScore().solve(_problem(seed, kind=kind), SolveOptions(tolerance=0.0))
    assert outcome.upper_bound <= best.upper_bound * (1 + 2e-3)
    if steps == 1:
        assert outcome.upper_bound >= best.upper_bound * (1 - 1e-9)


@pytest.mark.parametrize("rare", [0.5, 0.2, 0.001])
@pytest.mark.parametrize("multipliers", [(0.2, 20.0), (3.0, 3.5), (0.01, 0.011)])
@pytest.mark.parametrize("reach", [1, 50])
def test_a_free_scale_card_without_columns_has_the_best_of_all_intercepts(
    rare: float, multipliers: tuple[float, float], reach: int
) -> None:
    weights = np.array([1 - rare, rare])
    problem = RiskScoreProblem(
        np.array([[0.0], [1.0]]), np.array([-1.0, 1.0]), weights, np.array([-5]), np.array([5]), -reach, reach, 0,
        scale="free", multipliers=multipliers,
    )  # fmt: skip
    outcome = ExactScore().solve(problem, SolveOptions(tolerance=0.0))
    # Every score b / m within reach, on a grid that holds both ends of each range.
    scores = np.arange(-reach, reach + 1)[:, None] / np.linspace(*multipliers, 4001)
    losses = (1 - rare) * np.logaddexp(0, scores) + rare * np.logaddexp(0, -scores)
    assert outcome.upper_bound <= losses.min() * (1 + 1e-9)
    assert outcome.upper_bound >= losses.min() * (1 - 1e-3)
    assert problem.admits(outcome.primal)


def test_rules_that_exchanges_do_not_meet_are_left_to_the_search() -> None:
    """A column with one value only, and numbers that are not 0/1: the heuristic alone found no card, and said so too early."""
    rng = np.random.default_rng(0)
    X, y = rng.random((6, 2)).round(3), np.array([1.0, -1, 1, -1, -1, 1])
    rules = (GroupRule((0, 1), least=1), PointSetRule(1, (-4,)))
    problem = RiskScoreProblem(X, y, np.full(6, 1 / 6), np.array([-3, -4]), np.full(2, 3), -5, 5, 2, 72.0, rules)
    card = HeuristicScore().solve(problem, SolveOptions()).primal
    assert problem.admits(card)
    assert card.points[1] == -4
    none = (*rules, GroupRule((1,), most=0))
    impossible = RiskScoreProblem(X, y, np.full(6, 1 / 6), np.array([-3, -4]), np.full(2, 3), -5, 5, 2, 72.0, none)
    with pytest.raises(InfeasibleProblemError, match="no score card obeys the rules"):
        HeuristicScore().solve(impossible, SolveOptions())


@pytest.mark.parametrize("scale", ["unit", "free"])
def test_a_larger_limit_of_columns_never_gives_a_worse_first_card(scale: Literal["unit", "free"]) -> None:
    """Longer supports have better fits, but whole points of unit scale do not follow them: smaller cards were not met."""
    for seed in range(16, 27):
        generator = np.random.default_rng(seed)
        measured = generator.normal(size=(400, 3))
        cuts = np.quantile(measured, np.linspace(0.1, 0.9, 5), axis=0)
        table = np.hstack([(measured[:, [k]] >= cuts[:, k]) * 1.0 for k in range(3)])
        labels = np.where(generator.random(400) < 1 / (1 + np.exp(-measured @ generator.normal(size=3) * 0.8)), 1.0, -1.0)
        limits = np.full(15, 5)
        values = [
            search_cards(
                RiskScoreProblem(table, labels, np.full(400, 1 / 400), -limits, limits, -20, 20, size, 1e-8, scale=scale),
                SolveOptions(),
                seconds=60.0,
            ).heuristic_value
            for size in range(1, 6)
        ]
        assert values == sorted(values, reverse=True)
