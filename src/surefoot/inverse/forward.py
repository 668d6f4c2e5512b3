"""Forward problems: what is decided at a signal, for ``InverseOptimizer(forward=...)``."""

from surefoot.problems.ellipsoid_forward import EllipsoidProgram
from surefoot.problems.forward import (
    BinaryProgram,
    CallableProblem,
    FiniteChoice,
    ForwardProblem,
    LinearProgram,
    MixedIntegerProgram,
)
from surefoot.problems.quadratic_forward import QuadraticProgram
from surefoot.problems.ready_forward import Assignment, Knapsack, ShortestPath

__all__ = [
    "Assignment",
    "BinaryProgram",
    "CallableProblem",
    "EllipsoidProgram",
    "FiniteChoice",
    "ForwardProblem",
    "Knapsack",
    "LinearProgram",
    "MixedIntegerProgram",
    "QuadraticProgram",
    "ShortestPath",
]
