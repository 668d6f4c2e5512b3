"""Centres of the cone of consistent costs, against its extreme rays and against a conic model of the ellipsoid.

Circumcenters: in two or three dimensions every extreme ray is where rows use up all but one of the dimensions, so trying all
of those finds them. The largest angle of a cost to the cone is at least that to its rays, and equal to it up to a right angle.

Ellipsoidal costs: the objective -kappa log det A + mean loss is evaluated with 60 digits at the answer and at a reference from
cvxpy, which is moved into the unit ball, and into the consistent costs, first.
"""

from __future__ import annotations

import itertools
import math
import re
import warnings
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.optimize
from numpy.typing import NDArray
from verdict_conic import Programme
from verdict_decisions import EXPLAINED, Facts
from verdict_numbers import Numbers, exact, exactly, total
from verdict_record import FALSE_VERDICT, UNVERIFIED, Record, judge

ANGLE_SLACK = 1e-9
# How far outside of the named rays an extreme one may be, and what an interior point leaves of a log volume.
RAY_SLACK = 1.1e-6
VOLUME_SLACK = 1e-5
SHRUNK = 1e-9


def judge_circumcenter(record: Record, facts: Facts, certificate: Any, theta: NDArray[Any]) -> None:
    """Hold bounds on the largest angle against all rays, those of the consistent costs that the claim names."""
    saved = re.search(r"no decision saves more than (\S+) times", certificate.claim)
    rays = extreme_rays(facts) if saved is None else nearly_consistent_rays(facts, Fraction(saved.group(1)))
    if rays is None or not np.any(theta):
        # The cone holds a line, or nothing: only its own consistency can be asked of the certificate.
        record.answered, record.verified = True, bool(certificate.verified)
        if certificate.lower_bound > certificate.upper_bound:
            record.add(FALSE_VERDICT, f"lower bound {certificate.lower_bound!r} above {certificate.upper_bound!r}")
        return
    angle, best, slack = largest_angle(theta, rays), None, Decimal(ANGLE_SLACK)
    centre = _centre(rays)
    if centre is not None and largest_angle(centre, rays) <= math.pi / 2:
        best = Decimal(largest_angle(centre, rays)) + slack
    reached = Decimal(angle if angle <= math.pi / 2 else math.pi) + slack
    judge(record, certificate, Decimal(angle), best, least=max(Decimal(angle) - slack, Decimal(0)), reached=reached, floor=1.0)


def extreme_rays(facts: Facts) -> NDArray[Any] | None:
    """Unit vectors along all extreme rays of a pointed cone, or None.

    Without rounding: a tolerance of 1e-9 on rows whose entries differ by factors of 1e13 moved rays by 1e-8.
    """
    return _extreme(_exact_rows(facts), facts.p) if is_pointed(facts) else None


def is_pointed(facts: Facts) -> bool:
    """Whether the cone of consistent costs holds no line: whether its rows have full rank, without rounding."""
    rows = [list(row) for row in _exact_rows(facts)]
    for j in range(facts.p):
        at = next((k for k in range(j, len(rows)) if rows[k][j]), None)
        if at is None:
            return False
        rows[j], rows[at] = rows[at], rows[j]
        for k in range(j + 1, len(rows)):
            factor = rows[k][j] / rows[j][j]
            rows[k] = [a - factor * b for a, b in zip(rows[k], rows[j], strict=True)]
    return True


def nearly_consistent_rays(facts: Facts, saved: Fraction) -> NDArray[Any] | None:
    """The same of all costs c at which no decision saves more than ``saved`` times their largest entry.

    These are a union of cones, one for every entry that may be the largest, without its sign: where it is sign c_j, rows are
    (g - saved sign e_j) . c <= 0 and |c_i| <= sign c_j.
    """
    if extreme_rays(facts) is None:
        return None
    ends = _exact_rows(replace(facts, slopes=[]))
    slopes = [[Fraction(part) for part in slope] for g in facts.slopes for slope in g]
    found = []
    for j, sign in itertools.product(range(facts.p), (1, -1)):
        rows = [tuple(part - saved * sign * (k == j) for k, part in enumerate(slope)) for slope in slopes]
        for i, other in itertools.product(range(facts.p), (1, -1)):
            if i != j or other != sign:
                rows.append(tuple(Fraction(other * (k == i) - sign * (k == j)) for k in range(facts.p)))
        part = _extreme(list(dict.fromkeys([*rows, *ends])), facts.p)
        found += [] if part is None else [part]
    return np.vstack(found) if found else None


