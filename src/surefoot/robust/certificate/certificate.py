"""The verdict on a robust logistic model and a table in memory: the certificate of one part that is the whole table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from surefoot.core.certificate import Certificate, require_tolerance
from surefoot.exceptions import CertificateError
from surefoot.robust.certificate.objective import require_shapes
from surefoot.robust.certificate.partitioned_certificate import LocalParts, certificate_of, examine
from surefoot.robust.certificate.posed_rows import WEIGHT_SLACK, read_setting

if TYPE_CHECKING:
    from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem, ShiftPlan


def certify_robust_logistic(
    problem: RobustLogisticProblem, coefficients: RobustCoefficients, plan: ShiftPlan | None, tolerance: float
) -> Certificate:
    """Judge a model and the plan that is said to prove it optimal.

    Parameters
    ----------
    problem : RobustLogisticProblem
    coefficients : RobustCoefficients
        The model. A price too low for its numeric coefficients is raised to an admissible one.
    plan : ShiftPlan or None
        The adversary's plan. Without one, or with one that is refused, the lower bound is 0.
    tolerance : float
        The relative gap to prove.

    Returns
    -------
    Certificate
        ``verified`` only if both bounds are proven and within the tolerance; ``witness`` is the plan, if accepted.

    Raises
    ------
    CertificateError
        If shapes do not fit the problem, or the problem's own arrays break its conventions.
    """
    require_tolerance(tolerance)
    setting = read_setting(problem)
    require_shapes(setting, coefficients)
    weight = float(np.sum(problem.weights))
    if not abs(weight - 1.0) <= WEIGHT_SLACK:
        raise CertificateError(f"weights sum to {weight}; they are shares, which sum to 1.")
    found = examine(setting, coefficients, LocalParts([(problem, plan)]), tolerance, shares=True)
    return certificate_of(setting, coefficients, found, tolerance, plan)
