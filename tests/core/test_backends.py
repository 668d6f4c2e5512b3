"""Foreign solvers: every status they have is known by name, and a programme says what it is told."""

from __future__ import annotations

import clarabel
import highspy
import numpy as np
import pytest
import scipy.sparse

from surefoot.core.backends.clarabel import _STATUS as CONE_STATUS
from surefoot.core.backends.clarabel import Cone, ConeProgramme
from surefoot.core.backends.highs import _STATUS as LINEAR_STATUS
from surefoot.core.backends.highs import LinearProgramme
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions


def test_every_status_of_clarabel_is_mapped() -> None:
    assert {name for name in dir(clarabel.SolverStatus) if not name.startswith("_")} == set(CONE_STATUS)


def test_every_status_of_highs_is_mapped() -> None:
    # kHighsInterrupt is an alias that releases spell in two ways; it is taken for a numerical error where it is one of its own.
    names = {name for name in dir(highspy.HighsModelStatus) if name.startswith("k")} - {"kHighsInterrupt"}
    assert {getattr(highspy.HighsModelStatus, name) for name in names} == set(LINEAR_STATUS)


def interval(low: float, high: float, cost: float) -> ConeProgramme:
    """min cost x over low <= x <= high; an infinite end is left out."""
    rows = [(-1.0, -low), (1.0, high)]
    finite = [(slope, side) for slope, side in rows if np.isfinite(side)]
    matrix = scipy.sparse.csc_matrix(np.array([[slope] for slope, _ in finite]))
    return ConeProgramme(np.array([cost]), matrix, np.array([side for _, side in finite]), (Cone("nonnegative", len(finite)),))


def test_a_cone_programme_is_solved_with_multipliers_that_prove_it() -> None:
    found = interval(2.0, 5.0, 1.0).solve(SolveOptions())
    assert found.status is Status.OPTIMAL
    assert found.nearly
    assert found.x == pytest.approx([2.0], abs=1e-7)
    assert found.multipliers == pytest.approx([1.0, 0.0], abs=1e-7)


@pytest.mark.parametrize(
    ("low", "high", "cost", "expected"), [(5.0, 2.0, 1.0, Status.INFEASIBLE), (2.0, np.inf, -1.0, Status.UNBOUNDED)]
)
def test_programmes_without_an_optimum_say_why(low: float, high: float, cost: float, expected: Status) -> None:
    found = interval(low, high, cost).solve(SolveOptions())
    assert found.status is expected
    assert found.ended is Status.STALLED
    linear = LinearProgramme(np.array([low]), np.array([np.inf]), np.array([cost]))
    linear.add_row([0], [1.0], -np.inf, high)
    assert linear.solve().status is expected
    assert not linear.solve().stopped


def test_a_diagonal_is_a_quadratic() -> None:
    base = interval(-9.0, 9.0, -2.0)
    for quadratic in (np.array([4.0]), scipy.sparse.csc_matrix([[4.0]])):
        found = ConeProgramme(base.cost, base.matrix, base.right, base.cones, quadratic).solve(SolveOptions())
        assert found.x == pytest.approx([0.5], abs=1e-7)
