"""Models whose numbers were changed and sealed again: what rows and parameters do not bear out is refused."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot import ChanceConstrainedSVC, verify
from surefoot.exceptions import CertificateError, ModelFileError


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_a_model_that_predicts_by_another_kernel_is_refused_though_its_seal_fits(kernel: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    model = ChanceConstrainedSVC(kernel=kernel, batches="rows").fit(X, y)
    assert verify(model, X, y).verified
    model._scores = replace(model._scores, kernel=replace(model._scores.kernel, gamma=50.0))
    model._seal_proof()
    with pytest.raises(CertificateError, match="the kernel by which it predicts"):
        verify(model, X, y)


@pytest.mark.parametrize("column", ["misclassified", "violation", "slack", "multiplier", "label", "support"])
def test_promises_that_the_rows_do_not_bear_out_are_refused_though_their_seal_fits(column: str) -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(10), 4)
    X, y = rng.normal(size=(40, 2)) + groups[:, None] % 2, groups % 2
    model = ChanceConstrainedSVC(violation=0.7, covariance="batch").fit(X, y, groups=groups)
    assert verify(model, X, y).verified
    told = np.asarray(model._inputs[column])
    model._inputs[column] = (1 - told if column in ("label", "support") else told + 0.001).tolist()
    if column not in ("label", "support"):
        model._inputs[column] = np.array(model._inputs[column])
    model._seal_proof()
    with pytest.raises(CertificateError, match=rf"{column!r} of inputs\(\) is not what the rows say"):
        verify(model, X, y)


def two_kinds(kinds: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    groups = np.repeat(np.arange(6 * kinds), 5)
    y = np.array(["ash", "birch", "oak"])[groups % kinds]
    X = draw.normal(size=(groups.size, 2)) * 0.4 + np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])[groups % kinds]
    return X, y, groups


@pytest.mark.parametrize("asked", [{}, {"n_landmarks": 10}])
def test_a_model_that_reads_the_columns_of_a_matrix_in_another_order_is_refused(asked: dict[str, Any], tmp_path: Path) -> None:
    X, y, groups = two_kinds()
    gram = np.exp(-0.3 * np.square(X[:, None] - X[None]).sum(axis=2))
    model = ChanceConstrainedSVC(kernel="precomputed", **asked).fit(gram, y, groups=groups)
    assert sf.verify(model, gram, y).verified
    model._kernel_columns = model._kernel_columns[::-1].copy()
    with pytest.warns(sf.ChangedModelWarning):
        sf.save(model, tmp_path / "turned")
    for seal in (lambda: None, model._seal_proof):
        seal()
        with pytest.raises(CertificateError, match="changed"):
            sf.verify(model, gram, y)


@pytest.mark.parametrize("name", ["_kernel_columns", "_feature_map"])
def test_a_model_that_reads_rows_in_another_way_is_refused(name: str) -> None:
    X, y, groups = two_kinds()
    for kernel in ("rbf", "linear"):
        model = ChanceConstrainedSVC(kernel=kernel).fit(X, y, groups=groups)
        setattr(model, name, np.array([1, 0]) if name == "_kernel_columns" else np.negative)
        model._seal_proof()
        with pytest.raises(CertificateError, match="reads rows in another way"):
            sf.verify(model, X, y)


def test_numbers_beside_the_plane_are_refused_though_their_seal_fits() -> None:
    X, y, groups = two_kinds()
    for change in (
        lambda model: model.intercept_.__iadd__(100.0),
        lambda model: setattr(model, "support_groups_", model.groups_[:1]),
        lambda model: setattr(model, "row_groups_", model.row_groups_[::-1].copy()),
        lambda model: setattr(model, "groups_", model.groups_[::-1]),
    ):
        model = ChanceConstrainedSVC().fit(X, y, groups=groups)
        change(model)
        model._seal_proof()
        with pytest.raises(CertificateError):
            sf.verify(model, X, y, groups=groups)


def test_a_machine_of_several_classes_keeps_its_parameters_and_its_place() -> None:
    X, y, groups = two_kinds(3)
    for change in (
        lambda model: setattr(model.machines_[0], "C", 1e6),
        lambda model: setattr(model.machines_[1], "kernel", "linear"),
        lambda model: setattr(model.machines_[0], "row_groups_", model.machines_[0].row_groups_[::-1].copy()),
        lambda model: model.machines_.append(model.machines_[0]),
    ):
        model = ChanceConstrainedSVC().fit(X, y, groups=groups)
        assert sf.verify(model, X, y).verified
        change(model)
        model._seal_proof()
        with pytest.raises(CertificateError):
            sf.verify(model, X, y)


def test_a_file_with_an_absurd_degree_or_a_strange_table_of_inputs_is_not_read(tmp_path: Path) -> None:
    X, y, groups = two_kinds()
    model = ChanceConstrainedSVC(kernel="poly").fit(X, y, groups=groups)
    model._scores = dataclasses.replace(model._scores, kernel=dataclasses.replace(model._scores.kernel, degree=10**6))
    with pytest.raises(ModelFileError, match="degree of the kernel"):
        sf.save(model, tmp_path / "degree")
    model = ChanceConstrainedSVC().fit(X, y, groups=groups)
    model._inputs = {name or "": column for name, column in model._inputs.items() if name != "support"}
    with pytest.raises(ModelFileError, match="table of inputs"):
        sf.save(model, tmp_path / "inputs")
    with pytest.raises(ValueError, match=r"degree = 1000000000 must be at most"):
        ChanceConstrainedSVC(kernel="poly", degree=10**9, time_limit=1).fit(X, y, groups=groups)
