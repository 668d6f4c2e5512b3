"""Covers of space by simplicial cones, none of which holds consistent costs far away: see ``certificate.cone_center``.

With V the corners of a cone, ``room`` what they may still rise and G the half-spaces, a cone is a leaf if there are
multipliers y >= 0 with (V G') y >= -room. Nonnegative least squares finds them; if there are none, some point of the cone keeps
to all half-spaces and yet is too high (Farkas), and a linear programme finds the worst one, with few coefficients s. The cone
is split there: the point takes the place of each corner with s_i > 0. Termination: every cone is a leaf, or there are too many.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.optimize

from surefoot.core.arrays import FloatArray
from surefoot.core.solve_options import SolveOptions
from surefoot.inverse.exact.parameters import ConeCoverParameters
from surefoot.inverse.problem.ray_proof import ConeCover

PARAMETERS = ConeCoverParameters()
Height = Callable[[FloatArray], float]


def cone_cover(
    normals: FloatArray,
    theta: FloatArray,
    height: Height,
    slope: float,
    options: SolveOptions,
    mix: Callable[[FloatArray], FloatArray] | None = None,
) -> ConeCover | None:
    """A cover that proves that consistent costs have heights up to ``slope`` times their component along theta, or None."""
    p = theta.size
    length = np.linalg.norm(normals, axis=1)
    length = np.where(length > 0, length, 1.0)
    unit = normals / length[:, None]
    corners = [*np.eye(p), -np.ones(p)]
    room = [slope * float(v @ theta) - height(v) for v in corners]
    split: list[bool] = []
    shares: list[FloatArray] = []
    prices: list[FloatArray] = []
    open_ = [[k for k in range(p + 1) if k != left_out] for left_out in range(p + 1)]
    while open_:
        if len(split) + len(open_) > PARAMETERS.max_cones or options.out_of_time:
            return None
        here = open_.pop()
        at, left = np.array([corners[k] for k in here]), np.array([room[k] for k in here])
        found = _multipliers(at @ unit.T, left)
        split.append(found is None)
        if found is not None:
            prices.append(found / length)
            continue
        share = _share(at, at @ unit.T, left)
        size = 0.0 if share is None else float(np.linalg.norm(share @ at))
        if share is None or not size > PARAMETERS.touching or np.count_nonzero(share) < 2:
            return None
        shares.append(share / size)
        corners.append(shares[-1] @ at)
        room.append(slope * float(corners[-1] @ theta) - height(corners[-1]))
        parts = [[len(corners) - 1 if j == i else k for j, k in enumerate(here)] for i in np.flatnonzero(share).tolist()]
        open_ += reversed(parts)
    mixes = np.empty((0, 0)) if mix is None else np.array([mix(v) for v in corners])
    return ConeCover(
        np.array(split),
        np.array(shares).reshape(-1, p),
        np.array(prices).reshape(len(prices), len(normals)),
        mixes,
        np.empty(0) if mix is None else theta,
    )


def _multipliers(sides: FloatArray, room: FloatArray) -> FloatArray | None:
    """Multipliers of the half-spaces that make a cone a leaf; None if there are none."""
    p, m = sides.shape
    wanted = PARAMETERS.margin - room
    if np.all(wanted <= 0):
        return np.zeros(m)
    try:
        found = scipy.optimize.nnls(np.hstack((sides, -np.eye(p))), wanted, maxiter=50 * (m + p))[0][:m]
    except RuntimeError:  # too many changes of the active set
        return None
    return np.asarray(found) if np.all(sides @ found >= wanted - PARAMETERS.margin / 2) else None


def _share(at: FloatArray, sides: FloatArray, room: FloatArray) -> FloatArray | None:
    """Coefficients of the point of a cone that keeps to all half-spaces and is too high by most: a corner of that set."""
    length = np.linalg.norm(at, axis=1)
    found = scipy.optimize.linprog(
        room, A_ub=sides.T, b_ub=np.zeros(sides.shape[1]), A_eq=length[None, :], b_eq=[1.0], method="highs-ds"
    )
    if found.status != 0:
        return None
    return np.asarray(np.where(found.x > PARAMETERS.touching * found.x.max(), found.x, 0.0))
