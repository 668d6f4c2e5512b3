"""The benchmark of chance-constrained SVMs against rows measures what it says."""

from __future__ import annotations

import importlib

import pytest


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
