"""A score card as a picture: one SVG without scripts, links or fonts of its own.

SVG does not break lines. Names are broken here, by an estimate of their width that is on the safe side of common fonts: 0.62 em
for a letter, 0.8 em for a capital, 1.05 em for m, w and the like, for the characters of East Asian scripts, and for emoji.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from surefoot.reports.markup import safe
from surefoot.reports.wording import (
    formula_text,
    grouping_text,
    line_points_text,
    risks_text,
    shown_name,
    totals_text,
)

if TYPE_CHECKING:
    from surefoot.reports.card.score_card import ScoreCard

_WIDTH = 760
_MARGIN = 20
_LEFT = 400  # width of the table of points; the table of risks has the rest, less a gap
_GAP = 30
_SIZE = 14
_LEADING = 18
_ROW = 28
_INK, _SOFT, _RULE, _ACCENT, _BAR = "#1b1f24", "#3a4450", "#c9d0d8", "#12385b", "#2f6ea5"


def text_width(text: str, size: float) -> float:
    """Estimated width of a line of text in pixels."""
    return size * sum(map(_em, text))


def _em(letter: str) -> float:
    if letter in "mwMW@%\u2014" or unicodedata.east_asian_width(letter) in "WF":
        return 1.05
    return 0.8 if letter.isupper() else 0.62


def broken(text: str, size: float, width: float) -> list[str]:
    """Text in lines that fit a width; words that do not fit are cut."""
    lines, current = [], ""
    for word in text.split():
        trial = f"{current} {word}" if current else word
        if text_width(trial, size) <= width:
            current = trial
            continue
        if current:
            lines.append(current)
        while text_width(word, size) > width:
            cut = next(k for k in range(len(word), 0, -1) if k == 1 or text_width(word[:k], size) <= width)
            lines.append(word[:cut])
            word = word[cut:]
        current = word
    return [*lines, current] if current or not lines else lines


def card_svg(card: ScoreCard) -> str:
    """The card as an SVG document."""
    heading = shown_name(card.heading)
    body: list[str] = []
    y = _MARGIN + 6.0
    for part in broken(heading, 20, _WIDTH - 2 * _MARGIN):
        y += 24
        body.append(_text(_MARGIN, y - 6, part, size=20, weight=600))
    top = y + 12
    right = _MARGIN + _LEFT + _GAP
    bottom = max(_points(card, body, top), _risks(card, body, right, top))
    notes = [grouping_text(card.table), *card.notes]
    notes.append(formula_text(card.intercept, card.multiplier, card.table))
    y = bottom + 8
    for note in filter(None, notes):
        for part in broken(note, 12, _WIDTH - 2 * _MARGIN):
            y += 17
            body.append(_text(_MARGIN, y, part, size=12, fill=_SOFT))
        y += 4
    height = round(y + _MARGIN)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
            f'role="img" font-family="system-ui, Segoe UI, Helvetica, Arial, sans-serif" fill="{_INK}">',
            f"<title>{safe(heading)}</title>",
            f"<desc>{safe(card.text)}</desc>",
            f'<rect x="0.5" y="0.5" width="{_WIDTH - 1}" height="{height - 1}" rx="6" fill="#ffffff" stroke="#8a939e"/>',
            *body,
            "</svg>",
        ]
    )


def _text(
    x: float, y: float, text: str, *, size: int = _SIZE, anchor: str = "start", fill: str = _INK, weight: int = 400
) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" fill="{fill}" font-weight="{weight}">'
        f"{safe(text)}</text>"
    )


def _rule(x: float, y: float, width: float, *, strong: bool = False) -> str:
    colour, thickness = (_ACCENT, 2) if strong else (_RULE, 1)
    return f'<path d="M{x:g} {y:g}h{width:g}" stroke="{colour}" stroke-width="{thickness}"/>'


def _points(card: ScoreCard, body: list[str], top: float) -> float:
    """Draw the lines of the card; returns where they end."""
    end = _MARGIN + _LEFT
    body.append(_text(_MARGIN, top + 16, "Add up the points that apply", fill=_ACCENT, weight=600))
    body.append(_rule(_MARGIN, top + 26, _LEFT, strong=True))
    y = top + 26
    for line in card.lines:
        points = line_points_text(line.points, line.kind)
        name = broken(shown_name(line.feature), _SIZE, _LEFT - text_width(points, _SIZE) - 16)
        body.append(_text(end, y + 19, points, anchor="end"))
        body += [_text(_MARGIN, y + 19 + at * _LEADING, part) for at, part in enumerate(name)]
        y += _ROW + (len(name) - 1) * _LEADING
        body.append(_rule(_MARGIN, y, _LEFT))
    if not card.lines:
        body.append(_text(_MARGIN, y + 19, "No feature has points."))
        y += _ROW
    body.append(_rule(_MARGIN, y, _LEFT, strong=True))
    body.append(_text(_MARGIN, y + 20, "Total points", weight=600))
    body.append(_text(end - 76, y + 20, "=", anchor="end", weight=600))
    body.append(f'<rect x="{end - 66}" y="{y + 6:g}" width="66" height="20" rx="3" fill="none" stroke="#5b6672"/>')
    return y + _ROW + 4


def _risks(card: ScoreCard, body: list[str], left: float, top: float) -> float:
    """Draw the table of risks; returns where it ends."""
    width = _WIDTH - _MARGIN - left
    totals = [totals_text(row, card.table) for row in card.table.rows]
    risks = [risks_text(row) for row in card.table.rows]
    # Numbers are narrower than the estimate for letters, so nothing overlaps; bars get what is left.
    first = max(text_width(text, _SIZE) for text in ["Total", *totals])
    second = first + 14 + max(text_width(text, _SIZE) for text in ["Risk", *risks])
    room = width - second - 12
    body.append(_text(left + first, top + 16, "Total", anchor="end", fill=_ACCENT, weight=600))
    body.append(_text(left + second, top + 16, "Risk", anchor="end", fill=_ACCENT, weight=600))
    body.append(_rule(left, top + 26, width, strong=True))
    y, height = top + 26, 22
    for row, total, risk in zip(card.table.rows, totals, risks, strict=True):
        body.append(_text(left + first, y + 16, total, anchor="end"))
        body.append(_text(left + second, y + 16, risk, anchor="end"))
        if room > 20:
            share = max(1.0, room * (row.low_risk + row.high_risk) / 2)
            start = left + second + 12
            body.append(f'<rect x="{start:g}" y="{y + 6:g}" width="{share:.1f}" height="10" rx="2" fill="{_BAR}"/>')
        y += height
        body.append(_rule(left, y, width))
    return y
