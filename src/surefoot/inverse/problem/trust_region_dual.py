"""Weak duality for a quadratic function over a ball, convex or not: min y' H y + 2 g . y subject to ||y||_2 <= r.

For every multiplier mu >= 0 with H + mu I positive semidefinite and every y of the ball,

    y' H y + 2 g . y   >=   y' (H + mu I) y + 2 g . y - mu r^2   >=   -g' (H + mu I)^+ g - mu r^2,

if g is in the range of H + mu I; the largest of these bounds is the minimum (Appendix B of Zattoni Scroccaro, Atasoy and
Mohajerin Esfahani, 2024). What g has outside the range by rounding can lower the function by 2 r times its norm, and an
eigenvalue of H + mu I below 0 by rounding by r^2 times its size; the bound gives both away.
"""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray

# Eigenvalues of H + mu I up to this, relative to those of H, are 0 up to rounding.
EIGENVALUE_ROUNDING = 1e-12
# Components of g outside the range up to this, relative to the eigenvalues of H, are rounding.
RANGE_ROUNDING = 1e-9


def trust_region_bound(form: FloatArray, slope: FloatArray, radius: float, multiplier: float) -> float:
    """No point of the ball undercuts this; -inf if the multiplier proves nothing."""
    if not multiplier >= 0:
        return -np.inf
    values, vectors = np.linalg.eigh((form + form.T) / 2)
    g = vectors.T @ slope
    shifted = values + multiplier
    scale = max(float(np.abs(values).max()), 1e-300)
    null = shifted <= EIGENVALUE_ROUNDING * scale
    indefinite = bool(np.any(shifted < -EIGENVALUE_ROUNDING * scale))
    if indefinite or np.any(np.abs(g[null]) > RANGE_ROUNDING * scale * max(radius, 1.0)):
        return -np.inf
    rounding = 2 * radius * float(np.linalg.norm(g[null])) + max(0.0, -float(shifted.min())) * radius**2
    return float(-np.sum(g[~null] * (g[~null] / shifted[~null])) - multiplier * radius**2 - rounding)
