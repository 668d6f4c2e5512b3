from __future__ import annotations

import signal
import threading
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from problem_bank import SPARSE_BANK, WHOLE_BANK, draw_problem, one_column_never_moves
from reference import worst_case as reference
from reference.proof import TOLERANCE, assert_proven, optimum
from sklearn.linear_model import LogisticRegression

from surefoot.core.backends import clarabel
from surefoot.core.outcome import Progress, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import SeparableDataError, UnsupportedProblemError
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.conic.monolithic import Monolithic
from surefoot.robust.conic.parameters import ConicParameters
from surefoot.robust.conic.pieces import Coordinates
from surefoot.robust.conic.softplus_programme import ConeSolution, SoftplusProgramme
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.numeric_norm import NUMERIC_NORMS
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.robust.registry import RobustOutcome, make_solver

# What the reference solver's own optimum may be off by.
SLACK = 1e-7


def solve(problem: RobustLogisticProblem, **options: object) -> RobustOutcome:
    return Monolithic().solve(problem, SolveOptions(**options))


def assert_bracketed(outcome: RobustOutcome, value: float) -> None:
    assert outcome.lower_bound <= value + SLACK
    assert outcome.upper_bound >= value - SLACK


def softplus_above_one(options: SolveOptions) -> ConeSolution:
    """min a  subject to  c >= 1,  softplus(c) <= a; a third unknown occurs nowhere."""
    return SoftplusProgramme(
        cost=np.array([1.0, 0.0, 0.0]),
        limits=scipy.sparse.csr_array(np.array([[0.0, -1.0, 0.0]])),
        ceilings=np.array([-1.0]),
        arguments=scipy.sparse.csr_array(np.array([[0.0, 1.0, 0.0]])),
        allowances=scipy.sparse.csr_array(np.array([[1.0, 0.0, 0.0]])),
    ).solve(options)


def test_programme_returns_optimum_and_multipliers():
    found = softplus_above_one(SolveOptions())
    slope = 1.0 / (1.0 + np.exp(-1.0))
    assert found.ended is Status.OPTIMAL
    np.testing.assert_allclose(found.x, [np.log1p(np.e), 1.0, 0.0], atol=1e-7)
    assert found.mass == pytest.approx([1.0], abs=1e-4)
    assert found.flow == pytest.approx([slope], abs=1e-4)
    assert found.multipliers == pytest.approx([slope], abs=1e-4)


