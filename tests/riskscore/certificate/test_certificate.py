"""Proofs of score cards: accepted when they hold, refused when anything about them is not so."""

from __future__ import annotations

import dataclasses
import re
from types import SimpleNamespace

import numpy as np
import pytest
from reference.card_claims import ways_of
from reference.drawn_score import binary_table, draw_problem
from reference.enumerated_score import all_cards, best_card

from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import CertificateError
from surefoot.riskscore.certificate import certificate, claim_bounds, loss_planes
from surefoot.riskscore.certificate.card_table import CardTable
from surefoot.riskscore.certificate.certificate import certify_risk_score
from surefoot.riskscore.certificate.claim_bounds import bounds_of
from surefoot.riskscore.certificate.counted_planes import CountedPlanes
from surefoot.riskscore.certificate.loss_planes import LossPlanes, Planes
from surefoot.riskscore.certificate.proof_reader import EXCLUDED, Claims, ProofReader, intercept_range
from surefoot.riskscore.certificate.subset_counts import SubsetCounts
from surefoot.riskscore.problem.card_rules import GroupRule
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.problem.score_proof import ScoreProof
from surefoot.riskscore.problem.score_shift import ScoreShift
from surefoot.riskscore.search.exact_score import ExactScore

TABLE = binary_table(n=300, d=10, size=3)
# Doubles enclose objective and bound, so what is asked for is a little above 0.
GAP = 1e-9


def proven(problem: RiskScoreProblem, tolerance: float = 0.0) -> tuple[RiskScore, ScoreProof]:
    outcome = ExactScore(proof_limit=10**7).solve(problem, SolveOptions(tolerance=tolerance))
    assert outcome.dual.proof is not None
    return outcome.primal, outcome.dual.proof


@pytest.fixture(scope="module")
def answer() -> tuple[RiskScore, ScoreProof]:
    return proven(TABLE)


@pytest.mark.parametrize("kind", ["binary", "integer", "real", "mixed"])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ruled", [False, True])
def test_a_search_is_certified_leaf_by_leaf(kind: str, seed: int, ruled: bool):
    problem = draw_problem(seed, kind, weighted=seed % 2 == 0, ruled=ruled)
    best, card = best_card(problem)
    if card is None:
        return
    certificate = certify_risk_score(problem, *proven(problem), GAP)
    assert certificate.verified, certificate.claim
    assert "were recomputed" in certificate.claim
    assert certificate.lower_bound <= best + 1e-12
    assert certificate.upper_bound == pytest.approx(best, abs=1e-12)
    assert certificate.relative_gap < 1e-9
    assert certificate.problem_digest == problem.digest()


@pytest.mark.parametrize("kind", ["binary", "integer", "real"])
@pytest.mark.parametrize("seed", range(8))
def test_twins_are_left_out_of_a_proof_and_cost_it_nothing(kind: str, seed: int):
    problem = dataclasses.replace(draw_problem(seed, kind, twins=True), intercept_lower=-40, intercept_upper=40, max_features=2)
    card, proof = proven(problem)
    certificate = certify_risk_score(problem, card, proof, GAP)
    assert certificate.verified, certificate.claim
    if kind != "real":
        assert np.any(proof.twins >= 0)
    # Points of the whole box, intercepts as far as they can matter: the best of all cards.
    near = dataclasses.replace(problem, intercept_lower=-12, intercept_upper=12)
    assert certificate.upper_bound == pytest.approx(best_card(near)[0], abs=1e-12)


def test_twins_that_are_none_are_refused(answer):
    card, proof = answer
    for at, twin in ((3, 1), (1, 3), (4, 4), (2, -2)):
        twins = proof.twins.copy()
        twins[at] = twin
        assert "twin" in refused(TABLE, card, dataclasses.replace(proof, twins=twins))
    ruled = dataclasses.replace(TABLE, columns=np.column_stack([TABLE.columns[:, :-1], TABLE.columns[:, 0]]))
    card, proof = proven(ruled)
    assert np.any(proof.twins >= 0)
    assert certify_risk_score(ruled, card, proof, GAP).verified
    with_rules = dataclasses.replace(ruled, rules=(GroupRule((0,), least=0, most=1),))
    assert "twin" in refused(with_rules, card, dataclasses.replace(proof, problem_digest=with_rules.digest()))
    tight = dataclasses.replace(ruled, columns=np.column_stack([TABLE.columns[:, :-1], 1 - TABLE.columns[:, 0]]))
    card, proof = proven(tight)
    assert np.any(proof.twins >= 0)
    low, high = intercept_range(CardTable(tight), proof.threshold)
    tight = dataclasses.replace(tight, intercept_lower=low, intercept_upper=high)
    assert "twin" in refused(tight, card, dataclasses.replace(proof, problem_digest=tight.digest()))


