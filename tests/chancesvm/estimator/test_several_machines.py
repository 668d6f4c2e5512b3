"""More than two classes: machines of two classes each, what they answer together, and what is proven of them."""

from __future__ import annotations

import itertools
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.svm import SVC

import surefoot as sf
from surefoot import (
    CertificateError,
    ChanceConstrainedSVC,
    ChanceConstrainedSVCCV,
    ConvergenceLimitWarning,
    InvalidTableError,
    SingleSampleWarning,
)
from surefoot.chancesvm.estimator.multi_class_machines import class_probabilities, class_scores
from surefoot.chancesvm.estimator.several_machines import certificate_of_sum
from surefoot.proofs.judge import judge
from surefoot.proofs.proof_file import read_proof_file

SCHEMES = ["ovo", "ovr"]


def three_kinds(seed: int = 0, inputs: int = 18, rows: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs of three kinds, several rows each."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(inputs), rows)
    kinds = np.arange(inputs) % 3
    centres = rng.normal(size=(inputs, 2)) + np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])[kinds]
    X = centres[groups] + 0.2 * rng.normal(size=(groups.size, 2))
    return X, np.array(["ash", "birch", "oak"])[kinds][groups], groups


def fitted(multi_class: str = "ovo", **settings: Any) -> tuple[ChanceConstrainedSVC, np.ndarray, np.ndarray, np.ndarray]:
    X, y, groups = three_kinds()
    return ChanceConstrainedSVC(multi_class=multi_class, **settings).fit(X, y, groups=groups), X, y, groups


@pytest.mark.parametrize("multi_class", SCHEMES)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_on_rows_scores_and_classes_are_those_of_scikit_learn(kernel: str, multi_class: str) -> None:
    X, y, _ = three_kinds(seed=1)
    own = ChanceConstrainedSVC(
        kernel=kernel, gamma=0.5, batches="rows", standardize=False, tol=1e-8, multi_class=multi_class
    ).fit(X, y)
    wrapper = OneVsOneClassifier if multi_class == "ovo" else OneVsRestClassifier
    other = wrapper(SVC(kernel=kernel, gamma=0.5, tol=1e-9)).fit(X, y)
    assert own.classes_.tolist() == ["ash", "birch", "oak"]
    assert own.decision_function(X).shape == (len(X), 3)
    np.testing.assert_allclose(own.decision_function(X), other.decision_function(X), atol=2e-3)
    np.testing.assert_array_equal(own.predict(X), other.predict(X))
    assert own.certificate_.verified and sf.verify(own, X, y).verified


@pytest.mark.parametrize("multi_class", SCHEMES)
def test_each_machine_is_a_model_of_its_own_two_classes(multi_class: str) -> None:
    model, X, y, groups = fitted(multi_class)
    pairs = (
        list(itertools.combinations(model.classes_, 2)) if multi_class == "ovo" else [(None, name) for name in model.classes_]
    )
    for machine, (first, second) in zip(model.machines_, pairs, strict=True):
        rows = np.isin(y, [first, second]) if first is not None else np.full(len(y), True)
        alone = ChanceConstrainedSVC().fit(X[rows], y[rows] == second, groups=groups[rows])
        np.testing.assert_allclose(machine.decision_function(X), alone.decision_function(X), atol=1e-10)
        assert machine.certificate_.upper_bound == pytest.approx(alone.certificate_.upper_bound, rel=1e-12)
    assert model.groups_ == list(range(18))
    assert set(model.inputs()["machine"]) == {" or ".join(machine.classes_) for machine in model.machines_}


@pytest.mark.parametrize("multi_class", SCHEMES)
def test_the_certificate_is_the_sum_of_those_of_all_machines(multi_class: str) -> None:
    model, *_ = fitted(multi_class)
    proof, parts = model.certificate_, [machine.certificate_ for machine in model.machines_]
    assert Fraction(proof.upper_bound) >= sum(Fraction(part.upper_bound) for part in parts)
    assert Fraction(proof.lower_bound) <= sum(Fraction(part.lower_bound) for part in parts)
    assert proof.upper_bound == pytest.approx(sum(part.upper_bound for part in parts), rel=1e-12)
    assert proof.lower_bound == pytest.approx(sum(part.lower_bound for part in parts), rel=1e-12)
    assert proof.verified and proof.claim.startswith("No set of 3 planes, one for each of these problems of two classes")


