"""Columns that name rows and say nothing of them: other names in every table, which no model should look at.

Text is an identifier by the rule of files (:mod:`surefoot.design.read.column_guess`). Whole numbers are one if no table repeats
any although chance would have: of n whole numbers drawn at random from a range of R, about n (n - 1) / (2 R) pairs are equal,
so that none is has a probability of at most about exp(-n (n - 1) / (2 R)), as unequal probabilities repeat more.
Amounts that happen to differ, such as the incomes of fifty people, are numbers like others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from surefoot.design.read.column import Column
from surefoot.design.read.guess_parameters import GUESS

# Expected repetitions from which on none is no chance: e^-7 is one column in a thousand. Not tuned, set on simulated columns,
# and confirmed on 31 files: 27 of UCI, ACS Massachusetts, COMPAS, HELOC, diabetes 130 hospitals. Of two random samples of 25
# to 2,000 rows each, five times, whole numbers that say something reach 0.98 where none repeats (bank, duration of calls, 25
# rows; german, credit_amount 0.79), the row number of COMPAS 364, that of hayes-roth 19. Numbers of rows from a range in the
# millions (encounters of the diabetes table, sample_code of wisconsin) reach 0.02 and go unnoticed: chance would not have
# repeated any.
_EXPECTED_REPEATS = 7.0
# Names such as "id", "patient_id", "Customer ID", "orderId".
_IDENTIFIER_NAME = re.compile(r"(?:^|[\W_])[iI][dD]$|(?<=[a-z])I[dD]$")


def is_identifier(columns: Sequence[Column]) -> bool:
    """Whether a column, as some tables hold it, has a value of its own in nearly every row of text, or in every row of whole
    numbers.
    """
    if any(column.natural_kind() == "categorical" for column in columns):
        return any(_names_rows(column) for column in columns if not _measures(column))
    return numbers_name_rows(column.numbers() for column in columns)


def numbers_name_rows(columns: Iterable[NDArray[np.float64]]) -> bool:
    """Whether numbers, as some tables hold them, are whole and all different where chance would have repeated some."""
    expected = 0.0
    for column in columns:
        values = distinct_whole_numbers(column)
        if values is None:
            return False
        if values.size > GUESS.few_levels:
            pairs = values.size * (values.size - 1) / 2
            expected += pairs / (float(values[-1]) - float(values[0]) + 1.0)
    return expected >= _EXPECTED_REPEATS


def distinct_whole_numbers(values: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The numbers in rising order, without gaps, if all are whole and no two are equal."""
    values = np.sort(values[~np.isnan(values)])
    whole = np.all(np.isfinite(values)) and np.all(values == np.floor(values))
    return values if whole and np.all(np.diff(values) > 0) else None


def levels_name_rows(n_levels: int, n_present: int) -> bool:
    """Whether there are so many levels that nearly every row that has one has its own."""
    return n_levels > GUESS.few_levels and n_levels > n_present / 2


def named_as_identifier(name: str) -> bool:
    """Whether the name of a column says that it is one."""
    return _IDENTIFIER_NAME.search(name) is not None


def _measures(column: Column) -> bool:
    """Whether a column holds numbers that are not whole: beside truth values, which are categories, these are no names."""
    return column.natural_kind() == "numeric" and distinct_whole_numbers(column.numbers()) is None


def _names_rows(column: Column) -> bool:
    reading = column.categories()
    return levels_name_rows(len(reading.values), int(np.count_nonzero(reading.codes >= 0)))