def _extreme(rows: list[tuple[Fraction, ...]], p: int) -> NDArray[Any] | None:
    """Unit vectors along the extreme rays of {c : rows c <= 0}."""
    found = []
    for chosen in itertools.combinations(rows, p - 1):
        ray = [(-1) ** j * _minor(chosen, j) for j in range(p)]
        if any(ray):
            sides = [sum(a * b for a, b in zip(row, ray, strict=True)) for row in rows]
            found += [[sign * part for part in ray] for sign in (1, -1) if all(sign * side <= 0 for side in sides)]
    scaled = [[float(part / max(map(abs, ray))) for part in ray] for ray in found]
    unit = np.array(scaled).reshape(len(found), p)
    return np.unique(np.round(unit / np.linalg.norm(unit, axis=1)[:, None], 15), axis=0) if found else None


def _exact_rows(facts: Facts) -> list[tuple[Fraction, ...]]:
    """Rows g with g . theta <= 0 for consistent costs, whose largest entries are 1 or -1, none twice."""
    rows = [[Fraction(part) for part in slope] for g in facts.slopes for slope in g]
    eye = np.eye(facts.p)
    ends = [*-eye[facts.lower == 0], *eye[facts.upper == 0], *facts.matrix]
    rows += [[Fraction(float(part)) for part in row] for row in ends]
    return list(dict.fromkeys(tuple(part / max(map(abs, row)) for part in row) for row in rows if any(row)))


def _minor(rows: Any, left_out: int) -> Fraction:
    """The determinant of rows without one column."""
    kept = [[part for j, part in enumerate(row) if j != left_out] for row in rows]
    if not kept:
        return Fraction(1)
    return sum(((-1) ** j * part * _minor(kept[1:], j) for j, part in enumerate(kept[0]) if part), Fraction(0))


def largest_angle(theta: NDArray[Any], rays: NDArray[Any]) -> float:
    """The largest angle to rays of length 1, by chords: cosines of small angles have no digits."""
    unit = theta / np.linalg.norm(theta)
    chords = np.linalg.norm(rays / np.linalg.norm(rays, axis=1)[:, None] - unit, axis=1)
    return float(2 * np.arcsin(np.clip(chords / 2, 0.0, 1.0)).max())


def _centre(rays: NDArray[Any]) -> NDArray[Any] | None:
    """max t with e . theta >= t for all rays e and ||theta|| <= 1."""
    programme = Programme()
    theta, t = programme.add(rays.shape[1]), programme.add(1)[0]
    programme.linear = {t: -1.0}
    for ray in rays:
        programme.positives.append(({**{theta[j]: float(ray[j]) for j in range(len(ray))}, t: -1.0}, 0.0))
    programme.cones.append(("second", [({}, 1.0), *(({part: 1.0}, 0.0) for part in theta)]))
    found = programme.solve()
    return None if found is None or not np.any(found[list(theta)]) else found[list(theta)]


def judge_volume(record: Record, facts: Facts, certificate: Any) -> None:
    """Hold the volume of an ellipsoid around rays against that of cvxpy, and the rays against the extreme ones."""
    record.answered, record.verified = True, bool(certificate.verified)
    upper, lower = certificate.upper_bound, certificate.lower_bound
    if lower > upper:
        record.add(FALSE_VERDICT, f"lower bound {lower!r} above upper bound {upper!r}")
    rays = extreme_rays(facts)
    if not certificate.verified or rays is None:
        if not certificate.verified:
            record.add(UNVERIFIED, certificate.claim)
        return
    named = certificate.witness.rays / np.linalg.norm(certificate.witness.rays, axis=1)[:, None]
    outside = max(scipy.optimize.nnls(named.T, ray)[1] for ray in rays)
    if outside > RAY_SLACK:
        record.add(FALSE_VERDICT, f"an extreme ray is {outside:.3g} outside of the cone of the rays")
    best = _log_volume(named)
    if best is not None and not lower - VOLUME_SLACK <= best <= upper + VOLUME_SLACK:
        record.add(FALSE_VERDICT, f"log volume {best:.9g} is not between {lower!r} and {upper!r}")


def _log_volume(points: NDArray[Any]) -> float | None:
    """Logarithm of the product of the half axes of the smallest ellipsoid around points, in the plane that they span."""
    import cvxpy as cp

    _, size, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    # Axes that are short but there count too; beside those the reference is not accurate enough to judge.
    n = int((size > 1e-12 * max(size[0], 1e-300)).sum())
    if n == 0 or size[n - 1] < 1e-4:
        return 0.0 if len(points) == 1 else None
    flat = (points - points.mean(axis=0)) @ axes[:n].T / size[:n]
    shape, shift = cp.Variable((n, n), PSD=True), cp.Variable(n)
    rules = [cp.norm(shape @ point + shift) <= 1 for point in flat]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = cp.Problem(cp.Minimize(-cp.log_det(shape)), rules).solve(solver="CLARABEL")
    except cp.error.SolverError:
        return None
    return float(found + np.log(size[:n]).sum())


