"""Rows that a score card was applied to: total, class and weight of each, and what can be counted from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.design.read.table import read_column, read_table
from surefoot.exceptions import InvalidTableError
from surefoot.reports.reliability import wilson_interval

if TYPE_CHECKING:
    from surefoot.reports.card.score_card import ScoreCard


@dataclass(frozen=True)
class ScoredRows:
    """Totals, classes and weights of rows.

    Attributes
    ----------
    totals : ndarray of shape (n_rows,)
    positive : ndarray of shape (n_rows,), bool
    weights : ndarray of shape (n_rows,)
    """

    totals: FloatArray
    positive: BoolArray
    weights: FloatArray

    def rates(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Thresholds from high to low, and the shares of negative and of positive rows at or above each."""
        thresholds, place = np.unique(self.totals, return_inverse=True)
        shares = []
        for rows in (~self.positive, self.positive):
            own = np.bincount(place, self.weights * rows, minlength=thresholds.size)[::-1]
            shares.append(np.cumsum(own) / own.sum())
        return thresholds[::-1], shares[0], shares[1]

    def auc(self) -> float:
        """Area under the curve of these rates: the chance that a positive row has more points than a negative one."""
        _, false, true = self.rates()
        steps = np.diff(false, prepend=0.0)
        return float(steps @ (true - np.diff(true, prepend=0.0) / 2))


@dataclass(frozen=True)
class ScoreGroup:
    """Rows of one row of the table of risks.

    ``low`` and ``high`` enclose the share of positive rows with 95 % confidence (Wilson's interval).
    """

    label: str
    weight: float
    positives: float
    predicted: float
    low: float
    high: float

    @property
    def observed(self) -> float:
        return self.positives / self.weight


def scored_rows(card: ScoreCard, X: Any, y: Any, sample_weight: Any = None) -> ScoredRows:
    """Apply a card to a table.

    Parameters
    ----------
    card : ScoreCard
    X : data frame or other table with named columns
        Needs the columns that have points, whatever else it holds.
    y : array-like of shape (n_rows,)
        Classes, by the names that the card knows.
    sample_weight : array-like of shape (n_rows,), optional
    """
    totals = card_totals(card, X)
    reading = read_column(y, "y").categories()
    names = np.array([*(str(value) for value in reading.values), ""], dtype=object)
    unknown = [name for name in names[:-1] if name not in card.classes]
    if unknown or np.any(reading.codes < 0) or reading.codes.size != totals.size:
        problem = (
            f"y holds {unknown[0]!r}"
            if unknown
            else "y has missing labels"
            if reading.codes.size == totals.size
            else (f"y has {reading.codes.size} labels for {totals.size} rows")
        )
        raise InvalidTableError(f"{problem}; the classes of the card are {card.classes[0]!r} and {card.classes[1]!r}.")
    positive = (names == card.classes[1])[reading.codes]
    weights = np.ones(totals.size) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != totals.shape or not np.all(np.isfinite(weights) & (weights >= 0)):
        raise InvalidTableError("sample_weight must hold one finite weight at or above 0 for every row.")
    for rows, name in ((positive, card.classes[1]), (~positive, card.classes[0])):
        if not np.any(weights[rows] > 0):
            raise InvalidTableError(f"no row of positive weight is of class {name!r}; there is nothing to compare.")
    return ScoredRows(totals, np.asarray(positive, dtype=bool), weights)


def card_totals(card: ScoreCard, X: Any) -> FloatArray:
    """Total points of every row of a table with named columns."""
    values = column_values(card, X)
    totals = np.zeros(read_table(X).n_rows)
    for line in card.lines:
        totals += line.points * values[line.feature]
    return totals


def column_values(card: ScoreCard, X: Any) -> dict[str, FloatArray]:
    """The columns of all lines of a card, by name, from a table with named columns."""
    table = read_table(X)
    places = {name: at for at, name in enumerate(table.names)}
    missing = [line.feature for line in card.lines if line.feature not in places]
    if missing:
        raise InvalidTableError(f"X lacks column {missing[0]!r}, which has points on the card.")
    found = {}
    for line in card.lines:
        values = table.columns[places[line.feature]].numbers()
        wrong = np.flatnonzero(~np.isfinite(values))
        if wrong.size:
            raise InvalidTableError(f"column {line.feature!r}, row {wrong[0]} holds {values[wrong[0]]}; a card needs numbers.")
        found[line.feature] = values
    return found


def score_groups(card: ScoreCard, rows: ScoredRows, labels: Sequence[str]) -> list[ScoreGroup]:
    """Observed next to predicted risk, for the rows of the card's table of risks that hold anybody."""
    table = card.table
    edges = np.array([row.low for row in table.rows[1:]])
    place = np.searchsorted(edges, rows.totals, side="right")
    count = len(table.rows)
    weight = np.bincount(place, rows.weights, minlength=count).astype(np.float64)
    positives = np.bincount(place, rows.weights * rows.positive, minlength=count)
    risks = np.array([card.risk(total) for total in np.unique(rows.totals)])[np.unique(rows.totals, return_inverse=True)[1]]
    predicted = np.bincount(place, rows.weights * risks, minlength=count)
    held = np.flatnonzero(weight > 0)
    low, high = wilson_interval(positives[held] / weight[held], weight[held])
    return [
        ScoreGroup(labels[at], weight[at], positives[at], predicted[at] / weight[at], float(low[k]), float(high[k]))
        for k, at in enumerate(held.tolist())
    ]
