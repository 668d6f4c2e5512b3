"""Certainties that environments of one's own data speak for: what a column's distance between them says in terms of rho and u.

As Laplace noise of scale b a shift keeps within u with probability 1 - exp(-u / b), and b is also its mean size. The share of
rows that keep their level is rho itself. ``site_distances`` has b and 1 - rho of sites; of pairs of rows they are read off.

A site that never measured a column shows the largest shift of all: its model sees what fills the gaps, the median of all values
for numbers and a level of its own for categories. So gaps count as these.

Where chance is taken off, nothing may be left of a column. That it never shifts does not follow: of N rows nobody sees a share
below 1 / N, so a category is at most as sure as 1 - 1 / N, and a number as a double can say short of never. A column that costs
nothing at all would let models grow without end along a level that occurs with one label only.

A share that stays the same may be at or below chance, where a change has no positive price and the paper's formulas end: sites
can differ more than a column drawn anew would. The nearest that a robust model can express is a change that costs next to
nothing, so the certainty is raised to where its price is LEAST_PRICE, with a warning. Chance is that of the smallest number of
levels among the rows without one site: calibration may see these alone.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.design.encode.schema import Level
from surefoot.exceptions import BelowChanceWarning, InvalidTableError, UnmeasuredColumnWarning
from surefoot.shift.column_settings import DEFAULT_INTERVAL, by_position, interval_width
from surefoot.shift.environments import Environments
from surefoot.shift.prices import LEAST_PRICE, certainty_at_price
from surefoot.shift.site_distances import changed_share, mean_move

# Just below 1, where the price of a number, -log(1 - rho) / u, still has three digits.
SUREST = 1.0 - 1e-13


@dataclass(frozen=True)
class Estimates:
    """Certainties and intervals by column name."""

    numeric_certainty: dict[str, float]
    numeric_interval: dict[str, float]
    categorical_certainty: dict[str, float]


@dataclass(frozen=True)
class Comparison:
    """How environments are compared, and what messages call them.

    Attributes
    ----------
    paired : bool
        Row i of both environments is the same person or thing.
    correct : bool
        What chance explains is taken off.
    spread_of_first : bool
        Standard deviations are those of the first environment, where it has measured the column, and not of all rows.
    place : str
        What an environment is: "site" or "table".
    """

    paired: bool = False
    correct: bool = True
    spread_of_first: bool = False
    place: str = "site"


def estimate_certainties(
    found: Environments, numeric: Sequence[str], categorical: Sequence[str], interval: Any, how: Comparison
) -> Estimates:
    """Certainties of all columns.

    Parameters
    ----------
    found : Environments
    numeric, categorical : names of the columns of either kind
    interval : float, str, or mapping of columns to those, or None
        As ``numeric_interval`` of a shift model.
    how : Comparison
    """
    place = {name: at for at, name in enumerate(found.table.names)}
    widths = by_position(interval, found.table, "numeric_interval")
    plain = None if widths else interval
    estimates = Estimates({}, {}, {})
    unmeasured: dict[str, tuple[Level, ...]] = {}
    for name in numeric:
        values, gaps = found.numbers(place[name])
        unmeasured[name] = found.unmeasured(gaps)
        size = _paired_move(values, gaps, found) if how.paired else _move(values, found, how)
        given = widths.get(place[name], plain)
        given = DEFAULT_INTERVAL if given is None else given
        width = interval_width(given, _spread(values, gaps, found, how) if isinstance(given, str) else 0.0)
        # A constant column has no width of its own; that of its moves gives the same price.
        ratio = width / size if size > 0 and width > 0 else 1.0
        certainty = -math.expm1(-ratio) if size > 0 else 1.0
        shifts = how.correct and bool(np.any(values != values[0]))
        estimates.numeric_certainty[name] = min(certainty, SUREST) if shifts else certainty
        estimates.numeric_interval[name] = width or size or 1.0
    for name in categorical:
        codes, n_levels, gaps = found.levels(place[name])
        unmeasured[name] = found.unmeasured(gaps)
        unchanged = surest(1.0 - _changes(codes, n_levels, found, how), found, how)
        estimates.categorical_certainty[name] = _raised(
            name, unchanged, _fewest_levels(codes, n_levels, found), how, quietly=bool(unmeasured[name])
        )
    _warn_of_unmeasured({name: sites for name, sites in unmeasured.items() if sites}, how)
    return estimates


def surest(certainty: float, found: Environments, how: Comparison) -> float:
    """A certainty of categories or labels, or, where chance was taken off, the most that so many rows can tell."""
    return min(certainty, 1.0 - 1.0 / found.codes.size) if how.correct else certainty


def _move(values: Any, found: Environments, how: Comparison) -> float:
    return mean_move(values, found.codes, len(found.names), correct=how.correct)


def _paired_move(values: Any, gaps: NDArray[np.bool_], found: Environments) -> float:
    """Pairs with a gap tell nothing, but if one of the tables has nothing else."""
    first, second = (found.codes == at for at in range(2))
    known = ~(gaps[first] | gaps[second])
    if not known.any():
        if not found.unmeasured(gaps):
            raise InvalidTableError("no row has a value both before and after in some column. Leave such columns out.")
        known = ~(gaps[first] & gaps[second])
    return float(np.abs(values[second] - values[first])[known].mean())


def _changes(codes: NDArray[np.intp], n_levels: int, found: Environments, how: Comparison) -> float:
    if how.paired:
        return float(np.mean(codes[found.codes == 0] != codes[found.codes == 1]))
    return changed_share(codes, n_levels, found.codes, len(found.names), correct=how.correct)


def _spread(values: Any, gaps: NDArray[np.bool_], found: Environments, how: Comparison) -> float:
    """Standard deviation of the values that are there."""
    present = ~gaps
    if how.spread_of_first and np.any(present & (found.codes == 0)):
        present &= found.codes == 0
    own = values[present]
    largest = float(np.abs(own).max())
    # In units of the largest value nothing overflows.
    return largest * float(np.std(own / largest)) if largest > 0 else 0.0


def _fewest_levels(codes: NDArray[np.intp], n_levels: int, found: Environments) -> int:
    """Of the rows without one site, the smallest number of levels above 1."""
    counts = np.bincount(found.codes * n_levels + codes, minlength=len(found.names) * n_levels)
    by_site = counts.reshape(len(found.names), n_levels)
    others = np.count_nonzero(by_site.sum(axis=0) - by_site, axis=1)
    return int(min((count for count in others if count > 1), default=n_levels))


def _raised(name: str, unchanged: float, fewest: int, how: Comparison, *, quietly: bool) -> float:
    """The certainty itself, or the least that has a price."""
    least = certainty_at_price(LEAST_PRICE, fewest)
    if fewest < 2 or unchanged >= least:
        return unchanged
    if not quietly:
        between = "between the two tables" if how.place == "table" else "from one site to the others"
        warnings.warn(
            f"column {name!r}: a share of {unchanged:.4g} of its values stays the same {between}, but one that "
            f"is drawn anew among {fewest} levels stays the same with probability {1 / fewest:.4g}. So its certainty is set to "
            f"{least:.4g}, just above chance, and a robust model will hardly use the column. Drop it if it should not be used "
            "at all, or give it a certainty of your own if the next table will not differ as much as these do.",
            BelowChanceWarning,
            stacklevel=4,
        )
    return least


def _warn_of_unmeasured(columns: dict[str, tuple[Level, ...]], how: Comparison) -> None:
    if not columns:
        return
    listed = "; ".join(f"column {name!r} in {how.place} {', '.join(map(repr, sites))}" for name, sites in columns.items())
    warnings.warn(
        f"never measured: {listed}. Models see what fills the gaps there, so these count as the median of all values, or as a "
        "level of their own, and the certainty of these columns is as low as that makes it. If they will be measured tomorrow, "
        f"leave out the {how.place}s that lack them, or set certainties of your own with dataclasses.replace.",
        UnmeasuredColumnWarning,
        stacklevel=4,
    )
