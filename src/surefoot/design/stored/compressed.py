"""The bytes of a file, whether or not it is compressed. What a file is, its first bytes say and not its name."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from surefoot.exceptions import InvalidTableError

_MARKS = ((b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"), (b"\xfd7zXZ\x00", "xz"), (b"PK\x03\x04", "zip"))
# Marks of what is a file of another kind, or of a compression that Python does not know, and what to do.
_FOREIGN = (
    (b"\x28\xb5\x2f\xfd", "is compressed with zstandard: unpack it first, with 'unzstd'"),
    (b"7z\xbc\xaf\x27\x1c", "is a 7z archive: unpack it first"),
    (b"Rar!", "is a rar archive: unpack it first"),
    (b"\x04\x22\x4d\x18", "is compressed with lz4: unpack it first, with 'unlz4'"),
    (b"\x89HDF", "is an HDF5 file: save the table as CSV or Parquet"),
    (b"SQLite format 3", "is a database: export the table as CSV"),
    (b"%PDF", "is a PDF document: a table has to come as CSV, Parquet or a workbook"),
    (b"$FL2", "is an SPSS file: save the table as CSV or Parquet"),
    (b"RDX", "is an R file: save the table as CSV or Parquet"),
    (b"\xd0\xcf\x11\xe0", "is a workbook of the old kind (.xls): save it as .xlsx or as CSV"),
)


def first_bytes(path: Path, count: int = 16) -> bytes:
    """How a file begins, as it lies there."""
    with path.open("rb") as file:
        return file.read(count)


def compression_of(path: Path) -> str | None:
    """How a file is compressed, or None."""
    start = first_bytes(path)
    return next((name for mark, name in _MARKS if start.startswith(mark)), None)


def is_workbook(path: Path) -> bool:
    """Whether a file is an Excel workbook: an archive with a certain member."""
    if compression_of(path) != "zip":
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except zipfile.BadZipFile:
        return False


def require_readable(path: Path) -> None:
    """Raise for files of which the first bytes say that they are none of those that are read here."""
    start = first_bytes(path)
    for mark, what in _FOREIGN:
        if start.startswith(mark):
            raise InvalidTableError(f"{path} {what}.")


@contextmanager
def stored_bytes(path: Path) -> Iterator[IO[bytes]]:
    """The content of a file, unpacked.

    Raises
    ------
    InvalidTableError
        If it cannot be unpacked; an archive of several files is one that cannot.
    """
    packed = compression_of(path)
    opened: Any
    try:
        if packed == "zip":
            with zipfile.ZipFile(path) as archive, archive.open(_only_member(path, archive)) as opened:
                yield opened
            return
        if packed is None:
            opened = path.open("rb")
        else:
            unpack: dict[str, Any] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
            opened = unpack[packed](path, "rb")
        with opened:
            yield opened
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile, NotImplementedError) as error:
        raise _damaged(path, packed, error) from error
    except RuntimeError as error:
        if "encrypted" not in str(error):
            raise
        raise InvalidTableError(f"{path} is locked with a password: unpack it first.") from error
    except OSError as error:
        if packed != "bzip2" or error.errno is not None:  # bz2 has no error of its own
            raise
        raise _damaged(path, packed, error) from error


def _only_member(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    # What macOS writes beside each file is no file of the user.
    members = [one for one in archive.infolist() if not one.is_dir() and not one.filename.startswith("__MACOSX/")]
    if len(members) != 1:
        names = ", ".join(repr(one.filename) for one in members[:5])
        what = f"{len(members)} files ({names}{', ...' if len(members) > 5 else ''})" if members else "no file"
        raise InvalidTableError(f"{path} is an archive of {what}; a table is one file. Unpack it, and name the file.")
    return members[0]


def _damaged(path: Path, packed: str | None, error: Exception) -> InvalidTableError:
    return InvalidTableError(f"{path} looks like a {packed} file but cannot be unpacked: {error}. It may have been cut off.")
