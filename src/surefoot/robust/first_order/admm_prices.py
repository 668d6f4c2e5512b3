"""The search over the price: where to look next, given lines below a convex function of one variable.

Let V(lambda) be the minimum of the objective over models that the price lambda admits; V is convex, and radius * lambda is
below it. Solving at a price p to an error e gives a line below V that comes within e of V(p); its slope is V'(p) up to about
the square root of 2 e V''. Two consequences are drawn from the lines:

- where a line exceeds the best objective known, no optimal price can be. This interval is a fact, whatever the errors;
- slopes are a derivative to find the zero of. The secant through the last two of them is Newton's method with a measured
  curvature; a difference of slopes that could be error is no measurement, and the curvature before it stays.

After two slopes of the same sign, steps are doubled: the bound needs lines of both kinds
(:mod:`surefoot.robust.first_order.admm_bounds`). Where steps disappoint, which happens at kinks of V, the middle of the
interval is tried.
"""

from __future__ import annotations

from dataclasses import dataclass, field

# Slopes must differ by four times what their errors explain; squared, as errors are of the value.
SIGNIFICANCE = 16.0
# No step changes the price by more than this factor.
LONGEST_STEP = 4.0
# New prices keep this share of the interval away from its ends, which are known to be bad.
MARGIN = 0.02


@dataclass(frozen=True)
class Tangent:
    """A line entropy + slack * lambda below V, within ``error`` of it at ``price``."""

    price: float
    entropy: float
    slack: float
    error: float


@dataclass
class PriceSearch:
    """The tangents so far, in the order in which they were found."""

    radius: float
    tangents: list[Tangent] = field(default_factory=list)
    curvature: float = 0.0
    disappointments: int = 0

    @property
    def both_signs(self) -> bool:
        return len({tangent.slack >= 0 for tangent in self.tangents}) == 2

    def interval(self, upper_bound: float) -> tuple[float, float]:
        """All prices whose lines are at or below the best objective known."""
        low, high = 0.0, upper_bound / self.radius
        for tangent in self.tangents:
            if tangent.slack > 0:
                high = min(high, (upper_bound - tangent.entropy) / tangent.slack)
            elif tangent.slack < 0:
                low = max(low, (upper_bound - tangent.entropy) / tangent.slack)
        return low, max(low, high)

    def add(self, tangent: Tangent, progress: float) -> None:
        """Take a tangent in; ``progress`` is the gap after it over the gap before it."""
        if self.tangents:
            last = self.tangents[-1]
            rise, run = tangent.slack - last.slack, tangent.price - last.price
            if rise * run >= SIGNIFICANCE * max(tangent.error, last.error) and rise * run > 0:
                self.curvature = rise / run
        self.tangents.append(tangent)
        if self.both_signs and progress > 0.9:
            self.disappointments += 1

    def next_price(self, upper_bound: float) -> float:
        """The next price to solve at."""
        last = self.tangents[-1]
        low, high = self.interval(upper_bound)
        if self.disappointments % 3 == 2:
            trial = 0.5 * (low + high)
        elif self.curvature > 0:
            repeated = len(self.tangents) > 1 and (self.tangents[-2].slack < 0) == (last.slack < 0)
            trial = last.price - (2.0 if repeated else 1.0) * last.slack / self.curvature
        else:
            trial = 2.0 * last.price if last.slack < 0 else last.price / 3.0
        low, high = max(low, last.price / LONGEST_STEP), min(high, last.price * LONGEST_STEP)
        keep = MARGIN * (high - low)
        return min(max(trial, low + keep), high - keep)