def judge_ellipsoid(record: Record, facts: Facts, certificate: Any, answer: Any, *, hard: bool) -> None:
    """Hold the objective of a cost with an ellipsoid against that of a reference."""
    slopes = np.array([[float(part) for part in slope] for g in facts.slopes for slope in g])
    whole = np.linalg.matrix_rank(slopes / max(np.abs(slopes).max(), 1e-300), tol=1e-6) == facts.p
    if not whole:
        # Where decisions leave a direction open the ellipsoid is one of fewer dimensions, which is not evaluated here.
        record.answered, record.verified = True, bool(certificate.verified)
        return
    kappa = 1.0 if hard else facts.kappa
    value = ellipsoid_objective(facts, exact(answer.theta), exact(answer.shape), kappa, hard=hard)
    reference = _ellipsoid(facts, slopes, kappa, hard=hard)
    best = None if reference is None else ellipsoid_objective(facts, *reference, kappa, hard=hard)
    if value is None:
        record.answered, record.verified = True, bool(certificate.verified)
        if certificate.verified:
            record.add(FALSE_VERDICT, "verified, but the ellipsoid holds costs that do not explain an observation")
        return
    judge(record, certificate, value, best, floor=1.0)


@exactly
def ellipsoid_objective(facts: Facts, theta: Numbers, shape: Numbers, kappa: float, *, hard: bool) -> Decimal | None:
    """-kappa log det A + mean loss, or None if a loss that must be 0 is not."""
    losses = []
    for g in facts.slopes:
        sides = [slope @ theta + total(part * part for part in shape @ slope).sqrt() for slope in g]
        sizes = [total(abs(a * b) for a, b in zip(slope, theta, strict=True)) for slope in g]
        if hard and any(side > EXPLAINED * size for side, size in zip(sides, sizes, strict=True)):
            return None
        losses.append(max(max(sides), Decimal(0)))
    size = _determinant(shape)
    if size <= 0:
        return None
    return -Decimal(kappa) * size.ln() + (Decimal(0) if hard else total(losses) / len(losses))


@exactly
def _determinant(matrix: Numbers) -> Decimal:
    if len(matrix) == 1:
        return Decimal(matrix[0, 0])
    parts = [matrix[0, j] * _determinant(np.delete(matrix[1:], j, axis=1)) * (-1) ** j for j in range(len(matrix))]
    return total(parts)


def _ellipsoid(facts: Facts, slopes: NDArray[Any], kappa: float, *, hard: bool) -> tuple[Numbers, Numbers] | None:
    import cvxpy as cp

    unit = 1.0 / float(np.abs(slopes).max())
    theta, shape = cp.Variable(facts.p), cp.Variable((facts.p, facts.p), PSD=True)
    losses = cp.Variable(len(facts.slopes), nonneg=True)
    rows = [cp.norm(theta) <= 1]
    rows += [theta[j] >= 0 for j in range(facts.p) if facts.lower[j] == 0]
    rows += [facts.matrix @ theta <= facts.ceiling] if len(facts.matrix) else []
    for i, g in enumerate(facts.slopes):
        for slope in g:
            direction = np.array([float(part) for part in slope]) * unit
            if np.any(direction):
                rows.append(direction @ theta + cp.norm(shape @ direction) <= (0 if hard else losses[i] * unit))
    goal = -kappa * cp.log_det(shape) + (0 if hard else cp.sum(losses) / len(facts.slopes))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cp.Problem(cp.Minimize(goal), rows).solve(solver="CLARABEL", tol_gap_rel=1e-10, tol_gap_abs=1e-10, tol_feas=1e-10)
    except cp.error.SolverError:
        return None
    if theta.value is None or shape.value is None:
        return None
    point = np.clip(theta.value, facts.lower, facts.upper) * (1.0 - SHRUNK)
    return _room(facts, exact(point), exact((shape.value + shape.value.T) / 2), hard=hard)


@exactly
def _room(facts: Facts, theta: Numbers, shape: Numbers, *, hard: bool) -> tuple[Numbers, Numbers] | None:
    """The ellipsoid, made smaller until no decision is reached, exactly: one that reaches a little farther has more room."""
    if not hard:
        return theta, shape
    sides = [(slope @ theta, total(part * part for part in shape @ slope).sqrt()) for g in facts.slopes for slope in g]
    factor = min([Decimal(1), *(-gain / extent for gain, extent in sides if extent > 0)])
    return (theta, shape * factor * (1 - Decimal("1e-40"))) if factor > 0 else None


def without_distance(facts: Facts) -> Facts:
    """The same observations where distances are 0."""
    return replace(facts, distances=[np.array([Decimal(0)] * len(part), dtype=object) for part in facts.distances])
