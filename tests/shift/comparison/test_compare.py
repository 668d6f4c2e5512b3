"""Comparisons of tables: what shifted is named, what did not is not, and what cannot be compared is said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from scipy.stats import wasserstein_distance

import surefoot as sf
from surefoot.shift.comparison import compare as comparing


@pytest.fixture(autouse=True)
def few_matched_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole rows are matched a hundred times for every comparison; few of them are enough for what is tested here."""
    monkeypatch.setattr(comparing, "PARAMETERS", replace(comparing.PARAMETERS, matched_rows=80))


def draw_table(rng: np.random.Generator, n: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "skew": rng.lognormal(0, 1.5, n),
            "count": rng.poisson(0.3, n),
            "c": rng.choice(list("abcde"), n, p=[0.5, 0.2, 0.15, 0.1, 0.05]),
            "gap": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
        }
    )


def pair(n_a: int = 300, n_b: int = 250, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    return draw_table(rng, n_a), draw_table(rng, n_b)


def line(found: Any, name: str) -> Any:
    return next(own for own in found.lines if own.name == name)


def quick(*tables: Any, **options: Any) -> Any:
    return sf.compare(*tables, **{"n_permutations": 99, "n_resamples": 79, **options})


@pytest.mark.filterwarnings("ignore:.*nearly decides the label")  # a table made to be told apart
def test_distances_are_those_of_the_columns_in_the_prices_of_a_default_model() -> None:
    a, b = pair()
    found = quick(a, b)
    for name in ("x", "skew", "count"):
        assert line(found, name).distance == pytest.approx(wasserstein_distance(a[name], b[name]) / a[name].std(ddof=0))
    shares = [table["c"].value_counts(normalize=True).reindex(list("abcde"), fill_value=0.0) for table in (a, b)]
    assert line(found, "c").distance == pytest.approx(0.5 * float(np.abs(shares[0] - shares[1]).sum()))
    median = a["gap"].median()
    filled = [table["gap"].fillna(median) for table in (a, b)]
    expected = wasserstein_distance(*filled) / filled[0].std(ddof=0) + abs(a["gap"].isna().mean() - b["gap"].isna().mean())
    assert line(found, "gap").distance == pytest.approx(expected)
    fitted = sf.RobustLogisticRegression(radius=0.1).fit(a.drop(columns="gap"), a["x"] > 0)
    assert line(quick(a, b, model=fitted), "skew").price == pytest.approx(line(found, "skew").price, rel=1e-12)


def test_a_shifted_column_is_named_first_and_the_others_are_left_in_peace() -> None:
    a, b = pair()
    b["x"] += 0.6
    found = quick(a, b)
    assert found.shifted == ("x",) and found.lines[0].name == "x" and found.beyond_chance
    assert found.radius.estimate == pytest.approx(0.6 / a["x"].std(ddof=0), abs=0.15)
    assert found.radius.low < found.radius.estimate < found.radius.high
    assert found.lines[0].joint_share == max(own.joint_share for own in found.lines) or found.lines[0].joint_cost > 0.3
    assert sum(own.joint_cost for own in found.lines) == pytest.approx(found.joint.cost)
    assert "mean" in found.lines[0].change and "*  x" in repr(found)


def test_a_shift_of_level_shares_is_named_with_the_level() -> None:
    a, b = pair()
    b["c"] = np.where(np.arange(len(b)) % 3 == 0, "e", b["c"])
    found = quick(a, b)
    assert found.shifted == ("c",)
    assert found.lines[0].change.startswith("e ")


def test_columns_that_only_go_together_differently_are_beyond_chance_together() -> None:
    rng = np.random.default_rng(3)
    x, w = rng.normal(size=(2, 300))
    a = np.column_stack([x, x + 0.2 * rng.normal(size=300)])
    b = np.column_stack([w, -w + 0.2 * rng.normal(size=300)])
    found = quick(a, b)
    assert found.shifted == () and found.beyond_chance and found.joint.p_value <= 0.05
    assert found.radius.estimate == pytest.approx(found.joint.excess) and found.radius.estimate > 0.3
    assert "how columns go together has changed" in repr(found)


def test_tables_of_one_population_are_seldom_called_shifted() -> None:
    alarms = 0
    for seed in range(200):
        a, b = pair(80, 60, seed=1000 + seed)
        alarms += sf.compare(a, b, n_permutations=39, n_resamples=79, max_rows=1, random_state=seed).beyond_chance
    # 17 or more of 200 happen with probability 0.027 at the level 0.05 itself.
    assert alarms <= 16


def test_the_estimate_of_the_radius_has_no_large_bias_and_its_interval_covers() -> None:
    inside, estimates = 0, []
    for seed in range(30):
        rng = np.random.default_rng([11, seed])
        a, b = rng.normal(size=(300, 4)), rng.normal(size=(300, 4))
        b[:, 0] += 0.5
        b[:, 1] -= 0.8
        radius = sf.compare(a, b, n_permutations=59, n_resamples=79, max_rows=1, random_state=seed).radius
        estimates.append(radius.estimate)
        inside += radius.low <= 1.3 <= radius.high
    # The standard error of the mean is 0.025.
    assert np.mean(estimates) == pytest.approx(1.3, abs=0.08)
    assert inside >= 23


@pytest.mark.parametrize("library", [pl.from_pandas, pa.Table.from_pandas])
def test_the_library_of_a_table_does_not_matter(library: Any) -> None:
    a, b = (table.assign(flag=table["x"] > 0) for table in pair(80, 70))
    plain = quick(a, b)
    found = quick(library(a), library(b))
    assert found.lines == plain.lines
    assert type(found.columns) is type(library(a)) and type(found.to_frame()) is type(library(a))
    assert quick(a, library(b)).lines == plain.lines


def test_arrays_lists_and_sparse_matrices_go_by_position() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(40, 3)), rng.normal(size=(30, 3))
    plain = quick(a, b)
    assert [own.name for own in sorted(plain.lines, key=lambda own: own.name)] == ["x0", "x1", "x2"]
    assert quick(a.tolist(), b.tolist()).lines == plain.lines
    assert quick(scipy.sparse.csr_array(a), scipy.sparse.csr_array(b)).lines == plain.lines
    named = quick(pd.DataFrame(a, columns=["u", "v", "w"]), b)
    assert sorted(own.name for own in named.lines) == ["u", "v", "w"]
    with pytest.raises(sf.InvalidTableError, match="columns go by their order"):
        quick(pd.DataFrame(a, columns=["u", "v", "w"]), b[:, :2])


