"""Rows of a table, all of them or a part, and the setting under which they stand; read from plain fields and checked here.

A table is judged part by part, and a whole table is one part: all that is needed of rows are sums, and the sums of parts add
up. ``Frame`` is what all parts have in common after a first pass over them: the total weight, which weights are divided by,
and a centre c of the numeric columns. With an intercept, beta_0 + beta_x . x = (beta_0 + beta_x . c) + beta_x . (x - c), so the
problem does not change if the columns are centred, but its numbers keep their digits: x - c is right to half a unit in the
last place, and the first bracket is computed exactly. Without an intercept, and for sparse columns, c = 0. A numeric column
is ``live`` unless it is 0 in all rows when centred; the coefficient of such a column changes no score.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from surefoot.core.arrays import AnyArray, BoolArray, FloatArray, RowArray
from surefoot.core.certificate import digest
from surefoot.core.enclosure import Enclosure, enclose
from surefoot.exceptions import CertificateError

BLOCK_ROWS = 4096
# How far the weights of a whole table may sum from 1: more than rounding, less than a row that somebody forgot.
WEIGHT_SLACK = 1e-6
DUAL = {"l1": "linf", "l2": "l2", "linf": "l1"}
SumsOf = TypeVar("SumsOf", bound="Sums")


class Sums:
    """A record of sums over a part; those of the parts of a table add up to those of the table."""

    def __add__(self: SumsOf, other: SumsOf) -> SumsOf:
        return type(self)(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Setting:
    """A problem without its rows: levels, prices of shifts (gamma, delta, kappa), norm of the numeric shifts, radius."""

    n_levels: RowArray
    gamma: FloatArray
    delta: FloatArray
    kappa: float
    norm: str
    radius: float
    fit_intercept: bool

    @property
    def offsets(self) -> RowArray:
        """Start of each feature's levels in the vector of all levels, and its length last."""
        return np.concatenate(([0], np.cumsum(self.n_levels))).astype(np.int64)

    @property
    def features(self) -> RowArray:
        """The feature of each level."""
        return np.repeat(np.arange(self.n_levels.size), self.n_levels)

    @property
    def others(self) -> BoolArray:
        """Which levels are not the reference of their feature."""
        found: BoolArray = np.ones(int(self.n_levels.sum()), dtype=np.bool_)
        found[self.offsets[:-1]] = False
        return found

    def shift_price(self, shift: Enclosure) -> Enclosure:
        """|| (gamma_j v_j)_j || of a shift v over the columns that can move, in the norm of the ground cost."""
        moves = np.isfinite(self.gamma)
        return _norm(abs(shift[moves]) * self.gamma[moves], self.norm)

    def dual_norm(self, coefficients: FloatArray) -> Enclosure:
        """|| (beta_j / gamma_j)_j ||_*: the least price at which shifts of numeric columns gain nothing (Hoelder)."""
        moves = np.isfinite(self.gamma)
        return _norm(abs(enclose(coefficients[moves])) / self.gamma[moves], DUAL[self.norm])


