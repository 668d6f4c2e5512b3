"""Arrays as the bytes of an .npy file, read without NumPy's own reader, which takes a header for a Python expression.

Reading is for files from strangers: the size that a header claims is compared with the bytes behind it before any memory is
asked for. Whatever is wrong is a ``ValueError`` with a sentence.
"""

from __future__ import annotations

import io
import math
import re
import sys
from typing import Any, Literal

import numpy as np
from numpy.lib import format as npy

from surefoot.core.arrays import AnyArray

_MOST_DIMENSIONS = 4
_LONGEST_HEADER = 1_000
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
    match = _HEADER.match(content, 0, _LONGEST_HEADER)
    # Eight bytes of magic and version, two of length, and that many of header.
    if match is None or match.end() != 10 + int.from_bytes(content[8:10], "little"):
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
    if absurd or count * dtype.itemsize != len(content) - match.end():
        raise ValueError(f"array {name!r:.80} claims the shape {shape!s:.80}, which does not fit its bytes.")
    order: Literal["F", "C"] = "F" if match["fortran"] == b"True" else "C"
    # Aligned to the numbers, as a view of the bytes of the file would not be.
    flat = np.frombuffer(content, np.uint8, offset=match.end()).copy().view(dtype) if count else np.empty(0, dtype)
    if (dtype.kind == "b" and flat.view(np.uint8).max(initial=0) > 1) or (dtype.kind == "U" and not _is_text(flat)):
        raise ValueError(f"array {name!r:.80} holds values that its type {dtype} does not have.")
    return flat.reshape(shape, order=order)


def allowed_type(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of that type go into files: truth values, numbers of up to 64 bits, and text."""
    if dtype.kind == "U":
        return dtype.itemsize > 0 and dtype.byteorder in "<="
    return dtype.kind in "biuf" and dtype.itemsize in (1, 2, 4, 8) and dtype.byteorder in "<=|" and dtype.subdtype is None


def _is_text(flat: AnyArray) -> bool:
    """Whether all characters are some that can be written: halves of pairs cannot."""
    codes = flat.view(np.uint32)
    return bool(np.all((codes <= sys.maxunicode) & ((codes < 0xD800) | (codes > 0xDFFF))))
