"""Calibration against closed forms, kinds of columns, and certainties from two tables."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import norm, wasserstein_distance

import surefoot as sf
from surefoot.shift.noise import named_noise
from surefoot.sklearn_api.parameter_marks import parameter_mark


def mixed(n: int = 60, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.normal(40.0, 12.0, n),
            "income": rng.exponential(3e4, n),
            "job": rng.choice(["cook", "nurse", "smith"], n),
            "smokes": rng.integers(0, 2, n),
        }
    )


@given(rho=st.floats(0.01, 0.99), u=st.floats(0.01, 100.0), theta=st.floats(0.01, 1.0), k=st.integers(2, 9))
def test_weights_and_radius_follow_the_formulas_of_the_paper(rho: float, u: float, theta: float, k: int) -> None:
    X = pd.DataFrame({"x": np.linspace(0.0, 5.0, 18), "z": [f"level {at % k}" for at in range(18)]})
    stay = 1 / k + (1 - 1 / k) * rho
    found = sf.ShiftModel(rho, u, stay, theta).calibrate(X)
    assert found.numeric_weights == {"x": pytest.approx(-math.log(1 - rho) / u)}
    assert found.categorical_weights == {"z": pytest.approx(math.log(stay * (k - 1) / (1 - stay)))}
    assert found.radius == pytest.approx(-math.log(theta))


@pytest.mark.parametrize(
    ("decimals", "weights"), [(None, [0.02, 0.68, 1.24, 3.0]), (0, [1, 1, 1, 3]), (1, [0.1, 0.7, 1.2, 3.0])]
)
def test_published_rounding_leaves_no_categorical_weight_at_0_and_no_numeric_one_changed(decimals: Any, weights: Any) -> None:
    # Of two levels, delta = log(rho / (1 - rho)).
    wanted = [0.02, 0.68, 1.24, 3.0]
    X = pd.DataFrame({"x": [0.0, 1.0, 2.0], **{f"z{at}": ["a", "b", "a"] for at in range(4)}, "fixed": ["a", "b", "b"]})
    certainty = {f"z{at}": 1 / (1 + math.exp(-price)) for at, price in enumerate(wanted)}
    found = sf.ShiftModel(0.8, 1.7, certainty, 0.8, decimals=decimals).calibrate(X)
    assert list(found.categorical_weights.values()) == [*map(pytest.approx, weights), math.inf]
    assert found.numeric_weights == {"x": pytest.approx(math.log(5) / 1.7, rel=1e-12)}
    assert found.radius == pytest.approx(-math.log(0.8))


def test_a_model_with_rounded_weights_is_one_that_the_published_programmes_can_solve() -> None:
    X = mixed().assign(smokes=lambda frame: frame["smokes"] == 1)
    y = X["age"] + 4 * (X["job"] == "nurse") + 3 * X["smokes"] > 42
    certainty = {"job": 0.71, "smokes": 0.83}
    shift = sf.ShiftModel(0.8, None, certainty, decimals=0)
    ours, graph = (sf.RobustLogisticRegression(shift=shift, solver=solver).fit(X, y) for solver in ("auto", "graph"))
    np.testing.assert_array_equal(ours.ground_cost_.categorical_weights, [2.0, 2.0])
    assert graph.certificate_.verified
    assert graph.certificate_.upper_bound == pytest.approx(ours.certificate_.upper_bound, rel=2e-6)


@pytest.mark.parametrize("decimals", [2, -1, 0.0, True, "1"])
def test_other_roundings_are_refused(decimals: Any) -> None:
    with pytest.raises(ValueError, match=r"decimals = .* must be None .*, 0 .* or 1"):
        sf.ShiftModel(categorical_certainty=0.8, decimals=decimals)


def test_an_interval_may_be_a_multiple_of_the_standard_deviation_and_is_four_tenths_by_default() -> None:
    X = mixed()
    spread = X["age"].std(ddof=0)
    assert sf.ShiftModel(0.8).calibrate(X).numeric_weights["age"] == pytest.approx(math.log(5) / (0.4 * spread))
    wide = sf.ShiftModel(0.8, {"age": " 1.5 std", "income": 1000.0}).calibrate(X).numeric_weights
    assert wide == {"age": pytest.approx(math.log(5) / (1.5 * spread)), "income": pytest.approx(math.log(5) / 1000.0)}


def test_columns_without_a_certainty_never_shift() -> None:
    found = sf.ShiftModel({"age": 0.8}, None, {"job": 1.0}).calibrate(mixed())
    assert found.numeric_weights["income"] == math.inf and found.numeric_weights["age"] < math.inf
    assert found.categorical_weights == {"job": math.inf, "smokes": math.inf}


def test_a_column_of_numbers_0_and_1_is_a_category_unless_it_is_named_numeric() -> None:
    X = mixed()
    found = sf.ShiftModel(0.8, None, 0.9).calibrate(X)
    assert found.categorical_weights["smokes"] == pytest.approx(math.log(9))
    named = sf.ShiftModel({"smokes": 0.8}, None, 0.9).calibrate(X)
    assert "smokes" in named.numeric_weights and "smokes" not in named.categorical_weights
    # A column with one of the two values only may still become the other.
    assert sf.ShiftModel(categorical_certainty=0.9).calibrate(np.zeros((4, 1))).categorical_weights["x0"] == pytest.approx(
        math.log(9)
    )


@pytest.mark.parametrize(
    ("noise", "weight"),
    [
        ("laplace", -math.log(0.3) / 2.0),
        ("gaussian", math.sqrt(math.pi / 2) * norm.ppf(0.85) / 2.0),
        ("uniform", 2 * 0.7 / 2.0),
    ],
)
def test_the_weight_of_a_law_is_one_over_the_mean_size_of_its_shifts(noise: str, weight: float) -> None:
    X = pd.DataFrame({"x": np.arange(400_000.0)})
    model = sf.ShiftModel(0.7, 2.0, noise=noise)
    assert model.calibrate(X).numeric_weights["x"] == pytest.approx(weight, rel=1e-12)
    moved = next(model.perturb(X, random_state=3))["x"].to_numpy() - X["x"].to_numpy()
    assert np.abs(moved).mean() == pytest.approx(1 / weight, rel=0.01)
    assert np.mean(np.abs(moved) <= 2.0) == pytest.approx(0.7, abs=0.005)


def test_a_callable_law_is_scaled_to_the_certainty_and_priced_by_its_mean_size() -> None:
    def student(generator: np.random.Generator, size: int) -> Any:
        return generator.standard_t(5, size)

    X = pd.DataFrame({"x": np.arange(200_000.0), "w": 0.5})
    model = sf.ShiftModel({"x": 0.7}, 2.0, noise={"x": student})
    moved = next(model.perturb(X, random_state=3))["x"].to_numpy() - X["x"].to_numpy()
    assert np.mean(np.abs(moved) <= 2.0) == pytest.approx(0.7, abs=0.01)
    assert model.calibrate(X).numeric_weights["x"] == pytest.approx(1 / np.abs(moved).mean(), rel=0.02)


def test_the_laplace_law_as_a_callable_gets_the_weight_of_the_named_one() -> None:
    X = pd.DataFrame({"x": np.arange(50.0)})
    own = sf.ShiftModel(0.8, 3.0, noise=lambda generator, size: generator.laplace(scale=7.0, size=size)).calibrate(X)
    assert own.numeric_weights["x"] == pytest.approx(math.log(5) / 3.0, rel=0.02)


@pytest.mark.parametrize("size", [1, 63, 64, 65, 1000])
def test_laplace_draws_fill_arrays_of_any_size_with_both_signs(size: int) -> None:
    out = np.empty((2, size))
    named_noise("laplace").fill(out, np.random.default_rng(0))
    assert np.isfinite(out).all() and np.all(out != 0)
    if size >= 63:
        assert 0.3 < np.mean(out > 0) < 0.7


@pytest.mark.parametrize(
    "wrap",
    [lambda frame: frame, pl.from_pandas, lambda frame: frame.to_numpy(), lambda frame: frame.to_numpy().tolist()],
    ids=["pandas", "polars", "array", "list"],
)
def test_calibration_does_not_depend_on_the_kind_of_table(wrap: Any) -> None:
    X = mixed()
    expected = sf.ShiftModel(0.8, None, 0.9).calibrate(X)
    found = sf.ShiftModel(0.8, None, 0.9).calibrate(wrap(X))
    assert list(found.numeric_weights.values()) == pytest.approx(list(expected.numeric_weights.values()))
    assert list(found.categorical_weights.values()) == pytest.approx(list(expected.categorical_weights.values()))


def test_sparse_tables_are_calibrated_but_not_perturbed() -> None:
    dense = np.random.default_rng(0).normal(size=(30, 2)) * (np.arange(60).reshape(30, 2) % 3 == 0)
    model = sf.ShiftModel(0.8)
    assert model.calibrate(sparse.csr_array(dense)) == model.calibrate(dense)
    with pytest.raises(sf.InvalidTableError, match="sparse matrix"):
        model.perturb(sparse.csr_array(dense))


def test_two_periods_give_the_least_shift_between_them() -> None:
    before, after = mixed(400, 1), mixed(300, 2)
    after["age"] += 5.0
    model = sf.ShiftModel.from_two(before, after, robustness=0.8)
    found = model.calibrate(before)
    distance = wasserstein_distance(before["age"], after["age"])
    assert found.numeric_weights["age"] == pytest.approx(1 / distance)
    shares = [frame["job"].value_counts(normalize=True).sort_index().to_numpy() for frame in (before, after)]
    assert model.categorical_certainty["job"] == pytest.approx(1 - 0.5 * np.abs(shares[0] - shares[1]).sum())
    assert found.radius == pytest.approx(-math.log(0.8))
    assert 0 < model.numeric_certainty["age"] < 1


def test_paired_rows_are_compared_one_by_one() -> None:
    rng = np.random.default_rng(5)
    before = mixed(2000, 1)
    after = next(sf.ShiftModel(0.7, None, 0.85).perturb(before, random_state=rng))
    model = sf.ShiftModel.from_two(before, after.assign(smokes=after["smokes"].astype(int)), paired=True)
    assert model.numeric_certainty["age"] == pytest.approx(0.7, abs=0.03)
    assert model.categorical_certainty["job"] == pytest.approx(0.85, abs=0.03)
    with pytest.raises(sf.InvalidTableError, match="before has 2000 and after has 10"):
        sf.ShiftModel.from_two(before, after.head(10), paired=True)


def test_equal_tables_do_not_shift() -> None:
    found = sf.ShiftModel.from_two(mixed(), mixed()).calibrate(mixed())
    assert {*found.numeric_weights.values(), *found.categorical_weights.values()} == {math.inf}


@pytest.mark.parametrize("paired", [False, True])
def test_a_category_that_kept_less_than_chance_is_raised_to_where_a_change_costs_next_to_nothing(paired: bool) -> None:
    # No row keeps its job. Before there are 2 jobs, after 3 others: whoever sees only the table before has a chance of 1/2.
    before = pd.DataFrame({"job": ["cook", "cook", "smith", "smith"] * 3, "town": ["north", "south"] * 6})
    after = before.assign(job=["nurse", "miner", "pilot", "pilot"] * 3)
    with pytest.warns(sf.BelowChanceWarning, match=r"column 'job': a share of 0 .* among 2 levels .* probability 0\.5"):
        model = sf.ShiftModel.from_two(before, after, paired=paired)
    assert model.categorical_certainty["town"] == 1.0
    assert model.calibrate(before).categorical_weights == {"job": pytest.approx(0.01), "town": math.inf}
    assert 0.01 < model.calibrate(after).categorical_weights["job"] < 1.0
    assert len(list(model.perturb(before, 2, 0, reference=after))) == 2
    fitted = sf.RobustLogisticRegression(shift=model).fit(before, [0, 1] * 4 + [0, 1, 1, 0])
    weights = {line["feature"]: abs(line["coefficient"]) for line in fitted.coefficients().to_dict("records")}
    assert weights["job"] < 1e-3 < weights["town"]


def test_a_constant_column_that_moved_as_a_whole_has_the_price_of_its_move() -> None:
    model = sf.ShiftModel.from_two(np.full((5, 1), 3.0), np.full((4, 1), 7.0))
    assert model.calibrate(np.full((5, 1), 3.0)).numeric_weights["x0"] == pytest.approx(0.25)


@pytest.mark.parametrize("scale", [0.25, 1.0, 3.0])
def test_a_certainty_scale_multiplies_doubts(scale: float) -> None:
    certain = {"age": 0.9, "income": 0.8}
    given = sf.ShiftModel(certain, "0.4 std", {"job": 0.85, "smokes": 0.9}, label_certainty=0.95)
    doubted = sf.ShiftModel(
        {name: 1 - scale * (1 - rho) for name, rho in certain.items()},
        "0.4 std",
        {"job": 1 - scale * 0.15, "smokes": 1 - scale * 0.1},
        label_certainty=1 - scale * 0.05,
    )
    table = mixed().assign(income=mixed()["age"] * 2)
    one, other = given.scaled(scale).calibrate(table), doubted.calibrate(table)
    assert one.numeric_weights == pytest.approx(other.numeric_weights)
    assert one.categorical_weights == pytest.approx(other.categorical_weights)
    assert one.label_weight == pytest.approx(other.label_weight)
    moved, expected = (next(shift.perturb(table, random_state=0)) for shift in (given.scaled(scale), doubted))
    pd.testing.assert_frame_equal(moved, expected)
    assert given.scaled(scale).scaled(1 / scale).calibrate(table) == given.calibrate(table)


def test_doubts_that_are_scaled_beyond_chance_stop_where_a_change_costs_next_to_nothing() -> None:
    shift = sf.ShiftModel(0.5, None, 0.6, label_certainty=0.6, certainty_scale=50.0)
    found = shift.calibrate(mixed())
    assert list(found.categorical_weights.values()) == pytest.approx([0.01, 0.01])
    assert found.label_weight == 0.01
    assert found.numeric_weights["age"] * 0.4 * mixed()["age"].std(ddof=0) == pytest.approx(0.01)
    # What was sure stays so, and what was surer than that does not become less sure by trusting it more.
    never = sf.ShiftModel(1.0, None, {"job": 1.0, "smokes": 0.501}, certainty_scale=50.0).calibrate(mixed())
    assert never.numeric_weights["age"] == never.categorical_weights["job"] == never.label_weight == math.inf
    assert never.categorical_weights["smokes"] == pytest.approx(math.log(0.501 / 0.499))


def test_labels_have_a_price_if_they_may_flip() -> None:
    found = sf.ShiftModel(label_certainty=0.9).calibrate(mixed())
    assert found.label_weight == pytest.approx(math.log(9))
    assert "labels: 2.197 per flip" in str(found)
    assert "labels" not in str(sf.ShiftModel(label_certainty=1.0).calibrate(mixed()))


def test_the_mark_of_a_shift_model_is_that_of_files_from_before_labels_and_scales() -> None:
    # The digest was written down when neither could be said.
    shift = sf.ShiftModel(0.8, "0.3 std", {"ward": 0.9}, 0.85)
    assert parameter_mark("shift", shift) == "63f62b4112e582ba"
    for other in (replace(shift, label_certainty=0.9), shift.scaled(2.0)):
        assert parameter_mark("shift", other) != "63f62b4112e582ba"


def test_a_shift_model_is_a_value_that_can_be_compared_and_pickled() -> None:
    model = sf.ShiftModel({"age": 0.8}, "0.4 std", 0.9, 0.7, noise="gaussian")
    assert pickle.loads(pickle.dumps(model)) == model != sf.ShiftModel({"age": 0.7})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"numeric_certainty": 1.2}, r"numeric_certainty = 1\.2 must be a probability"),
        ({"numeric_certainty": {"age": 0.0}}, r"numeric_certainty of column 'age' = 0\.0 must be a probability"),
        ({"categorical_certainty": "high"}, "categorical_certainty = 'high' must be a probability"),
        ({"categorical_certainty": {"job": float("nan")}}, "categorical_certainty of column 'job' = nan"),
        ({"numeric_interval": -1.0}, r"numeric_interval = -1\.0 must be a positive number"),
        ({"numeric_interval": {"age": "two std"}}, "numeric_interval of column 'age' = 'two std'"),
        ({"numeric_interval": "0 std"}, "numeric_interval = '0 std'"),
        ({"robustness": 0}, "robustness = 0 must be above 0 and at most 1"),
        ({"robustness": 1.5}, r"robustness = 1\.5"),
        ({"label_certainty": 0.5}, r"label_certainty = 0\.5 must be above 1/2"),
        ({"certainty_scale": 0.0}, r"certainty_scale = 0\.0 must be None or a positive number"),
        ({"noise": "cauchy"}, "noise = 'cauchy' is not a law of shifts; use 'laplace'"),
    ],
)
def test_a_wrong_parameter_is_refused_at_once_by_name_and_value(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sf.ShiftModel(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"numeric_certainty": {"agee": 0.8}}, "numeric_certainty names column 'agee', but the columns are 'age'"),
        ({"categorical_certainty": 0.33}, r"column 'job' is 0\.33, which is not above chance: its rows hold 3 levels"),
        ({"categorical_certainty": {"smokes": 0.5}}, r"above 0\.5, or drop the column"),
        ({"numeric_certainty": {"job": 0.5}}, "column 'job', row 0: '.*' is text"),
        ({"numeric_certainty": {"age": 0.5}, "categorical_certainty": {"age": 0.5}}, "both name column 'age'"),
        ({"numeric_certainty": 0.5, "numeric_interval": {"job": 1.0}}, "numeric_interval names column 'job', which is cat"),
        ({"numeric_certainty": 0.5, "noise": lambda generator, size: [1.0]}, r"must return an array of \d+ finite"),
        ({"numeric_certainty": 0.5, "noise": lambda generator, size: np.zeros(size)}, "draws nothing but 0"),
    ],
)
def test_what_does_not_fit_the_table_is_refused_by_column_and_value(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sf.ShiftModel(**options).calibrate(mixed())


def test_a_column_without_values_has_no_standard_deviation() -> None:
    with pytest.raises(sf.InvalidTableError, match="column 'x' holds no value"):
        sf.ShiftModel(0.8).calibrate(pd.DataFrame({"x": [np.nan, np.nan]}))
