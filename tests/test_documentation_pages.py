"""What builds and checks the documentation: faults of pages are found, formulas and reports come out as they are."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def docs(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a module of the documentation by its name."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    names = ("check_pages", "mathml", "published")
    yield importlib.import_module
    for name in names:
        sys.modules.pop(name, None)


def test_every_kind_of_fault_of_a_page_is_found(docs: Any, tmp_path: Path) -> None:
    check = docs("check_pages")
    (tmp_path / "good.html").write_text(
        '<title>good 1.0</title><h1 id="top">t</h1><img src="p.png" alt="a picture"><a href="good.html#top">up</a>'
        '<span class="math"><math><mi>x</mi></math></span><a href="https://example.org">out</a>'
    )
    (tmp_path / "p.png").write_bytes(b"")
    (tmp_path / "bad.html").write_text(
        '<title>bad</title><img src="p.png"><a href="gone.html">x</a><a href="good.html#gone">x</a>'
        r'<div class="math">\[x\]</div><script src="https://example.org/m.js"></script>'
    )
    pages = {path: check.Page(path) for path in sorted(tmp_path.resolve().glob("*.html"))}
    assert check.faults_of(pages, "1.0") == [
        "bad.html: a picture without a text: p.png",
        "bad.html: a formula that is no MathML",
        "bad.html: loads https://example.org/m.js from elsewhere",
        "bad.html: a link that leads nowhere: gone.html",
        "bad.html: a link to a section that is not there: good.html#gone",
        "bad.html: the version 1.0 is not in its title",
    ]


def test_formulas_become_mathml_and_what_has_no_form_there_is_refused(docs: Any) -> None:
    pytest.importorskip("latex2mathml", reason="latex2mathml, of the extra docs, is not installed")
    mathml = docs("mathml")
    drawn = mathml.markup(r"\min_{\beta} \bigl\{ \Bigl\| x \Bigr\|^2 \bigr\}", display=True)
    assert drawn.startswith("<math") and "<munder><mo>min</mo>" in drawn and "x0007B;" in drawn and "x02016;" in drawn
    primed = mathml.markup("x' + x'_j", display=False)
    assert primed.count("&#x2032;") == 2 and "<msup>" not in primed
    with pytest.raises(ValueError, match="no form in MathML"):
        mathml.markup(r"\unheardof{x}", display=False)


def test_markdown_of_the_repository_is_shown_as_it_reads(docs: Any) -> None:
    pytest.importorskip("sphinx", reason="sphinx, of the extra docs, is not installed")
    published = docs("published")
    text = "## Un*released\n\n### Added\n\n- `a|b`: 2 * 3 of x_\n  goes on [here](https://example.org).\n"
    assert published.markdown_as_rst(text, "-~").split("\n") == [
        "",
        r"Un\*released",
        "--------------",
        "",
        "",
        "",
        "Added",
        "~~~~~~~",
        "",
        "",
        "",
        r"- ``a|b``\ : 2 \* 3 of x\_",
        "  goes on `here <https://example.org>`__.",
    ]
    title, command, found = published.report_parts("risk_scores")
    assert title.startswith("Score cards") and command == "python benchmarks/run.py risk_scores" and len(found) >= 5
