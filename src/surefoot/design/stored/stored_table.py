"""What every file with a table offers, whatever its format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol


class StoredTable(Protocol):
    """A table in a file, whose columns can be gone through many times."""

    @property
    def path(self) -> Path: ...

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        ...

    @property
    def typed(self) -> bool:
        """Whether the file says what its values are; in a text file everything is text."""
        ...

    @property
    def described(self) -> str:
        """The format in a few words, such as "delimiter ';', utf-8"."""
        ...

    def chunks(self, names: Sequence[str], rows: int) -> Iterator[dict[str, Sequence[Any]]]:
        """Some columns, by name, of up to ``rows`` rows at a time."""
        ...

    def place_of(self, row: int) -> str:
        """What a person calls a row, counted from 0: the line of the file, or the row of the sheet."""
        ...
