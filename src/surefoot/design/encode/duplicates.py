"""Equal rows collapse into one row with the sum of their weights.

    sum_i w_i f(row_i)  =  sum_g W_g f(row_g),   W_g = sum of w_i over the rows i equal to row g

Tables of categories repeat themselves a lot, and every solver pays per row. Rows are compared by a 64-bit hash first; equal
hashes are then verified value by value, so the answer is exact whatever the hash does. Distinct hashes end the search early:
rows that a numeric column makes unique cost one hash and one sort.

Of a sparse row only the entries are hashed, each with its column, and added up; to compare two sparse rows is to compare their
lists of columns and values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

# Odd multipliers with well mixed bits (from the 64-bit finaliser of MurmurHash3, a public-domain constant pair).
_MULTIPLIERS = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))
_SHIFT = np.uint64(32)


@dataclass(frozen=True)
class DuplicateParameters:
    """The search for equal rows; results do not depend on it."""

    # Rows hashed or compared at a time: a block of twenty columns stays in the cache. Not tuned.
    block_rows: int = 8192


PARAMETERS = DuplicateParameters()


class CollapsedRows(NamedTuple):
    """Which rows stay, and where the others went.

    Attributes
    ----------
    representatives : ndarray of shape (n_groups,)
        First row of each group of equal rows, ascending.
    groups : ndarray of shape (n_rows,)
        Group of each row: ``representatives[groups[i]]`` is the first row equal to row i.
    weights : ndarray of shape (n_groups,)
        Sum of the weights of each group.
    """

    representatives: NDArray[np.intp]
    groups: NDArray[np.intp]
    weights: NDArray[np.float64]


def collapse_rows(
    numeric: NDArray[np.float64] | scipy.sparse.csr_array,
    codes: NDArray[np.int32],
    labels: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> CollapsedRows:
    """Find the distinct rows of (numeric, codes, label) and sum the weights of equal ones.

    Parameters
    ----------
    numeric : ndarray or csr_array of shape (n_rows, n_numeric)
        -0.0 and 0.0 are the same value. The columns of each sparse row ascend, and none occurs twice; rows that differ in zeros
        that are written out stay apart.
    codes : ndarray of shape (n_rows, n_categorical)
    labels : ndarray of shape (n_rows,)
    weights : ndarray of shape (n_rows,)

    Returns
    -------
    CollapsedRows
    """
    n_rows = labels.shape[0]
    if numeric.ndim != 2 or codes.ndim != 2 or {numeric.shape[0], len(codes), len(weights)} != {n_rows}:
        raise ValueError("numeric, codes, labels and weights must have the same number of rows.")
    search = _first_equal_sparse_rows if scipy.sparse.issparse(numeric) else _first_equal_rows
    first_equal = search(numeric, codes, labels)
    stays = first_equal == np.arange(n_rows)
    groups = (np.cumsum(stays) - 1)[first_equal]
    representatives = np.flatnonzero(stays)
    # Explicitly as floats, because bincount of no rows at all would count in integers.
    summed = np.bincount(groups, weights=weights, minlength=representatives.size).astype(np.float64, copy=False)
    return CollapsedRows(representatives, groups, summed)


def _bits(numeric: NDArray[np.float64], codes: NDArray[np.int32], labels: NDArray[np.float64]) -> list[NDArray[np.uint64]]:
    """Rows as columns of 64-bit words; equal rows have equal words."""
    # Adding 0.0 turns -0.0 into 0.0 and leaves all other values alone.
    words = [column.view(np.uint64) for column in np.ascontiguousarray(numeric.T) + 0.0]
    words.extend(column.view(np.uint64) for column in np.ascontiguousarray(codes.T, dtype=np.int64))
    words.append((labels + 0.0).view(np.uint64))
    return words


def _hashes(words: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """A 64-bit hash of each row."""
    state = np.full(words[0].size, _MULTIPLIERS[1], dtype=np.uint64)
    for word in words:
        state ^= word
        state *= _MULTIPLIERS[0]
        # Floats of small integers differ in their high bits only, and products carry upwards: bring them down.
        state ^= state >> _SHIFT
        state *= _MULTIPLIERS[1]
    state ^= state >> _SHIFT
    return state


def _first_equal_rows(numeric: NDArray[np.float64], codes: NDArray[np.int32], labels: NDArray[np.float64]) -> NDArray[np.intp]:
    """The first row that equals each row."""
    n_rows = labels.shape[0]
    every = np.arange(n_rows)
    # Rows that differ in one column differ: measurements often do, and most of the work is spared.
    if numeric.shape[1] and np.unique(numeric[:, 0]).size == n_rows:
        return every
    height = PARAMETERS.block_rows
    blocks = [slice(start, start + height) for start in range(0, n_rows, height)]
    hashes = np.empty(n_rows, dtype=np.uint64)
    for block in blocks:
        hashes[block] = _hashes(_bits(numeric[block], codes[block], labels[block]))
    ordered = np.sort(hashes)
    if not np.any(ordered[1:] == ordered[:-1]):
        return every
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    guess = first[inverse].astype(np.intp)
    wrong = np.zeros(n_rows, dtype=bool)
    for block in blocks:
        rows = every[block][guess[block] != every[block]]
        own = _bits(numeric[rows], codes[rows], labels[rows])
        other = _bits(numeric[guess[rows]], codes[guess[rows]], labels[guess[rows]])
        for word, match in zip(own, other, strict=True):
            wrong[rows] |= word != match
    if wrong.any():
        rows = np.flatnonzero(np.isin(guess, guess[wrong]))
        guess[rows] = rows[_first_equal_by_sorting(_bits(numeric[rows], codes[rows], labels[rows]))]
    return guess


def _first_equal_by_sorting(words: list[NDArray[np.uint64]]) -> NDArray[np.intp]:
    """The same without a hash, for the rare rows whose hashes collided."""
    order = np.lexsort(words)  # stable: within a run of equal rows the first row comes first
    starts = np.ones(order.size, dtype=bool)
    starts[1:] = np.any([word[order][1:] != word[order][:-1] for word in words], axis=0)
    first = np.empty(order.size, dtype=np.intp)
    first[order] = order[starts][np.cumsum(starts) - 1]
    return first


def _entry_sums(matrix: Any) -> NDArray[np.uint64]:
    """The hashes of a sparse row's entries, added up modulo 2**64."""
    entries = _hashes([matrix.indices.astype(np.uint64), (matrix.data + 0.0).view(np.uint64)])
    running = np.zeros(entries.size + 1, dtype=np.uint64)
    np.cumsum(entries, out=running[1:])
    # Differences of wrapped sums are right modulo 2**64.
    sums: NDArray[np.uint64] = running[matrix.indptr[1:]] - running[matrix.indptr[:-1]]
    return sums


