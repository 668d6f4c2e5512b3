"""Every rendering of every card: sound documents, the right numbers, and names that stay names."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from reference.score_cards import CARDS, HOSTILE, HOSTILE_NAMES, MEANINGS, PLAIN, RICH
from scipy.special import expit

import surefoot as sf
from surefoot.reports.card.card_latex import latex_text
from surefoot.reports.card.card_proof import CardProof
from surefoot.reports.wording import risk_text, risks_text, shown_name

every_card = pytest.mark.parametrize("card", CARDS.values(), ids=CARDS)
SVG = "{http://www.w3.org/2000/svg}"


def words(element: ET.Element) -> list[str]:
    return [text.strip() for text in element.itertext() if text.strip()]


@every_card
def test_the_page_fragment_is_sound_and_says_points_and_risks(card: sf.ScoreCard) -> None:
    page = ET.fromstring(card.html)
    points, risks = page.iter("table")
    assert card._repr_html_() == card.html
    rows = points.findall("./tbody/tr") if card.lines else []
    for line, row in zip(card.lines, rows, strict=True):
        cells = words(row)
        assert cells[0] == shown_name(line.feature)
        assert cells[1].startswith(str(line.points).replace("-", "\u2212"))
        assert ("value" in cells[1]) == (line.kind != "binary")
    shown = [words(row)[1] for row in risks.findall("./tbody/tr")]
    assert shown == [risks_text(row) for row in card.table.rows]
    assert {element.tag for element in page.iter()} <= set(
        ["section", "style", "h2", "div", "table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td", "span", "p", "code"]
    )


@every_card
def test_the_calculator_is_one_page_that_loads_nothing(card: sf.ScoreCard) -> None:
    page = card.calculator()
    document = ET.fromstring(page.replace("<!DOCTYPE html>", ""))
    attributes = {name for element in document.iter() for name in element.attrib}
    assert attributes.isdisjoint({"src", "href", "action", "onerror", "onmouseover", "srcset"})
    assert not re.search(r"https?:|url\(|@import|//[a-z]", page.replace("//<![CDATA[", "").replace("//]]>", ""))
    labels = {element.get("for") for element in document.iter("label")}
    fields = [element for element in document.iter() if element.tag in ("input", "select")]
    assert all(field.get("id") in labels for field in fields), "every field has a label"
    assert len(list(document.iter("script"))) == 1
    form = document.find(".//form")
    assert form is not None
    assert (float(form.get("data-intercept", "")), float(form.get("data-multiplier", ""))) == (card.intercept, card.multiplier)


def test_the_calculator_asks_once_for_a_feature_with_several_lines() -> None:
    document = ET.fromstring(RICH.calculator().replace("<!DOCTYPE html>", ""))
    kinds = [element.get("data-kind") for element in document.iter() if element.get("data-kind")]
    assert kinds == ["cuts", "unknown", "choice", "check", "times", "times"]
    (cuts,) = (element.get("data-cuts", "") for element in document.iter() if element.get("data-cuts"))
    assert json.loads(cuts) == [[65.0, 1], [75.0, 2]]
    assert [option.get("data-points") for option in document.iter("option")] == ["0", "-1", "2", "3"]


class Outline(HTMLParser):
    """Tags and names of attributes as a browser sees them, which forgives more than XML does."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, ...]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, *(name for name, _ in attrs)))


def test_hostile_names_change_no_tag_and_no_attribute_of_a_page() -> None:
    tame = sf.ScoreCard.from_points(
        {f"name {at}": line.points for at, line in enumerate(HOSTILE.lines)}, -7, multiplier=2.5, proof=HOSTILE.proof
    )
    for render in (lambda card: card.html, lambda card: card.svg, lambda card: card.calculator()):
        outlines = []
        for card in (tame, HOSTILE):
            outline = Outline()
            outline.feed(render(card))
            # A long name takes several lines of a picture.
            outlines.append([tag for tag in outline.tags if tag[0] != "text"])
        assert outlines[0] == outlines[1]


@every_card
def test_the_picture_is_sound_and_keeps_everything_inside(card: sf.ScoreCard) -> None:
    picture = ET.fromstring(card.svg)
    width, height = float(picture.get("width", "")), float(picture.get("height", ""))
    assert picture.get("role") == "img" and picture.find(f"{SVG}title") is not None
    assert {element.tag.removeprefix(SVG) for element in picture.iter()} <= {"svg", "title", "desc", "rect", "path", "text"}
    texts = list(picture.iter(f"{SVG}text"))
    for text in texts:
        assert 0 <= float(text.get("x", "")) <= width and 0 < float(text.get("y", "")) < height
    shown = [text.text for text in texts]
    assert all(risks_text(row) in shown for row in card.table.rows)
    letters = "".join("".join(text or "" for text in shown).split())
    assert all("".join(shown_name(line.feature).split()) in letters for line in card.lines)


