"""All solvers on all problems: the same optimum, each with a proof that the certificates accept."""

from __future__ import annotations

import numpy as np
import pytest
from problem_bank import RANGE_BANK, WHOLE_BANK, draw_problem
from reference.enumerated_model import solve_enumerated

from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import UnsupportedProblemError
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.registry import make_solver, require_acceptance

# Relative distance from the optimum that each solver may keep; all are asked for 1e-6.
PRECISION = {"sqp": 1e-6, "graph": 1e-6, "cutting-plane": 1e-6, "lp-admm": 1e-6, "wide": 1e-6, "conic": 1e-6}


@pytest.mark.parametrize("name", [*WHOLE_BANK, *RANGE_BANK])
def test_all_solvers_agree_and_prove_it(name):
    problem = {**WHOLE_BANK, **RANGE_BANK}[name]()
    optimum = solve_enumerated(problem).optimum
    for solver, precision in PRECISION.items():
        if problem.cost.numeric_ranges is not None and solver != "sqp":
            assert "has a range" in make_solver(solver).refuses(problem)
            continue
        if solver in ("lp-admm", "wide") and make_solver(solver).refuses(problem) is not None:
            never_moves = np.isinf(problem.cost.numeric_weights).any()
            assert problem.n_categorical or problem.radius == 0 or (solver == "wide" and never_moves)
            continue
        outcome = make_solver(solver).solve(problem, SolveOptions())
        assert outcome.upper_bound == pytest.approx(optimum, rel=precision), solver
        certificate = certify_robust_logistic(problem, outcome.primal, outcome.dual, 2e-6)
        assert certificate.verified, f"{solver}: {certificate.claim}"
        assert certificate.upper_bound == pytest.approx(outcome.upper_bound, rel=1e-10), solver


def test_an_unknown_solver_is_refused_with_the_names_of_the_known_ones():
    with pytest.raises(
        ValueError, match=r"'simplex' is not known.*'sqp'.*'graph'.*'cutting-plane'.*'lp-admm'.*'wide'.*'conic'"
    ):
        make_solver("simplex")


def test_auto_takes_quadratic_steps_where_they_fit_and_first_order_steps_where_they_do_not():
    narrow = draw_problem(0, rows=20, numeric=3, levels=(2,))
    wide = draw_problem(0, rows=10, numeric=8100, levels=(), density=0.01)
    many_levels = draw_problem(0, rows=10, numeric=1, levels=(8100,))
    solver = make_solver("auto")
    magnitudes_too = draw_problem(0, rows=10, numeric=4100, levels=(), density=0.01, norm="linf")
    for problem, name in ((narrow, "sqp"), (wide, "wide"), (magnitudes_too, "wide")):
        assert solver.refuses(problem) is None
        assert solver.name == name
    assert "8000" in solver.refuses(many_levels)
    assert solver.name == "sqp"


def test_a_refusal_names_the_solver_and_the_way_out():
    problem = WHOLE_BANK["mixed"]()
    solver = make_solver("graph")
    solver.refuses = lambda problem: "it has too many arcs."
    refusal = r"solver='graph' cannot solve this problem: it has too many arcs\. Use solver='auto'"
    with pytest.raises(UnsupportedProblemError, match=refusal):
        require_acceptance(solver, problem)
