"""State of one solve of an inverse problem."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeVar

import numpy as np

from surefoot.core.outcome import SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.core.solve_run import SolveRun

Primal = TypeVar("Primal")
Dual = TypeVar("Dual")

# How solves end that were cut short; all others but optimal ones ended by themselves.
CUT_SHORT = (Status.ITERATION_LIMIT, Status.TIME_LIMIT, Status.INTERRUPTED)


class CostRun(SolveRun[Primal, Dual]):
    """A run whose clock is that of the options, and whose solver has a gap test of its own.

    A fit may take many solves one after the other, with one clock.

    Parameters
    ----------
    relative, absolute : float
        The gap is closed at relative * |upper bound| + absolute; ``relative`` is the options' tolerance by default.

    Attributes
    ----------
    fallback : tuple or None
        The best cost that is not 0, with its objective: what a run returns that is cut short at a cost of 0, which decides
        nothing. What is reported with it need not be its objective: losses that must be 0 are none.
    """

    def __init__(
        self,
        options: SolveOptions,
        primal: Primal,
        upper_bound: float = math.inf,
        *,
        lower_bound: float = -math.inf,
        dual: Dual | None = None,
        relative: float | None = None,
        absolute: float = 0.0,
    ) -> None:
        super().__init__(options, primal, upper_bound, lower_bound=lower_bound, dual=dual)
        self.started = options.started
        self.relative, self.absolute = options.tolerance if relative is None else relative, absolute
        self.fallback: tuple[Primal, float] | None = None

    @property
    def converged(self) -> bool:
        """Whether the gap is closed."""
        closed = self.gap <= self.relative * abs(self.upper_bound) + self.absolute
        return bool(math.isfinite(self.upper_bound) and closed)

    def improve(self, primal: Primal, upper_bound: float) -> bool:
        """Take a point with its objective if it is better than the incumbent, or the first one; whether it is."""
        better = upper_bound < self.upper_bound or math.isnan(self.upper_bound)
        if better:
            self.primal, self.upper_bound = primal, upper_bound
        return better

    def tighten(self, lower_bound: float, dual: Dual | None = None) -> bool:
        """Take a bound, and what proves it, if it is better than the one at hand, or the first one; whether it is."""
        better = lower_bound > self.lower_bound or math.isnan(self.lower_bound)
        if better:
            self.lower_bound, self.dual = lower_bound, dual
        return better

    def outcome(
        self, ended: Status, iterations: int | None = None, *, converged: bool | None = None
    ) -> SolveOutcome[Primal, Dual]:
        """The result with the status that the solver's own test gave it."""
        found = replace(super().outcome(ended, iterations, converged=converged), status=ended)
        if ended is Status.OPTIMAL or self.fallback is None or np.any(found.primal):  # type: ignore[call-overload]
            return found
        return replace(found, primal=self.fallback[0], upper_bound=self.fallback[1])
