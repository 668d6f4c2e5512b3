"""Weights that no optimum comes near: the solve ends where it got stuck before, and its answers belong to the problem."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from problem_bank import draw_problem
from reference import worst_case as reference

import surefoot as sf
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.automatic import Automatic
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.dear_columns import relaxed_attempts
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.robust.registry import RobustOutcome
from surefoot.robust.second_attempts import Solve, finish
from surefoot.robust.sqp.sqp import SQP


@pytest.mark.parametrize("seed", [2, 4, 5, 7, 9, 13, 14, 18])
def test_separable_rows_with_dear_columns_and_label_flips_are_solved_and_proven(seed):
    draw = np.random.default_rng(seed)
    table = draw.normal(size=(100, 1 + seed % 4))
    model = sf.RobustLogisticRegression(
        radius=[0.001, 0.01, 0.1][seed % 3], numeric_weights=np.full(1 + seed % 4, 1e6), label_weight=[0.5, 2.0][seed % 2]
    ).fit(table, table[:, 0] > 0)
    assert model.certificate_.verified, model.certificate_.claim


def finish_relaxed(
    solve: Solve, problem: RobustLogisticProblem, options: SolveOptions, outcome: RobustOutcome
) -> RobustOutcome:
    return finish(relaxed_attempts(solve, problem, options), options, outcome)


def stalled(problem: RobustLogisticProblem) -> RobustOutcome:
    return replace(SQP().solve(problem, SolveOptions(max_iter=1)), status=Status.STALLED)


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_the_answer_of_a_relaxation_is_one_of_the_problem(norm):
    problem = draw_problem(4, rows=60, numeric=3, levels=(3,), radius=0.02, label_weight=0.7, norm=norm)
    weights = problem.cost.numeric_weights * [1.0, 1e4, 1e9]
    problem = replace(problem, cost=replace(problem.cost, numeric_weights=weights))
    options = SolveOptions(tolerance=1e-7)
    found = finish_relaxed(SQP().solve, problem, options, stalled(problem))
    assert found.status is Status.OPTIMAL
    assert found.primal.price >= reference.needed_price(problem, found.primal.numeric)
    assert found.upper_bound == pytest.approx(reference.objective(problem, found.primal), rel=1e-9)
    certificate = certify_robust_logistic(problem, found.primal, found.dual, 1e-6)
    assert certificate.verified, certificate.claim


def test_a_relaxation_that_does_not_help_leaves_the_outcome_as_good_as_it_was():
    problem = draw_problem(4, rows=60, numeric=2, radius=0.02)
    weights = problem.cost.numeric_weights * [1.0, 1e4]
    problem = replace(problem, cost=replace(problem.cost, numeric_weights=weights))
    best = replace(SQP().solve(problem, SolveOptions(tolerance=1e-9)), status=Status.STALLED)
    worse = replace(best, upper_bound=best.upper_bound + 1.0, lower_bound=best.lower_bound - 1.0)
    found = finish_relaxed(lambda *_: worse, problem, SolveOptions(tolerance=1e-12), best)
    assert found.primal is best.primal and found.dual is best.dual
    assert (found.upper_bound, found.lower_bound) == (best.upper_bound, best.lower_bound)


def test_nothing_is_solved_twice_where_no_column_is_dear_or_the_solve_ended():
    def refuse(*_: object) -> RobustOutcome:
        raise AssertionError("a second solve")

    problem = draw_problem(4, rows=60, numeric=2, radius=0.02)
    once = stalled(problem)
    assert finish_relaxed(refuse, problem, SolveOptions(), once) is once
    dear = replace(problem, cost=replace(problem.cost, numeric_weights=problem.cost.numeric_weights * [1.0, 1e6]))
    ended = Automatic().solve(dear, SolveOptions())
    assert ended.status is Status.OPTIMAL
    assert finish_relaxed(refuse, dear, SolveOptions(), ended) is ended
    assert finish_relaxed(refuse, dear, SolveOptions(max_iter=3), once) is once


def test_attempts_have_the_time_that_is_left_of_the_limit_and_no_less():
    problem = draw_problem(4, rows=60, numeric=2, radius=0.02)
    once, seen = stalled(problem), []

    def attempt(_: object) -> RobustOutcome:
        seen.append(options.seconds_left)
        return once

    # A minute of the limit is over.
    options = SolveOptions(time_limit=100.0, started=time.perf_counter() - 60.0)
    finish([attempt, attempt], options, once)
    assert len(seen) == 2 and all(30.0 < left <= 40.0 for left in seen)
    finish([attempt], SolveOptions(time_limit=50.0, started=time.perf_counter() - 60.0), once)
    assert len(seen) == 2


def test_relaxations_are_solved_with_the_options_of_the_problem_and_its_clock():
    problem = draw_problem(4, rows=60, numeric=2, radius=0.02)
    dear = replace(problem, cost=replace(problem.cost, numeric_weights=problem.cost.numeric_weights * [1.0, 1e6]))
    options, given = SolveOptions(time_limit=100.0), []

    def solve(posed: RobustLogisticProblem, its: SolveOptions, start: object) -> RobustOutcome:
        given.append(its)
        return SQP().solve(posed, its)

    finish_relaxed(solve, dear, options, stalled(dear))
    assert given and all(its.started == options.started and its.time_limit == 100.0 for its in given)
