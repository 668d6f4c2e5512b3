"""Columns in very different units: what one of them is measured in excuses nothing about another."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.exceptions import ConvergenceLimitWarning, InconsistentDataError, UnsupportedProblemError
from surefoot.inverse import InverseOptimizer, forward
from surefoot.inverse.certificate.certificate import certify_cost, certify_predictions
from surefoot.inverse.certificate.decision_bound import decision_bounds
from surefoot.inverse.problem.approaches import APPROACHES
from surefoot.inverse.problem.cost_proof import FacetProof
from surefoot.inverse.problem.decision_set import ListedSet
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.hypothesis import LinearFeatures
from surefoot.inverse.problem.predicted_distances import predicted_distances, tied_costs
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import Example, Instance, InverseProblem, Regularizer

# Two offers each: price, minutes. The second is chosen because it is faster, where prices are equal; the first is far dearer.
OFFERS = np.array([[2e9, 5.0], [1e9, 3.0], [1e9, 4.0]])


def posed(approach: str, offers: Any, at: int, *, center: Any = (0.0, 0.0), kind: Any = "l2") -> InverseProblem:
    examples = (forward.FiniteChoice().example(0, np.asarray(offers), at),)
    given = InverseProblem(examples, Distance.of("l2"), Regularizer(kind, np.array(center)), 0.0, PriorSet.of(None, 2))
    return APPROACHES[approach].pose(given)


def mean_loss(signals: Any, responses: Any, theta: Any) -> float:
    return float(np.mean([s[k] @ theta - (s @ theta).min() for s, k in zip(signals, responses, strict=True)]))


def test_a_loss_in_minutes_is_not_nothing_because_prices_are_large() -> None:
    """The cost (0, -1) prices the observed offer 2 above the best one; (0, 1) has no loss."""
    problem = posed("suboptimality", OFFERS, 1)
    facets = FacetProof((problem.prior,) * 4, (None,) * 4)
    found = certify_cost(problem, np.array([0.0, -1.0]), facets, 1e-6)
    assert found.upper_bound == pytest.approx(2.0) and found.lower_bound == 0.0
    assert not found.verified and found.relative_gap == 1.0
    assert certify_cost(problem, np.array([0.0, 1.0]), facets, 1e-6).verified


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.ConvergenceLimitWarning")
@pytest.mark.parametrize("scale", [(1e9, 1.0, 1.0), (1e6, 1e-3, 1.0), (1.0, 1.0, 1e9)])
def test_a_verified_cost_has_no_better_one_beside_it(scale: tuple[float, ...]) -> None:
    random = np.random.default_rng(0)
    draws = [np.c_[random.uniform(10, 100, 4), random.uniform(30, 240, 4), random.integers(0, 3, 4)] for _ in range(30)]
    true = np.array([1.0, 0.5, 10.0])
    responses = [int(np.argmin(draw @ true)) for draw in draws]
    signals = [draw * scale for draw in draws]
    model = InverseOptimizer(forward.FiniteChoice(), approach="suboptimality").fit(signals, responses)
    other = true / scale / np.abs(true / scale).max()
    assert mean_loss(signals, responses, other) < 1e-6
    sizes = [np.abs((draw[k] - draw) * model.cost_).max() for draw, k in zip(signals, responses, strict=True)]
    if model.certificate_.verified:
        assert mean_loss(signals, responses, model.cost_) <= 1e-6 * np.mean(sizes)


def test_a_gap_relative_to_the_scale_of_the_data_says_so() -> None:
    """The loss is 1e-8: nothing beside the 2e9 that this cost's losses are made of, which the claim names, to a tenth."""
    offers = np.array([[2e9, 0.0], [1e9, 3.0], [1e9, 3.0 - 1e-4]])
    problem = posed("suboptimality", offers, 1)
    facets = FacetProof((problem.prior,) * 4, (None,) * 4)
    found = certify_cost(problem, np.array([1.0, 1e-4]), facets, 1e-6)
    assert found.verified and 0 < found.upper_bound < 2e-8
    assert "(relative to 1.00e+8, which objectives of these data count as at least; asked for: 1.0e-06)" in found.claim
    size = float(re.findall(r"relative to (\S+),", found.claim)[0])
    gap = float(re.findall(r"relative gap of (\S+) ", found.claim)[0])
    assert gap * size >= found.gap


def test_an_objective_above_the_scale_is_compared_with_itself() -> None:
    model = InverseOptimizer(forward.FiniteChoice(), kappa=1.0).fit([np.array([[1.0, 2.0], [2.0, 1.0]])], [0])
    assert model.certificate_.verified and "relative to" not in model.certificate_.claim


