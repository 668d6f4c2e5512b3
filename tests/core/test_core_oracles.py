"""Blocks and rounding of the trusted base against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from reference.trusted_core import UNIT, error_factor, exact_sum, written_blocks

from surefoot.core.row_blocks import BLOCK_ROWS, ROUNDINGS_PER_TERM, row_blocks, summation_error


@pytest.mark.parametrize("n_rows", [0, 1, 2, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1, 2 * BLOCK_ROWS, 3 * BLOCK_ROWS + 5])
def test_blocks_are_those_that_are_filled_one_row_at_a_time(n_rows: int) -> None:
    found = [list(range(n_rows))[block] for block in row_blocks(n_rows)]
    assert found == written_blocks(n_rows, BLOCK_ROWS)


@pytest.mark.parametrize("seed", range(40))
def test_the_error_factor_counts_every_rounding_of_the_unluckiest_term(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_parts = int(rng.choice([1, 1, 2, 3, 40, 1000]))
    sizes = np.exp(rng.uniform(0, rng.choice([1.0, 9.0, 14.0]), n_parts)).astype(int)
    wanted = error_factor(sizes.tolist(), BLOCK_ROWS, ROUNDINGS_PER_TERM)
    found = Fraction(summation_error(int(sizes.sum()), n_parts))
    assert found >= wanted
    # Not much looser either: the parts' own blocks and sums, and no more.
    assert found <= 3 * wanted + (2 * n_parts + sizes.sum() // BLOCK_ROWS + 2) * UNIT


def blockwise(terms: np.ndarray, *, backwards: bool = False, pairs: bool = False) -> float:
    """A sum block by block, in the order that a machine might choose."""
    total = 0.0
    for block in row_blocks(terms.size):
        part = terms[block][::-1] if backwards else terms[block]
        total += float(part.sum()) if pairs else float(np.cumsum(part)[-1])
    return total


def sums() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    n = 3 * BLOCK_ROWS + 17
    half = float(UNIT)
    return {
        "one": np.array([0.1]),
        "every addition rounds down": np.array([1.0] + [half] * (BLOCK_ROWS - 1)),
        "every addition of a block rounds down": np.concatenate(([1.0], np.full(9 * BLOCK_ROWS, half))),
        "ten orders of magnitude": rng.random(n) * 10.0 ** rng.uniform(-10, 0, n),
        "offset": 1e9 + rng.normal(size=n),
        "cancelling offset": np.where(np.arange(n) % 2 == 0, 1e9, -1e9) + rng.normal(size=n),
        "units": rng.normal(size=n) * 10.0 ** rng.integers(-9, 10, n),
        "zeros": np.zeros(n),
        "ties": np.full(n, 0.1),
    }


@pytest.mark.parametrize("name", sums())
def test_no_order_of_adding_leaves_the_error_bound(name: str) -> None:
    terms = sums()[name]
    exact, size = exact_sum(terms), exact_sum(np.abs(terms))
    for found in (blockwise(terms), blockwise(terms, backwards=True), blockwise(terms, pairs=True)):
        assert abs(Fraction(found) - exact) <= Fraction(summation_error(terms.size)) * size


def test_the_error_bound_is_met_to_a_few_parts_in_a_hundred() -> None:
    """1 + u rounds to 1: a full block of such terms loses all of them, so no smaller factor would do."""
    terms = np.array([1.0] + [float(UNIT)] * (BLOCK_ROWS - 1))
    lost = exact_sum(terms) - Fraction(blockwise(terms))
    assert lost == (BLOCK_ROWS - 1) * UNIT
    assert lost / exact_sum(terms) > Fraction(95, 100) * Fraction(summation_error(terms.size))
