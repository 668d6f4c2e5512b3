"""Learning online: what is paid, and that the regret is bounded as promised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference.enumerated_inverse import drawn, loss

from surefoot.core.arrays import FloatArray
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import ForwardSolveError
from surefoot.inverse.exact.constraint_generation import ConstraintGeneration
from surefoot.inverse.forward.programs import BinaryProgram, CallableProblem
from surefoot.inverse.mirror.mirror_descent import MirrorDescent
from surefoot.inverse.mirror.mirror_run import MirrorSwitches
from surefoot.inverse.mirror.online_mirror import OnlineMirror
from surefoot.inverse.oracle.forward_oracle import ForwardOracle
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import InverseProblem, Regularizer


def stream(count: int, *, prior: Any, regularizer: Any = "l2", kappa: float = 0.0) -> InverseProblem:
    _, signals, responses = drawn(4, 3, count, seed=5, noise=0.2)
    examples = [BinaryProgram().example(i, s, x) for i, (s, x) in enumerate(zip(signals, responses, strict=True))]
    return InverseProblem(
        tuple(examples), Distance("l1", "none"), Regularizer(regularizer, np.zeros(4)), kappa, PriorSet.of(prior, 4)
    )


@pytest.mark.parametrize(
    ("prior", "update", "regularizer", "kappa"),
    [
        ((0.0, 2.0), "euclidean", "l2", 0.0),
        ("simplex", "exponentiated", "l2", 0.0),
        ("simplex", "euclidean", "l1", 0.1),
        ("nonnegative", "euclidean", "l2", 0.1),
        ("nonnegative", "exponentiated", "l1", 0.1),
        (None, "euclidean", "l1", 0.1),
    ],
)
def test_regret_is_at_least_the_true_one_and_at_most_what_mirror_descent_promises(
    prior: Any, update: str, regularizer: str, kappa: float
) -> None:
    problem = stream(60, prior=prior, regularizer=regularizer, kappa=kappa)
    radius = 4.0 if update == "exponentiated" and prior == "nonnegative" else None
    switches = MirrorSwitches(update=update, step="sqrt", step_scale=0.5, radius=radius)
    online = OnlineMirror(MirrorDescent(switches), problem)
    best = ConstraintGeneration().solve(problem, SolveOptions(tolerance=1e-8))
    paid, lengths, spread = 0.0, [], 0.0
    for t, example in enumerate(problem.examples, start=1):
        before, state = online.theta, online.run.state
        spread = max(spread, online.run.chart.divergence(best.primal, state))
        value = online.observe(example)
        own = ForwardOracle().augmented(example, before, problem.distance)
        assert value == pytest.approx(problem.objective(before, np.array([own.bound])), abs=1e-12)
        assert own.value <= own.bound <= own.value + 1e-10
        paid += value
        slope = example.slopes(own.point[None, :])[0] + kappa * (before if regularizer == "l2" else np.sign(before))
        lengths.append(online.run.chart.dual_norm(slope) ** 2 / np.sqrt(t))
    assert online.incurred == pytest.approx(paid) and online.n_seen == 60
    true_regret = paid - 60 * best.upper_bound
    assert online.regret >= true_regret - 1e-6
    # Strong convexity of the entropy on a set of sums up to r is 1/r.
    modulus = 1.0 if update == "euclidean" else 1.0 / (radius or 1.0)
    promised = spread * np.sqrt(60) / 0.5 + 0.5 * sum(lengths) / (2 * modulus)
    assert true_regret <= promised + 1e-9


def test_regret_per_example_falls_and_strong_steps_make_it_logarithmic() -> None:
    problem = stream(400, prior="nonnegative", kappa=0.2)
    online = OnlineMirror(MirrorDescent(MirrorSwitches(step="strong")), problem)
    regrets = []
    for example in problem.examples:
        online.observe(example)
        regrets.append(online.regret)
    # Linear regret would multiply it by 8 from 50 to 400 examples; its logarithm grows by 1.5.
    assert 0 < regrets[399] < 3 * regrets[49]
    exact = ConstraintGeneration().solve(problem, SolveOptions(tolerance=1e-6))
    average = problem.objective(online.answer, _losses(problem, online.answer))
    assert average <= 1.05 * exact.upper_bound


def _losses(problem: InverseProblem, theta: FloatArray) -> FloatArray:
    _, signals, responses = drawn(4, 3, problem.n_examples, seed=5, noise=0.2)
    found: FloatArray = loss(theta, signals, responses, "l1")
    return found


def test_nothing_is_owed_before_the_first_example() -> None:
    online = OnlineMirror(MirrorDescent(), stream(3, prior="nonnegative", kappa=0.1))
    assert (online.n_seen, online.incurred, online.regret) == (0, 0.0, 0.0)
    np.testing.assert_array_equal(online.theta, np.zeros(4))


def test_responses_that_are_no_decisions_leave_the_regret_open_where_it_cannot_be_bounded() -> None:
    problem = stream(5, prior=None, regularizer="l1", kappa=0.01)
    online = OnlineMirror(MirrorDescent(MirrorSwitches(step="sqrt")), problem)
    outside = BinaryProgram().example(9, (np.array([[1.0, 1.0, 1.0, 1.0]]), np.array([0.0])), np.ones(4))
    assert not outside.inside
    online.observe(outside)
    assert online.regret == np.inf


def test_a_failing_forward_solver_changes_nothing() -> None:
    def fail(theta: FloatArray, signal: Any) -> FloatArray:
        raise OSError("no connection")

    problem = stream(4, prior="nonnegative", kappa=0.1)
    online = OnlineMirror(MirrorDescent(), problem)
    online.observe(problem.examples[0])
    theta, regret = online.theta, online.regret
    broken = CallableProblem(fail, n_unknowns=4, binary=True).example(7, None, np.ones(4))
    with pytest.raises(ForwardSolveError, match=r"observation 7: the forward solver failed: .*no connection"):
        online.observe(broken)
    np.testing.assert_array_equal(online.theta, theta)
    assert online.regret == regret and online.n_seen == 1


@pytest.mark.parametrize(
    ("prior", "update", "regularizer"), [("nonnegative", "euclidean", "l2"), ("simplex", "exponentiated", "l1")]
)
def test_a_block_of_examples_is_learned_as_if_they_came_one_by_one(prior: Any, update: str, regularizer: str) -> None:
    problem = stream(40, prior=prior, regularizer=regularizer, kappa=0.1)
    block, single = (OnlineMirror(MirrorDescent(MirrorSwitches(update=update)), problem) for _ in range(2))
    assert block.observe_block(problem.examples[:30]) == 30 and block.observe_block(problem.examples[30:]) == 10
    for example in problem.examples:
        single.observe(example)
    np.testing.assert_allclose(block.answer, single.answer, atol=1e-11)
    assert (block.incurred, block.regret) == pytest.approx((single.incurred, single.regret), abs=1e-8)
    assert block.n_seen == single.n_seen == 40


def test_what_is_no_set_of_a_few_0_1_unknowns_is_not_learned_in_blocks() -> None:
    problem = stream(3, prior="nonnegative", kappa=0.1)
    online = OnlineMirror(MirrorDescent(), problem)
    opaque = CallableProblem(np.ones_like, n_unknowns=4, binary=True).example(7, None, np.ones(4))
    assert online.observe_block([*problem.examples, opaque]) == 0 and online.n_seen == 0
