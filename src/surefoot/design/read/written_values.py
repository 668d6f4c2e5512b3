"""How values are written in files: numbers with their marks and units, truth values, dates, gaps; and what they are then."""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.design.stored.text_block import TextBlock
from surefoot.exceptions import InvalidTableError

Spelling: TypeAlias = Literal["plain", "thousands", "comma"]

# How text files spell truth values; data frame libraries read such columns as truth values too.
TRUTH_TEXTS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
MISSING_TOKENS = frozenset({"", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?"})
# Styles of numbers; "either" can be read in two ways.
NUMBER_STYLES = ("whole", "dot", "thousands", "comma", "either")

_PLAIN = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_COMMA = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+")
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}(?:[ T]\d{1,2}:\d{2}.*)?|\d{1,2}([./-])\d{1,2}\1\d{2,4}|\d{4}/\d{1,2}/\d{1,2}")
# A whole number with a leading 0 is the code of something: 02139 is a place and no amount.
_CODE = re.compile(r"0\d+")
_UNIT = r"[%$€£¥₹]|USD|EUR|GBP|CHF|JPY|INR"
_WITH_UNIT = re.compile(rf"(?P<sign>[+-]?)\s*(?P<before>{_UNIT})?\s*(?P<number>[+-]?[\d.,]+)\s*(?P<behind>{_UNIT})?")


@dataclass(frozen=True)
class Style:
    """How one value is written: a style of numbers, "code", "truth", "date" or "text", and the unit of a number."""

    name: str
    unit: str = ""


def style_of(value: Any) -> Style:
    """How a value is written."""
    if isinstance(value, str):
        if value in TRUTH_TEXTS:
            return Style("truth")
        name = _style_of_text(value)
        if name == "text":
            split = without_unit(value)
            inner = "text" if split is None else _style_of_text(split[0])
            if split is not None and inner in NUMBER_STYLES:
                return Style(inner, split[1])
        return Style(name)
    if isinstance(value, (bool, np.bool_)):
        return Style("truth")
    if isinstance(value, (datetime.date, datetime.time, datetime.timedelta)):
        return Style("date")
    return Style("whole" if isinstance(value, (int, float, decimal.Decimal, np.number)) else "text")


def _style_of_text(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return "code" if _CODE.fullmatch(text) else "dot" if "." in text else "whole"
    thousands, comma = _THOUSANDS.fullmatch(text), _COMMA.fullmatch(text)
    if thousands and comma:
        return "either"
    if thousands or comma:
        return "thousands" if thousands else "comma"
    return "date" if _DATE.fullmatch(text) else "text"


def without_unit(text: str) -> tuple[str, str] | None:
    """The number of an amount of money or a percentage, and its unit; None for other texts."""
    found = _WITH_UNIT.fullmatch(text)
    if found is None or (found["before"] is None) == (found["behind"] is None):
        return None
    number = found["number"]
    if found["sign"] and number[0] in "+-":
        return None
    return found["sign"] + number, found["before"] or found["behind"]


def is_number_text(text: str) -> bool:
    """Whether a text is a number, however its thousands and decimals are marked, and not a code that begins with 0."""
    return _style_of_text(text) in NUMBER_STYLES and not text.startswith("0,")


def is_date_text(text: str) -> bool:
    """Whether a text is a date."""
    return _style_of_text(text) == "date"


def is_missing(value: Any, missing: frozenset[str]) -> bool:
    """Whether a value stands for a gap."""
    if value is None:
        return True
    if isinstance(value, str):
        return value in missing
    if value != value:
        return True
    return bool(missing) and isinstance(value, (int, float, decimal.Decimal, np.number)) and _number_text(value) in missing


def _number_text(value: Any) -> str:
    """A number of a file with types as people name it: -9 for -9.0."""
    return str(int(value)) if np.isfinite(float(value)) and value == int(value) else str(value)


def parse_numbers(
    values: Sequence[Any], spelling: Spelling, missing: frozenset[str], name: str, first_row: int, unit: str = ""
) -> NDArray[np.float64]:
    """Values as floats, NaN where they are missing.

    Raises
    ------
    InvalidTableError
        For the first value that is no number; the message names column, row (from 0) and value.
    """
    if spelling == "plain" and not unit:
        plain = plain_floats(values, missing)
        if plain is not None:
            return plain[0]
    parsed = [_parse(value, spelling, missing, unit) for value in values]
    if None in parsed:
        at = parsed.index(None)
        raise InvalidTableError(f"column {name!r}, row {first_row + at}: {values[at]!r:.80} is not a number.")
    return np.array(parsed, dtype=np.float64)


def plain_floats(values: Sequence[Any], missing: frozenset[str]) -> tuple[NDArray[np.float64], int] | None:
    """The numbers, if all values are written plainly, and how many have a point: what most columns are, in a tenth of the time.

    Gaps are NaN in a block that pyarrow has read; elsewhere there must be none.
    """
    if isinstance(values, TextBlock):
        return values.plain_numbers(missing)
    if any(_PLAIN.fullmatch(token) for token in missing):
        return None
    try:
        # What is left would be read by float, but not here: nan, inf, 1_000, digits of other alphabets.
        text = "\n".join(values)
        if text.encode("ascii").translate(None, b"0123456789.+-eE\n"):
            return None
        return np.array(list(map(float, values))), text.count(".")
    except (TypeError, ValueError):
        return None


def _parse(value: Any, spelling: Spelling, missing: frozenset[str], unit: str) -> float | None:
    if is_missing(value.strip() if isinstance(value, str) else value, missing):
        return np.nan
    if isinstance(value, str):
        value = value.strip()
        if unit:
            split = without_unit(value)
            value = split[0] if split is not None and split[1] == unit else value
        if spelling == "thousands":
            value = value.replace(",", "")
        elif spelling == "comma":
            value = value.replace(".", "").replace(",", ".")
        return float(value) if _PLAIN.fullmatch(value) else None
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
    by_column : mapping of str to frozenset of str
        By the user, in one column: codes such as -9.
    """

    usual: frozenset[str] = MISSING_TOKENS
    named: frozenset[str] = frozenset()
    by_column: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def of(self, column: str) -> Gaps:
        """Those of one column."""
        return Gaps(self.usual, self.named | self.by_column[column]) if column in self.by_column else self

    @property
    def all(self) -> frozenset[str]:
        return self.usual | self.named

    def among(self, *, typed: bool, known: Iterable[str] = ()) -> frozenset[str]:
        """Those of a column of categories: a file with types has gaps of its own, and what a model knows is a level."""
        return self.named if typed else (self.usual - frozenset(known)) | self.named


def parse_levels(values: Sequence[Any], known: Mapping[str, Any] | None, gaps: Gaps, *, typed: bool = False) -> Sequence[Any]:
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
        if is_missing(text, missing):
            return None
        if known is not None:
            return known.get(str(text), text)
        return text if isinstance(text, (str, bool, int)) else str(text)

    if isinstance(values, TextBlock):
        return values.coded({text: level(text) for text in values.counts()})
    shared = {value: level(value) for value in dict.fromkeys(values)}  # one object per level instead of one per row
    return list(map(shared.__getitem__, values))
