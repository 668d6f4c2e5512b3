"""A grid of radii and label weights, each point solved from the solution of a neighbour.

The largest radius and the largest label weight come first, where the model is simplest. Along a line of one label weight the
radius falls; the first point of a line starts from the first of the line before.

Steps on a middling table are too short to be shared among threads: two cores solve one such problem no faster than one. So
lines are cut into two halves, each a grid of its own, and the halves are walked side by side. The cut does not depend on how
many threads there are, and neither do the models. On smaller tables the halves would only wait for one another's interpreter;
on larger ones every step has work for all threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from threading import Event, Thread

from surefoot.core.blas_threads import blas_threads
from surefoot.core.outcome import Progress
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.registry import RobustLogisticSolver, RobustOutcome
from surefoot.robust.sqp.critical_radius import critical_radius

# Numbers in the table. Fewer, and what is around the steps, which is Python, takes as long as they do; more, and threads share
# the rows of a step well.
LEAST_SHARED, MOST_SHARED = 2_000, 500_000
# The part of a line's points, of those that must be solved, in the first half. Large radii tie more rows, so it is the smaller
# one; but next to the critical radius models are small and soon found, and a table with few rows for each level has levels that
# hardly any row holds, which are hard to fit at small radii.
SHARE, CRITICAL_SHARE, THIN_SHARE = 0.38, 0.45, 0.58
THIN = 5
# Those that walk on from a neighbour; to the others a path is a list of problems.
WALKERS = ("auto", "sqp")

Line = Sequence[RobustLogisticProblem]
Options = Callable[[RobustLogisticProblem], SolveOptions]
Point = tuple[int, int, RobustOutcome]


def walk_path(
    lines: Sequence[Line],
    solver: RobustLogisticSolver,
    another: Callable[[], RobustLogisticSolver],
    options: Options,
) -> Iterator[Point]:
    """Solve every problem of every line.

    Parameters
    ----------
    lines : sequence of sequences of RobustLogisticProblem
        As many problems in each, over the same rows, radii falling.
    solver : RobustLogisticSolver
    another : callable
        Gives a second one of its kind, for the other half: they remember the rows of their last problem.
    options : callable
        When to stop and whom to tell, asked as the solve of a problem begins.

    Yields
    ------
    line, place, outcome : int, int, RobustOutcome
        In the order of the walk; in that of the halves where a path is cut.
    """
    if not _is_cut(lines, solver):
        yield from _walk(lines, solver, options)
        return
    middle = _middle(lines[0])
    halves = [line[:middle] for line in lines], [line[middle:] for line in lines]
    asked = options(lines[0][0])
    walks: tuple[Iterable[Point], Iterable[Point]]
    # Two solves that tell of their progress would talk into one another.
    if asked.n_threads == 1 or asked.on_progress is not None:
        walks = _walk(halves[0], solver, options), _walk(halves[1], another(), options)
    else:
        # Each half works on its own core. Held once for all solves: setting the limit takes as long as a short step.
        with blas_threads(1, 0):
            walks = _side_by_side(_Half(halves[0], solver, options), _Half(halves[1], another(), options))
    for first, walk in zip((0, middle), walks, strict=True):
        for line, place, outcome in walk:
            yield line, first + place, outcome


def _is_cut(lines: Sequence[Line], solver: RobustLogisticSolver) -> bool:
    first = lines[0][0]
    cells = first.n_rows * (first.n_numeric + first.n_categorical)
    return solver.name in WALKERS and len(lines[0]) > 2 and LEAST_SHARED <= cells <= MOST_SHARED


def _middle(line: Line) -> int:
    """Where to cut, such that both parts take about as long."""
    first = line[0]
    # Above the critical radius nothing is solved.
    critical = critical_radius(first)
    known = sum(problem.radius >= critical for problem in line) if critical is not None else 0
    thin = first.n_rows < THIN * int(first.n_levels.sum())
    share = THIN_SHARE if thin else CRITICAL_SHARE if known else SHARE
    return max(known + round(share * (len(line) - known)), 1)


def _walk(lines: Sequence[Line], solver: RobustLogisticSolver, options: Options) -> Iterator[Point]:
    opening: RobustCoefficients | None = None
    for at, line in enumerate(lines):
        nearest = opening
        for place, problem in enumerate(line):
            outcome = solver.solve(problem, options(problem), warm_start=nearest)
            nearest = outcome.primal
            opening = nearest if place == 0 else opening
            yield at, place, outcome


def _side_by_side(mine: _Half, other: _Half) -> tuple[list[Point], list[Point]]:
    thread = Thread(target=other.run_aside, daemon=True)
    thread.start()
    try:
        mine.run()
        thread.join()
    except BaseException:
        # Ctrl-C reaches this thread only.
        other.abandoned.set()
        thread.join()
        raise
    if other.error is not None:
        raise other.error
    return mine.found, other.found


class _Half:
    """A walk along half of every line, with half of the threads."""

    def __init__(self, lines: Sequence[Line], solver: RobustLogisticSolver, options: Options) -> None:
        self.lines, self.solver, self.options = lines, solver, options
        self.found: list[Point] = []
        self.error: BaseException | None = None
        self.abandoned = Event()

    def run(self) -> None:
        self.found.extend(_walk(self.lines, self.solver, self._own_options))

    def run_aside(self) -> None:
        """In a thread, whose errors nobody sees unless they are kept."""
        try:
            self.run()
        except BaseException as error:
            self.error = error

    def _own_options(self, problem: RobustLogisticProblem) -> SolveOptions:
        asked = self.options(problem)
        return replace(asked, n_threads=max(1, asked.n_threads // 2), on_progress=self._stop_if_abandoned)

    def _stop_if_abandoned(self, _: Progress) -> None:
        if self.abandoned.is_set():
            raise KeyboardInterrupt
