"""The one warning about a fit that is not proven optimal: what ended it, and which bound still holds."""

from __future__ import annotations

import warnings
from typing import Any, Protocol

from surefoot.core.certificate import Certificate, rounded_down, rounded_up
from surefoot.core.outcome import SolveOutcome, Status
from surefoot.exceptions import ConvergenceLimitWarning
from surefoot.sklearn_api.shown_certificate import gap_scale

_MORE = "Allow more with time_limit or max_iter, or ask for less with tol."
_DIGITS = "If rounding is why, surefoot.verify(..., arithmetic='ball') confirms it: the same bounds with more digits."
_OTHER = "Scale the columns, or try another solver."
# What to do about a fit that is not proven optimal, by what ended it. A model was found, so the problem is neither infeasible
# nor unbounded: a solver that says so was misled by rounding.
ADVICE: dict[Status, str] = {
    Status.OPTIMAL: f"{_DIGITS} {_MORE}",
    Status.ITERATION_LIMIT: _MORE,
    Status.TIME_LIMIT: _MORE,
    Status.INTERRUPTED: _MORE,
    # No limit ended it, and perhaps none was set.
    Status.STALLED: f"Further steps got no nearer, so limits are not why. That gap is proven: ask for less with tol, above the "
    f"gap, and this model is called proven. Or: {_OTHER[0].lower()}{_OTHER[1:]}",
    Status.NUMERICAL_ERROR: f"The arithmetic of the solver broke down. {_OTHER}",
    Status.INFEASIBLE: f"There is a model, so rounding misled the solver. {_OTHER}",
    Status.UNBOUNDED: f"Losses have a least value, so rounding misled the solver. {_OTHER}",
}


class Judged(Protocol):
    """A solve and the verdict on it."""

    @property
    def outcome(self) -> SolveOutcome[Any, Any]: ...
    @property
    def certificate(self) -> Certificate: ...


def warn_of_limit(solution: Judged, where: str, advice: str = "") -> None:
    """Warn once that a model is not proven optimal, and say what is proven; ``advice`` replaces the usual one."""
    outcome, certificate = solution.outcome, solution.certificate
    scale = gap_scale(certificate)
    least = f", relative to {scale}" if scale else ""
    if outcome.status is Status.OPTIMAL:
        ending = f"reached its tolerance by its own account, but the certificate could not confirm it ({certificate.claim})"
    else:
        ending = f"stopped before its tolerance ({outcome.status.value} after {outcome.iterations} iterations)"
    warnings.warn(
        f"{where} {ending}. The model's objective is at most {rounded_up(certificate.upper_bound, 9)}; the lower bound "
        f"{rounded_down(certificate.lower_bound, 9)} still holds for every model of its class, a relative gap of "
        f"{rounded_up(certificate.relative_gap, 2)}{least} "
        f"(tol = {certificate.tolerance:.1e}). {advice or ADVICE[outcome.status]}",
        ConvergenceLimitWarning,
        stacklevel=3,
    )
