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
is in a box that is BOUNDED or LEVELLED, or is a SINGLE_CARD of its own, or is no card (EMPTY, or NOT_ADMITTED, which is checked
against the rules), or all cards of the support are left to the plane of its node (BY_NODE, only if it has one). Either way a
claim bounds its objective (``claim_bounds``).

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

import itertools
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.core.arrays import AnyArray, BoolArray, FloatArray
from surefoot.core.enclosure import enclose
from surefoot.riskscore.certificate.card_table import CardTable, Integers

if TYPE_CHECKING:
    from surefoot.riskscore.problem.score_proof import ScoreProof

# Marks of candidates and codes of boxes, as in ``riskscore/problem/score_proof.py``.
EXCLUDED, NOT_FIRST, CHILD, TWIN = range(4)
BOUNDED, BRANCHED, SINGLE_CARD, EMPTY, NOT_ADMITTED, BY_NODE, LEVELLED = range(7)
# Points of every box of a kind that has a claim, in the order of the proof; those of a single card are the card.
N_POINTS = {BOUNDED: 1, SINGLE_CARD: 0, LEVELLED: 4}
# Candidates, or boxes, that are looked at together: long proofs are read in pieces.
PIECE = 100_000
# Format limit: larger entries of a point are refused. Sums over the rows stay finite below it.
LARGEST_POINT = 1e100


class RefusedProofError(ValueError):
    """The proof does not prove anything about this problem; the message says why."""


@dataclass(frozen=True, eq=False)
class Claims:
    """Boxes of cards on supports of the same size, each with the point at which its plane touches the loss.

    The plane of a node also bounds supports with more columns: ``candidates`` of claim k, and what the proof says of them, are
    those from starts[k] to starts[k + 1]. ``own`` are the claims that are about the cards of the box themselves; boxes without
    candidates all are.
    """

    support: Integers
    lower: FloatArray
    upper: FloatArray
    points: FloatArray
    own: BoolArray
    starts: Integers
    candidates: Integers
    marks: Integers

    def __len__(self) -> int:
        return len(self.support)

    def take(self, at: Integers) -> Claims:
        counts = np.diff(self.starts)[at]
        starts = np.concatenate([[0], np.cumsum(counts)])
        flat = np.repeat(self.starts[:-1][at] - starts[:-1], counts) + np.arange(starts[-1])
        boxes = self.support[at], self.lower[at], self.upper[at], self.points[at], self.own[at]
        return Claims(*boxes, starts, self.candidates[flat], self.marks[flat])


def boxes_of(support: Integers, lower: FloatArray, upper: FloatArray, points: FloatArray) -> Claims:
    """Claims on the cards of boxes alone."""
    touched, none = points if points.shape[1] else lower, np.zeros(0, dtype=np.int64)
    return Claims(support, lower, upper, touched, np.full(len(support), True), np.zeros(len(support) + 1, np.int64), none, none)


