"""A score card that adds up by itself: one HTML page that loads nothing, for a browser that is offline.

Every field carries its points as numbers in data attributes; the script adds them up and knows no names. Where the meaning of
the lines is known, a feature with several thresholds is one number field and a category with several levels one choice.
"""

from __future__ import annotations

import json
from itertools import accumulate
from typing import TYPE_CHECKING

from surefoot.design.binarize.cuts import spelled
from surefoot.reports.card.card_line import CardLine
from surefoot.reports.markup import document, resource, safe
from surefoot.reports.wording import formula_text, line_points_text, points_text, risk_name, shown_name

if TYPE_CHECKING:
    from surefoot.reports.card.score_card import ScoreCard

# Scripts and styles of the page itself, and nothing from anywhere else.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def calculator_page(card: ScoreCard) -> str:
    """The page as one document."""
    name = risk_name(card.classes[1])
    heading = safe(shown_name(card.heading))
    fields = [_field(at, own) for at, own in enumerate(_features(card.lines))]
    return document(
        heading,
        "calculator.css",
        _POLICY,
        [
            "<main>",
            f"<h1>{heading}</h1>",
            f'<form id="card" data-intercept="{card.intercept}" data-multiplier="{float(card.multiplier)!r}">',
            *fields,
            '<div class="answer">',
            '<p>Total points <output id="total" for="card">0</output></p>',
            f'<p>{safe(name[0].upper() + name[1:])} <output id="risk" for="card"></output></p>',
            '<div class="bar" aria-hidden="true"><span id="bar"></span></div>',
            '<p id="open" role="status"></p>',
            '<p><button type="reset">Start again</button></p>',
            "</div>",
            "</form>",
            f"<p><code>{safe(formula_text(card.intercept, card.multiplier, card.table))}</code></p>",
            *(f"<p>{safe(note)}</p>" for note in card.notes),
            "<noscript><p>This page needs JavaScript to add up the points.</p></noscript>",
            "</main>",
            f"<script>\n//<![CDATA[\n{resource('calculator.js')}\n//]]>\n</script>",
        ],
    )


def _features(lines: tuple[CardLine, ...]) -> list[list[CardLine]]:
    """Lines that are answered together, in the order of the card."""
    groups: dict[tuple[str, str], list[CardLine]] = {}
    for line in lines:
        key = ("line", line.feature) if line.meaning is None else ("feature", line.meaning.feature)
        groups.setdefault(key, []).append(line)
    return list(groups.values())


def _field(at: int, lines: list[CardLine]) -> str:
    if len(lines) == 1:
        return _single(at, lines[0])
    meanings = [line.meaning for line in lines if line.meaning is not None]
    name = meanings[0].feature
    thresholds = [line for line in lines if line.meaning is not None and line.meaning.operator == ">="]
    if thresholds:
        return _thresholds(at, name, thresholds, [line for line in lines if line not in thresholds])
    return _choice(at, name, lines)


def _single(at: int, line: CardLine) -> str:
    name, points = safe(shown_name(line.feature)), safe(line_points_text(line.points, line.kind))
    if line.kind == "binary":
        return (
            f'<div class="field"><input type="checkbox" id="f{at}" data-kind="check" data-points="{line.points}"/>'
            f'<label for="f{at}">{name}</label><span class="points">{points}</span></div>'
        )
    step = "1" if line.kind == "integer" else "any"
    return (
        f'<div class="field"><label for="f{at}">{name}</label>'
        f'<input type="number" id="f{at}" step="{step}" inputmode="decimal" data-kind="times" data-points="{line.points}"/>'
        f'<span class="points">{points}</span></div>'
    )


def _thresholds(at: int, name: str, thresholds: list[CardLine], others: list[CardLine]) -> str:
    cuts = sorted((float(line.meaning.value), line.points) for line in thresholds)  # type: ignore[union-attr, arg-type]
    sums = accumulate(points for _, points in cuts)
    said = ", ".join(f"from {spelled(value)}: {points_text(points)}" for (value, _), points in zip(cuts, sums, strict=True))
    unknown = "".join(
        f'<span class="unknown"><input type="checkbox" id="f{at}m" data-kind="unknown" data-for="f{at}" '
        f'data-points="{line.points}"/><label for="f{at}m">not known ({safe(line_points_text(line.points, line.kind))})</label>'
        "</span>"
        for line in others[:1]
    )
    return (
        f'<div class="field"><label for="f{at}">{safe(shown_name(name))}</label>'
        f'<input type="number" id="f{at}" step="any" inputmode="decimal" '
        f'data-kind="cuts" data-cuts="{safe(json.dumps(cuts))}"/>'
        f'<span class="points">points {safe(said)}</span>{unknown}</div>'
    )


def _choice(at: int, name: str, lines: list[CardLine]) -> str:
    options = "".join(
        f'<option data-points="{line.points}">{safe(_level(line))} ({safe(line_points_text(line.points, line.kind))})</option>'
        for line in lines
    )
    return (
        f'<div class="field"><label for="f{at}">{safe(shown_name(name))}</label>'
        f'<select id="f{at}" data-kind="choice">'
        f'<option data-points="0">none of these (0 points)</option>{options}</select></div>'
    )


def _level(line: CardLine) -> str:
    meaning = line.meaning
    if meaning is None or meaning.operator == "missing":
        return "not known"
    return shown_name(meaning.value_text)
