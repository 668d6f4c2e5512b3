"""The container of a proof file: arrays in a zip archive, as ``numpy.savez`` and ``numpy.savez_compressed`` write it.

Reading is for files from strangers. All members together may be no larger than a limit when unpacked; what they claim is
added up before the first is unpacked, and none gets more memory than it claims. Whatever is wrong is a ``ValueError`` with a
sentence.
"""

from __future__ import annotations

import io
import os
import struct
import zipfile
import zlib
from pathlib import Path

# All members unpacked, unless the reader says otherwise: rows and proofs of ten million numbers, and ten times as many.
MOST_BYTES = 1 << 30
_SUFFIX = ".npy"
_DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError, OverflowError)


def read_members(path: str | os.PathLike[str], max_bytes: int = MOST_BYTES) -> dict[str, bytes]:
    """The bytes of every .npy file in an archive, by name."""
    if Path(path).exists() and not Path(path).is_file():  # to open a pipe would wait for somebody to write to it
        raise ValueError("it is no ordinary file.")
    with Path(path).open("rb") as file:
        about = os.fstat(file.fileno())
        _require_at_most(about.st_size, max_bytes)
        content = file.read(about.st_size)
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except _DAMAGE as error:
        raise ValueError("it is no archive of arrays, or a damaged one.") from error
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    if "model.json" in names:
        raise ValueError(
            "it is a model file. To check it with its training rows: surefoot verify MODEL TABLE --target NAME. To make a "
            "proof file of it: surefoot.export_proof."
        )
    seen: set[str] = set()
    for name in names:
        if not name.endswith(_SUFFIX) or name in seen:
            raise ValueError(f"its member {name!r:.80} is {'there twice' if name in seen else 'no array'}.")
        seen.add(name)
    _require_at_most(sum(entry.file_size for entry in entries), max_bytes)
    return {entry.filename.removesuffix(_SUFFIX): _unpacked(archive, entry) for entry in entries}


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"its member {entry.filename!r:.80} is packed in a way that NumPy does not use.")
    try:
        with archive.open(entry) as member:
            content = member.read(entry.file_size)  # no more than that is unpacked; the last byte has the checksum compared
    except _DAMAGE as error:
        raise ValueError(f"its member {entry.filename!r:.80} is damaged.") from error
    if len(content) != entry.file_size:
        raise ValueError(f"its member {entry.filename!r:.80} is shorter than it claims.")
    return content


def _require_at_most(size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise ValueError(
            f"it has more than {max_bytes} bytes unpacked, and no more are read. If you trust where it comes from, raise the "
            "limit: --max-bytes, or max_bytes of read_proof_file."
        )
