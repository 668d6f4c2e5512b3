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
import sys
import time
from dataclasses import dataclass

from threadpoolctl import threadpool_limits

from surefoot.certificates.certificate import Certificate
from surefoot.certificates.robust_logistic import certify_robust_logistic
from surefoot.problems.robust_logistic import RobustCoefficients, RobustLogisticProblem
from surefoot.solvers.registry import RobustLogisticSolver, RobustOutcome, SolveOptions, require_acceptance

# A conic solver looks at its time limit between iterations only; this much longer it may take to notice.
GRACE_SECONDS = 30.0
# A child that asks for more dies alone, before the machine starts to swap or to kill others.
MEMORY_SHARE = 0.85


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
) -> Fit:
    """Solve once; BLAS and OpenMP are held to ``n_threads`` as well, so that one thread means one thread."""
    require_acceptance(solver, problem)
    with threadpool_limits(limits=n_threads):
        start = time.perf_counter()
        options = SolveOptions(tolerance=tolerance, time_limit=time_limit, n_threads=n_threads)
        outcome = solver.solve(problem, options, warm_start)
        seconds = time.perf_counter() - start
    return Fit(outcome, seconds)


def certified(problem: RobustLogisticProblem, outcome: RobustOutcome, tolerance: float) -> Certificate:
    """Bounds of an answer, recomputed from the raw arrays."""
    return certify_robust_logistic(problem, outcome.primal, outcome.dual, tolerance=tolerance)


def timed_fit_in_child(
    solver: str, problem: RobustLogisticProblem, *, tolerance: float, n_threads: int, time_limit: float
) -> Fit | str:
    """Solve once in a process of its own, which can be stopped and cannot take the benchmark down with it.

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
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_fit_and_send, args=(sender, solver, problem, tolerance, n_threads, time_limit), daemon=True)
    child.start()
    sender.close()
    try:
        if not receiver.poll(time_limit + GRACE_SECONDS):
            child.kill()
            return f"stopped after {time_limit + GRACE_SECONDS:.0f} s"
        answer: Fit | str = receiver.recv()
        return answer
    except EOFError:
        child.join()
        return f"died with exit code {child.exitcode}, out of memory perhaps"
    finally:
        receiver.close()
        child.join()


def _fit_and_send(
    sender: multiprocessing.connection.Connection,
    solver: str,
    problem: RobustLogisticProblem,
    tolerance: float,
    n_threads: int,
    time_limit: float,
) -> None:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    resource.setrlimit(resource.RLIMIT_AS, (int(MEMORY_SHARE * total),) * 2)
    module, name = solver.split(":")
    try:
        chosen = getattr(importlib.import_module(module), name)()
        answer: Fit | str = timed_fit(chosen, problem, tolerance=tolerance, n_threads=n_threads, time_limit=time_limit)
    except MemoryError:
        answer = "out of memory"
    except Exception as error:  # the table must say why there is no answer, whatever the reason
        answer = f"{type(error).__name__}: {error}"
    sender.send(answer)
