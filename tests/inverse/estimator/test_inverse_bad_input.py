"""What cannot be learned from is refused, with the observation named; what was found before a failure is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference.enumerated_inverse import drawn, smallest_loss
from sklearn.base import clone

from surefoot.exceptions import ForwardSolveError, InvalidObservationError, UnsupportedProblemError
from surefoot.inverse import InverseOptimizer, forward

SIGNAL = (np.array([[-1.0, -1.0]]), np.array([-1.0]))
GOOD = np.array([1.0, 0.0])


@pytest.mark.parametrize(
    ("signal", "response", "message"),
    [
        ((np.array([[1.0, np.nan]]), np.array([1.0])), GOOD, "observation 1: A holds nan at \\[0, 1\\]"),
        ((np.array([[1.0, 1.0]]), np.array([1.0, 2.0])), GOOD, "observation 1: A has 1 rows, but b has 2 entries"),
        ((np.array([1.0, 1.0]), np.array([1.0])), GOOD, "observation 1: A has 1 dimension\\(s\\) and needs 2"),
        (np.ones(3), GOOD, "observation 1: the signal must be \\(A, b\\)"),
        ((np.array([["x", "y"]]), np.array([1.0])), GOOD, "observation 1: A must be an array of numbers"),
        (SIGNAL, np.array([0.0, 0.0]), "observation 1: the response is no decision"),
        (SIGNAL, np.array([0.5, 0.5]), "observation 1: the response is no decision"),
        (SIGNAL, np.array([1.0, 0.0, 0.0]), "observation 1: the response has 3 entries, but decisions have 2"),
        (SIGNAL, np.array([1.0, np.inf]), "observation 1: the response holds inf"),
        ((np.ones((1, 3)), np.ones(1)), np.ones(3), "observation 1"),
    ],
)
def test_bad_observations_are_named(signal: Any, response: Any, message: str) -> None:
    with pytest.raises(InvalidObservationError, match=message):
        InverseOptimizer(forward.BinaryProgram()).fit([SIGNAL, signal], [GOOD, response])


def test_signals_and_responses_must_be_as_many_and_some() -> None:
    model = InverseOptimizer(forward.BinaryProgram())
    with pytest.raises(InvalidObservationError, match="2 signals, but 1 responses"):
        model.fit([SIGNAL, SIGNAL], [GOOD])
    with pytest.raises(InvalidObservationError, match="no observations"):
        model.fit([], [])


def test_features_that_vanish_are_refused() -> None:
    with pytest.raises(InvalidObservationError, match="no cost vector can tell decisions apart"):
        InverseOptimizer(forward.BinaryProgram(), features=lambda _s, x: 0.0 * x).fit([SIGNAL], [GOOD])


def test_features_that_are_not_linear_are_refused_for_programmes() -> None:
    with pytest.raises(InvalidObservationError, match="observation 0: features are not linear"):
        InverseOptimizer(forward.BinaryProgram(), features=lambda _s, x: x**3).fit([SIGNAL], [GOOD])


def test_an_infeasible_forward_problem_names_its_observation_when_predicting() -> None:
    model = InverseOptimizer(forward.BinaryProgram(), prior="nonnegative").fit([SIGNAL], [GOOD])
    with pytest.raises(ForwardSolveError, match="observation 1: no decision is allowed"):
        model.predict([SIGNAL, (np.array([[-1.0, -1.0]]), np.array([-3.0]))])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"approach": "magic"}, "approach='magic' is not known"),
        ({"distance": "l3"}, "distance='l3' is not known"),
        ({"regularizer": "l0"}, "regularizer='l0' must be"),
        ({"kappa": -1.0}, "kappa = -1.0 must be"),
        ({"prior": "positive"}, "prior='positive' must be"),
        ({"prior": (1.0, 0.0)}, "with nothing between"),
        ({"prior": {"A": [[1.0]], "b": [1.0]}}, "prior: A has shape"),
        ({"infeasible": "drop"}, "infeasible='drop' must be"),
        ({"center": [1.0]}, "center has 1 entries"),
        ({"solver": "magic"}, "solver='magic' is not known"),
        ({"approach": "ellipsoidal-asl"}, "needs kappa above 0"),
    ],
)
def test_unknown_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        InverseOptimizer(forward.BinaryProgram(), **options).fit([SIGNAL], [GOOD])


def test_quadratic_costs_have_no_circumcenter() -> None:
    signal = np.eye(1), np.ones(1)
    with pytest.raises(UnsupportedProblemError, match="does not learn quadratic costs"):
        InverseOptimizer(forward.QuadraticProgram(), approach="circumcenter").fit([signal], [np.zeros(1)])


@pytest.mark.parametrize("approach", ["asl", "incenter", "suboptimality", "circumcenter", "predictability", "ellipsoidal-asl"])
def test_an_infeasible_forward_problem_names_its_observation_when_fitting(approach: str) -> None:
    nothing = np.array([[-1.0, -1.0]]), np.array([-3.0])
    model = InverseOptimizer(forward.BinaryProgram(), approach=approach, kappa=0.1, infeasible="clamp")
    with pytest.raises(ForwardSolveError, match="observation 1: no decision is allowed"):
        model.fit([SIGNAL, nothing], [GOOD, GOOD])


def test_infeasible_responses_can_be_clamped() -> None:
    _, signals, responses = drawn(4, 3, 8, seed=1, noise=0.3, signed=True)
    responses[2] = 1.0 - responses[2]
    responses[5] = 1.0 - responses[5]
    model = InverseOptimizer(forward.BinaryProgram(), infeasible="clamp", kappa=0.05).fit(signals, responses)
    wanted = smallest_loss(signals, responses, kappa=0.05, clamp=True)
    assert model.certificate_.verified
    assert model.certificate_.upper_bound == pytest.approx(wanted, abs=2e-6)


class Shaky:
    """A solver of {0, 1}^2 that fails, or returns nonsense, at a given call."""

    def __init__(self, at: int, answer: Any = None) -> None:
        self.at, self.answer, self.calls = at, answer, 0

    def __call__(self, theta: np.ndarray, signal: Any) -> Any:
        self.calls += 1
        if self.calls == self.at:
            if self.answer is None:
                raise RuntimeError("the licence has expired")
            return self.answer
        return (theta < 0).astype(float)


def shaky(at: int, answer: Any = None) -> forward.CallableProblem:
    return forward.CallableProblem(
        Shaky(at, answer), n_unknowns=2, binary=True, contains=lambda _s, x: bool(np.isin(x, (0.0, 1.0)).all())
    )


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "observation 1: the forward solver failed: RuntimeError\\('the licence has expired'\\)"),
        (np.array([0.5, 0.0]), "observation 1: the forward solver returned a point that is not allowed"),
        (np.array([1.0]), "observation 1: the forward solver returned 1 entries"),
        ("left", "observation 1: the forward solver returned 'left', no vector"),
        (np.array([np.nan, 0.0]), "observation 1: the forward solver returned"),
    ],
)
def test_a_failing_call_names_its_observation_and_loses_no_progress(answer: Any, message: str) -> None:
    model = InverseOptimizer(shaky(4, answer), distance="l1", kappa=0.1)
    with pytest.raises(ForwardSolveError, match=message) as caught:
        model.fit([None, None], [np.array([1.0, 0.0]), np.array([0.0, 0.0])])
    assert caught.value.outcome is model.outcome_
    assert np.isfinite(model.outcome_.upper_bound)
    assert model.outcome_.lower_bound <= model.outcome_.upper_bound
    assert model.cost_.shape == (2,)


def test_callables_are_learned_like_the_programmes_they_solve() -> None:
    responses = [np.array([1.0, 0.0]), np.array([0.0, 0.0]), np.array([1.0, 0.0])]
    free = np.zeros((1, 2)), np.zeros(1)
    called = InverseOptimizer(shaky(-1), distance="l1", kappa=0.1).fit([None] * 3, responses)
    solved = InverseOptimizer(forward.BinaryProgram(), distance="l1", kappa=0.1).fit([free] * 3, responses)
    np.testing.assert_allclose(called.cost_, solved.cost_, atol=1e-6)
    assert called.certificate_.upper_bound == pytest.approx(solved.certificate_.upper_bound, abs=1e-7)
    # Nobody but the caller can vouch for a caller's solver.
    assert not called.certificate_.verified
    assert "not recomputed" in called.certificate_.claim


def test_a_distance_the_callable_cannot_price_is_refused() -> None:
    with pytest.raises(UnsupportedProblemError, match="needs a forward problem with 'augmented'"):
        InverseOptimizer(shaky(-1), distance="l2", kappa=0.1).fit([None], [GOOD])


def test_choices_may_be_given_by_number_or_by_attributes() -> None:
    random = np.random.default_rng(2)
    theta = np.array([1.0, -2.0, 0.5])
    signals = [random.normal(size=(6, 3)) for _ in range(20)]
    numbers = [int(np.argmin(signal @ theta)) for signal in signals]
    first = InverseOptimizer(forward.FiniteChoice(), approach="incenter").fit(signals, numbers)
    second = InverseOptimizer(forward.FiniteChoice(), approach="incenter").fit(
        np.array(signals), [signal[k] for signal, k in zip(signals, numbers, strict=True)]
    )
    np.testing.assert_allclose(first.cost_, second.cost_)
    assert first.certificate_.verified
    assert all(np.array_equal(x, s[k]) for x, s, k in zip(first.predict(signals), signals, numbers, strict=True))
    with pytest.raises(InvalidObservationError, match="observation 0: the response 6 is not the number"):
        first.fit(signals[:1], [6])


def test_the_estimator_is_cloned_and_not_changed_by_fit() -> None:
    model = InverseOptimizer(forward.BinaryProgram(), approach="incenter", prior="nonnegative", tol=1e-5)
    before = model.get_params(deep=False)
    model.fit([SIGNAL], [GOOD])
    assert all(model.get_params(deep=False)[name] is value for name, value in before.items())
    copy = clone(model)
    assert not hasattr(copy, "cost_")
    assert copy.get_params(deep=False).keys() == before.keys()


def test_a_signal_with_other_features_than_those_learned_from_is_named_when_predicting() -> None:
    model = InverseOptimizer(forward.BinaryProgram()).fit([SIGNAL], [GOOD])
    with pytest.raises(InvalidObservationError, match="observation 1: features have 3 entries, but the learned cost prices 2"):
        model.predict([SIGNAL, (-np.ones((1, 3)), np.array([-1.0]))])
