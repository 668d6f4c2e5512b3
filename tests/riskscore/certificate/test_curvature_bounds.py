"""Bounds by curvature: never above the best real coefficients of any support they are about, and what their formula says."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from reference.card_claims import node_claims, ways_of
from scipy.optimize import minimize

from surefoot.core.solve_options import SolveOptions
from surefoot.riskscore.certificate import subset_counts
from surefoot.riskscore.certificate.card_table import CardTable
from surefoot.riskscore.certificate.certificate import certify_risk_score
from surefoot.riskscore.certificate.claim_bounds import bounds_of
from surefoot.riskscore.certificate.curvature_bounds import MARGIN, curvature_bounds
from surefoot.riskscore.certificate.proof_reader import CHILD, EXCLUDED, NOT_FIRST, Claims, boxes_of
from surefoot.riskscore.problem.problem import RiskScoreProblem
from surefoot.riskscore.search.exact_score import ExactScore

INTERCEPTS = (-4, 5)
PENALTY = 0.001


def drawn(seed: int, size: int, n: int = 400, d: int = 9, effect: float = 1.0) -> RiskScoreProblem:
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < rng.uniform(0.25, 0.75, d)).astype(float)
    X[:, 1] = np.maximum(X[:, 0], X[:, 1])  # as thresholds of one column are
    logits = X @ (effect * rng.normal(size=d)) - (2.0 if seed % 2 else 0.0)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-logits + logits.mean() * (seed % 2 == 0))), 1.0, -1.0)
    weights = np.where(y > 0, 1.0 + seed % 3, 1.0)
    weights /= weights.sum()
    return RiskScoreProblem(X, y, weights, np.full(d, -2), np.full(d, 3), *INTERCEPTS, size, PENALTY)


def mean_loss(problem: RiskScoreProblem, columns: list[int], point: np.ndarray) -> float:
    scores = point[0] + problem.columns[:, columns] @ point[1:]
    return float(problem.weights @ np.logaddexp(0.0, -problem.labels * scores))


def best_fit(problem: RiskScoreProblem, columns: list[int]) -> tuple[float, np.ndarray]:
    """The least loss at any real coefficients, and where."""
    X = np.column_stack([np.ones(len(problem.labels)), problem.columns[:, columns]])

    def of(point: np.ndarray) -> tuple[float, np.ndarray]:
        slopes = -problem.labels * problem.weights / (1 + np.exp(problem.labels * (X @ point)))
        return mean_loss(problem, columns, point), X.T @ slopes

    found = minimize(of, np.zeros(X.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-9})
    return float(found.fun), found.x


def claim_at(problem: RiskScoreProblem, support: list[int], point: np.ndarray, marks: np.ndarray) -> Claims:
    candidates = np.arange(max(support, default=-1) + 1, problem.n_columns)
    parts = np.array([support], dtype=np.int64), np.array([0, candidates.size]), candidates, marks, point[None, :]
    return node_claims(CardTable(problem), INTERCEPTS, *parts, np.array([False]))


def bound_of(problem: RiskScoreProblem, claim: Claims, threshold: float = np.inf) -> float:
    return float(curvature_bounds(claim, ways_of(CardTable(problem))[1], threshold)[0])


def pruned(claim: Claims, room: int) -> list[list[int]]:
    """The supports that a claim is about."""
    support, found = claim.support[0].tolist(), []
    for size in range(1, room + 1):
        for chosen in itertools.combinations(range(claim.candidates.size), size):
            if any(claim.marks[j] == EXCLUDED for j in chosen) or claim.marks[chosen[0]] == NOT_FIRST:
                found.append([*support, *claim.candidates[list(chosen)].tolist()])
    return found


def formula(problem: RiskScoreProblem, prefix: list[int], added: list[int], point: np.ndarray) -> float:
    """The bound on one support, from the rows and the formulas of the docstring."""
    X, k = np.column_stack([np.ones(len(problem.labels)), problem.columns[:, prefix + added]]), len(prefix) + 1
    risk = 1 / (1 + np.exp(-(X[:, :k] @ point)))
    curves = problem.weights * risk * (1 - risk)
    slopes = X.T @ (problem.weights * (risk - (problem.labels > 0)))
    H = X.T @ (curves[:, None] * X)
    step = -np.linalg.solve(H, slopes)
    v = -np.linalg.solve(H[:k, :k], np.column_stack([H[:k, k:], slopes[:k]]))
    predicted = X[:, :k] @ v
    most_risk, most_safety = risk.max(), (1 - risk).max()
    share, also = max(most_risk, 0.25), max(most_safety, 0.25)

    def change(rise: float, fall: float) -> float:
        return float(max(share * max(rise, 0.0), also * max(fall, 0.0)))

    x = change(predicted[:, -1].max(), -predicted[:, -1].min())
    for d, own in zip(step[k:], predicted.T, strict=False):
        up, down = max(own.max() + 1, 0), max(-own.min(), 0)
        x += abs(d) * (change(up, down) if d > 0 else change(down, up))
    if x > 1:
        return -np.inf
    return mean_loss(problem, prefix, point) - (0.5 + max(most_risk, most_safety) * (x / 6 + x * x / 3)) * float(
        step @ H @ step
    )


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("room", [1, 2])
def test_a_bound_is_what_its_formula_says_and_below_every_fit(room: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for depth in range(0, 4 - room + 1):
        problem = drawn(seed, depth + room, effect=0.6)
        support = sorted(rng.choice(5, depth, replace=False).tolist())
        point = best_fit(problem, support)[1] + rng.choice([0.0, 1e-5, 0.1]) * rng.normal(size=depth + 1)
        marks = rng.choice([EXCLUDED, NOT_FIRST, CHILD] if room > 1 else [EXCLUDED, CHILD], 8 - max(support, default=-1))
        marks[-1] = EXCLUDED
        claim = claim_at(problem, support, point, marks)
        found = bound_of(problem, claim)
        supports = pruned(claim, room)
        assert found <= min(best_fit(problem, columns)[0] for columns in supports) + PENALTY * (depth + 1)
        expected = min(formula(problem, support, columns[depth:], point) for columns in supports) + PENALTY * (depth + 1)
        assert found <= expected
        assert found == expected or found == pytest.approx(expected, abs=200 * MARGIN + 1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_counts_that_are_not_tabled_leave_a_bound_that_holds(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    problem = drawn(seed, 5, effect=0.5)
    support = sorted(rng.choice(6, 3, replace=False).tolist())
    best, point = best_fit(problem, support)
    claim = claim_at(problem, support, point, np.full(8 - support[-1], EXCLUDED))
    exact = min(formula(problem, support, columns[3:], point) for columns in pruned(claim, 2)) + 4 * PENALTY
    found = bound_of(problem, claim)
    assert best - 0.2 < found <= exact
    monkeypatch.setattr(subset_counts, "LARGEST_TABLE", 100)  # 84 sets of three columns
    assert bound_of(problem, claim) <= found


def test_steep_risks_need_all_of_the_factor() -> None:
    """Of a rare class the plane loses more than half of d'Hd where a column takes risk away: the bound says so."""
    rng = np.random.default_rng(5)
    X = (rng.random((3000, 2)) < 0.5).astype(float)
    y = np.where(rng.random(3000) < 0.04 * np.exp(-1.2 * X[:, 0]), 1.0, -1.0)
    problem = RiskScoreProblem(X, y, np.full(3000, 1 / 3000), np.full(2, -5), np.full(2, 5), *INTERCEPTS, 1, 0.0)
    start, point = best_fit(problem, [])
    found = bound_of(problem, claim_at(problem, [], point, np.array([EXCLUDED, EXCLUDED])))
    gain = start - best_fit(problem, [0])[0]
    assert start - 2 * gain < found < start - 1.05 * gain