def test_intercepts_are_left_out_for_a_reason_only(answer):
    card, proof = answer
    assert proof.intercepts[0] > TABLE.intercept_lower
    low, high = intercept_range(CardTable(TABLE), proof.threshold)
    for intercepts in ((low + 1, high), (low, high - 1)):
        assert "intercepts" in refused(TABLE, card, dataclasses.replace(proof, intercepts=intercepts))


@pytest.mark.parametrize("kind", ["binary", "integer", "real", "mixed"])
@pytest.mark.parametrize("seed", range(5))
def test_cards_beyond_the_range_of_intercepts_are_worse(kind: str, seed: int):
    problem = draw_problem(seed, kind, weighted=True)
    cards = all_cards(problem)
    for threshold in (min(cards.values()), 0.4, 0.7, 2.0):
        low, high = intercept_range(CardTable(problem), threshold)
        assert all(low <= key[0] <= high for key, value in cards.items() if value <= threshold)


@pytest.mark.parametrize("kind", ["mixed", "binary"])
@pytest.mark.parametrize("seed", range(4))
def test_every_claim_bounds_the_cards_it_covers(kind: str, seed: int):
    """Each claim against all cards, not against the threshold alone; by rows, and by counts where they decide."""
    problem = draw_problem(seed, kind)
    cards = all_cards(problem)
    _, proof = proven(problem)
    table = CardTable(problem)
    reader = ProofReader(table, proof)
    claims = [part for part in reader.claims() if len(part)]
    assert any(len(part.candidates) for part in claims)
    assert SubsetCounts.suits(table, reader.columns) == (kind == "binary")
    ways = ways_of(table, reader.columns)
    for part in claims:
        found = [bounds_of(part, chosen, proof.threshold) for chosen in (ways, ways[-1:])]
        np.testing.assert_allclose(found[-1], found[0], atol=1e-11)
        for k in range(len(part)):
            covered = min(values_covered(part.take(np.array([k])), cards, reader.intercepts), default=np.inf)
            assert all(bounds[k] <= covered for bounds in found)


def values_covered(claim, cards: dict, intercepts: tuple[int, int]) -> list[float]:
    chosen = set(claim.support[0].tolist())
    if not len(claim.candidates):
        order = claim.support[0].tolist()
        return [
            value
            for key, value in cards.items()
            if set(np.flatnonzero(key[1:]).tolist()) == chosen
            and np.all(claim.lower[0] <= [key[0], *(key[1 + j] for j in order)])
            and np.all(claim.upper[0] >= [key[0], *(key[1 + j] for j in order)])
        ]
    out = set(claim.candidates[claim.marks == EXCLUDED].tolist())
    return [
        value
        for key, value in cards.items()
        if (support := set(np.flatnonzero(key[1:]).tolist())) >= chosen
        and support - chosen <= set(claim.candidates.tolist())
        and support & out
        and intercepts[0] <= key[0] <= intercepts[1]
    ]


def test_a_gap_that_was_left_open_is_not_hidden():
    card, proof = proven(TABLE, tolerance=0.05)
    assert certify_risk_score(TABLE, card, proof, 0.05 + GAP).verified
    strict = certify_risk_score(TABLE, card, proof, GAP)
    assert not strict.verified
    assert "above the tolerance" in strict.claim


def test_another_card_is_not_optimal_with_the_same_proof(answer):
    card, proof = answer
    other = RiskScore(card.intercept + 1, card.points)
    certificate = certify_risk_score(TABLE, other, proof, GAP)
    assert not certificate.verified
    assert certificate.lower_bound < certificate.upper_bound
    assert certificate.witness is proof


def test_a_card_that_breaks_the_rules_is_none(answer):
    card, proof = answer
    certificate = certify_risk_score(TABLE, RiskScore(21, card.points), proof, GAP)
    assert not certificate.verified
    assert certificate.upper_bound == np.inf
    assert "breaks limits" in certificate.claim


def refused(problem: RiskScoreProblem, card: RiskScore, proof: ScoreProof) -> str:
    certificate = certify_risk_score(problem, card, proof, GAP)
    assert not certificate.verified
    assert certificate.lower_bound == 0.0
    assert certificate.witness is None
    assert "refused" in certificate.claim
    return certificate.claim


def test_a_proof_about_other_data_is_refused(answer):
    card, proof = answer
    labels = TABLE.labels.copy()
    labels[0] *= -1
    assert "other data" in refused(dataclasses.replace(TABLE, labels=labels), card, proof)
    assert "other data" in refused(dataclasses.replace(TABLE, intercept_upper=19), card, proof)


