"""Centres of the cone of consistent costs, against its extreme rays and against a conic model of the ellipsoid.

Circumcenters: in two or three dimensions every extreme ray is where rows use up all but one of the dimensions, so trying all
of those finds them. The largest angle of a cost to the cone is at least that to its rays, and equal to it up to a right angle.

Ellipsoidal costs: the objective -kappa log det A + mean loss is evaluated with 60 digits at the answer and at a reference from
cvxpy, which is moved into the unit ball, and into the consistent costs, first.
"""

from __future__ import annotations

import itertools
import math
import warnings
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray
from verdict_conic import Programme
from verdict_decisions import EXPLAINED, Facts
from verdict_numbers import Numbers, exact, exactly, total
from verdict_record import FALSE_VERDICT, Record, judge

ANGLE_SLACK = 1e-9
TOUCHING = 1e-9
SHRUNK = 1e-9


def judge_circumcenter(record: Record, facts: Facts, certificate: Any, theta: NDArray[Any]) -> None:
    """Hold bounds on the largest angle against all rays."""
    rays = extreme_rays(facts)
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


def cone_rows(facts: Facts) -> NDArray[Any]:
    """Rows g with g . theta <= 0 for consistent costs in a prior cone, of length 1, none twice."""
    rows = [np.array([float(part / max(abs(slope))) for part in slope]) for g in facts.slopes for slope in g if any(slope)]
    rows += [-np.eye(facts.p)[j] for j in range(facts.p) if facts.lower[j] == 0]
    rows += [np.eye(facts.p)[j] for j in range(facts.p) if facts.upper[j] == 0]
    rows += list(facts.matrix)
    if not rows:
        return np.empty((0, facts.p))
    lengths = np.linalg.norm(rows, axis=1)
    return np.unique(np.round(np.array(rows) / lengths[:, None], 14), axis=0)


def extreme_rays(facts: Facts) -> NDArray[Any] | None:
    """Unit vectors along all extreme rays of a pointed cone, or None."""
    rows = cone_rows(facts)
    if len(rows) == 0 or np.linalg.matrix_rank(rows) < facts.p:
        return None
    found = []
    for chosen in itertools.combinations(range(len(rows)), facts.p - 1):
        _, size, axes = np.linalg.svd(rows[list(chosen)])
        if size[-1] < TOUCHING:
            continue
        found += [ray for ray in (axes[-1], -axes[-1]) if (rows @ ray <= TOUCHING).all()]
    return np.unique(np.round(found, 12), axis=0) if found else None


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
    return exact(point), exact((shape.value + shape.value.T) / 2 * (1.0 - 1e-7 if hard else 1.0))


def without_distance(facts: Facts) -> Facts:
    """The same observations where distances are 0."""
    return replace(facts, distances=[np.array([Decimal(0)] * len(part), dtype=object) for part in facts.distances])
