"""Tables 7 and 8 of Lin, Fang, Fang and Gao (2024): accuracy and seconds beside scikit-learn's SVC.

As in the paper, parameters are chosen by a grid and cross-validation, and the accuracy reported is that of the best ones over
the same folds, for both models alike. Batches are those of k-means inside each class, K = min(8, 10 % of the training rows).
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from machine import available_cores
from measure import say
from problems import data_directory, read_columns
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from tables import Cell, Report, Table
from threadpoolctl import threadpool_limits

from surefoot.estimators.chance_svc import ChanceConstrainedSVC
from surefoot.estimators.class_clusters import class_clusters
from surefoot.exceptions import ConvergenceLimitWarning, SingleSampleWarning

DESCRIPTION = "accuracy of ChanceConstrainedSVC and scikit-learn's SVC beside Tables 7 and 8 of the paper"
FOLDS = 5
# Exponents of two. The paper: C from -1 to 14, widths from -5 to 5, violations 0.1, 0.2, ..., 1.
COSTS = (-1, 1, 6, 11)
WIDTHS = (0, 2, 3)
# 1 separates the means; the estimator wants a number below.
VIOLATIONS = (0.1, 0.5, 1 - 1e-9)


@dataclass(frozen=True)
class Source:
    """How a file becomes a table, and its column of Tables 6 and 7: rows, columns, and the four accuracies in percent."""

    file: str
    label: str
    classes: tuple[str, str]
    shape: tuple[int, int]
    published: dict[str, float]
    drop: tuple[str, ...] = ()


def _published(svc_quad: float, svc_rbf: float, quad: float, rbf: float) -> dict[str, float]:
    return {"svc quad": svc_quad, "svc rbf": svc_rbf, "chance quad": quad, "chance rbf": rbf}


SOURCES = {
    "sonar": Source("sonar.csv", "class", ("R", "M"), (208, 60), _published(81.95, 83.14, 81.36, 86.75)),
    "liver": Source("bupa_liver.csv", "selector", ("1", "2"), (319, 6), _published(73.98, 76.49, 73.05, 75.99)),
    "ionosphere": Source("ionosphere.csv", "class", ("b", "g"), (351, 34), _published(91.10, 95.01, 90.04, 93.24)),
    "wisconsin": Source(
        "breast_cancer_wisconsin_original.csv",
        "class",
        ("2", "4"),
        (666, 9),
        _published(94.88, 95.97, 97.57, 96.70),
        drop=("sample_code",),
    ),
    "german": Source("german_credit.csv", "class", ("1", "2"), (1000, 20), _published(70.62, 71.00, 70.50, 72.20)),
    # 1210 + 384 rows of these two classes are the paper's 1594.
    "car": Source("car.csv", "class", ("unacc", "acc"), (1594, 6), _published(94.90, 95.98, 85.81, 93.39)),
    "heart": Source("framingham.csv", "TenYearCHD", ("0", "1"), (3658, 15), _published(84.76, 84.76, 84.74, 84.83)),
}
SECONDS = {  # Table 8
    "sonar": (0.01, 0.01, 0.11, 0.41),
    "liver": (1.08, 0.39, 0.91, 1.72),
    "ionosphere": (0.01, 0.01, 0.34, 1.67),
    "wisconsin": (0.26, 0.01, 0.01, 0.02),
    "german": (0.03, 0.03, 0.03, 0.09),
    "car": (0.08, 0.06, 0.05, 0.10),
    "heart": (0.03, 0.01, 0.02, 0.04),
}
MODELS = ("svc quad", "svc rbf", "chance quad", "chance rbf")
# Categories with an order of their own; all others are numbered in the order of their codes.
ORDERS = {value: at for values in (("low", "med", "high", "vhigh"), ("small", "big")) for at, value in enumerate(values)}
ORDERS |= {"big": 2, "5more": 5, "more": 6}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", nargs="+", choices=tuple(SOURCES), help="tables (default: all; quick: sonar)")
    parser.add_argument("--train", type=int, default=150, help="training rows a fold, for tables of more than 600 rows")
    parser.add_argument("--tol", type=float, default=1e-3, help="relative gap asked for during the search")
    parser.add_argument("--time-limit", type=float, default=0.5, help="seconds until a fit is ended")
    parser.add_argument("--jobs", type=int, default=min(2, available_cores()), help="processes")
    parser.add_argument("--random-state", type=int, default=0, help="of folds and clusters")


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and labels (True for the second class); rows with gaps and of other classes dropped."""
    source = SOURCES[name]
    columns = read_columns(data_directory() / "uci" / source.file)
    labels = columns.pop(source.label)
    columns = {column: values for column, values in columns.items() if column not in source.drop}
    kept = np.isin(labels, source.classes)
    for values in columns.values():
        kept &= ~np.isin(values, ("?", "NA", ""))
    X = np.column_stack([_numbers(values[kept]) for values in columns.values()])
    return X, labels[kept] == source.classes[1]