def test_a_large_entry_of_a_centre_excuses_no_distance_of_a_small_one() -> None:
    """(1e9, 1) is consistent and its own centre: (1e9, 1.5), at a distance of 0.5, is not the nearest consistent cost."""
    problem = posed("cutting-plane", [[1.0, 1.0], [2.0, 2.0]], 0, center=(1e9, 1.0), kind="l1")
    found = certify_cost(problem, np.array([1e9, 1.5]), None, 1e-6)
    assert found.upper_bound == pytest.approx(0.5) and found.lower_bound == 0.0 and not found.verified
    assert certify_cost(problem, np.array([1e9, 1.0]), None, 1e-6).verified


def test_an_observation_is_explained_to_its_own_scale() -> None:
    """Beside an observation with slopes of 1e9 a loss of 0.5 in another one, where costs are of size 1, is none of rounding."""
    draws = [np.array([[0.0, 0.0], [1e9, 1e9]]), np.array([[1.0, 0.0], [0.0, 0.5]])]
    examples = tuple(forward.FiniteChoice().example(i, draw, 0) for i, draw in enumerate(draws))
    given = InverseProblem(examples, Distance.of("l2"), Regularizer("l1", np.ones(2)), 0.0, PriorSet.of(None, 2))
    problem = APPROACHES["cutting-plane"].pose(given)
    found = certify_cost(problem, np.ones(2), None, 1e-6)
    assert "nothing shows that the cost vector explains observation 1" in found.claim and not found.verified


def test_decisions_are_tied_to_the_scale_of_what_a_cost_prices() -> None:
    """Minutes in units of 1e-9 decide for (0, 1); prices of 1e9, which it does not price, tie nothing."""
    problem = posed("predictability", OFFERS * [1.0, 1e-9], 2)
    found = certify_predictions(problem, np.array([0.0, 1.0]), 1e-6)
    assert not found.verified and found.upper_bound == pytest.approx(np.linalg.norm([0.0, 1e-9]))
    assert certify_predictions(problem, np.array([0.0, -1.0]), 1e-6).upper_bound == pytest.approx(1e9)


def test_a_large_column_is_no_room_around_a_cost_of_another() -> None:
    """The largest loss of the cost (0, 1) with nearly no room is 1, and not 0, whatever prices are."""
    from surefoot.inverse.certificate.cost_ellipsoid import certify_ellipsoid
    from surefoot.inverse.problem.ellipsoidal_cost import EllipsoidalCost

    problem = posed("ellipsoidal-incenter", [[2e9, 5.0], [1e9, 4.0], [3e9, 5.0]], 0)
    cost = EllipsoidalCost(np.array([0.0, 1.0]), 1e-12 * np.eye(2))
    found = certify_ellipsoid(problem, cost, None, 1e-6)
    assert "the room around the cost reaches a decision of observation 0" in found.claim


def test_features_that_are_all_alike_leave_no_loss() -> None:
    model = InverseOptimizer(forward.FiniteChoice(), approach="feasibility")
    alike = [np.array([[0.1, 0.3], [0.1, 0.3], [0.1, 0.3]])]
    assert model.fit(alike, [1]).certificate_.verified


@pytest.mark.parametrize("size", [0.0, 1e-300])
def test_features_that_are_all_alike_have_no_scale_and_no_infinite_one(size: float) -> None:
    """A cost whose losses are like distances would be infinite, and so would what objectives count as at least."""
    decisions = ListedSet(np.array([[0.0, 1.0], [1.0, 0.0]]))
    example = Example(Instance(0, decisions, LinearFeatures(size * np.eye(2), np.zeros(2))), np.array([0.0, 1.0]))
    given = InverseProblem((example,), Distance.of("l2"), Regularizer("l2", np.ones(2)), 1.0, PriorSet.of(None, 2))
    found = certify_cost(APPROACHES["incenter"].pose(given), np.ones(2), None, 1e-6)
    assert "nothing shows that the cost vector explains observation 0" in found.claim and not found.verified


