"""Fits of InvOpt in a Python of its own: reads observations from a pickle, writes costs and CPU seconds to another.

Run as ``python invopt_child.py GIVEN FOUND``; that Python has invopt and gurobipy, and need not have surefoot. Each fit is made
several times, and the fastest counts.
"""

from __future__ import annotations

import pickle
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np


def fit(case: dict[str, Any]) -> dict[str, Any]:
    import invopt

    def distance(first: Any, second: Any) -> float:
        return float(np.linalg.norm(first - second))

    def one(_context: Any, _whole: Any) -> Any:
        return np.array([1])

    def itself(_context: Any, whole: Any) -> Any:
        return whole

    n_whole = case["n_whole"]
    data = [((*signal, 0), response) for signal, response in zip(case["signals"], case["responses"], strict=True)]
    seconds, cost = [], None
    for _ in range(case["repeats"]):
        started = time.process_time()
        cost = invopt.mixed_integer_linear(
            data,
            ("binary", n_whole, None),
            phi1=one,
            phi2=itself,
            Theta="nonnegative",
            dist_func_z=distance,
            add_dist_func_y=case["measures_continuous"],
            regularizer="L1",
            reg_param=case["kappa"],
        )
        seconds.append(time.process_time() - started)
    return {"cost": cost, "seconds": min(seconds)}


def main() -> None:
    given, found = map(Path, sys.argv[1:])
    answers: list[dict[str, Any]] = []
    for case in pickle.loads(given.read_bytes()):
        try:
            answers.append(fit(case))
        except Exception as flaw:
            answers.append({"flaw": f"{type(flaw).__name__}: {flaw}"})
    found.write_bytes(pickle.dumps(answers))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
