"""How many threads the linear algebra under NumPy and SciPy may use while a solver runs.

Their threads wait for the next product by spinning for a while. On small systems that takes the very cores away from the
threads that work on the rows, and costs more than it gains.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController

# Factorising a matrix of this many rows takes long enough to be shared.
SHARED_ROWS = 500


def blas_threads(n_threads: int, n_rows: int = SHARED_ROWS) -> AbstractContextManager[object]:
    """Within it, matrices of this many rows are factorised by at most so many threads."""
    limit: AbstractContextManager[object] = _controller().limit(limits=n_threads if n_rows >= SHARED_ROWS else 1)
    return limit


@cache
def _controller() -> ThreadpoolController:
    # Looking for the libraries takes a millisecond or two; NumPy's and SciPy's are there as soon as a solver is.
    return ThreadpoolController()
