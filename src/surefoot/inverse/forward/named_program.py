"""Forward problems over a linear set whose unknowns have names, and whose cost may price something else than each unknown."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.inverse.forward.programs import FeatureFunction, ForwardProblem, numbers
from surefoot.inverse.problem.decision_set import DecisionSet
from surefoot.inverse.problem.hypothesis import Features, LinearFeatures, identity_features


def vector_by_name(given: Mapping[Any, Any], names: Sequence[Any], what: str) -> FloatArray:
    """The values of a mapping in the order of the names.

    Raises
    ------
    ValueError
        If a name is missing or unknown, with that name.
    """
    missing = next((name for name in names if name not in given), None)
    if missing is not None:
        raise ValueError(f"{what} does not name {missing!r}")
    if len(given) > len(names):
        known = set(names)
        raise ValueError(f"{what} names {next(name for name in given if name not in known)!r}, which is not there")
    return numbers([given[name] for name in names], 1, what)


class NamedProgram(ForwardProblem):
    """A linear set with names for its unknowns.

    Responses are vectors, mappings by name, or results of SciPy, which keep the decision in ``x``.
    """

    @property
    @abstractmethod
    def unknowns(self) -> Sequence[Any]:
        """Names of the unknowns, in the order of a decision's entries."""

    @property
    @abstractmethod
    def priced(self) -> Sequence[Any]:
        """What the entries of a cost vector price."""

    @abstractmethod
    def priced_parts(self, signal: Any) -> tuple[FloatArray, FloatArray] | None:
        """F and f of the features F x + f at a signal; None where the unknowns themselves are priced."""

    def features(self, signal: Any, decisions: DecisionSet, function: FeatureFunction | None) -> Features:
        parts = self.priced_parts(signal)
        if function is not None:
            return super().features(signal, decisions, function)
        return identity_features(decisions.n_unknowns) if parts is None else LinearFeatures(*parts)

    def response(self, signal: Any, given: Any) -> FloatArray:
        """A response as a vector, from a vector, a mapping by name or a result of SciPy."""
        if hasattr(given, "x") and hasattr(given, "success"):
            if given.x is None:
                raise ValueError(f"the response is a result of SciPy without a decision: {given.message}")
            given = given.x
        if not isinstance(given, Mapping) and hasattr(given, "to_dict") and not set(given.keys()).isdisjoint(self.unknowns):
            given = given.to_dict()  # a series of pandas with the names as its index
        if isinstance(given, Mapping):
            return vector_by_name(given, self.unknowns, "the response")
        return numbers(given, 1, "the response")

    def readable(self, decision: Any) -> Any:
        """A decision as values by name."""
        return dict(zip(self.unknowns, np.asarray(decision, dtype=np.float64).tolist(), strict=True))

    def priced_by_name(self, cost: Any) -> dict[Any, float]:
        """A cost vector as values by the names of what it prices."""
        return dict(zip(self.priced, np.asarray(cost, dtype=np.float64).tolist(), strict=True))
