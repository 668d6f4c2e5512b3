"""Planes of scikit-learn's SVC, judged by the proof of the problem that they solve."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

import surefoot as sf
from surefoot.exceptions import CertificateError, SingleSampleWarning, WeakModelWarning
from surefoot.proofs.judge import judge
from surefoot.proofs.proof_file import Proof, read_proof_file

Rows = tuple[np.ndarray, np.ndarray]


def rows(offset: float = 0.0) -> Rows:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 3))
    y = np.where(X @ [1.0, -1.0, 0.5] + 0.7 * rng.normal(size=80) > 0, "yes", "no")
    return X + offset, y


def exported(X: np.ndarray, y: np.ndarray, path: Path, **settings: Any) -> tuple[Any, Proof]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingleSampleWarning)
        # At this price a flat kernel tells nothing apart, and SVC does not either.
        warnings.simplefilter("ignore", WeakModelWarning)
        model = sf.ChanceConstrainedSVC(**settings, standardize=False).fit(X, y, groups=range(len(X)))
    sf.export_proof(model, X, y, path / "points.proof.npz")
    return model, read_proof_file(path / "points.proof.npz")


def numbers(other: SVC) -> dict[str, Any]:
    return {"support": other.support_, "dual_coef": other.dual_coef_, "intercept": other.intercept_}


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("gamma", ["scale", 0.4, 1e-4])
@pytest.mark.parametrize("offset", [0.0, 20.0])
def test_planes_of_svc_are_judged_as_they_predict(tmp_path: Path, kernel: str, gamma: Any, offset: float) -> None:
    X, y = rows(offset if gamma != 0.4 or kernel != "poly" else 0.0)
    settings = {"kernel": kernel, "gamma": gamma, "C": 3.0, "degree": 2, "coef0": 1.0}
    model, proof = exported(X, y, tmp_path, **settings)
    products = {
        "linear": X @ X.T,
        "poly": (getattr(model, "gamma_", 1.0) * X @ X.T + 1.0) ** 2,
        "rbf": np.exp(-getattr(model, "gamma_", 1.0) * np.square(X[:, None] - X[None]).sum(axis=2)),
    }[kernel]
    for tolerance in (1e-3, 1e-9):
        other = SVC(tol=tolerance, **settings).fit(X, y)
        found = judge(proof.answered_by_plane(**numbers(other)))
        coefficients = np.zeros(len(X))
        coefficients[other.support_] = other.dual_coef_[0]
        margins = np.where(y == "yes", 1.0, -1.0) * other.decision_function(X)
        objective = 0.5 * coefficients @ products @ coefficients + 3.0 * np.maximum(1.0 - margins, 0.0).sum()
        assert found.upper_bound == pytest.approx(objective, rel=1e-7)
        assert found.lower_bound == pytest.approx(model.certificate_.lower_bound, rel=1e-9)
    # SVC keeps kernels with seven digits: far from the origin it ends above the optimum, which the certificate notices.
    assert offset > 0 or found.verified
    assert not judge(proof.answered_by_plane(**{**numbers(other), "intercept": other.intercept_ + 0.1})).verified


def test_scikit_learns_scale_is_ours(tmp_path: Path) -> None:
    X, y = rows()
    model, _ = exported(X, y, tmp_path, kernel="rbf", gamma="scale")
    assert SVC(gamma="scale").fit(X, y)._gamma == pytest.approx(model.gamma_, rel=1e-14)


def test_numbers_that_are_no_plane_are_refused(tmp_path: Path) -> None:
    X, y = rows()
    _, proof = exported(X, y, tmp_path, kernel="linear")
    whole = numbers(SVC(kernel="linear").fit(X, y))
    for change, said in (
        ({"support": whole["support"][:-1]}, "one place and one number"),
        ({"support": whole["support"].astype(float)}, "one place and one number"),
        ({"intercept": [0.0, 1.0]}, "two classes"),
        ({"support": np.where(whole["support"] == whole["support"][0], 80, whole["support"])}, "different ones of the 80"),
        ({"support": np.full(whole["support"].size, 3)}, "different ones of the 80"),
        ({"dual_coef": np.abs(whole["dual_coef"])}, "add up to"),
    ):
        with pytest.raises(CertificateError, match=said):
            proof.answered_by_plane(**{**whole, **change})
    with pytest.raises(CertificateError, match="not about a plane"):
        Proof("robust", {}).answered_by_plane(**whole)


def test_given_matrices_have_no_centre(tmp_path: Path) -> None:
    X, y = rows()
    gram = np.exp(-0.3 * np.square(X[:, None] - X[None]).sum(axis=2))
    _, proof = exported(gram, y, tmp_path, kernel="precomputed", C=3.0)
    other = SVC(kernel="precomputed", C=3.0, tol=1e-9).fit(gram, y)
    assert judge(proof.answered_by_plane(**numbers(other))).verified
