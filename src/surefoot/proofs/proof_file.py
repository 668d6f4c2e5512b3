"""Proof files: a problem, an answer and what proves it best, for those who check them without the program that found them.

A proof file is an archive as ``numpy.savez_compressed`` writes it. Its member ``proof`` is a text, a JSON document:

    {"format": "surefoot proof", "version": 1,
     "kind": "robust",                              which certificate judges
     "problem_digest": "...", "model_digest": "...",  what the certificate is to find; "" where nothing is known
     "arguments": {"problem": ..., ...}}            what the certificate of that kind takes, by name

A value of ``arguments`` is null, true, false, a number, a text, or one of

    {"number": "inf"}                                       inf, -inf or nan
    {"array": "a0"}                                         the member a0 of the archive
    {"list": [...]}                                         a sequence
    {"record": "ShiftPlan", "fields": {"row": ..., ...}}    a record with named fields
    {"sparse": [rows, columns], "fields": {"data": ..., "indices": ..., "indptr": ...}}     a matrix in compressed rows

and nothing else: names that a record or the document does not have, or has twice, are refused. Reading makes records of plain
fields and no methods: nothing in a file is executed.
"""

from __future__ import annotations

import dataclasses
import io
import json
import keyword
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.core.arrays import AnyArray
from surefoot.exceptions import CertificateError
from surefoot.proofs.compressed_rows import CompressedRows
from surefoot.proofs.packed_array import unpacked_array
from surefoot.proofs.plain_document import parse_document
from surefoot.proofs.proof_archive import MOST_BYTES, read_members

FORMAT, VERSION = "surefoot proof", 1
# How the certificates of all families call what they judge, and what proves it best.
ANSWERS = ("coefficients", "card", "plane", "theta", "cost")
WITNESSES = ("plan", "proof", "tangent", "mix")
# Fields of records, in whatever family, that are true or false and not merely something that counts as such.
TRUTH_VALUES = frozenset({"fit_intercept", "clamp", "hard", "inside", "integral", "complete"})
_NAMES = {"format", "version", "kind", "problem_digest", "model_digest", "arguments"}
_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_DEEPEST = 60
# Records that differ in name or fields: a class is made for each, and no proof has more than a few dozen.
_MOST_KINDS = 200
# What a character of the document takes at most once it has become values.
_BYTES_PER_CHARACTER = 32


@dataclass(frozen=True)
class Proof:
    """What a proof file holds; see the module docstring."""

    kind: str
    arguments: Mapping[str, Any]
    problem_digest: str = ""
    model_digest: str = ""

    def answered(self, **fields: Any) -> Proof:
        """The same problem and witness with another answer: one of another program, or of your own.

        Parameters
        ----------
        **fields
            What differs: ``intercept``, ``numeric``, ``levels`` and ``price`` of coefficients, ``points``, ``intercept`` and
            ``multiplier`` of a card, ``coefficients`` and ``intercept`` of a plane, ``theta`` of a cost.
        """
        name = next(name for name in ANSWERS if name in self.arguments)
        given = self.arguments[name]
        known = {"theta": given} if isinstance(given, np.ndarray) else {key: getattr(given, key) for key in _field_names(given)}
        strange = set(fields) - set(known)
        if strange or not fields:
            raise CertificateError(f"an answer of the kind {self.kind!r:.80} has the fields {', '.join(known)}, not {strange}.")
        fresh = {key: _like(known[key], value, key) for key, value in fields.items()}
        answer = fresh["theta"] if isinstance(given, np.ndarray) else dataclasses.replace(given, **fresh)
        return Proof(self.kind, {**self.arguments, name: answer}, self.problem_digest)

    def without_witness(self) -> Proof:
        """The same problem and answer alone: whatever bound needs no witness is left."""
        return Proof(self.kind, {**self.arguments, **{name: None for name in WITNESSES if name in self.arguments}})


def write_proof(path: str | os.PathLike[str], proof: Proof, *, overwrite: bool = True) -> None:
    """Write a proof file; whatever goes wrong leaves what was there before.

    Raises
    ------
    CertificateError
        If an argument is, or holds, a function or anything else that is no data.
    OSError
        If it cannot be written.
    """
    from surefoot.core.new_file import new_file  # the program that reads does without

    arrays: dict[str, AnyArray] = {}
    document = {
        "format": FORMAT,
        "version": VERSION,
        "kind": proof.kind,
        "problem_digest": proof.problem_digest,
        "model_digest": proof.model_digest,
        "arguments": {name: _written(value, name, arrays) for name, value in proof.arguments.items()},
    }
    packed = io.BytesIO()
    np.savez_compressed(packed, proof=np.array(json.dumps(document, allow_nan=False)), **arrays)  # type: ignore[arg-type]
    with new_file(Path(path), overwrite=overwrite, text=False) as file:
        file.write(packed.getvalue())


