"""Settings of the exponential-cone solvers."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.core.backends.clarabel import ConeSettings

_CONE_SETTINGS = tuple(
    ConeSettings(step_fraction=0.9, switch_step_length=length, equilibrate=scaled)
    for length in (0.03, 0.01)
    for scaled in (True, False)
)


@dataclass(frozen=True)
class ConicParameters:
    """Constants that the monolithic, the longest-path and the cutting-plane solver have in common."""

    # Settings of the interior point, tried in turn until the gap is closed. With its own (0.99, 0.1, True) Clarabel stalls
    # short of the optimum on tables with many ties. No single choice got through all the tables of
    # benchmarks/bench_sqp_vs_graph.py, but what one of these left open another closed.
    cone_settings: tuple[ConeSettings, ...] = _CONE_SETTINGS
    # Relative gap requested of the interior point, as a fraction of the tolerance: what the repair of the plan may cost. Not
    # tuned.
    cone_tolerance: float = 1e-2
    # The same where nothing bounds the coefficients: a dual bound then rests on the curvature at the model, which must be that
    # much closer to the optimum. Not tuned.
    unbounded_cone_tolerance: float = 1e-4
    # Largest number of constraints of the monolithic model: about a minute and a gigabyte.
    max_pieces: int = 200_000
    # Largest number of coefficients: plans are balanced with the eigenvectors of a dense matrix of this order, some seconds.
    max_coefficients: int = 2000
    # Largest number of arcs of the longest-path model: the interior point takes about 1.4 kB per arc.
    max_arcs: int = 5_000_000
    # What the first iteration of the interior point takes, which cannot be interrupted: entries of the scores that are
    # factorised in a second, and arcs of the longest-path model, whose time grows with this power of them. Measured on a
    # busy machine of two cores: 1.4 s for 2.5 million entries; 2.3 s for 243,000 arcs, 31 s for 730,000.
    entries_per_second: float = 1.8e6
    arcs_in_a_second: float = 171_000.0
    arc_power: float = 2.37
    # Time limits are refused for iterations that take longer than this only. Seconds.
    short_seconds: float = 1.0
    # Flow below this fraction of a row's weight is noise of the interior point. Not tuned.
    flow_noise: float = 1e-10


@dataclass(frozen=True)
class ScenarioCutParameters:
    """Constants of the cutting-plane solver; none was tuned."""

    # States of the dynamic programme over all rows. Count: about a minute a round.
    max_states: int = 1_000_000_000
    # Rounds where the options name no limit. Count.
    max_rounds: int = 10_000
    # Bound on the coefficients of the first master problems, in standard units: a score of 30 is a probability of 1 - 1e-13.
    initial_box: float = 30.0
    # The box grows by this factor
    box_growth: float = 10.0
    # where a coefficient exceeds this fraction of it and no constraint is violated,
    binding_fraction: float = 0.99
    # until it is this large.
    largest_box: float = 1e6
    # Smallest violation that is cut off, as a fraction of the requested gap: smaller ones, of all rows together, do not explain
    # a gap that is still open.
    violation_fraction: float = 0.1


@dataclass(frozen=True)
class DistanceParameters:
    """Constants of the dynamic programme over weighted distances, and of the price that deters every shift; not tuned."""

    # Attainable distances closer than this fraction of the total weight are one distance: sums of the same weights in another
    # order differ by a few units in the last place, and nothing else comes this close.
    same_distance: float = 1e-12
    # States held at a time. Count: a float and a few flags each.
    states_at_a_time: int = 4_000_000
    # Dinkelbach steps. Count: they converge superlinearly, what is left after this many is rounding.
    max_dinkelbach_steps: int = 100


@dataclass(frozen=True)
class PlanRepairParameters:
    """Constants of the repair of multipliers into a feasible plan; not tuned."""

    # Newton steps of the balancing problem. Count: it converges quadratically.
    max_newton_steps: int = 30
    # Interior points leave a little mass on shifts that no optimal plan makes: fractions of a row's weight, or of a feature's
    # moves, below this are negligible.
    negligible_mass: float = 1e-8
    # Rounding of the balancing loss, relative to it.
    loss_rounding: float = 1e-13
    # Where nothing bounds the coefficients, they are assumed within this multiple of 1 + the largest one at hand.
    assumed_multiple: float = 10.0
