"""Forward problems: what is decided at a signal, for ``InverseOptimizer(forward=...)``."""

from surefoot.inverse.forward.array_program import ArrayProgram, from_scipy
from surefoot.inverse.forward.combinatorial import Assignment, Knapsack, ShortestPath
from surefoot.inverse.forward.ellipsoid_program import EllipsoidProgram
from surefoot.inverse.forward.graphs.from_networkx import from_networkx
from surefoot.inverse.forward.graphs.graph_flow import GraphFlow
from surefoot.inverse.forward.graphs.graph_matching import GraphMatching, SpanningTree
from surefoot.inverse.forward.graphs.graph_path import GraphPath
from surefoot.inverse.forward.models.called_model import ModelProblem, SolverProblem, from_solver
from surefoot.inverse.forward.models.from_cvxpy import from_cvxpy
from surefoot.inverse.forward.models.from_mps import from_mps
from surefoot.inverse.forward.models.from_pyomo import from_pyomo
from surefoot.inverse.forward.models.parametric_program import ParametricProgram
from surefoot.inverse.forward.programs import (
    BinaryProgram,
    CallableProblem,
    FiniteChoice,
    ForwardProblem,
    LinearProgram,
    MixedIntegerProgram,
)
from surefoot.inverse.forward.quadratic_program import QuadraticProgram

__all__ = [
    "ArrayProgram",
    "Assignment",
    "BinaryProgram",
    "CallableProblem",
    "EllipsoidProgram",
    "FiniteChoice",
    "ForwardProblem",
    "GraphFlow",
    "GraphMatching",
    "GraphPath",
    "Knapsack",
    "LinearProgram",
    "MixedIntegerProgram",
    "ModelProblem",
    "ParametricProgram",
    "QuadraticProgram",
    "ShortestPath",
    "SolverProblem",
    "SpanningTree",
    "from_cvxpy",
    "from_mps",
    "from_networkx",
    "from_pyomo",
    "from_scipy",
    "from_solver",
]
