"""Certificates of predictions: distances of the best decisions of a cost from the observed ones, decision by decision."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.certificate import Certificate, require_tolerance
from surefoot.inverse.certificate.decision_bound import decision_bound
from surefoot.inverse.certificate.listed_decisions import listed_decisions
from surefoot.inverse.certificate.parameters import MAX_LISTED
from surefoot.inverse.problem.decision_proof import LossProof
from surefoot.inverse.problem.distance import NO_DISTANCE
from surefoot.inverse.problem.predicted_distances import TIED, predicted_distances
from surefoot.inverse.problem.problem import InverseProblem


def certify_predictions(
    problem: InverseProblem, theta: FloatArray, tolerance: float, loss_proofs: Sequence[LossProof | None] | None = None
) -> Certificate:
    """The predictability loss of a cost. Nothing but 0 is proven to bound it from below: it is verified if it is 0.

    Where decisions are too many to list, ``loss_proofs`` can prove that no decision of an observation costs less than the
    response, which is then predicted; nothing else is known there.
    """
    require_tolerance(tolerance)
    points = [listed_decisions(example.instance.decisions, MAX_LISTED) for example in problem.examples]
    known = [each for each in points if each is not None]
    upper = np.nan
    claim = "the predictability loss was not recomputed: decisions are too many to list."
    if np.any(theta) and len(known) == len(points):
        upper = float(predicted_distances(problem, theta, known).mean())
        claim = f"the best decisions of this cost lie at a mean distance of {upper:.9g} from the observed ones."
    elif np.any(theta) and _explained(problem, theta / np.abs(theta).max(), loss_proofs):
        upper = 0.0
        claim = "no decision costs less than the observed one, in any observation: all of them are predicted."
    relative = upper / abs(upper) if upper else upper
    return Certificate(claim, upper, 0.0, upper, relative, tolerance, None, bool(upper == 0), problem.digest())


def _explained(problem: InverseProblem, theta: FloatArray, loss_proofs: Sequence[LossProof | None] | None) -> bool:
    """Whether every response is a decision, and no other costs less by more than what counts as a tie."""
    if not all(example.inside for example in problem.examples):
        return False
    for i, example in enumerate(problem.examples):
        proof = None if loss_proofs is None else loss_proofs[i]
        bound = decision_bound(example, theta, NO_DISTANCE, 0.0, proof=proof)
        if bound is None or bound > TIED:
            return False
    return True
