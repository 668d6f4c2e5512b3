"""What ranges of numeric columns cost: CPU seconds of a certified fit with ``numeric_range`` beside those of the fit without.

Two tables of mixed columns at several radii, ranges observed and observed with a tenth more at either end. A ranged column is
to the adversary what a category is, so a fit meets more kinks than one whose columns move without end. All fits of a table and
a radius are measured in turn in one process, on one thread, so that their ratios can be compared on a busy machine too.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import pandas as pd
from measure import say
from problems import data_directory
from tables import Cell, Report, Table
from threadpoolctl import threadpool_limits

import surefoot as sf

DESCRIPTION = "CPU seconds of certified fits with ranges of numeric columns beside those without"
# File and name of the label.
SOURCES = {
    "online-shopper": ("uci/online_shoppers.csv.gz", "Revenue"),
    "adult": ("uci/adult_train.csv.gz", "income"),
}
QUICK = ("online-shopper",)
RADII = (0.01, 0.05, 0.2)
RANGES = ("observed", "observed +- 10 %")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", nargs="+", choices=tuple(SOURCES), help=f"tables (default: all; quick: {', '.join(QUICK)})")
    parser.add_argument("--radii", nargs="+", type=float, default=list(RADII), metavar="R", help="radii (quick: the second)")
    parser.add_argument("--repeats", type=int, default=5, help="the least of so many runs counts (quick: 1)")


def run(options: argparse.Namespace) -> Report:
    """Measure, and say what was found."""
    names = options.sets or (QUICK if options.quick else tuple(SOURCES))
    radii = options.radii[1:2] if options.quick else options.radii
    rows: list[dict[str, Cell]] = []
    with threadpool_limits(limits=1):
        for name in names:
            X, y = load(name)
            say(f"{name}: {X.shape[0]:,} rows, {X.shape[1]} columns")
            for radius in radii:
                rows += _rows(name, X, y, radius, 1 if options.quick else options.repeats)
    ratios = [float(row["over_unbounded"]) for row in rows if row["numeric_range"] != "none"]
    losses = [float(row["worst_case_loss"]) for row in rows]
    per_fit = 1 + len(RANGES)
    gains = [1 - losses[at + 1] / losses[at] for at in range(0, len(losses), per_fit)]
    return Report(
        name="ranges",
        title="What ranges of numeric columns cost",
        tables=[Table("ranges", "CPU seconds of certified fits, one thread", rows)],
        findings=[
            f"A fit with ranges takes {min(ratios):.2f} to {max(ratios):.2f} times the CPU time of the fit without; at most 3 "
            f"times in {sum(ratio <= 3 for ratio in ratios)} of {len(ratios)} cases. All fits are proven to 1e-6.",
            f"Observed ranges lower the worst-case loss that a model is safe against by {min(gains):.2%} to {max(gains):.2%}.",
        ],
        method=[
            f"CPU seconds of one process, the least of {options.repeats} runs of each fit, in turn. A fit reads the table, "
            "encodes it, solves and certifies.",
            "Columns as the file has them, labels apart; defaults of the estimator but for radius and numeric_range.",
        ],
        not_measured=["Batches, Dask, label flips, tables of more than 14 numeric columns."],
    )


def load(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Columns and labels as the file has them."""
    file, label = SOURCES[name]
    table = pd.read_csv(data_directory() / file)
    return table, table.pop(label)


def _rows(name: str, X: pd.DataFrame, y: pd.Series, radius: float, repeats: int) -> list[dict[str, Cell]]:
    best: dict[Any, float] = {}
    models: dict[Any, Any] = {}
    for _ in range(repeats):
        for ranges in (None, *RANGES):
            model = sf.RobustLogisticRegression(radius=radius, numeric_range=ranges, n_jobs=1)
            start = time.process_time()
            model.fit(X, y)
            best[ranges] = min(best.get(ranges, float("inf")), time.process_time() - start)
            assert model.certificate_.verified, model.certificate_.claim
            models[ranges] = model
    return [
        {
            "data": name,
            "rows": X.shape[0],
            "radius": radius,
            "numeric_range": "none" if ranges is None else ranges,
            "fit_s": best[ranges],
            "over_unbounded": best[ranges] / best[None],
            "iterations": models[ranges].n_iter_,
            "worst_case_loss": models[ranges].certificate_.upper_bound,
        }
        for ranges in (None, *RANGES)
    ]
