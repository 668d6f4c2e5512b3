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
rules). Either way a claim bounds its objective (``claim_bounds``).

Intercepts. By convexity the mean loss of a class is at least the loss at its mean score. With W the weight of the negatives,
m_j their mean of column j, t = 1 / multiplier, and q_j = t points_j, a card with an objective up to v has

    W log(1 + exp(t intercept + sum_j q_j m_j)) <= v,

so t intercept <= log(exp(v / W) - 1) + (the most that the largest -q_j m_j of max_features columns can add up to), and likewise
for the positives. A shift of the rows only raises the loss.

Twins. If columns a and b are equal, or a + b is the same whole number in every row, moving the points of b to a, or their
negatives with the rest going into the intercept, leaves every score as it is. That needs the same limits, an intercept that
stays within its own, equal prices of shifts, and no rules. Of all cards better than the threshold take one whose columns come
first in the order of the proof: no claim about a missing twin can hide it, since its twin, as good, would come earlier.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.enclosure import enclose, join
from surefoot.riskscore.certificate.card_table import CardTable, Integers

if TYPE_CHECKING:
    from surefoot.riskscore.problem.score_proof import ScoreProof

# Marks of candidates and codes of boxes, as in ``riskscore/problem/score_proof.py``.
EXCLUDED, NOT_FIRST, CHILD, TWIN = range(4)
BOUNDED, BRANCHED, SINGLE_CARD, EMPTY, NOT_ADMITTED = range(5)
# Format limit: larger entries of a point are refused. Sums over the rows stay finite below it.
LARGEST_POINT = 1e100


class RefusedProofError(ValueError):
    """The proof does not prove anything about this problem; the message says why."""


@dataclass(frozen=True, eq=False)
class NodeClaims:
    """Nodes whose prefixes have the same size; the candidates of node k are those from starts[k] to starts[k + 1]."""

    support: Integers
    starts: Integers
    candidates: Integers
    marks: Integers
    points: FloatArray

    def __len__(self) -> int:
        return len(self.support)

    def take(self, at: Integers) -> NodeClaims:
        counts = np.diff(self.starts)[at]
        starts = np.concatenate([[0], np.cumsum(counts)])
        flat = np.repeat(self.starts[:-1][at] - starts[:-1], counts) + np.arange(starts[-1])
        return NodeClaims(self.support[at], starts, self.candidates[flat], self.marks[flat], self.points[at])


@dataclass(frozen=True, eq=False)
class BoxClaims:
    """Boxes of supports of the same size; single cards have no points."""

    support: Integers
    lower: FloatArray
    upper: FloatArray
    points: FloatArray | None

    def __len__(self) -> int:
        return len(self.support)

    def take(self, at: Integers) -> BoxClaims:
        return BoxClaims(self.support[at], self.lower[at], self.upper[at], None if self.points is None else self.points[at])


