"""The best robust score card by trying every card and every set of flips: slow and obviously right."""

from __future__ import annotations

import itertools

import numpy as np

from reference.golden_section import narrowed
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem

# Of the golden section; the price is known to 2e-15 of its range at the end.
ROUNDS = 70


def robust_losses(problem: RiskScoreProblem, cards: np.ndarray, rounds: int = ROUNDS) -> np.ndarray:
    """Robust loss of every card (rows of intercept and points).

    All sets of flips of all columns and of the label are listed for every row, whether or not a card uses them; the price
    lambda is searched for in an interval on which the loss is convex.
    """
    shift = problem.shift
    assert shift is not None
    flippable = np.flatnonzero(shift.flips & np.isfinite(shift.prices))
    losses, costs = [], []
    for chosen in itertools.product([False, True], repeat=flippable.size):
        flipped = flippable[np.array(chosen, dtype=bool)]
        shifted = problem.columns.copy()
        shifted[:, flipped] = 1.0 - shifted[:, flipped]
        scores = cards[:, :1] + cards[:, 1:] @ shifted.T
        for sign in (1.0, -1.0) if np.isfinite(shift.label_price) else (1.0,):
            losses.append(np.logaddexp(0.0, -sign * problem.labels * scores))
            costs.append(shift.prices[flipped].sum() + (shift.label_price if sign < 0 else 0.0))
    stacked, paid = np.stack(losses), np.array(costs)

    def at(price: np.ndarray) -> np.ndarray:
        worst = (stacked - (paid[:, None] * price)[:, :, None]).max(axis=0)
        return price * shift.radius + worst @ problem.weights

    moving = ~shift.flips
    low = np.max(np.abs(cards[:, 1:][:, moving]) / shift.prices[moving], axis=1, initial=0.0)
    # No shift gains more than the largest loss, and none costs less than the cheapest.
    high = low + stacked.max() / paid[paid > 0].min(initial=1.0) + 1.0
    low, high = narrowed(at, low, high, rounds)
    return np.minimum(at(low), at(high))


def best_robust_card(problem: RiskScoreProblem) -> tuple[float, RiskScore | None]:
    """Value of the best admissible card and one that has it; infinity and None if there is none."""
    choices = [range(problem.intercept_lower, problem.intercept_upper + 1)]
    choices += [range(low, high + 1) for low, high in zip(problem.lower, problem.upper, strict=True)]
    listed = [RiskScore(card[0], np.array(card[1:], dtype=np.int32)) for card in itertools.product(*choices)]
    admitted = [card for card in listed if problem.admits(card)]
    if not admitted:
        return np.inf, None
    cards = np.array([np.append(card.intercept, card.points) for card in admitted])
    values = np.concatenate([robust_losses(problem, part) for part in np.array_split(cards, max(1, len(cards) // 200))])
    values = values + problem.penalty * np.count_nonzero(cards[:, 1:], axis=1)
    best = int(np.argmin(values))
    return float(values[best]), admitted[best]