@every_card
def test_the_text_has_a_line_for_each_feature_and_each_total(card: sf.ScoreCard) -> None:
    text = str(card)
    assert text == card.text
    assert all(letter.isprintable() or letter == "\n" or letter in "\u200c\u200d\u00ad" for letter in text)
    assert max(map(len, text.splitlines())) <= 88
    for row in card.table.rows:
        assert re.search(rf"^.*  {re.escape(risks_text(row))}$", text, re.MULTILINE)


def balanced(source: str) -> bool:
    depth = 0
    for brace in re.findall(r"(?<!\\)(?:\\\\)*([{}])", source):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0


@every_card
def test_the_latex_has_balanced_groups_and_two_cells_in_each_row(card: sf.ScoreCard) -> None:
    assert balanced(card.latex)
    rows = [line for line in card.latex.splitlines() if line.endswith(r"\\")]
    assert len(rows) == len(card.lines) + len(card.table.rows) + 2
    assert all(len(re.findall(r"(?<!\\)&", row)) == 1 for row in rows)
    assert all(len(re.findall(r"(?<!\\)[$#_%~^]", row)) == 0 for row in rows)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX compiler on this machine")
@every_card
def test_latex_compiles_the_card(card: sf.ScoreCard, tmp_path: Path) -> None:
    source = "\\documentclass{article}\n\\begin{document}\n" + card.latex + "\n\\end{document}\n"
    (tmp_path / "card.tex").write_text(source, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "card.tex"]
    finished = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=60)
    assert finished.returncode == 0, finished.stdout[-2000:]


def test_latex_specials_are_written_as_commands() -> None:
    assert latex_text("50% & $5_{x}") == r"50\% \& \$5\_\{x\}"
    assert latex_text("\\") == r"\textbackslash{}"


@every_card
def test_a_card_survives_json(card: sf.ScoreCard) -> None:
    assert sf.ScoreCard.from_json(card.json) == card
    assert card.json.isascii()


def without(key: str) -> str:
    content = RICH.to_dict()
    del content[key]
    return json.dumps(content)


