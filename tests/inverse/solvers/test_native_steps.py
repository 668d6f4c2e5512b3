"""Native steps of mirror descent against the same steps in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference.enumerated_inverse import drawn

from surefoot.inverse.forward.programs import BinaryProgram
from surefoot.inverse.mirror.mirror_descent import MirrorDescent, evaluate, regularizer_gradient
from surefoot.inverse.mirror.mirror_run import Draws, MirrorSwitches
from surefoot.inverse.mirror.native_steps import NativeSteps
from surefoot.inverse.oracle.forward_oracle import ForwardOracle
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import InverseProblem, Regularizer


def posed(distance: str, regularizer: Any, prior: Any, features: Any = None) -> InverseProblem:
    _, signals, responses = drawn(6, 3, 9, seed=4, noise=0.2, signed=prior is None)
    pairs = enumerate(zip(signals, responses, strict=True))
    examples = tuple(BinaryProgram().example(i, s, x, features) for i, (s, x) in pairs)
    p = examples[0].instance.features.n_features
    center = np.linspace(-0.1, 0.2, p)
    return InverseProblem(examples, Distance(distance, "none"), Regularizer(regularizer, center), 0.05, PriorSet.of(prior, p))


@pytest.mark.parametrize(
    ("distance", "regularizer", "prior", "update", "step", "average", "batch"),
    [
        ("l1", "l1", "nonnegative", "exponentiated", "adaptive", "linear", 1),
        ("l2", "l2", None, "exponentiated", "normalized", "uniform", 4),
        ("l2", "l2", "nonnegative", "euclidean", "strong", "linear", 2),
        ("l1", "l1", (-0.3, 0.6), "euclidean", "sqrt", "last", None),
        ("zero-one", "l2", "simplex", "exponentiated", "constant", "linear", 3),
    ],
)
def test_native_steps_are_those_of_python(
    distance: str, regularizer: str, prior: Any, update: str, step: str, average: str, batch: int | None
) -> None:
    problem = posed(distance, regularizer, prior)
    switches = MirrorSwitches(
        update=update, batch_size=batch, step=step, average=average, step_scale=0.3, radius=4.0, random_state=2
    )
    solver = MirrorDescent(switches)
    ours, theirs = solver.begin(problem), solver.begin(problem)
    steps_ = NativeSteps.of(problem, ours)
    assert steps_ is not None
    steps = Draws(switches, problem.n_examples).next(40)
    made, points, _ = steps_.advance(ours, steps[:25])
    rest, more, _ = steps_.advance(ours, steps[25:])
    assert (made, rest) == (25, 15)
    oracle = ForwardOracle()
    for row in steps:
        theta = theirs.theta
        theirs.advance(evaluate(problem, oracle, row.tolist(), theta, np.inf).gradient + regularizer_gradient(problem, theta))
    np.testing.assert_allclose(ours.state, theirs.state, atol=1e-11)
    np.testing.assert_allclose(ours.answer, theirs.answer, atol=1e-11)
    assert ours.steps == theirs.steps == 40 and ours.weight == theirs.weight
    found = np.vstack((points, more))
    for at, point in zip(steps.ravel().tolist(), found, strict=True):
        assert np.isnan(point).all() or problem.examples[at].instance.decisions.allowed(point[None, :])[0]


def test_features_of_decisions_are_priced_as_in_python() -> None:
    matrix = np.random.default_rng(0).normal(size=(4, 6))
    problem = posed("l1", "l2", None, lambda _signal, x: matrix @ x + 1.0)
    switches = MirrorSwitches(update="euclidean", batch_size=None, step="adaptive", average="linear")
    ours, theirs = MirrorDescent(switches).begin(problem), MirrorDescent(switches).begin(problem)
    steps_ = NativeSteps.of(problem, ours)
    assert steps_ is not None
    every = np.tile(np.arange(problem.n_examples), (10, 1))
    steps_.advance(ours, every)
    for row in every:
        theta = theirs.theta
        batch = evaluate(problem, ForwardOracle(), row.tolist(), theta, np.inf)
        theirs.advance(batch.gradient + regularizer_gradient(problem, theta))
    np.testing.assert_allclose(ours.answer, theirs.answer, atol=1e-11)


def test_a_search_of_few_nodes_takes_the_response_where_it_finds_nothing() -> None:
    problem = posed("l1", "l1", "nonnegative")
    run = MirrorDescent(MirrorSwitches(batch_size=1, update="euclidean")).begin(problem)
    steps_ = NativeSteps.of(problem, run)
    assert steps_ is not None
    made, points, _ = steps_.advance(run, np.arange(9)[:, None], 1e-9)
    assert made == 9 and np.isnan(points).all()


def test_other_problems_are_left_to_python() -> None:
    problem = posed("l1", "l1", {"A": [[1.0] * 6], "b": [1.0]})
    assert NativeSteps.of(problem, MirrorDescent(MirrorSwitches()).begin(problem)) is None
    simplex = posed("l1", "l1", "simplex")
    assert NativeSteps.of(simplex, MirrorDescent(MirrorSwitches(update="euclidean")).begin(simplex)) is None
    free = posed("l1", "l2", None)
    assert NativeSteps.of(free, MirrorDescent(MirrorSwitches(step=lambda t: 1.0 / t)).begin(free)) is None


def test_passes_draw_every_example_once_and_uniform_draws_need_not() -> None:
    drawn_ = Draws(MirrorSwitches(batch_size=2, random_state=0), 7)
    together = np.concatenate([drawn_.next(3).ravel(), drawn_.next(4).ravel()])
    assert sorted(together[:7].tolist()) == sorted(together[7:].tolist()) == list(range(7))
    uniform = Draws(MirrorSwitches(batch_size=1, sampling="uniform", random_state=0), 7).next(70).ravel()
    assert set(uniform.tolist()) == set(range(7)) and len(set(np.bincount(uniform).tolist())) > 1
    with pytest.raises(ValueError, match="sampling='often' is not known"):
        MirrorSwitches(sampling="often")
