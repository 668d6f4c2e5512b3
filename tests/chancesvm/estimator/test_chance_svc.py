"""ChanceConstrainedSVC: what it recovers, what it does not depend on, and how it lives among scikit-learn's tools."""

from __future__ import annotations

import pickle
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
import sklearn
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import surefoot as sf
from surefoot import verify
from surefoot.chancesvm.estimator.chance_svc import ChanceConstrainedSVC
from surefoot.chancesvm.estimator.svm_settings import SVMSettings
from surefoot.chancesvm.solvers.ellipsoid_cuts import EllipsoidCuts
from surefoot.core.certificate import Certificate
from surefoot.core.outcome import Status
from surefoot.exceptions import ConvergenceLimitWarning, SingleSampleWarning, SolveInterrupted, WeakModelWarning
from surefoot.sklearn_api.progress import ProgressPrinter

NAMES = ["vibration", "noise"]


class Measured(NamedTuple):
    """Eight machines, measured ten times each: at C, each costs 10 C."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray


def draw_machines(spread: float = 0.25, seed: int = 0) -> Measured:
    draw = np.random.default_rng(seed)
    centres = np.array([[0, 0], [1, 0.3], [-0.6, 0.8], [0.2, 1.2], [2.5, 2.2], [3, 1], [2.2, -1], [1.5, 2.6]])
    codes = np.repeat(np.arange(8), 10)
    X = centres[codes] + spread * draw.normal(size=(80, 2))
    return Measured(X, np.where(codes < 4, "new", "worn"), np.array(list("abcdefgh"))[codes])


@pytest.fixture
def machines() -> Measured:
    return draw_machines()


def rbf(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.asarray(rbf_kernel(left, right, gamma=0.5))


KERNELS: dict[str, dict[str, Any]] = {
    "linear": {"kernel": "linear"},
    "rbf": {"kernel": "rbf", "gamma": 0.5},
    "poly": {"kernel": "poly", "gamma": 0.7, "degree": 2, "coef0": 1.0},
    "callable": {"kernel": rbf},
}


@pytest.mark.parametrize("name", KERNELS)
def test_inputs_that_are_points_give_the_support_vector_machine_of_scikit_learn(name: str, machines: Measured) -> None:
    X, y, _ = machines
    rival = SVC(C=3.0, tol=1e-10, **KERNELS[name]).fit(X, y)
    with pytest.warns(SingleSampleWarning):
        model = ChanceConstrainedSVC(C=3.0, tol=1e-9, standardize=False, **KERNELS[name]).fit(X, y, groups=np.arange(80))
    rows = ChanceConstrainedSVC(C=3.0, tol=1e-9, standardize=False, batches="rows", **KERNELS[name]).fit(X, y)
    for found in (model, rows):
        assert found.certificate_.verified
        np.testing.assert_allclose(found.decision_function(X), rival.decision_function(X), atol=2e-3)
        assert found.predict(X).tolist() == rival.predict(X).tolist()


def test_a_violation_close_to_1_separates_the_means(machines: Measured) -> None:
    X, y, groups = machines
    means = np.stack([X[groups == name].mean(axis=0) for name in "abcdefgh"])
    rival = SVC(kernel="linear", C=3.0, tol=1e-10).fit(means, ["new"] * 4 + ["worn"] * 4)
    model = ChanceConstrainedSVC(kernel="linear", C=0.3, violation=1 - 1e-12, tol=1e-9, standardize=False).fit(X, y, groups)
    np.testing.assert_allclose(model.coef_, rival.coef_, atol=1e-3)
    np.testing.assert_allclose(model.intercept_, rival.intercept_, atol=1e-3)


def test_a_precomputed_kernel_gives_the_model_of_the_kernel_itself(machines: Measured) -> None:
    X, y, groups = machines
    gram, fresh = rbf(X, X), np.random.default_rng(1).normal(size=(20, 2))
    plain = ChanceConstrainedSVC(gamma=0.5, C=5.0, standardize=False, covariance="batch").fit(X, y, groups)
    model = ChanceConstrainedSVC(kernel="precomputed", C=5.0).fit(gram, y, groups)
    assert model.certificate_.upper_bound == pytest.approx(plain.certificate_.upper_bound, rel=3e-6)
    np.testing.assert_allclose(model.decision_function(rbf(fresh, X)), plain.decision_function(fresh), atol=5e-3)
    weights = np.where(np.arange(80) % 3 == 0, 0.0, 1.0)
    some = ChanceConstrainedSVC(kernel="precomputed", C=5.0).fit(gram, y, groups, sample_weight=weights)
    raw = ChanceConstrainedSVC(gamma=0.5, C=5.0, standardize=False, covariance="batch")
    kept = raw.fit(X[weights > 0], y[weights > 0], groups[weights > 0])
    assert some.certificate_.upper_bound == pytest.approx(kept.certificate_.upper_bound, rel=3e-6)
    np.testing.assert_allclose(some.decision_function(rbf(fresh, X)), kept.decision_function(fresh), atol=5e-3)


def test_without_groups_a_precomputed_kernel_is_clustered_in_its_own_space() -> None:
    draw = np.random.default_rng(0)
    X = draw.normal(size=(60, 2)) + 4 * (np.arange(60) % 2)[:, None]
    model = ChanceConstrainedSVC(kernel="precomputed", batches="clusters", random_state=0).fit(X @ X.T, np.arange(60) % 2)
    plain = ChanceConstrainedSVC(kernel="linear", batches="clusters", random_state=0).fit(X, np.arange(60) % 2)
    assert model.groups_ == plain.groups_ == list(range(6))
    assert model.score(X @ X.T, np.arange(60) % 2) == 1.0


@pytest.mark.parametrize(
    "frame",
    [
        lambda X: pd.DataFrame(X, columns=NAMES),
        lambda X: pl.DataFrame(X, schema=NAMES),
        lambda X: pa.table({name: X[:, at] for at, name in enumerate(NAMES)}),
        scipy.sparse.csr_array,
        lambda X: X.tolist(),
    ],
    ids=["pandas", "polars", "pyarrow", "sparse", "lists"],
)
def test_every_kind_of_table_gives_the_same_model(frame: Any, machines: Measured) -> None:
    X, y, groups = machines
    plain = ChanceConstrainedSVC(C=5.0).fit(X, y, groups)
    table = frame(X)
    model = ChanceConstrainedSVC(C=5.0).fit(table, y, groups)
    np.testing.assert_allclose(model.decision_function(table), plain.decision_function(X), atol=1e-12)
    named = not isinstance(table, list) and not scipy.sparse.issparse(table)
    assert hasattr(model, "feature_names_in_") == named
    if named:
        assert type(model.inputs()) is type(table)
        assert model.feature_names_in_.tolist() == NAMES


def test_labels_groups_and_their_order_are_only_names(machines: Measured) -> None:
    X, y, groups = machines
    plain = ChanceConstrainedSVC(C=5.0).fit(X, y, groups)
    order = np.random.default_rng(2).permutation(80)
    turned = ChanceConstrainedSVC(C=5.0).fit(X[order], np.where(y == "new", 1, 0)[order], pd.Series(groups[order]))
    np.testing.assert_allclose(turned.decision_function(X), -plain.decision_function(X), atol=2e-3)
    assert turned.groups_ == plain.groups_ == list("abcdefgh")
    assert turned.certificate_.upper_bound == pytest.approx(plain.certificate_.upper_bound, rel=3e-6)


@pytest.mark.parametrize("batches", ["auto", "clusters", "rows"])
def test_a_weight_is_a_number_of_repetitions(batches: str, machines: Measured) -> None:
    X, y, groups = machines
    counts, named = np.random.default_rng(0).integers(0, 4, 80), batches == "auto"
    model = ChanceConstrainedSVC(C=5.0, batches=batches, random_state=0)
    repeated = clone(model).fit(X.repeat(counts, axis=0), y.repeat(counts), groups.repeat(counts) if named else None)
    weighted = model.fit(X, y, groups if named else None, sample_weight=counts)
    assert weighted.certificate_.upper_bound == pytest.approx(repeated.certificate_.upper_bound, rel=3e-6)
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=5e-3)
    assert (weighted.row_groups_ == -1).tolist() == (counts == 0).tolist()


def test_a_violation_may_differ_by_group(machines: Measured) -> None:
    X, y, groups = machines
    given = {name: 0.05 if name == "h" else 0.4 for name in "abcdefgh"}
    mapped = ChanceConstrainedSVC(C=5.0, violation=given).fit(X, y, groups)
    listed = ChanceConstrainedSVC(C=5.0, violation=list(given.values())).fit(X, y, groups)
    np.testing.assert_array_equal(mapped.decision_function(X), listed.decision_function(X))
    assert mapped.inputs()["violation"].tolist() == list(given.values())
    equal = ChanceConstrainedSVC(C=5.0, violation=0.4).fit(X, y, groups)
    assert mapped.certificate_.lower_bound > equal.certificate_.upper_bound


def test_an_input_without_slack_keeps_its_promise_and_those_without_multiplier_could_be_left_out(machines: Measured) -> None:
    X, y, groups = machines
    asked = {"kernel": "linear", "C": 1e4, "violation": 0.3, "tol": 1e-8, "covariance": "batch"}
    model = ChanceConstrainedSVC(**asked).fit(X, y, groups)
    table = model.inputs()
    assert (table["slack"] <= 1e-3).all() and (table["misclassified"] < 0.3).all()
    assert 2 <= len(model.support_groups_) < 8
    kept = np.isin(groups, model.support_groups_)
    again = ChanceConstrainedSVC(**asked).fit(X[kept], y[kept], groups[kept])
    np.testing.assert_allclose(again.coef_, model.coef_, rtol=1e-3)
    scores = model.decision_function(X)
    np.testing.assert_allclose(X @ model.coef_[0] + model.intercept_[0], scores, atol=1e-9)
    np.testing.assert_array_equal(X[model.support_], model.support_vectors_)


def test_the_model_survives_pickle_and_clone(machines: Measured) -> None:
    X, y, groups = machines
    table = pd.DataFrame(X, columns=NAMES)
    model = ChanceConstrainedSVC(kernel=rbf, violation=dict.fromkeys("abcdefgh", 0.2)).fit(table, y, groups)
    back = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(back.decision_function(table), model.decision_function(table))
    assert isinstance(back.certificate_, Certificate) and back.certificate_.verified
    assert clone(model).get_params()["kernel"] is rbf


def test_a_pipeline_passes_groups_and_cross_validation_routes_them(machines: Measured) -> None:
    X, y, groups = machines
    pipe = make_pipeline(StandardScaler(), ChanceConstrainedSVC(C=5.0))
    pipe.fit(X, y, chanceconstrainedsvc__groups=groups)
    assert pipe[-1].groups_ == list("abcdefgh") and pipe.score(X, y) > 0.9
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    for batches in ("rows", "clusters"):
        model = ChanceConstrainedSVC(C=50.0, batches=batches, random_state=0)
        assert cross_val_score(model, X, y, cv=folds).mean() > 0.9
    with sklearn.config_context(enable_metadata_routing=True):
        model = ChanceConstrainedSVC(C=5.0).set_fit_request(groups=True)
        search = GridSearchCV(model, {"violation": [0.1, 0.5]}, cv=GroupKFold(4)).fit(X, y, groups=groups)
    assert search.best_estimator_.groups_ == list("abcdefgh")


@pytest.mark.parametrize("name", ["linear", "rbf", "poly"])
def test_solvers_agree_and_the_published_one_does_not_claim_more_than_it_proves(name: str, machines: Measured) -> None:
    X, y, groups = machines
    best = ChanceConstrainedSVC(C=2.0, **KERNELS[name]).fit(X, y, groups)
    cones = ChanceConstrainedSVC(C=2.0, solver="socp", **KERNELS[name]).fit(X, y, groups)
    assert (best.solver_, cones.solver_) == ("worst-points", "socp") and cones.certificate_.verified
    assert cones.certificate_.upper_bound == pytest.approx(best.certificate_.upper_bound, rel=3e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceLimitWarning)
        split = ChanceConstrainedSVC(C=2.0, solver="admm", max_iter=200, **KERNELS[name]).fit(X, y, groups)
    assert split.certificate_.upper_bound >= best.certificate_.lower_bound * (1 - 1e-9)
    assert split.certificate_.lower_bound <= best.certificate_.upper_bound * (1 + 1e-9)
    assert split.certificate_.verified == (split.certificate_.relative_gap <= 1e-6)
    assert len(split.inputs()) == 8


def test_the_published_method_is_returned_as_it_ends_and_says_how_far_that_is(machines: Measured) -> None:
    X, y, groups = machines
    asked = {"C": 100.0, "violation": 0.2, "gamma": 2.0, "standardize": False}
    best = ChanceConstrainedSVC(**asked).fit(X, y, groups)
    objectives = []
    for penalty in (1.0, 100.0):
        with pytest.warns(ConvergenceLimitWarning, match=r"The published method ends.*solver='auto' finds that"):
            model = ChanceConstrainedSVC(**asked, solver="admm", admm_penalty=penalty).fit(X, y, groups)
        certificate = model.certificate_
        objectives.append(certificate.upper_bound)
        # The bound is that of the optimum: the gap is the distance from it.
        assert certificate.lower_bound == pytest.approx(best.certificate_.upper_bound, rel=1e-5)
        assert certificate.upper_bound > 1.01 * best.certificate_.upper_bound
        assert not certificate.verified and model.outcome_.status is Status.STALLED
        assert sf.verify(model, X, y, groups=groups).relative_gap == pytest.approx(certificate.relative_gap, rel=1e-9)
    assert objectives[0] != pytest.approx(objectives[1], rel=1e-3)


def test_the_published_method_has_no_bound_of_others_beyond_the_time_limit(machines: Measured) -> None:
    X, y, groups = machines
    with pytest.warns(ConvergenceLimitWarning, match=r"time limit.*Allow more with time_limit"):
        model = ChanceConstrainedSVC(C=100.0, gamma=2.0, solver="admm", time_limit=1e-9).fit(X, y, groups)
    assert model.outcome_.status is Status.TIME_LIMIT and not model.certificate_.verified


def test_ctrl_c_while_the_optimum_is_bounded_leaves_the_published_iterate(
    machines: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, groups = machines
    asked = {"C": 100.0, "violation": 0.2, "gamma": 2.0, "standardize": False, "solver": "admm"}
    with pytest.warns(ConvergenceLimitWarning):
        whole = ChanceConstrainedSVC(**asked).fit(X, y, groups)

    def interrupt(*arguments: Any, **named: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(EllipsoidCuts, "_initialise", interrupt)
    model = ChanceConstrainedSVC(**asked)
    with pytest.raises(SolveInterrupted):
        model.fit(X, y, groups)
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))
    assert model.certificate_.lower_bound < whole.certificate_.lower_bound


@pytest.mark.parametrize("penalty", [0.0, -1.0, float("nan"), float("inf"), "100", None])
def test_penalties_that_are_none_are_refused(penalty: Any, machines: Measured) -> None:
    X, y, groups = machines
    with pytest.raises(ValueError, match=r"admm_penalty = .* must be a positive, finite number"):
        ChanceConstrainedSVC(solver="admm", admm_penalty=penalty).fit(X, y, groups)


def test_a_limit_warns_and_keeps_a_valid_bound(machines: Measured) -> None:
    X, y, groups = machines
    asked = {"C": 5.0, "gamma": 0.5, "violation": 0.1, "standardize": False}
    best = ChanceConstrainedSVC(**asked).fit(X, y, groups)
    for limit in ({"max_iter": 2}, {"time_limit": 1e-9}):
        with pytest.warns(ConvergenceLimitWarning, match=r"fit stopped before its tolerance.*still holds"):
            model = ChanceConstrainedSVC(**asked, **limit).fit(X, y, groups)
        assert model.outcome_.status in (Status.ITERATION_LIMIT, Status.TIME_LIMIT) and not model.certificate_.verified
        assert model.certificate_.lower_bound <= best.certificate_.upper_bound <= model.certificate_.upper_bound * (1 + 1e-6)


def test_ctrl_c_ends_the_fit_and_leaves_the_best_model(machines: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(self: Any, progress: Any) -> None:
        if progress.iteration == 3:
            raise KeyboardInterrupt

    X, y, groups = machines
    monkeypatch.setattr(ProgressPrinter, "__call__", interrupt)
    model = ChanceConstrainedSVC(C=50.0, gamma=0.5, verbose=1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y, groups)
    assert model.outcome_.status is Status.INTERRUPTED
    assert model.certificate_.lower_bound <= model.certificate_.upper_bound
    assert model.predict(X).shape == (80,)


def test_progress_goes_to_standard_error(machines: Measured, capsys: pytest.CaptureFixture[str]) -> None:
    X, y, groups = machines
    model = ChanceConstrainedSVC(verbose=1).fit(X, y, groups)
    shown = capsys.readouterr()
    assert shown.out == "" and "ChanceConstrainedSVC, 8 inputs, 80 samples" in shown.err
    assert len(shown.err.splitlines()) >= 2 + min(model.n_iter_, 1)


def test_fits_repeat_themselves_for_the_same_random_state() -> None:
    draw = np.random.default_rng(0)
    X, y = draw.normal(size=(100, 3)), draw.integers(0, 2, 100)
    first, second = (ChanceConstrainedSVC(random_state=3, batches=12, violation=0.9).fit(X, y) for _ in range(2))
    assert first.row_groups_.tolist() == second.row_groups_.tolist() and len(first.groups_) == 12
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))


def test_one_row_in_a_group_is_said_once_and_made_clusters_of_one_row_are_not(machines: Measured) -> None:
    X, y, groups = machines
    kept = np.flatnonzero((groups != "a") | (np.arange(80) == 0))
    with pytest.warns(SingleSampleWarning, match=r"1 of 8 groups have one row \(group 'a'\)") as said:
        ChanceConstrainedSVC().fit(X[kept], y[kept], groups[kept])
    assert len(said) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ChanceConstrainedSVC(batches=8, random_state=0).fit([[0.0], [0.1], [50.0], [100.0]], [0, 0, 1, 1])


def test_landmarks_build_the_model_from_few_rows(machines: Measured) -> None:
    X, y, groups = machines
    asked = {"gamma": 0.5, "standardize": False, "covariance": "batch"}
    full = ChanceConstrainedSVC(**asked).fit(X, y, groups=groups)
    few = ChanceConstrainedSVC(n_landmarks=12, **asked).fit(X, y, groups=groups)
    assert 0 < len(few.support_) <= 12
    assert few.certificate_.verified
    assert f"combines these {len(few.support_)} landmarks" in few.certificate_.claim
    assert few.certificate_.upper_bound >= full.certificate_.lower_bound
    assert "landmarks" not in full.certificate_.claim
    conic = ChanceConstrainedSVC(n_landmarks=12, solver="socp", **asked).fit(X, y, groups=groups)
    assert conic.certificate_.upper_bound == pytest.approx(few.certificate_.upper_bound, rel=3e-6)
    # The columns of a precomputed kernel are as good as a function.
    gram = np.exp(-0.5 * np.square(X[:, None] - X[None]).sum(axis=2))
    given = ChanceConstrainedSVC(kernel="precomputed", n_landmarks=12).fit(gram, y, groups=groups)
    assert given.certificate_.upper_bound == pytest.approx(few.certificate_.upper_bound, rel=3e-6)
    np.testing.assert_array_equal(given.support_, few.support_)
    exact = ChanceConstrainedSVC(kernel="poly", n_landmarks=12).fit(X, y, groups=groups)
    assert exact.certificate_.verified and "landmarks" not in exact.certificate_.claim
    with pytest.raises(ValueError, match="n_landmarks = 0"):
        ChanceConstrainedSVC(n_landmarks=0).fit(X, y, groups=groups)


@pytest.mark.parametrize("options", [{"kernel": "poly", "gamma": 0.7}, {"kernel": "rbf", "gamma": 0.5, "n_landmarks": 20}])
def test_a_path_gives_the_models_of_separate_fits(machines: Measured, options: dict[str, Any]) -> None:
    X, y, groups = machines
    costs, violations = [3.0, 0.1], [0.2, dict.fromkeys("abcdefgh", 0.6), np.linspace(0.1, 0.9, 8)]
    model = ChanceConstrainedSVC(tol=1e-7, **options)
    models = model.fit_path(X, y, costs=costs, violations=violations, groups=groups)
    assert not hasattr(model, "certificate_")
    for violation, row in zip(violations, models, strict=True):
        for cost, found in zip(costs, row, strict=True):
            alone = ChanceConstrainedSVC(C=cost, violation=violation, tol=1e-7, **options).fit(X, y, groups)
            assert found.certificate_.verified
            assert (found.C, found.groups_) == (cost, alone.groups_)
            assert found.certificate_.problem_digest == alone.certificate_.problem_digest
            assert found.certificate_.upper_bound == pytest.approx(alone.certificate_.upper_bound, rel=2e-7)
            np.testing.assert_allclose(found.decision_function(X), alone.decision_function(X), atol=5e-3)
            np.testing.assert_array_equal(found.row_groups_, alone.row_groups_)


def test_a_path_makes_its_clusters_once_and_its_probabilities_for_every_model(machines: Measured) -> None:
    X, y, _ = machines
    asked = {"kernel": "linear", "random_state": 3, "probability": True, "batches": "clusters"}
    ((found,),) = ChanceConstrainedSVC(**asked).fit_path(X, y, costs=[2.0], violations=[0.3])
    alone = ChanceConstrainedSVC(C=2.0, violation=0.3, **asked).fit(X, y)
    np.testing.assert_array_equal(found.row_groups_, alone.row_groups_)
    np.testing.assert_allclose(found.predict_proba(X), alone.predict_proba(X), atol=1e-6)


def test_a_path_refuses_what_it_cannot_walk(machines: Measured) -> None:
    X, y, groups = machines
    with pytest.raises(ValueError, match=r"costs and violations, but there are 0 and 1"):
        ChanceConstrainedSVC().fit_path(X, y, costs=[], violations=[0.1], groups=groups)
    with pytest.raises(ValueError, match="a path needs solver='worst-points', not 'socp'"):
        ChanceConstrainedSVC(solver="socp").fit_path(X, y, costs=[1.0], violations=[0.1], groups=groups)
    with pytest.raises(ValueError, match=r"C = -1\.0 must be"):
        ChanceConstrainedSVC().fit_path(X, y, costs=[1.0, -1.0], violations=[0.1], groups=groups)
    with pytest.warns(ConvergenceLimitWarning, match=r"fit_path \(C = 9.0, violation = 0.1\)"):
        ChanceConstrainedSVC(tol=1e-12, max_iter=1).fit_path(X, y, costs=[9.0], violations=[0.1], groups=groups)


def test_models_whose_landmarks_were_drawn_are_still_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    y, groups = np.repeat(np.arange(20) % 2, 6), np.repeat(np.arange(20), 6)
    X = rng.normal(size=(120, 2)) + y[:, None]
    for cost in (1.0, 1e-9):
        monkeypatch.setattr(SVMSettings.__init__, "__defaults__", (None, 1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeakModelWarning)
            drawn = ChanceConstrainedSVC(C=cost, n_landmarks=15).fit(X, y, groups=groups)
            monkeypatch.undo()
            chosen = ChanceConstrainedSVC(C=cost, n_landmarks=15).fit(X, y, groups=groups)
        assert drawn.certificate_.problem_digest != chosen.certificate_.problem_digest
        assert verify(drawn, X, y, groups=groups).verified
        assert verify(chosen, X, y, groups=groups).verified
