"""Fits on Dask: the model of the same table in memory, from partitions that stay where they are."""

from __future__ import annotations

import os
import signal
import sys
import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

pytest.importorskip("dask.dataframe", reason="needs the extra dask: pip install 'surefoot[dask]'")
pytest.importorskip("distributed", reason="needs the extra dask: pip install 'surefoot[dask]'")

import cloudpickle
import dask
import dask.array as da
import dask.dataframe as dd
from distributed import Client, LocalCluster, wait

import surefoot as sf
from surefoot.design.read.dask_partitions import ClusterPartitions
from surefoot.exceptions import ConvergenceLimitWarning, InvalidTableError, UnsupportedProblemError
from surefoot.robust.streaming import streamed
from surefoot.robust.streaming.resident_partitions import StreamParameters
from surefoot.sklearn_api.progress import ProgressPrinter

SAME = 1e-8


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        yield client


def survey(n_rows, seed=0):
    """Numbers, text, booleans, a declared category with an unused level; labels that follow them; weights, some of them 0."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.normal(50.0, 10.0, n_rows),
            "channel": rng.choice(["web", "phone", "shop"], n_rows),
            "visits": rng.integers(0, 9, n_rows),
            "plan": pd.Categorical(rng.choice(["c", "a", "b"], n_rows), categories=["c", "never", "b", "a"]),
            "member": rng.random(n_rows) < 0.4,
        }
    )
    log_odds = 0.05 * (table["age"] - 50) - 1.2 * (table["channel"] == "phone") + 0.7 * (table["plan"] == "b")
    labels = pd.Series(np.where(log_odds + rng.logistic(size=n_rows) > 0, "stays", "leaves"), name="answer")
    return table, labels, pd.Series(rng.integers(0, 4, n_rows).astype(float), name="times")


def in_dask(*columns, npartitions=5):
    return [dd.from_pandas(column, npartitions=npartitions) for column in columns]


def robust(**options):
    return sf.RobustLogisticRegression(**{"radius": 0.05, **options})


def assert_same_model(model, reference):
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=0, atol=SAME)
    np.testing.assert_allclose(model.intercept_, reference.intercept_, rtol=0, atol=SAME)
    assert model.schema_ == reference.schema_
    assert model.classes_.tolist() == reference.classes_.tolist()
    assert model.classes_.dtype == reference.classes_.dtype
    assert model.certificate_.verified
    assert model.certificate_.upper_bound == pytest.approx(reference.certificate_.upper_bound, rel=1e-12)


def assert_nothing_kept(client):
    """The scheduler forgets released keys a moment later."""
    deadline = time.monotonic() + 10.0
    while time.monotonic() < deadline:
        kept = [str(key) for keys in client.has_what().values() for key in keys]
        if not kept:
            return
        time.sleep(0.05)
    raise AssertionError(f"still on the workers: {kept}")


@pytest.mark.parametrize(
    "options",
    [{}, {"label_weight": 1.0}, {"norm": "l2"}, {"radius": 1e-7}],
    ids=["defaults", "label shift", "l2", "hardly a radius"],
)
def test_a_cluster_finds_the_model_of_the_table_in_memory(client, options):
    table, labels, weights = survey(3000)
    reference = robust(**options).fit(table, labels, weights)
    model = robust(**options).fit(*in_dask(table, labels, weights))
    assert_same_model(model, reference)
    assert type(model.coefficients()) is pd.DataFrame
    assert_nothing_kept(client)


def test_the_automatic_radius_is_that_of_the_table_in_memory():
    table, labels, weights = survey(3000)
    reference = robust(radius="auto").fit(table, labels, weights)
    model = robust(radius="auto").fit(*in_dask(table, labels, weights))
    assert model.radius_ == reference.radius_
    assert model.sampling_error_.rows == weights.sum()
    assert_same_model(model, reference)


def test_threads_without_a_cluster_find_the_model_of_the_table_in_memory():
    table, labels, weights = survey(3000)
    assert_same_model(robust().fit(*in_dask(table, labels, weights)), robust().fit(table, labels, weights))


def test_labels_and_weights_may_be_columns_of_the_table(client):
    table, labels, weights = survey(2000)
    (whole,) = in_dask(table.assign(answer=labels, times=weights))
    assert_same_model(robust().fit(whole, "answer", "times"), robust().fit(table, labels, weights))


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_arrays_are_tables_too(client, sparse):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 6)) * (rng.random((1500, 6)) < 0.3)
    y = (X[:, 0] - X[:, 1] + rng.logistic(size=1500) > 0).astype(np.int8)
    rows = da.from_array(X, chunks=((700, 0, 500, 300), 6))
    if sparse:
        rows = rows.map_blocks(scipy.sparse.csr_array)
        X = scipy.sparse.csr_array(X)
    model = robust().fit(rows, da.from_array(y, chunks=((700, 0, 500, 300),)))
    assert_same_model(model, robust().fit(X, y))
    assert not hasattr(model, "feature_names_in_")


def test_a_sample_that_stays_on_the_workers_leads_to_the_same_model(client, monkeypatch):
    table, labels, weights = survey(3000)
    starts = []
    original = streamed.minimiser_of_sample

    def watched(*arguments):
        starts.append(original(*arguments, StreamParameters(min_rows=1000)))
        return starts[-1]

    monkeypatch.setattr(streamed, "minimiser_of_sample", watched)
    model = robust().fit(*in_dask(table, labels, weights))
    assert len(starts) == 1 and starts[0] is not None
    assert_same_model(model, robust().fit(table, labels, weights))
    assert_nothing_kept(client)


@pytest.mark.filterwarnings("ignore:.*nearly decides the label")  # a table made to be told apart
def test_levels_and_kinds_are_those_of_all_partitions(client):
    """A level, a label and the text of an object column each occur in one partition only; others have no rows at all."""
    table, labels, _ = survey(1200)
    table["channel"] = table["channel"].where(table.index != 1100, "post")
    table["note"] = np.where(table.index < 900, None, "read").astype(object)
    labels[:] = np.where(table["age"] > 50, "stays", "leaves")
    order = np.argsort(labels.to_numpy(), kind="stable")
    table, labels = table.iloc[order].reset_index(drop=True), labels.iloc[order].reset_index(drop=True)
    with dask.config.set({"dataframe.convert-string": False}):
        rows, answers = in_dask(table, labels, npartitions=6)
        rows = dd.concat([rows.partitions[:3], rows.partitions[2:3].query("age > 1000"), rows.partitions[3:]])
        answers = dd.concat([answers.partitions[:3], answers.partitions[:1].loc[10**6 :], answers.partitions[3:]])
        model = robust(missing_categorical="level").fit(rows, answers)
    assert_same_model(model, robust(missing_categorical="level").fit(table, labels))


def count_bytes():
    """Bytes that this process has written to sockets since it was first asked."""
    from distributed.comm.tcp import TCP

    if not hasattr(TCP, "written"):
        TCP.written, original = 0, TCP.write

        async def write(self, *arguments, **options):
            size = await original(self, *arguments, **options)
            TCP.written += size
            return size

        TCP.write = write
    return TCP.written


def drawn(seed, n_rows, n_categories):
    """A partition that is made where it will stay."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n_rows, 6)), columns=list("abcdef"))
    for l in range(n_categories):
        table[f"z{l}"] = pd.Categorical.from_codes(rng.integers(0, 3, n_rows), ["x", "y", "z"])
    score = table["a"] - table["b"] + sum((0.8 - 0.3 * l) * (table[f"z{l}"].cat.codes == 1) for l in range(n_categories))
    return table.assign(answer=(score + rng.logistic(size=n_rows) > 0).astype(np.int8))


