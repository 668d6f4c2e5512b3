"""Decisions of inverse optimization in exact numbers: losses, regularizers, prior sets, and the best cost by all decisions.

References come from Clarabel with every decision as a row, scaled, and are moved into the set they must lie in before they are
evaluated with 60 digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.optimize
from numpy.typing import NDArray
from verdict_conic import Programme, Row
from verdict_numbers import Numbers, exact, exactly, total

# A cost explains an observation if no decision costs less by more than this, relative to the sizes of cost and features.
EXPLAINED = Decimal("1e-7")
# A linear programme's way of saying 0.
SEEN = 1e-9
# Room in hard rows, so that a cost keeps its losses at 0 after rounding.
HAIR = 1e-9


@dataclass
class Facts:
    """Slopes and distances of all decisions of all observations, exactly; and the prior set."""

    slopes: list[Numbers]
    distances: list[Numbers]
    inside: list[bool]
    lower: NDArray[Any]
    upper: NDArray[Any]
    matrix: NDArray[Any]
    ceiling: NDArray[Any]
    total: float | None
    center: NDArray[Any]
    kind: str
    kappa: float
    clamp: bool
    sides: list[tuple[int, float]] = field(default_factory=list)
    # Slopes and distances of further decisions of an observation, among which the worst one at a cost is.
    more: Callable[[int, Numbers], list[tuple[Numbers, Decimal]]] | None = None

    @property
    def p(self) -> int:
        return int(self.lower.size)

    @property
    def cone(self) -> bool:
        ends = np.concatenate((self.lower, self.upper))
        return bool(self.total is None and np.all((ends == 0) | np.isinf(ends)) and not np.any(self.ceiling))


@exactly
def distance(name: str, apart: Numbers) -> Decimal:
    size = [abs(part) for part in apart]
    squares = total(part * part for part in size)
    return {
        "l1": total(size), "l2": squares.sqrt(), "squared-l2": squares, "linf": max(size), "none": Decimal(0),
        "zero-one": Decimal(int(max(size) > 0)),
    }[name]  # fmt: skip


def posed(facts: Facts, approach: str) -> Facts:
    """The problem of an approach: without distances, over a sphere, or with other regularizers."""
    none = [np.array([Decimal(0)] * len(part), dtype=object) for part in facts.distances]
    if approach in ("asl", "predictability", "circumcenter") or approach.startswith("ellipsoidal"):
        return facts
    if approach == "incenter":
        return replace(facts, kappa=1.0)
    if approach == "cutting-plane":
        guess = facts.center if np.any(facts.center) else np.full(facts.p, 1.0 / facts.p)
        return replace(facts, distances=none, kappa=1.0, kind="l1", center=guess)
    facts = replace(facts, distances=none, kappa=facts.kappa if approach == "suboptimality" else 0.0)
    return on_sphere(facts)


def on_sphere(facts: Facts) -> Facts:
    """Costs of one norm: the sum of entries is 1, if none is negative, or the largest of them is 1 or what bounds leave."""
    if facts.total is not None or outside(facts, exact(np.zeros(facts.p))) > 0:
        return facts
    if np.all(facts.lower >= 0) and facts.cone:
        return replace(facts, total=1.0)
    size = 1.0
    ends = [Fraction(float(end)) for end in (*-facts.lower, *facts.upper) if 0 < end < 1]
    for row, end in zip(facts.matrix, facts.ceiling, strict=True):
        ends += [Fraction(float(end)) / sum(abs(Fraction(float(part))) for part in row)] if end > 0 and any(row) else []
    while any(size > end for end in ends):
        size /= 2
    lower, upper = np.maximum(facts.lower, -size), np.minimum(facts.upper, size)
    sides = [(j, value) for j in range(facts.p) for value in (size, -size) if lower[j] <= value <= upper[j]]
    return replace(facts, lower=lower, upper=upper, sides=sides)


@exactly
def outside(facts: Facts, theta: Numbers) -> Decimal:
    """By how much a cost breaks the prior set, relative to its size."""
    parts = [Decimal(float(low)) - t for low, t in zip(facts.lower, theta, strict=True) if np.isfinite(low)]
    parts += [t - Decimal(float(high)) for high, t in zip(facts.upper, theta, strict=True) if np.isfinite(high)]
    parts += [exact(row) @ theta - Decimal(float(end)) for row, end in zip(facts.matrix, facts.ceiling, strict=True)]
    if facts.total is not None:
        parts.append(abs(total(theta) - Decimal(facts.total)))
    if facts.sides:
        parts.append(min(abs(theta[j] - Decimal(value)) for j, value in facts.sides))
    return max(parts, default=Decimal(0)) / max(Decimal(1), *(abs(t) for t in theta))


@exactly
def losses(facts: Facts, theta: Numbers) -> list[Decimal]:
    """The loss of every observation."""
    found = [max(g @ theta + d) for g, d in zip(facts.slopes, facts.distances, strict=True)]
    if facts.more is not None:
        found = [max([value, *(g @ theta + d for g, d in facts.more(i, theta))]) for i, value in enumerate(found)]
    return [max(value, Decimal(0)) if facts.clamp else value for value in found]


@exactly
def regularizer(facts: Facts, theta: Numbers) -> Decimal:
    away = theta - exact(facts.center)
    return total(part * part for part in away) / 2 if facts.kind == "l2" else total(abs(part) for part in away)


@exactly
def objective(facts: Facts, theta: Numbers, *, hard: bool) -> Decimal:
    """kappa R plus the mean loss, or without losses where they must be 0."""
    mean = Decimal(0) if hard else total(losses(facts, theta)) / len(facts.slopes)
    return Decimal(facts.kappa) * regularizer(facts, theta) + mean


@exactly
def unexplained(facts: Facts, theta: Numbers) -> Decimal:
    """The largest loss above 0 relative to the sizes that it is made of."""
    worst, largest = Decimal(0), max(abs(part) for part in theta)
    for g, d in zip(facts.slopes, facts.distances, strict=True):
        size = max(abs(slope).max() for slope in g) * largest + max(d)
        if size > 0:
            worst = max(worst, max(g @ theta + d) / size)
    return worst


def scale(facts: Facts, theta: Numbers) -> float:
    """How large losses are: objectives that are 0 have no relative gap.

    With distances for a cost of size 1, else for this cost, coordinate by coordinate: units of a column excuse no other one.
    """
    far = any(max(d) > 0 for d in facts.distances)
    blocks = facts.slopes if far else [[g * theta for g in block] for block in facts.slopes]
    sizes = [max(abs(g).max() for g in block) + max(d) for block, d in zip(blocks, facts.distances, strict=True)]
    # Where decisions do not differ at all, what is left is the size of the centre.
    return float(sum(sizes) / len(sizes)) or float(max(1.0, *np.abs(facts.center)))


def reference(facts: Facts, *, hard: bool) -> Decimal | None:
    """The exact objective of the best cost found in any facet, or None."""
    if hard:
        facts = replace(facts, sides=[])
    found = []
    for side in facts.sides or [None]:
        for unit in (1.0, _unit(facts)):
            theta = _solved(facts, side, unit, hard=hard)
            if theta is None:
                continue
            inside = _moved_inside(facts, theta, side)
            if inside is not None and (not hard or unexplained(facts, inside) <= 0):
                found.append(objective(facts, inside, hard=hard))
    return min(found, default=None)


def _unit(facts: Facts) -> float:
    """What a cost of size 1 should be multiplied by so that costs of decisions are of size 1."""
    largest = max((float(abs(slope).max()) for g in facts.slopes for slope in g), default=1.0)
    return 1.0 / largest if largest > 0 else 1.0


def _solved(facts: Facts, side: tuple[int, float] | None, unit: float, *, hard: bool) -> NDArray[Any] | None:
    programme = Programme()
    theta, count = programme.add(facts.p), len(facts.slopes)
    t = programme.add(count)
    # In units of ``unit``; losses keep theirs.
    if not hard:
        programme.linear = {t[i]: 1.0 / count for i in range(count)}
    for i, (g, d) in enumerate(zip(facts.slopes, facts.distances, strict=True)):
        lines = list(zip(g, d, strict=True))
        if facts.clamp and not hard:
            lines.append((exact(np.zeros(facts.p)), Decimal(0)))
        for slope, distance in lines:
            terms = {theta[j]: -float(slope[j]) * unit for j in range(facts.p) if slope[j] != 0}
            size = max([abs(value) for value in terms.values()], default=1.0) if hard else 1.0
            row: Row = ({k: value / size for k, value in terms.items()}, -float(distance) / size)
            if hard:
                # A hair of room, so that the cost keeps its losses at 0 after rounding.
                programme.positives.append((row[0], row[1] - (HAIR if terms else 0.0)))
            else:
                programme.positives.append(({t[i]: 1.0, **terms}, row[1]))
    _prior_rows(programme, facts, theta, side, unit)
    if facts.kappa > 0:
        weight = facts.kappa
        if facts.kind == "l2":
            programme.square = {theta[j]: weight * unit**2 for j in range(facts.p)}
            programme.linear |= {theta[j]: -weight * unit * float(facts.center[j]) for j in range(facts.p)}
        else:
            sizes = programme.add(facts.p)
            programme.linear |= {size: weight * unit for size in sizes}
            for j in range(facts.p):
                for sign in (1.0, -1.0):
                    programme.positives.append(({sizes[j]: 1.0, theta[j]: sign}, -sign * float(facts.center[j]) / unit))
    found = programme.solve()
    return None if found is None else found[list(theta)] * unit


def _prior_rows(programme: Programme, facts: Facts, theta: range, side: tuple[int, float] | None, unit: float) -> None:
    for j in range(facts.p):
        if np.isfinite(facts.lower[j]):
            programme.positives.append(({theta[j]: 1.0}, -float(facts.lower[j]) / unit))
        if np.isfinite(facts.upper[j]):
            programme.positives.append(({theta[j]: -1.0}, float(facts.upper[j]) / unit))
    for row, end in zip(facts.matrix, facts.ceiling, strict=True):
        programme.positives.append(({theta[j]: -float(row[j]) for j in range(facts.p) if row[j]}, float(end) / unit))
    if facts.total is not None:
        programme.zeros.append((dict.fromkeys(theta, 1.0), -facts.total / unit))
    if side is not None:
        programme.zeros.append(({theta[side[0]]: 1.0}, -side[1] / unit))


@exactly
def _moved_inside(facts: Facts, found: NDArray[Any], side: tuple[int, float] | None) -> Numbers | None:
    """The cost as a member of its set, exactly, or None."""
    theta = exact(np.clip(found, facts.lower, facts.upper))
    if side is not None:
        theta[side[0]] = Decimal(side[1])
    if facts.total is not None:
        sum_of = total(theta)
        if sum_of <= 0:
            return None
        theta = theta * Decimal(facts.total) / sum_of
    return theta if outside(facts, theta) <= Decimal("1e-40") else None


def margin_exists(facts: Facts) -> bool:
    """Whether some cost in the prior set leaves every decision its distance: one with room, and exactly."""
    lines = [(slope, d) for g, ds in zip(facts.slopes, facts.distances, strict=True) for slope, d in zip(g, ds, strict=True)]
    if any(d > 0 for slope, d in lines if not any(slope)):
        return False
    lines = [(slope / max(abs(slope)), d / max(abs(slope))) for slope, d in lines if any(slope)]
    A = np.array([[float(part) for part in slope] for slope, _ in lines]).reshape(-1, facts.p)
    # In units in which the largest distance is 1: beside a tolerance of 1e-7 a distance of 1e-9 is none.
    unit = max((float(d) for _, d in lines), default=1.0) or 1.0
    equal = (np.ones((1, facts.p)), [facts.total / unit]) if facts.total is not None else (None, None)
    sides = np.append([-float(d) for _, d in lines], facts.ceiling) / unit
    rows = np.column_stack((np.vstack((A, facts.matrix)), np.append(np.ones(len(A)), np.zeros(len(facts.matrix)))))
    found = scipy.optimize.linprog(
        np.append(np.zeros(facts.p), -1.0), A_ub=rows, b_ub=sides, b_eq=equal[1],
        A_eq=None if equal[0] is None else np.append(equal[0], [[0.0]], axis=1),
        bounds=[*zip(facts.lower / unit, facts.upper / unit, strict=True), (None, 1.0)],
    )  # fmt: skip
    theta = _moved_inside(facts, found.x[:-1] * unit, None) if found.status == 0 else None
    return theta is not None and unexplained(facts, theta) <= 0


def consistent_exists(facts: Facts) -> bool:
    """Whether some cost but 0 in the prior set explains everything, by linear programmes along every axis.

    Programmes take rows for met that are broken by 1e-9: where entries of a row differ by that much, cones without any ray had
    a solution. A pointed cone has another member than 0 exactly if it has an extreme ray, which is decided without rounding.
    """
    from verdict_centres import extreme_rays, is_pointed

    # A total of numbers that are not negative only says how long a member is.
    scaled = facts.total is not None and facts.total > 0 and np.all(facts.lower == 0)
    cone = (facts.total is None or scaled) and not np.any(facts.ceiling) and np.isin(facts.lower, (0, -np.inf)).all()
    if cone and np.isin(facts.upper, (0, np.inf)).all() and is_pointed(facts):
        return extreme_rays(facts) is not None
    rows = [slope / max(abs(slope)) for g in facts.slopes for slope in g if any(slope)]
    A = np.array([[float(part) for part in row] for row in rows]).reshape(-1, facts.p)
    low, high = np.where(np.isfinite(facts.lower), facts.lower, -1.0), np.where(np.isfinite(facts.upper), facts.upper, 1.0)
    matrix = np.vstack((A, facts.matrix))
    ceiling = np.concatenate((np.zeros(len(A)), facts.ceiling))
    equal = (np.ones((1, facts.p)), [facts.total]) if facts.total is not None else (None, None)
    for j in range(facts.p):
        for sign in (1.0, -1.0):
            goal = np.zeros(facts.p)
            goal[j] = -sign
            found = scipy.optimize.linprog(
                goal, A_ub=matrix, b_ub=ceiling, A_eq=equal[0], b_eq=equal[1], bounds=list(zip(low, high, strict=True))
            )
            if found.status == 0 and abs(found.x).max() > SEEN and (A @ found.x <= SEEN * abs(found.x).max()).all():
                return True
    return False


def inradius(facts: Facts) -> float | None:
    """The largest r with g . theta + r ||g|| <= 0 for all decisions and ||theta|| <= 1."""
    programme = Programme()
    theta, r = programme.add(facts.p), programme.add(1)[0]
    programme.linear = {r: -1.0}
    for g in facts.slopes:
        for slope in g:
            length = math.sqrt(float(total(part * part for part in slope)))
            if length > 0:
                programme.positives.append(({**{theta[j]: -float(slope[j]) / length for j in range(facts.p)}, r: -1.0}, 0.0))
    for j in range(facts.p):
        if facts.lower[j] == 0:
            programme.positives.append(({theta[j]: 1.0}, 0.0))
    programme.positives += [({theta[j]: -float(row[j]) for j in range(facts.p)}, 0.0) for row in facts.matrix]
    programme.cones.append(("second", [({}, 1.0), *(({theta[j]: 1.0}, 0.0) for j in range(facts.p))]))
    found = programme.solve()
    return None if found is None else float(found[r])
