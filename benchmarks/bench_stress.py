"""Stress tests of three robust models on the online shoppers: 5,000 shifted tables of 12,330 rows."""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from machine import available_cores, peak_memory_bytes
from measure import GIGABYTE, say
from problems import MixedTable, load
from tables import Report, Table

import surefoot as sf
from surefoot.core.arrays import AnyArray
from surefoot.design.write.output_frame import build_frame

DESCRIPTION = "5,000 shifted tables of 12,330 rows for three models, from the shifts alone and by predicting tables"
TARGET_SECONDS = 30.0


@dataclass(frozen=True)
class Timing:
    """One stress test; ``cpu`` counts all threads, ``ms_per_set`` is wall time."""

    path: str
    threads: int
    sets: int
    rows: int
    models: int
    seconds: float
    cpu: float
    ms_per_set: float
    peak_gb: float


class Predictions:
    """A model that shows nothing but its predictions, so that tables have to be written and read."""

    def __init__(self, model: Any) -> None:
        self.model, self.classes_ = model, model.classes_

    def predict_proba(self, X: Any) -> Any:
        return self.model.predict_proba(X)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options beside --quick and --output."""
    parser.add_argument("--sets", type=int, default=5000, help="shifted tables")
    parser.add_argument("--threads", type=int, default=available_cores(), help="threads of the fast run")
    parser.add_argument("--predicted-sets", type=int, default=40, help="shifted tables that are written and predicted")


def run(options: argparse.Namespace) -> Report:
    """Fit three models, stress them together, and compare both ways of evaluating."""
    X, y = frame(load("online-shopper"))
    shift = sf.ShiftModel(numeric_certainty=0.8, categorical_certainty=0.8, robustness=0.9)
    models = {
        "plain": sf.RobustLogisticRegression(radius=0.0).fit(X, y),
        "equal weights": sf.RobustLogisticRegression(radius=0.01, numeric_weights=1.0).fit(X, y),
        "calibrated": sf.RobustLogisticRegression(shift=shift).fit(X, y),
    }
    sets = 50 if options.quick else options.sets
    few = min(sets, 5 if options.quick else options.predicted_sets)
    timings = []
    for threads in sorted({1, options.threads}):
        report, timing = timed("shifts alone", models, X, y, shift, sets, threads)
        timings.append(timing)
    predicted, timing = timed("predictions", {n: Predictions(m) for n, m in models.items()}, X, y, shift, few, options.threads)
    timings.append(timing)
    apart = float(np.abs(report.values[..., :few] - predicted.values).max())
    best = min(timings[:-1], key=lambda found: found.seconds)
    lines = [
        {
            "metric": metric,
            "model": model,
            "mean": float(values.mean()),
            "least": float(values.min()),
            "most": float(values.max()),
        }
        for metric in report.metrics
        for model in report.models
        for values in [report.of(metric, model=model)]
    ]
    return Report(
        name="stress",
        title="Stress tests: seconds",
        tables=[
            Table("stress", "Seconds of a stress test", [asdict(timing) for timing in timings]),
            Table("stress_values", "What the shifts did", lines),
        ],
        findings=[
            f"{best.sets} sets x {best.rows} rows x {best.models} models: {best.seconds:.1f} s with {best.threads} thread(s), "
            f"{best.cpu:.1f} s of processor time; the target is {TARGET_SECONDS:g} s for 5,000 sets on two cores.",
            f"Writing and predicting the tables takes {timing.cpu / timing.sets / (best.cpu / best.sets):.1f} times the "
            "processor time per set.",
            f"Both ways agree to {apart:.1e} in every metric of every model on {few} sets.",
        ],
        method=[
            "Online shoppers, all rows, 14 numeric and 3 categorical columns, certainty 0.8 everywhere, intervals of 0.4 "
            "standard deviations, metrics AUC, ACE and log loss; the clock runs around stress_test alone.",
            "Predicted tables are pandas frames.",
        ],
        not_measured=["Models are evaluated on the rows they were fitted to: the figures compare speeds, not models."],
    )


def frame(table: MixedTable) -> tuple[Any, AnyArray]:
    """The table as a data frame, and its labels."""
    columns: dict[str, Any] = {name: table.numeric[:, at] for at, name in enumerate(table.numeric_names)}
    for at, name in enumerate(table.categorical_names):
        columns[name] = [table.levels[at][code] for code in table.codes[:, at]]
    return build_frame(columns, "pandas"), table.labels > 0


def timed(
    path: str, models: dict[str, Any], X: Any, y: AnyArray, shift: sf.ShiftModel, sets: int, threads: int
) -> tuple[sf.StressReport, Timing]:
    """One stress test under the clock."""
    before, start = _cpu(), time.perf_counter()
    report = sf.stress_test(models, X, y, shift, n_sets=sets, random_state=0, n_jobs=threads)
    seconds, cpu = time.perf_counter() - start, _cpu() - before
    say(f"{path}, {threads} thread(s): {sets} sets in {seconds:.1f} s")
    rows: Sequence[Any] = y
    peak = peak_memory_bytes() / GIGABYTE
    return report, Timing(path, threads, sets, len(rows), len(models), seconds, cpu, 1000 * seconds / sets, peak)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
