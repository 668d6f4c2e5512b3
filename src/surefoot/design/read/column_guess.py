"""What a column of a file holds: numbers, categories, or neither. Counted chunk by chunk, so that no file is too long.

numeric      every value is a number, possibly written with thousands separators, a decimal comma or a unit, such as % or $
categorical  text of few values, truth values, or codes: numbers with a leading 0, or under the name of a postal code
date         left out: a date is neither a number nor a category
identifier   left out: nearly every row has its own value, or another whole number where chance would have repeated some
constant     left out: all rows have the same value
empty        left out: no row has a value
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.design.read.guess_parameters import GUESS
from surefoot.design.read.identifiers import named_as_identifier, numbers_name_rows
from surefoot.design.read.written_values import NUMBER_STYLES, Spelling, is_missing, plain_floats, style_of
from surefoot.design.stored.text_block import TextBlock
from surefoot.exceptions import InvalidTableError

Guess: TypeAlias = Literal["numeric", "categorical", "date", "identifier", "constant", "empty"]

# Names of columns whose numbers are codes of places.
_PLACE_NAME = re.compile(r"(?:^|[\W_])(?:zip|zip_?code|postal_?code|post_?code|plz)(?:$|[\W_])", re.IGNORECASE)
# What tables write for gaps where every other number is at or above 0.
_GAP_CODES = frozenset({-1.0, -7.0, -8.0, -9.0, -77.0, -88.0, -99.0, -999.0, -9999.0, -99999.0})


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
    _units: Counter[str] = field(default_factory=Counter)
    _odd: tuple[int, Any] | None = None
    _ambiguous: str = ""
    _wholes: list[NDArray[np.float64]] | None = field(default_factory=list)
    _below: Counter[float] = field(default_factory=Counter)

    def add(self, values: Sequence[Any], missing: frozenset[str], *, typed: bool = False) -> None:
        """Count the values of some more rows; of a file with types, text is taken as it is."""
        plain = None if typed or self._styles["text"] or self._styles["code"] else plain_floats(values, missing)
        if plain is not None:
            self._watch(plain[0])
            if self.truncated and not self._is_place:
                gaps = int(np.count_nonzero(np.isnan(plain[0])))
                self._styles["dot"] += plain[1]
                self._styles["whole"] += len(values) - gaps - plain[1]
                self._units[""] += len(values) - gaps
                self.n_missing += gaps
                self.n_rows += len(values)
                return
        elif not typed:
            self._wholes = None
        counts: Mapping[Any, int] = values.counts() if isinstance(values, TextBlock) else Counter(values)
        present: list[tuple[Any, int]] = []
        for value, count in counts.items():
            text = value.strip() if isinstance(value, str) and not typed else value
            if is_missing(text, missing):
                self.n_missing += count
                continue
            present.append((text, count))
            style = style_of(text)
            name = "text" if typed and isinstance(text, str) and style.name in ("truth", "code") else style.name
            self._styles[name] += count
            self._units[style.unit] += count
            if name == "text" and self._odd is None:
                self._odd = (self.n_rows + values.index(value), text)
            if name == "either":
                self._ambiguous = text
        # How many levels are counted depends on what they are.
        for text, count in present:
            self._count(text, count)
        if typed:
            self._watch_typed(values, missing)
        self.n_rows += len(values)

    def _count(self, value: Any, count: int) -> None:
        limited = not (self._styles["text"] or self._styles["code"] or self._is_place)
        if value in self.levels:
            self.levels[value] += count
        elif len(self.levels) < (GUESS.few_levels if limited else GUESS.counted_levels):
            self.levels[value] = count
        else:
            self.truncated = True

    def _watch(self, numbers: NDArray[np.float64]) -> None:
        """Keep whole numbers as long as none repeats, and count negative ones as long as they are few."""
        if len(self._below) <= len(_GAP_CODES):
            self._below.update(numbers[numbers < 0][: GUESS.counted_levels].tolist())
        if self._wholes is None:
            return
        own = numbers[~np.isnan(numbers)]
        kept = sum(map(len, self._wholes))
        if np.any(own != np.floor(own)) or np.unique(own).size < own.size:
            self._wholes = None
        elif kept < GUESS.kept_numbers:
            self._wholes.append(own)

    def _watch_typed(self, values: Sequence[Any], missing: frozenset[str]) -> None:
        if self.all_numbers:
            self._watch(np.array([np.nan if is_missing(value, missing) else float(value) for value in values]))
        else:
            self._wholes = None

    @cached_property
    def _is_place(self) -> bool:
        return _PLACE_NAME.search(self.name) is not None

    @property
    def n_present(self) -> int:
        return self.n_rows - self.n_missing

    @property
    def n_levels(self) -> str:
        """The number of levels in words."""
        return f"more than {len(self.levels):,}" if self.truncated else f"{len(self.levels):,}"

    @property
    def all_numbers(self) -> bool:
        """Whether every value is a number, and all have the same unit."""
        wholly = sum(self._styles[style] for style in NUMBER_STYLES) == self.n_present
        return self.n_present > 0 and wholly and len([unit for unit, count in self._units.items() if count]) == 1

    @property
    def all_numbers_or_codes(self) -> bool:
        """Whether every value can be read as a number, codes with a leading 0 among them."""
        return self.all_numbers or (self.n_present > 0 and self._styles["code"] + self._styles["whole"] == self.n_present)

    @property
    def any_numbers(self) -> bool:
        return any(self._styles[style] for style in NUMBER_STYLES)

    @property
    def unit(self) -> str:
        """What stands beside every number, such as "%"; empty for none."""
        return next((unit for unit, count in self._units.items() if count), "") if self.all_numbers else ""

    @property
    def all_truths(self) -> bool:
        return self.n_present > 0 and self._styles["truth"] == self.n_present

    def guess(self) -> Guess:
        """What the column holds."""
        if self.n_present == 0:
            return "empty"
        if len(self.levels) == 1 and not self.n_missing:
            return "constant"
        if self.all_numbers and not self._is_place:
            return "identifier" if self.numbers_rows else "numeric"
        if self._styles["date"] == self.n_present:
            return "date"
        if self.all_truths:
            return "categorical"
        return "identifier" if self.is_identifier else "categorical"

    @cached_property
    def numbers_rows(self) -> bool:
        """Whether the column holds another whole number in every row, as an identifier does and no measurement."""
        if not self._wholes or self.truncated is False:
            return False
        numbers = np.concatenate(self._wholes)
        if np.unique(numbers).size < numbers.size:
            return False
        return named_as_identifier(self.name) or numbers_name_rows([numbers])

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
        """What is odd about a column that is nearly numeric, or None; rows are counted from 0.

        Raises
        ------
        InvalidTableError
            If it has so many values that it can only be meant as numbers.
        """
        numbers = sum(self._styles[style] for style in NUMBER_STYLES)
        if self.all_numbers or numbers < GUESS.numeric_fraction * self.n_present:
            return None
        if self._odd is None:
            units = [unit for unit, count in self._units.items() if count]
            if len(units) < 2 or numbers < self.n_present:
                return None
            shown = " and ".join(f"with {unit}" if unit else "without a unit" for unit in units[:2])
            raise InvalidTableError(
                f"column {self.name!r} holds numbers {shown}. Write all of them in one unit, or leave the column out with "
                f"--drop {self.name}."
            )
        row, value = self._odd
        said = (
            f"column {self.name!r} holds numbers in {numbers:,} of {self.n_present:,} rows, but {value!r:.40} in row {row}. "
            f"If that stands for a gap, say --missing-values {value!s:.40}"
        )
        if self.is_identifier:
            raise InvalidTableError(f"{said}; or correct it, or leave the column out with --drop {self.name}.")
        return f"{said}; it is read as a category."

    def gap_codes(self) -> dict[float, int]:
        """Negative numbers that look like codes of gaps, by their rows: all other numbers are at or above 0."""
        found = {value: count for value, count in sorted(self._below.items()) if count}
        told = set(found) <= _GAP_CODES and self.all_numbers and sum(found.values()) < self.n_present
        # A lone -1 is a number as often as it is a code.
        return found if told and set(found) != {-1.0} else {}