def _numbers(values: np.ndarray) -> np.ndarray:
    try:
        return values.astype(np.float64)
    except ValueError:
        codes = {value: at for at, value in enumerate(np.unique(values).tolist())}
        return np.array([ORDERS.get(value, _digit(value, codes)) for value in values.tolist()], dtype=np.float64)


def _digit(value: str, codes: dict[str, int]) -> float:
    return float(value) if value.isdigit() else float(codes[value])


def run(options: argparse.Namespace) -> Report:
    """Measure, and say what was found."""
    names = options.sets or (("sonar",) if options.quick else tuple(SOURCES))
    rows: list[dict[str, Cell]] = []
    seconds: list[dict[str, Cell]] = []
    scalings: list[dict[str, Cell]] = []
    for name in names:
        best = {model: _best(name, model, options) for model in MODELS}
        rows.append(_accuracy_row(name, best))
        seconds += [_seconds_row(name, model, best[model], at) for at, model in enumerate(MODELS)]
        if name == "heart":
            scalings = _scaling_rows(name, options)
        say(f"{name}: {', '.join(f'{model} {100 * best[model].accuracy:.1f}' for model in MODELS)}")
    return Report(
        name="uncertain_accuracy",
        title="Uncertain inputs made by k-means: accuracy beside scikit-learn's SVC and the paper's tables",
        tables=[
            Table("uncertain_accuracy", "Accuracy in percent at the best parameters, here and in Table 7", rows),
            Table("uncertain_accuracy_seconds", "Seconds of one fit at the best parameters, here and in Table 8", seconds),
            *(
                [Table("uncertain_accuracy_scaling", "SVC quad on heart, by scaling and training rows", scalings)]
                * bool(scalings)
            ),
        ],
        findings=[*_findings(rows), *_heart(rows, scalings), *_unproven(seconds, options)],
        method=[
            f"{FOLDS} stratified folds, shuffled, random state {options.random_state}; columns standardised by the training "
            f"rows. Tables of more than 600 rows: {options.train} training rows a fold, drawn from it, and all of the rest for "
            "testing (the paper: 'a small ratio').",
            f"Grid: C = 2^{list(COSTS)}, widths 2^{list(WIDTHS)}, violations {[round(value, 3) for value in VIOLATIONS]}; the "
            "paper's has 16, 11 and 10 values in the same ranges. As in the paper, the accuracy is that of the best parameters "
            "over the folds they were chosen by, which flatters all models, and those with more parameters more.",
            "rbf is exp(-|x - z|^2 / (2 width^2)), quad is (width + x . z)^2. Batches: k-means inside each class, "
            "K = min(8, 10 % of the training rows), the same for all parameters.",
            f"ChanceConstrainedSVC with tol = {options.tol:g} and a limit of {options.time_limit:g} s a fit; a fit at the "
            "limit counts with the model it has. Seconds are medians over folds with one thread, certificate included.",
            "larger_class: the share of the larger class, which is the accuracy of a model that names it for every row.",
        ],
        not_measured=[
            "cod-rna: the file is not in the collection. Liver has 345 rows here (paper: 319), Wisconsin 683 (paper: 666); the "
            "paper does not say which rows it dropped.",
            "The paper's folds, scaling and coding of categories, which it does not give.",
        ],
    )


