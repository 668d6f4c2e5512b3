"""Rivals that know the sites: scikit-learn's models, group DRO by reweighting, and questions for ``dro`` and ``skwdro``.

All linear ones see the same numbers: numeric columns in standard units, one column per level. Those that choose a penalty do so
by leaving each site of the training rows out in turn, the information that our recipe has.

Group DRO (Sagawa et al., 2020) is the saddle point of

    min over beta of   max over shares q of   sum_g q_g loss_g(beta) + |beta|^2 / (2 C N).

One round: beta is the best answer to q, by Newton's method from the last one; then q_g grows by the factor exp(STEP loss_g) and
is scaled to a sum of 1. The mean of the betas over the rounds tends to the saddle point (exponentiated gradient against best
answers).
"""

from __future__ import annotations

import json
import os
import subprocess
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit
from shifted_tables import SitedTable
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import LeaveOneGroupOut
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from surefoot.core.arrays import AnyArray, FloatArray, IntArray

STRENGTHS = tuple(10.0**power for power in np.arange(-3.5, 2.0, 0.5))
# Coordinate descent and saga take seconds where Newton's method takes milliseconds: every second strength.
FEWER_STRENGTHS = STRENGTHS[1::2]
ELASTIC = 0.5
# saga stops there with its coefficients right to two digits, which changes no loss in the third.
SAGA_ITERATIONS, SAGA_TOLERANCE = 150, 1e-3
ROUNDS, STEP = 50, 1.0
# Newton's method on a convex loss of a warm start; more are never needed at this tolerance.
NEWTON_STEPS, NEWTON_TOLERANCE = 25, 1e-8
# Radii offered to dro and skwdro, for numbers in standard units.
CHILD_RADII = (1e-3, 1e-2, 3e-2, 0.1)
CHILD = Path(__file__).resolve().parent / "site_child.py"


@dataclass(frozen=True)
class Fitted:
    """A fitted model: probabilities of the positive label, and what it chose on the way."""

    probability: Callable[[Any], FloatArray]
    chosen: str = ""


class TrainingPart:
    """The rows of all sites but one, as tables and as numbers."""

    def __init__(self, table: SitedTable) -> None:
        self.table = table

    @cached_property
    def encoder(self) -> Any:
        numbers = (StandardScaler(), make_column_selector(dtype_include="number"))
        levels = (OneHotEncoder(handle_unknown="ignore", sparse_output=False), make_column_selector(dtype_include="category"))
        return make_column_transformer(numbers, levels).fit(self.table.X)

    @cached_property
    def numbers(self) -> FloatArray:
        return self.encode(self.table.X)

    def encode(self, X: Any) -> FloatArray:
        with warnings.catch_warnings():
            # Levels that only the held-out site has are part of the question.
            warnings.filterwarnings("ignore", message="Found unknown categories", category=UserWarning)
            return np.ascontiguousarray(self.encoder.transform(X), dtype=np.float64)

    @cached_property
    def folds(self) -> list[tuple[IntArray, IntArray]]:
        """Each site left out in turn."""
        return list(LeaveOneGroupOut().split(self.table.y, groups=self.table.sites))

    def linear(self, coefficients: FloatArray, intercept: float, chosen: str) -> Fitted:
        def probability(X: Any) -> FloatArray:
            found: FloatArray = expit(self.encode(X) @ coefficients + intercept)
            return found

        return Fitted(probability, chosen)


def ridge(part: TrainingPart, random_state: int) -> Fitted:
    return _penalised(part, 0.0, "newton-cholesky", STRENGTHS, random_state)


def lasso(part: TrainingPart, random_state: int) -> Fitted:
    return _penalised(part, 1.0, "liblinear", FEWER_STRENGTHS, random_state)


def elastic_net(part: TrainingPart, random_state: int) -> Fitted:
    return _penalised(part, ELASTIC, "saga", FEWER_STRENGTHS, random_state)


def boosting(part: TrainingPart, random_state: int) -> Fitted:
    model = HistGradientBoostingClassifier(random_state=random_state).fit(part.table.X, part.table.y)

    def probability(X: Any) -> FloatArray:
        found: FloatArray = model.predict_proba(X)[:, 1]
        return found

    return Fitted(probability)


def group_dro(part: TrainingPart, random_state: int) -> Fitted:
    """The saddle point of the module docstring, with the C that suits equal shares best when sites are left out."""
    strength = float(_cross_validated(part, 0.0, "newton-cholesky", STRENGTHS, random_state).C_)
    _, site = np.unique(part.table.sites, return_inverse=True)
    beta, shares = group_dro_coefficients(part.numbers, np.where(part.table.y, 1.0, -1.0), site, strength)
    return part.linear(beta[1:], float(beta[0]), f"C = {strength:.3g}, largest share {shares.max():.2f}")


