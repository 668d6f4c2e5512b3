"""Simulated readings of inputs have the noise that their kind says, and the benchmark of defaults compares like with like."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

ROWS, COLUMNS = 400, 5


def readings(kind: str, repeats: int | None = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Noise, inputs, labels and true values of measured inputs of one kind."""
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(ROWS, COLUMNS))
    y = X[:, 0] > 0
    found = importlib.import_module("measured_inputs").measured_inputs(X, y, kind, repeats, draw)
    np.testing.assert_array_equal(found.row_labels, y[found.inputs])
    return found.rows - X[found.inputs], found.inputs, y, X


@pytest.mark.parametrize("kind", ["even", "by column", "drift", "outliers", "counts"])
def test_noise_that_is_alike_has_the_spread_that_its_kind_says(kind: str) -> None:
    noise, *_ = readings(kind, None if kind == "counts" else 8)
    spreads = noise.std(axis=0)
    if kind == "by column":
        expected = np.linspace(0.0, 1.5, COLUMNS)
    elif kind == "drift":
        # One direction of length 1 beside noise of its own in each column.
        assert np.square(spreads).sum() == pytest.approx(1.5**2 + COLUMNS * 0.2**2, rel=0.06)
        assert np.linalg.eigvalsh(np.cov(noise.T))[:-1] == pytest.approx(0.04, rel=0.15)
        return
    else:
        expected = {"even": 0.5, "counts": 1.0, "outliers": np.sqrt(0.85 * 0.3**2 + 0.15 * 2.4**2)}[kind] * np.ones(COLUMNS)
    np.testing.assert_allclose(spreads, expected, rtol=0.08)


def test_inputs_differ_in_how_far_or_how_often_they_are_read() -> None:
    noise, inputs, *_ = readings("by input")
    spreads = np.sqrt(np.bincount(inputs, np.square(noise).mean(axis=1)) / np.bincount(inputs))
    assert np.log(spreads).mean() == pytest.approx(np.log(0.6), abs=0.15) and np.log(spreads).std() == pytest.approx(
        1, rel=0.12
    )
    counts = np.bincount(readings("counts", None)[1])
    assert (counts.min(), counts.max()) == (2, 12) and counts.mean() == pytest.approx(7, abs=0.5)


def test_noise_of_one_class_lies_between_the_classes() -> None:
    noise, inputs, y, X = readings("one class")
    apart = X[y].mean(axis=0) - X[~y].mean(axis=0)
    along = noise @ apart / np.linalg.norm(apart)
    assert along[y[inputs]].std() == pytest.approx(np.hypot(2.0, 0.2), rel=0.08)
    assert along[~y[inputs]].std() == pytest.approx(0.2, rel=0.08)
    assert noise[~y[inputs]].std(axis=0) == pytest.approx(0.2, rel=0.08)


def test_inputs_that_are_taken_keep_their_readings_and_labels() -> None:
    module = importlib.import_module("measured_inputs")
    draw = np.random.default_rng(3)
    X = np.arange(6.0)[:, None] * 100.0 * np.ones(2)
    every = module.measured_inputs(X, np.array([True, False] * 3), "counts", None, draw)
    some = every.take(np.array([1, 4, 5]))
    assert np.array_equal(np.unique(some.inputs), [0, 1, 2]) and some.labels.tolist() == [False, True, False]
    np.testing.assert_allclose(some.means, [[100, 100], [400, 400], [500, 500]], atol=4)
    np.testing.assert_array_equal(some.rows[some.inputs == 1], every.rows[every.inputs == 4])


def test_draws_are_put_together_with_the_error_of_paired_differences() -> None:
    bench = importlib.import_module("bench_chance_defaults")
    names = [f"{single}{model}" for single in ("", "single_") for model in ("ours", *bench.RIVALS)]
    draws = [{**dict.fromkeys(names, 0.5), "ours": ours, "rows": rows} for ours, rows in ((0.8, 0.7), (0.6, 0.6), (0.7, 0.5))]
    found = bench._together(draws)
    assert found["ours_minus_rows"] == pytest.approx(0.1) and found["draws"] == 3
    # Differences are 0.1, 0.0 and 0.2: a standard deviation of 0.1.
    assert found["error_rows"] == pytest.approx(0.1 / np.sqrt(3.0)) and found["single_error_means"] == 0.0
    assert bench._together(draws[:1])["error_rows"] is None
    rows = [{**found, "certified": 1.0, "table": name, "kind": kind, "varies": varies}
            for name in ("german", "sonar") for kind, varies in (("even", False), ("by input", True))]  # fmt: skip
    lines = [*bench._of_kind("by input", rows), *bench._of_others(rows)]
    assert lines[0].startswith("Repeats, inputs that differ, 'by input': readings together (one by one) ours is +0.200")
    assert "+0.100 ± 0.000 (+0.000 ± 0.000) against SVC() on rows in standard units" in lines[0]
    assert "SVC() on rows in standard units on 2 of 2 (least: +0.100, german)" in lines[1]
    assert [line.split(": ")[0] for line in lines[1:]] == [
        "Together, noise alike for all, all tables", "Together, inputs that differ, all tables",
        "Together, noise alike for all, tables on which nothing was chosen",
        "Together, inputs that differ, tables on which nothing was chosen",
    ]  # fmt: skip
