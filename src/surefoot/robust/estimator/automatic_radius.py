"""``radius="auto"``: as much caution as the sampling error of the table calls for.

A fit to N rows gains by chance what it will not gain on others: with p free coefficients the mean log loss of the rows it was
fitted to is p / (2 N) below that of the true coefficients (Wilks 1938), and that of new rows as much above it (Akaike 1974). A
robust model pays radius times price for its caution, the premium: its worst-case loss beyond the loss of its own rows. The
automatic radius lets the premium make up for the gain of chance,

    radius = the largest r with   r lambda(r) <= p / (2 N)   and   r <= s (pi (1 - pi) / N)^(1/2),                     (1)

where lambda(r) is the price in the optimum of radius r (``dual_price_``), pi is the share of the second class, and s is the
size of the p coefficients in the units of the prices: s^2 sums up, over what may shift, (gamma_j sigma_j)^2 of a numeric column
with standard deviation sigma_j, delta_l^2 (k_l - 1) of a category with k_l levels, and kappa^2 if labels may flip. Prices left
at their defaults give s^2 = p. The second bound is the length by which chance alone moves the gradient of the model without
features; it holds where columns say next to nothing. So the radius falls as N^(-1/2) where columns say nothing, and, as
lambda(r) then has a limit, as 1 / N where they say much. It is in the units of the prices: multiply them all by ten, and the
radius is ten times as large and the model the same. Classes enter by pi, rows by their weights (:func:`rows_that_count`).

For the norm "linf" of the ground cost, whose penalty is a sum as in the lasso, chance moves a gradient only as far as its
largest entry: its n numeric columns enter s^2 with max (gamma_j sigma_j)^2 times 2 log(1 + n).

With few rows (1) can be far off, and rows that are held out correct it: see
:mod:`~surefoot.robust.estimator.held_out_radius`.

How (1) was found: on breast-cancer, credit-approval, german, car, tic-tac-toe, cylinder, voting, wdbc, spambase, mammographic,
compas, bupa, adult, online-shopper and nursery, samples of 50, 200 and 1,000 rows. The radius of least held-out log loss lies
between 0.0001 and 1 there, 0.01 to 5 times (pi (1 - pi) / N)^(1/2): no function of rows and columns alone comes close. Its
premium lies between 0.1 and 1.1 times p / N, the more columns the less. Of multiples of p / N from 0.15 to 1, multiples of
(p / N)^(1/2) and curves that flatten, and of multiples of the second bound from 0.5 to 3, none is better than the constants of
theory by more than the error of the comparison, so these are 1/2 and 1. ``benchmarks/bench_default_radius.py`` compares on
these tables and confirms on sixteen that had no part: audiology, balance-scale, hayes-roth, spect, hepatitis, heloc, diabetes,
diagnoses, acs, bank, framingham, ionosphere, sonar, wpbc, wisconsin and mushroom.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.estimator.held_out_radius import HeldOut
from surefoot.robust.problem.column_moments import BatchSums, RowTally
from surefoot.robust.problem.problem import RobustCoefficients
from surefoot.robust.problem.terms import Terms
from surefoot.sklearn_api.parameter_checks import require_radius

AUTO = "auto"
# Beyond that, floats do not tell one row more.
MOST_ROWS = 2.0**53
# Below so many rows per coefficient the bounds of chance are wide, and a strong relation may be shrunk for nothing; where no
# rows are held out to see, a search is advised.
FEW_ROWS = 10


@dataclass(frozen=True)
class AutomaticRadiusParameters:
    """How (1) is solved; not tuned."""

    digits: int = 2  # the radius is rounded to as many, so that it does not depend on the last digits of a solve
    near: float = 0.01  # relative distance of the premium from its bound at which the search ends
    max_solves: int = 15  # it takes four or five
    tolerance: float = 1e-5  # of these solves
    time_share: float = 0.5  # of a time limit, that the search may take


PARAMETERS = AutomaticRadiusParameters()


@dataclass(frozen=True)
class SamplingError:
    """What chance does to a fit.

    Attributes
    ----------
    rows : float
        N.
    coefficients : int
        p: those that a shift can reach.
    highest : float
        The second bound of (1).
    converged : bool
        Whether the search for the radius came to its end; a time limit may cut it short.
    held_out : HeldOut or None
        What rows that were held out said of the radius of (1); None where there were too many to ask, or too few.
    """

    rows: float
    coefficients: int
    highest: float
    converged: bool = True
    held_out: HeldOut | None = field(default=None, metadata={"later": True})

    @property
    def premium(self) -> float:
        """p / (2 N), the first bound of (1)."""
        return self.coefficients / (2.0 * self.rows)

    def reason(self, radius: float, price: float) -> str:
        """Why the radius is what it is, for whoever reads the summary of a fit."""
        table = f"{self.coefficients} coefficients in {self.rows:,.6g} rows"
        if not self.converged:
            return f"automatic, from {table}; the time limit ended the search for it"
        if radius == 0:
            return "automatic: nothing that the model uses may shift"
        held_out = self.held_out
        if held_out is not None and held_out.multiple != 1.0:
            share = f"{held_out.multiple:g}" if held_out.multiple > 1 else f"1/{1 / held_out.multiple:g}"
            return (
                f"automatic: {share} of {held_out.rule:g}, which is what chance calls for with {table}; rows held out in turn "
                f"have a log loss of {held_out.loss:.3g} so, and of {held_out.rule_loss:.3g} at {held_out.rule:g}"
            )
        if radius >= _rounded(self.highest):
            few = self.rows < FEW_ROWS * self.coefficients
            advice = f"with fewer than {FEW_ROWS} rows per coefficient, cross-validation may find a better one"
            return f"automatic: as far as chance alone moves {table}" + (f"; {advice}" if few and held_out is None else "")
        premium = f"radius x price = {radius:g} x {price:.3g} = {radius * price:.2g}"
        return (
            f"automatic: its premium, {premium}, is about what {table} gain by chance, "
            f"{self.coefficients} / (2 x {self.rows:,.6g}) = {self.premium:.2g}"
        )


def rows_that_count(tally: RowTally) -> float:
    """N: the sum of the weights if all are whole numbers, which then say how often a row stands in the table.

    Weights that are not whole numbers say how much a row counts relative to others; N is then (sum w)^2 / sum w^2, Kish's
    effective number of rows.
    """
    if tally.whole and tally.total <= MOST_ROWS:
        return tally.total
    return (tally.total / tally.norm) ** 2


def sampling_error(terms: Terms, sums: BatchSums, tally: RowTally) -> SamplingError:
    """What is known before anything has been solved; ``tally`` is of the weights as they were given."""
    cost, moments, rows = terms.cost, sums.all_rows, rows_that_count(tally)
    moving = np.isfinite(cost.numeric_weights) & (moments.low < moments.high)
    sizes = cost.numeric_weights[moving] * moments.spread[moving]
    held = (sums.positive_levels + sums.negative_levels) > 0
    further = np.maximum(np.add.reduceat(held, terms.level_offsets[:-1]) - 1, 0) if terms.n_categorical else np.zeros(0, int)
    priced = np.isfinite(cost.categorical_weights) & (further > 0)
    flips = math.isfinite(cost.label_weight)
    levels = cost.categorical_weights[priced] * np.sqrt(further[priced])
    size = _length(np.array([_numeric_length(sizes, cost.numeric_norm), *levels, *([cost.label_weight] if flips else [])]))
    total = sums.positive.weight + sums.negative.weight
    # Each share from its own sum: 1 - share of a class that outweighs the other 1e16 times is 0.
    shares = sums.positive.weight / total, sums.negative.weight / total
    return SamplingError(
        rows=rows,
        coefficients=int(moving.sum() + further[priced].sum() + flips),
        highest=size * math.sqrt(shares[0] * shares[1] / rows),
    )


def _numeric_length(sizes: FloatArray, norm: str) -> float:
    if norm == "linf" and sizes.size:
        return float(sizes.max()) * math.sqrt(2.0 * math.log1p(sizes.size))
    return _length(sizes)


def _length(entries: FloatArray) -> float:
    """Relative to the largest, no square overflows."""
    largest = float(entries.max(initial=0.0))
    return largest * float(np.linalg.norm(entries / largest)) if largest > 0 else 0.0


def is_auto(radius: Any) -> bool:
    """Whether a parameter asks for the automatic radius."""
    return isinstance(radius, str) and radius == AUTO


def given_radius(radius: Any) -> float | None:
    """The radius that a parameter names, None if it is to be found."""
    if is_auto(radius):
        return None
    if isinstance(radius, str):
        raise ValueError(
            f"radius = {radius!r} must be 'auto' or a finite number at or above 0; 0 is plain logistic regression."
        )
    return require_radius(radius)


def told(radius: float | None) -> str:
    """A radius in a title; None is one that is still to be found."""
    return AUTO if radius is None else f"{radius:g}"


class FoundRadius(NamedTuple):
    """The radius, what it follows from, and the solution of the last problem on the way to that of (1)."""

    radius: float
    error: SamplingError
    nearest: RobustCoefficients | None


def find_radius(error: SamplingError, solve: Solve, options: SolveOptions, ask: Ask | None = None) -> FoundRadius:
    """The radius of (1), or the multiple of it that rows held out ask for, to two digits.

    Parameters
    ----------
    error : SamplingError
    solve : callable
        ``solve(radius, options, warm_start)`` returns the optimum at a radius.
    options : SolveOptions
        Those of the fit; the search stops at its own tolerance, and takes at most a part of the time limit.
    ask : callable, optional
        ``ask(radius, options)`` asks rows that are held out; None where there are too many or too few.
    """
    limit = None if options.time_limit is None else PARAMETERS.time_share * options.time_limit
    own = replace(options, tolerance=PARAMETERS.tolerance, max_iter=None, time_limit=limit, polish=False)
    nearest: RobustCoefficients | None = None

    def price_at(radius: float) -> float | None:
        nonlocal nearest
        if own.out_of_time:
            return None
        nearest = solve(radius, own, nearest)
        return None if own.out_of_time else nearest.price

    radius, converged = automatic_radius(error, price_at)
    answer = ask(radius, own) if ask is not None and converged and radius > 0 else None
    if answer is not None:
        radius = _rounded(radius * answer.multiple)
    return FoundRadius(radius, replace(error, converged=converged and not own.out_of_time, held_out=answer), nearest)


Solve = Callable[[float, SolveOptions, RobustCoefficients | None], RobustCoefficients]
Ask = Callable[[float, SolveOptions], HeldOut | None]


def automatic_radius(error: SamplingError, price_at: Callable[[float], float | None]) -> tuple[float, bool]:
    """The radius of (1), to two digits, and whether the search came to its end.

    Premiums rise with the radius up to a maximum and then fall to 0. From the highest radius downwards, the first step to
    premium / lambda cannot go too far, as lambda falls with the radius; further steps go along the secant of log premium over
    log radius.

    Parameters
    ----------
    error : SamplingError
    price_at : callable
        lambda(r), or None if time is over: the search then ends where it is.
    """
    if not error.highest > 0:  # nothing that matters can shift
        return 0.0, True
    radius, converged = error.highest, False
    above: tuple[float, float] | None = None
    below: tuple[float, float] | None = None
    for _ in range(PARAMETERS.max_solves):
        price = price_at(radius)
        if price is None:
            break
        place = math.log(radius)
        miss = math.log(radius * price / error.premium) if price > 0 else -math.inf
        converged = abs(miss) <= PARAMETERS.near or (above is None and miss < 0)
        if converged:
            break
        former = above
        if miss > 0:
            above = place, miss
        else:
            below = place, miss
        if above is not None and below is not None:
            converged = above[0] - below[0] <= PARAMETERS.near
            if converged:
                break
            # Between the two by proportion, and not too near to either.
            part = min(max(above[1] / (above[1] - below[1]), 0.1), 0.9)
            place = above[0] + part * (below[0] - above[0])
        else:
            slope = 1.0 if former is None else (former[1] - miss) / (former[0] - place)
            place -= miss / min(max(slope, 0.25), 1.0)
        radius = math.exp(place)
    return _rounded(radius), converged


def _rounded(radius: float) -> float:
    return float(f"{radius:.{PARAMETERS.digits - 1}e}")
