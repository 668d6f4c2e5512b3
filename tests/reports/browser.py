"""A Chromium of the machine, and axe-core in it, for the tests that look at pages as people do."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser; a test that needs one is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"no browser found: none of {', '.join(BROWSERS)} is installed")
    # Chromium refuses to sandbox itself for root, which test machines often are.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=found, args=arguments)
        yield opened
        opened.close()


def axe_source(folder: Path) -> str:
    """The script of axe-core: of the repository's node_modules, or fetched by npm into ``folder``; else the test is skipped."""
    here = ROOT / "node_modules" / "axe-core" / "axe.min.js"
    if not here.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("axe-core is in no node_modules, and there is no npm to fetch it")
        words = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts", "axe-core@4"]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
        here = folder / "node_modules" / "axe-core" / "axe.min.js"
        if done.returncode or not here.exists():
            pytest.skip("npm could not fetch axe-core: no network, or no registry")
    return here.read_text(encoding="utf-8")


def faults(page: Any, axe: str) -> list[str]:
    """What axe calls serious or critical on a page, one line for each rule."""
    page.evaluate(axe)  # in the page's own world, which no policy of the page forbids
    found = page.evaluate("async () => (await axe.run(document, {resultTypes: ['violations']})).violations")
    return [
        f"{fault['id']} ({fault['impact']}): {node['html'][:160]} | {' '.join(node['failureSummary'].split())[:200]}"
        for fault in found
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"][:2]
    ]
