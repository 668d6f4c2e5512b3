"""Table 3 of Ustun and Rudin (JMLR 2019): test AUC, calibration error, size, loss and gap of the best card, by 5-fold CV.

As the paper says of its own method (Section 6.2), nothing is tuned, so that no inner folds are needed: one fit for each of the
5 folds, and one with all rows, whose size, loss and gap are reported.

Calibration error: the paper's footnote 8 writes a root of a sum of squares over N, and its text says root mean squared error.
Neither gives its figures. The paper prints two cards whole (Figures 17 and 18), with their training CAL: 4.1 % (adult) and
1.1 % (bank). Of these cards, on the same tables, with the printed AUC and the loss of Table 3,

    sum over bins b of  N_b / N |mean predicted risk of b - observed risk of b|,   10 bins of equal width by predicted risk,

is 4.11 % and 1.08 %; with a bin for every score it is 4.17 % and 1.08 %, and the root mean squared error is 5.4 % and 2.5 %. So
CAL is this mean absolute difference here; the root mean squared error is reported beside it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
from bench_risk_scores import column_names, load, pose
from machine import available_cores
from measure import say
from scipy.special import expit
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from tables import Cell, Report, Table

from surefoot.core.solve_options import SolveOptions
from surefoot.riskscore.problem.problem import RiskScore
from surefoot.riskscore.search.exact_score import ExactScore, ScoreOutcome

DESCRIPTION = "Table 3 of the paper: AUC, CAL, size, loss and gap of the exact search by 5-fold CV"
# Table 3, column RISKSLIM: test AUC, test CAL, size, loss, gap. The sixth table of the paper, arrest, is not public.
PUBLISHED = {
    "adult": (0.854, 0.026, 5, 0.385, 0.097),
    "bank": (0.760, 0.013, 5, 0.289, 0.035),
    "mammo": (0.843, 0.050, 5, 0.469, 0.0),
    "mushroom": (0.989, 0.018, 5, 0.069, 0.0),
    "spambase": (0.928, 0.117, 5, 0.349, 0.278),
}
QUICK_SETS = ("mammo",)
BINS = 10
# Figures 17 and 18: intercept, points, and the training AUC and CAL printed below them.
PRINTED_CARDS = {
    "adult": (-2, {"Married": 3, "AnyCapitalGains": 2, "Age_22_to_29": -1, "HSDiploma": -2, "NoHS": -3}, 0.860, 0.041),
    "bank": (
        -2,
        {
            "call_in_Q1": 1,
            "called_before": 1,
            "calls_b4_campaign_successful": 1,
            "nr_employed_lt_5100": 1,
            "euribor3m_geq_100": -1,
        },
        0.760,
        0.011,
    ),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", nargs="+", choices=tuple(PUBLISHED), help=f"tables (default: all; quick: {QUICK_SETS})")
    parser.add_argument("--time-limit", type=float, default=1200.0, help="seconds until a fit is ended (quick: at most 10)")
    parser.add_argument("--threads", type=int, default=min(2, available_cores()), help="threads allowed to the exact search")
    parser.add_argument("--random-state", type=int, default=0, help="of the folds")


def calibration_error(scores: np.ndarray, labels: np.ndarray, power: int = 1) -> float:
    """Difference between predicted and observed risk in 10 bins by predicted risk; see the module docstring.

    The mean over rows for ``power = 1``, the root of the mean square for ``power = 2``.
    """
    risks = expit(scores)
    bins = np.minimum((risks * BINS).astype(np.intp), BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    excess = np.bincount(bins, risks - (labels > 0), minlength=BINS) / np.maximum(counts, 1)
    return float((counts @ np.abs(excess) ** power / counts.sum()) ** (1 / power))


def run(options: argparse.Namespace) -> Report:
    """Measure, and say what was found."""
    limit = min(options.time_limit, 10.0) if options.quick else options.time_limit
    rows: list[dict[str, Cell]] = []
    folds: list[dict[str, Cell]] = []
    names = options.sets or (QUICK_SETS if options.quick else tuple(PUBLISHED))
    for name in names:
        of_set = _folds(name, limit, options)
        folds += of_set
        rows += _rows(name, of_set)
    printed = _printed_cards(names)
    return Report(
        name="risk_table",
        title="Table 3 of Ustun and Rudin: the best score cards of up to 5 columns",
        tables=[
            Table("risk_table", "Published and found", rows),
            *([Table("risk_table_printed", "Cards that the paper prints, on their training rows", printed)] if printed else []),
            Table("risk_table_folds", "Every fit", folds),
        ],
        findings=_findings(rows, folds),
        method=[
            f"Size <= 5, points -5..5, intercept -100..100, penalty 1e-8, gap 0 asked for, limit {limit:g} s a fit, "
            f"{options.threads} threads. Nothing is tuned, so no inner folds are needed; test figures are means over 5 folds, "
            "size, loss and gap are those of the fit with all rows. The bounds are the solver's own.",
            f"Folds: stratified, shuffled, random state {options.random_state}. Those of the paper are not published, so test "
            "figures differ by the draw.",
            "Published figures: Table 3, column RISKSLIM (20 minutes with CPLEX). spread is the standard deviation over folds.",
            "cal is the mean absolute difference between predicted and observed risk in 10 bins of equal width, which gives "
            "the CAL of the cards that the paper prints; cal_rms, the root of the mean square in the same bins, is what its "
            "text describes, and does not.",
        ],
        not_measured=[
            "arrest, which is not public; the other columns of Table 3 (PLR and the rounded models).",
            "Certificates of these fits.",
        ],
    )


def _solve(X: np.ndarray, y: np.ndarray, limit: float, n_threads: int) -> tuple[ScoreOutcome, float]:
    worked = time.process_time()
    outcome = ExactScore().solve(pose(X, y), SolveOptions(tolerance=0.0, time_limit=limit, n_threads=n_threads))
    return outcome, time.process_time() - worked


def _folds(name: str, limit: float, options: argparse.Namespace) -> list[dict[str, Cell]]:
    X, y = load(name)
    draw = StratifiedKFold(5, shuffle=True, random_state=options.random_state)
    every = np.arange(len(y))
    found: list[dict[str, Cell]] = []
    for fold, (train, test) in enumerate([*draw.split(X, y), (every, every)], start=1):
        final = fold > 5
        say(f"{name}: {'all rows' if final else f'fold {fold}'}")
        outcome, worked = _solve(X[train], y[train], limit, options.threads)
        card: RiskScore = outcome.primal
        scores = X[test] @ card.points + card.intercept
        found.append(
            {
                "data": name,
                "fit": "all rows" if final else f"fold {fold}",
                "auc": float(roc_auc_score(y[test], scores)),
                "cal": calibration_error(scores, y[test]),
                "cal_rms": calibration_error(scores, y[test], 2),
                "size": card.size,
                "loss": outcome.upper_bound - 1e-8 * card.size,
                "gap": (outcome.upper_bound - outcome.lower_bound) / outcome.upper_bound,
                "seconds": outcome.seconds,
                "cpu_seconds": worked,
                "ended": outcome.status.value,
            }
        )
    return found


def _rows(name: str, fits: Sequence[dict[str, Cell]]) -> list[dict[str, Cell]]:
    *tests, final = fits
    means, spreads = {}, {}
    for key in ("auc", "cal", "cal_rms"):
        values = np.array([fit[key] for fit in tests], dtype=np.float64)
        means[key], spreads[key] = float(values.mean()), float(values.std(ddof=1))
    auc, cal, size, loss, gap = PUBLISHED[name]
    lines: tuple[tuple[str, Cell, Cell, Cell], ...] = (
        ("test auc", f"{auc:.3f}", f"{means['auc']:.3f}", f"{spreads['auc']:.3f}"),
        ("test cal", f"{cal:.1%}", f"{means['cal']:.1%}", f"{spreads['cal']:.1%}"),
        ("test cal_rms", None, f"{means['cal_rms']:.1%}", f"{spreads['cal_rms']:.1%}"),
        ("model size", size, final["size"], None),
        ("loss value", f"{loss:.3f}", f"{final['loss']:.6f}", None),
        ("optimality gap", f"{gap:.1%}", f"{final['gap']:.1%}", None),
    )
    return [
        {"data": name, "metric": metric, "published": then, "found": now, "spread": width} for metric, then, now, width in lines
    ]


def _printed_cards(names: Sequence[str]) -> list[dict[str, Cell]]:
    rows: list[dict[str, Cell]] = []
    for name, (intercept, points, auc, cal) in PRINTED_CARDS.items():
        if name not in names:
            continue
        X, y = load(name)
        columns = column_names(name)
        scores = intercept + X[:, [columns.index(column) for column in points]] @ np.array(list(points.values()))
        rows.append(
            {
                "data": name,
                "published_auc": f"{auc:.3f}",
                "auc": f"{roc_auc_score(y, scores):.4f}",
                "loss": f"{np.logaddexp(0.0, -y * scores).mean():.5f}",
                "published_cal": f"{cal:.1%}",
                "cal": f"{calibration_error(scores, y):.2%}",
                "cal_rms": f"{calibration_error(scores, y, 2):.2%}",
            }
        )
    return rows


def _findings(rows: Sequence[dict[str, Cell]], folds: Sequence[dict[str, Cell]]) -> list[str]:
    finals = [fold for fold in folds if fold["fit"] == "all rows"]
    proven = [str(fold["data"]) for fold in finals if fold["ended"] == "optimal"]
    lines = [f"Gap 0.0 % proven with all rows: {', '.join(proven) or 'none'} ({len(proven)} of {len(finals)} tables)."]
    ended = sum(fold["ended"] == "optimal" for fold in folds)
    lines.append(f"Fits proven optimal: {ended} of {len(folds)}.")
    for name in dict.fromkeys(row["data"] for row in rows):
        pairs = [
            f"{row['metric']} {row['found']} (published {row['published']})"
            for row in rows
            if row["data"] == name and row["metric"] in ("test auc", "test cal", "loss value")
        ]
        lines.append(f"{name}: {', '.join(pairs)}.")
    return lines
