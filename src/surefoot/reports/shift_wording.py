"""Shifts in words: the worst one, column by column, and what a person said may shift."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from surefoot.reports.page import bar, bullets, paragraph, table
from surefoot.reports.wording import risk_text
from surefoot.shift.shift_model import ShiftModel

_MOST_FEATURES = 6
_MOST_MOVES = 12
_MOST_LEVELS = 3
_MOST_NAMED = 6
# How a sentence begins about what nobody said.
ASSUMED = "Nobody said what may shift, so it is assumed that"


def worst_shift_blocks(
    moves: Mapping[str, Any],
    *,
    radius: float,
    nominal_loss: float,
    expected_loss: float,
    label_feature: str,
    untouched: list[str],
    prices: str = "",
    binary: Sequence[Any] = (),
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
    prices : str
        What shifts cost, as the end of a sentence.
    binary : sequence
        Columns of the numbers 0 and 1 alone that move without end.
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
    blocks = [paragraph(lead, "lead"), bullets(_sentences(moves, radius, label_feature, set(map(str, binary))))]
    if prices:
        blocks.append(paragraph(f"What a shift costs: {prices}.", "small"))
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


def _sentences(moves: Mapping[str, Any], radius: float, label_feature: str, binary: set[str]) -> list[tuple[str, str]]:
    """One entry per column, by falling part of the budget."""
    by_feature: dict[str, list[tuple[Any, ...]]] = {}
    for line in _lines(moves):
        by_feature.setdefault(str(line[0]), []).append(line[1:])
    ranked = sorted(by_feature.items(), key=lambda entry: -sum(float(move[3]) for move in entry[1]))
    return [
        (
            "Labels" if feature == label_feature else feature,
            _sentence(own, radius, is_label=feature == label_feature, binary=feature in binary),
        )
        for feature, own in ranked[:_MOST_FEATURES]
    ]


def _change(old: Any, new: Any) -> str:
    # Numbers that go to an end of their range come as a text, such as "18 to 45".
    return f"{new} instead of {old}" if isinstance(old, str) and not isinstance(new, str) else f"{old} becomes {new}"


def _sentence(own: list[tuple[Any, ...]], radius: float, *, is_label: bool, binary: bool) -> str:
    share = risk_text(sum(float(move[3]) for move in own) / radius)
    if own[0][0] is None and own[0][1] is None and binary:
        return (
            f"takes {share} of the price: very few rows with a number very far from 0 and 1, which are all that it holds. So "
            "that it flips instead, fit the model with a price for it in categorical_weights, or with a shift model that has a "
            "certainty for it."
        )
    if own[0][0] is None and own[0][1] is None:
        return (
            f"takes {share} of the price: very few rows with a number very far from where it was, the fewer the farther. If it "
            "cannot be that far away, fit the model with a numeric_range for this column."
        )
    parts = [f"{_change(old, new)} in {risk_text(float(mass))} of all rows" for old, new, mass, _ in own[:_MOST_LEVELS]]
    more = f", and {len(own) - _MOST_LEVELS} other changes" if len(own) > _MOST_LEVELS else ""
    what = "are recorded wrongly and take" if is_label else "takes"
    return f"{what} {share} of the price: {'; '.join(parts)}{more}."


def price_words(names: Sequence[str], weights: Sequence[float], *, unit: str, unit_of: str) -> str:
    """What the columns that can shift cost, per ``unit``; prices that are all alike are named once."""
    finite = [(name, weight) for name, weight in zip(names, weights, strict=True) if weight < math.inf]
    if not finite:
        return ""
    if len(finite) > 1 and len({f"{weight:.3g}" for _, weight in finite}) == 1:
        return f"{finite[0][1]:.3g} per {unit} in any of {len(finite)} {unit_of} columns"
    named = [f"{name} {weight:.3g} per {unit}" for name, weight in finite[:_MOST_NAMED]]
    return ", ".join(named) + (f" and {len(finite) - _MOST_NAMED} more" if len(finite) > _MOST_NAMED else "")


def shift_words(shift: ShiftModel) -> str:
    """What a shift model says, as the end of a sentence."""
    return certainty_words(shift.numeric_certainty, shift.numeric_interval, shift.categorical_certainty)


def certainty_words(numeric: Any, interval: Any, categorical: Any) -> str:
    """The certainties of a shift model as the end of a sentence: one number for all columns, or a mapping by column."""
    parts = _certainties(
        numeric, "number", lambda name, value: f"moves by at most {_width(interval, name)} with probability {value:.0%}"
    )
    parts += _certainties(categorical, "category", lambda name, value: f"stays the same with probability {value:.0%}")
    return " and that ".join(parts) or "nothing shifts"


def _certainties(given: Any, noun: str, told: Callable[[Any, float], str]) -> list[str]:
    """Who does what; columns that do the same are named together."""
    if given is None:
        return []
    if not isinstance(given, Mapping):
        return [f"every {noun} {told(None, float(given))}"]
    each = [(str(name), told(name, float(value))) for name, value in given.items()]
    if len(each) > 1 and len({text for _, text in each}) == 1:
        return [f"a {noun} in any of {len(each)} columns {each[0][1]}"]
    if len(each) > _MOST_NAMED:
        return [f"each {noun} in {len(each)} columns shifts with the certainty of its column"]
    return [f"{name} {text}" for name, text in each]


def _width(interval: Any, name: Any) -> str:
    width = interval.get(name) if isinstance(interval, Mapping) else interval
    text = "0.4 std" if width is None else str(width)
    return text.replace(" std", " standard deviations") if text.endswith(" std") else text
