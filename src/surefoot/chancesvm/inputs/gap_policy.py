"""Repeats with gaps: refused, or left out as if they had not been measured."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from surefoot.core.arrays import BoolArray
from surefoot.design.encode.level_codes import listing
from surefoot.design.encode.row_groups import read_row_groups
from surefoot.design.read.column import NumberColumn
from surefoot.design.read.table import Table, read_table
from surefoot.exceptions import InvalidTableError
from surefoot.sklearn_api.sample_weight import row_counts

# The part of the warning by which it can be told from others.
LEFT_OUT = "rows have gaps and are left out"


def require_missing(missing: Any) -> str:
    """The name of a known policy."""
    if not (isinstance(missing, str) and missing in ("raise", "drop")):
        raise ValueError(f"missing = {missing!r} must be 'raise' or 'drop' (leave out rows with gaps).")
    return missing


def without_gaps(X: Any, groups: Any, sample_weight: Any, where: str = "") -> tuple[Any, Any]:
    """The table without gaps, and weights that are 0 for the rows that had some; both as they are if none had.

    Such rows keep their places, so that whatever names a row by its number is right.

    Parameters
    ----------
    X, groups, sample_weight
        As for :meth:`ChanceConstrainedSVC.fit`.
    where : str, default=""
        Who warns; nobody if it is empty.

    Raises
    ------
    InvalidTableError
        If nothing is left of a group.
    """
    if scipy.sparse.issparse(X):
        return X, sample_weight
    table = read_table(X)
    numbers = np.array(table.numbers(range(len(table.names))), dtype=np.float64)
    empty = np.isnan(numbers)
    gaps: BoolArray = np.any(empty, axis=1)
    if not gaps.any():
        return X, sample_weight
    weights = np.array(np.broadcast_to(row_counts(sample_weight, table.n_rows), table.n_rows), dtype=np.float64)
    if groups is not None:
        _require_left(groups, weights > 0, gaps)
    weights[gaps] = 0.0
    if where:
        worst = int(np.argmax(empty.sum(axis=0)))
        warnings.warn(
            f"{where}: {int(gaps.sum())} of {table.n_rows} {LEFT_OUT}, as missing='drop' says; most, "
            f"{int(empty[:, worst].sum())}, are in {table.columns[worst].label}. predict takes no gaps: fill them, or "
            "leave such rows out.",
            UserWarning,
            stacklevel=4,
        )
    numbers[empty] = 0.0
    columns = [NumberColumn(column.label, numbers[:, at]) for at, column in enumerate(table.columns)]
    filled: Table = replace(table, columns=columns, array=None if table.array is None else numbers)
    return filled, weights


def _require_left(groups: Any, counting: BoolArray, gaps: BoolArray) -> None:
    named = read_row_groups(groups, gaps.size)
    before, after = (set(named.codes[rows].tolist()) for rows in (counting, counting & ~gaps))
    lost = [named.names[code] for code in sorted(before - after)]
    if lost:
        raise InvalidTableError(
            f"all rows of group {listing(lost)} have gaps, so that missing='drop' leaves nothing of "
            f"{len(lost)} of {len(named.names)} inputs. Fill their gaps, or leave these inputs out."
        )
