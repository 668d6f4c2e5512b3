"""Row blocks and the rounding of long sums, one row after the other and in exact fractions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

UNIT = Fraction(1, 2**53)


def exact_sum(terms: Iterable[float]) -> Fraction:
    """The sum without any rounding."""
    return sum((Fraction(float(term)) for term in terms), Fraction(0))


def written_blocks(n_rows: int, most: int) -> list[list[int]]:
    """Rows put into blocks one after the other; a block that is full is closed."""
    blocks: list[list[int]] = []
    for row in range(n_rows):
        if not blocks or len(blocks[-1]) == most:
            blocks.append([])
        blocks[-1].append(row)
    return blocks


def error_factor(part_sizes: Sequence[int], most: int, roundings_per_term: int) -> Fraction:
    """n u / (1 - n u) with n the roundings of the unluckiest term, counted one by one through blocks, parts and total.

    In its block a term meets all others; the sum of the block meets those of all blocks of its part, and the sum of the part
    those of all parts. Each sum starts at 0, which costs nothing.
    """
    n = 0
    for size in part_sizes:
        blocks = math.ceil(size / most)
        in_block = min(size, most) - 1
        n = max(n, in_block + max(blocks - 1, 0) + len(part_sizes) - 1 + roundings_per_term)
    return n * UNIT / (1 - n * UNIT)
