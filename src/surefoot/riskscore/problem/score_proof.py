"""A proof log of the branch and bound over supports: plain numbers that prove that no score card is better than a threshold.

Premises. ``columns`` lists the columns that may have points, in some order. Without rules those that are 0 in every row may be
missing: their points change nothing. ``intercepts`` are the smallest and largest intercept of cards better than the threshold;
mean scores of the two classes prove that (``riskscore/certificate/proof_reader.py``). ``twins`` gives for a position of
``columns`` an earlier one whose column says the same, or -1: equal in every row, or a whole number when added up, so that a
card with the one but without the other has a twin of the same value.

The tree covers all supports, level by level. A *node* is a prefix P of columns and a list C of candidates, at first none and
all; it covers the supports P + A, A a part of C with 1 to max_features - |P| columns. It holds a point for P. With L the loss,
g its gradient at that point, and [l_j, u_j] the points that column j may have once it is used,

    base = L - sum over the intercept and P of (g_j p_j - min(g_j l_j, g_j u_j)),      gain_j = -min(g_j l_j, g_j u_j),

convexity gives L >= base - (sum of gain_j over A) for every card on P + A. Where one or two columns are still to come, the
curvature of L at the point bounds these cards as well, and better (``riskscore/certificate/curvature_bounds.py``): 0/1 columns,
rows of a label that weigh the same, no shift. Every candidate has a :class:`CandidateMark`. After
a CHILD e there follow the cards of the support P + e and, where more columns are allowed and candidates come after e, the node
of P + e with those that are not excluded as its list.

The cards of a support are a box of whole points, branched in two at a coordinate, round by round, until every part has a
:class:`BoxCode` other than BRANCHED. That one is followed by a coordinate (0 is the intercept) and a value v: two boxes of the
next round, up to v and from v + 1 on. Numbers stand in this order, whole ones in ``steps`` and real ones in ``points``: the
cards of the empty support; the nodes of the empty prefix; the cards of single columns; nodes with one column in their prefix;
and so on. Nodes: all marks; all points. Cards: for every round all codes, then all branchings; points of boxes, then those of
single cards.

At a free scale points are coefficients, p_j / multiplier. Under a shift every point is followed by two numbers, a price lambda
and a smoothing: they fix the mixture of every row's shifts (``riskscore/certificate/loss_planes.py``). A single card has four
such points, two at each of two scales. Their planes are mixed two and two so that they are level along lambda, and both results
so that they are level along the scale: where shifts of a row are tied at the best price no single choice of them is.

The native search writes the same codes (cpp/include/surefoot/riskscore/problem/score_proof.hpp); a test compares them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from surefoot.core.arrays import FloatArray, IntArray


class CandidateMark(IntEnum):
    """What a proof says of a candidate column e of a node."""

    EXCLUDED = 0
    """In no improving support of the subtree: base - gain_e - (largest other gains) is too high, or curvature says so."""
    NOT_FIRST = 1
    """Stays a candidate, but is not the first such column, in the order of C, of any improving support. Not in nodes whose
    children are the largest supports."""
    CHILD = 2
    """Stays a candidate and is branched on."""
    TWIN = 3
    """Stays a candidate, and its twin is not in P: supports with e as their first column are covered by their twins."""


class BoxCode(IntEnum):
    """What a proof says of a box of whole points on one support."""

    BOUNDED = 0
    """Has a tangent bound above the threshold, at a point."""
    BRANCHED = 1
    """Is split in two at a coordinate and a value."""
    SINGLE_CARD = 2
    """Is a single card at unit scale, where rows stay as they are: its plane touches at the card."""
    EMPTY = 3
    """Holds no card: a column could only have 0 points."""
    NOT_ADMITTED = 4
    """Needs no bound, as the rules do not admit the support."""
    BY_NODE = 5
    """All cards of a support that has a node: the tangent plane of that node is above the threshold here too."""
    LEVELLED = 6
    """Is a single card under a shift, with four points: their tangent planes, mixed to be level, are above the threshold."""


@dataclass(frozen=True, eq=False)
class ScoreProof:
    """The proof log of a search.

    Attributes
    ----------
    problem_digest : str
        Fingerprint of the problem it is about.
    threshold : float
        No admissible card has a smaller objective, up to rounding.
    intercepts : tuple of int
        Smallest and largest intercept of the cards that the tree covers; others are worse.
    columns, twins, steps : ndarray of int
    points : ndarray of float
    """

    problem_digest: str
    threshold: float
    intercepts: tuple[int, int]
    columns: IntArray = field(repr=False)
    twins: IntArray = field(repr=False)
    steps: IntArray = field(repr=False)
    points: FloatArray = field(repr=False)
