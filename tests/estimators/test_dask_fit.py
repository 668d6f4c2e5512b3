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
from surefoot.design.dask_partitions import ClusterPartitions
from surefoot.estimators.progress import ProgressPrinter
from surefoot.exceptions import ConvergenceLimitWarning, InvalidTableError
from surefoot.solvers import streamed

SAME = 1e-8


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        client.wait_for_workers(2)
        yield client


def survey(n_rows, seed=0):
    """Numbers, text, a declared category with an unused level, booleans; labels that depend on them; weights, some of them 0."""
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
    return sf.RobustLogisticRegression(**{"radius": 0.05, "tol": 1e-9, **options})


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


@pytest.mark.parametrize("options", [{}, {"label_weight": 1.0}, {"norm": "l2"}], ids=["defaults", "label shift", "l2"])
def test_a_cluster_finds_the_model_of_the_table_in_memory(client, options):
    table, labels, weights = survey(3000)
    reference = robust(**options).fit(table, labels, weights)
    model = robust(**options).fit(*in_dask(table, labels, weights))
    assert_same_model(model, reference)
    assert type(model.coefficients()) is pd.DataFrame
    assert_nothing_kept(client)


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
    original = streamed.coarse_minimiser_of_parts

    def watched(*arguments):
        starts.append(original(*arguments))
        return starts[-1]

    monkeypatch.setattr(streamed, "FEWEST_ROWS_TO_SAMPLE", 1000)
    monkeypatch.setattr(streamed, "coarse_minimiser_of_parts", watched)
    model = robust(tol=1e-12).fit(*in_dask(table, labels, weights))
    assert len(starts) == 1 and starts[0] is not None
    assert_same_model(model, robust(tol=1e-12).fit(table, labels, weights))
    assert_nothing_kept(client)


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
        answers = dd.concat([answers.partitions[:3], answers.partitions[:1].loc[10**6:], answers.partitions[3:]])
        model = robust(missing_categorical="level").fit(rows, answers)
    assert_same_model(model, robust(missing_categorical="level").fit(table, labels))


def test_a_worker_killed_in_the_middle_is_survived(client, monkeypatch):
    table, labels, weights = survey(3000)
    pids = client.run(os.getpid)
    original = ClusterPartitions._wait
    questions = []

    def kill_and_wait(self, tasks, homes=None):
        questions.append(homes)
        if len(questions) == 15:
            os.kill(pids[self.homes[0]], signal.SIGKILL)
        return original(self, tasks, homes)

    monkeypatch.setattr(ClusterPartitions, "_wait", kill_and_wait)
    model = robust().fit(*in_dask(table, labels, weights))
    assert len(questions) > 20
    assert set(client.run(os.getpid).values()) != set(pids.values())
    assert_same_model(model, robust().fit(table, labels, weights))
    assert_nothing_kept(client)


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
    """Numeric columns have no tied rows: what travels are points and sums, whatever the number of rows."""
    few, many = bytes_of_a_fit(1_000, 0), bytes_of_a_fit(20_000, 0)
    print(few, many)


def test_of_rows_with_categories_only_tied_ones_cross_the_wire(bytes_of_a_fit):
    few, many = bytes_of_a_fit(1_000, 2), bytes_of_a_fit(20_000, 2)
    print(few, many)
