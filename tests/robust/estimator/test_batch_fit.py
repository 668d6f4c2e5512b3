"""Fits from batches and Parquet files: the model of the table in memory, bounded memory, and clear refusals."""

from __future__ import annotations

import tempfile
import tracemalloc
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.base import clone

import surefoot as sf
from surefoot.design.read import parquet


def draw_rows(rows: int = 400, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": draw.integers(18, 80, rows).astype(float),
            "channel": draw.choice(["web", "phone", "shop"], rows),
            "income": 1e6 + draw.lognormal(3, 0.4, rows),
            "member": draw.random(rows) > 0.5,
        }
    )
    score = 0.04 * (table["age"] - 50) + 1.2 * (table["channel"] == "web") - 0.8 * table["member"]
    labels = np.where(score + draw.logistic(size=rows) > 0, "stays", "leaves")
    return table, labels, draw.integers(0, 4, rows).astype(float)


class Batches:
    """Batches that can be read as often as one likes, and a count of how often they were."""

    def __init__(
        self, X: Any, y: Any, w: Any = None, cuts: tuple[int, ...] = (0, 37, 200, 201, 400), convert: Any = None
    ) -> None:
        self.X, self.y, self.w, self.cuts = X, y, w, cuts
        self.convert = convert or (lambda part: part)
        self.passes = 0

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        self.passes += 1
        for start, stop in pairwise(self.cuts):
            part = self.convert(self.X[start:stop])
            yield (part, self.y[start:stop]) if self.w is None else (part, self.y[start:stop], self.w[start:stop])


def fit_copy(model: sf.RobustLogisticRegression, *data: Any) -> sf.RobustLogisticRegression:
    return clone(model).fit(*data)


