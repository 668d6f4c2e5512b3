from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
from problem_bank import draw_problem
from reference.proof import TOLERANCE, assert_proven

from surefoot.core.outcome import Progress, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.registry import RobustOutcome
from surefoot.robust.sqp.sqp import SQP
from surefoot.robust.sqp.warm_path import PARAMETERS, solve_path

RADII = (0.3, 0.1, 0.03, 0.01, 0.003)


def lines_over(rows: int, label_weights: tuple[float, ...] = (np.inf,)) -> list[list[RobustLogisticProblem]]:
    drawn = draw_problem(3, rows=rows, numeric=3, levels=(3, 4))
    return [
        [replace(drawn, radius=radius, cost=replace(drawn.cost, label_weight=weight)) for radius in RADII]
        for weight in label_weights
    ]


def with_rare_levels(seed: int, rows: int, numeric: int, levels: tuple[int, ...]) -> RobustLogisticProblem:
    """A random problem whose levels are the rarer the later they are, down to one row and none."""
    drawn, draw = draw_problem(seed, rows=rows, numeric=numeric, levels=levels), np.random.default_rng((seed, 9))
    codes = np.column_stack([np.minimum(draw.geometric(0.35, size=rows) - 1, count - 1) for count in levels])
    score = drawn.numeric @ draw.normal(size=numeric)
    score = score + sum(draw.normal(size=count)[codes[:, l]] for l, count in enumerate(levels))
    labels = np.where(score + 0.8 * draw.logistic(size=rows) > 0, 1.0, -1.0)
    return replace(drawn, codes=codes.astype(np.int32), labels=labels)


SMALL, CUT = 60, PARAMETERS.min_cells // 5


