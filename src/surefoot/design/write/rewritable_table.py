"""A table whose cells can be written anew: numbers moved, categories exchanged, everything else as it came.

A level is written by copying a cell that holds it, so whatever type a column has (text, a declared category, a boolean, an
object, a gap), a rewritten column has it too. Columns of numbers become float64 where numbers move.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from surefoot.design.encode.schema import Level
from surefoot.design.read.column import plain_level
from surefoot.design.read.shared_levels import shared_levels
from surefoot.design.read.table import Table, read_table
from surefoot.exceptions import InvalidTableError


@dataclass(frozen=True)
class LevelColumn:
    """The reading of a column as levels that may replace each other.

    Attributes
    ----------
    levels : tuple
        All levels, a gap (None) last.
    codes : ndarray of shape (n_rows,), int32
    reference_codes : ndarray of shape (n_reference_rows,), int32
        Those of the reference; the codes themselves where there is none.
    cells : Any
        One cell per level, in the column's own type: a series, or an array. None for sparse tables, which are not rewritten.
    """

    levels: tuple[Level, ...]
    codes: NDArray[np.int32]
    reference_codes: NDArray[np.int32]
    cells: Any


@dataclass(frozen=True, eq=False)
class RewritableTable:
    """A table that was read, and that can be written with other values.

    Attributes
    ----------
    source : Any
        The table as it came: data frame, 2-d array, or list of rows (which comes back as an array).
    reference : Any, optional
        A table with the same columns whose levels count as well.
    """

    source: Any
    reference: Any = None

    @cached_property
    def table(self) -> Table:
        return read_table(self.source)

    @cached_property
    def reference_table(self) -> Table:
        """The reference, or the table itself where there is none."""
        if self.reference is None:
            return self.table
        other = read_table(self.reference)
        if other.names != self.table.names:
            raise InvalidTableError(
                f"the reference must have the columns of X, {', '.join(self.table.names)}, in the same order; "
                f"it has {', '.join(other.names)}."
            )
        return other

    @cached_property
    def _frame(self) -> nw.DataFrame[Any] | None:
        return _frame_of(self.source)

    def numbers(self, position: int) -> NDArray[np.float64]:
        """A column as numbers, NaN in gaps; infinite values are refused by name and row."""
        column = self.table.columns[position]
        values = column.numbers()
        infinite = np.flatnonzero(np.isinf(values))
        if infinite.size:
            raise InvalidTableError(
                f"Input X contains infinity: {column.label}, row {infinite[0]} holds {values[infinite[0]]}. "
                "Replace infinite values or drop their rows."
            )
        return values

    def levels(self, position: int, *, binary: bool = False) -> LevelColumn:
        """A column as levels: those of the table and of the reference, or just 0 and 1 for a column of such numbers."""
        column = self.table.columns[position]
        if binary:
            kind = self._number_type(position)
            theirs = self.reference_table.columns[position].numbers().astype(np.int32)
            return LevelColumn((0, 1), column.numbers().astype(np.int32), theirs, np.array([0, 1], dtype=kind))
        columns = [column] if self.reference is None else [column, self.reference_table.columns[position]]
        levels, coded = shared_levels(columns)
        rows: dict[int, tuple[int, int]] = {}
        for which, codes in reversed(list(enumerate(coded))):
            own, first = np.unique(codes, return_index=True)
            rows |= {code: (which, row) for code, row in zip(own.tolist(), first.tolist(), strict=True)}
        cells = None if sparse.issparse(self.source) else self._cells(position, [rows[code] for code in range(len(levels))])
        return LevelColumn(levels, coded[0], coded[-1], cells)

    def write(
        self,
        numbers: Mapping[int, NDArray[np.float64]],
        codes: Mapping[int, NDArray[np.integer]],
        levels: Mapping[int, LevelColumn],
    ) -> Any:
        """The table with new numbers and levels in some columns, by position; of the same type as it came."""
        columns: dict[int, Any] = dict(numbers)
        if self._frame is None:
            return self._write_array({**columns, **{at: levels[at].cells[new] for at, new in codes.items()}})
        namespace = nw.get_native_namespace(self._frame)
        names, written = self._frame.columns, []
        for at, values in columns.items():
            series = nw.new_series("moved", values, nw.Float64(), native_namespace=namespace)
            written.append(_with_gaps(series, self._frame[:, at]).alias(names[at]))
        for at, new in codes.items():
            cells = levels[at].cells
            if isinstance(cells, np.ndarray):
                kind = self._frame[:, at].dtype
                series = nw.new_series("moved", cells[new], kind, native_namespace=namespace)
            else:
                series = cells[new]
            written.append(series.alias(names[at]))
        return self._frame.with_columns(*[_reindexed(series, self.source) for series in written]).to_native()

    def _write_array(self, columns: Mapping[int, NDArray[Any]]) -> NDArray[Any]:
        array = _array_of(self.source)
        kinds = {values.dtype.kind for values in columns.values()}
        if array.dtype.kind in "iub" and "f" in kinds:
            array = array.astype(np.float64)
        else:
            # Text arrays have a fixed width; objects hold any level and any number.
            array = array.copy() if array.dtype.kind in "fiub" else array.astype(object)
        for at, values in columns.items():
            array[:, at] = values
        return array

    def _number_type(self, position: int) -> Any:
        values = getattr(self.table.columns[position], "values", None)
        return values.dtype if isinstance(values, np.ndarray) else np.float64

    def _cells(self, position: int, rows: Sequence[tuple[int, int]]) -> Any:
        """One cell per level, from the table (0) or the reference (1)."""
        sources = [self.source] if all(which == 0 for which, _ in rows) else [self.source, self.reference]
        if self._frame is None:
            arrays = [_array_of(source) for source in sources]
            kind = arrays[0].dtype if arrays[0].dtype.kind in "fiubO" else object
            return np.array([arrays[which][row, position] for which, row in rows], dtype=kind)
        frames = [_frame_of(source) for source in sources]
        libraries = {None if frame is None else nw.get_native_namespace(frame).__name__ for frame in frames}
        if len(libraries) > 1:
            raise InvalidTableError("the reference must be a table of the same library as X.")
        series = [frame[:, position] for frame in frames if frame is not None]
        if len(series) == 1:
            return series[0][[row for _, row in rows]]
        if all(which == 1 for which, _ in rows) or _covers(rows, self.reference_table, position):
            return self._reference_cells(series[1], rows, position)
        parts = [column.alias("cells").to_frame() for column in series]
        try:
            pool = nw.concat(parts, how="vertical")["cells"]
        except Exception as error:  # each library has its own
            raise InvalidTableError(
                f"{self.table.columns[position].label} has type {series[0].dtype} in X and {series[1].dtype} in the reference, "
                "which do not mix. Give both tables the same type."
            ) from error
        return pool[[row + which * len(series[0]) for which, row in rows]]

    def _reference_cells(self, series: nw.Series[Any], rows: Sequence[tuple[int, int]], position: int) -> Any:
        """The same levels, all copied from the reference: its declared categories know them all."""
        own = self.table.columns[position]
        theirs = self.reference_table.columns[position].categories()
        mine = own.categories()
        place = {plain_level(value, own.label): code for code, value in enumerate(theirs.values)}
        found = []
        for which, row in rows:
            if which == 1:
                found.append(row)
                continue
            code = mine.codes[row]
            wanted = -1 if code < 0 else place[plain_level(mine.values[code], own.label)]
            found.append(int(np.flatnonzero(theirs.codes == wanted)[0]))
        return series[found]


def _covers(rows: Sequence[tuple[int, int]], reference: Table, position: int) -> bool:
    """Whether the reference holds as many levels as there are, and so all of them."""
    reading = reference.columns[position].categories()
    return len(np.unique(reading.codes)) == len(rows)


def _frame_of(source: Any) -> nw.DataFrame[Any] | None:
    pyarrow = nw.dependencies.get_pyarrow()
    if pyarrow is not None and isinstance(source, pyarrow.RecordBatch):
        source = pyarrow.Table.from_batches([source])
    frame = nw.from_native(source, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def _with_gaps(moved: nw.Series[Any], before: nw.Series[Any]) -> nw.Series[Any]:
    """Nulls where there were nulls: as numbers both kinds of gaps are NaN, which some libraries tell apart."""
    missing = before.is_null()
    if nw.dependencies.is_pandas_like_series(moved.to_native()) or not missing.any():
        return moved
    return moved.zip_with(~missing, before.cast(nw.Float64()))


def _array_of(source: Any) -> NDArray[Any]:
    return source if isinstance(source, np.ndarray) else np.array(source, dtype=object)


def _reindexed(series: nw.Series[Any], source: Any) -> nw.Series[Any]:
    """Rows of pandas carry labels, by which it would otherwise match the new column with the old ones."""
    native = series.to_native()
    if not nw.dependencies.is_pandas_like_series(native):
        return series
    native = native.copy(deep=False)
    native.index = source.index
    return nw.from_native(native, series_only=True)
