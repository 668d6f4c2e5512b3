"""Score cards of tables as users bring them, made 0/1 by ThresholdBinarizer: how far does a fit with its proof get."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from bench_risk_scores import RIVALS, data_directory, rival_row
from machine import available_cores
from measure import say
from tables import Cell, Report, Table

import surefoot as sf

DESCRIPTION = (
    "german, Framingham, HELOC, COMPAS, binarised: cards of 5 to 10 columns, seconds, gap, verified; FasterRisk, imodels"
)
# Of COMPAS what is known before the score.
COMPAS = ("sex", "age", "race", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count", "c_charge_degree")
# Most thresholds for each numeric column: 55, 77, 106 and 117 columns of 0 and 1.
THRESHOLDS = {"compas": 12, "german": 5, "framingham": 13, "heloc": 5}
SIZES, QUICK_SIZES = (5, 6, 8, 10), (3,)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", nargs="+", choices=tuple(THRESHOLDS), help="tables (default: all; quick: compas)")
    parser.add_argument("--sizes", nargs="+", type=int, help=f"most columns of a card (default: {SIZES}; quick: {QUICK_SIZES})")
    parser.add_argument("--time-limit", type=float, default=300.0, help="seconds until a fit is ended (quick: at most 10)")
    parser.add_argument("--threads", type=int, default=min(2, available_cores()), help="threads allowed to a fit")
    parser.add_argument("--rivals-python", type=Path, help="a Python with imodels and fasterrisk; without it they are left out")


def load(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns of 0 and 1, and labels (0, 1)."""
    folder, missing = data_directory().parent, "error"
    if name == "compas":
        table = pd.read_csv(folder / "shift" / "compas_two_years.csv.gz")
        table, y = table[list(COMPAS)], table["two_year_recid"] == 1
    elif name == "heloc":
        table = pd.read_csv(folder / "shift" / "heloc_fico.csv.gz")
        y = table.pop("RiskPerformance") == "Bad"
        # Negative numbers are codes for "no value".
        table, missing = table.mask(table < 0), "column"
    elif name == "framingham":
        table = pd.read_csv(folder / "uci" / "framingham.csv").dropna()
        y = table.pop("TenYearCHD") == 1
    else:
        table = pd.read_csv(folder / "uci" / "german_credit.csv")
        y = table.pop("class") == 2
    binarizer = sf.ThresholdBinarizer(max_thresholds=THRESHOLDS[name], missing=missing)
    return binarizer.fit_transform(table), y.to_numpy().astype(np.int64)


def run(options: argparse.Namespace) -> Report:
    """Measure, and say what was found."""
    limit = min(options.time_limit, 10.0) if options.quick else options.time_limit
    rows: list[dict[str, Cell]] = []
    rivals: list[dict[str, Cell]] = []
    for name in options.sets or (("compas",) if options.quick else tuple(THRESHOLDS)):
        X, y = load(name)
        for size in options.sizes or (QUICK_SIZES if options.quick else SIZES):
            say(f"{name}: {X.shape[1]} columns, cards of {size}")
            rows.append(_row(name, X, y, size, limit, options.threads))
            signed = np.where(y > 0, 1.0, -1.0)
            for rival in RIVALS:
                found = rival_row(name, rival, X.to_numpy(np.float64), signed, options.rivals_python, limit + 300, size=size)
                rivals += [{"columns": X.shape[1], "features": size, **found}] if found else []
    tables = [Table("risk_size", "Fits with their proofs", rows)]
    if rivals:
        tables.append(Table("risk_size_rivals", "Rivals: cards of the free scale, without a bound", rivals))
    return Report(
        name="risk_size",
        title="Score cards of 55 to 117 columns: what is proven in the time there is",
        tables=tables,
        findings=_findings(rows),
        method=[
            f"RiskScoreClassifier with defaults but max_features, time_limit = {limit:g} s and n_jobs = {options.threads}; "
            "tables made 0/1 by ThresholdBinarizer. seconds is wall time of the whole fit: search, proof, and certificate. "
            "cpu_seconds is the time of all threads of the process, which other work on the machine does not stretch.",
            "gap and verified are those of the certificate, recomputed without the solver.",
        ],
        not_measured=[
            "Test loss. optbinning, whose scorecards have real points, and RiskSLIM, whose solver is commercial.",
            *(() if options.rivals_python is not None else ("FasterRisk and imodels: no Python given.",)),
        ],
    )


def _row(name: str, X: pd.DataFrame, y: np.ndarray, size: int, limit: float, n_threads: int) -> dict[str, Cell]:
    started, worked = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.ConvergenceLimitWarning)
        model = sf.RiskScoreClassifier(max_features=size, time_limit=limit, n_jobs=n_threads).fit(X, y)
    certificate = model.certificate_
    return {
        "data": name,
        "columns": X.shape[1],
        "features": size,
        "loss": f"{certificate.upper_bound:.6f}",
        "bound": f"{certificate.lower_bound:.6f}",
        "gap": 1 - certificate.lower_bound / certificate.upper_bound,
        "verified": certificate.verified,
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - worked,
        "search_seconds": model.outcome_.seconds,
        "ended": model.outcome_.status.value,
    }


def _findings(rows: Sequence[dict[str, Cell]]) -> list[str]:
    verified = [row for row in rows if row["verified"]]
    return [
        f"Proven best and verified: {len(verified)} of {len(rows)} fits.",
        *(
            f"{row['data']}, {row['features']} of {row['columns']} columns: loss {row['loss']}, gap {row['gap']:.2%}"
            f"{', verified' if row['verified'] else ''}, {row['seconds']:.1f} s ({row['cpu_seconds']:.1f} s of CPU)."
            for row in rows
        ),
    ]
