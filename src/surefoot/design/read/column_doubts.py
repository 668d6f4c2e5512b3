"""Columns that a training table holds as something that they most likely are not, in words.

An identifier is learned by heart, as a number or level by level; a date of text is a level of its own, and so is a number of
text. All can be read, and nothing in a proof tells: the model is the best one for such columns. So whoever fits is told.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from surefoot.design.encode.schema import Level
from surefoot.design.read.guess_parameters import GUESS
from surefoot.design.read.identifiers import distinct_whole_numbers, levels_name_rows, named_as_identifier, numbers_name_rows
from surefoot.design.read.written_values import MISSING_TOKENS, is_date_text, is_number_text

# Numbers of text up to which they may well be codes, such as months, grades or shoe sizes; not tuned.
MOST_CODES = 20
# What stands before or behind amounts and shares.
UNIT_SIGNS = "%$€£ "


KEEP = "or name it in categorical_features if it is a category"


def doubt_of_levels(label: str, levels: Sequence[Level], n_rows: int, keep: str = KEEP) -> str | None:
    """What a column of text most likely is instead of a category, and what to do, or None.

    Parameters
    ----------
    label : str
        How messages call the column.
    levels : sequence
        Its distinct values.
    n_rows : int
        Rows that hold one of them.
    keep : str
        What to do if the column is meant as it is.
    """
    texts = [level.strip() for level in levels if isinstance(level, str)]
    texts = [text for text in texts if text not in MISSING_TOKENS]
    if not texts:
        return None
    if len(texts) > 1 and all(map(is_date_text, texts)):
        return (
            f"{label} holds dates as text ({texts[0]!r}), and every one of its {len(texts):,} dates is a level of its own. "
            f"Convert it to what matters, such as days since some date, or leave it out, {keep}"
        )
    numbers = [text for text in texts if is_number_text(text.strip(UNIT_SIGNS))]
    if len(numbers) > MOST_CODES and len(numbers) >= GUESS.numeric_fraction * len(texts):
        other = next((text for text in texts if not is_number_text(text.strip(UNIT_SIGNS))), None)
        bare = "" if numbers[0] == numbers[0].strip(UNIT_SIGNS) else ", without what is no digit,"
        but = "" if other is None else f", but for {other!r}"
        return (
            f"{label} holds numbers as text ({numbers[0]!r}){but}, and every one of its {len(numbers):,} numbers is a level of "
            f"its own. Convert it{bare or ','} for example with pandas.to_numeric, {keep}"
        )
    if levels_name_rows(len(levels), n_rows):
        return (
            f"{label} has {len(levels):,} levels in {n_rows:,} rows, like a name or a number of each row: they are "
            f"learned by heart, and later tables hold others. Leave it out, {keep}"
        )
    return None


def doubt_of_numbers(label: str, name: str, values: NDArray[np.float64]) -> str | None:
    """Why a column of numbers is most likely an identifier, and what to do, or None."""
    distinct = distinct_whole_numbers(values)
    if distinct is None or distinct.size <= GUESS.few_levels:
        return None
    if not (named_as_identifier(name) or numbers_name_rows([values])):
        return None
    return (
        f"{label} holds another whole number in each of {distinct.size:,} rows, as an identifier does: it says nothing of new "
        "rows, and large ones cost digits and proofs. Leave it out, unless it measures something"
    )
