"""Standard units: what they are, that they are undone, and that nothing depends on the units of a table any more."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler

import surefoot as sf
from surefoot import ChanceConstrainedSVC
from surefoot.chancesvm.inputs.column_units import ColumnUnits, standard_units
from surefoot.core.certificate import Certificate

KERNELS: dict[str, dict[str, Any]] = {
    "linear": {"kernel": "linear"},
    "rbf": {"kernel": "rbf"},
    "flat": {"kernel": "rbf", "gamma": 1e-4, "C": 1e3},
    "poly": {"kernel": "poly", "degree": 2},
}


def readings(seed: int = 0, n_inputs: int = 10, size: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    kind = np.arange(n_inputs) % 2
    X = np.repeat(rng.normal(size=(n_inputs, 3)) + 1.5 * kind[:, None], size, axis=0)
    return X + 0.3 * rng.normal(size=X.shape), np.repeat(kind, size), np.repeat(np.arange(n_inputs), size)


def moments(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y, groups = readings(seed)
    parts = [X[groups == at] for at in np.unique(groups)]
    covariances = np.stack([np.cov(part.T, bias=True) + 0.01 * np.eye(3) for part in parts])
    return np.stack([part.mean(axis=0) for part in parts]), covariances, y[::4]


def test_units_are_those_of_a_scaler_and_weights_are_repetitions() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4)) * [1.0, 1e-9, 1e9, 0.0] + [0.0, 1.0, -1e9, 0.1]
    counts = rng.integers(1, 4, 30)
    scaler = StandardScaler().fit(X.repeat(counts, axis=0))
    found = standard_units(X, counts / counts.sum())
    np.testing.assert_allclose(found.offsets, scaler.mean_, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(found.scales[[0, 2]], scaler.scale_[[0, 2]], rtol=1e-12)
    assert (found.offsets[3], found.scales[3]) == (0.1, 1.0), "a constant column becomes 0, exactly"
    assert not found.standardized(X)[:, 3].any()


@pytest.mark.parametrize("size", [1e-320, 5e-324, 1e-300, 1.0, 1e300, 1.7e308])
def test_values_of_any_size_have_units(size: float) -> None:
    found = standard_units(np.array([[0.0], [size], [size], [0.0]]), np.full(4, 0.25))
    assert np.isfinite(found.offsets).all() and np.isfinite(found.scales).all() and (found.scales > 0).all()
    assert np.isfinite(found.standardized(np.array([[0.0], [size]]))).all()


def test_inputs_that_vary_count_with_their_variances() -> None:
    means, variances = np.array([[0.0, 1.0], [2.0, 1.0]]), np.array([[3.0, 0.0], [5.0, 0.0]])
    found = standard_units(means, np.full(2, 0.5), variances)
    # 1 of the means and 4 of the inputs.
    np.testing.assert_allclose(found.scales, [np.sqrt(5.0), 1.0])
    np.testing.assert_allclose(found.covariances(np.array([np.diag([3.0, 2.0])])), [np.diag([0.6, 2.0])])


@pytest.mark.parametrize("name", KERNELS)
def test_the_model_is_that_of_standardised_rows_and_says_so(name: str) -> None:
    X, y, groups = readings()
    X = X * [1e-3, 1.0, 1e4] + [5.0, 0.0, -1e5]
    inside = ChanceConstrainedSVC(**KERNELS[name]).fit(X, y, groups)
    rows = StandardScaler().fit_transform(X)
    outside = ChanceConstrainedSVC(standardize=False, **KERNELS[name]).fit(rows, y, groups)
    assert "whose columns are in standard units" in inside.certificate_.claim
    assert "standard units" not in outside.certificate_.claim and outside.column_scales_ is None
    assert inside.certificate_.upper_bound == pytest.approx(outside.certificate_.upper_bound, rel=2e-6)
    np.testing.assert_allclose(inside.decision_function(X), outside.decision_function(rows), atol=5e-3)
    np.testing.assert_allclose((X - inside.column_means_) / inside.column_scales_, rows, atol=1e-8)


@pytest.mark.parametrize("by", ["rows", "moments", "landmarks"])
def test_units_are_undone_in_public_numbers(by: str) -> None:
    X, y, groups = readings(1)
    move, unit = np.array([5.0, 0.0, -100.0]), np.array([1e-3, 1.0, 1e4])
    model = ChanceConstrainedSVC(kernel="linear", n_landmarks=12 if by == "landmarks" else None)
    if by == "moments":
        means, covariances, labels = moments(1)
        model.fit_moments(means * unit + move, covariances * np.outer(unit, unit), labels)
    else:
        model.set_params(covariance="batch").fit(X * unit + move, y, groups)
        np.testing.assert_array_equal((X * unit + move)[model.support_], model.support_vectors_)
    fresh = np.random.default_rng(2).normal(size=(50, 3)) * 2 * unit + move
    scores = model.decision_function(fresh)
    size = np.abs(fresh) @ np.abs(model.coef_[0]) + np.abs(model.intercept_[0])
    np.testing.assert_array_less(np.abs(fresh @ model.coef_[0] + model.intercept_[0] - scores), 1e-14 * size)
    np.testing.assert_allclose((fresh - model.centre_) @ model.coef_[0] + model.centre_intercept_[0], scores, atol=1e-12)
    rows = (fresh - model.column_means_) / model.column_scales_
    vectors = (model.support_vectors_ - model.column_means_) / model.column_scales_
    np.testing.assert_allclose(model.dual_coef_ @ vectors / model.column_scales_, model.coef_, rtol=1e-9)
    assert model.public_objective_ <= model.certificate_.upper_bound * (1 + 1e-6)
    assert rows.shape == fresh.shape


def test_a_curved_kernel_compares_rows_in_standard_units() -> None:
    X, y, groups = readings(2)
    model = ChanceConstrainedSVC(tol=1e-8).fit(X * 50.0 + 7.0, y, groups)
    assert model.centre_ is None
    fresh = (X[:9] + 0.1) * 50.0 + 7.0
    rows, vectors = ((part - model.column_means_) / model.column_scales_ for part in (fresh, model.support_vectors_))
    kernels = np.exp(-model.gamma_ * np.square(rows[:, None] - vectors[None]).sum(axis=2))
    told = kernels @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(told, model.decision_function(fresh), atol=1e-9)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 1000),
    name=st.sampled_from([*KERNELS, "moments"]),
    batches=st.sampled_from(["groups", "rows", "clusters"]),
    powers=st.lists(st.sampled_from([-6, -3, 0, 3, 6]), min_size=3, max_size=3),
    shifts=st.lists(st.sampled_from([-1e6, 0.0, 0.5, 1e6]), min_size=3, max_size=3),
)
def test_no_prediction_depends_on_the_units_of_a_column(
    seed: int, name: str, batches: str, powers: list[int], shifts: list[float]
) -> None:
    X, y, groups = readings(seed)
    # Numbers that stay the same, however they are moved: units are then the only difference.
    X = np.round(X * 2**12) / 2**12
    unit, move = 10.0 ** np.array(powers), np.array(shifts)
    fresh = np.random.default_rng(seed).normal(size=(200, 3)) * 2
    found = []
    for factor, offset in ((np.ones(3), np.zeros(3)), (unit, move * unit)):
        params = {"kernel": "linear"} if name == "moments" else KERNELS[name]
        model = ChanceConstrainedSVC(violation=0.8, batches="rows" if batches == "groups" else batches, random_state=0)
        model.set_params(**params)
        if name == "moments":
            means, covariances, labels = moments(seed)
            given_rows: Any = (means * factor + offset, covariances * np.outer(factor, factor))
            model.fit_moments(*given_rows, labels)
            assert sf.verify(model, given_rows, labels).verified
        else:
            named = groups if batches == "groups" else None
            model.fit(X * factor + offset, y, named)
            assert sf.verify(model, X * factor + offset, y, groups=named).verified
        found.append(model)
    here, there = found
    assert there.certificate_.upper_bound == pytest.approx(here.certificate_.upper_bound, rel=3e-6)
    scores = here.decision_function(fresh)
    near = 0.02 * np.abs(scores).max()
    np.testing.assert_allclose(there.decision_function(fresh * unit + move * unit), scores, atol=near)
    clear = np.abs(scores) > near
    assert clear.mean() > 0.5
    np.testing.assert_array_equal(there.predict(fresh * unit + move * unit)[clear], here.predict(fresh)[clear])


def unsealed(model: Any) -> Any:
    """As if nobody had sealed it: what is left must be seen from the rows."""
    model._proof_seal, model.certificate_ = None, dataclasses.replace(model.certificate_, model_digest="")
    return model


def changed_units(units: ColumnUnits) -> dict[str, ColumnUnits | None]:
    return {
        "scales": dataclasses.replace(units, scales=units.scales * (1 + 1e-6)),
        "offsets": dataclasses.replace(units, offsets=units.offsets + 1e-3 * units.scales),
        "last digits": dataclasses.replace(units, offsets=np.nextafter(units.offsets, np.inf)),
        "other columns": ColumnUnits(units.offsets[:2], units.scales[:2]),
        "none": None,
    }


@pytest.mark.parametrize("by", ["rows", "moments"])
@pytest.mark.parametrize("what", ["scales", "offsets", "last digits", "other columns", "none"])
@pytest.mark.parametrize("sealed", [True, False])
def test_changed_units_are_refused(by: str, what: str, sealed: bool) -> None:
    model = ChanceConstrainedSVC(kernel="linear")
    if by == "rows":
        X, y, groups = readings(3)
        rows: Any = {"X": X + 1.0, "y": y, "groups": groups}
        model.fit(**rows)
    else:
        means, covariances, labels = moments(3)
        rows = {"X": (means + 1.0, covariances), "y": labels}
        model.fit_moments(*rows["X"], labels)
    assert isinstance(sf.verify(model, **rows), Certificate)
    model._scores = dataclasses.replace(model._scores, units=changed_units(model._scores.units)[what])
    with pytest.raises(sf.CertificateError):
        sf.verify(model if sealed else unsealed(model), **rows)


def test_units_of_other_rows_are_told() -> None:
    X, y, groups = readings(4)
    model = ChanceConstrainedSVC().fit(X, y, groups)
    with pytest.raises(sf.CertificateError, match="has its columns in other units than theirs"):
        sf.verify(model, X * 1.01, y, groups=groups)


def test_a_model_in_standard_units_comes_back_from_a_file_with_its_proof(tmp_path: Path) -> None:
    X, y, groups = (part[1:] for part in readings(5))
    for number, batches in enumerate(("auto", "rows", "clusters")):
        named = groups if batches == "auto" else None
        model = ChanceConstrainedSVC(batches=batches, violation=0.8, random_state=0).fit(X, y, named)
        sf.save(model, tmp_path / f"{number}.surefoot")
        again = sf.load(tmp_path / f"{number}.surefoot")
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
        np.testing.assert_array_equal(again.column_scales_, model.column_scales_)
        fresh = sf.verify(again, X, y, groups=named)
        assert fresh.verified and fresh.claim == model.certificate_.claim
        # Who named the groups decides what they cost: told otherwise, it is another problem.
        again._named_groups = not again._named_groups
        if batches != "rows":
            with pytest.raises(sf.CertificateError, match="not the rows of the proof"):
                sf.verify(unsealed(again), X, y, groups=named)


def test_matrices_and_functions_are_taken_as_they_come() -> None:
    X, y, groups = readings(6)
    for kernel, rows in (("precomputed", X @ X.T), (lambda left, right: left @ right.T, X)):
        model = ChanceConstrainedSVC(kernel=kernel, C=10.0).fit(rows, y, groups)
        assert model.column_means_ is None and "standard units" not in model.certificate_.claim
        assert model.certificate_.verified


def test_a_column_that_is_constant_but_for_rounding_is_constant() -> None:
    rng = np.random.default_rng(0)
    told = rng.normal(size=(40, 2))
    rounded = np.where(rng.random((40, 1)) < 0.5, 0.3, 0.1 + 0.2)
    pressure = np.where(rng.random((40, 1)) < 0.1, np.nextafter(101325.0, np.inf), 101325.0)
    stamps = 1.7e9 + rng.normal(size=(40, 1))
    model = sf.ChanceConstrainedSVC(batches="rows").fit(np.hstack((told, rounded, pressure, stamps)), told[:, 0] > 0)
    assert model.column_scales_ is not None
    np.testing.assert_array_equal(model.column_scales_[2:4], 1.0)
    np.testing.assert_allclose(model.column_scales_[4], stamps.std(), rtol=1e-6)
