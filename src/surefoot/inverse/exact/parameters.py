"""Parameters of the exact solvers: limits, and tolerances on the quantities they compare."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ConstraintGenerationParameters:
    """Constraint generation for regularised losses.

    Attributes
    ----------
    box_radius : float
        Largest distance of an entry of a cost from the centre in linear masters where losses may be negative, so that nothing
        bounds the master. Never part of a certificate's bound.
    absolute_gap : float
        Gap that the tolerances of forward solvers leave open; less where losses of listed decisions are made of less than 1.
    member_tolerance : float
        How far outside the prior set the first cost may lie.
    outside : float
        How far outside the prior set any cost may lie, per unit of its largest entry if that is above 1; half of what
        certificates allow.
    hard_tolerance : float
        Losses up to this are 0 where they must not be above 0: rounding of forward solvers. Less where losses of
        listed decisions are made of less than 1.
    rounding : float
        The same, per unit of what a loss is made of, where that is large.
    distance_fraction : float
        Fraction of its distance that a decision may fall short of at a consistent cost; the cost is scaled up by as much.
        Larger values end the generation of nearly satisfied cuts sooner and change the cost more. The tolerance of the solve if
        smaller.
    """

    box_radius: float = 1e4
    absolute_gap: float = 1e-10
    member_tolerance: float = 1e-9
    outside: float = 5e-8
    hard_tolerance: float = 2e-8
    rounding: float = 1e-12
    distance_fraction: float = 1e-7


@dataclass(frozen=True)
class BalancedUnitsParameters:
    """Units of masters.

    Attributes
    ----------
    alike : float
        Columns, or observations, whose sizes differ by no more than this factor have one unit.
    apart : float
        Columns whose sizes differ by more than this are named where a fit is not proven.
    """

    alike: float = 1000.0
    apart: float = 1e6


@dataclass(frozen=True)
class ConsistencyParameters:
    """When losses are none, and when they are a conflict.

    Attributes
    ----------
    conflict : float
        A mean loss above this, of what losses are made of, proven for all costs, shows that no cost is consistent.
    suboptimality : float
        A suboptimality up to this, for costs of norm 1, or in the units of their norm, counts as 0.
    scale_up : float
        Relative enlargement of an incenter, so that rounding leaves it no loss.
    zero : float
        A cost whose largest entry is at most this, relative to the guess, is 0.
    multiplier_fraction : float
        Multipliers of cuts below this fraction of the largest are rounding.
    """

    conflict: float = 1e-7
    suboptimality: float = 1e-7
    scale_up: float = 1e-6
    zero: float = 1e-7
    multiplier_fraction: float = 1e-9


@dataclass(frozen=True)
class LeastDistanceParameters:
    """The nearest cost to a centre under linear rows.

    Attributes
    ----------
    residual : float
        A residual of the least squares up to this, of a right-hand side of length 1, is 0 and the rows infeasible: costs would
        have to be longer than its inverse.
    violation : float
        By how much the nearest cost may violate a cut that is not in the working set, per unit of the cut's own terms:
        rounding.
    """

    residual: float = 1e-9
    violation: float = 1e-12


@dataclass(frozen=True)
class DoubleDescriptionParameters:
    """Extreme rays of the cone of consistent costs.

    Attributes
    ----------
    max_rays : int
        More extreme rays than a cone of a handful of features has; finding them can take forever.
    few_dimensions, few_rays : int
        In more dimensions than the first, more rays than the second are a sign of many more: the circumcentre search takes over
        where costs cannot be negative. Not tuned.
    inward : float
        By how much rays of a proof are moved towards the centre, so that they are consistent beyond doubt; part of the gap.
    touching : float
        Products of rays and half-spaces, all of length 1, up to this are 0.
    facet_tolerance : float
        The same where the facets of a finished cone are distinguished.
    rank : float
        Pivots up to this, relative to normals of length 1, are 0: the cone contains a line.
    prior_weight : float
        Factor on the normals of the prior set, so that the pivots prefer them.
    largest_whole, largest_multiple : int, float
        Denominators of a ray whose largest entry is 1, and entries of its whole multiple, up to which it counts as whole.
    same_whole : float
        Distance of a ray of length 1 from a whole one up to which they are the same.
    """

    max_rays: int = 5000
    few_dimensions: int = 8
    few_rays: int = 200
    inward: float = 2e-8
    touching: float = 1e-9
    facet_tolerance: float = 1e-8
    rank: float = 1e-8
    prior_weight: float = 1e3
    largest_whole: int = 10_000
    largest_multiple: float = 1e9
    same_whole: float = 1e-13


@dataclass(frozen=True)
class ConeCoverParameters:
    """Covers of space by simplicial cones.

    Attributes
    ----------
    max_cones : int
        Larger covers are not sought.
    touching : float
        Coefficients of a corner up to this fraction of the largest are 0.
    margin : float
        By how much the multipliers of a leaf must do more than they have to: rounding.
    slope_room : float
        By how much the angle to be proven is larger than the one found: rounding of corners and multipliers.
    spare_parts : tuple of float
        Parts of what the tolerance leaves of an angle, tried in this order where decisions are not listed. More than all of it
        is no proof, but a bound.
    saved : float
        What decisions may save at a consistent cost where they are not listed, per unit of its largest entry and of features:
        the tolerance of their rows, with its price. Of linear programmes it is computed.
    more_saved : float
        Factor on what was computed: multipliers of a proof are found anew.
    same_ray : float
        How far from the cone of the rays a consistent cost may be, of its length; half of what certificates allow.
    """

    max_cones: int = 20_000
    touching: float = 1e-12
    margin: float = 1e-10
    slope_room: float = 1e-8
    spare_parts: tuple[float, ...] = (0.3, 0.9, 10.0)
    saved: float = 1.5e-8
    more_saved: float = 1.02
    same_ray: float = 5e-7


@dataclass(frozen=True)
class KktPolishParameters:
    """The last digits of quadratic masters.

    Attributes
    ----------
    active : tuple of float
        Fractions of the largest weight above which cuts are active; each is tried.
    full : float
        An observation whose weights fall short of 1/N by this fraction has a loss of 0.
    touching : float
        Coordinates within this of a bound, per unit of the largest one, are at the bound.
    equilibrations, refinements : int
    rank : float
        Singular values below this fraction of the largest are 0.
    """

    active: tuple[float, ...] = (1e-3, 1e-6)
    full: float = 1e-4
    touching: float = 1e-9
    equilibrations: int = 8
    refinements: int = 4
    rank: float = 1e-13


@dataclass(frozen=True)
class SphereParameters:
    """Facets of the sphere of costs.

    Attributes
    ----------
    violated : float
        Rows that must be violated by more than this on a facet leave nothing of it.
    worth : float
        The bound that such rows are made to prove: above every objective.
    least_reach: float
        Costs whose largest entry must be smaller are refused: their losses would vanish among doubles.
    """

    violated: float = 1e-7
    worth: float = 1e30
    least_reach: float = 1e-100


@dataclass(frozen=True)
class CircumcenterSearchParameters:
    """Search for consistent rays at a large angle, for cones such as those of bench_inverse_approaches. Not tuned.

    Attributes
    ----------
    consistent : float
        Losses up to this, of costs whose entries sum to 1, are 0.
    angle : float
        Radians by which a ray must be farther than the radius to count as new.
    random_starts, farthest_starts : int
        Local searches per round from random directions, and from the rays farthest away.
    same : float
        Rays whose cosine exceeds 1 minus this are one ray.
    ascent : float
        Ascent of the linear programme up to this is none.
    max_steps, max_rounds : int
        Linear programmes of one local search, and rounds.
    """

    consistent: float = 2e-8
    angle: float = 1e-6
    random_starts: int = 4
    farthest_starts: int = 4
    same: float = 1e-12
    ascent: float = 1e-10
    max_steps: int = 50
    max_rounds: int = 100


@dataclass(frozen=True)
class MinimumEllipsoidParameters:
    """Khachiyan's method with away steps.

    Attributes
    ----------
    max_steps : int
    gap : float
        Relative violation of the optimality conditions, per dimension, at which it ends.
    rank : float
        Singular values below this fraction of the largest are 0: the points lie in a plane.
    support : float
        Weights up to this are 0 when an away step looks for a point to leave.
    """

    max_steps: int = 20_000
    gap: float = 1e-7
    rank: float = 1e-9
    support: float = 1e-12


@dataclass(frozen=True)
class EllipsoidalParameters:
    """Constraint generation for ellipsoidal costs.

    Attributes
    ----------
    relative_gap : float
        The least relative gap that semidefinite masters attain.
    least_objective : float
        What the relative gap is taken of at least.
    violation : float
        A decision whose loss exceeds this is a cut.
    still : float
        Norms of A g below this fraction of the largest are 0: the response itself, and rounding.
    """

    relative_gap: float = 1e-6
    least_objective: float = 1e-3
    violation: float = 1e-9
    still: float = 1e-12


@dataclass(frozen=True)
class PredictabilityParameters:
    """Branch and bound for the predictability loss.

    Attributes
    ----------
    max_nodes : int
        Nodes if no number of iterations is given; the problem is NP-hard.
    value_tolerance : float
        A node is pruned unless its bound is below the incumbent by this, in units of the summed distances.
    """

    max_nodes: int = 2000
    value_tolerance: float = 1e-9


@dataclass(frozen=True)
class QuadraticCostParameters:
    """The semidefinite programme of quadratic costs.

    Attributes
    ----------
    relative_gap, absolute_gap : float
        The gap that an interior point on semidefinite cones attains, in relation to the objective and in units of it.
    least_weight : float
        Multipliers of constraints up to this, over the number of observations, are 0.
    box_radius : float
        Largest distance of an entry from the centre for which bounds are claimed, where the regularizer is no square.
    full_weight : float
        Weights of an observation that miss their sum by less are scaled to it.
    explained : float
        What a loss that must not be above 0 may be, per unit of what it is made of.
    """

    relative_gap: float = 1e-5
    absolute_gap: float = 1e-6
    least_weight: float = 1e-9
    box_radius: float = 1e4
    full_weight: float = 1e-3
    explained: float = 2e-8
