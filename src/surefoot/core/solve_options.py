"""When a solve stops, and whom it tells."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from surefoot.core.outcome import Progress


@dataclass(frozen=True)
class SolveOptions:
    """When to stop and whom to tell.

    ``tolerance`` is the relative gap (upper - lower) / |upper| to reach. With ``polish``, and a tolerance that is not coarse, a
    solver that can do so goes on until the coefficients themselves stand still, so that they do not depend on where it came
    from; otherwise it stops as soon as the gap is closed. ``on_progress`` is called once per iteration, and before the first if
    a good model is known by then (iteration 0); an exception it raises ends the solve and reaches the caller.
    """

    tolerance: float = 1e-6
    max_iter: int | None = None
    time_limit: float | None = None
    n_threads: int = 1
    polish: bool = True
    on_progress: Callable[[Progress], None] | None = None
    started: float = field(default_factory=time.perf_counter)

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self.started

    @property
    def seconds_left(self) -> float:
        """Until the time limit, 0 once it is over; inf without one."""
        return math.inf if self.time_limit is None else max(0.0, self.time_limit - self.elapsed)

    @property
    def out_of_time(self) -> bool:
        return self.time_limit is not None and self.elapsed >= self.time_limit
