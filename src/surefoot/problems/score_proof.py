"""A proof, as plain numbers, that no score card is better than a stated value.

The proof is a walk over all supports. ``columns`` lists the columns that may have points, in some order. A *node* is a prefix P
of columns and a list C of columns to add, at first none and all; it covers the supports P + A, A a part of C with 1 to
max_features - |P| columns. It holds a point for P. With L the loss, g its gradient at that point, and [l_j, u_j] the points
that column j may have once it is used,

    base = L - sum over the intercept and P of (g_j p_j - min(g_j l_j, g_j u_j)),      gain_j = -min(g_j l_j, g_j u_j),

convexity gives L >= base - (sum of gain_j over A) for every card on P + A. So

- a column e of C that is not among ``kept`` is in no good support: base - gain_e - (largest other gains) is too high;
- a kept column that is not among ``children`` is not the first kept column, in the order of C, of any good support;
- for every child e there follow the *cards* of the support P + e and, where there is room and there are kept columns after e,
  the node of P + e with those as its list.

The cards of a support are a box of whole points, cut in two at a coordinate until every part has a tangent bound above the
threshold (L at a point, less its tangent over the box), is a single card, or holds no card at all.

Numbers, in the order of the walk, whole ones before the bar in ``steps`` and real ones after it in ``points``::

    walk  : the cards of the empty support; then, if cards may have columns at all, the node of the empty prefix
    node  : n_kept, kept columns, n_children, children | the point; then for every child its cards and its node, if any
    cards : 0 | the point of a bound      1, coordinate, v | cards with that coordinate up to v, then those from v + 1 on
            2 (a single card)             3 (no card: points of 0)          4 (the rules do not admit the support)

Coordinate 0 is the intercept.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from surefoot.problems.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class ScoreProof:
    """What a search leaves behind for those who do not trust it.

    Attributes
    ----------
    problem_digest : str
        Fingerprint of the problem it is about.
    threshold : float
        No admissible card has a smaller objective, up to rounding.
    columns, steps : ndarray of int
    points : ndarray of float
    """

    problem_digest: str
    threshold: float
    columns: IntArray = field(repr=False)
    steps: IntArray = field(repr=False)
    points: FloatArray = field(repr=False)
