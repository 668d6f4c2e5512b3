"""The independent cone programme of uncertain inputs finds known optima, and refutes certificates that say too much."""

from __future__ import annotations

import importlib
from dataclasses import replace

import numpy as np
import pytest

import surefoot as sf


def test_two_inputs_on_a_line_have_the_margin_that_can_be_computed_by_hand() -> None:
    # Means -2 and 2, deviations 1, tau = 1 at a violation of 0.5: 1 + |w| = 2 w, so that w = 1, and slack is dearer than that.
    samples = np.array([-3.0, -1.0, 1.0, 3.0])
    conic = importlib.import_module("svm_conic_model").ConicModel(
        np.outer(samples, samples),
        np.array([0, 2, 4]),
        np.full(4, 0.5),
        np.array([-1.0, 1.0]),
        np.full(2, 10.0),
        np.full(2, 0.5),
    )
    assert conic.least() == pytest.approx(0.5, rel=1e-8)
    assert conic.objective(samples, 1.0) == pytest.approx(0.5)
    assert conic.objective(samples, 1.0, intercept=0.1) == pytest.approx(0.5 + 10.0 * 0.1)


@pytest.mark.filterwarnings("ignore::surefoot.SingleSampleWarning", "ignore::surefoot.WeakModelWarning")
@pytest.mark.parametrize("seed", [3, 8])
def test_a_certificate_is_agreed_with_and_a_worse_plane_is_not(seed: int) -> None:
    bench = importlib.import_module("bench_chance_verdicts")
    drawn = bench.draw(seed)
    model = sf.ChanceConstrainedSVC(**drawn.params).fit(drawn.X, drawn.y, groups=drawn.groups)
    conic, scores = bench.reference(drawn, model)
    best, square = conic.least(), bench._squared_length(conic, model)
    own = conic.objective(scores, square, 0.0)
    assert model.certificate_.verified
    assert own == pytest.approx(best, rel=2e-6)
    assert not bench.is_false(model.certificate_, own, best, 1e-9 * best)
    longer = conic.objective(1.05 * scores, 1.05**2 * square, 0.0)
    assert longer > own
    assert bench.is_false(model.certificate_, longer, best, 1e-9 * best)
    assert bench.is_false(replace(model.certificate_, upper_bound=0.9 * own), own, best, 1e-9 * best)
