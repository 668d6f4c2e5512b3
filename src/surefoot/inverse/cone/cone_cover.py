"""Covers of space by simplicial cones, none of which holds consistent costs far away: see ``certificate.cone_center``.

With V the corners of a cone, ``room`` what they may still rise and G the half-spaces, a cone is a leaf if there are
multipliers y >= 0 with (V G') y >= -room. Nonnegative least squares finds them; if there are none, some point of the cone keeps
to all half-spaces and yet is too high (Farkas), and a linear programme finds the worst one, with few coefficients s. The cone
is split there: the point takes the place of each corner with s_i > 0. Termination: every cone is a leaf, or there are too many.

Certificates know corners and products with them to rounding: ``blur`` is that, entry by entry of a corner. Multipliers make up
for it too, or a cover that is right would be refused where units are far apart and the largest angle is near a right one.
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
    units: FloatArray | None = None,
    saved: FloatArray | float = 0.0,
) -> ConeCover | None:
    """A cover that proves that consistent costs have heights up to ``slope`` times their component along theta, or None.

    Half-spaces are known up to ``saved`` times the largest entry of a cost, which corners have to make up for.
    Programmes see corners and half-spaces of length 1 in ``units`` of the columns, where they are told apart.
    """
    p = theta.size
    units = np.ones(p) if units is None else units / units.min()
    length = np.linalg.norm(normals / units, axis=1)
    length = np.where(length > 0, length, 1.0)
    unit = normals / units / length[:, None]
    corners = [*np.eye(p), -np.ones(p)]
    # Roundings on the way to a product: of half-spaces with multipliers, of these with a corner, and of theta's length.
    rounding = (len(normals) + 3 * p + 16) * float(np.finfo(np.float64).eps)
    blur = [rounding * np.abs(v) for v in corners]

    def left_at(v: FloatArray, blurred: FloatArray) -> float:
        return slope * float(v @ theta - blurred @ np.abs(theta)) - height(v)

    room = [left_at(v, blurred) for v, blurred in zip(corners, blur, strict=True)]
    split: list[bool] = []
    shares: list[FloatArray] = []
    prices: list[FloatArray] = []
    open_ = [[k for k in range(p + 1) if k != left_out] for left_out in range(p + 1)]
    while open_:
        if len(split) + len(open_) > PARAMETERS.max_cones or options.out_of_time:
            return None
        here = open_.pop()
        at = np.array([corners[k] for k in here])
        size = np.linalg.norm(at * units, axis=1)
        left, sides = np.array([room[k] for k in here]) / size, (at * units / size[:, None]) @ unit.T
        sides -= (np.abs(at).max(axis=1) / size)[:, None] * (saved / length)
        blurs = np.array([blur[k] for k in here])
        sides -= (blurs * units / size[:, None]) @ np.abs(unit.T)
        found = _multipliers(sides, left)
        share = _share(sides, left) if found is None else None
        if found is None and share is None:
            found = _fewest_multipliers(sides, left)
        split.append(found is None)
        if found is not None:
            prices.append(found / length)
            continue
        share = np.zeros(p) if share is None else share / size
        new = float(np.linalg.norm((share @ at) * units))
        if not new > PARAMETERS.touching or np.count_nonzero(share) < 2:
            return None
        shares.append(share / new)
        corners.append(shares[-1] @ at)
        blur.append(shares[-1] @ blurs + rounding * np.abs(corners[-1]))
        room.append(left_at(corners[-1], blur[-1]))
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


def _fewest_multipliers(sides: FloatArray, room: FloatArray) -> FloatArray | None:
    """The same by a linear programme, where least squares end too early although no point of a cone is in all half-spaces."""
    wanted = PARAMETERS.margin - room
    found = scipy.optimize.linprog(
        np.ones(sides.shape[1]),
        A_ub=-sides,
        b_ub=-wanted - PARAMETERS.margin,
        method="highs-ds",
        options={"primal_feasibility_tolerance": PARAMETERS.margin},
    )
    if found.status != 0:
        return None
    prices = np.maximum(found.x, 0.0)
    return np.asarray(prices) if np.all(sides @ prices >= wanted - PARAMETERS.margin / 2) else None


def _share(sides: FloatArray, room: FloatArray) -> FloatArray | None:
    """Coefficients of the point of a cone that keeps to all half-spaces and is too high by most: a corner of that set."""
    p, m = sides.shape
    # Programmes tell costs of about 1 from 0.
    found = scipy.optimize.linprog(
        room / max(float(np.abs(room).max()), 1e-300),
        A_ub=sides.T,
        b_ub=np.zeros(m),
        A_eq=np.ones((1, p)),
        b_eq=[1.0],
        method="highs-ds",
    )
    if found.status != 0:
        return None
    return np.asarray(np.where(found.x > PARAMETERS.touching * found.x.max(), found.x, 0.0))
