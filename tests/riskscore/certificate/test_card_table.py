"""Limits and rules as the certificate decides them, against the problem's own code and by hand."""

from __future__ import annotations

import copy
import dataclasses
import itertools
from functools import partial

import numpy as np
import pytest
from reference.card_claims import node_claims, ways_of
from scipy.optimize import minimize_scalar

from surefoot.exceptions import CertificateError
from surefoot.riskscore.certificate.card_table import CardTable
from surefoot.riskscore.certificate.certificate import certify_risk_score
from surefoot.riskscore.certificate.claim_bounds import bounds_of
from surefoot.riskscore.certificate.proof_reader import EXCLUDED, boxes_of
from surefoot.riskscore.problem.card_rules import (
    BudgetRule,
    CardRule,
    FairRiskRule,
    FairRule,
    GroupRule,
    ImplicationRule,
    LinearRule,
    PointSetRule,
    RateRule,
    SignRule,
)
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem

X = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1], [0, 0, 0], [1, 0, 0]], dtype=float)
Y = np.array([1.0, -1, 1, -1, 1, -1, 1])
WEIGHTS = np.array([1.0, 2, 1, 3, 1, 1, 2]) / 11


def problem_with(*rules: CardRule, scale: str = "unit", **changes: object) -> RiskScoreProblem:
    problem = RiskScoreProblem(
        X, Y, WEIGHTS, np.full(3, -2), np.full(3, 2), -3, 3, 2, rules=rules, scale=scale, multipliers=(0.4, 3.0)
    )
    return dataclasses.replace(problem, **changes)


RULES = {
    "group": (GroupRule((0, 1), least=1, most=1),),
    "implication": (ImplicationRule((0, 2), (1,)),),
    "point set": (PointSetRule(1, (-2, 0, 1)),),
    "point set without 0": (PointSetRule(1, (-1, 2)),),
    "sign": (SignRule((0, 2)),),
    "linear": (LinearRule(np.array([1.0, 0.0, 1.0]), lower=-0.7, upper=1.3),),
    "two ends": (LinearRule(np.array([1.0, 1.0, 0.0]), lower=0.9), LinearRule(np.array([1.0, 0.0, 1.0]), lower=0.2)),
    "rate of positives": (RateRule(1, lower=0.45, threshold=0.3),),
    "rate of negatives": (RateRule(-1, upper=0.45, threshold=-0.4),),
    "rates of groups": (FairRule((0,), 1.0, 0.3), FairRule((1, 2), -1.0, 0.5)),
    "selection of groups": (FairRule((1,), 0.0, 0.4),),
    "risks of groups": (FairRiskRule((0,), 0.0, 0.2), FairRiskRule((1,), 1.0, 0.4)),
    "budget": (BudgetRule((0, 1, 2), (0, 1, 1), (1.0, 2.0), 2.0),),
    "rates at even odds": (RateRule(1, lower=0.3, upper=0.8), RateRule(-1, upper=0.9)),
}


def every_card() -> list[tuple[int, ...]]:
    return list(itertools.product(range(-3, 4), *[range(-2, 3)] * 3))


FREE = [name for name in RULES if name != "risks of groups"]
SCALED = [("unit", name) for name in RULES] + [("free", name) for name in FREE]


@pytest.mark.parametrize(("scale", "name"), SCALED)
def test_a_card_is_taken_if_the_problem_admits_it(name: str, scale: str) -> None:
    problem = problem_with(*RULES[name], scale=scale)
    table = CardTable(problem)
    found = {True: 0, False: 0}
    for at, (intercept, *points) in enumerate(every_card()):
        multiplier = 1.0 if scale == "unit" else (0.5, 0.83, 1.7, 2.9)[at % 4]
        card = RiskScore(intercept, np.array(points, dtype=np.int32), multiplier)
        taken = not table.flaw_of(card)
        assert taken == problem.admits(card), card
        found[taken] += 1
    assert min(found.values()) > 20


@pytest.mark.parametrize("name", FREE)
def test_scales_are_those_at_which_a_card_keeps_the_rules(name: str) -> None:
    problem = problem_with(*RULES[name], scale="free")
    table = CardTable(problem)
    for intercept, *points in every_card()[::3]:
        used = np.flatnonzero(points)
        if used.size > 2:
            continue
        card = np.append(intercept, np.array(points)[used]).astype(float)
        for sure in (True, False):
            (low,), (high,) = table.scales_of(used[None, :], card[None, :], sure=sure)
            for multiplier in np.geomspace(0.41, 2.93, 9):
                t = 1 / multiplier
                if min(abs(t - low), abs(t - high)) > 1e-6:
                    kept = problem.admits(RiskScore(intercept, np.array(points, dtype=np.int32), float(multiplier)))
                    assert kept == (low <= t <= high)


