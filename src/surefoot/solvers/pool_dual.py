"""The small quadratic programme behind worst points: the SVM dual over a pool of points, several for each batch.

    min over a >= 0 of  1/2 a' Q a - sum_k a_k    subject to  sum_k y_k a_k = 0,   sum_{k in batch i} a_k <= C_i.

A primal-dual interior point with Mehrotra's predictor and corrector. With s the multipliers of a >= 0, x_i those of the
ceilings, t_i what is left below them and b that of the equality, every step solves

    (Q + diag(s / a) + E' diag(x / t) E) da + y db = r,      y' da = -y' a,

where E adds up batches. Pools hold some hundred points, so that a dense factorisation takes a millisecond.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from surefoot.problems.arrays import FloatArray, RowArray

MAX_ITERATIONS = 100
# The share of the way to the boundary that a step takes.
STEP_SHARE = 0.99


@dataclass(frozen=True)
class PoolWeights:
    """Feasible weights of the points, the multipliers of a >= 0, and whether the gap was closed."""

    weights: FloatArray
    multipliers: FloatArray
    closed: bool


def pool_weights(
    quadratic: FloatArray, labels: FloatArray, batch: RowArray, ceilings: FloatArray, tolerance: float
) -> PoolWeights:
    """Minimise until the gap between primal and dual is at most the tolerance, relative to the optimum.

    ``quadratic`` carries the labels: Q_kl = y_k y_l <p_k, p_l>. ``batch`` numbers the ceiling of every point.
    """
    n, n_batches = labels.size, ceilings.size
    same = (batch[:, None] == batch).astype(np.float64)
    counts = np.bincount(batch, minlength=n_batches)
    # As much weight as a single point of each class would need, within half of the ceilings.
    typical = 1.0 / max(float(np.diagonal(quadratic).mean()), 1e-300)
    a = np.minimum(typical, 0.5 * ceilings[batch] / counts[batch])
    t = ceilings - np.bincount(batch, a, n_batches)
    s, x, b = np.ones(n), np.ones(n_batches), 0.0
    closed = False
    for _ in range(MAX_ITERATIONS):
        qa = quadratic @ a
        dual = qa - 1.0 + b * labels - s + x[batch]
        equality, over = float(labels @ a), np.bincount(batch, a, n_batches) + t - ceilings
        slackness = float(a @ s + t @ x)
        scale = tolerance * abs(0.5 * float(a @ qa) - float(a.sum()))
        if slackness <= scale and float(np.abs(dual) @ a) <= scale and abs(equality) <= 1e-9 * float(a.sum()):
            closed = True
            break
        matrix = same * (x / t)[batch]
        matrix += quadratic
        matrix.flat[:: n + 1] += s / a
        try:
            factor = scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            break
        along = scipy.linalg.cho_solve(factor, labels, check_finite=False)
        bend = float(labels @ along)

        def step(
            targets: FloatArray,
            ceiling_targets: FloatArray,
            factor: tuple[FloatArray, bool] = factor,
            state: tuple[FloatArray, ...] = (a, s, t, x, dual, over, along),
            scalars: tuple[float, float] = (equality, bend),
        ) -> tuple[FloatArray, float, FloatArray, FloatArray, FloatArray]:
            """Newton's step towards a s = targets and t x = ceiling_targets."""
            a, s, t, x, dual, over, along = state
            equality, bend = scalars
            right = -dual + (targets - a * s) / a - ((ceiling_targets - t * x + x * over) / t)[batch]
            free = scipy.linalg.cho_solve(factor, right, check_finite=False)
            db = (float(labels @ free) + equality) / bend
            da = free - db * along
            dt = -over - np.bincount(batch, da, n_batches)
            return da, db, (targets - a * s - s * da) / a, dt, (ceiling_targets - t * x - x * dt) / t

        mu = slackness / (n + n_batches)
        da, db, ds, dt, dx = step(np.zeros(n), np.zeros(n_batches))
        primal, second = _reach((a, da), (t, dt)), _reach((s, ds), (x, dx))
        ahead = float((a + primal * da) @ (s + second * ds) + (t + primal * dt) @ (x + second * dx)) / (n + n_batches)
        aim = mu * min(1.0, (ahead / mu)) ** 3
        da, db, ds, dt, dx = step(aim - da * ds, aim - dt * dx)
        primal, second = STEP_SHARE * _reach((a, da), (t, dt)), STEP_SHARE * _reach((s, ds), (x, dx))
        a, t = a + primal * da, t + primal * dt
        s, x, b = s + second * ds, x + second * dx, b + second * db
    return PoolWeights(_feasible(a, labels, batch, ceilings), s, closed)


def _reach(*pairs: tuple[FloatArray, FloatArray]) -> float:
    """How far the steps can go before a value is 0, at most 1 / STEP_SHARE."""
    most = 1.0 / STEP_SHARE
    for value, change in pairs:
        falling = change < 0
        if falling.any():
            most = min(most, float((value[falling] / -change[falling]).min()))
    return most


def _feasible(a: FloatArray, labels: FloatArray, batch: RowArray, ceilings: FloatArray) -> FloatArray:
    """The weights, with what rounding and unfinished steps left over cut away."""
    a = np.maximum(a, 0.0)
    sums = np.bincount(batch, a, ceilings.size)
    a = a * np.minimum(1.0, ceilings / np.maximum(sums, 1e-300))[batch]
    positive, negative = float(a[labels > 0].sum()), float(a[labels < 0].sum())
    least = min(positive, negative)
    return np.asarray(a * np.where(labels > 0, least / max(positive, 1e-300), least / max(negative, 1e-300)))
