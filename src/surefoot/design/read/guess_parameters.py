"""From when on a column is taken for something else than what its values are written as."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GuessParameters:
    """Limits of guesses about columns; chosen by looking at tables, not tuned."""

    # Levels beyond which a column is an identifier: more than a person can look through.
    max_levels: int = 1000
    # Levels beyond which it is one if it has more of them than half of its rows; and that are counted of numbers.
    few_levels: int = 50
    # Levels that are counted before counting stops, and whole numbers that are kept while none repeats: memory.
    counted_levels: int = 200_000
    kept_numbers: int = 1 << 22
    # Fraction of numbers above which other values are taken for mistakes, and are named in an error.
    numeric_fraction: float = 0.9


GUESS = GuessParameters()
