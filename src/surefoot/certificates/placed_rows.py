"""The certificate of a robust logistic model whose rows live elsewhere: the passes of
:mod:`surefoot.certificates.parted_rows`, each part judged where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from operator import add
from typing import Any, Protocol

import numpy as np

from surefoot.certificates.certificate import Certificate
from surefoot.certificates.parted_rows import ModelSums, ProofSums, judged_model, judged_parts, model_sums, proof_sums
from surefoot.certificates.robust_logistic import flaw, require_shapes, require_tolerance, verdict
from surefoot.certificates.worst_case import WorstCaseObjective
from surefoot.problems.robust_logistic import RobustCoefficients
from surefoot.problems.terms import Terms


class PlannedParts(Protocol):
    """Where the parts live, each with the plan for its rows.

    ``judged`` calls ``work(batch, *arguments)`` with the rows of every part, wherever that is, and yields the answers in their
    order; ``judged_with_plans`` calls ``work(batch, plan, *arguments)``.
    """

    def judged(self, work: Callable[..., Any], *arguments: Any) -> Iterable[Any]: ...

    def judged_with_plans(self, work: Callable[..., Any], *arguments: Any) -> Iterable[Any]: ...


def certify_placed(terms: Terms, coefficients: RobustCoefficients, parts: PlannedParts, tolerance: float) -> Certificate:
    """Judge a model as :func:`~surefoot.certificates.parted_rows.certify_parts` does."""
    require_tolerance(tolerance)
    require_shapes(terms, coefficients)
    reason = flaw(terms, coefficients) or ""
    if reason:
        broken = WorstCaseObjective(value=np.inf, rounding=np.inf, price=np.inf)
        return verdict(broken, 0.0, None, reason, tolerance, radius=terms.radius, digest="")
    first: ModelSums = reduce(add, parts.judged(model_sums, terms, coefficients))
    objective, centre = judged_model(terms, coefficients, first)
    second: ProofSums | None = None
    if np.isfinite(objective.value):
        second = reduce(add, parts.judged_with_plans(proof_sums, terms, first.losses.weight, centre))
    return judged_parts(terms, first, objective, second, tolerance)
