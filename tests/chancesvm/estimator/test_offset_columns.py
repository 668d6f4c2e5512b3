"""Columns with an offset (degrees, pascals) change nothing: the same optimum, proven, and no silence about a stalled solve."""

from __future__ import annotations

import dataclasses
import math
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from surefoot import ChanceConstrainedSVC, load, save, verify
from surefoot.chancesvm.estimator import chance_svc
from surefoot.chancesvm.estimator.kernel_scores import KernelScores
from surefoot.chancesvm.estimator.posed_svm import PosedSVM
from surefoot.core.outcome import Status
from surefoot.exceptions import CertificateError, ConvergenceLimitWarning, RoundedInterceptWarning, WeakModelWarning
from surefoot.files.formula import read_formula

# The paper's terms: columns as they are, and C for each input, whose ten readings would cost as much as ten rows.
PAPER: dict[str, Any] = {"standardize": False, "violation": 0.1, "covariance": "batch"}
READINGS = 10

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


def sensors(seed: int, n_sensors: int = 12, spread: float = 1.0) -> Rows:
    """Temperature and pressure of sensors of two kinds, ten readings each, measured from their means."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n_sensors) % 2
    centres = np.where(kind, 1.0, -1.0)[:, None] * [1.5, 2.0] + spread * 0.4 * rng.normal(size=(n_sensors, 2))
    readings = np.repeat(centres, 10, axis=0) + 0.2 * rng.normal(size=(10 * n_sensors, 2))
    return readings, np.repeat(kind, 10), np.repeat(np.arange(n_sensors), 10)


def best_objective(X: np.ndarray, y: np.ndarray, groups: np.ndarray, C: float, violation: float) -> float:
    """The linear model by a conic solver, on columns that need no centre."""
    w, b, count = cp.Variable(X.shape[1]), cp.Variable(), int(groups.max()) + 1
    slack, rules = cp.Variable(count, nonneg=True), []
    for i in range(count):
        own = X[groups == i]
        root = (own - own.mean(axis=0)) / np.sqrt(len(own))
        sign = 1.0 if y[groups == i][0] else -1.0
        tau = np.sqrt((1 - violation) / violation)
        rules.append(sign * (own.mean(axis=0) @ w + b) >= 1 - slack[i] + tau * cp.norm(root @ w))
    task = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(slack)), rules)
    return float(task.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10))


@pytest.mark.parametrize("solver", ["auto", "socp"])
@pytest.mark.parametrize("C", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("seed", range(3))
def test_sensors_in_degrees_and_pascals_reach_the_optimum_and_are_verified(seed: int, C: float, solver: str) -> None:
    X, y, groups = sensors(seed)
    best = best_objective(X, y, groups, C, 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ChanceConstrainedSVC(kernel="linear", C=C / READINGS, solver=solver, **PAPER)
        model.fit(X + np.array([21.0, 101325.0]), y, groups=groups)
    certificate = model.certificate_
    assert model.outcome_.status is Status.OPTIMAL
    assert certificate.verified
    assert certificate.upper_bound == pytest.approx(best, rel=2e-6)
    scores = (X + np.array([21.0, 101325.0])) @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X + np.array([21.0, 101325.0])), scores, atol=1e-6)


@pytest.mark.parametrize("solver", ["auto", "worst-points", "socp", "admm"])
@pytest.mark.parametrize("C", [1.0, 1e6])
@pytest.mark.parametrize(("seed", "spread"), [(1, 1.0), (2, 3.0), (3, 6.0)])
def test_whatever_a_solver_leaves_of_sensors_is_told(seed: int, spread: float, solver: str, C: float) -> None:
    """Verified means near the optimum of an independent solver on centred columns, overlapping kinds of sensors included.

    The published splitting may stop far from it: then nothing is verified, and somebody hears of it.
    """
    X, y, groups = sensors(seed, spread=spread)
    best = best_objective(X, y, groups, C, 0.1)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model = ChanceConstrainedSVC(kernel="linear", C=C / READINGS, solver=solver, **PAPER)
        model.fit(X + np.array([21.0, 101325.0]), y, groups=groups)
    certificate = model.certificate_
    assert certificate.lower_bound <= best * (1 + 1e-8)
    assert certificate.upper_bound >= best * (1 - 1e-8)
    near = certificate.upper_bound <= best * (1 + 2e-6)
    assert near or (not certificate.verified and certificate.relative_gap > 1e-6)
    settled = certificate.verified and model.outcome_.status is Status.OPTIMAL
    assert settled or any(issubclass(entry.category, ConvergenceLimitWarning) for entry in heard)
    assert settled or solver == "admm"


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 1000),
    kernel=st.sampled_from(["linear", "rbf", "flat"]),
    C=st.sampled_from([0.1, 10.0, 1e4]),
    shift=st.sampled_from([-3.0, 1e5, 2.0**17, 1e7]),
    standardize=st.booleans(),
)
def test_adding_a_number_to_a_column_changes_nothing(seed: int, kernel: str, C: float, shift: float, standardize: bool) -> None:
    X, y, groups = sensors(seed, n_sensors=6, spread=2.0)
    # Readings that stay the same numbers wherever the scale begins.
    X = np.round(X * 2**20) / 2**20
    options = {"linear": {"kernel": "linear"}, "rbf": {"gamma": 0.3}, "flat": {"gamma": 1e-9}}[kernel]
    model = ChanceConstrainedSVC(C=C / READINGS, standardize=standardize, violation=0.1, **options)
    with warnings.catch_warnings():
        # Seen from afar, a flat kernel at a low price may leave nothing to see.
        warnings.simplefilter("ignore", WeakModelWarning)
        here, there = (clone(model).fit(X + np.array([0.0, by]), y, groups=groups) for by in (0.0, shift))
    assert here.certificate_.verified
    assert there.certificate_.verified
    assert there.certificate_.upper_bound == pytest.approx(here.certificate_.upper_bound, rel=2e-6)
    np.testing.assert_allclose(there.decision_function(X + np.array([0.0, shift])), here.decision_function(X), atol=5e-3)


@pytest.mark.parametrize("solver", ["auto", "socp"])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_public_numbers_of_a_centred_model_give_its_scores(kernel: str, solver: str) -> None:
    X, y, groups = sensors(1)
    model = ChanceConstrainedSVC(kernel=kernel, gamma=1e-3, tol=1e-7, solver=solver, standardize=False).fit(
        X + np.array([2.0, 30.0]), y, groups=groups
    )
    assert model._scores.kernel.centre is not None
    x, z = X[:9] + np.array([2.5, 30.0]), model.support_vectors_
    products = {
        "linear": x @ z.T,
        "poly": (1e-3 * (x @ z.T) + 1.0) ** 2,
        "rbf": np.exp(-1e-3 * np.square(x[:, None] - z[None]).sum(axis=2)),
    }[kernel]
    np.testing.assert_allclose(products @ model.dual_coef_[0] + model.intercept_[0], model.decision_function(x), atol=1e-7)


@pytest.mark.parametrize("status", [Status.STALLED, Status.TIME_LIMIT, Status.NUMERICAL_ERROR])
def test_a_solve_that_did_not_end_at_its_tolerance_is_told_even_if_it_is_verified(
    monkeypatch: pytest.MonkeyPatch, status: Status
) -> None:
    X, y, groups = sensors(2)
    judge = PosedSVM.judge
    monkeypatch.setattr(
        chance_svc.PosedSVM, "judge", lambda self, found, given: judge(self, dataclasses.replace(found, status=status), given)
    )
    with pytest.warns(ConvergenceLimitWarning, match=rf"{status.value}.*the lower bound .* still holds"):
        model = ChanceConstrainedSVC(kernel="linear").fit(X, y, groups=groups)
    assert model.certificate_.verified


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.RoundedInterceptWarning")
@pytest.mark.parametrize("C", [1.0, 1e6])
def test_the_cone_programme_is_balanced_whatever_the_units(C: float) -> None:
    X, y, groups = sensors(0)
    found = []
    for unit in (1e-4, 1.0, 300.0):
        model = ChanceConstrainedSVC(kernel="linear", C=C / unit**2, solver="socp", **PAPER)
        found.append(model.fit(unit * X + np.array([21.0, 101325.0]), y, groups=groups).certificate_)
    assert all(certificate.verified for certificate in found)
    # Lengths in other units: w shrinks as samples grow, and the objective with its square.
    assert found[0].upper_bound * 1e-8 == pytest.approx(found[1].upper_bound, rel=2e-6)
    assert found[2].upper_bound * 9e4 == pytest.approx(found[1].upper_bound, rel=2e-6)


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.SingleSampleWarning")
def test_dual_coefficients_that_are_too_rounded_are_told_also_after_a_file(tmp_path: Path) -> None:
    """Products of the polynomial kernel near 1e14 leave nothing of the margins; those seen from the centre do."""
    rng = np.random.default_rng(3)
    X, y = 1e7 + 0.01 * rng.normal(size=(6, 1)), [0, 1, 0, 1, 1, 0]
    X[:, 0] += 0.01 * np.array(y)
    with pytest.warns(RoundedInterceptWarning, match="dual_coef_ with the kernel as seen from centre_ and centre_intercept_"):
        model = ChanceConstrainedSVC(kernel="poly", gamma=1.0, degree=2, coef0=0.0, **PAPER).fit(X, y, groups=range(6))
    proof = model.certificate_
    assert proof.verified
    assert model.public_objective_ > proof.upper_bound * (1 + 1e-6)
    assert math.fsum(model.dual_coef_[0]) == 0.0
    save(model, tmp_path / "model.surefoot")
    again = load(tmp_path / "model.surefoot")
    assert again.public_objective_ == model.public_objective_
    with pytest.warns(RoundedInterceptWarning, match="too rounded"):
        again.warn_of_rounding()
    again.public_objective_ = proof.upper_bound
    with pytest.raises(CertificateError, match="has changed"):
        verify(again, X, y)


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.SingleSampleWarning")
def test_rounding_is_seen_on_some_inputs_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    y = np.arange(60) % 2
    X = 1e7 + 0.01 * rng.normal(size=(60, 1)) + 0.01 * y[:, None]
    monkeypatch.setattr("surefoot.chancesvm.estimator.chance_svc_model.MOST_PUBLIC_PRODUCTS", 600)
    seen: list[int] = []
    scores = KernelScores.by_public_numbers
    monkeypatch.setattr(
        KernelScores, "by_public_numbers", lambda self, rows, *rest: seen.append(len(rows)) or scores(self, rows, *rest)
    )
    with pytest.warns(RoundedInterceptWarning, match="too"):
        ChanceConstrainedSVC(kernel="poly", gamma=1.0, degree=2, coef0=0.0, **PAPER).fit(X, y, groups=range(60))
    assert 1 <= seen[0] < 60


@pytest.mark.parametrize("solver", ["auto", "socp"])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_coefficients_of_centred_models_add_up_to_0_exactly(kernel: str, solver: str) -> None:
    X, y, groups = sensors(3, spread=3.0)
    model = ChanceConstrainedSVC(kernel=kernel, gamma=1e-3, solver=solver).fit(X + 5.0, y, groups=groups)
    assert model.centre_ is not None
    assert sum((Fraction(c) for c in model.dual_coef_[0]), Fraction(0)) == 0
    assert model.public_objective_ <= model.certificate_.upper_bound * (1 + 1e-6)


def test_exported_formulas_say_that_their_intercept_is_rounded(tmp_path: Path) -> None:
    X, y = np.array([[1e9 - 3.0], [1e9 + 3.25]] * 2) + np.array([[0.0], [0.0], [0.125], [-0.125]]), [0, 1, 0, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ChanceConstrainedSVC(kernel="linear", C=1e6).fit(X, y, groups=[0, 1, 0, 1])
    with pytest.warns(RoundedInterceptWarning, match="coef_ . \\(x - centre_\\)"):
        read_formula(model)


def exact_objective(w: np.ndarray, b: Fraction, X: np.ndarray, y: list[int], C: float) -> float:
    parts = [Fraction(v) for v in w]
    loss = Fraction(0)
    for row, label in zip(X, y, strict=True):
        score = sum((v * x for v, x in zip(parts, row, strict=True)), b)
        loss += max(Fraction(0), 1 - (1 if label else -1) * score)
    return float(sum(v * v for v in parts) / 2 + Fraction(C) * loss)


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.SingleSampleWarning")
def test_public_numbers_that_are_too_rounded_are_told_and_those_of_the_centre_hold() -> None:
    X, y, C = np.array([[1e9 - 3.0], [1e9 + 3.25]]), [0, 1], 1e6
    rows = [[Fraction(v) for v in row] for row in X]
    with pytest.warns(RoundedInterceptWarning, match="centre_intercept_"):
        model = ChanceConstrainedSVC(kernel="linear", C=C, **PAPER).fit(X, y, groups=[0, 1])
    upper = model.certificate_.upper_bound
    assert model.certificate_.verified
    assert exact_objective(model.coef_[0], Fraction(model.intercept_[0]), rows, y, C) > 1.01 * upper
    moved = [[v - Fraction(m) for v, m in zip(row, model.centre_, strict=True)] for row in rows]
    assert exact_objective(model.coef_[0], Fraction(model.centre_intercept_[0]), moved, y, C) <= upper * (1 + 1e-12)


def test_columns_near_zero_and_kernels_without_a_centre_raise_no_such_warning() -> None:
    X, y, groups = sensors(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RoundedInterceptWarning)
        model = ChanceConstrainedSVC(kernel="linear").fit(X, y, groups=groups)
        curved = ChanceConstrainedSVC(kernel="rbf").fit(X, y, groups=groups)
        raw = ChanceConstrainedSVC(kernel="linear", standardize=False).fit(X, y, groups=groups)
    np.testing.assert_allclose(
        raw.decision_function(X), (X - raw.centre_) @ raw.coef_[0] + raw.centre_intercept_[0], atol=1e-12
    )
    told = (X - model.centre_) @ model.coef_[0] + model.centre_intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), told, atol=1e-12)
    assert curved.centre_ is None and curved.centre_intercept_[0] == curved.intercept_[0]


@pytest.mark.parametrize("what", ["misclassified", "support_groups_", "sigmoid_", "groups_"])
def test_numbers_that_people_read_are_sealed(what: str) -> None:
    X, y, groups = sensors(2)
    model = ChanceConstrainedSVC(kernel="linear", probability=True).fit(X, y, groups=groups)
    assert verify(model, X, y, groups=groups).verified
    if what == "misclassified":
        model._inputs[what] = np.zeros_like(model._inputs[what])
    elif what == "sigmoid_":
        model.sigmoid_ = dataclasses.replace(model.sigmoid_, slope=2.0 * model.sigmoid_.slope)
    else:
        setattr(model, what, getattr(model, what)[:-1])
    with pytest.raises(CertificateError, match="has changed"):
        verify(model, X, y, groups=groups)
    # As in files from before there were seals and digests of models.
    model._proof_seal, model.certificate_ = None, dataclasses.replace(model.certificate_, model_digest="")
    if what == "groups_":
        with pytest.raises(CertificateError, match="names 11 groups"):
            verify(model, X, y)