def assert_same_model(streamed: sf.RobustLogisticRegression, whole: sf.RobustLogisticRegression) -> None:
    np.testing.assert_allclose(streamed.coef_, whole.coef_, rtol=0, atol=1e-8)
    # The intercept is that of columns as they are, here a million away from 0.
    np.testing.assert_allclose(streamed.intercept_, whole.intercept_, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(streamed.ground_cost_.numeric_weights, whole.ground_cost_.numeric_weights, rtol=1e-12)
    assert streamed.schema_ == whole.schema_
    assert streamed.classes_.tolist() == whole.classes_.tolist() and streamed.classes_.dtype == whole.classes_.dtype


LIBRARIES = {
    "pandas": None,
    "polars": pl.from_pandas,
    "arrow table": lambda part: pa.Table.from_pandas(part, preserve_index=False),
    "arrow batch": lambda part: pa.RecordBatch.from_pandas(part, preserve_index=False),
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_batches_of_every_library_give_the_model_of_the_whole_table(library: str) -> None:
    X, y, w = draw_rows()
    model = sf.RobustLogisticRegression(radius=0.03)
    batches = Batches(X, y, w, convert=LIBRARIES[library])
    assert_same_model(fit_copy(model, batches), fit_copy(model, X, y, w))
    streamed = model.fit(batches)
    assert streamed.certificate_.verified
    assert streamed.n_features_in_ == 4 and streamed.feature_names_in_.tolist() == list(X.columns)
    whole = clone(model).fit(X, y, w)
    assert streamed.certificate_.upper_bound == pytest.approx(whole.certificate_.upper_bound, rel=1e-6)
    assert (streamed.predict(X) == whole.predict(X)).mean() > 0.99
    assert streamed.worst_case(X, y).expected_loss == pytest.approx(whole.worst_case(X, y).expected_loss, rel=1e-4)
    assert len(streamed.coefficients()) == len(whole.coefficients())


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.WeakModelWarning")
@pytest.mark.parametrize(
    "parameters",
    [
        {"label_weight": 0.9},
        {"fit_intercept": False},
        {"numeric_weights": 0.5, "radius": 5.0},
        {"norm": "l2", "label_weight": 1.5, "n_jobs": 2},
        {"norm": "linf", "tol": 1e-3},
    ],
)
def test_parameters_mean_the_same_for_batches(parameters: dict[str, Any]) -> None:
    X, y, _ = draw_rows(seed=1)
    X["income"] -= 1e6
    model = sf.RobustLogisticRegression(**{"radius": 0.03, **parameters})
    assert_same_model(fit_copy(model, Batches(X, y)), fit_copy(model, X, y))
    assert model.fit(Batches(X, y)).certificate_.verified


def test_arrays_in_a_list_and_labels_in_order() -> None:
    draw = np.random.default_rng(2)
    X = draw.normal(size=(300, 4))
    y = (X @ [1.0, -1.0, 0.5, 0.0] + draw.logistic(size=300) > 0).astype(int)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    model = sf.RobustLogisticRegression(radius=0.05)
    batches = list(Batches(X, y, cuts=(0, 50, 299, 300)))
    assert np.unique(batches[0][1]).size == 1
    assert_same_model(fit_copy(model, batches), fit_copy(model, X, y))
    assert not hasattr(model.fit(batches), "feature_names_in_")


def test_a_level_may_appear_first_in_the_last_batch_and_one_without_weight_is_unknown() -> None:
    X, y, _ = draw_rows()
    X.loc[390:, "channel"] = "letter"
    X.loc[5, "channel"] = "fax"
    w = np.ones(400)
    w[5] = 0.0
    model = sf.RobustLogisticRegression(radius=0.03)
    streamed, whole = fit_copy(model, Batches(X, y, w)), fit_copy(model, X, y, w)
    assert_same_model(streamed, whole)
    assert streamed.schema_.columns[1].levels == ("letter", "phone", "shop", "web")
    with pytest.raises(sf.InvalidTableError, match="fax"):
        streamed.predict(X)


def test_gaps_can_be_a_level_in_batches_too() -> None:
    X, y, _ = draw_rows()
    X.loc[210:260, "channel"] = None
    model = sf.RobustLogisticRegression(radius=0.03, missing_categorical="level")
    streamed = fit_copy(model, Batches(X, y))
    assert_same_model(streamed, fit_copy(model, X, y))
    assert streamed.schema_.columns[1].levels[-1] is None


@pytest.mark.parametrize("form", ["file", "text", "directory", "list"])
def test_parquet_files_give_the_model_of_the_table_they_hold(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "PARAMETERS", parquet.ParquetParameters(max_batch_rows=77))
    X, y, w = draw_rows()
    whole = X.assign(answer=y, times=w)
    cuts = [0, 400] if form in ("file", "text") else [0, 150, 400]
    files = []
    for k, (start, stop) in enumerate(pairwise(cuts)):
        files.append(tmp_path / f"part{k}.parquet")
        pq.write_table(pa.Table.from_pandas(whole[start:stop], preserve_index=False), files[-1])
    before = sorted(tmp_path.rglob("*"))
    given = {"file": files[0], "text": str(files[0]), "directory": tmp_path, "list": files}[form]
    model = sf.RobustLogisticRegression(radius=0.03)
    assert_same_model(fit_copy(model, given, "answer", "times"), fit_copy(model, X, y.astype(object), w))
    assert model.fit(given, "answer", "times").certificate_.verified
    assert sorted(tmp_path.rglob("*")) == before


def test_default_prices_do_not_suffer_from_columns_far_from_zero() -> None:
    draw = np.random.default_rng(3)
    X = np.column_stack([1e9 + draw.normal(scale=0.01, size=400), np.full(400, 5.0)])
    y = draw.random(400) > 0.5
    streamed, whole = (sf.RobustLogisticRegression(radius=0.001).fit(*data) for data in ((Batches(X, y),), (X, y)))
    np.testing.assert_allclose(streamed.ground_cost_.numeric_weights, whole.ground_cost_.numeric_weights, rtol=1e-7)
    assert streamed.ground_cost_.numeric_weights[1] == 1.0


class Endless:
    """Batches drawn when they are asked for, so that only the library holds on to anything."""

    def __init__(self, count: int, rows: int) -> None:
        self.count, self.rows = count, rows

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for k in range(self.count):
            draw = np.random.default_rng(k)
            X = draw.normal(size=(self.rows, 10))
            yield X, X[:, 0] - X[:, 1] + draw.logistic(size=self.rows) > 0


def peak(batches: Endless) -> int:
    model = sf.RobustLogisticRegression(radius=0.02, tol=1e-3)
    tracemalloc.start()
    try:
        model.fit(batches)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_ten_times_as_many_batches_need_hardly_more_memory() -> None:
    few, many = peak(Endless(6, 1000)), peak(Endless(60, 1000))
    assert many < 1.5 * few
    assert many < 0.5 * 60 * 1000 * 10 * 8


def test_an_iterator_that_can_be_read_once_is_refused_before_anything_is_read() -> None:
    X, y, _ = draw_rows()
    read = []

    def generator() -> Iterator[tuple[Any, Any]]:
        for batch in Batches(X, y):
            read.append(batch)
            yield batch

    for once in (generator(), iter(list(Batches(X, y))), map(tuple, Batches(X, y))):
        with pytest.raises(sf.InvalidTableError, match=r"read only once.*list of batches.*__iter__.*Parquet"):
            sf.RobustLogisticRegression().fit(once)
    assert read == []


def changed(change: Any) -> Batches:
    """Batches of which number 2 (rows 200 and 201 to 400) has been changed."""
    X, y, w = draw_rows()
    source = Batches(X, y, w, cuts=(0, 37, 200, 400))
    original = source.__iter__

    class Changed(Batches):
        def __iter__(self) -> Iterator[tuple[Any, ...]]:
            for k, batch in enumerate(original()):
                yield change(*batch) if k == 2 else batch

    return Changed(X, y, w)


def put(X: pd.DataFrame, column: str, place: int, value: Any) -> pd.DataFrame:
    X = X.reset_index(drop=True).copy()
    X.loc[place, column] = value
    return X


BAD_BATCHES = {
    "other names": (
        lambda X, y, w: (X.rename(columns={"age": "years"}), y, w),
        r"batch 2: the columns are 'years'.*batch 0 are 'age'",
    ),
    "fewer columns": (lambda X, y, w: (X[["age"]], y, w), r"batch 2: the columns are 'age', but"),
    "another order": (lambda X, y, w: (X[X.columns[::-1]], y, w), r"batch 2.*same order"),
    "an array among frames": (lambda X, y, w: (X[["age"] * 4].to_numpy(), y, w), r"batch 2: the columns are 'x0'"),
    "text for numbers": (lambda X, y, w: (X.astype({"age": str}), y, w), r"batch 2: column 'age' holds text, but numbers"),
    "numbers for text": (lambda X, y, w: (X.assign(channel=1.5), y, w), r"batch 2: column 'channel' holds numbers, but text"),
    "text for booleans": (lambda X, y, w: (X.astype({"member": str}), y, w), r"batch 2: column 'member' holds text, but bool"),
    "no rows": (lambda X, y, w: (X[:0], y[:0], w[:0]), r"batch 2 has no rows"),
    "a gap": (lambda X, y, w: (put(X, "age", 7, np.nan), y, w), r"batch 2: .*NaN: column 'age'.*row 207"),
    "infinity": (lambda X, y, w: (put(X, "income", 9, np.inf), y, w), r"batch 2: .*infinity: column 'income', row 209"),
    "a missing category": (lambda X, y, w: (put(X, "channel", 3, None), y, w), r"batch 2: .*column 'channel'.*row 203"),
    "a negative weight": (
        lambda X, y, w: (X, y, np.where(np.arange(200) == 4, -1.0, w)),
        r"batch 2: .*row 204 is -1",
    ),
    "too few weights": (lambda X, y, w: (X, y, w[:-1]), r"batch 2: sample_weight has shape \(199,\)"),
    "too few labels": (lambda X, y, w: (X, y[:-1], w), r"batch 2: .*X has 200 rows, y has 199"),
    "a missing label": (lambda X, y, w: (X, np.where(np.arange(200) == 6, None, y), w), r"batch 2: .*first in row 206"),
    "a third class": (lambda X, y, w: (X, np.where(np.arange(200) == 6, "perhaps", y), w), r"3 classes"),
    "four things": (lambda X, y, w: (X, y, w, None), r"batch 2 is a tuple; a batch is a tuple \(X, y\)"),
    "no tuple": (lambda X, y, w: X, r"batch 2 is a DataFrame; a batch is a tuple"),
}


@pytest.mark.parametrize("name", BAD_BATCHES)
def test_a_batch_that_does_not_fit_is_refused_by_number_column_row_and_value(name: str) -> None:
    change, message = BAD_BATCHES[name]
    model = sf.RobustLogisticRegression()
    with pytest.raises(sf.InvalidTableError, match=message):
        model.fit(changed(change))
    assert not hasattr(model, "coef_")


def test_no_batches_one_class_and_batches_that_change_are_refused() -> None:
    X, y, _ = draw_rows()

    class Nothing:
        def __iter__(self) -> Iterator[Any]:
            return iter(())

    with pytest.raises(sf.InvalidTableError, match="no batches"):
        sf.RobustLogisticRegression().fit(Nothing())
    with pytest.raises(sf.InvalidTableError, match="only one class: 'stays'"):
        sf.RobustLogisticRegression().fit(Batches(X, np.full(400, "stays")))
    with pytest.raises(sf.InvalidTableError, match="only one class"):
        sf.RobustLogisticRegression().fit(Batches(X, y, (y == "stays").astype(float)))

    class Growing(Batches):
        def __iter__(self) -> Iterator[tuple[Any, ...]]:
            yield from super().__iter__()
            if self.passes > 1:
                yield self.X[:5], self.y[:5]

    with pytest.raises(sf.InvalidTableError, match="batch 4 is not what it was"):
        sf.RobustLogisticRegression().fit(Growing(X, y))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"radius": 0.0}, "radius is 0"),
        ({"numeric_weights": {"age": np.inf}}, "infinite weight"),
        ({"solver": "graph"}, "solver='graph'"),
        ({"missing_numeric": "median"}, "median"),
    ],
)
def test_what_needs_all_rows_at_once_is_refused(parameters: dict[str, Any], message: str) -> None:
    X, y, _ = draw_rows()
    with pytest.raises(sf.UnsupportedProblemError, match=message):
        sf.RobustLogisticRegression(**parameters).fit(Batches(X, y))


