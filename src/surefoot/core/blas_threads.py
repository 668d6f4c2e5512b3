"""How many threads the linear algebra under NumPy and SciPy may use while a solver runs.

Their threads wait for the next product by spinning for a while. On small systems that takes the very cores away from the
threads that work on the rows, and costs more than it gains.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

# Factorising a matrix of this many rows takes long enough for several threads. Not tuned.
SHARED_ROWS = 500


@contextmanager
def blas_threads(n_threads: int, n_rows: int = SHARED_ROWS) -> Iterator[None]:
    """Within it, matrices of this many rows are factorised by at most so many threads."""
    _limit.enter(n_threads if n_rows >= SHARED_ROWS else 1)
    try:
        yield
    finally:
        _limit.leave()


class _Limit:
    """One limit for the process, since that is what the libraries have: the first solver sets it, the last one lifts it.

    If each of two solvers in two threads restored what it had found, the later one would restore the limit of the earlier.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._held: Any = None

    def enter(self, limit: int) -> None:
        with self._lock:
            if self._inside == 0:
                self._held = _controller().limit(limits=limit)
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._held.restore_original_limits()
                self._held = None


_limit = _Limit()


@cache
def _controller() -> ThreadpoolController:
    # Looking for the libraries takes a millisecond or two; NumPy's and SciPy's are there as soon as a solver is.
    return ThreadpoolController()
