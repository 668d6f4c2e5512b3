"""A report as one HTML page: no script, no link, no font or picture from elsewhere; made for the screen and for paper.

Blocks are finished markup. Every function here that takes text escapes it, so whatever a name or a label holds comes out as
text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from surefoot.reports.markup import document, safe
from surefoot.reports.wording import shown_name

# Nothing is loaded and nothing runs, whatever a name in the data may try.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
# Rows of a table that stays on one page of paper.
_SHORT = 16


def words(text: str) -> str:
    """Text on one line, as content or as an attribute in quotation marks."""
    return safe(shown_name(text)) if text else ""


@dataclass(frozen=True)
class Fact:
    """A number for the first screen: what it is, the number, and what to make of it."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Section:
    """A heading and the blocks below it."""

    heading: str
    blocks: tuple[str, ...]


@dataclass(frozen=True)
class ReportPage:
    """A whole report.

    Attributes
    ----------
    title, subtitle : str
    facts : tuple of Fact
    sections : tuple of Section
    footer : str
    """

    title: str
    subtitle: str
    facts: tuple[Fact, ...]
    sections: tuple[Section, ...]
    footer: str

    @property
    def html(self) -> str:
        """The page as one document."""
        title = words(self.title)
        links = "".join(f'<a href="#s{at}">{words(section.heading)}</a>' for at, section in enumerate(self.sections, 1))
        body = [
            "<main>",
            f'<header><h1>{title}</h1><p class="subtitle">{words(self.subtitle)}</p></header>',
            f'<div class="facts">{"".join(map(_fact, self.facts))}</div>',
            f'<nav aria-label="Sections">{links}</nav>',
            *(_section(at, section) for at, section in enumerate(self.sections, 1)),
            f"<footer>{words(self.footer)}</footer>",
            "</main>",
        ]
        return document(title, "report.css", _POLICY, body) + "\n"


def _section(at: int, section: Section) -> str:
    return f'<section id="s{at}"><h2><span>{at}</span> {words(section.heading)}</h2>{"".join(section.blocks)}</section>'


def _fact(fact: Fact) -> str:
    note = f'<span class="note">{words(fact.note)}</span>' if fact.note else ""
    return f'<div><span class="label">{words(fact.label)}</span><span class="value">{words(fact.value)}</span>{note}</div>'


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of text; ``kind`` is a class of the style sheet."""
    return f'<p class="{kind}">{words(text)}</p>' if kind else f"<p>{words(text)}</p>"


def bullets(items: Iterable[tuple[str, str]]) -> str:
    """A list whose entries begin with a name in bold."""
    return "<ul>" + "".join(f"<li><strong>{words(name)}</strong> {words(text)}</li>" for name, text in items) + "</ul>"


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    left: int = 1,
    ready: Sequence[int] = (),
    long: Sequence[int] = (),
    caption: str = "",
) -> str:
    """A table of text.

    Parameters
    ----------
    headings : sequence of str
        All empty for a table without a head.
    rows : iterable of sequences of str
    left : int, default=1
        So many first columns are names, flush left; the others are numbers.
    ready : sequence of int
        Columns that hold finished markup, such as :func:`bar`, instead of text.
    long : sequence of int
        Columns of sentences, which are to be wide on a telephone too.
    caption : str
        What screen readers announce, together with the headings.
    """

    def cell(at: int, text: str) -> str:
        kind = "ready" if at in ready else "long" if at in long else "" if at < left else "number"
        kinds = f' class="{kind}"' if kind else ""
        if at == 0 and left:  # what the row is about
            return f'<th scope="row"{kinds}>{words(text)}</th>'
        return f"<td{kinds}>{text if at in ready else words(text)}</td>"

    def heading(at: int, text: str) -> str:
        kind = ' class="ready"' if at in ready else "" if at < left or at in long else ' class="number"'
        # A heading that says nothing is no heading.
        return f'<th scope="col"{kind}>{words(text)}</th>' if text else f"<td{kind}></td>"

    head = "".join(heading(at, text) for at, text in enumerate(headings))
    lines = ["<tr>" + "".join(cell(at, text) for at, text in enumerate(row)) + "</tr>" for row in rows]
    title = f"<caption>{words(caption)}</caption>" if caption else ""
    head = f"<thead><tr>{head}</tr></thead>" if any(headings) else ""
    kind = "wide short" if len(lines) <= _SHORT else "wide"  # a short table is not to be cut by the end of a page
    # What may be wider than a telephone can be scrolled with the keyboard too, and then needs a name.
    told = words(caption or ", ".join(filter(None, headings)) or "figures")
    whole = f"<table>{title}{head}<tbody>{''.join(lines)}</tbody></table>"
    return f'<div class="{kind}" role="group" aria-label="Table: {told}" tabindex="0">{whole}</div>'


def figures(*pairs: tuple[str, str]) -> str:
    """Pictures side by side, each an SVG and its caption."""
    shown = "".join(f"<figure>{svg}<figcaption>{words(caption)}</figcaption></figure>" for svg, caption in pairs)
    return f'<div class="figures">{shown}</div>'


def bar(share: float) -> str:
    """A bar for a share of 0 to 1."""
    return f'<span class="bar"><span style="width:{100 * min(max(share, 0.0), 1.0):.1f}%"></span></span>'


def signed_bar(share: float) -> str:
    """A bar to the left or right of a middle, for shares of -1 to 1."""
    width = 50 * min(abs(share), 1.0)
    side, kind = ("right", "down") if share < 0 else ("left", "up")
    return f'<span class="signed"><span class="{kind}" style="{side}:50%;width:{width:.1f}%"></span></span>'
