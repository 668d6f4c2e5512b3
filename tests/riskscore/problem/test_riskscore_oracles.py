"""The score cards' part of the trusted base against its oracles: small tables, ugly columns, tied rows and rules."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from reference.drawn_score import draw_columns
from reference.trusted_riskscore import (
    allowed_multipliers,
    card_margin,
    card_value,
    counted,
    exact_scores,
    flags,
    is_card_problem,
    is_shift,
    mean_loss,
    points_used,
    told,
    tried_scales,
    without_repeats,
)

from surefoot.riskscore.problem.card_rules import (
    GroupRule,
    ImplicationRule,
    LinearRule,
    PointSetRule,
    RateRule,
    SignRule,
)
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.problem.score_shift import ScoreShift

INF = math.inf
KINDS = ("binary", "integer", "real", "units", "far", "constant")


def drawn(seed: int, *, shifted: bool = False, ruled: bool = False) -> RiskScoreProblem:
    """A small table of every kind: 1 to 12 rows, repeated rows, weights of 0, one label, columns in any unit."""
    rng = np.random.default_rng(seed)
    n, d, kind = int(rng.choice([1, 2, 6, 12])), int(rng.integers(1, 5)), KINDS[seed % len(KINDS)]
    columns = draw_columns(rng, kind if kind in ("binary", "integer", "real") else "real", (n, d))
    if kind == "units":
        columns = columns * 10.0 ** rng.integers(-9, 10, d)
    elif kind == "far":
        columns = columns + 1e9
    elif kind == "constant":
        columns[:, 0] = 1.0
    labels = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    if n > 2:
        columns[1] = columns[0]
    weights = rng.exponential(size=n)
    if n > 2:
        weights[2] = 0.0
    shift = None
    if shifted:
        flips = np.all((columns == 0) | (columns == 1), axis=0)
        prices = np.where(rng.random(d) < 0.25, INF, 10.0 ** rng.uniform(-2, 2, d))
        if d > 1:
            prices[1] = prices[0]
        shift = ScoreShift(float(rng.choice([0.0, 1e-3, 0.2, 5.0])), prices, flips, float(rng.choice([INF, 0.8])))
    label = float(labels[0])
    rules = (
        GroupRule((0, d - 1, 0), 0, 1),
        GroupRule(tuple(range(d)), 1),
        ImplicationRule((0,), (d - 1,)),
        PointSetRule(d - 1, (-2, 0, 1)),
        SignRule(tuple(range(d))),
        LinearRule(
            rng.integers(0, 3, d).astype(float), 1.0, float(rng.choice([-INF, -1.3, 0.0])), float(rng.choice([INF, 2.7]))
        ),
        RateRule(label, 0.0, float(rng.choice([0.4, 1.0])), 0.0),
        RateRule(label, float(rng.choice([0.0, 0.5])), 1.0, float(rng.choice([0.0, 0.7, -0.7]))),
    )
    return RiskScoreProblem(
        columns,
        labels,
        weights / weights.sum(),
        np.full(d, -2),
        np.full(d, 3),
        -4,
        4,
        max(1, d - 1),
        float(rng.choice([0.0, 0.02])),
        tuple(rule for rule in rules if rng.random() < 0.35) if ruled else (),
        shift,
        "free" if seed % 2 else "unit",
    )


def cards(problem: RiskScoreProblem, seed: int, count: int) -> list[RiskScore]:
    """Random cards, some outside the limits; the first has no points."""
    rng, d = np.random.default_rng(seed), problem.columns.shape[1]
    found = []
    for k in range(count):
        points = rng.integers(-3, 4, d) * (rng.random(d) < 0.7) * (k > 0)
        multiplier = 1.0 if problem.scale == "unit" else float(rng.choice([1.0, 0.2, 20.0, rng.uniform(0.1, 30.0)]))
        found.append(RiskScore(int(rng.integers(-5, 6)), points.astype(np.int32), multiplier))
    return found


@pytest.mark.parametrize("seed", range(24))
def test_scores_are_within_rounding_of_exact_ones(seed: int) -> None:
    problem = drawn(seed)
    for card in cards(problem, seed, 6):
        sizes = np.abs(problem.columns) @ np.abs(card.points).astype(float) + abs(card.intercept)
        for found, exact, size in zip(problem.scores(card), exact_scores(problem, card), sizes, strict=True):
            assert abs(Fraction(found) - exact) <= Fraction(1e-15) * (card.points.size + 2) * Fraction(size)
        assert card.size == points_used(card)
    assert (problem.n_rows, problem.n_columns) == counted(problem)


@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("seed", range(24))
def test_losses_and_objectives_are_those_of_the_worst_of_all_shifts(seed: int, shifted: bool) -> None:
    problem = drawn(seed, shifted=shifted)
    for card in cards(problem, seed, 4):
        # Scores near 1e9 are exact to 1e-7 only, and so is their loss.
        size = float(np.max(np.abs(problem.columns) @ np.abs(card.points).astype(float)) + abs(card.intercept))
        slack = 1e-15 * (8 + 4 * size / card.multiplier)
        wanted = mean_loss(problem, card)
        assert problem.loss(card) == pytest.approx(wanted, rel=1e-11, abs=slack)
        assert problem.objective(card) == pytest.approx(card_value(problem, card), rel=1e-11, abs=slack)


@pytest.mark.parametrize("seed", range(60))
def test_cards_are_admitted_exactly_if_they_keep_to_every_limit_and_rule(seed: int) -> None:
    problem = drawn(seed, ruled=True)
    for card in cards(problem, seed, 25):
        margin = card_margin(problem, card)
        if abs(margin) > 1e-6:
            assert problem.admits(card) == (margin > 0), (card, problem.rules)


@pytest.mark.parametrize("scale", ["unit", "free"])
def test_each_rule_alone_admits_what_keeps_to_it(scale: str) -> None:
    rules = (ImplicationRule((0, 1), (2,)), LinearRule(np.ones(3), 1.0, -1.5, 1.5), LinearRule(np.ones(3), 0.0, upper=0.5))
    columns = np.eye(3)
    for rule in rules:
        problem = RiskScoreProblem(
            columns,
            np.array([1.0, -1.0, 1.0]),
            np.full(3, 1 / 3),
            np.full(3, -2),
            np.full(3, 2),
            -2,
            2,
            3,
            0.0,
            (rule,),
            None,
            scale,
        )
        drawn_cards = cards(problem, 1, 60)
        clear = [(card, card_margin(problem, card)) for card in drawn_cards]
        for card, margin in clear:
            if abs(margin) > 1e-6:
                assert problem.admits(card) == (margin > 0), card


def test_drawn_cards_are_both_admitted_and_refused() -> None:
    """So that the test above says something."""
    margins = [
        card_margin(problem, card)
        for seed in range(60)
        for problem in [drawn(seed, ruled=True)]
        for card in cards(problem, seed, 25)
    ]
    clear = [margin > 0 for margin in margins if abs(margin) > 1e-6]
    assert 0.1 * len(margins) < sum(clear) < 0.9 * len(clear)


@pytest.mark.parametrize("seed", range(1, 61, 2))
def test_the_interval_of_scales_holds_exactly_the_scales_that_obey_the_rules(seed: int) -> None:
    problem = drawn(seed, ruled=True)
    assert problem.scale == "free"
    for card in cards(problem, seed, 5):
        low, high = problem.scales(card.intercept, card.points)
        for scale, margin in tried_scales(problem, card, 60):
            away = min(abs(scale / low - 1), abs(scale / high - 1)) if 0 < low < INF and 0 < high < INF else 1.0
            if abs(margin) > 1e-6 and away > 1e-6:
                assert (low <= scale <= high) == (margin > 0), (scale, low, high, problem.rules)


RISK_RULES = [
    LinearRule(np.array([1.0, 0.0, 2.0]), 1.0, lower=0.8),
    LinearRule(np.array([1.0, 0.0, 2.0]), 1.0, upper=-0.8),
    LinearRule(np.array([1.0, 1.0, 0.0]), 0.0, -0.6, 0.9),
    RateRule(1.0, lower=0.5, threshold=0.7),
    RateRule(1.0, upper=0.4, threshold=0.7),
    RateRule(-1.0, lower=0.3, upper=0.8, threshold=-0.7),
    RateRule(-1.0, upper=0.25),
]


@pytest.mark.parametrize("at", range(len(RISK_RULES)))
def test_the_scales_of_each_rule_alone_are_those_that_obey_it(at: int) -> None:
    rng, ends = np.random.default_rng(at), 0
    for _ in range(5):
        columns, labels = rng.integers(0, 3, (9, 3)).astype(float), np.where(np.arange(9) % 2 == 0, 1.0, -1.0)
        weights = rng.exponential(size=9)
        problem = RiskScoreProblem(
            columns,
            labels,
            weights / weights.sum(),
            np.full(3, -3),
            np.full(3, 3),
            -5,
            5,
            3,
            rules=(RISK_RULES[at],),
            scale="free",
        )
        for card in cards(problem, at, 6):
            low, high = problem.scales(card.intercept, card.points)
            held = []
            for scale, margin in tried_scales(problem, card, 40):
                away = min(abs(scale / low - 1), abs(scale / high - 1)) if 0 < low < INF and 0 < high < INF else 1.0
                if abs(margin) > 1e-6 and away > 1e-6:
                    assert (low <= scale <= high) == (margin > 0), (scale, low, high)
                    held.append(margin > 0)
            ends += len(set(held)) == 2
    assert ends > 0 or at == 6, "no rule cut an interval short, so nothing was tested"


@pytest.mark.parametrize("seed", range(8))
def test_dear_and_cheap_flips_are_chosen_by_what_they_gain_for_their_price(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns, labels = (rng.random((6, 3)) < 0.5).astype(float), np.where(np.arange(6) % 2 == 0, 1.0, -1.0)
    shift = ScoreShift(float(rng.choice([0.05, 0.3, 1.0])), rng.permutation([0.1, 1.0, 3.0]), np.ones(3, dtype=bool))
    problem = RiskScoreProblem(columns, labels, np.full(6, 1 / 6), np.full(3, -3), np.full(3, 3), -5, 5, 3, shift=shift)
    for points in ((1, 2, 3), (3, -1, 2), (-2, 3, 1)):
        card = RiskScore(-1, np.array(points, dtype=np.int32))
        assert problem.loss(card) == pytest.approx(mean_loss(problem, card), rel=1e-11)


def test_multipliers_are_one_or_within_their_range() -> None:
    for seed in (0, 1):
        problem = drawn(seed)
        assert tuple(problem.multiplier_range) == allowed_multipliers(problem)
    assert drawn(0).multiplier_range == (1.0, 1.0)
    assert replace(drawn(1), multipliers=(0.5, 3.0)).multiplier_range == (0.5, 3.0)


@pytest.mark.parametrize("threshold", [0.0, -0.0, 0.7, -0.7, 1e9, -1e-9, 5e-10, 1e-8])
def test_thresholds_flag_what_is_above_them_whatever_rounding_does(threshold: float) -> None:
    rule = RateRule(1.0, threshold=threshold)
    for away in (1e-3, 3e-9, -3e-9, -1e-3):
        odds = threshold + away * max(1.0, abs(threshold))
        assert (odds >= rule.flagged_from) == flags(rule, odds)
        assert (odds <= rule.unflagged_to) == (not flags(rule, odds))
    for odds in (threshold, float(np.nextafter(threshold, INF)), float(np.nextafter(threshold, -INF))):
        assert rule.rate(np.array([odds]), np.ones(1), np.ones(1)) == flags(rule, odds)
    # What a free multiplier leaves at the threshold itself counts as neither, by less than 1e-10 of it.
    assert rule.unflagged_to < threshold < rule.flagged_from
    assert rule.flagged_from - rule.unflagged_to <= 1e-10 * max(abs(threshold), 1e-4)
    assert rule.at_even_odds == (threshold == 0.0)


@pytest.mark.parametrize("columns", [(), (0,), (2, 2), (3, 1, 3, 0, 1)])
def test_a_group_names_a_column_once(columns: tuple[int, ...]) -> None:
    assert list(GroupRule(columns).columns) == without_repeats(columns)


def parts() -> dict[str, object]:
    return {
        "columns": np.array([[0.0, 2.0], [1.0, -1.0]]),
        "labels": np.array([1.0, -1.0]),
        "weights": np.array([0.5, 0.5]),
        "lower": np.array([-2, -2]),
        "upper": np.array([2, 2]),
        "intercept_lower": -3,
        "intercept_upper": 3,
        "max_features": 2,
        "penalty": 0.0,
    }


def shift_of(radius: float = 0.1, prices: tuple = (1.0, INF), flips: tuple = (True, False), label: float = INF) -> ScoreShift:
    return ScoreShift(radius, np.array(prices), np.array(flips), label)


CHANGES: list[dict[str, object]] = [
    {},
    {"columns": np.zeros((0, 2)), "labels": np.zeros(0), "weights": np.zeros(0)},
    {"columns": np.array([[0.0, INF], [1.0, 1.0]])},
    {"columns": np.array([[0.0, math.nan], [1.0, 1.0]])},
    {"columns": np.zeros(2)},
    {"columns": np.zeros((2, 0)), "lower": np.zeros(0, int), "upper": np.zeros(0, int)},
    {"columns": np.zeros((2, 3))},
    {"labels": np.array([1.0, 0.5])},
    {"labels": np.array([1.0, 1.0])},
    {"labels": np.array([1.0])},
    {"weights": np.array([1.5, -0.5])},
    {"weights": np.array([1.0, 0.0])},
    {"weights": np.array([0.5, 0.5 + 5e-6])},
    {"weights": np.array([0.5, 0.5 + 5e-7])},
    {"weights": np.array([math.nan, 1.0])},
    {"lower": np.array([-2, 1])},
    {"lower": np.array([0, 0])},
    {"lower": np.array([-0.5, 0])},
    {"upper": np.array([2, -1])},
    {"upper": np.array([2])},
    {"intercept_lower": 4},
    {"intercept_lower": 3},
    {"max_features": -1},
    {"max_features": 0},
    {"penalty": -1e-300},
    {"penalty": INF},
    {"penalty": math.nan},
    {"scale": "free"},
    {"scale": "large"},
    {"multipliers": (0.0, 1.0)},
    {"multipliers": (1.0, 1.0)},
    {"multipliers": (2.0, 1.0)},
    {"multipliers": (1.0, INF)},
    {"rules": (GroupRule((0, 1)),)},
    {"rules": (GroupRule((0, 2)),)},
    {"rules": (SignRule((-1,)),)},
    {"rules": (ImplicationRule((0,), (1,)),)},
    {"rules": (ImplicationRule((0,), (5,)),)},
    {"rules": (PointSetRule(2, (0,)),)},
    {"rules": (LinearRule(np.ones(2)),)},
    {"rules": (LinearRule(np.ones(3)),)},
    {"rules": (LinearRule(np.array([1.0, INF])),)},
    {"rules": (LinearRule(np.ones(2), math.nan),)},
    {"rules": (RateRule(1.0),)},
    {"rules": (RateRule(2.0),)},
    {"shift": shift_of()},
    {"shift": shift_of(radius=-1.0)},
    {"shift": shift_of(radius=INF)},
    {"shift": shift_of(radius=0.0)},
    {"shift": shift_of(prices=(0.0, 1.0))},
    {"shift": shift_of(prices=(1.0,))},
    {"shift": shift_of(prices=(math.nan, 1.0))},
    {"shift": shift_of(flips=(True, True))},
    {"shift": shift_of(flips=(True,))},
    {"shift": shift_of(label=0.0)},
    {"shift": shift_of(label=math.nan)},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: " ".join(change))
def test_problems_are_refused_exactly_if_an_entry_breaks_the_conventions(change: dict[str, object]) -> None:
    given = {**parts(), **change}
    try:
        problem = RiskScoreProblem(**given)
    except ValueError:
        assert not is_card_problem(given)
    else:
        assert is_card_problem(given)
        problem.check()
    shift = given.get("shift")
    if isinstance(shift, ScoreShift):
        try:
            shift.check(given["columns"])
        except ValueError:
            assert not is_shift(shift, given["columns"])
        else:
            assert is_shift(shift, given["columns"])


@pytest.mark.parametrize("field", ["columns", "labels", "weights"])
def test_an_array_that_is_written_to_later_is_looked_at_again(field: str) -> None:
    problem = RiskScoreProblem(**parts())
    problem.check()
    getattr(problem, field)[(0,) * getattr(problem, field).ndim] = math.nan
    assert not is_card_problem({**parts(), field: getattr(problem, field)})
    with pytest.raises(ValueError, match=field.rstrip("s")):
        problem.check()


def variants() -> list[RiskScoreProblem]:
    """Problems that differ from the first in one thing each, and copies that do not."""
    problem = RiskScoreProblem(**parts(), rules=(GroupRule((0, 1), 0, 1),), shift=shift_of(), scale="free")
    found = [problem, replace(problem), replace(problem, columns=problem.columns.copy())]
    for name, at in (("columns", (1, 1)), ("labels", (0,)), ("lower", (1,)), ("upper", (0,))):
        changed = getattr(problem, name).copy()
        changed[at] = -changed[at] if name == "labels" else changed[at] - 1 if name != "columns" else 1e-9
        found.append(replace(problem, **{name: changed}))
    found.append(replace(problem, weights=np.array([0.25, 0.75])))
    changes: list[dict[str, object]] = [
        {"intercept_lower": -4},
        {"intercept_upper": 4},
        {"max_features": 1},
        {"penalty": 1e-12},
        {"multipliers": (0.2, 21.0)},
        {"multipliers": (0.3, 20.0)},
        {"scale": "unit"},
        {"shift": None},
        {"shift": shift_of(radius=0.2)},
        {"shift": shift_of(prices=(2.0, INF))},
        {"shift": shift_of(flips=(False, False))},
        {"shift": shift_of(label=1.0)},
        {"rules": ()},
        {"rules": (GroupRule((0, 1), 0, 2),)},
        {"rules": (GroupRule((0,), 0, 1),)},
        {"rules": (SignRule((0, 1)),)},
        {"rules": (LinearRule(np.array([0.0, 1.0])),)},
        {"rules": (LinearRule(np.array([0.0, 2.0])),)},
        {"rules": (LinearRule(np.array([0.0, 1.0]), 2.0),)},
        {"rules": (LinearRule(np.array([0.0, 1.0]), lower=0.0),)},
        {"rules": (LinearRule(np.array([0.0, 1.0]), upper=0.0),)},
        {"rules": (RateRule(1.0),)},
        {"rules": (RateRule(1.0, threshold=0.5),)},
    ]
    return found + [replace(problem, **change) for change in changes]


def test_fingerprints_differ_exactly_where_problems_do() -> None:
    for one in variants():
        for other in variants():
            assert (one.digest() == other.digest()) == (told(one) == told(other))