def test_other_data_are_refused_even_under_the_right_name(answer):
    """The digest is a courtesy: the claims themselves fail on other rows."""
    card, proof = answer
    labels = np.random.default_rng(0).permutation(TABLE.labels) * np.where(np.arange(TABLE.n_rows) % 5 == 0, -1.0, 1.0)
    other = dataclasses.replace(TABLE, labels=labels, columns=TABLE.columns[:, ::-1])
    refused(other, card, dataclasses.replace(proof, problem_digest=other.digest()))


@pytest.mark.parametrize("cut", [1, 5, 50])
def test_a_proof_that_leaves_something_out_is_refused(answer, cut: int):
    card, proof = answer
    refused(TABLE, card, dataclasses.replace(proof, steps=proof.steps[:-cut]))
    refused(TABLE, card, dataclasses.replace(proof, points=proof.points[:-cut]))
    refused(TABLE, card, dataclasses.replace(proof, points=np.append(proof.points, np.zeros(cut))))
    refused(TABLE, card, dataclasses.replace(proof, columns=proof.columns[:-1]))
    refused(TABLE, card, dataclasses.replace(proof, columns=proof.columns[::-1]))


def test_a_higher_threshold_is_refused(answer):
    card, proof = answer
    claim = refused(TABLE, card, dataclasses.replace(proof, threshold=proof.threshold + 1e-6))
    assert "proves" in claim
    refused(TABLE, card, dataclasses.replace(proof, threshold=np.nan))


def test_points_that_prove_less_are_refused(answer):
    card, proof = answer
    rng = np.random.default_rng(1)
    for value in (0.0, 40.0, np.nan, np.inf, 1e308):
        points = proof.points.copy()
        points[rng.integers(points.size, size=200)] = value
        refused(TABLE, card, dataclasses.replace(proof, points=points))


def test_no_changed_step_can_raise_the_bound(answer):
    """Whatever is done to the walk, the certificate never claims more than is true."""
    card, proof = answer
    rng = np.random.default_rng(2)
    best = TABLE.objective(card)
    n_refused = 0
    for _ in range(60):
        steps = proof.steps.copy()
        steps[rng.integers(steps.size)] += rng.choice([-1, 1])
        certificate = certify_risk_score(TABLE, card, dataclasses.replace(proof, steps=steps), GAP)
        assert certificate.lower_bound <= best + 1e-12
        n_refused += not certificate.verified
    assert n_refused > 50


def test_claims_for_which_no_time_is_left_prove_nothing_and_coverage_is_checked(answer):
    card, proof = answer
    certificate = certify_risk_score(TABLE, card, proof, GAP, max_seconds=0.0)
    assert not certificate.verified
    assert certificate.lower_bound == 0.0
    assert "if the others hold" in certificate.claim
    assert "Recomputed were 0 of the" in certificate.claim
    # Claims hold to a millionth: what the others would prove is not said to more digits than that.
    believed = float(re.search(r"no such card is below ([0-9.]+)\.$", certificate.claim)[1])
    assert proof.threshold * (1 - 1.1e-6) <= believed <= proof.threshold * (1 - 0.9e-6)
    cut = dataclasses.replace(proof, steps=proof.steps[:-1])
    assert "refused" in certify_risk_score(TABLE, card, cut, GAP, max_seconds=0.0).claim
    every = certify_risk_score(TABLE, card, proof, GAP, max_seconds=600.0)
    assert every.verified
    assert re.search(r"All [0-9,]+ claims of its proof were recomputed", every.claim)


@pytest.mark.parametrize("shifted", [False, True])
def test_no_claims_are_recomputed_after_the_time_is_over(monkeypatch: pytest.MonkeyPatch, shifted: bool):
    """A clock that each batch of claims moves on by a second: as many batches as there are seconds, and no more."""
    problem = draw_problem(3, "real", weighted=True)
    if shifted:
        flips = np.all((problem.columns == 0) | (problem.columns == 1), axis=0)
        problem = dataclasses.replace(problem, shift=ScoreShift(0.05, np.ones(problem.n_columns), flips))
    card, proof = proven(problem)
    now, batches = 0.0, 0
    plane = LossPlanes.at

    def at(planes: LossPlanes, claims: Claims) -> Planes:
        nonlocal now, batches
        now, batches = now + 1.0, batches + 1
        return plane(planes, claims)

    monkeypatch.setattr(LossPlanes, "at", at)
    monkeypatch.setattr(loss_planes, "BATCH", 1)  # one claim a batch
    for module in (certificate, claim_bounds):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now))
    whole = certify_risk_score(problem, card, proof, GAP)
    n_claims = batches
    assert whole.verified
    assert n_claims > 7
    now, batches = 0.0, 0
    part = certify_risk_score(problem, card, proof, GAP, max_seconds=4.5)
    assert batches == 5
    assert not part.verified
    assert part.lower_bound == 0.0
    assert f"Recomputed were 5 of the {n_claims} claims" in part.claim


