"""From a fitted card to its print-out: kinds and ranges of the columns, names of the classes, and what is proven."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from surefoot.core.arrays import AnyArray, FloatArray
from surefoot.design.binarize.binary_column import BinaryColumn
from surefoot.reports.card.card_line import ValueKind
from surefoot.reports.card.card_proof import CardProof
from surefoot.reports.card.score_card import ScoreCard


def value_ranges(block: FloatArray, names: tuple[str, ...], points: AnyArray) -> dict[str, tuple[ValueKind, float, float]]:
    """Kind and range of the values of every column with points, by name."""
    found: dict[str, tuple[ValueKind, float, float]] = {}
    for at in np.flatnonzero(points):
        values = block[:, at]
        kind: ValueKind = "real"
        if np.all((values == 0) | (values == 1)):
            kind = "binary"
        elif np.all(values == np.rint(values)):
            kind = "integer"
        found[names[at]] = (kind, float(values.min()), float(values.max()))
    return found


def print_card(
    points: Mapping[str, int],
    intercept: int,
    multiplier: float,
    classes: AnyArray,
    ranges: Mapping[str, tuple[ValueKind, float, float]],
    proof: CardProof | None,
    *,
    title: str,
    meanings: Iterable[BinaryColumn],
    rates: str = "",
) -> ScoreCard:
    """The card of a fitted model."""
    names: list[Any] = classes.tolist()
    return ScoreCard.from_points(
        points,
        intercept,
        kinds={name: kind for name, (kind, _, _) in ranges.items()},
        ranges={name: (low, high) for name, (kind, low, high) in ranges.items() if kind != "binary"},
        meanings=meanings,
        multiplier=multiplier,
        classes=(str(names[0]), str(names[1])),
        title=title,
        proof=proof,
        rates=rates,
    )
