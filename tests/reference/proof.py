"""What every solver's answer must stand: the optimum of an independent model, and the certificate's own arithmetic."""

from __future__ import annotations

from functools import cache

import pytest
from problem_bank import WHOLE_BANK

from reference.enumerated_model import solve_enumerated
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.estimator.certified_outcome import certified
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.robust.registry import RobustOutcome

TOLERANCE = 1e-6


@cache
def optimum(name: str) -> float:
    """The optimum of a problem of the bank, from the enumerated model."""
    return solve_enumerated(WHOLE_BANK[name]()).optimum


def assert_proven(problem: RobustLogisticProblem, outcome: RobustOutcome, tolerance: float = TOLERANCE) -> None:
    """The solve ended by its own account, and the certificate agrees with that account."""
    assert outcome.status is Status.OPTIMAL
    certificate, _ = certified(problem, outcome, SolveOptions(tolerance=tolerance))
    assert certificate.verified, certificate.claim
    assert certificate.upper_bound == pytest.approx(outcome.upper_bound, rel=1e-9)
    assert outcome.upper_bound - outcome.lower_bound <= tolerance * abs(outcome.upper_bound)
