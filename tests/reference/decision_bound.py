"""The certificate's bound on the decisions of a single observation."""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot.inverse.certificate.decision_bound import decision_bounds


def bound_of(example: Any, theta: Any, distance: Any, proof: Any = None) -> float | None:
    """What no decision of an observation exceeds; None if nothing is proven."""
    found = decision_bounds([example], theta, distance, [proof])[0]
    return found if np.isfinite(found) else None
