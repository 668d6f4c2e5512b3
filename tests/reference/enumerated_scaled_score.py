"""The best score card of free scale by trying every card and searching every multiplier: slow and obviously right."""

from __future__ import annotations

import itertools

import numpy as np

from surefoot.problems.risk_score import RiskScore, RiskScoreProblem

# Each round keeps two thirds of the interval of scales, on which the loss is convex.
ROUNDS = 90


def best_multipliers(problem: RiskScoreProblem, cards: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Loss and multiplier of every card (rows of intercept and points)."""
    margins = problem.labels * (cards[:, :1] + cards[:, 1:] @ problem.columns.T)

    def at(scale: np.ndarray) -> np.ndarray:
        return np.logaddexp(0.0, -scale[:, None] * margins) @ problem.weights

    low = np.full(len(cards), 1 / problem.multipliers[1])
    high = np.full(len(cards), 1 / problem.multipliers[0])
    ends = np.minimum(at(low), at(high))
    for _ in range(ROUNDS):
        third, two_thirds = low + (high - low) / 3, high - (high - low) / 3
        left = at(third) <= at(two_thirds)
        high, low = np.where(left, two_thirds, high), np.where(left, low, third)
    return np.minimum(at(low), ends), 1 / low


def best_scaled_card(problem: RiskScoreProblem) -> tuple[float, RiskScore | None]:
    """Value of the best admissible card and one that has it; infinity and None if there is none."""
    choices = [range(problem.intercept_lower, problem.intercept_upper + 1)]
    choices += [range(low, high + 1) for low, high in zip(problem.lower, problem.upper, strict=True)]
    cards = np.array([card for card in itertools.product(*choices) if np.count_nonzero(card[1:]) <= problem.max_features])
    losses, multipliers = best_multipliers(problem, cards)
    values = losses + problem.penalty * np.count_nonzero(cards[:, 1:], axis=1)
    for at in np.argsort(values):
        card = RiskScore(int(cards[at, 0]), cards[at, 1:].astype(np.int32), float(multipliers[at]))
        if problem.admits(card):
            return float(values[at]), card
    return np.inf, None
