"""Rows in blocks: bounded memory, and a bound on what rounding can do to a long sum.

A sum of K terms taken block after block passes every term through at most ``BLOCK_ROWS`` additions inside its block and one
per block after that, in whatever order the machine adds within a block. With u = 2**-53 the computed sum is therefore within

    n u / (1 - n u) * sum of the absolute terms,    n = BLOCK_ROWS + number of blocks + ROUNDINGS_PER_TERM,

of the exact one (Higham, Accuracy and Stability of Numerical Algorithms, Section 4.2). Short blocks keep that factor near
5e-13 for a million rows; one plain loop over all rows would only be known to within 1e-10.

Sums over parts of a table are taken block by block within each part and then added up. A part ends with a shorter block, so K
parts have at most K - 1 blocks more than the whole would, and their sums pass through K - 1 more additions: n grows by
2 (K - 1).
"""

from __future__ import annotations

from collections.abc import Iterator

BLOCK_ROWS = 4096
UNIT_ROUNDOFF = 2.0**-53
# A term is a product of a few numbers, or an exp and a log1p of one: far fewer than 64 roundings each.
ROUNDINGS_PER_TERM = 64


def row_blocks(n_rows: int) -> Iterator[slice]:
    """Consecutive slices of at most ``BLOCK_ROWS`` rows that cover ``range(n_rows)``."""
    for start in range(0, n_rows, BLOCK_ROWS):
        yield slice(start, min(start + BLOCK_ROWS, n_rows))


def summation_error(n_terms: int, n_parts: int = 1) -> float:
    """Largest error of a blockwise sum, relative to the sum of the absolute values of its terms."""
    roundings = min(n_terms, BLOCK_ROWS) + -(-n_terms // BLOCK_ROWS) + 2 * (n_parts - 1) + ROUNDINGS_PER_TERM
    return roundings * UNIT_ROUNDOFF / (1.0 - roundings * UNIT_ROUNDOFF)
