"""What a fit leaves so that its cost can be judged again without any search."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.inverse.problem.cost_proof import CostProof, FacetProof
from surefoot.inverse.problem.decision_proof import DecisionTrees
from surefoot.inverse.problem.ray_proof import RayProof


@dataclass(frozen=True, eq=False, repr=False)
class CostWitness:
    """Why no cost is better, and why losses are no larger than they are.

    Attributes
    ----------
    bound : CostProof, FacetProof, RayProof or None
        What proves the lower bound.
    losses : tuple
        For each observation a proof that no decision exceeds its loss, the loss itself where there is none, or None where
        certificates go through all decisions; of rays such a tuple for each ray.
    """

    bound: CostProof | FacetProof | RayProof | None
    losses: tuple[DecisionTrees | float | tuple[DecisionTrees | float | None, ...] | None, ...]
