"""Cells of one column of text, some rows of it, read by pyarrow where it is there: counted and parsed a block at a time.

A block is a sequence of texts like any other. What it adds is done in compiled code: its distinct texts, and the numbers
that it holds, if all are written plainly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

_DIGITS = b"0123456789.+-eE"


@dataclass(frozen=True)
class CodedLevels(Sequence[Any]):
    """Levels of some rows: each distinct one once, and which one a row holds."""

    values: tuple[Any, ...]
    codes: NDArray[np.int32]

    def __len__(self) -> int:
        return int(self.codes.size)

    @overload
    def __getitem__(self, at: int) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> CodedLevels: ...
    def __getitem__(self, at: int | slice) -> Any:
        return CodedLevels(self.values, self.codes[at]) if isinstance(at, slice) else self.values[self.codes[at]]

    def __iter__(self) -> Iterator[Any]:
        return map(self.values.__getitem__, self.codes.tolist())


class TextBlock(Sequence[str]):
    """A block of texts.

    Parameters
    ----------
    array : pyarrow.StringArray
        Without nulls.
    """

    def __init__(self, array: Any) -> None:
        self._array = array

    def __len__(self) -> int:
        return len(self._array)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> Any:
        return self._texts[at]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    @cached_property
    def _texts(self) -> list[str]:
        texts: list[str] = self._array.to_pylist()
        return texts

    @cached_property
    def _coded(self) -> tuple[list[str], NDArray[np.int32]]:
        coded = self._array.dictionary_encode()
        return coded.dictionary.to_pylist(), coded.indices.to_numpy(zero_copy_only=False)

    def counts(self) -> dict[str, int]:
        """Rows by text, in the order of their first rows."""
        texts, codes = self._coded
        return dict(zip(texts, np.bincount(codes, minlength=len(texts)).tolist(), strict=True))

    def coded(self, levels: dict[str, Any]) -> CodedLevels:
        """The levels that texts stand for."""
        texts, codes = self._coded
        return CodedLevels(tuple(levels[text] for text in texts), codes)

    def plain_numbers(self, missing: frozenset[str]) -> tuple[NDArray[np.float64], int] | None:
        """The numbers, NaN where a text stands for a gap, and how many have a point; None if not all are written plainly."""
        import pyarrow as pa
        import pyarrow.compute as pc

        array = self._array
        if missing:
            gaps = pc.is_in(array, value_set=pa.array(sorted(missing), pa.string()))
            if gaps.true_count:
                array = pc.if_else(gaps, pa.scalar(None, pa.string()), array)
        # What is left would be read as a number, but not here: nan, inf, blanks around it.
        text = _bytes_of(array.drop_null() if array.null_count else array)
        if text.translate(None, _DIGITS):
            return None
        try:
            numbers = array.cast(pa.float64()).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:
            return None
        return numbers, text.count(b".")


def _bytes_of(array: Any) -> bytes:
    """All texts of an array without nulls, one behind the other."""
    _, offsets, data = array.buffers()
    places = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1]
    return bytes(memoryview(data)[int(places[0]) : int(places[-1])]) if data is not None and places.size else b""
