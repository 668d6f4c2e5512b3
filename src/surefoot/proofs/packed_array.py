"""Arrays as the bytes of an .npy file, read without NumPy's own reader, which takes a header for a Python expression.

Reading is for files from strangers: the size that a header claims is compared with the bytes behind it before any memory is
asked for. Whatever is wrong is a ``ValueError`` with a sentence.
"""

from __future__ import annotations

import io
import math
import re
import sys
from typing import IO, Any, Literal

import numpy as np
from numpy.lib import format as npy

from surefoot.core.arrays import AnyArray

_MOST_DIMENSIONS = 4
_LONGEST_HEADER = 1_000
# Bytes that are read at a time.
_PIECE = 1 << 20
# An array without columns has no bytes by which its rows could be judged.
_MOST_ROWS = 1 << 32
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '(?P<type>[<|][a-zA-Z]\d{1,9})', 'fortran_order': (?P<fortran>True|False), "
    rb"'shape': \((?P<shape>|\d{1,18},|\d{1,18}(?:, ?\d{1,18})+)\), \} *\n",
    re.DOTALL,
)


def packed_array(array: AnyArray) -> bytes:
    """The bytes of an .npy file."""
    file = io.BytesIO()
    npy.write_array(file, np.asarray(array), version=(1, 0), allow_pickle=False)
    return file.getvalue()


def unpacked_array(content: bytes, name: str) -> AnyArray:
    """The array in the bytes of an .npy file."""
    return read_array(io.BytesIO(content), len(content), name)


def read_array(file: IO[bytes], size: int, name: str, most_text: float = math.inf) -> AnyArray:
    """The array of an .npy file of so many bytes; memory is asked for once, after the header has been read.

    Parameters
    ----------
    file : binary file
    size : int
        All bytes, with the header.
    name : str
        How messages call it.
    most_text : float
        Texts of more bytes are refused.
    """
    start = file.read(10)
    # Eight bytes of magic and version, two of length, and that many of header.
    length = int.from_bytes(start[8:], "little")
    content = start + file.read(min(length, _LONGEST_HEADER))
    match = _HEADER.fullmatch(content) if len(content) == 10 + length <= size else None
    if match is None:
        raise ValueError(f"array {name!r:.80} has a broken header, or one that NumPy does not write.")
    try:
        dtype = np.dtype(match["type"].decode())
    except TypeError as error:
        raise ValueError(f"array {name!r:.80} has a broken header ({error!s:.200}).") from error
    if not allowed_type(dtype):
        raise ValueError(f"array {name!r:.80} has type {dtype!s:.80}, which no array of a file has.")
    shape = tuple(int(length) for length in match["shape"].split(b",") if length)
    count = math.prod(shape)
    absurd = len(shape) > _MOST_DIMENSIONS or max(shape, default=0) > _MOST_ROWS
    if absurd or count * dtype.itemsize != size - len(content):
        raise ValueError(f"array {name!r:.80} claims the shape {shape!s:.80}, which does not fit its bytes.")
    if dtype.kind == "U" and count * dtype.itemsize > most_text:
        raise ValueError(f"array {name!r:.80} is a text, and longer than the limit on the size of the file allows.")
    order: Literal["F", "C"] = "F" if match["fortran"] == b"True" else "C"
    flat = np.empty(count, dtype)
    _fill(flat.view(np.uint8) if count else np.empty(0, np.uint8), file, name)
    if (dtype.kind == "b" and flat.view(np.uint8).max(initial=0) > 1) or (dtype.kind == "U" and not _is_text(flat)):
        raise ValueError(f"array {name!r:.80} holds values that its type {dtype} does not have.")
    return flat.reshape(shape, order=order)


def _fill(room: AnyArray, file: IO[bytes], name: str) -> None:
    """Read as many bytes as there is room for, and no more; the end of the file is read too, which has checksums compared."""
    at = 0
    while at < room.size:
        piece = file.read(min(room.size - at, _PIECE))
        if not piece:
            raise ValueError(f"array {name!r:.80} is shorter than it claims.")
        room[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
        at += len(piece)
    file.read(1)


def allowed_type(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of that type go into files: truth values, numbers of up to 64 bits, and text."""
    if dtype.kind == "U":
        return dtype.itemsize > 0 and dtype.byteorder in "<="
    return dtype.kind in "biuf" and dtype.itemsize in (1, 2, 4, 8) and dtype.byteorder in "<=|" and dtype.subdtype is None


def _is_text(flat: AnyArray) -> bool:
    """Whether all characters are some that can be written: halves of pairs cannot."""
    codes = flat.view(np.uint32)
    return bool(np.all((codes <= sys.maxunicode) & ((codes < 0xD800) | (codes > 0xDFFF))))
