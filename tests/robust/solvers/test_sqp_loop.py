"""The native steps and what Python makes of them: limits, progress, interruption, and input that does not belong."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from problem_bank import draw_problem

from surefoot import _native
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.core.solve_run import SolveRun
from surefoot.robust.sqp.initial_point import initial_point
from surefoot.robust.sqp.parameters import (
    ActiveRowsParameters,
    DualBoundParameters,
    InteriorPointParameters,
    SqpParameters,
    native_parameters,
)
from surefoot.robust.sqp.row_sums import TableRows
from surefoot.robust.sqp.sqp import SQP, approximate_minimiser
from surefoot.robust.sqp.sqp_loop import SqpLoop, minimise


def rows_of(seed=0, **changes):
    wanted = {"rows": 120, "numeric": 3, "levels": (3, 2), "radius": 0.05, "label_weight": 1.5} | changes
    return TableRows(draw_problem(seed, **wanted), 1)


def test_every_step_is_told_once_with_falling_objectives_and_rising_bounds():
    rows, told = rows_of(), []
    loop = SqpLoop(rows, initial_point(rows), 1e-9)
    run = SolveRun(SolveOptions(tolerance=1e-9, on_progress=told.append), None)
    assert minimise(loop, run) is Status.OPTIMAL
    history = run.history
    assert told == history
    assert [one.iteration for one in history] == list(range(len(history)))
    for before, after in pairwise(history):
        assert after.upper_bound <= before.upper_bound
        assert after.lower_bound >= before.lower_bound
        assert after.seconds >= before.seconds


def test_iterations_in_one_turn_and_single_ones_lead_to_the_same_point():
    rows = rows_of(1)
    start = initial_point(rows)
    one, other = SqpLoop(rows, start, 1e-9), SqpLoop(rows, start, 1e-9)
    done = one.iterate(max_iterations=4, failures=0, max_failures=8, seconds=60.0)
    decreased = [other.advance() for _ in done]
    assert [iteration.decreased for iteration in done] == decreased
    np.testing.assert_array_equal(one.x, other.x)
    assert one.objective == other.objective == done[-1].objective


def test_a_turn_has_one_iteration_at_least_and_ends_when_its_time_is_over():
    rows = rows_of(2)
    loop = SqpLoop(rows, initial_point(rows), 1e-12)
    assert len(loop.iterate(max_iterations=10, failures=0, max_failures=8, seconds=-1.0)) == 1


def test_a_step_whose_time_is_over_is_cut_short_and_the_loop_can_go_on():
    rows = rows_of(2)
    start = initial_point(rows)
    cut, whole = SqpLoop(rows, start, 1e-9), SqpLoop(rows, start, 1e-9)
    turn = {"max_iterations": 1, "failures": 0, "max_failures": 8, "seconds": 60.0}
    cut.iterate(**turn, seconds_left=0.0)
    whole.iterate(**turn)
    # One iteration of the interior point ends elsewhere than all of them, and never higher than it began.
    assert cut.objective != whole.objective
    assert cut.objective <= rows.objective(start)
    cut.iterate(max_iterations=50, failures=0, max_failures=8, seconds=60.0)
    assert cut.optimal
    whole.iterate(max_iterations=50, failures=0, max_failures=8, seconds=60.0)
    assert cut.objective == pytest.approx(whole.objective, rel=1e-8)


class CountedRows(TableRows):
    """Rows that the native loop reaches through Python, and that count what it asks them for."""

    models = sums = 0

    @property
    def oracle(self):
        return self

    def row_model(self, *asked):
        self.models += 1
        return super().row_model(*asked)

    def plan_sums(self, *asked):
        self.sums += 1
        return super().plan_sums(*asked)


def test_a_bound_whose_time_is_over_has_one_correction_and_is_true():
    asked, bounds = [], []
    for seconds_left in (0.0, np.inf):
        rows = CountedRows(rows_of(4).problem, 1)
        loop = SqpLoop(rows, initial_point(rows), 1e-9)
        loop.advance()
        assert not loop.has_bound
        before = rows.sums
        loop.bound_last_step(seconds_left=seconds_left)
        asked.append(rows.sums - before)
        bounds.append(loop.lower_bound)
    # At the end of the step, perhaps once more with less cost, and after the one correction.
    assert asked[0] <= 3 < asked[1]
    optimum = SQP().solve(rows.problem, SolveOptions(tolerance=1e-9)).upper_bound
    assert 0 < bounds[0] <= bounds[1] <= optimum


def test_the_start_has_no_newton_step_where_there_is_no_time_for_its_factorisation():
    rows = CountedRows(rows_of(4).problem, 1)
    hasty = initial_point(rows, seconds_left=0.0)
    assert rows.models == 0
    assert not hasty[rows.numeric_slots].any() and not hasty[rows.level_slots].any()
    initial_point(rows, seconds_left=1.0)
    assert rows.models == 1


def test_a_coarse_search_begins_no_step_once_the_time_is_over():
    rows = CountedRows(rows_of(4).problem, 1)
    start = initial_point(rows)
    before = rows.models
    np.testing.assert_array_equal(approximate_minimiser(rows, start, SolveOptions(time_limit=0.0), 1e-6), start)
    assert rows.models == before
    approximate_minimiser(rows, start, SolveOptions(), 1e-6)
    assert rows.models > before


def test_whoever_raises_while_told_ends_the_loop():
    rows = rows_of(3)

    def stop(progress):
        if progress.iteration == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        minimise(SqpLoop(rows, initial_point(rows), 1e-9), SolveRun(SolveOptions(on_progress=stop), None))


def test_an_error_in_rows_that_python_reaches_comes_back_as_it_was():
    rows = rows_of(4)

    class Broken(TableRows):
        @property
        def oracle(self):
            return self

        def row_model(self, *_):
            raise OSError("the disk is gone")

    broken = Broken(rows.problem, 1)
    with pytest.raises(OSError, match="the disk is gone"):
        SqpLoop(broken, initial_point(rows), 1e-6).advance()


def test_what_does_not_belong_to_the_rows_is_refused():
    rows = rows_of(5)
    other = rows_of(5, levels=(4, 4))
    loop = SqpLoop(rows, initial_point(rows), 1e-6)
    with pytest.raises(ValueError, match="one entry per lifted coordinate"):
        loop.x = np.zeros(3)
    with pytest.raises(ValueError, match="sorted by row"):
        loop.working_set = _native.WorkingSet(
            np.array([7, 3]),
            np.zeros((2, 1), dtype=np.uint64),
            np.zeros(2, dtype=np.uint8),
            np.array([0.5, 0.5]),
        )
    with pytest.raises(ValueError, match="one mask, flip and fraction"):
        _native.WorkingSet(np.array([3]), np.zeros((2, 1), dtype=np.uint64), np.zeros(1, dtype=np.uint8), np.ones(1))
    with pytest.raises(ValueError, match="one mask, flip and fraction"):
        loop.working_set = _native.WorkingSet(
            np.array([3]), np.zeros((1, 2), dtype=np.uint64), np.zeros(1, dtype=np.uint8), np.ones(1)
        )
    limits = rows.coefficient_bounds(1.0)
    with pytest.raises(ValueError, match="same coordinates"):
        _native.SqpLoop(
            rows.space,
            other.native,
            initial_point(rows),
            objective=0.5,
            radius=0.05,
            tolerance=1e-6,
            price_limit=limits.price,
            intercept_limit=limits.intercept,
            level_limit=limits.levels,
            warm_start=False,
            dual_bounds=True,
            n_rows=120,
            n_threads=1,
            parameters=_native.SqpParameters(),
        )


def test_an_array_that_cannot_be_written_in_place_is_refused_instead_of_copied():
    rows = rows_of(6)
    x = initial_point(rows)
    for wrong in (x.astype(np.float32), np.repeat(x, 2)[::2]):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            rows.tighten(wrong)


def values_of(record, native):
    """(name, value here, value there) of all fields, those of nested records included."""
    for field in fields(record):
        mine, theirs = getattr(record, field.name), getattr(native, field.name)
        if is_dataclass(mine):
            yield from ((f"{field.name}.{name}", *values) for name, *values in values_of(mine, theirs))
        else:
            yield field.name, mine, tuple(theirs) if isinstance(mine, tuple) else theirs


def public_names(record):
    return {name for name in dir(record) if not name.startswith("_")}


def test_parameters_have_the_defaults_of_the_native_records_and_no_field_less():
    native = _native.SqpParameters()
    for name, mine, theirs in values_of(SqpParameters(), native):
        assert mine == theirs, name
    for record, there in (
        (SqpParameters(), native),
        (InteriorPointParameters(), native.interior_point),
        (ActiveRowsParameters(), native.active_rows),
        (DualBoundParameters(), native.dual_bound),
    ):
        assert {field.name for field in fields(record)} == public_names(there)


def test_every_parameter_reaches_the_native_record():
    def changed(record):
        values = {}
        for field in fields(record):
            value = getattr(record, field.name)
            if is_dataclass(value):
                values[field.name] = changed(value)
            elif isinstance(value, tuple):
                values[field.name] = tuple(2 * entry for entry in value)
            else:
                values[field.name] = type(value)(2 * value)
        return replace(record, **values)

    doubled = changed(SqpParameters())
    for name, mine, theirs in values_of(doubled, native_parameters(doubled)):
        assert mine == theirs, name


def test_parameters_steer_the_loop():
    rows = rows_of(1)
    start = initial_point(rows)
    usual, held = SqpLoop(rows, start, 1e-9), SqpLoop(rows, start, 1e-9, parameters=SqpParameters(cold_regularisation=1e4))
    usual.advance()
    held.advance()
    assert held.predicted_decrease < 0.1 * usual.predicted_decrease


def test_a_programme_too_inexact_to_prove_the_gap_is_solved_more_exactly():
    problem = draw_problem(4, rows=300, numeric=3, levels=(12, 9), radius=0.02)
    coarse = SqpParameters(qp_gap_fraction=1e3)
    never = replace(coarse, qp_refinement=1.0)
    refined, left = (SQP(parameters).solve(problem, SolveOptions(polish=False)) for parameters in (coarse, never))
    assert left.status is Status.STALLED
    assert refined.status is Status.OPTIMAL
    assert refined.upper_bound == pytest.approx(left.upper_bound, rel=1e-6)


def test_other_parameters_lead_to_the_same_optimum():
    problem = draw_problem(4, rows=300, numeric=3, levels=(3, 4), radius=0.02)
    other = SqpParameters(
        cold_active_width=0.3,
        sufficient_decrease=0.2,
        interior_point=InteriorPointParameters(max_correctors=0, boundary_fraction=0.9),
        dual_bound=DualBoundParameters(ridge=(1e-8, 1e-4, 1e-1)),
    )
    one, two = (SQP(parameters).solve(problem, SolveOptions()) for parameters in (SqpParameters(), other))
    assert one.status is two.status is Status.OPTIMAL
    np.testing.assert_allclose(two.primal.numeric, one.primal.numeric, atol=1e-9)
    np.testing.assert_allclose(two.primal.levels, one.primal.levels, atol=1e-9)


def test_a_crowded_active_set_is_narrowed_and_leads_to_the_same_optimum():
    problem = draw_problem(2, rows=400, numeric=6, ranged=6, levels=(4, 3), radius=0.3)
    sifting = ActiveRowsParameters(least_hinges=0, least_inactive=0.0)
    found = [
        SQP(SqpParameters(active_rows=replace(sifting, crowded=crowded, crowded_width=width))).solve(problem, SolveOptions())
        for crowded, width in ((np.inf, 1.0), (0.0, 1e-6))
    ]
    assert [each.status for each in found] == [Status.OPTIMAL, Status.OPTIMAL]
    assert found[1].upper_bound == pytest.approx(found[0].upper_bound, rel=1e-9)
    np.testing.assert_allclose(found[1].primal.numeric, found[0].primal.numeric, atol=1e-8)