def test_a_parquet_fit_without_target_file_or_column_is_refused(tmp_path: Path) -> None:
    X, y, w = draw_rows()
    path = tmp_path / "table.parquet"
    pq.write_table(pa.Table.from_pandas(X.assign(answer=y), preserve_index=False), path)
    model = sf.RobustLogisticRegression()
    with pytest.raises(sf.InvalidTableError, match="name its target column"):
        model.fit(path)
    with pytest.raises(sf.InvalidTableError, match="name its target column"):
        model.fit(path, y)
    with pytest.raises(sf.InvalidTableError, match="name the column that holds the weights"):
        model.fit(path, "answer", w)
    with pytest.raises(sf.InvalidTableError, match=r"no column 'reply'; its columns are 'age'"):
        model.fit(path, "reply")
    with pytest.raises(sf.InvalidTableError, match="no file or directory"):
        model.fit(tmp_path / "absent.parquet", "answer")
    (tmp_path / "empty").mkdir()
    with pytest.raises(sf.InvalidTableError, match=r"holds no file \*.parquet"):
        model.fit(tmp_path / "empty", "answer")


def test_without_pyarrow_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r'pip install "surefoot\[parquet\]"'):
        sf.RobustLogisticRegression().fit(tmp_path, "answer")


def test_weights_beside_batches_are_refused() -> None:
    X, y, w = draw_rows()
    with pytest.raises(sf.InvalidTableError, match="come with each batch"):
        sf.RobustLogisticRegression().fit(Batches(X, y), sample_weight=w)