@pytest.mark.parametrize("change", ["score", "collinear", "moved"])
def test_nothing_is_known_where_the_formula_does_not_reach(change: str) -> None:
    problem = drawn(1, 3, effect=0.5)
    point = best_fit(problem, [0])[1]
    support = [0]
    if change == "score":
        point = np.array([40.0, -40.0])
    elif change == "moved":
        point = np.array([3.0, 2.0])
    else:
        X = problem.columns.copy()
        X[:, 8] = X[:, 7]
        problem = RiskScoreProblem(X, problem.labels, problem.weights, problem.lower, problem.upper, *INTERCEPTS, 3, PENALTY)
    marks = np.full(8, EXCLUDED)
    assert bound_of(problem, claim_at(problem, support, point, marks)) == -np.inf


def test_a_node_that_bounds_its_own_cards_too_is_no_better_than_its_plane_there() -> None:
    problem = drawn(1, 3, effect=0.3)
    point = best_fit(problem, [0])[1] + np.array([0.1, 0.1])
    claim, ways = claim_at(problem, [0], point, np.full(8, EXCLUDED)), ways_of(CardTable(problem))
    claim = dataclasses.replace(claim, lower=100 * claim.lower, upper=100 * claim.upper)
    both = dataclasses.replace(claim, own=np.array([True]))
    own = bounds_of(boxes_of(claim.support, claim.lower, claim.upper, claim.points), ways, np.inf)[0]
    assert own < 0.5 <= bounds_of(claim, ways, 0.5, counted=ways[1])[0]
    for threshold in (0.5, np.inf):
        assert bounds_of(both, ways[:1], threshold, counted=ways[1])[0] <= own + 1e-12


def test_room_for_three_columns_is_not_bounded_by_pairs() -> None:
    problem = drawn(2, 4, effect=0.3)
    claim = claim_at(problem, [0], best_fit(problem, [0])[1], np.full(8, EXCLUDED))
    assert bound_of(problem, claim) == -np.inf


def test_slopes_settle_candidates_without_curvature() -> None:
    problem = drawn(3, 3, effect=0.3)
    claim = claim_at(problem, [0], best_fit(problem, [0])[1], np.full(8, EXCLUDED))
    assert bound_of(problem, claim, threshold=0.0) == 0.0


def test_no_batch_is_begun_after_the_time_is_over() -> None:
    problem = drawn(3, 3, effect=0.3)
    claim = claim_at(problem, [0], best_fit(problem, [0])[1], np.full(8, EXCLUDED))
    assert curvature_bounds(claim, ways_of(CardTable(problem))[1], np.inf, until=0.0)[0] == -np.inf


@pytest.mark.parametrize("seed", range(4))
def test_marks_that_curvature_does_not_bear_out_are_refused(seed: int) -> None:
    """A child that becomes excluded would hide the best card; nothing but curvature speaks against it here."""
    problem = drawn(seed, 3, effect=1.0)
    outcome = ExactScore(proof_limit=10**6).solve(problem, SolveOptions(tolerance=0.0))
    proof = outcome.dual.proof
    assert proof is not None
    assert certify_risk_score(problem, outcome.primal, proof, 1e-9).verified
    raised = type(proof)(**{**vars(proof), "threshold": proof.threshold * 1.02})
    worse = certify_risk_score(problem, outcome.primal, raised, 1e-9)
    assert not worse.verified
    assert worse.lower_bound <= outcome.upper_bound
