"""A caller's own solver is one object with solve(cost, signal), and is found out where it does not do what it promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surefoot.exceptions import ConvergenceLimitWarning, ForwardSolveError, WeakModelWarning
from surefoot.inverse import InverseOptimizer, forward

ROUTES = np.array([[1.0, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 1, 0]])
OBSERVED = [[1.0, 1, 0, 0], [1, 0, 0, 1]]
SIGNALS = [(0, 1), (1, 2)]


class Enumerator:
    """Tries the two routes that a signal names."""

    binary = True

    def solve(self, cost: Any, signal: Any) -> Any:
        open_ = ROUTES[list(signal)]
        return open_[np.argmin(open_ @ cost)]


class Deaf(Enumerator):
    def solve(self, cost: Any, signal: Any) -> Any:
        return ROUTES[signal[1]]


class Stubborn(Enumerator):
    def solve(self, cost: Any, signal: Any) -> Any:
        open_ = ROUTES[list(signal)]
        return open_[np.argmax(open_ @ cost)]


class Dijkstra(Enumerator):
    def solve(self, cost: Any, signal: Any) -> Any:
        if np.any(cost < 0):
            raise ValueError("negative weights")
        return super().solve(cost, signal)


OPTIONS: dict[str, Any] = {"approach": "suboptimality", "distance": "none", "prior": "simplex"}


def test_an_object_that_solves_learns_what_the_list_learns() -> None:
    options: dict[str, Any] = {"distance": "l1", "kappa": 0.1}
    ours = InverseOptimizer(Enumerator(), **options).fit(SIGNALS, OBSERVED)
    signals = [ROUTES[[0, 1]], ROUTES[[1, 2]]]
    plain = InverseOptimizer(forward.FiniteChoice(), **options).fit(signals, OBSERVED)
    assert np.allclose(ours.cost_, plain.cost_, rtol=0, atol=1e-8)
    assert [each.tolist() for each in ours.predict(SIGNALS)] == OBSERVED
    assert "assuming" in ours.certificate_.claim or "provided" in ours.certificate_.claim or ours.certificate_.trust


def test_a_solver_that_ignores_the_cost_is_named() -> None:
    with pytest.raises(ForwardSolveError, match=r"observation 0: Deaf returned .* does not react to the cost"):
        InverseOptimizer(Deaf(), **OPTIONS).fit(SIGNALS, OBSERVED)


def test_a_solver_that_is_not_optimal_is_named() -> None:
    with pytest.raises(ForwardSolveError, match=r"Stubborn returned .* does not solve to optimality"):
        InverseOptimizer(Stubborn(), **OPTIONS).fit([(0, 1), (1, 2)], [ROUTES[1], ROUTES[2]])


def test_a_solver_may_say_that_it_promises_nothing() -> None:
    solver = Stubborn()
    solver.exact = False  # type: ignore[attr-defined]
    with pytest.warns(ConvergenceLimitWarning, match="at most inf"):
        InverseOptimizer(solver, **OPTIONS).fit(SIGNALS, OBSERVED)
    # It is not refused, but that it never reacts is told.
    with pytest.warns(WeakModelWarning, match="it always returned the same decision"):
        InverseOptimizer(Deaf(), infeasible="clamp", **OPTIONS).fit(SIGNALS, OBSERVED)


def test_checks_ask_only_for_costs_of_the_prior_set() -> None:
    model = InverseOptimizer(Dijkstra(), **OPTIONS).fit(SIGNALS, OBSERVED)
    assert [each.tolist() for each in model.predict(SIGNALS)] == OBSERVED
    with pytest.raises(ForwardSolveError, match="observation 0: Dijkstra failed: ValueError"):
        InverseOptimizer(Dijkstra(), prior=(-1.0, -0.5), distance="none", approach="suboptimality").fit(SIGNALS, OBSERVED)


def test_what_is_no_solver_is_refused() -> None:
    class Silent:
        def solve(self) -> None: ...

    with pytest.raises(TypeError, match=r"Silent\.solve must take \(cost, signal\)"):
        InverseOptimizer(Silent()).fit(SIGNALS, OBSERVED)
    with pytest.raises(TypeError, match="An object of your own needs a method solve"):
        InverseOptimizer("dijkstra").fit(SIGNALS, OBSERVED)
