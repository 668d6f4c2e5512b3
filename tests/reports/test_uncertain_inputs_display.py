"""The picture of uncertain inputs: what it draws is what the model says, for samples and for moments."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from surefoot.chancesvm.estimator.chance_svc import ChanceConstrainedSVC
from surefoot.exceptions import InvalidTableError
from surefoot.reports.displays.uncertain_inputs_display import UncertainInputsDisplay

CENTRES = np.array([[0.0, 0.0], [1.0, 0.3], [-0.6, 0.8], [2.5, 2.2], [3.0, 1.0], [2.2, -1.0]])
CODES = np.repeat(np.arange(6), 12)
X = CENTRES[CODES] + np.random.default_rng(1).normal(size=(72, 2)) * [0.12, 0.22]
Y = np.where(CODES < 3, "new", "cost $")


@pytest.fixture(autouse=True)
def no_screen() -> Any:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


@pytest.mark.parametrize(
    "frame",
    [lambda X: X, lambda X: pd.DataFrame(X, columns=["vibration", "noise"]), lambda X: pl.DataFrame(X, schema=["v", "n"])],
)
@pytest.mark.parametrize(("covariance", "wider"), [("batch", 1.0), ("auto", 13 / 11)])
def test_ellipses_enclose_what_tau_says_and_support_is_that_of_the_model(
    frame: Any, covariance: str, wider: float, tmp_path: Any
) -> None:
    """Twelve readings leave a mean open by a twelfth, and deviations from it are too short by as much."""
    table = frame(X)
    model = ChanceConstrainedSVC(kernel="linear", C=100, violation=0.2, covariance=covariance).fit(table, Y, groups=CODES)
    shown = UncertainInputsDisplay.from_estimator(model, table, grid_resolution=40)
    assert len(shown.ellipses_) == 6
    assert np.flatnonzero(shown.support).tolist() == model.support_groups_
    for at, ellipse in enumerate(shown.ellipses_):
        own = X[at == CODES]
        inverse = np.linalg.inv(np.cov(own.T, bias=True))
        corners = ellipse.get_xy() - own.mean(axis=0)
        np.testing.assert_allclose(np.einsum("ij,jk,ik->i", corners, inverse, corners), wider * (1 - 0.2) / 0.2, rtol=1e-9)
    assert (shown.ax_.get_xlabel(), shown.ax_.get_ylabel()) == tuple(getattr(table, "columns", ["x0", "x1"]))
    shown.figure_.savefig(tmp_path / "inputs.png")


def test_the_boundary_is_where_the_score_is_0() -> None:
    model = ChanceConstrainedSVC(C=100, gamma=0.5).fit(X, Y, groups=CODES)
    shown = UncertainInputsDisplay.from_estimator(model, X)
    for level, segments in zip(shown.boundary_.levels, shown.boundary_.allsegs, strict=True):
        for segment in segments:
            np.testing.assert_allclose(model.decision_function(segment), level, atol=0.02)
    assert shown.response.max() > 0 > shown.response.min()


def test_given_moments_are_drawn_with_their_covariances() -> None:
    spread = np.tile([0.04, 0.09], (6, 1))
    model = ChanceConstrainedSVC(kernel="linear", C=100, violation=0.5).fit_moments(CENTRES, spread, ["a"] * 3 + ["b"] * 3)
    shown = UncertainInputsDisplay.from_estimator(model, CENTRES, covariances=spread, grid_resolution=20)
    corners = (shown.ellipses_[0].get_xy() - CENTRES[0]) / [0.2, 0.3]
    np.testing.assert_allclose(np.linalg.norm(corners, axis=1), 1.0)
    with pytest.raises(ValueError, match="fitted to moments: pass the means as X, and covariances"):
        UncertainInputsDisplay.from_estimator(model, CENTRES)


def test_a_picture_is_drawn_where_it_is_asked_for_and_can_be_drawn_again() -> None:
    pyplot = importlib.import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(1, 2)
    model = ChanceConstrainedSVC(random_state=0, violation=0.6, C=10, batches="clusters").fit(X, Y)
    shown = UncertainInputsDisplay.from_estimator(model, X, ax=axes[0], grid_resolution=20)
    assert shown.ax_ is axes[0] and shown.figure_ is figure
    assert shown.plot(ax=axes[1]).ax_ is axes[1] and len(axes[1].patches) == len(model.groups_)
    assert axes[1].get_legend().get_texts()[0].get_text() == r"cost \$"
    figure.canvas.draw()


def test_tables_that_cannot_be_shown_are_refused() -> None:
    model = ChanceConstrainedSVC(kernel="linear").fit(X, Y, groups=CODES)
    with pytest.raises(InvalidTableError, match="X has 60 rows, but the model was fitted to 72"):
        UncertainInputsDisplay.from_estimator(model, X[:60])
    with pytest.raises(InvalidTableError, match="a picture shows two columns, but X has 3"):
        UncertainInputsDisplay.from_estimator(model, np.ones((72, 3)))


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    load = importlib.import_module

    def refuse(name: str) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return load(name)

    model = ChanceConstrainedSVC(kernel="linear").fit(X, Y, groups=CODES)
    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(ImportError, match="install it, or surefoot with its extra 'plot'"):
        UncertainInputsDisplay.from_estimator(model, X)
