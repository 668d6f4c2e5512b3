"""Platt scaling: the minimum of its objective, weights as repetition, and scores that say nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, logit

from surefoot import ChanceConstrainedSVC
from surefoot.chancesvm.solvers.platt_scaling import fit_platt_scaling


def objective(point: np.ndarray, scores: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    positive, negative = weights[labels > 0].sum(), weights[labels < 0].sum()
    targets = np.where(labels > 0, (positive + 1) / (positive + 2), 1 / (negative + 2))
    margins = point[0] * scores + point[1]
    return float(weights @ (np.logaddexp(0, margins) - targets * margins))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), spread=st.sampled_from([1e-3, 1.0, 1e4]))
def test_no_other_rising_curve_fits_better(seed: int, spread: float) -> None:
    draw = np.random.default_rng(seed)
    scores = draw.normal(size=60)
    labels = np.where(draw.random(60) < expit(2 * scores - 0.5), 1.0, -1.0)
    labels[:2] = -1.0, 1.0
    weights = draw.uniform(0.2, 3, 60)
    found = fit_platt_scaling(spread * scores, labels, weights)
    reference = minimize(objective, [0.0, 0.0], (scores, labels, weights), bounds=[(0, None), (None, None)], tol=1e-12)
    assert objective(np.array([found.slope * spread, found.offset]), scores, labels, weights) <= reference.fun + 1e-8


def test_separated_scores_give_probabilities_inside_0_and_1() -> None:
    scores, labels = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([-1.0, -1.0, 1.0, 1.0])
    found = fit_platt_scaling(scores, labels, np.ones(4)).probability(scores)
    assert (np.diff(found) > 0).all() and 0 < found[0] < 0.5 < found[3] < 1


def test_weights_are_repetitions() -> None:
    draw = np.random.default_rng(3)
    scores, labels, counts = draw.normal(size=30), draw.choice([-1.0, 1.0], 30), draw.integers(1, 4, 30)
    weighted = fit_platt_scaling(scores, labels, counts.astype(float))
    repeated = fit_platt_scaling(scores.repeat(counts), labels.repeat(counts), np.ones(counts.sum()))
    assert weighted.slope == pytest.approx(repeated.slope, abs=1e-9) and weighted.offset == pytest.approx(
        repeated.offset, abs=1e-9
    )


@pytest.mark.parametrize("scores", [np.zeros(6), -np.array([-1.0, -1, -1, 1, 1, 1])], ids=["all equal", "against the labels"])
def test_scores_that_say_nothing_give_the_share_of_the_class(scores: np.ndarray) -> None:
    found = fit_platt_scaling(scores, np.array([-1.0, -1, -1, 1, 1, 1]), np.ones(6))
    assert found.slope == 0 and found.offset == pytest.approx(logit(0.5), abs=1e-12)


def test_who_asks_for_probabilities_that_were_not_fitted_is_told_what_to_do() -> None:
    model = ChanceConstrainedSVC(batches="rows").fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError) as raised:
        model.predict_proba([[0.0]])
    assert "ChanceConstrainedSVC(probability=True). predict and decision_function do without" in str(raised.value.__cause__)
