"""The published LP-ADMM: its iterations are those of the paper, its settings reach users, and its answers are judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from problem_bank import PROBLEM_BANK, draw_problem
from scipy.special import expit
from sklearn.base import clone

import surefoot as sf
from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import ConvergenceLimitWarning, UnsupportedProblemError
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.first_order.admm_splitting import Splitting
from surefoot.robust.first_order.box_least_squares import BoxLeastSquares
from surefoot.robust.first_order.lp_admm import LARGEST_CHARGE, LpAdmm
from surefoot.robust.first_order.parameters import PublishedLpAdmm
from surefoot.robust.first_order.signed_rows import SignedRows
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.robust.sqp.sqp import SQP

BOX_STEPS = ("conjugate-gradient", "projected-gradient", "coordinate")


def paper_problem(seed: int = 3, rows: int = 60, columns: int = 3) -> RobustLogisticProblem:
    """No intercept, unit weights, equal rows: the setting of the paper."""
    problem = draw_problem(seed, rows=rows, numeric=columns, radius=0.1, label_weight=1.0, fit_intercept=False)
    return RobustLogisticProblem(
        numeric=problem.numeric,
        codes=problem.codes,
        n_levels=problem.n_levels,
        labels=problem.labels,
        weights=np.full(rows, 1.0 / rows),
        cost=sf.GroundCost(np.ones(columns), np.zeros(0), 1.0),
        radius=0.1,
        fit_intercept=False,
    )


def algorithm_1(
    problem: RobustLogisticProblem, price: float, published: PublishedLpAdmm, steps: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Algorithm 1 of the paper, every minimisation left to SciPy."""
    Z = problem.labels[:, None] * problem.numeric
    rows, first = len(Z), float(published.start == "ones")
    y, w, rho, hinge = np.full(rows, first), np.full(rows, first), published.penalty, price * problem.cost.label_weight
    for _ in range(steps):
        x = scipy.optimize.lsq_linear(Z, y + w / rho, (-price, price), tol=1e-14).x
        slope = -expit(-y) / rows
        linear = slope + w - rho * (Z @ x)

        def model(value: float, at: int, linear: FloatArray = linear, rho: float = rho) -> float:
            return linear[at] * value + max(value - hinge, 0.0) / rows + 0.5 * rho * value**2

        y = np.array(
            [scipy.optimize.minimize_scalar(model, args=(at,), bracket=(-1.0, 1.0), tol=1e-12).x for at in range(rows)]
        )
        w = w - rho * (Z @ x - y)
        rho *= published.penalty_growth
    return x, y, w


@pytest.mark.parametrize("start", ["zeros", "ones"])
@pytest.mark.parametrize("growth", [1.0, 1.3])
def test_iterations_are_those_of_algorithm_1(start, growth):
    problem, price = paper_problem(), 0.4
    published = PublishedLpAdmm(penalty=0.01, penalty_growth=growth, start=start, coefficient_step="exact")
    x, y, w = algorithm_1(problem, price, published, steps=6)
    splitting = Splitting(SignedRows(problem), published=published)
    splitting.published_start(published)
    for _ in range(6):
        splitting.published_step(price, published)
    np.testing.assert_allclose(splitting.coefficients, x, atol=1e-6)
    np.testing.assert_allclose(splitting.margins, y, atol=1e-6)
    # The paper's multipliers belong to the mean over rows, the splitting's to each row.
    np.testing.assert_allclose(splitting.multipliers / problem.n_rows, w, atol=1e-7)


@pytest.mark.parametrize("step", [*BOX_STEPS, "exact"])
def test_a_constant_penalty_ends_at_the_optimum_with_every_coefficient_step(step):
    problem = paper_problem()
    published = PublishedLpAdmm(penalty=0.05, penalty_growth=1.0, coefficient_step=step, residual=1e-6, step_tolerance=1e-8)
    outcome = LpAdmm(published).solve(problem, SolveOptions(tolerance=1e-9))
    optimum = SQP().solve(problem, SolveOptions(tolerance=1e-10)).upper_bound
    assert outcome.upper_bound == pytest.approx(optimum, rel=1e-6)
    assert outcome.lower_bound <= optimum * (1 + 1e-9)
    assert optimum * (1 - 1e-4) < outcome.lower_bound
    certificate = certify_robust_logistic(problem, outcome.primal, outcome.dual, 1e-3)
    assert certificate.verified


@pytest.mark.parametrize(
    ("limit", "status"), [({"max_iter": 7}, Status.ITERATION_LIMIT), ({"time_limit": 1e-6}, Status.TIME_LIMIT)]
)
def test_a_limit_ends_it_with_a_model_and_true_bounds(limit, status):
    problem = paper_problem()
    outcome = LpAdmm(PublishedLpAdmm()).solve(problem, SolveOptions(**limit))
    assert outcome.status is status and outcome.iterations == len(outcome.history) == limit.get("max_iter", 1)
    optimum = SQP().solve(problem, SolveOptions(tolerance=1e-9)).upper_bound
    assert 0 < outcome.lower_bound <= optimum * (1 + 1e-9) <= outcome.upper_bound * (1 + 1e-8)


def test_what_starts_at_ones_freezes_where_what_starts_at_zeros_does_not():
    problem = paper_problem(rows=400)
    ends = {}
    for start in ("zeros", "ones"):
        published = PublishedLpAdmm(penalty=0.01, penalty_growth=1.3, start=start)
        outcome = LpAdmm(published).solve(problem, SolveOptions())
        assert outcome.status is Status.STALLED
        ends[start] = outcome.upper_bound
    optimum = SQP().solve(problem, SolveOptions()).upper_bound
    assert optimum * (1 - 1e-9) < ends["zeros"] < ends["ones"] - 1e-3


