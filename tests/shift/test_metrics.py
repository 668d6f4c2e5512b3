"""Metrics against hand-computed examples, scikit-learn, and plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

from surefoot.shift.stress.metrics import METRICS, metrics_of_probabilities, metrics_of_scores, named_metrics


def measured(probability: list[float], labels: list[int], metric: str, n_bins: int = 10) -> float:
    p = np.array([probability])
    return float(metrics_of_probabilities(1 - p, p, np.array(labels, dtype=bool), (metric,), n_bins)[0, 0])


def test_the_adaptive_calibration_error_of_a_hand_computed_example() -> None:
    # Sorted: 0.1 0.2 | 0.3 0.6 | 0.7 0.8 0.9 with labels 0 1 | 0 1 | 1 1 0: bins of 2, 2 and 3 rows.
    # Means of labels and probabilities: 1/2 and 0.15, 1/2 and 0.45, 2/3 and 0.8.
    expected = (2 * 0.35 + 2 * 0.05 + 3 * (0.8 - 2 / 3)) / 7
    shuffled = [0.8, 0.1, 0.6, 0.9, 0.2, 0.3, 0.7]
    labels = [1, 0, 1, 0, 1, 0, 1]
    assert measured(shuffled, labels, "ace", 3) == pytest.approx(expected, abs=1e-12)


def test_equal_probabilities_share_their_labels_whatever_the_order_of_rows() -> None:
    # Two bins of 2 rows; three rows at 0.5 hold one positive: each counts 1/3. Bins: {0, 1/3} at {0.1, 0.5}, {1/3, 1/3} at 0.5.
    expected = (abs(1 / 3 - 0.6) + abs(2 / 3 - 1.0)) / 4
    for labels in ([0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]):
        assert measured([0.1, 0.5, 0.5, 0.5], labels, "ace", 2) == pytest.approx(expected, abs=1e-12)


def test_fewer_rows_than_bins_make_one_bin_per_row() -> None:
    assert measured([0.2, 0.9], [0, 1], "ace", 10) == pytest.approx(0.15, abs=1e-12)


def test_the_area_under_the_curve_counts_equal_probabilities_half() -> None:
    # Pairs (positive, negative): 0.7 beats 0.2 and ties with 0.7; 0.1 loses twice.
    assert measured([0.7, 0.1, 0.2, 0.7], [1, 1, 0, 0], "auc") == pytest.approx(1.5 / 4, abs=1e-15)
    assert measured([0.0, 1.0], [0, 1], "auc") == 1.0
    assert measured([0.0, 1.0], [1, 0], "auc") == 0.0


@settings(max_examples=40)
@given(
    rows=st.lists(st.tuples(st.integers(-6, 6), st.booleans()), min_size=2, max_size=60),
    scale=st.sampled_from([0.1, 1.0, 5.0]),
)
def test_metrics_agree_with_scikit_learn_and_with_scores(rows: list[tuple[int, bool]], scale: float) -> None:
    scores = np.array([row[0] for row in rows]) * scale
    positive = np.array([row[1] for row in rows])
    positive[0], positive[1] = True, False
    both = np.stack([scores, -scores])
    p = expit(both)
    found = metrics_of_probabilities(expit(-both), p, positive, METRICS)
    for model in range(2):
        assert found[model, 0] == pytest.approx(roc_auc_score(positive, p[model]), abs=1e-12)
        assert found[model, 2] == pytest.approx(log_loss(positive, np.column_stack([expit(-both[model]), p[model]])))
        assert found[model, 3] == pytest.approx(accuracy_score(positive, p[model] > 0.5))
    assert metrics_of_scores(both, positive, METRICS) == pytest.approx(found, abs=1e-12)


def test_calibration_error_agrees_with_a_plain_loop() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(1234)
    y = rng.random(1234) < p**1.3
    order = np.argsort(p)
    bins = np.split(order, np.cumsum([123] * 6 + [124] * 4)[:-1])
    expected = sum(len(rows) / 1234 * abs(y[rows].mean() - p[rows].mean()) for rows in bins)
    assert metrics_of_probabilities(1 - p[None], p[None], y, ("ace",))[0, 0] == pytest.approx(expected, abs=1e-12)


def test_the_loss_of_hopeless_scores_is_finite() -> None:
    scores, positive = np.array([[-2000.0, 3.0]]), np.array([True, False])
    assert metrics_of_scores(scores, positive, ("log_loss",))[0, 0] == pytest.approx((2000 + np.logaddexp(0, 3)) / 2)
    zero = np.array([[0.0, 0.5]])
    assert np.isfinite(metrics_of_probabilities(1 - zero, zero, positive, ("log_loss",))).all()


@pytest.mark.parametrize("chosen", ["f1", ("auc", "auc"), ()])
def test_unknown_or_repeated_metrics_are_refused_with_the_known_names(chosen: object) -> None:
    with pytest.raises(ValueError, match="must be names among 'auc', 'ace', 'log_loss', 'accuracy'"):
        named_metrics(chosen)
