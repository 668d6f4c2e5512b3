"""Verdicts on score cards that were false once: rounding excused, long proofs dropped, samples called proofs."""

from __future__ import annotations

import dataclasses
import itertools
import math
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from reference.card_claims import node_claims, ways_of
from reference.drawn_score import draw_problem

import surefoot as sf
from surefoot import constraints
from surefoot.core.enclosure import computing_in
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import ConvergenceLimitWarning, InfeasibleProblemError
from surefoot.riskscore.certificate.card_table import CardTable
from surefoot.riskscore.certificate.certificate import certify_risk_score
from surefoot.riskscore.certificate.claim_bounds import bounds_of
from surefoot.riskscore.certificate.proof_reader import EXCLUDED
from surefoot.riskscore.estimator.parameters import FIT_PARAMETERS, FitParameters
from surefoot.riskscore.problem.card_rules import PointSetRule, RateRule
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


def best_of_all_cards(X: np.ndarray, y: np.ndarray, intercept_bound: int) -> float:
    """By trying every intercept with all points of up to two columns, none of the code of the package."""
    signs, best = 2.0 * y - 1, np.inf
    intercepts = np.arange(-intercept_bound, intercept_bound + 1)
    for first, second in itertools.combinations(range(X.shape[1]), 2):
        for points in itertools.product(range(-2, 3), repeat=2):
            scores = (X[:, [first, second]] @ points)[:, None] + intercepts
            losses = np.logaddexp(0.0, -signs[:, None] * scores).mean(axis=0)
            best = min(best, losses.min() + 1e-8 * np.count_nonzero(points))
    return best


@pytest.mark.parametrize("settings", [{"solver": "rsrd"}, {"solver": "exact", "time_limit": 1e-6}])
@pytest.mark.parametrize("seed", range(3))
def test_no_large_column_excuses_a_card_that_is_not_the_best(settings: dict[str, object], seed: int):
    """Yes/no columns and one of 1e7 whose optimum is known by trying all cards: a verified card is that."""
    rng = np.random.default_rng(seed)
    X = (rng.random((40, 4)) < 0.5).astype(float)
    y = (rng.random(40) < 1 / (1 + np.exp(-(4 * X[:, 1] - 3 * X[:, 2] - 0.5)))).astype(int)
    X[:, 0] = np.round(1e7 * rng.random(40))
    best = best_of_all_cards(X, y, 5)
    assert best < 0.67  # there is something to find
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceLimitWarning)
        model = sf.RiskScoreClassifier(max_features=2, max_points=2, intercept_bound=5, **settings).fit(X, y)
    proof = model.certificate_
    assert proof.lower_bound <= best * (1 + 1e-12)
    assert proof.upper_bound >= best * (1 - 1e-12)
    if proof.verified:
        assert proof.upper_bound <= best * (1 + 1e-6)
        assert proof.lower_bound > 0.99 * best
    assert sf.RiskScoreClassifier(max_features=2, max_points=2, intercept_bound=5).fit(X, y).certificate_.verified


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


def test_a_stopped_fit_warns_with_the_bound_that_its_claim_has():
    """The search's own bound has no proof, and is said to have none."""
    X, y = table_with_a_large_column(size=1e3)
    with pytest.warns(ConvergenceLimitWarning) as warned:
        model = fit(X, y, solver="exact", time_limit=1e-6)
    text = str(warned[0].message)
    assert model.certificate_.claim in text
    believed = model.outcome_.lower_bound > model.certificate_.lower_bound
    assert ("which has no proof" in text) == believed


def test_a_printed_card_says_how_much_of_its_proof_was_recomputed():
    X, y = table_with_a_large_column(size=1.0)
    model = fit(X, y, solver="exact")
    said = model.score_card().proof.sentence
    assert "checked independently" in said
    assert "claims of its proof were recomputed" in said
    arguments = model._proof_parts(X, y, None, None).arguments
    part = certify_risk_score(**arguments, max_seconds=0.0)
    model.certificate_ = part
    model._seal_proof()
    said = model.score_card().proof.sentence
    assert "checked independently" not in said
    assert "nothing is proven about better cards. Its proof was not checked to the end; 'surefoot verify' does that" in said
    assert "if the others hold" in said
    assert "Recomputed were 0 of the" in said


