"""The one door for tables: data frames, arrays, nested lists and sparse matrices become a sequence of columns.

Data frames (pandas, polars, pyarrow and relatives) come in through narwhals. The messages for shapes that no table has are
those of scikit-learn, which its users know and its estimator checks look for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from surefoot.design.read.column import (
    DATE_ADVICE,
    Categories,
    CodedColumn,
    Column,
    InvalidValueTypeError,
    NumberColumn,
    ObjectColumn,
    as_doubles,
)
from surefoot.design.read.sparse_columns import SparseColumn, read_sparse
from surefoot.exceptions import InvalidTableError

# Read as Python objects: dates have no natural reading, but a text on request; NumPy has no integers of 128 bits.
_OBJECT_TYPES = {"Date", "Datetime", "Duration", "Time", "Int128", "UInt128"}
_NESTED_TYPES = {"Array", "Binary", "List", "Struct"}


AnyColumn: TypeAlias = NumberColumn | CodedColumn | ObjectColumn | SparseColumn


@dataclass(frozen=True)
class Table:
    """A table that has been read but not interpreted.

    Attributes
    ----------
    n_rows : int
    names : tuple of str
        "x0", "x1", ... where the table has none.
    named : bool
        Whether the table brought names, all of them text.
    columns : sequence of Column
    array : ndarray or csr_array of shape (n_rows, n_columns), or None
        All columns at once, if the table is one array of numbers; sparse if it came in sparse.
    first_row : int
        What messages call the first row: its number in the whole table, of which this may be a part.
    """

    n_rows: int
    names: tuple[str, ...]
    named: bool
    columns: Sequence[AnyColumn]
    array: NDArray[Any] | sparse.csr_array | None = None
    first_row: int = 0

    def numbers(self, positions: Sequence[int]) -> NDArray[np.float64] | sparse.csr_array:
        """Some columns as one C-contiguous float64 block; it shares memory with the input if that has this form already.

        The block of a sparse table is sparse, in canonical form, unless it has no columns.
        """
        if self.array is not None and len(positions) > 0:
            chosen = self.array if len(positions) == len(self.columns) else self.array[:, list(positions)]
            if sparse.issparse(chosen):
                return chosen
            return np.ascontiguousarray(as_doubles(chosen, lambda at: self._cell(positions, at)))
        block = np.empty((self.n_rows, len(positions)))
        for at, position in enumerate(positions):
            block[:, at] = self.columns[position].numbers()
        return block

    def _cell(self, positions: Sequence[int], at: int) -> str:
        """How messages call a cell of the block of these columns, by its place in it."""
        row, column = divmod(at, len(positions))
        return f"{self.columns[positions[column]].label}, row {self.first_row + row}"


def read_table(X: Any, *, first_row: int = 0) -> Table:
    """Read any supported table.

    Parameters
    ----------
    X : data frame, 2-d array, scipy sparse matrix, or sequence of rows
        A :class:`Table` is returned as it is: who needs to look at the shape first reads once and hands the table on.
    first_row : int, default=0
        What messages are to call the first row, if X is a part of a larger table.

    Raises
    ------
    InvalidTableError
        If X has no rows, no columns, not two dimensions, or a column of a type that is neither number nor category.
    """
    if isinstance(X, Table):
        return X
    table = _read(X, first_row)
    if first_row == 0:
        return table
    return replace(table, first_row=first_row, columns=[replace(column, first_row=first_row) for column in table.columns])


def _read(X: Any, first_row: int) -> Table:
    if sparse.issparse(X):
        return _read_sparse(X)
    if isinstance(X, (dict, str, bytes)):
        raise InvalidTableError(f"X is a {type(X).__name__}, not a table. Pass a data frame, a 2-d array or a list of rows.")
    pyarrow = nw.dependencies.get_pyarrow()
    if pyarrow is not None and isinstance(X, pyarrow.RecordBatch):
        X = pyarrow.Table.from_batches([X])
    require_unique_names(X)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return _read_frame(frame)
    if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
        raise InvalidTableError("X is a lazy table. Load it into memory first, for example with X.collect() or X.compute().")
    return _read_array(_as_array(X, first_row))


def read_column(values: Any, label: str, *, first_row: int = 0) -> Column:
    """Read a one-dimensional sequence: a series of a data frame library, an array, a list, or a column that was read before."""
    return replace(_read_column(values, label), first_row=first_row)


def _read_column(values: Any, label: str) -> AnyColumn:
    if isinstance(values, AnyColumn):
        return values
    series = nw.from_native(values, pass_through=True, allow_series=True)
    if isinstance(series, nw.Series):
        return _read_series(series, label)
    if not (hasattr(values, "__array__") or isinstance(values, Sequence)):
        raise InvalidTableError(
            f"{label} of type {type(values).__name__} is no column: it has no order of rows. Pass an array, a series or a list "
            "with an entry for each row."
        )
    array = _as_array(values, 0)
    if array.ndim != 1:
        raise InvalidTableError(f"{label} should be a 1d array, got an array of shape {array.shape} instead.")
    return _array_column(array, label)


def _require_shape(shape: tuple[int, ...]) -> None:
    if shape[0] == 0:
        raise InvalidTableError(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.")
    if shape[1] == 0:
        raise InvalidTableError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")


def require_unique_names(X: Any) -> None:
    """Raise on a data frame that has two columns of one name.

    narwhals refuses repeated names as well, but not in all versions at the same place, and not in our words.
    """
    if nw.dependencies.is_pandas_like_dataframe(X):
        names = list(X.columns)
    elif nw.dependencies.is_pyarrow_table(X):
        names = list(X.column_names)
    else:
        return
    repeated = [name for name, count in Counter(map(str, names)).items() if count > 1]
    if repeated:
        raise InvalidTableError(
            f"Column names must be unique, but these repeat: {', '.join(map(repr, repeated))}. Rename them."
        )


def _read_frame(frame: nw.DataFrame[Any]) -> Table:
    native_names = list(frame.columns)
    named = all(isinstance(name, str) for name in native_names)
    names = tuple(str(name) for name in native_names)
    _require_shape((len(frame), len(names)))
    columns = [_read_series(frame[:, at], f"column {name!r}") for at, name in enumerate(names)]
    return Table(n_rows=len(frame), names=names, named=named, columns=columns)


def _read_series(series: nw.Series[Any], label: str) -> AnyColumn:
    dtype = series.dtype
    # By name: older releases of narwhals lack some of these types, and the methods that group them.
    dtype_name = type(dtype).__name__
    if dtype_name in _NESTED_TYPES:
        raise InvalidValueTypeError(f"{label} has type {dtype}, which is neither number nor category. Convert it or drop it.")
    if dtype in (nw.Categorical, nw.Enum):
        return CodedColumn(label, _declared_categories(series, label), declared=_declared_levels(series))
    if dtype == nw.String and not _is_object_series(series):
        return CodedColumn(label, _factorized(series))
    if dtype_name in _OBJECT_TYPES:
        items = np.empty(len(series), dtype=object)
        items[:] = series.to_list()
        return ObjectColumn(label, items)
    is_integer = dtype_name.startswith(("Int", "UInt"))
    if dtype == nw.Boolean or is_integer:
        missing = series.is_null()
        if missing.any():
            # Filled rather than converted to float: an identifier above 2**53 must stay itself as a category.
            filled = series.fill_null(0 if is_integer else False).to_numpy()
            return _array_column(filled, label, missing.to_numpy().astype(bool))
    elif dtype_name == "Decimal":
        series = series.cast(nw.Float64)
    return _array_column(series.to_numpy(), label)


def _is_object_series(series: nw.Series[Any]) -> bool:
    """Whether a column of pandas holds Python objects, of which narwhals only looks at the first few before it says "text"."""
    return str(getattr(series.to_native(), "dtype", "")) == "object"


def _declared_categories(series: nw.Series[Any], label: str) -> Categories:
    native = series.to_native()
    if nw.dependencies.is_pandas_like_series(native):
        return _factorized(series)
    value_type = getattr(native.type, "value_type", None) if nw.dependencies.is_pyarrow_chunked_array(native) else None
    if value_type is not None:
        return _read_series(nw.from_native(native.cast(value_type), series_only=True), label).categories()
    return _factorized(series.cast(nw.String))


def _declared_levels(series: nw.Series[Any]) -> tuple[Any, ...] | None:
    """What the type says that the column may hold. Other libraries' categorical types list what they have met, and no more."""
    if series.dtype == nw.Enum or nw.dependencies.is_pandas_like_series(series.to_native()):
        return tuple(series.cat.get_categories().to_list())
    return None


