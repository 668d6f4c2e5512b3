"""The synthetic uncertain inputs are those of the paper, and the benchmark measures what it says."""

from __future__ import annotations

import importlib

import numpy as np
import pytest


def test_synthetic_sets_are_as_the_paper_describes_them() -> None:
    inputs = importlib.import_module("uncertain_inputs")
    for chosen in inputs.SETS:
        problem = inputs.uncertain_problem(chosen, "rbf")
        assert (problem.n_batches, problem.samples.shape[1]) == (chosen.n_batches, chosen.n_columns)
        assert problem.labels.sum() == 0
        assert set(problem.sizes) == {50}
        means = np.add.reduceat(problem.samples, problem.starts[:-1]) / 50
        spread = np.var(problem.samples - np.repeat(means, 50, axis=0))
        assert abs(spread - inputs.VARIANCE) < 0.1 * inputs.VARIANCE
        np.testing.assert_array_equal(problem.samples, inputs.uncertain_problem(chosen, "quadratic").samples)


def test_worst_points_are_certified_on_the_small_set() -> None:
    bench = importlib.import_module("bench_chance_svm")
    account = bench.measure_fit("Syn_2d_20b", "quadratic", "worst-points", 1e-6, 1, 60.0, 0, 1)
    assert account.verified
    assert 0 <= account.gap <= 1e-6


def test_fits_against_rows_say_what_was_solved() -> None:
    bench = importlib.import_module("bench_chance_rows")
    found = {kernel: bench.simulated_fit(kernel, count, 600, 60.0, 0) for kernel, count in (("quadratic", None), ("rbf", 40))}
    for row in found.values():
        assert set(row) == set(bench.FIGURES)
        assert row["verified"] and row["accuracy"] > 0.9
    rows = [{"kernel": "rbf", "rows": size, **found["rbf"], "cpu_seconds": size / 100} for size in (600, 6000)]
    (line,) = bench._findings(rows)
    assert "6000 rows in 60.0 CPU seconds" in line and "rows^1.00" in line


def test_fits_against_inputs_say_how_they_compare_with_svc() -> None:
    bench = importlib.import_module("bench_chance_scale")
    found = bench.scaled_fits("rbf", 40, (0.3, 0.8), 60.0, 0)
    for row in found:
        assert set(row) == {"violation", *bench.FIGURES}
        assert row["verified"] and row["over_svc"] == pytest.approx(row["seconds"] / row["svc_seconds"])
    rows = [{"kernel": "rbf", "inputs": size, **found[0], "cpu_seconds": (size / 100) ** 2} for size in (100, 1000)]
    lines = bench._findings(rows)
    assert lines[0] == "Certified: 2 of 2 fits."
    assert any("inputs^2.00 to inputs^2.00" in line for line in lines)
