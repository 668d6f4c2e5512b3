"""The worst shift in words: which columns it moves, from where to where, and what part of the budget that takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surefoot.reports.report_page import bar, bullets, paragraph, table
from surefoot.reports.wording import risk_text

_MOST_FEATURES = 6
_MOST_MOVES = 12
_MOST_LEVELS = 3


def worst_shift_blocks(
    moves: Mapping[str, Any],
    *,
    radius: float,
    nominal_loss: float,
    expected_loss: float,
    label_feature: str,
    untouched: list[str],
) -> tuple[str, ...]:
    """What would hurt most.

    Parameters
    ----------
    moves : mapping
        ``feature``, ``from``, ``to``, ``mass`` and ``budget`` of equal moves added up, by falling budget; numeric columns have
        neither ``from`` nor ``to``.
    radius, nominal_loss, expected_loss : float
        The budget per row, and the mean log loss without the shift and under it.
    label_feature : str
        What ``feature`` says where a label is flipped.
    untouched : list of str
        Columns that the worst shift leaves alone.
    """
    if len(moves["feature"]) == 0:
        return (
            paragraph(
                f"No shift at a mean price of up to {radius:.4g} per row raises the log loss of {nominal_loss:.4f}.", "lead"
            ),
        )
    lead = (
        f"The worst shift at a mean price of up to {radius:.4g} per row raises the mean log loss from {nominal_loss:.4f} to "
        f"{expected_loss:.4f}. No other shift within that price raises it more. Most of it would be:"
    )
    blocks = [paragraph(lead, "lead"), bullets(_sentences(moves, radius, label_feature))]
    if untouched:
        named = ", ".join(untouched[:8]) + (f" and {len(untouched) - 8} more" if len(untouched) > 8 else "")
        blocks.append(paragraph(f"It leaves alone: {named}.", "small"))
    rows = [
        [str(feature), *_ends(old, new), risk_text(float(mass)), risk_text(float(budget) / radius), bar(float(budget) / radius)]
        for feature, old, new, mass, budget in _lines(moves)[:_MOST_MOVES]
    ]
    headings = ("column", "from", "to", "share of rows", "share of the price", "")
    count = len(moves["feature"])
    caption = "Single moves" + (f", the {_MOST_MOVES} largest of {count}" if count > _MOST_MOVES else "")
    blocks.append(table(headings, rows, left=3, ready=(5,), caption=caption))
    return tuple(blocks)


def _lines(moves: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    return list(zip(*(moves[part] for part in ("feature", "from", "to", "mass", "budget")), strict=True))


def _ends(old: Any, new: Any) -> tuple[str, str]:
    return ("any number", "far away") if old is None and new is None else (str(old), str(new))


def _sentences(moves: Mapping[str, Any], radius: float, label_feature: str) -> list[tuple[str, str]]:
    """One entry per column, by falling part of the budget."""
    by_feature: dict[str, list[tuple[Any, ...]]] = {}
    for line in _lines(moves):
        by_feature.setdefault(str(line[0]), []).append(line[1:])
    ranked = sorted(by_feature.items(), key=lambda entry: -sum(float(move[3]) for move in entry[1]))
    return [
        ("Labels" if feature == label_feature else feature, _sentence(own, radius, feature == label_feature))
        for feature, own in ranked[:_MOST_FEATURES]
    ]


def _sentence(own: list[tuple[Any, ...]], radius: float, is_label: bool) -> str:
    share = risk_text(sum(float(move[3]) for move in own) / radius)
    if own[0][0] is None and own[0][1] is None:
        return f"takes {share} of the price: very few rows with a number very far from where it was, the fewer the farther."
    parts = [f"{old} becomes {new} in {risk_text(float(mass))} of all rows" for old, new, mass, _ in own[:_MOST_LEVELS]]
    more = f", and {len(own) - _MOST_LEVELS} other changes" if len(own) > _MOST_LEVELS else ""
    what = "are recorded wrongly and take" if is_label else "takes"
    return f"{what} {share} of the price: {'; '.join(parts)}{more}."
