"""Levels that one coefficient serves are merged; models and plans of the smaller problem are those of the problem."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from problem_bank import draw_problem
from reference import worst_case as reference

from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.robust.scaling import merged_levels
from surefoot.robust.scaling.merged_levels import MergedLevels
from surefoot.robust.scaling.standard_rows import StandardRows
from surefoot.robust.sqp.sqp import SQP

OPTIONS = SolveOptions(tolerance=1e-8)


@pytest.fixture(autouse=True)
def merged_at_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merged_levels, "LEAST_SAVED", 1)


def rare_levels(seed: int, **changes: Any) -> RobustLogisticProblem:
    """Two features with about three rows a level, some levels without any row, and rows without weight."""
    problem = draw_problem(seed, rows=50, numeric=1, levels=(24, 20), **changes)
    weights = np.where(np.random.default_rng((seed, 5)).random(50) < 0.1, 0.0, problem.weights)
    return replace(problem, weights=weights / weights.sum())


def unmerged(problem: RobustLogisticProblem, monkeypatch: pytest.MonkeyPatch) -> Any:
    with monkeypatch.context() as patch:
        patch.setattr(merged_levels, "LEAST_SAVED", 10**9)
        return SQP().solve(problem, OPTIONS)


SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "no_intercept": {"fit_intercept": False},
    "l2": {"norm": "l2"},
    "linf": {"norm": "linf"},
    "ranges": {"ranged": 1},
    "labels_flip": {"label_weight": 0.7},
    "tiny_radius": {"radius": 1e-4},
    "large_radius": {"radius": 0.3},
    "no_radius": {"radius": 0.0},
}


@pytest.mark.parametrize("setting", [name for name in SETTINGS if name != "no_radius"])
@pytest.mark.parametrize("seed", [1])
def test_the_optimum_of_merged_levels_is_that_of_all(setting: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = rare_levels(seed, **SETTINGS[setting])
    standard = StandardRows.of(problem)
    assert standard.levels is not None and standard.problem.n_levels.sum() < problem.n_levels.sum()
    merged, whole = SQP().solve(problem, OPTIONS), unmerged(problem, monkeypatch)
    assert merged.status is Status.OPTIMAL
    assert merged.upper_bound == pytest.approx(whole.upper_bound, rel=1e-7)
    assert merged.upper_bound == pytest.approx(reference.objective(problem, merged.primal), rel=1e-9)
    certificate = certify_robust_logistic(problem, merged.primal, merged.dual, 1e-6)
    assert certificate.verified, certificate.claim


@pytest.mark.parametrize("setting", SETTINGS)
def test_only_levels_of_one_label_or_without_rows_are_merged(setting: str) -> None:
    problem = rare_levels(3, **SETTINGS[setting])
    levels = MergedLevels.of(problem)
    assert levels is not None
    weighted, flips = problem.weights > 0, setting in ("labels_flip", "no_radius")
    for l, first in enumerate(problem.level_offsets[:-1]):
        groups = levels.groups[first : problem.level_offsets[l + 1]]
        held = [set(problem.labels[weighted & (problem.codes[:, l] == c)].tolist()) for c in range(groups.size)]
        for group in np.unique(groups):
            members = [c for c in np.flatnonzero(groups == group).tolist() if held[c]]
            assert len(members) <= 1 or (not flips and len(set.union(*(held[c] for c in members))) == 1)
        if not problem.fit_intercept:  # its coefficient is 0
            assert [c for c in np.flatnonzero(groups == groups[0]).tolist() if held[c] and c] == []
        # The reference level leads the first group, and no two groups could be one.
        assert groups[0] == groups.min()
        kept = sum(len(labels) == 2 or (flips and bool(labels)) for labels in held)
        assert np.unique(groups).size <= kept + (1 if flips else 3)


def test_columns_whose_prices_are_infinite_keep_their_levels() -> None:
    problem = rare_levels(4)
    kept = replace(problem, cost=replace(problem.cost, categorical_weights=np.array([np.inf, 1.0])))
    both, second = MergedLevels.of(problem), MergedLevels.of(kept)
    assert both is not None and second is not None
    assert second.n_levels[0] > both.n_levels[0] and second.n_levels[1] == both.n_levels[1]
    # The same rows at these prices are presolved anew.
    assert StandardRows.of(problem).posed_as(kept) is None
    assert StandardRows.of(problem).posed_as(replace(problem, radius=0.2)) is not None


def test_a_path_over_merged_levels_starts_from_its_last_answer() -> None:
    solver, problem = SQP(), rare_levels(5)
    first = solver.solve(problem, OPTIONS)
    second = solver.solve(problem.priced(problem.cost, 0.04), OPTIONS, first.primal)
    fresh = SQP().solve(replace(problem, radius=0.04), OPTIONS)
    assert second.upper_bound == pytest.approx(fresh.upper_bound, rel=1e-7)
    np.testing.assert_allclose(second.primal.numeric, fresh.primal.numeric, atol=1e-6)


def test_small_tables_are_left_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert StandardRows.of(rare_levels(1)).levels is None
