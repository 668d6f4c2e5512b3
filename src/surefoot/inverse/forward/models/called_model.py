"""Forward problems that another program solves at every cost that is asked: models, and objects with ``solve``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.inverse.forward.models.parametric_program import flat, labels
from surefoot.inverse.forward.named_program import vector_by_name
from surefoot.inverse.forward.programs import CallableProblem, FeatureFunction, ForwardProblem, numbers
from surefoot.inverse.forward.remembered import remembered
from surefoot.inverse.problem.decision_set import DecisionSet, OpaqueSet
from surefoot.inverse.problem.hypothesis import Features, GeneralFeatures
from surefoot.inverse.problem.problem import Example


class SolvableModel(Protocol):
    """What a model of another program offers."""

    variables: list[Any]
    priced_names: list[str]

    def solve(self, theta: FloatArray, signal: Any) -> FloatArray: ...
    def features(self, signal: Any, x: FloatArray) -> FloatArray: ...
    def contains(self, signal: Any, x: FloatArray) -> bool: ...


class ModelProblem(ForwardProblem):
    """A model that its own program solves, because it is no set of linear rows.

    Losses are as good as that program's answers, and certificates say so; there is no distance, so choose
    ``approach="suboptimality"``.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    @property
    def blocks(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the unknowns."""
        return [(variable.name(), tuple(variable.shape)) for variable in self.model.variables]

    @property
    def priced(self) -> list[str]:
        """What the entries of a cost vector price."""
        return self.model.priced_names  # type: ignore[no-any-return]

    def summary(self) -> str:
        size = sum(variable.size for variable in self.model.variables)
        return f"cvxpy, called at every cost: {size} unknowns, priced by {', '.join(self.priced[:5])}"

    def decisions(self, signal: Any) -> OpaqueSet:
        model = self.model
        model.set_signal(signal)
        return OpaqueSet(
            sum(variable.size for variable in model.variables),
            lambda theta: model.solve(theta, signal),
            contains=lambda x: model.contains(signal, x),
            solver="cvxpy",
        )

    def features(self, signal: Any, decisions: DecisionSet, function: FeatureFunction | None) -> Features:
        if function is not None:
            raise ValueError("a model has features of its own: its objective; give cost instead")
        return GeneralFeatures(lambda x: self.model.features(signal, x), len(self.priced))

    def response(self, signal: Any, given: Any) -> FloatArray:
        """A response as a vector, from values by name."""
        if not isinstance(given, Mapping):
            return numbers(given, 1, "the response")
        values = flat(given)
        parts = []
        for name, shape in self.blocks:
            names = labels(name, shape)
            own = (
                values[name] if name in values else vector_by_name({k: v for k, v in values.items() if k in names}, names, name)
            )
            parts.append(np.ravel(np.asarray(own, dtype=np.float64), order="F"))
        return numbers(np.concatenate(parts), 1, "the response")


class SolverProblem(CallableProblem):
    """A forward problem that an object of the caller's solves; made by :func:`from_solver`."""

    def __init__(self, solver: Any, *, n_unknowns: int | Callable[[Any], int] | None = None) -> None:
        self.solver = solver
        given = n_unknowns if n_unknowns is not None else getattr(solver, "n_unknowns", None)
        super().__init__(
            solver.solve,
            n_unknowns=0 if given is None else given,
            augmented=getattr(solver, "augmented", None),
            contains=getattr(solver, "contains", None),
            binary=bool(getattr(solver, "binary", False)),
            exact=bool(getattr(solver, "exact", True)),
        )

    @remembered
    def _sizes(self) -> dict[str, int]:
        """Entries of a decision, as a response has told."""
        return {}

    def summary(self) -> str:
        return f"solved by {solver_name(self.solver)}"

    def decisions(self, signal: Any) -> OpaqueSet:
        found = super().decisions(signal)
        return replace(found, n_unknowns=found.n_unknowns or self._sizes.get("n", 0), solver=solver_name(self.solver))

    def example(self, index: int, signal: Any, response: Any, function: FeatureFunction | None = None) -> Example:
        if self.n_unknowns == 0:
            self._sizes.setdefault("n", int(np.size(list(response.values()) if isinstance(response, Mapping) else response)))
        return super().example(index, signal, response, function)


def solver_name(solver: Any) -> str:
    """How messages call a solver."""
    return type(solver).__name__


def from_solver(solver: Any, *, n_unknowns: int | Callable[[Any], int] | None = None) -> ForwardProblem:
    """A forward problem solved by an object with ``solve(cost, signal)``, which returns a decision of least cost . x.

    Parameters
    ----------
    solver : object
        Besides ``solve`` it may have ``augmented(cost, signal, response)``, ``contains(signal, decision)``, ``binary``,
        ``exact`` and ``n_unknowns``, which mean what they mean for :class:`CallableProblem`.
    n_unknowns : int or callable, optional
        Entries of a decision, or ``n_unknowns(signal)``.
    """
    if not callable(getattr(solver, "solve", None)):
        raise TypeError(f"{solver_name(solver)} has no method solve(cost, signal).")
    try:
        inspect.signature(solver.solve).bind(None, None)
    except TypeError as flaw:
        raise TypeError(f"{solver_name(solver)}.solve must take (cost, signal): {flaw}.") from flaw
    except ValueError:
        pass  # a compiled function tells nothing
    return SolverProblem(solver, n_unknowns=n_unknowns)


_WRAPPED: WeakKeyDictionary[Any, ForwardProblem] = WeakKeyDictionary()


def as_forward(given: Any) -> ForwardProblem:
    """A forward problem as it is, and an object with ``solve(cost, signal)`` as one, always the same.

    Raises
    ------
    TypeError
        If it is neither.
    """
    if isinstance(given, ForwardProblem):
        return given
    if isinstance(given, type) or not callable(getattr(given, "solve", None)):
        raise TypeError(
            f"forward={given!r:.80} is no forward problem; see surefoot.inverse.forward. An object of your own needs a method "
            "solve(cost, signal)."
        )
    try:
        return _WRAPPED.setdefault(given, from_solver(given))
    except TypeError:
        return from_solver(given)  # it cannot be remembered, or has no such method
