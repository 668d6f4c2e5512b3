"""Shifts other than expected: the seven scenarios of Section 5.2 of Sun, Justin, Gomez and Vayanos (AISTATS 2025).

The certainties that a person names may be wrong. Three scenarios move all of them together, by -0.2, -0.1 and +0.1, and four
draw each of them anew, uniformly within 0.05, 0.1, 0.15 and 0.2 of what it was, once for all sets. The paper does not say what
happens at the ends of the range; here a certainty stays at or above chance, 1 / (number of levels), for categories, at or above
0.001 for numbers, whose scale would otherwise be infinite, and at or below 1. Columns without a certainty never shift.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray

_LEAST_NUMERIC = 1e-3


@dataclass(frozen=True)
class Scenario:
    """How certainties differ from what was expected: moved by ``offset``, then drawn within ``half_width``.

    Attributes
    ----------
    name : str
    stream : int
        Which random numbers the scenario uses: its own.
    """

    name: str
    stream: int
    offset: float = 0.0
    half_width: float = 0.0

    def certainties(self, expected: FloatArray, lowest: FloatArray, seed: np.random.SeedSequence) -> FloatArray:
        """The certainties of this scenario; ``lowest`` is 0 for numeric columns and chance for categorical ones."""
        changed = expected + self.offset
        if self.half_width > 0:
            changed = changed + np.random.default_rng(seed).uniform(-self.half_width, self.half_width, size=expected.shape)
        clipped: FloatArray = np.clip(changed, np.maximum(lowest, _LEAST_NUMERIC), 1.0)
        return clipped


EXPECTED = Scenario("expected", 0)
UNEXPECTED = (
    Scenario("certainty -0.2", 1, offset=-0.2),
    Scenario("certainty -0.1", 2, offset=-0.1),
    Scenario("certainty +0.1", 3, offset=0.1),
    Scenario("certainty within 0.05", 4, half_width=0.05),
    Scenario("certainty within 0.1", 5, half_width=0.1),
    Scenario("certainty within 0.15", 6, half_width=0.15),
    Scenario("certainty within 0.2", 7, half_width=0.2),
)
_NAMED = {scenario.name: scenario for scenario in (EXPECTED, *UNEXPECTED)}


def named_scenarios(chosen: Any) -> tuple[Scenario, ...]:
    """Scenarios from "expected", "unexpected", "all", one name, or a list of names."""
    groups = {"unexpected": UNEXPECTED, "all": (EXPECTED, *UNEXPECTED)}
    if isinstance(chosen, str) and chosen in groups:
        return groups[chosen]
    names = [chosen] if isinstance(chosen, str) else list(chosen) if hasattr(chosen, "__iter__") else [chosen]
    unknown = [name for name in names if not isinstance(name, str) or name not in _NAMED]
    if unknown or not names or len(set(names)) < len(names):
        raise ValueError(
            f"scenarios = {chosen!r} is not understood; use 'expected', 'unexpected', 'all', or a list of names, each once, of "
            f"{', '.join(map(repr, _NAMED))}."
        )
    return tuple(_NAMED[name] for name in names)
