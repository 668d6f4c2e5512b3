"""Labels: any two values become -1 and +1, the second in sorted order being +1; of several classes, their places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from surefoot.design.encode.schema import Level
from surefoot.design.read.column import Categories, NumberColumn, plain_level, sorted_levels
from surefoot.design.read.table import read_column
from surefoot.exceptions import InvalidTableError


@dataclass(frozen=True)
class BinaryLabels:
    """The labels of all rows.

    Attributes
    ----------
    classes : ndarray of shape (2,)
        The two values in sorted order; text has dtype object unless it came as a NumPy text array.
    signs : ndarray of shape (n_rows,), float64
        -1.0 where the label is ``classes[0]``, +1.0 where it is ``classes[1]``.
    """

    classes: NDArray[Any]
    signs: NDArray[np.float64]


@dataclass(frozen=True)
class ClassLabels:
    """The labels of all rows, of two classes or more.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        As those of :class:`BinaryLabels`.
    codes : ndarray of shape (n_rows,)
        Position of each row's label in ``classes``.
    """

    classes: NDArray[Any]
    codes: NDArray[np.intp]


def encode_labels(y: Any, *, classes: ArrayLike | None = None, first_row: int = 0) -> BinaryLabels:
    """Encode labels as -1 and +1.

    Parameters
    ----------
    y : one-dimensional sequence of two values
        Text, booleans or numbers in an array, a list, or a series of a data frame library.
    classes : array-like of shape (2,), optional
        The classes of a fitted model. Without them, they are the two values found in ``y``; with them, ``y`` may hold just one.
    first_row : int, default=0
        What messages are to call the first row, if these are the labels of a part of a table.

    Raises
    ------
    InvalidTableError
        If labels are missing, infinite, of more or fewer than two values, or not among the given classes.
    """
    column, reading, values = _read(y, first_row)
    if classes is not None:
        known = np.asarray(classes)
        return BinaryLabels(known, _signs(reading, values, known, first_row))
    _require_classes(values)
    _require_two_classes(values)
    found = _sorted_classes(column, values, y)
    return BinaryLabels(found, _signs(reading, values, found, first_row))


def encode_classes(y: Any) -> ClassLabels:
    """Encode labels of two classes or more as places among the classes.

    Raises
    ------
    InvalidTableError
        If labels are missing, infinite, of one value only, or numbers with a fraction.
    """
    column, reading, values = _read(y, 0)
    _require_classes(values)
    found = _sorted_classes(column, values, y)
    places = {level: at for at, level in enumerate(found.tolist())}
    return ClassLabels(found, np.array([places[value] for value in values], dtype=np.intp)[reading.codes])


def _read(y: Any, first_row: int) -> tuple[Any, Categories, list[Level]]:
    """The column of labels, its categories and their values, none of them missing."""
    column = read_column(y, "y", first_row=first_row)
    reading = column.categories()
    if reading.codes.size == 0:
        raise InvalidTableError("Found array with 0 sample(s) (shape=(0,)) while a minimum of 1 is required: y is empty.")
    missing = np.flatnonzero(reading.codes < 0)
    if missing.size:
        raise InvalidTableError(
            f"Input y contains NaN: {missing.size} label(s) are missing, the first in row {first_row + missing[0]}. "
            "Drop those rows."
        )
    values = [plain_level(value, "y") for value in reading.values]
    for value, plain in zip(reading.values, values, strict=True):
        if value != plain:
            # A model that was trained on dates must not predict their text.
            raise InvalidTableError(
                f"Unknown label type: y holds {value!r:.80} of type {type(value).__name__!r}. Use text, booleans or numbers."
            )
    return column, reading, values


def _sorted_classes(column: Any, values: list[Level], y: Any) -> NDArray[Any]:
    levels = sorted_levels(values, "y")
    dtype: Any = object if isinstance(levels[0], str) else None
    if isinstance(column, NumberColumn):
        dtype = column.values.dtype
    elif isinstance(y, np.ndarray) and y.dtype.kind == "U":
        dtype = y.dtype
    return np.array(levels, dtype=dtype)


def _require_classes(values: list[Level]) -> None:
    if len({isinstance(value, str) for value in values}) > 1:
        raise InvalidTableError(
            f"Unknown label type: y mixes text and numbers ({_shown(values)}). Use one type for both classes."
        )
    if len(values) == 1:
        raise InvalidTableError(
            "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
            f"{values[0]!r}. There is nothing to tell apart."
        )
    if len(values) > 2 and any(isinstance(value, float) and not value.is_integer() for value in values):
        raise InvalidTableError(
            f"Unknown label type: continuous. y holds {len(values)} distinct numbers ({_shown(values)}), "
            "but a classifier needs two classes. Compare y with a threshold first."
        )


def _require_two_classes(values: list[Level]) -> None:
    if len(values) > 2:
        raise InvalidTableError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"y holds {len(values)} classes ({_shown(values)})."
        )


def _shown(values: list[Level]) -> str:
    return ", ".join(map(repr, values[:5])) + (", ..." if len(values) > 5 else "")


def _signs(reading: Categories, values: list[Level], classes: NDArray[Any], first_row: int) -> NDArray[np.float64]:
    if classes.shape != (2,):
        raise ValueError(f"classes must hold two values, got shape {classes.shape}.")
    sign = dict(zip(classes.tolist(), (-1.0, 1.0), strict=True))
    translation = np.array([sign.get(value, 0.0) for value in values])
    signs = translation[reading.codes]
    unknown = np.flatnonzero(signs == 0)
    if unknown.size:
        row = int(unknown[0])
        raise InvalidTableError(
            f"y, row {first_row + row}: {values[reading.codes[row]]!r} is not one of the classes that the model knows, "
            f"{classes.tolist()[0]!r} and {classes.tolist()[1]!r}."
        )
    return signs
