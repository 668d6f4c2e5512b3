"""The solvers of inverse optimization by name.

An approach poses a problem (:mod:`surefoot.inverse.problem.approaches`); a solver solves it. Users name a solver, ``"exact"``
or ``"samd"``; the approach determines the exact algorithm.
"""

from __future__ import annotations

from typing import Any

from surefoot.core.outcome import SolveOutcome
from surefoot.core.registry import Solver, SolverRegistry
from surefoot.inverse.problem.problem import InverseProblem

InverseOutcome = SolveOutcome[Any, Any]
InverseSolver = Solver[InverseProblem, Any, Any]

# Made with an approach and its separation oracle ("auto", "exact"), or with switches and a forward oracle ("samd").
SOLVERS: SolverRegistry[InverseSolver] = SolverRegistry(
    {
        "auto": "surefoot.inverse.exact.exact_solver:ExactSolver",
        "exact": "surefoot.inverse.exact.exact_solver:ExactSolver",
        "samd": "surefoot.inverse.mirror.mirror_descent:MirrorDescent",
    }
)
# The exact algorithm of every approach, made with a separation oracle.
EXACT_SOLVERS: SolverRegistry[InverseSolver] = SolverRegistry(
    {
        "asl": "surefoot.inverse.exact.augmented_loss:AugmentedLoss",
        "incenter": "surefoot.inverse.exact.incenter:Incenter",
        "suboptimality": "surefoot.inverse.exact.sphere_facets:LeastSuboptimality",
        "feasibility": "surefoot.inverse.exact.consistent_cost:ConsistentCost",
        "cutting-plane": "surefoot.inverse.exact.consistent_cost:NearestConsistentCost",
        "circumcenter": "surefoot.inverse.cone.circumcenter:Circumcenter",
        "ellipsoidal-incenter": "surefoot.inverse.exact.ellipsoidal_master:EllipsoidalIncenter",
        "ellipsoidal-circumcenter": "surefoot.inverse.cone.circumcenter:EllipsoidalCircumcenter",
        "ellipsoidal-asl": "surefoot.inverse.exact.ellipsoidal_master:EllipsoidalLoss",
        "predictability": "surefoot.inverse.exact.predictability_search:Predictability",
    }
)
