"""Settings of LP-ADMM, ours and the published ones."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AdmmParameters:
    """Constants of :mod:`surefoot.robust.first_order.lp_admm`.

    They were set by hand, not by a search; ``benchmarks/bench_label_shift.py`` (Gaussian data) and
    ``benchmarks/bench_adult_series.py`` are what they are watched on.
    """

    # Largest number of columns: a dense Gram matrix of this order is factorised in seconds.
    max_columns: int = 4000
    # Largest number of entries of the rows as a dense array, which is held twice (8 bytes each).
    max_entries: int = 100_000_000
    # Iterations where the options name no limit. Count.
    max_iterations: int = 30_000
    # Iterations without a tenth of progress in the gap until the solve is called stalled. Count.
    stall_iterations: int = 5000
    # Iterations between evaluations of the bounds. Count: an evaluation costs as much as two iterations.
    evaluation_interval: int = 10
    # A price is left when its own gap is this fraction of the whole gap: early prices need not be solved well.
    gap_fraction: float = 0.2
    # The fraction is halved whenever leaving early gained less than a tenth, down to this.
    smallest_gap_fraction: float = 1e-3
    # Evaluations in which the gap at a price did not halve until the penalty is restarted. Count.
    evaluations_until_restart: int = 30

    # Splitting. Over-relaxation of the scores (Eckstein and Bertsekas 1992); between 1 and 2, the usual value.
    relaxation: float = 1.6
    # Primal and dual residuals within this factor of each other are balanced.
    residual_balance: float = 2.0
    # Growth of the penalty per iteration while residuals are not balanced: the published 5 %.
    penalty_growth: float = 1.05
    # Corrections of the penalty shrink as 1 / (1 + this * their number): after twenty, the next is half as large.
    correction_decay: float = 0.05
    # Range of the penalty, in units of the curvature of a row's loss.
    smallest_penalty: float = 1e-10
    largest_penalty: float = 1e10
    # Proximal term that makes the Gram matrix of columns of length 1 definite. It is centred at the last coefficients, so it
    # slows directions that the rows cannot see and changes no limit.
    proximal_weight: float = 1e-10

    # Price search. Slopes must differ by four times what their errors explain; squared, as errors are of the value.
    significance: float = 16.0
    # Largest factor by which one step changes the price.
    largest_price_factor: float = 4.0
    # New prices stay away from the ends of the bracket, which are known to be bad, by this fraction of it.
    bracket_margin: float = 0.02


@dataclass(frozen=True)
class PublishedParameters:
    """Settings of the published method (Li, Huang and So 2019), for comparison.

    Penalty and growth are the poster's. It names no stopping rules; residuals end a price and the width of the bracket the
    search, as is usual.
    """

    # First penalty, for the plain sum of squares over all rows.
    initial_penalty: float = 1e-3
    # Growth of the penalty per iteration.
    penalty_growth: float = 1.05
    # Largest change and largest primal residual of a margin at which a price is solved.
    residual: float = 1e-6
    # Iterations per price. Count.
    max_iterations: int = 500
    # Width of the bracket that ends golden section, relative to the first one.
    bracket_width: float = 1e-3


@dataclass(frozen=True)
class NumericRunParameters:
    """When the solvers for numeric columns are done; not tuned."""

    # Gap to reach, as a fraction of the requested one: the certificate adds what rounding may have hidden.
    target_fraction: float = 0.8
    # The same where a column never moves. Nothing bounds its coefficient, and the certificate's bound rests on the curvature at
    # the model itself, which must then be closer to the optimum.
    unbounded_target_fraction: float = 0.01 * 0.8
    # A gap below this multiple of the last one noted counts as progress.
    progress: float = 0.9
