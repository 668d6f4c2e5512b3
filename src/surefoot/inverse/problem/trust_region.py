"""A quadratic function over a ball, convex or not: min y' H y + 2 g . y subject to ||y||_2 <= r.

Strong duality holds (Appendix B of the paper, after Boyd and Vandenberghe): for every multiplier m >= 0 with H + m I positive
semidefinite and g in its range, -g' (H + m I)^+ g - m r^2 is a lower bound, and the largest of them is the minimum. In the
eigenvectors of H the best m solves one equation in one unknown; where it has no solution above the smallest eigenvalue, a step
along the eigenvectors of that eigenvalue reaches the boundary (the hard case).
"""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray

BISECTIONS = 200


def smallest_in_ball(form: FloatArray, slope: FloatArray, radius: float) -> tuple[FloatArray, float]:
    """A minimiser, and a bound that no point of the ball undercuts."""
    values, vectors = np.linalg.eigh((form + form.T) / 2)
    g = vectors.T @ slope
    scale = max(float(np.abs(values).max()), float(np.linalg.norm(g)) / radius, 1e-300)
    least = max(0.0, -float(values[0]))

    def point(multiplier: float) -> FloatArray:
        bent = values + multiplier
        flat = bent <= 1e-13 * scale
        return np.asarray(np.where(flat, 0.0, -g / np.where(flat, 1.0, bent)), dtype=np.float64)

    low, high = least, least + float(np.linalg.norm(g)) / radius + 1e-12 * scale
    stuck = np.abs(g[values + least <= 1e-13 * scale])
    if np.linalg.norm(point(low)) <= radius and (stuck.size == 0 or stuck.max() <= 1e-13 * scale * radius):
        multiplier = low
    else:
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            low, high = (middle, high) if np.linalg.norm(point(middle)) > radius else (low, middle)
        multiplier = high
    y = point(multiplier)
    if multiplier > 0 and np.linalg.norm(y) < radius and values[0] + multiplier <= 1e-12 * scale:
        # The hard case: along the flattest direction nothing is lost up to the boundary.
        y[0] += np.sign(y[0] or 1.0) * (np.sqrt(max(radius**2 - float(y @ y) + y[0] ** 2, 0.0)) - abs(y[0]))
    length = float(np.linalg.norm(y))
    y = y if length <= radius else y * (radius / length)
    return vectors @ y, ball_bound(values, g, radius, multiplier)


def ball_bound(values: FloatArray, g: FloatArray, radius: float, multiplier: float) -> float:
    """The dual bound of a multiplier, in the eigenvectors of the form; -inf if the multiplier is too small."""
    bent = values + multiplier
    scale = max(float(np.abs(values).max()), 1e-300)
    flat = bent <= 1e-12 * scale
    if np.any(bent < -1e-12 * scale) or np.any(np.abs(g[flat]) > 1e-9 * scale * max(radius, 1.0)):
        return -np.inf
    # What a flat direction could still gain within the ball is charged in full.
    lost = 2 * radius * float(np.linalg.norm(g[flat])) + max(0.0, -float(bent.min())) * radius**2
    return float(-np.sum(g[~flat] ** 2 / bent[~flat]) - multiplier * radius**2 - lost)