def test_a_sum_is_not_proven_if_one_of_its_parts_is_not() -> None:
    """Also where the gap of the sum is within the tolerance: a machine with a small objective could hide behind the others."""
    model, *_ = fitted()
    parts = [machine.certificate_ for machine in model.machines_]
    X, y, groups = three_kinds()
    rows = y != "oak"
    stopped = ChanceConstrainedSVC(C=1e-6, max_iter=1, tol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stopped.fit(X[rows], y[rows], groups=groups[rows])
        loose = ChanceConstrainedSVC(tol=1e-9, max_iter=1).fit(X[rows], y[rows], groups=groups[rows]).certificate_
    open_ = next(part for part in (stopped.certificate_, loose) if not part.verified)
    found = certificate_of_sum([*parts, open_])
    assert not found.verified
    assert "1 of the planes is not proven optimal" in found.claim


def test_a_time_limit_leaves_a_model_with_a_bound_that_holds() -> None:
    X, y, groups = three_kinds()
    model = ChanceConstrainedSVC(time_limit=1e-9)
    with pytest.warns(ConvergenceLimitWarning, match="stopped before its tolerance") as told:
        model.fit(X, y, groups=groups)
    assert ["fit ('ash' or 'birch')" in str(told[0].message), len(told)] == [True, 3]
    best = ChanceConstrainedSVC().fit(X, y, groups=groups).certificate_
    assert not model.certificate_.verified and "3 of the planes are not proven optimal" in model.certificate_.claim
    assert 0.0 <= model.certificate_.lower_bound <= best.upper_bound and model.certificate_.upper_bound >= best.lower_bound
    assert model.predict(X).shape == y.shape


@pytest.mark.parametrize("multi_class", SCHEMES)
def test_a_proof_is_refused_for_other_rows_labels_and_numbers(multi_class: str) -> None:
    model, X, y, groups = fitted(multi_class, kernel="linear")
    assert sf.verify(model, X, y).verified
    assert sf.verify(model, X, y, groups=groups).verified
    swapped = np.where(groups == 0, "oak", y)
    with pytest.raises(CertificateError):
        sf.verify(model, X, swapped)
    with pytest.raises(CertificateError):
        sf.verify(model, X + 1e-3 * np.eye(len(X), 2), y)
    model.machines_.reverse()
    with pytest.raises(CertificateError, match="has changed"):
        sf.verify(model, X, y)
    model.machines_.reverse()
    assert sf.verify(model, X, y).verified
    model.machines_[1]._scores.coefficients[0] *= 1.5
    with pytest.raises(CertificateError, match="has changed"):
        sf.verify(model, X, y)


@pytest.mark.parametrize("multi_class", SCHEMES)
def test_the_proof_of_each_machine_is_a_file_of_its_own(multi_class: str, tmp_path: Path) -> None:
    X, y, groups = three_kinds()
    model = ChanceConstrainedSVC(multi_class=multi_class).fit(X, y, groups=groups)
    for at, machine in enumerate(model.machines_):
        place = tmp_path / f"{at}.npz"
        sf.export_proof(model, X, y, place, groups=groups, machine=at)
        proof = read_proof_file(place)
        found = judge(proof)
        assert found.verified
        assert found.claim == machine.certificate_.claim
        assert (found.problem_digest, found.model_digest) == (
            machine.certificate_.problem_digest,
            machine.certificate_.model_digest,
        )
    with pytest.raises(CertificateError, match="pass machine=0"):
        sf.export_proof(model, X, y, tmp_path / "all.npz", groups=groups)
    for wrong in (3, -1, "ash"):
        with pytest.raises(ValueError, match=r"machine = .* must be a whole number from 0 to 2"):
            sf.export_proof(model, X, y, tmp_path / "none.npz", groups=groups, machine=wrong)
    two = y != "oak"
    plain = ChanceConstrainedSVC().fit(X[two], y[two], groups=groups[two])
    with pytest.raises(ValueError, match="more than two classes, and this one has two"):
        sf.export_proof(plain, X[two], y[two], tmp_path / "two.npz", groups=groups[two], machine=0)
    assert len(list(tmp_path.iterdir())) == 3


def test_exchanged_machines_under_a_fresh_seal_are_refused() -> None:
    """The seal is no proof: whoever can seal a model again is refused by the problems that its rows pose."""
    model, X, y, _ = fitted("ovr", kernel="linear")
    model.machines_[0], model.machines_[1] = model.machines_[1], model.machines_[0]
    model._seal_proof()
    with pytest.raises(CertificateError):
        sf.verify(model, X, y)


@pytest.mark.parametrize("multi_class", SCHEMES)
def test_probabilities_add_up_to_one_and_mostly_agree_with_classes(multi_class: str) -> None:
    model, X, _, _ = fitted(multi_class, probability=True, random_state=0)
    found = model.predict_proba(X)
    assert found.shape == (len(X), 3) and found.min() >= 0
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    assert np.mean(model.classes_[found.argmax(axis=1)] == model.predict(X)) > 0.9
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(found))