@pytest.mark.parametrize("name", [name for name, make in PROBLEM_BANK.items() if make().n_categorical == 0])
def test_no_optimal_price_lies_outside_the_first_bracket(name):
    problem = PROBLEM_BANK[name]()
    if problem.radius > 0:
        model = SQP().solve(problem, SolveOptions(tolerance=1e-9)).primal
        assert model.price * problem.radius <= LARGEST_CHARGE * problem.weights.sum() * (1 + 1e-6)
    margins = np.linspace(0.0, 5.0, 100_001)
    assert (margins * expit(-margins)).max() == pytest.approx(LARGEST_CHARGE, rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 10), st.integers(0, 2), st.sampled_from(BOX_STEPS))
def test_box_steps_satisfy_the_optimality_conditions_right_after_right(seed, size, free, method):
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(size + 8, size))
    gram = rows.T @ rows / size + 0.05 * np.eye(size)
    gamma = draw.uniform(0.3, 3.0, size=size)
    gamma[: min(free, size)] = np.inf
    least_squares = BoxLeastSquares(gram, gamma, method, tolerance=1e-12, max_steps=50_000)
    for _ in range(5):
        right, radius = draw.normal(size=size), float(draw.uniform(0.01, 2.0))
        point = least_squares.solve(right, radius)
        gradient = gram @ point - right
        limit = np.where(np.isinf(gamma), np.inf, radius * np.where(np.isinf(gamma), 1.0, gamma))
        assert (np.abs(point) <= limit).all()
        inside = np.abs(point) < limit
        np.testing.assert_allclose(gradient[inside], 0.0, atol=1e-7)
        assert (np.sign(point) * gradient)[~inside].max(initial=0.0) <= 1e-7


def survey() -> tuple[pd.DataFrame, Any]:
    draw = np.random.default_rng(1)
    X = pd.DataFrame({"age": draw.normal(size=150), "income": draw.normal(size=150)})
    return X, np.where(X["age"] - 0.5 * X["income"] + draw.logistic(size=150) > 0, "yes", "no")


def test_users_reach_it_by_the_solver_of_an_estimator_which_can_be_cloned_saved_and_verified(tmp_path: Path):
    X, y = survey()
    published = sf.PublishedLpAdmm(penalty=0.02, penalty_growth=1.0, residual=1e-8, step_tolerance=1e-9)
    model = clone(sf.RobustLogisticRegression(solver=published, label_weight=1.0, radius=0.05, tol=1e-4)).fit(X, y)
    assert model.solver == published and model.solver_ == "lp-admm"
    assert model.certificate_.verified
    exact = sf.RobustLogisticRegression(label_weight=1.0, radius=0.05).fit(X, y)
    assert model.certificate_.upper_bound == pytest.approx(exact.certificate_.upper_bound, rel=1e-4)
    sf.save(model, tmp_path / "model.surefoot")
    loaded = sf.load(tmp_path / "model.surefoot")
    assert loaded.solver == published
    assert sf.verify(loaded, X, y).verified


def test_a_fit_that_freezes_warns_and_keeps_both_bounds():
    X, y = survey()
    frozen = sf.PublishedLpAdmm(penalty=0.1, penalty_growth=1.5, start="ones")
    with pytest.warns(ConvergenceLimitWarning):
        model = sf.RobustLogisticRegression(solver=frozen, label_weight=1.0, radius=0.05).fit(X, y)
    exact = sf.RobustLogisticRegression(label_weight=1.0, radius=0.05).fit(X, y).certificate_
    assert model.certificate_.lower_bound <= exact.upper_bound
    assert model.certificate_.upper_bound > exact.upper_bound * (1 + 1e-4)


def test_a_path_of_radii_takes_it_too():
    X, y = survey()
    published = sf.PublishedLpAdmm(penalty=0.05, penalty_growth=1.0)
    model = sf.RobustLogisticRegressionCV(solver=published, radii=[0.05, 0.2], cv=2, label_weight=1.0, tol=1e-3).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-3


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"penalty": 0.0}, "penalty = 0.0 must be a finite number above 0"),
        ({"penalty_growth": 0.9}, "penalty_growth = 0.9 must be a finite number of at least 1"),
        ({"residual": float("nan")}, "residual = nan"),
        ({"coefficient_step": "newton"}, "coefficient_step = 'newton' must be one of 'conjugate-gradient'"),
        ({"start": "random"}, "start = 'random' must be one of 'zeros', 'ones'"),
        ({"max_steps": 0}, "max_steps = 0 must be a whole number"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        sf.PublishedLpAdmm(**wrong)


def test_a_norm_that_is_no_box_needs_the_exact_step():
    X, y = survey()
    with pytest.raises(UnsupportedProblemError, match=r"knows boxes only.*norm is 'l2'. Take coefficient_step='exact'"):
        sf.RobustLogisticRegression(solver=sf.PublishedLpAdmm(), radius=0.05, norm="l2").fit(X, y)
    exact = sf.PublishedLpAdmm(penalty=0.05, penalty_growth=1.0, coefficient_step="exact", residual=1e-7)
    model = sf.RobustLogisticRegression(solver=exact, radius=0.05, norm="l2", label_weight=1.0, tol=1e-3).fit(X, y)
    assert model.certificate_.verified


def test_a_solver_that_is_neither_a_name_nor_settings_is_refused():
    X, y = survey()
    with pytest.raises(ValueError, match=r"solver = 3 must be the name of a solver.*PublishedLpAdmm"):
        sf.RobustLogisticRegression(solver=3, radius=0.05).fit(X, y)