@pytest.mark.parametrize("seed", range(5))
def test_a_loss_under_a_cost_of_1e9_is_known_beside_its_distance(seed: int) -> None:
    """Products of 1e9 cancel to what the distance of 1e-9 to a tie adds or takes: rounding alone would be 1e-7."""
    random = np.random.default_rng(seed)
    points = random.uniform(0.5, 1.5, (6, 2))
    turn = points[0] - points[1]
    theta = 3e9 * np.array([turn[1], -turn[0]])
    theta *= np.sign((points[2] - points[0]) @ theta)
    kept = points[(points - points[0]) @ theta >= -1e-3]
    example = Example(Instance(0, ListedSet(kept), LinearFeatures(np.eye(2), np.zeros(2))), points[0])
    for name, apart in (("zero-one", 1), ("none", 0)):
        (bound,) = decision_bounds([example], theta, Distance.of(name))
        drops = [
            sum((Fraction(a) - Fraction(b)) * Fraction(t) for a, b, t in zip(kept[0], x, theta, strict=True)) for x in kept[1:]
        ]
        exact = max(0, *(drop + apart for drop in drops))
        assert exact <= Fraction(bound) <= exact + (Fraction(1e-9) if apart else Fraction(1e-5))


def drawn_offers(scale: Any, *, noisy: bool) -> tuple[list[Any], list[int]]:
    """Choices among four offers with the costs (1, 0.5, 10), some of them by mistake, attributes in these units."""
    random = np.random.default_rng(0)
    signals = [np.c_[random.uniform(10, 100, 4), random.uniform(30, 240, 4), random.integers(0, 3, 4)] for _ in range(60)]
    prices = [signal @ [1.0, 0.5, 10.0] for signal in signals]
    chosen = [int(np.argmin(price + (20 * random.gumbel(size=4) if noisy else 0.0))) for price in prices]
    return [signal * np.asarray(scale) for signal in signals], chosen


UNITS = [(1e5, 1.0, 1e-3), (1e9, 1.0, 1.0), (1.0, 1e-9, 1.0)]


@pytest.mark.parametrize("scale", UNITS)
@pytest.mark.parametrize(
    ("approach", "options"),
    [
        ("asl", {}),
        ("asl", {"kappa": 0.1}),
        ("asl", {"kappa": 0.1, "regularizer": "l1"}),
        ("suboptimality", {}),
        ("suboptimality", {"prior": "nonnegative"}),
        ("feasibility", {}),
        ("incenter", {}),
        ("incenter", {"regularizer": "l1"}),
        ("cutting-plane", {}),
        ("predictability", {}),
        ("circumcenter", {}),
    ],
)
def test_consistent_choices_are_learned_in_any_units(scale: Any, approach: str, options: dict[str, Any]) -> None:
    signals, chosen = drawn_offers(scale, noisy=False)
    model = InverseOptimizer(forward.FiniteChoice(), approach=approach, **options).fit(signals, chosen)
    assert model.certificate_.verified
    if "kappa" not in options:
        # Every one of these explains all choices.
        prices = [signal @ model.cost_ for signal in signals]
        slack = [1e-7 * np.abs(signal * model.cost_).max() for signal in signals]
        assert all(price[k] <= price.min() + room for price, k, room in zip(prices, chosen, slack, strict=True))


@pytest.mark.parametrize("scale", UNITS)
@pytest.mark.parametrize(
    ("approach", "options"),
    [
        ("asl", {}),
        ("asl", {"kappa": 0.1, "regularizer": "l1"}),
        ("suboptimality", {}),
        ("suboptimality", {"prior": "nonnegative"}),
        ("cutting-plane", {}),
    ],
)
def test_choices_with_mistakes_are_learned_in_any_units(scale: Any, approach: str, options: dict[str, Any]) -> None:
    signals, chosen = drawn_offers(scale, noisy=True)
    model = InverseOptimizer(forward.FiniteChoice(), approach=approach, **options).fit(signals, chosen)
    assert model.certificate_.verified and model.certificate_.lower_bound > 0


@pytest.mark.parametrize("approach", ["feasibility", "incenter", "circumcenter"])
@pytest.mark.parametrize("scale", UNITS)
def test_mistakes_are_proven_to_be_some_in_any_units(scale: Any, approach: str) -> None:
    signals, chosen = drawn_offers(scale, noisy=True)
    with pytest.raises(InconsistentDataError, match="no cost vector") as caught:
        InverseOptimizer(forward.FiniteChoice(), approach=approach).fit(signals, chosen)
    assert "not proven" not in str(caught.value) and caught.value.certificate.lower_bound > 0


def test_a_column_that_says_nothing_is_named_by_the_line_it_leaves() -> None:
    signals, chosen = drawn_offers((1.0, 1.0, 0.0), noisy=False)
    with pytest.raises(UnsupportedProblemError, match=r"distinguishes the cost vector \(-?0, -?0, -?1\) from its opposite"):
        InverseOptimizer(forward.FiniteChoice(), approach="circumcenter").fit(signals, chosen)