def test_columns_and_levels_of_one_table_alone_are_named() -> None:
    a, b = pair()
    b = b.rename(columns={"skew": "other"}).assign(c=b["c"].replace({"e": "f"}))
    found = quick(a, b)
    assert found.missing == ("skew",) and found.extra == ("other",)
    assert "lacks the column 'skew'" in repr(found) and "'other'" in repr(found)
    note = line(found, "c").note
    assert "new: 'f'" in note and "gone: 'e'" in note
    with pytest.raises(sf.InvalidTableError, match="no column in common"):
        quick(a[["x"]], b[["c"]])


@pytest.mark.parametrize("name", ["x", "c"])
def test_a_column_without_values_is_a_shift_and_named(name: str) -> None:
    a, b = pair()
    b[name] = None
    found = quick(a, b)
    assert found.shifted[0] == name and line(found, name).note == "no value in the second table"
    back = quick(b, a)
    assert back.shifted[0] == name and "no value in the first table" in line(back, name).note
    both = quick(b, b)
    assert line(both, name).distance == 0


def test_levels_that_are_rare_go_by_chance_and_are_not_named() -> None:
    a = pd.DataFrame({"c": ["p"] * 295 + ["q"] * 5})
    rare = quick(a, pd.DataFrame({"c": ["p"] * 200})).lines[0]
    common = quick(a, pd.DataFrame({"c": ["p"] * 400})).lines[0]
    assert rare.note == "" and common.note == "gone: 'q' (1.7%)"
    assert quick(pd.DataFrame({"c": ["p"] * 400}), a).lines[0].note == "new: 'q' (1.7%)"


def test_more_gaps_are_a_shift() -> None:
    a, b = pair()
    b.loc[np.arange(len(b)) % 4 == 0, "gap"] = np.nan
    found = quick(a, b)
    assert found.shifted == ("gap",)
    assert line(found, "gap").note.startswith("missing ")


def test_constant_columns_and_single_rows_are_compared() -> None:
    same = quick(np.ones((20, 1)), np.ones((25, 1)))
    assert same.lines[0].distance == 0 and same.lines[0].p_value == 1
    moved = quick(np.ones((20, 1)), np.full((25, 1), 3.0))
    assert moved.lines[0].distance == 2 and moved.shifted == ("x0",)  # a constant column costs 1 per unit
    cheap = quick(np.c_[np.ones(50), np.arange(50)], np.c_[np.full(50, 1 + 1e-7), np.arange(50)])
    assert cheap.shifted == ("x0",) and cheap.radius.estimate == pytest.approx(1e-7, rel=0.1)
    one = quick([[1.0, "a"]], [[2.0, "b"]])
    assert not one.beyond_chance and one.radius.lower == pytest.approx(2.0) and one.radius.upper == pytest.approx(2.0)
    assert quick(np.ones((1, 1)), np.zeros((30, 1))).n_rows == (1, 30)


