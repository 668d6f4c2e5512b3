"""A grid of radii and label weights, each point solved from the solution of a neighbour.

The largest radius and the largest label weight come first, where the model is simplest. Along a line of one label weight the
radius falls; the first point of a line starts from the first of the line before.

Iterations on a middling table are too short to be divided among threads: two cores solve one such problem no faster than one.
So lines are cut into two halves, each a grid of its own, and the halves are solved side by side. The cut does not depend on how
many threads there are, and neither do the models. On smaller tables the halves would only wait for one another's interpreter;
on larger ones every iteration has work for all threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Event, Thread

from surefoot.core.blas_threads import blas_threads
from surefoot.core.outcome import Progress
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.registry import RobustLogisticSolver, RobustOutcome
from surefoot.robust.sqp.critical_radius import critical_radius

# Solvers that start from a neighbour's solution; to the others a path is a list of problems.
WARM_STARTED = ("auto", "sqp")


@dataclass(frozen=True)
class WarmPathParameters:
    """When a path is cut into two halves; chosen on the path timings of bench_real_weights.

    Checked on mushroom, adult, HELOC, diabetes, its diagnoses and ACS, 600 and 3,000 rows, mean certainty 0.7 and 0.9: with two
    threads a path cut in two takes 0.80 of the time of one that is not. Unequal halves, by radius and rare levels, had been
    faster on the tables that chose them and were slower here (1.03), so they are equal.
    """

    min_cells: int = 2_000  # numbers in the table; with fewer, the Python around the iterations takes as long as they do
    max_cells: int = 500_000  # with more, threads divide the rows of an iteration well


PARAMETERS = WarmPathParameters()

Line = Sequence[RobustLogisticProblem]
Options = Callable[[RobustLogisticProblem], SolveOptions]
Point = tuple[int, int, RobustOutcome]


def solve_path(
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
        Gives a second one of its kind, for the other half: each keeps the rows of its last problem.
    options : callable
        When to stop and whom to tell, called as the solve of a problem begins.

    Yields
    ------
    line, place, outcome : int, int, RobustOutcome
        In the order of the solves; in that of the halves where a path is cut.
    """
    if not _is_cut(lines, solver):
        yield from _solve_lines(lines, solver, options)
        return
    middle = _middle(lines[0])
    halves = [line[:middle] for line in lines], [line[middle:] for line in lines]
    given = options(lines[0][0])
    paths: tuple[Iterable[Point], Iterable[Point]]
    # Two solves that tell of their progress would talk into one another.
    if given.n_threads == 1 or given.on_progress is not None:
        paths = _solve_lines(halves[0], solver, options), _solve_lines(halves[1], another(), options)
    else:
        # Each half works on its own core. Held once for all solves: setting the limit takes as long as a short step.
        with blas_threads(1, 0):
            paths = _side_by_side(_Half(halves[0], solver, options), _Half(halves[1], another(), options))
    for first, path in zip((0, middle), paths, strict=True):
        for line, place, outcome in path:
            yield line, first + place, outcome


def _is_cut(lines: Sequence[Line], solver: RobustLogisticSolver) -> bool:
    first = lines[0][0]
    cells = first.n_rows * (first.n_numeric + first.n_categorical)
    enough = PARAMETERS.min_cells <= cells <= PARAMETERS.max_cells
    return solver.name in WARM_STARTED and len(lines[0]) > 2 and enough


def _middle(line: Line) -> int:
    """Where to cut: in the middle of the points that must be solved. Above the critical radius nothing is."""
    critical = critical_radius(line[0])
    known = sum(problem.radius >= critical for problem in line) if critical is not None else 0
    return max(known + round((len(line) - known) / 2), 1)


def _solve_lines(lines: Sequence[Line], solver: RobustLogisticSolver, options: Options) -> Iterator[Point]:
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
    """Half of every line, solved with half of the threads."""

    def __init__(self, lines: Sequence[Line], solver: RobustLogisticSolver, options: Options) -> None:
        self.lines, self.solver, self.options = lines, solver, options
        self.found: list[Point] = []
        self.error: BaseException | None = None
        self.abandoned = Event()

    def run(self) -> None:
        self.found.extend(_solve_lines(self.lines, self.solver, self._own_options))

    def run_aside(self) -> None:
        """In a thread, whose errors nobody sees unless they are stored."""
        try:
            self.run()
        except BaseException as error:
            self.error = error

    def _own_options(self, problem: RobustLogisticProblem) -> SolveOptions:
        given = self.options(problem)
        return replace(given, n_threads=max(1, given.n_threads // 2), on_progress=self._stop_if_abandoned)

    def _stop_if_abandoned(self, _: Progress) -> None:
        if self.abandoned.is_set():
            raise KeyboardInterrupt