@pytest.mark.parametrize("scale", ["unit", "free"])
@pytest.mark.parametrize("sure", [True, False])
def test_a_rate_that_rounding_leaves_open_is_neither_kept_for_sure_nor_broken_for_sure(sure: bool, scale: str) -> None:
    """One of three rows is flagged; the least rate is a third, up to less than the rounding of a third."""
    rows = np.array([[1.0], [0.0], [0.0], [1.0]])
    for sign, limits in ((1, {"lower": 1 / 3 + 1e-9}), (1, {"upper": 1 / 3 - 1e-9})):
        rule = RateRule(sign, threshold=0.5, **limits)
        labels = np.array([1.0, 1, 1, -1])
        weights = np.array([0.1, 0.1, 0.1, 0.7])
        problem = RiskScoreProblem(
            rows, labels, weights, np.full(1, -2), np.full(1, 2), -3, 3, 1, rules=(rule,), scale=scale, multipliers=(0.5, 2.0)
        )
        low, high = CardTable(problem).scales_of(np.array([[0]]), np.array([[0.0, 2.0]]), sure=sure)
        assert (low[0] <= high[0]) == (not sure)


@pytest.mark.parametrize("sure", [True, False])
@pytest.mark.parametrize(("second", "flagged"), [(0.0, False), (2.0**-54, True), (-(2.0**-54), False)])
def test_a_row_is_flagged_if_its_exact_score_is_above_the_threshold(second: float, flagged: bool, sure: bool) -> None:
    """Not on it, nor where only a rounded sum is; the sum of 1 and 2^-54 is 1 in doubles."""
    rows = np.array([[1.0, second], [0.5, 0.25]])
    rule = RateRule(1, lower=0.9, threshold=1.0)
    problem = RiskScoreProblem(
        rows, np.array([1.0, -1.0]), np.full(2, 0.5), np.full(2, -2), np.full(2, 2), -3, 3, 2, rules=(rule,)
    )
    low, high = CardTable(problem).scales_of(np.array([[0, 1]]), np.array([[0.0, 1.0, 1.0]]), sure=sure)
    assert (low[0] <= high[0]) == flagged


def test_free_multipliers_are_compared_up_to_the_threshold_itself() -> None:
    """The positive row has a score of 2: it is flagged from a scale of 0.15 on, and the card at hand is just above it."""
    rows = np.array([[1.0], [0.0]])
    rule = RateRule(1, lower=0.9, threshold=0.3)
    problem = RiskScoreProblem(
        rows, np.array([1.0, -1.0]), np.full(2, 0.5), np.full(1, -2), np.full(1, 2), -3, 3, 1,
        rules=(rule,), scale="free", multipliers=(0.5, 20.0),
    )  # fmt: skip
    ends = [CardTable(problem).scales_of(np.array([[0]]), np.array([[0.0, 2.0]]), sure=sure)[0][0] for sure in (False, True)]
    assert 0.15 * (1 - 1e-11) < ends[0] <= 0.15 < ends[1] < 0.15 * (1 + 1e-11)


def test_cards_out_of_limits_are_no_cards() -> None:
    table = CardTable(problem_with())
    free = CardTable(problem_with(scale="free"))
    assert table.flaw_of(RiskScore(3, np.array([2, -2, 0]))) == ""
    for card in (
        RiskScore(4, np.array([2, -2, 0])), RiskScore(-4, np.array([2, -2, 0])), RiskScore(0, np.array([1, 1, 1])),
        RiskScore(0, np.array([3, 0, 0])), RiskScore(0, np.array([0, -3, 0])),
    ):  # fmt: skip
        assert "limits" in table.flaw_of(card)
    assert free.flaw_of(RiskScore(0, np.array([1, 0, 0]), 2.9)) == ""
    for multiplier in (0.39, 3.1):
        assert "multiplier" in free.flaw_of(RiskScore(0, np.array([1, 0, 0]), multiplier))


def test_points_that_a_column_may_have() -> None:
    table = CardTable(problem_with(PointSetRule(1, (0, 1, 2)), PointSetRule(2, (0,)), lower=np.array([-2, -2, -1])))
    assert table.lower.tolist() == [-2.0, 1.0, np.inf]
    assert table.upper.tolist() == [2.0, 2.0, -np.inf]
    assert table.usable.tolist() == [True, True, False]


