"""The report in a real browser: it loads nothing, runs nothing, and nothing is cut off on a screen, a telephone or paper.

Needs playwright's Python package and a Chromium of the machine, such as Debian's package ``chromium``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reports.browser import chromium

import surefoot as sf

HOSTILE = "</td><script>alert(1)</script><img src=x onerror=alert(2)> " + "w" * 90
OUTSIDE = """() => [...document.querySelectorAll('figure svg')].flatMap(svg => {
    const frame = svg.getBoundingClientRect();
    return [...svg.querySelectorAll('text')].filter(text => {
        const box = text.getBoundingClientRect();
        const sideways = box.left < frame.left - 1 || box.right > frame.right + 1;
        return sideways || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
    }).map(text => text.textContent);
})"""
OVERFLOW = "() => document.scrollingElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports of the four kinds of model; one has names that try to break out, and a column name that never breaks."""
    folder = tmp_path_factory.mktemp("reports")
    draw = np.random.default_rng(0)
    X = pd.DataFrame({HOSTILE: draw.normal(size=200), "grade": draw.choice(["a", "b", HOSTILE], 200)})
    y = np.where(draw.logistic(size=200) < X[HOSTILE] + (X["grade"] == "a"), HOSTILE, "no")
    robust = sf.RobustLogisticRegression(radius=0.1).fit(X, y)
    answers = pd.DataFrame(draw.integers(0, 2, (200, 4)), columns=["smoker", "older than 60", "short of breath", "coughs"])
    ill = np.where(draw.logistic(size=200) < answers @ [2.0, 1.0, -1.0, 0.5] - 1, "ill", "well")
    card = sf.RiskScoreClassifier(max_features=3).fit(answers, ill)
    points = draw.normal(size=(120, 2))
    side = np.where(points[:, 0] > 0, "right", "left")
    machine = sf.ChanceConstrainedSVC(kernel="linear", batches="rows").fit(points, side)
    taste = np.array([1.0, 0.4, 2.0, 0.7])
    streets = sf.inverse.forward.from_scipy(
        -np.ones((1, 4)), bounds=(0, 1), integrality=np.ones(4), names=[HOSTILE, "b", "c", "d"]
    )
    asked = [{"A_ub": -draw.uniform(0.2, 1.0, (1, 4)), "b_ub": [-1.2]} for _ in range(25)]
    every = np.array([[(k >> j) & 1 for j in range(4)] for k in range(16)], dtype=float)
    open_ = [every[every @ each["A_ub"][0] <= -1.2] for each in asked]
    taken = [points[np.argmin(points @ taste)] for points in open_]
    cost = sf.inverse.InverseOptimizer(streets, kappa=0.01, prior="nonnegative").fit(asked, [*taken[:-1], open_[-1][0]])
    return {
        "cost": sf.report(cost, asked, [*taken[:-1], open_[-1][0]], folder / "cost.html"),
        "robust": sf.report(robust, X, y, folder / "robust.html", n_sets=30),
        "card": sf.report(card, answers, ill, folder / "card.html", n_sets=30),
        "machine": sf.report(machine, points, side, folder / "machine.html"),
    }


@pytest.mark.parametrize("kind", ["robust", "card", "machine", "cost"])
def test_a_report_shows_everything_and_asks_for_nothing(browser: Any, pages: dict[str, Path], kind: str) -> None:
    address = pages[kind].as_uri()
    seen: list[str] = []
    page = browser.new_page(viewport={"width": 1100, "height": 800})
    page.on("request", lambda request: seen.append(request.url))
    page.on("console", lambda message: seen.append(message.text))
    page.on("pageerror", lambda error: seen.append(str(error)))
    page.on("dialog", lambda dialog: (seen.append(dialog.message), dialog.dismiss()))
    page.goto(address)
    assert seen == [address]
    assert page.locator("script, img").count() == 0
    headings = page.locator("h2 span").all_inner_texts()
    assert headings == [str(at + 1) for at in range(7 if kind == "cost" else 8)]
    for width in (1100, 390):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(OVERFLOW) <= 0, f"the page is wider than a window of {width} pixels"
        assert page.evaluate(OUTSIDE) == []
        assert all(box["width"] > 150 for figure in page.locator("figure svg").all() if (box := figure.bounding_box()))
    page.close()


@pytest.mark.parametrize("kind", ["robust", "card", "machine", "cost"])
def test_a_report_is_fit_for_paper(browser: Any, pages: dict[str, Path], kind: str, tmp_path: Path) -> None:
    # 180 mm, what the margins leave of A4, in pixels of 1/96 inch.
    page = browser.new_page(viewport={"width": 680, "height": 1000})
    page.goto(pages[kind].as_uri())
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert page.locator("h2").last.is_visible()
    assert page.evaluate(OVERFLOW) <= 0
    assert page.evaluate(OUTSIDE) == []
    sheets = page.pdf(format="A4", path=str(tmp_path / "report.pdf"))
    most = 9 if kind == "robust" else 5  # its names are of 150 characters, and stand in every section
    assert sheets.startswith(b"%PDF") and 2 <= sheets.count(b"/Type /Page\n") <= most
    picture = page.screenshot(full_page=True)
    assert picture.startswith(b"\x89PNG") and len(picture) > 20_000
    page.close()