def test_coupled_probabilities_of_consistent_pairs_are_those_they_came_from() -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(5), size=40)
    pairs = np.column_stack([p[:, j] / (p[:, i] + p[:, j]) for i, j in itertools.combinations(range(5), 2)])
    np.testing.assert_allclose(class_probabilities("ovo", pairs, 5), p, atol=1e-6)


def test_coupled_probabilities_minimise_what_they_are_said_to() -> None:
    rng = np.random.default_rng(1)
    pairs = rng.random((1, 6))
    r = np.zeros((4, 4))
    for at, (i, j) in enumerate(itertools.combinations(range(4), 2)):
        r[j, i], r[i, j] = pairs[0, at], 1 - pairs[0, at]

    def value(p: np.ndarray) -> float:
        return sum(float(r[j, i] * p[i] - r[i, j] * p[j]) ** 2 for i, j in itertools.combinations(range(4), 2))

    best = value(class_probabilities("ovo", pairs, 4)[0])
    assert all(value(p) >= best - 1e-12 for p in rng.dirichlet(np.ones(4), size=3000))


def test_certain_and_impossible_pairs_leave_probabilities() -> None:
    certain = class_probabilities("ovo", np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 1.0]]), 3)
    assert np.isfinite(certain).all() and certain.sum() == pytest.approx(2.0)
    np.testing.assert_allclose(certain[0], 1 / 3, atol=1e-6)  # they beat each other in a circle
    np.testing.assert_allclose(certain[1], [0, 0, 1], atol=1e-6)
    np.testing.assert_allclose(class_probabilities("ovr", np.zeros((1, 4)), 4), 0.25)


def test_votes_come_before_sums_of_scores() -> None:
    # The second class wins both of its pairs by little; the first wins one by much.
    scores = class_scores("ovo", np.array([[0.1, -1e9, -0.1]]), 3)
    assert scores.argmax() == 1
    # A circle: each has one vote, and the largest sum decides.
    assert class_scores("ovo", np.array([[1.0, -5.0, 1.0]]), 3).argmax() == 0


