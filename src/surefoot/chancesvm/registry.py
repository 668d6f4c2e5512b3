"""The solvers for chance-constrained SVMs by name."""

from __future__ import annotations

from surefoot.chancesvm.problem.problem import ChanceSVMProblem, EllipsoidMix, KernelPlane
from surefoot.core.outcome import SolveOutcome
from surefoot.core.registry import Solver, SolverRegistry

ChanceOutcome = SolveOutcome[KernelPlane, EllipsoidMix]
ChanceSVMSolver = Solver[ChanceSVMProblem, KernelPlane, EllipsoidMix]

SOLVERS: SolverRegistry[ChanceSVMSolver] = SolverRegistry(
    {
        "auto": "surefoot.chancesvm.solvers.ellipsoid_cuts:EllipsoidCuts",
        "worst-points": "surefoot.chancesvm.solvers.ellipsoid_cuts:EllipsoidCuts",
        "socp": "surefoot.chancesvm.solvers.chance_socp:ChanceSOCP",
        "admm": "surefoot.chancesvm.solvers.chance_admm:ChanceADMM",
    }
)
make_chance_solver = SOLVERS.make
require_chance_acceptance = SOLVERS.require_acceptance
