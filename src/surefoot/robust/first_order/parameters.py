"""Settings of LP-ADMM, ours and the published ones."""

from __future__ import annotations

import math
import numbers
from dataclasses import KW_ONLY, dataclass
from typing import Literal, get_args

CoefficientStep = Literal["conjugate-gradient", "projected-gradient", "coordinate", "exact"]
PublishedStart = Literal["zeros", "ones"]


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

    # Steps of a published coefficient step in one call. Count; its tolerance ends it long before.
    max_coefficient_steps: int = 5000

    # Price search. Slopes must differ by four times what their errors explain; squared, as errors are of the value.
    significance: float = 16.0
    # Largest factor by which one step changes the price.
    largest_price_factor: float = 4.0
    # New prices stay away from the ends of the bracket, which are known to be bad, by this fraction of it.
    bracket_margin: float = 0.02


@dataclass(frozen=True)
class PublishedLpAdmm:
    """LP-ADMM exactly as published, to be given as ``solver`` of the robust estimators.

    The method of Li, Huang and So, "A First-Order Algorithmic Framework for Wasserstein Distributionally Robust Logistic
    Regression" (NeurIPS 2019): golden section over the price lambda, and at each lambda an alternating direction method whose
    penalty grows by a fixed factor, on the columns as they are. It is there to repeat the paper. Its penalty grows whatever the
    residuals say, so that it may stop above the optimum; the certificate then says by how much, and the fit warns.
    ``solver="lp-admm"`` is the same splitting with scaling and penalties that follow the residuals, and ends at a proven gap.

    Parameters
    ----------
    penalty : float, default=0.001
        rho of the first iteration at each price, for the mean loss over the rows and the plain sum of squares, as in the paper.
    penalty_growth : float, default=1.05
        Factor by which the penalty grows per iteration, at least 1. 1 is the non-adaptive method, for which the paper proves a
        rate where ``penalty`` is above (sqrt(3) + 1) / (4 N) for N rows.
    coefficient_step : {"conjugate-gradient", "projected-gradient", "coordinate", "exact"}, default="conjugate-gradient"
        Who solves the least squares over the box: one of the three methods that the paper names, of which its experiments take
        the first, or the exact active set method of ``solver="lp-admm"``, the only one that takes ``norm`` "l2" and "linf".
    start : {"zeros", "ones"}, default="zeros"
        First coefficients, margins and multipliers at each price. The paper leaves them open; the program of its authors takes
        ones, with which growing penalties can end far above the optimum.
    residual : float, default=1e-5
        A price is solved when no margin is farther than this from the score of its row.
    step_tolerance : float, default=1e-5
        Change of the coefficients, in their own units, at which ``coefficient_step`` ends; "exact" has none. On columns of very
        different sizes "conjugate-gradient" and "projected-gradient" then end early, and the fit far from the optimum.
    max_steps : int, default=100000
        Most iterations at a price.
    bracket_width : float, default=1e-6
        Width of the bracket that ends golden section, relative to the first one.

    Examples
    --------
    >>> import numpy as np, surefoot as sf
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = X[:, 0] + rng.logistic(size=200) > 0
    >>> published = sf.PublishedLpAdmm(penalty=0.01, penalty_growth=1.0)
    >>> model = sf.RobustLogisticRegression(solver=published, radius=0.1, label_weight=1.0, numeric_weights=1.0).fit(X, y)
    >>> model.certificate_.relative_gap < 1e-5
    True
    """

    _: KW_ONLY
    penalty: float = 1e-3
    penalty_growth: float = 1.05
    coefficient_step: CoefficientStep = "conjugate-gradient"
    start: PublishedStart = "zeros"
    residual: float = 1e-5
    step_tolerance: float = 1e-5
    max_steps: int = 100_000
    bracket_width: float = 1e-6

    def __post_init__(self) -> None:
        for name in ("penalty", "penalty_growth", "residual", "step_tolerance", "bracket_width"):
            value, least = getattr(self, name), 1.0 if name == "penalty_growth" else 0.0
            number = isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
            if not (number and value >= least and value > 0):
                raise ValueError(f"{name} = {value!r} must be a finite number {'of at least 1' if least else 'above 0'}.")
        for name, choices in (("coefficient_step", get_args(CoefficientStep)), ("start", get_args(PublishedStart))):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} = {getattr(self, name)!r} must be one of {', '.join(map(repr, choices))}.")
        if not (isinstance(self.max_steps, numbers.Integral) and not isinstance(self.max_steps, bool) and self.max_steps >= 1):
            raise ValueError(f"max_steps = {self.max_steps!r} must be a whole number of at least 1.")


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
