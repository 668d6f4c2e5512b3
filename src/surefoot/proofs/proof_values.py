"""The values of a proof file from the arrays of its members; the format stands in :mod:`surefoot.proofs.proof_file`.

Whatever is wrong is a ``ValueError`` with a sentence.
"""

from __future__ import annotations

import dataclasses
import keyword
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from surefoot.core.arrays import AnyArray
from surefoot.proofs.compressed_rows import CompressedRows
from surefoot.proofs.plain_document import parse_document

FORMAT, VERSION = "surefoot proof", 1
# Fields of records, in whatever family, that are true or false and not merely something that counts as such.
TRUTH_VALUES = frozenset({"fit_intercept", "clamp", "hard", "inside", "integral", "complete"})
_OPTIONAL = {"problem_digest", "model_digest"}
_NAMES = {"format", "version", "kind", "arguments", *_OPTIONAL}
_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_DEEPEST = 60
# Records that differ in name or fields: a class is made for each, and no proof has more than a few dozen.
_MOST_KINDS = 200
# What a character of the document takes at most once it has become values.
_BYTES_PER_CHARACTER = 32


class ProofValues:
    """What the members of a file say; each kind of record is made once.

    Attributes
    ----------
    kind : str
    digests : tuple of str
        Of the problem and of the model; "" where nothing is known.
    arguments : dict
        What the certificate of that kind takes, by name.
    """

    def __init__(self, members: Mapping[str, AnyArray], max_bytes: int) -> None:
        self._members, self._max_bytes = members, max_bytes
        self._kinds: dict[tuple[str, ...], Any] = {}
        document = self._document()
        self.kind, *digests = (document.get(name, "") for name in ("kind", "problem_digest", "model_digest"))
        self.digests = tuple(digests)
        if not all(isinstance(text, str) for text in (self.kind, *digests)):
            raise ValueError("its kind and its digests are no texts.")
        self.arguments = self._named(document["arguments"], 0)

    def _document(self) -> dict[str, Any]:
        text = self._array("proof")
        if text.dtype.kind != "U" or text.shape != () or text.dtype.itemsize // 4 * _BYTES_PER_CHARACTER > self._max_bytes:
            raise ValueError("its member 'proof' is no text, or one that is longer than the limit on its size allows.")
        document = parse_document(str(text[()]))
        found, version = document.get("format"), document.get("version")
        if found != FORMAT or type(version) is not int or version != VERSION:
            raise ValueError(f"its format is {found!r:.40}, version {version!r:.40}; this program reads {FORMAT!r} {VERSION}.")
        wrong = sorted((set(document) - _NAMES) | (_NAMES - _OPTIONAL - set(document)))
        if wrong:
            raise ValueError(f"the document lacks, or must not have, {wrong[0]!r:.80}.")
        return document

    def _value(self, content: Any, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ValueError("its values are nested too deep.")
        if content is None or isinstance(content, bool | int | float | str):
            return content
        if not isinstance(content, dict):
            raise ValueError(f"{content!r:.80} is no value of a proof file.")
        names = set(content)
        if names == {"number"} and content["number"] in list(_NUMBERS):
            return _NUMBERS[content["number"]]
        if names == {"array"} and isinstance(content["array"], str):
            return self._numbers(content["array"])
        if names == {"list"} and isinstance(content["list"], list):
            return tuple(self._value(item, depth + 1) for item in content["list"])
        if names == {"record", "fields"} and _is_name(content["record"]):
            return self._record(content["record"], self._named(content["fields"], depth + 1))
        if names == {"sparse", "fields"}:
            return _sparse(content["sparse"], self._named(content["fields"], depth + 1))
        raise ValueError(f"{content!r:.80} is no value of a proof file.")

    def _named(self, fields: Any, depth: int) -> dict[str, Any]:
        if not isinstance(fields, dict) or not all(map(_is_name, fields)):
            raise ValueError(f"{fields!r:.80} does not list values by the names of fields.")
        return {name: self._value(value, depth) for name, value in fields.items()}

    def _array(self, name: str) -> AnyArray:
        if name not in self._members:
            raise ValueError(f"it has no member {name!r:.80}.")
        return self._members[name]

    def _numbers(self, name: str) -> AnyArray:
        if self._array(name).dtype.kind == "U":
            raise ValueError(f"array {name!r:.80} holds no numbers.")
        return self._array(name)

    def _record(self, name: str, fields: dict[str, Any]) -> Any:
        wrong = next((field for field in fields if field in TRUTH_VALUES and type(fields[field]) is not bool), None)
        if wrong is not None:
            raise ValueError(f"{wrong} of a {name:.80} is {fields[wrong]!r:.80}, and not true or false.")
        key = (name, *fields)
        if key not in self._kinds:
            if len(self._kinds) == _MOST_KINDS:
                raise ValueError("it has more kinds of records than any proof.")
            # A record can be read and copied with changes, and does nothing; its name tells kinds apart.
            self._kinds[key] = dataclasses.make_dataclass(name, [(field, Any) for field in fields], frozen=True, eq=False)
        return self._kinds[key](**fields)


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and name.isascii() and name.isidentifier() and name[0] != "_" and not keyword.iskeyword(name)


def _sparse(shape: Any, fields: dict[str, Any]) -> CompressedRows:
    parts: Any = tuple(fields.get(name) for name in ("data", "indices", "indptr"))
    sides = isinstance(shape, list) and len(shape) == 2 and all(type(length) is int for length in shape)
    if not sides or len(fields) != 3 or not all(isinstance(part, np.ndarray) and part.ndim == 1 for part in parts):
        raise ValueError("a sparse matrix has two lengths and the arrays data, indices and indptr.")
    if not all(part.dtype.kind in "iu" for part in parts[1:]):
        raise ValueError("indices and indptr of a sparse matrix are whole numbers.")
    return CompressedRows(parts, shape=tuple(shape))
