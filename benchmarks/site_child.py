"""Run by a Python that has ``dro`` or ``skwdro``: ``python site_child.py PACKAGE FOLDER``; see ``site_rivals.ask_child``.

For every question ``FOLDER/k.npz`` without an answer: of the radii offered, the one with the least log loss when the model of
one half of the sites is tried on the other, both ways; then the model of all rows with it.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Model = tuple[Any, float]


def main(package: str, folder: Path) -> None:
    """Answer in the order of the numbers, so that a run that is cut has the first tables whole."""
    fit = {"dro": _dro, "skwdro": _skwdro}[package]()
    for question in sorted(folder.glob("*.npz"), key=lambda path: int(path.stem)):
        answer = question.with_suffix(".json")
        if not answer.exists():
            answer.write_text(json.dumps(_answer(fit, question)), encoding="utf-8")


def _answer(fit: Callable[[Any, Any, float], Model], question: Path) -> dict[str, Any]:
    import numpy as np

    with np.load(question) as asked:
        numbers, labels, halves, radii = (asked[name] for name in ("numbers", "labels", "halves", "radii"))
    start = time.process_time()
    losses = []
    for radius in radii.tolist():
        loss = 0.0
        for half in (0, 1):
            fitted, tried = halves == half, halves != half
            coefficients, intercept = fit(numbers[fitted], labels[fitted], radius)
            loss += float(np.logaddexp(0.0, -labels[tried] * (numbers[tried] @ coefficients + intercept)).sum())
        losses.append(loss)
    radius = float(radii[int(np.argmin(losses))])
    coefficients, intercept = fit(numbers, labels, radius)
    seconds = time.process_time() - start
    return {"coefficients": coefficients.tolist(), "intercept": intercept, "radius": radius, "seconds": seconds}


def _dro() -> Callable[[Any, Any, float], Model]:
    import numpy as np

    module = importlib.import_module("dro.linear_model.wasserstein_dro")

    def fit(numbers: Any, labels: Any, radius: float) -> Model:
        model = module.WassersteinDRO(input_dim=numbers.shape[1], model_type="logistic", solver="CLARABEL")
        model.update({"eps": radius, "kappa": "inf", "p": 2})
        model.fit(numbers, labels)
        return np.asarray(model.theta, dtype=float).ravel(), float(model.b)

    return fit


def _skwdro() -> Callable[[Any, Any, float], Model]:
    import numpy as np

    module = importlib.import_module("skwdro.linear_models")

    def fit(numbers: Any, labels: Any, radius: float) -> Model:
        model = module.LogisticRegression(rho=radius).fit(numbers, labels)
        return np.asarray(model.coef_, dtype=float).ravel(), float(model.intercept_)

    return fit


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
