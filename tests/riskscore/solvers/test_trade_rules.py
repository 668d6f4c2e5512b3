"""Rates of groups, budgets, forbidden combinations and shares behind a question, against trying every card by other code."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from surefoot import constraints as sc
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.design.encode.schema import ColumnSchema, Schema
from surefoot.exceptions import InfeasibleProblemError
from surefoot.riskscore.certificate.certificate import certify_risk_score
from surefoot.riskscore.estimator.card_limits import CardLimits
from surefoot.riskscore.estimator.posed_card import pose_card
from surefoot.riskscore.lattice.lcpa import LCPA
from surefoot.riskscore.problem.problem import RiskScoreProblem
from surefoot.riskscore.problem.score_shift import ScoreShift
from surefoot.riskscore.search.exact_score import ExactScore

D = 4
# For every card, by its points and by the scores that it gives to the rows.
Obeys = Callable[[RiskScoreProblem, NDArray[Any], NDArray[Any]], NDArray[Any]]


@dataclass
class Wish:
    """A rule, and what it means by code of its own."""

    rule: sc.Constraint
    obeys: Obeys


def fair(rng: np.random.Generator, columns: NDArray[Any]) -> Wish:
    metric, most, at = str(rng.choice(["tpr", "fpr", "selection"])), float(rng.choice([0.0, 0.05, 0.2])), int(rng.integers(D))
    risk, on_card = float(rng.choice([0.5, 0.5, 0.3])), bool(rng.random() < 0.8)

    def obeys(problem: RiskScoreProblem, points: NDArray[Any], scores: NDArray[Any]) -> NDArray[Any]:
        flagged = scores > np.log(risk) - np.log1p(-risk)
        rates = []
        for value in sorted(set(problem.columns[:, at].tolist())):
            own = problem.columns[:, at] == value
            own &= {"tpr": problem.labels > 0, "fpr": problem.labels < 0, "selection": own}[metric]
            if problem.weights[own].sum() > 0:
                rates.append((flagged[:, own] * problem.weights[own]).sum(axis=1) / problem.weights[own].sum())
        alike = np.max(rates, axis=0) - np.min(rates, axis=0) <= most + 1e-9
        return alike & (on_card | (points[:, at] == 0))

    return Wish(sc.FairRates(at, metric, most, risk, on_card), obeys)


def calibrated(rng: np.random.Generator, columns: NDArray[Any]) -> Wish:
    metrics = ["calibration", "positive balance", "negative balance"]
    metric, most, at = str(rng.choice(metrics)), float(rng.choice([0.01, 0.05, 0.2])), int(rng.integers(D))
    on_card = bool(rng.random() < 0.8)

    def obeys(problem: RiskScoreProblem, points: NDArray[Any], scores: NDArray[Any]) -> NDArray[Any]:
        risks, excess = 1 / (1 + np.exp(-scores)), []
        for value in sorted(set(problem.columns[:, at].tolist())):
            own = problem.columns[:, at] == value
            own &= {"calibration": own, "positive balance": problem.labels > 0, "negative balance": problem.labels < 0}[metric]
            if problem.weights[own].sum() > 0:
                share = np.average(problem.labels[own] > 0, weights=problem.weights[own])
                excess.append(np.average(risks[:, own], axis=1, weights=problem.weights[own]) - share)
        if metric == "calibration":
            excess.append(np.zeros(len(points)))  # no group is off by more than that itself
        return (np.max(excess, axis=0) - np.min(excess, axis=0) <= most + 1e-9) & (on_card | (points[:, at] == 0))

    return Wish(sc.FairRates(at, metric, most, on_card=on_card), obeys)


def budget(rng: np.random.Generator, columns: NDArray[Any]) -> Wish:
    prices = {0: 1.0, 1: 2.5, (2, 3): 3.0} if rng.random() < 0.5 else {0: 0.1, 2: 0.2, 3: 0.7}
    most = float(rng.choice([0.3, 1.0, 3.5, 4.0]))

    def obeys(problem: RiskScoreProblem, points: NDArray[Any], scores: NDArray[Any]) -> NDArray[Any]:
        spent = np.zeros(len(points))
        for named, price in prices.items():
            spent += price * (points[:, np.atleast_1d(named)] != 0).any(axis=1)
        return spent <= most + 1e-9

    return Wish(sc.CostBudget(prices, most), obeys)


def forbidden(rng: np.random.Generator, columns: NDArray[Any]) -> Wish:
    chosen = rng.permutation(D)[: int(rng.integers(2, 4))].tolist()
    return Wish(sc.ForbiddenTogether(chosen), lambda problem, points, scores: ~(points[:, chosen] != 0).all(axis=1))


def shared(rng: np.random.Generator, columns: NDArray[Any]) -> Wish:
    share = float(rng.choice([0.1, 0.25, 0.4]))

    def obeys(problem: RiskScoreProblem, points: NDArray[Any], scores: NDArray[Any]) -> NDArray[Any]:
        fine = np.ones(len(points), dtype=bool)
        for at in range(D):
            yes = sum(weight for weight, value in zip(problem.weights, problem.columns[:, at], strict=True) if value == 1)
            if set(problem.columns[:, at].tolist()) <= {0.0, 1.0} and min(yes, 1 - yes) < share - 1e-9:
                fine &= points[:, at] == 0
        return fine

    return Wish(sc.MinShare(share), obeys)


def drawn(seed: int, *makers: Callable[..., Wish], scale: str = "unit") -> tuple[RiskScoreProblem, list[Wish]]:
    rng = np.random.default_rng([seed, len(makers)])
    n = int(rng.integers(15, 60))
    X = (rng.random((n, D)) < rng.uniform(0.2, 0.8, D)).astype(float)
    if seed % 3 == 0:
        X[:, 0] = rng.integers(0, 3, n)
    X[0], X[1] = 0.0, 1.0
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-(X @ rng.normal(size=D) * 1.5 + rng.normal()))), 1.0, -1.0)
    y[:2] = -1.0, 1.0
    weights = rng.exponential(size=n) if seed % 2 else np.ones(n)
    wishes = [make(rng, X) for make in makers]
    schema = Schema(tuple(ColumnSchema(f"x{j}", "numeric") for j in range(D)))
    # Few cards for most, so that many problems take a moment.
    limits = CardLimits(int(rng.integers(2, 5)), 2 if seed % 4 == 0 else 1, 3, float(rng.choice([0, 1e-8, 0.02])), scale)
    problem = pose_card(X, schema, y, weights / weights.sum(), [wish.rule for wish in wishes], limits).problem
    return problem, wishes


def enumerated(problem: RiskScoreProblem, wishes: list[Wish]) -> float:
    """The value of the best card; no rule of the library is asked."""
    most = int(problem.upper.max())
    points = np.array(list(itertools.product(*[range(-most, most + 1)] * D, range(-3, 4))))
    points, intercepts = points[:, :D], points[:, D:]
    fine = (points != 0).sum(axis=1) <= problem.max_features
    points, intercepts = points[fine], intercepts[fine]
    scores = points @ problem.columns.T + intercepts
    fine = np.all([wish.obeys(problem, points, scores) for wish in wishes], axis=0)
    losses = np.logaddexp(0.0, -problem.labels * scores) @ problem.weights + problem.penalty * (points != 0).sum(axis=1)
    return float(losses[fine].min(initial=np.inf))


def assert_best(problem: RiskScoreProblem, wishes: list[Wish], *, certified: bool = True) -> bool:
    """Whether the rules changed the card."""
    value = enumerated(problem, wishes)
    if value == np.inf:
        with pytest.raises(InfeasibleProblemError):
            ExactScore().solve(problem, SolveOptions(tolerance=0.0))
        return True
    outcome = ExactScore(proof_limit=10**6).solve(problem, SolveOptions(tolerance=0.0))
    assert outcome.status is Status.OPTIMAL
    assert outcome.upper_bound == pytest.approx(value, abs=1e-12)
    if certified:
        found = certify_risk_score(problem, outcome.primal, outcome.dual.proof, 1e-9)
        assert found.verified, found.claim
    unruled = ExactScore().solve(replace(problem, rules=()), SolveOptions(tolerance=0.0)).upper_bound
    return bool(unruled < value - 1e-9)


@pytest.mark.parametrize("make", [fair, calibrated, budget, forbidden, shared])
def test_the_best_card_of_300_random_problems_is_that_of_enumeration_and_proven(make: Callable[..., Wish]):
    # A certificate takes longer than all of the rest; when this was written all 300 were verified.
    changed = sum(assert_best(*drawn(seed, make), certified=seed % 10 == 0) for seed in range(300))
    assert changed > 30, "rules that change nothing test little"


def test_all_of_them_together_agree_with_enumeration():
    assert sum(assert_best(*drawn(seed, fair, budget, forbidden, shared)) for seed in range(30)) > 10
    assert sum(assert_best(*drawn(seed, fair, calibrated)) for seed in range(30)) > 5


@pytest.mark.parametrize("seed", range(12))
def test_at_a_free_scale_and_under_shift_the_card_obeys_and_is_proven(seed: int):
    problem, _ = drawn(seed, fair, budget)
    problem = replace(
        problem, rules=tuple(replace(rule, threshold=0.0) if hasattr(rule, "threshold") else rule for rule in problem.rules)
    )
    binary = np.all((problem.columns == 0) | (problem.columns == 1), axis=0)
    for formed in (
        replace(problem, scale="free", multipliers=(0.5, 8.0)),
        replace(problem, shift=ScoreShift(0.05, np.ones(D), binary)),
    ):
        outcome = ExactScore(proof_limit=10**6).solve(formed, SolveOptions(tolerance=0.0))
        assert formed.admits(outcome.primal)
        price = formed.price(outcome.primal)
        assert certify_risk_score(formed, outcome.primal, outcome.dual.proof, 1e-9, price=price).verified


def test_threads_give_the_same_card():
    for seed, make in itertools.product(range(12), (fair, calibrated, budget)):
        problem, wishes = drawn(seed, make)
        if enumerated(problem, wishes) < np.inf:
            cards = [ExactScore().solve(problem, SolveOptions(tolerance=0.0, n_threads=count)).primal for count in (1, 3)]
            assert cards[0].intercept == cards[1].intercept
            np.testing.assert_array_equal(cards[0].points, cards[1].points)


def test_cutting_planes_know_budgets_and_refuse_rates_of_groups():
    for seed in range(20):
        problem, wishes = drawn(seed, budget, forbidden)
        best = LCPA(tree="own").solve(problem, SolveOptions(tolerance=0.0)).upper_bound
        assert best == pytest.approx(enumerated(problem, wishes), abs=1e-7)
    assert "rates of groups" in str(LCPA().refuses(drawn(0, fair)[0]))


def test_a_certificate_refuses_cards_that_break_these_rules():
    """Cards of the same problem without its rules, wherever those change the card."""
    refused = 0
    for seed, make in itertools.product(range(25), (fair, calibrated, budget)):
        problem, wishes = drawn(seed, make)
        best = ExactScore().solve(replace(problem, rules=()), SolveOptions(tolerance=0.0)).primal
        if enumerated(problem, wishes) > problem.objective(best) + 1e-9:
            found = certify_risk_score(problem, best, None, 1e-9)
            assert "breaks a rule" in found.claim and not found.verified
            refused += 1
    assert refused > 10


def test_group_rates_at_a_free_scale_are_about_even_odds_only():
    problem, _ = drawn(1, fair)
    rule = replace(problem.rules[0], threshold=1.0)
    with pytest.raises(ValueError, match=r"risk of 0\.5 only"):
        replace(problem, rules=(rule,), scale="free")
    with pytest.raises(ValueError, match="unit scale only"):
        replace(drawn(1, calibrated)[0], scale="free")
