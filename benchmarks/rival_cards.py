"""One score card by a rival, in a Python of its own: ``python rival_cards.py NAME table.npz [COLUMNS]``; prints a JSON line.

The line holds the loss, and the seconds and CPU seconds of the fit. imodels leaves the intercept real and FasterRisk scales all
points by a real multiplier, so both minimise over more than whole scores on the unit scale: their losses are those of the free
scale.
"""

from __future__ import annotations

import json
import sys
import time
import warnings

import numpy as np


def imodels_card(X: np.ndarray, y: np.ndarray, size: int) -> tuple[float, float, float]:
    from imodels.algebraic.risk_score.fast_risk_score import FastRiskScoreClassifier

    # The first fit loads what numba has compiled. Tables may be sorted by label, and it needs both.
    few = np.concatenate([np.flatnonzero(y == label)[:100] for label in np.unique(y)])
    FastRiskScoreClassifier(k=2, binarize=False).fit(X[few, :3], y[few])
    start, worked = time.perf_counter(), time.process_time()
    model = FastRiskScoreClassifier(k=size, max_points=5, binarize=False).fit(X, y)
    return float(model.train_loss_), time.perf_counter() - start, time.process_time() - worked


def fasterrisk_card(X: np.ndarray, y: np.ndarray, size: int) -> tuple[float, float, float]:
    from fasterrisk.fasterrisk import RiskScoreClassifier, RiskScoreOptimizer

    start, worked = time.perf_counter(), time.process_time()
    search = RiskScoreOptimizer(X=X, y=np.where(y > 0, 1.0, -1.0), k=size, lb=-5, ub=5)
    search.optimize()
    multiplier, intercept, points = search.get_models(model_index=0)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - worked
    card = RiskScoreClassifier(multiplier, intercept, points)
    return float(card.compute_logisticLoss(X, np.where(y > 0, 1.0, -1.0))) / len(y), seconds, cpu_seconds


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    table = np.load(sys.argv[2])
    fit = {"imodels": imodels_card, "fasterrisk": fasterrisk_card}[sys.argv[1]]
    print(json.dumps(fit(table["X"], table["y"], int(sys.argv[3]) if len(sys.argv) > 3 else 5)))
