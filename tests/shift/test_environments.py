"""Certainties from many sites: distances, what chance explains, columns that a site lacks, and labels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import wasserstein_distance

import surefoot as sf

SITES = ["north", "south", "west", "east", "centre"]


def sites(offsets: Any, n: int = 400, seed: int = 0, lean: float = 0.0) -> tuple[pd.DataFrame, Any]:
    """Rows of sites that differ in the mean of a marker and, by ``lean``, in how common the first ward is."""
    rng = np.random.default_rng(seed)
    parts = []
    for at, offset in enumerate(offsets):
        first = 0.4 + lean * (1 if at % 2 else -1)
        wards = rng.choice(["icu", "surgery", "day"], n, p=[first, 0.9 - first, 0.1])
        parts.append(
            pd.DataFrame({"marker": rng.normal(offset, 1, n), "age": rng.normal(60, 12, n), "ward": wards, "site": SITES[at]})
        )
    table = pd.concat(parts, ignore_index=True)
    return table.drop(columns="site"), table["site"].to_numpy()


def moves(shift: Any) -> dict[str, float]:
    """The mean size of a move, as the certainty and the interval of each numeric column say it."""
    return {
        name: 0.0 if rho == 1 else shift.numeric_interval[name] / -math.log1p(-rho)
        for name, rho in shift.numeric_certainty.items()
    }


def by_shuffling(codes: Any, n_cells: int, groups: Any, cumulative: bool, n_shuffles: int) -> Any:
    """m_k of the docstring of site_distances, with the average of s_k over shuffled names for c_k."""
    names = np.unique(groups)

    def differences(order: Any) -> tuple[Any, Any]:
        rows = []
        for name in names:
            own, other = (np.bincount(codes[where], minlength=n_cells) for where in (order == name, order != name))
            own, other = own / own.sum(), other / other.sum()
            rows.append(np.cumsum(own - other) if cumulative else own - other)
        sizes = np.array([np.sum(order == name) for name in names])
        weights = sizes * (len(order) - sizes)
        weights = weights / weights.sum()
        return weights @ np.abs(rows), weights @ np.square(rows)

    mean, square = differences(groups)
    rng = np.random.default_rng(0)
    chance = np.mean([differences(rng.permutation(groups))[1] for _ in range(n_shuffles)], axis=0)
    explained = np.divide(chance, square, out=np.ones_like(square), where=square > 0)
    return mean * np.sqrt(np.maximum(1 - explained, 0))


@pytest.mark.parametrize("seed", range(3))
def test_what_chance_explains_is_what_shuffled_names_show(seed: int) -> None:
    X, groups = sites([0.0, 0.3, -0.2, 0.1], n=60, seed=seed, lean=0.05)
    X, groups = X.iloc[: 60 * 3 + 20], groups[: 60 * 3 + 20]
    found = sf.ShiftModel.from_environments(X, groups)
    values, codes = np.unique(X["marker"], return_inverse=True)
    differences = by_shuffling(codes, values.size, groups, cumulative=True, n_shuffles=1500)
    assert moves(found)["marker"] == pytest.approx(differences[:-1] @ np.diff(values), rel=0.05)
    _, codes = np.unique(X["ward"], return_inverse=True)
    changed = by_shuffling(codes, 3, groups, cumulative=False, n_shuffles=1500).sum() / 2
    assert found.categorical_certainty["ward"] == pytest.approx(1 - changed, abs=0.004)


def test_two_sites_with_their_chance_are_two_tables() -> None:
    X, groups = sites([0.0, 0.5], lean=0.1)
    first, second = (X[groups == name].reset_index(drop=True) for name in SITES[:2])
    # Fewer rows, so that sites of different sizes are compared.
    second = second.head(250)
    two = sf.ShiftModel.from_two(first, second, numeric_interval="0.3 std", robustness=0.8)
    many = sf.ShiftModel.from_environments(
        {"north": first, "south": second},
        robustness=0.8,
        numeric_interval=two.numeric_interval["marker"],
        subtract_chance=False,
    )
    for name in ("marker", "age"):
        assert moves(two)[name] == pytest.approx(wasserstein_distance(first[name], second[name]))
        assert moves(many)[name] == pytest.approx(moves(two)[name])
        assert two.numeric_interval[name] == pytest.approx(0.3 * first[name].std(ddof=0))
    shares = [table["ward"].value_counts(normalize=True).sort_index() for table in (first, second)]
    expected = 1 - 0.5 * np.abs(shares[0] - shares[1]).sum()
    assert two.categorical_certainty["ward"] == pytest.approx(expected)
    assert many.categorical_certainty["ward"] == pytest.approx(expected)


def test_equal_sites_do_not_shift() -> None:
    doubts, raw_doubts = [], []
    for seed in range(6):
        X, groups = sites([0.0] * 5, n=500, seed=seed)
        y = np.random.default_rng(100 + seed).logistic(size=len(X)) < X["marker"]
        for into, subtract in ((doubts, True), (raw_doubts, False)):
            found = sf.ShiftModel.from_environments(X, groups, y, subtract_chance=subtract)
            rho = [found.numeric_certainty["marker"], found.categorical_certainty["ward"], found.label_certainty]
            into.append([*(1 - np.array(rho, dtype=float)), moves(found)["marker"], moves(found)["age"] / 12])
    mean, raw = np.mean(doubts, axis=0), np.mean(raw_doubts, axis=0)
    assert mean[0] < 1e-6
    # What nobody has seen to shift is not known never to: of 2,500 rows one might.
    assert np.all(np.min(doubts, axis=0)[1:3] > 0.99 / 2500) and np.min(np.array(doubts)[:, 0]) > 0
    assert np.all(mean[1:] < [0.018, 0.03, 0.03, 0.03])
    assert np.all(mean < 0.6 * raw)


def test_shifts_that_were_simulated_are_found_again() -> None:
    offsets = [0.0, 0.4, -0.3, 0.6, -0.7]
    population, names = sites(offsets, n=100_000, seed=99, lean=0.08)
    truth = sf.ShiftModel.from_environments(population, names, subtract_chance=False)
    # A site's mean lies 5/4 of its distance from the mean of all away from the others.
    assert moves(truth)["marker"] == pytest.approx(np.mean(np.abs(offsets)) * 5 / 4, rel=0.05)
    found, raw = [], []
    for seed in range(12):
        X, groups = sites(offsets, n=150, seed=seed, lean=0.08)
        for into, subtract in ((found, True), (raw, False)):
            shift = sf.ShiftModel.from_environments(X, groups, subtract_chance=subtract)
            into.append([moves(shift)["marker"], 1 - shift.categorical_certainty["ward"], moves(shift)["age"]])
    expected = [moves(truth)["marker"], 1 - truth.categorical_certainty["ward"]]
    for at, value in enumerate(expected):
        estimates = np.array(found)[:, at]
        error = estimates.std(ddof=1)
        assert abs(estimates.mean() - value) < error
        assert abs(estimates.mean() - value) < abs(np.array(raw)[:, at].mean() - value)
    # Ages do not differ: what is left of their moves is a fraction of what chance shows.
    assert np.array(found)[:, 2].mean() < 0.5 * np.array(raw)[:, 2].mean()


def test_neither_order_nor_names_nor_units_matter() -> None:
    X, groups = sites([0.0, 0.4, -0.3])
    first = sf.ShiftModel.from_environments(X, groups)
    order = np.random.default_rng(0).permutation(len(X))
    renamed = [{"north": 3, "south": 1, "west": 2}[name] for name in groups[order]]
    second = sf.ShiftModel.from_environments(X.iloc[order], renamed)
    metres = sf.ShiftModel.from_environments(X.assign(marker=X["marker"] * 1e3 + 5e4), groups)
    library = sf.ShiftModel.from_environments(pl.from_pandas(X), pl.Series(groups))
    for other in (second, metres, library):
        assert other.numeric_certainty == pytest.approx(first.numeric_certainty)
        assert other.categorical_certainty == pytest.approx(first.categorical_certainty)
    assert metres.numeric_interval["marker"] == pytest.approx(1e3 * first.numeric_interval["marker"])
    array = sf.ShiftModel.from_environments(X[["marker", "age"]].to_numpy(), groups)
    assert list(array.numeric_certainty.values()) == pytest.approx(list(first.numeric_certainty.values()))


def test_a_column_that_a_site_lacks_counts_as_filled_and_is_named() -> None:
    X, groups = sites([0.0, 0.4, -0.3, 0.2])
    gaps = X.copy()
    gaps.loc[groups == "west", ["marker", "ward"]] = None
    tables = {name: X[groups == name] for name in SITES[:4]}
    tables["west"] = tables["west"][["age"]]
    filled = X.assign(marker=gaps["marker"].fillna(gaps["marker"].median()), ward=gaps["ward"].fillna("none"))
    expected = sf.ShiftModel.from_environments(filled, groups, numeric_interval={"marker": 0.5, "age": 5.0})
    message = "never measured: column 'marker' in site 'west'; column 'ward' in site 'west'"
    for given, names in ((gaps, groups), (tables, None), (list(tables.values()), list(tables))):
        with pytest.warns(sf.UnmeasuredColumnWarning, match=message):
            found = sf.ShiftModel.from_environments(given, names, numeric_interval={"marker": 0.5, "age": 5.0})
        assert found.numeric_certainty == pytest.approx(expected.numeric_certainty)
        assert found.categorical_certainty == pytest.approx(expected.categorical_certainty)
    complete = sf.ShiftModel.from_environments(X, groups, numeric_interval={"marker": 0.5, "age": 5.0})
    assert found.numeric_certainty["marker"] < complete.numeric_certainty["marker"]
    assert found.categorical_certainty["ward"] < complete.categorical_certainty["ward"]
    # Single gaps are no reason for a warning.
    few = X.copy()
    few.loc[:5, "marker"] = np.nan
    sf.ShiftModel.from_environments(few, groups)


def test_columns_that_no_site_shifts_still_have_a_price() -> None:
    # The same rows at each site; two of a rare level, both with the outcome: a column without a price would separate them.
    rng = np.random.default_rng(4)
    one = pd.DataFrame({"age": rng.normal(60, 12, 80), "ward": ["rare"] * 2 + ["icu"] * 39 + ["day"] * 39})
    ill = (rng.random(80) < 0.5) | (one["ward"] == "rare")
    X, y, groups = pd.concat([one] * 3), np.tile(ill, 3), np.repeat(SITES[:3], 80)
    shift = sf.ShiftModel.from_environments(X, groups)
    assert shift.categorical_certainty["ward"] == 1 - 1 / 240
    found = shift.calibrate(X)
    assert max(*found.numeric_weights.values(), *found.categorical_weights.values()) < math.inf
    assert sf.RobustLogisticRegression(shift=shift).fit(X, y).certificate_.verified
    constant = sf.ShiftModel.from_environments(X.assign(age=3.0, ward="icu"), groups)
    assert constant.numeric_certainty["age"] == 1.0


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.filterwarnings("ignore:.*nearly decides the label")  # a table made to be told apart
def test_a_column_that_one_of_two_tables_never_measured_is_accepted_and_named(paired: bool) -> None:
    X, groups = sites([0.0, 0.0])
    before, after = (X[groups == name].reset_index(drop=True) for name in SITES[:2])
    lost = after.assign(marker=np.nan)
    with pytest.warns(sf.UnmeasuredColumnWarning, match="column 'marker' in table 'after'"):
        found = sf.ShiftModel.from_two(before, lost, paired=paired)
    filled = np.full(len(after), before["marker"].median())
    distance = (
        np.abs(before["marker"] - before["marker"].median()).mean()
        if paired
        else wasserstein_distance(before["marker"], filled)
    )
    assert moves(found)["marker"] == pytest.approx(distance)
    with pytest.warns(sf.UnmeasuredColumnWarning, match="column 'marker' in table 'before'; column 'ward' in table 'before'"):
        other = sf.ShiftModel.from_two(before[["age"]], after, paired=paired)
    # Its standard deviation is that of the table that has one, and its certainty is one that a model can be calibrated to.
    assert other.numeric_interval["marker"] == pytest.approx(0.4 * after["marker"].std(ddof=0))
    assert other.calibrate(after).categorical_weights["ward"] < 1.0
    assert sf.RobustLogisticRegression(shift=other).fit(after, after["age"] > 60).certificate_.verified


def test_types_of_a_column_that_differ_between_tables_are_brought_together() -> None:
    first = pd.DataFrame({"seen": [True, False, True, True], "dose": [1, 2, 3, 4], "unit": pd.Categorical(list("aabb"))})
    second = pd.DataFrame({"unit": ["a", "b", "b", "c"], "dose": [1.5, 2.5, 3.5, 4.5], "seen": [0, 1, 1, 1]})
    found = sf.ShiftModel.from_two(first, second)
    assert moves(found)["dose"] == pytest.approx(0.5)
    assert found.categorical_certainty == pytest.approx({"seen": 1.0, "unit": 0.75})


def test_labels_that_follow_the_columns_alike_everywhere_are_sure() -> None:
    rng = np.random.default_rng(1)
    # Sites have very different rows, and so very different shares of the outcome, by the same rule.
    X, groups = sites([-1.0, 0.0, 1.0, 2.0], n=1500)
    y = rng.logistic(size=len(X)) < 1.5 * X["marker"]
    assert np.ptp([y[groups == name].mean() for name in SITES[:4]]) > 0.4
    same = sf.ShiftModel.from_environments(X, groups, y)
    assert same.label_certainty is not None and same.label_certainty > 0.98


def test_sites_where_the_outcome_is_more_common_make_labels_unsure_by_as_much() -> None:
    rng = np.random.default_rng(2)
    X, groups = sites([0.0, 0.0], n=4000)
    # Nothing predicts the outcome; of the second site 20 % more have it.
    y = np.where(rng.random(len(X)) < np.where(groups == "south", 0.6, 0.4), "ill", "well")
    found = sf.ShiftModel.from_environments(X, groups, y)
    assert found.label_certainty == pytest.approx(0.8, abs=0.02)
    tables = {name: X[groups == name] for name in SITES[:2]}
    by_table = {name: y[groups == name] for name in SITES[:2]}
    for labels in (by_table, y):
        assert sf.ShiftModel.from_environments(tables, y=labels).label_certainty == pytest.approx(found.label_certainty)
    listed = sf.ShiftModel.from_environments(list(tables.values()), y=list(by_table.values()))
    assert listed.label_certainty == pytest.approx(found.label_certainty)
    model = sf.RobustLogisticRegression(shift=found).fit(X, y)
    assert model.label_weight_ == pytest.approx(math.log(found.label_certainty / (1 - found.label_certainty)))
    assert model.certificate_.verified


def test_a_relation_that_one_site_reverses_makes_labels_unsure() -> None:
    rng = np.random.default_rng(3)
    X, groups = sites([0.0] * 5, n=800)
    score = 1.5 * X["marker"]
    same = sf.ShiftModel.from_environments(X, groups, rng.logistic(size=len(X)) < score)
    odd = sf.ShiftModel.from_environments(X, groups, rng.logistic(size=len(X)) < np.where(groups == "west", -score, score))
    assert same.label_certainty is not None and odd.label_certainty is not None
    assert odd.label_certainty < 0.92 < 0.97 < same.label_certainty


def test_sites_with_one_outcome_each_make_labels_as_unsure_as_they_can_be() -> None:
    X, groups = sites([0.0, 0.0], n=300)
    found = sf.ShiftModel.from_environments(X, groups, groups == "south")
    assert found.calibrate(X).label_weight == pytest.approx(0.01)


def test_a_category_below_chance_is_raised_and_told_of_sites() -> None:
    X = pd.DataFrame({"lab": ["a"] * 20 + ["b"] * 20 + ["c"] * 20, "town": ["x", "y"] * 30})
    with pytest.warns(sf.BelowChanceWarning, match="column 'lab': a share of 0.* from one site to the others"):
        found = sf.ShiftModel.from_environments(X, np.repeat([1, 2, 3], 20))
    assert found.categorical_certainty["town"] == 1 - 1 / 60
    assert 0 < found.calibrate(X).categorical_weights["lab"] < 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda X, groups: (X,), "groups is missing"),
        (lambda X, groups: (X, groups[:-1]), "X has 1200 rows, groups has 1199 entries"),
        (lambda X, groups: (X, np.full(len(X), "north")), "there is one environment only, 'north'"),
        (lambda X, groups: ({"a": X},), "there is one environment only, 'a'"),
        (lambda X, groups: ({"a": X, "b": X}, groups), "groups has nothing to say"),
        (lambda X, groups: ([X, X], ["a"]), "X has 2 tables, groups has 1 names"),
        (lambda X, groups: ([X, X], ["a", "a"]), "environment 'a' is named twice"),
        (lambda X, groups: ([np.ones((3, 2)), np.ones((3, 1))],), r"they have \[1, 2\] columns and no names"),
        (lambda X, groups: ([X, np.ones((3, 3))],), "some have names of columns and some have none"),
        (lambda X, groups: (X, groups, np.arange(len(X)) % 3), "y holds 3 classes"),
        (lambda X, groups: (X, groups, np.arange(10) % 2), "X has 1200 rows, y has 10 labels"),
        (lambda X, groups: ({"a": X, "b": X}, None, {"a": [0], "c": [1]}), "y must name the same environments"),
        (lambda X, groups: (X.assign(age=np.nan), groups), "column 'age' holds no value in any of the tables"),
        (lambda X, groups: (X.assign(age=np.inf), groups), "column 'age', row 0 holds inf"),
    ],
)
def test_environments_that_are_none_are_refused(arguments: Any, message: str) -> None:
    X, groups = sites([0.0, 0.1, 0.2])
    with pytest.raises(ValueError, match=message):
        sf.ShiftModel.from_environments(*arguments(X, groups))


def two_sites() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"a": rng.normal(50, 10, 80), "b": rng.normal(size=80)})
    return X, np.where(X["a"] - 50 + 10 * rng.logistic(size=80) > 0, "p", "q"), np.repeat(["A", "B"], 40)


@pytest.mark.parametrize("unit", [1e300, 1e-300, 1000.0])
def test_the_certainty_of_labels_does_not_depend_on_units(unit: float) -> None:
    X, y, sites = two_sites()
    found = [sf.ShiftModel.from_environments(table, sites, y).label_certainty for table in (X, X.assign(a=unit * X["a"]))]
    assert found[0] == found[1]


def test_settings_that_make_no_sense_are_told_in_words() -> None:
    X, y, sites = two_sites()
    with pytest.raises(sf.exceptions.InvalidTableError, match="X has no tables"):
        sf.ShiftModel.from_environments({})
    with pytest.raises(ValueError, match="y is a mapping of environments to labels, but X is a list"):
        sf.ShiftModel.from_environments([X[:40], X[40:]], None, {"A": y[:40], "B": y[40:]})
    with pytest.raises(sf.exceptions.InvalidTableError, match="column 'a' reaches from -1e\\+308 to 1e\\+308"):
        sf.ShiftModel.from_environments(X.assign(a=np.where(sites == "A", 1e308, -1e308)), sites)
    with pytest.raises(
        sf.exceptions.InvalidTableError, match="holds truth values at 'A' and numbers other than 0 and 1 at 'B'"
    ):
        sf.ShiftModel.from_environments({"A": X[:40].assign(a=X["a"] > 50), "B": X[40:]})
    halves = {"A": X[:40].assign(a=X["a"] > 50), "B": X[40:].assign(a=1.0 * (X["a"] > 50))}
    assert sf.ShiftModel.from_environments(halves).numeric_certainty is not None
    certainty = sf.ShiftModel.from_environments(X[:2], ["A", "B"], ["p", "q"]).label_certainty
    assert certainty is not None and 0.5 < certainty < 0.51