@pytest.mark.parametrize("multi_class", SCHEMES)
def test_files_keep_all_machines(multi_class: str, tmp_path: Path) -> None:
    model, X, y, _ = fitted(multi_class, probability=True, random_state=0)
    sf.save(model, tmp_path / "model.surefoot")
    read = sf.load(tmp_path / "model.surefoot")
    np.testing.assert_array_equal(read.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(read.predict_proba(X), model.predict_proba(X))
    assert read.certificate_.claim == model.certificate_.claim
    assert sf.verify(read, X, y).verified
    sf.save(model, tmp_path / "bare.surefoot", witness=False)
    with pytest.raises(CertificateError, match="carries no witness"):
        sf.verify(sf.load(tmp_path / "bare.surefoot"), X, y)


def test_files_whose_machines_are_not_those_of_the_classes_are_refused(tmp_path: Path) -> None:
    model, *_ = fitted()
    model.machines_ = model.machines_[:2]
    with pytest.raises(sf.ModelFileError, match="machines_ are not those of the classes"):
        sf.save(model, tmp_path / "model.surefoot")


@pytest.mark.parametrize("multi_class", SCHEMES)
def test_weights_of_classes_multiply_the_price_of_their_inputs_in_every_machine(multi_class: str) -> None:
    X, y, groups = three_kinds()
    keep = (y != "oak") | (groups < 9)  # 6, 6 and 3 inputs
    X, y, groups = X[keep], y[keep], groups[keep]
    plain = ChanceConstrainedSVC(multi_class=multi_class).fit(X, y, groups=groups)
    for class_weight, factors in (
        ("balanced", {"ash": 15 / 18, "birch": 15 / 18, "oak": 15 / 9}),
        ({"oak": 4.0}, {"ash": 1.0, "birch": 1.0, "oak": 4.0}),
    ):
        model = ChanceConstrainedSVC(multi_class=multi_class, class_weight=class_weight).fit(X, y, groups=groups)
        before, after = (each._proof_parts(X, y, None, None).arguments["machines"] for each in (plain, model))
        kind = {name: y[groups == name][0] for name in np.unique(groups).tolist()}
        for machine, one, other in zip(model.machines_, before, after, strict=True):
            wanted = [factors[kind[name]] for name in machine.groups_]
            np.testing.assert_allclose(other["problem"].costs / one["problem"].costs, wanted, rtol=1e-12)
        assert sf.verify(model, X, y).verified


def test_violations_by_group_reach_the_machines_of_that_group() -> None:
    X, y, groups = three_kinds()
    given = np.linspace(0.5, 0.9, 18)
    model = ChanceConstrainedSVC(violation=given).fit(X, y, groups=groups)
    for machine in model.machines_:
        np.testing.assert_allclose(machine.input_columns()["violation"], given[machine.groups_])
    assert sf.verify(model, X, y).verified


def test_weights_of_rows_and_rows_without_weight() -> None:
    X, y, groups = three_kinds()
    weights = np.where(np.arange(len(y)) % 4 == 0, 0.0, 2.0)
    # A weight of 2 is a second measurement, which shrunk covariances count; those of batches do not.
    model = ChanceConstrainedSVC(covariance="batch").fit(X, y, groups=groups, sample_weight=weights)
    fewer = ChanceConstrainedSVC(C=2.0, covariance="batch").fit(X[weights > 0], y[weights > 0], groups=groups[weights > 0])
    np.testing.assert_allclose(model.decision_function(X), fewer.decision_function(X), atol=1e-4)
    assert sf.verify(model, X, y, sample_weight=weights).verified
    with pytest.raises(InvalidTableError, match="class 'oak' has no row of positive sample_weight"):
        ChanceConstrainedSVC().fit(X, y, groups=groups, sample_weight=(y != "oak").astype(float))


@pytest.mark.parametrize("multi_class", SCHEMES)
def test_given_moments_and_given_kernels(multi_class: str) -> None:
    means, y = np.array([[0, 0], [4, 0], [0, 4], [0.5, 0.2], [4.2, 0.1], [0.1, 4.3]]), [7, 8, 9, 7, 8, 9]
    variances = np.full((6, 2), 0.01)
    model = ChanceConstrainedSVC(kernel="linear", multi_class=multi_class, violation=[0.5, 0.6, 0.7, 0.8, 0.9, 0.5])
    model.fit_moments(means, variances, y)
    assert model.predict(means).tolist() == y and sf.verify(model, (means, variances), y).verified
    assert model.groups_ == list(range(6))
    X, kinds, groups = three_kinds()
    gram = rbf_kernel(X)
    given = ChanceConstrainedSVC(kernel="precomputed", multi_class=multi_class, probability=True, random_state=0)
    given.fit(gram, kinds, groups=groups)
    same = ChanceConstrainedSVC(gamma=0.5, standardize=False, multi_class=multi_class).fit(X, kinds, groups=groups)
    assert given.predict_proba(gram[:5]).shape == (5, 3)
    assert np.mean(given.predict(gram) == same.predict(X)) > 0.95
    assert sf.verify(given, gram, kinds).verified


@pytest.mark.parametrize("multi_class", SCHEMES)
def test_paths_and_searches(multi_class: str) -> None:
    X, y, groups = three_kinds()
    model = ChanceConstrainedSVC(kernel="linear", multi_class=multi_class)
    ((first, second),) = model.fit_path(X, y, costs=[0.5, 5.0], violations=[0.7], groups=groups)
    alone = ChanceConstrainedSVC(kernel="linear", multi_class=multi_class, C=5.0, violation=0.7).fit(X, y, groups=groups)
    assert second.certificate_.upper_bound == pytest.approx(alone.certificate_.upper_bound, rel=3e-6)
    assert sf.verify(first, X, y, groups=groups).verified
    search = ChanceConstrainedSVCCV(
        costs=[1.0, 10.0], violations=[0.7], gammas=["scale"], cv=3, random_state=0, multi_class=multi_class
    ).fit(X, y, groups=groups)
    assert search.predict(X).tolist() == search.best_estimator_.predict(X).tolist()
    assert search.best_score_ > 0.8 and sf.verify(search, X, y, groups=groups).verified


def test_classes_by_cross_validation_as_anywhere_in_scikit_learn() -> None:
    X, y, _ = three_kinds(inputs=60, rows=1)
    assert cross_val_score(ChanceConstrainedSVC(batches="rows"), X, y).mean() > 0.85


def test_a_model_that_is_fitted_to_two_classes_forgets_several_and_back() -> None:
    X, y, groups = three_kinds()
    two = y != "oak"
    model = ChanceConstrainedSVC(kernel="linear").fit(X, y, groups=groups)
    assert not hasattr(model, "coef_")
    model.fit(X[two], y[two], groups=groups[two])
    assert not hasattr(model, "machines_") and model.decision_function(X).ndim == 1
    model.fit(X, y, groups=groups)
    assert not hasattr(model, "coef_") and not hasattr(model, "dual_coef_") and model.decision_function(X).shape == (72, 3)


def test_a_fit_that_fails_leaves_the_model_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    model, X, y, groups = fitted()
    before = model.decision_function(X)
    calls = iter([None, None, RuntimeError("no")])
    solve = type(model)._solve

    def failing(self: Any, *args: Any, **kwargs: Any) -> Any:
        error = next(calls)
        if error is not None:
            raise error
        return solve(self, *args, **kwargs)

    monkeypatch.setattr(type(model), "_solve", failing)
    with pytest.raises(RuntimeError):
        model.fit(2 * X + 1, y, groups=groups)
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert sf.verify(model, X, y).verified


def test_warnings_of_missing_groups_come_once_not_for_each_machine() -> None:
    X, y, _ = three_kinds()
    with pytest.warns(SingleSampleWarning) as told:
        ChanceConstrainedSVC().fit(X, y)
    assert len(told) == 1


def test_what_is_wrong_is_said() -> None:
    X, y, groups = three_kinds()
    with pytest.raises(ValueError, match="multi_class = 'all' must be 'ovo'"):
        ChanceConstrainedSVC(multi_class="all").fit(X, y, groups=groups)
    with pytest.raises(InvalidTableError, match="group 0 has rows of both classes: row 0 is 'oak', row 1 is 'ash'"):
        ChanceConstrainedSVC().fit(X, np.where(np.arange(72) == 0, "oak", y), groups=groups)
    with pytest.raises(InvalidTableError, match="Unknown label type: continuous"):
        ChanceConstrainedSVC().fit(X, X[:, 0], groups=groups)
    model = ChanceConstrainedSVC(kernel="linear").fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="3 classes is no single formula"):
        sf.export.to_sql(model)
    with pytest.raises(ValueError, match=r"tells 3 classes apart\. Draw one of"):
        sf.UncertainInputsDisplay.from_estimator(model, X)
    with pytest.raises(CertificateError, match="one proof for each of its machines"):
        sf.export_proof(model, X, y, "never.proof.npz")


@pytest.mark.parametrize("multi_class", SCHEMES)
def test_the_report_shows_machines_accuracy_and_true_against_predicted_classes(multi_class: str, tmp_path: Path) -> None:
    model, X, y, _ = fitted(multi_class)
    path = sf.report(model, X, y, tmp_path / "report.html")
    text = path.read_text(encoding="utf-8")
    assert "proven" in text and "The proof was checked once more" in text
    assert f"{np.mean(model.predict(X) == y):.1%}" in text
    assert "ash or birch" in text if multi_class == "ovo" else "not ash or ash" in text
    with pytest.raises(InvalidTableError, match="y, row 3: 'elm' is not one of the classes"):
        sf.report(
            model,
            X,
            [*y[:3].tolist(), "elm", *y[4:].tolist()],
            tmp_path / "b.html",
        )