def _factorized(series: nw.Series[Any]) -> Categories:
    native = series.to_native()
    if nw.dependencies.is_pandas_like_series(native):
        # Twenty times as fast as any way through narwhals' common denominator, and it keeps the type of the categories.
        codes, distinct = native.factorize()
        return Categories(np.asarray(codes, dtype=np.intp), tuple(distinct.tolist()))
    missing = series.is_null().to_numpy().astype(bool)
    present = series.drop_nulls()
    values = present.unique().to_list()
    codes = np.full(len(series), -1, dtype=np.intp)
    if values:
        codes[~missing] = present.replace_strict(values, list(range(len(values))), return_dtype=nw.Int64).to_numpy()
    return Categories(codes, tuple(values))


def _read_sparse(X: Any) -> Table:
    if X.ndim == 2:
        _require_shape(X.shape)
    matrix = read_sparse(X)
    count = matrix.shape[1]
    return Table(
        n_rows=matrix.shape[0],
        names=tuple(f"x{at}" for at in range(count)),
        named=False,
        columns=[SparseColumn(f"column {at}", matrix, at) for at in range(count)],
        array=matrix,
    )


def _as_array(X: Any, first_row: int) -> NDArray[Any]:
    """Whatever is no data frame as an array; rows in nested lists keep their Python objects."""
    if isinstance(X, np.ma.MaskedArray):
        if not np.ma.is_masked(X):
            return np.asarray(X.data)
        gap, kind = (np.nan, np.float64) if X.dtype.kind in "fiu" else (None, object)
        filled = np.array(X.data, dtype=kind)
        filled[np.ma.getmaskarray(X)] = gap
        return filled
    if hasattr(X, "__array__"):
        return np.asarray(X)
    if not isinstance(X, Sequence):
        raise InvalidTableError(
            f"X of type {type(X).__name__} is not a table. Pass a data frame, a 2-d array or a list of rows."
        )
    try:
        # As objects, because NumPy would turn a row of numbers and text into text.
        array = np.array(X, dtype=object)
    except ValueError:
        array = np.empty(len(X), dtype=object)
        array[:] = list(X)
    if (
        array.ndim == 1
        and array.size
        and isinstance(array[0], (Sequence, np.ndarray))
        and not isinstance(array[0], (str, bytes))
    ):
        length = len(array[0])
        for row, entry in enumerate(array):
            if not isinstance(entry, (Sequence, np.ndarray)) or len(entry) != length:
                raise InvalidTableError(
                    f"X is a list of rows of different lengths: row {first_row} has {length} values, row {first_row + row} "
                    "has not."
                )
    return array


