"""Optima that the certificate does not confirm are solved again, and what is judged better is kept."""

from __future__ import annotations

import math
from dataclasses import replace

from problem_bank import draw_problem

from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.automatic import Automatic
from surefoot.robust.estimator.certified_outcome import certified, further_attempts
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.robust.registry import RobustOutcome
from surefoot.robust.sqp.sqp import SQP


def problem_and_claim() -> tuple[RobustLogisticProblem, RobustOutcome]:
    """A problem, and a rough answer to it that is said to be optimal."""
    problem = draw_problem(4, rows=120, numeric=3, levels=(3, 4), radius=0.05, label_weight=0.7)
    rough = SQP().solve(problem, SolveOptions(tolerance=1e-2, polish=False))
    return problem, replace(rough, status=Status.OPTIMAL, lower_bound=rough.upper_bound)


def test_a_claimed_optimum_that_is_not_confirmed_is_solved_more_exactly() -> None:
    problem, claimed = problem_and_claim()
    options = SolveOptions(tolerance=1e-6)
    assert not certified(problem, claimed, options)[0].verified
    solver = Automatic()
    certificate, outcome = certified(problem, claimed, options, further_attempts(solver, problem, options))
    assert certificate.verified and outcome.status is Status.OPTIMAL
    assert outcome.iterations > claimed.iterations and outcome.seconds > claimed.seconds
    # Nothing is tried again for those who named a solver, set a limit, or whose solve said itself that it did not arrive.
    assert not list(further_attempts(SQP(), problem, options))
    for limited in (replace(options, max_iter=50), replace(options, time_limit=0.0)):
        assert not certified(problem, claimed, limited, solver.attempts(problem, options))[0].verified
    stalled = replace(claimed, status=Status.STALLED)
    assert not certified(problem, stalled, options, solver.attempts(problem, options))[0].verified


def test_an_attempt_is_kept_only_where_the_certificate_finds_it_better() -> None:
    problem, claimed = problem_and_claim()
    options = SolveOptions(tolerance=1e-6)
    first = certified(problem, claimed, options)[0]
    # Better by its own account only.
    boast = replace(claimed, dual=None, lower_bound=claimed.upper_bound, upper_bound=0.5 * claimed.upper_bound)
    tried: list[float] = []
    certificate, outcome = certified(problem, claimed, options, [lambda best: tried.append(best.price), lambda _: boast])
    assert len(tried) == 1 and math.isclose(tried[0], claimed.primal.price)
    assert (certificate.upper_bound, certificate.lower_bound) == (first.upper_bound, first.lower_bound)
    assert outcome.dual is not None and outcome.iterations == 2 * claimed.iterations
