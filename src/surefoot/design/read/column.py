"""One column of a table as it came in, readable as numbers or as categories.

A column does not know what it will be used for. It offers both readings and says which one is natural; text has no reading as
numbers, and dates have no natural reading at all. Missing values are NaN in the one reading and code -1 in the other.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.design.encode.schema import Kind, Level
from surefoot.exceptions import InvalidTableError

Family: TypeAlias = Literal["missing", "text", "boolean", "number", "complex", "date", "other"]

# pandas' own missing values, known by name so that pandas need not be installed.
_MISSING_TYPE_NAMES = {"NoneType", "NAType", "NaTType"}

# From here on a double may stand for several whole numbers.
LARGEST_WHOLE = 2.0**53
INEXACT = (
    "is a whole number that 64-bit floating point cannot hold, so it would become another one. Subtract a starting value or "
    "divide (a time stamp: use seconds since some day), or treat the column as categorical if it is an identifier."
)


class InvalidValueTypeError(InvalidTableError, TypeError):
    """A cell holds an object that is neither a number nor text; a TypeError too, as in scikit-learn."""


@dataclass(frozen=True)
class Categories:
    """The reading of a column as categories.

    Attributes
    ----------
    codes : ndarray of shape (n_rows,)
        Position of each row's value in ``values``; -1 where it is missing.
    values : tuple
        The distinct values, in no particular order.
    """

    codes: NDArray[np.intp]
    values: tuple[Any, ...]


def as_doubles(
    values: NDArray[Any], place: Callable[[int], str], missing: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """Numbers as float64; whole numbers that would be rounded are refused, since neighbours would become one value.

    Parameters
    ----------
    values : ndarray of numbers or booleans
    place : callable
        How messages call the cell at a position of the flattened array.
    missing : ndarray of bool, optional
        Cells whose values mean nothing.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # a long double beyond float64 becomes inf, which the encoder refuses
        found: NDArray[np.float64] = values.astype(np.float64, copy=False)
        if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
            rounded = (np.abs(found) >= LARGEST_WHOLE) & (found.astype(values.dtype) != values)
            for at in np.flatnonzero(rounded if missing is None else rounded & ~missing)[:1].tolist():
                raise InvalidTableError(f"{place(at)}: {values.flat[at]} {INEXACT}")
    return found


class Column(Protocol):
    """What the encoder asks of a column; ``label`` is how messages call it, ``first_row`` what they call its first row."""

    @property
    def label(self) -> str: ...
    @property
    def first_row(self) -> int: ...

    def natural_kind(self) -> Kind:
        """The kind that the type of the values suggests."""
        ...

    def numbers(self) -> NDArray[np.float64]:
        """The values as float64, NaN where missing."""
        ...

    def categories(self) -> Categories:
        """The values as categories."""
        ...


@dataclass(frozen=True)
class NumberColumn:
    """Numbers or booleans, with an optional mask of the missing ones; a NaN is missing too."""

    label: str
    values: NDArray[Any]
    missing: NDArray[np.bool_] | None = None
    first_row: int = 0

    def natural_kind(self) -> Kind:
        return "categorical" if self.values.dtype.kind == "b" else "numeric"

    def numbers(self) -> NDArray[np.float64]:
        values = as_doubles(self.values, lambda row: f"{self.label}, row {self.first_row + row}", self.missing)
        return values if self.missing is None else np.where(self.missing, np.nan, values)

    def categories(self) -> Categories:
        present = np.ones(self.values.size, dtype=bool) if self.missing is None else ~self.missing
        if self.values.dtype.kind == "f":
            present &= ~np.isnan(self.values)
        distinct, inverse = np.unique(self.values[present], return_inverse=True)
        codes = np.full(self.values.size, -1, dtype=np.intp)
        codes[present] = inverse
        return Categories(codes, tuple(distinct.tolist()))


