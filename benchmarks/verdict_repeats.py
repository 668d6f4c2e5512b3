"""What inputs that borrow deviations from each other are taken to be, input by input and row by row; shares no code."""

from __future__ import annotations

import bisect
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Means and covariances of the samples that a model has made agree to this, relative to the size of their columns.
AGREEMENT = 1e-9
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def require_borrowed(X: NDArray[Any], members: list[NDArray[Any]], weight: NDArray[Any], problem: Any, *, same: bool) -> None:
    """Raise unless the samples of a problem have the moments that the rows X of its inputs, borrowing, are to have."""
    wanted = _moments(X, members, weight, same=same)
    largest = max(1e-300, float(np.abs(problem.samples).max()))
    for at, (mean, covariance) in enumerate(wanted):
        own = slice(problem.starts[at], problem.starts[at + 1])
        p, samples = problem.weights[own], problem.samples[own]
        beside = samples - mean
        found = (p[:, None] * beside).T @ beside
        if abs(p.sum() - 1.0) > AGREEMENT or np.abs(p @ beside).max(initial=0.0) > AGREEMENT * largest:
            raise ValueError(f"the samples of input {at} have another mean than its rows.")
        if np.abs(found - covariance).max(initial=0.0) > AGREEMENT * largest**2:
            raise ValueError(f"the samples of input {at} have the covariance {found}, not {covariance}.")


def _moments(
    X: NDArray[Any], members: list[NDArray[Any]], weight: NDArray[Any], *, same: bool
) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    floor = 2.0**-46 * np.abs(X).max(axis=0)
    counts, means, deviations, squares = [], [], [], []
    for rows in members:
        p = weight[rows] / weight[rows].sum()
        counts.append(max(float(weight[rows].sum()), 1.0 / float(p @ p)))
        means.append(p @ X[rows])
        beside = X[rows] - means[-1]
        beside[np.abs(beside) <= floor] = 0.0
        longer = math.sqrt(counts[-1] / (counts[-1] - 1.0)) if counts[-1] > 1.0 else 0.0
        deviations.append(longer * beside)
        squares.append(float(p @ np.mean(deviations[-1] ** 2, axis=1)))
    freedom = [max(count - 1.0, 0.0) if square > 0 else 0.0 for count, square in zip(counts, squares, strict=True)]
    variance = sum(f * s for f, s in zip(freedom, squares, strict=True)) / sum(freedom)
    scatter = np.zeros((X.shape[1], X.shape[1]))
    for rows, f, beside in zip(members, freedom, deviations, strict=True):
        p = weight[rows] / weight[rows].sum()
        scatter += f / sum(freedom) * (p[:, None] * beside).T @ beside
    directions = max(1.0, round(float(np.trace(scatter) ** 2 / (scatter**2).sum())))
    scales = []
    for count, square in zip(counts, squares, strict=True):
        known = directions * max(count - 1.0, 0.0)
        scales.append(1.0 if same else math.sqrt((4.0 + known * square / variance) / (4.0 + known)))
    if same:
        return [(mean, (1.0 + 1.0 / count) * scatter) for mean, count in zip(means, counts, strict=True)]
    pool, ranked = [], _ordered(np.array(means), [[float(mean @ mean) for mean in means], squares])
    every = np.vstack([own for own, f in zip(deviations, freedom, strict=True) if f > 0])
    for at in ranked:
        rows = members[at]
        if freedom[at] > 0:
            lengths = (deviations[at] ** 2).sum(axis=1)
            order = _ordered(deviations[at], [lengths], every, float((every**2).sum(axis=1).max()))
            pool += [(weight[rows[s]], deviations[at][s] / scales[at]) for s in order]
    ends = np.cumsum([one for one, _ in pool]).tolist()
    taken, found = 0, {}
    for at in ranked:
        rows = members[at]
        p = weight[rows] / weight[rows].sum()
        pairs = math.ceil(max(10.0 - counts[at], 0.0) / 2.0)
        share = 0.0 if pairs == 0 else 4.0 / (3.0 + max(counts[at], 1.0))
        covariance = (1.0 - share) * (p[:, None] * deviations[at]).T @ deviations[at]
        for _ in range(pairs):
            place = bisect.bisect_right(ends, taken * GOLDEN % 1.0 * ends[-1])
            borrowed = scales[at] * pool[min(place, len(pool) - 1)][1]
            covariance = covariance + share / pairs * np.outer(borrowed, borrowed)
            taken += 1
        found[at] = means[at], (1.0 + 1.0 / counts[at]) * covariance
    return [found[at] for at in range(len(members))]


def _ordered(vectors: NDArray[Any], before: list[Any], every: NDArray[Any] | None = None, top: float = 0.0) -> list[int]:
    """Places of vectors by some numbers, in steps of a billionth of the largest, and then by their entries up to their sign."""
    every = vectors if every is None else every
    entries = np.round(vectors * (2.0**30 / max(float(np.abs(every).max()), 1e-300)))
    keys = []
    for at, line in enumerate(entries.tolist()):
        first = next((entry for entry in line if entry), 1.0)
        tops = [top or float(np.abs(column).max()) for column in before]
        steps = [round(float(column[at]) * 2.0**30 / max(1e-300, most)) for column, most in zip(before, tops, strict=True)]
        keys.append((*steps, *(entry * math.copysign(1.0, first) for entry in line)))
    return sorted(range(len(keys)), key=keys.__getitem__)
