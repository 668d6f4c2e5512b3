"""What a fitted model promises about each uncertain input.

With margin m = y (w . mu + b) - r ||w|| and spread s = sqrt(w' Sigma w + v ||w||^2) the largest probability of
misclassification over all distributions with these moments is s^2 / (s^2 + m^2) for m > 0, and 1 otherwise (the one-sided
Chebyshev inequality, which is attained). Where inputs borrow deviations from each other, that is looked at with deviations that
the plane was not fitted to as well, and the larger one is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.chancesvm.estimator.posed_svm import PosedSVM, SolvedSVM
from surefoot.core.arrays import AnyArray, FloatArray
from surefoot.design.encode.schema import Level


@dataclass(frozen=True)
class SupportParameters:
    """Which inputs are called support inputs. Not tuned."""

    # Bounds the multiplier over its cost from below; solvers stop at such accuracy.
    multiplier_fraction: float = 1e-6
    # Without multipliers: bounds the distance of the ellipsoid from the margin, which is at 1.
    margin_distance: float = 1e-4


SUPPORT = SupportParameters()
INPUT_COLUMNS = ("group", "label", "samples", "violation", "misclassified", "slack", "multiplier", "support")


def input_table(posed: PosedSVM, solved: SolvedSVM, classes: AnyArray) -> dict[str, NDArray[Any] | Sequence[Level]]:
    """The columns of the table that ``ChanceConstrainedSVC.inputs`` returns."""
    problem, outcome, values = posed.problem, solved.outcome, solved.values
    plane = outcome.primal
    squared_norm = max(float(plane.coefficients @ values), 0.0)
    means, spreads = problem.moments(values)
    margins = problem.labels * (means + plane.intercept) - problem.mean_radius * np.sqrt(squared_norm)
    variances = spreads * spreads + problem.covariance_radius * squared_norm
    excess = problem.demands(values, squared_norm) - problem.labels * plane.intercept
    multipliers = np.full(problem.n_batches, np.nan)
    support = excess >= -SUPPORT.margin_distance
    if outcome.dual is not None:
        multipliers = np.maximum(problem.labels * problem.sums(outcome.dual.coefficients), 0.0)
        support = multipliers > SUPPORT.multiplier_fraction * problem.costs
    labels: list[Level] = [classes.tolist()[int(sign > 0)] for sign in problem.labels]
    return {
        "group": list(posed.inputs.names),
        "label": labels,
        "samples": posed.inputs.sizes if posed.from_rows else np.full(problem.n_batches, 0, dtype=np.int64),
        "violation": problem.violation,
        "misclassified": np.maximum(largest_error(margins, variances), _unseen_error(posed, solved)),
        "slack": np.maximum(excess, 0.0),
        "multiplier": multipliers,
        "support": support,
    }


def _unseen_error(posed: PosedSVM, solved: SolvedSVM) -> FloatArray:
    """The same by deviations that the plane was not fitted to, where inputs borrow from each other; otherwise 0."""
    problem, plane = posed.problem, solved.outcome.primal
    if posed.pool is None or posed.repeats is None:
        return np.zeros(problem.n_batches)
    made, used = posed.repeats.unseen(posed.pool), np.flatnonzero(plane.coefficients)
    values = problem.kernel.combined(made.samples, problem.samples[used], plane.coefficients[used]) + plane.intercept
    means = np.add.reduceat(made.weights * values, made.starts[:-1])
    beside = values - np.repeat(means, np.diff(made.starts))
    return largest_error(problem.labels * means, np.add.reduceat(made.weights * beside * beside, made.starts[:-1]))


def largest_error(margins: FloatArray, variances: FloatArray) -> FloatArray:
    """The probability of a margin at or below 0 that no distribution with this mean and variance exceeds."""
    safe = np.where(margins > 0, margins, 1.0)
    bounds: FloatArray = np.where(margins > 0, variances / (variances + safe * safe), 1.0)
    return bounds
