"""Reads a :class:`~surefoot.riskscore.problem.score_proof.ScoreProof`: does it cover every card, and what does it claim.

What is checked. The tree is rebuilt level by level from the marks and codes alone: the candidates of a child are those of its
parent that come after it and are not excluded, the boxes of a support begin with all of its points, and a branching makes two
boxes that together are the one before. So every number has one place, and one that is missing, left over or out of place is
found here without any arithmetic on the rows. A mark that means nothing is refused, and so is a box with cards and no valid
code.

Why that covers every card. Take a card with support S, an intercept in the proof's range and no earlier twin. At the root all
columns of S are candidates. At a node whose prefix are the first columns of S let e be the next one. If a column of S is marked
EXCLUDED, or e NOT_FIRST, the claim of the node is about S. Otherwise e is a CHILD (TWIN would give S an earlier twin), and S is
the child's own support or one of its node. At the support itself the boxes without BRANCHED partition all points, so the card
is in a box that is BOUNDED, or is a SINGLE_CARD of its own, or is no card (EMPTY, or NOT_ADMITTED, which is checked against the
rules). Either way a claim bounds its objective; whether each claim is true is computed in ``score_bounds``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from surefoot.core.arrays import FloatArray
from surefoot.riskscore.certificate.score_claims import BoxClaims, Integers, NodeClaims, RefusedProofError, ScoreClaims
from surefoot.riskscore.certificate.score_premises import checked_columns, used_limits
from surefoot.riskscore.problem.card_rules import GroupRule, ImplicationRule, PointSetRule
from surefoot.riskscore.problem.problem import RiskScoreProblem
from surefoot.riskscore.problem.score_proof import BoxCode, CandidateMark, ScoreProof

# Format limit: larger entries of a point are refused. Sums over the rows stay finite below it.
LARGEST_POINT = 1e100
_MARKS = tuple(int(mark) for mark in CandidateMark)


def read_proof(problem: RiskScoreProblem, proof: ScoreProof) -> ScoreClaims:
    """Every claim of the proof, in its own order.

    Raises
    ------
    RefusedProofError
        If the claims together would not cover all cards.
    """
    return _ProofReader(problem, proof).read()


class _ProofReader:
    def __init__(self, problem: RiskScoreProblem, proof: ScoreProof) -> None:
        self.problem = problem
        self.proof = proof
        self.columns = checked_columns(problem, proof)
        self.twins: Integers = np.asarray(proof.twins, dtype=np.int64)
        self.steps: Integers = np.asarray(proof.steps, dtype=np.int64)
        self.points = np.asarray(proof.points, dtype=np.float64)
        self.extra = 2 if problem.shift is not None and problem.shift.radius > 0 else 0
        self.at = 0
        self.point_at = 0
        self.claims: list[NodeClaims | BoxClaims] = []

    def read(self) -> ScoreClaims:
        if not np.all(np.abs(self.points) < LARGEST_POINT):
            raise RefusedProofError("one of its points is not a finite number of any use")
        n = self.columns.size
        size = min(self.problem.max_features, self.problem.n_columns)
        # Prefixes of the nodes of a level, by position, and what each may add.
        prefix: Integers = np.zeros((1, 0), dtype=np.int64)
        starts, candidates = np.array([0, n], dtype=np.int64), np.arange(n, dtype=np.int64)
        self.read_cards(prefix)
        for depth in range(size if n else 0):
            support, counts, firsts, remaining = self.read_nodes(prefix, starts, candidates)
            self.read_cards(support)
            if depth + 1 == size:
                break
            branches = counts > 0
            prefix, counts, firsts = support[branches], counts[branches], firsts[branches]
            starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
            candidates = remaining[np.repeat(firsts - starts[:-1], counts) + np.arange(starts[-1])]
        if self.at != self.steps.size or self.point_at != self.points.size:
            raise RefusedProofError("numbers are left over after its last claim")
        return ScoreClaims(self.claims)

    def take(self, count: int) -> Integers:
        self.at += count
        if self.at > self.steps.size:
            raise RefusedProofError("its steps end before all supports are covered")
        return self.steps[self.at - count : self.at]

    def take_points(self, count: int, width: int) -> FloatArray:
        self.point_at += count * width
        if self.point_at > self.points.size:
            raise RefusedProofError("its points end before all supports are covered")
        return self.points[self.point_at - count * width : self.point_at].reshape(count, width)

    def read_nodes(
        self, prefix: Integers, starts: Integers, candidates: Integers
    ) -> tuple[Integers, Integers, Integers, Integers]:
        """Supports of the children; how many remaining candidates come after each, where they begin, and all remaining ones."""
        marks = self.take(candidates.size)
        # Children of the largest size have no candidates, so there is no list to stay in.
        last = prefix.shape[1] + 1 == min(self.problem.max_features, self.problem.n_columns)
        if not np.isin(marks, _MARKS).all() or (last and np.any(marks == CandidateMark.NOT_FIRST)):
            raise RefusedProofError("a column of a node has a mark that means nothing")
        points = self.take_points(len(prefix), prefix.shape[1] + 1 + self.extra)
        node = np.repeat(np.arange(len(prefix)), np.diff(starts))
        hidden = np.flatnonzero(marks == CandidateMark.TWIN)
        twins = self.twins[candidates[hidden]]
        if np.any(twins < 0) or np.any(prefix[node[hidden]] == twins[:, None]):
            raise RefusedProofError("a column is left to a twin that it does not have, or that is there already")
        self.claims.append(NodeClaims(self.columns[prefix], starts, self.columns[candidates], marks, points))
        remains = marks != CandidateMark.EXCLUDED
        order: Integers = np.cumsum(remains, dtype=np.int64)  # number of a remaining candidate among them, from 1 on
        ends = np.concatenate([[0], order])[starts[1:]]
        children = np.flatnonzero(marks == CandidateMark.CHILD)
        support = np.column_stack([prefix[node[children]], candidates[children]])
        return support, ends[node[children]] - order[children], order[children], candidates[remains]

    def read_cards(self, support: Integers) -> None:
        chosen = self.columns[support]
        limits = np.nan_to_num(np.stack(used_limits(self.problem)), posinf=0.0, neginf=0.0).astype(np.int64)
        ends = [np.full((len(chosen), 1), end, dtype=np.int64) for end in self.proof.intercepts]
        lower = np.concatenate([ends[0], limits[0][chosen]], axis=1)
        upper = np.concatenate([ends[1], limits[1][chosen]], axis=1)
        while len(chosen):
            codes = self.take(len(chosen))
            branched = np.flatnonzero(codes == BoxCode.BRANCHED)
            at, value = self.take(2 * branched.size).reshape(-1, 2).T
            if np.any((at < 0) | (at >= lower.shape[1])):
                raise RefusedProofError(
                    f"a box is branched at a coordinate that supports of {lower.shape[1] - 1} columns do not have"
                )
            bounded, single = (np.flatnonzero(codes == code) for code in (BoxCode.BOUNDED, BoxCode.SINGLE_CARD))
            points = self.take_points(bounded.size, lower.shape[1] + self.extra)
            self.require_covered(codes, chosen, lower, upper)
            self.claims.append(BoxClaims(chosen[bounded], lower[bounded], upper[bounded], points))
            # Without points a column is not in the support: a card with 0 there is none of its cards.
            single = single[np.all(lower[single, 1:] != 0, axis=1)]
            self.claims.append(BoxClaims(chosen[single], lower[single], upper[single], None))
            # The part up to the value comes first.
            chosen, lower, upper = (np.repeat(part[branched], 2, axis=0) for part in (chosen, lower, upper))
            first = 2 * np.arange(branched.size)
            upper[first, at] = np.minimum(upper[first, at], value)
            lower[first + 1, at] = np.maximum(lower[first + 1, at], value + 1)

    def require_covered(self, codes: Integers, chosen: Integers, lower: Integers, upper: Integers) -> None:
        """Boxes that are neither bounded, nor branched, nor a single card must hold no card."""
        empty = np.any(lower > upper, axis=1) | np.any((lower == 0) & (upper == 0) & (np.arange(lower.shape[1]) > 0), axis=1)
        covered = (codes == BoxCode.BOUNDED) | (codes == BoxCode.BRANCHED) | empty
        covered |= (codes == BoxCode.SINGLE_CARD) & np.all(lower == upper, axis=1)
        ruled = np.flatnonzero(codes == BoxCode.NOT_ADMITTED)
        covered[ruled] |= ~self.admitted(chosen[ruled])
        if not np.all(covered):
            support = tuple(chosen[np.argmin(covered)].tolist())
            raise RefusedProofError(f"cards of support {support} are left out")

    def admitted(self, support: Integers) -> NDArray[np.bool_]:
        """Whether the rules about supports alone admit exactly these."""
        marks = np.zeros((len(support), self.problem.n_columns), dtype=bool)
        np.put_along_axis(marks, support, True, axis=1)
        fine = np.ones(len(support), dtype=bool)
        for rule in self.problem.rules:
            if isinstance(rule, GroupRule):
                count = marks[:, list(rule.columns)].sum(axis=1)
                fine &= (count >= rule.least) & (count <= rule.most)
            elif isinstance(rule, ImplicationRule):
                fine &= ~marks[:, list(rule.cause)].any(axis=1) | marks[:, list(rule.effect)].any(axis=1)
            elif isinstance(rule, PointSetRule) and 0 not in rule.values:
                fine &= marks[:, rule.column]
        return fine
