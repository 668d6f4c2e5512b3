"""The calculator in a real browser, where there is one: what it shows is what the card says."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from reference.score_cards import HOSTILE, RICH

import surefoot as sf
from surefoot.reports.wording import risk_text

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no headless browser on this machine")


def shown(card: sf.ScoreCard, actions: str, folder: Path) -> dict[str, str]:
    """What the page shows after a script has filled it in."""
    script = f"<script>{actions}; document.getElementById('card').dispatchEvent(new Event('input'));</script></body>"
    page = folder / "page.html"
    page.write_text(card.calculator().replace("</body>", script), encoding="utf-8")
    command = [
        str(BROWSER),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={folder / 'profile'}",
        "--dump-dom",
    ]
    finished = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, check=True, timeout=60)
    found = re.findall(r'id="(total|risk|open)"[^>]*>([^<]*)<', finished.stdout)
    return {name: html.unescape(text) for name, text in found}


def test_filling_in_the_fields_gives_total_and_risk_of_the_card(tmp_path: Path) -> None:
    actions = """
        document.getElementById('f0').value = '75';
        document.getElementById('f1').selectedIndex = 2;
        document.getElementById('f2').checked = true;
        document.getElementById('f3').value = '3';
        document.getElementById('f4').value = '36.5'
    """
    total = (1 + 2) + 2 + 4 + 3 + 73
    assert shown(RICH, actions, tmp_path) == {"total": str(total), "risk": risk_text(RICH.risk(total)), "open": ""}


def test_fields_without_an_answer_are_named_and_no_risk_is_shown(tmp_path: Path) -> None:
    answer = shown(RICH, "document.getElementById('f0m').checked = true", tmp_path)
    assert answer == {"total": "\u2013", "risk": "\u2013", "open": "Still to fill in: visits, temperature"}


def test_hostile_names_run_no_script(tmp_path: Path) -> None:
    answer = shown(HOSTILE, "document.getElementById('f0').checked = true", tmp_path)
    assert answer == {"total": "1", "risk": risk_text(HOSTILE.risk(1)), "open": ""}
