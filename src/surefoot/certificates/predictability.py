"""Certificates of predictions: how far the best decisions of a cost lie from the observed ones, decision by decision."""

from __future__ import annotations

import numpy as np

from surefoot.certificates.certificate import Certificate
from surefoot.certificates.listed_decisions import listed_decisions
from surefoot.certificates.robust_logistic import require_tolerance
from surefoot.problems.arrays import FloatArray
from surefoot.problems.inverse import InverseProblem
from surefoot.problems.predictability import predicted_distances

MOST_UNKNOWNS = 16


def certify_predictions(problem: InverseProblem, theta: FloatArray, tolerance: float) -> Certificate:
    """The predictability loss of a cost. Nothing but 0 is proven to bound it from below: it is verified if it is 0."""
    require_tolerance(tolerance)
    points = [listed_decisions(example.instance.decisions, MOST_UNKNOWNS) for example in problem.examples]
    known = [each for each in points if each is not None]
    upper = np.nan
    claim = "the predictability loss was not recomputed: decisions are too many to list."
    if len(known) == len(points) and np.any(theta):
        upper = float(predicted_distances(problem, theta, known).mean())
        claim = f"the best decisions of this cost lie at a mean distance of {upper:.9g} from the observed ones."
    relative = upper / abs(upper) if upper else upper
    return Certificate(claim, upper, 0.0, upper, relative, tolerance, None, bool(upper == 0), problem.digest())
