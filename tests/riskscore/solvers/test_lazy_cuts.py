"""Cuts inside the tree of SCIP against complete enumeration and the exact search, and their manners under limits."""

from __future__ import annotations

import signal
import threading
from dataclasses import replace

import numpy as np
import pytest
from reference.enumerated_score import best_card
from reference.random_scores import binary_table, draw_problem

from surefoot.core.outcome import Progress, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InfeasibleProblemError, SolveInterrupted
from surefoot.riskscore.lattice.cut_run import RESOLUTION, CutOutcome
from surefoot.riskscore.lattice.lcpa import LCPA, scip_is_there
from surefoot.riskscore.problem.card_rules import CardRule, GroupRule, PointSetRule, RateRule, SignRule
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.search.exact_score import ExactScore

pytestmark = pytest.mark.skipif(not scip_is_there(), reason="pyscipopt, the extra 'scip', is not installed")


def solve(problem: RiskScoreProblem, **options: object) -> CutOutcome:
    return LCPA(tree="scip").solve(problem, SolveOptions(**{"tolerance": 0.0, **options}))


def assert_best(problem: RiskScoreProblem) -> None:
    value, card = best_card(problem)
    if card is None:
        with pytest.raises(InfeasibleProblemError, match="rules"):
            solve(problem)
        return
    outcome = solve(problem)
    assert outcome.status is Status.OPTIMAL
    assert outcome.dual.tree == "scip"
    assert problem.admits(outcome.primal)
    assert outcome.upper_bound == problem.objective(outcome.primal)
    assert value - 1e-12 <= outcome.upper_bound <= value + 2 * RESOLUTION
    assert value - 2 * RESOLUTION <= outcome.lower_bound <= value
    assert ExactScore().solve(problem, SolveOptions(tolerance=0.0)).upper_bound == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("kind", ["binary", "integer", "real", "mixed"])
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("ruled", [False, True])
def test_agrees_with_enumeration(kind: str, seed: int, ruled: bool):
    assert_best(draw_problem(seed, kind, weighted=seed % 2 == 0, ruled=ruled))


@pytest.mark.parametrize("kind", ["binary", "integer"])
@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_enumeration_under_lists_signs_and_rates(kind: str, seed: int):
    problem = draw_problem(seed, kind)
    lists: tuple[CardRule, ...] = (PointSetRule(0, (-2, 0, int(problem.upper[0]))), SignRule((0, 1)))
    rates: tuple[CardRule, ...] = (RateRule(-1.0, upper=0.3), GroupRule((1,), least=1))
    for rules in (lists, rates):
        assert_best(replace(problem, rules=rules))


def test_cuts_matter_even_without_a_good_first_card():
    """A first card as good as any would hide a tree that never cuts: a tree from the worst card must find the best."""
    problem = binary_table(seed=3, n=300, d=8, size=3)
    best = ExactScore().solve(problem, SolveOptions(tolerance=0.0)).upper_bound
    poor = RiskScore(20, np.zeros(problem.n_columns, dtype=np.int32))
    outcome = LCPA(poor, tree="scip").solve(problem, SolveOptions(tolerance=0.0))
    assert outcome.status is Status.OPTIMAL
    assert outcome.upper_bound == pytest.approx(best, abs=2 * RESOLUTION)
    assert outcome.dual.cuts > 30


@pytest.mark.parametrize("limit", [{"time_limit": 0.0}, {"time_limit": 0.4}, {"max_iter": 2}])
def test_a_limit_leaves_a_card_and_a_valid_bound(limit: dict[str, float]):
    problem = binary_table(seed=1, n=500, d=14, size=5)
    best = ExactScore().solve(problem, SolveOptions(tolerance=0.0)).upper_bound
    outcome = solve(problem, **limit)
    assert outcome.status is (Status.ITERATION_LIMIT if "max_iter" in limit else Status.TIME_LIMIT)
    assert problem.admits(outcome.primal)
    assert outcome.lower_bound <= best <= outcome.upper_bound + 1e-12


def test_a_gap_is_kept():
    problem = binary_table(seed=2, n=300, d=8, size=3)
    best = ExactScore().solve(problem, SolveOptions(tolerance=0.0)).upper_bound
    loose = solve(problem, tolerance=0.05)
    assert loose.status is Status.OPTIMAL
    assert loose.lower_bound <= best <= loose.upper_bound + 1e-12
    assert loose.upper_bound - loose.lower_bound <= 0.05 * loose.upper_bound + 2 * RESOLUTION


def test_ctrl_c_leaves_the_best_card_and_a_valid_bound():
    problem = binary_table(n=2000, d=30, size=6)
    timer = threading.Timer(3.0, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(SolveInterrupted, match="none is below") as caught:
        solve(problem, time_limit=60.0)
    timer.join()
    outcome = caught.value.outcome
    assert outcome.status is Status.INTERRUPTED
    assert outcome.seconds < 30
    assert 0 <= outcome.lower_bound <= outcome.upper_bound == problem.objective(outcome.primal)


def test_what_a_listener_raises_reaches_the_caller():
    def complain(progress: Progress) -> None:
        raise RuntimeError("no room")

    with pytest.raises(RuntimeError, match="no room"):
        solve(binary_table(n=1000, d=14, size=5), on_progress=complain)


def test_bounds_only_get_better():
    told: list[Progress] = []
    solve(binary_table(n=400, d=10, size=4), on_progress=told.append)
    assert [line.lower_bound for line in told] == sorted(line.lower_bound for line in told)
    assert [line.upper_bound for line in told] == sorted((line.upper_bound for line in told), reverse=True)


def test_the_tree_of_scip_is_taken_where_it_is_installed():
    assert LCPA().tree == "scip"


def test_an_error_of_scip_leaves_the_problem_to_our_own_tree(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("pyscipopt")
    from surefoot.core.backends import scip

    problem = binary_table(n=60, d=5, size=2)
    best, _ = best_card(problem)

    def broken(*_: object, **__: object) -> None:
        raise Exception("SCIP: error in LP solver!")

    monkeypatch.setattr(scip.LazyProgramme, "solve", broken)
    outcome = LCPA(tree="scip").solve(problem, SolveOptions(tolerance=1e-6))
    assert outcome.upper_bound == pytest.approx(best, abs=1e-9)

    def other(*_: object, **__: object) -> None:
        raise ValueError("of the caller")

    monkeypatch.setattr(scip.LazyProgramme, "solve", other)
    with pytest.raises(ValueError, match="of the caller"):
        LCPA(tree="scip").solve(problem, SolveOptions(tolerance=1e-6))
