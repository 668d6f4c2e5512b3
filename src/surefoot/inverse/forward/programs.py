"""Forward problems: what is decided at a signal, when the cost is known.

    min over x in X(s) of   <theta, phi(s, x)>

A forward problem turns a signal into a :class:`~surefoot.inverse.problem.problem.Instance`: the set X(s) and the features
phi(s, .) as plain arrays. Features are the decision itself unless a function ``features(signal, decision)`` is given.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from surefoot.core.arrays import FloatArray
from surefoot.exceptions import InvalidObservationError
from surefoot.inverse.forward.total_unimodularity import is_totally_unimodular
from surefoot.inverse.problem.decision_set import DecisionSet, LinearSet, ListedSet, OpaqueSet
from surefoot.inverse.problem.hypothesis import Features, GeneralFeatures, identity_features, linear_features
from surefoot.inverse.problem.problem import Example, Instance

FeatureFunction = Callable[[Any, FloatArray], Any]


def numbers(given: Any, n_dimensions: int, what: str) -> FloatArray:
    """A finite array of the given rank, also from a sparse one, or ``ValueError``."""
    if sparse.issparse(given):
        given = given.toarray()
        if n_dimensions == 1 and given.ndim == 2 and 1 in given.shape:
            given = given.ravel()
    try:
        found = np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError) as flaw:
        raise ValueError(f"{what} must be an array of numbers") from flaw
    if found.ndim != n_dimensions:
        raise ValueError(f"{what} has {found.ndim} dimension(s) and needs {n_dimensions}")
    if not np.isfinite(found).all():
        wrong = np.argwhere(~np.isfinite(found))
        place = ", ".join(str(int(k)) for k in wrong[0])
        raise ValueError(f"{what} holds {found[tuple(wrong[0])]} at [{place}]; it must be finite")
    return found


class ForwardProblem(ABC):
    """What every forward problem offers."""

    @abstractmethod
    def decisions(self, signal: Any) -> DecisionSet:
        """The decisions open at a signal; ``ValueError`` if the signal makes no sense."""

    def features(self, signal: Any, decisions: DecisionSet, function: FeatureFunction | None) -> Features:
        """How a cost vector prices decisions at a signal."""
        if function is None:
            return identity_features(decisions.n_unknowns)
        if isinstance(decisions, LinearSet):
            # Three points with no structure, besides the unit vectors: a function that is linear there is linear everywhere,
            # or was made to deceive.
            checks = np.random.default_rng(0).uniform(size=(3, decisions.n_unknowns))
            return linear_features(lambda x: function(signal, x), decisions.n_unknowns, checks)
        return _general(lambda x: function(signal, x), decisions)

    def response(self, signal: Any, given: Any) -> FloatArray:
        """A response as one vector of numbers; of a row of a data frame, the values in the order of its columns."""
        if isinstance(given, Mapping):
            given = list(given.values())
        return numbers(given, 1, "the response")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.summary()})"

    def summary(self) -> str:
        """What ``repr`` says of the problem: its parameters, unless there is something shorter to say."""
        return ", ".join(f"{name}={value!r:.60}" for name, value in vars(self).items() if not name.startswith("_"))

    def instance(self, index: int, signal: Any, function: FeatureFunction | None = None) -> Instance:
        """The forward problem at a signal.

        Raises
        ------
        InvalidObservationError
            Naming the observation.
        """
        try:
            decisions = self.decisions(signal)
            return Instance(index, decisions, self.features(signal, decisions, function))
        except (ValueError, TypeError) as flaw:
            raise InvalidObservationError(f"observation {index}: {flaw}.") from flaw

    def example(self, index: int, signal: Any, response: Any, function: FeatureFunction | None = None) -> Example:
        """An instance and its response.

        Raises
        ------
        InvalidObservationError
            Naming the observation.
        """
        instance = self.instance(index, signal, function)
        try:
            decided = self.response(signal, response)
            if decided.size != instance.decisions.n_unknowns:
                raise ValueError(f"the response has {decided.size} entries, but decisions have {instance.decisions.n_unknowns}")
        except (ValueError, TypeError) as flaw:
            raise InvalidObservationError(f"observation {index}: {flaw}.") from flaw
        decided = instance.decisions.nearest(decided)
        return Example(instance, decided, bool(instance.decisions.allowed(decided[None, :])[0]))


def _general(function: Callable[[FloatArray], Any], decisions: DecisionSet) -> Features:
    start = decisions.points[0] if isinstance(decisions, ListedSet) else np.zeros(decisions.n_unknowns)
    first = np.asarray(function(start), dtype=np.float64).ravel()
    if not np.isfinite(first).all():
        raise ValueError("features are not finite")
    return GeneralFeatures(function, first.size)


def parts_of(signal: Any, names: str) -> Sequence[Any]:
    """The parts of a signal by their order, or by their names in a mapping; a context for features may follow them.

    Raises
    ------
    ValueError
        Naming what is missing.
    """
    wanted = names.split(", ")
    if isinstance(signal, Mapping):
        missing, unknown = [name for name in wanted if name not in signal], sorted(set(map(str, signal)) - {*wanted, "context"})
        if missing or unknown:
            wrong = f"lacks {missing[0]!r}" if missing else f"has {unknown[0]!r}, which means nothing here"
            raise ValueError(f"the signal {wrong}; it must have {names}, and may have a context")
        return [signal[name] for name in wanted] + ([signal["context"]] if "context" in signal else [])
    if not isinstance(signal, tuple | list) or len(signal) not in (len(wanted), len(wanted) + 1):
        raise ValueError(f"the signal must be ({names}), or ({names}, context)")
    return signal


class BinaryProgram(ForwardProblem):
    """{x in {0, 1}^n : A x <= b}; a signal is (A, b), or (A, b, context) for features that use a context.

    As for all problems of arrays, a mapping with these names is a signal too, and matrices may be sparse.
    """

    def decisions(self, signal: Any) -> LinearSet:
        parts = parts_of(signal, "A, b")
        matrix, ceiling = numbers(parts[0], 2, "A"), numbers(parts[1], 1, "b")
        if matrix.shape[0] != ceiling.size:
            raise ValueError(f"A has {matrix.shape[0]} rows, but b has {ceiling.size} entries")
        n = matrix.shape[1]
        return LinearSet(matrix, np.full(ceiling.size, -np.inf), ceiling, np.zeros(n), np.ones(n), np.ones(n, dtype=np.bool_))


class LinearProgram(ForwardProblem):
    """{x : A x <= b, lower <= x <= upper}; a signal is (A, b), or (A, b, context).

    Parameters
    ----------
    lower, upper : float or array, default=0.0 and inf
    totally_unimodular : bool, default=False
        Says that A is totally unimodular, and b and the bounds whole, so that corners are whole: with bounds 0 and 1 decisions
        are then 0/1 vectors, and distances are those of 0/1 vectors (Appendix B of the paper). Networks, intervals and matrices
        with few rows or columns are checked, and refused if they are not totally unimodular; of others it is assumed. Claims
        are about decisions in whole numbers, and say so.
    """

    def __init__(self, *, lower: Any = 0.0, upper: Any = np.inf, totally_unimodular: bool = False) -> None:
        self.lower, self.upper, self.totally_unimodular = lower, upper, totally_unimodular

    def decisions(self, signal: Any) -> LinearSet:
        parts = parts_of(signal, "A, b")
        matrix, ceiling = numbers(parts[0], 2, "A"), numbers(parts[1], 1, "b")
        if matrix.shape[0] != ceiling.size:
            raise ValueError(f"A has {matrix.shape[0]} rows, but b has {ceiling.size} entries")
        n = matrix.shape[1]
        lower, upper = (np.broadcast_to(np.asarray(side, dtype=np.float64), (n,)).copy() for side in (self.lower, self.upper))
        unimodular = self.totally_unimodular
        if unimodular:
            sides = np.concatenate((ceiling, lower, upper))
            if np.any(sides != np.rint(sides)) or not np.isin(matrix, (-1.0, 0.0, 1.0)).all():
                raise ValueError(
                    "a totally unimodular programme has entries -1, 0 and 1 in A, and whole numbers in b and bounds"
                )
            if is_totally_unimodular(matrix) is False:
                raise ValueError("A is not totally unimodular, so that decisions need not be whole; drop totally_unimodular")
        floor = np.full(ceiling.size, -np.inf)
        return LinearSet(matrix, floor, ceiling, lower, upper, np.full(n, unimodular), unimodular)


class MixedIntegerProgram(ForwardProblem):
    """{x = (y, z) : A y + B z <= c, bounds, z whole}; a signal is (A, B, c), or (A, B, c, context).

    Parameters
    ----------
    continuous_bounds : pair, default=(0.0, 1.0)
        Of y; numbers or arrays.
    integer_bounds : pair, default=(0, 1)
        Of z.
    """

    def __init__(self, *, continuous_bounds: Any = (0.0, 1.0), integer_bounds: Any = (0, 1)) -> None:
        self.continuous_bounds, self.integer_bounds = continuous_bounds, integer_bounds

    def decisions(self, signal: Any) -> LinearSet:
        parts = parts_of(signal, "A, B, c")
        first, second, ceiling = numbers(parts[0], 2, "A"), numbers(parts[1], 2, "B"), numbers(parts[2], 1, "c")
        if not first.shape[0] == second.shape[0] == ceiling.size:
            raise ValueError(f"A, B and c have {first.shape[0]}, {second.shape[0]} and {ceiling.size} rows; they must agree")
        sides = []
        for k in (0, 1):
            inner = np.broadcast_to(np.asarray(self.continuous_bounds[k], dtype=np.float64), (first.shape[1],))
            outer = np.broadcast_to(np.asarray(self.integer_bounds[k], dtype=np.float64), (second.shape[1],))
            sides.append(np.concatenate((inner, outer)))
        whole = np.arange(first.shape[1] + second.shape[1]) >= first.shape[1]
        floor = np.full(ceiling.size, -np.inf)
        return LinearSet(np.ascontiguousarray(np.hstack((first, second))), floor, ceiling, sides[0], sides[1], whole)

    def response(self, signal: Any, given: Any) -> FloatArray:
        """(y, z) as a pair, or one vector."""
        if isinstance(given, tuple) and len(given) == 2:
            return np.concatenate([np.atleast_1d(numbers(np.atleast_1d(part), 1, "the response")) for part in given])
        return super().response(signal, given)


class FiniteChoice(ForwardProblem):
    """One of several alternatives; a signal is the array (alternatives, attributes), or such an array and a context.

    A response is the attributes of the alternative that was chosen, or its number.
    """

    def decisions(self, signal: Any) -> ListedSet:
        given = signal[0] if isinstance(signal, tuple) else signal
        if isinstance(signal, Mapping):
            given = parts_of(signal, "alternatives")[0]
        points = numbers(given, 2, "the list of alternatives")
        if points.shape[0] == 0:
            raise ValueError("the list of alternatives is empty")
        return ListedSet(points)

    def response(self, signal: Any, given: Any) -> FloatArray:
        """The attributes of the chosen alternative."""
        if isinstance(given, Mapping) or np.ndim(given) > 0:
            return super().response(signal, given)
        points = self.decisions(signal).points
        number = int(given)
        if number != given or not 0 <= number < points.shape[0]:
            raise ValueError(f"the response {given} is not the number of one of the {points.shape[0]} alternatives")
        return np.asarray(points[number])


class CallableProblem(ForwardProblem):
    """A forward problem that the caller solves.

    Parameters
    ----------
    solve : callable
        ``solve(theta, signal)`` returns a decision of least <theta, features(signal, x)>.
    n_unknowns : int or callable
        Entries of a decision, or ``n_unknowns(signal)``.
    augmented : callable, optional
        ``augmented(theta, signal, response)`` returns a decision with the largest
        <theta, features(response) - features(x)> + d(response, x). Not needed without a distance, nor where ``binary`` and the
        distance is "l1": there theta + 2 response - 1 is handed to ``solve`` instead.
    contains : callable, optional
        ``contains(signal, x)``: whether x is a decision. What ``solve`` returns is checked with it.
    binary : bool, default=False
        Decisions are 0/1 vectors.
    exact : bool, default=True
        Whether ``solve`` and ``augmented`` return optimal decisions. If not, no bound on the loss is claimed.
    """

    def __init__(
        self,
        solve: Callable[[FloatArray, Any], Any],
        *,
        n_unknowns: int | Callable[[Any], int],
        augmented: Callable[[FloatArray, Any, FloatArray], Any] | None = None,
        contains: Callable[[Any, FloatArray], bool] | None = None,
        binary: bool = False,
        exact: bool = True,
    ) -> None:
        self.solve, self.n_unknowns, self.augmented = solve, n_unknowns, augmented
        self.contains, self.binary, self.exact = contains, binary, exact

    def decisions(self, signal: Any) -> OpaqueSet:
        size = self.n_unknowns(signal) if callable(self.n_unknowns) else self.n_unknowns
        augmented, contains = self.augmented, self.contains
        return OpaqueSet(
            int(size),
            lambda theta: self.solve(theta, signal),
            None if augmented is None else (lambda theta, response: augmented(theta, signal, response)),
            None if contains is None else (lambda x: contains(signal, x)),
            self.binary,
            self.exact,
        )
