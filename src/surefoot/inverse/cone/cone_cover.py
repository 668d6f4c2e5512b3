"""Covers of space by simplicial cones, none of which holds consistent costs far away: see :mod:`...certificate.cone_center`.

A corner is in order if its height is at most t times its component along theta. A cone whose corners are all in order is a
leaf; so is one that lies on the wrong side of half-spaces by which its other corners are outside. Any other cone has a corner
that violates a half-space in which another corner lies, and is split where the edge between them crosses the boundary.
Termination: every cone is a leaf, or there are too many.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.inverse.exact.parameters import ConeCoverParameters
from surefoot.inverse.problem.ray_proof import ConeCover

PARAMETERS = ConeCoverParameters()
Height = Callable[[FloatArray], float]


def cone_cover(
    normals: FloatArray, theta: FloatArray, height: Height, slope: float, mix: Callable[[FloatArray], FloatArray] | None = None
) -> ConeCover | None:
    """A cover that proves that consistent costs have heights up to ``slope`` times their component along theta, or None."""
    p = theta.size
    length = np.linalg.norm(normals, axis=1)
    unit = normals / np.where(length > 0, length, 1.0)[:, None]
    corners = [*np.eye(p), -np.ones(p)]
    room = [slope * float(v @ theta) - height(v) for v in corners]
    sides = [unit @ v for v in corners]
    edges: list[tuple[int, int]] = []
    shares: list[tuple[float, float]] = []
    split: list[int] = []
    prices: list[FloatArray] = []
    open_ = [[k for k in range(p + 1) if k != left_out] for left_out in range(p + 1)]
    while open_:
        if len(split) + len(open_) > PARAMETERS.max_cones:
            return None
        here = open_.pop()
        found = _multipliers(np.array([room[k] for k in here]), np.array([sides[k] for k in here]))
        if isinstance(found, np.ndarray):
            split.append(-1)
            prices.append(found / np.where(length > 0, length, 1.0))
            continue
        if found is None:
            return None
        at, other, k = here[found[0]], here[found[1]], found[2]
        a, b = -sides[other][k], sides[at][k]
        size = float(np.linalg.norm(a * corners[at] + b * corners[other]))
        if not size > 0:
            return None
        a, b = float(a / size), float(b / size)
        edges.append((at, other))
        shares.append((a, b))
        v = a * corners[at] + b * corners[other]
        new = len(corners)
        corners.append(v)
        room.append(slope * float(v @ theta) - height(v))
        sides.append(unit @ v)
        split.append(new - p - 1)
        open_ += [[new if j == old else j for j in here] for old in (other, at)]
    mixes = np.empty((0, 0)) if mix is None else np.array([mix(v) for v in corners])
    return ConeCover(
        np.array(edges, dtype=np.int32).reshape(-1, 2),
        np.array(shares).reshape(-1, 2),
        np.array(split, dtype=np.int32),
        np.array(prices).reshape(len(prices), len(normals)),
        mixes,
    )


def _multipliers(room: FloatArray, sides: FloatArray) -> FloatArray | tuple[int, int, int] | None:
    """Multipliers of the half-spaces that make a cone a leaf; or two corners and a half-space between them; or None."""
    tiny = PARAMETERS.touching
    bad = room < 0
    found = np.zeros(sides.shape[1])
    if not bad.any():
        return found
    beyond = np.all(sides >= -tiny, axis=0) & np.any(sides > tiny, axis=0)
    lift = np.where(sides > tiny, sides, 0.0) @ beyond
    lost = bad & (lift <= tiny)
    if not lost.any():
        found[beyond] = PARAMETERS.spare * float(np.max(-room[bad] / lift[bad]))
        return found
    worst = int(np.argmin(np.where(lost, room, np.inf)))
    crossing = (sides[worst] > tiny) & np.any(sides < -tiny, axis=0)
    if not crossing.any():
        return None
    k = int(np.argmax(np.where(crossing, sides[worst], -np.inf)))
    return worst, int(np.argmin(sides[:, k])), k
