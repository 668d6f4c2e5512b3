"""Linear and mixed-integer programmes whose numbers depend on parameters: what models of other programs become.

    X(s) = {x : low(s) <= A(s) x <= high(s), lower(s) <= x <= upper(s), x_j whole for marked j},   phi(s, x) = F(s) x + f(s)

All numbers, one behind the other, are base + S p for the vector p of parameters that a signal gives: arrays alone, so that a
model can be saved, and no modelling language is needed to use it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.inverse.forward.named_program import NamedProgram, vector_by_name
from surefoot.inverse.forward.programs import numbers
from surefoot.inverse.forward.remembered import remembered
from surefoot.inverse.problem.decision_set import LinearSet


class ParametricProgram(NamedProgram):
    """A programme with parameters; made by :func:`from_cvxpy`, :func:`from_pyomo` and :func:`from_mps`.

    A signal is a mapping from names of parameters to their values; parameters that it does not name keep the values of the
    model. A response is a mapping from names of unknowns to their values, or a vector.

    Parameters
    ----------
    blocks : sequence of pairs (name, shape)
        The unknowns, by columns.
    parameters : sequence of pairs (name, shape)
    defaults : array
        Values of the parameters; NaN where a signal must give them.
    n_rows : int
    whole : array of bool
    entries : array of shape (2, k)
        Rows and columns of the entries of A that are not 0.
    priced_entries : array of shape (2, l) or None
        The same for F; None if the cost prices the unknowns themselves.
    priced_names : sequence or None
    base : array
        Entries of A, low, high, lower, upper, entries of F, f.
    slope_at : array of shape (2, m)
        Which of these numbers depend on which parameter.
    slopes : array of shape (m,)
    origin : str
        What it was made from.
    """

    def __init__(
        self,
        *,
        blocks: Sequence[Any],
        parameters: Sequence[Any],
        defaults: Any,
        n_rows: int,
        whole: Any,
        entries: Any,
        priced_entries: Any,
        priced_names: Sequence[str] | None,
        base: Any,
        slope_at: Any,
        slopes: Any,
        origin: str,
    ) -> None:
        self.blocks, self.parameters, self.defaults = blocks, parameters, defaults
        self.n_rows, self.whole, self.entries = n_rows, whole, entries
        self.priced_entries, self.priced_names = priced_entries, priced_names
        self.base, self.slope_at, self.slopes, self.origin = base, slope_at, slopes, origin

    def fault(self) -> str | None:
        """What does not fit together; None if all does."""
        n, m, size = self.whole.size, self.n_rows, self.base.size
        tables = [table for table in (self.entries, self.slope_at, self.priced_entries) if table is not None]
        if any(table.shape[0] != 2 for table in tables):
            return "its arrays do not fit together"
        priced = 0 if self.priced_entries is None else len(self.priced_names or ())
        own = 0 if self.priced_entries is None else self.priced_entries.shape[1]
        count = sum(math.prod(shape) for _, shape in self.parameters)

        def within(places: Any, ends: tuple[int, int]) -> bool:
            return bool(np.all(places >= 0) and np.all(places < np.array(ends)[:, None]))

        sound = (
            sum(math.prod(shape) for _, shape in self.blocks) == n
            and self.defaults.size == count
            and size == self.entries.shape[1] + 2 * m + 2 * n + own + priced
            and within(self.entries, (m, n))
            and (self.priced_entries is None or within(self.priced_entries, (priced, n)))
            and within(self.slope_at, (size, count))
            and self.slope_at.shape[1] == self.slopes.size
        )
        return None if sound else "its arrays do not fit together"

    def summary(self) -> str:
        n, whole = self.whole.size, int(self.whole.sum())
        words = [f"{self.origin}: {n} unknowns" + (f", {whole} of them whole" if whole else ""), f"{self.n_rows} rows"]
        names = [str(name) for name, _ in self.parameters]
        if names:
            words.append("parameters " + ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else ""))
        if self.priced_entries is not None:
            prices = [str(name) for name in self.priced]
            words.append("priced by " + ", ".join(prices[:5]) + (" ..." if len(prices) > 5 else ""))
        return ", ".join(words)

    @remembered
    def unknowns(self) -> Sequence[Any]:
        return [label for name, shape in self.blocks for label in labels(name, shape)]

    @property
    def priced(self) -> Sequence[Any]:
        return self.unknowns if self.priced_entries is None else list(self.priced_names or ())

    @remembered
    def _places(self) -> dict[str, tuple[int, tuple[int, ...]]]:
        """Where the entries of each parameter begin, and its shape."""
        found, at = {}, 0
        for name, shape in self.parameters:
            found[name] = (at, tuple(shape))
            at += math.prod(shape)
        return found

    def _values(self, signal: Any) -> FloatArray:
        """The parameters at a signal."""
        names = [name for name, _ in self.parameters]
        values = np.array(self.defaults, dtype=np.float64)
        if signal is not None and not isinstance(signal, Mapping):
            if not isinstance(signal, tuple) and len(names) == 1:
                signal = (signal,)
            if not isinstance(signal, tuple) or len(signal) != len(names):
                raise ValueError("the signal must be a mapping with values of the parameters " + ", ".join(names[:20]))
            signal = dict(zip(names, signal, strict=True))
        for name, value in flat({} if signal is None else signal).items():
            if name == "context" and name not in self._places:
                continue
            if name not in self._places:
                raise ValueError(f"the signal has {name!r}, which is no parameter; there are {', '.join(names[:20]) or 'none'}")
            at, shape = self._places[name]
            try:
                table = np.broadcast_to(np.asarray(value, dtype=np.float64), shape)
            except (TypeError, ValueError) as flaw:
                raise ValueError(f"parameter {name!r} has shape {np.shape(value)} and needs {shape}") from flaw
            values[at : at + table.size] = table.ravel(order="F")
        missing = np.flatnonzero(np.isnan(values))
        if missing.size:
            ends = np.cumsum([math.prod(shape) for _, shape in self.parameters])
            raise ValueError(f"parameter {names[int(np.searchsorted(ends, missing[0], side='right'))]!r} has no value, or NaN")
        return values

    def _numbers(self, signal: Any) -> list[FloatArray]:
        """Entries of A, low, high, lower, upper, entries of F and f at a signal."""
        data = np.array(self.base, dtype=np.float64)
        if self.slopes.size:
            np.add.at(data, self.slope_at[0], self.slopes * self._values(signal)[self.slope_at[1]])
        else:
            self._values(signal)
        n, m = self.whole.size, self.n_rows
        own = 0 if self.priced_entries is None else self.priced_entries.shape[1]
        return np.split(data, np.cumsum([self.entries.shape[1], m, m, n, n, own]))

    @remembered
    def _fixed_matrix(self) -> FloatArray | None:
        """A, if it is the same at all signals."""
        k = self.entries.shape[1]
        return None if np.any(self.slope_at[0] < k) else self._matrix(np.asarray(self.base[:k]))

    def _matrix(self, values: FloatArray) -> FloatArray:
        found = np.zeros((self.n_rows, self.whole.size))
        found[tuple(self.entries)] = values
        return found

    def decisions(self, signal: Any) -> LinearSet:
        values, low, high, lower, upper = self._numbers(signal)[:5]
        matrix = self._fixed_matrix
        lower, upper = np.where(self.whole, np.ceil(lower), lower), np.where(self.whole, np.floor(upper), upper)
        wrong = np.flatnonzero(~(lower <= upper))
        if wrong.size:
            at = int(wrong[0])
            raise ValueError(f"{self.unknowns[at]} has the bounds {lower[at]:g} and {upper[at]:g}, with nothing between")
        return LinearSet(
            self._matrix(values) if matrix is None else matrix, low, high, lower, upper, np.asarray(self.whole, dtype=np.bool_)
        )

    def priced_parts(self, signal: Any) -> tuple[FloatArray, FloatArray] | None:
        if self.priced_entries is None:
            return None
        values, offset = self._numbers(signal)[5:]
        matrix = np.zeros((offset.size, self.whole.size))
        matrix[tuple(self.priced_entries)] = values
        return matrix, offset

    def response(self, signal: Any, given: Any) -> FloatArray:
        """A response as a vector, from values by name: of blocks as arrays, or of their entries."""
        if not isinstance(given, Mapping):
            return super().response(signal, given)
        shapes = dict(self.blocks)
        values: dict[Any, Any] = {}
        for name, value in flat(given).items():
            if shapes.get(name):
                table = numbers(np.asarray(value, dtype=np.float64), len(shapes[name]), f"{name} of the response")
                if table.shape != tuple(shapes[name]):
                    raise ValueError(f"{name} of the response has shape {table.shape} and needs {tuple(shapes[name])}")
                values |= dict(zip(labels(name, shapes[name]), table.ravel(order="F").tolist(), strict=True))
            else:
                values[name] = np.asarray(value, dtype=np.float64).item()
        return vector_by_name(values, self.unknowns, "the response")

    def readable(self, decision: Any) -> dict[str, Any]:
        """A decision as values by name, arrays for blocks of unknowns."""
        found, at = {}, 0
        vector = np.asarray(decision, dtype=np.float64)
        for name, shape in self.blocks:
            size = math.prod(shape)
            found[name] = vector[at : at + size].reshape(shape, order="F") if shape else float(vector[at])
            at += size
        return found


def labels(name: str, shape: Sequence[int]) -> list[str]:
    """Names of the entries of a block, by columns."""
    if not shape:
        return [name]
    places = np.array(np.unravel_index(np.arange(math.prod(shape)), tuple(shape), order="F")).T.tolist()
    return [f"{name}[{','.join(map(str, place))}]" for place in places]


def flat(given: Mapping[Any, Any]) -> dict[str, Any]:
    """Values by name; mappings within become entries such as "x[a,b]", and objects of a modelling language their names."""
    found: dict[str, Any] = {}
    for key, value in given.items():
        own = getattr(key, "name", key)
        name = str(own() if callable(own) else own)
        if isinstance(value, Mapping):
            for index, part in value.items():
                inner = ",".join(map(str, index)) if isinstance(index, tuple) else str(index)
                found[f"{name}[{inner}]"] = part
        else:
            found[name] = value
    return found


Numbers = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]


def parametric(
    evaluate: Callable[[FloatArray], Numbers],
    *,
    blocks: Sequence[Any],
    parameters: Sequence[Any],
    defaults: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    whole: Any,
    priced_names: Sequence[str],
    origin: str,
) -> ParametricProgram | None:
    """The programme of a function that returns A, low, high, F and f at given parameters; None if one is not affine in them.

    Numbers are read at a vector of ones and with one parameter after the other at 2, and checked at two drawn vectors.
    """
    count, n = int(defaults.size), int(whole.size)
    start = evaluate(np.ones(count))
    shapes = [part.shape for part in start]
    first = np.concatenate([part.ravel() for part in start])
    at: list[Any] = []
    by: list[Any] = []
    slopes: list[FloatArray] = []
    finite = np.isfinite(first)
    for k in range(count):
        other = np.concatenate([part.ravel() for part in evaluate(1.0 + np.eye(count)[k])])
        step = np.where(finite, other, 0.0) - np.where(finite, first, 0.0)
        moved = np.flatnonzero(step)
        at.append(moved)
        by.append(np.full(moved.size, k))
        slopes.append(step[moved])
    places, owners = (np.concatenate(each).astype(np.int64) if each else np.empty(0, dtype=np.int64) for each in (at, by))
    steep = np.concatenate(slopes) if slopes else np.empty(0)
    base = first.copy()
    np.subtract.at(base, places, steep)
    for point in np.random.default_rng(0).uniform(0.5, 3.0, (2 if count else 0, count)):
        there = base.copy()
        np.add.at(there, places, steep * point[owners])
        found = np.concatenate([part.ravel() for part in evaluate(point)])
        if not np.allclose(there[finite], found[finite], rtol=1e-8, atol=1e-9) or np.any(np.isfinite(found) != finite):
            return None
    base[finite & (np.abs(base) <= 1e-12 * np.abs(first))] = 0.0

    # Rows with one entry, which no parameter changes, are bounds.
    m = shapes[0][0]
    wide = m * n
    touched = np.zeros(first.size, dtype=np.bool_)
    touched[places] = True
    matrix, changing = first[:wide].reshape(m, n), touched[:wide].reshape(m, n)
    lower, upper = (side.copy() for side in bounds)
    kept = np.ones(m, dtype=np.bool_)
    moved_sides: list[tuple[int, int, float]] = []
    for row in np.flatnonzero(((matrix != 0).sum(axis=1) == 1) & ~changing.any(axis=1)).tolist():
        column = int(np.flatnonzero(matrix[row])[0])
        unit = float(matrix[row, column])
        for side in (wide + row, wide + m + row):
            is_lower = (side == wide + row) == (unit > 0)
            if not touched[side]:
                end = float(first[side]) / unit
                bound, best = (lower, max) if is_lower else (upper, min)
                bound[column] = best(bound[column], end)
            else:
                moved_sides.append((side, column + (0 if is_lower else n), unit))
        kept[row] = False
    # A parameter is a bound where there is no other; otherwise its row stays.
    ends = np.concatenate((lower, upper))
    side_at: dict[int, tuple[int, float]] = {}
    for side, place, unit in moved_sides:
        if np.isfinite(ends[place]) or place in side_at:
            kept[(side - wide) % m] = True
        else:
            side_at[place] = (side, unit)
    rows = np.flatnonzero(kept)
    entries = np.array(np.nonzero(((matrix != 0) | changing)[rows]), dtype=np.int64)
    p = shapes[4][0]
    tall = wide + 2 * m
    own, own_changing = (part[tall : tall + p * n].reshape(p, n) for part in (first, touched))
    priced = np.array(np.nonzero((own != 0) | own_changing), dtype=np.int64)
    # Where each number was that stays, and by what it is divided.
    was = np.concatenate(
        (
            rows[entries[0]] * n + entries[1],
            wide + rows,
            wide + m + rows,
            [side_at.get(place, (-1, 1.0))[0] for place in range(2 * n)],
            tall + priced[0] * n + priced[1],
            tall + p * n + np.arange(p),
        )
    ).astype(np.int64)
    units = np.ones(was.size)
    box = entries.shape[1] + 2 * rows.size + np.arange(2 * n)
    units[box] = [side_at.get(place, (-1, 1.0))[1] for place in range(2 * n)]
    data = np.where(was >= 0, base[was], 0.0) / units
    data[box] = np.where(was[box] >= 0, data[box], ends)
    # A number may stand at two places: in a row that stays for its other side, and as a bound.
    order = np.argsort(was, kind="stable")
    start_at, end_at = (np.searchsorted(was[order], places, side=side) for side in ("left", "right"))
    told = np.repeat(np.arange(places.size), end_at - start_at)
    now = order[np.concatenate([np.arange(0), *map(np.arange, start_at, end_at)]).astype(np.int64)]
    return ParametricProgram(
        blocks=[(name, tuple(shape)) for name, shape in blocks],
        parameters=[(name, tuple(shape)) for name, shape in parameters],
        defaults=np.array(defaults, dtype=np.float64),
        n_rows=int(rows.size),
        whole=np.asarray(whole, dtype=np.bool_),
        entries=entries,
        priced_entries=priced,
        priced_names=list(priced_names),
        base=data,
        slope_at=np.array((now, owners[told]), dtype=np.int64),
        slopes=steep[told] / units[now],
        origin=origin,
    )
