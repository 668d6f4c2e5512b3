"""Whatever the README, the guide and the examples show is run here, so none of it can go stale."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import surefoot

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("guide", "tutorials")
GUIDE_PAGES = sorted(page for room in ROOMS for page in (ROOT / "docs" / room).glob("*.rst") if page.stem != "index")
GALLERY = sorted((ROOT / "examples").glob("plot_*.py"))


@pytest.fixture(autouse=True)
def no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")


def run_script(path: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script as a user would, except that its warnings are errors."""
    # A user's screen would show the figure; Agg only remarks, on machines that have a screen, that it cannot.
    warnings = ["-W", "error::UserWarning", "-W", "ignore:FigureCanvasAgg is non-interactive:UserWarning"]
    return subprocess.run(
        [sys.executable, *warnings, str(path)],
        cwd=folder,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.mark.parametrize("page", GUIDE_PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_the_worked_examples_of_a_guide_page_run_and_print_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)  # a page that saves a file must not leave it in the repository
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, attempted = doctest.testfile(str(page), module_relative=False, optionflags=flags, encoding="utf-8")
    assert failed == 0, capsys.readouterr().out
    assert attempted > 0, f"{page.name} has no example (lines that begin with >>>)"


def test_the_demo_runs_without_error_or_warning(tmp_path: Path) -> None:
    finished = run_script(ROOT / "examples" / "demo.py", tmp_path)
    assert finished.returncode == 0, finished.stderr


# In this process: to start another one and import everything takes longer than most of them.
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive:UserWarning")
@pytest.mark.parametrize("script", GALLERY, ids=lambda script: script.stem)
def test_an_example_of_the_gallery_runs_without_warning_and_draws(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="pictures need matplotlib")
    monkeypatch.chdir(tmp_path)
    pyplot.close("all")
    try:
        runpy.run_path(str(script), run_name="__main__")
        assert pyplot.get_fignums(), "an example of the gallery has a picture"
    finally:
        pyplot.close("all")


def test_the_gallery_has_something_for_everybody() -> None:
    assert len(GALLERY) >= 14


def test_the_python_of_the_readme_runs_as_one_script(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert blocks, "README.md shows no Python"
    script = tmp_path / "readme.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    finished = run_script(script, tmp_path)
    assert finished.returncode == 0, finished.stderr


def test_the_examples_in_docstrings_run_and_print_what_they_show() -> None:
    attempted = 0
    for module in pkgutil.walk_packages(surefoot.__path__, "surefoot."):
        if module.name == "surefoot._native":
            continue
        result = doctest.testmod(
            importlib.import_module(module.name), optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
        )
        assert result.failed == 0, module.name
        attempted += result.attempted
    assert attempted > 0


VERIFIED = (
    "`verified` means: recomputed from the raw rows, with rounding counted against the model, the objective of this model is "
    "within the stated relative tolerance of the best that any model of the same class can have."
)
FAMILY_PAGES = ("robust_logistic_regression", "risk_scores", "uncertain_inputs", "inverse_optimization", "verifying")


@pytest.mark.parametrize("page", ["README.md", "docs/proofs.rst", *(f"docs/guide/{name}.rst" for name in FAMILY_PAGES)])
def test_every_page_says_in_the_same_words_what_verified_means(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8").replace("``", "`")
    assert VERIFIED in " ".join(text.split())
