"""What a column of a file holds: numbers, categories, or neither. Counted chunk by chunk, so that no file is too long.

numeric      every value is a number, possibly written with thousands separators or a decimal comma
categorical  text of few values, or truth values
date         left out: a date is neither a number nor a category
identifier   left out: nearly every row has its own value
constant     left out: all rows have the same value
empty        left out: no row has a value
"""

from __future__ import annotations

import datetime
import decimal
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.exceptions import InvalidTableError

Guess: TypeAlias = Literal["numeric", "categorical", "date", "identifier", "constant", "empty"]
Spelling: TypeAlias = Literal["plain", "thousands", "comma"]

# How text files spell truth values; data frame libraries read such columns as truth values too.
TRUTH_TEXTS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
MISSING_TOKENS = frozenset({"", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?"})

_PLAIN = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_COMMA = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+")
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}(?:[ T]\d{1,2}:\d{2}.*)?|\d{1,2}([./-])\d{1,2}\1\d{2,4}|\d{4}/\d{1,2}/\d{1,2}")

_CODE = re.compile(r"0\d")


@dataclass(frozen=True)
class GuessParameters:
    """From when on a column of text is taken for something else than a category; chosen by looking at tables, not tuned."""

    # Levels beyond which a column is an identifier: more than a person can look through.
    max_levels: int = 1000
    # Levels beyond which it is one if it has more of them than half of its rows; and that are counted of numbers.
    few_levels: int = 50
    # Levels that are counted before counting stops: memory.
    counted_levels: int = 200_000
    # Fraction of numbers above which other values are taken for mistakes, and are named in an error.
    numeric_fraction: float = 0.9


GUESS = GuessParameters()


@dataclass
class ColumnTally:
    """Counts of what one column holds.

    Attributes
    ----------
    name : str
    n_rows, n_missing : int
    levels : dict
        Rows by value, up to a limit. Of numbers with more values than that, rows are counted no further.
    truncated : bool
        Whether there are more levels than those.
    """

    name: str
    n_rows: int = 0
    n_missing: int = 0
    levels: dict[Any, int] = field(default_factory=dict)
    truncated: bool = False
    _styles: Counter[str] = field(default_factory=Counter)
    _odd: tuple[int, Any] | None = None
    _ambiguous: str = ""

    def add(self, values: Sequence[Any], missing: frozenset[str], *, typed: bool = False) -> None:
        """Count the values of some more rows; of a file with types, text is taken as it is."""
        if self.truncated and not self._styles["text"] and _plain_floats(values, missing):
            points = "".join(values).count(".")
            self._styles["dot"] += points
            self._styles["whole"] += len(values) - points
            self.n_rows += len(values)
            return
        for value, count in Counter(values).items():
            text = value.strip() if isinstance(value, str) and not typed else value
            if _is_missing(text, missing):
                self.n_missing += count
                continue
            style = "truth" if not typed and text in TRUTH_TEXTS else _style(text)
            self._styles[style] += count
            if style == "text" and self._odd is None:
                self._odd = (self.n_rows + values.index(value) + 1, text)
            if style == "either":
                self._ambiguous = text
            self._count(text, count)
        self.n_rows += len(values)

    def _count(self, value: Any, count: int) -> None:
        if value in self.levels:
            self.levels[value] += count
        elif len(self.levels) < GUESS.few_levels or (self._styles["text"] and len(self.levels) < GUESS.counted_levels):
            self.levels[value] = count
        else:
            self.truncated = True

    @property
    def n_present(self) -> int:
        return self.n_rows - self.n_missing

    @property
    def n_levels(self) -> str:
        """The number of levels in words."""
        return f"more than {len(self.levels):,}" if self.truncated else f"{len(self.levels):,}"

    @property
    def all_numbers(self) -> bool:
        return self.n_present > 0 and sum(self._styles[style] for style in _NUMBERS) == self.n_present

    @property
    def any_numbers(self) -> bool:
        return any(self._styles[style] for style in _NUMBERS)

    @property
    def all_truths(self) -> bool:
        return self.n_present > 0 and self._styles["truth"] == self.n_present

    def guess(self) -> Guess:
        """What the column holds."""
        if self.n_present == 0:
            return "empty"
        if len(self.levels) == 1 and not self.n_missing:
            return "constant"
        if self.all_numbers:
            return "numeric"
        if self._styles["date"] == self.n_present:
            return "date"
        if self.all_truths:
            return "categorical"
        return "identifier" if self.is_identifier else "categorical"

    @property
    def is_identifier(self) -> bool:
        many = len(self.levels)
        return self.truncated or many > GUESS.max_levels or (many > GUESS.few_levels and many > self.n_present / 2)

    def spelling(self, decimal_mark: str | None) -> Spelling:
        """How the numbers are written.

        Raises
        ------
        InvalidTableError
            If they can be read in two ways, and ``decimal_mark`` does not say which.
        """
        styles = self._styles
        if decimal_mark == ",":
            return "comma" if styles["comma"] + styles["either"] else "plain"
        if decimal_mark == "." or not (styles["either"] or styles["comma"]):
            return "thousands" if styles["thousands"] + styles["either"] else "plain"
        if styles["comma"] and not styles["thousands"] and not styles["dot"]:
            return "comma"
        if styles["thousands"] and not styles["comma"]:
            return "thousands"
        if styles["dot"] and not styles["comma"]:
            return "thousands"
        raise InvalidTableError(
            f"column {self.name!r} holds {self._ambiguous or 'numbers with points and with commas'!r}, which can be read in "
            "two ways. Say which mark stands before decimals: --decimal . or --decimal ,"
        )

    def remark(self) -> str | None:
        """What is odd about a column that is nearly numeric, or None.

        Raises
        ------
        InvalidTableError
            If it has so many values that it can only be meant as numbers.
        """
        numbers = sum(self._styles[style] for style in _NUMBERS)
        if self._odd is None or self.all_numbers or numbers < GUESS.numeric_fraction * self.n_present:
            return None
        row, value = self._odd
        said = (
            f"column {self.name!r} holds numbers in {numbers:,} of {self.n_present:,} rows, but {value!r:.40} in row {row}. "
            f"If that stands for a gap, say --missing-values {value!s:.40}"
        )
        if self.is_identifier:
            raise InvalidTableError(f"{said}; or correct it, or leave the column out with --drop {self.name}.")
        return f"{said}; it is read as a category."


_NUMBERS = ("whole", "dot", "thousands", "comma", "either")


def _style(value: Any) -> str:
    if isinstance(value, str):
        if _PLAIN.fullmatch(value):
            return "dot" if "." in value else "whole"
        thousands, comma = _THOUSANDS.fullmatch(value), _COMMA.fullmatch(value)
        if thousands and comma:
            return "either"
        if thousands or comma:
            return "thousands" if thousands else "comma"
        return "date" if _DATE.fullmatch(value) else "text"
    if isinstance(value, (bool, np.bool_)):
        return "truth"
    if isinstance(value, (datetime.date, datetime.time, datetime.timedelta)):
        return "date"
    return "whole" if isinstance(value, (int, float, decimal.Decimal, np.number)) else "text"


def is_number_text(text: str) -> bool:
    """Whether a text is a number, however its thousands and decimals are marked, and not a code that begins with 0."""
    return _style(text) in _NUMBERS and not _CODE.match(text)


def is_date_text(text: str) -> bool:
    """Whether a text is a date."""
    return _style(text) == "date"


def _is_missing(value: Any, missing: frozenset[str]) -> bool:
    return value is None or (value in missing if isinstance(value, str) else value != value)


def parse_numbers(
    values: Sequence[Any], spelling: Spelling, missing: frozenset[str], name: str, first_row: int
) -> NDArray[np.float64]:
    """Values as floats, NaN where they are missing.

    Raises
    ------
    InvalidTableError
        For the first value that is no number; the message names column, row and value.
    """
    plain = _plain_floats(values, missing) if spelling == "plain" else None
    if plain is not None:
        return np.array(plain)
    parsed = [_parse(value, spelling, missing) for value in values]
    if None in parsed:
        at = parsed.index(None)
        raise InvalidTableError(f"column {name!r}, row {first_row + at + 1}: {values[at]!r:.80} is not a number.")
    return np.array(parsed, dtype=np.float64)


def _plain_floats(values: Sequence[Any], missing: frozenset[str]) -> list[float] | None:
    """The numbers, if all values are written plainly and none is missing: what most columns are, in a tenth of the time."""
    if any(_PLAIN.fullmatch(token) for token in missing):
        return None
    try:
        # What is left would be read by float, but not here: nan, inf, 1_000, digits of other alphabets.
        if "\n".join(values).encode("ascii").translate(None, b"0123456789.+-eE\n"):
            return None
        return list(map(float, values))
    except (TypeError, ValueError):
        return None


def _parse(value: Any, spelling: Spelling, missing: frozenset[str]) -> float | None:
    if isinstance(value, str):
        value = value.strip()
        if value in missing:
            return np.nan
        if spelling == "thousands":
            value = value.replace(",", "")
        elif spelling == "comma":
            value = value.replace(".", "").replace(",", ".")
        return float(value) if _PLAIN.fullmatch(value) else None
    if value is None:
        return np.nan
    return float(value) if isinstance(value, (bool, int, float, decimal.Decimal, np.number)) else None


@dataclass(frozen=True)
class Gaps:
    """Texts that stand for gaps.

    Attributes
    ----------
    usual : frozenset of str
        In text files, where a model does not know them as levels.
    named : frozenset of str
        By the user, so everywhere.
    """

    usual: frozenset[str] = MISSING_TOKENS
    named: frozenset[str] = frozenset()

    @property
    def all(self) -> frozenset[str]:
        return self.usual | self.named

    def among(self, *, typed: bool, known: Iterable[str] = ()) -> frozenset[str]:
        """Those of a column of categories: a file with types has gaps of its own, and what a model knows is a level."""
        return self.named if typed else (self.usual - frozenset(known)) | self.named


def parse_levels(values: Sequence[Any], known: Mapping[str, Any] | None, gaps: Gaps, *, typed: bool = False) -> list[Any]:
    """Values as levels, None where they are missing.

    Parameters
    ----------
    values : list
    known : mapping of str to level, optional
        The levels that a text stands for, blanks included.
    gaps : Gaps
    typed : bool, default=False
        Whether the file knows types, as Parquet does: then text is taken as it is, with its blanks.
    """
    missing = gaps.among(typed=typed, known=known or ())

    def level(value: Any) -> Any:
        if known is not None and value in known and value not in gaps.named:
            return known[value]
        text = value.strip() if isinstance(value, str) and not typed else value
        if _is_missing(text, missing):
            return None
        if known is not None:
            return known.get(str(text), text)
        return text if isinstance(text, (str, bool, int)) else str(text)

    shared = {value: level(value) for value in dict.fromkeys(values)}  # one object per level instead of one per row
    return list(map(shared.__getitem__, values))
