"""Clusters inside each class: how many, of one label each, and independent of order, unit and repetition of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.chancesvm.inputs.class_clusters import class_clusters, kernel_coordinates, require_batches


def blobs(rows: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    labels = np.where(np.arange(rows) < rows // 3, -1.0, 1.0)
    return draw.normal(size=(rows, 2)) + 6 * draw.integers(0, 3, (rows, 1)), labels


def test_the_number_of_clusters_is_that_of_the_paper_shared_by_the_sizes_of_the_classes() -> None:
    points, labels = blobs()
    codes = class_clusters(points, labels, np.ones(120), None, 0)
    # min(8, 12) = 8, of which the class with a third of the rows gets round(8 / 3) = 3.
    assert np.unique(codes[labels < 0]).tolist() == [0, 1, 2]
    assert np.unique(codes[labels > 0]).tolist() == [3, 4, 5, 6, 7]
    small = class_clusters(points[20:60], labels[20:60], np.ones(40), None, 0)
    assert small.max() + 1 == 4  # 10 % of 40


def test_well_separated_groups_are_found() -> None:
    centres = np.array([[0.0, 0.0], [100.0, 0.0], [0.0, 100.0], [100.0, 100.0]])
    truth = np.repeat(np.arange(4), 10)
    points = centres[truth] + np.random.default_rng(0).normal(size=(40, 2))
    labels = np.where(truth < 2, -1.0, 1.0)
    codes = class_clusters(points, labels, np.ones(40), 4, 0)
    assert len(set(zip(truth.tolist(), codes.tolist(), strict=True))) == 4


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), unit=st.sampled_from([2.0**-500, 1.0, 2.0**500]))
def test_order_unit_and_repetition_of_rows_change_nothing(seed: int, unit: float) -> None:
    draw = np.random.default_rng(seed)
    points, labels = np.round(draw.normal(size=(30, 2)), 1), np.where(draw.random(30) < 0.4, -1.0, 1.0)
    labels[:2] = -1.0, 1.0
    counts = draw.integers(1, 4, 30)
    codes = class_clusters(points, labels, counts.astype(float), 5, 0)
    order = draw.permutation(30)
    assert (
        class_clusters(unit * points[order], labels[order], counts[order].astype(float), 5, 0).tolist() == codes[order].tolist()
    )
    repeated = class_clusters(points.repeat(counts, axis=0), labels.repeat(counts), np.ones(counts.sum()), 5, 0)
    assert repeated.tolist() == codes.repeat(counts).tolist()


def test_constant_and_nearly_constant_rows_make_fewer_clusters_without_a_warning() -> None:
    labels = np.repeat([-1.0, 1.0], 20)
    assert class_clusters(np.ones((40, 3)), labels, np.ones(40), 8, 0).tolist() == [0] * 20 + [1] * 20
    zeros = class_clusters(np.zeros((40, 3)), labels, np.ones(40), None, None)
    assert zeros.max() == 1
    close = 1.0 + np.arange(40)[:, None] * 1e-16
    codes = class_clusters(close, labels, np.ones(40), 8, 0)
    assert np.unique(codes).tolist() == list(range(codes.max() + 1)) and codes.max() <= 7


def test_a_class_of_one_row_is_one_cluster() -> None:
    codes = class_clusters(np.arange(10.0)[:, None], np.array([-1.0] * 9 + [1.0]), np.ones(10), 6, 0)
    assert codes[-1] == codes.max() == 5 and np.sum(codes == 5) == 1


def test_coordinates_of_a_kernel_have_its_distances() -> None:
    points, labels = blobs(20)
    gram = points @ points.T
    found = kernel_coordinates(gram, labels)
    for rows in (np.flatnonzero(labels < 0), np.flatnonzero(labels > 0)):
        expected = np.linalg.norm(points[rows][:, None] - points[rows][None], axis=2)
        np.testing.assert_allclose(np.linalg.norm(found[rows][:, None] - found[rows][None], axis=2), expected, atol=1e-6)


@pytest.mark.parametrize("batches", [1, 0, -3, 2.5, "many", None, True])
def test_a_senseless_number_of_batches_is_refused(batches: Any) -> None:
    with pytest.raises(ValueError, match=r"batches = .* must be 'auto', 'rows', 'clusters', or a whole number of at least 2"):
        require_batches(batches)
    assert [require_batches(word) for word in ("auto", "rows", "clusters")] == ["auto", "rows", "clusters"]
    assert require_batches(np.int64(3)) == 3
