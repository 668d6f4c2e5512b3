"""Small random risk score problems; rules are drawn last, so seeds name other problems than in drawn_score."""

from __future__ import annotations

import numpy as np

from reference.drawn_score import binary_table, draw_columns, draw_rules
from surefoot.riskscore.problem.problem import RiskScoreProblem

__all__ = ["binary_table", "draw_problem"]


def draw_problem(seed: int, kind: str, *, weighted: bool = False, ruled: bool = False) -> RiskScoreProblem:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 60)), int(rng.integers(2, 5))
    X = draw_columns(rng, kind, (n, d))
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-(X @ rng.normal(size=d) * 1.5 + rng.normal()))), 1.0, -1.0)
    weights = rng.exponential(size=n) if weighted else np.ones(n)
    M = int(rng.integers(1, 4))
    lower, upper = np.full(d, -M), np.full(d, M)
    if ruled:
        lower[0], upper[-1] = 0, max(0, M - 1)
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
        draw_rules(rng, d) if ruled else (),
    )
