"""Small proofs written by hand: what covers all cards is read, what leaves some out is refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from surefoot.riskscore.certificate.card_table import CardTable
from surefoot.riskscore.certificate.certificate import certify_risk_score
from surefoot.riskscore.certificate.proof_reader import (
    BOUNDED,
    BRANCHED,
    BY_NODE,
    CHILD,
    EMPTY,
    EXCLUDED,
    NOT_ADMITTED,
    NOT_FIRST,
    SINGLE_CARD,
    TWIN,
    ProofReader,
)
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.problem.score_proof import ScoreProof

X = np.array([[0, 1, 1], [1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 0], [1, 0, 1]], dtype=float)
Y = np.array([1.0, 1, -1, -1, 1, -1])
PROBLEM = RiskScoreProblem(X, Y, np.full(6, 1 / 6), np.full(3, -1), np.full(3, 1), -1, 1, 2)
# So low that every claim holds: only what is covered counts.
LOW = -100.0


def proof_of(steps: list[int], n_points: int, problem: RiskScoreProblem = PROBLEM, **changes: object) -> ScoreProof:
    columns = np.arange(problem.n_columns, dtype=np.int32)
    whole = ScoreProof(
        problem.digest(), LOW, (-1, 1), columns, np.full(columns.size, -1), np.array(steps, dtype=np.int8), np.zeros(n_points)
    )
    return dataclasses.replace(whole, **changes)


def verdict_on(proof: ScoreProof, problem: RiskScoreProblem = PROBLEM) -> str:
    return certify_risk_score(problem, RiskScore(0, np.zeros(problem.n_columns, dtype=np.int32)), proof, 1e-9).claim


# The empty support; the root; the supports of its children; their nodes; supports of two columns.
ALL_EXCLUDED = [BOUNDED, EXCLUDED, EXCLUDED, EXCLUDED]
ONE_CHILD = [BOUNDED, CHILD, NOT_FIRST, NOT_FIRST, BY_NODE, EXCLUDED, EXCLUDED]
DEEP = [BOUNDED, CHILD, NOT_FIRST, EXCLUDED, BOUNDED, CHILD, BOUNDED]
COMPLETE = {
    "all excluded": (ALL_EXCLUDED, 2),
    "by the root": ([BY_NODE, EXCLUDED, EXCLUDED, EXCLUDED], 1),
    "one child": (ONE_CHILD, 1 + 1 + 2),
    "two columns": (DEEP, 1 + 1 + 2 + 2 + 3),
    "branched": ([BRANCHED, 0, -1, SINGLE_CARD, BOUNDED, EXCLUDED, EXCLUDED, EXCLUDED], 2),
    "the last column": ([BOUNDED, EXCLUDED, NOT_FIRST, CHILD, BOUNDED], 4),
}


@pytest.mark.parametrize("name", COMPLETE)
def test_a_proof_that_covers_all_cards_is_read(name: str) -> None:
    steps, n_points = COMPLETE[name]
    assert "refused" not in verdict_on(proof_of(steps, n_points))


@pytest.mark.parametrize(
    ("steps", "n_points", "reason"),
    [
        ([SINGLE_CARD, EXCLUDED, EXCLUDED, EXCLUDED], 1, "left out"),
        ([EMPTY, EXCLUDED, EXCLUDED, EXCLUDED], 1, "left out"),
        ([NOT_ADMITTED, EXCLUDED, EXCLUDED, EXCLUDED], 1, "left out"),
        ([7, EXCLUDED, EXCLUDED, EXCLUDED], 1, "left out"),
        ([BRANCHED, 0, -1, SINGLE_CARD, SINGLE_CARD, EXCLUDED, EXCLUDED, EXCLUDED], 1, "left out"),
        ([BRANCHED, 1, -1, SINGLE_CARD, BOUNDED, EXCLUDED, EXCLUDED, EXCLUDED], 2, "coordinate"),
        ([BOUNDED, CHILD, NOT_FIRST, EXCLUDED, BOUNDED, NOT_FIRST], 6, "means nothing"),
        ([BOUNDED, EXCLUDED, EXCLUDED, 4], 2, "means nothing"),
        ([BOUNDED, EXCLUDED, EXCLUDED, TWIN], 2, "twin"),
        (ALL_EXCLUDED, 3, "left over"),
        ([*ALL_EXCLUDED, BOUNDED], 2, "left over"),
        (ALL_EXCLUDED, 1, "points end"),
        (ALL_EXCLUDED[:-1], 2, "steps end"),
        (ONE_CHILD[:-1], 4, "steps end"),
    ],
)
def test_a_proof_that_leaves_cards_out_is_refused(steps: list[int], n_points: int, reason: str) -> None:
    said = verdict_on(proof_of(steps, n_points))
    assert "refused" in said
    assert reason in said


def test_cards_are_left_to_a_node_only_where_there_is_one() -> None:
    """After the last candidate there is no node, nor for supports of the largest size, nor for a part of a box."""
    for steps, n_points in (
        ([BOUNDED, EXCLUDED, NOT_FIRST, CHILD, BY_NODE], 2),
        ([BOUNDED, CHILD, NOT_FIRST, EXCLUDED, BOUNDED, CHILD, BY_NODE], 6),
        ([BRANCHED, 0, -1, SINGLE_CARD, BY_NODE, EXCLUDED, EXCLUDED, EXCLUDED], 1),
    ):
        assert "left out" in verdict_on(proof_of(steps, n_points))


@pytest.mark.parametrize("at", [0, 1, 2])
def test_columns_and_intercepts_must_all_be_there(at: int) -> None:
    left = np.delete(np.arange(3, dtype=np.int32), at)
    short = proof_of([BOUNDED, EXCLUDED, EXCLUDED], 2, columns=left, twins=np.full(2, -1))
    assert "list of columns" in verdict_on(short)
    twice = proof_of(ALL_EXCLUDED, 2, columns=np.array([0, 1, 1], dtype=np.int32))
    assert "list of columns" in verdict_on(twice)
    for intercepts in ((0, 1), (-1, 0)):
        assert "intercepts" in verdict_on(proof_of(ALL_EXCLUDED, 2, intercepts=intercepts))
    assert "refused" not in verdict_on(proof_of(ALL_EXCLUDED, 2, intercepts=(-5, 5)))


def test_claims_are_about_the_right_columns_and_boxes() -> None:
    """Two children with a node each, read piece by piece: prefixes, lists, whose plane also bounds the prefix, and boxes."""
    steps = [BOUNDED, CHILD, CHILD, NOT_FIRST, BY_NODE, BRANCHED, 1, 0, EMPTY, BOUNDED, CHILD, EXCLUDED, EXCLUDED, BOUNDED]
    # The second support is branched at the points of its column: up to 0, and from 1 on; -1 must not be lost.
    steps[8] = BOUNDED
    proof = proof_of(steps, 1 + 1 + 2 + 2 + 2 + 2 + 3, columns=np.array([2, 0, 1], dtype=np.int32))
    claims = [part for part in ProofReader(CardTable(PROBLEM), proof).claims() if len(part)]
    nodes = [part for part in claims if len(part.candidates)]
    assert [part.support.tolist() for part in nodes] == [[[]], [[2], [0]]]
    assert [part.candidates.tolist() for part in nodes] == [[2, 0, 1], [0, 1, 1]]
    assert [part.starts.tolist() for part in nodes] == [[0, 3], [0, 2, 3]]
    assert [part.own.tolist() for part in nodes] == [[False], [True, False]]
    boxes = [(part.support.tolist(), part.lower.tolist(), part.upper.tolist()) for part in claims if not len(part.candidates)]
    assert boxes == [
        ([[]], [[-1.0]], [[1.0]]),
        ([[0], [0]], [[-1.0, -1.0], [-1.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]]),
        ([[2, 0]], [[-1.0, -1.0, -1.0]], [[1.0, 1.0, 1.0]]),
    ]
