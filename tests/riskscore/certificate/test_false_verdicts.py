"""Verdicts on score cards that were false once: rounding excused, long proofs dropped, samples called proofs."""

from __future__ import annotations

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import ConvergenceLimitWarning
from surefoot.riskscore.certificate.certificate import certify_risk_score
from surefoot.riskscore.estimator.parameters import FIT_PARAMETERS, FitParameters
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.search.exact_score import ExactScore


def table_with_a_large_column(seed: int = 0, size: float = 1e7) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = (rng.random((200, 4)) < 0.5).astype(float)
    y = rng.random(200) < 1 / (1 + np.exp(-(3 * X[:, 0] - 1.5 * X[:, 1] - 1)))
    return np.column_stack([X, size + rng.normal(size=200) * size / 100]), y.astype(int)


def fit(X: np.ndarray, y: np.ndarray, **settings: object) -> sf.RiskScoreClassifier:
    model = sf.RiskScoreClassifier(max_features=2, max_points=5, **settings)
    return model.fit(X, y)


@pytest.mark.parametrize(("solver", "size"), [("rd", 1e7), ("rsrd", 1e7), ("seqrd", 1e3), ("rsrd*", 1e5)])
def test_a_large_column_excuses_no_gap_of_a_baseline(solver: str, size: float):
    X, y = table_with_a_large_column(size=size)
    best = fit(X, y, solver="exact").outcome_.upper_bound
    with pytest.warns(ConvergenceLimitWarning):
        model = fit(X, y, solver=solver)
    proof = model.certificate_
    assert not proof.verified
    assert "Not proven optimal" in proof.claim
    assert proof.lower_bound <= best * (1 + 1e-9) <= proof.upper_bound * (1 + 2e-9)
    assert "Not proven" in model.score_card().proof.sentence


@pytest.mark.parametrize("size", [1e3, 1e7])
def test_a_search_without_time_proves_nothing(size: float):
    X, y = table_with_a_large_column(size=size)
    with pytest.warns(ConvergenceLimitWarning):
        model = fit(X, y, solver="exact", time_limit=1e-6)
    assert not model.certificate_.verified
    assert model.certificate_.relative_gap > 0.01


def test_a_table_with_a_large_column_that_is_searched_to_the_end_is_verified_or_says_why():
    X, y = table_with_a_large_column(size=1e4)
    model = fit(X, y, solver="exact")
    assert model.certificate_.verified, model.certificate_.claim
    assert "Best possible" in model.score_card().proof.sentence


def wide_table(seed: int = 3) -> RiskScoreProblem:
    rng = np.random.default_rng(seed)
    n, d = 400, 40
    X = (rng.random((n, d)) < rng.uniform(0.1, 0.6, d)).astype(float)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-(X[:, :6] @ np.array([1.5, -1.2, 1.0, 0.8, -0.7, 0.6]) - 0.5))), 1.0, -1.0)
    return RiskScoreProblem(X, y, np.full(n, 1 / n), np.full(d, -5), np.full(d, 5), -20, 20, 4)


def test_a_long_proof_is_recomputed_whole():
    problem = wide_table()
    outcome = ExactScore(proof_limit=10**9).solve(problem, SolveOptions(tolerance=0.0))
    proof = outcome.dual.proof
    assert proof is not None and proof.steps.size + proof.points.size > 100_000
    certificate = certify_risk_score(problem, outcome.primal, proof, 1e-9)
    assert certificate.verified, certificate.claim
    n_claims = int(certificate.claim.split("All ")[1].split(" claims")[0].replace(",", ""))
    assert n_claims > 10_000


def test_a_proof_that_is_not_kept_is_missed_aloud(monkeypatch):
    """Memory is the one limit of a proof; the fit then says so, and the card claims nothing."""
    monkeypatch.setattr(FitParameters, "most_proof_numbers", 10)
    X, y = table_with_a_large_column(size=1.0)
    with pytest.warns(ConvergenceLimitWarning, match="proof was not kept"):
        model = fit(X, y, solver="exact")
    assert not model.certificate_.verified
    assert "Not proven" in model.score_card().proof.sentence
    monkeypatch.undo()
    assert FIT_PARAMETERS.most_proof_numbers > 10**7


def exact_objectives(problem: RiskScoreProblem) -> dict[tuple[int, ...], float]:
    """Objectives of all cards: scores in fractions, the loss of each by ball arithmetic."""
    flint = pytest.importorskip("flint")
    choices = [range(problem.intercept_lower, problem.intercept_upper + 1)]
    choices += [range(low, high + 1) for low, high in zip(problem.lower, problem.upper, strict=True)]
    rows = [[Fraction(x) for x in row] for row in problem.columns.tolist()]
    found = {}
    for card in itertools.product(*choices):
        size = sum(point != 0 for point in card[1:])
        if size > problem.max_features:
            continue
        total = flint.arb(problem.penalty) * size
        for row, label, weight in zip(rows, problem.labels.tolist(), problem.weights.tolist(), strict=True):
            score = card[0] + sum((p * x for p, x in zip(card[1:], row, strict=True)), Fraction(0))
            margin = flint.arb(flint.fmpq(score.numerator, score.denominator)) * -label
            total += flint.arb(weight) * (margin.exp().log1p() if margin < 0 else margin + (-margin).exp().log1p())
        found[card] = total
    return found


@pytest.mark.parametrize("seed", range(12))
def test_no_verdict_is_false_in_exact_arithmetic(seed: int):
    """Every card of a small table by enumeration in ball arithmetic: offsets, scales of 1e9 and 1e-9, ties, zero weights."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    X = (rng.random((n, 2)) < 0.5).astype(float)
    X[:, 0] = X[:, 0] * rng.choice([1.0, 1e9, 1e-9, 1e7]) + rng.choice([0.0, 1e7, 1.7e9])
    weights = rng.exponential(size=n) * (rng.random(n) < 0.8) + 1e-3
    labels = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    problem = RiskScoreProblem(
        X, labels, weights / weights.sum(), np.array([-2, -1]), np.array([1, 2]), -3, 3, 2, float(rng.choice([0.0, 0.01]))
    )
    exact = exact_objectives(problem)
    outcome = ExactScore(proof_limit=10**8).solve(problem, SolveOptions(tolerance=0.0))
    least = min(float(value.lower()) for value in exact.values())
    for key, value in exact.items():
        card = RiskScore(key[0], np.array(key[1:], dtype=np.int32))
        if seed > 3 and not (key == (outcome.primal.intercept, *outcome.primal.points.tolist()) or hash(key) % 7 == 0):
            continue
        certificate = certify_risk_score(problem, card, outcome.dual.proof, 1e-9)
        assert certificate.upper_bound >= float(value.lower())
        assert certificate.lower_bound <= math.nextafter(least, math.inf)
        if certificate.verified:
            assert float(value.upper()) <= least * (1 + 2e-9) + 1e-300


def test_the_fingerprint_of_the_certificate_is_that_of_the_problem():
    problem = wide_table()
    card = RiskScore(0, np.zeros(problem.n_columns, dtype=np.int32))
    found = certify_risk_score(problem, card, None, 0.1)
    assert found.problem_digest == problem.digest()
    other = certify_risk_score(problem, RiskScore(1, card.points), None, 0.1)
    assert other.problem_digest == found.problem_digest
    assert other.model_digest != found.model_digest
    assert dataclasses.replace(problem, max_features=3).digest() != problem.digest()
    assert "on these columns" in found.claim
    assert "limits" in found.claim
