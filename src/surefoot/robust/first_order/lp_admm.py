"""LP-ADMM: a first-order method for numeric columns with a label price, made safe.

    min over lambda of V(lambda),
    V(lambda) = lambda radius + min over b of sum_i w_i (h(z_i . b) + max(z_i . b - lambda kappa, 0))
                                subject to || b / gamma ||_* <= lambda,

with z_i = y_i (1, x_i) and h(m) = log(1 + exp(-m)); :mod:`surefoot.robust.first_order.admm_bounds` says why this is the robust
problem. The method of Li, Huang and So (NeurIPS 2019): a one-dimensional search over lambda, and at each lambda an operator
splitting that needs one factorisation of Z'Z, two products with Z an iteration, and a closed-form step per row
(:mod:`surefoot.robust.first_order.admm_splitting`).

As published it must be tuned: its penalty grows by a fixed factor whatever the residuals, so that on ordinary data the iterates
freeze above the optimum (by 0.01 % to 0.2 % on Gaussian data, by 2 % if the first penalty is ten times as large), and nothing
in the method notices. Here nothing is left to tune, and nothing is believed:

- columns are centred and scaled, and the penalty follows the residuals, beginning at the curvature of the loss;
- every few iterations a model and a proof are made of the iterates: the exact objective at the best price for the
  coefficients, and a shift plan within the radius. Their difference is a true gap, and the only thing that ends a solve as
  optimal. If it stands still, the penalty is thawed;
- a price is left once its own gap is a small part of the whole. The line that proves it says where to look next
  (:mod:`surefoot.robust.first_order.admm_prices`), and the iterates are carried along.

``LpAdmm(published=True)`` keeps the published settings for comparison: golden section over the price, a first penalty of 0.001
in the plain sum of squares, 5 % growth, residuals as the only stopping rule. Its outcome is judged by the same bounds.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NoReturn

import numpy as np

from surefoot.core.blas_threads import blas_threads
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.first_order.admm_bounds import Line, SignedRows, line_of
from surefoot.robust.first_order.admm_prices import PriceSearch, Tangent
from surefoot.robust.first_order.admm_splitting import PUBLISHED_PENALTY, Splitting
from surefoot.robust.first_order.numeric_run import NumericRun
from surefoot.robust.problem.numeric_columns import as_dense
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.registry import RobustOutcome, require_acceptance
from surefoot.robust.scaling.standard_rows import StandardRows
from surefoot.robust.separation import require_attained

# A dense Gram matrix of this many columns is factorised in seconds; the rows are kept twice as a dense array.
MOST_COLUMNS = 4000
MOST_ENTRIES = 100_000_000
DEFAULT_STEPS = 30_000
# Steps between checks: a check costs as much as two steps.
STEPS_PER_CHECK = 10
# A price is left when its own gap is this share of the whole; half of that whenever leaving early did not pay.
SHARE_OF_GAP = 0.2
LEAST_SHARE = 1e-3
# So many checks in which the gap at a price did not halve: the penalty may have frozen the iterates.
CHECKS_UNTIL_FROZEN = 30
# So many steps without a tenth of progress say that double precision, or this method, is at its end.
PATIENCE = 5000

# The poster names no stopping rules; residuals end a price and the width of the interval the search, as is usual.
PUBLISHED_RESIDUAL = 1e-6
PUBLISHED_STEPS = 500
PUBLISHED_WIDTH = 1e-3
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


class _Ended(Exception):  # noqa: N818 - a message, not an error
    """The solve is over; carries its status."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.value)
        self.status = status


