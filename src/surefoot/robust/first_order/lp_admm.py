"""LP-ADMM: a first-order method for numeric columns with a label price.

    min over lambda of V(lambda),
    V(lambda) = lambda radius + min over b of sum_i w_i (h(z_i . b) + max(z_i . b - lambda kappa, 0))
                                subject to || b / gamma ||_* <= lambda,

with z_i = y_i (1, x_i) and h(m) = log(1 + exp(-m)); :mod:`surefoot.robust.first_order.signed_rows` says why this is the robust
problem. The method of Li, Huang and So (NeurIPS 2019): a one-dimensional search over the price lambda, and at each lambda an
ADMM that needs one factorisation of Z'Z, two products with Z an iteration, and a closed-form step per row
(:mod:`surefoot.robust.first_order.admm_splitting`).

As published it must be tuned: its penalty grows by a fixed factor whatever the residuals, so that on ordinary data the iterates
freeze above the optimum (by 0.01 % to 0.2 % on Gaussian data, by 2 % if the first penalty is ten times as large), and no
residual shows it. Here columns are centred and scaled, and the penalty follows the residuals, beginning at the curvature of the
loss. Outer iteration:

1. At the price at hand, ADMM steps. Every few of them both bounds are evaluated: the exact objective at the best price for the
   coefficients, and a shift plan within the radius from the multipliers
   (:mod:`surefoot.robust.first_order.value_minorants`). If the gap stands still, the penalty restarts.
2. The price is left once its own gap is a fraction of the whole.
3. Its minorant of V says where to look next (:mod:`surefoot.robust.first_order.price_search`); the iterates are the warm start.

Termination: the duality gap is the only test that ends a solve as optimal; a gap that no longer falls ends it as stalled.

``LpAdmm(PublishedLpAdmm(...))`` is the published method itself, on the columns as they are: golden section over the price, a
first penalty of 0.001 in the plain sum of squares, 5 % growth, residuals as the only stopping rule. Its bracket begins at 0 and
ends where no optimal price can lie: along (t b, t lambda) the objective has slope 0 at an optimum, t = 1, so that

    radius lambda = sum_i w_i (m_i / (1 + exp(m_i)) - max(m_i - lambda kappa, 0))  <=  max over m of m / (1 + exp(m)) = 0.2785.

Its outcome is judged by the same bounds, and ends as stalled unless they meet.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import NoReturn

import numpy as np

from surefoot.core.blas_threads import blas_threads
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.first_order.admm_splitting import Splitting
from surefoot.robust.first_order.numeric_run import NumericRun
from surefoot.robust.first_order.parameters import AdmmParameters, PublishedLpAdmm
from surefoot.robust.first_order.price_search import PriceSearch, Tangent
from surefoot.robust.first_order.signed_rows import SignedRows
from surefoot.robust.first_order.value_minorants import Minorant, minorant_of
from surefoot.robust.problem.numeric_columns import as_dense
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.registry import RobustOutcome, ranges_refused, require_acceptance
from surefoot.robust.scaling.standard_rows import StandardRows
from surefoot.robust.separation import require_attained

GOLDEN_RATIO = 0.5 * (np.sqrt(5.0) - 1.0)
# max over m of m / (1 + exp(m)): what an optimal price times the radius is at most.
LARGEST_CHARGE = 0.2784645427610738


class _Ended(Exception):  # noqa: N818 - a message, not an error
    """The solve is over; carries its status."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.value)
        self.status = status


