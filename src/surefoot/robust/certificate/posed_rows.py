"""Rows of a table, all of them or a part, and the setting under which they stand; read from plain fields and checked here.

A table is judged part by part, and a whole table is one part: all that is needed of rows are sums, and sums of parts add up.
What all parts have in common is known after a first pass: the total that weights are divided by (``shares``), and a centre c of
the numeric columns. With an intercept, beta_0 + beta_x . x = (beta_0 + beta_x . c) + beta_x . (x - c), so centring does not
change the problem, but its numbers keep their digits: x - c is right to half a unit in the last place, and the first bracket is
computed exactly. Without an intercept, and for sparse columns, c = 0.

A column with a range moves to one of its ends or stays. In a :class:`Setting` it is no part of ``gamma``, where it counts as
one that never moves, but a line of ``ranges``; a range without width, or with an infinite price, is left with the former alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray, RowArray
from surefoot.core.enclosure import Enclosure, enclose
from surefoot.exceptions import CertificateError

BLOCK_ROWS = 4096
DUAL = {"l1": "linf", "l2": "l2", "linf": "l1"}
# What arrays may hold, by the letters of NumPy's kinds.
KINDS = {"f": "real numbers", "fiu": "numbers", "iu": "whole numbers", "b": "truth values"}


class Sums(tuple[Any, ...]):
    """Sums over a part of a table, one behind the other; they add up one by one, lists by joining."""

    def __add__(self, other: Any) -> Sums:
        return Sums(a + b for a, b in zip(self, other, strict=True))


@dataclass(frozen=True)
class Setting:
    """A problem without its rows: levels, prices of shifts (gamma, delta, kappa), norm of numeric shifts, radius, ranges."""

    n_levels: RowArray
    gamma: FloatArray
    delta: FloatArray
    kappa: float
    norm: str
    radius: float
    fit_intercept: bool
    # Column, low end, high end and price per unit of each column with a range.
    ranges: FloatArray = field(default_factory=lambda: np.zeros((0, 4)))

    @property
    def ranged(self) -> RowArray:
        """The columns with a range."""
        return self.ranges[:, 0].astype(np.int64)

    @property
    def widths(self) -> Enclosure:
        """Of the ranges."""
        return enclose(self.ranges[:, 2]) - self.ranges[:, 1]

    @property
    def all_move(self) -> bool:
        """Whether every numeric column can move."""
        return int(np.isinf(self.gamma).sum()) == len(self.ranges)

    @property
    def starts(self) -> RowArray:
        """Where the levels of each feature start in the vector of all levels; the first is the reference."""
        return np.cumsum(self.n_levels) - self.n_levels

    @property
    def features(self) -> RowArray:
        """The feature of each level."""
        return np.repeat(np.arange(self.n_levels.size), self.n_levels)

    @property
    def others(self) -> BoolArray:
        """Which levels are not the reference of their feature."""
        return ~np.isin(np.arange(self.features.size), self.starts)

    def shift_price(self, shift: Enclosure) -> Enclosure:
        """|| (gamma_j v_j)_j || of a shift v over the columns that can move, in the norm of the ground cost."""
        moves = np.isfinite(self.gamma)
        return _norm(abs(shift[moves]) * self.gamma[moves], self.norm)

    def dual_norm(self, coefficients: FloatArray) -> Enclosure:
        """|| (beta_j / gamma_j)_j ||_*: the least price at which shifts of numeric columns gain nothing (Hoelder)."""
        moves = np.isfinite(self.gamma)
        return _norm(abs(enclose(coefficients[moves])) / self.gamma[moves], DUAL[self.norm])


def _norm(sizes: Enclosure, kind: str) -> Enclosure:
    """A norm of numbers at or above 0."""
    if sizes.shape[0] == 0:
        return enclose(0.0)
    if kind != "l2":
        return sizes.max() if kind == "linf" else sizes.sum()
    # Relative to a power of 2 near the largest, no square overflows.
    unit: float = 2.0 ** np.ceil(np.log2(np.clip(sizes.size.max(), 2.0**-900, 2.0**900)))
    return ((sizes / unit) * (sizes / unit)).sum().sqrt() * unit


@dataclass(frozen=True)
class Part:
    """Rows under a setting, about a centre; ``numeric`` is dense, or sparse with the interface of scipy's ``csr_array``."""

    setting: Setting
    centre: FloatArray
    numeric: Any
    codes: RowArray
    labels: FloatArray
    shares: Enclosure
    first_row: int
    is_sparse: bool

    def dense(self, rows: Any) -> Any:
        """Numeric columns of some rows, as they are."""
        return self.numeric[rows].toarray() if self.is_sparse else self.numeric[rows]

    def columns(self, rows: Any) -> Any:
        """Numeric columns of some rows minus the centre: an enclosure, or sparse and exact."""
        return self.centred(self.numeric[rows])

    def centred(self, block: Any) -> Any:
        """Rows of numeric columns minus the centre."""
        return block if self.is_sparse else enclose(block) - self.centre if self.centre.any() else enclose(block)


def blocks(n_rows: int) -> Iterator[slice]:
    """Consecutive slices that cover all rows."""
    return (slice(start, min(start + BLOCK_ROWS, n_rows)) for start in range(0, n_rows, BLOCK_ROWS))


