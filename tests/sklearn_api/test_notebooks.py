"""Results in notebooks: markup that holds no markup of others, data frames, a print that fits a screen, and bars that fill."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pandas as pd
import pytest

import surefoot as sf
from surefoot.core.outcome import Progress
from surefoot.sklearn_api.progress import CountPrinter, progress_listener

SCREEN = 45
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(size=80), HOSTILE: rng.choice(["a", "<b>"], 80), "old": rng.integers(0, 2, 80)})
    y = np.where(X.age + rng.normal(size=80) > 0, "ill", "well")
    shift = sf.ShiftModel(numeric_certainty={"age": 0.9}, categorical_certainty={HOSTILE: 0.8, "old": 0.8})
    model = sf.RobustLogisticRegression(radius=0.1).fit(X, y)
    path = sf.RobustLogisticRegressionCV(radii=[0.01, 0.1], cv=2).fit(X, y).path_
    cards = sf.RiskScoreClassifier(max_features=1, max_points=1, near_optimal=0.5).fit((X[["age"]] > 0).astype(int), y)
    return {
        "certificate": model.certificate_,
        "worst case": model.worst_case(X, y),
        "stress report": sf.stress_test(model, X, y, shift, 5, scenarios="all", random_state=0),
        "shift model": shift,
        "ambiguity": shift.calibrate(X),
        "card": cards.score_card(),
        "comparison": sf.compare(X[:40], X[40:]),
        "radius path": path,
        "near cards": cards.near_optimal_,
    }


NAMES = (
    "certificate",
    "worst case",
    "stress report",
    "shift model",
    "ambiguity",
    "card",
    "comparison",
    "radius path",
    "near cards",
)


@pytest.mark.parametrize("name", NAMES)
def test_every_result_is_a_data_frame_and_prints_on_one_screen(name: str, results: dict[str, Any]) -> None:
    frame = results[name].to_frame()
    assert isinstance(frame, pd.DataFrame) and len(frame) > 0
    said = repr(results[name])
    assert len(said.splitlines()) <= SCREEN and len(said) < 6000


@pytest.mark.parametrize("name", NAMES[:7])
def test_a_notebook_shows_tables_and_no_markup_of_others(name: str, results: dict[str, Any]) -> None:
    markup = results[name]._repr_html_()
    assert "<script" not in markup.lower() and "<b>'" not in markup
    assert ("table" in markup or "svg" in markup) and markup.count("<table") == markup.count("</table")
    if name == "certificate":
        assert results[name].claim.split(".")[0] in markup and "Verified" in markup


def test_frames_say_what_the_results_say(results: dict[str, Any]) -> None:
    proof = results["certificate"]
    (row,) = proof.to_frame().to_dict("records")
    assert row["verified"] == proof.verified and row["upper_bound"] == proof.upper_bound and row["claim"] == proof.claim
    prices = results["ambiguity"].to_frame().set_index("column").price
    assert prices["age"] == results["ambiguity"].numeric_weights["age"]
    pd.testing.assert_frame_equal(results["worst case"].to_frame(), results["worst case"].table)
    pd.testing.assert_frame_equal(results["stress report"].to_frame(), results["stress report"].table)
    said = results["shift model"].to_frame()
    assert ("numeric_certainty", "age", "0.9") in set(said.itertuples(index=False, name=None))


def test_a_shift_model_of_many_columns_prints_a_few() -> None:
    many = sf.ShiftModel(numeric_certainty={f"x{k}": 0.9 for k in range(200)})
    assert repr(many).endswith("'x4': 0.9, ... 195 more}, robustness=0.9)")
    assert repr(sf.ShiftModel(0.9)) == "ShiftModel(numeric_certainty=0.9, robustness=0.9)"
    assert "and 171 more rows" in many._repr_html_()


def test_a_notebook_has_one_bar_that_fills(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shown: list[str] = []
    handle = types.SimpleNamespace(update=shown.append)
    display = types.SimpleNamespace(HTML=str, display=lambda markup, display_id: (shown.append(markup), handle)[1])
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    show = progress_listener("a <fit>")
    show(Progress(1, 2.0, 1.0, 0.1))
    show(Progress(9, 1.0, 1.0, 0.2))
    assert len(shown) == 2 and 'value="1.0000"' in shown[1] and "a &lt;fit&gt;: gap 0.0e+00, step 9" in shown[1]
    count = CountPrinter("tables", 10)
    count.advance(10)
    assert "tables: 10 of 10" in shown[2] and capsys.readouterr().err == ""


def test_searches_go_over_the_settings_of_a_shift_model() -> None:
    from sklearn.model_selection import GridSearchCV

    rng = np.random.default_rng(1)
    X = pd.DataFrame({"age": rng.normal(size=60)})
    shift = sf.ShiftModel(numeric_certainty=0.9)
    search = GridSearchCV(sf.RobustLogisticRegression(shift=shift), {"shift__numeric_certainty": [0.6, 0.95]}, cv=2)
    search.fit(X, X.age + rng.normal(size=60) > 0)
    assert search.best_estimator_.shift.numeric_certainty == search.best_params_["shift__numeric_certainty"]
    assert shift.numeric_certainty == 0.9, "the settings of the user stay"
    with pytest.raises(ValueError, match="no parameter 'certainty'"):
        shift.set_params(certainty=0.5)
    with pytest.raises(ValueError, match="numeric_certainty"):
        shift.set_params(numeric_certainty=2.0)
