"""The monolithic model: problem (3) of Sun, Justin, Gomez and Vayanos (AISTATS 2025), every constraint at once.

    min  radius * lambda + sum_i w_i r_i
    subject to   softplus(-s (beta_0 + beta_x . x_i + beta_z(z'))) <= r_i + lambda c(z', s)   for every row, category vector,
    label,
                 || (beta_j / gamma_j)_j ||_* <= lambda,

an exponential-cone programme solved by an interior point. One iteration is one solve: the model gets its exact objective, the
multipliers are repaired into a feasible plan (:mod:`surefoot.robust.conic.proven_plan`), and if the duality gap of the two is
still open the interior point runs again with other settings. The number of constraints grows with the product of the level
counts, so this is for small tables, and a check on the other solvers.

The longest-path formulation and the cutting planes use the same parts: :func:`piece_programme` poses the robust problem with
some of its constraints, :func:`solve_once` solves a programme that is equivalent to the problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.sparse

from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.design.encode.duplicates import collapse_rows
from surefoot.exceptions import UnsupportedProblemError
from surefoot.robust.conic.conic_run import ConicRun
from surefoot.robust.conic.parameters import ConicParameters
from surefoot.robust.conic.pieces import Coordinates, Pieces
from surefoot.robust.conic.proven_plan import Multipliers
from surefoot.robust.conic.softplus_programme import ConeSolution, SoftplusProgramme
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.registry import RobustOutcome, ranges_refused, require_acceptance


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


def too_wide(problem: RobustLogisticProblem, parameters: ConicParameters) -> str | None:
    """Why a problem has too many coefficients for a dual bound from a cone programme, or None."""
    count = problem.n_numeric + int((problem.n_levels - 1).sum())
    if count <= parameters.max_coefficients:
        return None
    return f"it has {count} coefficients, more than {parameters.max_coefficients}."


def require_time(name: str, seconds: float, options: SolveOptions, parameters: ConicParameters) -> None:
    """Raise if the first iteration would outlast the time limit: it cannot be interrupted, and nothing would come of it."""
    limit = options.time_limit
    if limit is not None and seconds > max(limit, parameters.short_seconds):
        raise UnsupportedProblemError(
            f"solver={name!r} cannot keep to a time limit of {limit:g} s: the first iteration of its interior point takes "
            f"about {seconds:.1f} s here. Use solver='auto', which stops at any time, or a longer limit."
        )


def score_seconds(problem: RobustLogisticProblem, n_scores: int, parameters: ConicParameters) -> float:
    """What an iteration over so many scores takes, at about; each of them stands in two cones."""
    return 2.0 * n_scores * (problem.n_numeric + problem.n_categorical + 3) / parameters.entries_per_second


def solve_once(
    run: ConicRun, programme: SoftplusProgramme, multipliers: Callable[[ConeSolution], Multipliers]
) -> RobustOutcome:
    """Solve a programme that is equivalent to the problem, with other settings until the gap is closed."""
    options, iterations, ended = run.options, 0, Status.STALLED
    for settings in run.parameters.cone_settings:
        left = settings.max_iter if options.max_iter is None else options.max_iter - iterations
        settings = replace(settings, max_iter=left, objective_scale=run.upper_bound)
        solution = programme.solve(run.cone_options, settings)
        iterations += solution.iterations
        run.update(solution.x, multipliers(solution))
        run.record(iterations)
        ended = solution.ended if solution.ended in (Status.TIME_LIMIT, Status.ITERATION_LIMIT) else Status.STALLED
        if run.converged or ended is not Status.STALLED or iterations >= (options.max_iter or np.inf):
            break
    return run.restored_outcome(ended, iterations)


def solve_pieces(run: ConicRun, pieces: Pieces) -> RobustOutcome:
    """Solve the problem whose pieces are all given."""
    coordinates = run.coordinates
    programme = piece_programme(coordinates, pieces)
    return solve_once(run, programme, lambda found: Multipliers.of_pieces(coordinates, pieces, found.mass, found.flow))


class Monolithic:
    """All constraints of problem (3) at once: for small tables, and as a check on the other solvers."""

    name = "conic"

    def __init__(self, *, parameters: ConicParameters | None = None) -> None:
        self.parameters = parameters or ConicParameters()

    def refuses(self, problem: RobustLogisticProblem) -> str | None:
        """Why the problem cannot be taken, or None."""
        if (reason := ranges_refused(problem) or too_wide(problem, self.parameters)) is not None:
            return reason
        most = self.parameters.max_pieces
        if problem.radius == 0 or Pieces.count(problem) <= most:
            return None
        distinct = collapse_rows(problem.numeric, problem.codes, problem.labels, problem.weights).representatives.size
        count = Pieces.count(problem) // max(problem.n_rows, 1) * distinct
        if count <= most:
            return None
        return f"its {distinct} distinct rows have {count} category vectors and labels to guard against, more than {most}."

    def solve(
        self, problem: RobustLogisticProblem, options: SolveOptions, warm_start: RobustCoefficients | None = None
    ) -> RobustOutcome:
        """Solve the enumerated model; a warm start is only a first incumbent, an interior point cannot start from it."""
        require_acceptance(self, problem)
        run = ConicRun(problem, options, warm_start, self.parameters)
        count = run.problem.n_rows if problem.radius == 0 else Pieces.count(run.problem)
        require_time(self.name, score_seconds(run.problem, count, self.parameters), options, self.parameters)
        if problem.radius == 0:
            return solve_pieces(run, Pieces.unmoved(run.problem))
        return solve_pieces(run, Pieces.every(run.problem))
