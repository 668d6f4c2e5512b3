"""``sf.verify``: a proof is checked from the rows, and nothing that has changed passes."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import pydoc
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from proven_models import CHANGES, KINDS, Proven, proven_model
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import surefoot as sf
from surefoot.core.certificate import Certificate
from surefoot.sklearn_api.proven_model import _seal, has_changed, standing_certificate


@pytest.fixture(scope="module", params=KINDS)
def proven(request: pytest.FixtureRequest) -> Proven:
    return proven_model(request.param)


def other_rows(rows: Any) -> Any:
    """The same rows with one number changed, or one left out."""
    if isinstance(rows, tuple):
        return (other_rows(rows[0]), rows[1])
    if isinstance(rows, list) and isinstance(rows[0], tuple):
        return [(rows[0][0], rows[0][1] * (1 + 1e-12)), *rows[1:]]
    changed = copy.deepcopy(rows)
    changed[1][0] += 1e-9
    return changed


def test_a_fresh_certificate_says_what_the_stored_one_says(proven: Proven) -> None:
    found = proven.verify()
    stored = proven.model.certificate_
    assert isinstance(found, Certificate) and found is not stored
    names = ("claim", "verified", "upper_bound", "lower_bound", "problem_digest", "model_digest", "tolerance")
    assert {name: getattr(found, name) for name in names} == {name: getattr(stored, name) for name in names}


def test_a_loaded_model_is_verified_with_the_witness_of_its_file(proven: Proven, tmp_path: Path) -> None:
    sf.save(proven.model, tmp_path / "model")
    assert proven.verify(sf.load(tmp_path / "model")).verified == proven.model.certificate_.verified


def test_without_its_witness_a_file_is_smaller_and_says_so(proven: Proven, tmp_path: Path) -> None:
    sf.save(proven.model, tmp_path / "whole")
    sf.save(proven.model, tmp_path / "without", witness=False)
    light = sf.load(tmp_path / "without")
    assert light.certificate_.witness is None and light.outcome_.dual is None
    assert light.certificate_.claim == proven.model.certificate_.claim
    assert has_changed(light) is False
    held = proven.model.certificate_.witness is not None or proven.model.outcome_.dual is not None
    assert ((tmp_path / "without").stat().st_size < (tmp_path / "whole").stat().st_size) == held
    if not held or proven.model.certificate_.lower_bound == 0:
        # Some bounds need no witness: no loss is below 0.
        assert proven.verify(light).verified == proven.model.certificate_.verified
        return
    with pytest.raises(sf.CertificateError, match=r"no witness.*witness=False"):
        proven.verify(light)


def test_other_rows_are_refused_and_named(proven: Proven) -> None:
    with pytest.raises(sf.CertificateError, match="not the rows of the proof"):
        sf.verify(proven.model, other_rows(proven.X), proven.y, **proven.more)


def test_other_labels_are_refused(proven: Proven) -> None:
    if not isinstance(proven.y, np.ndarray):
        pytest.skip("responses are not labels")
    y = proven.y.copy()
    counting = np.flatnonzero(proven.more.get("sample_weight", np.ones(y.size)) > 0)
    first, second = (counting[y[counting] == label][0] for label in np.unique(y))
    y[[first, second]] = y[[second, first]]
    with pytest.raises(sf.CertificateError, match=r"not the rows of the proof"):
        sf.verify(proven.model, proven.X, y, **{name: v for name, v in proven.more.items() if name != "groups"})


@pytest.mark.parametrize(("kind", "change"), [(kind, change) for kind, changes in CHANGES.items() for change in changes])
def test_a_changed_model_is_refused_loaded_or_not(kind: str, change: str, tmp_path: Path) -> None:
    proven = proven_model(kind)
    model = copy.deepcopy(proven.model)
    CHANGES[kind][change](model)
    with pytest.raises(sf.CertificateError, match="the model has changed since it was proven"):
        proven.verify(model)
    assert has_changed(model) and not standing_certificate(model).verified
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            sf.save(model, tmp_path / "changed")
        except sf.ModelFileError:
            return  # the parts contradict each other so much that no file holds them
    assert [warning.category for warning in told] == [sf.ChangedModelWarning]
    assert "has changed since it was proven" in str(told[0].message)
    assert not (tmp_path / "changed").exists() or has_changed(sf.load(tmp_path / "changed"))


@pytest.mark.parametrize("kind", ["robust", "card", "plane", "cost"])
def test_without_seal_and_fingerprint_a_changed_model_is_still_not_verified(kind: str) -> None:
    proven = proven_model(kind)
    name, change = next(iter(CHANGES[kind].items()))
    model = copy.deepcopy(proven.model)
    del model._proof_seal
    model.certificate_ = _without_fingerprint(model.certificate_)
    assert proven.verify(model).verified, name
    change(model)
    with pytest.raises(sf.CertificateError, match=r"predates model fingerprints|has changed since"):
        proven.verify(model)


def _without_fingerprint(proof: Certificate) -> Certificate:
    return Certificate(**{**vars(proof), "model_digest": ""})


def test_a_swapped_certificate_is_noticed() -> None:
    first, second = proven_model("robust"), proven_model("robust, cross-validated")
    model = copy.deepcopy(first.model)
    model.certificate_ = second.model.certificate_
    assert has_changed(model)
    with pytest.raises(sf.CertificateError, match="has changed"):
        first.verify(model)


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Certificate) if field.name != "witness"])
def test_whatever_a_certificate_says_is_part_of_the_seal(field: str) -> None:
    model = copy.deepcopy(proven_model("robust").model)
    said = getattr(model.certificate_, field)
    other = not said if isinstance(said, bool) else said + ("0" if isinstance(said, str) else 1e-9)
    model.certificate_ = dataclasses.replace(model.certificate_, **{field: other})
    assert has_changed(model)
    assert not standing_certificate(model).verified


def test_copies_and_pickles_are_the_same_model(proven: Proven) -> None:
    for model in (copy.copy(proven.model), copy.deepcopy(proven.model), pickle.loads(pickle.dumps(proven.model))):
        assert has_changed(model) is False


def test_a_pipeline_is_verified_by_its_last_step() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(20, 80, 90), "channel": rng.choice(["web", "shop"], 90)})
    y = (table.age + rng.normal(0, 10, 90) > 50).to_numpy()
    model = make_pipeline(sf.ThresholdBinarizer(max_thresholds=2), sf.RiskScoreClassifier(max_features=2)).fit(table, y)
    assert sf.verify(model, table, y).verified
    model[-1].intercept_ += 1
    with pytest.raises(sf.CertificateError, match="has changed"):
        sf.verify(model, table, y)


def test_rows_in_batches_are_verified_from_batches_or_from_one_table(tmp_path: Path) -> None:
    proven = proven_model("robust")
    batches = [(proven.X[:50], proven.y[:50]), (proven.X[50:], proven.y[50:])]
    model = sf.RobustLogisticRegression(radius=0.05).fit(batches)
    assert sf.verify(model, batches).verified
    assert sf.verify(model, proven.X, proven.y).verified
    with pytest.raises(sf.CertificateError, match="not the rows of the proof"):
        sf.verify(model, [(proven.X[:50], proven.y[:50]), (1.01 * proven.X[50:], proven.y[50:])])
    with pytest.raises(sf.CertificateError, match="not the rows of the proof"):
        sf.verify(model, proven.X[:-1], proven.y[:-1])
    with pytest.raises(sf.CertificateError, match="not the rows of the proof"):
        sf.verify(model, other_rows(proven.X), proven.y)
    sf.save(model, tmp_path / "model")
    loaded = sf.load(tmp_path / "model")
    assert loaded.outcome_.dual is None
    assert sf.verify(loaded, batches).verified
    # The file has no plan, but it knows where the rows were cut.
    assert loaded.part_rows_ == (50, len(proven.y) - 50)
    assert sf.verify(loaded, proven.X, proven.y).verified
    with pytest.raises(sf.CertificateError, match="not the rows of the proof"):
        sf.verify(loaded, other_rows(proven.X), proven.y)
    with pytest.raises(sf.CertificateError, match="not the rows of the proof"):
        sf.verify(loaded, [(proven.X[:50], proven.y[:50]), (1.01 * proven.X[50:], proven.y[50:])])
    with pytest.raises(sf.CertificateError, match="or other batches of them"):
        sf.verify(loaded, [(proven.X[:60], proven.y[:60]), (proven.X[60:], proven.y[60:])])
    again = sf.load(tmp_path / "model").fit(proven.X, proven.y)
    assert again.part_rows_ is None and sf.verify(again, proven.X, proven.y).verified
    model.coef_ *= 3
    with pytest.raises(sf.CertificateError, match="has changed"):
        sf.verify(model, batches)


def test_rows_on_dask_are_verified_where_they_are(tmp_path: Path) -> None:
    frames = pytest.importorskip("dask.dataframe")
    proven = proven_model("robust")
    table = pd.DataFrame(proven.X, columns=["a", "b", "c"]).assign(y=proven.y)
    parts = frames.from_pandas(table, npartitions=3)
    model = sf.RobustLogisticRegression(radius=0.05).fit(parts, "y")
    assert sf.verify(model, parts, "y").verified
    assert sf.verify(model, table[["a", "b", "c"]], table.y).verified
    with pytest.raises(sf.CertificateError, match="not the rows of the proof"):
        sf.verify(model, frames.from_pandas(table.assign(a=table.a + 1.0), npartitions=3), "y")
    sf.save(model, tmp_path / "model")
    loaded = sf.load(tmp_path / "model")
    assert sf.verify(loaded, parts, "y").verified
    assert sf.verify(loaded, table[["a", "b", "c"]], table.y).verified


def test_groups_of_the_fit_are_known_to_the_model() -> None:
    proven = proven_model("plane of groups")
    assert sf.verify(proven.model, proven.X, proven.y).verified
    with pytest.raises(sf.CertificateError, match="not the rows of the proof"):
        sf.verify(proven.model, proven.X, proven.y, groups=np.repeat(np.arange(60), 2))
    with pytest.raises(ValueError, match="groups are for ChanceConstrainedSVC"):
        sf.verify(
            proven_model("robust").model, proven_model("robust").X, proven_model("robust").y, groups=proven_model("robust").y
        )


def test_every_model_of_a_path_is_verified() -> None:
    proven = proven_model("plane")
    search = sf.ChanceConstrainedSVC(kernel="linear", batches="clusters", random_state=0)
    for row in search.fit_path(proven.X, proven.y, costs=[0.1, 1.0], violations=[0.2, 0.5]):
        assert all(sf.verify(model, proven.X, proven.y).verified for model in row)


def test_a_calibrated_shift_is_part_of_the_model_and_not_calibrated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    proven = proven_model("robust")
    model = sf.RobustLogisticRegression(shift=sf.ShiftModel(numeric_certainty=0.8, numeric_interval="0.4 std"))
    model.fit(proven.X, proven.y)
    monkeypatch.setattr(sf.ShiftModel, "calibrate", lambda *_: pytest.fail("calibrated again"))
    assert sf.verify(model, proven.X, proven.y).verified


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_of_every_library_are_read_as_in_the_fit(library: str, tmp_path: Path) -> None:
    pytest.importorskip(library)
    rng = np.random.default_rng(0)
    columns = {"age": rng.integers(20, 80, 90), "channel": rng.choice(["web", "shop"], 90).tolist()}
    y = (columns["age"] + rng.normal(0, 10, 90) > 50).tolist()
    if library == "pyarrow":
        import pyarrow

        table = pyarrow.table({name: list(values) for name, values in columns.items()})
    else:
        table = __import__(library).DataFrame(columns)
    model = sf.RobustLogisticRegression(radius=0.05).fit(table, y)
    sf.save(model, tmp_path / "model")
    assert sf.verify(sf.load(tmp_path / "model"), table, y).verified
    assert sf.verify(model, pd.DataFrame(columns), y).verified


def test_every_parameter_is_part_of_the_seal_and_named(proven: Proven) -> None:
    for name, given in proven.model.get_params(deep=False).items():
        model = copy.deepcopy(proven.model).set_params(**{name: ["another value"]})
        if name in ("verbose", "n_jobs", "checkpoint"):
            assert has_changed(model) is False
            continue
        assert has_changed(model) and not standing_certificate(model).verified
        with pytest.raises(sf.CertificateError, match=f"parameter {name} is not that of the fit"):
            proven.verify(model)
        assert has_changed(model.set_params(**{name: given})) is False


OTHER_SETTINGS: dict[str, dict[str, Any]] = {
    "robust": {"radius": 0.5, "norm": "l2", "label_weight": 0.1},
    "robust, cross-validated": {"radii": [0.1]},
    "card": {"max_features": 1},
    "plane": {"C": 3.0},
    "noisy cost": {"kappa": 1.0},
}


@pytest.mark.parametrize("kind", OTHER_SETTINGS)
def test_a_parameter_that_was_set_after_the_fit_is_noticed_in_files_too(kind: str, tmp_path: Path) -> None:
    proven, other = proven_model(kind), OTHER_SETTINGS[kind]
    model = copy.deepcopy(proven.model).set_params(**other)
    with pytest.warns(sf.ChangedModelWarning, match=", ".join(sorted(other))):
        sf.save(model, tmp_path / "changed")
    with pytest.raises(sf.CertificateError, match=", ".join(sorted(other))):
        proven.verify(sf.load(tmp_path / "changed"))


def test_a_fit_that_closed_no_gap_is_not_verified_by_asking_for_less() -> None:
    proven = proven_model("robust")
    with pytest.warns(sf.ConvergenceLimitWarning):
        model = sf.RobustLogisticRegression(radius=0.05, max_iter=1, solver="lp-admm").fit(proven.X, proven.y)
    assert not sf.verify(model, proven.X, proven.y).verified
    model.tol = 0.9
    with pytest.raises(sf.CertificateError, match="parameter tol is not that of the fit"):
        sf.verify(model, proven.X, proven.y)


@pytest.mark.parametrize("kind", ["robust", "card", "plane", "cost"])
def test_seals_from_before_parameters_were_part_of_them_still_hold(kind: str, tmp_path: Path) -> None:
    proven = proven_model(kind)
    model = copy.deepcopy(proven.model)
    del model._parameter_marks
    model._proof_seal = _seal(model)
    assert has_changed(model) is False
    sf.save(model, tmp_path / "earlier")
    assert proven.verify(sf.load(tmp_path / "earlier")).verified


def test_a_seal_without_the_parameters_that_it_was_made_with_is_broken() -> None:
    model = copy.deepcopy(proven_model("robust").model)
    del model._parameter_marks
    assert has_changed(model)


@pytest.mark.parametrize("kind", ["robust", "card", "plane", "cost"])
def test_a_seal_that_was_taken_off_voids_the_proof(kind: str, tmp_path: Path) -> None:
    """Otherwise a file whose author leaves out one entry would be believed in everything that is printed without rows."""
    proven = proven_model(kind)
    model = copy.deepcopy(proven.model)
    del model._proof_seal
    assert has_changed(model)
    assert not standing_certificate(model).verified
    with pytest.raises(sf.CertificateError, match="the seal that a fit leaves is missing"):
        proven.verify(model)
    with pytest.warns(sf.ChangedModelWarning, match="the seal that a fit leaves is missing"):
        sf.save(model, tmp_path / "open")
    assert has_changed(sf.load(tmp_path / "open"))


def test_equal_parameters_are_the_same_whatever_they_are_written_in() -> None:
    proven = proven_model("robust, mixed columns and weights")
    for same in ({"label_weight": 1}, {"label_weight": np.float64(1.0)}, {"categorical_features": np.str_("from_dtype")}):
        assert has_changed(copy.deepcopy(proven.model).set_params(**same)) is False


def test_what_has_no_certificate_is_refused() -> None:
    proven = proven_model("noisy cost")
    online = sf.inverse.InverseOptimizer(proven.model.forward, kappa=0.1, prior="nonnegative")
    online.partial_fit(proven.X, proven.y)
    with pytest.raises(sf.CertificateError, match="partial_fit"):
        sf.verify(online, proven.X, proven.y)
    with pytest.raises(TypeError, match="ThresholdBinarizer"):
        sf.verify(sf.ThresholdBinarizer().fit(proven_model("robust").X), proven_model("robust").X)
    with pytest.raises(Exception, match="not fitted"):
        sf.verify(sf.RobustLogisticRegression(), proven_model("robust").X, proven_model("robust").y)


def test_a_fit_that_closed_no_gap_is_honestly_not_verified() -> None:
    proven = proven_model("card")
    with pytest.warns(sf.ConvergenceLimitWarning):
        model = sf.RiskScoreClassifier(max_features=2, solver="rd").fit(proven.X, proven.y)
    assert not sf.verify(model, proven.X, proven.y).verified


def test_arithmetic_is_double_or_ball(monkeypatch: pytest.MonkeyPatch) -> None:
    proven = proven_model("robust")
    with pytest.raises(ValueError, match="'double' or 'ball'"):
        proven.verify(arithmetic="decimal")
    monkeypatch.setitem(sys.modules, "surefoot.core.flint_enclosure", None)
    with pytest.raises(ImportError, match=r"surefoot\[proof\]"):
        proven.verify(arithmetic="ball")


@pytest.mark.parametrize("kind", ["robust", "card", "plane of moments", "cost"])
def test_balls_agree_with_doubles(kind: str) -> None:
    pytest.importorskip("flint")
    found, double = proven_model(kind).verify(arithmetic="ball"), proven_model(kind).verify()
    assert found.verified and found.problem_digest == double.problem_digest and found.model_digest == double.model_digest
    assert found.lower_bound <= double.upper_bound and double.lower_bound <= found.upper_bound


def test_the_function_and_the_program_go_by_one_name() -> None:
    import surefoot.verify as module

    assert callable(sf.verify) and callable(module)
    assert list(inspect.signature(sf.verify).parameters) == ["model", "X", "y", "sample_weight", "groups", "arithmetic"]
    told = subprocess.run(
        [sys.executable, "-m", "surefoot.verify", "--help"], capture_output=True, text=True, check=False, timeout=120
    )
    assert told.returncode == 0 and "proof file" in told.stdout
    proven = proven_model("robust")
    assert module(proven.model, proven.X, proven.y).verified


def test_help_shows_the_parameters() -> None:
    shown = pydoc.plain(pydoc.render_doc(sf.verify))
    assert "verify(" in shown and "sample_weight" in shown and "arithmetic" in shown


def test_a_search_is_verified_by_the_model_that_it_fitted_to_all_rows(tmp_path: Path) -> None:
    proven = proven_model("robust")
    search = GridSearchCV(sf.RobustLogisticRegression(), {"radius": [0.01, 0.1]}, cv=3).fit(proven.X, proven.y)
    assert sf.verify(search, proven.X, proven.y).verified
    sf.export_proof(search, proven.X, proven.y, tmp_path / "proof.npz")
    sf.report(search, proven.X, proven.y, tmp_path / "report.html", n_sets=0)
    with pytest.raises(sf.ModelFileError, match="Save its best_estimator_"):
        sf.save(search, tmp_path / "search")
    with pytest.raises(TypeError, match="best_estimator_"):
        sf.verify(clone(search), proven.X, proven.y)
    calibrated = CalibratedClassifierCV(sf.RobustLogisticRegression(), cv=2).fit(proven.X, proven.y)
    with pytest.raises(TypeError, match=r"calibrated_classifiers_\[k\]"):
        sf.verify(calibrated, proven.X, proven.y)


def test_a_cost_needs_responses() -> None:
    proven = proven_model("cost")
    with pytest.raises(ValueError, match="there are no responses"):
        sf.verify(proven.model, proven.X)


def test_weights_count_up_to_a_power_of_two() -> None:
    proven = proven_model("robust, mixed columns and weights")
    assert sf.verify(proven.model, proven.X, proven.y, sample_weight=4 * proven.more["sample_weight"]).verified


@pytest.mark.parametrize("kind", ["robust", "card", "plane"])
def test_what_is_derived_from_a_schema_cannot_be_replaced(kind: str) -> None:
    proven = proven_model(kind)
    model = copy.deepcopy(proven.model)
    before = model.decision_function(proven.X)
    positions = model.schema_.numeric_positions
    vars(model.schema_)["numeric_positions"] = positions[::-1]
    vars(model.schema_)["_layout"] = tuple(part[::-1] for part in model.schema_._layout)
    assert model.schema_.numeric_positions == positions
    np.testing.assert_array_equal(model.decision_function(proven.X), before)


def test_a_mask_over_a_number_counts_as_a_change() -> None:
    model = copy.deepcopy(proven_model("card").model)
    model.coef_ = np.ma.masked_array(model.coef_, mask=model.coef_ == model.coef_.max())
    assert has_changed(model)
