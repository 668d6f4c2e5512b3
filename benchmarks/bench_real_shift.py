"""Shifts that happened: models fitted before, tested after, beside scikit-learn's."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from machine import available_cores
from measure import say
from shifted_tables import TABLES, ShiftedTable
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tables import Cell, Report, Row, Table

import surefoot as sf
from surefoot.core.arrays import BoolArray, FloatArray, IntArray
from surefoot.shift.stress.metrics import metrics_of_probabilities

DESCRIPTION = "bank calls by date, COMPAS by screening date, diabetics by admission source: fit before, test after"
THETAS = (0.99, 0.9, 0.5)
METRICS = ("auc", "ace", "log_loss")
HELD_OUT = 0.25
# A column that changed more than a draw at random would, such as the bank's way of calling, gets the least useful certainty.
ABOVE_CHANCE = 0.01
PENALTIES = tuple(10.0**power for power in range(-4, 3))
RADII = (1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
QUICK_ROWS = 1500
PLAIN, BOOSTED, CHOSEN = "LogisticRegression", "HistGradientBoosting", "robust, radius by late rows"
DEFAULT = "robust, theta 0.9"  # the default of ShiftModel
PLAIN_CHOSEN = "LogisticRegression, C by late rows"

Folds = list[tuple[IntArray, IntArray]]


@dataclass(frozen=True)
class Score:
    """One model of one table; ``held_out`` and ``after`` hold METRICS."""

    data: str
    model: str
    chosen: str
    seconds: float
    held_out: FloatArray
    after: FloatArray


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", nargs="+", choices=list(TABLES), default=list(TABLES), help="tables")
    parser.add_argument("--threads", type=int, default=min(2, available_cores()), help="threads allowed to a fit")
    parser.add_argument("--random-state", type=int, default=0)


def run(options: argparse.Namespace) -> Report:
    """Fit every model to every table, before, and measure it on held-out rows from before and on those from after."""
    scores: list[Score] = []
    tables: list[Row] = []
    certainties: list[Row] = []
    for name in options.data:
        table = TABLES[name]()
        if options.quick:
            table = _fewer(table, options.random_state)
        say(f"{name}: {len(table.y)} rows")
        tables.append(_table_row(table))
        shift = _estimated(table, table.early, table.late)
        certainties += _certainty_rows(table, shift)
        scores += _scores(table, shift, options)
    return Report(
        name="real_shift",
        title="Shifts that happened: fitted before, tested after",
        tables=[
            Table(
                "real_shift", "AUC, adaptive calibration error and log loss, before and after", [_row(one) for one in scores]
            ),
            Table("real_shift_tables", "The tables", tables),
            Table("real_shift_certainties", "Certainties from the two parts before", certainties, on_page=False),
        ],
        findings=_findings(scores),
        method=[
            f"Models are fitted to {1 - HELD_OUT:.0%} of the rows from before; held_out: the other {HELD_OUT:.0%}, drawn at "
            f"random, so nothing shifts; after: all rows from after. Seed {options.random_state}. Which rows are which: "
            "shifted_tables.py beside the benchmarks.",
            "robust, theta: RobustLogisticRegression with ShiftModel.from_two(early, late, robustness=theta), certainties and "
            "weights estimated from the inputs of the two parts before; no label and no row from after is used. All thetas "
            "tried are shown. theta 1 is no protection. Certainties below chance are raised to 0.01 above it.",
            f"{CHOSEN}: the same weights, and of {len(RADII)} radii the one whose fit to early rows has the least log loss on "
            f"late rows; {PLAIN_CHOSEN}: likewise with {len(PENALTIES)} values of C.",
            f"{PLAIN}: C = 1, numbers in standard units, one column per level; {BOOSTED}: default settings, categories as "
            "categories.",
            "Levels that only rows from after have count as the reference level (robust), as none (LogisticRegression) or as "
            "missing (boosting).",
        ],
        not_measured=[
            "Chance: one split each, no intervals. Differences in the third digit mean little, COMPAS least of all.",
            "Other choices of periods, columns or rivals' settings.",
        ],
    )


def _scores(table: ShiftedTable, shift: sf.ShiftModel, options: argparse.Namespace) -> list[Score]:
    before = np.flatnonzero(table.before)
    train, held = train_test_split(before, test_size=HELD_OUT, stratify=table.y[before], random_state=options.random_state)
    # In the order of the table: the parts of a fold are positions among the training rows.
    train, held = np.sort(train), np.sort(held)
    folds = [(np.flatnonzero(table.early[train]), np.flatnonzero(table.late[train]))]
    after = np.flatnonzero(table.after)
    found = []
    for name, make in _models(shift, folds, options).items():
        start = time.perf_counter()
        with warnings.catch_warnings():
            # Levels that only later rows have are part of the question.
            warnings.filterwarnings("ignore", message="Found unknown categories", category=UserWarning)
            model, chosen = make(table.X.iloc[train], table.y[train])
            seconds = time.perf_counter() - start
            measured = [_measured(model, table.X.iloc[rows], table.y[rows]) for rows in (held, after)]
        say(f"{table.name}, {name}: {seconds:.1f} s")
        found.append(Score(table.name, name, chosen, seconds, *measured))
    return found


def _models(shift: sf.ShiftModel, folds: Folds, options: argparse.Namespace) -> dict[str, Callable[..., tuple[Any, str]]]:
    """How to fit each model: a function of rows and labels that returns it and what it chose."""
    common = {"unseen_categories": "reference", "n_jobs": options.threads}

    def plain(X: Any, y: BoolArray) -> tuple[Any, str]:
        return _plain().fit(X, y), ""

    def plain_chosen(X: Any, y: BoolArray) -> tuple[Any, str]:
        grid = {"logisticregression__C": list(PENALTIES)}
        model = GridSearchCV(_plain(), grid, scoring="neg_log_loss", cv=folds).fit(X, y)
        return model, f"C = {model.best_params_['logisticregression__C']:g}"

    def boosted(X: Any, y: BoolArray) -> tuple[Any, str]:
        return HistGradientBoostingClassifier(random_state=options.random_state).fit(X, y), ""

    def robust(theta: float, X: Any, y: BoolArray) -> tuple[Any, str]:
        return sf.RobustLogisticRegression(shift=replace(shift, robustness=theta), **common).fit(X, y), ""

    def robust_chosen(X: Any, y: BoolArray) -> tuple[Any, str]:
        model = sf.RobustLogisticRegressionCV(shift=shift, radii=RADII, cv=folds, **common).fit(X, y)
        return model, f"theta = {np.exp(-model.radius_):.4g}"

    ours = {f"robust, theta {theta:g}": lambda X, y, theta=theta: robust(theta, X, y) for theta in THETAS}
    return {PLAIN: plain, PLAIN_CHOSEN: plain_chosen, BOOSTED: boosted, **ours, CHOSEN: robust_chosen}


def _plain() -> Any:
    encode = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include="category")),
    )
    return make_pipeline(encode, LogisticRegression(max_iter=2000))


def _measured(model: Any, X: Any, y: BoolArray) -> FloatArray:
    probability = np.asarray(model.predict_proba(X), dtype=np.float64).T
    found: FloatArray = metrics_of_probabilities(probability[:1], probability[1:], y, METRICS)[0]
    return found


def _fewer(table: ShiftedTable, random_state: int) -> ShiftedTable:
    rows = np.sort(np.random.default_rng(random_state).permutation(len(table.y))[:QUICK_ROWS])
    parts = (part[rows] for part in (table.y, table.early, table.late, table.after))
    return ShiftedTable(table.name, table.X.iloc[rows], *parts)


def _table_row(table: ShiftedTable) -> Row:
    row: dict[str, Cell] = {"data": table.name, "columns": table.X.shape[1]}
    for name, part in (("early", table.early), ("late", table.late), ("after", table.after)):
        row |= {f"{name} rows": int(part.sum()), f"{name} positive": float(table.y[part].mean())}
    return row


def _estimated(table: ShiftedTable, before: BoolArray, after: BoolArray) -> sf.ShiftModel:
    # By type alone: a count that was 0 or 1 so far is no category yet.
    categories = list(table.X.select_dtypes("category").columns)
    found = sf.ShiftModel.from_two(table.X[before], table.X[after], categorical_features=categories)
    lowest = {name: 1.0 / table.X[name].nunique() + ABOVE_CHANCE for name in categories}
    raised = {name: max(certainty, lowest[name]) for name, certainty in found.categorical_certainty.items()}
    return replace(found, categorical_certainty=raised)


def _certainty_rows(table: ShiftedTable, shift: sf.ShiftModel) -> list[Row]:
    later = _estimated(table, table.before, table.after)
    kinds = ((shift.numeric_certainty, later.numeric_certainty), (shift.categorical_certainty, later.categorical_certainty))
    return [
        {"data": table.name, "column": column, "early to late": known[column], "before to after": happened[column]}
        for known, happened in kinds
        for column in known
    ]


def _row(score: Score) -> Row:
    row: dict[str, Cell] = {"data": score.data, "model": score.model}
    for metric, held, after in zip(METRICS, score.held_out.tolist(), score.after.tolist(), strict=True):
        row |= {f"{metric} held out": f"{held:.4f}", f"{metric} after": f"{after:.4f}"}
    return row | {"chosen": score.chosen, "seconds": score.seconds}


def _findings(scores: Sequence[Score]) -> list[str]:
    """Per table, who is best after the shift, and how ours compare with the rivals."""
    lines = []
    signs = np.array([1.0, -1.0, -1.0])
    for data in dict.fromkeys(score.data for score in scores):
        own = {score.model: score for score in scores if score.data == data}
        best = [max(own, key=lambda name, at=at: signs[at] * own[name].after[at]) for at in range(len(METRICS))]
        parts = [
            f"{metric} {own[name].after[at]:.4f} ({name})" for at, (metric, name) in enumerate(zip(METRICS, best, strict=True))
        ]
        lines.append(f"{data}, after the shift: best {', '.join(parts)}.")
        for ours in (DEFAULT, CHOSEN):
            against = []
            for rival in (PLAIN, PLAIN_CHOSEN, BOOSTED):
                gains = signs * (own[ours].after - own[rival].after)
                shown = ", ".join(f"{metric} {gain:+.4f}" for metric, gain in zip(METRICS, gains.tolist(), strict=True))
                against.append(f"{rival}: {shown}")
            lines.append(f"{data}, gain of '{ours}' after the shift (positive is better) over {'; '.join(against)}.")
    return lines
