"""Verdicts on score cards in ball arithmetic: the same as in doubles, and their bounds lie within those of doubles."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from surefoot.core.enclosure import computing_in
from surefoot.core.solve_options import SolveOptions
from surefoot.riskscore.certificate.certificate import certify_risk_score
from surefoot.riskscore.problem.card_rules import CardRule, GroupRule, LinearRule, PointSetRule, RateRule, SignRule
from surefoot.riskscore.problem.problem import RiskScoreProblem
from surefoot.riskscore.problem.score_shift import ScoreShift
from surefoot.riskscore.search.exact_score import ExactScore

flint_enclosure = pytest.importorskip("surefoot.core.flint_enclosure", exc_type=ImportError)

RULES: dict[str, tuple[CardRule, ...]] = {
    "none": (),
    "supports": (GroupRule((0, 1), least=1, most=1), PointSetRule(2, (-1, 0, 2))),
    "signs": (SignRule((0, 1, 2)), LinearRule(np.array([1.0, 1.0, 0.0]), lower=-1.5, upper=1.5)),
    "rates": (RateRule(1, lower=0.4), RateRule(-1, upper=0.7)),
}


def drawn(seed: int, form: str, rules: tuple[CardRule, ...]) -> RiskScoreProblem:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(6, 14)), 3
    X = (rng.random((n, d)) < 0.5).astype(float)
    if "numbers" in form:
        X[:, 0] = rng.normal(size=n).round(1)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    weights = rng.exponential(size=n) if seed % 2 else np.ones(n)
    shift = ScoreShift(0.05, rng.choice([0.5, 1.0, np.inf], d), np.array([(X[:, j] % 1 == 0).all() for j in range(d)]), 2.0)
    return RiskScoreProblem(
        X,
        y,
        weights / weights.sum(),
        np.full(d, -2),
        np.full(d, 2),
        -2,
        2,
        2,
        0.001,
        rules,
        shift=shift if "shift" in form else None,
        scale="free" if "free" in form else "unit",
        multipliers=(0.5, 2.0),
    )


@pytest.mark.parametrize("form", ["plain", "numbers", "free", "shift", "shift of numbers"])
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("seed", range(2))
def test_balls_and_doubles_agree(form: str, rules: str, seed: int) -> None:
    problem = drawn(seed, form, RULES[rules] if not ("shift" in form and rules == "rates") else ())
    outcome = ExactScore(proof_limit=10**7).solve(problem, SolveOptions(tolerance=0.0))
    proof = outcome.dual.proof
    assert proof is not None
    for threshold, verified in ((proof.threshold, True), (proof.threshold * (1 + 1e-3), False)):
        given = problem, outcome.primal, dataclasses.replace(proof, threshold=threshold), 1e-9
        price = problem.price(outcome.primal)
        doubles = certify_risk_score(*given, price=price)
        with computing_in(flint_enclosure.FlintEnclosure):
            balls = certify_risk_score(*given, price=price)
        assert doubles.verified == balls.verified == verified, (doubles.claim, balls.claim)
        assert doubles.lower_bound <= balls.lower_bound <= balls.upper_bound <= doubles.upper_bound


@pytest.mark.parametrize(("form", "rules", "said"), [
    ("plain", "none", "points and columns has"), ("plain", "supports", "and these rules has"),
    ("plain", "rates", "and these rules (risks, rates and costs to 1e-9) has"),
    ("free", "none", "at a multiplier of its range (to a factor of 1e-12) has"),
])  # fmt: skip
def test_a_claim_says_what_holds_to_a_tolerance(form: str, rules: str, said: str) -> None:
    """Rules about supports and thresholds of rows are exact; rates, risks and multipliers are not."""
    problem = drawn(0, form, RULES[rules])
    outcome = ExactScore(proof_limit=10**7).solve(problem, SolveOptions(tolerance=0.0))
    assert said in certify_risk_score(problem, outcome.primal, outcome.dual.proof, 1e-9).claim
