"""The door for tables on their way out: results leave in the data frame library that the data came in.

A library is remembered by the name of its module, which can be pickled and written to a file. Arrays have no library; their
users get a pandas frame if pandas is installed and a NumPy record array otherwise.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from surefoot.design.encode.schema import Level
from surefoot.design.read.table import require_unique_names

_DEFAULT_LIBRARY = "pandas"


def frame_library(X: Any) -> str | None:
    """Module name of the data frame library that X belongs to ("pandas", "polars", ...), or None for arrays.

    Raises
    ------
    InvalidTableError
        If names of columns repeat: some ask for the library before they read the table.
    """
    require_unique_names(X)
    frame = nw.from_native(X, pass_through=True)
    return nw.get_native_namespace(frame).__name__ if isinstance(frame, nw.DataFrame) else None


def build_frame(columns: Mapping[str, NDArray[Any] | Sequence[Level]], library: str | None) -> Any:
    """A table with the given columns.

    Parameters
    ----------
    columns : mapping of str to values
        Arrays of numbers, or lists of levels: text, booleans, numbers, None. Columns of polars and pyarrow have one type
        each, so there a list that mixes types becomes text.
    library : str or None
        What :func:`frame_library` said of the table that came in.
    """
    if library is None:
        if importlib.util.find_spec(_DEFAULT_LIBRARY) is None:
            return _record_array(columns)
        library = _DEFAULT_LIBRARY
    namespace = importlib.import_module(library)
    return nw.from_dict({name: _series(name, values, namespace) for name, values in columns.items()}).to_native()


def frame_of_block(block: NDArray[Any], names: Sequence[str], like: Any) -> Any:
    """A block of numbers as a frame of the library of ``like``, with its row index if that library has one."""
    namespace = nw.get_native_namespace(nw.from_native(like, eager_only=True))
    frame = nw.from_numpy(block, list(names), native_namespace=namespace).to_native()
    if nw.dependencies.is_pandas_like_dataframe(like):
        frame.index = like.index
    return frame


def _series(name: str, values: NDArray[Any] | Sequence[Level], namespace: ModuleType) -> nw.Series[Any]:
    if isinstance(values, np.ndarray):
        kind = nw.Int64() if values.dtype.kind == "i" else nw.Boolean() if values.dtype.kind == "b" else nw.Float64()
        return nw.new_series(name, values, kind, native_namespace=namespace)
    if hasattr(namespace, "Series") and hasattr(namespace, "DataFrame") and not hasattr(namespace, "LazyFrame"):
        # A frame of the pandas family. Any type but object would turn None into NaN and integers next to it into floats.
        return nw.from_native(namespace.Series(list(values), name=name, dtype=object), series_only=True)
    types = {type(value) for value in values if value is not None}
    if types <= {str}:
        return nw.new_series(name, list(values), nw.String(), native_namespace=namespace)
    if types == {bool}:
        return nw.new_series(name, list(values), nw.Boolean(), native_namespace=namespace)
    if types == {int}:
        return nw.new_series(name, list(values), nw.Int64(), native_namespace=namespace)
    if types <= {int, float}:
        numbers = [None if value is None else float(value) for value in values]
        return nw.new_series(name, numbers, nw.Float64(), native_namespace=namespace)
    texts = [None if value is None else str(value) for value in values]
    return nw.new_series(name, texts, nw.String(), native_namespace=namespace)


def _record_array(columns: Mapping[str, NDArray[Any] | Sequence[Level]]) -> NDArray[Any]:
    types = [(name, values.dtype if isinstance(values, np.ndarray) else np.dtype(object)) for name, values in columns.items()]
    records = np.empty(max(map(len, columns.values()), default=0), dtype=types)
    for name, values in columns.items():
        records[name] = values
    return records.view(np.recarray)