def loss_at(scores: np.ndarray, scale: float) -> float:
    return float(np.logaddexp(0, -Y * scale * scores) @ WEIGHTS)


@pytest.mark.parametrize("scale", ["unit", "free"])
@pytest.mark.parametrize("name", ["linear", "rate of positives", "group", "two ends"])
def test_a_single_card_that_breaks_a_rule_needs_no_bound(name: str, scale: str) -> None:
    """Below the threshold it counts with its loss at the scales that the rules leave it, or not at all."""
    problem = problem_with(*RULES[name], scale=scale)
    table = CardTable(problem)
    ways = ways_of(table)
    scales = np.array([1.0]) if scale == "unit" else 1 / np.geomspace(0.4, 3.0, 20001)
    n_left_out = 0
    for intercept, first, second in itertools.product((-2, 0, 1), (-2, 1, 2), (-1, 1, 2)):
        card = np.array([[intercept, first, second]], dtype=float)
        points = np.array([first, second, 0])
        low, high = table.scales_of(np.array([[0, 1]]), card, sure=False)
        ends = np.clip([low[0], high[0]], scales.min(), scales.max())
        inside = np.append(scales[(scales >= low[0]) & (scales <= high[0])], ends)
        losses = np.logaddexp(0, -Y * (inside[:, None] * (intercept + X @ points))) @ WEIGHTS
        loss = partial(loss_at, intercept + X @ points)
        found = minimize_scalar(loss, bounds=np.sort(ends), method="bounded", options={"xatol": 1e-12}).x
        touched = min([found, *ends], key=loss) * card
        bound = bounds_of(boxes_of(np.array([[0, 1]]), card, card, touched), ways, 1e9)[0]
        assert (bound == np.inf) == (low[0] > high[0])
        n_left_out += bound == np.inf
        kept = [t for t in scales[::200] if problem.admits(RiskScore(intercept, points.astype(np.int32), 1 / float(t)))]
        if not kept:
            continue
        assert bound <= losses.min() + 1e-12
        assert bound == pytest.approx(losses.min(), abs=1e-6)
    assert n_left_out > 0


def test_a_card_that_breaks_a_rule_excuses_no_support_that_its_node_prunes() -> None:
    """The one card of a prefix is too high for the rule; with a second column there are others that keep it."""
    rule = LinearRule(np.array([1.0, 1.0, 0.0]), upper=1.0)
    names = np.array([[0]]), np.array([0, 1]), np.array([1]), np.array([EXCLUDED]), np.array([[0.0, 2.0]])
    bounds = []
    for rules in ((PointSetRule(0, (0, 2)), rule), (PointSetRule(0, (0, 2)),)):
        table = CardTable(problem_with(*rules, scale="unit"))
        claim = node_claims(table, (0, 0), *names, np.array([False]))
        assert np.array_equal(claim.lower, claim.upper)
        bounds.append(bounds_of(claim, ways_of(table), 1e9)[0])
    assert np.isfinite(bounds[0]) and bounds[0] == bounds[1]


def test_a_difference_of_rates_that_rounding_leaves_open_is_neither_surely_kept_nor_surely_broken() -> None:
    # Flagged are the rows with a 1 in the third column; groups are those of the first.
    counts = X[:, 0] == 1
    rate = WEIGHTS[counts & (X[:, 2] == 1)].sum() / WEIGHTS[counts].sum()
    cards, support = np.array([[-1.0, 2.0]]), np.array([[2]])
    least = WEIGHTS[~counts & (X[:, 2] == 1)].sum() / WEIGHTS[~counts].sum()
    for most, surely, possibly in ((abs(rate - least) - 1e-9, False, True), (0.9, True, True), (0.001, False, False)):
        table = CardTable(problem_with(FairRule((0,), 0.0, most)))
        for sure, kept in ((True, surely), (False, possibly)):
            low, high = table.scales_of(support, cards, sure=sure)
            assert bool(low[0] <= high[0]) is kept


def forged(rule: CardRule, scale: str = "unit", **changes: object) -> RiskScoreProblem:
    """A problem with a rule that its own checks would have refused."""
    problem, changed = problem_with(scale=scale), copy.copy(rule)
    for name, value in changes.items():
        object.__setattr__(changed, name, value)
    object.__setattr__(problem, "rules", (changed,))
    return problem