def group_dro_coefficients(
    numbers: FloatArray, labels: FloatArray, site: AnyArray, strength: float, rounds: int = ROUNDS
) -> tuple[FloatArray, FloatArray]:
    """Intercept and coefficients of group DRO, and the mean shares of the sites."""
    design = np.column_stack([np.ones(len(labels)), numbers])
    counts = np.bincount(site).astype(np.float64)
    penalty = np.full(design.shape[1], 1.0 / (strength * len(labels)))
    penalty[0] = 0.0
    beta, shares = np.zeros(design.shape[1]), np.full(len(counts), 1.0 / len(counts))
    betas, seen = [], []
    for _ in range(rounds):
        beta = _newton(design, labels, (shares / counts)[site], penalty, beta)
        betas.append(beta)
        seen.append(shares)
        losses = np.bincount(site, weights=np.logaddexp(0.0, -labels * (design @ beta))) / counts
        shares = shares * np.exp(STEP * (losses - losses.max()))
        shares /= shares.sum()
    return np.mean(betas, axis=0), np.mean(seen, axis=0)


def _newton(design: FloatArray, labels: FloatArray, weights: FloatArray, penalty: FloatArray, start: FloatArray) -> FloatArray:
    """The least weighted logistic loss + sum penalty beta^2 / 2, with halved steps."""

    def objective(beta: FloatArray) -> float:
        return float(weights @ np.logaddexp(0.0, -labels * (design @ beta)) + 0.5 * penalty @ beta**2)

    beta, value = start, objective(start)
    for _ in range(NEWTON_STEPS):
        slopes = expit(-labels * (design @ beta))
        gradient = -design.T @ (weights * labels * slopes) + penalty * beta
        hessian = (design.T * (weights * slopes * (1.0 - slopes))) @ design + np.diag(penalty + 1e-12)
        step = np.linalg.solve(hessian, gradient)
        decrement = float(gradient @ step)
        length = 1.0
        while (trial := objective(beta - length * step)) > value - 0.25 * length * decrement and length > 1e-6:
            length *= 0.5
        if trial > value:
            break
        beta, value = beta - length * step, trial
        if decrement < NEWTON_TOLERANCE:
            break
    return beta


RIVALS: Mapping[str, Callable[[TrainingPart, int], Fitted]] = {
    "logistic, l2 by CV": ridge,
    "logistic, l1 by CV": lasso,
    "logistic, elastic net by CV": elastic_net,
    "gradient boosting": boosting,
    "group DRO": group_dro,
}
PACKAGES = ("dro", "skwdro")


def ask_child(package: str, python: str, parts: Sequence[TrainingPart], folder: Path, *, minutes: float) -> str:
    """Let another Python fit a package's model to every part; the answers are files in ``folder``, and kept from run to run.

    Returns
    -------
    str
        Why there is no answer, or nothing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for at, part in enumerate(parts):
        # Halves of the sites, because each radius is fitted anew in every fold.
        halves = np.unique(part.table.sites, return_inverse=True)[1] % 2
        labels = np.where(part.table.y, 1.0, -1.0)
        np.savez(folder / f"{at}.npz", numbers=part.numbers, labels=labels, halves=halves, radii=np.array(CHILD_RADII))
    single = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "RAYON")}
    command = [python, str(CHILD), package, str(folder)]
    try:
        ended = subprocess.run(
            command, env={**os.environ, **single}, timeout=60 * minutes, capture_output=True, check=False, text=True
        )
    except subprocess.TimeoutExpired:
        return "stopped for want of time"
    except OSError as error:
        return f"its Python cannot be started ({error.strerror})"
    return "" if ended.returncode == 0 else ended.stderr.strip().rpartition("\n")[2]


def child_answer(part: TrainingPart, folder: Path, at: int) -> tuple[Fitted, float] | None:
    """The model that a child left for a part, and its CPU seconds; None if it did not come to that."""
    path = folder / f"{at}.json"
    if not path.exists():
        return None
    found = json.loads(path.read_text(encoding="utf-8"))
    model = part.linear(np.array(found["coefficients"]), float(found["intercept"]), f"radius {found['radius']:g}")
    return model, float(found["seconds"])


def _cross_validated(part: TrainingPart, ratio: float, solver: str, strengths: Sequence[float], random_state: int) -> Any:
    limits = {"max_iter": SAGA_ITERATIONS, "tol": SAGA_TOLERANCE} if solver == "saga" else {"max_iter": 1000}
    model = LogisticRegressionCV(
        Cs=list(strengths),
        l1_ratios=(ratio,),
        solver=solver,
        cv=part.folds,
        scoring="neg_log_loss",
        use_legacy_attributes=False,
        random_state=random_state,
        **limits,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=ConvergenceWarning)
        return model.fit(part.numbers, part.table.y)


def _penalised(part: TrainingPart, ratio: float, solver: str, strengths: Sequence[float], random_state: int) -> Fitted:
    model = _cross_validated(part, ratio, solver, strengths, random_state)
    return part.linear(model.coef_[0], float(model.intercept_[0]), f"C = {float(model.C_):.3g}")
