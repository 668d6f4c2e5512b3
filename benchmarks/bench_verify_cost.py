"""What a proof costs beside the fit that found it: CPU seconds of the search, of its certificate and of ``surefoot.verify``.

Score cards of real tables, made 0/1 by ``ThresholdBinarizer``, at the default of five columns; robust models and support vector
machines of drawn tables, by setting and size; costs behind drawn 0/1 programmes. The certificate of a fit and a later
``verify`` recompute every claim of the proof from the raw rows; both should take no longer than the fit. All are measured in
one process, on one thread, so that their ratios can be compared on a busy machine too.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from measure import say
from problems import data_directory
from tables import Cell, Report, Table
from threadpoolctl import threadpool_limits

import surefoot as sf
from surefoot.inverse.estimator import proven_fit
from surefoot.riskscore.estimator import risk_score

DESCRIPTION = "CPU seconds of a certificate and of surefoot.verify beside those of the search"
# Folder and file, name of the label (none: the first column), most thresholds of a numeric column (0: it stays as it is).
CARDS = {
    "mammo": ("riskslim/mammo_data.csv", None, 0),
    "bank": ("riskslim/bank_data.csv.gz", None, 0),
    "german": ("uci/german_credit.csv", "class", 5),
    "framingham": ("uci/framingham.csv", "TenYearCHD", 5),
    "framingham, 8 thresholds": ("uci/framingham.csv", "TenYearCHD", 8),
    "heloc, 3 thresholds": ("shift/heloc_fico.csv.gz", "RiskPerformance", 3),
}
QUICK = ("mammo",)
# Rows, and what else is said to RobustLogisticRegression.
ROBUST: dict[str, tuple[int, dict[str, Any]]] = {
    "defaults": (1_000, {}),
    "defaults, 10,000 rows": (10_000, {}),
    "defaults, 100,000 rows": (100_000, {}),
    "l2 norm": (10_000, {"norm": "l2"}),
    "linf norm": (10_000, {"norm": "linf"}),
    "label flips": (10_000, {"label_weight": 1.0}),
    "radius 0": (10_000, {"radius": 0.0}),
    "tiny radius": (10_000, {"radius": 1e-6}),
}
# Inputs of ten samples each, and what else is said to ChanceConstrainedSVC.
PLANES: dict[str, tuple[int, dict[str, Any]]] = {
    "rbf": (40, {}),
    "rbf, 160 inputs": (160, {}),
    "linear": (160, {"kernel": "linear"}),
    "poly": (160, {"kernel": "poly"}),
    "rbf, 100 landmarks": (160, {"n_landmarks": 100}),
}
# Unknowns, rows and observations.
COSTS = ((8, 3, 40), (12, 3, 40), (16, 3, 40), (20, 4, 40), (30, 4, 20))


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", nargs="+", choices=tuple(CARDS), help=f"tables (default: all; quick: {', '.join(QUICK)})")
    parser.add_argument("--repeats", type=int, default=3, help="the least of so many runs counts (quick: 1)")


def run(options: argparse.Namespace) -> Report:
    """Measure, and say what was found."""
    names = options.sets or (QUICK if options.quick else tuple(CARDS))
    with threadpool_limits(limits=1):
        rows = [_card_row(name, 1 if options.quick else options.repeats) for name in names]
        fits = [_robust_row(name, options) for name in (list(ROBUST)[:1] if options.quick else ROBUST)]
        fits += [_plane_row(name, options) for name in (list(PLANES)[:1] if options.quick else PLANES)]
        costs = [
            _cost_row(*shape, 1 if options.quick else options.repeats) for shape in (COSTS[:1] if options.quick else COSTS)
        ]
    ratios = [float(row["verify_over_search"]) for row in rows]
    times = [float(row["verify_over_solve"]) for row in costs]
    whole = [float(row["verify_over_fit"]) for row in [*fits, *costs]]
    return Report(
        name="verify_cost",
        title="What a proof costs beside the search that found it",
        tables=[
            Table("verify_cost", "Score cards of up to five columns, one thread", rows),
            Table("verify_cost_fits", "Robust models and support vector machines, one thread", fits),
            Table("verify_cost_inverse", "Costs behind 0/1 programmes, one thread", costs),
        ],
        findings=[
            f"verify takes {min(ratios):.2f} to {max(ratios):.2f} of the CPU time of the search; it is at or under the search "
            f"on {sum(ratio <= 1 for ratio in ratios)} of {len(ratios)} tables. All claims of all proofs were recomputed.",
            f"For robust models, support vector machines and costs verify takes {min(whole):.2f} to {max(whole):.2f} of the "
            "CPU time of the fit, of which a certificate is a part.",
            f"For costs behind 0/1 programmes verify takes {min(times):.2f} to {max(times):.2f} of the CPU time of the solve "
            "alone, without the trees that prove its losses.",
        ],
        method=[
            f"CPU seconds of one process, the least of {options.repeats} runs. search_s is all of a fit but its certificate, "
            "the writing of the proof included; certificate_s is that certificate; verify_s is surefoot.verify of the fitted "
            "model, reading and encoding of the rows included.",
            "witness_bytes is what the proof adds to the model file. fit_s is all of a fit.",
            "Robust: six numeric columns and four of five levels each, labels of a logistic model. Machines: inputs of ten "
            "samples in six columns, means apart by one standard deviation, violation 0.5, C = 10.",
            "Costs: kappa = 0.01, distance l2, random rows that half of all items meet, responses of a noisy cost. solve_s is "
            "constraint generation alone, proofs_s the trees, certificate_s the certificate of the fit.",
            "mammo has a column of other numbers than 0 and 1 (Density), so its claims are computed in enclosures, not from "
            "counts.",
        ],
        not_measured=[
            "Cards at free scales and under shifts, tables in batches, given moments, other decisions than 0/1 vectors."
        ],
    )


def load(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """0/1 columns and labels; rows with gaps are left out."""
    file, label, thresholds = CARDS[name]
    table = pd.read_csv(data_directory() / file).dropna()
    labels = table.pop(table.columns[0] if label is None else label)
    return (sf.ThresholdBinarizer(max_thresholds=thresholds).fit_transform(table) if thresholds else table), labels


def _card_row(name: str, repeats: int) -> dict[str, Cell]:
    X, y = load(name)
    say(f"{name}: {X.shape[0]:,} rows, {X.shape[1]} columns")
    best = {"search_s": float("inf"), "certificate_s": float("inf"), "verify_s": float("inf")}
    for _ in range(repeats):
        inner: list[float] = []
        with mock.patch.object(risk_score, "certify_risk_score", _clocked(risk_score.certify_risk_score, inner)):
            model = sf.RiskScoreClassifier(n_jobs=1)
            fit = _clocked(model.fit, whole := [])
            fit(X, y)
        _clocked(sf.verify, again := [])(model, X, y)
        for key, seconds in (("search_s", whole[0] - inner[0]), ("certificate_s", inner[0]), ("verify_s", again[0])):
            best[key] = min(best[key], seconds)
    assert model.certificate_.verified, model.certificate_.claim
    claims = re.search(r"All ([0-9,]+) claims of its proof were recomputed", model.certificate_.claim)
    assert claims is not None, model.certificate_.claim
    return {
        "data": name,
        "rows": X.shape[0],
        "columns": X.shape[1],
        "claims": int(claims[1].replace(",", "")),
        **best,
        "verify_over_search": best["verify_s"] / best["search_s"],
        "witness_bytes": _witness_bytes(model),
    }


def _robust_row(name: str, options: argparse.Namespace) -> dict[str, Cell]:
    n, parameters = ROBUST[name]
    rng = np.random.default_rng(n)
    X = pd.DataFrame(rng.normal(size=(n, 6)), columns=[f"x{k}" for k in range(6)])
    for k in range(4):
        X[f"z{k}"] = rng.choice(list("abcde"), n)
    y = X["x0"] - 0.5 * X["x1"] + (X["z0"] == "a") + rng.logistic(size=n) > 0
    return _fit_row("robust", name, n, lambda: sf.RobustLogisticRegression(**parameters), (X, y), {}, options)


def _plane_row(name: str, options: argparse.Namespace) -> dict[str, Cell]:
    n, parameters = PLANES[name]
    rng = np.random.default_rng(n)
    y = rng.permutation(np.arange(n) % 2)
    means = rng.normal(size=(n, 6)) + y[:, None]
    X = np.repeat(means, 10, axis=0) + 0.3 * rng.normal(size=(10 * n, 6))
    groups = np.repeat(np.arange(n), 10)
    return _fit_row(
        "machine",
        name,
        10 * n,
        lambda: sf.ChanceConstrainedSVC(C=1.0, violation=0.5, random_state=0, **parameters),
        (X, np.repeat(y, 10)),
        {"groups": groups},
        options,
    )


def _fit_row(
    kind: str,
    setting: str,
    n_rows: int,
    make: Callable[[], Any],
    data: tuple[Any, Any],
    named: dict[str, Any],
    options: argparse.Namespace,
) -> dict[str, Cell]:
    say(f"{kind}, {setting}: {n_rows:,} rows")
    best = {"fit_s": float("inf"), "verify_s": float("inf")}
    for _ in range(1 if options.quick else options.repeats):
        model = make()
        _clocked(model.fit, whole := [])(*data, **named)
        _clocked(sf.verify, again := [])(model, *data, **named)
        best = {key: min(best[key], seconds[0]) for key, seconds in zip(best, (whole, again), strict=True)}
    assert model.certificate_.verified, model.certificate_.claim
    return {
        "model": kind,
        "setting": setting,
        "rows": n_rows,
        **best,
        "verify_over_fit": best["verify_s"] / best["fit_s"],
        "witness_bytes": _witness_bytes(model),
    }


def _cost_row(n: int, rows: int, count: int, repeats: int) -> dict[str, Cell]:
    rng = np.random.default_rng(n)
    forward = sf.inverse.forward.BinaryProgram()
    theta, signals, responses = rng.uniform(-1, 1, n), [], []
    for _ in range(count):
        matrix = rng.uniform(size=(rows, n))
        signals.append((matrix, 0.5 * matrix.sum(axis=1)))
        noisy = sf.inverse.InverseOptimizer(forward)
        noisy.cost_ = theta + 0.1 * rng.normal(size=n)
        responses.append(noisy.predict(signals[-1:])[0])
    say(f"costs: {n} unknowns, {count} observations")
    best = dict.fromkeys(("solve_s", "proofs_s", "certificate_s", "verify_s"), float("inf"))
    for _ in range(repeats):
        proofs: list[float] = []
        verdicts: list[float] = []
        with (
            mock.patch.object(proven_fit, "witnessed", _clocked(proven_fit.witnessed, proofs)),
            mock.patch.object(proven_fit, "judged", _clocked(proven_fit.judged, verdicts)),
        ):
            model = sf.inverse.InverseOptimizer(forward, kappa=0.01)
            _clocked(model.fit, whole := [])(signals, responses)
        _clocked(sf.verify, again := [])(model, signals, responses)
        found = (whole[0] - proofs[0] - verdicts[0], proofs[0], verdicts[0], again[0])
        best = {key: min(best[key], seconds) for key, seconds in zip(best, found, strict=True)}
    assert model.certificate_.verified, model.certificate_.claim
    return {
        "unknowns": n,
        "rows": rows,
        "observations": count,
        **best,
        "verify_over_solve": best["verify_s"] / best["solve_s"],
        "verify_over_fit": best["verify_s"] / (best["solve_s"] + best["proofs_s"] + best["certificate_s"]),
        "witness_bytes": _witness_bytes(model),
    }


def _clocked(function: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
    """The function, which adds its CPU seconds to a list."""

    def clocked(*arguments: Any, **named: Any) -> Any:
        start = time.process_time()
        try:
            return function(*arguments, **named)
        finally:
            seconds.append(time.process_time() - start)

    return clocked


def _witness_bytes(model: Any) -> int:
    with tempfile.TemporaryDirectory() as folder:
        sizes = []
        for witness in (True, False):
            path = Path(folder) / f"model_{witness}.sf"
            sf.save(model, path, witness=witness)
            sizes.append(path.stat().st_size)
    return sizes[0] - sizes[1]