def test_labels_are_a_column_without_a_price_and_text_or_numbers() -> None:
    a, b = pair()
    y_a, y_b = np.where(a["x"] > 0, "yes", "no"), np.where(b["x"] > 0.8, "yes", "no")
    found = quick(a, b, y_a, y_b)
    label = line(found, "(label)")
    assert label.shifted and "has no price here" in label.note and label.change.split()[0] in ("yes", "no")
    assert found.radius.estimate == 0 and "No shift beyond chance" in str(found.radius)
    assert found.beyond_chance and not found.radius.beyond_chance
    amount = quick(a, b, a["x"].to_numpy(), b["x"].to_numpy() + 1.0)
    assert line(amount, "(label)").kind == "numeric" and "(label)" in amount.shifted


def test_the_same_comparison_twice_is_the_same() -> None:
    a, b = pair()
    assert repr(sf.compare(a, b)) == repr(sf.compare(a, b))
    assert sf.compare(a, b, random_state=1).joint.by_chance != sf.compare(a, b, random_state=2).joint.by_chance


def test_tables_longer_than_what_is_exchanged_keep_exact_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = pair(900, 700)
    b["x"] += 0.3
    whole = quick(a, b)
    monkeypatch.setattr(comparing, "PARAMETERS", replace(comparing.PARAMETERS, exchanged_rows=300))
    part = quick(a, b)
    assert part.n_chance_rows == (300, 300) and whole.n_chance_rows == (900, 700)
    for own in whole.lines:
        other = line(part, own.name)
        assert other.distance == own.distance
        assert other.by_chance == pytest.approx(own.by_chance, rel=0.4)  # scaled to all rows
    assert part.shifted == ("x",)


def test_tables_and_options_that_cannot_be_used_are_refused_in_words() -> None:
    a, b = pair(40, 40)
    with pytest.raises(sf.InvalidTableError, match=r"no column is left to compare: 'x' holds numbers in one table"):
        quick(a[["x"]], b[["x"]].assign(x="text"))
    with pytest.raises(sf.InvalidTableError, match=r"holds text in y_a and numbers in y_b\. Give both the same type\.$"):
        quick(a, b, np.full(40, "yes"), np.ones(40))
    with pytest.raises(sf.InvalidTableError, match="X_b: Input X contains infinity: column 'x', row 3"):
        quick(a, b.assign(x=np.where(np.arange(40) == 3, np.inf, b["x"])))
    with pytest.raises(ValueError, match="y_b is missing"):
        quick(a, b, a["x"] > 0)
    with pytest.raises(sf.InvalidTableError, match="y_a has 39 labels"):
        quick(a, b, a["x"][1:] > 0, b["x"] > 0)
    with pytest.raises(ValueError, match="no predict_proba"):
        quick(a, b, model=object())
    with pytest.raises(ValueError, match="at least 39, or no shift"):
        quick(a, b, n_permutations=10)
    with pytest.raises(ValueError, match="level"):
        quick(a, b, level=0)
    assert quick(a, b, categorical_features=["count", "c"]).lines != quick(a, b).lines


def test_the_printed_form_is_one_screen_and_its_markup_escapes_names() -> None:
    rng = np.random.default_rng(0)
    names = [f"<b>{k}</b>" for k in range(40)]
    a, b = (pd.DataFrame(rng.normal(size=(60, 40)), columns=names) for _ in range(2))
    found = quick(a, b)
    assert len(repr(found).splitlines()) <= 24 and "28 more columns" in repr(found)
    assert "<b>1" not in found._repr_html_().replace("<b>Radius", "") and "&lt;b&gt;" in found._repr_html_()


def test_the_long_form_holds_every_number() -> None:
    a, b = pair(60, 60)
    frame = quick(a, b).to_frame()
    assert set(frame["part"]) == {"column", "radius"} and len(frame) == 5 + 3
    assert list(frame.columns) == ["part", "name", "value", "low", "high", "p_value"]


def test_the_picture_shows_distances_and_the_reach_of_chance() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    a, b = pair()
    found = quick(a, b.assign(x=b["x"] + 1))
    shown = found.plot(max_columns=3)
    assert shown.names == [own.name for own in found.lines[:3]]
    np.testing.assert_allclose([bar.get_width() for bar in shown.bars_], [own.distance for own in found.lines[:3]])
    assert len({bar.get_facecolor() for bar in shown.bars_}) == 2
    assert "radius of" in shown.ax_.get_title()
    shown.figure_.canvas.draw()
    pyplot.close("all")
    with pytest.raises(ValueError, match="max_columns"):
        found.plot(max_columns=0)