def test_a_rule_that_forbids_a_column_leaves_no_column_to_its_twin():
    """The search knew it as a limit only, claimed twins, and the certificate, which sees a rule, refused them."""
    rng = np.random.default_rng(5)
    X = (rng.random((60, 4)) < 0.5).astype(float)
    X[:, 3] = X[:, 0]
    y = np.where(rng.random(60) < 1 / (1 + np.exp(-(2 * X[:, 0] - X[:, 1]))), 1.0, -1.0)
    rules = (PointSetRule(2, (0,)),)
    problem = RiskScoreProblem(X, y, np.full(60, 1 / 60), np.full(4, -3), np.full(4, 3), -5, 5, 2, rules=rules)
    outcome = ExactScore(proof_limit=10**7).solve(problem, SolveOptions(tolerance=0.0))
    assert outcome.primal.points[2] == 0
    certificate = certify_risk_score(problem, outcome.primal, outcome.dual.proof, 1e-9)
    assert certificate.verified, certificate.claim


def wide_table(seed: int = 3) -> RiskScoreProblem:
    rng = np.random.default_rng(seed)
    n, d = 400, 110
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
    assert n_claims > 1_000


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


def test_a_node_with_room_for_two_columns_is_not_pruned_by_the_gain_of_one():
    """Rows that only two columns together explain: the tangent at the intercept must count both gains."""
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 3, dtype=float)
    labels = np.where(X.sum(axis=1) > 1, 1.0, -1.0)
    problem = RiskScoreProblem(X, labels, np.full(12, 1 / 12), np.full(2, -3), np.full(2, 3), -5, 5, 2)
    table = CardTable(problem)
    columns = np.arange(2)
    claim = node_claims(
        table,
        (-5, 5),
        np.zeros((1, 0), dtype=np.int64),
        np.array([0, 2]),
        columns,
        np.array([EXCLUDED, EXCLUDED]),
        np.zeros((1, 1)),
        np.zeros(1, dtype=bool),
    )
    best = min(float(value.lower()) for card, value in exact_objectives(problem).items() if any(card[1:]))
    for ways in (ways_of(table), ways_of(table)[-1:]):
        bound = bounds_of(claim, ways, 0.0)[0]
        assert bound <= best
    skewed = dataclasses.replace(problem, labels=np.where(X[:, 0] + X[:, 1] >= 1, 1.0, -1.0))
    table = CardTable(skewed)
    # g_0 = (1/4 - 3/4) / 2, g_1 = g_2 = -(1/2) / 2: the bound is log 2 - 5 / 4 - 3 / 4 - 3 / 4.
    for ways in (ways_of(table), ways_of(table)[-1:]):
        bound = bounds_of(claim, ways, 0.0)[0]
        assert bound == pytest.approx(math.log(2) - 5 / 4 - 3 / 4 - 3 / 4, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["binary", "mixed"])
def test_ball_arithmetic_comes_to_the_same_verdict(kind: str, seed: int):
    flint_enclosure = pytest.importorskip("surefoot.core.flint_enclosure", exc_type=ImportError)
    problem = draw_problem(seed, kind, weighted=True, ruled=seed == 2)
    outcome = ExactScore(proof_limit=10**8).solve(problem, SolveOptions(tolerance=0.0))
    doubles = certify_risk_score(problem, outcome.primal, outcome.dual.proof, 1e-9)
    with computing_in(flint_enclosure.FlintEnclosure):
        balls = certify_risk_score(problem, outcome.primal, outcome.dual.proof, 1e-9)
    assert doubles.verified and balls.verified
    assert doubles.lower_bound <= balls.lower_bound <= balls.upper_bound <= doubles.upper_bound
    assert balls.problem_digest == doubles.problem_digest


