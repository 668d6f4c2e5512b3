"""Run by a Python that has the package ``dro``: ``python dro_child.py question.npz answer.json``; see ``rivals.fit_dro``."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import sys
import time
from pathlib import Path
from typing import Any


def main(question: Path, answer: Path) -> None:
    """Fit once; the clock runs around ``fit`` and not around importing dro, which brings a deep learning package along."""
    answer.write_text(json.dumps(_fitted(question)), encoding="utf-8")


def _fitted(question: Path) -> dict[str, Any]:
    try:
        import numpy as np

        module = importlib.import_module("dro.linear_model.wasserstein_dro")
    except ImportError as error:
        return {"absent": f"dro cannot be imported ({error})"}
    with np.load(question) as asked:
        numeric, labels, fit_intercept = asked["numeric"], asked["labels"], bool(asked["fit_intercept"])
        settings = {"eps": float(asked["radius"]), "kappa": float(asked["label_price"]), "p": 1}
    model = module.WassersteinDRO(
        input_dim=numeric.shape[1], model_type="logistic", fit_intercept=fit_intercept, solver="CLARABEL"
    )
    model.update(settings)
    start = time.perf_counter()
    model.fit(numeric, labels)
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "coefficients": np.asarray(model.theta, dtype=float).ravel().tolist(),
        "intercept": float(model.b) if fit_intercept else 0.0,
        "versions": ", ".join(f"{package} {importlib.metadata.version(package)}" for package in ("dro", "cvxpy", "clarabel")),
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
