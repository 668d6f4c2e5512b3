"""The container of a model file: one JSON document and its arrays, in a zip archive that NumPy can open too.

    model.json     what the model is; arrays are named there
    model.sha256   SHA-256 of model.json, which in turn lists the SHA-256 of every array
    a0.npy, ...    arrays of numbers or text

Reading is for files from strangers. Nothing is compressed, and members do not overlap, so what is read takes no more memory
than the file has bytes. The end of the archive is looked at before its table of contents, and the header of an array before its
numbers are. Digests tell damage; they do not tell who wrote a file.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import struct
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.lib import format as npy

from surefoot.core.arrays import AnyArray
from surefoot.exceptions import ModelFileError

DOCUMENT, SEAL = "model.json", "model.sha256"
# A model with that many arrays, or that long a document, is none of ours: score cards have a dozen, paths a few hundred.
MOST_MEMBERS = 20_000
MOST_DOCUMENT_BYTES = 1 << 26
_END = struct.Struct("<4sHHHHIIH")
_DIRECTORY_ENTRY_BYTES = 200
_MOST_DIMENSIONS = 4
_LONGEST_HEADER = 1_000
# An array without columns has no bytes by which its rows could be judged.
_MOST_ROWS = 1 << 32
# What NumPy writes, and nothing else: its own reader takes the header for a Python expression.
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '(?P<type>[<|][a-zA-Z]\d{1,6})', 'fortran_order': (?P<fortran>True|False), "
    rb"'shape': \((?P<shape>|\d{1,18},|\d{1,18}(?:, \d{1,18})+)\), \} *\n",
    re.DOTALL,
)
# Seconds since the first day that zip archives know: equal models give equal files.
_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_archive(file: IO[bytes], document: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> None:
    """Write a document and its arrays."""
    packed = {name: _packed(array) for name, array in arrays.items()}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in packed.items()}
    text = json.dumps({**document, "arrays": digests}, ensure_ascii=True, allow_nan=False).encode()
    if len(text) > MOST_DOCUMENT_BYTES or len(packed) + 2 > MOST_MEMBERS:
        raise ModelFileError(
            f"the model needs a description of {len(text)} bytes and {len(packed)} arrays; files hold up to "
            f"{MOST_DOCUMENT_BYTES} and {MOST_MEMBERS}."
        )
    members = {DOCUMENT: text, SEAL: hashlib.sha256(text).hexdigest().encode()}
    members |= {f"{name}.npy": content for name, content in packed.items()}
    try:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=False) as archive:
            for name, content in members.items():
                archive.writestr(zipfile.ZipInfo(name, _EPOCH), content)
    except zipfile.LargeZipFile as error:
        raise ModelFileError("the model is larger than 4 GB, which is more than a model file holds.") from error


def read_archive(path: str | os.PathLike[str], max_bytes: int) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """The document and the arrays of a file that may come from anybody.

    Raises
    ------
    ModelFileError
        If the file is broken, or no archive of this kind.
    OSError
        If it cannot be read at all.
    """
    place = Path(path)
    with place.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size > max_bytes:
            raise ModelFileError(
                f"the file has {size} bytes, and up to {max_bytes} are read. If you trust where it comes from, raise max_bytes."
            )
        _require_small_directory(file, size)
        try:
            with zipfile.ZipFile(file) as archive:
                return _read_members(archive, size)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, struct.error, UnicodeError) as error:
            raise ModelFileError(f"the archive is damaged ({error}).") from error


def _require_small_directory(file: IO[bytes], size: int) -> None:
    """Look at the end of the archive before ``zipfile`` makes an object of every entry of its table of contents."""
    file.seek(max(size - _END.size, 0))
    end = file.read(_END.size)
    if len(end) < _END.size or end[:4] != b"PK\5\6":
        raise ModelFileError("it is cut short, or no model file: the end of the archive is missing.")
    _, disk, start_disk, here, entries, directory, start, comment = _END.unpack(end)
    if (disk, start_disk, comment) != (0, 0, 0) or here != entries or start + directory + _END.size != size:
        raise ModelFileError("the end of the archive makes no sense.")
    if entries > MOST_MEMBERS or directory > _DIRECTORY_ENTRY_BYTES * (entries + 1):
        raise ModelFileError(f"the archive lists {entries} members in {directory} bytes, which no model has.")
    file.seek(0)


def _read_members(archive: zipfile.ZipFile, size: int) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    members: dict[str, zipfile.ZipInfo] = {}
    for entry in archive.infolist():
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size or entry.flag_bits & ~0x800:
            raise ModelFileError(f"member {entry.filename!r:.80} is compressed or encrypted, which no model file is.")
        if entry.filename in members:
            raise ModelFileError(f"member {entry.filename!r:.80} is there twice.")
        members[entry.filename] = entry
    if sum(entry.file_size for entry in members.values()) > size:
        raise ModelFileError("the members are larger together than the file: they overlap.")
    if DOCUMENT not in members or SEAL not in members:
        raise ModelFileError(f"it has no member {DOCUMENT!r} with its {SEAL!r}, so it is no model file.")
    if members[DOCUMENT].file_size > MOST_DOCUMENT_BYTES or members[SEAL].file_size != 64:
        raise ModelFileError(f"{DOCUMENT!r} or {SEAL!r} has a size that none has.")
    text = archive.read(DOCUMENT)
    if hashlib.sha256(text).hexdigest().encode() != archive.read(SEAL):
        raise ModelFileError(f"{DOCUMENT!r} does not have the digest that was written with it: the file is damaged.")
    document = _parse(text)
    digests = document.pop("arrays", None)
    if not isinstance(digests, dict) or set(members) != {DOCUMENT, SEAL, *(f"{name}.npy" for name in digests)}:
        raise ModelFileError("the arrays in the file are not those that its document lists.")
    return document, {name: _read_array(archive, name, digest) for name, digest in digests.items()}


def _read_array(archive: zipfile.ZipFile, name: str, digest: Any) -> AnyArray:
    content = archive.read(f"{name}.npy")
    if hashlib.sha256(content).hexdigest() != digest:
        raise ModelFileError(f"array {name!r:.80} does not have the digest that was written with it: the file is damaged.")
    return _unpacked(content, name)


def _packed(array: AnyArray) -> bytes:
    file = io.BytesIO()
    npy.write_array(file, np.asarray(array), version=(1, 0), allow_pickle=False)
    return file.getvalue()


def _unpacked(content: bytes, name: str) -> AnyArray:
    """The array in the bytes of an .npy file; its size is compared with theirs before any memory is asked for."""
    match = _HEADER.match(content, 0, _LONGEST_HEADER)
    # Eight bytes of magic and version, two of length, and that many of header.
    if match is None or match.end() != 10 + int.from_bytes(content[8:10], "little"):
        raise ModelFileError(f"array {name!r:.80} has a broken header.")
    try:
        dtype = np.dtype(match["type"].decode())
    except TypeError as error:
        raise ModelFileError(f"array {name!r:.80} has a broken header ({error!s:.200}).") from error
    if not allowed_type(dtype):
        raise ModelFileError(f"array {name!r:.80} has type {dtype!s:.80}, which no array of a model has.")
    shape = tuple(map(int, match["shape"].replace(b" ", b"").strip(b",").split(b","))) if match["shape"] else ()
    count = math.prod(shape)
    absurd = len(shape) > _MOST_DIMENSIONS or max(shape, default=0) > _MOST_ROWS
    if absurd or count * dtype.itemsize != len(content) - match.end():
        raise ModelFileError(f"array {name!r:.80} claims the shape {shape!s:.80}, which does not fit its bytes.")
    order: Literal["F", "C"] = "F" if match["fortran"] == b"True" else "C"
    # Aligned to the numbers, as a view of the bytes of the file would not be.
    flat = np.frombuffer(content, np.uint8, offset=match.end()).copy().view(dtype) if count else np.empty(0, dtype)
    if (dtype.kind == "b" and flat.view(np.uint8).max(initial=0) > 1) or (
        dtype.kind == "U" and flat.view(np.uint32).max(initial=0) > sys.maxunicode
    ):
        raise ModelFileError(f"array {name!r:.80} holds values that its type {dtype} does not have.")
    return flat.reshape(shape, order=order)


def allowed_type(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of that type go into files: truth values, numbers of up to 64 bits, and text."""
    if dtype.kind == "U":
        return dtype.itemsize > 0 and dtype.byteorder in "<="
    return dtype.kind in "biuf" and dtype.itemsize in (1, 2, 4, 8) and dtype.byteorder in "<=|" and dtype.subdtype is None


def _parse(text: bytes) -> dict[str, Any]:
    try:
        document = json.loads(text.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{DOCUMENT!r} is not the JSON of a model ({error!s:.200}).") from error
    if not isinstance(document, dict):
        raise ModelFileError(f"{DOCUMENT!r} is not the JSON of a model.")
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is there twice")
    return found


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")
