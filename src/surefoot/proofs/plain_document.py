"""JSON documents from strangers: every name once, numbers that are numbers, text that can be written.

Whatever is wrong is a ``ValueError`` with a sentence.
"""

from __future__ import annotations

import json
from typing import Any

# Digits of a whole number of 64 bits, and its sign.
_MOST_DIGITS = 21


def parse_document(text: str) -> dict[str, Any]:
    """The object that a JSON document is."""
    try:
        document = json.loads(text, parse_constant=_refuse_constant, parse_int=_whole, object_pairs_hook=_unique)
        json.dumps(document, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError("values are nested too deep") from error
    except UnicodeEncodeError as error:
        raise ValueError("it holds half of a pair of characters, which is no text") from error
    if not isinstance(document, dict):
        raise ValueError("it is a single value, and does not list values by name")
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the name {name!r:.80} is there twice")
        found[name] = value
    return found


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"{digits:.20}... is a whole number of {len(digits)} digits")
    return int(digits)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")