@dataclass(frozen=True)
class Best:
    """Parameters with the best mean accuracy."""

    accuracy: float
    spread: float
    seconds: float
    cost: float
    width: float
    violation: float | None
    unproven: float


def _best(name: str, model: str, options: argparse.Namespace) -> Best:
    X, y = load(name)
    kind, kernel = model.split()
    costs, widths = (COSTS[2:4], WIDTHS[1:3]) if options.quick else (COSTS, WIDTHS)
    violations: Sequence[float | None] = (None,) if kind == "svc" else VIOLATIONS[::2] if options.quick else VIOLATIONS
    grid = list(itertools.product([2.0**at for at in costs], [2.0**at for at in widths], violations))
    folds = list(_folds(X, y, options))
    with joblib.parallel_config(n_jobs=options.jobs):
        found = joblib.Parallel()(
            joblib.delayed(_fit)(kernel, *point, fold, options.tol, options.time_limit) for point in grid for fold in folds
        )
    figures = np.array(found).reshape(len(grid), len(folds), 3)
    accuracies = figures[:, :, 0].mean(axis=1)
    at = int(accuracies.argmax())
    cost, width, violation = grid[at]
    return Best(
        accuracy=float(accuracies[at]),
        spread=float(figures[at, :, 0].std(ddof=1)),
        seconds=float(np.median(figures[at, :, 1])),
        cost=cost,
        width=width,
        violation=violation,
        unproven=float(figures[:, :, 2].mean()),
    )


def _folds(X: np.ndarray, y: np.ndarray, options: argparse.Namespace) -> Any:
    """Training rows, labels and clusters, test rows and labels."""
    for train, test in _splits(y, options.train, options.random_state):
        scaler = StandardScaler().fit(X[train])
        own = scaler.transform(X[train])
        signs = np.where(y[train], 1.0, -1.0)
        clusters = class_clusters(own, signs, np.ones(len(own)), None, options.random_state)
        yield own, y[train], clusters, scaler.transform(X[test]), y[test]


def _splits(y: np.ndarray, most: int, random_state: int) -> Any:
    draw = np.random.default_rng(random_state)
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=random_state).split(y, y):
        if len(y) > 600:
            chosen = draw.permutation(train)[:most]
            yield chosen, np.setdiff1d(np.arange(len(y)), chosen)
        else:
            yield train, test


