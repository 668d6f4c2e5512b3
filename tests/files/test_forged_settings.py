"""Model files whose settings are not those of their proof, sealed anew: ``verify`` refuses them and names the setting."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from forged_files import forged
from proven_models import proven_model

import surefoot as sf


def resealed(kind: str, change: Callable[[Any], Any]) -> Any:
    """What somebody makes of a model who knows how seals are made."""
    model = copy.deepcopy(proven_model(kind).model)
    change(model)
    model._seal_proof()
    return model


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"radius": 5.0}, "radius 5.0, and 0.05 was proven"),
        ({"norm": "l2"}, "norm is 'l2', and 'l1' was proven"),
        ({"label_weight": 1.0}, "label weight 1.0, and inf was proven"),
        ({"numeric_weights": 7.0}, "price 7.0, and"),
        ({"numeric_weights": {0: np.inf}}, "price inf, and"),
        ({"fit_intercept": False}, "not the rows of the proof"),
        ({"radius": "wide"}, "radius = 'wide'"),
    ],
)
def test_parameters_that_contradict_the_proof_are_refused(parameters: dict[str, Any], told: str) -> None:
    model = resealed("robust", lambda model: model.set_params(**parameters))
    with pytest.raises(sf.CertificateError, match=told):
        proven_model("robust").verify(model)


def test_prices_that_contradict_the_parameters_are_refused() -> None:
    proven = proven_model("robust")
    X, y = proven.X, proven.y
    # An honest fit at other prices, told as one at the usual ones.
    model = sf.RobustLogisticRegression(radius=0.05, numeric_weights=2.0).fit(X, y)
    assert sf.verify(model, X, y).verified
    model.set_params(numeric_weights=None)
    model._seal_proof()
    with pytest.raises(sf.CertificateError, match=r"price .*, and 2.0 was proven"):
        sf.verify(model, X, y)
    # Other rows are still told as such.
    with pytest.raises(sf.CertificateError, match="not the rows of the proof"):
        sf.verify(model, 2 * X, y)


def test_the_price_of_a_category_is_that_of_the_parameters() -> None:
    X = [[value, "ab"[value % 2]] for value in range(12)]
    y = [0, 1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 1]
    model = sf.RobustLogisticRegression(categorical_weights={1: 0.5}).fit(X, y)
    assert sf.verify(model, X, y).verified
    model.set_params(categorical_weights=None)
    model._seal_proof()
    with pytest.raises(sf.CertificateError, match=r"price 1.0, and 0.5 was proven"):
        sf.verify(model, X, y)


def test_a_label_weight_that_is_stated_twice_is_the_same_twice() -> None:
    model = resealed("robust", lambda model: setattr(model, "label_weight_", 3.0))
    with pytest.raises(sf.CertificateError, match=r"label_weight_ is 3.0, and inf was proven"):
        proven_model("robust").verify(model)


def test_a_chosen_radius_is_one_of_the_grid() -> None:
    proven = proven_model("robust")
    model = sf.RobustLogisticRegressionCV(radii=[0.01, 0.1], cv=3).fit(proven.X, proven.y)
    assert proven.verify(model).verified
    model.set_params(radii=[0.5, 1.0])
    model._seal_proof()
    with pytest.raises(sf.CertificateError, match=r"radius 0.5, 1.0, and 0.\d+ was proven"):
        proven.verify(model)


@pytest.mark.parametrize("batch", [40, 120])
def test_parameters_of_a_fit_from_batches_are_compared_too(batch: int) -> None:
    proven = proven_model("robust")
    parts = [(proven.X[at : at + batch], proven.y[at : at + batch]) for at in range(0, 120, batch)]
    model = sf.RobustLogisticRegression(radius=0.05).fit(parts)
    assert sf.verify(model, parts).verified
    model.set_params(radius=5.0)
    model._seal_proof()
    with pytest.raises(sf.CertificateError, match=r"radius 5.0, and 0.05 was proven"):
        sf.verify(model, parts)
    with pytest.raises(sf.CertificateError, match=r"radius 5.0, and 0.05 was proven"):
        sf.verify(model, proven.X, proven.y)


@pytest.mark.parametrize("rows", [-200, 0, 119, 201])
def test_the_rows_that_a_card_speaks_of_are_those_of_the_proof(rows: int) -> None:
    model = resealed("card", lambda model: setattr(model, "_n_rows", rows))
    with pytest.raises(sf.CertificateError, match=f"speaks of {rows} rows, and"):
        proven_model("card").verify(model)


@pytest.mark.parametrize("rows", [-200, 0, 1])
def test_a_card_of_a_file_speaks_of_at_least_two_rows(rows: int, tmp_path: Any) -> None:
    path = forged(proven_model("card").model, tmp_path / "card", lambda model: model[2].update(_n_rows=rows))
    with pytest.raises(sf.ModelFileError, match="fewer than two rows"):
        sf.load(path)


def test_the_values_that_a_card_speaks_of_are_those_of_the_proof() -> None:
    def change(model: Any) -> None:
        name = next(iter(model._ranges))
        model._ranges = {**model._ranges, name: ("real", -5.0, 17.0)}

    with pytest.raises(sf.CertificateError, match=r"its card says .*17\.0"):
        proven_model("card").verify(resealed("card", change))


@pytest.mark.parametrize(("kind", "parameter"), [("robust", "tol"), ("plane", "tol"), ("card", "gap"), ("cost", "tol")])
@pytest.mark.parametrize("gap", [1.0, 1e308])
def test_a_file_that_asks_for_less_than_nothing_is_not_verified(kind: str, parameter: str, gap: float) -> None:
    model = resealed(kind, lambda model: model.set_params(**{parameter: gap}))
    model.certificate_ = replace(model.certificate_, tolerance=gap)
    model._seal_proof()
    with pytest.raises(sf.CertificateError, match="below 1"):
        proven_model(kind).verify(model)
