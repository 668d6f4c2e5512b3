"""Reading JSON that may come from anybody: every access says what it expects and where it looked."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from surefoot.design.encode.schema import Level


@dataclass(frozen=True)
class PlainReader:
    """A value inside a JSON document, and the way to it.

    Attributes
    ----------
    content : object
    place : str
        How messages call the value.
    """

    content: Any
    place: str

    @classmethod
    def parse(cls, document: str, place: str) -> PlainReader:
        """Read a document; ``place`` is what messages call it."""
        try:
            return cls(json.loads(document, parse_constant=_refuse_constant), place)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{place} is not JSON: {error}.") from None

    def field(self, key: str) -> PlainReader:
        if not isinstance(self.content, dict) or key not in self.content:
            raise ValueError(f"{self.place} has no entry {key!r}.")
        return PlainReader(self.content[key], f"{self.place}, {key}")

    def optional(self, key: str) -> PlainReader | None:
        """The entry, or None if it is absent or null."""
        if isinstance(self.content, dict) and self.content.get(key) is None:
            return None
        return self.field(key)

    def items(self, key: str) -> list[PlainReader]:
        """The entries of a list."""
        found = self.field(key)
        if not isinstance(found.content, list):
            raise ValueError(f"{found.place} is not a list.")
        return [PlainReader(entry, f"{found.place}[{at}]") for at, entry in enumerate(found.content)]

    def item(self, at: int) -> PlainReader:
        if not isinstance(self.content, list) or at >= len(self.content):
            raise ValueError(f"{self.place} is not a list of at least {at + 1} entries.")
        return PlainReader(self.content[at], f"{self.place}[{at}]")

    def text(self, key: str) -> str:
        found = self.field(key)
        if not isinstance(found.content, str):
            raise ValueError(f"{found.place} is {found.content!r:.80}, which is not text.")
        return found.content

    def whole(self, key: str) -> int:
        found = self.field(key)
        if type(found.content) is not int:
            raise ValueError(f"{found.place} is {found.content!r:.80}, which is not a whole number.")
        return found.content

    def truth(self, key: str) -> bool:
        found = self.field(key)
        if type(found.content) is not bool:
            raise ValueError(f"{found.place} is {found.content!r:.80}, which is neither true nor false.")
        return found.content

    def number(self) -> float:
        if type(self.content) not in (int, float) or not math.isfinite(self.content):
            raise ValueError(f"{self.place} is {self.content!r:.80}, which is not a finite number.")
        return float(self.content)

    def level(self) -> Level:
        if self.content is not None and type(self.content) not in (str, bool, int, float):
            raise ValueError(f"{self.place} is {self.content!r:.80}, which is neither text nor a number.")
        return self.content  # type: ignore[no-any-return]  # one of the types just listed


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")
