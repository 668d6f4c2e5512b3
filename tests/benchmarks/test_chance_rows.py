"""The benchmark of chance-constrained SVMs against rows measures what it says."""

from __future__ import annotations

import importlib


def test_fits_against_rows_say_what_was_solved() -> None:
    bench = importlib.import_module("bench_chance_rows")
    found = {kernel: bench.simulated_fit(kernel, count, 600, 60.0, 0) for kernel, count in (("quadratic", None), ("rbf", 40))}
    for row in found.values():
        assert set(row) == set(bench.FIGURES)
        assert row["verified"] and row["accuracy"] > 0.9
    rows = [{"kernel": "rbf", "rows": size, **found["rbf"], "cpu_seconds": size / 100} for size in (600, 6000)]
    (line,) = bench._findings(rows)
    assert "6000 rows in 60.0 CPU seconds" in line and "rows^1.00" in line