@pytest.mark.parametrize(
    ("rule", "scale", "changes", "message"),
    [
        (FairRule((0,), 1.0, 0.2), "free", {"threshold": 0.7}, "at a free scale groups are compared by who is flagged at even"),
        (FairRiskRule((0,), 0.0, 0.2), "free", {}, "at a free scale groups are compared by who is flagged at even"),
        (FairRule((0,), 1.0, 0.2), "unit", {"label": 0.5}, "groups are compared by a label"),
        (FairRule((0,), 1.0, 0.2), "unit", {"most": -0.1}, "groups are compared by a label, up to a difference"),
        (FairRule((0,), 1.0, 0.2), "unit", {"threshold": np.nan}, "limits of rules are numbers"),
        (RateRule(1.0, 0.2), "unit", {"label": 0.0}, "a rate is that of a label"),
        (LinearRule(np.ones(3)), "unit", {"lower": np.nan}, "limits of rules are numbers"),
        (BudgetRule((0, 1), (0, 1), (1.0, 1.0), 1.0), "unit", {"costs": (np.inf, 1.0)}, "costs are finite"),
        (BudgetRule((0, 1), (0, 1), (1.0, 1.0), 1.0), "unit", {"costs": (np.nan, 1.0)}, "costs are finite"),
        (BudgetRule((0, 1), (0, 1), (1.0, 1.0), 1.0), "unit", {"group": (0, 2)}, "columns of a budget have a price"),
    ],
)  # fmt: skip
def test_rules_that_say_nothing_are_refused(rule: CardRule, scale: str, changes: dict[str, object], message: str) -> None:
    """Under a free multiplier scores were held against log odds, and a column that costs infinity barred all cards."""
    with pytest.raises(CertificateError, match=message):
        CardTable(forged(rule, scale, **changes))


def test_groups_are_those_of_all_columns_named_and_of_rows_with_weight() -> None:
    """Flagged are rows 0, 2 and 4: half of the rows with 0, 0, of those with 1, 0 and with 1, 1, and not row 1, with 0, 1."""
    card = RiskScore(0, np.array([0, 0, 1]))
    for columns, most, weight, kept in (
        ((0, 1), 0.4, 1.0, False),
        ((0, 1), 0.5, 1.0, True),
        ((0,), 0.2, 1.0, True),  # a third, and a half
        ((0,), 0.1, 1.0, False),
        ((0, 1), 0.0, 0.0, True),  # a group without weight has no rate
        ((0,), 0.0, 0.0, True),
    ):
        weights = np.array([1.0, weight, 1, 1, 1, 1, 1])
        problem = problem_with(FairRule(columns, 0.0, most), weights=weights / weights.sum())
        assert CardTable(problem).flaw_of(card) == ("" if kept else "the card breaks a rule")
        assert problem.admits(card) == kept
    # Nor does it excuse what others have: rows 2 and 3 alone in their groups, one of them flagged.
    weights = np.array([1.0, 0, 1, 1, 0, 0, 0])
    problem = problem_with(FairRule((0, 1), 0.0, 0.4), weights=weights / weights.sum())
    assert CardTable(problem).flaw_of(card) == "the card breaks a rule" and not problem.admits(card)


def test_a_budget_does_not_forgive_what_other_rules_forbid_and_claims_say_how_closely_it_is_kept() -> None:
    budget = BudgetRule((0, 1), (0, 1), (1.0, 1.0), 1.0)
    card = RiskScore(0, np.array([0, 0, 1]))
    assert CardTable(problem_with(GroupRule((0, 1, 2), least=2), budget)).flaw_of(card) == "the card breaks a rule"
    for rule, closely in ((budget, True), (FairRule((0,), 0.0, 1.0), True), (GroupRule((0, 1, 2), least=1), False)):
        claim = certify_risk_score(problem_with(rule), card, None, 1e-9).claim
        assert ("and these rules (risks, rates and costs to 1e-9)" in claim) == closely


def test_mean_risks_of_groups_are_held_against_what_was_observed() -> None:
    """Of the rows with 0 in column 0 a third are positive, of the others three quarters."""
    for points, label, most, kept in (
        (0, 0.0, 0.41, False),  # risks of a half: 1/6 too large, and 1/4 too small
        (0, 0.0, 0.42, True),
        (0, 1.0, 0.0, True),
        (2, 0.0, 0.16, False),  # a half, and 0.8808: 0.1667 and 0.1308 too large
        (2, 0.0, 0.17, True),
        (2, 1.0, 0.37, False),
        (2, -1.0, 0.39, True),
    ):
        problem = problem_with(FairRiskRule((0,), label, most), weights=np.full(7, 1 / 7))
        card = RiskScore(0, np.array([points, 0, 0]))
        assert CardTable(problem).flaw_of(card) == ("" if kept else "the card breaks a rule") and problem.admits(card) == kept