def read_proof_file(path: str | os.PathLike[str], *, max_bytes: int = MOST_BYTES) -> Proof:
    """Read a proof file, which may come from a stranger.

    Parameters
    ----------
    path : path
    max_bytes : int, default=2**30
        Files that are larger than this when unpacked are refused.

    Raises
    ------
    CertificateError
        If it is none.
    OSError
        If it cannot be read.
    """
    try:
        return _Reader(read_members(path, max_bytes), max_bytes).proof()
    except (ValueError, RecursionError) as error:
        raise CertificateError(f"{os.fspath(path)!r} is no proof file: {error!s:.400}") from error
    except MemoryError as error:
        raise CertificateError(f"{os.fspath(path)!r} does not fit into the memory of this machine.") from error


class _Reader:
    """Values from the members of a file; each array and each kind of record is made once."""

    def __init__(self, members: Mapping[str, bytes], max_bytes: int) -> None:
        self._members, self._max_bytes = members, max_bytes
        self._arrays: dict[str, AnyArray] = {}
        self._kinds: dict[tuple[str, ...], Any] = {}

    def proof(self) -> Proof:
        text = self._array("proof")
        if text.dtype.kind != "U" or text.shape != () or text.dtype.itemsize // 4 * _BYTES_PER_CHARACTER > self._max_bytes:
            raise ValueError("its member 'proof' is no text, or one that is longer than the limit on its size allows.")
        document = parse_document(str(text[()]))
        found, version = document.get("format"), document.get("version")
        if found != FORMAT or type(version) is not int or version != VERSION:
            raise ValueError(f"its format is {found!r:.40}, version {version!r:.40}; this program reads {FORMAT!r} {VERSION}.")
        _require_names(document, _NAMES, _NAMES - {"problem_digest", "model_digest"}, "the document")
        kind, *marks = (document.get(name, "") for name in ("kind", "problem_digest", "model_digest"))
        if not all(isinstance(text, str) for text in (kind, *marks)):
            raise ValueError("its kind and its digests are no texts.")
        return Proof(kind, self._named(document["arguments"], 0), *marks)

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
        if name not in self._arrays:
            self._arrays[name] = unpacked_array(self._members[name], name)
        return self._arrays[name]

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


def _require_names(content: Mapping[str, Any], known: set[str], needed: set[str], what: str) -> None:
    wrong = sorted((set(content) - known) | (needed - set(content)))
    if wrong:
        raise ValueError(f"{what} must not have, or lacks, {wrong[0]!r:.80}.")


def _sparse(shape: Any, fields: dict[str, Any]) -> CompressedRows:
    parts: Any = tuple(fields.get(name) for name in ("data", "indices", "indptr"))
    sides = isinstance(shape, list) and len(shape) == 2 and all(type(length) is int for length in shape)
    if not sides or len(fields) != 3 or not all(isinstance(part, np.ndarray) and part.ndim == 1 for part in parts):
        raise ValueError("a sparse matrix has two lengths and the arrays data, indices and indptr.")
    if not all(part.dtype.kind in "iu" for part in parts[1:]):
        raise ValueError("indices and indptr of a sparse matrix are whole numbers.")
    return CompressedRows(parts, shape=tuple(shape))


def _field_names(record: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(record)]


def _like(known: Any, value: Any, name: str) -> Any:
    """The value as the answer in the file has it: of the same shape, and whole where that is whole."""
    array, form = np.asarray(value), np.asarray(known)
    if array.dtype.kind not in "biuf" or array.shape != form.shape:
        raise CertificateError(f"{name} is {value!r:.80}; numbers of shape {form.shape} belong here.")
    if form.dtype.kind in "iu":
        wrong = array[~((np.abs(array) < 2**31) & (array == np.round(array)))]
        if wrong.size:
            raise CertificateError(
                f"{name} holds {wrong.flat[0]}, which is not a whole number below 2**31, as all of it must be."
            )
    changed = array.astype(form.dtype)
    return changed if isinstance(known, np.ndarray) else changed.item()


def _written(value: Any, place: str, arrays: dict[str, AnyArray]) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Enum):
        return _written(value.value, place, arrays)
    if isinstance(value, np.generic):
        return _written(value.item(), place, arrays)
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"number": repr(value)}
    if isinstance(value, np.ndarray):
        return {"array": _stored(value, place, arrays)}
    if isinstance(value, list | tuple):
        return {"list": [_written(item, f"{place}[{at}]", arrays) for at, item in enumerate(value)]}
    if all(hasattr(value, name) for name in ("data", "indices", "indptr", "shape")):
        fields = {name: {"array": _stored(getattr(value, name), place, arrays)} for name in ("data", "indices", "indptr")}
        return {"sparse": [int(length) for length in value.shape], "fields": fields}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        own = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        fields = {name: _written(part, f"{place}.{name}", arrays) for name, part in own.items()}
        return {"record": type(value).__name__, "fields": fields}
    raise CertificateError(
        f"{place} is {value!r:.80}, which a proof file cannot hold: it has data and no code. Problems with functions of your "
        "own program (kernels, features, forward solvers) can be verified by that program only."
    )


def _stored(array: AnyArray, place: str, arrays: dict[str, AnyArray]) -> str:
    if array.dtype.kind not in "biuf":
        raise CertificateError(f"{place} is an array of type {array.dtype}, which a proof file does not hold.")
    known = next((name for name, other in arrays.items() if other is array), None)
    if known is None:
        known = f"a{len(arrays)}"
        arrays[known] = array
    return known
