from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from surefoot.core.blas_threads import SHARED_ROWS, blas_threads


def most_threads() -> int:
    return max((library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"), default=0)


@pytest.mark.parametrize(("n_rows", "allowed"), [(SHARED_ROWS - 1, 1), (SHARED_ROWS, 2)])
def test_small_systems_get_one_thread_and_large_ones_those_asked_for(n_rows, allowed):
    np.dot(np.eye(2), np.eye(2))
    with threadpool_limits(limits=2, user_api="blas"):
        before = most_threads()
        with blas_threads(2, n_rows):
            assert most_threads() == min(allowed, before)
        assert most_threads() == before


def test_solves_that_overlap_leave_the_threads_as_they_were():
    np.dot(np.eye(2), np.eye(2))
    with threadpool_limits(limits=2, user_api="blas"):
        before = most_threads()
        first, second = blas_threads(1), blas_threads(1)
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        # One of them is still at work.
        assert most_threads() == min(1, before)
        second.__exit__(None, None, None)
        assert most_threads() == before
