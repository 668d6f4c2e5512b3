"""Seconds of chance-constrained SVMs against the number of inputs, beside ``SVC`` on the rows in the same run.

Inputs of ten rows whose classes overlap: where they do not, most inputs are clear of the margin and cost nothing.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Sequence

import numpy as np
from measure import GRACE_SECONDS, in_child, say
from sklearn.svm import SVC
from tables import Cell, Report, Table
from threadpoolctl import threadpool_limits

from surefoot import ChanceConstrainedSVC, WeakModelWarning
from surefoot.core.arrays import FloatArray, RowArray

DESCRIPTION = "inputs of 10 rows x 10 columns whose classes overlap: linear and quadratic up to 5,000, RBF up to 640"
INPUTS = {"linear": (800, 1_000, 2_000, 5_000), "quadratic": (1_000, 2_000, 5_000), "rbf": (160, 320, 640)}
QUICK_INPUTS = {"linear": (50, 100), "quadratic": (50, 100), "rbf": (50, 100)}
VIOLATIONS, QUICK_VIOLATIONS = (0.1, 0.3, 0.5, 0.8), (0.3,)
KERNELS = {"linear": {"kernel": "linear"}, "quadratic": {"kernel": "poly", "degree": 2, "coef0": 1.0}, "rbf": {"kernel": "rbf"}}
N_COLUMNS, N_REPEATS, SHIFT, NOISE = 10, 10, 0.5, 0.5
# SVC takes a minute for 5,000 inputs with a linear kernel, and says nothing more there.
MOST_SVC_INPUTS = 2_000
FIGURES = ("seconds", "cpu_seconds", "solve", "svc_seconds", "over_svc", "iterations", "gap", "verified", "ended")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kernels", nargs="+", choices=list(KERNELS), help="default: all")
    parser.add_argument("--violations", nargs="+", type=float, help=f"default: {VIOLATIONS}")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds until a solve is ended")
    parser.add_argument("--random-state", type=int, default=0)


def run(options: argparse.Namespace) -> Report:
    """Measure, and say what was found."""
    rows: list[dict[str, Cell]] = []
    before = os.getloadavg()[0]
    violations = tuple(options.violations or (QUICK_VIOLATIONS if options.quick else VIOLATIONS))
    for kernel in options.kernels or KERNELS:
        for count in (QUICK_INPUTS if options.quick else INPUTS)[kernel]:
            say(f"{kernel}, {count} inputs")
            found = in_child(
                scaled_fits, kernel, count, violations, options.time_limit, options.random_state,
                seconds=len(violations) * 2 * options.time_limit + 2 * GRACE_SECONDS,
            )  # fmt: skip
            if isinstance(found, str):
                found = [{"violation": None, **dict.fromkeys(FIGURES), "ended": found}]
            rows += [{"kernel": kernel, "inputs": count, **row} for row in found]
    return Report(
        name="chance_scale",
        title="Chance-constrained SVM against inputs",
        tables=[Table("chance_scale", f"{N_REPEATS} rows x {N_COLUMNS} columns an input, C = 1", rows)],
        findings=_findings(rows),
        method=[
            f"Simulated: normal means of two classes, {2 * SHIFT:g} apart in the first of {N_COLUMNS} columns; {N_REPEATS} "
            f"rows an input with normal noise of {NOISE:g}; seed {options.random_state}.",
            "seconds: ChanceConstrainedSVC.fit with defaults but for kernel and violation, on one thread, from rows to "
            "certificate; solve is the solver's own share. svc_seconds: SVC.fit with the same kernel and C on the same rows in "
            f"standard units, once a size, up to {MOST_SVC_INPUTS} inputs.",
            f"Other work on the machine stretches seconds, and cpu_seconds much less. Its load was {before:.1f} before and "
            f"{os.getloadavg()[0]:.1f} at the end, this benchmark included.",
        ],
        not_measured=["Inputs with many rows each, which are the subject of chance_rows; RBF kernels beyond 640 inputs."],
    )


def overlapping_inputs(count: int, random_state: int) -> tuple[FloatArray, RowArray, RowArray]:
    """Rows, labels and inputs."""
    draw = np.random.default_rng(random_state)
    labels = np.where(np.arange(count) % 2 == 0, 1, -1)
    means = draw.normal(size=(count, N_COLUMNS))
    means[:, 0] += SHIFT * labels
    table = np.repeat(means, N_REPEATS, axis=0) + NOISE * draw.normal(size=(count * N_REPEATS, N_COLUMNS))
    return table, np.repeat(labels, N_REPEATS), np.repeat(np.arange(count), N_REPEATS)


def scaled_fits(
    kernel: str, count: int, violations: Sequence[float], time_limit: float, random_state: int
) -> list[dict[str, Cell]]:
    """All fits of one size, and one of ``SVC``."""
    table, labels, groups = overlapping_inputs(count, random_state)
    rows: list[dict[str, Cell]] = []
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakModelWarning)
        # What is loaded once is not part of a fit.
        ChanceConstrainedSVC(violation=0.5).fit(table[:200], labels[:200], groups=groups[:200])
        plain = None
        if count <= MOST_SVC_INPUTS:
            start = time.perf_counter()
            SVC(**KERNELS[kernel]).fit((table - table.mean(axis=0)) / table.std(axis=0), labels)
            plain = time.perf_counter() - start
        for violation in violations:
            model = ChanceConstrainedSVC(violation=violation, time_limit=time_limit, **KERNELS[kernel])
            start, worked = time.perf_counter(), time.process_time()
            model.fit(table, labels, groups=groups)
            seconds, worked = time.perf_counter() - start, time.process_time() - worked
            rows.append(
                {
                    "violation": violation,
                    "seconds": seconds,
                    "cpu_seconds": worked,
                    "solve": model.outcome_.seconds,
                    "svc_seconds": plain,
                    "over_svc": None if plain is None else seconds / plain,
                    "iterations": model.n_iter_,
                    "gap": model.certificate_.relative_gap,
                    "verified": model.certificate_.verified,
                    "ended": model.outcome_.status.value,
                }
            )
    return rows


def _findings(rows: Sequence[dict[str, Cell]]) -> list[str]:
    """Certified share, the slowest fit of each size, and the slope of log CPU seconds over log inputs between the ends."""
    lines = [f"Certified: {sum(row['verified'] is True for row in rows)} of {len(rows)} fits."]
    for kernel in dict.fromkeys(row["kernel"] for row in rows):
        own = [row for row in rows if row["kernel"] == kernel and row["verified"]]
        sizes = sorted({int(row["inputs"] or 0) for row in own})
        if len(sizes) < 2:
            continue
        worst = [max(float(row["seconds"] or 0) for row in own if row["inputs"] == size) for size in sizes]
        listed = ", ".join(f"{size} inputs {seconds:.1f} s" for size, seconds in zip(sizes, worst, strict=True))
        lines.append(f"{kernel}, the slowest violation: {listed}.")
        work = {(row["violation"], row["inputs"]): float(row["cpu_seconds"] or 0) for row in own}
        slopes = [
            np.log(work[violation, sizes[-1]] / work[violation, sizes[0]]) / np.log(sizes[-1] / sizes[0])
            for violation in sorted({float(row["violation"] or 0) for row in own})
            if (violation, sizes[0]) in work and (violation, sizes[-1]) in work
        ]
        if slopes:
            lines.append(f"{kernel}: CPU seconds grow as inputs^{min(slopes):.2f} to inputs^{max(slopes):.2f}.")
        ratios = [float(row["over_svc"]) for row in own if row["over_svc"] is not None]
        if ratios:
            lines.append(f"{kernel}: {min(ratios):.2f} to {max(ratios):.1f} times the seconds of SVC.")
    return lines
