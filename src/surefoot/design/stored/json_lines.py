"""Tables in which every line is a JSON object: names and values of one row."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.design.stored.compressed import compression_of, stored_bytes
from surefoot.exceptions import InvalidTableError


@dataclass(frozen=True)
class JsonLines:
    """A file of JSON lines; a name that a line leaves out is a gap there."""

    path: Path
    names: tuple[str, ...]

    typed = True

    @property
    def described(self) -> str:
        packed = compression_of(self.path)
        return f"{'' if packed is None else f'{packed}, '}JSON lines"

    def chunks(self, names: Sequence[str], rows: int) -> Iterator[dict[str, Sequence[Any]]]:
        """Some columns, by name, of up to ``rows`` rows at a time."""
        chunk: list[dict[str, Any]] = []
        for _, line in _objects(self.path):
            chunk.append(line)
            if len(chunk) == rows:
                yield {name: [line.get(name) for line in chunk] for name in names}
                chunk = []
        if chunk:
            yield {name: [line.get(name) for line in chunk] for name in names}

    def place_of(self, row: int) -> str:
        for at, (line, _) in enumerate(_objects(self.path)):
            if at == row:
                return f"line {line}"
        return f"row {row}"


def open_json_lines(path: Path) -> JsonLines:
    """Look at every line of a file of JSON lines.

    Raises
    ------
    InvalidTableError
        If a line is no object of plain values; the message names the line.
    """
    names: dict[str, None] = {}
    for _, line in _objects(path):
        names |= dict.fromkeys(line)
    if "" in names:
        raise InvalidTableError(f"{path}: a value has no name. Name it, or leave it out.")
    if not names:
        raise InvalidTableError(f"{path} is empty: no line names a value.")
    return JsonLines(path, tuple(names))


def looks_like_json(sample: bytes) -> str | None:
    """What a text that begins like this is: "lines", "array", or None for no JSON."""
    start = sample.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"["):
        return "array" if start[1:].lstrip().startswith((b"{", b"[")) else None
    return "lines" if start.startswith(b"{") and start[1:].lstrip().startswith((b'"', b"}")) else None


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each line that is not blank, with its number."""
    with stored_bytes(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig") as text:
        try:
            for number, line in enumerate(text, 1):
                if not line.strip():
                    continue
                try:
                    found = json.loads(line)
                except ValueError as error:
                    raise InvalidTableError(
                        f"{path}, line {number}: {error!s:.100}. Every line of JSON lines is one object, such as "
                        '{"age": 41, "bought": "yes"}.'
                    ) from error
                if not isinstance(found, dict):
                    raise InvalidTableError(f"{path}, line {number} is no object of names and values: {line.strip():.40}")
                for name, value in found.items():
                    if isinstance(value, (dict, list)):
                        kind = "a list" if isinstance(value, list) else "an object"
                        raise InvalidTableError(
                            f"{path}, line {number}: the value of {name!r} is {kind} "
                            "itself. A table holds numbers, text and truth values: put its parts beside the others."
                        )
                yield number, found
        except UnicodeDecodeError as error:
            raise InvalidTableError(f"{path} is not utf-8, which JSON lines are. Save it again in this encoding.") from error
