"""Parameters of a model by a grid and cross-validation, as in Section 4.3 of Lin, Fang, Fang and Gao (2024).

The accuracy reported is that of the best parameters over the folds they were chosen by, as in the paper, for all models alike.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits
from uncertain_rows import FOLDS, Searched

from surefoot.chancesvm.estimator.chance_svc import ChanceConstrainedSVC
from surefoot.chancesvm.inputs.class_clusters import class_clusters
from surefoot.chancesvm.problem.kernels import Kernel
from surefoot.chancesvm.problem.problem import ChanceSVMProblem, KernelPlane
from surefoot.chancesvm.solvers.chance_admm import ChanceADMM
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import ConvergenceLimitWarning, SingleSampleWarning, WeakModelWarning

# 1 separates the means; the estimator wants a number below.
MEANS = 1 - 1e-9
# The paper's columns and moments are as they come.
PAPER: dict[str, Any] = {"standardize": False, "covariance": "batch"}
# Beyond these iterations libsvm creeps.
SVC_ITERATIONS = 200_000
# Iterations of the published splitting in a search; few runs take more, and those gain nothing.
ADMM_ITERATIONS = 300


@dataclass(frozen=True)
class Grid:
    """Exponents of two for C and for kernel widths, and violations."""

    costs: tuple[int, ...]
    widths: tuple[int, ...]
    violations: tuple[float, ...]

    @property
    def fits(self) -> set[int]:
        """How many fits SVC has, and ours."""
        points = len(self.costs) * len(self.widths) * FOLDS
        return {points, points * len(self.violations)}


GRIDS = {
    # Section 4.3: C in {2^-1, ..., 2^14}, widths in {2^-5, ..., 2^5}, violations in {0.1, ..., 1}.
    "paper": Grid(tuple(range(-1, 15)), tuple(range(-5, 6)), (*(at / 10 for at in range(1, 10)), MEANS)),
    # Every second one.
    "half": Grid(tuple(range(-1, 14, 2)), tuple(range(-5, 6, 2)), (0.1, 0.3, 0.5, 0.7, 0.9, MEANS)),
    "coarse": Grid((-1, 1, 6, 11), (0, 2, 3), (0.1, 0.5, MEANS)),
    "quick": Grid((6, 11), (2, 3), (0.1, MEANS)),
}


@dataclass(frozen=True)
class Fold:
    """Training rows, labels and clusters, test rows and labels."""

    X: np.ndarray
    y: np.ndarray
    clusters: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def folds_of(X: np.ndarray, y: np.ndarray, options: Any, n_clusters: int | None = None) -> Iterator[Fold]:
    """Training and test parts, columns in standard units of the former, with clusters inside each class."""
    for train, test in splits(y, options.train, options.random_state):
        scaler = StandardScaler().fit(X[train])
        own = scaler.transform(X[train])
        signs = np.where(y[train], 1.0, -1.0)
        clusters = class_clusters(own, signs, np.ones(len(own)), n_clusters, options.random_state)
        yield Fold(own, y[train], clusters, scaler.transform(X[test]), y[test])


def splits(y: np.ndarray, most: int, random_state: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows of training and of testing, fold by fold; above 600 rows so many for training, and all others for testing."""
    draw = np.random.default_rng(random_state)
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=random_state).split(y, y):
        if len(y) > 600:
            chosen = draw.permutation(train)[:most]
            yield chosen, np.setdiff1d(np.arange(len(y)), chosen)
        else:
            yield train, test


def search(model: str, folds: Sequence[Fold], grid: Grid, options: Any) -> Searched:
    """The best parameters of a model on these folds, and what they and the search cost."""
    kind, kernel = model.split()
    fit = {"svc": _fit_svc, "chance": _fit_chance, "admm": _fit_admm}[kind]
    costs, widths = [2.0**at for at in grid.costs], [2.0**at for at in grid.widths]
    violations: Sequence[float | None] = (None,) if kind == "svc" else grid.violations
    with joblib.parallel_config(n_jobs=options.jobs):
        parts = joblib.Parallel()(
            joblib.delayed(fit)(kernel, width, costs, violations, fold, options) for width in widths for fold in folds
        )
    figures = np.array([accuracies for accuracies, _, _ in parts])
    figures = np.moveaxis(figures.reshape(len(widths), FOLDS, len(violations), len(costs)), 1, -1)
    best = np.unravel_index(int(figures.mean(axis=-1).argmax()), figures.shape[:3])
    width, violation, cost = widths[best[0]], violations[best[1]], costs[best[2]]
    singles = []
    with threadpool_limits(limits=1):
        for fold in folds:
            started = time.process_time()
            fitted = alone(model, width, cost, violation, fold, options)
            singles.append((time.process_time() - started, fitted.score(fold.X_test, fold.y_test)))
    return Searched(
        accuracies=figures,
        violations=violations,
        proven=sum(proven for _, proven, _ in parts),
        fits=figures.size,
        cpu_seconds=float(sum(seconds for _, _, seconds in parts)),
        cost=cost,
        width=width,
        violation=violation,
        alone_seconds=float(np.mean([seconds for seconds, _ in singles])),
        alone_accuracy=float(np.mean([score for _, score in singles])),
    )


def _fit_svc(
    kernel: str, width: float, costs: Sequence[float], violations: Sequence[float | None], fold: Fold, options: Any
) -> tuple[np.ndarray, int, float]:
    """Accuracies by violation (there is none) and cost, how many fits ended by themselves, and CPU seconds."""
    started = time.process_time()
    with threadpool_limits(limits=1):
        models = [alone(f"svc {kernel}", width, cost, None, fold, options) for cost in costs]
        accuracies = np.array([[model.score(fold.X_test, fold.y_test) for model in models]])
    ended = sum(bool(model.n_iter_.max() < SVC_ITERATIONS) for model in models)
    return accuracies, ended, time.process_time() - started