@pytest.mark.parametrize("large", [1e6, 1e9, 1e-6])
@pytest.mark.parametrize(
    ("options", "noisy"),
    [
        ({"approach": "incenter", "regularizer": "l1"}, False),
        ({"approach": "incenter"}, False),
        ({"approach": "circumcenter"}, False),
        ({"approach": "asl"}, True),
        ({"approach": "asl", "kappa": 0.1, "regularizer": "l1"}, True),
        ({"approach": "suboptimality"}, True),
    ],
)
def test_one_observation_may_be_far_larger_than_the_others(large: float, options: dict[str, Any], noisy: bool) -> None:
    signals, chosen = drawn_offers((1.0, 1.0, 1.0), noisy=noisy)
    signals[0] = signals[0] * large
    assert InverseOptimizer(forward.FiniteChoice(), **options).fit(signals, chosen).certificate_.verified


def test_what_is_not_proven_names_the_columns_that_differ() -> None:
    signals, chosen = drawn_offers((1e9, 1e-9, 1.0), noisy=True)
    with pytest.warns(ConvergenceLimitWarning, match=r"factor of 4e\+17: feature 0 .* feature 1 .* Divide such columns"):
        InverseOptimizer(forward.FiniteChoice(), approach="suboptimality").fit(signals, chosen)


def test_decisions_are_tied_to_the_solver_where_they_are_to_the_certificate() -> None:
    """Two offers whose prices differ by 1e-8, all that either has: not tied, and one of them is predicted."""
    problem = posed("predictability", [[1e-8, 0.0], [0.0, 0.0]], 1)
    theta = np.array([1.0, 1.0])
    points = [problem.examples[0].instance.decisions.points]
    assert tied_costs(problem, theta) == pytest.approx([1e-15])
    assert predicted_distances(problem, theta, points) == pytest.approx([0.0])
    assert predicted_distances(problem, -theta, points) == pytest.approx([1e-8])
    assert not certify_predictions(problem, -theta, 1e-6).verified


def test_a_response_is_an_alternative_only_if_it_is_so_in_every_column() -> None:
    """Beside prices of thousands a difference of 1e-8 is rounding, and beside amounts of 1e-8 it is not."""
    points = [[2e-8, 3000.0], [1e-8, -5000.0]]
    apart = forward.FiniteChoice().example(0, np.array(points), [3e-8, 3000.0])
    rounded = forward.FiniteChoice().example(0, np.array(points), [2e-8 * (1 + 1e-9), 3000.0 + 1e-7])
    assert not apart.inside and apart.response.tolist() == [3e-8, 3000.0]
    assert rounded.inside and rounded.response.tolist() == points[0]


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.ZeroCostWarning")
@pytest.mark.parametrize("center", [[0.83, -1.9], None])
@pytest.mark.parametrize("kappa", [0.0, 0.1])
def test_without_a_distance_a_cost_of_0_is_best_to_the_last_digit(center: Any, kappa: float) -> None:
    """Choices that contradict each other: every other cost has a loss, and the centre's rounding is none of a cost of 0."""
    signals, chosen = [np.array([[1.1, 0.3], [0.2, 0.7], [0.0, 0.1]])] * 3, [0, 1, 2]
    center = center if kappa == 0 else None
    model = InverseOptimizer(forward.FiniteChoice(), distance="none", kappa=kappa, center=center).fit(signals, chosen)
    assert not model.cost_.any() and model.certificate_.verified and model.certificate_.upper_bound == 0.0


STEPS = ([[0, -1], [0, 0], [2, -2]], [[-1, -1], [0, -1], [3, -5]], [[5, -4], [-2, 6], [-3, 2], [5, -4], [-2, -3]])
LOADS = ([[2.74e4, -2.249e-4, -1.403e-5], [5.56e3, 7.27e-5, -5.079e-6], [-1.186e4, 1.133e-4, 1.696e-7]],
         [[9.74e3, 1.5895e-3, 1.5606e-6], [-6.16e3, -1.8779e-4, 8.614e-6], [-1.532e4, -2.0225e-3, -8.574e-6]])  # fmt: skip


