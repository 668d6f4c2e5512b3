"""The warning about a column that nearly decides the label alone: a copy of the answer, or something known only after it.

No proof tells: the model is the best one for such columns, and of no use. So whoever fits is told, with the figure.

A column is judged by what it says of rows that it was not learned from. Rows are put into two halves at random; the shares of
the second class in the bins of one half (levels, or twentieths of the numbers) are probabilities for the other half; and what
counts is how much less their log loss is than that of the share of all rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.design.encode.mixed_design import MixedDesign
from surefoot.exceptions import DoubtfulColumnWarning


class DecidingColumnWarning(DoubtfulColumnWarning):
    """A column nearly decides the label alone, as a copy of the answer does, or what is known only after it."""


@dataclass(frozen=True)
class DecidingParameters:
    """From when on a column is suspected.

    Chosen on COMPAS, where is_recid takes away 0.835 of the log loss and is a leak, and on voting (0.765, the fee freeze), wdbc
    (0.69) and Wisconsin (0.72), where the best column is an honest one. Then looked at on 30 other files of UCI, RiskSLIM,
    HELOC, ACS and diabetes. With the targets that people give them, the odour of mushrooms (0.905, right in 98.5 % of rows) is
    the only honest column that is told of, and the next are 0.53 and 0.51; with targets of two classes made up for this look,
    the health of nursery and three columns of ACS are told of, too.
    """

    # Part of the log loss that a column takes away.
    least_share: float = 0.8
    # What is worth a look beside such a column.
    next_share: float = 0.5
    # Rows below which chance decides, in all and of each class; and rows that are looked at.
    least_rows: int = 100
    least_class: int = 20
    most_rows: int = 20_000
    bins: int = 20


PARAMETERS = DecidingParameters()


@dataclass(frozen=True)
class ColumnShare:
    """How much of the label one column decides: the part of the log loss that it takes away, and of the rows it is right in."""

    label: str
    name: Any
    share: float
    right: float


def warn_of_deciding_columns(
    who: str, design: MixedDesign, signs: NDArray[np.float64], *, meant: Collection[Any] = (), stacklevel: int = 4
) -> None:
    """One warning about columns of a table with names that nearly decide its label; ``meant`` are meant as they are."""
    if not design.schema.named:
        return
    rows = np.arange(signs.size)
    if rows.size > PARAMETERS.most_rows:
        rows = np.linspace(0, rows.size - 1, PARAMETERS.most_rows).astype(np.intp)
    positive = signs[rows] > 0
    found = [one for one in _shares(design, rows, positive) if one.name not in meant]
    text = suspicion(found, max(float(positive.mean()), 1.0 - float(positive.mean())))
    if text is not None:
        warnings.warn(f"{who}: {text}", DecidingColumnWarning, stacklevel=stacklevel)


def suspicion(found: Sequence[ColumnShare], by_guessing: float) -> str | None:
    """What is to be said about columns, the most telling one first; None: nothing."""
    ordered = sorted(found, key=lambda one: -one.share)
    told = [one for one in ordered if one.share >= PARAMETERS.least_share]
    if not told:
        return None
    named = "; ".join(
        f"{one.label} alone nearly decides the label: it is right in {100 * one.right:.1f} % of rows and takes away "
        f"{100 * one.share:.0f} % of the log loss"
        for one in told[:3]
    )
    more = f"; so do {len(told) - 3} more columns" if len(told) > 3 else ""
    beside = [one for one in ordered if PARAMETERS.next_share <= one.share < PARAMETERS.least_share][:5]
    look = f" Look at {', '.join(f'{one.label} ({100 * one.share:.0f} %)' for one in beside)} too." if beside else ""
    return (
        f"{named}{more} (the more frequent class is right in {100 * by_guessing:.1f} %). If this is known only once the "
        "answer is, or is a copy of it, the model is of no use for new rows, and its proof says nothing of that: leave it "
        f"out.{look}"
    )


def _shares(design: MixedDesign, rows: Any, positive: Any) -> list[ColumnShare]:
    count = int(positive.sum())
    if rows.size < PARAMETERS.least_rows or min(count, rows.size - count) < PARAMETERS.least_class:
        return []
    half = np.random.default_rng(0).random(rows.size) < 0.5
    schema, found = design.schema, []
    if isinstance(design.numeric, np.ndarray):
        for at, values in zip(schema.numeric_positions, design.numeric.T, strict=True):
            own = values[rows]
            edges = np.unique(np.quantile(own, np.linspace(0, 1, PARAMETERS.bins + 1)[1:-1]))
            found.append(_share(schema, at, np.searchsorted(edges, own, side="left"), positive, half))
    for at, codes in zip(schema.categorical_positions, design.codes.T, strict=True):
        found.append(_share(schema, at, codes[rows], positive, half))
    return found


def _share(schema: Any, at: int, bins: Any, positive: Any, half: Any) -> ColumnShare:
    probability, guess = np.empty(bins.size), np.empty(bins.size)
    n_bins = int(bins.max()) + 1
    for learned, asked in ((half, ~half), (~half, half)):
        # One row of the usual kind in each bin: what was never seen says nothing.
        usual = (positive[learned].sum() + 0.5) / (learned.sum() + 1.0)
        counts = np.bincount(bins[learned], minlength=n_bins)
        hits = np.bincount(bins[learned], positive[learned], minlength=n_bins)
        probability[asked] = ((hits + usual) / (counts + 1.0))[bins[asked]]
        guess[asked] = usual
    share = 1.0 - _log_loss(probability, positive) / _log_loss(guess, positive)
    right = float(np.mean((probability > 0.5) == positive))
    return ColumnShare(schema.label(at), schema.columns[at].name, share, right)


def _log_loss(probability: NDArray[np.float64], positive: Any) -> float:
    return -float(np.mean(np.log(np.where(positive, probability, 1.0 - probability))))
