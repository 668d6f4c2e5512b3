"""Models come back from a file as they went into it, and files are either whole or not there."""

from __future__ import annotations

import dataclasses
import errno
import os
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, GroupKFold, LeaveOneGroupOut, StratifiedGroupKFold
from sklearn.pipeline import Pipeline

import surefoot as sf

KINDS = (
    "robust",
    "robust without names",
    "robust from batches",
    "path",
    "card",
    "near cards",
    "rounded card",
    "linear svc",
    "rbf svc",
    "poly svc",
    "precomputed svc",
    "moments svc",
    "binarizer",
    "card of a table",
    "scaled svc",
    "incenter",
    "ellipsoidal cost",
    "circumcenter",
    "online cost",
)


def require_same(one: Any, other: Any, place: str) -> None:
    """Same types and same bits, all the way down."""
    assert type(one) is type(other), place
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), place
        if one.dtype == object:
            require_same(one.tolist(), other.tolist(), place)
        else:
            assert one.tobytes() == other.tobytes(), place
    elif dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            require_same(getattr(one, field.name), getattr(other, field.name), f"{place}.{field.name}")
    elif isinstance(one, dict):
        require_same(list(one), list(other), f"keys of {place}")
        for key in one:
            require_same(one[key], other[key], f"{place}[{key!r}]")
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other), place
        for at, (left, right) in enumerate(zip(one, other, strict=True)):
            require_same(left, right, f"{place}[{at}]")
    elif hasattr(one, "get_params") or hasattr(one, "get_n_splits") or isinstance(one, sf.inverse.forward.ForwardProblem):
        require_same(dict(sorted(vars(one).items())), dict(sorted(vars(other).items())), place)
    else:
        assert repr(one) == repr(other), place


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_comes_back_bit_for_bit(kind: str, fitted: Any, tmp_path: Path) -> None:
    assert set(KINDS) == set(fitted)
    model, rows = fitted[kind]
    sf.save(model, tmp_path / "model")
    again = sf.load(tmp_path / "model")
    parts = [("model", model, again)]
    if isinstance(model, Pipeline):
        parts = [(name, step, other) for (name, step), (_, other) in zip(model.steps, again.steps, strict=True)]
    for name, one, other in parts:
        require_same(one.get_params(), other.get_params(), name)
        mine, its = dict(sorted(vars(one).items())), dict(sorted(vars(other).items()))
        if kind == "robust from batches":  # the plan of a fit from batches exists in parts only
            mine["outcome_"] = dataclasses.replace(mine["outcome_"], dual=None)
        mine.pop("_online", None)  # the steps of a stream are not kept, only where they led
        require_same(mine, its, name)
    for method in ("decision_function", "predict", "predict_proba", "transform"):
        if hasattr(model, method):
            require_same(np.asarray(getattr(model, method)(rows)), np.asarray(getattr(again, method)(rows)), method)


def test_a_model_of_numbers_alone_keeps_its_arrays_without_columns(tmp_path: Path) -> None:
    x = np.linspace(0, 1, 500)[:, None]
    model = sf.RobustLogisticRegression().fit(x, (np.arange(500) * 7) % 10 > 4)
    assert model.certificate_.witness.moved.shape[1] == 0
    sf.save(model, tmp_path / "model")
    assert sf.load(tmp_path / "model").certificate_.witness.moved.shape == model.certificate_.witness.moved.shape


