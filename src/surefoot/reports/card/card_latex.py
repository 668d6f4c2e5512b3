r"""A score card as a LaTeX table: two tabulars that need no package; names that are text stay text.

Every character with a meaning in LaTeX is written as a command. Accented letters and some mathematical signs are set by every
LaTeX. Other scripts are set by LuaLaTeX and XeLaTeX, as far as their font goes; pdfLaTeX, which would stop at them, shows a
question mark instead.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from surefoot.reports.wording import (
    MINUS,
    TIMES,
    formula_text,
    grouping_text,
    line_points_text,
    risks_text,
    shown_name,
    totals_text,
)

if TYPE_CHECKING:
    from surefoot.reports.card.score_card import ScoreCard

_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "%": r"\%",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        # These three print as other characters in LaTeX's oldest and still default font encoding.
        "<": r"\ensuremath{<}",
        ">": r"\ensuremath{>}",
        "|": r"\ensuremath{|}",
        # Pairs of these would become other characters: quotation marks, dashes, Spanish punctuation.
        "-": r"{-}",
        "`": r"{`}",
        "'": r"{'}",
        '"': r"{''}",
        # A cell that begins with a bracket could be taken for an option of the command before it.
        "[": r"{[}",
        "]": r"{]}",
        "*": r"{*}",
        MINUS: r"\ensuremath{-}",
        TIMES: r"\ensuremath{\times}",
        "\u221e": r"\ensuremath{\infty}",
        "\u2264": r"\ensuremath{\leq}",
        "\u2265": r"\ensuremath{\geq}",
        "\u2260": r"\ensuremath{\neq}",
    }
)
_UNBROKEN = 12  # letters of a long word that stay together
# What pdfLaTeX cannot set: beyond Latin letters with accents and the usual punctuation marks.
_FOREIGN = re.compile(r"[^\u0000-\u017f\u2010-\u201e\u2020-\u2022\u2026\u20ac]+")


def latex_text(text: str) -> str:
    """Text that LaTeX sets as it reads."""
    # \Umathchar is a primitive of LuaTeX and XeTeX only.
    return _FOREIGN.sub(r"{\\ifdefined\\Umathchar \g<0>\\else ?\\fi}", text.translate(_ESCAPES))


def latex_name(name: str) -> str:
    """A name that may break anywhere inside words too long for a column."""
    words = [
        r"\hspace{0pt}".join(latex_text(word[at : at + _UNBROKEN]) for at in range(0, len(word), _UNBROKEN))
        for word in shown_name(name).split(" ")
    ]
    return " ".join(words)


def card_latex(card: ScoreCard) -> str:
    """The card as a LaTeX fragment."""
    lines = [
        f"\\raggedright {latex_name(line.feature)} & {latex_text(line_points_text(line.points, line.kind))} \\\\"
        for line in card.lines
    ]
    rows = [f"{latex_text(totals_text(row, card.table))} & {latex_text(risks_text(row))} \\\\" for row in card.table.rows]
    notes = [grouping_text(card.table), formula_text(card.intercept, card.multiplier, card.table)]
    notes += card.notes
    return "\n".join(
        [
            r"\begin{center}",
            rf"\textbf{{{latex_name(card.heading)}}}\par\medskip",
            # Names break over lines inside a paragraph column.
            r"\begin{tabular}[t]{|p{0.45\linewidth}|r|}",
            r"\hline",
            *lines,
            r"\hline",
            r"Total points & = \dotfill \\",
            r"\hline",
            r"\end{tabular}\quad",
            r"\begin{tabular}[t]{|r|r|}",
            r"\hline",
            r"Total & Risk \\",
            r"\hline",
            *rows,
            r"\hline",
            r"\end{tabular}\par\medskip",
            *(rf"{{\small {latex_text(note)}\par}}" for note in notes if note),
            r"\end{center}",
        ]
    )
