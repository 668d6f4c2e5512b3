"""Circumcenters of small linear programmes: proven with the defaults, and refused in words that are true."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize

from surefoot import inverse
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import UnsupportedProblemError
from surefoot.inverse import forward
from surefoot.inverse.cone.circumcenter import EllipsoidalCircumcenter
from surefoot.inverse.exact.parameters import DoubleDescriptionParameters
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.distance import NO_DISTANCE
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import InverseProblem, Regularizer


def drawn_programmes(seed: int) -> tuple[list[Any], np.ndarray]:
    rng = np.random.default_rng(seed)
    n, count = int(rng.integers(2, 5)), int(rng.integers(1, 6))
    cost = -rng.uniform(0.2, 1, n)
    signals = [(rng.uniform(0, 1, (2, n)).round(2), np.ones(2)) for _ in range(count)]
    return signals, np.array([scipy.optimize.linprog(cost, *signal, bounds=[(0, 1)] * n).x for signal in signals])


@pytest.mark.parametrize("seed", range(30))
def test_circumcenters_of_small_programmes_are_proven(seed: int) -> None:
    """What multipliers leave of a saving is computed: four times as much was more than the tolerance of every sixth."""
    model = inverse.InverseOptimizer(forward.LinearProgram(upper=1.0), approach="circumcenter").fit(*drawn_programmes(seed))
    assert model.certificate_.verified


def test_a_circumcenter_of_one_corner_is_proven() -> None:
    for upper in (1.0, 3.0):
        model = inverse.InverseOptimizer(forward.LinearProgram(upper=upper), approach="circumcenter")
        model.fit([(np.array([[5.0, 3.0, 5.0]]), np.ones(1))], [np.zeros(3)])
        assert model.certificate_.verified
        assert model.cost_ == pytest.approx(np.full(3, 3**-0.5), abs=1e-7)


def test_an_error_without_rays_says_that_the_time_ended() -> None:
    model = inverse.InverseOptimizer(forward.BinaryProgram(), approach="circumcenter", time_limit=1e-6)
    with pytest.raises(UnsupportedProblemError, match="the time limit ended the search for the extreme rays"):
        model.fit([(np.ones((1, 4)), np.array([2.0]))], [[1.0, 1.0, 0.0, 0.0]])


def test_an_error_of_many_rays_is_about_the_decisions_seen_so_far() -> None:
    example = forward.BinaryProgram().example(0, (np.ones((1, 4)), np.array([2.0])), [1.0, 1.0, 0.0, 0.0])
    regularizer = Regularizer("l2", np.zeros(4))
    problem = InverseProblem((example,), NO_DISTANCE, regularizer, 0.0, PriorSet.of(None, 4), clamp=False)
    solver = EllipsoidalCircumcenter(Separation(), DoubleDescriptionParameters(max_rays=3))
    with pytest.raises(UnsupportedProblemError, match=r"decisions seen so far have \d extreme rays"):
        solver.solve(problem, SolveOptions())
