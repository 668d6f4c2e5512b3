"""Programmes without upper bounds, such as the diet problem, are learned from as well as those with wide ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from surefoot.exceptions import ForwardSolveError, InconsistentDataError
from surefoot.inverse import InverseOptimizer, forward


def diets(seed: int, count: int = 8) -> tuple[list[Any], list[Any]]:
    random = np.random.default_rng(seed)
    prices = random.uniform(1.0, 4.0, 4)
    signals = [(-random.uniform(0.5, 2.0, (3, 4)), -random.uniform(5.0, 10.0, 3)) for _ in range(count)]
    return signals, [linprog(prices, *signal).x for signal in signals]


@pytest.mark.parametrize("options", [{}, {"prior": "nonnegative"}, {"approach": "incenter"}])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_diet_without_upper_bounds_is_that_of_wide_ones(seed: int, options: dict[str, Any]) -> None:
    signals, eaten = diets(seed)
    open_ = InverseOptimizer(forward.LinearProgram(), **options).fit(signals, eaten)
    wide = InverseOptimizer(forward.LinearProgram(upper=1e6), **options).fit(signals, eaten)
    assert open_.certificate_.verified
    assert np.allclose(open_.cost_ / open_.cost_.sum(), wide.cost_ / wide.cost_.sum(), rtol=0, atol=1e-4)
    assert np.allclose(open_.predict(signals), eaten, atol=1e-6)


@pytest.mark.parametrize("upper", [3e3, 1e5, 1e6])
def test_diets_with_wide_bounds_are_proven_as_those_with_narrow_ones(upper: float) -> None:
    """Native searches in doubles lose the proof of bounds of 1e5, which others keep."""
    narrow, wide = (
        InverseOptimizer(forward.LinearProgram(upper=each), approach="incenter").fit(*diets(2)) for each in (100.0, upper)
    )
    assert wide.certificate_.verified
    assert wide.certificate_.lower_bound == pytest.approx(narrow.certificate_.lower_bound, rel=1e-9)


def test_a_regularised_diet_is_proven() -> None:
    signals, eaten = diets(0)
    model = InverseOptimizer(forward.LinearProgram(), kappa=0.1).fit(signals, eaten)
    assert model.certificate_.verified
    # A unit more of any food is farther by 1, and so must cost as much.
    assert model.cost_.min() >= 1.0 - 1e-6


def test_a_set_that_no_cost_can_close_is_told() -> None:
    # A half-plane and a response inside of it: every cost but 0 falls for ever somewhere.
    model = InverseOptimizer(forward.LinearProgram(lower=-np.inf), approach="incenter")
    with pytest.raises((ForwardSolveError, InconsistentDataError), match=r"no cost vector explains|no largest value"):
        model.fit([([[1.0, 1.0]], [1.0])], [[0.0, 0.0]])
    with pytest.raises(ForwardSolveError, match="no largest value; bound its unknowns"):
        model.set_params(approach="asl", kappa=0.1).fit([([[1.0, 1.0]], [1.0])], [[0.0, 0.0]])
