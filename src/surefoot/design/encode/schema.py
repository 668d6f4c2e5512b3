"""What a model knows about the columns of its training table, and how coefficients are named by them.

A schema is everything that encoding a later table needs: names and kinds of the columns in input order, the levels of each
category, the medians that fill gaps, and the policies for values that cannot be encoded. It holds plain Python values only, so
it can be pickled, compared, and written as JSON.

Levels are sorted, and the first one, code 0, is the reference: its coefficient is 0. A missing value that is a level of its own
is written None and always stands last, whatever the other levels are.

Layout of a flat coefficient vector
-----------------------------------
Columns follow each other in input order. A numeric column owns one entry; a category with k levels owns k - 1 entries, those of
its levels 1, ..., k - 1. Solvers instead keep numeric coefficients in one vector and ALL levels, with zeros for the references,
in another; :meth:`Schema.join_coefficients` and :meth:`Schema.split_coefficients` translate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

Kind: TypeAlias = Literal["numeric", "categorical"]
Level: TypeAlias = str | bool | int | float | None
MissingNumeric: TypeAlias = Literal["error", "median"]
MissingCategorical: TypeAlias = Literal["error", "level"]
UnseenCategories: TypeAlias = Literal["error", "reference"]

MISSING_LABEL = "(missing)"


def require_policy(name: str, value: object, allowed: object) -> None:
    """Raise if ``value`` is not one of the literals ``allowed``."""
    choices = get_args(allowed)
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} = {value!r} is not a policy; use one of {', '.join(map(repr, choices))}.")


def column_position(column: Any, names: Sequence[str], named: bool, parameter: str) -> int:
    """Position of a column that a parameter gives by name or, for tables without names, by position."""
    for name in (column, str(column)):
        if name in names:
            return names.index(name)
    if not named and isinstance(column, (int, np.integer)) and 0 <= column < len(names):
        return int(column)
    raise ValueError(f"{parameter} names column {column!r}, but the columns are {', '.join(map(repr, names))}.")


@dataclass(frozen=True)
class ColumnSchema:
    """One column of the training table.

    Attributes
    ----------
    name : str
    kind : {"numeric", "categorical"}
    levels : tuple
        Sorted levels of a category, the reference first and a missing level (None) last; empty for numeric columns.
    median : float or None
        What fills a gap of a numeric column; None if gaps are errors.
    """

    name: str
    kind: Kind
    levels: tuple[Level, ...] = ()
    median: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ValueError(f"column name {self.name!r} is not text.")
        require_policy(f"kind of column {self.name!r}", self.kind, Kind)
        if self.kind == "numeric":
            if self.levels:
                raise ValueError(f"column {self.name!r} is numeric and cannot have levels.")
            if self.median is not None and not (isinstance(self.median, float) and math.isfinite(self.median)):
                raise ValueError(f"column {self.name!r} has median {self.median!r}, which is not a finite number.")
            return
        if self.median is not None:
            raise ValueError(f"column {self.name!r} is categorical and cannot have a median.")
        if not self.levels:
            raise ValueError(f"column {self.name!r} is categorical and needs at least one level.")
        for level in self.levels:
            if type(level) not in (str, bool, int, float, type(None)) or (type(level) is float and not math.isfinite(level)):
                raise ValueError(f"column {self.name!r} has level {level!r}, which is neither text nor a finite number.")
        if len(set(self.levels)) != len(self.levels):
            raise ValueError(f"column {self.name!r} lists a level twice.")
        if None in self.levels[:-1]:
            raise ValueError(f"column {self.name!r} must list its missing level last.")

    @property
    def n_levels(self) -> int:
        return len(self.levels)

    @property
    def level_labels(self) -> tuple[Level, ...]:
        """The levels as shown to people: a missing level reads "(missing)", or "((missing))" if that text is a level too."""
        if None not in self.levels:
            return self.levels
        label = MISSING_LABEL
        while label in self.levels:
            label = f"({label})"
        return (*self.levels[:-1], label)

    @property
    def n_coefficients(self) -> int:
        """Entries of this column in a flat coefficient vector."""
        return 1 if self.kind == "numeric" else len(self.levels) - 1


@dataclass(frozen=True)
class Schema:
    """The columns of a training table in input order, and the policies for values that cannot be encoded.

    Attributes
    ----------
    columns : tuple of ColumnSchema
    named : bool
        Whether the names came with the table. Columns of an array are called "x0", "x1", ... and matched by position.
    missing_numeric : {"error", "median"}
    missing_categorical : {"error", "level"}
    unseen_categories : {"error", "reference"}
        What happens to a level that no training row had.
    """

    columns: tuple[ColumnSchema, ...]
    named: bool = True
    missing_numeric: MissingNumeric = "error"
    missing_categorical: MissingCategorical = "error"
    unseen_categories: UnseenCategories = "error"

    def __post_init__(self) -> None:
        require_policy("missing_numeric", self.missing_numeric, MissingNumeric)
        require_policy("missing_categorical", self.missing_categorical, MissingCategorical)
        require_policy("unseen_categories", self.unseen_categories, UnseenCategories)
        if len(set(self.names)) != len(self.columns):
            raise ValueError("column names must be unique.")
        for column in self.columns:
            if (self.missing_numeric == "median" and column.kind == "numeric") != (column.median is not None):
                raise ValueError(f"the median of column {column.name!r} does not fit missing_numeric={self.missing_numeric!r}.")
            if self.missing_categorical == "error" and None in column.levels:
                raise ValueError(f"column {column.name!r} has a missing level although missing_categorical='error'.")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def numeric_positions(self) -> tuple[int, ...]:
        """Input positions of the numeric columns, in order."""
        return tuple(at for at, column in enumerate(self.columns) if column.kind == "numeric")

    @property
    def categorical_positions(self) -> tuple[int, ...]:
        """Input positions of the categorical columns, in order."""
        return tuple(at for at, column in enumerate(self.columns) if column.kind == "categorical")

    @property
    def numeric_columns(self) -> tuple[ColumnSchema, ...]:
        return tuple(self.columns[at] for at in self.numeric_positions)

    @property
    def categorical_columns(self) -> tuple[ColumnSchema, ...]:
        return tuple(self.columns[at] for at in self.categorical_positions)

    @property
    def n_levels(self) -> NDArray[np.int32]:
        """Number of levels of each categorical column."""
        return np.array([column.n_levels for column in self.categorical_columns], dtype=np.int32)

    @property
    def n_coefficients(self) -> int:
        """Length of a flat coefficient vector; see the module docstring."""
        return sum(column.n_coefficients for column in self.columns)

    def label(self, position: int) -> str:
        """How error messages call the column at an input position."""
        return f"column {self.columns[position].name!r}" if self.named else f"column {position}"

    def coefficient_names(self, *, include_reference: bool = False) -> list[tuple[str, Level]]:
        """(feature, level) of each entry of a flat coefficient vector; numeric columns have level None.

        Parameters
        ----------
        include_reference : bool
            Also list the reference levels, which have no entry because their coefficient is 0.
        """
        pairs: list[tuple[str, Level]] = []
        for column in self.columns:
            if column.kind == "numeric":
                pairs.append((column.name, None))
            else:
                labels = column.level_labels[0 if include_reference else 1 :]
                pairs.extend((column.name, label) for label in labels)
        return pairs

    @property
    def _layout(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Place in the flat vector of each numeric column, and of each level (-1 for references)."""
        starts = np.cumsum([0, *(column.n_coefficients for column in self.columns)])
        numeric = starts[list(self.numeric_positions)].astype(np.intp)
        levels = [np.arange(-1, self.columns[at].n_levels - 1) for at in self.categorical_positions]
        for own, at in zip(levels, self.categorical_positions, strict=True):
            own[1:] = starts[at] + np.arange(own.size - 1)
        return numeric, np.concatenate([np.empty(0, dtype=np.intp), *levels]).astype(np.intp)

    def join_coefficients(self, numeric: ArrayLike, levels: ArrayLike) -> NDArray[np.float64]:
        """Lay numeric and level coefficients out as one flat vector in input-column order.

        Parameters
        ----------
        numeric : array-like of shape (n_numeric,)
        levels : array-like of shape (sum(n_levels),)
            Every level of every categorical column; references must hold 0.

        Returns
        -------
        ndarray of shape (n_coefficients,)
        """
        numeric, levels = np.asarray(numeric, dtype=np.float64), np.asarray(levels, dtype=np.float64)
        numeric_at, level_at = self._layout
        if numeric.shape != numeric_at.shape or levels.shape != level_at.shape:
            raise ValueError(
                f"expected {numeric_at.size} numeric and {level_at.size} level coefficients, "
                f"got shapes {numeric.shape} and {levels.shape}."
            )
        free = level_at >= 0
        if np.any(levels[~free] != 0):
            raise ValueError("the coefficient of a reference level must be 0.")
        flat = np.empty(self.n_coefficients)
        flat[numeric_at] = numeric
        flat[level_at[free]] = levels[free]
        return flat

    def split_coefficients(self, flat: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Undo :meth:`join_coefficients`: the numeric vector, and the level vector with zeros at the references."""
        flat = np.asarray(flat, dtype=np.float64)
        if flat.shape != (self.n_coefficients,):
            raise ValueError(f"expected {self.n_coefficients} coefficients, got shape {flat.shape}.")
        numeric_at, level_at = self._layout
        free = level_at >= 0
        levels = np.zeros(level_at.size)
        levels[free] = flat[level_at[free]]
        return flat[numeric_at], levels

    def to_dict(self) -> dict[str, Any]:
        """The schema as JSON-ready containers; :meth:`from_dict` reads them back."""
        return {
            "columns": [
                {"name": column.name, "kind": column.kind, "levels": list(column.levels), "median": column.median}
                for column in self.columns
            ],
            "named": self.named,
            "missing_numeric": self.missing_numeric,
            "missing_categorical": self.missing_categorical,
            "unseen_categories": self.unseen_categories,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Schema:
        """Read a schema from :meth:`to_dict`; content that is no schema raises ValueError."""
        try:
            columns = tuple(
                ColumnSchema(
                    name=entry["name"],
                    kind=entry["kind"],
                    levels=tuple(entry["levels"]),
                    median=None if entry["median"] is None else float(entry["median"]),
                )
                for entry in content["columns"]
            )
            return cls(
                columns=columns,
                named=bool(content["named"]),
                missing_numeric=content["missing_numeric"],
                missing_categorical=content["missing_categorical"],
                unseen_categories=content["unseen_categories"],
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"this is not a table schema: {error!r}.") from error
