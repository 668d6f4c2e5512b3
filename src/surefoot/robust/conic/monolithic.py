"""The monolithic model: problem (3) of the paper, one constraint for every row and every category vector.

The longest-path formulation and the cutting planes share its pieces: :func:`piece_programme` poses the robust problem with some
of its constraints, :func:`solve_once` solves a programme that is equivalent to the problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.sparse

from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.design.encode.duplicates import collapse_rows
from surefoot.robust.conic.incumbent import Incumbent
from surefoot.robust.conic.pieces import Coordinates, Pieces
from surefoot.robust.conic.proven_plan import Multipliers
from surefoot.robust.conic.softplus_programme import SETTINGS, ConeSolution, SoftplusProgramme
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.registry import RobustOutcome, require_acceptance

# So many take about a minute and a gigabyte.
MOST_PIECES = 200_000
# Plans are balanced with the eigenvectors of a dense matrix of this order: some seconds each time.
MOST_COEFFICIENTS = 2000


def piece_programme(coordinates: Coordinates, pieces: Pieces, *, box: float = np.inf) -> SoftplusProgramme:
    """The robust problem with only these pieces; with radius 0 the price and its limits drop out.

    ``box`` bounds the coefficients, for relaxations that have no solution without it.
    """
    limits, cone = coordinates.price_limits(), coordinates.price_cone()
    if coordinates.problem.radius == 0:
        limits, cone = limits[:0], cone[:0]
    ceilings = np.zeros(limits.shape[0])
    if np.isfinite(box):
        count = coordinates.n_coefficients
        identity = scipy.sparse.eye_array(count, coordinates.size, format="csr")
        limits = scipy.sparse.csr_array(scipy.sparse.vstack((limits, identity, -identity)))
        ceilings = np.concatenate((ceilings, np.full(2 * count, box)))
    return SoftplusProgramme(
        coordinates.objective, limits, ceilings, pieces.arguments(coordinates), pieces.allowances(coordinates), cone
    )


def too_wide(problem: RobustLogisticProblem) -> str | None:
    """Why a problem has too many coefficients for a proof from a cone programme, or None."""
    count = problem.n_numeric + int((problem.n_levels - 1).sum())
    if count <= MOST_COEFFICIENTS:
        return None
    return f"it has {count} coefficients, more than {MOST_COEFFICIENTS}."


def solve_once(
    incumbent: Incumbent, programme: SoftplusProgramme, multipliers: Callable[[ConeSolution], Multipliers]
) -> RobustOutcome:
    """Solve a programme that is equivalent to the problem, with other settings until the gap is closed."""
    options, iterations, ended = incumbent.options, 0, Status.STALLED
    for settings in SETTINGS:
        left = settings.max_iter if options.max_iter is None else options.max_iter - iterations
        settings = replace(settings, max_iter=left, objective_scale=incumbent.upper_bound)
        solution = programme.solve(incumbent.cone_options, settings)
        iterations += solution.iterations
        incumbent.offer(solution.x, multipliers(solution))
        incumbent.record(iterations)
        ended = solution.ended if solution.ended in (Status.TIME_LIMIT, Status.ITERATION_LIMIT) else Status.STALLED
        if incumbent.optimal or ended is not Status.STALLED or iterations >= (options.max_iter or np.inf):
            break
    return incumbent.outcome(ended, iterations)


def solve_pieces(incumbent: Incumbent, pieces: Pieces) -> RobustOutcome:
    """Solve the problem whose pieces are all given."""
    coordinates = incumbent.coordinates
    programme = piece_programme(coordinates, pieces)
    return solve_once(incumbent, programme, lambda found: Multipliers.of_pieces(coordinates, pieces, found.mass, found.flow))


class Monolithic:
    """All constraints of problem (3) at once: for small tables, and as a check on the other solvers."""

    name = "conic"

    def refuses(self, problem: RobustLogisticProblem) -> str | None:
        """Why the problem cannot be taken, or None."""
        if (reason := too_wide(problem)) is not None:
            return reason
        if problem.radius == 0 or Pieces.count(problem) <= MOST_PIECES:
            return None
        distinct = collapse_rows(problem.numeric, problem.codes, problem.labels, problem.weights).representatives.size
        count = Pieces.count(problem) // max(problem.n_rows, 1) * distinct
        if count <= MOST_PIECES:
            return None
        return (
            f"its {distinct} distinct rows have {count} category vectors and labels to guard against, more than {MOST_PIECES}."
        )

    def solve(
        self, problem: RobustLogisticProblem, options: SolveOptions, warm_start: RobustCoefficients | None = None
    ) -> RobustOutcome:
        """Solve the enumerated model; a warm start is only a model to beat, an interior point cannot start from it."""
        require_acceptance(self, problem)
        incumbent = Incumbent(problem, options, warm_start)
        if problem.radius == 0:
            return solve_pieces(incumbent, Pieces.unmoved(incumbent.problem))
        return solve_pieces(incumbent, Pieces.every(incumbent.problem))
