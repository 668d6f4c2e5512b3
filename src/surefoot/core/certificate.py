"""The verdict on a model: what was proven, and from which data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from surefoot.exceptions import CertificateError


@dataclass(frozen=True)
class Certificate:
    """Bounds on the optimal objective, recomputed from the raw arrays.

    Attributes
    ----------
    claim : str
        One sentence: what the numbers below say.
    upper_bound : float
        Objective of the model itself.
    lower_bound : float
        No model whatsoever has an objective below this.
    gap, relative_gap : float
        ``upper_bound - lower_bound``, and the same over ``|upper_bound|`` (the gap itself where that is 0).
    tolerance : float
        The relative gap that was asked for.
    witness : object
        What proves the lower bound (for robust models a ``ShiftPlan``), or None.
    verified : bool
        Whether the recomputed relative gap is at or below ``tolerance``.
    problem_digest : str
        Fingerprint of the problem that was certified.
    """

    claim: str
    upper_bound: float
    lower_bound: float
    gap: float
    relative_gap: float
    tolerance: float
    witness: Any = field(repr=False)
    verified: bool
    problem_digest: str

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain Python containers and arrays."""
        return asdict(self)


def require_tolerance(tolerance: float) -> None:
    """Raise if no gap can be at or below this."""
    if not (np.isfinite(tolerance) and tolerance >= 0):
        raise CertificateError(f"tolerance = {tolerance} must be a finite number at or above 0.")