def _fit_chance(
    kernel: str, width: float, costs: Sequence[float], violations: Sequence[float], fold: Fold, options: Any
) -> tuple[np.ndarray, int, float]:
    """Accuracies by violation and cost, how many fits are proven, and CPU seconds."""
    started = time.process_time()
    with threadpool_limits(limits=1), silenced():
        empty = ChanceConstrainedSVC(tol=options.tol, time_limit=options.time_limit, **PAPER, **shape(kernel, width))
        prices = [cost * inputs_over_rows(fold) for cost in costs]
        path = empty.fit_path(fold.X, fold.y, costs=prices, violations=violations, groups=fold.clusters)
        models = [model for row in path for model in row]
        # Scores of all models from one look at the kernels of training and test rows.
        coefficients = np.zeros((len(fold.X), len(models)))
        for at, model in enumerate(models):
            coefficients[model.support_, at] = model.dual_coef_[0]
        named = shape(kernel, width)
        products = Kernel(named.pop("kernel"), **named).products(fold.X_test, fold.X)
        scores = products @ coefficients + np.array([model.intercept_[0] for model in models])
        accuracies = np.mean((scores > 0) == fold.y_test[:, None], axis=0).reshape(len(violations), len(costs))
    proven = sum(model.certificate_.verified for model in models)
    return accuracies, proven, time.process_time() - started


def _fit_admm(
    kernel: str, width: float, costs: Sequence[float], violations: Sequence[float], fold: Fold, options: Any
) -> tuple[np.ndarray, int, float]:
    """The same of the published splitting; counted are fits that ended by its own test."""
    started = time.process_time()
    with threadpool_limits(limits=1):
        models = [Split.fit(kernel, width, cost, value, fold, ADMM_ITERATIONS) for value in violations for cost in costs]
        coefficients = np.stack([model.plane.coefficients for model in models], axis=1)
        problem = models[0].problem
        scores = problem.kernel.products(fold.X_test, problem.samples) @ coefficients
        scores += np.array([model.plane.intercept for model in models])
        accuracies = np.mean((scores > 0) == fold.y_test[:, None], axis=0).reshape(len(violations), len(costs))
    return accuracies, sum(model.iterations < ADMM_ITERATIONS for model in models), time.process_time() - started


@dataclass(frozen=True)
class Split:
    """What the published splitting ends with; the estimator would add a bound, which is not what the paper has timed."""

    problem: ChanceSVMProblem
    plane: KernelPlane
    iterations: int

    @classmethod
    def fit(cls, kernel: str, width: float, cost: float, violation: float, fold: Fold, most: int | None = None) -> Split:
        problem = problem_of(kernel, width, cost, violation, fold)
        outcome = ChanceADMM().solve(problem, SolveOptions(max_iter=most))
        return cls(problem, outcome.primal, outcome.iterations)

    def score(self, X: np.ndarray, y: np.ndarray) -> float:
        values = self.problem.kernel.products(X, self.problem.samples) @ self.plane.coefficients
        return float(np.mean((values + self.plane.intercept > 0) == y))


def problem_of(kernel: str, width: float, cost: float, violation: float, fold: Fold) -> ChanceSVMProblem:
    """The paper's problem of a fold's clusters."""
    order = np.argsort(fold.clusters, kind="stable")
    starts = np.append(np.flatnonzero(np.diff(fold.clusters[order], prepend=-1)), order.size)
    named = shape(kernel, width)
    count = starts.size - 1
    return ChanceSVMProblem(
        samples=fold.X[order],
        starts=starts,
        labels=np.where(fold.y[order][starts[:-1]], 1.0, -1.0),
        costs=np.full(count, cost),
        violation=np.full(count, violation),
        kernel=Kernel(named.pop("kernel"), **named),
    )


def alone(
    model: str, width: float, cost: float, violation: float | None, fold: Fold, options: Any, solver: str = "auto"
) -> Any:
    """One model, fitted by itself."""
    kind, kernel = model.split()
    if kind == "admm" and violation is not None:
        return Split.fit(kernel, width, cost, violation, fold)
    with silenced():
        if violation is None:
            return SVC(C=cost, max_iter=SVC_ITERATIONS, **shape(kernel, width)).fit(fold.X, fold.y)
        price = cost * inputs_over_rows(fold)
        asked = {"C": price, "violation": violation, "tol": options.tol, "solver": solver, **PAPER}
        return ChanceConstrainedSVC(**asked, **shape(kernel, width)).fit(fold.X, fold.y, groups=fold.clusters)


def inputs_over_rows(fold: Fold) -> float:
    """Inputs over rows: the paper's C is the price of an input, ours is that of a row."""
    return float(np.unique(fold.clusters).size / len(fold.X))


def shape(kernel: str, width: float) -> dict[str, Any]:
    """The paper's kernels in scikit-learn's words."""
    if kernel == "quad":
        return {"kernel": "poly", "gamma": 1.0, "coef0": width, "degree": 2}
    return {"kernel": "rbf", "gamma": 1 / (2 * width**2)}


@contextmanager
def silenced() -> Iterator[None]:
    """Without what estimators say of models that are not proven or do not say much: tables count these."""
    with warnings.catch_warnings():
        for category in (SingleSampleWarning, ConvergenceLimitWarning, ConvergenceWarning, WeakModelWarning):
            warnings.simplefilter("ignore", category)
        yield
