"""Time limits of inverse optimization: asked for and taken, for every kind of forward problem and every approach."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
from inverse_forwards import KINDS, Observed
from measure import say
from tables import Report, Table
from threadpoolctl import threadpool_limits

from surefoot.exceptions import SurefootError
from surefoot.inverse import InverseOptimizer
from surefoot.inverse.estimator import inverse_optimizer, proven_fit
from surefoot.inverse.problem.approaches import APPROACHES

DESCRIPTION = "time limits of inverse optimization, asked for and taken"
# Costs that are learned as quadratic ones have one approach.
QUADRATIC = ("QuadraticProgram", "EllipsoidProgram")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=float, default=0.5, help="seconds asked for")
    parser.add_argument("--examples", type=int, default=40)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), help="forward problems (default: all)")
    parser.add_argument("--random-state", type=int, default=1)


def run(options: argparse.Namespace) -> Report:
    """Measure, and say what was found."""
    kinds = options.kinds or (list(KINDS)[:1] if options.quick else list(KINDS))
    rows = []
    with threadpool_limits(limits=1), mock.patch("time.perf_counter", time.process_time), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _fit(KINDS["LinearProgram"](3, np.random.default_rng(0)), "asl", 10.0)  # what is imported on the way
        for kind in kinds:
            observed = KINDS[kind](options.examples, np.random.default_rng(options.random_state))
            for approach in ("asl",) if kind in QUADRATIC else APPROACHES:
                taken, judged, ended = _fit(observed, approach, options.limit)
                over = (taken - judged) / options.limit - 1.0
                rows.append(
                    {
                        "forward": kind,
                        "approach": approach,
                        "asked": options.limit,
                        "taken": taken - judged,
                        "judged": judged,
                        "over": over,
                        "ended": ended,
                    }
                )
                say(f"  {rows[-1]}")
    late = [row for row in rows if float(row["over"]) > 0.1]
    worst = max(rows, key=lambda row: float(row["over"]))
    return Report(
        name="inverse_limits",
        title="Time limits of inverse optimization",
        tables=[Table("inverse_limits", "Seconds asked for and taken", rows)],
        findings=[
            f"{len(rows) - len(late)} of {len(rows)} fits end within 10 % of the limit of {options.limit:g} s or before "
            "it; the "
            f"latest one ({worst['forward']}, {worst['approach']}) by {100 * float(worst['over']):.0f} %."
        ],
        method=[
            f"{options.examples} observations of each kind, with noise that no cost explains. Limits and times are CPU "
            "seconds of "
            "one thread, so that other work on the machine does not count.",
            "taken: from the call of fit to its end, reading the observations and proving losses included, without judged: the "
            "certificate, which is not cut short, since a fit without a verdict is worth nothing.",
            "over: what was taken beyond the limit, as a share of it; below 0 the fit ended by itself. ended: the status, "
            "or the "
            "error of approaches that need a cost that explains everything, a list of decisions, or more time.",
        ],
        not_measured=[],
    )


def _fit(observed: Observed, approach: str, limit: float) -> tuple[float, float, str]:
    """Seconds of a fit, those of its certificates, and how it ended."""
    clock = [0.0]

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            started = time.process_time()
            try:
                return function(*given, **named)
            finally:
                clock[0] += time.process_time() - started

        return call

    model = InverseOptimizer(
        observed.forward, **{"kappa": 0.01, **observed.parameters, "approach": approach, "time_limit": limit}
    )
    started = time.process_time()
    with (
        mock.patch.object(proven_fit, "judged", timed(proven_fit.judged)),
        mock.patch.object(inverse_optimizer, "certified", timed(inverse_optimizer.certified)),
    ):
        try:
            model.fit(observed.signals, observed.responses)
            ended = model.outcome_.status.name
        except SurefootError as flaw:
            ended = f"{type(flaw).__name__}: {str(flaw).split(';')[0].split(':')[-1].strip()[:70]}"
    return time.process_time() - started, clock[0], ended
