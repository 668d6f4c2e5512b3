"""Models in MPS and LP files, which OR-tools, PuLP, Gurobi, CPLEX, JuMP and others write."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.backends.highs import FileModel, read_model_file
from surefoot.inverse.forward.models.parametric_program import ParametricProgram

REST = "the rest of the objective"


def from_mps(
    path: Any, parameters: Sequence[str] | None = None, cost: Sequence[str] | Mapping[str, Mapping[str, float]] | None = None
) -> ParametricProgram:
    """The model in an MPS or LP file, whose cost is to be learned.

    Parameters
    ----------
    path : str or path
        Ending in .mps or .lp, or either with .gz.
    parameters : sequence of str, optional
        Names of rows, whose right-hand side a signal may give, and of columns, whose bounds: one number fixes a column, a pair
        bounds it. By default all of them; what a signal does not name is as in the file. A name that a row and a column share
        means the row.
    cost : sequence of str, or mapping, optional
        Names of the columns whose cost is to be learned; what the file's objective has besides is one more priced term, the
        last one. Or {"fuel": {"x1": 2.0, "x2": 1.5}, "labour": {"x1": 1.0}}: sums of columns that are priced instead of the
        objective. By default every column has a cost, and the file's objective is not used but for its sense.

    Returns
    -------
    ParametricProgram
        Responses are mappings from names of columns to values, or vectors in the file's order.
    """
    text = os.fspath(path)
    if not os.path.isfile(text):
        raise FileNotFoundError(f"there is no file {text!r}.")
    found = read_model_file(text)
    if found is None:
        raise ValueError(f"{text!r} cannot be read as a model: HiGHS reads MPS files (.mps) and LP files (.lp), also with .gz.")
    for name, kind in zip(found.columns, found.kinds, strict=True):
        if kind.startswith("semi"):
            raise ValueError(f"{text!r}: column {name!r} is {kind}, which has no linear set; model it with a 0/1 column.")
    if found.quadratic and isinstance(cost, Sequence):
        raise ValueError(f"{text!r}: the objective is quadratic; give cost=None or sums of columns, and it is not used.")
    for names, what in ((found.columns, "columns"), (found.rows, "rows")):
        if len(set(names)) < len(names):
            raise ValueError(f"{text!r}: two {what} are called {next(name for name in names if names.count(name) > 1)!r}.")
    n, m = len(found.columns), len(found.rows)
    prices, priced_names = _prices(found, cost)
    sizes = np.cumsum([found.matrix[2].size, m, m, n, n])
    base = np.concatenate((found.matrix[2], found.low, found.high, found.lower, found.upper))
    places: list[int] = []
    owners: list[int] = []
    shapes: list[tuple[str, tuple[int, ...]]] = []
    defaults: list[float] = []
    columns, rows = ({name: k for k, name in enumerate(names)} for names in (found.columns, found.rows))
    for name in [*rows, *(name for name in columns if name not in rows)] if parameters is None else parameters:
        if name not in rows and name not in columns:
            raise ValueError(f"{text!r} has no row or column {name!r}.")
        if name in rows:
            own = [int(sizes[0]) + rows[name], int(sizes[1]) + rows[name]]
            own = [at for at in own if np.isfinite(base[at])]
            one = len(own) == 2 and base[own[0]] == base[own[1]]
            if not own:
                continue  # a free row has no side
        else:
            own, one = [int(sizes[2]) + columns[name], int(sizes[3]) + columns[name]], False
        shapes.append((name, (2,) if len(own) == 2 and not one else ()))
        owners += [len(defaults) + (0 if one else k) for k in range(len(own))]
        places += own
        defaults += [float(base[at]) for at in (own[:1] if one else own)]
    base[places] = 0.0
    return ParametricProgram(
        blocks=[(name, ()) for name in found.columns],
        parameters=shapes,
        defaults=np.array(defaults),
        n_rows=m,
        whole=np.array([kind == "integer" for kind in found.kinds]),
        entries=np.array(found.matrix[:2], dtype=np.int64),
        priced_entries=None if prices is None else np.array(np.nonzero(prices), dtype=np.int64),
        priced_names=priced_names,
        base=base if prices is None else np.concatenate((base, prices[np.nonzero(prices)], np.zeros(len(prices)))),
        slope_at=np.array((places, owners), dtype=np.int64).reshape(2, -1),
        slopes=np.ones(len(places)),
        origin=os.path.basename(text),
    )


def _prices(found: FileModel, cost: Any) -> tuple[FloatArray | None, list[str] | None]:
    """Rows of what is priced, and their names; None if the columns are."""
    n, sign = len(found.columns), -1.0 if found.maximised else 1.0
    at = {name: k for k, name in enumerate(found.columns)}
    if cost is None:
        return (sign * np.eye(n), list(found.columns)) if found.maximised else (None, None)
    sums = cost if isinstance(cost, Mapping) else {name: {name: 1.0} for name in cost}
    if not sums:
        raise ValueError("cost names nothing to learn.")
    rows = np.zeros((len(sums), n))
    for k, parts in enumerate(sums.values()):
        for name, weight in parts.items():
            if name not in at:
                raise ValueError(f"cost: the file has no column {name!r}.")
            rows[k, at[name]] = weight
    names = list(sums)
    rest = np.where(rows.any(axis=0), 0.0, found.cost)
    if not isinstance(cost, Mapping) and np.any(rest):
        rows, names = np.vstack((rows, rest)), [*names, REST]
    return sign * rows, names