def _read_array(array: NDArray[Any]) -> Table:
    if array.ndim != 2:
        found = "scalar array" if array.ndim == 0 else "1D array"
        if array.ndim > 2:
            raise InvalidTableError(
                f"Found array with dim {array.ndim}, while dim <= 2 is required. A table has rows and columns."
            )
        raise InvalidTableError(
            f"Expected 2D array, got {found} instead:\narray={array!r:.200}.\nReshape your data either using "
            "array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if it contains a single sample."
        )
    _require_shape(array.shape)
    columns = [_array_column(array[:, at], f"column {at}") for at in range(array.shape[1])]
    return Table(
        n_rows=array.shape[0],
        names=tuple(f"x{at}" for at in range(array.shape[1])),
        named=False,
        columns=columns,
        array=array if array.dtype.kind in "fiu" else None,
    )


def _array_column(array: NDArray[Any], label: str, missing: NDArray[np.bool_] | None = None) -> AnyColumn:
    kind = array.dtype.kind
    if kind in "bfiu":
        return NumberColumn(label, array, missing)
    if kind == "c":
        raise InvalidTableError(f"Complex data not supported: {label} has type {array.dtype}.")
    if kind in "mM":
        raise InvalidTableError(f"{label} holds dates or times (type {array.dtype}). {DATE_ADVICE}")
    if kind in "OUT":
        return ObjectColumn(label, array.astype(object, copy=False))
    raise InvalidValueTypeError(f"{label} has type {array.dtype}, which is neither number nor category. Convert it or drop it.")
