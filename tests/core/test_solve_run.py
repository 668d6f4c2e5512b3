"""The state of a solve: incumbents only improve, bounds only rise, and only a closed gap is called optimal."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.core.outcome import Progress, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.core.solve_run import SolveRun

FINITE = st.floats(-1e6, 1e6)


@given(st.lists(st.tuples(st.booleans(), FINITE), max_size=20))
def test_the_best_point_and_the_best_bound_are_kept(offers: list[tuple[bool, float]]) -> None:
    run: SolveRun[str, str] = SolveRun(SolveOptions(), "nothing")
    for is_point, value in offers:
        if is_point:
            run.improve(f"point {value}", value)
        else:
            run.tighten(value, f"proof {value}")
    points, bounds = ([value for kind, value in offers if kind is wanted] for wanted in (True, False))
    assert run.upper_bound == min(points, default=math.inf)
    assert run.lower_bound == max(bounds, default=-math.inf)
    assert run.primal == (f"point {min(points)}" if points else "nothing")
    assert run.dual == (f"proof {max(bounds)}" if bounds else None)


@pytest.mark.parametrize(
    ("upper", "lower", "ended", "expected"),
    [
        (2.0, 2.0 - 1e-7, Status.TIME_LIMIT, Status.OPTIMAL),
        (2.0, 1.9, Status.TIME_LIMIT, Status.TIME_LIMIT),
        (2.0, 2.0 - 1e-7, Status.INTERRUPTED, Status.INTERRUPTED),
        (2.0, 1.9, Status.OPTIMAL, Status.STALLED),
        (0.0, -1e-7, Status.OPTIMAL, Status.OPTIMAL),
        (0.0, -1e-3, Status.OPTIMAL, Status.STALLED),
        (-2.0, -2.1, Status.OPTIMAL, Status.STALLED),
        (math.inf, 0.0, Status.INFEASIBLE, Status.INFEASIBLE),
        (math.inf, -math.inf, Status.OPTIMAL, Status.STALLED),
    ],
)
def test_only_a_closed_gap_is_called_optimal(upper: float, lower: float, ended: Status, expected: Status) -> None:
    run: SolveRun[None, None] = SolveRun(SolveOptions(tolerance=1e-6), None, upper, lower_bound=lower)
    assert run.outcome(ended).status is expected


def test_listeners_hear_every_line_of_history() -> None:
    heard: list[Progress] = []
    run: SolveRun[int, None] = SolveRun(SolveOptions(on_progress=heard.append), 0, 5.0, lower_bound=0.0)
    run.record(0)
    run.improve(1, 4.0)
    run.record(3)
    outcome = run.outcome(Status.ITERATION_LIMIT)
    assert outcome.history == tuple(heard)
    assert [(line.iteration, line.upper_bound) for line in heard] == [(0, 5.0), (3, 4.0)]
    assert (outcome.iterations, outcome.primal, outcome.dual) == (3, 1, None)
    assert outcome.seconds >= heard[-1].seconds >= 0


def test_a_run_may_have_begun_before_it_was_made() -> None:
    options = SolveOptions()
    run: SolveRun[int, None] = SolveRun(options, 0, 1.0, started=options.started - 5.0)
    assert run.record(0).seconds >= 5.0
    assert run.outcome(Status.TIME_LIMIT).seconds >= 5.0
