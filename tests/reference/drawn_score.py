"""Small random risk score problems, few enough cards to try them all."""

from __future__ import annotations

import numpy as np

from surefoot.riskscore.problem.card_rules import GroupRule, ImplicationRule, LinearRule
from surefoot.riskscore.problem.problem import RiskScoreProblem


def draw_columns(rng: np.random.Generator, kind: str, shape: tuple[int, int]) -> np.ndarray:
    if kind == "binary":
        return (rng.random(shape) < rng.uniform(0.1, 0.9, shape[1])).astype(float)
    if kind == "integer":
        return rng.integers(-1, 4, shape).astype(float)
    if kind == "real":
        return rng.normal(size=shape).round(2)
    mixed = draw_columns(rng, "binary", shape)
    mixed[:, 0] = rng.integers(0, 5, shape[0])
    return mixed


def draw_problem(seed: int, kind: str, *, weighted: bool = False, ruled: bool = False, twins: bool = False) -> RiskScoreProblem:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 60)), int(rng.integers(2, 5))
    X = draw_columns(rng, kind, (n, d))
    if twins:
        X[:, 1] = X[:, 0] if seed % 2 else X[:, 0].max() + X[:, 0].min() - X[:, 0]
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-(X @ rng.normal(size=d) * 1.5 + rng.normal()))), 1.0, -1.0)
    weights = rng.exponential(size=n) if weighted else np.ones(n)
    M = int(rng.integers(1, 4))
    lower, upper = np.full(d, -M), np.full(d, M)
    if ruled:
        lower[0], upper[-1] = 0, max(0, M - 1)
    rules = draw_rules(rng, d) if ruled else ()
    return RiskScoreProblem(
        X,
        y,
        weights / weights.sum(),
        lower,
        upper,
        -6,
        6,
        int(rng.integers(1, d + 1)),
        float(rng.choice([0, 1e-8, 0.02])),
        rules,
    )


def draw_rules(rng: np.random.Generator, d: int) -> tuple[GroupRule | ImplicationRule | LinearRule, ...]:
    person = np.zeros(d)
    person[rng.integers(d)] = 1.0
    rules = (
        GroupRule((0, 1), least=0, most=1),
        GroupRule(tuple(range(d)), least=1),
        ImplicationRule((d - 1,), (0, 1)),
        LinearRule(person, lower=float(rng.choice([-3, 0, 1]))),
        LinearRule(person, upper=float(rng.choice([-1, 0, 2]))),
    )
    return tuple(rule for rule in rules if rng.random() < 0.5)


def binary_table(seed: int = 0, n: int = 600, d: int = 14, size: int = 4) -> RiskScoreProblem:
    rng = np.random.default_rng(seed)
    X = draw_columns(rng, "binary", (n, d))
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-(X @ rng.normal(size=d)))), 1.0, -1.0)
    return RiskScoreProblem(X, y, np.full(n, 1 / n), np.full(d, -3), np.full(d, 3), -20, 20, size, 1e-8)
