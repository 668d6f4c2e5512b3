"""Reads the walk of a :class:`~surefoot.problems.score_proof.ScoreProof`: does it cover every card, and what does it claim.

Coverage is a matter of the walk alone. A part that is missing, too much, or out of place is found here without any
arithmetic on the rows; whether each claim is true is the business of ``score_bounds``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surefoot.problems.arrays import FloatArray
from surefoot.problems.card_rules import GroupRule, ImplicationRule, PointSetRule
from surefoot.problems.risk_score import RiskScoreProblem
from surefoot.problems.score_proof import ScoreProof

# No point of a proof is anywhere near this; sums over the rows stay finite below it.
ABSURD = 1e100


class RefusedProofError(ValueError):
    """The proof does not prove anything about this problem; the message says why."""


@dataclass(frozen=True)
class NodeClaim:
    """At ``point``, candidates that are not kept, and kept columns that are no children, are ruled out."""

    prefix: tuple[int, ...]
    candidates: tuple[int, ...]
    kept: tuple[int, ...]
    children: tuple[int, ...]
    point: FloatArray


@dataclass(frozen=True)
class BoxClaim:
    """All cards of a support with coordinates in a box are ruled out at ``point``; without one, the box is a single card."""

    support: tuple[int, ...]
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    point: FloatArray | None


Claim = NodeClaim | BoxClaim


def used_limits(problem: RiskScoreProblem) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest points of every column once it has any; +inf and -inf for a column that cannot have points."""
    lower, upper = np.full(problem.n_columns, np.inf), np.full(problem.n_columns, -np.inf)
    for column in range(problem.n_columns):
        values = set(range(int(problem.lower[column]), int(problem.upper[column]) + 1)) - {0}
        for rule in problem.rules:
            if isinstance(rule, PointSetRule) and rule.column == column:
                values &= set(rule.values)
        if values:
            lower[column], upper[column] = min(values), max(values)
    return lower, upper


def read_walk(problem: RiskScoreProblem, proof: ScoreProof) -> list[Claim]:
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
        self.lower, self.upper = used_limits(problem)
        self.steps: list[int] = np.asarray(proof.steps).tolist()
        self.points = np.asarray(proof.points, dtype=np.float64)
        self.columns: tuple[int, ...] = tuple(np.asarray(proof.columns).tolist())
        self.at = 0
        self.point_at = 0
        self.claims: list[Claim] = []

    def read(self) -> list[Claim]:
        wanted = set(np.flatnonzero(np.isfinite(self.lower)).tolist())
        if len(set(self.columns)) != len(self.columns) or set(self.columns) != wanted:
            raise RefusedProofError("its list of columns is not that of the columns that may have points")
        if not np.all(np.abs(self.points) < ABSURD):
            raise RefusedProofError("one of its points is not a finite number of any use")
        self.read_cards(())
        if self.columns and self.problem.max_features > 0:
            self.read_node((), self.columns)
        if self.at != len(self.steps) or self.point_at != self.points.size:
            raise RefusedProofError("numbers are left over after its walk")
        return self.claims

    def step(self) -> int:
        if self.at >= len(self.steps):
            raise RefusedProofError("its walk ends before all supports are covered")
        self.at += 1
        return self.steps[self.at - 1]

    def take_point(self, size: int) -> FloatArray:
        point = self.points[self.point_at : self.point_at + size]
        if point.size != size:
            raise RefusedProofError("its points end before all supports are covered")
        self.point_at += size
        return point

    def part_of(self, name: str, whole: Sequence[int]) -> tuple[int, ...]:
        """A list of columns out of another, in the same order."""
        count = self.step()
        if not 0 <= count <= len(whole):
            raise RefusedProofError(f"a list of {name} columns has {count} entries where at most {len(whole)} can be")
        chosen = tuple(self.step() for _ in range(count))
        rest = iter(whole)
        if not all(column in rest for column in chosen):
            raise RefusedProofError(f"{name} columns {chosen} are not a part of those at hand, in their order")
        return chosen

    def read_node(self, prefix: tuple[int, ...], candidates: tuple[int, ...]) -> None:
        kept = self.part_of("kept", candidates)
        children = self.part_of("child", kept)
        self.claims.append(NodeClaim(prefix, candidates, kept, children, self.take_point(len(prefix) + 1)))
        room = min(self.problem.max_features, self.problem.n_columns) - len(prefix)
        for child in children:
            support = (*prefix, child)
            self.read_cards(support)
            later = kept[kept.index(child) + 1 :]
            if room > 1 and later:
                self.read_node(support, later)

    def read_cards(self, support: tuple[int, ...]) -> None:
        chosen = list(support)
        boxes = [
            (
                (self.problem.intercept_lower, *map(int, self.lower[chosen])),
                (self.problem.intercept_upper, *map(int, self.upper[chosen])),
            )
        ]
        while boxes:
            lower, upper = boxes.pop()
            code = self.step()
            if code == 1:
                at, cut = self.step(), self.step()
                if not 0 <= at <= len(support):
                    raise RefusedProofError(f"the box of support {support} is cut at coordinate {at}, which it does not have")
                # The part up to the cut comes first.
                boxes.append(((*lower[:at], max(lower[at], cut + 1), *lower[at + 1 :]), upper))
                boxes.append((lower, (*upper[:at], min(upper[at], cut), *upper[at + 1 :])))
                continue
            point = self.take_point(len(support) + 1) if code == 0 else None
            if code == 4 and not self.admitted(support):
                continue
            if _is_void(lower, upper):
                continue
            if code not in (0, 2) or (code == 2 and lower != upper):
                raise RefusedProofError(f"cards of support {support} are left out")
            self.claims.append(BoxClaim(support, lower, upper, point))

    def admitted(self, support: tuple[int, ...]) -> bool:
        """Whether rules that ask for columns alone allow exactly these."""
        marks = np.zeros(self.problem.n_columns, dtype=np.int32)
        marks[list(support)] = 1
        for rule in self.problem.rules:
            if isinstance(rule, GroupRule | ImplicationRule) and not rule.allows(marks):
                return False
            if isinstance(rule, PointSetRule) and 0 not in rule.values and not marks[rule.column]:
                return False
        return True


def _is_void(lower: tuple[int, ...], upper: tuple[int, ...]) -> bool:
    """Whether a box holds no card: it is empty, or a column of the support could only have 0 points."""
    return any(low > high for low, high in zip(lower, upper, strict=True)) or any(
        low == high == 0 for low, high in zip(lower[1:], upper[1:], strict=True)
    )
