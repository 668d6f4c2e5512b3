"""The best robust score card of free scale by trying every card, multiplier and set of flips: slow and obviously right."""

from __future__ import annotations

import numpy as np

from reference.enumerated_robust_score import ROUNDS, robust_losses
from reference.enumerated_scaled_score import allowed_scales, scaled_cards
from reference.golden_section import narrowed
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem

# Rounds of a first look, which is right to MARGIN: scales are then known to 2e-5, prices to 3e-4, and slopes are below 10.
FIRST = 25
MARGIN = 5e-3
# Cards looked at together.
PART = 60


def scaled_robust_losses(problem: RiskScoreProblem, cards: np.ndarray, rounds: int = ROUNDS) -> tuple[np.ndarray, np.ndarray]:
    """Loss and multiplier of every card (rows of intercept and points), for which the rules leave some multiplier.

    The loss is convex in the scale, which is searched for in its interval; for each scale, the price is searched for likewise.
    """
    low, high = allowed_scales(problem, cards)
    high = np.maximum(low, high)

    def at(scale: np.ndarray) -> np.ndarray:
        return robust_losses(problem, scale[:, None] * cards, rounds)

    # At an end of the interval the search stops short of it.
    scales = np.stack([low, high, narrowed(at, low, high, rounds)[0]])
    losses = np.stack([at(scale) for scale in scales])
    best = losses.argmin(axis=0), np.arange(len(cards))
    return losses[best], 1 / scales[best]


def scaled_robust_cards(problem: RiskScoreProblem, tolerance: float = 0.0) -> list[tuple[float, RiskScore]]:
    """Value of every admissible card, those near the best, sorted; none of those left out is as good.

    The worst case is no better than the rows as they are, so cards are taken in the order of their plain value until that is
    too large. A first look leaves few of them, and those are looked at closely.
    """
    cards, plain, multipliers = scaled_cards(problem)
    listed = [RiskScore(int(c[0]), c[1:].astype(np.int32), float(m)) for c, m in zip(cards, multipliers, strict=True)]
    fine = np.array([bool(np.isfinite(v)) and problem.admits(card) for v, card in zip(plain, listed, strict=True)])
    order = np.flatnonzero(fine)[np.argsort(plain[fine])]
    price = problem.penalty * np.count_nonzero(cards[:, 1:], axis=1)
    first = np.full(len(cards), np.inf)
    for part in np.array_split(order, max(1, len(order) // PART)):
        if part.size and plain[part[0]] <= first.min() * (1 + tolerance) + MARGIN:
            first[part] = scaled_robust_losses(problem, cards[part], FIRST)[0] + price[part]
    near = np.flatnonzero(first <= first.min() * (1 + tolerance) + MARGIN) if order.size else order
    if not near.size:
        return []
    values, multipliers = scaled_robust_losses(problem, cards[near])
    values = values + price[near]
    found = [
        (float(values[k]), RiskScore(listed[near[k]].intercept, listed[near[k]].points, float(multipliers[k])))
        for k in np.argsort(values)
    ]
    return [pair for pair in found if pair[0] <= found[0][0] * (1 + tolerance)]


def best_scaled_robust_card(problem: RiskScoreProblem) -> tuple[float, RiskScore | None]:
    """Value of the best admissible card and one that has it; infinity and None if there is none."""
    return next(iter(scaled_robust_cards(problem)), (np.inf, None))
