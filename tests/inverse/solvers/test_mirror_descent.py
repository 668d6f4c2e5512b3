"""Stochastic approximate mirror descent: against the exact solver, switch by switch, and under every kind of stop."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from reference.enumerated_inverse import drawn, loss

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Progress, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import ForwardSolveError, SolveInterrupted
from surefoot.inverse.certificate.certificate import certify_cost
from surefoot.inverse.exact.constraint_generation import ConstraintGeneration
from surefoot.inverse.forward.programs import BinaryProgram, CallableProblem, ForwardProblem
from surefoot.inverse.mirror.mirror_descent import MirrorDescent
from surefoot.inverse.mirror.mirror_map import EuclideanMap
from surefoot.inverse.mirror.mirror_run import MirrorRun, MirrorSwitches
from surefoot.inverse.oracle.forward_oracle import ForwardOracle
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import InverseProblem, Regularizer


def posed(
    *,
    n: int = 5,
    n_examples: int = 12,
    seed: int = 1,
    prior: Any = "nonnegative",
    regularizer: Any = "l2",
    kappa: float = 0.05,
    center: Any = None,
    forward: ForwardProblem | None = None,
) -> InverseProblem:
    signed = prior is None
    _, signals, responses = drawn(n, 3, n_examples, seed=seed, noise=0.2, signed=signed)
    problem = BinaryProgram() if forward is None else forward
    examples = tuple(problem.example(i, s, x) for i, (s, x) in enumerate(zip(signals, responses, strict=True)))
    middle = np.zeros(n) if center is None else np.asarray(center)
    return InverseProblem(examples, Distance("l1", "none"), Regularizer(regularizer, middle), kappa, PriorSet.of(prior, n))


def optimum(problem: InverseProblem) -> float:
    found = ConstraintGeneration().solve(problem, SolveOptions(tolerance=1e-7))
    assert found.status is Status.OPTIMAL
    return found.upper_bound


# Every pair of switches occurs together.
@pytest.mark.parametrize(
    ("prior", "regularizer", "update", "batch"),
    [
        ("nonnegative", "l2", "euclidean", 1),
        ("simplex", "l1", "euclidean", 4),
        (None, "l2", "euclidean", None),
        (None, "l1", "exponentiated", 1),
        ("nonnegative", "l2", "exponentiated", 4),
        ("simplex", "l2", "exponentiated", 1),
        ("nonnegative", "l1", "exponentiated", None),
        (None, "l2", "exponentiated", 4),
        ("simplex", "l1", "exponentiated", None),
        (None, "l1", "euclidean", 1),
    ],
)
def test_updates_and_batches_approach_the_exact_optimum(prior: Any, regularizer: str, update: str, batch: int | None) -> None:
    problem = posed(prior=prior, regularizer=regularizer)
    best = optimum(problem)
    switches = MirrorSwitches(update=update, batch_size=batch, random_state=0)
    found = MirrorDescent(switches).solve(problem, SolveOptions(tolerance=1e-6, max_iter=600 if batch is None else 1500))
    assert found.upper_bound >= best - 1e-7 and found.lower_bound <= best + 1e-7
    assert found.upper_bound <= best + (0.02 if batch is None else 0.08) * max(best, 0.5)
    assert problem.prior.excess(found.primal) <= 1e-9
    # The bounds are those of the returned cost and of the decisions in the proof, recomputed from the raw arrays.
    losses = [float(ForwardOracle().augmented(example, found.primal, problem.distance).value) for example in problem.examples]
    # (A search bounds its losses from above with a slack of 1e-11 for rounding.)
    assert 0.0 <= found.upper_bound - problem.objective(found.primal, np.array(losses)) + 1e-12 <= 1e-10
    judged = certify_cost(problem, found.primal, found.dual, 0.99)
    assert judged.verified and judged.lower_bound == pytest.approx(max(found.lower_bound, 0.0), abs=1e-9)


def test_a_strongly_convex_problem_is_solved_to_a_proven_gap() -> None:
    problem = posed(prior=None)
    found = MirrorDescent(MirrorSwitches(batch_size=None)).solve(problem, SolveOptions(tolerance=5e-3, max_iter=20_000))
    assert found.status is Status.OPTIMAL
    assert found.upper_bound - found.lower_bound <= 5e-3 * found.upper_bound
    assert found.lower_bound <= optimum(problem) + 1e-7 <= found.upper_bound + 2e-7


@pytest.mark.parametrize("prior", [(-0.3, 0.6), {"A": [[1.0, 1.0, 1.0, 1.0, 1.0]], "b": [1.0]}])
@pytest.mark.parametrize(("regularizer", "kappa"), [("l2", 0.1), ("l1", 0.1), ("l2", 0.0)])
def test_bounds_hold_for_boxes_rows_and_centres(prior: Any, regularizer: str, kappa: float) -> None:
    problem = posed(prior=prior, regularizer=regularizer, kappa=kappa, center=[0.2, 0.0, 0.1, -0.1, 0.3])
    best = optimum(problem)
    found = MirrorDescent(MirrorSwitches(batch_size=None)).solve(problem, SolveOptions(max_iter=400))
    assert found.lower_bound <= best + 1e-7
    assert best - 1e-7 <= found.upper_bound <= best * 1.03 + 0.01
    assert problem.prior.excess(found.primal) <= 1e-8


def test_the_same_random_state_repeats_a_run_and_another_does_not() -> None:
    problem = posed()
    runs = [
        MirrorDescent(MirrorSwitches(random_state=state)).solve(problem, SolveOptions(max_iter=50)).primal
        for state in (3, 3, 4)
    ]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.allclose(runs[0], runs[2])
    whole = [
        MirrorDescent(MirrorSwitches(batch_size=None, random_state=state)).solve(problem, SolveOptions(max_iter=50)).primal
        for state in (3, 4)
    ]
    np.testing.assert_array_equal(whole[0], whole[1])


class CountedForward:
    """Decides by counting through all decisions, and remembers how often it was asked."""

    def __init__(self, fail_at: int | None = None, interrupt_at: int | None = None) -> None:
        self.calls = 0
        self.fail_at, self.interrupt_at = fail_at, interrupt_at
        self.program = BinaryProgram()

    def solve(self, theta: FloatArray, signal: Any) -> FloatArray:
        self.calls += 1
        if self.calls == self.fail_at:
            raise RuntimeError("licence expired")
        if self.calls == self.interrupt_at:
            raise KeyboardInterrupt
        every = np.array(list(itertools.product([0.0, 1.0], repeat=theta.size)))
        inside = every[self.program.decisions(signal).allowed(every)]
        return inside[np.argmin(inside @ theta)]

    def problem(self, *, exact: bool = True) -> CallableProblem:
        return CallableProblem(self.solve, n_unknowns=5, binary=True, exact=exact)


@pytest.mark.parametrize(("batch", "per_step"), [(1, 1), (3, 3), (None, 12), (50, 12)])
def test_a_step_asks_for_as_many_decisions_as_the_batch_has_examples(batch: int | None, per_step: int) -> None:
    counted = CountedForward()
    problem = posed(forward=counted.problem())
    MirrorDescent(MirrorSwitches(batch_size=batch, update="euclidean")).solve(problem, SolveOptions(tolerance=0.0, max_iter=7))
    # Passes over all 12 examples follow steps 1, 2 and 4, and the last.
    assert counted.calls == 7 * per_step + 4 * 12


def test_without_a_number_of_steps_a_hundred_passes_are_made() -> None:
    found = MirrorDescent(MirrorSwitches(batch_size=5)).solve(posed(n_examples=6), SolveOptions(tolerance=0.0))
    assert found.iterations == 200 and found.status is Status.ITERATION_LIMIT


def test_a_forward_solver_that_promises_nothing_leaves_the_upper_bound_open() -> None:
    problem = posed(forward=CountedForward().problem(exact=False))
    found = MirrorDescent(MirrorSwitches(batch_size=None)).solve(problem, SolveOptions(max_iter=60))
    assert np.isnan(found.upper_bound) and found.status is Status.ITERATION_LIMIT
    exact = posed()
    assert 0.0 < found.lower_bound <= optimum(exact) + 1e-7
    reached = MirrorDescent(MirrorSwitches(batch_size=None)).solve(exact, SolveOptions(max_iter=60))
    np.testing.assert_allclose(found.primal, reached.primal, atol=0.3)


def test_a_limited_time_for_decisions_keeps_every_bound_true() -> None:
    # Thirteen unknowns are searched, not listed; with a nanosecond each the answer is the response itself.
    problem = posed(n=13, n_examples=4, kappa=0.2)
    hurried = MirrorDescent(MirrorSwitches(oracle_seconds=1e-9, batch_size=2)).solve(problem, SolveOptions(max_iter=5))
    best = optimum(problem)
    assert hurried.lower_bound == 0.0 and hurried.upper_bound >= best - 1e-7
    allowed = MirrorDescent(MirrorSwitches(oracle_seconds=60.0, batch_size=None)).solve(problem, SolveOptions(max_iter=40))
    patient = MirrorDescent(MirrorSwitches(batch_size=None)).solve(problem, SolveOptions(max_iter=40))
    assert allowed.upper_bound == pytest.approx(patient.upper_bound, rel=1e-6)
    assert best - 1e-7 <= patient.upper_bound <= 1.2 * best


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("constant", [0.5, 0.5, 0.5]),
        ("sqrt", [0.5, 0.5 / 2**0.5, 0.5 / 3**0.5]),
        ("normalized", [0.5 / 5, 0.5 / (10 * 2**0.5), 0.5 / (5 * 3**0.5)]),
        ("adaptive", [0.5 / 5, 0.5 / 125**0.5, 0.5 / 150**0.5]),
        ("strong", [2 / (0.1 * 2), 2 / (0.1 * 3), 2 / (0.1 * 4)]),
        (lambda t: 0.1 * t, [0.1, 0.2, 0.3]),
    ],
)
def test_steps_have_the_sizes_of_their_rules(step: Any, expected: list[float]) -> None:
    run = MirrorRun(EuclideanMap(PriorSet.of(None, 2)), MirrorSwitches(step=step, step_scale=0.5), 0.1)
    gradients = [np.array([3.0, 4.0]), np.array([6.0, 8.0]), np.array([3.0, 4.0])]
    assert [run.advance(gradient) for gradient in gradients] == pytest.approx(expected)


@pytest.mark.parametrize(("average", "expected"), [("last", 6.0), ("uniform", (0 + 1 + 3) / 3), ("linear", (0 + 2 + 9) / 6)])
def test_averages_weigh_the_points_at_which_subgradients_were_taken(average: str, expected: float) -> None:
    run = MirrorRun(EuclideanMap(PriorSet.of(None, 1)), MirrorSwitches(step="constant", average=average))
    for gradient in (-1.0, -2.0, -3.0):
        run.advance(np.array([gradient]))
    assert run.theta[0] == 6.0 and run.answer[0] == pytest.approx(expected)


def test_auto_means_strong_steps_where_they_are_proved_and_multiplicative_ones_on_a_simplex() -> None:
    def settled(problem: InverseProblem) -> tuple[Any, str, str]:
        run = MirrorDescent().begin(problem)
        return run.switches.step, run.switches.average, type(run.chart).__name__

    assert settled(posed()) == ("strong", "linear", "EuclideanMap")
    assert settled(posed(regularizer="l1")) == ("adaptive", "linear", "EuclideanMap")
    assert settled(posed(prior="simplex")) == ("adaptive", "linear", "ExponentiatedMap")
    assert settled(posed(prior={"A": [[1.0] * 5], "b": [1.0]}, kappa=0.0))[2] == "EuclideanMap"


def test_a_start_at_the_optimum_stays_near_it() -> None:
    problem = posed()
    exact = ConstraintGeneration().solve(problem, SolveOptions(tolerance=1e-9))
    switches = MirrorSwitches(batch_size=None, start=exact.primal, step="normalized", step_scale=1e-3, average="last")
    found = MirrorDescent(switches).solve(problem, SolveOptions(tolerance=0.0, max_iter=1))
    assert found.upper_bound <= exact.upper_bound + 0.02
    assert np.linalg.norm(found.primal - exact.primal) <= 2e-3


@pytest.mark.parametrize(
    ("switches", "changes", "reason"),
    [
        ({"update": "exponentiated"}, {"prior": (-1.0, 1.0)}, "no bounds in the prior"),
        ({"update": "exponentiated"}, {"kappa": 0.0}, "give a radius"),
        ({"step": "strong"}, {"kappa": 0.0}, "step='strong' needs kappa > 0"),
        ({"step": "strong"}, {"regularizer": "l1"}, "step='strong' needs kappa > 0"),
        ({"step": "strong", "update": "exponentiated"}, {}, "step='strong' needs kappa > 0"),
        ({"start": np.zeros(3)}, {}, r"start has shape \(3,\), but costs have 5 entries"),
    ],
)
def test_switches_that_do_not_suit_a_problem_are_refused(switches: Any, changes: Any, reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(MirrorDescent(MirrorSwitches(**switches)).refuses(posed(**changes)))
    assert MirrorDescent().refuses(posed(**changes)) is None


@pytest.mark.parametrize(
    ("switches", "message"),
    [
        ({"update": "newton"}, "update='newton' is not known"),
        ({"average": "best"}, "average='best' is not known"),
        ({"step": "long"}, "step='long' is not known"),
        ({"batch_size": 0}, "batch_size = 0 must be a whole number of at least 1"),
        ({"oracle_seconds": -1.0}, "oracle_seconds = -1.0 must be a positive number"),
        ({"step_scale": 0.0}, "step_scale = 0.0 must be a positive number"),
        ({"radius": np.inf}, "radius = inf must be a positive number"),
    ],
)
def test_switches_that_make_no_sense_are_refused(switches: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MirrorSwitches(**switches)


def test_a_step_rule_of_ones_own_must_be_positive() -> None:
    with pytest.raises(ValueError, match=r"step\(3\) returned 0.0"):
        MirrorDescent(MirrorSwitches(step=lambda t: 3.0 - t)).solve(posed(), SolveOptions(max_iter=5))


def test_the_radius_contains_the_optimum() -> None:
    for regularizer in ("l1", "l2"):
        for prior in ("nonnegative", None):
            problem = posed(prior=prior, regularizer=regularizer)
            exact = ConstraintGeneration().solve(problem, SolveOptions(tolerance=1e-8))
            run = MirrorDescent(MirrorSwitches(update="exponentiated")).begin(problem)
            assert np.abs(exact.primal).sum() <= run.chart.radius  # type: ignore[attr-defined]


def test_responses_outside_of_the_decisions_need_a_radius_and_keep_the_bounds_true() -> None:
    problem = posed(kappa=0.1)
    shut = replace(problem.examples[0], response=1.0 - problem.examples[0].response, inside=False)
    broken = replace(problem, examples=(shut, *problem.examples[1:]))
    with pytest.raises(ValueError, match="give a radius"):
        MirrorDescent(MirrorSwitches(update="exponentiated")).solve(broken, SolveOptions(max_iter=2))
    for clamp in (False, True):
        relaxed = replace(broken, clamp=clamp)
        found = MirrorDescent(MirrorSwitches(batch_size=None)).solve(relaxed, SolveOptions(max_iter=400))
        best = optimum(relaxed)
        assert found.lower_bound <= best + 1e-7 and best - 1e-7 <= found.upper_bound <= best + 0.05


def test_progress_is_told_and_its_exception_ends_the_solve() -> None:
    lines: list[Progress] = []
    MirrorDescent().solve(posed(), SolveOptions(tolerance=0.0, max_iter=10, on_progress=lines.append))
    assert [line.iteration for line in lines] == [1, 2, 4, 8, 10]
    assert all(later.upper_bound <= earlier.upper_bound for earlier, later in itertools.pairwise(lines))
    assert all(later.lower_bound >= earlier.lower_bound for earlier, later in itertools.pairwise(lines))

    def stop(line: Progress) -> None:
        raise LookupError(f"enough after {line.iteration}")

    with pytest.raises(LookupError, match="enough after 1"):
        MirrorDescent().solve(posed(), SolveOptions(on_progress=stop))


def test_a_time_limit_ends_the_run_with_bounds_that_hold() -> None:
    problem = posed()
    started = time.perf_counter()
    options = SolveOptions(tolerance=0.0, max_iter=10**9, time_limit=0.3)
    found = MirrorDescent().solve(problem, options)
    assert found.status is Status.TIME_LIMIT and 0.3 <= time.perf_counter() - started < 5.0
    assert found.lower_bound <= optimum(problem) + 1e-7 <= found.upper_bound + 2e-7


def test_ctrl_c_hands_over_the_best_so_far() -> None:
    problem = posed(forward=CountedForward(interrupt_at=60).problem())
    with pytest.raises(SolveInterrupted) as caught:
        MirrorDescent(MirrorSwitches(random_state=0)).solve(problem, SolveOptions(tolerance=0.0))
    kept: Any = caught.value.outcome
    assert kept.status is Status.INTERRUPTED and kept.iterations > 8
    assert kept.lower_bound <= optimum(posed()) + 1e-7 <= kept.upper_bound + 2e-7


@pytest.mark.parametrize("fail_at", [1, 60])
def test_a_forward_solver_that_fails_is_named_and_loses_no_progress(fail_at: int) -> None:
    problem = posed(forward=CountedForward(fail_at=fail_at).problem())
    with pytest.raises(ForwardSolveError, match=r"observation \d+: the forward solver failed: .*licence expired") as caught:
        MirrorDescent(MirrorSwitches(random_state=0)).solve(problem, SolveOptions(tolerance=0.0))
    kept: Any = caught.value.outcome
    assert kept.primal.shape == (5,)
    if fail_at == 60:
        assert kept.iterations > 8 and np.isfinite(kept.upper_bound)
        _, signals, responses = drawn(5, 3, 12, seed=1, noise=0.2)
        assert kept.upper_bound == pytest.approx(
            0.05 * kept.primal @ kept.primal / 2 + loss(kept.primal, signals, responses, "l1").mean()
        )
