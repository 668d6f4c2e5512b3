"""Foreign solvers: every status they have is known by name, and a programme says what it is told."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from surefoot.core.backends.scip import LazyProgramme

needs_scip = pytest.mark.skipif(importlib.util.find_spec("pyscipopt") is None, reason="pyscipopt is not installed")


def test_every_status_of_clarabel_is_mapped() -> None:
    assert {name for name in dir(clarabel.SolverStatus) if not name.startswith("_")} == set(CONE_STATUS)


def test_every_status_of_highs_is_mapped() -> None:
    # kHighsInterrupt is an alias that releases spell in two ways; it is taken for a numerical error where it is one of its own.
    names = {name for name in dir(highspy.HighsModelStatus) if name.startswith("k")} - {"kHighsInterrupt"}
    assert {getattr(highspy.HighsModelStatus, name).name for name in names} == set(LINEAR_STATUS)


@needs_scip
def test_every_status_of_scip_is_mapped() -> None:
    from pyscipopt import SCIP_STATUS

    from surefoot.core.backends.scip import _STATUS as LAZY_STATUS

    # Their names in getStatus are those of the constants in small letters.
    assert {name.lower() for name in dir(SCIP_STATUS) if name.isupper()} == set(LAZY_STATUS)


class Parabola:
    """f(x) = (x - 2.4)^2 as SCIP is told of it; every point that it finds is stored."""

    def __init__(self, cutoff: float = np.inf) -> None:
        self.limit = cutoff
        self.points: list[tuple[float, float]] = []

    def cutoff(self) -> float:
        return self.limit

    def excess(self, point: np.ndarray, theta: float) -> float:
        return float((point[0] - 2.4) ** 2) - theta

    def new_tangents(self, point: np.ndarray | None) -> list[tuple[np.ndarray, float]]:
        if point is None:
            return []
        slope = 2 * (point - 2.4)
        return [(slope, float((point[0] - 2.4) ** 2 - slope[0] * point[0]))]

    def found(self, point: np.ndarray, theta: float) -> None:
        self.points.append((float(point[0]), theta))

    def may_separate(self, node: int, value: float) -> bool:
        return True

    def cuts_off(self, point: np.ndarray, theta: float) -> bool:
        return self.excess(point, theta) > 1e-3


def lazy(oracle: Parabola, low: float = -50.0, high: float = 50.0, cost: float = 0.5) -> LazyProgramme:
    """min cost x + f(x) over integers from -100 to 100 with low <= x <= high as a row."""
    from surefoot.core.backends.scip import LazyProgramme

    one = scipy.sparse.csr_array(np.ones((1, 1)))
    ends = np.array([-100.0]), np.array([100.0])
    sides = np.array([low]), np.array([high])
    return LazyProgramme(np.array([cost]), *ends, one, *sides, np.array([0], dtype=np.int32), oracle)


@needs_scip
@pytest.mark.parametrize(("low", "high", "best"), [(-50.0, 50.0, 2), (3.0, np.inf, 3), (-np.inf, -7.0, -7)])
def test_a_convex_term_is_learnt_from_its_tangents(low: float, high: float, best: int) -> None:
    oracle = Parabola()
    programme = lazy(oracle, low, high)
    found = programme.solve()
    assert found.status is Status.OPTIMAL and found.exhausted
    assert found.bound == pytest.approx(0.5 * best + (best - 2.4) ** 2, abs=1e-6)
    assert found.nodes == programme.nodes >= 1
    assert best in [x for x, _ in oracle.points]


@needs_scip
def test_a_programme_without_a_solution_below_the_cutoff_is_infeasible() -> None:
    assert lazy(Parabola(), 5.0, 4.0).solve().status is Status.INFEASIBLE
    beyond = lazy(Parabola(cutoff=0.1), cost=0.0).solve()
    assert beyond.status is Status.INFEASIBLE and beyond.exhausted
    assert beyond.bound == np.inf


@needs_scip
def test_limits_end_a_search_in_scip_and_keep_its_bound() -> None:
    programme = lazy(Parabola())
    assert programme.bound == 0.0 and programme.nodes == 0
    stopped = programme.solve(seconds=0.0)
    assert stopped.status is Status.TIME_LIMIT and not stopped.exhausted
    assert stopped.bound <= 1.16
    assert programme.solve().status is Status.OPTIMAL


@needs_scip
def test_what_an_oracle_raises_ends_the_search_and_reaches_the_caller() -> None:
    class Broken(Parabola):
        def excess(self, point: np.ndarray, theta: float) -> float:
            raise RuntimeError("no loss today")

    with pytest.raises(RuntimeError, match="no loss today"):
        lazy(Broken()).solve()


@needs_scip
def test_an_oracle_can_stop_the_search() -> None:
    class Impatient(Parabola):
        def found(self, point: np.ndarray, theta: float) -> None:
            super().found(point, theta)
            programme.stop()

    programme = lazy(Impatient())
    assert programme.solve().status is Status.INTERRUPTED


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


def test_a_programme_without_a_row_that_was_refused_is_not_solved() -> None:
    programme = LinearProgramme(np.zeros(2), np.ones(2), -np.ones(2))
    programme.add_row([0, 1], [1.0, 1.0], -np.inf, 1.0)
    assert programme.solve().status is Status.OPTIMAL
    programme.add_row([0, 1], [1e16, 1.0], -np.inf, 1.0)
    assert programme.solve().status is Status.NUMERICAL_ERROR


def test_programmes_are_solved_whatever_pool_of_threads_highs_has_made_before():
    """All instances in a process share one pool; another number of threads than it has is an error of HiGHS."""
    program = "; ".join(
        [
            "import highspy, numpy as np",
            "from surefoot.core.backends.highs import LinearProgramme",
            "other = highspy.Highs()",
            "other.silent()",
            "other.setOptionValue('threads', 3)",
            "other.addVars(1, np.zeros(1), np.ones(1))",
            "other.run()",
            "found = LinearProgramme(np.zeros(2), np.ones(2), -np.ones(2)).solve()",
            "assert found.bound == -2.0, found",
        ]
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
