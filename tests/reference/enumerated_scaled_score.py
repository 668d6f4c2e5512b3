"""The best score card of free scale by trying every card and searching every multiplier: slow and obviously right."""

from __future__ import annotations

import itertools

import numpy as np

from surefoot.riskscore.problem.card_rules import LinearRule, RateRule
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem

# Each round keeps two thirds of the interval of scales, on which the loss is convex.
ROUNDS = 90


def best_multipliers(problem: RiskScoreProblem, cards: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Loss and multiplier of every card (rows of intercept and points); infinite where the rules leave no multiplier."""
    margins = problem.labels * (cards[:, :1] + cards[:, 1:] @ problem.columns.T)

    def at(scale: np.ndarray) -> np.ndarray:
        return np.logaddexp(0.0, -scale[:, None] * margins) @ problem.weights

    low, high = allowed_scales(problem, cards)
    none = low > high * (1 + 1e-12)
    low, high = np.where(none, 1.0, low), np.where(none, 1.0, np.maximum(low, high))
    first, last = low, high
    ends = np.minimum(at(low), at(high))
    for _ in range(ROUNDS):
        third, two_thirds = low + (high - low) / 3, high - (high - low) / 3
        left = at(third) <= at(two_thirds)
        high, low = np.where(left, two_thirds, high), np.where(left, low, third)
    # At an end the last third stops short of it.
    inner = at(low)
    scale = np.where(inner <= ends, low, np.where(at(first) <= at(last), first, last))
    return np.where(none, np.inf, np.minimum(inner, ends)), 1 / scale


def allowed_scales(problem: RiskScoreProblem, cards: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest 1 / multiplier that rules about risks allow each card: every breakpoint of every rule is tried."""
    low = np.full(len(cards), 1 / problem.multipliers[1])
    high = np.full(len(cards), 1 / problem.multipliers[0])
    for rule in problem.rules:
        if isinstance(rule, LinearRule):
            scores = rule.intercept_coefficient * cards[:, 0] + cards[:, 1:] @ rule.coefficients
            tests = [(scores, rule.lower, rule.upper)]
        elif isinstance(rule, RateRule) and rule.threshold != 0:
            tests = _rate_tests(problem, rule, cards)
        else:
            continue
        for scores, least, most in tests:
            for side, limit in ((scores, least), (-scores, -most)):
                with np.errstate(divide="ignore", invalid="ignore"):
                    end = limit / side
                if limit == -np.inf:
                    continue
                if limit > 0:
                    low = np.where(side > 0, np.maximum(low, end), np.inf)
                elif limit < 0:
                    high = np.where(side < 0, np.minimum(high, end), high)
                else:
                    low = np.where(side >= -1e-9, low, np.inf)
    return low, high


def _rate_tests(problem: RiskScoreProblem, rule: RateRule, cards: np.ndarray) -> list[tuple[np.ndarray, float, float]]:
    """A rate as limits on the log odds of one row: by trying for each row whether it may be the last, or the first, one.

    A row on its threshold is not flagged, so the best multiplier may be one that is only approached, here to 1.1e-11.
    """
    chosen = problem.labels == rule.label
    scores = cards[:, :1] + cards[:, 1:] @ problem.columns[chosen].T
    share = problem.weights[chosen] / problem.weights[chosen].sum()
    # Weight of the rows that are flagged if a row is, itself included.
    flagged = np.stack([(scores >= scores[:, [k]] - 1e-12) @ share for k in range(share.size)], axis=1)
    enough, excess = flagged >= rule.lower - 1e-9, flagged > rule.upper + 1e-9
    must = np.where(enough, scores, -np.inf).max(axis=1)
    must_not = np.where(excess, scores, -np.inf).max(axis=1)
    tests, aside = [], 1.1e-11 * abs(rule.threshold)
    if rule.lower > 0:
        tests.append((must, rule.threshold + aside, np.inf))
    # Where no row is too many there is nothing to keep below the threshold.
    tests.append(
        (np.where(np.isfinite(must_not), must_not, -1e9 if rule.threshold < 0 else 0.0), -np.inf, rule.threshold - aside)
    )
    return tests


def best_scaled_card(problem: RiskScoreProblem) -> tuple[float, RiskScore | None]:
    """Value of the best admissible card and one that has it; infinity and None if there is none."""
    cards, values, multipliers = scaled_cards(problem)
    for at in np.argsort(values):
        card = RiskScore(int(cards[at, 0]), cards[at, 1:].astype(np.int32), float(multipliers[at]))
        if np.isfinite(values[at]) and problem.admits(card):
            return float(values[at]), card
    return np.inf, None


def scaled_cards(problem: RiskScoreProblem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All cards within limits and size, with value and multiplier; rules other than those about risks are not looked at."""
    choices = [range(problem.intercept_lower, problem.intercept_upper + 1)]
    choices += [range(low, high + 1) for low, high in zip(problem.lower, problem.upper, strict=True)]
    cards = np.array([card for card in itertools.product(*choices) if np.count_nonzero(card[1:]) <= problem.max_features])
    losses, multipliers = best_multipliers(problem, cards)
    return cards, losses + problem.penalty * np.count_nonzero(cards[:, 1:], axis=1), multipliers


def near_scaled_cards(problem: RiskScoreProblem, tolerance: float) -> dict[tuple[int, ...], float]:
    """Objective of every admissible card near the best, without those that are multiples of others as good."""
    cards, values, multipliers = scaled_cards(problem)
    near = {}
    for card, value, multiplier in zip(cards, values, multipliers, strict=True):
        if np.isfinite(value) and problem.admits(RiskScore(int(card[0]), card[1:].astype(np.int32), float(multiplier))):
            near[tuple(card.tolist())] = (float(value), float(multiplier))
    if not near:
        return {}
    ceiling = min(value for value, _ in near.values()) * (1 + tolerance)

    def smaller_twin(card: tuple[int, ...]) -> bool:
        for divisor in range(2, max(map(abs, card), default=0) + 1):
            part = tuple(entry // divisor for entry in card)
            if all(entry % divisor == 0 for entry in card) and part in near and near[part][0] <= near[card][0] + 1e-11:
                return True
        return False

    return {card: value for card, (value, _) in near.items() if value <= ceiling and not smaller_twin(card)}
