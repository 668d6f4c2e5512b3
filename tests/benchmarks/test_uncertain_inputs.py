from __future__ import annotations

import numpy as np
from bench_chance_svm import measure_fit
from uncertain_inputs import SETS, VARIANCE, uncertain_problem


def test_synthetic_sets_are_as_the_paper_describes_them():
    for chosen in SETS:
        problem = uncertain_problem(chosen, "rbf")
        assert (problem.n_batches, problem.samples.shape[1]) == (chosen.n_batches, chosen.n_columns)
        assert problem.labels.sum() == 0
        assert set(problem.sizes) == {50}
        means = np.add.reduceat(problem.samples, problem.starts[:-1]) / 50
        spread = np.var(problem.samples - np.repeat(means, 50, axis=0))
        assert abs(spread - VARIANCE) < 0.1 * VARIANCE
        np.testing.assert_array_equal(problem.samples, uncertain_problem(chosen, "quadratic").samples)


def test_worst_points_are_certified_on_the_small_set():
    account = measure_fit("Syn_2d_20b", "quadratic", "worst-points", 1e-6, 1, 60.0, 0)
    assert account.verified
    assert 0 <= account.gap <= 1e-6
