"""Parameters of the certificates of inverse optimization: what they allow for rounding, and how much they recompute."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CostTolerances:
    """What a verdict on a cost vector allows besides the relative gap.

    Attributes
    ----------
    loss : float
        Absolute gap, and largest loss that counts as 0: what the tolerances of forward solvers leave open.
    hard_loss : float
        Largest loss where losses must not be above 0.
    prior : float
        How far a cost vector may lie outside its prior set, per unit of its largest entry.
    """

    loss: float = 5e-8
    hard_loss: float = 1e-7
    prior: float = 1e-7


@dataclass(frozen=True)
class RayTolerances:
    """What a verdict on a centre of the cone of consistent costs allows.

    Attributes
    ----------
    inside : float
        Suboptimality of a ray of length 1, or violation of the prior set or of the unit ball, that counts as 0.
    gap : float
        Absolute gap, in radians or in logarithms of volumes.
    same_ray : float
        Rays whose cosine exceeds 1 minus this are one ray.
    half_space : float
        How far a ray may lie outside a half-space of the cone.
    rank : float
        Singular values up to this, of normals of length 1, are 0.
    max_sets : int
        Sets of p - 1 half-spaces that are gone through for the extreme rays.
    block : int
        Of these, how many at once: memory.
    """

    inside: float = 1e-7
    gap: float = 1e-7
    same_ray: float = 1e-9
    half_space: float = 1e-8
    rank: float = 1e-9
    max_sets: int = 300_000
    block: int = 20_000


@dataclass(frozen=True)
class DecisionBoundParameters:
    """The search that bounds the value of every decision of a set of 0/1 unknowns.

    Attributes
    ----------
    row_rounding : float
        By how much a row may be violated, per unit of its largest entry; as in the solvers, which the bound must not
        contradict.
    value_rounding : float
        What a bound adds to the value claimed: sums in another order.
    binary_rounding : float
        Largest difference of a response from zeros and ones.
    max_nodes : int
        Nodes of one level: memory.
    max_enumerated : int
        0/1 unknowns up to which enumeration is no slower than a search.
    subgradient_steps : int
        Steps on the Lagrangian dual at the root: fewer nodes against time. Not tuned.
    step_decay : float
        Factor on the step length after a step that did not lower the dual bound. Not tuned.
    """

    row_rounding: float = 1e-9
    value_rounding: float = 1e-10
    binary_rounding: float = 1e-6
    max_nodes: int = 400_000
    max_enumerated: int = 12
    subgradient_steps: int = 60
    step_decay: float = 0.8


# 0/1 unknowns of a set whose vectors are listed where nothing else tells.
MAX_LISTED = 16
