"""A score card in plain text, for terminals and mails: everything in columns, nothing wider than a page."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from surefoot.reports.wording import (
    cells,
    formula_text,
    grouping_text,
    line_points_text,
    points_text,
    risks_text,
    shown_name,
    totals_text,
)

if TYPE_CHECKING:
    from surefoot.reports.card.score_card import ScoreCard

_WIDEST_NAME = 60
_PAGE = 88


def card_text(card: ScoreCard) -> str:
    """The card as lines of text."""
    names = [textwrap.wrap(shown_name(line.feature), _WIDEST_NAME) for line in card.lines]
    name_width = max([len("Total points"), *(cells(part) for name in names for part in name)])
    digits = max([1, *(len(points_text(line.points)) for line in card.lines)])
    rows = []
    for line, name in zip(card.lines, names, strict=True):
        rest = line_points_text(line.points, line.kind).removeprefix(points_text(line.points))
        rows.append(f"{name[0]}{' ' * (name_width - cells(name[0]))}  {points_text(line.points):>{digits}}{rest}")
        rows += [f"  {part}" for part in name[1:]]
    rule = "-" * max(map(cells, [*rows, f"{'':<{name_width}}  = ......"]))
    heading = textwrap.wrap(shown_name(card.heading), _PAGE)
    total = f"{'Total points':<{name_width}}  = ......"
    body = [*heading, rule, *(rows or ["(no feature has points)"]), rule, total, "", *_risks(card), ""]
    body += textwrap.wrap(grouping_text(card.table), _PAGE)
    body.append(formula_text(card.intercept, card.multiplier, card.table))
    for note in card.notes:
        body += textwrap.wrap(note, _PAGE)
    return "\n".join(body)


def _risks(card: ScoreCard) -> list[str]:
    left = ["Total", *(totals_text(row, card.table) for row in card.table.rows)]
    right = ["Risk", *(risks_text(row) for row in card.table.rows)]
    widths = max(map(len, left)), max(map(len, right))
    return [f"{a:>{widths[0]}}  {b:>{widths[1]}}" for a, b in zip(left, right, strict=True)]
