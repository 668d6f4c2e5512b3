"""Time limits of score cards: kept by search, baselines and certificate, and by whoever names rules that contradict."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from reference.drawn_score import binary_table

from surefoot import RiskScoreClassifier
from surefoot import constraints as sc
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InfeasibleProblemError
from surefoot.riskscore.baselines.merged_rows import ScoreRows
from surefoot.riskscore.baselines.regularisation_path import PenalisedFit, regularisation_path
from surefoot.riskscore.baselines.rounded_score import RoundedScore
from surefoot.riskscore.baselines.rounding import nearest, sequential
from surefoot.riskscore.estimator.parameters import FitParameters
from surefoot.riskscore.estimator.posed_card import PosedCard
from surefoot.riskscore.lattice.cpa import CPA
from surefoot.riskscore.lattice.lcpa import LCPA
from surefoot.riskscore.problem.card_rules import GroupRule
from surefoot.riskscore.registry import RiskScoreSolver

LIMIT = 0.3
# A loaded machine may take a second more; what ran on beyond the limit took as long as it liked.
MARGIN = 2.5


def drawn(n: int, d: int, real: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, d)).round(6) if real else (rng.random((n, d)) < 0.4).astype(float)
    score = X[:, :6] @ rng.normal(size=6)
    return X, rng.random(n) < 1 / (1 + np.exp(-score + score.mean()))


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize(
    "settings",
    [
        {"radius": 0.05},
        {"radius": 0.05, "scale": "free"},
        {"radius": 0.05, "scale": "free", "max_features": 8, "max_points": 40},
        {"radius": 0.05, "scale": "free", "solver": "heuristic"},
        {"near_optimal": 0.2, "scale": "free"},
        {"solver": "lcpa"},
        {"solver": "cpa"},
        {"solver": "seqrd*"},
        {"constraints": [sc.FalsePositiveRate(0.2), sc.TruePositiveRate(0.3), sc.MinFeatures(2)]},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::surefoot.exceptions.ConvergenceLimitWarning")
def test_a_fit_ends_soon_after_its_limit(real: bool, settings: dict[str, Any]):
    X, y = drawn(4000, 30, real)
    started = time.perf_counter()
    model = RiskScoreClassifier(time_limit=LIMIT, **settings).fit(X, y)
    assert time.perf_counter() - started < LIMIT + MARGIN
    assert np.isfinite(model.certificate_.upper_bound)


def test_the_search_leaves_time_for_judging_its_card():
    parameters = FitParameters(judging_seconds=1e-7, judging_fraction=0.25)
    assert parameters.search_limit(10.0, 2_000_000) == pytest.approx(9.8)
    assert parameters.search_limit(0.4, 2_000_000) == pytest.approx(0.3)


def test_rules_are_compared_in_what_is_left_of_the_time(monkeypatch: pytest.MonkeyPatch):
    """Naming the rules that contradict each other is no reason to go on after the limit."""
    X, y = drawn(400, 12, real=True)
    given: list[float] = []
    for name in ("require_consistent", "explain"):
        whole = getattr(PosedCard, name)

        def noted(posed: PosedCard, seconds: float, whole: Any = whole) -> None:
            given.append(seconds)
            whole(posed, seconds)

        monkeypatch.setattr(PosedCard, name, noted)
    rules = [sc.FalsePositiveRate(0.0), sc.TruePositiveRate(0.999), sc.MinFeatures(3)]
    with pytest.raises(InfeasibleProblemError, match=r"(?s)time given.*The rules are"):
        RiskScoreClassifier(constraints=rules, time_limit=0.02).fit(X, y)
    assert len(given) == 2
    assert max(given) <= 0.02


@pytest.mark.parametrize("solver", [CPA(), LCPA(tree="own"), LCPA(), RoundedScore("seqrd*")], ids=lambda solver: solver.name)
def test_without_time_there_is_the_card_without_columns_or_an_error(solver: RiskScoreSolver):
    problem = binary_table(n=200, d=8, size=3)
    outcome = solver.solve(problem, SolveOptions(time_limit=0.0))
    assert problem.admits(outcome.primal)
    ruled = replace(problem, rules=(GroupRule(tuple(range(8)), least=3, most=8),))
    with pytest.raises(InfeasibleProblemError, match="in the time given"):
        solver.solve(ruled, SolveOptions(time_limit=0.0))


def test_relaxations_have_no_more_time_than_is_left(monkeypatch: pytest.MonkeyPatch):
    solver, given = LCPA(tree="own"), []
    begin = solver._begin

    def noted(*arguments: Any) -> Any:
        run = begin(*arguments)
        solve = run.master.programme.solve

        def limited(*, seconds: float, **more: Any) -> Any:
            given.append(seconds)
            return solve(seconds=seconds, **more)

        monkeypatch.setattr(run.master.programme, "solve", limited)
        return run

    monkeypatch.setattr(solver, "_begin", noted)
    solver.solve(binary_table(n=500, d=20, size=4), SolveOptions(time_limit=0.5))
    assert given
    assert max(given) <= 0.5


def test_a_stopped_fit_takes_no_further_step_and_a_stopped_rounding_is_to_the_nearest():
    problem = binary_table(n=300, d=10, size=4)
    rows = ScoreRows.of(problem)
    empty = PenalisedFit(rows, problem).empty()
    left = 2

    def stopped() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    free = PenalisedFit(rows, problem).fit(empty)
    held = PenalisedFit(rows, problem, stopped=stopped).fit(empty)
    assert left == -1
    assert free.loss < held.loss < empty.loss
    at_once = list(regularisation_path(rows, problem, stopped=lambda: True))
    assert all(np.array_equal(model.point, empty.point) for model in at_once)
    halfway = 0.6 * free.point
    card = sequential(problem, rows, halfway, stopped=lambda: True)
    assert np.array_equal(card.points, nearest(problem, halfway).points)
    assert not np.array_equal(card.points, sequential(problem, rows, halfway).points)


def test_the_search_leaves_a_part_of_the_gap_to_rounding():
    parameters = FitParameters()
    assert parameters.search_gap(0.0) == 0.0
    assert 0.8e-6 < parameters.search_gap(1e-6) <= 1e-6 - 4e-8
    assert 0.05 - 1e-7 <= parameters.search_gap(0.05) < 0.05
