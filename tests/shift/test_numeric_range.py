"""Ranges in shift models: calibration names their ends, and random shifts stop there."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import surefoot as sf

SHIFT = {"numeric_certainty": 0.5, "numeric_interval": 10.0, "categorical_certainty": 0.8}


@pytest.fixture
def table():
    draw = np.random.default_rng(3)
    return pd.DataFrame(
        {"age": draw.uniform(18, 90, 200), "income": draw.uniform(0, 50, 200), "site": draw.choice(["a", "b"], 200)}
    )


def test_calibration_names_the_ends_of_columns_that_move(table):
    shift = sf.ShiftModel(**SHIFT, numeric_range={"age": (18, 100), "income": "observed +- 50 %"})
    ends = shift.calibrate(table).numeric_ranges
    low, high = table["income"].min(), table["income"].max()
    assert ends["age"] == (18.0, 100.0)
    assert ends["income"] == pytest.approx((low - (high - low) / 2, high + (high - low) / 2))
    assert "age: 0.06931 per unit, from 18 to 100" in str(shift.calibrate(table))


def test_without_ranges_nothing_is_said(table):
    ambiguity = sf.ShiftModel(**SHIFT).calibrate(table)
    assert ambiguity.numeric_ranges is None
    assert "from" not in str(ambiguity)
    still = sf.ShiftModel(numeric_certainty={"age": 1.0}, numeric_range="observed").calibrate(table)
    assert still.numeric_ranges is None


@pytest.mark.parametrize("given", [{"site": "observed"}, {"height": (0, 1)}])
def test_ranges_of_columns_that_have_none_are_refused(table, given):
    with pytest.raises(ValueError, match=r"numeric_range names column '(site|height)'"):
        sf.ShiftModel(**SHIFT, numeric_range=given).calibrate(table)


def test_what_is_no_range_is_refused_at_once():
    with pytest.raises(ValueError, match="numeric_range of column 'age' = 18 is not understood"):
        sf.ShiftModel(numeric_range={"age": 18})


def test_random_shifts_stop_at_the_ends_and_are_otherwise_the_same(table):
    free = list(sf.ShiftModel(**SHIFT).perturb(table, 5, random_state=1))
    ranged = list(sf.ShiftModel(**SHIFT, numeric_range={"age": (18, 92)}).perturb(table, 5, random_state=1))
    assert max(moved["age"].max() for moved in free) > 92
    for before, after in zip(free, ranged, strict=True):
        assert after["age"].to_numpy() == pytest.approx(np.clip(before["age"], 18, 92).to_numpy(), abs=1e-12)
        assert after["age"].min() >= 18 and after["age"].max() <= 92
        pd.testing.assert_frame_equal(before[["income", "site"]], after[["income", "site"]])


def test_numbers_outside_go_no_farther_and_may_come_back(table):
    table.loc[0, "age"] = 120.0
    shift = sf.ShiftModel(**SHIFT, numeric_range={"age": (18, 92)})
    seen = np.array([moved["age"][0] for moved in shift.perturb(table, 200, random_state=2)])
    assert seen.max() == 120.0
    assert 92 < seen.min() < 120 or seen.min() >= 18


def test_observed_ranges_come_from_the_reference_if_there_is_one(table):
    shift = sf.ShiftModel(**SHIFT, numeric_range="observed")
    later = table.assign(age=np.clip(table["age"] + 20, None, 130.0))
    alone = next(shift.perturb(later, random_state=0))["age"]
    beside = next(shift.perturb(later, random_state=0, reference=table))["age"]
    assert alone.min() >= later["age"].min() and alone.max() <= later["age"].max()
    known = later["age"] <= table["age"].max()
    assert beside[known].max() <= table["age"].max()
    assert beside.min() >= table["age"].min()


def test_gaps_stay_gaps(table):
    table.loc[4, "age"] = np.nan
    moved = next(sf.ShiftModel(**SHIFT, numeric_range="observed").perturb(table, random_state=0))
    assert np.isnan(moved["age"][4]) and moved["age"].notna().sum() == 199


def test_estimators_keep_to_the_ranges_of_a_shift_model(table, tmp_path):
    y = np.where(table["age"] + np.random.default_rng(0).normal(0, 20, 200) > 55, "yes", "no")
    shift = sf.ShiftModel(**SHIFT, numeric_range={"age": (18, 100)})
    model = sf.RobustLogisticRegression(shift=shift).fit(table, y)
    assert model.certificate_.verified
    assert model.ground_cost_.numeric_ranges.tolist() == [[18.0, 100.0], [-np.inf, np.inf]]
    sf.save(model, tmp_path / "model.surefoot")
    again = sf.load(tmp_path / "model.surefoot")
    assert again.shift.numeric_range == {"age": (18, 100)}
    assert sf.verify(again, table, y).verified
    with pytest.raises(ValueError, match="numeric_range is given twice"):
        sf.RobustLogisticRegression(shift=shift, numeric_range="observed").fit(table, y)
    own = sf.RobustLogisticRegression(shift=sf.ShiftModel(**SHIFT), numeric_range={"income": (-10, 60)}).fit(table, y)
    assert own.ground_cost_.numeric_ranges.tolist() == [[-np.inf, np.inf], [-10.0, 60.0]]


class _Watched:
    """A model that is known by its probabilities alone, and the numbers that it was asked about."""

    def __init__(self, model):
        self.model, self.classes_, self.asked = model, model.classes_, []

    def predict_proba(self, X):
        self.asked.append((X["age"].min(), X["age"].max()))
        return self.model.predict_proba(X)


def test_stress_tests_draw_within_the_ranges(table):
    """A linear model is evaluated from the shifts alone, another one from the tables: both see the same numbers."""
    y = table["age"].to_numpy() + np.random.default_rng(0).normal(0, 20, 200) > 55
    model = sf.RobustLogisticRegression().fit(table, y)
    wild = {"numeric_certainty": 0.01, "numeric_interval": 10.0}
    ranged = sf.ShiftModel(**wild, numeric_range={"age": (18, 90)})
    watched = _Watched(model)
    found, wanted, free = (
        sf.stress_test(each, table, y, shift, n_sets=4, metrics=["log_loss"], random_state=0)
        for each, shift in ((model, ranged), (watched, ranged), (model, sf.ShiftModel(**wild)))
    )
    assert min(low for low, _ in watched.asked) == 18 and max(high for _, high in watched.asked) == 90
    assert found.values == pytest.approx(wanted.values, rel=1e-9)
    assert np.abs(found.values - free.values).min() > 0