def turned(matrix: Any) -> Any:
    """The transpose of numeric columns."""
    return matrix.transposed if isinstance(matrix, Enclosure) else matrix.T


def read_setting(source: Any) -> Setting:
    """The setting of a problem, or of the terms of one, from its fields."""
    gamma, delta = (np.asarray(getattr(source.cost, f"{name}_weights"), float) for name in ("numeric", "categorical"))
    n_levels, radius = np.asarray(source.n_levels, dtype=np.int64), float(source.radius)
    norm, kappa = str(source.cost.numeric_norm), float(source.cost.label_weight)
    _require(gamma.ndim == 1 and delta.shape == n_levels.shape == (delta.size,), "there is not one weight per column")
    _require((n_levels >= 1).all(), "a categorical column has no level")
    _require((gamma > 0).all() and (delta > 0).all() and kappa > 0, "a weight is not positive")
    _require(norm in DUAL, f"the norm {norm!r} is not known")
    _require(0 <= radius < np.inf, f"the radius {radius} is not a finite number at or above 0")
    ends = np.tile([-np.inf, np.inf], (gamma.size, 1))
    if getattr(source.cost, "numeric_ranges", None) is not None:
        ends = read_array("numeric_ranges", source.cost.numeric_ranges, "f", ends.shape)
    low, high = ends.T
    limited = ~((low == -np.inf) & (high == np.inf))
    _require((~limited | (np.isfinite(high - low) & (low <= high))).all(), "a range does not have two finite ends in order")
    _require(norm == "l1" or not limited.any(), "there are ranges under another norm than l1")
    moves = limited & (low < high) & np.isfinite(gamma)
    ranges = np.column_stack((np.flatnonzero(moves).astype(np.float64), low[moves], high[moves], gamma[moves]))
    gamma = np.where(limited, np.inf, gamma)
    return Setting(n_levels, gamma, delta, kappa, norm, radius, bool(source.fit_intercept), ranges)


def read_part(rows: Any, setting: Setting, total: Enclosure | float = 1.0, centre: FloatArray | float = 0.0) -> Part:
    """Rows with the fields ``numeric``, ``codes``, ``labels``, ``weights``, checked against the setting."""
    n_rows, first_row, is_sparse = rows.labels.size, int(getattr(rows, "first_row", 0)), hasattr(rows.numeric, "indptr")
    read_array("numeric", rows.numeric, "f", (n_rows, setting.gamma.size))
    read_array("codes", rows.codes, "iu", (n_rows, setting.delta.size))
    read_array("labels", rows.labels, "f", (n_rows,))
    read_array("weights", rows.weights, "f", (n_rows,))
    _require(not is_sparse or _is_canonical(rows.numeric), "sparse rows name columns twice, not in order, or unknown ones")
    numbers = rows.numeric.data if is_sparse else rows.numeric
    _require(np.isfinite(numbers).all(), "a numeric column holds a number that is not finite")
    if setting.ranges.size:
        _require(not is_sparse, "a column of a sparse table has a range")
        own = rows.numeric[:, setting.ranged][rows.weights > 0]
        _require(((own >= setting.ranges[:, 1]) & (own <= setting.ranges[:, 2])).all(), "a number lies outside its range")
    for row, column in np.argwhere((rows.codes < 0) | (rows.codes >= setting.n_levels))[:1]:
        _require(False, f"categorical column {column} holds code {rows.codes[row, column]} in row {first_row + row}")
    _require((np.abs(rows.labels) == 1.0).all(), "labels are -1.0 and +1.0")
    _require((np.isfinite(rows.weights) & (rows.weights >= 0)).all(), "weights are finite and not negative")
    shares = enclose(rows.weights) / total
    return Part(setting, np.asarray(centre), rows.numeric, rows.codes, rows.labels, shares, first_row, is_sparse)


def read_array(what: str, value: Any, kinds: str, shape: tuple[int, ...]) -> Any:
    """An array of that shape, of a kind that these letters of NumPy name, real numbers as doubles; raises if it is none."""
    array = value if hasattr(value, "indptr") else np.asarray(value)
    if array.shape != shape or array.dtype.kind not in kinds:
        wanted = f"{KINDS[kinds]} of shape {shape} belong there"
        raise CertificateError(f"{what} is {array.dtype} of shape {array.shape}; {wanted}.")
    return array.astype(np.float64, copy=False) if "f" in kinds and isinstance(array, np.ndarray) else array


def _is_canonical(matrix: Any) -> bool:
    counts, columns = np.diff(matrix.indptr), matrix.indices
    ends = matrix.indptr[0] == 0 and counts.size == matrix.shape[0] and counts.sum() == columns.size == matrix.data.size
    if not (ends and (counts >= 0).all() and ((columns >= 0) & (columns < matrix.shape[1])).all()):
        return False
    return bool((np.diff(np.repeat(np.arange(counts.size), counts) * matrix.shape[1] + columns) > 0).all())


def _require(condition: Any, otherwise: str) -> None:
    if not condition:
        raise CertificateError(f"the rows break the conventions of their problem: {otherwise}.")
