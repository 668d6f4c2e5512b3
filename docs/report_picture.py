"""The picture of a report in the README and on the landing page: three parts of what ``make demo`` wrote, side by side.

Needs playwright, Pillow and a Chromium; run in the root of the repository, after ``make demo``::

    python docs/report_picture.py reports/demo.html docs/report.png
"""

from __future__ import annotations

import io
import os
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

WIDTH = 960
COLOURS = 160


def picture(report: Path) -> Image.Image:
    with sync_playwright() as driver:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        page = browser.new_page(viewport={"width": WIDTH, "height": 900})
        page.goto(report.resolve().as_uri())
        page.add_style_tag(
            content="body { background: #fff } main { margin: 0; border: 0; padding: 1.2rem 2rem } h2 { margin-top: 1.4rem }"
        )
        tops = [box["y"] for section in page.locator("section").all() if (box := section.bounding_box())]
        sheet = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")
        browser.close()
    left = sheet.crop((0, 0, WIDTH, int(tops[1])))
    parts = [sheet.crop((0, int(tops[at]), WIDTH, int(tops[at + 1]))) for at in (3, 6)]  # beside others; stress test
    right = Image.new("RGB", (WIDTH, sum(part.height for part in parts)), "white")
    right.paste(parts[0], (0, 0))
    right.paste(parts[1], (0, parts[0].height))
    height = max(left.height, right.height)
    both = Image.new("RGB", (2 * WIDTH, height), "white")
    both.paste(left, (0, 0))
    both.paste(right, (WIDTH, 0))
    both.paste("#c3cad2", (WIDTH - 1, 0, WIDTH, height))
    return both.resize((int(1.5 * WIDTH), int(0.75 * height)), Image.Resampling.LANCZOS)


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    picture(source).quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(target, optimize=True)
