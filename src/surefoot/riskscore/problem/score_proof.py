"""A proof, as plain numbers, that no score card is better than a stated value.

Premises. ``columns`` lists the columns that may have points, in some order. Without rules those that are 0 in every row may be
missing: their points change nothing. ``intercepts`` are the smallest and largest intercept of cards better than the threshold;
mean scores of the two classes prove that (``riskscore/certificate/score_premises.py``). ``twins`` gives for a position of
``columns`` an earlier one whose column says the same, or -1: equal in every row, or a whole number when added up, so that a
card with the one but without the other has a twin of the same value.

The walk covers all supports, level by level. A *node* is a prefix P of columns and a list C of columns to add, at first none
and all; it covers the supports P + A, A a part of C with 1 to max_features - |P| columns. It holds a point for P. With L the
loss, g its gradient at that point, and [l_j, u_j] the points that column j may have once it is used,

    base = L - sum over the intercept and P of (g_j p_j - min(g_j l_j, g_j u_j)),      gain_j = -min(g_j l_j, g_j u_j),

convexity gives L >= base - (sum of gain_j over A) for every card on P + A. Every column e of C has a mark:

    0  it is in no good support: base - gain_e - (largest other gains) is too high
    1  it stays in the list, but is not the first such column, in the order of C, of any good support (not in nodes whose
       children are the largest supports)
    2  it stays in the list and is a child: there follow the cards of the support P + e and, where there is room and columns of
       the list come after e, the node of P + e with those as its list
    3  it stays in the list, and its twin is not in P: supports with e as their first column are covered by their twins'

The cards of a support are a box of whole points, cut in two at a coordinate, round by round, until every part

    0  has a tangent bound above the threshold at a point          1  is cut: coordinate (0 is the intercept) and value v
    2  is a single card                                            3  holds no card: a column could only have 0 points
    4  is of no interest, as the rules do not admit the support

A cut makes two boxes of the next round, up to v and from v + 1 on. Numbers stand in this order, whole ones in ``steps`` and
real ones in ``points``: the cards of the empty support; the nodes of the empty prefix; the cards of single columns; nodes with
one column in their prefix; and so on. Nodes: all marks; all points. Cards: for every round all codes, then all cuts; points.

At a free scale points are coefficients, p_j / multiplier. Under a shift every point is followed by two numbers, a price lambda
and a smoothing: they say how the rows are shared among their shifts (``riskscore/certificate/score_planes.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from surefoot.core.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class ScoreProof:
    """What a search leaves behind for those who do not trust it.

    Attributes
    ----------
    problem_digest : str
        Fingerprint of the problem it is about.
    threshold : float
        No admissible card has a smaller objective, up to rounding.
    intercepts : tuple of int
        Smallest and largest intercept of the cards that the walk covers; others are worse.
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