def test_equal_models_give_equal_files(robust: Any, tmp_path: Path) -> None:
    sf.save(robust, tmp_path / "one")
    sf.save(sf.load(tmp_path / "one"), tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_what_a_loaded_model_does_beside_predicting(fitted: Any, people: Any, tmp_path: Path) -> None:
    table, y = people
    for kind in ("robust", "card", "rbf svc", "path"):
        sf.save(fitted[kind].model, tmp_path / kind)
    robust, card, svc, path = (sf.load(tmp_path / kind) for kind in ("robust", "card", "rbf svc", "path"))
    assert robust.worst_case(table, y).expected_loss == fitted["robust"].model.worst_case(table, y).expected_loss
    assert robust.coefficients().equals(fitted["robust"].model.coefficients())
    assert str(card.score_card()) == str(fitted["card"].model.score_card())
    assert svc.inputs().equals(fitted["rbf svc"].model.inputs())
    assert path.path_.table.equals(fitted["path"].model.path_.table)
    assert robust.fit(table, y).certificate_.verified  # parameters came back as parameters


def test_a_model_before_its_fit_is_saved_as_such(tmp_path: Path) -> None:
    sf.save(sf.RobustLogisticRegression(radius=0.25), tmp_path / "model")
    again = sf.load(tmp_path / "model")
    assert again.radius == 0.25
    assert not hasattr(again, "coef_")


@pytest.mark.parametrize("cv", [LeaveOneGroupOut(), GroupKFold(2), StratifiedGroupKFold(2)])
@pytest.mark.filterwarnings("ignore::surefoot.exceptions.GridEdgeWarning")
def test_a_choice_over_sites_comes_back_with_their_names(cv: Any, people: Any, tmp_path: Path) -> None:
    table, y = people
    shift = sf.ShiftModel(0.8, None, 0.9, label_certainty=0.9)
    search = sf.RobustLogisticRegressionCV(
        radii=[0.01, 0.1], shift=shift, certainty_scales=[1.0, 2.0], select="one-se", cv=cv, missing_numeric="median"
    )
    model = search.fit(table, y, groups=np.array(["north", "south", "west"])[np.arange(len(table)) % 3])
    sf.save(model, tmp_path / "model")
    again = sf.load(tmp_path / "model")
    assert type(again.cv) is type(cv) and vars(again.cv) == vars(cv)
    assert again.path_.environments == ("north", "south", "west")
    assert again.path_.table.equals(model.path_.table)
    assert again.path_.best.radius == again.radius_ == model.radius_
    assert again.certainty_scale_ == model.certainty_scale_
    assert sf.verify(again, table, y).verified


def test_a_checkpoint_of_this_machine_stays_here(tmp_path: Path) -> None:
    sf.save(sf.RiskScoreClassifier(checkpoint=tmp_path / "search.npz"), tmp_path / "model")
    assert sf.load(tmp_path / "model").checkpoint is None


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (sf.ChanceConstrainedSVC(kernel=lambda one, other: one @ other.T), "kernel is the function .* cannot be saved"),
        (sf.RobustLogisticRegressionCV(scoring=lambda model, X, y: 0.0), "scoring is the function"),
        (
            sf.RobustLogisticRegression(shift=sf.ShiftModel(0.8, noise=lambda generator, size: generator.random(size))),
            r"shift\.noise is the function",
        ),
        (sf.ChanceConstrainedSVC(random_state=np.random.RandomState(0)), "random_state is RandomState.* does not hold"),
        (sf.RobustLogisticRegression(numeric_weights=np.ones(2, dtype=np.longdouble)), "numeric_weights is an array of type"),
        (sf.RobustLogisticRegression(max_iter=10**30), "max_iter is a whole number of more than 64 bits"),
        (GridSearchCV(sf.RobustLogisticRegression(), {}), "type GridSearchCV, which a model file does not hold"),
        ([1, 2, 3], "is no estimator"),
        (
            sf.inverse.InverseOptimizer(sf.inverse.forward.CallableProblem(lambda theta, signal: theta, n_unknowns=2)),
            "forward is a CallableProblem, a forward problem of your own program",
        ),
        (
            sf.inverse.InverseOptimizer(sf.inverse.forward.QuadraticProgram(inner=lambda context, z: z)),
            r"forward\.inner is the function",
        ),
        (
            sf.inverse.InverseOptimizer(sf.inverse.forward.Knapsack(), features=lambda signal, x: x),
            "features is the function",
        ),
    ],
)
def test_what_cannot_be_saved_is_named_and_leaves_no_file(model: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(sf.ModelFileError, match=message):
        sf.save(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_feature_map_cannot_be_saved(fitted: Any, tmp_path: Path) -> None:
    rows = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = sf.ChanceConstrainedSVC(kernel="linear", C=10.0)
    model.fit_moments(rows, np.full((4, 1), 0.01), [0, 0, 1, 1], feature_map=lambda table: table)
    with pytest.raises(sf.ModelFileError, match="_feature_map is the function"):
        sf.save(model, tmp_path / "model")


def test_parameters_that_contain_themselves_are_refused(tmp_path: Path) -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(sf.ModelFileError, match="contains itself"):
        sf.save(sf.RobustLogisticRegression(categorical_features=endless), tmp_path / "model")


def test_a_file_is_replaced_only_on_request(robust: Any, tmp_path: Path) -> None:
    place = tmp_path / "model"
    place.write_text("precious")
    with pytest.raises(FileExistsError, match="exists already"):
        sf.save(robust, place)
    assert place.read_text() == "precious"
    sf.save(robust, place, overwrite=True)
    assert sf.load(place).radius_ == robust.radius_


def test_a_full_disk_costs_neither_the_old_file_nor_leaves_half_a_new_one(
    robust: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "model"
    place.write_text("precious")

    def no_space(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space left"):
        sf.save(robust, place, overwrite=True)
    assert place.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [place]


def test_places_that_no_file_can_have_are_named(robust: Any, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        sf.save(robust, tmp_path / "nowhere" / "model")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        sf.save(robust, tmp_path)
    with pytest.raises(FileNotFoundError):
        sf.load(tmp_path / "absent")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_without_permission_is_an_error_of_the_system(robust: Any, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            sf.save(robust, tmp_path / "model")
    finally:
        tmp_path.chmod(0o700)


def test_a_saved_file_has_the_rights_of_any_file(robust: Any, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    sf.save(robust, tmp_path / "model")
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_file_that_came_into_being_meanwhile_is_left_alone(
    robust: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "model"
    synced = os.fsync

    def meanwhile(handle: int) -> None:
        place.write_text("precious")
        synced(handle)

    monkeypatch.setattr(os, "fsync", meanwhile)
    with pytest.raises(FileExistsError, match="exists already"):
        sf.save(robust, place)
    assert place.read_text() == "precious"


@pytest.mark.parametrize("approach", ["suboptimality", "feasibility", "cutting-plane", "predictability"])
def test_costs_of_every_approach_come_back_with_their_proof(approach: str, tmp_path: Path) -> None:
    choices = [np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]), np.array([[1.0, 1.0], [0.0, 3.0]])]
    model = sf.inverse.InverseOptimizer(sf.inverse.forward.FiniteChoice(), approach=approach, kappa=0.1).fit(choices, [0, 0])
    sf.save(model, tmp_path / "model")
    again = sf.load(tmp_path / "model")
    require_same(vars(model.certificate_), vars(again.certificate_), "certificate_")
    require_same(vars(model.outcome_), vars(again.outcome_), "outcome_")
    require_same(model.cost_, again.cost_, "cost_")


def test_a_model_whose_parts_contradict_each_other_is_not_saved_and_that_is_what_is_said(tmp_path: Path) -> None:
    model = sf.RiskScoreClassifier(max_features=1).fit([[0], [1], [1], [0]] * 5, [0, 1, 1, 0] * 4 + [0, 1, 0, 1])
    model.coef_ = model.coef_ + 1
    with pytest.raises(sf.ModelFileError, match="the model cannot be saved") as error:
        sf.save(model, tmp_path / "card")
    assert ".part" not in str(error.value) and not (tmp_path / "card").exists()


def test_arrays_fit_where_their_type_is_an_alias_of_its_own() -> None:
    """NumPy 2.5 spells ``NDArray`` so, and Python 3.11 cannot: the alias is played here."""
    from typing import TypeVar

    from surefoot.files.records import fits

    scalar = TypeVar("scalar", bound=np.generic)

    class Alias:
        __value__ = np.ndarray[tuple[Any, ...], np.dtype[scalar]]

    hint = types.GenericAlias(Alias, (np.int64,))
    assert fits(np.arange(3), hint) and not fits(np.array(["a"]), hint) and not fits([0, 1], hint)
