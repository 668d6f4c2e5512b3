"""Settings of the matrix-free solver for many numeric columns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WideParameters:
    """Constants of :mod:`surefoot.robust.wide.wide`.

    They were set by hand, not by a search; ``benchmarks/bench_wide.py`` and the adult series of
    ``benchmarks/bench_adult_series.py`` are what they are watched on.
    """

    # Newton iterations where the options name no limit. Count.
    max_iterations: int = 3000
    # Iterations without a tenth of progress in the gap until the solve is called stalled. Count: more waits longer for nothing.
    stall_iterations: int = 400
    # First width mu of the smoothed hinges, in units of the margin. Wide: few kinks to cross, but more multiplier updates.
    initial_width: float = 4.0
    # A dual bound takes a pass over the rows: it is made when what the gradient can cost it is at most this multiple of the
    # gap.
    dual_bound_ratio: float = 2.0

    # Truncated Newton. Largest and smallest relative residual at which conjugate gradients stop (the forcing term). Large:
    # cheap steps, more of them.
    largest_forcing_term: float = 0.1
    smallest_forcing_term: float = 1e-9
    # Residual that the box method tolerates, as a fraction of the gap or of what smoothing hides: less is not needed.
    forcing_fraction: float = 0.03
    # Products with the Hessian per Newton step. Count: beyond this a new linearisation gains more.
    max_products: int = 150
    # Curvature added to the diagonal, relative to it: directions that no row sees must not run away.
    ridge: float = 1e-9

    # Line search. It stops where the slope has fallen to this fraction of the first one,
    slope_fraction: float = 0.2
    # after so many trials (count),
    max_line_trials: int = 25
    # or at this multiple of the Newton step.
    longest_step: float = 8.0

    # Box. Armijo constant: the fraction of the decrease predicted by the gradient that a projected step must achieve.
    armijo: float = 1e-4
    # Backtracking steps. Count.
    max_backtracks: int = 30
    # Ridges tried in turn, relative to the curvature. Columns of few rows, all at the edge of their hinges, have no curvature
    # where they are and much of it a little further on: their steps are long, and stop all others with them.
    ridges: tuple[float, ...] = (1e-9, 1e-6, 1e-3)
    # A step length below this calls for the next ridge.
    short_step: float = 1e-3
    # Rounding of the smoothed objective, relative to it: a step with a smaller predicted decrease is not judged by it.
    objective_rounding: float = 1e-14
    # Multipliers of hinges are updated once the gradient costs the dual bound at most this multiple of what smoothing hides.
    update_ratio: float = 2.0
    # Smoothing that hides less than this fraction of the target gap needs no update any more.
    negligible_smoothing: float = 0.3
    # The width falls by this factor
    width_reduction: float = 3.0
    # where an update left more than this fraction of what was hidden before it.
    slow_update: float = 0.4
    # The width should be at most this multiple of the margin at which rows flip (kappa times the price);
    widest: float = 3.0
    # that margin is a guess at first, so one update follows it by no more than this factor.
    largest_width_reduction: float = 8.0
    # Steps without decrease, at the smallest forcing term, until the solve is called stalled. Count.
    stall_steps: int = 3

    # Cone. Multipliers are updated when the gradient costs the dual bound at most this multiple of the gap,
    gap_ratio: float = 1.0
    # or after so many Newton steps (count): with first multipliers an accurate minimum gains little,
    inner_iterations: float = 12.0
    # times this factor after each update made for that reason: updates away from a minimum lead astray.
    inner_growth: float = 1.5
    # A penalty grows by this factor (slowly: steep penalties stop Newton's method at each kink)
    penalty_growth: float = 1.5
    # when an update left more than this fraction of what the one before it had to correct.
    slow_correction: float = 0.7
