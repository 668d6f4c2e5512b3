"""Breast cancer prognoses (Wisconsin, UCI) as decisions of an expert: Appendix D.1 of Zattoni Scroccaro et al. (2024).

The signal is what is known of a patient: 30 measures of cell nuclei, tumor size, and the number of affected lymph nodes. The
decision is the pair (months, recurrent): whether the disease recurs, and after how many months, or else for how many months the
patient is known to have been free of it. The table itself is not part of surefoot: give the path of a copy.
"""

from __future__ import annotations

import csv
import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.exceptions import InvalidTableError

_OUTCOMES = {"1": 1.0, "0": 0.0, "R": 1.0, "N": 0.0}
_MISSING = ("", "?")


@dataclass(frozen=True, eq=False)
class Prognoses:
    """Patients and what became of them.

    Attributes
    ----------
    signals : ndarray of shape (n_patients, n_features)
    responses : ndarray of shape (n_patients, 2)
        Months, and 1 where the disease recurred.
    feature_names : tuple of str
    """

    signals: FloatArray
    responses: FloatArray
    feature_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.signals)


def load_prognoses(path: str | os.PathLike[str], *, missing: float | None = None) -> Prognoses:
    """Read a CSV file with the columns ``outcome`` (1 or R: recurrent, 0 or N: not) and ``time``, and features.

    Parameters
    ----------
    path : str or path-like
        A file with a header; every column but ``outcome``, ``time`` and ``id`` is a feature.
    missing : float, optional
        What an empty cell or "?" stands for; by default such a cell is an error.

    Returns
    -------
    Prognoses
    """
    with Path(path).open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    for name in ("outcome", "time"):
        if name not in header:
            raise InvalidTableError(f"the table has no column {name!r}; its columns are {', '.join(header)}.")
    if not lines:
        raise InvalidTableError("the table has a header, but no rows.")
    for row, line in enumerate(lines):
        if len(line) != len(header):
            raise InvalidTableError(f"row {row} has {len(line)} cells, but the header has {len(header)}.")
    columns = dict(zip(header, zip(*lines, strict=True), strict=True))
    names = tuple(name for name in header if name not in ("id", "outcome", "time"))
    features = [_numbers(name, columns[name], missing) for name in names]
    months, recurrent = _numbers("time", columns["time"], None), _outcomes(columns["outcome"])
    return Prognoses(np.column_stack(features), np.column_stack([months, recurrent]), names)


def _outcomes(cells: tuple[str, ...]) -> FloatArray:
    for row, cell in enumerate(cells):
        if cell.strip() not in _OUTCOMES:
            raise InvalidTableError(f"column 'outcome', row {row}: {cell!r} is none of {', '.join(_OUTCOMES)}.")
    return np.array([_OUTCOMES[cell.strip()] for cell in cells])


def _numbers(name: str, cells: tuple[str, ...], missing: float | None) -> FloatArray:
    return np.array([_number(name, row, cell.strip(), missing) for row, cell in enumerate(cells)])


def _number(name: str, row: int, cell: str, missing: float | None) -> float:
    if cell in _MISSING:
        if missing is None:
            raise InvalidTableError(f"column {name!r}, row {row} is missing: say by missing=... what it stands for.")
        return float(missing)
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InvalidTableError(f"column {name!r}, row {row}: {cell!r} is no finite number.")
    return value
