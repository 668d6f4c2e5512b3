"""The canonical form of sparse numeric columns; see :mod:`surefoot.robust.problem.numeric_columns`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from surefoot.robust.problem.numeric_columns import require_indices


def canonical_csr(given: Any) -> scipy.sparse.csr_array:
    """A sparse array or matrix of any format as a ``csr_array`` in canonical form; what already has it is not copied.

    Raises
    ------
    ValueError
        If it holds something else than real numbers, or is not a table.
    """
    if given.ndim != 2:
        raise ValueError(f"numeric has shape {given.shape}; it must have 2 dimensions.")
    if given.dtype.kind not in "fiub":
        raise ValueError(f"sparse numeric columns hold {given.dtype} entries; they must be real numbers.")
    matrix = given.tocsr()
    require_indices(matrix)
    # A new object: the flags that scipy remembers about the given one may be older than its arrays.
    arrays = (np.asarray(matrix.data, dtype=np.float64), matrix.indices, matrix.indptr)
    matrix = scipy.sparse.csr_array(arrays, shape=matrix.shape)
    used = matrix.indptr[-1]
    if used < matrix.data.size:  # capacity that a matrix was given and never filled
        arrays = (matrix.data[:used], matrix.indices[:used], matrix.indptr)
        matrix = scipy.sparse.csr_array(arrays, shape=matrix.shape)
    if not matrix.has_canonical_format or not matrix.data.all():
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    return matrix
