"""State of one solve: the incumbent, the dual bound, the history, and the outcome that they amount to."""

from __future__ import annotations

import math
import time
from typing import Generic, TypeVar

from surefoot.core.outcome import Progress, SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions

Primal = TypeVar("Primal")
Dual = TypeVar("Dual")


class SolveRun(Generic[Primal, Dual]):
    """What a solve of a minimisation problem knows by now.

    Parameters
    ----------
    options : SolveOptions
    primal : the first incumbent
    upper_bound : float
        Its objective.
    lower_bound : float
        A bound that holds before anything is solved, such as 0 for a loss.
    dual : what proves ``lower_bound``, or None
    started : float, optional
        When the run began, by ``time.perf_counter``: now, or earlier where posing the problem counts.

    Attributes
    ----------
    history : list of Progress
    """

    def __init__(
        self,
        options: SolveOptions,
        primal: Primal,
        upper_bound: float = math.inf,
        *,
        lower_bound: float = -math.inf,
        dual: Dual | None = None,
        started: float | None = None,
    ) -> None:
        self.options = options
        self.primal, self.upper_bound = primal, upper_bound
        self.dual, self.lower_bound = dual, lower_bound
        self.history: list[Progress] = []
        self.started = time.perf_counter() if started is None else started

    @property
    def gap(self) -> float:
        return self.upper_bound - self.lower_bound

    @property
    def relative_gap(self) -> float:
        """The gap over the absolute objective of the incumbent; the gap itself where that is 0."""
        return self.gap / abs(self.upper_bound) if self.upper_bound != 0 and math.isfinite(self.upper_bound) else self.gap

    @property
    def converged(self) -> bool:
        """Whether the relative gap is at or below the tolerance."""
        return self.relative_gap <= self.options.tolerance

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def improve(self, primal: Primal, upper_bound: float) -> bool:
        """Take a point with its objective if it is better than the incumbent; whether it is."""
        better = upper_bound < self.upper_bound
        if better:
            self.primal, self.upper_bound = primal, upper_bound
        return better

    def tighten(self, lower_bound: float, dual: Dual | None = None) -> bool:
        """Take a bound, and what proves it, if it is better than the one at hand; whether it is."""
        better = lower_bound > self.lower_bound
        if better:
            self.lower_bound, self.dual = lower_bound, dual
        return better

    def record(self, iteration: int, *, seconds: float | None = None) -> Progress:
        """One more line of history, told to whoever listens; ``seconds`` where the iteration ended before now."""
        line = Progress(iteration, self.upper_bound, self.lower_bound, self.seconds if seconds is None else seconds)
        self.history.append(line)
        if self.options.on_progress is not None:
            self.options.on_progress(line)
        return line

    def outcome(
        self, ended: Status, iterations: int | None = None, *, converged: bool | None = None
    ) -> SolveOutcome[Primal, Dual]:
        """The result; ``ended`` says why the solve stopped if not for the gap. Only a closed gap is called optimal.

        ``converged`` is for solvers whose own test of convergence is stricter than the tolerance of the options.
        """
        if ended is Status.INTERRUPTED:
            pass  # whoever pressed Ctrl-C wants it to reach the caller, closed gap or not
        elif self.converged if converged is None else converged:
            ended = Status.OPTIMAL
        elif ended is Status.OPTIMAL:
            ended = Status.STALLED
        last = self.history[-1].iteration if self.history else 0
        return SolveOutcome(
            status=ended,
            primal=self.primal,
            dual=self.dual,
            upper_bound=self.upper_bound,
            lower_bound=self.lower_bound,
            iterations=last if iterations is None else iterations,
            seconds=self.seconds,
            history=tuple(self.history),
        )