@dataclass(frozen=True)
class CodedColumn:
    """Values that were declared categories, or text that has been factorised already.

    ``declared`` are the levels that the type of the column names, whether or not a row holds them; None if it names none.
    """

    label: str
    coded: Categories
    first_row: int = 0
    declared: tuple[Any, ...] | None = None

    def natural_kind(self) -> Kind:
        return "categorical"

    def numbers(self) -> NDArray[np.float64]:
        values = np.empty(len(self.coded.values) + 1, dtype=object)
        values[:-1] = self.coded.values
        try:
            translated = ObjectColumn(self.label, values).numbers()
        except InvalidTableError:
            # Read again, row by row: the message must name a row of the table, not of the list of levels.
            return ObjectColumn(self.label, values[self.coded.codes], self.first_row).numbers()
        return translated[self.coded.codes]

    def categories(self) -> Categories:
        return self.coded


@dataclass(frozen=True)
class ObjectColumn:
    """Arbitrary Python objects."""

    label: str
    values: NDArray[np.object_]
    first_row: int = 0

    @cached_property
    def _items(self) -> list[Any]:
        items: list[Any] = self.values.tolist()
        return items

    @cached_property
    def _types(self) -> dict[type, Family]:
        return {kind: _family(kind) for kind in set(map(type, self._items))}

    def _rows(self, *families: Family) -> NDArray[np.intp]:
        """Rows whose value belongs to one of the families."""
        wanted = [id(kind) for kind, family in self._types.items() if family in families]
        if len(wanted) == len(self._types):
            return np.arange(len(self._items))
        row_types = np.fromiter(map(id, map(type, self._items)), dtype=np.uint64, count=len(self._items))
        return np.flatnonzero(np.any([row_types == kind for kind in wanted], axis=0)) if wanted else np.empty(0, dtype=np.intp)

    @cached_property
    def _families(self) -> frozenset[Family]:
        """Families among the values that are there: a NaN next to text is a gap, not a number."""
        families = frozenset(self._types.values()) - {"missing"}
        if "number" in families and families & {"text", "boolean"}:
            rows = self._rows("number")
            if np.all(self.values[rows] != self.values[rows]):
                families -= {"number"}
        return families

    def natural_kind(self) -> Kind:
        families = self._families
        if "date" in families:
            raise InvalidTableError(f"{self._first('date')} is a date or a time. {DATE_ADVICE}")
        self._refuse_unreadable(families)
        if families <= {"number"} or families == {"number", "boolean"}:
            return "numeric"
        if len(families) > 1:
            text = self._first("text")
            other = self._first(*(families - {"text"}))
            raise InvalidTableError(
                f"{text} is text but {other} is not. Make the column all numbers or all text, "
                "or name it in categorical_features to take every distinct value as a level."
            )
        return "categorical"

    def numbers(self) -> NDArray[np.float64]:
        families = self._families
        if "date" in families:
            raise InvalidTableError(f"{self._first('date')} is a date or a time. {DATE_ADVICE}")
        self._refuse_unreadable(families)
        if "text" in families:
            raise InvalidTableError(
                f"{self._first('text')} is text, but the column is numeric. Convert numbers that are stored as text "
                "(for example with astype(float)), or have the column treated as categorical when the model is fitted."
            )
        out = np.full(len(self._items), np.nan)
        rows = self._rows("number", "boolean")
        try:
            out[rows] = self.values[rows].astype(np.float64)
        except (OverflowError, ValueError, TypeError):
            at = next(row for row in rows.tolist() if not _fits_float(self._items[row]))
            raise InvalidTableError(f"{self._cell(at)} does not fit a 64-bit floating point number.") from None
        for row in rows[np.abs(out[rows]) >= LARGEST_WHOLE].tolist():
            if isinstance(self._items[row], int | np.integer) and int(out[row]) != int(self._items[row]):
                raise InvalidTableError(f"{self._cell(row)} {INEXACT}")
        return out

    def categories(self) -> Categories:
        self._refuse_unreadable(self._families - {"other"})
        try:
            places: dict[Any, int] = dict.fromkeys(self._items, -1)
        except TypeError:
            at = next(row for row, item in enumerate(self._items) if not _is_hashable(item))
            raise self._unreadable(at) from None
        values = [value for value in places if not _is_missing(value)]
        places.update(zip(values, range(len(values)), strict=True))
        return Categories(np.fromiter(map(places.__getitem__, self._items), np.intp, len(self._items)), tuple(values))

    def _first(self, *families: Family) -> str:
        """Label, row and value of the first cell of some families."""
        return self._cell(int(self._rows(*families)[0]))

    def _cell(self, at: int) -> str:
        return f"{self.label}, row {self.first_row + at}: {self._items[at]!r:.80}"

    def _refuse_unreadable(self, families: frozenset[Family]) -> None:
        if "complex" in families:
            raise InvalidTableError(f"Complex data not supported: {self._first('complex')} is complex.")
        if "other" in families:
            raise self._unreadable(int(self._rows("other")[0]))

    def _unreadable(self, row: int) -> InvalidValueTypeError:
        value = self._items[row]
        return InvalidValueTypeError(
            f"{self.label}, row {self.first_row + row}: argument must be a string or a real number, "
            f"not {type(value).__name__!r} ({value!r:.80}). Convert the column to numbers or to text."
        )


