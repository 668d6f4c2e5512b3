"""One-dimensional search over the dual price: a safeguarded secant method on inexact slopes.

    min over lambda >= 0 of V(lambda),    V(lambda) = min of the objective over models that the price lambda admits;

V is convex, and radius * lambda is below it. Solving at a price p to an error e gives an affine minorant of V that comes within
e of V(p); its slope is V'(p) up to about the square root of 2 e V''. One iteration:

1. Bracket: where a minorant exceeds the incumbent's objective, no optimal price can be. This holds whatever the errors.
2. Secant step: the zero of the derivative, with the curvature measured by the last two slopes. A difference of slopes that
   could be error is no measurement, and the curvature before it stays.
3. Safeguards: after two slopes of the same sign the step is doubled, because the dual bound needs minorants of both signs
   (:mod:`surefoot.robust.first_order.value_minorants`); after steps without progress, which happen at kinks of V, the bracket
   is bisected; every step stays inside the bracket.

The search ends with the solve: its caller knows the duality gap.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from surefoot.robust.first_order.parameters import AdmmParameters


@dataclass(frozen=True)
class Tangent:
    """A minorant entropy + slack * lambda of V, within ``error`` of it at ``price``."""

    price: float
    entropy: float
    slack: float
    error: float


@dataclass
class PriceSearch:
    """The tangents so far, in the order in which they were found."""

    radius: float
    parameters: AdmmParameters = field(default_factory=AdmmParameters)
    tangents: list[Tangent] = field(default_factory=list)
    curvature: float = 0.0
    failures: int = 0

    @property
    def both_signs(self) -> bool:
        return len({tangent.slack >= 0 for tangent in self.tangents}) == 2

    def bracket(self, upper_bound: float) -> tuple[float, float]:
        """All prices at which no minorant exceeds the incumbent's objective."""
        low, high = 0.0, upper_bound / self.radius
        for tangent in self.tangents:
            if tangent.slack > 0:
                high = min(high, (upper_bound - tangent.entropy) / tangent.slack)
            elif tangent.slack < 0:
                low = max(low, (upper_bound - tangent.entropy) / tangent.slack)
        return low, max(low, high)

    def add(self, tangent: Tangent, progress: float) -> None:
        """Take a tangent into account; ``progress`` is the gap after it over the gap before it."""
        if self.tangents:
            last = self.tangents[-1]
            rise, run = tangent.slack - last.slack, tangent.price - last.price
            if rise * run >= self.parameters.significance * max(tangent.error, last.error) and rise * run > 0:
                self.curvature = rise / run
        self.tangents.append(tangent)
        if self.both_signs and progress > 0.9:
            self.failures += 1

    def next_price(self, upper_bound: float) -> float:
        """The next price to solve at."""
        last = self.tangents[-1]
        low, high = self.bracket(upper_bound)
        if self.failures % 3 == 2:
            trial = 0.5 * (low + high)
        elif self.curvature > 0:
            repeated = len(self.tangents) > 1 and (self.tangents[-2].slack < 0) == (last.slack < 0)
            trial = last.price - (2.0 if repeated else 1.0) * last.slack / self.curvature
        else:
            trial = 2.0 * last.price if last.slack < 0 else last.price / 3.0
        factor = self.parameters.largest_price_factor
        low, high = max(low, last.price / factor), min(high, last.price * factor)
        margin = self.parameters.bracket_margin * (high - low)
        return min(max(trial, low + margin), high - margin)
