"""What the command line says: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

# Names and levels come from files of others: what would move the cursor, colour the screen or ring the bell is not written.
_CONTROLS = {code: None for code in (*range(32), 127, *range(128, 160)) if chr(code) not in "\n\t"}


def printable(text: str) -> str:
    """A text without control characters but ends of lines and tabulators."""
    return text.translate(_CONTROLS)


def say(text: str = "") -> None:
    """A line of the result."""
    sys.stdout.write(f"{printable(text)}\n")


def note(text: str) -> None:
    """A line beside the result."""
    sys.stderr.write(f"{printable(text)}\n")
    sys.stderr.flush()


def warn(text: str) -> None:
    """Something that the user should look at."""
    note(f"warning: {text}")


def say_json(content: Mapping[str, Any]) -> None:
    """The result for programs: one JSON document, in which numbers that JSON does not have are null."""
    say(json.dumps(_finite(content), ensure_ascii=True, allow_nan=False, indent=1))


def aligned(rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Rows of text under each other; the first ``left`` columns flush left, the others flush right."""
    # The end of a line within a cell would tear the table apart.
    rows = [[" ".join(printable(cell).split()) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if at < left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _finite(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {str(key): _finite(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_finite(value) for value in content]
    if hasattr(content, "item"):
        content = content.item()
    return None if isinstance(content, float) and not math.isfinite(content) else content
