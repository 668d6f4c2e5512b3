"""A score card as a fragment of a page: a section that brings its own style, loads nothing and is well-formed XML too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from surefoot.reports.markup import resource, safe
from surefoot.reports.wording import (
    formula_text,
    grouping_text,
    line_points_text,
    risk_name,
    risks_text,
    shown_name,
    totals_text,
)

if TYPE_CHECKING:
    from surefoot.reports.card.score_card import ScoreCard


def card_html(card: ScoreCard) -> str:
    """The card as one ``<section>``."""
    heading = safe(shown_name(card.heading))
    notes = [grouping_text(card.table), *card.notes]
    return "\n".join(
        [
            f'<section class="sf-card" aria-label="{heading}">',
            f"<style>{resource('card.css')}</style>",
            f"<h2>{heading}</h2>",
            '<div class="sf-parts">',
            f'<div class="sf-points">{points_html(card)}</div>',
            f'<div class="sf-risks">{risks_html(card)}</div>',
            "</div>",
            *(f"<p>{safe(note)}</p>" for note in notes if note),
            f"<p><code>{safe(formula_text(card.intercept, card.multiplier, card.table))}</code></p>",
            "</section>",
        ]
    )


def points_html(card: ScoreCard) -> str:
    """The lines of the card, with room to write one's own points next to them."""
    rows = [
        f'<tr><th scope="row">{safe(shown_name(line.feature))}</th>'
        f'<td class="sf-number">{safe(line_points_text(line.points, line.kind))}</td>'
        '<td class="sf-own"><span></span></td></tr>'
        for line in card.lines
    ]
    if not rows:
        rows = ['<tr><td colspan="3">No feature has points: everybody has the same risk.</td></tr>']
    return (
        "<table><caption>Add up the points that apply</caption>"
        '<thead><tr><th scope="col">Feature</th><th scope="col" class="sf-number">Points</th>'
        '<th scope="col">Yours</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody>"
        '<tfoot><tr><th scope="row">Total points</th><td class="sf-number">=</td>'
        '<td class="sf-own"><span></span></td></tr></tfoot></table>'
    )


def risks_html(card: ScoreCard) -> str:
    """The table of risks, with a bar for each."""
    rows = [
        f'<tr><th scope="row" class="sf-number">{safe(totals_text(row, card.table))}</th>'
        f'<td class="sf-number">{safe(risks_text(row))}</td>'
        '<td class="sf-bar" aria-hidden="true">'
        f'<span style="width:{50 * (row.low_risk + row.high_risk):.1f}%"></span></td></tr>'
        for row in card.table.rows
    ]
    return (
        f"<table><caption>Read off the {safe(risk_name(card.classes[1]))}</caption>"
        '<thead><tr><th scope="col" class="sf-number">Total points</th><th scope="col" class="sf-number">Risk</th>'
        '<th class="sf-bar" aria-hidden="true"></th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )
