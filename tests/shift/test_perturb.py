"""Perturbed tables: the laws they follow, the types they keep, and the seeds they depend on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

import surefoot as sf

N = 20_000
# With fixed seeds a p-value is a fact; below this one the law would be wrong.
LEAST_P = 1e-3


def table(n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"x": rng.normal(10.0, 3.0, n), "z": rng.choice(["a", "b", "c", "d"], n), "b": rng.integers(0, 2, n)},
        index=np.arange(n) * 2 + 5,
    )


@pytest.mark.parametrize(
    ("noise", "law"),
    [
        ("laplace", stats.laplace(scale=1.5 / np.log(5))),
        ("gaussian", stats.norm(scale=1.5 / stats.norm.ppf(0.9))),
        ("uniform", stats.uniform(-1.5 / 0.8, 2 * 1.5 / 0.8)),
    ],
)
def test_numeric_shifts_follow_their_law(noise: str, law: Any) -> None:
    X = table()
    moved = next(sf.ShiftModel(0.8, 1.5, noise=noise).perturb(X, random_state=1))
    shift = moved["x"].to_numpy() - X["x"].to_numpy()
    assert stats.kstest(shift, law.cdf).pvalue > LEAST_P
    # The size of a shift tells neither its sign nor the value it started from.
    assert abs(stats.spearmanr(shift, X["x"]).statistic) < 0.03


def test_categories_stay_with_their_certainty_and_else_take_all_other_levels_alike() -> None:
    X = table()
    moved = next(sf.ShiftModel(None, None, {"z": 0.7, "b": 0.9}).perturb(X, random_state=2))
    seen = pd.crosstab(X["z"], moved["z"]).to_numpy()
    expected = np.where(np.eye(4, dtype=bool), 0.7, 0.1) * seen.sum(axis=1, keepdims=True)
    assert stats.chisquare(seen.ravel(), expected.ravel(), ddof=3).pvalue > LEAST_P
    flipped = int((moved["b"] != X["b"]).sum())
    assert stats.binomtest(flipped, N, 0.1).pvalue > LEAST_P
    # Columns shift independently.
    both = pd.crosstab(moved["b"] != X["b"], moved["z"] != X["z"])
    assert stats.chi2_contingency(both).pvalue > LEAST_P
    assert moved["x"].equals(X["x"])


def test_a_table_keeps_its_library_types_index_and_untouched_columns() -> None:
    X = table(200)
    X["declared"] = pd.Categorical(X["z"], categories=["d", "c", "b", "a", "never"])
    X["flag"] = X["b"].astype(bool)
    moved = next(sf.ShiftModel(0.8, None, {"z": 0.5, "b": 0.6, "declared": 0.5, "flag": 0.6}).perturb(X, random_state=0))
    assert moved.index.equals(X.index)
    assert moved.dtypes.to_dict() == X.dtypes.to_dict()
    assert all((moved[name] != X[name]).any() for name in X.columns)

    frame = pl.from_pandas(X.drop(columns="declared")).with_columns(pl.col("z").cast(pl.Categorical).alias("declared"))
    other = next(sf.ShiftModel(0.8, None, 0.6).perturb(frame, random_state=0))
    assert other.schema == frame.schema and not other.equals(frame)

    arrow = frame.drop("declared").to_arrow()
    changed = next(sf.ShiftModel(0.8, None, 0.6).perturb(arrow, random_state=0))
    assert isinstance(changed, pa.Table) and changed.schema.names == arrow.schema.names and not changed.equals(arrow)


@pytest.mark.parametrize("wrap", [pl.from_pandas, pa.Table.from_pandas, lambda frame: frame.to_numpy()])
def test_the_shifts_do_not_depend_on_the_kind_of_table(wrap: Any) -> None:
    X = table(50).reset_index(drop=True)
    model = sf.ShiftModel(0.8, None, 0.6)
    expected = next(model.perturb(X, random_state=4))
    found = next(model.perturb(wrap(X), random_state=4))
    rows = found.to_pandas().to_numpy() if hasattr(found, "to_pandas") else found
    assert (rows == expected.to_numpy()).all()


def test_arrays_of_numbers_stay_arrays_of_numbers() -> None:
    floats = np.random.default_rng(0).normal(size=(30, 2))
    before = floats.copy()
    moved = next(sf.ShiftModel(0.8).perturb(floats, random_state=0))
    assert moved.dtype == np.float64 and (floats == before).all() and (moved != floats).all()
    bits = np.random.default_rng(0).integers(0, 2, (30, 2))
    flipped = next(sf.ShiftModel(None, None, 0.6).perturb(bits, random_state=0))
    assert flipped.dtype == bits.dtype and set(np.unique(flipped)) == {0, 1} and (flipped != bits).any()
    assert next(sf.ShiftModel(0.8).perturb(np.arange(12).reshape(6, 2), random_state=0)).dtype == np.float64


def test_columns_named_by_numbers_are_perturbed_like_others() -> None:
    X = pd.DataFrame({0: [1.0, 2.0, 3.0], 1: ["a", "b", "a"]}, index=[7, 7, 9])
    moved = next(sf.ShiftModel(0.8, None, 0.6).perturb(X, random_state=0))
    assert list(moved.columns) == [0, 1] and list(moved.index) == [7, 7, 9] and (moved[0] != X[0]).all()


def test_table_k_depends_on_the_seed_alone() -> None:
    X, model = table(100), sf.ShiftModel(0.8, None, 0.7)
    few, many = list(model.perturb(X, 2, 7)), list(model.perturb(X, 5, 7))
    assert all(a.equals(b) for a, b in zip(few, many, strict=False))
    assert not many[0].equals(many[1])
    assert not next(model.perturb(X, 1, 8)).equals(many[0])
    assert next(model.perturb(X, 1, np.random.default_rng(3))).equals(next(model.perturb(X, 1, np.random.default_rng(3))))


def test_gaps_stay_gaps_in_numbers_and_are_a_level_among_categories() -> None:
    X = pd.DataFrame({"x": [1.0, np.nan, 3.0] * 100, "z": ["a", None, "b"] * 100})
    moved = next(sf.ShiftModel(0.8, None, 0.5).perturb(X, random_state=0))
    assert (moved["x"].isna() == X["x"].isna()).all()
    assert set(moved["z"].dropna()) == {"a", "b"} and (moved["z"].isna() != X["z"].isna()).any()


@pytest.mark.parametrize("wrap", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas, lambda frame: frame.to_numpy()])
def test_levels_and_spreads_come_from_the_reference(wrap: Any) -> None:
    train, test = table(300), table(300)
    test["z"] = "a"
    test["x"] = 10.0
    moved = next(sf.ShiftModel(0.8, None, 0.6).perturb(wrap(test), random_state=0, reference=wrap(train)))
    cells = moved.to_pandas().to_numpy() if hasattr(moved, "to_pandas") else np.asarray(moved, dtype=object)
    assert set(cells[:, 1]) == {"a", "b", "c", "d"}
    spread = cells[:, 0].astype(float).std()
    assert spread == pytest.approx(np.sqrt(2) * 0.4 * train["x"].std() / np.log(5), rel=0.2)


def test_declared_categories_of_a_test_table_may_be_fewer_than_those_of_the_reference() -> None:
    train = pd.DataFrame({"z": pd.Categorical(["a", "b", "c"] * 20)})
    test = pd.DataFrame({"z": pd.Categorical(["a", "b"] * 20)})
    moved = next(sf.ShiftModel(None, None, 0.5).perturb(test, random_state=0, reference=train))
    assert set(moved["z"]) == {"a", "b", "c"}
    unseen = pd.DataFrame({"z": ["a", "q"] * 20})
    moved = next(sf.ShiftModel(None, None, 0.5).perturb(unseen, random_state=0, reference=train.astype(str)))
    assert set(moved["z"]) == {"a", "b", "c", "q"}


@pytest.mark.parametrize("wrap", [lambda frame: frame, pl.DataFrame.to_arrow], ids=["polars", "pyarrow"])
def test_nulls_stay_nulls(wrap: Any) -> None:
    X = pl.DataFrame({"x": [1.0, None, 3.0], "n": [4, 5, None]})
    moved = pl.DataFrame(next(sf.ShiftModel(0.8).perturb(wrap(X), random_state=0)))
    assert moved.null_count().row(0) == (1, 1) and not moved["x"].is_nan().any()


def test_a_reference_of_another_library_or_type_is_refused_by_name() -> None:
    short, long = (pl.DataFrame({"z": pl.Series(levels * 5, dtype=pl.Enum(levels))}) for levels in (["a", "b"], ["b", "c"]))
    model = sf.ShiftModel(categorical_certainty=0.6)
    with pytest.raises(sf.InvalidTableError, match="column 'z' has type Enum"):
        model.perturb(short, reference=long)
    with pytest.raises(sf.InvalidTableError, match="a table of the same library as X"):
        model.perturb(short, reference=pd.DataFrame({"z": ["a", "b", "c"]}))


def test_a_reference_with_other_columns_is_refused() -> None:
    with pytest.raises(sf.InvalidTableError, match="must have the columns of X, x, z, b"):
        sf.ShiftModel(0.8).perturb(table(10), reference=table(10)[["x", "b"]])


@pytest.mark.parametrize(("n_sets", "random_state", "message"), [(-1, 0, "n_sets = -1"), (1, "a", "random_state = 'a'")])
def test_wrong_numbers_are_refused(n_sets: int, random_state: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sf.ShiftModel(0.8).perturb(table(10), n_sets, random_state)


def test_an_infinite_value_is_refused_by_column_and_row() -> None:
    with pytest.raises(sf.InvalidTableError, match="column 'x', row 1 holds inf"):
        next(sf.ShiftModel(0.8, 1.0).perturb(pd.DataFrame({"x": [1.0, np.inf]})))
