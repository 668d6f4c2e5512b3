"""Searches that end early: limits, checkpoints, Ctrl-C, and what the user is told."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot import RiskScoreClassifier
from surefoot.core.outcome import Progress, Status
from surefoot.sklearn_api.progress import ProgressPrinter


def test_a_stopped_search_warns_and_keeps_a_valid_bound():
    rng = np.random.default_rng(0)
    table = (rng.random((4000, 60)) < 0.4).astype(float)
    y = table @ rng.normal(size=60) + rng.logistic(size=4000) > 0
    with pytest.warns(sf.ConvergenceLimitWarning, match=r"\(time limit\). Not proven optimal: no score card"):
        model = RiskScoreClassifier(max_features=8, time_limit=0.3).fit(table, y)
    assert model.outcome_.status is Status.TIME_LIMIT
    assert 0 <= model.outcome_.lower_bound <= model.outcome_.upper_bound
    assert len(model.points_) <= 8


def test_a_search_goes_on_from_its_checkpoint_and_refuses_that_of_other_data(tmp_path: Path):
    rng = np.random.default_rng(0)
    table = (rng.random((4000, 30)) < 0.4).astype(float)
    y = table @ rng.normal(size=30) + rng.logistic(size=4000) > 0
    given: dict[str, Any] = {"max_features": 4, "checkpoint": tmp_path / "search"}
    first = RiskScoreClassifier(**given).fit(table, y)
    assert (tmp_path / "search").exists()
    assert RiskScoreClassifier(**given).fit(table, y).points_ == first.points_
    with pytest.raises(ValueError, match="search"):
        RiskScoreClassifier(**given).fit(table, ~y)
    with pytest.raises(ValueError, match="checkpoint needs solver='exact'"):
        RiskScoreClassifier(**given, solver="rd").fit(table, y)


def test_ctrl_c_ends_the_fit_and_leaves_the_best_card(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(0)
    table = (rng.random((4000, 60)) < 0.4).astype(float)
    y = table @ rng.normal(size=60) + rng.logistic(size=4000) > 0
    model = RiskScoreClassifier(max_features=8, time_limit=60, verbose=1)
    timer = threading.Timer(0.05, signal.raise_signal, [signal.SIGINT])

    def press_soon(self: Any, progress: Progress) -> None:
        # Not before there is a card, however slow the machine.
        if np.isfinite(progress.upper_bound) and not timer.ident:
            timer.start()

    monkeypatch.setattr(ProgressPrinter, "__call__", press_soon)
    with pytest.raises(KeyboardInterrupt):
        model.fit(table, y)
    timer.join()
    assert 0 < len(model.points_) <= 8
    assert model.outcome_.status is Status.INTERRUPTED
    assert 0 <= model.outcome_.lower_bound <= model.outcome_.upper_bound
    assert model.predict(table).shape == (4000,)


def test_progress_shows_bounds_and_goes_to_standard_error(capsys: pytest.CaptureFixture[str]):
    rng = np.random.default_rng(0)
    table = (rng.random((3000, 40)) < 0.4).astype(float)
    y = table @ rng.normal(size=40) + rng.logistic(size=3000) > 0
    with pytest.warns(sf.ConvergenceLimitWarning):
        RiskScoreClassifier(max_features=7, time_limit=0.5, verbose=1).fit(table, y)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "RiskScoreClassifier, up to 7 of 40 columns" in shown.err and "lower bound" in shown.err


def test_every_fit_without_a_proof_warns_and_says_why():
    rng = np.random.default_rng(0)
    X = (rng.random((200, 6)) < 0.5).astype(int)
    y = (X[:, 0] + rng.logistic(size=200) > 0.5).astype(int)
    for solver, known in (
        ("heuristic", "nothing is proven about better cards"),
        ("lcpa", "no card under the same rules is below"),
    ):
        with pytest.warns(sf.ConvergenceLimitWarning, match="leaves no proof") as caught:
            model = sf.RiskScoreClassifier(solver=solver).fit(X, y)
        assert len(caught) == 1
        assert model.certificate_.claim in str(caught[0].message)
        assert "numbers" not in str(caught[0].message)
        # More time would change nothing about it.
        assert "time_limit" not in str(caught[0].message)
        assert known in model.score_card().text.replace("\n", " ")


def test_ctrl_c_while_the_proof_is_checked_keeps_the_card(monkeypatch):
    rng = np.random.default_rng(0)
    X = (rng.random((60, 4)) < 0.5).astype(int)
    y = (X[:, 0] + rng.logistic(size=60) > 0.5).astype(int)
    certify = sf.RiskScoreClassifier._certify

    def interrupted(self, posed, outcome, max_seconds=np.inf):
        if max_seconds > 0:
            raise KeyboardInterrupt
        return certify(self, posed, outcome, max_seconds)

    model = sf.RiskScoreClassifier()
    monkeypatch.setattr(sf.RiskScoreClassifier, "_certify", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    assert not model.certificate_.verified
    assert model.certificate_.lower_bound == 0.0
    assert "Recomputed were 0 of" in model.certificate_.claim
    assert sf.verify(model, X, y).verified


def test_a_stopped_search_proves_the_bound_of_its_relaxation():
    """It said that nothing was proven, and in the same breath which bound the search had reached."""
    rng = np.random.default_rng(0)
    table = (rng.random((4000, 60)) < 0.4).astype(float)
    y = table @ rng.normal(size=60) + rng.logistic(size=4000) > 0
    with pytest.warns(sf.ConvergenceLimitWarning) as caught:
        model = RiskScoreClassifier(max_features=8, time_limit=1.5).fit(table, y)
    found = model.certificate_
    assert found.lower_bound > 0.5 * model.outcome_.lower_bound
    assert "no card under the same rules is below" in model.score_card().proof.sentence
    assert "nothing is proven" not in model.score_card().text
    assert "says nothing" not in str(caught[0].message)
    assert sf.verify(model, table, y).lower_bound == found.lower_bound
