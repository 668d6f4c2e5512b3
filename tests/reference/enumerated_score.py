"""The best score card by trying every one: slow and obviously right."""

from __future__ import annotations

import itertools

import numpy as np

from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem


def best_card(problem: RiskScoreProblem) -> tuple[float, RiskScore | None]:
    """Value of the best admissible card and one that has it; infinity and None if there is none."""
    intercepts = np.arange(problem.intercept_lower, problem.intercept_upper + 1)
    best, found = np.inf, None
    choices = [range(low, high + 1) for low, high in zip(problem.lower, problem.upper, strict=True)]
    for points in itertools.product(*choices):
        chosen = np.array(points, dtype=np.int32)
        if np.count_nonzero(chosen) > problem.max_features:
            continue
        partial = problem.columns @ chosen
        margins = problem.labels[:, None] * (partial[:, None] + intercepts[None, :])
        values = problem.weights @ np.logaddexp(0.0, -margins) + problem.penalty * np.count_nonzero(chosen)
        for at in np.argsort(values):
            if values[at] >= best:
                break
            card = RiskScore(int(intercepts[at]), chosen)
            if problem.admits(card):
                best, found = float(values[at]), card
                break
    return best, found


def all_cards(problem: RiskScoreProblem) -> dict[tuple[int, ...], float]:
    """Objective of every admissible card, by intercept and points."""
    intercepts = np.arange(problem.intercept_lower, problem.intercept_upper + 1)
    cards = {}
    choices = [range(low, high + 1) for low, high in zip(problem.lower, problem.upper, strict=True)]
    for points in itertools.product(*choices):
        chosen = np.array(points, dtype=np.int32)
        if np.count_nonzero(chosen) > problem.max_features:
            continue
        partial = problem.columns @ chosen
        margins = problem.labels[:, None] * (partial[:, None] + intercepts[None, :])
        values = problem.weights @ np.logaddexp(0.0, -margins) + problem.penalty * np.count_nonzero(chosen)
        for intercept, value in zip(intercepts.tolist(), values.tolist(), strict=True):
            if problem.admits(RiskScore(intercept, chosen)):
                cards[(intercept, *points)] = value
    return cards
