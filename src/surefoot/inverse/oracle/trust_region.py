"""The trust-region subproblem, convex or not: min y' H y + 2 g . y subject to ||y||_2 <= r.

Strong duality holds (Appendix B of Zattoni Scroccaro, Atasoy and Mohajerin Esfahani, 2024, after Boyd and Vandenberghe): y is a
minimiser if and only if (H + mu I) y = -g for a multiplier mu >= 0 with H + mu I positive semidefinite and mu (||y|| - r) = 0.

In the eigenvectors of H the norm of y(mu) = -(H + mu I)^+ g falls as mu grows. If y of the least admissible mu lies inside the
ball and g is in the range, mu is that; otherwise bisection solves the secular equation ||y(mu)|| = r. In the hard case, where
||y(mu)|| < r at the mu that makes H + mu I singular, a step along the eigenvector of the smallest eigenvalue leads to the
boundary. Termination: a fixed number of bisections, which exhausts double precision.
"""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.inverse.oracle.parameters import TrustRegionParameters

PARAMETERS = TrustRegionParameters()


def smallest_in_ball(
    form: FloatArray, slope: FloatArray, radius: float, parameters: TrustRegionParameters = PARAMETERS
) -> tuple[FloatArray, float]:
    """A minimiser, and the multiplier of the ball, which proves it (:mod:`surefoot.inverse.problem.trust_region_dual`)."""
    values, vectors = np.linalg.eigh((form + form.T) / 2)
    g = vectors.T @ slope
    scale = max(float(np.abs(values).max()), float(np.linalg.norm(g)) / radius, 1e-300)
    singular = parameters.singular_tolerance * scale
    least = max(0.0, -float(values[0]))

    def point(multiplier: float) -> FloatArray:
        shifted = values + multiplier
        null = shifted <= singular
        return np.asarray(np.where(null, 0.0, -g / np.where(null, 1.0, shifted)), dtype=np.float64)

    low, high = least, least + float(np.linalg.norm(g)) / radius + 1e-12 * scale
    outside_range = np.abs(g[values + least <= singular])
    if np.linalg.norm(point(low)) <= radius and (outside_range.size == 0 or outside_range.max() <= singular * radius):
        multiplier = low
    else:
        for _ in range(parameters.bisections):
            middle = (low + high) / 2
            low, high = (middle, high) if np.linalg.norm(point(middle)) > radius else (low, middle)
        multiplier = high
    y = point(multiplier)
    hard_case = values[0] + multiplier <= parameters.hard_case_tolerance * scale
    if multiplier > 0 and np.linalg.norm(y) < radius and hard_case:
        y[0] += np.sign(y[0] or 1.0) * (np.sqrt(max(radius**2 - float(y @ y) + y[0] ** 2, 0.0)) - abs(y[0]))
    length = float(np.linalg.norm(y))
    y = y if length <= radius else y * (radius / length)
    return vectors @ y, multiplier