class ProofReader:
    """Reads one proof; ``claims`` may be asked for once."""

    def __init__(self, table: CardTable, proof: ScoreProof) -> None:
        self.table = table
        self.steps, self.points = np.asarray(proof.steps), np.asarray(proof.points, dtype=np.float64)
        self.columns, self.twins = (np.asarray(part, dtype=np.int64) for part in (proof.columns, proof.twins))
        # No card has others, and scores of whole columns are exact with these.
        (low, high), (least, most) = proof.intercepts, table.intercepts
        self.intercepts = max(int(low), least), min(int(high), most)
        if self.steps.dtype.kind not in "iu" or not np.all(np.abs(self.points) < LARGEST_POINT):
            raise RefusedProofError("one of its numbers is not of any use")
        _check_columns(table, self.columns, self.twins, self.intercepts, float(proof.threshold))
        self.extra = 2 if table.radius > 0 else 0
        self.at = self.point_at = 0

    def claims(self) -> Iterator[Claims]:
        """Every claim, in the order of the proof."""
        n, size = self.columns.size, self.table.size
        # The nodes of a level, by position: prefixes, and the candidates of each, so many of a list from a first one on.
        prefix: Integers = np.zeros((1, 0), dtype=np.int64)
        firsts, counts, listed = np.zeros(1, dtype=np.int64), np.array([n]), np.arange(n)
        own = yield from self._cards(prefix, np.array([n > 0 and size > 0]))
        for depth in range(size if n else 0):
            starts = np.concatenate([[0], np.cumsum(counts)])
            marks, points = self._take(starts[-1]), self._take_points(len(prefix), depth + 1 + self.extra)
            found, n_listed = [], 0
            for at in _pieces(starts):
                begins = starts[at.start : at.stop + 1] - starts[at.start]
                candidates = listed[np.repeat(firsts[at] - begins[:-1], counts[at]) + np.arange(begins[-1])]
                marked = marks[starts[at.start] : starts[at.stop]]
                self._check_marks(marked, prefix[at], begins, candidates, last=depth + 1 == size)
                names = self.columns[prefix[at]]
                yield Claims(names, *self._limits(names), points[at], own[at], begins, self.columns[candidates], marked)
                children, remains = np.flatnonzero(marked == CHILD), marked != EXCLUDED
                parents = _nodes_of(children, begins)
                # The remaining candidates after each child, up to the end of its parent's list.
                order = np.concatenate([[0], np.cumsum(remains)])
                after = order[begins[1:]][parents] - order[children + 1]
                support = np.column_stack([prefix[at][parents], candidates[children]])
                found.append((support, n_listed + order[children + 1], after, candidates[remains]))
                n_listed += int(order[-1])
            support, firsts, counts, listed = (np.concatenate(parts) for parts in zip(*found, strict=True))
            branches = (counts > 0) & (depth + 1 < size)
            own = yield from self._cards(support, branches)
            prefix, firsts, counts, own = support[branches], firsts[branches], counts[branches], own[branches]
            if not len(prefix):
                break
        if self.at != self.steps.size or self.point_at != self.points.size:
            raise RefusedProofError("numbers are left over after its last claim")

    def _take(self, count: Any) -> AnyArray:
        self.at += int(count)
        if self.at > self.steps.size:
            raise RefusedProofError("its steps end before all supports are covered")
        found: AnyArray = self.steps[self.at - count : self.at]
        return found

    def _take_points(self, count: Any, width: int) -> FloatArray:
        self.point_at += int(count) * width
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

    def _cards(self, support: Integers, branches: BoolArray) -> Generator[Claims, None, BoolArray]:
        """The claims on cards of supports; returns which of them are left to the node of the support, where it has one."""
        chosen, width = self.columns[support], support.shape[1] + 1
        narrowed: tuple[FloatArray, FloatArray] | None = None
        own: BoolArray = np.zeros(len(chosen), dtype=bool)
        while len(chosen):
            codes = self._take(len(chosen))
            cuts = self._take(2 * np.count_nonzero(codes == BRANCHED)).astype(np.int64).reshape(-1, 2)
            if np.any((cuts[:, 0] < 0) | (cuts[:, 0] >= width)):
                raise RefusedProofError(f"a box is branched at a coordinate that supports of {width - 1} columns do not have")
            n_coordinates = width + self.extra
            points = [self._take_points(np.count_nonzero(codes == code), n * n_coordinates) for code, n in N_POINTS.items()]
            by_node = (codes == BY_NODE) & branches if narrowed is None else np.zeros(len(chosen), dtype=bool)
            own, parts = by_node if narrowed is None else own, []
            for at in (slice(begin, begin + PIECE) for begin in range(0, len(chosen), PIECE)):
                lower, upper = self._limits(chosen[at]) if narrowed is None else (narrowed[0][at], narrowed[1][at])
                self._check_covered(codes[at], by_node[at], chosen[at], lower, upper)
                for code, touched in zip(N_POINTS, points, strict=True):
                    held, first = np.flatnonzero(codes[at] == code), np.count_nonzero(codes[: at.start] == code)
                    yield boxes_of(chosen[at][held], lower[held], upper[held], touched[first : first + held.size])
                branched = codes[at] == BRANCHED
                parts.append((chosen[at][branched], lower[branched], upper[branched]))
            chosen, lower, upper = (np.repeat(np.concatenate(part), 2, axis=0) for part in zip(*parts, strict=True))
            # The part up to the value comes first.
            first_half, (at_coordinate, value) = 2 * np.arange(len(cuts)), cuts.T
            upper[first_half, at_coordinate] = np.minimum(upper[first_half, at_coordinate], value)
            lower[first_half + 1, at_coordinate] = np.maximum(lower[first_half + 1, at_coordinate], value + 1)
            narrowed = lower, upper
        return own

    def _limits(self, chosen: Integers) -> tuple[FloatArray, FloatArray]:
        """The smallest and the largest intercept and points on supports."""
        low, high = self.intercepts
        return np.insert(self.table.lower[chosen], 0, low, axis=1), np.insert(self.table.upper[chosen], 0, high, axis=1)

    def _check_covered(
        self, codes: Integers, by_node: BoolArray, chosen: Integers, lower: FloatArray, upper: FloatArray
    ) -> None:
        """Boxes that are neither bounded, nor branched, nor a single card must hold no card."""
        if np.any(codes == SINGLE_CARD) and (self.table.free or self.extra):
            raise RefusedProofError("an earlier version wrote it, without the scales and prices of single cards; fit again")
        covered = (codes == BOUNDED) | (codes == BRANCHED) | ((codes == LEVELLED) & (self.extra > 0)) | by_node
        rest = np.flatnonzero(~covered)
        lower, upper, codes = lower[rest], upper[rest], codes[rest]
        covered[rest] = np.any(lower > upper, axis=1) | np.any((lower == 0)[:, 1:] & (upper == 0)[:, 1:], axis=1)
        covered[rest] |= (codes == SINGLE_CARD) & np.all(lower == upper, axis=1)
        covered[rest] |= (codes == NOT_ADMITTED) & ~self.table.admits_supports(chosen[rest])
        if not np.all(covered):
            raise RefusedProofError(f"cards of support {tuple(chosen[np.argmin(covered)].tolist())} are left out")


def _pieces(starts: Integers) -> Iterator[slice]:
    """Nodes that are looked at together."""
    edges = np.unique(np.append(np.searchsorted(starts, np.arange(0, starts[-1], PIECE)), len(starts) - 1))
    for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        yield slice(begin, end)


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
        # -q_j m_j is largest at an end; columns that would only lower it are left out.
        moves = enclose(np.zeros(np.count_nonzero(table.usable)))
        for t, limit in itertools.product(table.scales, (table.lower, table.upper)):
            moves = moves.maximum(-(means * t * limit[table.usable]))
        moved = enclose(np.sort(moves.high)[::-1][: table.size]).sum()
        # log(exp(x) - 1) = x + log(1 - exp(-x)).
        class_loss = enclose(threshold) / weight
        most = float((class_loss + (1.0 - (-class_loss).exp()).log() + moved).high)
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
