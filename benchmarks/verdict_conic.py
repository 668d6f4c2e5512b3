"""Small conic programmes for Clarabel in tight settings, written row by row: the reference of several families.

    minimise  1/2 x' P x + q . x   subject to   zero rows = 0, nonnegative rows >= 0, cones of affine rows

A row is a mapping from variables to coefficients and a constant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import clarabel
import numpy as np
import scipy.sparse
from numpy.typing import NDArray

Row = tuple[Mapping[int, float], float]
TIGHT = 1e-11


@dataclass
class Programme:
    """A programme in the making."""

    n: int = 0
    linear: dict[int, float] = field(default_factory=dict)
    square: dict[int, float] = field(default_factory=dict)
    zeros: list[Row] = field(default_factory=list)
    positives: list[Row] = field(default_factory=list)
    cones: list[tuple[str, list[Row]]] = field(default_factory=list)

    def add(self, count: int) -> range:
        """So many new unknowns."""
        self.n += count
        return range(self.n - count, self.n)

    def softplus_below(self, inner: Row, bound: Row) -> None:
        """log(1 + exp(inner)) <= bound, as exp(inner - bound) + exp(-bound) <= 1."""
        first, second = self.add(2)
        away = {k: inner[0].get(k, 0.0) - bound[0].get(k, 0.0) for k in {*inner[0], *bound[0]}}
        minus = {k: -value for k, value in bound[0].items()}
        one: Row = ({}, 1.0)
        self.cones.append(("exp", [(away, inner[1] - bound[1]), one, ({first: 1.0}, 0.0)]))
        self.cones.append(("exp", [(minus, -bound[1]), one, ({second: 1.0}, 0.0)]))
        self.positives.append(({first: -1.0, second: -1.0}, 1.0))

    def solve(self) -> NDArray[Any] | None:
        """The unknowns, or None where Clarabel finds nothing of use."""
        rows: list[Row] = [*self.zeros, *self.positives]
        kinds: list[Any] = []
        if self.zeros:
            kinds.append(clarabel.ZeroConeT(len(self.zeros)))
        if self.positives:
            kinds.append(clarabel.NonnegativeConeT(len(self.positives)))
        for name, parts in self.cones:
            rows += parts
            kinds.append(clarabel.ExponentialConeT() if name == "exp" else clarabel.SecondOrderConeT(len(parts)))
        matrix, constants = _stacked(rows, self.n)
        curvature = scipy.sparse.csc_matrix(np.diag([self.square.get(k, 0.0) for k in range(self.n)]))
        slope = np.array([self.linear.get(k, 0.0) for k in range(self.n)])
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_threads = 1
        for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas"):
            setattr(settings, name, TIGHT)
        found = clarabel.DefaultSolver(curvature, slope, matrix, constants, kinds, settings).solve()
        x = np.array(found.x)
        # A point is judged by its own exact objective, so that one that is not quite the end is of use as well.
        useful = str(found.status) in ("Solved", "AlmostSolved", "InsufficientProgress", "MaxIterations")
        return x if useful and np.isfinite(x).all() else None


def _stacked(rows: Sequence[Row], n: int) -> tuple[Any, NDArray[Any]]:
    """A x + s = b with s in the cones, for rows a . x + c in the cones: A = -a, b = c."""
    data, at, columns = [], [], []
    for k, (terms, _) in enumerate(rows):
        for column, value in terms.items():
            data.append(-value)
            at.append(k)
            columns.append(column)
    matrix = scipy.sparse.csc_matrix((data, (at, columns)), shape=(len(rows), n))
    return matrix, np.array([constant for _, constant in rows])
