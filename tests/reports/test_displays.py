"""Pictures in scikit-learn's manner: what they show is what the models say, where it was asked for, and once more."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pandas as pd
import pytest

import surefoot as sf

COST = "cost $"


@pytest.fixture(autouse=True)
def no_screen() -> Any:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


def table() -> tuple[pd.DataFrame, np.ndarray]:
    draw = np.random.default_rng(0)
    X = pd.DataFrame({COST: draw.normal(size=150), "grade": draw.choice(["a", "b"], 150), "old": draw.integers(0, 2, 150)})
    score = X[COST] + 1.5 * (X["grade"] == "b") - X["old"]
    return X, np.where(draw.logistic(size=150) < score, "yes", "no")


X, Y = table()


@pytest.fixture(scope="module")
def path() -> Any:
    return sf.RobustLogisticRegressionCV(radii=[0.02, 0.1, 0.4], label_weights=[1.0, np.inf], cv=2).fit(X, Y)


@pytest.fixture(scope="module")
def card() -> Any:
    return sf.RiskScoreClassifier(max_features=3).fit(X.assign(grade=(X["grade"] == "b").astype(int)), Y)


def check_drawn(shown: Any, draw_again: Any) -> None:
    """It was drawn, can be drawn on axes of one's own, and saved."""
    figure, ax = importlib.import_module("matplotlib.pyplot").subplots()
    assert shown.figure_ is shown.ax_.figure
    assert draw_again(ax).ax_ is ax
    assert shown.figure_ is figure
    figure.canvas.draw()


def test_reliability_shows_the_groups_and_their_intervals(path: Any) -> None:
    shown = sf.ReliabilityDisplay.from_estimator(path, X, Y, n_bins=5)
    probability = path.predict_proba(X)[:, 1]
    edges = np.quantile(probability, [0.2, 0.4, 0.6, 0.8])
    groups = np.searchsorted(edges, probability, side="right")
    expected = [[probability[groups == k].mean(), (Y[groups == k] == "yes").mean()] for k in range(5)]
    np.testing.assert_allclose(shown.points_.get_offsets(), expected)
    ends = np.array([segment[:, 1] for segment in shown.intervals_[2][0].get_segments()])
    np.testing.assert_allclose(ends, np.column_stack([shown.bins.low, shown.bins.high]))
    assert shown.ax_.get_xlabel() == "predicted probability of yes"
    check_drawn(shown, lambda ax: shown.plot(ax=ax))
    again = sf.ReliabilityDisplay.from_predictions(Y, probability, n_bins=5)
    np.testing.assert_array_equal(again.bins.observed, shown.bins.observed)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y_prob": [0.5, 1.5]}, r"y_prob\[1\] = 1.5 is no probability"),
        ({"y_prob": [0.5]}, "y_prob has shape"),
        ({"sample_weight": [1.0, -1.0]}, "finite weights at or above 0"),
        ({"n_bins": 0}, "n_bins = 0"),
    ],
)
def test_predictions_that_are_none_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sf.ReliabilityDisplay.from_predictions(["no", "yes"], **{"y_prob": [0.2, 0.7], **given})


def test_the_path_of_scores_has_a_line_per_label_weight(path: Any) -> None:
    shown = sf.RadiusPathDisplay.from_estimator(path)
    assert [line.get_label() for line in shown.lines_] == ["label weight inf", "label weight 1"]
    for line, weight in zip(shown.lines_, (np.inf, 1.0), strict=True):
        points = [point for point in path.path_ if point.label_weight == weight]
        np.testing.assert_allclose(line.get_xdata(), [point.radius for point in points])
        np.testing.assert_allclose(line.get_ydata(), [point.mean_score for point in points])
    assert shown.ax_.get_xscale() == "log"
    check_drawn(shown, lambda ax: shown.plot(ax=ax))


def test_the_path_of_coefficients_is_per_standard_deviation_if_it_knows_them(path: Any) -> None:
    shown = sf.RadiusPathDisplay.from_estimator(path, X, kind="coefficients")
    assert [line.get_label() for line in shown.lines_] == [r"cost \$", "grade = b", "old"]
    chosen = [point.coef for point in path.path_ if point.label_weight == path.label_weight_]
    np.testing.assert_allclose(shown.lines_[0].get_ydata(), [coef[0] * X[COST].std(ddof=0) for coef in chosen])
    np.testing.assert_allclose(shown.lines_[1].get_ydata(), [coef[1] for coef in chosen])
    check_drawn(shown, lambda ax: shown.plot(kind="coefficients", ax=ax))
    with pytest.raises(ValueError, match="kind = 'both'"):
        shown.plot(kind="both")
    with pytest.raises(ValueError, match="has no path_; fit a RobustLogisticRegressionCV"):
        sf.RadiusPathDisplay.from_estimator(sf.RobustLogisticRegression().fit(X, Y))


