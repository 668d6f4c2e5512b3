"""Partitions answer in their order, whoever is ready first, and their states tell their size."""

from __future__ import annotations

import pickle
import sys
import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from surefoot.design.read.dask_partitions import Asked, Held, LocalPartitions, Refusal
from surefoot.exceptions import InvalidTableError


def doubled_later(state, delay):
    time.sleep(delay)
    return 2 * state


def refused(state, reason):
    if reason is not None:
        raise InvalidTableError(reason)
    return state


def test_answers_come_in_the_order_of_the_partitions():
    pytest.importorskip("dask", reason="needs the extra dask: pip install 'surefoot[dask]'")
    partitions = LocalPartitions([1, 2, 3])
    assert list(partitions.each(doubled_later, [(0.1,), (0.0,), (0.05,)])) == [2, 4, 6]
    assert list(partitions.kept(doubled_later, [(0.0,)] * 3).each(doubled_later, [(0.0,)] * 3)) == [4, 8, 12]
    assert partitions.chosen([2, 0]).states == [3, 1]


def test_the_first_partition_that_refuses_is_the_one_that_is_named():
    pytest.importorskip("dask", reason="needs the extra dask: pip install 'surefoot[dask]'")
    with pytest.raises(InvalidTableError, match="second"):
        LocalPartitions([1, 2, 3]).each(refused, [(None,), ("second",), ("third",)])


def test_a_refusal_does_not_keep_the_other_partitions_of_a_worker_from_answering():
    answers = Asked(refused, ((None,), ("no",), (None,)))([Held(1), Held(2), Held(3)])
    assert [answers[0], answers[2]] == [1, 3]
    assert isinstance(answers[1], Refusal)
    assert str(pickle.loads(pickle.dumps(answers[1])).error) == "no"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.zeros((100, 3)), 2400),
        ((np.zeros(100), [np.zeros(50, dtype=np.int32)], None), 1000),
        (scipy.sparse.csr_array(np.eye(100)), 800 + 400 + 404),
        (Held(Held(np.zeros(100))), 800),
        ((pd.DataFrame({"a": np.zeros(100), "b": np.zeros(100)}, index=range(100)), pd.Series(np.zeros(100))), 2400),
        ("text", 0),
    ],
)
def test_a_state_is_as_large_as_its_arrays(value, expected):
    overhead = sys.getsizeof(Held(None))
    assert expected <= sys.getsizeof(Held(value)) - overhead <= expected + 300
