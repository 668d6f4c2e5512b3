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
import json
import os
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from surefoot.core.arrays import AnyArray
from surefoot.exceptions import ModelFileError
from surefoot.proofs.packed_array import packed_array, unpacked_array
from surefoot.proofs.plain_document import parse_document

DOCUMENT, SEAL = "model.json", "model.sha256"
# A model with that many arrays, or that long a document, is none of ours: score cards have a dozen, paths a few hundred.
MOST_MEMBERS = 20_000
MOST_DOCUMENT_BYTES = 1 << 26
_END = struct.Struct("<4sHHHHIIH")
_DIRECTORY_ENTRY_BYTES = 200
# Seconds since the first day that zip archives know: equal models give equal files.
_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_archive(file: IO[bytes], document: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> None:
    """Write a document and its arrays."""
    packed = {name: packed_array(array) for name, array in arrays.items()}
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
    try:
        return unpacked_array(content, name)
    except ValueError as error:
        raise ModelFileError(str(error)) from error


def _parse(text: bytes) -> dict[str, Any]:
    try:
        return parse_document(text.decode("utf-8"))
    except ValueError as error:
        raise ModelFileError(f"{DOCUMENT!r} is not the JSON of a model ({error!s:.200}).") from error
