"""Proofs of robust score cards, of cards of free scale and of those that are both, against trying every card."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from reference.enumerated_robust_score import best_robust_card, robust_losses
from reference.enumerated_scaled_robust_score import best_scaled_robust_card, scaled_robust_losses
from reference.enumerated_scaled_score import best_multipliers, best_scaled_card

from surefoot.core.certificate import Certificate
from surefoot.core.enclosure import enclose
from surefoot.core.solve_options import SolveOptions
from surefoot.riskscore.certificate.card_table import CardTable
from surefoot.riskscore.certificate.certificate import certify_risk_score
from surefoot.riskscore.certificate.claim_bounds import bounds_of
from surefoot.riskscore.certificate.loss_planes import LossPlanes
from surefoot.riskscore.certificate.proof_reader import EXCLUDED, SINGLE_CARD, ProofReader, boxes_of
from surefoot.riskscore.problem.card_rules import GroupRule
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.problem.score_proof import ScoreProof
from surefoot.riskscore.problem.score_shift import ScoreShift
from surefoot.riskscore.search.exact_score import ExactScore

# The references search for price and multiplier by values alone, to about this much of the loss.
ROUNDING = 1e-11
GAP = 1e-9
FORMS = ("robust", "free", "robust free")


def draw_table(seed: int, kind: str, form: str, ruled: bool = False) -> RiskScoreProblem:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 24)), int(rng.integers(2, 4))
    X = (rng.random((n, d)) < rng.uniform(0.2, 0.8, d)).astype(float)
    flips = np.ones(d, dtype=bool)
    if kind == "mixed":
        X[:, 0], flips[0] = rng.normal(size=n).round(1), False
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-(X @ rng.normal(size=d) * 2 + rng.normal()))), 1.0, -1.0)
    weights = rng.exponential(size=n)
    prices = rng.choice([0.5, 1.0, 1.7, np.inf], d, p=[0.25, 0.4, 0.25, 0.1])
    shift = ScoreShift(
        float(rng.choice([0.01, 0.05, 0.2])), prices, flips, float(rng.choice([0.7, 2.0, np.inf], p=[0.25, 0.25, 0.5]))
    )
    return RiskScoreProblem(
        X,
        y,
        weights / weights.sum(),
        np.full(d, -2),
        np.full(d, 2),
        -3,
        3,
        int(rng.integers(1, d + 1)),
        float(rng.choice([0, 1e-8, 0.02])),
        (GroupRule((0, 1), least=1, most=1),) if ruled else (),
        shift=shift if "robust" in form else None,
        scale="free" if "free" in form else "unit",
        multipliers=((0.2, 20.0), (0.5, 1.5), (1.0, 4.0))[seed % 3],
    )


def best_value(problem: RiskScoreProblem) -> float:
    if problem.scale == "unit":
        return best_robust_card(problem)[0]
    return (best_scaled_card if problem.shift is None else best_scaled_robust_card)(problem)[0]


def values_of_cards(problem: RiskScoreProblem) -> tuple[np.ndarray, np.ndarray]:
    choices = [range(problem.intercept_lower, problem.intercept_upper + 1)]
    choices += [range(low, high + 1) for low, high in zip(problem.lower, problem.upper, strict=True)]
    cards = np.array([card for card in itertools.product(*choices) if np.count_nonzero(card[1:]) <= problem.max_features])
    if problem.scale == "unit":
        losses = robust_losses(problem, cards)
    else:
        losses = (best_multipliers if problem.shift is None else scaled_robust_losses)(problem, cards)[0]
    return cards, losses + problem.penalty * np.count_nonzero(cards[:, 1:], axis=1)


def proven(problem: RiskScoreProblem) -> tuple[RiskScore, ScoreProof]:
    outcome = ExactScore(proof_limit=10**7).solve(problem, SolveOptions(tolerance=0.0))
    assert outcome.dual.proof is not None
    return outcome.primal, outcome.dual.proof


def certify(problem: RiskScoreProblem, card: RiskScore, proof: ScoreProof | None, **more: np.ndarray) -> Certificate:
    return certify_risk_score(problem, card, proof, GAP, price=problem.price(card), **more)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["binary", "mixed"])
@pytest.mark.parametrize("ruled", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_a_search_is_certified_leaf_by_leaf(form: str, kind: str, ruled: bool, seed: int):
    problem = draw_table(seed, kind, form, ruled)
    certificate = certify(problem, *proven(problem))
    assert certificate.verified, certificate.claim
    assert "All" in certificate.claim and "were recomputed" in certificate.claim
    best = best_value(problem)
    assert certificate.upper_bound == pytest.approx(best, abs=ROUNDING)
    assert best - ROUNDING <= certificate.lower_bound <= best + ROUNDING


@pytest.mark.parametrize("form", ["free", "robust free"])
@pytest.mark.parametrize("kind", ["binary", "mixed"])
@pytest.mark.parametrize("ruled", [False, True])
@pytest.mark.parametrize("seed", range(0, 6, 3))
def test_a_rare_class_is_certified_at_every_intercept(form: str, kind: str, ruled: bool, seed: int):
    """Cards with a low intercept give all rows a risk of next to nothing at most scales: there the loss has no curvature."""
    drawn = draw_table(seed, kind, form, ruled)
    positive = np.arange(drawn.labels.size) == np.argmax(drawn.columns @ np.arange(1, drawn.n_columns + 1))
    weights = np.where(positive, 1e-4, 1.0)
    problem = dataclasses.replace(
        drawn,
        labels=np.where(positive, 1.0, -1.0),
        weights=weights / weights.sum(),
        intercept_lower=-25,
        intercept_upper=0,
        max_features=1,
        penalty=1e-8,
    )
    certificate = certify(problem, *proven(problem))
    assert certificate.verified, certificate.claim
    assert certificate.upper_bound == pytest.approx(best_value(problem), abs=ROUNDING)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(3))
def test_every_claim_bounds_the_cards_it_covers(form: str, seed: int):
    problem = draw_table(seed, "mixed", form)
    cards, values = values_of_cards(problem)
    _, proof = proven(problem)
    table = CardTable(problem)
    reader, planes = ProofReader(table, proof), LossPlanes(table)
    used = cards[:, 1:] != 0
    inside = (cards[:, 0] >= proof.intercepts[0]) & (cards[:, 0] <= proof.intercepts[1])
    for part in reader.claims():
        for k in range(len(part)):
            claim = part.take(np.array([k]))
            chosen = claim.support[0].tolist()
            if not len(claim.candidates):
                covered = np.all(used == np.isin(np.arange(problem.n_columns), chosen), axis=1)
                points = cards[:, [0, *(1 + j for j in chosen)]]
                covered &= np.all((points >= claim.lower) & (points <= claim.upper), axis=1)
            else:
                out = claim.candidates[claim.marks == EXCLUDED]
                others = list(set(range(problem.n_columns)) - set(chosen) - set(claim.candidates.tolist()))
                covered = inside & used[:, chosen].all(axis=1) & used[:, out].any(axis=1) & ~used[:, others].any(axis=1)
            bound = bounds_of(claim, [planes], proof.threshold)[0]
            assert bound <= values[covered].min(initial=np.inf) + ROUNDING


@pytest.mark.parametrize("form", FORMS)
def test_any_point_gives_a_plane_below_all_cards(form: str):
    """Points, prices and smoothings that no search would write."""
    rng = np.random.default_rng(0)
    for seed in range(4):
        problem = draw_table(seed, "mixed", form)
        cards, values = values_of_cards(problem)
        table = CardTable(problem)
        planes, support = LossPlanes(table), np.arange(problem.n_columns)[None, :]
        on_all = np.all(cards[:, 1:] != 0, axis=1)
        if not on_all.any():
            continue
        for _ in range(20):
            point = np.concatenate([rng.normal(size=problem.n_columns + 1) * 2, rng.uniform(0, 3, 2)])[None, :]
            lower, upper = (
                np.append(end, limit)[None, :].astype(float) for end, limit in ((-3, problem.lower), (3, problem.upper))
            )
            claim = boxes_of(support, lower, upper, point[:, :-2] if form == "free" else point)
            assert bounds_of(claim, [planes], 0.0)[0] <= values[on_all].min() + ROUNDING


@pytest.mark.parametrize("form", ["robust", "robust free"])
@pytest.mark.parametrize("seed", range(6))
def test_a_card_is_enclosed_from_above_under_the_worst_shift(form: str, seed: int):
    problem = draw_table(seed, "mixed" if seed % 2 else "binary", form)
    rng = np.random.default_rng(seed)
    table = CardTable(problem)
    planes = LossPlanes(table)
    for _ in range(6):
        points = rng.integers(-2, 3, problem.n_columns)
        used = np.flatnonzero(points)
        intercept = int(rng.integers(-3, 4))
        card = np.append(intercept, points[used]).astype(float)
        scale = 1.0 if form == "robust" else float(rng.uniform(0.3, 2.0))
        value = robust_losses(problem, scale * np.append(intercept, points)[None, :])[0]
        price = problem.price(RiskScore(intercept, points, 1 / scale))
        assert value - ROUNDING <= float(planes.worst_loss(used, card, enclose(scale), price).high) <= value + ROUNDING
        for other in (0.0, 0.5 * price, price + 1.0, np.inf):
            assert float(planes.worst_loss(used, card, enclose(scale), other).high) >= value - ROUNDING


@pytest.mark.parametrize("seed", range(6))
def test_the_line_of_a_worst_case_along_the_scale_stays_below_it(seed: int):
    """Found at one scale, by the tangents of another price, it holds at every other."""
    rng = np.random.default_rng(seed)
    problem = draw_table(seed, "mixed" if seed % 2 else "binary", "robust free")
    scales = np.geomspace(0.05, 5.0, 25)
    for _ in range(8):
        intercept, points = int(rng.integers(-3, 4)), rng.integers(-2, 3, problem.n_columns)
        found = [problem.worst_loss(intercept, points, scale) for scale in scales]
        values = robust_losses(problem, scales[:, None] * np.append(intercept, points))
        np.testing.assert_allclose([worst.value for worst in found], values, atol=ROUNDING)
        for scale, worst in zip(scales, found, strict=True):
            assert worst.value - worst.bound <= ROUNDING
            assert np.all(worst.bound + worst.slope * (scales - scale) <= values + ROUNDING)


@pytest.mark.parametrize("form", FORMS)
def test_tampering_never_proves_more_than_is_true(form: str):
    problem = draw_table(3, "binary", form)
    card, proof = proven(problem)
    best = best_value(problem)
    higher = certify(problem, card, dataclasses.replace(proof, threshold=proof.threshold + 1e-4))
    assert not higher.verified and "refused" in higher.claim
    rng = np.random.default_rng(1)
    n_refused = 0
    for k in range(40):
        steps, points = proof.steps.copy(), proof.points.copy()
        if k % 2:
            steps[rng.integers(steps.size)] += rng.choice([-1, 1])
        else:
            points[rng.integers(points.size, size=20)] = rng.normal() * 10
        changed = dataclasses.replace(proof, steps=steps, points=points)
        certificate = certify(problem, card, changed)
        assert certificate.lower_bound <= best + ROUNDING
        n_refused += not certificate.verified
    assert n_refused > 15


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(4))
def test_without_a_proof_the_card_itself_gives_a_weaker_bound(form: str, seed: int):
    problem = draw_table(seed, "mixed", form)
    card, _ = proven(problem)
    point = np.append(card.intercept, card.points) / card.multiplier
    certificate = certify(problem, card, None, tangent=point)
    assert certificate.lower_bound <= best_value(problem)
    assert certificate.upper_bound == pytest.approx(best_value(problem), abs=ROUNDING)


@pytest.mark.parametrize("form", FORMS)
def test_proofs_without_scales_and_prices_of_single_cards_are_refused_in_words(form: str):
    """As an earlier version wrote them, where the verifier looked for these itself."""
    problem = draw_table(3, "binary", form)
    card, proof = proven(problem)
    steps = np.zeros_like(proof.steps)
    steps[0] = SINGLE_CARD
    certificate = certify(problem, card, dataclasses.replace(proof, steps=steps))
    assert not certificate.verified
    assert "an earlier version wrote it" in certificate.claim and "fit again" in certificate.claim


def test_a_shifted_card_needs_the_price_of_its_worst_loss():
    """Without one the upper bound holds and is weak."""
    problem = draw_table(3, "mixed", "robust")
    card, proof = proven(problem)
    assert certify(problem, card, proof).verified
    for price in (0.0, 100.0, -1.0, np.nan, np.inf):
        certificate = certify_risk_score(problem, card, proof, GAP, price=price)
        assert not certificate.verified
        assert not certificate.upper_bound < best_value(problem)


@pytest.mark.parametrize("seed", range(6))
def test_planes_of_single_cards_hold_whatever_their_points(seed: int):
    """Four planes at any scales, prices and smoothings, mixed in any way, are below the card and every other of a box."""
    rng = np.random.default_rng(seed)
    problem = draw_table(seed, "mixed" if seed % 2 else "binary", "robust free")
    cards, values = values_of_cards(problem)
    planes, support = LossPlanes(CardTable(problem)), np.arange(problem.n_columns)[None, :]
    on_all = np.flatnonzero(np.all(cards[:, 1:] != 0, axis=1))
    for at in rng.permutation(on_all)[:10]:
        sides = np.concatenate([np.concatenate([rng.normal(size=cards.shape[1]), rng.uniform(0, 2, 2)]) for _ in range(4)])
        claim = boxes_of(support, cards[None, at].astype(float), cards[None, at].astype(float), sides[None, :])
        assert bounds_of(claim, [planes], -1e9)[0] <= values[at] + ROUNDING
