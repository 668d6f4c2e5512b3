"""A refit that fails leaves an estimator as it was, or without what is no longer true; never old numbers with a new name."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from proven_models import proven_model

import surefoot as sf
from surefoot.sklearn_api.proven_model import has_changed


def fail(*arguments: Any, **named: Any) -> Any:
    raise RuntimeError("this step fails")


# Where a fit of each family may fail, in the order of its steps.
STEPS = {
    "robust": [
        "surefoot.robust.estimator.robust_logistic_model.read_training_rows",
        "surefoot.robust.estimator.robust_logistic_model.ground_cost",
        "surefoot.robust.estimator.robust_logistic_model.RobustLogisticModel._solve",
        "surefoot.robust.estimator.certified_outcome.certify_robust_logistic",
    ],
    "robust, cross-validated": [
        "surefoot.robust.estimator.robust_logistic_cv.RobustLogisticRegressionCV._folds",
        "surefoot.robust.estimator.robust_logistic_cv.solve_path",
        "surefoot.robust.estimator.certified_outcome.certify_robust_logistic",
        "surefoot.robust.estimator.robust_logistic_cv.RadiusPath",
    ],
    "card": [
        "surefoot.riskscore.estimator.risk_score.pose_card",
        "surefoot.riskscore.estimator.risk_score.RiskScoreClassifier._solve",
        "surefoot.riskscore.estimator.risk_score.certify_risk_score",
    ],
    "plane": [
        "surefoot.chancesvm.estimator.chance_svc.pose_rows",
        "surefoot.chancesvm.estimator.posed_svm.PosedSVM.solve",
        "surefoot.chancesvm.estimator.posed_svm.certify_chance_svm",
        "surefoot.chancesvm.estimator.chance_svc.calibrated",
    ],
    "cost": [
        "surefoot.inverse.estimator.proven_fit.fit_cost",
        "surefoot.inverse.estimator.proven_fit.judged",
    ],
}


def state(model: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(model).items() if name not in model.get_params(deep=False)}


@pytest.mark.parametrize(("kind", "step"), [(kind, step) for kind, steps in STEPS.items() for step in steps])
def test_a_fit_that_fails_leaves_no_trace(kind: str, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    proven = proven_model(kind)
    model = copy.deepcopy(proven.model)
    if kind == "plane":
        model.set_params(probability=True)
    before = state(model)
    monkeypatch.setattr(step, fail)
    with pytest.raises(RuntimeError, match="this step fails"):
        model.fit(proven.X, proven.y)
    after = state(model)
    assert before.keys() == after.keys()
    assert all(after[name] is before[name] for name in before)
    monkeypatch.undo()
    # A parameter that was set for a fit that failed is not that of the model.
    assert proven.verify(model.set_params(**proven.model.get_params(deep=False))).verified


@pytest.mark.parametrize("step", STEPS["plane"][:3])
def test_moments_that_fail_leave_no_trace(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    proven = proven_model("plane")
    model, moments = copy.deepcopy(proven.model), proven_model("plane of moments")
    before = state(model)
    monkeypatch.setattr(step.replace("pose_rows", "pose_moments"), fail)
    with pytest.raises(RuntimeError, match="this step fails"):
        model.fit_moments(*moments.X, moments.y)
    assert all(state(model)[name] is value for name, value in before.items())


def test_after_another_kind_of_fit_nothing_of_the_first_is_left() -> None:
    proven, moments = proven_model("plane"), proven_model("plane of moments")
    model = copy.deepcopy(proven.model).fit_moments(*moments.X, moments.y)
    assert not hasattr(model, "row_groups_") and model.sigmoid_ is None
    assert sf.verify(model, moments.X, moments.y).verified
    model.set_params(kernel="rbf").fit(proven.X, proven.y)
    assert not hasattr(model, "coef_") and sf.verify(model, proven.X, proven.y).verified


@pytest.mark.parametrize("calls", [0, 1, 3, 5])
def test_a_forward_solver_that_fails_leaves_no_certificate_beside_another_cost(calls: int) -> None:
    left = [10**6]

    def solve(theta: Any, signal: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise RuntimeError("the forward solver is gone")
        return np.eye(2)[int(np.argmin(theta))]

    forward = sf.inverse.forward.CallableProblem(solve, n_unknowns=2)
    model = sf.inverse.InverseOptimizer(forward, prior="simplex", distance="none", approach="suboptimality")
    model.fit([0, 1], [[1.0, 0.0], [1.0, 0.0]])
    before = state(model)
    left[0] = calls
    with pytest.raises((sf.ForwardSolveError, RuntimeError)):
        model.fit([0, 1], [[0.0, 1.0], [1.0, 0.0]])
    after = state(model)
    same = before.keys() == after.keys() and all(after[name] is before[name] for name in before)
    assert same or "certificate_" not in after


def test_online_steps_forget_the_certificate_and_the_seal() -> None:
    proven = proven_model("noisy cost")
    model = copy.deepcopy(proven.model).set_params(kappa=0.1)
    model.partial_fit(proven.X, proven.y)
    assert not hasattr(model, "certificate_") and not hasattr(model, "outcome_") and has_changed(model) is None


@pytest.mark.parametrize("kind", STEPS)
def test_a_second_fit_is_sealed_anew(kind: str) -> None:
    proven = proven_model(kind)
    model = copy.deepcopy(proven.model)
    assert has_changed(model.fit(proven.X, proven.y)) is False
    assert proven.verify(model).verified
