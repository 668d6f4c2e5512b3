"""Experts whose cost is known: signals, and the decisions they take, as in Section 6 of Zattoni Scroccaro et al. (2024).

The expert minimises <cost, x> over the points of X(signal); an inverse optimizer should find ``cost``, up to its length.

    consistent      x in {0, 1}^n, A x <= b;  cost in [0, 1]^n, A in [-1, 0], b in [-1, 0]                    (Section 6.1)
    inconsistent    the same with cost in [-1, 1]^n, A in [-1, 1], and each decision taken under the cost plus
                    normal noise of standard deviation 0.05, so that no cost explains them all                (Section 6.2)
    mixed-integer   A y + B z <= c, y in [0, 1]^u, z in {0, 1}^v;  cost, -A and -B in [0, 1], c in [-2, 0]      (Section 6.3)
    large           like consistent with b in [-n/3, 0]                                                        (Section 6.4)

All numbers are uniform. A signal is drawn again until some decision is feasible: where A <= 0 that is the decision of all ones,
so each row must satisfy sum(A_r) <= b_r. (The paper writes that the sum must be larger; with A x <= b that would exclude the
very decision it is meant to admit.)

Binary decisions are found by counting: all of {0, 1}^n where n is small, halves of it otherwise, those of the first variables
in the order of their cost until none is left that could be better. Others are found by the branch and bound of HiGHS, called
through SciPy without a gap. Ties between decisions have probability zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from surefoot.core.arrays import AnyArray, BoolArray, FloatArray

Signal: TypeAlias = tuple[FloatArray, ...]
RandomState: TypeAlias = int | np.random.Generator | None

# So many variables are counted through at once, and twice as many in halves.
_MOST_COUNTED = 12
# Redrawing gives up after this many draws: the sizes then leave (almost) no feasible signal.
_MOST_DRAWS = 100_000
# How far HiGHS may miss a row.
_FEASIBILITY = 1e-6


@dataclass(frozen=True, eq=False)
class ExpertDecisions:
    """What an expert was told and what it did.

    Attributes
    ----------
    signals : list of tuples of ndarray
        (A, b) of binary decisions, (A, B, c) of mixed-integer ones.
    responses : ndarray of shape (n_examples, n_variables)
        Continuous variables come before whole ones.
    cost : ndarray of shape (n_variables,)
        The cost behind the decisions.
    """

    signals: list[Signal]
    responses: FloatArray
    cost: FloatArray

    def __len__(self) -> int:
        return len(self.signals)

    def first(self, count: int) -> ExpertDecisions:
        """The first ``count`` examples."""
        if not 1 <= count <= len(self):
            raise ValueError(f"count = {count} must lie between 1 and the number of examples, {len(self)}.")
        return ExpertDecisions(self.signals[:count], self.responses[:count], self.cost)


def consistent_decisions(
    n_examples: int = 100,
    *,
    n_variables: int = 6,
    n_constraints: int = 4,
    cost: AnyArray | None = None,
    random_state: RandomState = None,
) -> ExpertDecisions:
    """Binary decisions that one cost explains (Section 6.1).

    Parameters
    ----------
    n_examples, n_variables, n_constraints : int
        The defaults are the sizes of the paper; n_variables is at most 24.
    cost : array-like of shape (n_variables,), optional
        The cost behind the decisions; drawn by default. Give that of the training examples to draw test examples.
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    ExpertDecisions
    """
    return _covering_decisions(n_examples, n_variables, n_constraints, 1.0, cost, random_state)


def large_decisions(
    n_examples: int = 50,
    *,
    n_variables: int = 20,
    n_constraints: int = 15,
    cost: AnyArray | None = None,
    random_state: RandomState = None,
) -> ExpertDecisions:
    """Binary decisions among a million, which one cost explains (Section 6.4).

    Parameters
    ----------
    n_examples, n_variables, n_constraints : int
        The defaults are the sizes of the paper; n_variables is at most 24.
    cost : array-like of shape (n_variables,), optional
        The cost behind the decisions; drawn by default.
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    ExpertDecisions
    """
    return _covering_decisions(n_examples, n_variables, n_constraints, n_variables / 3, cost, random_state)


def inconsistent_decisions(
    n_examples: int = 100,
    *,
    n_variables: int = 10,
    n_constraints: int = 8,
    noise: float = 0.05,
    cost: AnyArray | None = None,
    random_state: RandomState = None,
) -> ExpertDecisions:
    """Binary decisions, each taken under a cost of its own close to a common one (Section 6.2).

    Parameters
    ----------
    n_examples, n_variables, n_constraints : int
        The defaults are the sizes of the paper; n_variables is at most 12, since feasible signals are found by counting.
    noise : float, default=0.05
        Standard deviation of what each decision adds to the cost; 0 for test examples.
    cost : array-like of shape (n_variables,), optional
        The common cost; drawn by default.
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    ExpertDecisions
    """
    _require_sizes(n_examples=n_examples, n_variables=n_variables, n_constraints=n_constraints)
    if n_variables > _MOST_COUNTED:
        raise ValueError(f"n_variables = {n_variables} is more than can be counted through; at most {_MOST_COUNTED}.")
    if not noise >= 0.0:
        raise ValueError(f"noise = {noise!r} must be at least 0.")
    generator = np.random.default_rng(random_state)
    common = _cost(cost, n_variables, generator, low=-1.0)
    points = _all_binary(n_variables)

    def draw() -> Signal:
        return generator.uniform(-1.0, 1.0, (n_constraints, n_variables)), generator.uniform(-1.0, 0.0, n_constraints)

    signals = [_drawn(draw, lambda signal: bool(_feasible(points, signal).any())) for _ in range(n_examples)]
    costs = common + noise * generator.standard_normal((n_examples, n_variables))
    responses = [_best_binary(signal, own, points) for signal, own in zip(signals, costs, strict=True)]
    return ExpertDecisions(signals, np.array(responses), common)


def mixed_integer_decisions(
    n_examples: int = 100,
    *,
    n_continuous: int = 6,
    n_binary: int = 6,
    n_constraints: int = 4,
    cost: AnyArray | None = None,
    random_state: RandomState = None,
) -> ExpertDecisions:
    """Decisions with continuous and binary parts, which one cost explains (Section 6.3).

    Parameters
    ----------
    n_examples, n_continuous, n_binary, n_constraints : int
        The defaults are the sizes of the paper.
    cost : array-like of shape (n_continuous + n_binary,), optional
        The cost behind the decisions; drawn by default.
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    ExpertDecisions
        Signals (A, B, c) of A y + B z <= c; that 0 <= y <= 1 is understood.
    """
    _require_sizes(n_examples=n_examples, n_continuous=n_continuous, n_binary=n_binary, n_constraints=n_constraints)
    generator = np.random.default_rng(random_state)
    n = n_continuous + n_binary
    truth = _cost(cost, n, generator, low=0.0)

    def draw() -> Signal:
        return (
            generator.uniform(-1.0, 0.0, (n_constraints, n_continuous)),
            generator.uniform(-1.0, 0.0, (n_constraints, n_binary)),
            generator.uniform(-2.0, 0.0, n_constraints),
        )

    def admits_ones(signal: Signal) -> bool:
        return bool(np.all(signal[0].sum(axis=1) + signal[1].sum(axis=1) <= signal[2]))

    signals = [_drawn(draw, admits_ones) for _ in range(n_examples)]
    whole = np.arange(n) >= n_continuous
    responses = [_best_mixed(np.hstack(signal[:2]), signal[2], truth, whole) for signal in signals]
    return ExpertDecisions(signals, np.array(responses), truth)


def _covering_decisions(
    n_examples: int, n_variables: int, n_constraints: int, depth: float, cost: AnyArray | None, random_state: RandomState
) -> ExpertDecisions:
    """Decisions under A x <= b with A in [-1, 0] and b in [-depth, 0]."""
    _require_sizes(n_examples=n_examples, n_variables=n_variables, n_constraints=n_constraints)
    if n_variables > 2 * _MOST_COUNTED:
        raise ValueError(f"n_variables = {n_variables} is more than can be counted through; at most {2 * _MOST_COUNTED}.")
    generator = np.random.default_rng(random_state)
    truth = _cost(cost, n_variables, generator, low=0.0)

    def draw() -> Signal:
        return generator.uniform(-1.0, 0.0, (n_constraints, n_variables)), generator.uniform(-depth, 0.0, n_constraints)

    signals = [_drawn(draw, lambda signal: bool(np.all(signal[0].sum(axis=1) <= signal[1]))) for _ in range(n_examples)]
    points = _all_binary(n_variables) if n_variables <= _MOST_COUNTED else None
    return ExpertDecisions(signals, np.array([_best_binary(signal, truth, points) for signal in signals]), truth)


def _cost(given: AnyArray | None, n: int, generator: np.random.Generator, *, low: float) -> FloatArray:
    if given is None:
        return generator.uniform(low, 1.0, n)
    cost = np.asarray(given, dtype=np.float64)
    if cost.shape != (n,) or not np.all(np.isfinite(cost)):
        raise ValueError(f"cost must hold {n} finite numbers, one per variable; it has shape {cost.shape}.")
    return cost


def _drawn(draw: Callable[[], Signal], admits: Callable[[Signal], bool]) -> Signal:
    for _ in range(_MOST_DRAWS):
        signal = draw()
        if admits(signal):
            return signal
    raise ValueError(f"none of {_MOST_DRAWS} random signals has a feasible decision: take fewer constraints or more variables.")


def _all_binary(n: int) -> FloatArray:
    return ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(np.float64)


def _feasible(points: FloatArray, signal: Signal) -> BoolArray:
    inside: BoolArray = np.all(points @ signal[0].T <= signal[1], axis=1)
    return inside


def _best_binary(signal: Signal, cost: FloatArray, points: FloatArray | None) -> FloatArray:
    if points is None:
        return _best_of_halves(signal[0], signal[1], cost)
    best: FloatArray = points[np.argmin(np.where(_feasible(points, signal), points @ cost, np.inf))]
    return best


def _best_of_halves(rows: FloatArray, right: FloatArray, cost: FloatArray) -> FloatArray:
    """The best x = (first, second) with rows x <= right: for each first half the cheapest second half that fits."""
    middle = cost.size // 2
    first, second = _all_binary(middle), _all_binary(cost.size - middle)
    first = first[np.argsort(first @ cost[:middle], kind="stable")]
    second = second[np.argsort(second @ cost[middle:], kind="stable")]
    used, needed = first @ rows[:, :middle].T, second @ rows[:, middle:].T
    prices, extras = first @ cost[:middle], second @ cost[middle:]
    best, value = None, np.inf
    for half, price, side in zip(first, prices, right - used, strict=True):
        if price + extras[0] >= value:
            break
        fitting = np.flatnonzero(np.all(needed[: np.searchsorted(extras, value - price)] <= side, axis=1))
        if fitting.size:
            best, value = np.concatenate([half, second[fitting[0]]]), price + extras[fitting[0]]
    if best is None:
        raise ValueError("a signal has no feasible decision.")
    return best


def _best_mixed(rows: FloatArray, right: FloatArray, cost: FloatArray, whole: BoolArray) -> FloatArray:
    found = milp(
        cost,
        constraints=LinearConstraint(rows, -np.inf, right),
        bounds=Bounds(0.0, 1.0),
        integrality=whole.astype(np.int64),
        options={"mip_rel_gap": 0.0},
    )
    if not found.success:
        raise RuntimeError(f"HiGHS did not solve a problem with a known solution: {found.message}")
    point: FloatArray = np.where(whole, np.rint(found.x), np.clip(found.x, 0.0, 1.0))
    if np.any(rows @ point > right + _FEASIBILITY):
        raise RuntimeError("HiGHS returned a point that is not feasible once its whole numbers are rounded.")
    return point


def _require_sizes(**sizes: int) -> None:
    for name, value in sizes.items():
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name} = {value!r} must be a whole number of at least 1.")
