"""Cutting planes against complete enumeration and the exact search, and their manners under limits."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from reference.enumerated_score import best_card
from reference.random_scores import binary_table, draw_problem

from surefoot.core.backends.highs import LinearProgramme, LinearResult
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InfeasibleProblemError, SolveInterrupted
from surefoot.riskscore.lattice import lcpa
from surefoot.riskscore.lattice.cpa import CPA
from surefoot.riskscore.lattice.cut_run import RESOLUTION, CutRun
from surefoot.riskscore.lattice.cut_tree import CutTree
from surefoot.riskscore.lattice.lattice_run import LatticeRun
from surefoot.riskscore.lattice.parameters import CutParameters
from surefoot.riskscore.problem.card_rules import CardRule, GroupRule, LinearRule, PointSetRule, RateRule, SignRule
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.problem.score_shift import ScoreShift
from surefoot.riskscore.registry import make_score_solver
from surefoot.riskscore.search.card_program import has_card
from surefoot.riskscore.search.exact_score import ExactScore

# Here the tree is our own; tests/riskscore/solvers/test_lazy_cuts.py is about that of SCIP.
LCPA = partial(lcpa.LCPA, tree="own")
KINDS = ("binary", "integer", "real", "mixed")
SOLVERS = (CPA, LCPA)


def changed(problem: RiskScoreProblem, rules: tuple[CardRule, ...] = (), shift: ScoreShift | None = None) -> RiskScoreProblem:
    return RiskScoreProblem(
        problem.columns, problem.labels, problem.weights, problem.lower, problem.upper, problem.intercept_lower,
        problem.intercept_upper, problem.max_features, problem.penalty, rules, shift,
    )  # fmt: skip


def assert_best(problem: RiskScoreProblem) -> None:
    """All four agree: enumeration, exact search, cpa and lcpa."""
    value, card = best_card(problem)
    options = SolveOptions(tolerance=0.0)
    for solver in SOLVERS:
        assert solver().refuses(problem) is None
        if card is None:
            with pytest.raises(InfeasibleProblemError, match="rules"):
                solver().solve(problem, SolveOptions(tolerance=0.0))
            continue
        outcome = solver().solve(problem, SolveOptions(tolerance=0.0))
        assert outcome.status is Status.OPTIMAL
        assert problem.admits(outcome.primal)
        assert outcome.upper_bound == problem.objective(outcome.primal)
        assert value - 1e-12 <= outcome.upper_bound <= value + 2 * RESOLUTION
        assert value - 2 * RESOLUTION <= outcome.lower_bound <= value
    if card is not None:
        assert ExactScore().solve(problem, options).upper_bound == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(8))
def test_agree_with_enumeration_with_weights(kind: str, seed: int):
    assert_best(draw_problem(seed, kind, weighted=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(10, 19))
def test_agree_with_enumeration_under_rules(kind: str, seed: int):
    assert_best(draw_problem(seed, kind, weighted=seed % 2 == 0, ruled=True))


@pytest.mark.parametrize("kind", ["binary", "integer"])
@pytest.mark.parametrize("seed", range(4))
def test_agree_with_enumeration_under_lists_signs_and_rates(kind: str, seed: int):
    problem = draw_problem(seed, kind)
    listed = PointSetRule(0, (-2, 0, int(problem.upper[0])))
    for rules in ((listed, SignRule((0, 1))), (RateRule(-1.0, upper=0.3), GroupRule((1,), least=1))):
        assert_best(changed(problem, rules))


@pytest.mark.parametrize("seed", range(3))
def test_lcpa_agrees_with_the_exact_search_on_more_columns(seed: int):
    problem = binary_table(seed=seed, n=300, d=8, size=3)
    best = ExactScore().solve(problem, SolveOptions(tolerance=0.0)).upper_bound
    outcome = LCPA().solve(problem, SolveOptions(tolerance=0.0))
    assert outcome.status is Status.OPTIMAL
    assert outcome.upper_bound == pytest.approx(best, abs=2 * RESOLUTION)


def test_a_gap_is_kept():
    problem = binary_table(seed=2, n=300, d=8, size=3)
    best = ExactScore().solve(problem, SolveOptions(tolerance=0.0)).upper_bound
    loose = LCPA().solve(problem, SolveOptions(tolerance=0.05))
    assert loose.status is Status.OPTIMAL
    assert loose.lower_bound <= best <= loose.upper_bound + 1e-12
    assert loose.upper_bound - loose.lower_bound <= 0.05 * loose.upper_bound + RESOLUTION


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("limit", [{"time_limit": 0.0}, {"time_limit": 0.4}, {"max_iter": 2}])
def test_a_limit_leaves_a_card_and_a_valid_bound(solver: Callable[[], CPA | lcpa.LCPA], limit: dict[str, float]):
    problem = binary_table(seed=1, n=500, d=14, size=5)
    best = ExactScore().solve(problem, SolveOptions(tolerance=0.0)).upper_bound
    outcome = solver().solve(problem, SolveOptions(tolerance=0.0, **limit))
    assert outcome.status is (Status.ITERATION_LIMIT if "max_iter" in limit else Status.TIME_LIMIT)
    assert problem.admits(outcome.primal)
    assert outcome.lower_bound <= best <= outcome.upper_bound + 1e-12


@pytest.mark.parametrize("solver", SOLVERS)
def test_ctrl_c_leaves_the_best_card_and_a_valid_bound(solver: Callable[[], CPA | lcpa.LCPA]):
    problem = binary_table(n=2000, d=30, size=6)
    timer = threading.Timer(1.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(SolveInterrupted, match="none is below") as caught:
        solver().solve(problem, SolveOptions(tolerance=0.0, time_limit=60.0))
    timer.join()
    outcome = caught.value.outcome
    assert outcome.status is Status.INTERRUPTED
    assert outcome.seconds < 30
    assert problem.admits(outcome.primal)
    assert 0 <= outcome.lower_bound <= outcome.upper_bound == problem.objective(outcome.primal)


def test_bounds_only_get_better():
    told = []
    LCPA().solve(binary_table(n=400, d=10, size=4), SolveOptions(tolerance=0.0, on_progress=told.append))
    assert [line.lower_bound for line in told] == sorted(line.lower_bound for line in told)
    assert [line.upper_bound for line in told] == sorted((line.upper_bound for line in told), reverse=True)


def test_a_first_card_is_never_lost():
    problem = binary_table(n=400, d=12, size=4)
    best = ExactScore().solve(problem, SolveOptions(tolerance=0.0))
    outcome = LCPA(best.primal).solve(problem, SolveOptions(tolerance=0.0, time_limit=0.0))
    assert outcome.upper_bound == pytest.approx(best.upper_bound, abs=1e-12)


def test_every_cut_lies_below_the_loss():
    problem = draw_problem(4, "mixed", weighted=True)
    run = CutRun(problem, SolveOptions())
    rng = np.random.default_rng(0)
    for _ in range(30):
        run.cut_at(rng.normal(size=problem.n_columns + 1) * 2)
    relaxed = run.master.programme.solve()
    point = run.master.point_of(relaxed.point)
    loss = run.rows.loss(run.rows.scores(point))
    assert relaxed.bound <= loss + 1e-9
    best, _ = best_card(problem)
    assert relaxed.bound <= best


def test_robust_problems_and_rates_of_real_scores_are_refused():
    problem = draw_problem(0, "real")
    rates = changed(problem, (RateRule(1.0, lower=0.5),))
    robust = changed(problem, shift=ScoreShift(0.1, np.ones(problem.n_columns), np.zeros(problem.n_columns, dtype=bool)))
    for solver in SOLVERS:
        assert "not whole" in solver().refuses(rates)
        assert "robust" in solver().refuses(robust)
        assert "free scale" in solver().refuses(replace(problem, scale="free"))
        assert solver().refuses(problem) is None


def test_contradictory_rules_are_an_error_not_a_card():
    problem = changed(draw_problem(0, "binary"), (GroupRule((0, 1), least=1), GroupRule((0, 1), most=0)))
    for solver in SOLVERS:
        with pytest.raises(InfeasibleProblemError):
            solver().solve(problem, SolveOptions(tolerance=0.0))


def test_a_linear_rule_that_nearly_misses_is_decided_as_the_problem_decides_it():
    problem = binary_table(n=200, d=4, size=3)
    person = np.array([1.0, 0.0, 0.0, 0.0])
    assert_best(changed(problem, (LinearRule(person, lower=1.0, upper=1.0),)))


def test_a_programme_grows_by_rows_and_is_solved_again():
    # min -x - y with 2x + 2y <= 3, then also x + 2y >= 4.5, which y = 2.25 > 1.5 would need.
    programme = LinearProgramme(np.zeros(2), np.full(2, 5.0), -np.ones(2))
    row = programme.add_row([0, 1], [2.0, 2.0], -np.inf, 3.0)
    answer = programme.solve()
    assert answer.bound == pytest.approx(-1.5)
    assert answer.point.sum() == pytest.approx(1.5)
    programme.add_row([0, 1], [1.0, 2.0], 4.5, np.inf)
    infeasible = programme.solve()
    assert infeasible.status is Status.INFEASIBLE
    assert infeasible.point is None
    programme.limit_row(row, -np.inf, 6.0)
    assert programme.solve().bound == pytest.approx(-3.0)
    programme.limit_columns(np.array([0], dtype=np.int32), np.array([0.0]), np.array([1.0]))
    assert programme.solve().bound == pytest.approx(-3.0)
    programme.limit_column(1, 0.0, 1.75)
    assert programme.solve().bound == pytest.approx(-2.75)


def test_nodes_that_meet_in_an_equality_keep_their_cards():
    # A size of at most one and a group that must be used: two rows with the same coefficients and one common value.
    problem = draw_problem(11, "real", ruled=True)
    assert problem.max_features == 1
    assert any(isinstance(rule, GroupRule) and rule.least == 1 for rule in problem.rules)
    assert has_card(problem, 10.0) is True
    assert_best(problem)


def test_a_tree_that_is_interrupted_still_bounds_every_card():
    problem = binary_table(n=300, d=8, size=3)
    best = ExactScore().solve(problem, SolveOptions(tolerance=0.0)).upper_bound
    run = CutRun(problem, SolveOptions())
    seen = 0

    def interrupt(card: RiskScore, value: float) -> None:
        nonlocal seen
        seen += 1
        run.offer(card)
        if seen == 4:
            raise KeyboardInterrupt

    tree = CutTree(run.master, lambda: run.upper_bound, interrupt)

    def to_the_end() -> None:
        while not tree.empty:
            tree.advance(60.0)

    with pytest.raises(KeyboardInterrupt):
        to_the_end()
    assert tree.bound <= best + 1e-9
    to_the_end()
    assert run.upper_bound == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize("name", ["cpa", "lcpa"])
def test_cutting_planes_are_known_by_name(name: str):
    assert make_score_solver(name).name == name


def test_the_empty_card_wins_where_columns_cost_more_than_they_bring():
    problem = binary_table(n=300, d=8, size=3)
    dear = RiskScoreProblem(
        problem.columns, problem.labels, problem.weights, problem.lower, problem.upper, -20, 20, 3, penalty=1.0
    )
    for solver in SOLVERS:
        outcome = solver().solve(dear, SolveOptions(tolerance=0.0))
        assert outcome.primal.size == 0
        values = [dear.objective(RiskScore(b, np.zeros(8, dtype=np.int32))) for b in range(-20, 21)]
        assert outcome.upper_bound == pytest.approx(min(values), abs=2 * RESOLUTION)


@pytest.mark.parametrize("solver", SOLVERS)
def test_programmes_that_cannot_be_solved_end_the_run_and_keep_a_valid_bound(
    solver: Callable[[], CPA | lcpa.LCPA], monkeypatch: pytest.MonkeyPatch
):
    """Such a node was solved again and again, without end where there was no time limit."""
    problem = binary_table(seed=1, n=200, d=8, size=3)
    best = ExactScore().solve(problem, SolveOptions(tolerance=0.0)).upper_bound
    solved, solve = 0, LinearProgramme.solve

    def broken(self: LinearProgramme, *, seconds: float = np.inf) -> LinearResult:
        nonlocal solved
        solved += 1
        return solve(self, seconds=seconds) if solved % 7 else LinearResult(Status.NUMERICAL_ERROR, -np.inf)

    monkeypatch.setattr(LinearProgramme, "solve", broken)
    outcome = solver().solve(problem, SolveOptions(tolerance=0.0, max_iter=3000))
    assert outcome.status is Status.STALLED
    assert problem.admits(outcome.primal)
    assert outcome.lower_bound <= best <= outcome.upper_bound + 1e-12


def test_the_path_before_the_first_node_takes_its_part_of_the_time_and_no_more(monkeypatch: pytest.MonkeyPatch):
    """On a large table it took all of it, and the search had no time left."""
    seconds = [0.0]
    monkeypatch.setattr(SolveOptions, "elapsed", property(lambda _: seconds[0]))
    models = []

    def slow(self: LatticeRun, point: np.ndarray) -> None:
        seconds[0] += 1.0
        models.append(point)

    monkeypatch.setattr(LatticeRun, "round", slow)
    run = LatticeRun(binary_table(n=200, d=8, size=3), SolveOptions(time_limit=40.0), CutParameters())
    run.initialise()
    # A tenth of 40 seconds, and the rounding after the relaxations.
    assert len(models) == 4 + 1
