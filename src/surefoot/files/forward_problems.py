"""Forward problems that a model file may hold: those that are numbers, and nothing that runs.

A file names a class, which is looked up here and nowhere else. Its parameters are checked before they are handed over, because
a forward problem itself looks at them only when it meets a signal.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from surefoot.exceptions import ModelFileError
from surefoot.inverse.forward.array_program import ArrayProgram
from surefoot.inverse.forward.combinatorial import Assignment, Knapsack, ShortestPath
from surefoot.inverse.forward.ellipsoid_program import EllipsoidProgram
from surefoot.inverse.forward.graphs.graph_flow import GraphFlow
from surefoot.inverse.forward.graphs.graph_matching import GraphMatching, SpanningTree
from surefoot.inverse.forward.graphs.graph_path import GraphPath
from surefoot.inverse.forward.graphs.graph_program import GraphProgram
from surefoot.inverse.forward.models.parametric_program import ParametricProgram
from surefoot.inverse.forward.programs import BinaryProgram, FiniteChoice, LinearProgram, MixedIntegerProgram
from surefoot.inverse.forward.quadratic_program import QuadraticProgram

FORWARDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        ArrayProgram,
        Assignment,
        BinaryProgram,
        EllipsoidProgram,
        FiniteChoice,
        GraphFlow,
        GraphMatching,
        GraphPath,
        Knapsack,
        LinearProgram,
        MixedIntegerProgram,
        ParametricProgram,
        QuadraticProgram,
        ShortestPath,
        SpanningTree,
    )
}
# More than anybody can assign: the matrix of an assignment has 2 n^3 entries.
_MOST_WORKERS = 1 << 12
# Unknowns or rows of a programme.
_MOST_ENTRIES = 1 << 24


@cache
def forward_fields(kind: type) -> tuple[str, ...]:
    """Names of the parameters, which are also those of the attributes."""
    return tuple(inspect.signature(kind).parameters)


def make_forward(name: str, fields: Mapping[str, Any]) -> Any:
    """The forward problem of that name.

    Raises
    ------
    ModelFileError
        If there is no such problem, or its parameters make no sense.
    """
    kind = FORWARDS.get(name)
    if kind is None:
        raise ModelFileError(f"it names {name!r:.80}, which is no forward problem that a file holds.")
    if set(fields) != set(forward_fields(kind)):
        raise ModelFileError(f"a {name} does not have the parameters {', '.join(map(str, fields))!s:.200}.")
    for field, value in fields.items():
        if not (_GRAPH_CHECKS if issubclass(kind, GraphProgram) else _CHECKS)[field](value):
            raise ModelFileError(f"{field} of a {name} is {value!r:.80}, which it cannot be.")
    made = kind(**fields)
    if isinstance(made, ParametricProgram) and made.fault() is not None:
        raise ModelFileError(f"a {name} is not sound: {made.fault()}.")
    return made


def fixed_size(forward: Any) -> int | None:
    """Entries of a cost vector, where the forward problem says so before any signal does."""
    if type(forward) is Assignment:
        return forward.n**2
    if isinstance(forward, GraphProgram):
        return len(forward.edges if forward.attributes is None else forward.attributes)
    return len(forward.edges) if type(forward) is ShortestPath else None


def _is_bound(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(type(entry) in (int, float) and entry == entry for entry in value)
    if isinstance(value, (np.ndarray, np.generic)):
        return value.ndim <= 1 and value.dtype.kind in "fiu" and not np.isnan(value).any()
    return type(value) in (int, float) and value == value


def _is_pair_of_bounds(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2 and all(map(_is_bound, value))


def _are_edges(value: Any, lengths: tuple[int, ...] = (2,)) -> bool:
    return isinstance(value, (list, tuple)) and all(
        isinstance(edge, (list, tuple)) and len(edge) in lengths and all(map(_is_node, edge)) for edge in value
    )


def _is_node(value: Any) -> bool:
    """A value of Python's own that can be a key: tuples too, such as the rows and columns of a grid."""
    return type(value) in (bool, int, float, str) or (type(value) is tuple and all(map(_is_node, value)))


def _is_array(n_dimensions: int, kinds: str = "fiu") -> Any:
    """A check for arrays of numbers, or None."""
    return lambda value: (
        value is None
        or (
            isinstance(value, np.ndarray)
            and value.ndim == n_dimensions
            and value.dtype.kind in kinds
            and not np.isnan(value).any()
        )
    )


def _are_names(value: Any) -> bool:
    return value is None or (isinstance(value, (list, tuple)) and all(map(_is_node, value)))


def _are_blocks(value: Any) -> bool:
    """Names with shapes of so many entries that an index can tell them apart."""
    return isinstance(value, (list, tuple)) and all(
        isinstance(pair, (list, tuple))
        and len(pair) == 2
        and type(pair[0]) is str
        and isinstance(pair[1], (list, tuple))
        and all(type(length) is int and 0 <= length <= _MOST_ENTRIES for length in pair[1])
        and math.prod(pair[1]) <= _MOST_ENTRIES
        for pair in value
    )


def _is_integer_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype == np.int64


_CHECKS: dict[str, Any] = {
    "blocks": _are_blocks,
    "parameters": _are_blocks,
    "defaults": lambda value: isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype == np.float64,
    "n_rows": lambda value: type(value) is int and 0 <= value <= _MOST_ENTRIES,
    "whole": lambda value: isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype == np.bool_,
    "entries": _is_integer_array,
    "priced_entries": lambda value: value is None or _is_integer_array(value),
    "base": lambda value: value is not None and _is_array(1, "f")(value),
    "slope_at": _is_integer_array,
    "slopes": lambda value: value is not None and _is_array(1, "f")(value) and bool(np.isfinite(value).all()),
    "origin": lambda value: type(value) is str,
    "A_ub": _is_array(2),
    "b_ub": _is_array(1),
    "A_eq": _is_array(2),
    "b_eq": _is_array(1),
    "bounds": _is_array(2),
    "integrality": lambda value: _is_array(0)(value) or _is_array(1)(value),
    "priced_matrix": _is_array(2),
    "names": _are_names,
    "priced_names": _are_names,
    "n": lambda value: type(value) is int and 1 <= value <= _MOST_WORKERS,
    "edges": _are_edges,
    "lower": _is_bound,
    "upper": _is_bound,
    "totally_unimodular": lambda value: type(value) is bool,
    "continuous_bounds": _is_pair_of_bounds,
    "integer_bounds": _is_pair_of_bounds,
    "inner": lambda value: value is None,
    "outer": lambda value: value is None,
}

_GRAPH_CHECKS: dict[str, Any] = {
    "edges": lambda value: _are_edges(value, (2, 3)) and len(value) > 0,
    "nodes": _are_names,
    "attributes": _is_array(2),
    "attribute_names": _are_names,
    "directed": lambda value: type(value) is bool,
    "perfect": lambda value: type(value) is bool,
    "demand": _is_array(1),
    "capacity": _is_array(1),
}