class Watched(SQP):
    """Keeps what it was asked, and in which thread."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[RobustLogisticProblem, SolveOptions, RobustCoefficients | None, RobustCoefficients]] = []
        self.threads: set[int] = set()

    def solve(
        self, problem: RobustLogisticProblem, options: SolveOptions, warm_start: RobustCoefficients | None = None
    ) -> RobustOutcome:
        outcome = super().solve(problem, options, warm_start)
        self.calls.append((problem, options, warm_start, outcome.primal))
        self.threads.add(threading.get_ident())
        return outcome


@pytest.mark.parametrize("rows", [SMALL, CUT])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_every_point_of_a_path_is_solved_once_and_proven(rows: int, n_threads: int) -> None:
    lines = lines_over(rows, (np.inf, 0.5))
    found = list(solve_path(lines, SQP(), SQP, lambda _: SolveOptions(n_threads=n_threads, polish=False)))
    assert sorted((line, place) for line, place, _ in found) == [(line, place) for line in range(2) for place in range(5)]
    for line, place, outcome in found:
        assert_proven(lines[line][place], outcome, TOLERANCE)


def test_a_small_table_is_walked_in_one_line_from_neighbour_to_neighbour() -> None:
    first, second = Watched(), Watched()
    list(solve_path(lines_over(SMALL, (np.inf, 0.5)), first, lambda: second, lambda _: SolveOptions(n_threads=2)))
    assert not second.calls
    assert [problem.radius for problem, *_ in first.calls] == [*RADII, *RADII]
    ends = [answer for *_, answer in first.calls]
    starts = [start for _, _, start, _ in first.calls]
    assert starts[0] is None
    assert all(starts[at] is ends[at - 1] for at in (1, 2, 3, 4, 6, 7, 8, 9))
    # The second line begins where the first began to end.
    assert starts[5] is ends[0]


def test_a_middling_table_is_walked_in_two_halves_side_by_side() -> None:
    first, second = Watched(), Watched()
    list(solve_path(lines_over(CUT), first, lambda: second, lambda _: SolveOptions(n_threads=2)))
    assert [problem.radius for problem, *_ in first.calls] == [0.3, 0.1]
    assert [problem.radius for problem, *_ in second.calls] == [0.03, 0.01, 0.003]
    assert first.threads == {threading.get_ident()}
    assert threading.get_ident() not in second.threads
    assert {options.n_threads for _, options, _, _ in first.calls + second.calls} == {1}


def test_the_models_of_a_path_do_not_depend_on_the_number_of_threads() -> None:
    one, two = (
        {
            place: outcome.primal
            for _, place, outcome in solve_path(
                lines_over(CUT), SQP(), SQP, lambda _, n=n: SolveOptions(n_threads=n, polish=False)
            )
        }
        for n in (1, 2)
    )
    for place, model in one.items():
        np.testing.assert_allclose(two[place].numeric, model.numeric, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(two[place].levels, model.levels, rtol=1e-9, atol=1e-12)


def test_those_who_listen_hear_one_half_after_the_other() -> None:
    heard: list[Progress] = []
    ends: list[int] = []
    for _, place, outcome in solve_path(
        lines_over(CUT), SQP(), SQP, lambda _: SolveOptions(n_threads=2, on_progress=heard.append)
    ):
        ends.append(place)
        assert heard[-1].upper_bound == outcome.upper_bound
    assert ends == [0, 1, 2, 3, 4]


class Failing(SQP):
    def solve(
        self, problem: RobustLogisticProblem, options: SolveOptions, warm_start: RobustCoefficients | None = None
    ) -> RobustOutcome:
        raise ArithmeticError("the rows are gone")


def test_an_error_in_the_other_half_reaches_the_caller() -> None:
    with pytest.raises(ArithmeticError, match="the rows are gone"):
        list(solve_path(lines_over(CUT), SQP(), Failing, lambda _: SolveOptions(n_threads=2)))


class Interrupted(SQP):
    """Stands for Ctrl-C in the first half while the second is busy."""

    def __init__(self, busy: threading.Event) -> None:
        super().__init__()
        self.busy = busy

    def solve(
        self, problem: RobustLogisticProblem, options: SolveOptions, warm_start: RobustCoefficients | None = None
    ) -> RobustOutcome:
        assert self.busy.wait(30.0)
        raise KeyboardInterrupt


class Endless(SQP):
    """Never ends by itself, but tells of its progress."""

    def __init__(self, busy: threading.Event) -> None:
        super().__init__()
        self.busy, self.stopped = busy, False

    def solve(
        self, problem: RobustLogisticProblem, options: SolveOptions, warm_start: RobustCoefficients | None = None
    ) -> RobustOutcome:
        assert options.on_progress is not None
        try:
            while True:
                options.on_progress(Progress(1, 1.0, 0.0, 0.0))
                self.busy.set()
        finally:
            self.stopped = True


def test_an_interrupt_stops_both_halves() -> None:
    busy = threading.Event()
    endless = Endless(busy)
    with pytest.raises(KeyboardInterrupt):
        list(solve_path(lines_over(CUT), Interrupted(busy), lambda: endless, lambda _: SolveOptions(n_threads=2)))
    assert endless.stopped


def test_a_time_limit_holds_for_each_point() -> None:
    found = list(solve_path(lines_over(CUT), SQP(), SQP, lambda _: SolveOptions(n_threads=2, time_limit=1e-9)))
    assert len(found) == len(RADII)
    assert {outcome.status for *_, outcome in found} == {Status.TIME_LIMIT}
    assert all(outcome.lower_bound <= outcome.upper_bound for *_, outcome in found)


@pytest.mark.parametrize(
    ("seed", "rows", "numeric", "levels"),
    [(2, 120, 3, (8, 9, 6)), (1, 300, 4, (9, 12, 7, 15)), (5, 300, 4, (9, 12, 7, 15)), (11, 300, 4, (9, 12, 7, 15))],
)
def test_paths_to_tiny_radii_with_rare_levels_are_proven_to_their_end(
    seed: int, rows: int, numeric: int, levels: tuple[int, ...]
) -> None:
    # What a programme leaves of the gradient costs a bound hundreds of times as much here: an inexact one never proves enough.
    drawn = with_rare_levels(seed, rows, numeric, levels)
    solver, nearest = SQP(), None
    for radius in (1e-3, 1e-4, 1e-5, 1e-6):
        outcome = solver.solve(replace(drawn, radius=radius), SolveOptions(n_threads=1), nearest)
        nearest = outcome.primal
        assert outcome.status is Status.OPTIMAL
        assert outcome.upper_bound - outcome.lower_bound <= TOLERANCE * outcome.upper_bound
