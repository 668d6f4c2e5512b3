"""The one warning about a fit that is not proven optimal: what ended it, and which bound still holds."""

from __future__ import annotations

import warnings
from typing import Any, Protocol

from surefoot.core.certificate import Certificate
from surefoot.core.outcome import SolveOutcome, Status
from surefoot.exceptions import ConvergenceLimitWarning


class Judged(Protocol):
    """A solve and the verdict on it."""

    @property
    def outcome(self) -> SolveOutcome[Any, Any]: ...
    @property
    def certificate(self) -> Certificate: ...


def warn_of_limit(solution: Judged, where: str) -> None:
    """Warn once that a model is not proven optimal, and say what is proven."""
    outcome, certificate = solution.outcome, solution.certificate
    if outcome.status is Status.OPTIMAL:
        ending = f"reached its tolerance by its own account, but the certificate could not confirm it ({certificate.claim})"
    else:
        ending = f"stopped before its tolerance ({outcome.status.value} after {outcome.iterations} iterations)"
    warnings.warn(
        f"{where} {ending}. The model's objective is {certificate.upper_bound:.9g}; the lower bound "
        f"{certificate.lower_bound:.9g} still holds for every model, a relative gap of {certificate.relative_gap:.1e} "
        f"(tol = {certificate.tolerance:.1e}). "
        "Allow more with time_limit or max_iter, or ask for less with tol.",
        ConvergenceLimitWarning,
        stacklevel=3,
    )
