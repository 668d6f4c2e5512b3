"""Looked up rows against rows whose metrics are computed one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.shift.stress.metrics import METRICS, metrics_of_scores
from surefoot.shift.stress.possible_rows import PossibleRows


@settings(max_examples=60, deadline=None)
@given(
    n_levels=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    rows=st.integers(2, 40),
    sets=st.integers(1, 4),
    models=st.integers(1, 3),
    n_bins=st.integers(1, 12),
    step=st.sampled_from([0.0, 0.5, 3.0, 40.0]),
    seed=st.integers(0, 10_000),
)
def test_looked_up_metrics_are_those_of_the_scores(
    n_levels: list[int], rows: int, sets: int, models: int, n_bins: int, step: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    # Few distinct scores, so that ties reach over the ends of bins.
    scores = step * rng.integers(-3, 4, (models, int(np.prod(n_levels))))
    codes = np.stack([rng.integers(0, count, (sets, rows)) for count in n_levels]).astype(np.int32)
    positive = rng.random(rows) < 0.4
    positive[:2] = True, False
    found = PossibleRows(scores, n_levels, positive, METRICS, n_bins).measure(codes)
    places = np.ravel_multi_index(tuple(codes), tuple(n_levels))
    for at in range(sets):
        expected = metrics_of_scores(scores[:, places[at]], positive, METRICS, n_bins)
        assert np.abs(found[:, :, at] - expected).max() < 1e-12
