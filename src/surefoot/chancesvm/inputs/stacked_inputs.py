"""Arrays of inputs, repeats and columns as rows with groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot.exceptions import InvalidTableError


def unstacked(X: Any, y: Any, groups: Any, sample_weight: Any) -> tuple[Any, Any, Any, Any]:
    """Rows, their labels, groups and weights, if X has three dimensions; otherwise all as it is.

    Parameters
    ----------
    X : array-like of shape (n_inputs, n_repeats, n_columns)
        Repeats that hold nothing but NaN are no repeats: they fill up inputs that were measured less often. Or a list of 2-d
        arrays, one for each input.
    y : array-like of shape (n_inputs,), or None if there are no labels
    groups : None
        The first index says what belongs together.
    sample_weight : array-like of shape (n_inputs, n_repeats), optional

    Raises
    ------
    InvalidTableError
        If shapes do not fit, or an input has no repeats.
    ValueError
        If there are groups beside.
    """
    if not _is_stacked(X):
        return X, y, groups, sample_weight
    if groups is not None:
        raise ValueError("X of three dimensions has its inputs along the first one: leave groups out, or pass rows.")
    blocks = [_block(block, at) for at, block in enumerate(X)]
    if not blocks:
        raise InvalidTableError("X has no inputs: there is nothing to fit, or to predict.")
    widths = [block.shape[1] for block in blocks]
    if len(set(widths)) > 1:
        at = next(at for at, width in enumerate(widths) if width != widths[0])
        raise InvalidTableError(f"input {at} of X has {widths[at]} columns, and input 0 has {widths[0]}.")
    there = [~np.isnan(block).all(axis=1) for block in blocks]
    empty = [at for at, own in enumerate(there) if not own.any()]
    if empty:
        raise InvalidTableError(f"input {empty[0]} of X has no repeats, or none but NaN. Leave it out, with its label.")
    labels = [None] * len(blocks) if y is None else y.tolist() if isinstance(y, np.ndarray) else list(y)
    if len(labels) != len(blocks):
        raise InvalidTableError(
            "Found input variables with inconsistent numbers of samples: X of three dimensions has "
            f"{len(blocks)} inputs, y has {len(labels)} labels. There is one for each input."
        )
    names = np.repeat(np.arange(len(blocks)), [int(own.sum()) for own in there])
    rows = np.vstack([block[own] for block, own in zip(blocks, there, strict=True)])
    return rows, [labels[name] for name in names.tolist()], names, _weights(sample_weight, there)


def _is_stacked(X: Any) -> bool:
    if isinstance(X, (list, tuple)) and X and hasattr(X[0], "__len__") and not isinstance(X[0], str):
        return getattr(X[0], "ndim", 0) == 2 or (len(X[0]) > 0 and isinstance(X[0], (list, tuple)) and np.ndim(X[0][0]) == 1)
    return getattr(X, "ndim", 2) == 3


def _block(block: Any, at: int) -> Any:
    try:
        found = np.asarray(block, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidTableError(f"input {at} of X is no table of numbers: {error}") from error
    if found.ndim != 2 or found.shape[1] == 0:
        raise InvalidTableError(f"input {at} of X has shape {found.shape}, and not one of repeats and columns.")
    return found


def _weights(sample_weight: Any, there: list[Any]) -> Any:
    if sample_weight is None:
        return None
    parts = [np.asarray(own, dtype=np.float64) for own in sample_weight]
    if len(parts) != len(there) or any(part.shape != own.shape for part, own in zip(parts, there, strict=False)):
        raise InvalidTableError(
            "sample_weight needs a weight for each repeat of each input, as X of three dimensions has them: "
            f"{len(there)} inputs, {there[0].size} repeats of the first."
        )
    return np.concatenate([part[own] for part, own in zip(parts, there, strict=True)])
