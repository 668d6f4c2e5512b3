"""What is said about how far a cost can be trusted is true of costs that are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surefoot.inverse import InverseOptimizer, cost_angle, cost_confidence, forward
from surefoot.inverse.estimator import decision_turns
from surefoot.inverse.estimator.decision_turns import decision_turn
from surefoot.inverse.oracle.forward_oracle import ForwardOracle

TASTE = np.array([1.0, 2.0, 3.0])


def offers(n: int, noise: float = 0.0) -> tuple[list[Any], list[int]]:
    draw = np.random.default_rng(5)
    shown = [draw.uniform(0, 1, (5, 3)) for _ in range(n)]
    return shown, [int(np.argmin(each @ TASTE + draw.normal(0, 1, 5) * noise)) for each in shown]


def turned(cost: np.ndarray, towards: np.ndarray, degrees: float) -> np.ndarray:
    unit = cost / np.linalg.norm(cost)
    side = towards - (towards @ unit) * unit
    angle = np.radians(degrees)
    return np.asarray(np.cos(angle) * unit + np.sin(angle) * side / np.linalg.norm(side))


def test_no_decision_changes_within_the_turn_and_one_does_beyond_it() -> None:
    signals, responses = offers(20)
    model = InverseOptimizer(forward.FiniteChoice(), approach="incenter").fit(signals, responses)
    trust = cost_confidence(model, signals, responses, band=None)
    draw = np.random.default_rng(0)

    def choices(cost: np.ndarray) -> list[int]:
        return [int(np.argmin(signal @ cost)) for signal in signals]

    for towards in draw.normal(size=(300, 3)):
        assert choices(turned(model.cost_, towards, 0.999 * trust.turn)) == responses
    first = int(np.argmin(trust.turn_least))
    away = signals[first] - signals[first][responses[first]]
    rows = [row for row in -away if np.any(row)]
    beyond = [choices(turned(model.cost_, row, 1.001 * trust.turn))[first] for row in rows]
    assert any(choice != responses[first] for choice in beyond)
    np.testing.assert_array_equal(trust.turn_least, trust.turn_most)


def test_costs_that_explain_everything_lie_in_the_range_and_touch_it() -> None:
    signals, responses = offers(20)
    model = InverseOptimizer(forward.FiniteChoice(), approach="incenter").fit(signals, responses)
    trust = cost_confidence(model, signals, responses, band=None)
    draw = np.random.default_rng(1)
    drawn = trust.cost + draw.normal(size=(40_000, 3)) * np.tan(np.radians(trust.cone_degrees))
    pairs = zip(signals, responses, strict=True)
    fits = np.all([np.argmin(drawn @ signal.T, axis=1) == choice for signal, choice in pairs], axis=0)
    consistent = drawn[fits]
    assert len(consistent) > 100
    scaled = consistent / (consistent @ trust.cost)[:, None]
    assert np.all(scaled >= trust.least) and np.all(scaled <= trust.most)
    reached = (scaled.max(axis=0) - scaled.min(axis=0)) / (trust.most - trust.least)
    assert reached.min() > 0.7
    angles = np.degrees(np.arccos(np.clip(scaled @ trust.cost / np.linalg.norm(scaled, axis=1), -1, 1)))
    assert trust.turn <= angles.max() <= trust.cone_degrees
    assert trust.least @ trust.least > 0 and np.all(TASTE / (TASTE @ trust.cost) <= trust.most)


def test_programmes_bound_the_turn_that_enumeration_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    draw, problem = np.random.default_rng(2), forward.BinaryProgram()
    counted = []
    for k in range(12):
        instance = problem.instance(0, (draw.uniform(0, 1, (2, 7)), np.array([1.5, 1.2])), None if k % 2 else _mixed)
        cost = -draw.uniform(0.1, 1.0, 7 if k % 2 else 3)
        counted.append((instance, cost, decision_turn(ForwardOracle(), instance, cost).most))
    monkeypatch.setattr(decision_turns, "few_decisions", lambda decisions: None)
    for instance, cost, exact in counted:
        found = decision_turn(ForwardOracle(), instance, cost)
        assert found.least <= exact + 1e-6 <= found.most + 2e-6
        if instance.features.n_features == 7:  # decisions are priced as they are
            assert found.least == pytest.approx(exact, abs=1e-4) == found.most


def _mixed(signal: Any, x: Any) -> Any:
    return np.array([x[0] + x[1], x[2] - x[3], x[4] + 2 * x[5] + x[6]])


def test_corners_of_linear_programmes_turn_at_their_edges() -> None:
    """Over the unit square the corner (0, 0) is best while both costs are above 0."""
    problem = forward.LinearProgram(upper=1.0)
    instance = problem.instance(0, (np.empty((0, 2)), np.empty(0)))
    found = decision_turn(ForwardOracle(), instance, np.array([3.0, 1.0]))
    assert found.least == found.most == pytest.approx(np.degrees(np.arctan2(1, 3)))
    cut = problem.instance(0, (np.array([[1.0, 1.0]]), np.array([0.0])))
    assert np.isnan(decision_turn(ForwardOracle(), cut, np.array([3.0, 1.0])).least)


def test_looking_alike_is_no_other_decision() -> None:
    points = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 1.0]])
    instance = forward.FiniteChoice().instance(0, points)
    assert decision_turn(ForwardOracle(), instance, np.array([1.0, 1.0])).most == pytest.approx(45.0)
    alone = forward.FiniteChoice().instance(0, points[:2])
    assert decision_turn(ForwardOracle(), alone, np.array([1.0, 1.0])).least == 180.0


def test_a_cost_along_a_difference_turns_by_less_than_a_right_angle() -> None:
    """The sine of that angle is 1 to all digits: 90 degrees were said, where the decision changes before."""
    cost, degrees = np.array([np.cos(1e-9), np.sin(1e-9)]), np.degrees(np.pi / 2 - 1e-9)
    listed = forward.FiniteChoice().instance(0, np.array([[0.0, 0.0], [1.0, 0.0]]))
    corner = forward.LinearProgram(upper=1.0).instance(0, (np.empty((0, 2)), np.empty(0)))
    for instance, nearest in ((listed, degrees), (corner, np.degrees(1e-9))):
        turn = decision_turn(ForwardOracle(), instance, cost)
        assert turn.least == turn.most == pytest.approx(nearest, rel=1e-12)
    assert turn.least < 90 and decision_turn(ForwardOracle(), listed, cost).least < 90


def test_leaving_one_out_is_what_it_says() -> None:
    signals, responses = offers(8, noise=0.3)
    model = InverseOptimizer(forward.FiniteChoice(), kappa=0.01).fit(signals, responses)
    trust = cost_confidence(model, signals, responses, band="leave-one-out")
    other = InverseOptimizer(forward.FiniteChoice(), kappa=0.01).fit(signals[1:], responses[1:])
    assert trust.moved[0] == pytest.approx(np.degrees(cost_angle(model.cost_, other.cost_)), abs=0.5)
    assert trust.n_refits == 8 and np.all(trust.low <= trust.high)
    assert trust.pull.sum() == pytest.approx(1.0) and np.all(trust.pull >= 0)


def test_bands_narrow_and_are_repeatable() -> None:
    widths = []
    for n in (10, 80):
        signals, responses = offers(n, noise=0.2)
        model = InverseOptimizer(forward.FiniteChoice(), kappa=0.01, tol=1e-3).fit(signals, responses)
        found = [cost_confidence(model, signals, responses, n_resamples=12, random_state=3) for _ in range(2 if n == 10 else 1)]
        if n == 10:
            np.testing.assert_array_equal(found[0].low, found[1].low)
        widths.append(float(np.mean(found[0].high - found[0].low)))
    assert widths[1] < 0.7 * widths[0]


def test_the_result_says_what_is_a_bound_and_what_an_estimate() -> None:
    signals, responses = offers(12)
    model = InverseOptimizer(forward.FiniteChoice(), approach="incenter").fit(signals, responses)
    trust = cost_confidence(model, signals, responses, n_resamples=5, random_state=0)
    text = repr(trust)
    assert "turning (bound): no decision changes while" in text and "band (estimate, 90% of 5 bootstrap refits)" in text
    assert "cone (bound): costs that explain everything are within" in text and "pull: most by observations" in text
    entries, seen = trust.to_frame(), trust.to_frame("observations")
    assert list(entries.columns) == ["entry", "cost", "low", "high", "least", "most"] and len(entries) == 3
    assert list(seen.columns) == ["observation", "turn_least", "turn_most", "pull", "moved"] and len(seen) == 12
    with pytest.raises(ValueError, match="what='rows' must be"):
        trust.to_frame("rows")
    with pytest.raises(ValueError, match="band='jackknife' must be one of"):
        cost_confidence(model, signals, responses, band="jackknife")


def test_inconsistent_data_have_no_cone_and_say_so() -> None:
    signals, responses = [np.eye(2)] * 3, [0, 1, 0]
    model = InverseOptimizer(forward.FiniteChoice(), kappa=0.01).fit(signals, responses)
    trust = cost_confidence(model, signals, responses, band=None)
    assert np.isnan(trust.cone_degrees) and np.isnan(trust.least).all()
    assert "does not explain all observations" in repr(trust)


def test_ties_by_rounding_do_not_narrow_the_range() -> None:
    """Alternatives that are the same but for rounding, as a tour and its reverse are."""
    random = np.random.default_rng(2)
    offers, chosen = [], []
    for _ in range(12):
        points = random.uniform(0.5, 1.5, (4, 3))
        best = int(np.argmin(points @ [1.0, 2.0, 3.0]))
        twin = points[best] + np.array([2e-16, -2e-16, 0.0]) * random.choice([-1, 1])
        offers.append(np.vstack((points, twin)))
        chosen.append(best)
    plain = [points[:4] for points in offers]
    model = InverseOptimizer(forward.FiniteChoice(), approach="incenter", prior="nonnegative").fit(plain, chosen)
    ties, none = (cost_confidence(model, signals, chosen, band=None) for signals in (offers, plain))
    assert np.all((ties.least <= ties.cost) & (ties.cost <= ties.most))
    assert ties.cone_degrees == pytest.approx(none.cone_degrees, rel=1e-3)
