"""Tables whose rows are looked at one by one: observations, each with values by name."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
from scipy import sparse


def rows_of(given: Any) -> Any:
    """The rows of a data frame as mappings from names of columns to values, those of a sparse matrix as vectors.

    Whatever else it is comes back as it is.
    """
    if sparse.issparse(given):
        return given.toarray() if given.ndim == 2 else given
    frame = nw.from_native(given, eager_only=True, pass_through=True)
    return frame.rows(named=True) if isinstance(frame, nw.DataFrame) else given