@dataclass(frozen=True)
class Part:
    """Rows under a setting; ``numeric`` is dense, or sparse with the interface of scipy's ``csr_array``."""

    setting: Setting
    numeric: Any
    codes: RowArray
    labels: FloatArray
    weights: FloatArray
    first_row: int = 0

    @property
    def is_sparse(self) -> bool:
        return hasattr(self.numeric, "indptr")

    def numeric_block(self, rows: Any, centre: FloatArray) -> Any:
        """Numeric columns of some rows minus the centre: an enclosure, or sparse and exact."""
        if self.is_sparse:
            return self.numeric[rows]
        return enclose(self.numeric[rows]) - centre if centre.any() else enclose(self.numeric[rows])

    def digest(self) -> str:
        """Fingerprint of the rows."""
        matrix = self.numeric
        numeric = {"numeric": matrix}
        if self.is_sparse:
            numeric = {"shape": np.array(matrix.shape), "data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
        return digest("rows", {**numeric, "codes": self.codes, "labels": self.labels, "weights": self.weights})


@dataclass(frozen=True)
class Frame:
    """What all parts of a table have in common; see the module docstring."""

    setting: Setting
    total: Enclosure
    centre: FloatArray
    largest: FloatArray
    live: BoolArray


def _norm(sizes: Enclosure, kind: str) -> Enclosure:
    """A norm of numbers at or above 0."""
    if sizes.shape[0] == 0:
        return enclose(0.0)
    if kind != "l2":
        return sizes.max() if kind == "linf" else sizes.sum()
    # Relative to a power of 2 near the largest, no square overflows.
    largest = float(np.exp2(np.clip(np.ceil(np.log2(max(float(sizes.size.max()), 1e-290))), -960, 1000)))
    relative = sizes / largest
    return (relative * relative).sum().sqrt() * largest


def blocks(n_rows: int) -> Iterator[slice]:
    """Consecutive slices that cover all rows."""
    return (slice(start, min(start + BLOCK_ROWS, n_rows)) for start in range(0, n_rows, BLOCK_ROWS))


def read_setting(source: Any) -> Setting:
    """The setting of a problem, or of the terms of one, from its fields."""
    cost = source.cost
    setting = Setting(
        np.asarray(source.n_levels, dtype=np.int64),
        np.asarray(cost.numeric_weights, dtype=np.float64),
        np.asarray(cost.categorical_weights, dtype=np.float64),
        float(cost.label_weight),
        str(cost.numeric_norm),
        float(source.radius),
        bool(source.fit_intercept),
    )
    _require(all(a.ndim == 1 for a in (setting.n_levels, setting.gamma, setting.delta)), "a weight is no vector")
    _require(setting.n_levels.size == setting.delta.size, "there is not one weight per categorical column")
    _require(bool((setting.n_levels >= 1).all()), "a categorical column has no level")
    _require(bool((setting.gamma > 0).all() and (setting.delta > 0).all() and setting.kappa > 0), "a weight is not positive")
    _require(setting.norm in DUAL, f"the norm {setting.norm!r} is not known")
    _require(0 <= setting.radius < np.inf, f"the radius {setting.radius} is not a finite number at or above 0")
    return setting


def read_part(rows: Any, setting: Setting) -> Part:
    """Rows with the fields ``numeric``, ``codes``, ``labels``, ``weights``, checked against the setting."""
    part = Part(setting, rows.numeric, rows.codes, rows.labels, rows.weights, int(getattr(rows, "first_row", 0)))
    for name, ndim in (("numeric", 2), ("codes", 2), ("labels", 1), ("weights", 1)):
        array = getattr(part, name)
        _require(len(array.shape) == ndim, f"{name} has shape {array.shape}")
        _require(array.shape[0] == part.labels.shape[0], f"{name} has {array.shape[0]} rows, labels {part.labels.shape[0]}")
        _require(array.dtype.kind in ("iu" if name == "codes" else "f"), f"{name} holds {array.dtype}")
    for what, found, wanted in (("numeric", part.numeric, setting.gamma), ("categorical", part.codes, setting.delta)):
        _require(found.shape[1] == wanted.size, f"{found.shape[1]} {what} columns, but the problem has {wanted.size}")
    _require_finite(part)
    wrong = np.argwhere((part.codes < 0) | (part.codes >= setting.n_levels))
    if wrong.size:
        row, column = wrong[0]
        _require(False, f"categorical column {column} holds code {part.codes[row, column]} in row {part.first_row + row}")
    _require(bool((np.abs(part.labels) == 1.0).all()), "labels are -1.0 and +1.0")
    _require(bool((np.isfinite(part.weights) & (part.weights >= 0)).all()), "weights are finite and not negative")
    return part


def _require_finite(part: Part) -> None:
    matrix = part.numeric
    if not part.is_sparse:
        _require(bool(np.isfinite(matrix).all()), "a numeric column holds a number that is not finite")
        return
    starts, columns = matrix.indptr, matrix.indices
    sound = starts.size == matrix.shape[0] + 1 and starts[0] == 0 and starts[-1] == columns.size == matrix.data.size
    _require(bool(sound and (np.diff(starts) >= 0).all()), "sparse rows do not follow each other")
    _require(bool(((columns >= 0) & (columns < matrix.shape[1])).all()), "a sparse row names a column that there is not")
    ascends: AnyArray = np.ones(columns.size + 1, dtype=np.bool_)
    ascends[1:-1] = np.diff(columns) > 0
    ascends[starts] = True
    _require(bool(ascends.all()), "the column indices of a sparse row do not ascend")
    _require(bool(np.isfinite(matrix.data).all()), "a numeric column holds a number that is not finite")


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise CertificateError(f"the rows break the conventions of their problem: {otherwise}.")
