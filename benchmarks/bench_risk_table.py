"""Table 3 of Ustun and Rudin (JMLR 2019): test AUC, calibration error, size, loss and gap of the best card, by 5-fold CV.

As the paper says of its own method (Section 6.2), nothing is tuned, so that no inner folds are needed: one fit for each of the
5 folds, and one with all rows, whose size, loss and gap are reported.

Calibration error (footnotes 7 and 8 of the paper): the root of the mean over rows of (predicted risk - observed risk of the
rows with the same score)^2; rows are put into 10 bins of equal width by predicted risk where there are more than 30 scores. The
footnote writes 1/N before the root; the percentages of the table, and the name root mean squared error, are those of the mean
inside it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
from bench_risk_scores import load, pose
from machine import available_cores
from measure import say
from scipy.special import expit
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from tables import Cell, Report, Table

from surefoot.problems.risk_score import RiskScore
from surefoot.solvers.exact_score import ExactScore, ScoreOutcome
from surefoot.solvers.registry import SolveOptions

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
MOST_SCORES, BINS = 30, 10


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", nargs="+", choices=tuple(PUBLISHED), help=f"tables (default: all; quick: {QUICK_SETS})")
    parser.add_argument("--time-limit", type=float, default=1200.0, help="seconds until a fit is ended (quick: at most 10)")
    parser.add_argument("--threads", type=int, default=min(2, available_cores()), help="threads allowed to the exact search")
    parser.add_argument("--random-state", type=int, default=0, help="of the folds")


def calibration_error(scores: np.ndarray, labels: np.ndarray) -> float:
    """Root mean squared difference between predicted and observed risk; see the module docstring."""
    risks = expit(scores)
    groups = np.unique(scores, return_inverse=True)[1]
    if groups.max() + 1 > MOST_SCORES:
        groups = np.minimum((risks * BINS).astype(np.intp), BINS - 1)
    observed = np.bincount(groups, labels > 0) / np.maximum(np.bincount(groups), 1)
    return float(np.sqrt(np.mean((risks - observed[groups]) ** 2)))


def run(options: argparse.Namespace) -> Report:
    """Measure, and say what was found."""
    limit = min(options.time_limit, 10.0) if options.quick else options.time_limit
    rows: list[dict[str, Cell]] = []
    folds: list[dict[str, Cell]] = []
    for name in options.sets or (QUICK_SETS if options.quick else tuple(PUBLISHED)):
        of_set = _folds(name, limit, options)
        folds += of_set
        rows += _rows(name, of_set)
    return Report(
        name="risk_table",
        title="Table 3 of Ustun and Rudin: the best score cards of up to 5 columns",
        tables=[Table("risk_table", "Published and found", rows), Table("risk_table_folds", "Every fit", folds)],
        findings=_findings(rows, folds),
        method=[
            f"Size <= 5, points -5..5, intercept -100..100, penalty 1e-8, gap 0 asked for, limit {limit:g} s a fit, "
            f"{options.threads} threads. Nothing is tuned, so no inner folds are needed; test figures are means over 5 folds, "
            "size, loss and gap are those of the fit with all rows. The bounds are the solver's own.",
            f"Folds: stratified, shuffled, random state {options.random_state}. Those of the paper are not published, so test "
            "figures differ by the draw.",
            "Published figures: Table 3, column RISKSLIM (20 minutes with CPLEX). spread is the standard deviation over folds.",
        ],
        not_measured=[
            "Why test CAL differs from the published where it does: folds, and perhaps the way scores are put together.",
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
    for key in ("auc", "cal"):
        values = np.array([fit[key] for fit in tests], dtype=np.float64)
        means[key], spreads[key] = float(values.mean()), float(values.std(ddof=1))
    ours = (f"{means['auc']:.3f}", f"{means['cal']:.1%}", final["size"], f"{final['loss']:.6f}", f"{final['gap']:.1%}")
    published = PUBLISHED[name]
    theirs = (f"{published[0]:.3f}", f"{published[1]:.1%}", published[2], f"{published[3]:.3f}", f"{published[4]:.1%}")
    spread: tuple[Cell, ...] = (f"{spreads['auc']:.3f}", f"{spreads['cal']:.1%}", None, None, None)
    metrics = ("test auc", "test cal", "model size", "loss value", "optimality gap")
    return [
        {"data": name, "metric": metric, "published": then, "found": now, "spread": width}
        for metric, then, now, width in zip(metrics, theirs, ours, spread, strict=True)
    ]


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
