"""Parameters of mirror descent: how often bounds are computed, and tolerances of projections."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MirrorParameters:
    """Stochastic approximate mirror descent.

    Attributes
    ----------
    default_passes : int
        Passes over the examples if no number of steps is given.
    native_batch : int
        Forward problems solved in one native call: more of them cost less overhead and look at the clock less often.
    last_pass_fraction : float
        Fraction of a time limit that the pass after it may take.
    """

    default_passes: int = 100
    native_batch: int = 2000
    last_pass_fraction: float = 0.05


@dataclass(frozen=True)
class ProjectionParameters:
    """Dykstra's alternating projections.

    Attributes
    ----------
    tolerance : float
        They end when a round changes its corrections by no more than this, relative to the size of the point.
    max_rounds : int
    """

    tolerance: float = 1e-12
    max_rounds: int = 10_000


@dataclass(frozen=True)
class ExponentiatedParameters:
    """Multiplicative steps.

    Attributes
    ----------
    least_log : float
        The least logarithm of a weight, relative to the largest: exp(-600) is still a normal number, so that no weight becomes
        0 for ever. The native steps have the same.
    first_fraction : float
        Fraction of the size of the first point that is spread over all weights, for the same reason.
    """

    least_log: float = -600.0
    first_fraction: float = 1e-3
