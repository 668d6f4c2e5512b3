"""Rows for score cards: drawn from a known card, the whole population of one, or replicas of a given table.

Population of a card
--------------------
Binary columns are independent with given shares, and the label of a row with score s is +1 with probability 1 / (1 + exp(-s)).
All 2^d rows with both labels, each weighted by its probability, are a problem whose optimum is known by construction: the
expected log loss of a card is the entropy of the label given the row plus the mean divergence between its risks and the true
ones, so the generating card has the least loss of all, whatever points are allowed, and its loss is that entropy.

Replicas of a table
-------------------
Algorithm 7 of Ustun and Rudin (JMLR 2019), by which they made hard instances of any size: column j of the simulated table
repeats an original column, in the order of random permutations of all of them; row i repeats a random original row; whole noise
from round(Normal(0, 0.5)) is added, and values are cut off at the original range. (The paper writes the number of columns in
the last, incomplete permutation as d_max - d_original; what is meant is the remainder of d_max by d_original.)

Every row of labels and every column has a random stream of its own, so a table with fewer rows or columns is the corner of a
larger one with the same seed. As in the paper, the optimum can only fall as columns are added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from surefoot.core.arrays import AnyArray, FloatArray
from surefoot.riskscore.problem.problem import RiskScore

# 2^20 rows with two labels each are as many as anybody enumerates.
_MOST_COLUMNS = 20
# Streams of random numbers: which rows, which permutation, which noise.
_ROWS, _ORDER, _NOISE = range(3)


@dataclass(frozen=True, eq=False)
class ScoreRows:
    """Rows for a risk score problem.

    Attributes
    ----------
    columns : ndarray of shape (n_rows, n_columns)
    labels : ndarray of shape (n_rows,)
        -1.0 and +1.0.
    weights : ndarray of shape (n_rows,)
        Positive, summing to 1.
    """

    columns: FloatArray
    labels: FloatArray
    weights: FloatArray


def card_population(card: RiskScore, *, shares: AnyArray | float = 0.5) -> ScoreRows:
    """All binary rows with both labels, weighted by their probability under a card; see the module docstring.

    Parameters
    ----------
    card : RiskScore
        Intercept and points; at most 20 columns.
    shares : float or array of shape (n_columns,), default=0.5
        Probability that a column is 1, strictly between 0 and 1.
    """
    d = card.points.size
    if d > _MOST_COLUMNS:
        raise ValueError(f"the card has {d} columns; at most {_MOST_COLUMNS} can be enumerated. Draw rows instead.")
    odds = _shares(shares, d)
    table = (np.arange(2**d)[:, None] >> np.arange(d)) & 1
    mass = np.prod(np.where(table == 1, odds, 1 - odds), axis=1)
    risks = expit(table @ card.points.astype(np.float64) + card.intercept)
    weights = np.concatenate([mass * risks, mass * expit(-(table @ card.points.astype(np.float64) + card.intercept))])
    labels = np.repeat([1.0, -1.0], table.shape[0])
    # A risk may be too small to be written; such a row does not occur.
    occurs = weights > 0
    columns = np.concatenate([table, table]).astype(np.float64)
    return ScoreRows(columns[occurs], labels[occurs], weights[occurs] / weights[occurs].sum())


def card_entropy(card: RiskScore, *, shares: AnyArray | float = 0.5) -> float:
    """Least expected log loss on :func:`card_population`: that of the card itself."""
    rows = card_population(card, shares=shares)
    scores = rows.columns @ card.points.astype(np.float64) + card.intercept
    return float(rows.weights @ np.logaddexp(0.0, -rows.labels * scores))


def draw_card_rows(card: RiskScore, n_rows: int, *, shares: AnyArray | float = 0.5, seed: int = 0) -> ScoreRows:
    """Rows drawn from the population of a card, all of equal weight.

    Parameters
    ----------
    card : RiskScore
    n_rows : int
    shares : float or array of shape (n_columns,), default=0.5
    seed : int, default=0
        The first rows of a larger draw are those of a smaller one.
    """
    _require_count("n_rows", n_rows)
    odds = _shares(shares, card.points.size)
    columns = np.empty((n_rows, card.points.size))
    for at, share in enumerate(odds):
        columns[:, at] = _stream(seed, _NOISE, at).random(n_rows) < share
    risks = expit(columns @ card.points.astype(np.float64) + card.intercept)
    labels = np.where(_stream(seed, _ROWS).random(n_rows) < risks, 1.0, -1.0)
    return ScoreRows(columns, labels, np.full(n_rows, 1 / n_rows))


def replicate_table(
    columns: AnyArray, labels: AnyArray, *, n_rows: int, n_columns: int, noise: float = 0.5, seed: int = 0
) -> ScoreRows:
    """A table of any size made of noisy copies of the rows and columns of a given one (Algorithm 7).

    Parameters
    ----------
    columns : array-like of shape (n_original, d_original)
        Whole numbers.
    labels : array-like of shape (n_original,)
        -1 and +1.
    n_rows, n_columns : int
        Size of the simulated table.
    noise : float, default=0.5
        Standard deviation of the noise before rounding.
    seed : int, default=0
        Tables with the same seed are corners of each other.
    """
    _require_count("n_rows", n_rows)
    _require_count("n_columns", n_columns)
    original, marks = np.asarray(columns, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    if original.ndim != 2 or original.size == 0 or marks.shape != original.shape[:1]:
        raise ValueError(f"columns of shape {original.shape} and labels of shape {marks.shape} are no table with labels.")
    if not np.all(np.abs(marks) == 1):
        raise ValueError("labels must be -1 and +1.")
    if not np.all(np.isfinite(original)) or not np.all(original == np.rint(original)):
        raise ValueError("columns must hold whole numbers; the noise is rounded to such.")
    count, width = original.shape
    replicas = -(-n_columns // width)
    order = np.concatenate([_stream(seed, _ORDER, replica).permutation(width) for replica in range(replicas)])[:n_columns]
    source = _stream(seed, _ROWS).integers(0, count, size=n_rows)
    low, high = original.min(), original.max()
    simulated = np.empty((n_rows, n_columns))
    for at, column in enumerate(order):
        moved = np.rint(original[source, column] + noise * _stream(seed, _NOISE, at).standard_normal(n_rows))
        np.clip(moved, low, high, out=simulated[:, at])
    return ScoreRows(simulated, marks[source], np.full(n_rows, 1 / n_rows))


def _stream(seed: int, *path: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=path))


def _shares(shares: AnyArray | float, count: int) -> FloatArray:
    found = np.broadcast_to(np.asarray(shares, dtype=np.float64), (count,))
    if not np.all((found > 0) & (found < 1)):
        raise ValueError(f"shares = {shares!r} must lie strictly between 0 and 1.")
    return found


def _require_count(name: str, value: int) -> None:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} = {value!r} must be a whole number of at least 1.")
