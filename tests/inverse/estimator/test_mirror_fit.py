"""Inverse optimizers by mirror descent: whole fits, online fits, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference.enumerated_inverse import drawn, loss

from surefoot.core.arrays import FloatArray
from surefoot.exceptions import ConvergenceLimitWarning, ForwardSolveError, InvalidObservationError, UnsupportedProblemError
from surefoot.inverse import InverseOptimizer, forward


def data(count: int = 20, seed: int = 3) -> tuple[FloatArray, list[Any], list[FloatArray]]:
    return drawn(4, 3, count, seed=seed, noise=0.1)


def optimizer(**changes: Any) -> InverseOptimizer:
    given = {"distance": "l1", "prior": "nonnegative", "kappa": 0.05, "solver": "samd", "random_state": 0, "tol": 0.2}
    return InverseOptimizer(forward.BinaryProgram(), **{**given, **changes})


def test_samd_comes_with_a_certificate_that_brackets_the_exact_optimum() -> None:
    _, signals, responses = data()
    exact = optimizer(solver="exact", tol=1e-7).fit(signals, responses)
    found = optimizer(tol=0.05, batch_size=5).fit(signals, responses)
    best = exact.certificate_.upper_bound
    assert (
        found.certificate_.verified and found.certificate_.lower_bound <= best + 1e-7 <= found.certificate_.upper_bound + 2e-7
    )
    at_cost = 0.05 * found.cost_ @ found.cost_ / 2 + loss(found.cost_, signals, responses, "l1").mean()
    assert found.certificate_.upper_bound == pytest.approx(at_cost)
    assert found.certificate_.relative_gap <= 0.05


def test_a_fit_that_ends_before_its_tolerance_warns_and_names_the_bound_that_holds() -> None:
    _, signals, responses = data()
    with pytest.warns(ConvergenceLimitWarning, match="iteration limit after 3 iterations.*still holds for every model"):
        found = optimizer(tol=1e-9, max_iter=3).fit(signals, responses)
    assert np.any(found.cost_)


@pytest.mark.parametrize("kappa", [0.0, 0.05])
def test_a_fit_that_is_cut_short_returns_a_cost_that_tells_decisions_apart(kappa: float) -> None:
    _, signals, responses = data()
    model = optimizer(solver="exact", kappa=kappa, max_iter=1, tol=1e-9)
    with pytest.warns(ConvergenceLimitWarning, match="still holds for every model"):
        model.fit(signals, responses)
    assert np.any(model.cost_)
    paid = kappa * model.cost_ @ model.cost_ / 2 + loss(model.cost_, signals, responses, "l1").mean()
    assert model.certificate_.upper_bound == pytest.approx(paid)
    assert model.certificate_.lower_bound <= model.set_params(max_iter=None).fit(signals, responses).outcome_.upper_bound + 1e-7
    model.set_params(time_limit=1e-9)
    with pytest.warns(ConvergenceLimitWarning, match="found no cost but 0"):
        model.fit(signals, responses)


def test_random_states_repeat_fits() -> None:
    _, signals, responses = data()
    costs = [optimizer(random_state=state, tol=0.3).fit(signals, responses).cost_ for state in (1, 1, 2)]
    np.testing.assert_array_equal(costs[0], costs[1])
    assert not np.array_equal(costs[0], costs[2])


def test_switches_reach_the_solver() -> None:
    _, signals, responses = data()
    plain = optimizer(batch_size=None, update="exponentiated", cost_bound=1.0, average="last", tol=0.99, max_iter=2)
    with pytest.warns(ConvergenceLimitWarning):
        plain.fit(signals, responses)
    assert np.abs(plain.cost_).sum() <= 1.0 + 1e-9
    start = np.array([5.0, 5.0, 5.0, 5.0])
    lazy = optimizer(start=start, step="constant", step_scale=1e-9, average="last", batch_size=None, max_iter=2, tol=0.99)
    np.testing.assert_allclose(lazy.fit(signals, responses).cost_, start, atol=1e-6)


def test_partial_fits_go_on_from_each_other_and_from_a_fit() -> None:
    _, signals, responses = data(30)
    whole = optimizer().partial_fit(signals, responses)
    parts = optimizer()
    for at in range(0, 30, 7):
        parts.partial_fit(signals[at : at + 7], responses[at : at + 7])
    np.testing.assert_array_equal(parts.cost_, whole.cost_)
    assert parts.n_seen_ == whole.n_seen_ == 30
    assert parts.regret_ == pytest.approx(whole.regret_) and parts.paid_ == pytest.approx(whole.paid_)
    assert not hasattr(whole, "certificate_")
    fitted = optimizer(average="last", step="constant", step_scale=1e-9, tol=0.99).fit(signals, responses)
    before = fitted.cost_
    fitted.partial_fit(signals[:1], responses[:1])
    np.testing.assert_allclose(fitted.cost_, before, atol=1e-6)
    assert fitted.n_seen_ == 1 and not hasattr(fitted, "certificate_")
    fitted.fit(signals, responses)
    assert hasattr(fitted, "certificate_")


def test_online_regret_bounds_what_was_paid_beyond_the_best_cost() -> None:
    _, signals, responses = data(120)
    online = optimizer().partial_fit(signals[:15], responses[:15])
    early = online.regret_ / 15
    online.partial_fit(signals[15:], responses[15:])
    best = optimizer(solver="exact", tol=1e-6).fit(signals, responses).certificate_.upper_bound
    assert online.regret_ >= online.paid_ - 120 * best - 1e-4
    assert 0 < online.regret_ / 120 < 0.5 * early


def test_a_failing_observation_loses_none_before_it() -> None:
    _, signals, responses = data(4)
    calls = 0

    def solve(theta: FloatArray, signal: Any) -> FloatArray:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise RuntimeError("no memory")
        matrix, ceiling = signal
        every = np.array([[(k >> j) & 1 for j in range(4)] for k in range(16)], dtype=np.float64)
        inside = every[np.all(every @ matrix.T <= ceiling + 1e-9, axis=1)]
        return inside[np.argmin(inside @ theta)]

    model = optimizer()
    model.forward = forward.CallableProblem(solve, n_unknowns=4, binary=True)
    with pytest.raises(ForwardSolveError, match=r"observation 2: the forward solver failed: .*no memory"):
        model.partial_fit(signals, responses)
    assert model.n_seen_ == 2 and np.isfinite(model.regret_)
    two = optimizer().partial_fit(signals[:2], responses[:2])
    np.testing.assert_allclose(model.cost_, two.cost_)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"approach": "incenter"}, "approach must be 'asl' or 'suboptimality', not 'incenter'"),
        ({"approach": "suboptimality"}, "a cost of 0 has no loss"),
        ({"distance": "none"}, "a cost of 0 has no loss"),
        ({"update": "exponentiated", "kappa": 0.0}, "give a radius, kappa > 0"),
        ({"step": "strong", "kappa": 0.0}, "step='strong' needs kappa > 0"),
    ],
)
def test_what_mirror_descent_cannot_do_is_refused(changes: dict[str, Any], message: str) -> None:
    _, signals, responses = data(3)
    with pytest.raises(UnsupportedProblemError, match=message):
        optimizer(**changes).fit(signals, responses)


def test_suboptimality_on_a_simplex_is_minimised() -> None:
    _, signals, responses = data()
    found = optimizer(approach="suboptimality", prior="simplex", kappa=0.0, batch_size=None, tol=1e-6)
    with pytest.warns(ConvergenceLimitWarning):
        found.set_params(max_iter=300).fit(signals, responses)
    assert found.cost_.sum() == pytest.approx(1.0) and found.cost_.min() >= 0
    grid = np.random.default_rng(0).dirichlet(np.ones(4), 500)
    least = min(loss(theta, signals, responses, "none").mean() for theta in grid)
    assert found.certificate_.upper_bound <= least + 2e-3


def test_other_inputs_that_make_no_sense_are_refused() -> None:
    _, signals, responses = data(3)
    with pytest.raises(ValueError, match="solver='sgd' is not known"):
        optimizer(solver="sgd").fit(signals, responses)
    with pytest.raises(UnsupportedProblemError, match="give cost_bound="):
        optimizer(update="exponentiated").partial_fit(signals, responses)
    model = optimizer().partial_fit(signals, responses)
    wide = drawn(5, 3, 1, seed=0)
    with pytest.raises(InvalidObservationError, match="observation 0: features have 5 entries, earlier ones 4"):
        model.partial_fit(wide[1], wide[2])
    assert model.n_seen_ == 3


def test_verbose_fits_write_progress_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    _, signals, responses = data()
    optimizer(verbose=1).fit(signals, responses)
    written = capsys.readouterr()
    assert written.out == "" and "inverse optimizer, 20 observations" in written.err and "lower bound" in written.err
