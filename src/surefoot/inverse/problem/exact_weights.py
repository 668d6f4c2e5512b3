"""Multipliers as fractions: slopes that must be 0 are 0 to the last digit.

Weak duality over an unbounded coordinate needs a slope of exactly 0, or of at most kappa with an l1 regularizer
(:mod:`surefoot.inverse.problem.cost_proof`). As many multipliers as there are such coordinates are changed, in rational
arithmetic, until these equations hold; which ones is decided by elimination with complete pivoting in doubles, large
multipliers first. Where that is not needed, because a price of the sum can be raised or multipliers of an l1 problem can be
scaled down by more than rounding, it is not done.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.inverse.problem.cost_proof import CostProof, FacetProof
from surefoot.inverse.problem.hypothesis import LinearFeatures
from surefoot.inverse.problem.problem import Example, InverseProblem


@dataclass(frozen=True)
class ExactWeightParameters:
    """Multipliers as fractions.

    Attributes
    ----------
    scaled_down : float
        Factor on the multipliers of l1 problems, which then keep their slopes at or below kappa in spite of rounding.
    noise : float
        Slopes are known to this fraction of their terms.
    max_coordinates : int
        Coordinates whose slopes are made exact, at most: rational elimination is slow.
    pivot : float
        Pivots up to this, of rows scaled to 1, are 0.
    worth : float
        What rounding may take of a bound, relative to it; where it would take more, slopes of bounded coordinates are made
        exact too.
    off_sum : float
        By how much a sum that is prescribed may be missed to be mended, and an entry changed to that end, relative to it.
    """

    scaled_down: float = 1.0 - 2.0**-40
    noise: float = 1e-14
    max_coordinates: int = 64
    pivot: float = 1e-7
    worth: float = 1e-9
    off_sum: float = 1e-9


PARAMETERS = ExactWeightParameters()
Proof = TypeVar("Proof")


def exact_proof(problem: InverseProblem, proof: Proof) -> Proof:
    """The same proof, with multipliers that bound what they are said to bound over real numbers, as far as that succeeds."""
    made: Any = proof
    if isinstance(proof, FacetProof):
        tasks = [replace(problem, prior=facet) for facet in proof.facets]
        made = replace(proof, proofs=tuple(map(exact_proof, tasks, proof.proofs)))
    elif isinstance(proof, CostProof) and not problem.prior.psd:
        made = _exact(problem, proof)
    return made  # type: ignore[no-any-return]


def exact_sum(theta: FloatArray, total: float | None) -> FloatArray:
    """A cost vector whose entries have a sum to the last digit, if it is 1; the vector itself where doubles do not allow that.

    Entries become whole multiples of 2^-53, as all doubles from 1/2 to 1 are, unless one is so small that this would change it.
    """
    if total != 1.0 or not abs(float(theta.sum()) - 1.0) <= PARAMETERS.off_sum:
        return theta
    units = np.rint(theta * 2.0**53).astype(np.int64)
    changes = np.abs(units * 2.0**-53 - theta) > PARAMETERS.off_sum * np.abs(theta)
    units[int(np.argmax(theta))] += 2**53 - int(units.sum())
    found = np.asarray(units * 2.0**-53, dtype=np.float64)
    return theta if changes.any() or sum(map(Fraction, found.tolist())) != 1 else found


def _exact(problem: InverseProblem, proof: CostProof) -> CostProof:
    prior, kappa, n = problem.prior, problem.kappa, problem.n_examples
    l1 = problem.regularizer.kind == "l1" and kappa > 0
    if kappa > 0 and not l1:
        return proof
    cuts = problem.cuts(proof.owners.tolist(), proof.points)
    weights = np.maximum(proof.weights, 0.0)
    if not problem.hard:
        sums = np.bincount(proof.owners, weights=weights, minlength=n)
        weights = weights / np.maximum(n * sums, 1.0)[proof.owners]
    down = PARAMETERS.scaled_down if l1 else 1.0
    weights, prices, total = weights * down, np.maximum(proof.row_prices, 0.0) * down, proof.total_price * down
    slope = weights @ cuts.slopes + prices @ prior.matrix + (0.0 if prior.total is None else total)
    noise = PARAMETERS.noise * (weights @ np.abs(cuts.slopes) + prices @ np.abs(prior.matrix) + abs(total))
    falling = (np.isinf(prior.lower) & (slope + noise >= kappa)) | (np.isinf(prior.upper) & (slope - noise <= -kappa))
    constant = abs(
        float(weights @ cuts.offsets - prices @ prior.ceiling - (0.0 if prior.total is None else total * prior.total))
    )
    if prior.total is not None and not np.any(np.isinf(prior.lower)) and falling.any():
        # Slopes must not be negative, not even by the rounding of a 0: a price of the sum that is higher sees to that.
        more = float(np.max((-kappa - slope + noise)[falling])) + PARAMETERS.noise * float(weights @ cuts.offsets) + 1e-280
        # Beside columns of large units that may cost more than the bound has.
        if more * abs(prior.total) <= PARAMETERS.worth * constant:
            total += more
            falling[:] = False
    if kappa == 0:
        ends = np.maximum(np.abs(prior.lower), np.abs(prior.upper))
        bounded = np.isfinite(ends) & (prior.lower < prior.upper)
        falling |= bounded & (np.abs(slope) <= noise) & (noise * np.where(bounded, ends, 0.0) > PARAMETERS.worth * constant)
    proof = replace(proof, weights=weights, row_prices=prices, total_price=float(total))
    if not falling.any() or falling.sum() > PARAMETERS.max_coordinates:
        return proof
    found = _balanced(problem, proof, np.flatnonzero(falling).tolist(), np.sign(slope) * (kappa * down))
    if found is None:
        return proof
    if not problem.hard:
        shares = [Fraction(0)] * n
        for owner, value in zip(proof.owners.tolist(), found, strict=False):
            shares[owner] += value * n
        most = max(Fraction(1), *shares)
        found = [value / most for value in found]
    return replace(proof, exact=tuple(map(str, found)))


def _balanced(problem: InverseProblem, proof: CostProof, at: list[int], wanted: FloatArray) -> list[Fraction] | None:
    """Multipliers near those of a proof, whose slopes at some coordinates are exactly those wanted."""
    prior, free = problem.prior, problem.prior.total is not None
    given = [*proof.weights, *proof.row_prices, *([proof.total_price] if free else [])]
    values = [Fraction(float(value)) for value in given]
    columns = [exact_slope(problem.examples[i], x, at) for i, x in zip(proof.owners.tolist(), proof.points, strict=True)]
    columns += [[Fraction(float(row[j])) for j in at] for row in prior.matrix] + ([[Fraction(1)] * len(at)] if free else [])
    used = [k for k, value in enumerate(values) if value]
    matrix = np.array([[float(columns[k][j]) * float(values[k]) for k in used] for j in range(len(at))])
    rows, picked = _pivots(matrix)
    goal = [Fraction(float(wanted[j])) for j in at]
    short = [goal[j] - sum((values[k] * columns[k][j] for k in used), Fraction(0)) for j in range(len(at))]
    change = _solved([[columns[used[k]][j] for k in picked] + [short[j]] for j in rows])
    if change is None:
        return None
    for k, step in zip(picked, change, strict=True):
        values[used[k]] += step
    left = [sum((values[k] * columns[k][j] for k in used), Fraction(0)) for j in range(len(at))]
    return values if left == goal and min(values[: len(values) - free], default=Fraction(0)) >= 0 else None


def exact_slope(example: Example, point: FloatArray, at: list[int]) -> list[Fraction]:
    """phi(response) - phi(x) in rational numbers, at some coordinates."""
    features = example.instance.features
    if isinstance(features, LinearFeatures):
        apart = [Fraction(a) - Fraction(b) for a, b in zip(example.response.tolist(), point.tolist(), strict=True)]
        moved = [k for k, value in enumerate(apart) if value]
        return [sum((Fraction(float(features.matrix[j, k])) * apart[k] for k in moved), Fraction(0)) for j in at]
    own, other = (features.of(part[None, :])[0] for part in (example.response, point))
    return [Fraction(float(own[j])) - Fraction(float(other[j])) for j in at]


def _pivots(matrix: FloatArray) -> tuple[list[int], list[int]]:
    """Rows and columns of a well-conditioned block, as large as the rank seems to be: elimination with complete pivoting."""
    rows: list[int] = []
    columns: list[int] = []
    left = matrix / np.abs(matrix).max(axis=1, initial=1e-300)[:, None]
    for _ in range(min(matrix.shape)):
        row, column = np.unravel_index(int(np.argmax(np.abs(left))), left.shape)
        if abs(left[row, column]) <= PARAMETERS.pivot:
            break
        rows.append(int(row))
        columns.append(int(column))
        left = left - np.outer(left[:, column], left[row]) / left[row, column]
    return rows, columns


def _solved(rows: list[list[Fraction]]) -> list[Fraction] | None:
    """The solution of a square system, right-hand sides last; None if it is singular."""
    n = len(rows)
    for k in range(n):
        pivot = next((r for r in range(k, n) if rows[r][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for r in range(n):
            if r != k and rows[r][k]:
                rows[r] = [a - rows[r][k] * b for a, b in zip(rows[r], rows[k], strict=True)]
    return [row[-1] for row in rows]
