"""What a card does to groups of people: how many of each it flags, and whether its risks are right for them.

Rates of all kinds are told together, whichever of them a rule limits: like rates of one kind may go with very different rates
of another. Calibration in the large of a group is its mean risk less its observed share; 0 where the risks are right on
average.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.design.read.column import sorted_levels
from surefoot.design.read.table import read_column, read_table
from surefoot.design.write.output_frame import build_frame, frame_library
from surefoot.exceptions import InvalidTableError
from surefoot.reports.card.scored_rows import scored_rows

if TYPE_CHECKING:
    from surefoot.reports.card.score_card import ScoreCard

# Weight, observed share of the positive class, mean risk, and the shares flagged: of all, of the positive, of the other rows.
Rates = tuple[float, float, float, float, float, float]
_NAMES = ("weight", "observed", "predicted", "selection", "tpr", "fpr")


def rates_of_rows(weights: FloatArray, positive: BoolArray, risks: FloatArray, flagged: BoolArray, rows: BoolArray) -> Rates:
    """Rates of the rows that are marked; NaN where none of them is of a class."""
    return (
        float(weights[rows].sum()),
        _mean(weights, rows, positive),
        _mean(weights, rows, risks),
        _mean(weights, rows, flagged),
        _mean(weights, rows & positive, flagged),
        _mean(weights, rows & ~positive, flagged),
    )


def rates_frame(rates: Mapping[str, Rates], library: str | None) -> Any:
    """A data frame with a row for every group."""
    content: dict[str, Any] = {"group": list(rates)}
    columns = {name: np.array(own) for name, own in zip(_NAMES, zip(*rates.values(), strict=True), strict=True)}
    return build_frame(content | columns | {"calibration": columns["predicted"] - columns["observed"]}, library)


def rates_sentence(rates: Mapping[str, Rates], classes: tuple[str, str]) -> str:
    """The rates in words, for a card; nothing if there are none."""
    if not rates:
        return ""
    told = "; ".join(
        f"{name}: {_percent(all_)} ({_percent(true)} and {_percent(false)}), mean risk {_percent(risk)}, "
        f"observed {_percent(share)}"
        for name, (_, share, risk, all_, true, false) in rates.items()
    )
    return f"Training rows flagged by group (of {classes[1]} and of {classes[0]}): {told}."


def card_group_rates(card: ScoreCard, X: Any, y: Any, groups: Any, risk: float, sample_weight: Any) -> Any:
    """Rates of groups of the rows of a table; the parameters are those of :meth:`surefoot.ScoreCard.group_rates`."""
    if not (isinstance(risk, (int, float)) and 0 < risk < 1):
        raise ValueError(f"risk = {risk!r} must be a number between 0 and 1, without the ends.")
    rows = scored_rows(card, X, y, sample_weight)
    place, names = _groups_of(groups, X, rows.totals.size)
    risks = np.array([card.risk(total) for total in rows.totals])
    # As rules have it: above in log odds, so that even odds are exactly a score of 0.
    flagged = (rows.totals + card.intercept) / card.multiplier > math.log(risk) - math.log1p(-risk)
    weights = rows.weights / rows.weights.sum()
    rates = {name: rates_of_rows(weights, rows.positive, risks, flagged, place == k) for k, name in enumerate(names)}
    return rates_frame({name: own for name, own in rates.items() if own[0] > 0}, frame_library(X))


def _groups_of(groups: Any, X: Any, n_rows: int) -> tuple[FloatArray, list[str]]:
    """The group of every row, and the names of the groups."""
    label = "groups"
    if isinstance(groups, str):
        table, label = read_table(X), groups
        if groups not in table.names:
            raise InvalidTableError(f"X lacks column {groups!r}, whose groups are to be compared.")
        reading = table.columns[table.names.index(groups)].categories()
    else:
        reading = read_column(groups, "groups").categories()
    if reading.codes.size != n_rows:
        raise InvalidTableError(f"groups has {reading.codes.size} entries for {n_rows} rows.")
    levels = sorted_levels(list(reading.values), label)
    order = np.array([*(levels.index(value) for value in reading.values), len(levels)])
    return order[reading.codes], [*(f"{label} = {value}" for value in levels), f"{label} missing"]


def _mean(weights: FloatArray, rows: BoolArray, values: FloatArray | BoolArray) -> float:
    weight = float(weights[rows].sum())
    return float(weights[rows] @ values[rows]) / weight if weight > 0 else math.nan


def _percent(share: float) -> str:
    return "none there" if math.isnan(share) else f"{share:.1%}"