def test_claims_that_only_the_fast_way_looked_at_are_not_refused(answer, monkeypatch: pytest.MonkeyPatch):
    """What doubles leave open is for enclosures; without time for these it is neither proven nor false."""
    card, proof = answer
    now = 0.0

    def low(planes: CountedPlanes, *_: object) -> np.ndarray:
        nonlocal now
        now = 1.0
        return np.full(len(_[1]), -1.0)

    monkeypatch.setattr(CountedPlanes, "least", low)
    for module in (certificate, claim_bounds):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now))
    part = certify_risk_score(TABLE, card, proof, GAP, max_seconds=0.5)
    assert "refused" not in part.claim
    assert "Recomputed were 0 of the" in part.claim
    assert part.lower_bound == 0.0
    assert not part.verified


def test_without_a_proof_a_tangent_bounds_all_cards(answer):
    card, _ = answer
    assert certify_risk_score(TABLE, card, None, GAP).lower_bound == 0.0
    point = np.append(card.intercept, card.points).astype(float)
    for scale in (0.0, 0.5, 1.0):
        certificate = certify_risk_score(TABLE, card, None, GAP, tangent=scale * point)
        assert not certificate.verified
        assert certificate.lower_bound <= certificate.upper_bound
    with pytest.raises(CertificateError, match="shape"):
        certify_risk_score(TABLE, card, None, GAP, tangent=point[1:])
    with pytest.raises(CertificateError, match="whole points"):
        certify_risk_score(TABLE, RiskScore(0, card.points[1:]), None, GAP)


@pytest.mark.parametrize("seed", range(5))
def test_no_card_is_below_a_tangent(seed: int):
    problem = draw_problem(seed, "mixed")
    best, card = best_card(problem)
    for draw in np.random.default_rng(seed).normal(size=(10, problem.n_columns + 1)):
        assert certify_risk_score(problem, card, None, GAP, tangent=draw).lower_bound <= best


def test_a_proof_that_would_be_too_long_is_not_given():
    outcome = ExactScore(proof_limit=10).solve(TABLE, SolveOptions(tolerance=0.0))
    assert outcome.dual.proof is None
    with pytest.raises(ValueError, match="proof_limit"):
        ExactScore(proof_limit=-1)


def test_a_threshold_that_is_a_little_too_high_is_not_believed(answer):
    """Within what a claim may fall short of it, the least of the claims counts."""
    card, proof = answer
    best = TABLE.objective(card)
    raised = dataclasses.replace(proof, threshold=proof.threshold * (1 + 5e-7))
    certificate = certify_risk_score(TABLE, card, raised, GAP)
    assert best * (1 - 1e-9) < certificate.lower_bound <= best


def test_points_are_read_in_one_form(answer: tuple[RiskScore, ScoreProof]) -> None:
    """Numbers that wrap would keep their limits as one card, and have the objective or the fingerprint of another."""
    card, proof = answer
    honest = certify_risk_score(TABLE, card, proof, GAP)
    for kind in (np.int8, np.int64, np.float32, np.float64):
        same = SimpleNamespace(points=card.points.astype(kind), intercept=float(card.intercept), multiplier=1)
        assert certify_risk_score(TABLE, same, proof, GAP) == dataclasses.replace(honest)
    wrapped = SimpleNamespace(points=card.points.astype(np.int64).astype(np.uint64), intercept=card.intercept, multiplier=1.0)
    wrapped.points[0] = 2**64 - 1
    with pytest.raises(CertificateError, match="whole points"):
        certify_risk_score(TABLE, wrapped, proof, GAP)


def test_limits_that_doubles_do_not_tell_apart_are_refused(answer: tuple[RiskScore, ScoreProof]) -> None:
    for name, value in (("intercept_upper", 2**53), ("scale", "free")):
        forged = SimpleNamespace(**{field.name: getattr(TABLE, field.name) for field in dataclasses.fields(TABLE)})
        setattr(forged, name, value)
        forged.multipliers = (1.0, 1.0)
        with pytest.raises(CertificateError, match="conventions"):
            certify_risk_score(forged, answer[0], None, GAP)