class ProofReader:
    """Reads one proof; ``claims`` may be asked for once."""

    def __init__(self, table: CardTable, proof: ScoreProof) -> None:
        self.table = table
        self.steps, self.points = np.asarray(proof.steps), np.asarray(proof.points, dtype=np.float64)
        self.columns, self.twins = (np.asarray(part, dtype=np.int64) for part in (proof.columns, proof.twins))
        self.intercepts = (int(proof.intercepts[0]), int(proof.intercepts[1]))
        if self.steps.dtype.kind not in "iu" or not np.all(np.abs(self.points) < LARGEST_POINT):
            raise RefusedProofError("one of its numbers is not of any use")
        _check_columns(table, self.columns, self.twins, self.intercepts, float(proof.threshold))
        self.extra = 2 if table.radius > 0 else 0
        self.at = self.point_at = 0

    def claims(self) -> Iterator[NodeClaims | BoxClaims]:
        """Every claim, in the order of the proof."""
        n, size = self.columns.size, self.table.size
        prefix: Integers = np.zeros((1, 0), dtype=np.int64)  # of the nodes of a level, by position
        starts, candidates = np.array([0, n]), np.arange(n)
        yield from self._cards(prefix)
        for depth in range(size if n else 0):
            marks = self._take(candidates.size)
            points = self._take_points(len(prefix), depth + 1 + self.extra)
            self._check_marks(marks, prefix, starts, candidates, last=depth + 1 == size)
            yield NodeClaims(self.columns[prefix], starts, self.columns[candidates], marks, points)
            children = np.flatnonzero(marks == CHILD)
            parents = _nodes_of(children, starts)
            support = np.column_stack([prefix[parents], candidates[children]])
            yield from self._cards(support)
            if depth + 1 == size:
                break
            # The remaining candidates after each child, up to the end of its parent's list.
            remains = marks != EXCLUDED
            order = np.concatenate([[0], np.cumsum(remains)])
            firsts, remaining = order[children + 1], candidates[remains]
            counts = order[starts[1:]][parents] - firsts
            branches = counts > 0
            prefix, counts, firsts = support[branches], counts[branches], firsts[branches]
            starts = np.concatenate([[0], np.cumsum(counts)])
            candidates = remaining[np.repeat(firsts - starts[:-1], counts) + np.arange(starts[-1])]
        if self.at != self.steps.size or self.point_at != self.points.size:
            raise RefusedProofError("numbers are left over after its last claim")

    def _take(self, count: int) -> Integers:
        self.at += count
        if self.at > self.steps.size:
            raise RefusedProofError("its steps end before all supports are covered")
        return self.steps[self.at - count : self.at]

    def _take_points(self, count: int, width: int) -> FloatArray:
        self.point_at += count * width
        if self.point_at > self.points.size:
            raise RefusedProofError("its points end before all supports are covered")
        return self.points[self.point_at - count * width : self.point_at].reshape(count, width)

    def _check_marks(self, marks: Integers, prefix: Integers, starts: Integers, candidates: Integers, *, last: bool) -> None:
        # Children of the largest size have no candidates, so there is no list to stay in.
        if np.any((marks < EXCLUDED) | (marks > TWIN)) or (last and np.any(marks == NOT_FIRST)):
            raise RefusedProofError("a column of a node has a mark that means nothing")
        hidden = np.flatnonzero(marks == TWIN)
        twins = self.twins[candidates[hidden]]
        if np.any(twins < 0) or np.any(prefix[_nodes_of(hidden, starts)] == twins[:, None]):
            raise RefusedProofError("a column is left to a twin that it does not have, or that is there already")

    def _cards(self, support: Integers) -> Iterator[BoxClaims]:
        chosen, table = self.columns[support], self.table
        ends = [np.full((len(chosen), 1), float(end)) for end in self.intercepts]
        lower, upper = np.column_stack([ends[0], table.lower[chosen]]), np.column_stack([ends[1], table.upper[chosen]])
        while len(chosen):
            codes = self._take(len(chosen))
            branched = np.flatnonzero(codes == BRANCHED)
            at, value = self._take(2 * branched.size).reshape(-1, 2).T
            if np.any((at < 0) | (at >= lower.shape[1])):
                raise RefusedProofError(
                    f"a box is branched at a coordinate that supports of {lower.shape[1] - 1} columns do not have"
                )
            bounded, single = np.flatnonzero(codes == BOUNDED), np.flatnonzero(codes == SINGLE_CARD)
            points = self._take_points(bounded.size, lower.shape[1] + self.extra)
            self._check_covered(codes, chosen, lower, upper)
            yield BoxClaims(chosen[bounded], lower[bounded], upper[bounded], points)
            # Without points a column is not in the support: a card with 0 there is none of its cards.
            single = single[np.all(lower[single, 1:] != 0, axis=1)]
            yield BoxClaims(chosen[single], lower[single], upper[single], None)
            # The part up to the value comes first.
            chosen, lower, upper = (np.repeat(part[branched], 2, axis=0) for part in (chosen, lower, upper))
            first = 2 * np.arange(branched.size)
            upper[first, at] = np.minimum(upper[first, at], value)
            lower[first + 1, at] = np.maximum(lower[first + 1, at], value + 1)

    def _check_covered(self, codes: Integers, chosen: Integers, lower: FloatArray, upper: FloatArray) -> None:
        """Boxes that are neither bounded, nor branched, nor a single card must hold no card."""
        empty = np.any(lower > upper, axis=1) | np.any((lower == 0)[:, 1:] & (upper == 0)[:, 1:], axis=1)
        covered = (codes == BOUNDED) | (codes == BRANCHED) | empty
        covered |= (codes == SINGLE_CARD) & np.all(lower == upper, axis=1)
        ruled = np.flatnonzero(codes == NOT_ADMITTED)
        covered[ruled] |= ~self.table.admits_supports(chosen[ruled])
        if not np.all(covered):
            raise RefusedProofError(f"cards of support {tuple(chosen[np.argmin(covered)].tolist())} are left out")