def _scaling_rows(name: str, options: argparse.Namespace) -> list[dict[str, Cell]]:
    """What scaling and the number of training rows do to SVC with the quadratic kernel."""
    X, y = load(name)
    rows: list[dict[str, Cell]] = []
    for scaling, scaler in (("standardised", StandardScaler()), ("to [0, 1]", MinMaxScaler())):
        for most in (options.train, len(y) // FOLDS):
            row: dict[str, Cell] = {"scaling": scaling, "training_rows": most}
            for cost in COSTS[:2]:
                scores = []
                for train, test in _splits(y, most, options.random_state):
                    model = SVC(C=2.0**cost, kernel="poly", degree=2, gamma=1.0, coef0=1.0)
                    model.fit(scaler.fit_transform(X[train]), y[train])
                    scores.append(model.score(scaler.transform(X[test]), y[test]))
                row[f"C = {2.0**cost:g}"] = f"{100 * np.mean(scores):.2f}"
            rows.append(row)
    return rows


def _fit(
    kernel: str, cost: float, width: float, violation: float | None, fold: Any, tol: float, limit: float
) -> tuple[float, float, float]:
    X, y, clusters, X_test, y_test = fold
    shape: dict[str, Any] = {"kernel": "rbf", "gamma": 1 / (2 * width**2)}
    if kernel == "quad":
        shape = {"kernel": "poly", "gamma": 1.0, "coef0": width, "degree": 2}
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", SingleSampleWarning)
        warnings.simplefilter("ignore", ConvergenceLimitWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        started = time.perf_counter()
        if violation is None:
            # Beyond these iterations libsvm creeps; the accuracy no longer moves.
            model: Any = SVC(C=cost, max_iter=1_000_000, **shape).fit(X, y)
            unproven = 0.0
        else:
            model = ChanceConstrainedSVC(C=cost, violation=violation, tol=tol, time_limit=limit, **shape)
            unproven = float(not model.fit(X, y, groups=clusters).certificate_.verified)
        seconds = time.perf_counter() - started
    return float(model.score(X_test, y_test)), seconds, unproven


def _accuracy_row(name: str, best: dict[str, Best]) -> dict[str, Cell]:
    X, y = load(name)
    row: dict[str, Cell] = {"data": name, "rows": len(y), "paper_rows": SOURCES[name].shape[0], "columns": X.shape[1]}
    row["larger_class"] = f"{100 * max(y.mean(), 1 - y.mean()):.2f}"
    for model in MODELS:
        row[model.replace(" ", "_")] = f"{100 * best[model].accuracy:.2f}"
        row[f"paper_{model.replace(' ', '_')}"] = f"{SOURCES[name].published[model]:.2f}"
    return row


def _seconds_row(name: str, model: str, best: Best, at: int) -> dict[str, Cell]:
    return {
        "data": name,
        "model": model,
        "seconds": best.seconds,
        "paper_seconds": SECONDS[name][at],
        "accuracy_sd": 100 * best.spread,
        "C": best.cost,
        "width": best.width,
        "violation": best.violation,
        "share_unproven": best.unproven,
    }


def _unproven(seconds: Sequence[dict[str, Cell]], options: argparse.Namespace) -> list[str]:
    shares = [float(str(row["share_unproven"])) for row in seconds if str(row["model"]).startswith("chance")]
    return [
        f"Fits of the grid that ended at the limit of {options.time_limit:g} s before a gap of {options.tol:g} was proven: "
        f"{np.mean(shares):.0%}. A longer limit may change their accuracies in either direction."
    ]


def _heart(rows: Sequence[dict[str, Cell]], scalings: Sequence[dict[str, Cell]]) -> list[str]:
    """Why SVC with the quadratic kernel is so far from the paper's accuracy there."""
    if not scalings:
        return []
    (heart,) = (row for row in rows if row["data"] == "heart")
    worst, best = (choose(scalings, key=lambda row: float(str(row["C = 0.5"]))) for choose in (min, max))
    return [
        f"heart: {heart['larger_class']}% of the rows have no event. The paper's accuracy of both SVCs is that of saying so of "
        f"everyone. SVC quad reaches {heart['svc_quad']}% here because standardised columns make (width + x . z)^2 "
        f"large and {worst['training_rows']} rows are then fitted all but exactly at every C; columns scaled to [0, 1] and "
        f"C = 0.5 give {best['C = 0.5']}% from {best['training_rows']} rows. The paper does not say how it scaled."
    ]


def _findings(rows: Sequence[dict[str, Cell]]) -> list[str]:
    lines = []
    for kernel in ("quad", "rbf"):
        ours = np.array([float(str(row[f"chance_{kernel}"])) for row in rows])
        theirs = np.array([float(str(row[f"svc_{kernel}"])) for row in rows])
        gains = ours - theirs
        lines.append(
            f"{kernel}: at or above SVC on {int((gains >= 0).sum())} of {len(rows)} tables, differences {gains.min():+.2f} "
            f"to {gains.max():+.2f} points, mean {gains.mean():+.2f}."
        )
    return lines
