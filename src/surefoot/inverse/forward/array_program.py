"""Linear and mixed-integer programmes in the words of ``scipy.optimize``: ``linprog`` and ``milp``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.inverse.forward.named_program import NamedProgram
from surefoot.inverse.forward.programs import numbers
from surefoot.inverse.problem.decision_set import LinearSet

_PAIRS = (("A_ub", "b_ub"), ("A_eq", "b_eq"))
_PARTS = ("A_ub", "b_ub", "A_eq", "b_eq", "bounds", "integrality", "priced_matrix")


class ArrayProgram(NamedProgram):
    """{x : A_ub x <= b_ub, A_eq x = b_eq, bounds, some x whole}; made by :func:`from_scipy`.

    A signal is None, or a mapping with the parts that differ from those given here, such as {"b_ub": [4, 7]}.
    """

    def __init__(
        self,
        *,
        A_ub: Any = None,
        b_ub: Any = None,
        A_eq: Any = None,
        b_eq: Any = None,
        bounds: Any = None,
        integrality: Any = None,
        priced_matrix: Any = None,
        names: Any = None,
        priced_names: Any = None,
    ) -> None:
        self.A_ub, self.b_ub, self.A_eq, self.b_eq = A_ub, b_ub, A_eq, b_eq
        self.bounds, self.integrality, self.priced_matrix = bounds, integrality, priced_matrix
        self.names, self.priced_names = names, priced_names

    def summary(self) -> str:
        try:
            found = self.decisions(None)
        except ValueError:
            return "rows come with the signals"
        words = [f"{found.n_unknowns} unknowns", f"{len(found.high)} rows"]
        if found.whole.any():
            words[0] += f", {int(found.whole.sum())} of them whole"
        if self.priced_matrix is not None:
            words.append(f"{np.shape(self.priced_matrix)[0]} priced sums")
        return ", ".join(words)

    @property
    def unknowns(self) -> Sequence[Any]:
        return range(self.decisions(None).n_unknowns) if self.names is None else self.names

    @property
    def priced(self) -> Sequence[Any]:
        if self.priced_names is not None:
            return self.priced_names  # type: ignore[no-any-return]
        return self.unknowns if self.priced_matrix is None else range(np.shape(self.priced_matrix)[0])

    def _parts(self, signal: Any) -> dict[str, Any]:
        parts = {name: getattr(self, name) for name in _PARTS}
        if signal is None:
            return parts
        if not isinstance(signal, Mapping):
            raise ValueError(f"the signal must be None, or a mapping with some of {', '.join(_PARTS[:-1])}, cost, context")
        for name in signal:
            if name not in parts and name not in ("cost", "context", "constraints"):
                raise ValueError(f"the signal has {name!r}; it can have {', '.join(_PARTS[:-1])}, constraints, cost, context")
        given = array_parts({name: value for name, value in signal.items() if name != "context"})
        if "constraints" in signal:
            parts.update(dict.fromkeys(_PARTS[:4]))
        return parts | given

    def decisions(self, signal: Any) -> LinearSet:
        parts = self._parts(signal)
        rows = {}
        for left, right in _PAIRS:
            if (parts[left] is None) != (parts[right] is None):
                raise ValueError(f"{left} and {right} belong together, and one of them is missing")
            if parts[left] is not None:
                rows[left] = numbers(parts[left], 2, left), numbers(np.atleast_1d(parts[right]), 1, right)
                if rows[left][0].shape[0] != rows[left][1].size:
                    raise ValueError(f"{left} has {rows[left][0].shape[0]} rows, but {right} has {rows[left][1].size} entries")
        n = self._n_unknowns(parts, rows)
        wrong = next((left for left in rows if rows[left][0].shape[1] != n), None)
        if wrong is not None:
            raise ValueError(f"{wrong} has {rows[wrong][0].shape[1]} columns, but there are {n} unknowns")
        nothing = np.empty((0, n)), np.empty(0)
        (above, ceiling), (equal, level) = rows.get("A_ub", nothing), rows.get("A_eq", nothing)
        whole = np.broadcast_to(np.asarray(0 if parts["integrality"] is None else parts["integrality"]), (n,))
        if not np.isin(whole, (0, 1)).all():
            raise ValueError("integrality must be 0 or 1: semi-continuous unknowns (2 and 3) have no linear set")
        low = np.concatenate((np.full(ceiling.size, -np.inf), level))
        high = np.concatenate((ceiling, level))
        lower, upper = _bounds(parts["bounds"], n)
        kinds = whole == 1
        lower, upper = np.where(kinds, np.ceil(lower), lower), np.where(kinds, np.floor(upper), upper)
        return LinearSet(np.ascontiguousarray(np.vstack((above, equal))), low, high, lower, upper, kinds)

    def _n_unknowns(self, parts: Mapping[str, Any], rows: Mapping[str, Any]) -> int:
        if rows:
            return int(next(iter(rows.values()))[0].shape[1])
        if self.names is not None:
            return len(self.names)
        whole, bounds = parts["integrality"], parts["bounds"]
        sizes = [len(np.atleast_1d(part)) for part in (whole, bounds) if part is not None]
        if max(sizes, default=1) == 1:
            raise ValueError("A_ub and b_ub, or A_eq and b_eq, must come with the problem or with the signal")
        return max(sizes)

    def priced_parts(self, signal: Any) -> tuple[FloatArray, FloatArray] | None:
        given = self._parts(signal)["priced_matrix"]
        if given is None:
            return None
        matrix = numbers(given, 2, "cost")
        return matrix, np.zeros(matrix.shape[0])


def _bounds(given: FloatArray | None, n: int) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds of every unknown."""
    if given is None:
        return np.zeros(n), np.full(n, np.inf)
    if len(given) not in (1, n):
        raise ValueError(f"bounds must be one pair, or {n} pairs, and there are {len(given)}")
    table = np.broadcast_to(given, (n, 2))
    wrong = np.flatnonzero(~(table[:, 0] <= table[:, 1]))
    if wrong.size:
        raise ValueError(f"bounds of unknown {wrong[0]} are {tuple(table[wrong[0]].tolist())}, with nothing between")
    return table[:, 0].copy(), table[:, 1].copy()