# The second pass looks at the first batch only, for columns that decide the label.
@pytest.mark.parametrize("passes", [1, 3, 4, 9])
def test_an_interrupt_in_any_pass_reaches_the_caller_leaves_the_model_as_it_was_and_no_file_behind(
    passes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    X, y, _ = draw_rows()
    model = sf.RobustLogisticRegression(radius=0.03).fit(X, y)
    before = model.coef_

    class Interrupted(Batches):
        def __iter__(self) -> Iterator[tuple[Any, ...]]:
            for k, batch in enumerate(super().__iter__()):
                if self.passes == passes and k == 2:
                    raise KeyboardInterrupt
                yield batch

    with pytest.raises(KeyboardInterrupt):
        model.fit(Interrupted(X, y))
    assert model.coef_ is before
    assert list(tmp_path.iterdir()) == []


def test_sparse_batches_give_the_model_of_the_whole_matrix_and_a_gap_is_named_by_column_and_row() -> None:
    draw = np.random.default_rng(4)
    X = draw.normal(1.0, 1.0, size=(300, 5)) * (draw.random((300, 5)) < 0.4)
    y = X[:, 0] - X[:, 1] + draw.logistic(size=300) > 0
    whole = sparse.csr_array(X)
    model = sf.RobustLogisticRegression(radius=0.02, label_weight=1.5)
    cuts = (0, 100, 220, 300)
    assert_same_model(fit_copy(model, Batches(whole, y, cuts=cuts)), fit_copy(model, whole, y))
    X[231, 3] = np.nan
    with pytest.raises(sf.InvalidTableError, match=r"batch 2: Input X contains NaN: column 3 .* in row 231"):
        model.fit(Batches(sparse.csr_array(X), y, cuts=cuts))
    with pytest.raises(sf.InvalidTableError, match="batch 1 has no rows"):
        model.fit([(whole[:100], y[:100]), (whole[:0], y[:0])])


def test_a_value_that_reads_like_a_row_number_is_quoted_as_it_is() -> None:
    X, y, _ = draw_rows()
    X = X.astype({"age": object})
    X.loc[207, "age"] = "see row 3"
    with pytest.raises(sf.InvalidTableError, match=r"batch 2: column 'age', row 207: 'see row 3' is text"):
        sf.RobustLogisticRegression(categorical_features=["channel", "member"]).fit(Batches(X, y, cuts=(0, 37, 200, 400)))


def test_a_limit_warns_and_keeps_the_bound() -> None:
    X, y, _ = draw_rows()
    with pytest.warns(sf.ConvergenceLimitWarning, match="iteration limit"):
        model = sf.RobustLogisticRegression(radius=0.03, max_iter=1, tol=1e-9).fit(Batches(X, y))
    best = sf.RobustLogisticRegression(radius=0.03).fit(X, y).certificate_
    assert 0 <= model.certificate_.lower_bound <= best.upper_bound <= model.certificate_.upper_bound * (1 + 1e-9)


def test_a_plan_that_proves_too_little_is_solved_more_closely(tmp_path: Path) -> None:
    """Weights over ten powers of ten: the solver's own bound was a claim, and plans in batches are not polished."""
    X = np.array([[-1.0, 1], [0, 0], [3, 1], [1, 0], [0, 1], [-2, 0], [0, 0], [0, 0]])
    y = np.array([0, 0, 1, 1, 1, 0, 0, 1])
    weight = np.array([1.2e-2, 0.32, 1.1e-6, 6.8e-4, 2.7e-6, 5.5e4, 4.3e-6, 3.0e-3])
    batches = [(X[cut], y[cut], weight[cut]) for cut in (slice(0, 2), slice(2, 6), slice(6, 8))]
    model = sf.RobustLogisticRegression(
        radius=0.22656312636902817,
        numeric_weights=[2.49407625],
        categorical_features=[1],
        categorical_weights=[0.50460126],
        label_weight=1.0,
    ).fit(batches)
    assert model.certificate_.verified, model.certificate_.claim
    sf.save(model, tmp_path / "model.surefoot")
    assert sf.verify(sf.load(tmp_path / "model.surefoot"), batches).verified


def test_the_automatic_radius_is_that_of_the_table_in_memory(tmp_path: Path) -> None:
    X, y, w = draw_rows()
    reference = sf.RobustLogisticRegression().fit(X, y, sample_weight=w)
    model = sf.RobustLogisticRegression().fit(Batches(X, y, w))
    assert model.radius_ == reference.radius_
    assert (model.sampling_error_.rows, model.sampling_error_.coefficients) == (w.sum(), 5)
    assert model.sampling_error_.highest == pytest.approx(reference.sampling_error_.highest, rel=1e-12)
    assert sf.verify(model, Batches(X, y, w)).verified
    shares = sf.RobustLogisticRegression().fit(Batches(X, y, w / 7))
    assert shares.sampling_error_.rows == pytest.approx(w.sum() ** 2 / np.square(w).sum())
    X.assign(answer=y, times=w).to_parquet(tmp_path / "rows.parquet")
    read = sf.RobustLogisticRegression().fit(tmp_path / "rows.parquet", "answer", sample_weight="times")
    assert read.radius_ == reference.radius_


def test_prices_that_leave_nothing_to_shift_are_refused_with_the_automatic_radius_too() -> None:
    X, y, _ = draw_rows()
    model = sf.RobustLogisticRegression(numeric_weights=np.inf, categorical_weights=np.inf)
    with pytest.raises(sf.UnsupportedProblemError, match=r"radius is 0|infinite"):
        model.fit(Batches(X, y))