@pytest.mark.parametrize(
    ("offers", "at", "units"),
    [(STEPS, (2, 2, 0), (1.0, unit)) for unit in (1.0, 2e6, 1e7, 1.5e8, 2.1e8)] + [(LOADS, (2, 0), (1.0, 1.0, 1.0))],
)
def test_angles_near_a_right_one_are_proven_in_doubles_as_in_balls(offers: Any, at: Any, units: Any) -> None:
    """Consistent costs almost fill a half-space, and products of 1e9 cancel: multipliers pay for their rounding."""
    signals = [np.array(own) * units for own in offers]
    responses = [own[k] for own, k in zip(signals, at, strict=True)]
    model = InverseOptimizer(forward.FiniteChoice(), approach="circumcenter").fit(signals, responses)
    assert model.certificate_.verified and model.certificate_.upper_bound < np.pi / 2
    pytest.importorskip("flint")
    for arithmetic in ("double", "ball"):
        assert sf.verify(model, signals, responses, arithmetic=arithmetic).verified


SHARES = ([[121.2, 1.011e6, 5.584e-6], [-149.6, 2.776e5, -1.468e-5]],
          [[-38.16, 9.354e5, -6.138e-6], [109.2, 2.813e6, 5.063e-5]],
          [[-141.6, 3.203e6, 3.421e-5], [0, 1.068e6, 1.369e-5], [-28.33, 1.068e6, 0], [84.98, 1.068e6, -1.369e-5]],
          [[30.65, -1.815e6, -1.828e-5], [-134.2, 4.805e4, -5.44e-6]])  # fmt: skip
FAR = ([[-2.357e5, -7.103e-7, -261.5], [1.22e5, -2.068e-7, 67.32]],
       [[0, 1.147e-7, 156.6], [-6.098e5, -9.178e-7, 391.4], [-3.049e5, 2.294e-7, 156.6], [-1.22e6, 4.589e-7, 626.2]],
       [[-6.958e5, 2.527e-7, 85.95], [-1.491e6, -2.777e-7, 23.56]],
       [[-6.098e5, 2.294e-7, 0], [1.22e6, -2.294e-7, -156.6], [1.22e6, 3.442e-7, -156.6]])  # fmt: skip
MINUS_ONE = {"A": np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]), "b": np.array([-1.0, 1.0])}


@pytest.mark.parametrize(
    ("offers", "at", "given"),
    [
        # A loss of 7e-6, and a slope of 7e4 times a centre that has no price: at an end of its bounds it is nothing.
        (SHARES, (1, 0, 0, 0), {"approach": "cutting-plane", "prior": "simplex", "center": [0.16, 0.02, 0.74]}),
        # Multipliers up to 1e24 leave slopes of 1e9: they are fractions as they are.
        (FAR, (0, 1, 1, 1), {"approach": "incenter", "prior": MINUS_ONE, "center": [1.44, 0.81, -0.26], "distance": "linf"}),
    ],
)
def test_slopes_that_cancel_are_proven_in_doubles_as_in_balls(offers: Any, at: Any, given: dict[str, Any]) -> None:
    signals = [np.array(own) for own in offers]
    responses = [own[k] for own, k in zip(signals, at, strict=True)]
    model = InverseOptimizer(forward.FiniteChoice(), **given).fit(signals, responses)
    assert model.certificate_.verified
    pytest.importorskip("flint")
    double, ball = (sf.verify(model, signals, responses, arithmetic=arithmetic) for arithmetic in ("double", "ball"))
    assert double.verified and ball.verified
    assert double.lower_bound == pytest.approx(ball.lower_bound, rel=1e-9) and double.lower_bound <= ball.upper_bound


def test_losses_that_rounding_hides_are_told_apart_in_doubles_as_in_balls() -> None:
    """Two decisions are 9 units in the last place apart: rounding of that times the cost is 1e-24, and matters to 1e-25."""
    near = np.array([1000001.631, 1000000.147])
    signals = [
        np.array([near, near - 9 * 2.0**-33]),
        np.array([[999998.0, 999998.0], [999999.0, 1000001.0], [999997.0, 1000002.0]]),
        np.array([[1000001.63, 999996.348], [1000001.25, 999999.575], [999999.5, 999997.939], [999993.805, 1000003.246]]),
    ]
    responses = [own[k] for own, k in zip(signals, (0, 2, 3), strict=True)]
    model = InverseOptimizer(forward.FiniteChoice(), approach="incenter", center=[0.52, -1.06], distance="squared-l2")
    assert model.fit(signals, responses).certificate_.verified
    pytest.importorskip("flint")
    assert sf.verify(model, signals, responses, arithmetic="ball").verified
