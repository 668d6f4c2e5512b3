"""Rules for score cards as the campaign understands them: each beside the rule of the library that it stands for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot import constraints

# How closely claims say that rates are kept.
RATE_SLACK = Fraction(1, 10**9)


@dataclass
class Rule:
    """A rule of the library and what it means.

    Attributes
    ----------
    given : rule of :mod:`surefoot.constraints`
    points : callable or None
        Which rows of a matrix of points obey.
    widened : dict from column to points
        Points that the rule speaks of, beyond the limits perhaps.
    scores : callable or None
        Which rows of a matrix of scores obey; also gets the scores of the person.
    person : ndarray or None
    odds : float
        The threshold that scores are compared with.
    """

    given: Any
    points: Callable[[NDArray[Any]], NDArray[Any]] | None = None
    widened: dict[int, tuple[int, ...]] = field(default_factory=dict)
    scores: Callable[..., NDArray[Any]] | None = None
    person: NDArray[Any] | None = None
    odds: float = 0.0


def draw_rules(rng: np.random.Generator, d: int, most: int, binary: NDArray[Any], *, scores: bool) -> list[Rule]:
    """One or two random rules; about scores as well, if asked for."""
    return [_draw_rule(rng, d, most, binary, scores=scores) for _ in range(int(rng.integers(1, 3)))]


def _draw_rule(rng: np.random.Generator, d: int, most: int, binary: NDArray[Any], *, scores: bool) -> Rule:
    group = sorted(rng.choice(d, size=int(rng.integers(1, d + 1)), replace=False).tolist())
    names, count, column = [f"x{j}" for j in group], int(rng.integers(0, len(group) + 1)), group[0]
    kinds = ["most", "least", "choose", "max", "min", "implies", "sign", "bounds", "set", "fixed"]
    if binary[group].all():
        kinds += ["monotone", "thresholds"]
    if scores:
        kinds += ["person at least", "person at most", "false positives", "true positives"]
    kind = str(rng.choice(kinds))
    if kind in ("most", "least", "choose", "max", "min", "thresholds"):
        return _group_rule(kind, group, names, count)
    if kind == "implies":
        other = int(rng.integers(d))
        return Rule(constraints.Implies(names, [f"x{other}"]), lambda p: ~(p[:, group] != 0).any(axis=1) | (p[:, other] != 0))
    if kind in ("sign", "monotone"):
        return _sign_rule(kind, group, names, int(rng.choice([-1, 1])))
    if kind in ("bounds", "set", "fixed"):
        return _value_rule(rng, kind, column, most)
    risk = float(rng.choice([0.1, 0.3, 0.5, 0.8]))
    if kind.startswith("person"):
        person = np.array([float(rng.integers(2)) for _ in range(d)])
        described = {f"x{j}": float(value) for j, value in enumerate(person) if value}
        odds = math.log(risk) - math.log1p(-risk)
        if kind == "person at least":
            least = constraints.MinProbability(described, risk)
            return Rule(least, scores=lambda s, own, *_: own >= odds, person=person, odds=odds)
        most_risk = constraints.MaxProbability(described, risk)
        return Rule(most_risk, scores=lambda s, own, *_: own <= odds, person=person, odds=odds)
    return _rate_rule(kind, float(rng.choice([0.0, 0.25, 0.3, 0.5, 0.9])), risk)


def _group_rule(kind: str, group: list[int], names: list[str], count: int) -> Rule:
    def used(points: NDArray[Any]) -> NDArray[Any]:
        return np.count_nonzero(points[:, group], axis=1)

    if kind in ("most", "max", "thresholds"):
        given = {
            "most": lambda: constraints.AtMost(count, names),
            "max": lambda: constraints.MaxFeatures(count, names),
            "thresholds": lambda: constraints.MaxThresholds(count, names),
        }[kind]()
        return Rule(given, lambda p: used(p) <= count)
    if kind in ("least", "min"):
        given = constraints.AtLeast(count, names) if kind == "least" else constraints.MinFeatures(count, names)
        return Rule(given, lambda p: used(p) >= count)
    return Rule(constraints.Choose(count, names), lambda p: used(p) == count)


def _sign_rule(kind: str, group: list[int], names: list[str], sign: int) -> Rule:
    if kind == "sign":
        return Rule(constraints.Sign(names, sign), lambda p: (p[:, group] * sign >= 0).all(axis=1))
    return Rule(constraints.Monotone(names), lambda p: (p[:, group] >= 0).all(axis=1) | (p[:, group] <= 0).all(axis=1))


def _value_rule(rng: np.random.Generator, kind: str, column: int, most: int) -> Rule:
    if kind == "bounds":
        lower, upper = -int(rng.integers(0, most + 2)), int(rng.integers(0, most + 2))
        values = tuple(range(lower, upper + 1))
        given: Any = constraints.Bounds(f"x{column}", lower, upper)
    elif kind == "set":
        values = tuple(sorted({int(value) for value in rng.integers(-most - 1, most + 2, size=2)}))
        given = constraints.PointSet(f"x{column}", values)
        values = tuple(sorted({0, *values}))
    else:
        values = (int(rng.integers(-most - 1, most + 2)),)
        given = constraints.Fixed(f"x{column}", values[0])
    return Rule(given, lambda p: np.isin(p[:, column], values), {column: values})


def _rate_rule(kind: str, fraction: float, risk: float) -> Rule:
    odds = math.log(risk) - math.log1p(-risk)
    false = kind == "false positives"

    def obeys(scores: NDArray[Any], _: Any, y: NDArray[Any], weight: Any, counting: NDArray[Any]) -> NDArray[Any]:
        # Whole weights make exact fractions.
        whole = [Fraction(1) if weight is None else Fraction(float(weight[row])) for row in counting]
        of = [k for k in range(len(y)) if (y[k] < 0) == false]
        everyone = sum(whole[k] for k in of)
        # Claims say that rates are kept to 1e-9: three of ten rows are 0.3, which is a little more than the double 0.3.
        limit = (Fraction(fraction) + (RATE_SLACK if false else -RATE_SLACK)) * everyone
        flagged = [sum((whole[k] for k in of if row[k] > odds), Fraction(0)) for row in scores]
        return np.array([part <= limit if false else part >= limit for part in flagged])

    given = constraints.FalsePositiveRate(fraction, risk) if false else constraints.TruePositiveRate(fraction, risk)
    return Rule(given, scores=obeys, odds=odds)