@pytest.mark.parametrize("model", [False, True])
def test_a_column_whose_type_changed_is_named_and_the_rest_is_compared(model: bool) -> None:
    a, b = pair(100, 90)
    a["smoker"], b["smoker"] = a["count"].clip(0, 1), np.where(b["count"] > 0, "yes", "no")
    y = [(own["x"] > 0).astype(int) for own in (a, b)]
    features = ["x", "c", "smoker"]
    fitted = sf.RobustLogisticRegression(radius=0.1).fit(a[features], y[0]) if model else None
    for order in ((0, 1), (1, 0)):
        tables, labels = [[a, b][at][features] for at in order], [y[at] if model else None for at in order]
        found = quick(*tables, *labels, fitted)
        assert found.retyped == ("smoker",) and "smoker" not in {own.name for own in found.lines}
        assert {"x", "c"} <= {own.name for own in found.lines}
        told = "because the type changed, numbers in one table and text or truth values in the other: the column 'smoker'."
        assert told in repr(found) and found.decomposition is None and bool(found.unjudged) is model
        # Nothing is proven of rows that were not compared as a whole, and no radius is said to stand.
        assert np.isnan(found.radius.upper) and found.radius.covered is None
        assert not model or "cannot be told without 'smoker'" in str(found.radius)
    # The user may say that they are levels, and truth values are numbers where numbers are.
    assert quick(a[features], b[features], categorical_features=["c", "smoker"]).retyped == ()
    assert quick(a[features], a[features].assign(smoker=a["smoker"] > 0)).retyped == ()


def test_notes_and_changes_are_printed_with_their_figures() -> None:
    a, b = pair(100, 100)
    a["c"] = "a level of many words that goes on and on"
    b["c"] = np.array([f"another level of many words, number {k}" for k in range(4)])[np.arange(100) % 4]
    b["gap"] = np.where(np.arange(100) % 2, np.nan, b["gap"])
    found = quick(a, b)
    shown = " ".join(repr(found).split())
    for own in found.lines:
        assert " ".join(own.note.split()) in shown and own.note in found._repr_html_().replace("&#x27;", "'")
    assert "100.0% to 0.0%" in shown and "number 3' (100.0%); gone:" in shown and "1 more" not in shown
    assert max(map(len, repr(found).split("Radius:")[0].splitlines())) < 150
    wide = np.random.default_rng(0).normal(size=(30, 13))
    assert "more columns" not in repr(quick(wide, wide)) and "x12" in repr(quick(wide, wide))


def test_identifiers_are_named_and_not_compared_but_numbers_that_happen_to_differ_are() -> None:
    a, b = pair(200, 150)
    rng = np.random.default_rng(0)
    ids = {
        "growing": (np.arange(200), np.arange(200, 350)),
        "sparse": (rng.permutation(2000)[:200], 5000.0 + rng.permutation(2000)[:150]),
        "text": ([f"A{k}" for k in range(200)], [f"B{k}" for k in range(150)]),
    }
    plain = quick(a, b)
    found = quick(a.assign(**{n: v[0] for n, v in ids.items()}), b.assign(**{n: v[1] for n, v in ids.items()}))
    assert found.identifiers == ("growing", "sparse", "text") and np.isnan(found.radius.upper)
    assert {own.name: own.distance for own in found.lines} == {own.name: own.distance for own in plain.lines}
    assert not found.beyond_chance and "'growing', 'sparse', 'text'" in repr(found)
    # In any order of rows; and a user who names a column has it compared.
    assert quick(a.assign(own=ids["growing"][0][::-1]), b.assign(own=ids["growing"][1])).identifiers == ("own",)
    one = a[["c"]].assign(text=ids["text"][0]), b[["c"]].assign(text=ids["text"][1])
    assert {own.name for own in quick(*one, categorical_features=["c", "text"]).lines} == {"c", "text"}
    # Incomes of two hundred people, numbers with digits behind the point, and numbers that one table repeats.
    income = rng.choice(60_000, 200, replace=False)
    for values in ((income, income[:150] + 30_000), (a["x"], b["x"]), (np.arange(200), np.arange(150) // 2)):
        assert quick(a.assign(own=values[0]), b.assign(own=values[1])).identifiers == ()
    with pytest.raises(sf.InvalidTableError, match="no column is left to compare: 'growing'"):
        quick(*(pd.DataFrame({"growing": values}) for values in ids["growing"]))


@pytest.mark.parametrize("n", [40, 60])
def test_truth_values_that_became_measurements_have_changed_their_type(n: int) -> None:
    rng = np.random.default_rng(3)
    before = pd.DataFrame({"a": rng.random(80) < 0.5, "b": rng.normal(size=80)})
    after = pd.DataFrame({"a": rng.normal(50, 10, n), "b": rng.normal(size=n)})
    for pair in ((before, after), (after, before), (before, after.round())):
        found = quick(*pair)
        assert found.retyped == ("a",) and found.identifiers == ()
    assert quick(before, before[:n].assign(a=before["a"][:n].astype(float))).retyped == ()