def _differ(matrix: Any, rows: NDArray[np.intp], others: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether the entries of sparse rows differ from those of the others, pair by pair."""
    counts = np.diff(matrix.indptr)
    differ: NDArray[np.bool_] = counts[rows] != counts[others]
    same = np.flatnonzero(~differ)
    own, other = matrix[rows[same]], matrix[others[same]]
    mismatch = (own.indices != other.indices) | (own.data != other.data)
    differ[same] = np.bincount(np.repeat(np.arange(same.size), np.diff(own.indptr)), weights=mismatch, minlength=same.size) > 0
    return differ


def _first_equal_sparse_rows(matrix: Any, codes: NDArray[np.int32], labels: NDArray[np.float64]) -> NDArray[np.intp]:
    """The first row that equals each row."""
    words = _bits(np.empty((labels.size, 0)), codes, labels)
    hashes = _hashes([_entry_sums(matrix), *words])
    first_equal = np.arange(labels.size)
    # Rows that share a hash with an earlier row; those that turn out to differ from it are compared with the next.
    rows = first_equal
    while rows.size:
        _, first, inverse = np.unique(hashes[rows], return_index=True, return_inverse=True)
        guess = rows[first[inverse]]
        later = rows != guess
        rows, guess = rows[later], guess[later]
        wrong = np.zeros(rows.size, dtype=bool)
        for start in range(0, rows.size, PARAMETERS.block_rows):
            part = slice(start, start + PARAMETERS.block_rows)
            wrong[part] = _differ(matrix, rows[part], guess[part])
        for word in words:
            wrong |= word[rows] != word[guess]
        first_equal[rows[~wrong]] = guess[~wrong]
        rows = rows[wrong]
    return first_equal
