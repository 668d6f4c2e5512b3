"""What a report says about another table beside its own: what has shifted, whether the radius covers it, what the loss did."""

from __future__ import annotations

from typing import Any

from surefoot.reports.page import Fact, bar, bullets, paragraph, table
from surefoot.reports.subject import Subject
from surefoot.shift.comparison.column_pairs import price_text
from surefoot.shift.comparison.compare import compare
from surefoot.shift.comparison.comparison import Comparison
from surefoot.shift.comparison.decomposition import Decomposition, Part

# Columns that are shown; those that shifted most come first.
_LISTED = 20


def comparison_with(subject: Subject, earlier: Any, random_state: Any) -> Comparison | None:
    """The table of a report compared with an earlier one.

    Parameters
    ----------
    subject : Subject
    earlier : None, table, tuple (table, labels), or Comparison
        As in :func:`~surefoot.report`.
    random_state : None, int, or NumPy generator
    """
    if earlier is None or isinstance(earlier, Comparison):
        return earlier
    X, y = earlier if isinstance(earlier, tuple) and len(earlier) == 2 else (earlier, None)
    # A support vector machine without probabilities has no log loss.
    model = subject.whole if subject.probability is not None else None
    return compare(X, subject.X, y, None if y is None else subject.y, model, random_state=random_state)


def comparison_fact(found: Comparison) -> Fact:
    """The shift for the first screen."""
    radius = found.radius
    if not radius.beyond_chance:
        others = f"; shifted: {', '.join(found.shifted)}" if found.shifted else ""
        return Fact("Shift", "none", f"beyond chance that a radius could cover{others}" if others else "beyond chance")
    own = "" if radius.model_radius is None else f"; the model's radius is {price_text(radius.model_radius)}"
    return Fact("Shift", price_text(radius.estimate), f"as a radius, chance taken off{own}")


def comparison_blocks(found: Comparison) -> tuple[str, ...]:
    """The section."""
    longest = max((line.distance for line in found.lines), default=0.0) or 1.0
    rows = [
        [
            line.name,
            line.change,
            line.note,
            "beyond chance" if line.shifted else "",
            bar(line.distance / longest),
            price_text(line.distance),
            price_text(line.by_chance),
            f"{line.p_value:.2g}",
        ]
        for line in found.lines[:_LISTED]
    ]
    more = len(found.lines) - len(rows)
    radius = found.radius
    blocks = [
        paragraph(f"An earlier table of {found.n_rows[0]:,} rows beside the {found.n_rows[1]:,} of this report. {radius}"),
        table(("column", "change", "", "", "", "distance", "by chance", "p"), rows, left=4, ready=(4,)),
        paragraph(
            f"{f'{more:,} more columns shifted less. ' if more > 0 else ''}Distance: the least price per row of turning one "
            "column into the other. By chance: 95 of 100 pairs of samples of one population are nearer. p is for all columns "
            f"together. {radius.proven}",
            "small",
        ),
    ]
    if found.decomposition is not None:
        blocks += _loss_blocks(found.decomposition)
    blocks += [paragraph(told) for told in found.remarks]
    return tuple(blocks)


def _loss_blocks(parts: Decomposition) -> list[str]:
    blocks = [paragraph(" ".join((*parts.in_words, parts.whose_rows)).strip())]
    if parts.inputs is not None and parts.relation is not None:
        told = (("Other rows:", parts.inputs), ("Other answers to the same rows:", parts.relation))
        blocks.append(bullets((name, _interval(part)) for name, part in told))
    return blocks


def _interval(part: Part) -> str:
    return f"{part} of mean log loss."
