"""The native steps and what Python makes of them: limits, progress, interruption, and input that does not belong."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from problem_bank import draw_problem

from surefoot import _native
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.sqp.initial_point import starting_point
from surefoot.robust.sqp.lifted_rows import LiftedRows
from surefoot.robust.sqp.sqp_loop import Descent, minimise


def rows_of(seed=0, **changes):
    wanted = {"rows": 120, "numeric": 3, "levels": (3, 2), "radius": 0.05, "label_weight": 1.5} | changes
    return LiftedRows(draw_problem(seed, **wanted), 1)


def test_every_step_is_told_once_with_falling_objectives_and_rising_bounds():
    rows, told = rows_of(), []
    descent = Descent(rows, starting_point(rows), 1e-9)
    status, history = minimise(descent, SolveOptions(tolerance=1e-9, on_progress=told.append), 0.0)
    assert status is Status.OPTIMAL
    assert tuple(told) == history
    assert [one.iteration for one in history] == list(range(len(history)))
    for before, after in pairwise(history):
        assert after.upper_bound <= before.upper_bound
        assert after.lower_bound >= before.lower_bound
        assert after.seconds >= before.seconds


def test_a_walk_in_one_turn_and_single_steps_lead_to_the_same_point():
    rows = rows_of(1)
    start = starting_point(rows)
    one, other = Descent(rows, start, 1e-9), Descent(rows, start, 1e-9)
    walked = one.walk(4, 0, 8, 60.0)
    fell = [other.advance() for _ in walked]
    assert [step[2] for step in walked] == fell
    np.testing.assert_array_equal(one.x, other.x)
    assert one.objective == other.objective == walked[-1][0]


def test_a_walk_takes_one_step_at_least_and_stops_when_its_time_is_over():
    rows = rows_of(2)
    descent = Descent(rows, starting_point(rows), 1e-12)
    assert len(descent.walk(10, 0, 8, -1.0)) == 1


def test_whoever_raises_while_told_ends_the_walk():
    rows = rows_of(3)

    def stop(progress):
        if progress.iteration == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        minimise(Descent(rows, starting_point(rows), 1e-9), SolveOptions(on_progress=stop), 0.0)


def test_an_error_in_rows_that_python_reaches_comes_back_as_it_was():
    rows = rows_of(4)

    class Broken(LiftedRows):
        @property
        def asked(self):
            return self

        def row_model(self, *_):
            raise OSError("the disk is gone")

    broken = Broken(rows.problem, 1)
    with pytest.raises(OSError, match="the disk is gone"):
        Descent(broken, starting_point(rows), 1e-6).advance()


def test_what_does_not_belong_to_the_rows_is_refused():
    rows = rows_of(5)
    other = rows_of(5, levels=(4, 4))
    descent = Descent(rows, starting_point(rows), 1e-6)
    with pytest.raises(ValueError, match="one entry per lifted coordinate"):
        descent.x = np.zeros(3)
    with pytest.raises(ValueError, match="sorted by row"):
        descent.remembered = (
            np.array([7, 3]),
            np.zeros((2, 1), dtype=np.uint64),
            np.zeros(2, dtype=np.uint8),
            np.array([0.5, 0.5]),
        )
    with pytest.raises(ValueError, match="one mask, flip and share"):
        descent.remembered = (np.array([3]), np.zeros((2, 1), dtype=np.uint64), np.zeros(1, dtype=np.uint8), np.ones(1))
    limits = rows.coefficient_bounds(1.0)
    with pytest.raises(ValueError, match="same coordinates"):
        _native.Descent(
            rows.space,
            other.native,
            starting_point(rows),
            0.5,
            0.05,
            1e-6,
            limits.price,
            limits.intercept,
            limits.levels,
            False,
            True,
            120,
            1,
        )


def test_an_array_that_cannot_be_written_in_place_is_refused_instead_of_copied():
    rows = rows_of(6)
    x = starting_point(rows)
    for wrong in (x.astype(np.float32), np.repeat(x, 2)[::2]):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            rows.tighten(wrong)