class _Run(NumericRun):
    """One solve, in standard coordinates."""

    def __init__(
        self,
        rows: SignedRows,
        options: SolveOptions,
        started: float,
        parameters: AdmmParameters,
        published: PublishedLpAdmm | None = None,
    ) -> None:
        super().__init__(
            rows,
            options,
            started,
            max_iterations=parameters.max_iterations,
            stall_iterations=parameters.stall_iterations,
        )
        self.parameters = parameters
        self.splitting = Splitting(rows, parameters, published)

    def evaluate_bounds(self, price: float) -> tuple[float, Minorant]:
        """Both bounds from the iterates: the objective at this price, and the better of two minorants there."""
        splitting = self.splitting
        self.evaluate(splitting.coefficients, splitting.scores)
        both = (splitting.slopes, -splitting.multipliers)
        minorants = [minorant_of(self.rows, slopes, price, splitting.coefficients) for slopes in both]
        for minorant in minorants:
            self.add_minorant(minorant)
        return self.rows.value(splitting.scores, price), max(minorants, key=lambda minorant: minorant.at(price))

    def next_iteration(self) -> None:
        """One more line of history; raises :class:`_Ended` if it is the last."""
        status = self.finish_iteration()
        if status is not None:
            raise _Ended(status)

    @property
    def evaluation_due(self) -> bool:
        """Whether the step at hand may be the last, or is the first, and must yield bounds."""
        return self.at_last_iteration or not self.history or self.options.out_of_time

    def search(self, price: float) -> NoReturn:
        """Price after price until :class:`_Ended`."""
        prices = PriceSearch(self.rows.radius, self.parameters)
        self.splitting.penalty = self.splitting.natural_penalty(price)
        fraction = self.parameters.gap_fraction
        while True:
            before = self.gap
            prices.add(self.solve_at(price, fraction), self.gap / before)
            if self.gap > 0.9 * before:
                fraction = max(0.5 * fraction, self.parameters.smallest_gap_fraction)
            new = prices.next_price(self.upper_bound)
            self.splitting.change_price(price, new)
            price = new

    def solve_at(self, price: float, fraction: float) -> Tangent:
        """ADMM steps at one price until its own gap is at most this fraction of the whole."""
        interval = self.parameters.evaluation_interval
        best: Minorant | None = None
        objective, steps, without_progress, last_error = np.inf, 0, 0, np.inf
        while True:
            self.splitting.step(price)
            steps += 1
            regular = steps % interval == 0
            if regular or self.evaluation_due:
                value, minorant = self.evaluate_bounds(price)
                objective = min(objective, value)
                best = minorant if best is None or minorant.at(price) > best.at(price) else best
            self.next_iteration()
            if not regular or best is None:
                continue
            error = max(objective - best.at(price), 0.0)
            if error <= fraction * self.gap:
                return Tangent(price, best.entropy, best.slack, error)
            self.splitting.balance_residuals(interval)
            without_progress += 1
            if error < 0.5 * last_error:
                last_error, without_progress = error, 0
            elif without_progress >= self.parameters.evaluations_until_restart:
                self.splitting.restart_penalty(price)
                last_error, without_progress = error, 0

    def golden_section(self, published: PublishedLpAdmm) -> NoReturn:
        """The published method; raises :class:`_Ended` when it has ended by its own rules."""
        low, high = 0.0, LARGEST_CHARGE / self.rows.radius
        width = published.bracket_width * high
        inner = [high - GOLDEN_RATIO * (high - low), low + GOLDEN_RATIO * (high - low)]
        values = [self.published_solve(price, published) for price in inner]
        while high - low > width:
            if values[0] <= values[1]:
                high, inner[1], values[1] = inner[1], inner[0], values[0]
                inner[0] = high - GOLDEN_RATIO * (high - low)
                values[0] = self.published_solve(inner[0], published)
            else:
                low, inner[0], values[0] = inner[0], inner[1], values[1]
                inner[1] = low + GOLDEN_RATIO * (high - low)
                values[1] = self.published_solve(inner[1], published)
        self.published_solve(0.5 * (inner[0] + inner[1]), published)
        raise _Ended(Status.STALLED)

    def published_solve(self, price: float, published: PublishedLpAdmm) -> float:
        """The published splitting at one price; the objective it ends with."""
        splitting = self.splitting
        splitting.published_start(published)
        value = np.inf
        for step in range(published.max_steps):
            splitting.published_step(price, published)
            primal_residual = float(np.abs(splitting.margins - splitting.scores).max())
            solved = primal_residual <= published.residual or step + 1 == published.max_steps
            if solved or self.evaluation_due:
                value = self.evaluate(splitting.coefficients, splitting.scores, price)
                both = (splitting.slopes, -splitting.multipliers)
                for slopes in both:
                    self.add_minorant(minorant_of(self.rows, slopes, price, splitting.coefficients))
            self.next_iteration()
            if solved:
                break
        return value


