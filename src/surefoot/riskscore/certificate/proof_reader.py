"""Reads a :class:`~surefoot.riskscore.problem.score_proof.ScoreProof`: does it cover every card, and what does it claim.

Coverage is a matter of the walk alone. Its lists follow from each other level by level, so nothing can be left out by silence:
numbers that are missing, too many, or out of place are found here without any arithmetic on the rows; whether each claim is
true is the business of ``score_bounds``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from surefoot.core.arrays import FloatArray
from surefoot.riskscore.certificate.score_claims import BoxClaims, Integers, NodeClaims, RefusedProofError, ScoreClaims
from surefoot.riskscore.certificate.score_premises import checked_columns, used_limits
from surefoot.riskscore.problem.card_rules import GroupRule, ImplicationRule, PointSetRule
from surefoot.riskscore.problem.problem import RiskScoreProblem
from surefoot.riskscore.problem.score_proof import ScoreProof

# No point of a proof is anywhere near this; sums over the rows stay finite below it.
ABSURD = 1e100


def read_walk(problem: RiskScoreProblem, proof: ScoreProof) -> ScoreClaims:
    """Every claim of the proof, in the order of the walk.

    Raises
    ------
    RefusedProofError
        If the claims together would not cover all cards.
    """
    return _Walk(problem, proof).read()


class _Walk:
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
        if not np.all(np.abs(self.points) < ABSURD):
            raise RefusedProofError("one of its points is not a finite number of any use")
        n = self.columns.size
        size = min(self.problem.max_features, self.problem.n_columns)
        # Prefixes of the nodes of a level, by position, and what each may add.
        prefix: Integers = np.zeros((1, 0), dtype=np.int64)
        starts, candidates = np.array([0, n], dtype=np.int64), np.arange(n, dtype=np.int64)
        self.read_cards(prefix)
        for depth in range(size if n else 0):
            support, counts, firsts, kept = self.read_nodes(prefix, starts, candidates)
            self.read_cards(support)
            if depth + 1 == size:
                break
            going_on = counts > 0
            prefix, counts, firsts = support[going_on], counts[going_on], firsts[going_on]
            starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
            candidates = kept[np.repeat(firsts - starts[:-1], counts) + np.arange(starts[-1])]
        if self.at != self.steps.size or self.point_at != self.points.size:
            raise RefusedProofError("numbers are left over after its walk")
        return ScoreClaims(self.claims)

    def take(self, count: int) -> Integers:
        self.at += count
        if self.at > self.steps.size:
            raise RefusedProofError("its walk ends before all supports are covered")
        return self.steps[self.at - count : self.at]

    def take_points(self, count: int, width: int) -> FloatArray:
        self.point_at += count * width
        if self.point_at > self.points.size:
            raise RefusedProofError("its points end before all supports are covered")
        return self.points[self.point_at - count * width : self.point_at].reshape(count, width)

    def read_nodes(
        self, prefix: Integers, starts: Integers, candidates: Integers
    ) -> tuple[Integers, Integers, Integers, Integers]:
        """Supports of the children; how many kept columns follow each, where they begin, and the kept columns themselves."""
        marks = self.take(candidates.size)
        # Where nothing can follow a column there is no list to stay in.
        last = prefix.shape[1] + 1 == min(self.problem.max_features, self.problem.n_columns)
        if np.any((marks < 0) | (marks > 3) | (last & (marks == 1))):
            raise RefusedProofError("a column of a node has a mark that means nothing")
        points = self.take_points(len(prefix), prefix.shape[1] + 1 + self.extra)
        node = np.repeat(np.arange(len(prefix)), np.diff(starts))
        hidden = np.flatnonzero(marks == 3)
        twins = self.twins[candidates[hidden]]
        if np.any(twins < 0) or np.any(prefix[node[hidden]] == twins[:, None]):
            raise RefusedProofError("a column is left to a twin that it does not have, or that is there already")
        self.claims.append(NodeClaims(self.columns[prefix], starts, self.columns[candidates], marks, points))
        order: Integers = np.cumsum(marks > 0, dtype=np.int64)  # of a kept column, its number among the kept ones, from 1 on
        ends = np.concatenate([[0], order])[starts[1:]]
        children = np.flatnonzero(marks == 2)
        support = np.column_stack([prefix[node[children]], candidates[children]])
        return support, ends[node[children]] - order[children], order[children], candidates[marks > 0]

    def read_cards(self, support: Integers) -> None:
        chosen = self.columns[support]
        limits = np.nan_to_num(np.stack(used_limits(self.problem)), posinf=0.0, neginf=0.0).astype(np.int64)
        ends = [np.full((len(chosen), 1), end, dtype=np.int64) for end in self.proof.intercepts]
        lower = np.concatenate([ends[0], limits[0][chosen]], axis=1)
        upper = np.concatenate([ends[1], limits[1][chosen]], axis=1)
        while len(chosen):
            codes = self.take(len(chosen))
            cut = np.flatnonzero(codes == 1)
            at, value = self.take(2 * cut.size).reshape(-1, 2).T
            if np.any((at < 0) | (at >= lower.shape[1])):
                raise RefusedProofError(
                    f"a box is cut at a coordinate that supports of {lower.shape[1] - 1} columns do not have"
                )
            bounded, single = np.flatnonzero(codes == 0), np.flatnonzero(codes == 2)
            points = self.take_points(bounded.size, lower.shape[1] + self.extra)
            self.require_covered(codes, chosen, lower, upper)
            self.claims.append(BoxClaims(chosen[bounded], lower[bounded], upper[bounded], points))
            # Without points a column is not in the support: a card with 0 there is none of its cards.
            single = single[np.all(lower[single, 1:] != 0, axis=1)]
            self.claims.append(BoxClaims(chosen[single], lower[single], upper[single], None))
            # The part up to the cut comes first.
            chosen, lower, upper = (np.repeat(part[cut], 2, axis=0) for part in (chosen, lower, upper))
            first = 2 * np.arange(cut.size)
            upper[first, at] = np.minimum(upper[first, at], value)
            lower[first + 1, at] = np.maximum(lower[first + 1, at], value + 1)

    def require_covered(self, codes: Integers, chosen: Integers, lower: Integers, upper: Integers) -> None:
        """Cards that are neither bounded nor looked at one by one must not be there."""
        empty = np.any(lower > upper, axis=1) | np.any((lower == 0) & (upper == 0) & (np.arange(lower.shape[1]) > 0), axis=1)
        covered = (codes == 0) | (codes == 1) | empty | ((codes == 2) & np.all(lower == upper, axis=1))
        ruled = np.flatnonzero(codes == 4)
        covered[ruled] |= ~self.admitted(chosen[ruled])
        if not np.all(covered):
            support = tuple(chosen[np.argmin(covered)].tolist())
            raise RefusedProofError(f"cards of support {support} are left out")

    def admitted(self, support: Integers) -> NDArray[np.bool_]:
        """Whether rules that ask for columns alone allow exactly these."""
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
