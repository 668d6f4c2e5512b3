"""The container of a proof file: arrays in a zip archive, as ``numpy.savez`` and ``numpy.savez_compressed`` write it.

Reading is for files from strangers. All members together may be no larger than a limit when unpacked; what they claim is
added up before the first is unpacked, and each is unpacked piece by piece into the memory of its array, and no more. Whatever
is wrong is a ``ValueError`` with a sentence.
"""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from pathlib import Path

from surefoot.core.arrays import AnyArray
from surefoot.proofs.packed_array import read_array

# All members unpacked, unless the reader says otherwise: rows and proofs of ten million numbers, and ten times as many.
MOST_BYTES = 1 << 30
_SUFFIX = ".npy"
# The only text is the document, and what it says takes about that many times its bytes.
_TEXT_SHARE = 8
_DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError, OverflowError)


def read_members(path: str | os.PathLike[str], max_bytes: int = MOST_BYTES) -> dict[str, AnyArray]:
    """Every array in an archive, by name."""
    if Path(path).exists() and not Path(path).is_file():  # to open a pipe would wait for somebody to write to it
        raise ValueError("it is no ordinary file.")
    with Path(path).open("rb") as file:
        _require_at_most(os.fstat(file.fileno()).st_size, max_bytes)
        try:
            archive = zipfile.ZipFile(file)
        except _DAMAGE as error:
            raise ValueError("it is no archive of arrays, or a damaged one.") from error
        entries = archive.infolist()
        _require_arrays([entry.filename for entry in entries])
        _require_at_most(sum(entry.file_size for entry in entries), max_bytes)
        return {entry.filename.removesuffix(_SUFFIX): _unpacked(archive, entry, max_bytes) for entry in entries}


def _require_arrays(names: list[str]) -> None:
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


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, max_bytes: int) -> AnyArray:
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"its member {entry.filename!r:.80} is packed in a way that NumPy does not use.")
    try:
        member = archive.open(entry)
    except _DAMAGE as error:
        raise ValueError(f"its member {entry.filename!r:.80} is damaged.") from error
    with member:
        try:
            return read_array(member, entry.file_size, entry.filename.removesuffix(_SUFFIX), max_bytes // _TEXT_SHARE)
        except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, OverflowError) as error:
            raise ValueError(f"its member {entry.filename!r:.80} is damaged.") from error


def _require_at_most(size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise ValueError(
            f"it has more than {max_bytes} bytes unpacked, and no more are read. If you trust where it comes from, raise the "
            "limit: --max-bytes, or max_bytes of read_proof_file."
        )
