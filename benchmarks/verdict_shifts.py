"""Worst cases of logistic losses by enumeration, in decimals: every place that a row can go to is a piece.

Every label and every vector of categories is one. Columns with a range triple them: along each a row stays or goes to one of
two ends, since a loss less the price of a move is convex in where the move ends, but for the kink where it begins.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray
from verdict_numbers import Numbers, bisected, exact, exactly, softplus, total

# Categories, label, numbers and ground cost.
Move = tuple[tuple[int, ...], float, tuple[float, ...], float]


@dataclass
class Model:
    """Exact coefficients: intercept, numeric columns, levels of each category, and the price."""

    intercept: Decimal
    numeric: Numbers
    levels: list[Numbers]
    price: Decimal


@dataclass
class Rows:
    """The problem as the reference reads it."""

    numeric: NDArray[Any]
    codes: NDArray[Any]
    n_levels: list[int]
    labels: NDArray[Any]
    weights: NDArray[Any]
    gamma: NDArray[Any]
    delta: NDArray[Any]
    kappa: float
    radius: float
    norm: str
    intercept: bool
    # Two ends for each numeric column, infinite without a range; None if no column has one.
    ranges: NDArray[Any] | None = None

    @property
    def endless(self) -> NDArray[Any]:
        """Prices of the columns along which a row moves without end, infinite for the others."""
        return self.gamma if self.ranges is None else np.where(np.isfinite(self.ranges[:, 0]), np.inf, self.gamma)

    def places(self, row: int) -> list[tuple[tuple[float, ...], float]]:
        """Where a row can go along columns with ranges: all its numbers, and the price."""
        found: list[tuple[tuple[float, ...], float]] = [((), 0.0)]
        for j, own in enumerate(self.numeric[row].tolist()):
            ends = [] if self.ranges is None or not np.isfinite(self.gamma[j]) else self.ranges[j].tolist()
            goes = [own, *(end for end in dict.fromkeys(ends) if np.isfinite(end) and end != own)]
            prices = [float(self.gamma[j]) * abs(to - own) if to != own else 0.0 for to in goes]
            found = [((*at, to), cost + more) for at, cost in found for to, more in zip(goes, prices, strict=True)]
        return found

    def moves(self, row: int) -> list[Move]:
        """Where a row can go: categories, label, numbers and ground cost; first of all, nowhere."""
        own, label = tuple(self.codes[row].tolist()), float(self.labels[row])
        stays = tuple(self.numeric[row].tolist())
        found = []
        for levels in itertools.product(*(range(count) for count in self.n_levels)):
            cost = sum(float(self.delta[l]) for l, level in enumerate(levels) if level != own[l])
            for sign in (label, -label):
                for numbers, further in self.places(row):
                    price = cost + (self.kappa if sign != label else 0.0) + further
                    free = (levels, sign, numbers) == (own, label, stays)
                    if free or (np.isfinite(price) and self.radius > 0):
                        found.append((levels, sign, numbers, 0.0 if free else price))
        return sorted(found, key=lambda move: move[3])


@exactly
def admitting_price(rows: Rows, model: Model) -> Decimal:
    """The least price at which moving numeric columns gains nothing."""
    parts = [
        abs(beta) / Decimal(price) for beta, price in zip(model.numeric, rows.endless.tolist(), strict=True) if price < np.inf
    ]
    if not parts or rows.radius == 0:
        return Decimal(0)
    if rows.norm == "l1":
        return max(parts)
    return total(part * part for part in parts).sqrt() if rows.norm == "l2" else total(parts)


@exactly
def objectives(rows: Rows, model: Model) -> tuple[Decimal, Decimal]:
    """The objective at the model's price, raised where it must be, and that at the best price."""
    weights, radius = exact(rows.weights), Decimal(rows.radius)
    pieces: list[list[tuple[Decimal, Decimal]]] = []
    for i in range(len(rows.labels)):
        moves = rows.moves(i)
        beside = {to: total(model.levels[l][level] for l, level in enumerate(to)) for to in {move[0] for move in moves}}
        base = {
            to: model.intercept + total(Decimal(x) * beta for x, beta in zip(to, model.numeric, strict=True))
            for to in {move[2] for move in moves}
        }
        pieces.append([(softplus(-int(sign) * (base[at] + beside[to])), Decimal(price)) for to, sign, at, price in moves])

    def value(price: Decimal) -> Decimal:
        return price * radius + total(w * max(c - price * d for c, d in row) for w, row in zip(weights, pieces, strict=True))

    def slope(price: Decimal) -> Decimal:
        spent = (max((c - price * d, -d) for c, d in row)[1] for row in pieces)
        return radius + total(w * d for w, d in zip(weights, spent, strict=True))

    least = admitting_price(rows, model)
    highest = max([least, *((c - row[0][0]) / d for row in pieces for c, d in row if d > 0)])
    best = min(value(least), value(bisected(slope, least, highest))) if rows.radius > 0 else value(least)
    return value(max(least, model.price)), best
