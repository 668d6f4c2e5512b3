"""axe-core finds no serious fault on what people read: reports, cards, calculators and, where built, the documentation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reports.browser import ROOT, axe_source, chromium, faults

import surefoot as sf

BUILT = ROOT / "docs" / "_build" / "html"
DOCUMENTATION = (
    "index",
    "guide/risk_scores",
    "guide/robust_logistic_regression",
    "gallery/index",
    "compared",
    "benchmarks",
    "api",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    return axe_source(tmp_path_factory.mktemp("npm"))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    draw = np.random.default_rng(0)
    X = pd.DataFrame({"age": draw.uniform(20, 80, 200), "ward": draw.choice(["a", "b", "c"], 200)})
    y = np.where(draw.logistic(size=200) < 0.05 * (X["age"] - 50) + (X["ward"] == "a"), "ill", "well")
    robust = sf.RobustLogisticRegression(radius=0.05).fit(X, y)
    answers = pd.DataFrame({"older than 60": X["age"] > 60, "ward a": X["ward"] == "a"}).astype(int)
    card = sf.RiskScoreClassifier(max_features=2).fit(answers, y)
    shown = folder / "card.html"
    shown.write_text(
        f'<!DOCTYPE html><html lang="en"><title>Card</title><main><h1>Card</h1>{card.score_card().html}</main></html>'
    )
    calculator = folder / "calculator.html"
    calculator.write_text(card.score_card().calculator(), encoding="utf-8")
    return {
        "report": sf.report(robust, X, y, folder / "report.html", n_sets=20, training=(X, y), by="ward"),
        "report of a card": sf.report(card, answers, y, folder / "card_report.html", n_sets=20),
        "card": shown,
        "calculator": calculator,
    }


def test_axe_would_find_a_fault(browser: Any, axe: str) -> None:
    page = browser.new_page()
    page.set_content(
        '<html lang="en"><title>t</title><main><h1>h</h1><img src="data:,"><p style="color: #bbb">grey</p></main></html>'
    )
    assert [line.split()[0] for line in faults(page, axe)] == ["color-contrast", "image-alt"]
    page.close()


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("name", ["report", "report of a card", "card", "calculator"])
def test_axe_finds_no_serious_fault(browser: Any, axe: str, pages: dict[str, Path], name: str, colours: Any) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme=colours)
    page.goto(pages[name].as_uri())
    assert faults(page, axe) == []
    page.close()


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_no_serious_fault_in_the_documentation(browser: Any, axe: str, colours: Any) -> None:
    if not (BUILT / "index.html").exists():
        pytest.skip("the documentation is not built: run make docs")
    found = {}
    for name in DOCUMENTATION:
        page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme=colours)
        page.goto((BUILT / f"{name}.html").as_uri())
        if wrong := faults(page, axe):
            found[name] = wrong
        page.close()
    assert found == {}