def test_a_multiplier_that_puts_a_row_just_above_its_threshold_is_compared_with():
    """Rows counted as flagged from 1e-9 above the threshold on: a card 7e-7 better than the "best" kept the rule."""
    x, y = np.array([0.0005] * 5 + [1.0] * 5), np.array([1] * 5 + [0] * 5)
    rule = constraints.TruePositiveRate(1.0, risk=0.50001)
    model = sf.RiskScoreClassifier(constraints=[rule], scale="free", max_points=1, intercept_bound=0, sparsity_penalty=0.0).fit(
        pd.DataFrame({"x": x}), y
    )
    assert model.certificate_.verified
    assert np.all(model.predict_proba(pd.DataFrame({"x": x}))[y == 1, 1] > 0.50001)
    for multiplier in (12.49999, 12.4999999):
        assert np.all(1 / (1 + np.exp(-x[y == 1] / multiplier)) > 0.50001)
        loss = float(np.mean(np.logaddexp(0, -np.where(y == 1, 1, -1) * x / multiplier)))
        assert model.certificate_.lower_bound <= loss
        assert model.certificate_.upper_bound <= loss * (1 + 1e-9)


@pytest.mark.parametrize("unit", [1.0, 1e12])
def test_rows_are_flagged_in_any_unit(unit: float):
    """Scores of 4e-10 counted as not above 0, and predict flagged them."""
    X = pd.DataFrame({"x": np.array([1e-10, 2e-10, -1e-10, 3e-10, -2e-10, 5e-10]) * unit})
    y = np.array([0, 0, 0, 1, 0, 1])
    rules = [constraints.FalsePositiveRate(0.0), constraints.MinFeatures(1)]
    with pytest.raises(InfeasibleProblemError):
        sf.RiskScoreClassifier(constraints=rules, intercept_bound=0).fit(X, y)
    rules[0] = constraints.FalsePositiveRate(0.5)
    model = sf.RiskScoreClassifier(constraints=rules, intercept_bound=0).fit(X, y)
    assert model.certificate_.verified
    assert np.mean(model.predict(X)[y == 0]) <= 0.5


@pytest.mark.parametrize("least", [0.0, 1.0])
def test_rows_on_the_threshold_are_not_flagged_whatever_rounding_does(least: float):
    """10 * 0.1 - 1 is 0 in doubles and above 0 in fact, since 0.1 is a little more; 2 * 1.5 - 3 is 0."""
    for columns, points, intercept in (([[1.5, 0.0]], [2, 0], -3), ([[0.1, 0.0]], [10, 0], -1), ([[0.3, 0.7]], [1, 1], -1)):
        exact = sum(Fraction(value) * p for value, p in zip(columns[0], points, strict=True)) + intercept
        rule = RateRule(1.0, lower=least, upper=least)
        rows = np.array([*columns, [0.25, 0.5]])
        problem = RiskScoreProblem(
            rows, np.array([1.0, -1.0]), np.full(2, 0.5), np.full(2, -10), np.full(2, 10), -9, 9, 2, rules=(rule,)
        )
        flaw = CardTable(problem).flaw_of(RiskScore(intercept, np.array(points, dtype=np.int32)))
        assert (flaw == "") == ((exact > 0) == (least == 1.0))


def test_a_refusal_for_want_of_digits_says_so():
    """Two columns that share an offset of 1e9 and have opposite points: scores are small, and what adds up to them is not."""
    rng = np.random.default_rng(0)
    X = 1e9 + rng.normal(size=(30, 2)).round(1)
    y = (X[:, 0] - X[:, 1] + rng.normal(size=30) > 0).astype(int)
    settings = {"scale": "free", "max_features": 2, "max_points": 2, "n_jobs": 1}
    with pytest.warns(ConvergenceLimitWarning):
        model = sf.RiskScoreClassifier(**settings).fit(X, y)
    assert not model.certificate_.verified
    assert "entries up to 1.0e+09 leave few digits" in model.certificate_.claim
    assert sf.RiskScoreClassifier(**settings).fit(X - 1e9, y).certificate_.verified