def changed(**entries: object) -> str:
    return json.dumps({**RICH.to_dict(), **entries})


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("import os", "not JSON"),
        ("[1]", "no entry 'format'"),
        ("[" * 100_000, "not JSON"),
        (changed(format="pickle"), "'pickle', not a 'surefoot score card'"),
        (changed(version=2), "version 2"),
        (without("intercept"), "the score card has no entry 'intercept'"),
        (changed(intercept=1.5), "the score card, intercept is 1.5, which is not a whole number"),
        (changed(multiplier=0), "multiplier = 0.0 must be a positive number"),
        (changed(multiplier="1"), "the score card, multiplier is '1', which is not a finite number"),
        (changed(multiplier=1).replace('"multiplier": 1', '"multiplier": NaN'), "NaN is no number of JSON"),
        (changed(classes=["a"]), "classes must be two names"),
        (changed(lines=[{"feature": "a", "points": 1}]), r"lines\[0\] has no entry 'kind'"),
        (changed(lines=[{"feature": "a", "points": 1, "kind": "binary"}] * 2), "two lines for 'a'"),
        (changed(lines={"a": 1}), "the score card, lines is not a list"),
        (
            changed(lines=[{"feature": "a", "points": 1, "kind": "binary", "meaning": {"feature": "a", "operator": "exec"}}]),
            "'exec' is no operator",
        ),
        (
            changed(lines=[{"feature": "a", "points": 1, "kind": "binary", "meaning": {"feature": "a", "operator": "="}}]),
            "operator '=' does not go with value None",
        ),
        (
            changed(
                lines=[
                    {
                        "feature": "a",
                        "points": 1,
                        "kind": "binary",
                        "meaning": {"feature": "a", "operator": ">=", "value": "x"},
                    }
                ]
            ),
            "meaning, value is 'x', which is not a finite number",
        ),
        (changed(proof={"objective": 1.0}), "proof has no entry 'verified'"),
    ],
)
def test_a_document_that_is_no_card_is_refused_with_the_place(document: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sf.ScoreCard.from_json(document)


def test_the_printed_risks_are_those_of_the_model() -> None:
    draw = np.random.default_rng(0)
    own = {"a": 3, "b": -2, "c": 1}
    card = sf.ScoreCard.from_points(own, -1, multiplier=1.7)
    rows = draw.integers(0, 2, size=(50, 3))
    probabilities = expit((rows @ np.array([3, -2, 1]) - 1.0) / 1.7)
    printed = {row.low: (row.low_risk, risks_text(row)) for row in card.table.rows}
    for row, probability in zip(rows, probabilities, strict=True):
        total = card.total(dict(zip(own, row.tolist(), strict=True)))
        assert printed[total] == (probability, f"{100 * probability:.1f}%")
        assert card.risk(total) == probability


@pytest.mark.parametrize(
    ("risk", "text"),
    [
        (0.0, "0%"),
        (1e-9, "< 0.1%"),
        (0.000499, "< 0.1%"),
        (0.0005, "0.1%"),
        (0.5, "50.0%"),
        (0.99949, "99.9%"),
        (0.9996, "> 99.9%"),
        (1.0, "100%"),
    ],
)
def test_a_risk_never_looks_certain_unless_it_is(risk: float, text: str) -> None:
    assert risk_text(risk) == text


def test_features_without_points_are_left_out_and_meanings_found_by_name() -> None:
    card = sf.ScoreCard.from_points({"age >= 65": 2, "idle": 0, "other": 1}, 0, meanings=MEANINGS)
    assert [line.feature for line in card.lines] == ["age >= 65", "other"]
    assert card.lines[0].meaning == MEANINGS[0] and card.lines[1].meaning is None
    assert PLAIN.with_meanings([]) == PLAIN


def test_a_total_needs_the_value_of_every_line() -> None:
    assert PLAIN.total({"age >= 75": 1, "smoker": 1, "vaccinated": 1}) == 2
    with pytest.raises(ValueError, match="values lacks 'vaccinated'"):
        PLAIN.total({"age >= 75": 1, "smoker": 1})


@pytest.mark.parametrize(
    ("proof", "words"),
    [
        (CardProof(0.3833435, 0.3833435, 0.0, True, 32561), ["Best possible card", "0.383343", "32,561 rows", "checked indep"]),
        (CardProof(0.383343, 0.383343, 0.0, False, 10), ["Not proven to be the best card", "0.383343"]),
        (CardProof(0.4, 0.25, 0.375, True, 10), ["no card under the same rules is below 0.25", "gap 38%"]),
        (CardProof(0.4, 0.25, 0.375, False, 10), ["Not proven", "no card under the same rules is below 0.25", "at most 38%"]),
        (CardProof(0.4, 0.0, 1.0, False, 10), ["Not proven", "nothing is proven about better cards", "exact search"]),
        (CardProof(0.4, float("-inf"), float("inf"), False, 10), ["nothing is proven about better cards"]),
    ],
)
def test_a_proof_says_what_is_proven_and_no_more(proof: CardProof, words: list[str]) -> None:
    assert all(word in proof.sentence for word in words)
    assert ("Best possible" in proof.sentence) == (proof.relative_gap == 0 and proof.verified)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"intercept": 0.5}, "intercept = 0.5 must be a whole number"),
        ({"multiplier": float("nan")}, "multiplier = nan"),
        ({"classes": ("a",)}, "two names"),
    ],
)
def test_cards_that_make_no_sense_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sf.ScoreCard(**{"lines": (), "intercept": 0, **arguments})  # type: ignore[arg-type]


def luminance(colour: str) -> float:
    parts = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return float(np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])


def test_all_text_has_the_contrast_that_accessible_pages_need() -> None:
    dark = "@media screen and (prefers-color-scheme: dark)"
    parts = [page.partition("</style>")[0].partition(dark)[::2] for page in (PLAIN.html, PLAIN.calculator())]
    # On the sheet and on the tinted panel of the calculator; 4.5 is level AA of the accessibility guidelines.
    for at, grounds in enumerate([("#ffffff", "#e7eef6"), ("#161c22", "#1b222a", "#1f272f")]):
        colours = set(re.findall(r"(?<![-\w])color: (#[0-9a-f]{6})", "".join(part[at] for part in parts)))
        assert len(colours) >= 3
        for one, other in itertools.product(grounds, colours):
            darker, lighter = sorted((luminance(one), luminance(other)))
            assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (one, other)


def test_the_hostile_names_are_all_there_in_readable_form() -> None:
    assert len(HOSTILE.lines) == len(HOSTILE_NAMES)
    assert "\u202e" not in HOSTILE.html and "\x00" not in HOSTILE.svg
    assert "(no name)" in HOSTILE.text
