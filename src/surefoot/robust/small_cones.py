"""Small problems that got stuck, as cone programmes.

Prices and weights that differ by many powers of ten leave quadratic steps too short to arrive. An interior point on the
enumerated model, or on its longest-path formulation, does not mind them as much; from where it ends, quadratic steps get on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import UnsupportedProblemError
from surefoot.robust.conic.graph import Graph
from surefoot.robust.conic.monolithic import Monolithic
from surefoot.robust.conic.parameters import ConicParameters
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.registry import RobustOutcome
from surefoot.robust.second_attempts import Attempt, Solve


@dataclass(frozen=True)
class SmallConeParameters:
    """What is small enough: a cone programme of this size takes about a second. Not tuned."""

    max_pieces: int = 20_000
    max_coefficients: int = 200
    max_arcs: int = 50_000


PARAMETERS = SmallConeParameters()


def conic_attempts(solve: Solve, problem: RobustLogisticProblem, options: SolveOptions) -> list[Attempt]:
    """Each cone programme, and then ``solve`` from the best model."""
    p = PARAMETERS
    conic = ConicParameters(max_pieces=p.max_pieces, max_coefficients=p.max_coefficients, max_arcs=p.max_arcs)
    programmes = (Monolithic(parameters=conic), Graph(parameters=conic))
    return [
        partial(_attempt, problem, options, programme, step) for programme in programmes for step in (programme.solve, solve)
    ]


def _attempt(
    problem: RobustLogisticProblem, options: SolveOptions, programme: Monolithic | Graph, step: Solve, best: RobustCoefficients
) -> RobustOutcome | None:
    if programme.refuses(problem) is not None:
        return None
    try:
        return step(problem, options, best)
    except UnsupportedProblemError:  # it cannot keep to the time limit
        return None
