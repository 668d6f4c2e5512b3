"""Inverse optimization with every decision written out: slow, and obviously right."""

from __future__ import annotations

from collections.abc import Callable

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Signal = tuple[Array, Array]


def binary_vectors(n: int) -> Array:
    return np.array([[(k >> j) & 1 for j in range(n)] for k in range(2**n)], dtype=np.float64)


def decisions(signal: Signal) -> Array:
    matrix, ceiling = signal
    every = binary_vectors(matrix.shape[1])
    return np.array([x for x in every if np.all(matrix @ x <= ceiling + 1e-9)])


def drawn(
    n: int, t: int, n_examples: int, seed: int, *, noise: float = 0.0, signed: bool = False
) -> tuple[Array, list[Signal], list[Array]]:
    """A cost, signals and the decisions it leads to: Sections 6.1 (signed: 6.2) of the paper."""
    random = np.random.default_rng(seed)
    theta = random.uniform(-1 if signed else 0, 1, n)
    signals: list[Signal] = []
    responses: list[Array] = []
    while len(signals) < n_examples:
        signal = random.uniform(-1, 1 if signed else 0, (t, n)), random.uniform(-1, 0, t)
        open_to = decisions(signal)
        if len(open_to):
            signals.append(signal)
            responses.append(open_to[np.argmin(open_to @ (theta + noise * random.normal(size=n)))])
    return theta, signals, responses


def distance(name: str, response: Array, points: Array) -> Array:
    apart = points - response
    return {
        "l1": lambda: np.abs(apart).sum(axis=1),
        "l2": lambda: np.linalg.norm(apart, axis=1),
        "squared-l2": lambda: (apart**2).sum(axis=1),
        "linf": lambda: np.abs(apart).max(axis=1),
        "zero-one": lambda: np.any(apart != 0, axis=1).astype(float),
        "none": lambda: np.zeros(len(points)),
    }[name]()


def loss(
    theta: Array,
    signals: list[Signal],
    responses: list[Array],
    name: str,
    features: Callable[[Signal, Array], Array] = lambda _s, x: x,
) -> Array:
    """The augmented suboptimality loss of every observation."""
    found = []
    for signal, response in zip(signals, responses, strict=True):
        points = decisions(signal)
        gain = np.array([features(signal, response) - features(signal, x) for x in points]) @ theta
        found.append(np.max(gain + distance(name, response, points)))
    return np.array(found)


def smallest_loss(
    signals: list[Signal],
    responses: list[Array],
    *,
    name: str = "l2",
    kappa: float = 0.0,
    regularizer: str = "l2",
    center: Array | None = None,
    limits: Callable[[cp.Variable], list[cp.Constraint]] = lambda _theta: [],
    clamp: bool = False,
) -> float:
    """Problem (15) by cvxpy."""
    p = responses[0].size
    theta, beta = cp.Variable(p), cp.Variable(len(signals))
    rules = limits(theta)
    for i, (signal, response) in enumerate(zip(signals, responses, strict=True)):
        points = decisions(signal)
        rules.append((response - points) @ theta + distance(name, response, points) <= beta[i])
    if clamp:
        rules.append(beta >= 0)
    away = theta - (np.zeros(p) if center is None else center)
    size = cp.sum_squares(away) / 2 if regularizer == "l2" else cp.norm1(away)
    task = cp.Problem(cp.Minimize(kappa * size + cp.sum(beta) / len(signals)), rules)
    task.solve(solver=cp.CLARABEL)
    return float(task.value)
