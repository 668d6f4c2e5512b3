"""The automatic radius is the one that its definition names, whatever the units, and wherever the rows are."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.robust.estimator.automatic_radius import SamplingError, automatic_radius, rows_that_count
from surefoot.robust.problem.column_moments import RowTally

ADULT = Path(__file__).resolve().parents[4] / "shared" / "data" / "uci" / "adult_train.csv.gz"
# Half a step of the second digit, at most.
ROUNDING = 0.05


def by_definition(X: Any, y: Any, premium: float, highest: float, **parameters: Any) -> float:
    """The largest radius of a fine grid with a premium within the bound, found from above."""
    for radius in np.geomspace(highest, highest / 1000, 120):
        model = sf.RobustLogisticRegression(radius=float(radius), **parameters).fit(X, y)
        if radius * model.dual_price_ <= premium:
            return float(radius)
    raise AssertionError("no radius on the grid")


@pytest.mark.parametrize(
    ("parameters", "coefficients"),
    [
        ({}, 5),
        ({"norm": "l2"}, 5),
        ({"numeric_weights": {"age": np.inf}}, 4),
        ({"categorical_weights": {"channel": 0.3}}, 5),
        ({"label_weight": 1.0}, 6),
    ],
)
def test_it_is_the_largest_radius_whose_premium_is_what_chance_gains(
    survey: Any, parameters: dict[str, Any], coefficients: int
) -> None:
    model = sf.RobustLogisticRegression(**parameters).fit(survey.X, survey.y)
    error = model.sampling_error_
    assert (error.rows, error.coefficients, error.converged) == (len(survey.y), coefficients, True)
    assert error.premium == coefficients / (2 * len(survey.y))
    expected = by_definition(survey.X, survey.y, error.premium, error.highest, **parameters)
    assert model.radius_ == pytest.approx(expected, rel=ROUNDING + 0.07)


def test_the_highest_radius_is_the_length_of_a_gradient_of_chance() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 6)) * [1, 2, 3, 4, 5, 6]
    y = rng.random(400) < 0.2
    error = sf.RobustLogisticRegression().fit(x, y).sampling_error_
    share = y.mean()
    assert error.highest == pytest.approx(math.sqrt(6 * share * (1 - share) / 400))
    # Lengths of gradients of labels that have nothing to do with the columns, in units of the prices.
    standard = (x - x.mean(axis=0)) / x.std(axis=0)
    lengths = [np.linalg.norm(standard.T @ (rng.permutation(y) - share) / 400) for _ in range(200)]
    assert np.mean(np.square(lengths)) == pytest.approx(error.highest**2, rel=0.15)


def test_columns_that_say_nothing_get_the_highest_radius_which_falls_with_the_root_of_the_rows() -> None:
    rng = np.random.default_rng(1)
    radii = []
    for rows in (200, 800):
        x, y = rng.normal(size=(rows, 4)), np.arange(rows) % 2
        model = sf.RobustLogisticRegression().fit(x, y)
        assert model.radius_ == pytest.approx(model.sampling_error_.highest, rel=ROUNDING)
        assert "as far as chance alone" in model.radius_reason_
        radii.append(model.sampling_error_.highest)
    assert radii[0] == pytest.approx(2 * radii[1])


def test_prices_in_other_units_give_the_same_model(survey: Any) -> None:
    model = sf.RobustLogisticRegression(numeric_weights={"age": 0.1, "income": 0.1}).fit(survey.X, survey.y)
    dearer = sf.RobustLogisticRegression(numeric_weights={"age": 1.0, "income": 1.0}, categorical_weights=10.0)
    dearer.fit(survey.X, survey.y)
    assert dearer.radius_ == pytest.approx(10 * model.radius_, rel=1e-12)
    np.testing.assert_allclose(dearer.coef_, model.coef_, atol=1e-7)


def test_whole_weights_count_rows_and_others_only_their_shares(survey: Any) -> None:
    times = np.arange(len(survey.y)) % 3 + 1
    weighted = sf.RobustLogisticRegression().fit(survey.X, survey.y, sample_weight=times)
    repeated = sf.RobustLogisticRegression().fit(survey.X.loc[survey.X.index.repeat(times)], survey.y.repeat(times))
    assert weighted.sampling_error_.rows == times.sum()
    assert weighted.radius_ == repeated.radius_
    shares = sf.RobustLogisticRegression().fit(survey.X, survey.y, sample_weight=times / 7.0)
    assert shares.sampling_error_.rows == pytest.approx(times.sum() ** 2 / np.square(times).sum())


def test_the_number_of_rows_by_hand() -> None:
    assert rows_that_count(RowTally.of(np.array([1.0, 0.0, 3.0]))) == 4.0
    assert rows_that_count(RowTally.of(np.array([0.5, 0.5, 1.0]))) == pytest.approx(4 / 1.5)
    assert rows_that_count(RowTally.of(np.full(5, 1e308))) == pytest.approx(5.0)
    joined = RowTally.of(np.array([0.5, 0.5])) + RowTally.of(np.array([1.0]))
    assert rows_that_count(joined) == pytest.approx(4 / 1.5)
    assert not joined.whole


@pytest.mark.parametrize("slope", [0.0, 0.3, 0.6, 0.9])
def test_the_search_finds_where_the_premium_meets_its_bound(slope: float) -> None:
    # Prices that fall as radius^-slope: the premium radius^(1 - slope) / 10 is 0.01 at 0.1^(1 / (1 - slope)).
    error = SamplingError(rows=50.0, coefficients=1, highest=0.5)
    radius, converged = automatic_radius(error, lambda r: 0.1 * r**-slope)
    assert converged
    assert radius == pytest.approx(0.1 ** (1 / (1 - slope)), rel=0.15 if slope == 0.9 else ROUNDING + 0.03)


def test_the_search_comes_down_from_above_where_premiums_rise_and_fall() -> None:
    # Premium r (1 - r)^2 / 4: above 0.02 between 0.098 and 0.65; the highest radius allowed lies between.
    price = lambda r: (1 - r) ** 2 / 4  # noqa: E731
    radius, converged = automatic_radius(SamplingError(rows=50.0, coefficients=2, highest=0.5), price)
    assert converged and radius == pytest.approx(0.098, rel=ROUNDING)
    # Beyond the second crossing the highest one is itself within the bound.
    assert automatic_radius(SamplingError(rows=50.0, coefficients=2, highest=0.8), price) == (0.8, True)
    assert automatic_radius(SamplingError(rows=50.0, coefficients=2, highest=0.5), lambda r: 0.0) == (0.5, True)
    assert automatic_radius(SamplingError(rows=50.0, coefficients=2, highest=0.5), lambda r: None) == (0.5, False)


def test_nothing_may_shift_is_plain_logistic_regression(survey: Any) -> None:
    model = sf.RobustLogisticRegression(numeric_weights=np.inf, categorical_weights=np.inf).fit(survey.X, survey.y)
    assert model.radius_ == 0.0
    assert "nothing" in model.radius_reason_


def test_the_reason_names_the_figures(survey: Any) -> None:
    model = sf.RobustLogisticRegression().fit(survey.X, survey.y)
    assert f"{model.radius_:g} x {model.dual_price_:.3g}" in model.radius_reason_
    assert "5 coefficients in 120 rows gain by chance, 5 / (2 x 120) = 0.021" in model.radius_reason_
    assert sf.RobustLogisticRegression(radius=0.1).fit(survey.X, survey.y).radius_reason_ == "as given"


def test_a_shift_model_has_a_radius_of_its_own(survey: Any) -> None:
    shift = sf.ShiftModel(numeric_certainty=0.8, categorical_certainty=0.9, robustness=0.8)
    model = sf.RobustLogisticRegression(shift=shift).fit(survey.X, survey.y)
    assert model.radius_ == pytest.approx(-math.log(0.8))
    assert model.sampling_error_ is None
    assert model.radius_reason_ == "that of the shift model"


def test_a_time_limit_ends_the_search_and_the_reason_says_so(survey: Any) -> None:
    with pytest.warns(sf.ConvergenceLimitWarning):
        model = sf.RobustLogisticRegression(time_limit=1e-9).fit(survey.X, survey.y)
    assert not model.sampling_error_.converged
    assert "time limit" in model.radius_reason_


@pytest.mark.parametrize("solver", ["graph", "lp-admm"])
def test_every_solver_gets_the_same_radius(survey: Any, solver: str) -> None:
    table = survey.X[["channel", "member"]] if solver == "graph" else survey.X[["age", "income"]]
    reference = sf.RobustLogisticRegression().fit(table, survey.y)
    model = sf.RobustLogisticRegression(solver=solver, tol=1e-4).fit(table, survey.y)
    assert model.radius_ == reference.radius_


def test_it_is_sealed_and_survives_saving(survey: Any, tmp_path: Path) -> None:
    model = sf.RobustLogisticRegression().fit(survey.X, survey.y)
    sf.save(model, tmp_path / "model.surefoot")
    loaded = sf.load(tmp_path / "model.surefoot")
    assert (loaded.radius, loaded.radius_, loaded.radius_reason_) == ("auto", model.radius_, model.radius_reason_)
    assert sf.verify(loaded, survey.X, survey.y).verified
    loaded.sampling_error_ = SamplingError(rows=1e6, coefficients=5, highest=1.0)
    with pytest.raises(sf.CertificateError, match="changed"):
        sf.verify(loaded, survey.X, survey.y)


def test_other_words_are_refused(survey: Any) -> None:
    with pytest.raises(ValueError, match="radius = 'automatic' must be 'auto' or a finite number"):
        sf.RobustLogisticRegression(radius="automatic").fit(survey.X, survey.y)


@pytest.mark.skipif(not ADULT.exists(), reason="the table adult of the UCI repository is not here")
def test_a_fit_that_starts_where_the_search_for_its_radius_ended_is_proven() -> None:
    pd = pytest.importorskip("pandas")
    table = pd.read_csv(ADULT).sample(6000, random_state=0)
    draw = np.random.default_rng(0)
    for _ in range(7):
        order = draw.permutation(len(table))
    # Rows on which the search ended so near the optimum that only an exact programme proves what is left.
    rows = table.iloc[order[:3000]]
    model = sf.RobustLogisticRegression(missing_categorical="level").fit(rows.drop(columns="income"), rows["income"])
    assert model.sampling_error_.converged
    assert model.certificate_.verified


@pytest.mark.parametrize("weights", [(1e-9, 1e9), (1e9, 1e-9), (1e-9, 1e7)])
def test_a_class_that_outweighs_the_other_beyond_the_digits_of_a_double_leaves_a_radius(weights: tuple[float, float]) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + rng.logistic(size=60) > 0
    model = sf.RobustLogisticRegression().fit(X, y, np.where(y, *weights))
    assert model.radius_ > 0 and "nothing that the model uses" not in model.radius_reason_
    # One minus the share of the heavy class would be 0.
    alone = sf.RobustLogisticRegression().fit(X, y, np.where(y, weights[1], weights[0]))
    assert alone.radius_ > 0