def test_programme_keeps_to_its_second_order_cone():
    # min a - c - d  subject to  |(c, d)| <= 1 and softplus(c) <= a, with a fourth unknown that is held at 1 in the cone.
    found = SoftplusProgramme(
        cost=np.array([1.0, -1.0, -1.0, 0.0]),
        limits=scipy.sparse.csr_array(np.array([[0.0, 0.0, 0.0, 1.0]])),
        ceilings=np.array([1.0]),
        arguments=scipy.sparse.csr_array(np.array([[0.0, 1.0, 0.0, 0.0]])),
        allowances=scipy.sparse.csr_array(np.array([[1.0, 0.0, 0.0, 0.0]])),
        cone=scipy.sparse.csr_array(np.array([[0.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])),
    ).solve(SolveOptions())
    assert found.ended is Status.OPTIMAL
    angles = np.linspace(0.0, np.pi / 2, 1_000_001)
    best = (np.log1p(np.exp(np.cos(angles))) - np.cos(angles) - np.sin(angles)).min()
    assert found.x[0] - found.x[1] - found.x[2] == pytest.approx(best, abs=1e-8)
    assert np.hypot(found.x[1], found.x[2]) == pytest.approx(1.0, abs=1e-7)
    assert found.mass == pytest.approx([1.0], abs=1e-4)


def test_programme_without_time_left_does_not_start():
    found = softplus_above_one(SolveOptions(time_limit=0.0))
    assert found.ended is Status.TIME_LIMIT
    assert found.iterations == 0


@pytest.mark.parametrize("name", WHOLE_BANK)
def test_reaches_and_proves_the_optimum_of_the_enumerated_model(name):
    problem = WHOLE_BANK[name]()
    outcome = solve(problem)
    assert_proven(problem, outcome)
    assert outcome.upper_bound == pytest.approx(optimum(name), rel=TOLERANCE)
    assert_bracketed(outcome, optimum(name))
    model = replace(outcome.primal, price=outcome.primal.price * (1 + 1e-12))
    assert reference.objective(problem, model) == pytest.approx(outcome.upper_bound, rel=1e-9)
    assert (outcome.primal.levels[problem.level_offsets[:-1]] == 0.0).all()


def test_history_ends_with_what_is_returned_and_listeners_hear_it():
    heard: list[Progress] = []
    outcome = solve(WHOLE_BANK["mixed"](), on_progress=heard.append)
    assert tuple(heard) == outcome.history
    assert len(heard) >= 1
    assert heard[-1].upper_bound == pytest.approx(outcome.upper_bound, rel=1e-12)
    assert heard[-1].lower_bound == outcome.lower_bound
    assert outcome.iterations > 5


def test_an_exception_of_a_listener_reaches_the_caller():
    def object_to(progress: Progress) -> None:
        raise ArithmeticError("enough")

    with pytest.raises(ArithmeticError, match="enough"):
        solve(WHOLE_BANK["mixed"](), on_progress=object_to)


@pytest.mark.parametrize("iterations", [1, 4, 8])
def test_few_iterations_end_with_bounds_that_hold(iterations):
    outcome = solve(WHOLE_BANK["mixed"](), max_iter=iterations)
    assert outcome.status is Status.ITERATION_LIMIT
    assert outcome.iterations <= iterations
    assert_bracketed(outcome, optimum("mixed"))
    assert outcome.dual is not None


def test_no_time_at_all_ends_with_bounds_that_hold():
    problem = WHOLE_BANK["mixed"]()
    outcome = solve(problem, time_limit=0.0)
    assert outcome.status is Status.TIME_LIMIT
    assert outcome.upper_bound == pytest.approx(np.log(2.0))
    assert 0.0 < outcome.lower_bound <= optimum("mixed")
    certificate = certify_robust_logistic(problem, outcome.primal, outcome.dual, TOLERANCE)
    assert certificate.lower_bound >= outcome.lower_bound - 1e-9


def test_a_warm_start_is_a_model_to_beat():
    problem = WHOLE_BANK["mixed"]()
    best = solve(problem)
    outcome = Monolithic().solve(problem, SolveOptions(time_limit=0.0), warm_start=best.primal)
    assert outcome.status is Status.TIME_LIMIT
    assert outcome.upper_bound == pytest.approx(best.upper_bound, rel=1e-9)


def test_an_absurd_tolerance_is_not_called_optimal():
    outcome = solve(WHOLE_BANK["mixed"](), tolerance=1e-15)
    assert outcome.status is Status.STALLED
    assert outcome.upper_bound == pytest.approx(optimum("mixed"), rel=TOLERANCE)


@pytest.mark.parametrize("name", SPARSE_BANK)
def test_sparse_and_dense_columns_lead_to_the_same_model(name):
    problem = WHOLE_BANK[name]()
    sparse, dense = solve(problem), solve(replace(problem, numeric=problem.numeric.toarray()))
    assert sparse.upper_bound == pytest.approx(dense.upper_bound, rel=TOLERANCE)
    np.testing.assert_allclose(sparse.primal.numeric, dense.primal.numeric, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("norm", NUMERIC_NORMS)
def test_price_limits_and_cone_hold_exactly_at_the_admitting_price(norm):
    problem = one_column_never_moves(draw_problem(12, rows=3, numeric=4, levels=(2,), norm=norm))
    coordinates = Coordinates(problem)
    beta = np.array([50.0, 1.0, -2.0, 0.5])
    needed = reference.needed_price(problem, beta)
    ratios = np.abs(beta[1:]) / problem.cost.numeric_weights[1:]

    def violation(price: float) -> float:
        x = np.zeros(coordinates.size)
        x[coordinates.numeric] = beta
        x[coordinates.price] = price * coordinates.unit
        x[coordinates.price_parts : coordinates.loss] = ratios[: coordinates.loss - coordinates.price_parts] * coordinates.unit
        cone = coordinates.price_cone() @ x
        beyond = float(np.linalg.norm(cone[1:]) - cone[0]) if cone.size else 0.0
        return max(beyond, float((coordinates.price_limits() @ x).max()))

    assert violation(needed) == pytest.approx(0.0, abs=1e-12)
    assert violation(needed * (1 + 1e-6)) <= 0.0
    assert violation(needed * (1 - 1e-6)) > 1e-8
    assert coordinates.loss + problem.n_rows == coordinates.size


@pytest.mark.parametrize("solver", ["conic", "graph", "cutting-plane"])
def test_tables_too_wide_for_a_proof_are_refused_with_the_count(solver):
    problem = draw_problem(0, rows=3, numeric=ConicParameters.max_coefficients, density=0.01)
    assert make_solver(solver).refuses(problem) is None
    wide = draw_problem(0, rows=3, numeric=ConicParameters.max_coefficients + 1, density=0.01)
    with pytest.raises(UnsupportedProblemError, match=f"it has {ConicParameters.max_coefficients + 1} coefficients, more than"):
        make_solver(solver).solve(wide, SolveOptions())


def test_refuses_with_the_count_in_the_message():
    problem = draw_problem(0, rows=50, levels=(7,) * 6)
    expected = 50 * 7**6
    assert expected > ConicParameters.max_pieces
    assert str(expected) in Monolithic().refuses(problem)
    with pytest.raises(UnsupportedProblemError, match=f"{expected}.*solver='auto'"):
        solve(problem)


def test_refusal_counts_labels_and_spares_what_cannot_move():
    problem = draw_problem(0, rows=40, levels=(7,) * 4)
    assert Monolithic().refuses(problem) is None
    flips = replace(problem, cost=replace(problem.cost, label_weight=1.0))
    doubled = draw_problem(0, rows=60, levels=(7,) * 4, label_weight=1.0)
    assert Monolithic().refuses(flips) is None
    assert str(60 * 7**4 * 2) in Monolithic().refuses(doubled)
    frozen = draw_problem(0, rows=50, levels=(7,) * 6)
    frozen = replace(frozen, cost=GroundCost(np.zeros(0), np.array([np.inf, np.inf, 1.0, 1.0, 1.0, np.inf])))
    assert Monolithic().refuses(frozen) is None


def test_duplicate_rows_count_once():
    few = draw_problem(1, rows=10, levels=(5,) * 5)
    pick = np.arange(1000) % 10
    many = replace(
        few, numeric=np.zeros((1000, 0)), codes=few.codes[pick], labels=few.labels[pick], weights=np.full(1000, 1e-3)
    )
    assert ConicParameters.max_pieces < 1000 * 5**5
    assert Monolithic().refuses(many) is None


def test_radius_zero_is_plain_logistic_regression():
    problem = WHOLE_BANK["plain_logistic"]()
    outcome = solve(problem)
    dummies = (problem.codes == np.arange(1, 3)).astype(float)
    table = np.hstack((problem.numeric, dummies))
    plain = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(table, problem.labels)
    np.testing.assert_allclose(outcome.primal.numeric, plain.coef_[0, :2], atol=1e-5)
    np.testing.assert_allclose(outcome.primal.levels[1:], plain.coef_[0, 2:], atol=1e-5)
    assert outcome.primal.intercept == pytest.approx(plain.intercept_[0], abs=1e-5)
    # The price is that at which nobody gains by a shift, and not higher.
    worst = [reference.worst_case_loss(problem, outcome.primal, row, outcome.primal.price) for row in range(problem.n_rows)]
    assert problem.weights @ worst == pytest.approx(outcome.upper_bound, abs=1e-10)
    assert outcome.primal.price < 10.0


def test_radius_zero_on_separable_data_says_so():
    with pytest.raises(SeparableDataError, match="radius=0"):
        solve(replace(WHOLE_BANK["separable"](), radius=0.0))


def test_columns_that_never_shift_and_separate_are_refused():
    problem = WHOLE_BANK["separable"]()
    frozen = replace(problem.cost, categorical_weights=np.array([np.inf, 1.0]))
    with pytest.raises(SeparableDataError, match="infinite"):
        solve(replace(problem, cost=frozen))


def test_without_features_the_optimum_is_the_entropy_of_the_labels():
    problem = draw_problem(2, rows=10, radius=0.1)
    share = float(np.mean(problem.labels > 0))
    entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    outcome = solve(problem)
    assert_proven(problem, outcome)
    assert outcome.upper_bound == pytest.approx(entropy, rel=1e-8)
    nothing = replace(problem, fit_intercept=False)
    assert solve(nothing).upper_bound == pytest.approx(np.log(2.0), rel=1e-8)


@pytest.mark.parametrize("radius", [1e3, 1e9])
def test_a_huge_radius_leaves_the_intercept_only(radius):
    problem = replace(WHOLE_BANK["mixed"](), radius=radius)
    share = float(problem.weights[problem.labels > 0].sum())
    outcome = solve(problem)
    assert_proven(problem, outcome)
    assert outcome.upper_bound == pytest.approx(-share * np.log(share) - (1 - share) * np.log(1 - share), rel=1e-7)
    assert outcome.primal.price == 0.0


def test_units_of_columns_and_of_the_ground_cost_do_not_matter():
    problem = WHOLE_BANK["mixed_with_label_price"]()
    units = np.array([1e8, 1e-8])
    cost = GroundCost(
        1e-6 * problem.cost.numeric_weights / units, 1e-6 * problem.cost.categorical_weights, 1e-6 * problem.cost.label_weight
    )
    other = replace(problem, numeric=problem.numeric * units, cost=cost, radius=1e-6 * problem.radius)
    one, two = solve(problem), solve(other)
    assert_proven(other, two)
    assert two.upper_bound == pytest.approx(one.upper_bound, rel=TOLERANCE)
    np.testing.assert_allclose(two.primal.numeric * units, one.primal.numeric, atol=1e-4)
    assert two.primal.price * 1e-6 == pytest.approx(one.primal.price, rel=1e-3)


def test_ctrl_c_ends_the_solve_and_leaves_the_handler_as_it_was(monkeypatch):
    before = signal.getsignal(signal.SIGINT)
    seen: list[float] = []
    enough = clarabel._StallMonitor._enough

    def interrupt_at_three(self: clarabel._StallMonitor, info: object) -> bool:
        seen.append(0.0)
        if len(seen) == 3:
            signal.raise_signal(signal.SIGINT)
        return enough(self, info)

    monkeypatch.setattr(clarabel._StallMonitor, "_enough", interrupt_at_three)
    with pytest.raises(KeyboardInterrupt):
        solve(WHOLE_BANK["mixed"]())
    assert 3 <= len(seen) <= 4
    assert signal.getsignal(signal.SIGINT) is before


def test_solves_outside_the_main_thread():
    outcomes: list[RobustOutcome] = []
    thread = threading.Thread(target=lambda: outcomes.append(solve(WHOLE_BANK["mixed"]())))
    thread.start()
    thread.join()
    assert outcomes[0].upper_bound == pytest.approx(optimum("mixed"), rel=TOLERANCE)


def test_a_stalled_interior_point_is_stopped_and_tried_with_other_settings():
    # Nothing is fast enough for these settings, so that all of them are tried and none is said to have arrived.
    hasty = tuple(replace(settings, stall_iterations=2, stall_fraction=0.0) for settings in ConicParameters.cone_settings)
    outcome = Monolithic(parameters=replace(ConicParameters(), cone_settings=hasty)).solve(
        WHOLE_BANK["mixed"](), SolveOptions()
    )
    assert outcome.status is Status.STALLED
    assert len(outcome.history) == len(ConicParameters.cone_settings)
    assert_bracketed(outcome, optimum("mixed"))
