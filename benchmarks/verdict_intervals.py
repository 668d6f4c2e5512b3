"""Decisions of one continuous unknown under a quadratic cost, as quadratic programmes and as ellipsoids: exact by formula.

    y in [a, b],   cost theta_1 y^2 + theta_2 y   (of an ellipsoid theta_1 y^2 + 2 theta_2 y, which need not be convex)

What a decision saves, plus its distance, is largest at an end of the interval or where its derivative is 0: a few points, with
60 digits. References come from a grid of decisions. They may use decisions outside of the interval by what claims allow.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray
from verdict_numbers import Numbers, exact, exactly

import surefoot as sf

GRID = 401
# By how much decisions may violate a row, as claims say, and a little more.
WIDER = Decimal("1e-8")
Interval = tuple[Decimal, Decimal]


@exactly
def drawn(rng: np.random.Generator, count: int, *, ellipsoid: bool, noisy: bool) -> tuple[list[Any], list[Any], list[Any]]:
    """Signals, responses and intervals."""
    signals, responses, intervals = [], [], []
    theta = np.array([rng.uniform(-0.5 if ellipsoid else 0.05, 2.0), rng.normal()])
    for _ in range(count):
        middle, half = float(np.round(rng.normal(), 3)), float(np.round(rng.uniform(0.2, 2.0), 3))
        if ellipsoid:
            form = float(np.round(rng.uniform(0.5, 2.0), 3))
            shift, constant = -form * middle, form * (middle * middle - half * half)
            root = ((Decimal(shift) ** 2) - Decimal(form) * Decimal(constant)).sqrt() / Decimal(form)
            centre = -Decimal(shift) / Decimal(form)
            low, high = centre - root, centre + root
            signals.append((np.array([[form]]), np.array([shift]), constant))
        else:
            low, high = Decimal(middle - half), Decimal(middle + half)
            signals.append((np.array([[1.0], [-1.0]]), np.array([float(high), -float(low)])))
        points = np.linspace(float(low), float(high), 201)[1:-1]
        prices = theta[0] * points**2 + (2 if ellipsoid else 1) * theta[1] * points
        chosen = points[int(np.argmin(prices))]
        responses.append(np.array([points[int(rng.integers(len(points)))] if noisy and rng.random() < 0.5 else chosen]))
        intervals.append((low, high))
    return signals, responses, intervals


def forward(*, ellipsoid: bool) -> Any:
    return sf.inverse.forward.EllipsoidProgram() if ellipsoid else sf.inverse.forward.QuadraticProgram()


def grid(interval: Interval) -> NDArray[Any]:
    """Decisions for a reference, none outside."""
    return np.linspace(float(interval[0]), float(interval[1]), GRID)[1:-1, None]


@exactly
def phi(y: Decimal, *, ellipsoid: bool) -> Numbers:
    """The features of a decision."""
    return np.array([y * y, (2 if ellipsoid else 1) * y], dtype=object)


def worst_decisions(
    responses: list[Any], intervals: list[Interval], name: str, *, ellipsoid: bool, wider: bool
) -> Callable[[int, Numbers], list[tuple[Numbers, Decimal]]]:
    """Slopes and distances of the decisions of which one is the worst at a cost vector, for every observation."""

    @exactly
    def found(i: int, theta: Numbers) -> list[tuple[Numbers, Decimal]]:
        low, high = intervals[i]
        if wider:
            low, high = low - WIDER * max(1, abs(low)), high + WIDER * max(1, abs(high))
        seen, (bend, tilt) = exact(responses[i])[0], theta
        points = [low, high]
        if ellipsoid:
            weight = Decimal(int(name != "none"))
            points += [] if weight == bend else [(tilt + weight * seen) / (weight - bend)]
        else:
            points += [(sign - tilt) / (2 * bend) for sign in ((0,) if name == "none" else (1, -1)) if bend != 0]
        points = [min(max(point, low), high) for point in points]
        own = phi(seen, ellipsoid=ellipsoid)
        apart = [Decimal(0) if name == "none" else (seen - y) ** 2 if ellipsoid else abs(seen - y) for y in points]
        return [(own - phi(y, ellipsoid=ellipsoid), d) for y, d in zip(points, apart, strict=True)]

    return found
