"""The solvers of Table 1 of Sun, Justin, Gomez and Vayanos (AISTATS 2025), timed by their CPU seconds.

    graph      the longest-path formulation (Theorem 2)
    DP         cutting planes, one most violated constraint per round (Algorithm 2), found by dynamic programming (Algorithm 1)
    cutting    the same with the constraint found by sorting, as Selvi, Belbasi, Haugh and Wiesemann (NeurIPS 2022) do where all
               weights are 1: of k changed features the worst are the k with the largest gain
    all rows   DP with a constraint for every violated row per round, which no paper has

Masters of the cutting planes begin with the constraint of every row as it is, where the authors' program begins with none.
"""

from __future__ import annotations

import math
import resource
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from measure import certified, in_child
from threadpoolctl import threadpool_limits

from surefoot.core.outcome import Progress, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import UnsupportedProblemError
from surefoot.robust.conic.graph import Graph
from surefoot.robust.conic.scenario_cuts import ScenarioCuts
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.robust.registry import RobustLogisticSolver

SOLVERS: dict[str, Callable[[], RobustLogisticSolver]] = {
    "graph": Graph,
    "DP": lambda: ScenarioCuts(separation="dynamic-programme", cuts_per_round="most-violated"),
    "cutting": lambda: ScenarioCuts(separation="prefix", cuts_per_round="most-violated"),
    "all rows": lambda: ScenarioCuts(separation="dynamic-programme", cuts_per_round="per-row"),
}
LIMIT = "limit"
# CPU seconds between the signal that ends a process at its limit and the one that nothing can catch.
GRACE_SECONDS = 5


@dataclass(frozen=True)
class TimedEnd:
    """How a fit ended: a status or why there is none, CPU seconds, rounds, and the gap (certified where it ended)."""

    end: str
    cpu: float
    rounds: int
    gap: float | None
    objective: float | None

    @property
    def ended(self) -> bool:
        return self.end == Status.OPTIMAL.value


class _Over(Exception):  # noqa: N818 - a message, not an error
    """The CPU seconds are used up."""


def timed_end(name: str, problem: RobustLogisticProblem, *, tolerance: float, cpu_limit: float) -> TimedEnd:
    """Solve once, in so many CPU seconds: rounds of cutting planes can be ended from here, a programme in a process only."""
    if name != "graph":
        return _solve(name, problem, tolerance, cpu_limit)
    answer = in_child(_solve_alone, name, problem, tolerance, cpu_limit)
    if isinstance(answer, str):  # the process was ended by its limit
        return TimedEnd(LIMIT if f"exit code {-signal.SIGXCPU}" in answer else answer, cpu_limit, 0, None, None)
    return answer


def _solve_alone(name: str, problem: RobustLogisticProblem, tolerance: float, cpu_limit: float) -> TimedEnd:
    used = math.ceil(time.process_time() + cpu_limit)
    resource.setrlimit(resource.RLIMIT_CPU, (used, used + GRACE_SECONDS))
    return _solve(name, problem, tolerance, cpu_limit)


def _solve(name: str, problem: RobustLogisticProblem, tolerance: float, cpu_limit: float) -> TimedEnd:
    latest: list[Progress] = []

    def watch(progress: Progress) -> None:
        latest.append(progress)
        if time.process_time() - start > cpu_limit:
            raise _Over

    with threadpool_limits(limits=1):
        start = time.process_time()
        try:
            outcome = SOLVERS[name]().solve(problem, SolveOptions(tolerance=tolerance, on_progress=watch))
        except _Over:
            last = latest[-1]
            gap = (last.upper_bound - last.lower_bound) / abs(last.upper_bound)
            return TimedEnd(LIMIT, time.process_time() - start, last.iteration, gap, last.upper_bound)
        except UnsupportedProblemError:
            return TimedEnd("refused", time.process_time() - start, 0, None, None)
        seconds = time.process_time() - start
    proof = certified(problem, outcome, tolerance)
    return TimedEnd(outcome.status.value, seconds, outcome.iterations, proof.relative_gap, proof.upper_bound)
