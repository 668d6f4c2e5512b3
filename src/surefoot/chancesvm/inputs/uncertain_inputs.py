"""Uncertain inputs: batches of samples, one label and one tolerated violation each, in the order a problem wants them."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.core.arrays import FloatArray
from surefoot.design.encode.level_codes import listing
from surefoot.design.encode.row_groups import RowGroups
from surefoot.design.encode.schema import Level
from surefoot.exceptions import InvalidTableError

# One number for all inputs, or one for each by name.
Violation: TypeAlias = float | dict[Level, float]


@dataclass(frozen=True, eq=False)
class UncertainInputs:
    """The inputs behind the rows of a table.

    Attributes
    ----------
    names : tuple
        Of the inputs.
    labels : ndarray of shape (n_inputs,)
        -1.0 and +1.0.
    order : ndarray of shape (n_rows,)
        Row numbers, those of one input together.
    starts : ndarray of shape (n_inputs + 1,)
        Input i has the rows from order[starts[i]] to order[starts[i + 1] - 1].
    weights : ndarray of shape (n_rows,)
        Of the rows in this order, summing to 1 within an input.
    equal_weights : bool
        Whether the rows of an input weigh the same, in every input.
    """

    names: tuple[Level, ...]
    labels: FloatArray
    order: NDArray[np.intp]
    starts: NDArray[np.int64]
    weights: FloatArray
    equal_weights: bool

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.starts)


def gather_inputs(groups: RowGroups, labels: FloatArray, classes: NDArray[Any], weights: FloatArray) -> UncertainInputs:
    """Put the rows of each group together.

    Parameters
    ----------
    groups : RowGroups
    labels, weights : ndarray of shape (n_rows,)
        -1.0 and +1.0; positive.
    classes : ndarray of shape (2,)
        For messages.
    """
    of_group = groups.labels(labels, classes)
    order = np.argsort(groups.codes, kind="stable")
    sizes = np.bincount(groups.codes, minlength=len(groups.names))
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    own = weights[order] / np.repeat(np.maximum.reduceat(weights[order], starts[:-1]), sizes)
    normalised = own / np.repeat(np.add.reduceat(own, starts[:-1]), sizes)
    return UncertainInputs(groups.names, of_group, order, starts, normalised, bool(np.all(own == 1.0)))


def read_violation(violation: Any, names: Sequence[Level] | None) -> Violation:
    """What a user said about violations: one number, or one per group by name.

    Parameters
    ----------
    violation : float, array-like of shape (n_groups,), or mapping from group to float
        An array is in the sorted order of the groups. A mapping may name groups that are not there.
    names : sequence or None
        The groups; None if nobody named any.
    """
    if isinstance(violation, numbers.Real) and not isinstance(violation, bool):
        return _probability(violation, "")
    if isinstance(violation, (str, bytes, bool)) or violation is None:
        raise ValueError(f"violation = {violation!r} must be a number above 0 and below 1, or one for each group.")
    if names is None:
        raise ValueError("violation differs by group, but no groups were given. Pass groups to fit, or one number.")
    if isinstance(violation, Mapping):
        missing = [name for name in names if name not in violation]
        if missing:
            raise ValueError(f"violation names no value for group {listing(missing)}. Name one for every group.")
        return {name: _probability(violation[name], f" of group {name!r}") for name in names}
    values = np.asarray(violation)
    if values.shape != (len(names),):
        raise ValueError(
            f"violation has shape {values.shape}, but there are {len(names)} groups. Give one number per group, in their "
            f"sorted order: {listing(names)}."
        )
    return {name: _probability(value, f" of group {name!r}") for name, value in zip(names, values.tolist(), strict=True)}


def violation_of(violation: Violation, names: Sequence[Level]) -> FloatArray:
    """The violation of each of these inputs."""
    if isinstance(violation, dict):
        return np.array([violation[name] for name in names])
    return np.full(len(names), violation)


def require_enough_samples(inputs: UncertainInputs, least: int, confidence: float) -> None:
    """Raise if an input has fewer samples than a confidence bound needs."""
    short = np.flatnonzero(inputs.sizes < least)
    if short.size:
        raise InvalidTableError(
            f"confidence = {confidence:g} needs at least {least} rows in every group, but group {inputs.names[short[0]]!r} has "
            f"{inputs.sizes[short[0]]}. Collect more samples, or ask for less confidence."
        )


def _probability(value: Any, where: str) -> float:
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not 0 < float(value) < 1:
        near = " For hardly any robustness use a number close to 1." if value == 1 else ""
        raise ValueError(f"violation{where} = {value!r} must be above 0 and below 1: the probability that may be missed.{near}")
    number = float(value)
    # Below this the ellipsoid's size sqrt((1 - eps) / eps) overflows its own square.
    if not math.isfinite((1 - number) / number):
        raise ValueError(f"violation{where} = {value!r} is too small to be told from 0.")
    return number
