"""One fit under the clock: the same clock, around the same call, for every solver.

The clock runs around ``solver.solve(problem, options)`` and nothing else: not around reading a file, encoding a table or
checking the answer. Certificates are computed afterwards, from the raw arrays.
"""

from __future__ import annotations

import importlib
import multiprocessing
import multiprocessing.connection
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from machine import peak_memory_bytes
from threadpoolctl import threadpool_limits

from surefoot.core.certificate import Certificate
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.registry import RobustLogisticSolver, RobustOutcome, require_acceptance

# A conic solver looks at its time limit between iterations only; this much longer it may take to notice.
GRACE_SECONDS = 30.0
# A child that asks for more dies alone, before the machine starts to swap or to kill others.
MEMORY_SHARE = 0.85
GIGABYTE = 1e9

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Fit:
    """An answer and how long it took."""

    outcome: RobustOutcome
    seconds: float


def say(line: str) -> None:
    """Report progress on the error stream; the tables alone go to standard output."""
    print(line, file=sys.stderr, flush=True)


def timed_fit(
    solver: RobustLogisticSolver,
    problem: RobustLogisticProblem,
    *,
    tolerance: float,
    n_threads: int,
    time_limit: float | None = None,
    warm_start: RobustCoefficients | None = None,
    polish: bool = True,
) -> Fit:
    """Solve once; BLAS and OpenMP are held to ``n_threads`` as well, so that one thread means one thread."""
    require_acceptance(solver, problem)
    with threadpool_limits(limits=n_threads):
        start = time.perf_counter()
        options = SolveOptions(tolerance=tolerance, time_limit=time_limit, n_threads=n_threads, polish=polish)
        outcome = solver.solve(problem, options, warm_start)
        seconds = time.perf_counter() - start
    return Fit(outcome, seconds)


def certified(problem: RobustLogisticProblem, outcome: RobustOutcome, tolerance: float) -> Certificate:
    """Bounds of an answer, recomputed from the raw arrays."""
    return certify_robust_logistic(problem, outcome.primal, outcome.dual, tolerance=tolerance)


def repeated_fit(
    make_solver: Callable[[], RobustLogisticSolver],
    problem: RobustLogisticProblem,
    *,
    tolerance: float,
    n_threads: int,
    repeats: int,
    polish: bool = True,
) -> Fit:
    """Solve several times, cold each time; the first answer with the median of the seconds."""
    # A solver remembers the rows it has seen: a new one each time.
    fits = [timed_fit(make_solver(), problem, tolerance=tolerance, n_threads=n_threads, polish=polish) for _ in range(repeats)]
    return Fit(fits[0].outcome, statistics.median(fit.seconds for fit in fits))


@dataclass(frozen=True)
class Account:
    """One fit with everything about it: seconds per stage, certified figures, memory in gigabytes of 10^9 bytes.

    ``table_gb`` is the peak of this process before the solve, libraries and table included; ``peak_gb`` the one at the end.
    """

    solve: float
    certify: float
    total: float
    iterations: int
    status: str
    objective: float
    gap: float
    verified: bool
    table_gb: float
    peak_gb: float


def account(
    solver: RobustLogisticSolver,
    problem: RobustLogisticProblem,
    *,
    tolerance: float,
    n_threads: int,
    time_limit: float | None = None,
) -> Account:
    """Solve and certify once in this process, which should be a fresh one: memory is counted from its start."""
    table_bytes = peak_memory_bytes()
    fit = timed_fit(solver, problem, tolerance=tolerance, n_threads=n_threads, time_limit=time_limit)
    start = time.perf_counter()
    proof = certified(problem, fit.outcome, tolerance)
    certify = time.perf_counter() - start
    return Account(
        solve=fit.seconds,
        certify=certify,
        total=fit.seconds + certify,
        iterations=fit.outcome.iterations,
        status=fit.outcome.status.value,
        objective=proof.upper_bound,
        gap=proof.relative_gap,
        verified=proof.verified,
        table_gb=table_bytes / GIGABYTE,
        peak_gb=peak_memory_bytes() / GIGABYTE,
    )


def timed_fit_in_child(
    solver: str, problem: RobustLogisticProblem, *, tolerance: float, n_threads: int, time_limit: float
) -> Fit | str:
    """Solve once in a process of its own.

    Parameters
    ----------
    solver : str
        ``"module:class"`` of the solver.
    problem, tolerance, n_threads, time_limit
        As in :func:`timed_fit`; the child runs the same function.

    Returns
    -------
    Fit or str
        A sentence where there is no answer: stopped at the limit, out of memory, or an error.
    """
    return in_child(_fit, solver, problem, tolerance, n_threads, time_limit, seconds=time_limit + GRACE_SECONDS)


def _fit(solver: str, problem: RobustLogisticProblem, tolerance: float, n_threads: int, time_limit: float) -> Fit:
    module, name = solver.split(":")
    chosen = getattr(importlib.import_module(module), name)()
    return timed_fit(chosen, problem, tolerance=tolerance, n_threads=n_threads, time_limit=time_limit)


def in_child(function: Callable[..., Answer], *arguments: object, seconds: float | None = None) -> Answer | str:
    """Call a function in a fresh process, which can be stopped and cannot take the benchmark down with it.

    Parameters
    ----------
    function : callable
        Of a module that the child can import.
    *arguments : object
        Sent to the child.
    seconds : float or None
        When to stop the child; None waits for ever.

    Returns
    -------
    what the function returns, or str
        A sentence where there is no answer: stopped at the limit, out of memory, or an error.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_call_and_send, args=(sender, function, arguments), daemon=True)
    child.start()
    sender.close()
    try:
        if not receiver.poll(seconds):
            child.kill()
            return f"stopped after {seconds:.0f} s"
        answer: Answer | str = receiver.recv()
        return answer
    except EOFError:
        child.join()
        return f"died with exit code {child.exitcode}, out of memory perhaps"
    finally:
        receiver.close()
        child.join()


def _call_and_send(
    sender: multiprocessing.connection.Connection, function: Callable[..., object], arguments: tuple[object, ...]
) -> None:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    resource.setrlimit(resource.RLIMIT_AS, (int(MEMORY_SHARE * total),) * 2)
    try:
        answer = function(*arguments)
    except MemoryError:
        answer = "out of memory"
    except Exception as error:  # the table must say why there is no answer, whatever the reason
        answer = f"{type(error).__name__}: {error}"
    sender.send(answer)