DATE_ADVICE = (
    "Convert the column to a number (for example days since a fixed date), or to a category (text) if its values repeat, "
    "or drop it."
)


def _family(kind: type) -> Family:
    if kind.__name__ in _MISSING_TYPE_NAMES:
        return "missing"
    if issubclass(kind, str):
        return "text"
    if issubclass(kind, (bool, np.bool_)):
        return "boolean"
    # Before numbers: NumPy derives timedelta64 from its integers.
    if issubclass(kind, (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)):
        return "date"
    if issubclass(kind, (numbers.Real, decimal.Decimal)):
        return "number"
    if issubclass(kind, numbers.Complex):
        return "complex"
    return "other"


def _is_missing(value: Any) -> bool:
    if type(value).__name__ in _MISSING_TYPE_NAMES:
        return True
    return isinstance(value, (float, np.floating, decimal.Decimal, np.datetime64, np.timedelta64)) and bool(value != value)


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _fits_float(value: Any) -> bool:
    try:
        float(value)
    except (OverflowError, ValueError, TypeError):
        return False
    return True


def plain_level(value: Any, label: str) -> Level:
    """A category's value as text, boolean or number: what a schema stores.

    Values of other types (dates, intervals of a binned column) become their text; those without text of their own are refused.
    """
    family = _family(type(value))
    if family == "boolean":
        return bool(value)
    if family == "text":
        return str(value)
    if family == "number":
        level = int(value) if isinstance(value, numbers.Integral) else float(value)
        if level in (np.inf, -np.inf):
            raise InvalidTableError(f"{label} holds {value!r}, which cannot be a level. Replace infinite values.")
        return level
    if family == "complex":
        raise InvalidTableError(f"Complex data not supported: {label} holds {value!r}.")
    kind: Any = type(value)
    if isinstance(value, bytes) or (kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__):
        raise InvalidValueTypeError(
            f"{label}: argument must be a string or a real number, not {kind.__name__!r} ({value!r:.80}). "
            "Convert the column to numbers or to text."
        )
    return str(value)


def sorted_levels(values: Sequence[Any], label: str) -> tuple[Level, ...]:
    """Distinct values as levels, in their natural order or, if types mix, by name of the type and then by text."""
    try:
        ordered: Iterable[Any] = sorted(values)
    except TypeError:
        ordered = sorted(values, key=lambda value: (type(value).__name__, str(value)))
    # Two values may share one text (an interval and its name); they are one level.
    return tuple(dict.fromkeys(plain_level(value, label) for value in ordered))
