from __future__ import annotations

import math

import numpy as np
import pytest

from surefoot.core.row_blocks import BLOCK_ROWS, row_blocks, summation_error


@pytest.mark.parametrize("n_rows", [0, 1, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1, 3 * BLOCK_ROWS + 7])
def test_blocks_cover_every_row_once_and_in_order(n_rows):
    blocks = list(row_blocks(n_rows))
    assert [row for block in blocks for row in range(n_rows)[block]] == list(range(n_rows))
    assert all(0 < block.stop - block.start <= BLOCK_ROWS for block in blocks)


@pytest.mark.parametrize("n_rows", [1, 100, BLOCK_ROWS, 50 * BLOCK_ROWS + 3])
def test_error_bound_covers_the_slowest_way_to_sum_a_block(n_rows):
    # Same signs and sizes over ten orders of magnitude are the worst case for adding one after the other.
    terms = np.random.default_rng(0).random(n_rows) * 10.0 ** np.random.default_rng(1).uniform(-10, 0, size=n_rows)
    total = 0.0
    for rows in row_blocks(n_rows):
        total += float(np.cumsum(terms[rows])[-1])
    exact = math.fsum(terms)
    assert abs(total - exact) <= summation_error(n_rows) * exact
    assert summation_error(n_rows) < 1e-11


def test_error_bound_grows_with_the_number_of_terms():
    sizes = [1, 10, 1000, BLOCK_ROWS, 10**6, 10**9]
    errors = [summation_error(size) for size in sizes]
    assert errors == sorted(set(errors))
