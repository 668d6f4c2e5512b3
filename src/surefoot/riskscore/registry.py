"""The solvers for score cards by name."""

from __future__ import annotations

from typing import Any

from surefoot.core.registry import Solver, SolverRegistry
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem

RiskScoreSolver = Solver[RiskScoreProblem, RiskScore, Any]

ROUNDED = ("rd", "rsrd", "seqrd", "rd*", "rsrd*", "seqrd*")
SOLVERS: SolverRegistry[RiskScoreSolver] = SolverRegistry(
    {
        "auto": "surefoot.riskscore.automatic:AutomaticScore",
        "exact": "surefoot.riskscore.search.exact_score:ExactScore",
        "lcpa": "surefoot.riskscore.lattice.lcpa:LCPA",
        "cpa": "surefoot.riskscore.lattice.cpa:CPA",
        "heuristic": "surefoot.riskscore.search.heuristic_score:HeuristicScore",
    }
    | {name: f"surefoot.riskscore.baselines.rounded_score:RoundedScore:{name}" for name in ROUNDED}
)
make_score_solver = SOLVERS.make
require_score_acceptance = SOLVERS.require_acceptance
