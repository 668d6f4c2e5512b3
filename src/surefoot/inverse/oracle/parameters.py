"""Parameters of the oracles: limits of searches, and tolerances on the quantities they compare."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BinarySearchParameters:
    """Native branch and bound over 0/1 vectors.

    Attributes
    ----------
    max_unknowns : int
        Larger sets go to MILP branch and bound: there the linear relaxation prunes better than multipliers that stay those of
        the root. Not tuned.
    max_nodes : int
        Nodes of one search before MILP branch and bound takes over.
    batch_max_nodes : int
        The same where all observations are searched in one call; about a quarter of a second.
    nodes_per_second : int
        Nodes that stand for a second where time is limited: counted instead of measured, so that a run can be repeated.
    value_tolerance : float
        What rounding may hide in the objective of the best vector; the search prunes nothing within 1e-10 of it.
    """

    max_unknowns: int = 40
    max_nodes: int = 2_000_000
    batch_max_nodes: int = 500_000
    nodes_per_second: int = 15_000_000
    value_tolerance: float = 5e-13


@dataclass(frozen=True)
class BranchAndBoundParameters:
    """MILP branch and bound on linear relaxations.

    Attributes
    ----------
    integrality_tolerance : float
        An unknown this near to a whole number is taken for it.
    value_tolerance : float
        A node is pruned unless its bound exceeds the incumbent by this: what the feasibility tolerances of the simplex method
        may hide.
    propagations : int
        Most passes over the rows to narrow the box of a node before its relaxation is solved. Not tuned: a pass costs far less
        than a relaxation, and most boxes do not change in the second one.
    far_decisions : int
        Decisions towards infinity, of one observation, after which costs without a best decision are no longer cut off.
    """

    integrality_tolerance: float = 1e-6
    value_tolerance: float = 1e-8
    propagations: int = 8
    far_decisions: int = 100


@dataclass(frozen=True)
class BoxedBatchParameters:
    """Native searches of small programmes with finite bounds.

    Attributes
    ----------
    max_entries : int
        Rows, those of a table included, times unknowns. The simplex method over a dense dictionary takes some microseconds up
        to there; beyond it sparse programmes are the better choice. Not tuned.
    max_whole : int
        Whole unknowns: the tree is searched depth first, without a memory of its own.
    max_nodes : int
        Nodes of one search, thereafter branch and bound of one observation takes over.
    largest_bound : float
        Of unknowns: rounding of sums that hold larger ones is more than tolerances allow. Diets with bounds of 1e5 had no
        proof, those with 3e4 had one that lost a digit; the methods for one observation prove both.
    value_tolerance : float
        What rounding may add to a value: more than what nodes are pruned by.
    """

    max_entries: int = 2000
    max_whole: int = 24
    max_nodes: int = 20_000
    largest_bound: float = 1e4
    value_tolerance: float = 1e-9


@dataclass(frozen=True)
class BinaryTreeParameters:
    """Trees over 0/1 unknowns from the log of the native search.

    Attributes
    ----------
    listed : int
        Unknowns up to which certificates go through all vectors, which is no slower than a tree.
    max_nodes : int
        Larger trees are left to linear programmes, which need fewer nodes.
    row_slack : float
        By how much a row must be violated, per unit of its largest entry, to exclude vectors: more than certificates allow.
    claim_tolerance : float
        By how much a proven loss may exceed the one that was found, in units of the largest gain.
    spare : float
        Factor on the multiplier that a row must have to exclude a leaf.
    """

    listed: int = 9
    max_nodes: int = 20_000
    row_slack: float = 2e-12
    claim_tolerance: float = 4e-10
    spare: float = 1.0 + 1e-6


@dataclass(frozen=True)
class ProofTreeParameters:
    """Trees of multipliers that bound a loss.

    Attributes
    ----------
    row_penalty : float
        Cost of violating a row by 1 in the elastic relaxation, per unit of 1 + ||cost||_1: high enough that an infeasible node
        has a bound below all others, low enough for the simplex method's tolerances. Not tuned.
    max_nodes : int
        Nodes of one tree; a larger proof is not sought. With a time limit, the tree ends with it.
    claim_tolerance : float
        What a tree may add to a loss, per unit of max(1, |loss|), or of the cost where that does not suffice: the rounding of
        its multipliers.
    lean : float
        By how much the cost of an unknown without a bound is lowered for the multipliers, per unit of 1 + ||cost||_1: above
        rounding, below what a claim may add.
    push : float
        How much of the multipliers that keep unknowns from infinity is added to all, per unit of 1 + cost + multipliers.
    """

    row_penalty: float = 1e4
    max_nodes: int = 5000
    claim_tolerance: float = 1e-8
    lean: float = 1e-11
    push: float = 1e-11


@dataclass(frozen=True)
class QuadraticOracleParameters:
    """Convex quadratic programmes in the continuous unknowns.

    Attributes
    ----------
    value_tolerance : float
        How far an interior point may be from the optimum, per unit of max(1, |value|).
    row_penalty : float
        Cost of violating a row by 1 in the elastic programme, per unit of 1 + the entries of the cost. Not tuned.
    active_fraction : float
        Multipliers below this fraction of the largest belong to inactive rows: an interior point leaves no zeros.
    row_tolerance : float
        By how much a row without continuous unknowns, or an interval of one unknown, may be violated.
    least_curvature : float
        A coefficient of y^2 at or below this counts as 0.
    """

    value_tolerance: float = 1e-8
    row_penalty: float = 1e4
    active_fraction: float = 1e-7
    row_tolerance: float = 1e-9
    least_curvature: float = 1e-14


@dataclass(frozen=True)
class TrustRegionParameters:
    """The secular equation of a quadratic function over a ball.

    Attributes
    ----------
    bisections : int
        Halvings of the interval of the multiplier: 200 leave nothing of it in double precision.
    singular_tolerance : float
        Eigenvalues of H + mu I up to this, relative to the scale of the problem, count as 0.
    hard_case_tolerance : float
        The same for the smallest eigenvalue, where a step along its eigenvector may lead to the boundary.
    proven_curvature : float
        The least eigenvalue of H + mu I that a proof has, relative to the scale of the problem: above rounding.
    least_scale : float
        The scale of a problem, at least: that of a cost of 0, which is proven to save nothing.
    """

    bisections: int = 200
    singular_tolerance: float = 1e-13
    hard_case_tolerance: float = 1e-12
    proven_curvature: float = 1e-10
    least_scale: float = 1e-6


# 0/1 unknowns of a set whose vectors are enumerated: 4096 at most, which one product evaluates in microseconds.
MAX_ENUMERATED = 12
# The same for methods that have no other way than a list; certificates list as many.
MAX_LISTED = 16
