"""Results as notebooks show them: a heading, a table, and remarks, in markup that takes the colours of the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

# Rows that a notebook shows; the rest is in the data frame.
MOST_ROWS = 30


def shown_table(heading: str, heads: Sequence[str], rows: Sequence[Sequence[str]], remarks: Iterable[str] = ()) -> str:
    """A table as HTML; all texts are taken as texts, and more rows than fit a screen are counted."""
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[:MOST_ROWS])
    more = [f"... and {len(rows) - MOST_ROWS:,} more rows: see to_frame()"] if len(rows) > MOST_ROWS else []
    notes = "".join(f"<p>{escape(text)}</p>" for text in (*more, *remarks))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if rows else ""
    return f"<div><p><b>{escape(heading)}</b></p>{table}{notes}</div>"
