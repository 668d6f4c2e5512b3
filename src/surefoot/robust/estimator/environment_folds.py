"""Who is held out when: folds of rows, and the environments (sites, periods, batches) whose losses are compared.

A new environment is like none of the rows that a model has seen, so one that is left out whole stands in for it. Losses are
kept environment by environment, not fold by fold: the worst of them, or a quarter, can then decide, and each counts once
however many rows it has.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from surefoot.design.encode.labels import encode_labels
from surefoot.design.encode.row_groups import RowGroups, read_row_groups
from surefoot.design.encode.schema import Level
from surefoot.exceptions import BelowChanceWarning, InvalidTableError
from surefoot.sklearn_api.left_out_groups import left_out_whole
from surefoot.sklearn_api.training_rows import TrainingRows


@dataclass(frozen=True)
class Fold:
    """Rows to fit and rows to score, as places among the training rows.

    Attributes
    ----------
    train, test : ndarray
    owners : ndarray
        For each held-out row the number of its score: that of its environment, or of the fold itself.
    """

    train: NDArray[np.intp]
    test: NDArray[np.intp]
    owners: NDArray[np.intp]


@dataclass(frozen=True)
class EnvironmentFolds:
    """All folds.

    Attributes
    ----------
    folds : tuple of Fold
    environments : tuple
        Names of the environments that are held out at least once; empty where nobody named any, and folds are scored.
    """

    folds: tuple[Fold, ...]
    environments: tuple[Level, ...]

    def __len__(self) -> int:
        return len(self.folds)

    def __iter__(self) -> Iterator[Fold]:
        return iter(self.folds)

    @property
    def n_scores(self) -> int:
        return len(self.environments) or len(self.folds)

    def called(self, owner: int) -> str:
        """How messages call a score."""
        return f"environment {self.environments[owner]!r}" if self.environments else f"fold {owner + 1}"

    def training_rows(self, rows: TrainingRows, at: int) -> TrainingRows:
        """The rows that a fold fits."""
        try:
            return rows.take(self.folds[at].train)
        except InvalidTableError as error:
            if not self.environments:
                raise
            held_out = [repr(self.environments[owner]) for owner in np.unique(self.folds[at].owners)]
            raise InvalidTableError(
                f"with environment {', '.join(held_out)} held out, {error} Put environments together, or pass a cv that leaves "
                "rows of both classes."
            ) from error


def environment_folds(cv: Any, rows: TrainingRows, y: Any, groups: Any) -> EnvironmentFolds:
    """The folds that the parameters ask for; rows of weight 0 are in none.

    Parameters
    ----------
    cv : int, splitter, or iterable of (train, test)
        A number means stratified folds. With groups every environment is left out in turn, or, if there are more than
        ``MOST_LEFT_OUT_ALONE``, they are put into that number of folds. A splitter gets the groups too.
    rows : TrainingRows
    y : labels of all rows
    groups : None, or the environment of each row
    """
    signs = encode_labels(y).signs
    place = np.full(signs.size, -1, dtype=np.intp)
    place[rows.positions] = np.arange(rows.positions.size)
    named = None if groups is None else read_row_groups(groups, signs.size).take(rows.positions)
    if named is not None and len(named.names) < 2:
        raise InvalidTableError(
            f"all rows are of one environment, {named.names[0]!r}: there is no other one to hold out. Bring rows of more "
            "environments, or leave groups away for stratified folds of rows (with metadata routing: "
            "set_fit_request(groups=False))."
        )
    if named is not None and (cv is None or (isinstance(cv, numbers.Integral) and not isinstance(cv, bool))):
        splits = left_out_whole(5 if cv is None else int(cv), named)
    else:
        arguments = () if groups is None else (np.asarray(groups),)
        found = check_cv(cv, signs, classifier=True).split(np.zeros((signs.size, 1)), signs, *arguments)
        splits = [
            (_counting(place, train, f"train of fold {at}"), _counting(place, test, f"test of fold {at}"))
            for at, (train, test) in enumerate(found, start=1)
        ]
    if not splits:
        raise ValueError(f"cv = {cv!r} has no folds, so that no row is held out. Give a number of folds, or some.")
    for at, split in enumerate(splits):
        for part, what in zip(split, ("training", "held-out"), strict=True):
            if part.size == 0:
                raise InvalidTableError(f"Fold {at + 1} has no {what} row of positive sample_weight; change cv.")
        both = np.intersect1d(*split)
        if both.size:
            raise InvalidTableError(
                f"Fold {at + 1} holds out rows that it is fitted to, such as row {rows.positions[both[0]]}: their scores would "
                "be too good. Change cv."
            )
    if named is None:
        return EnvironmentFolds(
            tuple(Fold(train, test, np.full(test.size, at)) for at, (train, test) in enumerate(splits)), environments=()
        )
    _warn_of_own_levels(rows, named, splits)
    held_out = np.unique(np.concatenate([named.codes[test] for _, test in splits]))
    number = np.searchsorted(held_out, named.codes)
    names = tuple(named.names[code] for code in held_out)
    return EnvironmentFolds(tuple(Fold(train, test, number[test]) for train, test in splits), names)


def _warn_of_own_levels(rows: TrainingRows, named: RowGroups, splits: Sequence[tuple[Any, Any]]) -> None:
    """Warn of categories none of whose levels occurs in a second environment, and of numbers that name the environment."""
    if any(np.isin(named.codes[test], named.codes[train]).any() for train, test in splits):
        return  # environments are not left out whole
    design, n_names = rows.design, len(named.names)
    found: list[Level] = []
    for at, column in enumerate(design.schema.categorical_columns):
        pairs = np.unique(design.codes[:, at].astype(np.int64) * n_names + named.codes)
        levels = pairs // n_names
        if np.unique(levels).size == levels.size:  # as many levels as environments at least
            found.append(column.name)
    if isinstance(design.numeric, np.ndarray) and all(isinstance(name, numbers.Real) for name in named.names):
        own = np.array(named.names, dtype=np.float64)[named.codes]
        numbered = zip(design.schema.numeric_columns, design.numeric.T, strict=True)
        found += [column.name for column, values in numbered if np.array_equal(values, own)]
    if found:
        columns, says, them = ("columns", "they say", "them") if len(found) > 1 else ("column", "it says", "it")
        warnings.warn(
            f"{columns} {', '.join(map(repr, found))}: no value occurs in more than one environment, as if the column were the "
            f"environment itself. So nothing of what {says} carries over to an environment that is left out, or to a new one. "
            f"Drop {them}.",
            BelowChanceWarning,
            stacklevel=5,
        )


def _counting(place: NDArray[np.intp], part: Any, what: str) -> NDArray[np.intp]:
    """The places of the rows of a part, without those that do not count."""
    try:
        places = place[part]
    except IndexError as error:
        raise ValueError(
            f"cv: {what} names rows that are not there, of {place.size:,}, or is no list of whole numbers or of truth values "
            f"for all rows: {error}."
        ) from error
    found: NDArray[np.intp] = places[places >= 0]
    return found
