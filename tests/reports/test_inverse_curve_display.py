"""Learning curves: what is drawn is what was measured, and every fit sees only the examples it should."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import pytest

from surefoot.core.arrays import AnyArray, FloatArray
from surefoot.reports.displays.inverse_curve_display import InverseCurveDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


class MeanDecider:
    """Decides the mean of the responses it has seen, whatever the signal."""

    cost_: FloatArray
    n_seen_: int

    def __init__(self, log: list[list[Any]] | None = None) -> None:
        self.log = [] if log is None else log

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return type(self)(self.log)

    def fit(self, signals: list[Any], responses: AnyArray) -> Self:
        self.log.append(list(signals))
        self.n_seen_ = len(signals)
        self.cost_ = np.array([1.0, 1.0 / len(signals)])
        self.mean_ = responses.mean(axis=0)
        return self

    def predict(self, signals: list[Any]) -> FloatArray:
        return np.tile(self.mean_, (len(signals), 1))


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    yield
    importlib.import_module("matplotlib.pyplot").close("all")


def examples(count: int) -> tuple[list[int], FloatArray]:
    return list(range(count)), np.column_stack([np.arange(count), np.ones(count)]).astype(np.float64)


def test_each_run_learns_from_growing_parts_of_one_order() -> None:
    signals, responses = examples(6)
    model = MeanDecider()
    display = InverseCurveDisplay.from_estimator(
        model, signals, responses, signals, responses, train_sizes=[2, 4, 6], n_orders=3, random_state=0
    )
    assert not hasattr(model, "cost_"), "the model given must not be fitted"
    assert [len(seen) for seen in model.log] == [2, 4, 6] * 3
    for run in range(3):
        two, four, six = model.log[3 * run : 3 * run + 3]
        assert four[:2] == two and six[:4] == four and sorted(six) == signals
    assert display.errors["MeanDecider"].shape == (3, 3)
    # All examples seen: the mean is 2.5, the mean distance to 0..5 is 1.5, in every run.
    np.testing.assert_allclose(display.errors["MeanDecider"][:, 2], 1.5)


def test_the_picture_shows_means_and_percentiles_of_every_curve() -> None:
    generator = np.random.default_rng(1)
    errors = {"one": generator.uniform(size=(10, 3)), "only": generator.uniform(size=(1, 3))}
    display = InverseCurveDisplay(np.array([5, 10, 20]), errors, "decision error").plot()
    np.testing.assert_allclose(display.lines_["one"].get_ydata(), errors["one"].mean(axis=0))
    np.testing.assert_allclose(display.lines_["one"].get_xdata(), [5, 10, 20])
    corners = display.bands_["one"].get_paths()[0].vertices
    np.testing.assert_allclose(corners[:, 1].max(), np.percentile(errors["one"], 95, axis=0).max())
    assert set(display.bands_) == {"one"}, "one run has no band"
    assert display.ax_.get_xlabel() == "examples learned from"
    assert display.ax_.get_ylabel() == "mean distance of decisions"
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["one", "only"]


def test_it_draws_into_the_axes_it_is_given() -> None:
    figure, ax = importlib.import_module("matplotlib.pyplot").subplots()
    display = InverseCurveDisplay([1, 2], {"a": [0.5, 0.1]}).plot(ax=ax)
    assert display.ax_ is ax and display.figure_ is figure


def test_metrics_of_the_cost_need_the_cost_and_use_it() -> None:
    signals, responses = examples(4)
    common: dict[str, Any] = {"train_sizes": [1, 4], "n_orders": 1, "random_state": 0}
    with pytest.raises(ValueError, match="metric='cost angle' compares with the true cost"):
        InverseCurveDisplay.from_estimator(MeanDecider(), signals, responses, signals, responses, metric="cost angle", **common)
    display = InverseCurveDisplay.from_estimator(
        MeanDecider(), signals, responses, signals, responses, metric="cost angle", cost=[1.0, 1.0], **common
    )
    expected = [0.0, np.pi / 4 - np.arctan(0.25)]
    np.testing.assert_allclose(display.errors["MeanDecider"][0], expected, atol=1e-12)
    display = InverseCurveDisplay.from_estimator(
        {"mean": MeanDecider()},
        signals,
        responses,
        signals,
        responses,
        metric="relative cost difference",
        cost=[1.0],
        features=lambda signal, response: [2.0 + response[0] ** 2],
        **common,
    )
    # Mean decision 1.5: its feature is 2 + 2.25 against 2 + 14/4 on average.
    assert display.errors["mean"][0, 1] == pytest.approx((4.25 - 5.5) / 5.5)
    share = InverseCurveDisplay.from_estimator(
        MeanDecider(), signals, responses, signals, responses, metric="unpredicted share", **common
    )
    np.testing.assert_allclose(share.errors["MeanDecider"], [[0.75, 1.0]])


def test_the_same_random_state_draws_the_same_orders() -> None:
    signals, responses = examples(8)
    found = [
        InverseCurveDisplay.from_estimator(MeanDecider(), signals, responses, signals, responses, random_state=state).errors
        for state in (3, 3, 4)
    ]
    np.testing.assert_array_equal(found[0]["MeanDecider"], found[1]["MeanDecider"])
    assert not np.array_equal(found[0]["MeanDecider"], found[2]["MeanDecider"])
    assert found[0]["MeanDecider"].shape == (5, 5)


@pytest.mark.parametrize(
    ("sizes", "errors", "message"),
    [
        ([2, 1], {"a": [1.0, 2.0]}, "must be a list of increasing whole numbers"),
        ([1, 2], {}, "holds no curve"),
        ([1, 2], {"a": [1.0]}, r"errors of 'a' have shape \(1, 1\)"),
    ],
)
def test_curves_that_do_not_fit_together_are_refused(sizes: list[int], errors: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        InverseCurveDisplay(sizes, errors)


def test_examples_that_do_not_fit_together_are_refused() -> None:
    signals, responses = examples(4)
    with pytest.raises(ValueError, match="train_sizes holds 5; there are 4 examples"):
        InverseCurveDisplay.from_estimator(MeanDecider(), signals, responses, signals, responses, train_sizes=[5])
    with pytest.raises(ValueError, match="there are 4 signals, but responses of shape"):
        InverseCurveDisplay.from_estimator(MeanDecider(), signals, responses[:3], signals, responses)
    with pytest.raises(ValueError, match="metric='loss' is not known"):
        InverseCurveDisplay.from_estimator(MeanDecider(), signals, responses, signals, responses, metric="loss")