def _bound_table(given: Any) -> FloatArray:
    """Rows (lower, upper) from what ``linprog`` and ``milp`` take: one pair, a pair for each unknown, or ``Bounds``."""
    if hasattr(given, "lb") and hasattr(given, "ub"):
        sides = np.broadcast_arrays(np.atleast_1d(given.lb), np.atleast_1d(given.ub))
        return np.column_stack(sides).astype(np.float64)
    pairs = [given] if len(given) == 2 and not any(np.ndim(side) for side in given) else list(given)
    if any(np.size(pair) != 2 for pair in pairs):
        raise ValueError("bounds must be one pair (lower, upper), a pair for every unknown, or Bounds")
    return np.array(
        [(-np.inf if low is None else low, np.inf if high is None else high) for low, high in pairs], dtype=np.float64
    )


def array_parts(given: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a programme from keywords of ``linprog`` and ``milp``; plain arrays, so that they can be saved."""
    parts = {name: value for name, value in given.items() if name not in ("constraints", "cost") and value is not None}
    constraints = given.get("constraints")
    if constraints is not None:
        alone = hasattr(constraints, "A") or (len(constraints) == 3 and not hasattr(constraints[0], "A"))
        parts |= _rows_of([constraints] if alone else constraints)
    if given.get("cost") is not None:
        cost = numbers(given["cost"], 2, "cost")
        parts["priced_matrix"] = cost
    for name in ("A_ub", "A_eq"):
        if name in parts:
            parts[name] = numbers(parts[name], 2, name)
    for name in ("b_ub", "b_eq"):
        if name in parts:
            parts[name] = numbers(np.ravel(parts[name]), 1, name)
    if "bounds" in parts:
        parts["bounds"] = _bound_table(parts["bounds"])
    if "integrality" in parts:
        parts["integrality"] = np.asarray(parts["integrality"])
    return parts


def _rows_of(constraints: Sequence[Any]) -> dict[str, Any]:
    """A_ub, b_ub, A_eq and b_eq of ``LinearConstraint`` objects, or of triples (A, lb, ub)."""
    matrices, lows, highs = [], [], []
    for each in constraints:
        left, low, high = (each.A, each.lb, each.ub) if hasattr(each, "A") else each
        matrix = numbers(left if np.ndim(left) != 1 else np.atleast_2d(left), 2, "a constraint's A")
        matrices.append(matrix)
        lows.append(np.broadcast_to(np.asarray(low, dtype=np.float64), (len(matrix),)))
        highs.append(np.broadcast_to(np.asarray(high, dtype=np.float64), (len(matrix),)))
    matrix, low, high = np.vstack(matrices), np.concatenate(lows), np.concatenate(highs)
    equal = low == high
    above, below = np.isfinite(high) & ~equal, np.isfinite(low) & ~equal
    return {
        "A_ub": np.vstack((matrix[above], -matrix[below])),
        "b_ub": np.concatenate((high[above], -low[below])),
        "A_eq": matrix[equal],
        "b_eq": low[equal],
    }


def from_scipy(
    A_ub: Any = None,
    b_ub: Any = None,
    A_eq: Any = None,
    b_eq: Any = None,
    bounds: Any = None,
    *,
    integrality: Any = None,
    constraints: Any = None,
    cost: Any = None,
    names: Sequence[Any] | None = None,
    cost_names: Sequence[Any] | None = None,
) -> ArrayProgram:
    """The forward problem of ``scipy.optimize.linprog`` or ``milp``: the same arguments, without c, which is to be learned.

    Parameters
    ----------
    A_ub, b_ub, A_eq, b_eq, bounds, integrality, constraints
        As SciPy takes them; matrices may be sparse. Without ``bounds`` unknowns are at or above 0, as there. What is not
        given here comes with every signal.
    cost : array of shape (p, n), optional
        What the p entries of a cost vector price: sums of unknowns. Each unknown by default.
    names : sequence, optional
        Names of the unknowns, for responses that are mappings or data frames.
    cost_names : sequence, optional
        Names of what is priced.

    Returns
    -------
    ArrayProgram
        A signal is None, or a mapping with the arguments that differ at this observation.

    Examples
    --------
    >>> import surefoot as sf
    >>> diet = sf.inverse.forward.from_scipy([[-2.0, -1.0], [-1.0, -3.0]], [-8.0, -9.0], bounds=(0, 10), names=["oats", "milk"])
    >>> diet
    ArrayProgram(2 unknowns, 2 rows)
    >>> eaten = [{"oats": 3.0, "milk": 2.0}, {"oats": 0.0, "milk": 8.0}]
    >>> model = sf.inverse.InverseOptimizer(diet, prior="simplex").fit([None, {"b_ub": [-8.0, -3.0]}], eaten)
    >>> model.certificate_.verified
    True
    """
    given = {"A_ub": A_ub, "b_ub": b_ub, "A_eq": A_eq, "b_eq": b_eq, "bounds": bounds, "integrality": integrality}
    if constraints is not None and any(given[name] is not None for name in _PARTS[:4]):
        raise ValueError("give constraints, as milp takes them, or A_ub, b_ub, A_eq and b_eq, as linprog does, and not both.")
    try:
        parts = array_parts({**given, "constraints": constraints, "cost": cost})
        found = ArrayProgram(
            **parts,
            names=None if names is None else list(names),
            priced_names=None if cost_names is None else list(cost_names),
        )
        if all((left in parts) == (right in parts) for left, right in _PAIRS) and any(left in parts for left, _ in _PAIRS):
            found.decisions(None)
    except ValueError as flaw:
        raise ValueError(f"from_scipy: {flaw}.") from flaw
    return found
