"""From a table to numbers: which columns are categories, what fills gaps, and what to do with values never seen before.

    numeric column      -> one float64 column, finite
    categorical column  -> one int32 column of codes; level 0, the first in sorted order, is the reference

The numeric columns of a sparse table stay sparse.

Nothing is guessed silently. A gap, an infinite value or an unknown level is an error that names column, row and value, unless
the caller chose another policy when the encoder was made. Rows are counted from 0 in all messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from surefoot.design.encode.category_levels import require_category_levels, require_told, told_levels
from surefoot.design.encode.level_codes import level_codes, listing, missing_category
from surefoot.design.encode.mixed_design import MixedDesign
from surefoot.design.encode.schema import (
    ColumnSchema,
    Kind,
    Level,
    MissingCategorical,
    MissingNumeric,
    Schema,
    UnseenCategories,
    require_policy,
)
from surefoot.design.read.column import Categories, Column, sorted_levels
from surefoot.design.read.sparse_columns import MISSING_NUMBER, column_values, fill_gaps, require_finite_entries
from surefoot.design.read.table import Table, read_table
from surefoot.exceptions import InvalidTableError

Block: TypeAlias = NDArray[np.float64] | scipy.sparse.csr_array
CategoricalFeatures: TypeAlias = Literal["from_dtype"] | Sequence[str] | Sequence[int] | Sequence[bool] | NDArray[Any] | None


# What messages advise to choose.
MISSING_LEVEL = "missing_categorical='level' to make missing values a level of their own"
UNSEEN_LEVEL = "unseen_categories='reference' to have unknown levels count as the reference level"


class TableEncoder:
    """Learns a :class:`Schema` from a training table and encodes tables by it.

    Parameters
    ----------
    categorical_features : "from_dtype", None, or list of names, positions or booleans
        Which columns are categories. ``"from_dtype"``: text, boolean and categorical columns are, numbers are not. ``None`` or
        an empty list: none. Otherwise the columns named, or at the positions given, or marked True in a mask; their values may
        be numbers, every distinct one a level.
    missing_numeric : {"error", "median"}
        Gaps in numeric columns are errors, or filled with the median of the training rows (weighted by ``sample_weight``).
    missing_categorical : {"error", "level"}
        Gaps in categorical columns are errors, or a level of their own. A gap in a column that had none in training counts as
        an unseen level.
    unseen_categories : {"error", "reference"}
        Levels that no training row had are errors, or count as the reference level.
    category_levels : None, "declared", or mapping, optional
        Levels of categorical columns that no row need hold; see :mod:`surefoot.design.encode.category_levels`.
    told_kinds : callable, optional
        From a table to the kinds of columns, by position, that something else than their type decides; for "from_dtype" only.

    Attributes
    ----------
    schema_ : Schema
        Set by :meth:`fit` and :meth:`fit_encode`.
    told_levels_ : dict of positions to sets of levels
        What ``category_levels`` says about the columns of the training table.
    """

    schema_: Schema
    told_levels_: dict[int, set[Level]]

    def __init__(
        self,
        *,
        categorical_features: CategoricalFeatures = "from_dtype",
        missing_numeric: MissingNumeric = "error",
        missing_categorical: MissingCategorical = "error",
        unseen_categories: UnseenCategories = "error",
        category_levels: Any = None,
        told_kinds: Callable[[Table], Mapping[int, Kind]] | None = None,
    ) -> None:
        require_policy("missing_numeric", missing_numeric, MissingNumeric)
        require_policy("missing_categorical", missing_categorical, MissingCategorical)
        require_policy("unseen_categories", unseen_categories, UnseenCategories)
        self.categorical_features = categorical_features
        self.missing_numeric: MissingNumeric = missing_numeric
        self.missing_categorical: MissingCategorical = missing_categorical
        self.unseen_categories: UnseenCategories = unseen_categories
        require_category_levels(category_levels)
        self.category_levels = category_levels
        self.told_kinds = told_kinds

    @classmethod
    def from_schema(cls, schema: Schema) -> TableEncoder:
        """A fitted encoder, for a schema that was stored."""
        encoder = cls(
            categorical_features=list(schema.categorical_positions),
            missing_numeric=schema.missing_numeric,
            missing_categorical=schema.missing_categorical,
            unseen_categories=schema.unseen_categories,
        )
        encoder.schema_ = schema
        return encoder

    def fit(self, X: Any, sample_weight: ArrayLike | None = None) -> Schema:
        """Learn the schema of a training table; the parameters are those of :meth:`fit_encode`."""
        return self.fit_encode(X, sample_weight).schema

    def fit_encode(self, X: Any, sample_weight: ArrayLike | None = None) -> MixedDesign:
        """Learn the schema of a training table and encode its rows, reading the table once.

        Parameters
        ----------
        X : data frame, 2-d array, scipy sparse matrix (numeric), or sequence of rows
        sample_weight : array-like of shape (n_rows,), optional
            Weights for the medians. Levels are those of all rows, whatever their weight.

        Returns
        -------
        MixedDesign
            Its ``schema`` is what was learned.
        """
        table = read_table(X)
        kinds = self.kinds(table)
        self.told_levels_ = told_levels(self.category_levels, table, kinds)
        weights = _checked_weights(sample_weight, table.n_rows)
        numeric_at = [at for at, kind in enumerate(kinds) if kind == "numeric"]
        block = table.numbers(numeric_at)
        numeric = [table.columns[at].label for at in numeric_at]
        require_finite(block, numeric, allow_missing=self.missing_numeric == "median", first_row=table.first_row)
        medians: dict[int, float] = {}
        if self.missing_numeric == "median":
            medians = dict(zip(numeric_at, _medians(block, weights, numeric), strict=True))
        readings = {at: table.columns[at].categories() for at, kind in enumerate(kinds) if kind == "categorical"}
        columns = tuple(
            ColumnSchema(name=name, kind="numeric", median=medians.get(at))
            if kind == "numeric"
            else ColumnSchema(name=name, kind="categorical", levels=self._levels(readings[at], table.columns[at], at))
            for at, (name, kind) in enumerate(zip(table.names, kinds, strict=True))
        )
        self.schema_ = Schema(
            columns=columns,
            named=table.named,
            missing_numeric=self.missing_numeric,
            missing_categorical=self.missing_categorical,
            unseen_categories=self.unseen_categories,
        )
        return _design(self.schema_, block, list(readings.values()), table.first_row)

    def encode(self, X: Any) -> MixedDesign:
        """Encode a table by the schema that was learned.

        Raises
        ------
        InvalidTableError
            If the columns are not those of the training table, or a value cannot be encoded under the policies.
        """
        if not hasattr(self, "schema_"):
            raise ValueError("this TableEncoder has no schema yet: call fit or fit_encode with the training table first.")
        schema, table = self.schema_, read_table(X)
        require_same_columns(schema, table)
        block = table.numbers(schema.numeric_positions)
        labels = [schema.label(at) for at in schema.numeric_positions]
        require_finite(block, labels, allow_missing=schema.missing_numeric == "median", first_row=table.first_row)
        readings = [table.columns[at].categories() for at in schema.categorical_positions]
        return _design(schema, block, readings, table.first_row)

    def kinds(self, table: Table) -> list[Kind]:
        """Which columns of a training table are categories, by ``categorical_features``."""
        chosen = self.categorical_features
        if isinstance(chosen, str):
            if chosen != "from_dtype":
                raise ValueError(
                    f"categorical_features = {chosen!r} is not understood; use 'from_dtype', None, "
                    f"or a list such as [{chosen!r}]."
                )
            told = {} if self.told_kinds is None else self.told_kinds(table)
            return [told.get(at) or column.natural_kind() for at, column in enumerate(table.columns)]
        positions = _positions([] if chosen is None else list(chosen), table)
        return ["categorical" if at in positions else "numeric" for at in range(len(table.columns))]

    def _levels(self, reading: Categories, column: Column, at: int) -> tuple[Level, ...]:
        missing = np.flatnonzero(reading.codes < 0)
        told = self.told_levels_.get(at)
        if told is not None:
            require_told(reading, told, column)
        levels = sorted_levels(reading.values if told is None else list(told), column.label)
        if missing.size == 0:
            return levels
        if self.missing_categorical == "error":
            raise InvalidTableError(missing_category(column.label, column.first_row + missing, MISSING_LEVEL))
        return (*levels, None)


def _positions(chosen: list[Any], table: Table) -> set[int]:
    """Positions of the columns that a list of names, of positions, or a mask stands for."""
    count = len(table.names)
    if chosen and all(isinstance(entry, (bool, np.bool_)) for entry in chosen):
        if len(chosen) != count:
            raise ValueError(f"categorical_features is a mask of length {len(chosen)}, but the table has {count} columns.")
        return {at for at, entry in enumerate(chosen) if entry}
    if all(isinstance(entry, str) for entry in chosen):
        places = {name: at for at, name in enumerate(table.names)}
        unknown = [name for name in chosen if name not in places]
        if unknown:
            raise ValueError(f"categorical_features names {listing(unknown)}, but the columns are {listing(table.names)}.")
        return {places[name] for name in chosen}
    if all(isinstance(entry, (int, np.integer)) and not isinstance(entry, bool) for entry in chosen):
        outside = [int(entry) for entry in chosen if not 0 <= entry < count]
        if outside:
            raise ValueError(
                f"categorical_features lists position {outside[0]}, but positions run from 0 to {count - 1} "
                f"(columns {listing(table.names)})."
            )
        return {int(entry) for entry in chosen}
    raise ValueError(f"categorical_features must list names, or positions, or booleans, not a mixture: {listing(chosen)}.")


def _checked_weights(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64] | None:
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise InvalidTableError(f"sample_weight has shape {weights.shape}, but the table has {n_rows} rows.")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if wrong.size:
        raise InvalidTableError(
            f"sample_weight of row {wrong[0]} is {weights[wrong[0]]}; weights must be finite and at least 0."
        )
    return weights


def require_finite(
    block: Block, labels: Sequence[str], *, allow_missing: bool, first_row: int, advice: str = MISSING_NUMBER
) -> None:
    """Raise for infinite values and, unless allowed, for gaps, naming column and row; ``advice`` says what to choose."""
    if scipy.sparse.issparse(block):
        require_finite_entries(block, labels, allow_missing=allow_missing, first_row=first_row, advice=advice)
        return
    with np.errstate(over="ignore", invalid="ignore"):
        # One number tells: gaps and infinities survive every sum. Huge finite values may overflow it, so look closer then.
        if np.isfinite(block.sum()):
            return
    finite = np.isfinite(block)
    for at in np.flatnonzero(~finite.all(axis=0)).tolist():
        infinite = np.flatnonzero(np.isinf(block[:, at]))
        if infinite.size:
            raise InvalidTableError(
                f"Input X contains infinity: {labels[at]}, row {first_row + infinite[0]} holds {block[infinite[0], at]}. "
                "Replace infinite values or drop their rows."
            )
        if not allow_missing:
            missing = np.flatnonzero(np.isnan(block[:, at]))
            raise InvalidTableError(
                f"Input X contains NaN: {labels[at]} has {missing.size} missing value(s), the first in row "
                f"{first_row + missing[0]}. Fill them, drop their rows, or choose {advice}."
            )


def _medians(block: Block, weights: NDArray[np.float64] | None, labels: Sequence[str]) -> list[float]:
    if scipy.sparse.issparse(block):
        return [_median(*column, label) for column, label in zip(column_values(block, weights), labels, strict=True)]
    return [_median(block[:, at], weights, label) for at, label in enumerate(labels)]


def _median(values: NDArray[np.float64], weights: NDArray[np.float64] | None, label: str) -> float:
    """Weighted median of what is not missing: the one that repeating each row as often as its weight says would give."""
    present = ~np.isnan(values)
    if weights is not None:
        present &= weights > 0
    values = values[present]
    if values.size == 0:
        raise InvalidTableError(f"{label} holds no value in any row of positive weight, so it has no median. Drop the column.")
    if weights is None:
        middle = np.partition(values, [(values.size - 1) // 2, values.size // 2])
        low, high = middle[(values.size - 1) // 2], middle[values.size // 2]
    else:
        order = np.argsort(values, kind="stable")
        cumulated = np.cumsum(weights[present][order])
        half = cumulated[-1] / 2
        # Sums of equal weights such as 0.1 are not exact; a half that is met up to rounding is met.
        slack = 1e-12 * cumulated[-1]
        low = values[order[np.searchsorted(cumulated, half - slack, side="left")]]
        high = values[order[np.searchsorted(cumulated, half + slack, side="right")]]
    return float(low / 2 + high / 2) if low != high else float(low)


def _design(schema: Schema, block: Block, readings: Sequence[Categories], first_row: int) -> MixedDesign:
    if schema.missing_numeric == "median":
        medians = np.array([column.median for column in schema.numeric_columns], dtype=np.float64)
        if scipy.sparse.issparse(block):
            block = fill_gaps(block, medians)
        else:
            missing = np.isnan(block)
            # Into a new block: the old one may be the caller's own array.
            block = np.where(missing, medians, block) if missing.any() else block
    codes = np.empty((block.shape[0], len(readings)), dtype=np.int32)
    for at, (position, reading) in enumerate(zip(schema.categorical_positions, readings, strict=True)):
        codes[:, at] = level_codes(
            schema.columns[position].levels,
            reading,
            label=schema.label(position),
            first_row=first_row,
            allow_missing=schema.missing_categorical == "level",
            unknown=0 if schema.unseen_categories == "reference" else None,
            missing_advice=MISSING_LEVEL,
            unseen_advice=UNSEEN_LEVEL,
        )
    return MixedDesign(numeric=block, codes=codes, n_levels=schema.n_levels, schema=schema)


def require_same_columns(schema: Schema, table: Table, reader: str = "TableEncoder") -> None:
    """Raise unless the table has the columns of the schema, in its order; ``reader`` is who asks."""
    expected, found = schema.names, table.names
    if len(found) != len(expected):
        raise InvalidTableError(
            f"X has {len(found)} features, but {reader} is expecting {len(expected)} features as input: {listing(expected)}."
        )
    if not (schema.named and table.named) or found == expected:
        return
    missing = [name for name in expected if name not in found]
    extra = [name for name in found if name not in expected]
    detail = (
        f"missing: {listing(missing)}; unexpected: {listing(extra)}."
        if missing
        else f"they are in another order than in training, which was {listing(expected)}."
    )
    raise InvalidTableError(f"The feature names should match those that were passed during fit; {detail}")