def _nodes_of(places: Integers, starts: Integers) -> Integers:
    """The nodes whose candidates stand at these places."""
    return np.searchsorted(starts, places, side="right") - 1


def intercept_range(table: CardTable, threshold: float) -> tuple[int, int]:
    """No card with an objective up to the threshold has an intercept outside of this."""
    low, high = table.intercepts
    small, large = table.scales
    for label in (-1.0, 1.0):
        weights = enclose(np.where(table.labels == label, table.weights, 0.0))
        weight = weights.sum()
        if not (weight.low > 0 and threshold > 0):
            continue
        means = (-label * (table.columns.T[table.usable] @ weights)) / weight
        ends = [means * (t * end[table.usable]) for t in (small, large) for end in (table.lower, table.upper)]
        # -q_j m_j is largest at an end; columns that would only lower it are left out.
        moves = np.sort(
            join([-end[:, None] for end in ends] + [np.zeros((int(table.usable.sum()), 1))], axis=1).max(axis=1).high
        )
        # log(exp(x) - 1) = x + log(1 - exp(-x)).
        class_loss = enclose(threshold) / weight
        most = float((class_loss + (1.0 - (-class_loss).exp()).log() + enclose(moves[::-1][: table.size]).sum()).high)
        end = float(np.floor((enclose(most) / (small if most > 0 else large)).high))
        if label < 0:
            high = int(min(high, end))
        else:
            low = int(max(low, -end))
    return low, high


def _check_columns(table: CardTable, columns: Integers, twins: Integers, intercepts: tuple[int, int], threshold: float) -> None:
    """Raise if the columns are not those that may have points, or twins are claimed or intercepts left out without reason."""
    may = set(np.flatnonzero(table.usable).tolist())
    must = may if table.rules else may & set(np.flatnonzero(table.columns.any(axis=0)).tolist())
    listed = set(columns.tolist())
    if len(listed) != columns.size or not must <= listed <= may:
        raise RefusedProofError("its list of columns is not that of the columns that may have points")
    low, high = intercept_range(table, threshold)
    if not (intercepts[0] <= low and high <= intercepts[1]):
        raise RefusedProofError(f"it leaves out intercepts between {low} and {high}")
    if twins.shape != columns.shape:
        raise RefusedProofError("its list of twins does not match its columns")
    for at in np.flatnonzero(twins != -1).tolist():
        first = int(twins[at])
        if not (0 <= first < at and _are_twins(table, int(columns[first]), int(columns[at]), low, high)):
            raise RefusedProofError(f"column {columns[at]} has not the twin that it claims")


def _are_twins(table: CardTable, first: int, second: int, low: int, high: int) -> bool:
    if table.rules or table.prices[first] != table.prices[second] or table.flips[first] != table.flips[second]:
        return False
    (a, b), lower, upper = table.columns[:, [first, second]].T, table.lower, table.upper
    if np.array_equal(a, b):
        return bool(lower[first] == lower[second] and upper[first] == upper[second])
    total = a + b
    part = total - a
    exact = not np.any((a - (total - part)) + (b - part))
    if not exact or np.any(total != total[0]) or total[0] != np.round(total[0]):
        return False
    moved = abs(float(total[0])) * max(abs(lower[second]), abs(upper[second]))
    stays = low - moved >= table.intercepts[0] and high + moved <= table.intercepts[1]
    return bool(stays and lower[first] == -upper[second] and upper[first] == -lower[second])
