"""Coefficients as they are printed: rounding noise is 0, and a small coefficient of a column of large numbers is none."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest

import surefoot as sf
from surefoot.cli.explain import _text
from surefoot.reports.model_section import model_blocks
from surefoot.reports.shown_coefficients import shown_coefficients
from surefoot.reports.subject import read_subject


def table() -> tuple[pd.DataFrame, np.ndarray]:
    draw = np.random.default_rng(0)
    X = pd.DataFrame({"age": draw.normal(size=60), "cents": 1e15 * draw.normal(size=60), "noise": draw.normal(size=60)})
    X["town"] = np.array(["north", "south", "west"])[np.arange(60) % 3]
    return X, np.where(X["age"] + X["cents"] / 1e15 + draw.logistic(size=60) > 0, "ill", "well")


def with_rest(**settings: Any) -> Any:
    """A model whose third coefficient, and that of level "south", are what a solver leaves of 0."""
    model = copy.copy(sf.RobustLogisticRegression(**settings).fit(*table()))
    model.coef_ = np.array([[1.5, 1.2e-15, 8.4e-31, -3e-20, -0.5]])
    return model


def test_noise_beside_the_largest_effect_is_printed_as_0() -> None:
    model = with_rest(radius=0.02)
    numeric, levels = shown_coefficients(model)
    np.testing.assert_array_equal(numeric, [1.5, 1.2e-15, 0.0])
    np.testing.assert_array_equal(levels, [0.0, 0.0, -0.5])
    assert model.coef_[0, 2] == 8.4e-31
    for text in (_text(model), " ".join(model_blocks(read_subject(model, *table()), ()))):
        assert "1.2e-15" in text and "e-31" not in text and "e-20" not in text


@pytest.mark.parametrize(
    "settings",
    [{"radius": 0.02, "numeric_weights": 0.1}, {"shift": sf.ShiftModel(numeric_certainty=0.9, categorical_certainty=0.9)}],
)
def test_coefficients_are_printed_as_they_are_where_prices_are_no_deviations(settings: Any) -> None:
    assert shown_coefficients(with_rest(**settings))[0][2] == 8.4e-31