class _Run(NumericRun):
    """One solve, in standard coordinates."""

    def __init__(self, rows: SignedRows, options: SolveOptions, started: float) -> None:
        super().__init__(rows, options, started, most_steps=DEFAULT_STEPS, patience=PATIENCE)
        self.splitting = Splitting(rows)

    def check(self, price: float) -> tuple[float, Line]:
        """Bounds from the iterates: the objective at this price, and the better of two lines there."""
        splitting = self.splitting
        self.offer(splitting.coefficients, splitting.scores)
        lines = [line_of(self.rows, slopes, price, splitting.coefficients) for slopes in (splitting.slopes, -splitting.force)]
        for line in lines:
            self.evidence.add(line)
        return self.rows.value(splitting.scores, price), max(lines, key=lambda line: line.at(price))

    def step_done(self) -> None:
        """One more line of history; raises :class:`_Ended` if it is the last."""
        status = self.record()
        if status is not None:
            raise _Ended(status)

    @property
    def check_due(self) -> bool:
        """Whether the step at hand may be the last, or is the first, and must be made something of."""
        return self.next_is_last or not self.history or self.options.out_of_time

    def search(self, price: float) -> NoReturn:
        """Price after price until :class:`_Ended`."""
        prices = PriceSearch(self.rows.radius)
        self.splitting.penalty = self.splitting.natural_penalty(price)
        share = SHARE_OF_GAP
        while True:
            before = self.gap
            prices.add(self.solve_at(price, share), self.gap / before)
            if self.gap > 0.9 * before:
                share = max(0.5 * share, LEAST_SHARE)
            new = prices.next_price(self.upper_bound)
            self.splitting.change_price(price, new)
            price = new

    def solve_at(self, price: float, share: float) -> Tangent:
        """Steps at one price until its own gap is at most this share of the whole."""
        best: Line | None = None
        objective, steps, frozen, moved = np.inf, 0, 0, np.inf
        while True:
            self.splitting.step(price)
            steps += 1
            regular = steps % STEPS_PER_CHECK == 0
            if regular or self.check_due:
                value, line = self.check(price)
                objective = min(objective, value)
                best = line if best is None or line.at(price) > best.at(price) else best
            self.step_done()
            if not regular or best is None:
                continue
            error = max(objective - best.at(price), 0.0)
            if error <= share * self.gap:
                return Tangent(price, best.entropy, best.slack, error)
            self.splitting.balance(STEPS_PER_CHECK)
            frozen += 1
            if error < 0.5 * moved:
                moved, frozen = error, 0
            elif frozen >= CHECKS_UNTIL_FROZEN:
                self.splitting.thaw(price)
                moved, frozen = error, 0

    def golden_section(self) -> NoReturn:
        """The published method; raises :class:`_Ended` when it would have stopped."""
        low, high = 0.0, self.upper_bound / self.rows.radius
        width = PUBLISHED_WIDTH * high
        inner = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)]
        values = [self.published_solve(price) for price in inner]
        while high - low > width:
            if values[0] <= values[1]:
                high, inner[1], values[1] = inner[1], inner[0], values[0]
                inner[0] = high - GOLDEN * (high - low)
                values[0] = self.published_solve(inner[0])
            else:
                low, inner[0], values[0] = inner[0], inner[1], values[1]
                inner[1] = low + GOLDEN * (high - low)
                values[1] = self.published_solve(inner[1])
        raise _Ended(Status.STALLED)

    def published_solve(self, price: float) -> float:
        """The published splitting from the model 0; the objective it ends with."""
        splitting = self.splitting
        splitting.start(np.zeros(self.rows.weights.size), price)
        splitting.force = np.zeros(self.rows.shares.size)
        splitting.penalty = PUBLISHED_PENALTY * self.rows.shares.size
        value = np.inf
        for step in range(PUBLISHED_STEPS):
            before = splitting.margins
            splitting.published_step(price)
            moved = float(np.abs(splitting.margins - before).max())
            apart = float(np.abs(splitting.margins - splitting.scores).max())
            still = max(moved, apart) <= PUBLISHED_RESIDUAL or step + 1 == PUBLISHED_STEPS
            if still or self.check_due:
                value = self.offer(splitting.coefficients, splitting.scores, price)
                self.evidence.add(line_of(self.rows, splitting.slopes, price, splitting.coefficients))
            self.step_done()
            if still:
                break
        return value


class LpAdmm:
    """The splitting solver; see the module docstring.

    Parameters
    ----------
    published : bool, default=False
        Run the published settings literally. For benchmarks: the bounds are as true as ever, but the model may be far from the
        optimum, and the status then says ``STALLED``.
    """

    name = "lp-admm"

    def __init__(self, *, published: bool = False) -> None:
        self.published = published

    def refuses(self, problem: RobustLogisticProblem) -> str | None:
        """Why the problem cannot be taken, or None."""
        if problem.n_categorical:
            return f"it has {problem.n_categorical} categorical columns, and this method knows numeric columns only."
        if problem.radius == 0:
            return "its radius is 0, so there is no price to search over."
        if problem.n_numeric > MOST_COLUMNS:
            return (
                f"it has {problem.n_numeric} columns, more than the {MOST_COLUMNS} whose dense Gram matrix can be factorised."
            )
        entries = problem.n_rows * problem.n_numeric
        if entries > MOST_ENTRIES:
            return f"its rows have {entries} entries as a dense array, more than {MOST_ENTRIES}."
        return None

    def solve(
        self, problem: RobustLogisticProblem, options: SolveOptions, warm_start: RobustCoefficients | None = None
    ) -> RobustOutcome:
        """Minimise until the relative gap is at most the tolerance, or a limit ends it."""
        require_acceptance(self, problem)
        started = time.perf_counter()
        dense = replace(problem, numeric=as_dense(problem.numeric))
        standard = StandardRows.of(dense)
        require_attained(standard.problem)
        with blas_threads(options.n_threads):
            run = _Run(SignedRows(standard.problem), options, started)
            status = _ended(run, standard.standardize(warm_start) if warm_start is not None else None, self.published)
        return run.outcome(status, standard)


def _ended(run: _Run, warm_start: RobustCoefficients | None, published: bool) -> Status:
    """Run until the end, and say how it came."""
    rows, splitting = run.rows, run.splitting
    ceiling = float(np.log(2.0)) / rows.radius
    # Neither an optimum at the price 0 nor one that no model with this radius could afford.
    price = min(max(splitting.steepest_price(), 1e-6 * ceiling), 0.5 * ceiling)
    if warm_start is not None:
        coefficients = rows.coefficients(warm_start)
        run.offer(coefficients, rows.rows @ coefficients)
        price = run.price if run.price > 0 else price
        splitting.start(coefficients, price)
    try:
        if published:
            run.golden_section()
        else:
            run.search(price)
    except _Ended as ended:
        return ended.status
