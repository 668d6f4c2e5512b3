"""Reports and pictures of learned costs: their numbers are those of the model, and they say what is not known."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.certificate import rounded_up
from surefoot.inverse import CostDisplay, InverseOptimizer, InverseOptimizerCV, cost_confidence, forward
from surefoot.inverse.estimator.explained import explained

TRUE = np.array([1.0, 2.0, 0.5])


def offers(count: int, seed: int, *, p: int = 3) -> tuple[list[np.ndarray], list[int]]:
    random = np.random.default_rng(seed)
    drawn = [np.round(random.uniform(0, 1, (4, p)), 3) for _ in range(count)]
    return drawn, [int(np.argmin(each @ TRUE[:p])) for each in drawn]


def told(path: Path) -> str:
    return html.unescape(re.sub(r"<[^>]+>", " ", path.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def shopper() -> Any:
    return InverseOptimizer(forward.FiniteChoice(), approach="incenter").fit(*offers(20, 0))


def test_a_report_on_the_observations_of_the_fit_says_what_the_model_says(shopper: Any, tmp_path: Path) -> None:
    signals, chosen = offers(20, 0)
    text = told(sf.report(shopper, signals, chosen, tmp_path / "cost.html"))
    unit = shopper.cost_ / np.linalg.norm(shopper.cost_)
    trust = cost_confidence(shopper, signals, chosen, band=None)
    assert all(f"{value:.4g}" in text for value in unit)
    assert "20 of 20" in text and "No observed decision costs more than another one that was open" in text
    assert shopper.certificate_.claim in text and "which are those of training" in text
    assert f"costs that explain everything are within {rounded_up(trust.cone_degrees, 3)}" in text
    assert "FiniteChoice()" in text and "one of several alternatives (20 observations)" in text
    headings = re.findall(r"<h2><span>\d</span> ([^<]+)</h2>", (tmp_path / "cost.html").read_text(encoding="utf-8"))
    assert headings == [
        "The learned cost", "What is decided", "What it explains", "What is proven", "How far to trust it",
        "The observations", "Settings",
    ]  # fmt: skip


def test_a_report_on_other_observations_counts_those_that_are_not_explained(shopper: Any, tmp_path: Path) -> None:
    signals, chosen = offers(12, 5)
    wrong = [(best + 1) % 4 if k < 3 else best for k, best in enumerate(chosen)]
    text = told(sf.report(shopper, signals, wrong, tmp_path / "cost.html"))
    costs = [signal @ shopper.cost_ for signal in signals]
    excess = [float(own[one] - own.min()) for own, one in zip(costs, wrong, strict=True)]
    right = sum(value <= 1e-7 for value in excess)
    assert f"{right} of 12" in text and right <= 9
    assert f"{max(excess):.4g}" in text
    assert "which are not those of this report" in text
    assert "write a report on those, or call surefoot.inverse.cost_confidence" in text


def test_best_decisions_that_tie_with_the_proposed_one_are_counted(tmp_path: Path) -> None:
    """Each of two alternatives was chosen, so that a cost that explains both prices them alike; one of them is proposed."""
    signals, chosen = [np.eye(2)] * 5, [0, 0, 1, 1, 1]
    model = InverseOptimizer(forward.FiniteChoice(), approach="suboptimality", prior="simplex").fit(signals, chosen)
    np.testing.assert_allclose(model.cost_, 0.5)
    proposed = {tuple(np.asarray(one).ravel()) for one in model.predict(signals)}
    assert len(proposed) == 1
    text = told(sf.report(model, signals, chosen, tmp_path / "cost.html"))
    same = int(explained(model, signals, chosen).same.sum())
    assert "5 of 5" in text and same in (2, 3)
    assert f"{same} are proposed by predict() exactly as observed; {5 - same} tie with another decision" in text
    assert f"for {5 - same} of them predict() proposes another one that costs as much" in text


def test_names_of_the_forward_problem_and_noisy_data_are_told(tmp_path: Path) -> None:
    program = forward.from_scipy(
        [[-1.0, -1.0, -1.0]], bounds=(0, 1), integrality=[1, 1, 1], names=["<b>oats</b>", "milk", "nuts"]
    )
    model = InverseOptimizer(program, kappa=0.1, prior="nonnegative")
    needs, eaten = [{"b_ub": [-1.0]}, {"b_ub": [-1.0]}, {"b_ub": [-2.0]}], [[1, 0, 0], [0, 1, 0], [1, 1, 0]]
    text = told(sf.report(model.fit(needs, eaten), needs, eaten, tmp_path / "diet.html"))
    assert "<b>oats</b>" not in (tmp_path / "diet.html").read_text(encoding="utf-8") and "<b>oats</b>" in text
    assert "0/1 vectors that meet rows" in text and "none below 0" in text
    assert "the learned cost does not explain all observations" in text or "costs that explain everything" in text


def test_a_search_is_reported_by_its_best_model(tmp_path: Path) -> None:
    signals, chosen = offers(12, 2)
    search = InverseOptimizerCV(forward.FiniteChoice(), kappas=[0.01], distances=["l1", "l2"], cv=2, tol=1e-4).fit(
        signals, chosen
    )
    text = told(sf.report(search, signals, chosen, tmp_path / "cost.html"))
    assert search.certificate_.claim in text


def test_what_has_no_report_is_refused_with_the_reason(shopper: Any, tmp_path: Path) -> None:
    signals, chosen = offers(20, 0)
    with pytest.raises(ValueError, match="groups is for models of tables"):
        sf.report(shopper, signals, chosen, tmp_path / "a.html", groups=[1] * 20)
    with pytest.raises(ValueError, match="there are no responses"):
        sf.report(shopper, signals, None, tmp_path / "a.html")
    with pytest.raises(sf.exceptions.InvalidObservationError, match="observation 3"):
        sf.report(shopper, signals, [*chosen[:3], 9, *chosen[4:]], tmp_path / "a.html")
    online = InverseOptimizer(forward.FiniteChoice(), solver="samd", kappa=0.1).partial_fit(signals, chosen)
    with pytest.raises(ValueError, match="partial_fit learns is not proven"):
        sf.report(online, signals, chosen, tmp_path / "a.html")
    assert not (tmp_path / "a.html").exists()


def test_a_changed_cost_is_not_called_proven(tmp_path: Path) -> None:
    signals, chosen = offers(8, 1)
    model = InverseOptimizer(forward.FiniteChoice(), approach="incenter").fit(signals, chosen)
    model.cost_ = model.cost_[::-1].copy()
    text = told(sf.report(model, signals, chosen, tmp_path / "cost.html"))
    assert "void" in text and "proven then says nothing about it" in text


# Pictures --------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def pyplot() -> Any:
    found = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not installed")
    found.switch_backend("Agg")
    yield found
    found.close("all")


def test_the_picture_has_the_entries_their_ranges_and_their_bands(shopper: Any, pyplot: Any) -> None:
    signals, chosen = offers(20, 0)
    names = ["price $", "minutes", "noise"]
    drawn = CostDisplay.from_estimator(shopper, signals, chosen, names=names, n_resamples=5, random_state=0)
    trust = cost_confidence(shopper, signals, chosen, n_resamples=5, random_state=0)
    order = np.argsort(-np.abs(trust.cost))
    assert drawn.points_.get_offsets()[:, 0].tolist() == pytest.approx(trust.cost[order].tolist())
    assert [bar.get_x() for bar in drawn.ranges_[0]] == pytest.approx(trust.least[order].tolist())
    assert [bar.get_x() + bar.get_width() for bar in drawn.ranges_[0]] == pytest.approx(trust.most[order].tolist())
    bands = np.array([line[:, 0] for line in drawn.bands_[0].get_segments()])
    assert bands == pytest.approx(np.column_stack((trust.low, trust.high))[order])
    assert [label.get_text() for label in drawn.ax_.get_yticklabels()] == [names[at].replace("$", "\\$") for at in order]
    again = CostDisplay.from_confidence(trust, max_entries=2)
    assert len(again.points_.get_offsets()) == 2 and "1 smaller entries left out" in again.ax_.get_xlabel()
    with pytest.raises(ValueError, match="draws costs of two entries"):
        again.plot(kind="cone")
    with pytest.raises(ValueError, match="there are 1 names"):
        CostDisplay.from_confidence(trust, names=["price"])


def test_the_drawn_cone_holds_every_cost_that_explains_all_and_no_other(pyplot: Any) -> None:
    signals, chosen = offers(15, 4, p=2)
    model = InverseOptimizer(forward.FiniteChoice(), approach="incenter").fit(signals, chosen)
    drawn = CostDisplay.from_estimator(model, signals, chosen, kind="cone", n_resamples=0)
    path = drawn.ranges_[0].get_path()
    angles = np.linspace(0, 2 * np.pi, 721)
    costs = np.column_stack((np.cos(angles), np.sin(angles)))
    slack = np.min([((signal - signal[k]) @ costs.T).min(axis=0) for signal, k in zip(signals, chosen, strict=True)], axis=0)
    inside = path.contains_points(0.9 * costs)
    assert 3 < inside.sum() < 200
    assert np.all(inside[slack >= 1e-4]) and not np.any(inside[slack < -2e-3])
    assert not drawn.bands_


def test_entries_are_called_by_streets_tasks_and_attributes() -> None:
    from surefoot.inverse.estimator.cost_names import cost_names

    streets = forward.ShortestPath([("home", "park"), ("park", "work"), ("home", "work")])
    way = InverseOptimizer(streets, prior="simplex").fit([("home", "work")], [[0, 0, 1]])
    assert cost_names(way) == ["home to park", "park to work", "home to work"]
    pairs = InverseOptimizer(forward.Assignment(2), prior="simplex").fit([None], [[1, 0, 0, 1]])
    assert cost_names(pairs) == ["worker 0, task 0", "worker 0, task 1", "worker 1, task 0", "worker 1, task 1"]
    plain = InverseOptimizer(forward.FiniteChoice(), approach="incenter").fit(*offers(6, 0))
    assert cost_names(plain) == ["entry 0", "entry 1", "entry 2"]
