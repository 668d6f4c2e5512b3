"""Cards at work on a table: totals, rates and groups against plain counting, and pictures that can be drawn."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from reference.score_cards import HOSTILE, PLAIN, RICH
from sklearn.metrics import roc_auc_score, roc_curve

import surefoot as sf
from surefoot.reports.card.scored_rows import score_groups, scored_rows
from surefoot.reports.wording import totals_text


def draw_people(card: sf.ScoreCard, rows: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    draw = np.random.default_rng(seed)
    table = pd.DataFrame({line.feature: draw.integers(0, 2, rows) for line in card.lines})
    risks = [card.risk(total) for total in card.totals(table)]
    return table, np.where(draw.random(rows) < risks, card.classes[1], card.classes[0])


def test_totals_of_a_table_are_those_of_its_people() -> None:
    X, _ = draw_people(PLAIN)
    assert PLAIN.totals(X).tolist() == [PLAIN.total(row) for row in X.to_dict("records")]
    assert PLAIN.totals(pl.DataFrame(X.assign(other=1.0).to_dict("list"))).tolist() == PLAIN.totals(X).tolist()


@pytest.mark.parametrize("weighted", [False, True])
def test_rates_and_area_are_those_of_scikit_learn(weighted: bool) -> None:
    X, y = draw_people(PLAIN)
    weights = np.random.default_rng(1).uniform(0.1, 2, len(X)) if weighted else None
    rows = scored_rows(PLAIN, X, y, weights)
    thresholds, false, true = rows.rates()
    expected = roc_curve(y == "ill", PLAIN.totals(X), sample_weight=weights, drop_intermediate=False)
    np.testing.assert_allclose(false, expected[0][1:], atol=1e-12)
    np.testing.assert_allclose(true, expected[1][1:], atol=1e-12)
    np.testing.assert_array_equal(thresholds, expected[2][1:])
    assert rows.auc() == pytest.approx(roc_auc_score(y == "ill", PLAIN.totals(X), sample_weight=weights), abs=1e-12)


@pytest.mark.parametrize("card", [PLAIN, HOSTILE], ids=["a row per total", "grouped totals"])
def test_groups_count_everybody_once_and_enclose_the_observed_share(card: sf.ScoreCard) -> None:
    X, y = draw_people(card)
    rows = scored_rows(card, X, y)
    groups = score_groups(card, rows, [totals_text(row, card.table) for row in card.table.rows])
    assert sum(group.weight for group in groups) == 300
    assert sum(group.positives for group in groups) == np.sum(y == card.classes[1])
    shares = [group.weight * group.predicted for group in groups]
    assert sum(shares) == pytest.approx(sum(card.risk(total) for total in card.totals(X)))
    assert all(-1e-12 <= group.low <= group.observed <= group.high <= 1 + 1e-12 and group.low < group.high for group in groups)
    if card.table.exact:
        by_total = {totals_text(row, card.table): row.low_risk for row in card.table.rows}
        assert all(group.predicted == pytest.approx(by_total[group.label], abs=1e-15) for group in groups)


@pytest.mark.parametrize("card", [PLAIN, HOSTILE, RICH], ids=["plain", "hostile", "rich"])
def test_a_picture_has_three_parts_and_can_be_saved(card: sf.ScoreCard, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr(pyplot, "show", lambda: None)
    pyplot.switch_backend("Agg")
    X, y = draw_people(card)
    if card is RICH:
        X = X.assign(temperature=np.linspace(35, 42, 300))
        y = np.where(np.random.default_rng(2).random(300) < [card.risk(t) for t in card.totals(X)], "ill", "well")
    figure = card.plot(X, y)
    assert [ax.get_title() for ax in figure.axes] == ["Reliability", "Thresholds on the total", "Distribution of the totals"]
    figure.savefig(tmp_path / "card.svg")
    pyplot.close(figure)


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> Any:
        raise ImportError(name)

    X, y = draw_people(PLAIN)
    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(ImportError, match="install it, or surefoot with its extra 'plot'"):
        PLAIN.plot(X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": lambda X: X.drop(columns="smoker")}, "X lacks column 'smoker'"),
        ({"X": lambda X: X.assign(smoker=np.nan)}, "column 'smoker', row 0 holds nan"),
        ({"y": lambda y: np.where(y == "ill", "sick", y)}, "y holds 'sick'; the classes of the card are 'well' and 'ill'"),
        ({"y": lambda y: y[1:]}, "y has 299 labels for 300 rows"),
        ({"y": lambda y: [None, *y[1:]]}, "missing labels"),
        ({"y": lambda y: ["ill"] * 300}, "no row of positive weight is of class 'well'"),
        ({"sample_weight": lambda w: [-1.0] * 300}, "one finite weight at or above 0"),
    ],
)
def test_tables_that_do_not_fit_the_card_are_refused(change: dict[str, Any], message: str) -> None:
    X, y = draw_people(PLAIN)
    given: dict[str, Any] = {"X": X, "y": y, "sample_weight": None}
    given.update({name: alter(given[name]) for name, alter in change.items()})
    with pytest.raises(sf.InvalidTableError, match=message):
        scored_rows(PLAIN, **given)
