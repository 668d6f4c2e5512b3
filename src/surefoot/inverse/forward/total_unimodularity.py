"""Whether a matrix of -1, 0 and 1 is totally unimodular: whether all its square submatrices have determinants -1, 0 or 1.

Rows and columns with at most one entry, and such as repeat others or their negatives, change nothing and are left out. What
remains is totally unimodular if it is an incidence matrix of a network (at most two entries in every column, and rows that fall
into two parts such that entries of one sign are in different parts, of two signs in the same: Heller and Tompkins, 1956), or
an interval matrix (the ones of every column in a row), or the transpose of one. A matrix with few rows is decided by
enumeration: every set of rows has signs that make all sums of columns -1, 0 or 1 (Ghouila-Houri, 1962). Recognising others
takes a decomposition (Seymour, 1980), which is not attempted here; four entries with a determinant of 2 or -2 refute them.
"""

from __future__ import annotations

import itertools

import numpy as np

from surefoot.core.arrays import FloatArray

# Rows up to which all their signs are tried: 3^10 are 59,049.
FEW_ROWS = 10


def is_totally_unimodular(matrix: FloatArray) -> bool | None:
    """Whether a matrix of -1, 0 and 1 is totally unimodular; None if that is not known."""
    core = _core(matrix)
    if core.size == 0:
        return True
    if any(_is_network(each) or _is_interval(each) for each in (core, core.T)):
        return True
    narrow = core if core.shape[0] <= core.shape[1] else core.T
    if narrow.shape[0] <= FEW_ROWS:
        return _has_signs(narrow)
    return False if _has_large_square(narrow) else None


def _core(matrix: FloatArray) -> FloatArray:
    """The matrix without rows and columns that change nothing, the others in their order."""
    while True:
        size = matrix.shape
        for _ in range(2):
            matrix = matrix[(matrix != 0).sum(axis=1) > 1]
            if matrix.size:
                first = np.array([row[np.flatnonzero(row)[0]] for row in matrix])
                matrix = matrix[np.sort(np.unique(matrix * first[:, None], axis=0, return_index=True)[1])]
            matrix = matrix.T
        if matrix.shape == size:
            return matrix


def _is_network(matrix: FloatArray) -> bool:
    if np.any((matrix != 0).sum(axis=0) > 2):
        return False
    # Rows that meet in a column are in one part, or in different ones; a walk through them meets no contradiction.
    side = np.zeros(len(matrix))
    for start in range(len(matrix)):
        open_ = [start] if side[start] == 0 else []
        side[start] = side[start] or 1.0
        while open_:
            here = open_.pop()
            for column in np.flatnonzero(matrix[here]):
                for there in np.flatnonzero(matrix[:, column]):
                    wanted = -side[here] * matrix[here, column] * matrix[there, column]
                    if there != here and side[there] == 0:
                        side[there] = wanted
                        open_.append(int(there))
                    elif there != here and side[there] != wanted:
                        return False
    return True


def _is_interval(matrix: FloatArray) -> bool:
    """Whether the entries of every column have one sign and follow each other without a gap."""
    one_sign = np.all((matrix >= 0).all(axis=0) | (matrix <= 0).all(axis=0))
    begun = np.diff((matrix != 0).astype(np.int64), axis=0, prepend=0) == 1
    return bool(one_sign and np.all(begun.sum(axis=0) <= 1))


def _has_signs(matrix: FloatArray) -> bool:
    signs = np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=len(matrix))))
    even = (np.abs(signs @ matrix) <= 1).all(axis=1)
    powers = 2 ** np.arange(len(matrix))
    return bool(np.unique((signs != 0)[even] @ powers).size == 2 ** len(matrix))


def _has_large_square(matrix: FloatArray) -> bool:
    """Whether two rows and two columns have a determinant of 2 or -2: products of entries that agree, and that do not."""
    for k in range(1, len(matrix)):
        products = matrix[:k] * matrix[k]
        if np.any((products == 1).any(axis=1) & (products == -1).any(axis=1)):
            return True
    return False
