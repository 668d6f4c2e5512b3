"""Levels that no row holds can be told: models know them, and worst cases are those of an exact reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from problem_bank import draw_problem
from reference import worst_case as reference
from reference.enumerated_model import solve_enumerated

import surefoot as sf
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.estimator.certified_outcome import certified
from surefoot.robust.estimator.unseen_levels import level_weights, with_unseen_levels
from surefoot.robust.sqp.sqp import SQP

LEVELS = ["amber", "blue", "green", "red"]


def colours(n: int = 200) -> tuple[list[str], np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    colour, x = draw.choice(["blue", "green"], size=n), draw.normal(size=n)
    return colour.tolist(), x, (x + (colour == "green") + draw.logistic(size=n) > 0).astype(int)


def as_library(name: str) -> tuple[Any, Any]:
    """The table in some library, and how to say its levels."""
    colour, x, _ = colours()
    if name == "pandas":
        pd = pytest.importorskip("pandas")
        return pd.DataFrame({"colour": pd.Categorical(colour, LEVELS), "x": x}), "declared"
    if name == "polars":
        pl = pytest.importorskip("polars")
        return pl.DataFrame({"colour": pl.Series(colour, dtype=pl.Enum(LEVELS)), "x": x}), {"colour": "declared"}
    if name == "pyarrow":
        pa = pytest.importorskip("pyarrow")
        return pa.table({"colour": colour, "x": x}), {"colour": LEVELS}
    return [list(row) for row in zip(colour, x.tolist(), strict=True)], {0: LEVELS}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "rows"])
def test_told_levels_are_known_in_every_library(library: str, tmp_path: Path) -> None:
    X, levels = as_library(library)
    y = colours()[2]
    model = sf.RobustLogisticRegression(radius=0.05, category_levels=levels).fit(X, y)
    without = sf.RobustLogisticRegression(radius=0.05).fit(X, y)
    assert list(model.schema_.columns[0].levels) == LEVELS
    assert list(without.schema_.columns[0].levels) == ["blue", "green"]
    # No worst case is changed by them, and they have the mean coefficient of the rows; amber, the reference, has 0.
    assert model.certificate_.verified and sf.verify(model, X, y).verified
    assert model.certificate_.upper_bound == pytest.approx(without.certificate_.upper_bound, rel=1e-8)
    blue, green, red, _ = model.coef_[0]
    share = float(np.mean([level == "green" for level in colours()[0]]))
    assert red == 0 and (1 - share) * blue + share * green == pytest.approx(0, abs=1e-12)
    assert green - blue == pytest.approx(without.coef_[0, 0], rel=1e-6)
    sf.save(model, tmp_path / "model.surefoot")
    again = sf.load(tmp_path / "model.surefoot")
    assert again.schema_ == model.schema_ and again.category_levels == levels
    if library == "rows":
        assert again.predict_proba([["red", 0.5]])[0, 1] == again.predict_proba([["amber", 0.5]])[0, 1]
        with pytest.raises(sf.InvalidTableError, match="'red'"):
            without.predict([["red", 0.5]])


def test_batches_and_rows_without_weight_know_them_too() -> None:
    X, levels = as_library("rows")
    y, array = colours()[2], np.array(X, dtype=object)
    whole = sf.RobustLogisticRegression(radius=0.05, category_levels=levels).fit(X, y)
    batches = sf.RobustLogisticRegression(radius=0.05, category_levels=levels).fit([(array[:70], y[:70]), (array[70:], y[70:])])
    np.testing.assert_allclose(batches.coef_, whole.coef_, atol=1e-8)
    assert batches.certificate_.verified
    extra = [*X, ["red", 3.0], ["blue", 1.0]]
    weighted = sf.RobustLogisticRegression(radius=0.05, category_levels=levels).fit(
        extra, [*y, 1, 0], sample_weight=[1.0] * len(y) + [0.0, 0.0]
    )
    np.testing.assert_allclose(weighted.coef_, whole.coef_, atol=1e-8)
    chosen = sf.RobustLogisticRegressionCV(radii=[0.01, 0.05], category_levels=levels, cv=3).fit(X, y)
    assert list(chosen.schema_.columns[0].levels) == LEVELS


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ({"x": ["a"]}, "names column 'x', which is numeric"),
        ({"size": ["a"]}, "names column 'size', but the columns are"),
        ({"colour": "red"}, "= 'red' is not understood"),
        ({"colour": ["blue"]}, r"column 'colour', row \d+ holds 'green', which is none of the levels given"),
        ({"colour": ["blue", "green", None]}, "gaps are no level that can be listed"),
        ({"colour": "declared"}, "its type declares none"),
        ("all", "must be None"),
    ],
)
def test_levels_that_make_no_sense_are_refused_with_the_reason(levels: Any, message: str) -> None:
    pa = pytest.importorskip("pyarrow")
    colour, x, y = colours(50)
    with pytest.raises(ValueError, match=message):
        sf.RobustLogisticRegression(category_levels=levels).fit(pa.table({"colour": colour, "x": x}), y)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_models_with_unseen_levels_are_those_of_the_enumerated_model(seed: int, fit_intercept: bool) -> None:
    # Some of the levels are drawn by no row, the reference among them.
    problem = draw_problem(
        100 + seed,
        rows=6,
        numeric=1,
        levels=(4, 8),
        radius=0.1,
        label_weight=(np.inf, 0.8)[seed % 2],
        fit_intercept=fit_intercept,
    )
    held = level_weights(problem)
    assert (held == 0).any()
    outcome = SQP().solve(problem, SolveOptions())
    certificate, outcome = certified(problem, outcome, SolveOptions())
    assert certificate.verified, certificate.claim
    assert certificate.upper_bound == pytest.approx(solve_enumerated(problem).optimum, rel=1e-5)
    assert certificate.upper_bound == pytest.approx(reference.objective(problem, outcome.primal), rel=1e-9)
    # Far coefficients at levels without rows are brought back, which costs nothing and may gain.
    far = outcome.primal.levels.copy()
    far[np.flatnonzero(held == 0)] += np.where(np.isin(np.flatnonzero(held == 0), problem.level_offsets), 0.0, 9.0)
    worse = type(outcome.primal)(outcome.primal.intercept, outcome.primal.numeric, far, outcome.primal.price)
    back = with_unseen_levels(problem.terms, worse, held)
    assert reference.objective(problem, back) <= reference.objective(problem, worse) * (1 + 1e-12)
    assert reference.objective(problem, back) == pytest.approx(certificate.upper_bound, rel=1e-6)


@pytest.mark.parametrize("shift", [sf.ShiftModel(categorical_certainty=0.6), sf.ShiftModel(categorical_certainty={"c": 0.6})])
def test_a_shift_model_that_counts_fewer_levels_than_worst_cases_go_to_is_told(shift):
    rng = np.random.default_rng(0)
    held = rng.integers(0, 3, 60)
    y = (held + rng.normal(size=60) > 1).astype(int)
    X = pd.DataFrame({"c": pd.Categorical(np.array(list("abc"))[held], categories=list("abcdefgh"))})
    observed, whole = (np.log(0.6 * (k - 1) / 0.4) for k in (3, 8))
    with pytest.warns(
        sf.DoubtfulColumnWarning, match=f"'c' is priced {observed:.4g} for 3 levels, about {whole:.4g} for all 8"
    ):
        sf.RobustLogisticRegression(shift=shift, category_levels="declared").fit(X, y)
    # What it advises is quiet, and so is a model whose worst cases stay among the levels of the rows.
    found = shift.calibrate(X)
    sf.RobustLogisticRegression(radius=found.radius, categorical_weights={"c": whole}, category_levels="declared").fit(X, y)
    sf.RobustLogisticRegression(shift=shift).fit(X, y)
