"""Time limits of robust models: kept, or refused where a step cannot be interrupted."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from proven_models import proven_model

import surefoot as sf
from surefoot.core.solve_options import SolveOptions
from surefoot.robust import small_cones
from surefoot.robust.conic.graph import Graph
from surefoot.robust.conic.monolithic import Monolithic
from surefoot.robust.conic.parameters import ConicParameters
from surefoot.robust.estimator import certified_outcome
from surefoot.robust.estimator.certified_outcome import certified


def categories(rows: int, columns: int = 15) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"c{at}": rng.choice(list("abcdefghij"), rows) for at in range(columns)})
    return X, X["c0"].isin(list("abc")).to_numpy() + rng.logistic(size=rows) > 0


def test_the_longest_path_model_refuses_limits_that_its_first_iteration_would_outlast() -> None:
    X, y = categories(600)
    began = time.perf_counter()
    with pytest.raises(sf.UnsupportedProblemError, match=r"'graph' cannot keep to a time limit of 1 s: .* about \d\d\.\d s"):
        sf.RobustLogisticRegression(solver="graph", time_limit=1.0).fit(X, y)
    assert time.perf_counter() - began < 5.0


def test_the_monolithic_model_refuses_limits_that_its_first_iteration_would_outlast() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 60))
    with pytest.raises(sf.UnsupportedProblemError, match=r"'conic' cannot keep to a time limit of 0\.1 s"):
        sf.RobustLogisticRegression(solver="conic", time_limit=0.1).fit(X, rng.random(20_000) < 0.5)


@pytest.mark.parametrize("solver", ["graph", "conic"])
def test_short_iterations_go_with_any_limit(solver: str) -> None:
    X, y = categories(40, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.ConvergenceLimitWarning)
        model = sf.RobustLogisticRegression(solver=solver, time_limit=1e-6).fit(X, y)
    assert model.outcome_.iterations == 0 and not model.certificate_.verified
    assert sf.RobustLogisticRegression(solver=solver, time_limit=60.0).fit(X, y).certificate_.verified


def test_plans_are_polished_within_the_time_limit_only(monkeypatch: pytest.MonkeyPatch) -> None:
    proven = proven_model("robust")
    model = sf.RobustLogisticRegression(radius=0.05).fit(proven.X, proven.y)
    problem = model._proof_parts(proven.X, proven.y, None, None).arguments["problem"]
    # A bound that is claimed and not proven is what plans are polished for.
    claimed = replace(model.outcome_, lower_bound=model.outcome_.upper_bound)
    polished = []

    def polish(problem: Any, plan: Any, *more: Any) -> Any:
        polished.append(more)
        return plan

    monkeypatch.setattr(certified_outcome, "polished_plan", polish)
    monkeypatch.setattr(certified_outcome, "LEAST_SECONDS", 0.0)
    for seconds, expected in ((0.0, False), (60.0, True)):
        polished.clear()
        certificate, _ = certified(problem, claimed, SolveOptions(tolerance=1e-15, time_limit=seconds))
        assert not certificate.verified and bool(polished) is expected


def test_second_attempts_that_cannot_keep_the_limit_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    proven = proven_model("robust")
    problem = proven.model._proof_parts(proven.X, proven.y, None, None).arguments["problem"]
    slow = ConicParameters(entries_per_second=1.0)
    for programme in (Monolithic(parameters=slow), Graph(parameters=slow)):
        found = small_cones._attempt(problem, SolveOptions(time_limit=1.0), programme, programme.solve, None)  # type: ignore[arg-type]
        assert found is None
