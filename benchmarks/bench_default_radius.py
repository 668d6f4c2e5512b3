"""What the automatic radius gives beside a fixed one and beside cross-validated logistic regression."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from default_tables import CHOSEN, CONFIRMED, load_frame
from measure import say
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tables import Cell, Report, Row, Table
from threadpoolctl import threadpool_limits

import surefoot as sf
from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.robust.estimator.held_out_radius import PARAMETERS as HELD_OUT

DESCRIPTION = "radius='auto' beside 0.05 and scikit-learn's LogisticRegressionCV on 31 tables, 50 to 5,000 rows"
# Training rows, and how many splits of a table.
SPLITS = {50: 6, 200: 4, 1000: 2, 5000: 1}
QUICK_SPLITS = {50: 2}
QUICK_TABLES = ("breast-cancer", "hepatitis")
# A table must have this many times the training rows, so that there is something to test on.
ROOM = 1.25
MOST_TEST_ROWS = 4000
OURS, FIXED, RIVAL, CONSTANT = "auto", "0.05", "LogisticRegressionCV", "class share"
MODELS = (OURS, FIXED, RIVAL, CONSTANT)
# A loss that is larger by more than this counts as worse, if it is also larger by two standard errors.
MARGIN = 0.005


@dataclass(frozen=True)
class Split:
    """Losses and areas by model, of one split of one table."""

    data: str
    rows: int
    loss: dict[str, float]
    auc: dict[str, float]
    radius: float
    proven: bool


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", nargs="+", choices=[*CHOSEN, *CONFIRMED], help="tables (default: all)")
    parser.add_argument("--random-state", type=int, default=0)


def run(options: argparse.Namespace) -> Report:
    """Fit every model to every split, and measure it on the other rows."""
    names = options.data or (QUICK_TABLES if options.quick else (*CHOSEN, *CONFIRMED))
    splits: list[Split] = []
    started = time.process_time()
    with threadpool_limits(limits=1), warnings.catch_warnings():
        # Levels that no training row has are part of small samples.
        warnings.filterwarnings("ignore", message="Found unknown categories", category=UserWarning)
        warnings.simplefilter("ignore", FutureWarning)
        # The rival's largest C of separable samples, which its cross-validation does not choose.
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name in names:
            X, y = load_frame(name)
            for rows, times in (QUICK_SPLITS if options.quick else SPLITS).items():
                if len(y) >= ROOM * rows:
                    splits += [found for k in range(times) if (found := _split(name, X, y, rows, (k, options))) is not None]
            say(f"{name}: {time.process_time() - started:.0f} CPU seconds so far")
    return report_of(splits, options.random_state)


def report_of(splits: Sequence[Split], random_state: int) -> Report:
    """What the splits say."""
    return Report(
        name="default_radius",
        title="The automatic radius",
        tables=[
            Table("default_radius", "Held-out log loss less that of LogisticRegressionCV, means over tables", _means(splits)),
            Table("default_radius_tables", "By table and training rows", _table_rows(splits)),
        ],
        findings=_findings(splits),
        method=[
            f"{', '.join(f'{times} splits with {rows} training rows' for rows, times in SPLITS.items())}, seed "
            f"{random_state}; measured on up to {MOST_TEST_ROWS} of the other rows. Columns that are constant in the "
            "training rows are left out. Tables too small for a number of rows are left out there.",
            f"{OURS}, {FIXED}: RobustLogisticRegression(radius=..., unseen_categories='reference'), everything else default. "
            f"The rule is corrected by rows held out in turn up to {HELD_OUT.most_rows} rows, and up to "
            f"{HELD_OUT.most_doubtful_rows} where its premium is more than the loss; otherwise it stands alone.",
            f"{RIVAL}: scikit-learn, l2, ten values of C from 1e-4 to 1e4 by five-fold log loss; numbers in "
            f"standard units, one column per level. {CONSTANT}: the share of the second class in the training rows.",
            "difference: mean over splits of the log loss less that of the rival; se: its standard error over the splits, "
            "which share rows of one table. One thread.",
            f"chosen: the tables the rule was found on ({', '.join(CHOSEN)}). confirmed: tables that had no part in it "
            f"({', '.join(CONFIRMED)}).",
        ],
        not_measured=["Shifts: here training and test rows come from one table. That is what real_shift is about."],
    )


def _split(name: str, X: Any, y: BoolArray, rows: int, seed: tuple[int, argparse.Namespace]) -> Split | None:
    k, options = seed
    order = np.random.default_rng((options.random_state, 77, k, rows)).permutation(len(y))
    train, test = order[:rows], order[rows : rows + MOST_TEST_ROWS]
    rarest = min(int(y[train].sum()), int((~y[train]).sum()))
    if rarest < 2 or y[test].all() or not y[test].any():
        return None
    own, other = X.iloc[train].reset_index(drop=True), X.iloc[test].reset_index(drop=True)
    kept = [column for column in own.columns if own[column].nunique() > 1]
    own, other = own[kept], other[kept]
    robust = sf.RobustLogisticRegression(unseen_categories="reference").fit(own, y[train])
    fixed = sf.RobustLogisticRegression(radius=0.05, unseen_categories="reference").fit(own, y[train])
    rival = _rival(min(5, rarest)).fit(own, y[train])
    risks: dict[str, FloatArray] = {
        OURS: robust.predict_proba(other)[:, 1],
        FIXED: fixed.predict_proba(other)[:, 1],
        RIVAL: rival.predict_proba(other)[:, 1],
        CONSTANT: np.full(len(test), y[train].mean()),
    }
    return Split(
        data=name,
        rows=rows,
        loss={model: float(log_loss(y[test], risk, labels=[False, True])) for model, risk in risks.items()},
        auc={model: float(roc_auc_score(y[test], risk)) for model, risk in risks.items()},
        radius=robust.radius_,
        proven=robust.certificate_.verified,
    )


def _rival(folds: int) -> Any:
    encode = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    )
    return make_pipeline(encode, LogisticRegressionCV(Cs=10, cv=folds, scoring="neg_log_loss", max_iter=200))


def _groups(splits: Sequence[Split]) -> dict[tuple[str, int], list[Split]]:
    found: dict[tuple[str, int], list[Split]] = {}
    for split in splits:
        found.setdefault((split.data, split.rows), []).append(split)
    return found


def _difference(group: Sequence[Split], model: str) -> tuple[float, float]:
    """Mean and standard error of a model's log loss less the rival's."""
    apart = np.array([split.loss[model] - split.loss[RIVAL] for split in group])
    return float(apart.mean()), float(apart.std(ddof=1) / np.sqrt(apart.size)) if apart.size > 1 else float("nan")


def _is_worse(group: Sequence[Split], model: str) -> bool:
    apart, error = _difference(group, model)
    return apart > MARGIN and apart > 2.0 * error


def _table_rows(splits: Sequence[Split]) -> list[Row]:
    rows: list[Row] = []
    for (name, count), group in _groups(splits).items():
        row: dict[str, Cell] = {"data": name, "part": _part(name), "rows": count, "splits": len(group)}
        row["radius"] = f"{np.median([split.radius for split in group]):.2g}"
        row |= {f"loss {model}": f"{np.mean([split.loss[model] for split in group]):.4f}" for model in MODELS}
        for model in (OURS, FIXED):
            apart, error = _difference(group, model)
            row |= {f"difference {model}": f"{apart:+.4f}", f"se {model}": f"{error:.4f}"}
        row |= {f"auc {model}": f"{np.mean([split.auc[model] for split in group]):.4f}" for model in MODELS[:3]}
        rows.append(row)
    return rows


def _part(name: str) -> str:
    return "chosen" if name in CHOSEN else "confirmed"


def _means(splits: Sequence[Split]) -> list[Row]:
    rows: list[Row] = []
    groups = _groups(splits)
    for part in ("chosen", "confirmed"):
        for count in sorted({count for _, count in groups}):
            own = [group for (name, size), group in groups.items() if size == count and _part(name) == part]
            if not own:
                continue
            row: dict[str, Cell] = {"part": part, "rows": count, "tables": len(own)}
            for model in (OURS, FIXED, CONSTANT):
                apart = np.array([_difference(group, model)[0] for group in own])
                row |= {f"mean {model}": f"{apart.mean():+.4f}", f"median {model}": f"{np.median(apart):+.4f}"}
                row[f"worse {model}"] = sum(_is_worse(group, model) for group in own)
            row[f"better {OURS}"] = sum(_is_better(group) for group in own)
            rows.append(row)
    return rows


def _is_better(group: Sequence[Split]) -> bool:
    apart, error = _difference(group, OURS)
    return apart < -MARGIN and apart < -2.0 * error


def _findings(splits: Sequence[Split]) -> list[str]:
    lines = [f"{sum(split.proven for split in splits)} of {len(splits)} fits with the automatic radius are proven optimal."]

    for part in ("chosen", "confirmed"):
        own = {key: group for key, group in _groups(splits).items() if _part(key[0]) == part}
        if not own:
            continue
        worse = {key: group for key, group in own.items() if _is_worse(group, OURS)}
        means = {model: np.mean([_difference(group, model)[0] for group in own.values()]) for model in (OURS, FIXED)}
        lines.append(
            f"{part}: mean difference {means[OURS]:+.4f} with the automatic radius, {means[FIXED]:+.4f} with 0.05; "
            f"worse than the rival by more than {MARGIN} and two standard errors: {len(worse)} of {len(own)} (0.05: "
            f"{sum(_is_worse(group, FIXED) for group in own.values())}); better likewise: "
            f"{sum(_is_better(group) for group in own.values())}."
        )
        told = [f"{name} at {rows} rows {_difference(group, OURS)[0]:+.3f}" for (name, rows), group in worse.items()]
        if told:
            lines.append(f"{part}, worse: {', '.join(told)}.")
    return lines