@pytest.fixture
def bytes_of_a_fit(client):
    """A function that fits rows made by ``drawn`` and returns all bytes that went over any wire meanwhile."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])

    def total():
        return count_bytes() + sum(client.run(count_bytes).values())

    def measure(n_rows, n_categories):
        rows = dd.from_map(drawn, range(6), n_rows=n_rows, n_categories=n_categories).persist()
        wait(rows)
        before = total()
        model = sf.RobustLogisticRegression(radius=0.02).fit(rows, "answer")
        written = total() - before
        assert model.certificate_.verified
        return written

    yield measure
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def test_what_crosses_the_wire_does_not_grow_with_the_rows(bytes_of_a_fit):
    """Numeric columns have no tied rows: what travels are points and sums, however many rows they are of."""
    few, many = bytes_of_a_fit(1_000, 0), bytes_of_a_fit(30_000, 0)
    # Heartbeats of the cluster are counted too, and a slow machine has more of them.
    assert many < 1.5 * few
    assert many < 0.1 * 6 * 30_000 * 6 * 8


def test_of_rows_with_categories_only_tied_ones_cross_the_wire(bytes_of_a_fit):
    few, many = bytes_of_a_fit(1_000, 2), bytes_of_a_fit(20_000, 2)
    assert many - few < 0.1 * 6 * 20_000 * (6 * 8 + 2 * 4)


def test_predictions_of_a_dask_table_are_lazy_and_those_of_the_table_in_memory(client):
    table, labels, _ = survey(900)
    model = robust().fit(table, labels)
    (rows,) = in_dask(table)
    rows = dd.concat([rows, rows.query("age > 1000")])
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        lazy = getattr(model, name)(rows)
        assert isinstance(lazy, da.Array)
        expected = getattr(model, name)(table)
        found = lazy.compute()
        assert found.dtype == expected.dtype == lazy.dtype
        np.testing.assert_array_equal(found, expected)
    numbers = np.random.default_rng(0).normal(size=(90, 3))
    model = robust().fit(numbers, numbers[:, 0] > 0.1 * numbers[:, 1])
    lazy = model.predict_proba(da.from_array(numbers, chunks=(40, 3)))
    assert lazy.chunks == ((40, 40, 10), (2,))
    np.testing.assert_array_equal(lazy.compute(), model.predict_proba(numbers))


def test_predictions_refuse_other_columns_before_anything_is_computed():
    table, labels, _ = survey(300)
    model = robust().fit(table, labels)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(dd.from_pandas(table.rename(columns={"age": "years"}), npartitions=2))
    with pytest.raises(ValueError, match="X has 2 features"):
        robust().fit(table[["age", "visits", "plan"]].to_numpy(), labels).predict(da.zeros((10, 2)))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda X, y, w: X.__setitem__("age", X["age"].where(X.index != 450)),
            "partition 2: .*NaN: column 'age'.*first in row 50",
        ),
        (
            lambda X, y, w: X.__setitem__("plan", X["plan"].where(X.index != 999)),
            "partition 4: .*column 'plan'.*first in row 199",
        ),
        (lambda X, y, w: y.__setitem__(450, None), "partition 2: Input y contains NaN.*row 50"),
        (lambda X, y, w: y.__setitem__(450, "maybe"), "multiclass"),
        (lambda X, y, w: y.__setitem__(slice(None), "stays"), "only one class: 'stays'"),
        (lambda X, y, w: w.__setitem__(450, -1.0), "partition 2: sample_weight of row 50 is -1.0"),
        (lambda X, y, w: w.__setitem__(y == "stays", 0.0), "only one class: 'leaves'"),
    ],
    ids=["number", "category", "label", "third label", "one label", "weight", "one label counts"],
)
def test_a_value_that_cannot_be_used_is_named_and_nothing_stays_behind(client, spoil, message):
    table, labels, weights = survey(1000)
    weights += 1.0
    spoil(table, labels, weights)
    model = robust()
    with pytest.raises(InvalidTableError, match=message):
        model.fit(*in_dask(table, labels, weights))
    assert not hasattr(model, "coef_")
    assert_nothing_kept(client)


def test_a_column_that_is_text_in_one_partition_and_numbers_in_another_is_refused():
    table, labels, _ = survey(100)
    table["code"] = np.array([1] * 60 + ["one"] * 40, dtype=object)
    with dask.config.set({"dataframe.convert-string": False}):
        rows, answers = in_dask(table, labels)
        with pytest.raises(InvalidTableError, match="'code' is numeric in partition 0 but categorical in partition 3"):
            robust().fit(rows, answers)


def test_labels_that_are_not_partitioned_like_the_rows_are_refused():
    table, labels, weights = survey(100)
    (rows,) = in_dask(table)
    numbers = da.zeros((100, 3), chunks=(50, 3))
    for X, y, w, message in (
        (rows, labels, None, "y is a Series, but X is a dask DataFrame: pass .* or the name of a column"),
        (rows, dd.from_pandas(labels, npartitions=4), None, "X has 5 partitions, but y has 4"),
        (rows, dd.from_pandas(labels, npartitions=5), weights.to_numpy(), "sample_weight is a ndarray"),
        (rows, "answers", None, "y names the column 'answers', but the columns of X are 'age'"),
        (rows, rows[["age"]], None, "y is a dask DataFrame"),
        (rows["age"], rows["age"], None, "X is a dask Series"),
        (numbers, "answers", None, "whose columns have no names"),
        (numbers, da.zeros(100, chunks=((60, 40),)), None, "partition 0 of X has 50 rows, but that of y has 60"),
        (da.zeros((100, 4), chunks=(50, 2)), da.zeros(100, chunks=50), None, r"X.rechunk\(\{1: -1\}\)"),
        (da.zeros(100, chunks=50), da.zeros(100, chunks=50), None, "got 1D dask array"),
        (rows, dd.from_pandas(labels[:90], npartitions=5), None, "partition 0: Found input variables with inconsistent"),
        (rows.query("age > 1000"), rows["member"], None, "no partition has a row"),
    ):
        with pytest.raises(InvalidTableError, match=message):
            robust().fit(X, y, w)
    with pytest.raises(ValueError, match="requires y to be passed"):
        robust().fit(rows)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"radius": 0.0}, "radius is 0"),
        ({"solver": "conic"}, "cannot fit partitions of rows: solver='conic'"),
        ({"missing_numeric": "median"}, "Fill the gaps in the partitions"),
    ],
)
def test_what_needs_all_rows_at_once_is_refused(options, message):
    table, labels, _ = survey(100)
    with pytest.raises(UnsupportedProblemError, match=message):
        robust(**options).fit(*in_dask(table, labels))


def test_an_interrupted_fit_lets_go_of_everything(client, monkeypatch):
    def interrupt(self, progress):
        raise KeyboardInterrupt

    monkeypatch.setattr(ProgressPrinter, "__call__", interrupt)
    model = robust(verbose=1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*in_dask(*survey(1000)))
    assert not hasattr(model, "coef_")
    assert_nothing_kept(client)


def test_a_limit_leaves_a_model_with_a_bound_that_holds(client):
    table, labels, _ = survey(2000)
    with pytest.warns(ConvergenceLimitWarning, match="iteration limit after 1 iterations"):
        model = robust(max_iter=1).fit(*in_dask(table, labels))
    optimum = robust().fit(table, labels).certificate_.upper_bound
    assert model.certificate_.lower_bound <= optimum <= model.certificate_.upper_bound


def test_a_worker_killed_in_the_middle_is_survived(client, monkeypatch):
    table, labels, weights = survey(3000)
    pids = client.run(os.getpid)
    original = ClusterPartitions._gathered
    lost = []

    def kill_and_gather(self, tasks, homes):
        if len(lost) == 12:
            # As late as can be: the answers are there, and their worker goes before they are fetched.
            wait(tasks)
            os.kill(pids[self.homes[0]], signal.SIGKILL)
        answers = original(self, tasks, homes)
        lost.append(answers is None)
        return answers

    monkeypatch.setattr(ClusterPartitions, "_gathered", kill_and_gather)
    model = robust().fit(*in_dask(table, labels, weights))
    assert lost.index(True) == 12 and len(lost) > 20
    assert_same_model(model, robust().fit(table, labels, weights))
    assert_nothing_kept(client)