def test_a_path_that_begins_at_0_is_drawn_on_a_straight_axis(path: Any) -> None:
    shown = sf.RadiusPathDisplay.from_estimator(path)
    shown.radii = shown.radii - shown.radii.min()
    assert shown.plot().ax_.get_xscale() == "linear"


def test_the_worst_case_has_a_bar_per_move(path: Any) -> None:
    moves = path.worst_case(X, Y, radius=0.8).summary()
    assert len(moves) > 2 and None in moves["from"].tolist()
    shown = sf.WorstCaseDisplay.from_estimator(path, X, Y, radius=0.8)
    np.testing.assert_allclose([bar.get_width() for bar in shown.bars_], moves["budget"] / 0.8)
    named = [
        str(line["feature"]) if line["from"] is None else f"{line['feature']}: {line['from']} to {line['to']}"
        for line in moves.to_dict("records")
    ]
    assert [label.get_text().replace(r"\$", "$") for label in shown.ax_.get_yticklabels()] == named
    assert len(sf.WorstCaseDisplay.from_estimator(path, X, Y, radius=0.8, max_moves=2).bars_) == 2
    check_drawn(shown, lambda ax: shown.plot(ax=ax))
    with pytest.raises(ValueError, match="max_moves = 0"):
        sf.WorstCaseDisplay.from_estimator(path, X, Y, max_moves=0)


def test_a_worst_case_without_moves_can_be_drawn(path: Any) -> None:
    shown = sf.WorstCaseDisplay.from_estimator(path, X, Y, radius=0.0)
    assert len(shown.bars_) == 0
    shown.figure_.canvas.draw()


def test_a_card_shows_its_points_and_its_risks(card: Any) -> None:
    shown = sf.ScoreCardDisplay.from_estimator(card)
    assert [bar.get_width() for bar in shown.bars_] == list(card.points_.values())
    assert [label.get_text().replace(r"\$", "$") for label in shown.ax_.get_yticklabels()] == list(card.points_)
    check_drawn(shown, lambda ax: shown.plot(ax=ax))
    small = sf.ScoreCard.from_points({"smoker": 2, "runner": -1}, intercept=-1)
    risks = sf.ScoreCardDisplay.from_card(small, kind="risk")
    np.testing.assert_allclose([bar.get_height() for bar in risks.bars_], [small.risk(total) for total in (-1, 0, 1, 2)])
    assert [label.get_text() for label in risks.ax_.get_xticklabels()] == ["\u22121", "0", "1", "2"]
    with pytest.raises(ValueError, match="kind = 'both'"):
        shown.plot(kind="both")


def test_the_worst_case_of_a_card_can_be_drawn(card: Any) -> None:
    shown = sf.WorstCaseDisplay.from_estimator(card, X.assign(grade=(X["grade"] == "b").astype(int)), Y, radius=0.1)
    assert shown.shares.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("metric", ["auc", "log_loss"])
def test_a_stress_test_is_drawn_as_the_shares_of_its_sets(path: Any, metric: str) -> None:
    shift = sf.ShiftModel(numeric_certainty=0.8, categorical_certainty=0.8)
    plain = sf.RobustLogisticRegression(radius=0.0).fit(X, Y)
    models = {"robust": path, "plain": plain}
    shown = sf.StressDisplay.from_estimator(models, X, Y, shift, metric=metric, n_sets=30, random_state=0)
    assert len(shown.artists_) == 2
    for bars in shown.artists_:
        assert sum(bar.get_height() for bar in bars) == pytest.approx(1.0)
    report = sf.stress_test(models, X, Y, shift, 30, metric, 0)
    np.testing.assert_array_equal(shown.report.of(metric), report.of(metric))
    dashed = [line.get_xdata()[0] for line in shown.ax_.lines if line.get_linestyle() == "--" and len(line.get_xdata())]
    np.testing.assert_allclose(dashed, report.unshifted[:, 0])
    check_drawn(shown, lambda ax: shown.plot(ax=ax))
    with pytest.raises(ValueError, match="it has"):
        sf.StressDisplay.from_report(report, metric="accuracy")


def test_several_scenarios_are_drawn_as_boxes_from_the_worst_to_the_best_set(path: Any) -> None:
    shift = sf.ShiftModel(numeric_certainty=0.8, categorical_certainty=0.8)
    names = ["expected", "certainty -0.2"]
    shown = sf.StressDisplay.from_estimator(path, X, Y, shift, n_sets=20, scenarios=names, random_state=0)
    assert [label.get_text() for label in shown.ax_.get_yticklabels()] == names
    whiskers = [line.get_xdata() for line in shown.artists_[0]["whiskers"]]
    for at, name in enumerate(names):
        values = shown.report.of("auc", scenario=name)
        assert whiskers[2 * at][1] == values.min() and whiskers[2 * at + 1][1] == values.max()
    check_drawn(shown, lambda ax: shown.plot(ax=ax))


def test_without_matplotlib_the_message_says_what_to_install(card: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(ImportError, match="install it, or surefoot with its extra 'plot'"):
        sf.ScoreCardDisplay.from_estimator(card)
