"""From a table of numbers and categories to 0/1 columns that can be read aloud.

    numeric column       -> "age >= 65", "age >= 75": one column per threshold (see :mod:`surefoot.design.binarize.cuts`)
    numeric, 0 and 1     -> itself categorical column   -> "channel = web", ...: one column per level, or one for all rare
    levels together boolean column       -> itself gaps, on request     -> "age missing"; all other columns of that feature
    are 0 there; or the answers of the median, or of the
                            most frequent level, and no column of their own

A column that is constant in training gives nothing. If the levels of a category leave two columns of which each is one minus
the other, one is enough: the first level is dropped (or the group of rare ones), unless levels that were never seen are to be
read as zeros, because then the two are no longer complements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from surefoot.design.binarize.binary_column import BinaryColumn
from surefoot.design.binarize.cuts import Direction, quantile_cuts, readable_threshold, supervised_cuts
from surefoot.design.encode.level_codes import level_codes, missing_category
from surefoot.design.encode.schema import ColumnSchema, Level, Schema, require_policy
from surefoot.design.encode.table_encoder import CategoricalFeatures, TableEncoder, require_finite, require_same_columns
from surefoot.design.read.column import Categories, sorted_levels
from surefoot.design.read.table import Table, read_table
from surefoot.exceptions import InvalidTableError

Strategy: TypeAlias = Literal["quantile", "supervised"]
Missing: TypeAlias = Literal["error", "column", "typical"]
Unseen: TypeAlias = Literal["error", "zero"]

_MISSING_ADVICE = (
    "missing='column' to give missing values a column of their own, or missing='typical' to answer them as the typical row does"
)
_UNSEEN_ADVICE = "unseen='zero' to have all columns of this feature 0 there"


@dataclass(frozen=True)
class BinaryPlan:
    """The 0/1 columns that a table was given, and how to compute them for later tables.

    Attributes
    ----------
    schema : Schema
        The columns of the training table; a category with gaps has the level None.
    outputs : tuple of tuple of BinaryColumn
        The 0/1 columns of each column of the table, in table order; thresholds ascend, levels are sorted, "missing" is last.
    missing : {"error", "column", "typical"}
    unseen : {"error", "zero"}
    fills : tuple of number or level
        What a gap in each column of the table is taken for; empty unless ``missing`` is "typical", None for columns of gaps.
    """

    schema: Schema
    outputs: tuple[tuple[BinaryColumn, ...], ...]
    missing: Missing
    unseen: Unseen
    fills: tuple[Level, ...] = ()

    @property
    def columns(self) -> tuple[BinaryColumn, ...]:
        """All 0/1 columns in order."""
        return tuple(column for own in self.outputs for column in own)

    def apply(self, X: Any) -> NDArray[np.int8]:
        """The 0/1 columns of a table.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs), int8

        Raises
        ------
        InvalidTableError
            If the columns are not those of the training table, or a value is missing, infinite or unknown and no policy for
            it was chosen.
        """
        table = read_table(X)
        require_same_columns(self.schema, table, "ThresholdBinarizer")
        block = np.zeros((table.n_rows, len(self.columns)), dtype=np.int8)
        starts = np.cumsum([0, *map(len, self.outputs)])
        for at, values in numeric_columns(self.schema, table, allow_missing=self.missing != "error"):
            if self.missing == "typical":
                values = filled_numbers(values, self.fills[at])
            else:
                self._require_known_gaps(at, values, table)
            for place, column in enumerate(self.outputs[at], starts[at]):
                block[:, place] = self._numeric(column, values, at, table.first_row)
        for at in self.schema.categorical_positions:
            block[:, starts[at] : starts[at + 1]] = self._categorical(at, table)
        return block

    def _numeric(self, column: BinaryColumn, values: NDArray[np.float64], at: int, first_row: int) -> NDArray[np.bool_]:
        if column.operator == ">=":
            return np.asarray(values >= np.float64(column.value))  # type: ignore[arg-type]  # a threshold is a number
        if column.operator == "missing":
            return np.isnan(values)
        strange = np.flatnonzero((values != 0) & (values != 1) & ~np.isnan(values))
        if strange.size and self.unseen == "error":
            row = int(strange[0])
            raise InvalidTableError(
                f"{self.schema.label(at)}, row {first_row + row} holds {values[row]}, but the column held only 0 and 1 in "
                f"training. Correct the value, fix thresholds for this column, for example "
                f"thresholds={{{self.schema.columns[at].name!r}: [1]}}, or choose {_UNSEEN_ADVICE}."
            )
        return np.asarray(values == 1)

    def _require_known_gaps(self, at: int, values: NDArray[np.float64], table: Table) -> None:
        gaps = np.flatnonzero(np.isnan(values))
        if gaps.size and self.unseen == "error" and not any(column.operator == "missing" for column in self.outputs[at]):
            raise InvalidTableError(
                f"{self.schema.label(at)}, row {table.first_row + gaps[0]} is missing, which no training row was. "
                f"Fill the value, or choose {_UNSEEN_ADVICE}."
            )

    def _categorical(self, at: int, table: Table) -> NDArray[np.bool_]:
        levels, reading = self.schema.columns[at].levels, table.columns[at].categories()
        codes = level_codes(
            levels,
            _filled_levels(reading, self.fills[at]) if self.missing == "typical" else reading,
            label=self.schema.label(at),
            first_row=table.first_row,
            allow_missing=self.missing != "error",
            unknown=len(levels) if self.unseen == "zero" else None,
            missing_advice=_MISSING_ADVICE,
            unseen_advice=_UNSEEN_ADVICE,
        )
        # One row of answers per level, and one of zeros for levels that nobody knew.
        answers = np.zeros((len(levels) + 1, len(self.outputs[at])), dtype=bool)
        for place, column in enumerate(self.outputs[at]):
            meant = column.value if isinstance(column.value, tuple) else (column.value,)
            answers[[levels.index(level) for level in meant], place] = True
        return answers[codes]


@dataclass(frozen=True)
class TableBinarizer:
    """Learns which 0/1 columns to make of a table.

    Parameters
    ----------
    strategy : {"quantile", "supervised"}
    max_thresholds : sequence of int
        Most thresholds of each column of the table, in order; categories ignore theirs.
    thresholds : mapping of int to sequence of float
        Fixed thresholds of columns by their position.
    categorical_features : "from_dtype", None, or list
        As in :class:`surefoot.design.encode.table_encoder.TableEncoder`.
    directions : mapping of int to {"increasing", "decreasing", "either"}
        How the share of positive rows goes along columns, by their position; for supervised cuts.
    missing : {"error", "column", "typical"}
    unseen : {"error", "zero"}
    rare : float
        Levels with less weight than this are counted as one.
    min_share : float
        Least share of the weight in each interval between supervised cuts.
    drop_complements : bool
    round_thresholds : bool
        Whether thresholds are moved to the roundest number that parts the training rows in the same way,
    rounding_slack : float
        or in the same way but for this share of their weight.
    """

    strategy: Strategy
    max_thresholds: Sequence[int]
    thresholds: Mapping[int, Sequence[float]]
    categorical_features: CategoricalFeatures = "from_dtype"
    directions: Mapping[int, Direction] = field(default_factory=dict)
    missing: Missing = "error"
    unseen: Unseen = "error"
    rare: float = 0.0
    min_share: float = 0.05
    drop_complements: bool = True
    round_thresholds: bool = True
    rounding_slack: float = 0.0

    def __post_init__(self) -> None:
        require_policy("strategy", self.strategy, Strategy)
        require_policy("missing", self.missing, Missing)
        require_policy("unseen", self.unseen, Unseen)

    def fit(self, X: Any, weights: NDArray[np.float64], positive: NDArray[np.bool_] | None = None) -> BinaryPlan:
        """Learn the plan of a training table.

        Parameters
        ----------
        X : data frame, 2-d array, scipy sparse matrix, or sequence of rows
        weights : ndarray of shape (n_rows,)
            How often each row counts; rows of weight 0 are checked and then left out.
        positive : ndarray of shape (n_rows,), optional
            Which rows are of the positive class; needed by supervised cuts.
        """
        table = read_table(X)
        kinds = TableEncoder(categorical_features=self.categorical_features).kinds(table)
        readings = {at: table.columns[at].categories() for at, kind in enumerate(kinds) if kind == "categorical"}
        counting, fills = weights > 0, dict[int, Level]()
        if self.missing == "typical":
            fills = {at: _typical_level(reading, table, at, weights) for at, reading in readings.items()}
            readings = {at: _filled_levels(reading, fills[at]) for at, reading in readings.items()}
        columns = tuple(
            ColumnSchema(name=name, kind="numeric")
            if kind == "numeric"
            else ColumnSchema(name=name, kind="categorical", levels=self._levels(readings[at], table, at, counting))
            for at, (name, kind) in enumerate(zip(table.names, kinds, strict=True))
        )
        schema = Schema(columns, table.named, missing_categorical="level" if self.missing == "column" else "error")
        for name, named in (("thresholds", self.thresholds), ("monotone", self.directions)):
            for at in named:
                if kinds[at] != "numeric":
                    raise ValueError(f"{name} names {schema.label(at)}, which is categorical; only numbers have thresholds.")
        outputs: list[tuple[BinaryColumn, ...]] = [()] * len(columns)
        own, labels = weights[counting], None if positive is None else positive[counting]
        for at, values in numeric_columns(schema, table, allow_missing=self.missing != "error"):
            if self.missing == "typical":
                fills[at] = _median(values, weights)
                values = filled_numbers(values, fills[at])
            outputs[at] = self._numeric(columns[at].name, at, values[counting], own, labels)
        for at, reading in readings.items():
            outputs[at] = self._categorical(columns[at], reading, schema.label(at), table.first_row, weights)
        kept = tuple(fills[at] for at in range(len(columns))) if self.missing == "typical" else ()
        plan = BinaryPlan(schema, tuple(outputs), self.missing, self.unseen, kept)
        _require_names(plan, int(counting.sum()))
        return plan

    def _numeric(
        self,
        name: str,
        at: int,
        values: NDArray[np.float64],
        weights: NDArray[np.float64],
        positive: NDArray[np.bool_] | None,
    ) -> tuple[BinaryColumn, ...]:
        gaps = np.isnan(values)
        missing = (BinaryColumn(name, "missing"),) if gaps.any() and not gaps.all() else ()
        if at in self.thresholds:
            return (*(BinaryColumn(name, ">=", float(value)) for value in self.thresholds[at]), *missing)
        distinct, inverse = np.unique(values[~gaps], return_inverse=True)
        if distinct.size < 2:
            return missing
        if distinct.tolist() == [0.0, 1.0]:
            return (BinaryColumn(name, "=", True), *missing)
        weights, labels = weights[~gaps], None if positive is None else positive[~gaps]
        if labels is None:
            cuts = quantile_cuts(_sums(inverse, weights), self.max_thresholds[at])
        else:
            cuts = supervised_cuts(
                _sums(inverse, weights * labels),
                _sums(inverse, weights * ~labels),
                self.max_thresholds[at],
                self.min_share,
                self.directions.get(at),
            )
        chosen = self._readable(distinct, _sums(inverse, weights), cuts)
        return (*(BinaryColumn(name, ">=", value) for value in chosen), *missing)

    def _readable(self, distinct: NDArray[np.float64], counts: NDArray[np.float64], cuts: NDArray[np.intp]) -> list[float]:
        """Thresholds for cuts; each may pass rows of ``rounding_slack`` of the weight on its way to a rounder number."""
        if not self.round_thresholds:
            return [float(value) for value in distinct[cuts + 1]]
        below = np.cumsum(counts)
        slack = self.rounding_slack * below[-1]
        first = np.searchsorted(below, below[cuts] - slack, side="left")
        last = np.minimum(np.searchsorted(below, below[cuts] + slack, side="right") - 1, distinct.size - 2)
        gaps = zip(distinct[first].tolist(), distinct[last + 1].tolist(), strict=True)
        return sorted({readable_threshold(low, high) for low, high in gaps})

    def _levels(self, reading: Categories, table: Table, at: int, counting: NDArray[np.bool_]) -> tuple[Level, ...]:
        label = table.columns[at].label
        gaps = np.flatnonzero(reading.codes < 0)
        if gaps.size and self.missing == "error":
            raise InvalidTableError(missing_category(label, table.first_row + gaps, _MISSING_ADVICE))
        used = np.unique(reading.codes[counting])
        levels = sorted_levels([reading.values[code] for code in used if code >= 0], label)
        return (*levels, None) if used[0] < 0 else levels

    def _categorical(
        self, column: ColumnSchema, reading: Categories, label: str, first_row: int, weights: NDArray[np.float64]
    ) -> tuple[BinaryColumn, ...]:
        levels = column.levels
        # Levels of rows that do not count are unknown to the schema; they get a place of their own, which is then left out.
        codes = level_codes(
            levels,
            reading,
            label=label,
            first_row=first_row,
            allow_missing=True,
            unknown=len(levels),
            missing_advice=_MISSING_ADVICE,
            unseen_advice=_UNSEEN_ADVICE,
        )
        count = np.bincount(codes, weights, minlength=len(levels) + 1)
        rare = tuple(level for level, own in zip(levels, count, strict=False) if level is not None and own < self.rare)
        groups: list[tuple[Level, ...]] = [(level,) for level in levels if len(rare) < 2 or level not in rare]
        if len(rare) > 1:
            groups.insert(len(groups) - (None in levels), rare)
        if len(groups) == 1:
            return ()
        if len(groups) == 2 and self.drop_complements and self.unseen == "error":
            groups = [group for group in groups if len(group) == 1] if len(rare) > 1 else groups[1:]
        return tuple(BinaryColumn.of_levels(column.name, group) for group in groups)


def _median(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float | None:
    """The least value with half of the weight at or below it; None if there is none."""
    known = ~np.isnan(values) & (weights > 0)
    if not known.any():
        return None
    order = np.argsort(values[known], kind="stable")
    below = np.cumsum(weights[known][order])
    return float(values[known][order][np.searchsorted(below, below[-1] / 2)])


def _typical_level(reading: Categories, table: Table, at: int, weights: NDArray[np.float64]) -> Level:
    """The level with the most weight, the first of several; None if there is none."""
    known = (reading.codes >= 0) & (weights > 0)
    if not known.any():
        return None
    count = np.bincount(reading.codes[known], weights[known], minlength=len(reading.values))
    return sorted_levels([reading.values[code] for code in np.flatnonzero(count == count.max())], table.columns[at].label)[0]


def filled_numbers(values: NDArray[np.float64], fill: Level) -> NDArray[np.float64]:
    """A column with a number in the place of its gaps."""
    return np.where(np.isnan(values), np.nan if fill is None else float(fill), values)


def _filled_levels(reading: Categories, fill: Level) -> Categories:
    """A column with a level in the place of its gaps."""
    if fill is None or not np.any(reading.codes < 0):
        return reading
    values = reading.values if fill in reading.values else (*reading.values, fill)
    return replace(reading, values=values, codes=np.where(reading.codes < 0, values.index(fill), reading.codes))


def _sums(groups: NDArray[np.intp], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.bincount(groups, weights).astype(np.float64, copy=False)


def numeric_columns(schema: Schema, table: Table, *, allow_missing: bool) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Position and values of each numeric column, NaN where missing."""
    positions = schema.numeric_positions
    if not positions:
        return
    block: Any = table.numbers(positions)
    labels = [schema.label(at) for at in positions]
    require_finite(block, labels, allow_missing=allow_missing, first_row=table.first_row, advice=_MISSING_ADVICE)
    sparse = scipy.sparse.issparse(block)
    by_column = block.tocsc() if sparse else block
    for place, at in enumerate(positions):
        yield at, by_column[:, [place]].toarray()[:, 0] if sparse else by_column[:, place]


def _require_names(plan: BinaryPlan, n_rows: int) -> None:
    if not plan.columns:
        raise InvalidTableError(
            f"no column of X varies in the {n_rows} sample(s) that count, so there is nothing to make 0/1 columns of."
        )
    repeated = [name for name, count in Counter(column.name for column in plan.columns).items() if count > 1]
    if repeated:
        makers = sorted({column.feature for column in plan.columns if column.name == repeated[0]})
        raise InvalidTableError(
            f"two 0/1 columns would both be called {repeated[0]!r} (made of {', '.join(map(repr, makers))}). "
            "Rename a column or a level of X."
        )
