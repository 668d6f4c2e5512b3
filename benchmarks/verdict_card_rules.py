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
# What groups are compared by: shares that are flagged, and at the unit scale mean risks; of the rows of one label, or of all.
FAIR = {"tpr": 1, "fpr": -1, "selection": 0, "calibration": 0, "positive balance": 1, "negative balance": -1}


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


@dataclass
class Table:
    """What rules are about: rows that count, with their weights; how large points are, and whether the multiplier is free."""

    X: NDArray[Any]
    weights: NDArray[Any]
    most: int
    free: bool

    @property
    def binary(self) -> NDArray[Any]:
        return np.asarray(np.all((self.X == 0) | (self.X == 1), axis=0))


def draw_rules(rng: np.random.Generator, table: Table, *, scores: bool) -> list[Rule]:
    """One or two random rules; about scores as well, if asked for."""
    return [_draw_rule(rng, table, scores=scores) for _ in range(int(rng.integers(1, 3)))]


def _draw_rule(rng: np.random.Generator, table: Table, *, scores: bool) -> Rule:
    d, most, binary = table.X.shape[1], table.most, table.binary
    group = sorted(rng.choice(d, size=int(rng.integers(1, d + 1)), replace=False).tolist())
    names, count, column = [f"x{j}" for j in group], int(rng.integers(0, len(group) + 1)), group[0]
    kinds = ["most", "least", "choose", "max", "min", "implies", "sign", "bounds", "set", "fixed", "budget", "share"]
    kinds += ["together"] if len(group) > 1 else []
    if binary[group].all():
        kinds += ["monotone", "thresholds"]
    if scores:
        kinds += ["person at least", "person at most", "false positives", "true positives"]
        kinds += ["fair", "fair"] if len(np.unique(table.X[:, group[:2]], axis=0)) > 1 else []
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
    if kind == "together":
        return Rule(constraints.ForbiddenTogether(names), lambda p: (p[:, group] == 0).any(axis=1))
    if kind == "budget":
        return _budget_rule(rng, d)
    if kind == "share":
        return _share_rule(rng, table, group)
    if kind == "fair":
        return _fair_rule(rng, table, group)
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

        def within(flagged: list[bool]) -> bool:
            part = sum((whole[k] for k in of if flagged[k]), Fraction(0))
            return part <= limit if false else part >= limit

        return _row_by_row(scores > odds, within)

    given = constraints.FalsePositiveRate(fraction, risk) if false else constraints.TruePositiveRate(fraction, risk)
    return Rule(given, scores=obeys, odds=odds)


def _fair_rule(rng: np.random.Generator, table: Table, group: list[int]) -> Rule:
    """Rows with equal values in some columns are a group, and no two of them differ by more than so much."""
    metric = str(rng.choice(list(FAIR)[:3] if table.free else list(FAIR)))
    risk = 0.5 if table.free else float(rng.choice([0.1, 0.3, 0.5, 0.8]))
    most, on_card = float(rng.choice([0.0, 0.1, 0.25, 0.5, 1.0])), bool(rng.random() < 0.5)
    chosen = group[:2]
    odds = math.log(risk) - math.log1p(-risk)
    whole = [Fraction(float(weight)) for weight in table.weights]
    belongs = [tuple(row) for row in table.X[:, chosen].tolist()]

    def obeys(scores: NDArray[Any], _: Any, y: NDArray[Any], *__: Any) -> NDArray[Any]:
        of = [k for k in range(len(y)) if y[k] * FAIR[metric] >= 0]
        groups = [[k for k in of if belongs[k] == own] for own in sorted({belongs[k] for k in of})]
        totals = [sum(whole[k] for k in rows) for rows in groups]

        def alike(flagged: list[bool]) -> bool:
            parts = [sum((whole[k] for k in rows if flagged[k]), Fraction(0)) for rows in groups]
            shares = [part / everyone for part, everyone in zip(parts, totals, strict=True)] or [Fraction(0)]
            return max(shares) - min(shares) <= Fraction(most) + RATE_SLACK

        if metric in list(FAIR)[:3]:
            return _row_by_row(scores > odds, alike)
        # Mean risks less observed shares, in doubles: no two cards are told apart by less than the slack.
        beyond = 1.0 / (1.0 + np.exp(-scores)) - (y > 0)
        means = [beyond[:, rows] @ table.weights[rows] / table.weights[rows].sum() for rows in groups]
        return np.asarray(np.max(means, axis=0) - np.min(means, axis=0) <= most + float(RATE_SLACK))

    given = constraints.FairRates(chosen, metric, most, risk, on_card)
    return Rule(given, None if on_card else lambda p: (p[:, chosen] == 0).all(axis=1), scores=obeys, odds=odds)


def _budget_rule(rng: np.random.Generator, d: int) -> Rule:
    """Some columns alone, some together; what a card needs is paid for once."""
    sets = [tuple(sorted(rng.choice(d, size=int(rng.integers(1, d + 1)), replace=False).tolist())) for _ in range(d)]
    costs = {columns: float(rng.choice([0.0, 0.1, 0.2, 1.0, 2.5])) for columns in sets}
    most = float(rng.choice([0.0, 0.3, 1.2, 3.5]))
    limit = Fraction(most) + RATE_SLACK * (1 + Fraction(most))

    def paid(used: list[bool]) -> bool:
        needed = (cost for columns, cost in costs.items() if any(used[column] for column in columns))
        return sum(map(Fraction, needed), Fraction(0)) <= limit

    named = {f"x{columns[0]}" if len(columns) == 1 else columns: cost for columns, cost in costs.items()}
    return Rule(constraints.CostBudget(named, most), lambda p: _row_by_row(p != 0, paid))


def _share_rule(rng: np.random.Generator, table: Table, group: list[int]) -> Rule:
    """Questions that few rows answer with yes, or with no, are no questions."""
    share = float(rng.choice([0.1, 0.25, 0.3, 0.5]))
    asked = group if table.binary[group].all() and rng.random() < 0.5 else None
    whole = [Fraction(float(weight)) for weight in table.weights]
    rare = []
    for column in np.flatnonzero(table.binary).tolist() if asked is None else asked:
        yes = sum((w for w, x in zip(whole, table.X[:, column], strict=True) if x == 1), Fraction(0)) / sum(whole)
        rare += [column] if min(yes, 1 - yes) < Fraction(share) - RATE_SLACK else []
    return Rule(constraints.MinShare(share, asked), lambda p: (p[:, rare] == 0).all(axis=1))


def _row_by_row(flags: NDArray[Any], decide: Callable[[list[bool]], bool]) -> NDArray[Any]:
    """What is decided about every row of flags; equal rows are asked once."""
    number = flags @ (1 << np.arange(flags.shape[1], dtype=np.int64))
    _, first, same = np.unique(number, return_index=True, return_inverse=True)
    return np.array([decide(flags[k].tolist()) for k in first], dtype=bool)[same.ravel()]