@pytest.mark.parametrize("largest", [1e3, 1e7, 1e9])
@pytest.mark.parametrize("radius", [0.05, 0.15])
@pytest.mark.parametrize("seed", range(3))
def test_a_column_of_large_numbers_leaves_no_gap_to_cards_without_it(seed: int, radius: float, largest: float) -> None:
    """The price of a shift may be as large as a score of that column: a plane that falls along it by rounding proves little."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.round(rng.uniform(0, largest, 12)), rng.integers(0, 2, (12, 2))])
    y = (rng.random(12) < 0.3 + 0.5 * X[:, 1]).astype(int)
    model = sf.RiskScoreClassifier(max_features=2, max_points=1, intercept_bound=0, radius=radius, gap=0.0).fit(X, y)
    assert model.certificate_.verified and model.certificate_.relative_gap < 1e-13


def stamped(seed: int, largest: float, part: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """When something begins and when it ends, in multiples of a part; what it takes decides."""
    rng = np.random.default_rng(seed)
    begin, taken = np.round(rng.uniform(0, largest, 14)), rng.integers(-3, 4, 14)
    y = (rng.random(14) < 1 / (1 + np.exp(-taken))).astype(int)
    return np.column_stack([begin * part, (begin + taken) * part, rng.integers(0, 2, 14)]), y


@pytest.mark.parametrize(("largest", "scale"), [(1e3, "unit"), (1e7, "unit"), (1e9, "unit"), (1e3, "free"), (1e7, "free")])
def test_differences_of_time_stamps_are_proven_as_their_values_would_be(largest: float, scale: str) -> None:
    """Columns of 1e9 cancel in the scores of the best cards, and no rounding is left, but for where a free scale is best."""
    X, y = stamped(0, largest)
    model = sf.RiskScoreClassifier(max_features=3, max_points=1, intercept_bound=2, gap=0.0, scale=scale).fit(X, y)
    assert model.points_["x0"] == -model.points_["x1"] != 0
    assert model.certificate_.verified and model.certificate_.relative_gap < (1e-12 if scale == "unit" else 1e-9)


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.ConvergenceLimitWarning")
@pytest.mark.parametrize("part", [1.0, 0.1])
@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_cards_on_time_stamps_enclose_those_in_balls(seed: int, part: float) -> None:
    """Scores of whole columns are exact, those of tenths are not."""
    pytest.importorskip("flint")
    X, y = stamped(seed, 1e7, part)
    model = sf.RiskScoreClassifier(max_features=3, max_points=1, intercept_bound=2, gap=0.0).fit(X, y)
    double, ball = (sf.verify(model, X, y, arithmetic=arithmetic) for arithmetic in ("double", "ball"))
    assert double.lower_bound <= ball.lower_bound <= ball.upper_bound <= double.upper_bound
    assert (ball.upper_bound < double.upper_bound - 1e-12) == (part < 1)


def test_intercepts_of_a_proof_beyond_all_cards_change_nothing() -> None:
    """They would make scores of whole columns too large to be exact."""
    X, y = stamped(0, 1e7)
    model = sf.RiskScoreClassifier(max_features=3, max_points=1, intercept_bound=2, gap=0.0).fit(X, y)
    proof = model.certificate_.witness
    problem = RiskScoreProblem(X, 2.0 * y - 1.0, np.full(14, 1 / 14), -np.ones(3), np.ones(3), -2, 2, 3, 1e-8)
    card = RiskScore(model.intercept_, np.array([model.points_.get(name, 0) for name in ("x0", "x1", "x2")]), 1.0)
    honest, wide = (
        certify_risk_score(problem, card, dataclasses.replace(proof, intercepts=ends), 1e-9)
        for ends in (proof.intercepts, (-(2**60), 2**60))
    )
    assert honest.verified and honest.lower_bound == wide.lower_bound