class LpAdmm:
    """The splitting solver; see the module docstring.

    Parameters
    ----------
    published : PublishedLpAdmm, optional
        Run the published method with these settings: the bounds are as true as ever, but the model may be well above the
        optimum, and the status then says ``STALLED``.
    parameters : AdmmParameters, optional
    """

    name = "lp-admm"

    def __init__(self, published: PublishedLpAdmm | None = None, *, parameters: AdmmParameters | None = None) -> None:
        self.published = published
        self.parameters = parameters or AdmmParameters()

    def refuses(self, problem: RobustLogisticProblem) -> str | None:
        """Why the problem cannot be taken, or None."""
        if (reason := ranges_refused(problem)) is not None:
            return reason
        if problem.n_categorical:
            return f"it has {problem.n_categorical} categorical columns, and this method knows numeric columns only."
        if problem.radius == 0:
            return "its radius is 0, so there is no price to search over."
        norm = problem.cost.numeric_norm
        if self.published is not None and self.published.coefficient_step != "exact" and norm != "l1":
            return (
                f"coefficient_step={self.published.coefficient_step!r} knows boxes only, which is norm='l1', and its norm is "
                f"{norm!r}. Take coefficient_step='exact'."
            )
        most = self.parameters.max_columns
        if problem.n_numeric > most:
            return f"it has {problem.n_numeric} columns, more than the {most} whose dense Gram matrix can be factorised."
        entries = problem.n_rows * problem.n_numeric
        if entries > self.parameters.max_entries:
            return f"its rows have {entries} entries as a dense array, more than {self.parameters.max_entries}."
        return None

    def solve(
        self, problem: RobustLogisticProblem, options: SolveOptions, warm_start: RobustCoefficients | None = None
    ) -> RobustOutcome:
        """Minimise until the relative gap is at most the tolerance, or a limit ends it."""
        require_acceptance(self, problem)
        started = time.perf_counter()
        dense = replace(problem, numeric=as_dense(problem.numeric))
        standard = StandardRows.of(dense) if self.published is None else StandardRows.unchanged(dense)
        require_attained(standard.problem)
        with blas_threads(options.n_threads):
            rows = SignedRows(standard.problem)
            if self.published is not None:
                # The published method has no rule for the solve as a whole.
                endless = replace(self.parameters, max_iterations=sys.maxsize, stall_iterations=sys.maxsize)
                run = _Run(rows, options, started, endless, self.published)
                status = _published_end(run, self.published)
            else:
                run = _Run(rows, options, started, self.parameters)
                status = _ended(run, standard.standardize(warm_start) if warm_start is not None else None)
        return run.restored_outcome(status, standard)


def _published_end(run: _Run, published: PublishedLpAdmm) -> Status:
    """Run the published method until its end; a warm start is nothing to it."""
    try:
        run.golden_section(published)
    except _Ended as ended:
        return ended.status


def _ended(run: _Run, warm_start: RobustCoefficients | None) -> Status:
    """Run until the end; the status that ended it."""
    rows, splitting = run.rows, run.splitting
    ceiling = float(np.log(2.0)) / rows.radius
    # Neither an optimum at the price 0 nor one that no model with this radius could afford.
    price = min(max(splitting.newton_price(), 1e-6 * ceiling), 0.5 * ceiling)
    if warm_start is not None:
        coefficients = rows.coefficients(warm_start)
        run.evaluate(coefficients, rows.rows @ coefficients)
        price = run.price if run.price > 0 else price
        splitting.start(coefficients, price)
    try:
        run.search(price)
    except _Ended as ended:
        return ended.status
