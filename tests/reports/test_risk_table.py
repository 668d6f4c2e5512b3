"""Totals and risks: what can be reached, and that no total falls between two rows."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.design.binarize.binary_column import BinaryColumn
from surefoot.reports.card.card_line import CardLine
from surefoot.reports.card.risk_table import MOST_ROWS, reachable_totals, risk_of, risk_table
from surefoot.reports.card.score_card import ScoreCard
from surefoot.reports.wording import formula_text, risk_text

points = st.integers(-9, 9).filter(bool)


@given(st.lists(points, max_size=8))
def test_binary_lines_reach_the_sums_of_all_subsets(own: list[int]) -> None:
    lines = [CardLine(f"x{at}", value) for at, value in enumerate(own)]
    sums = {sum(value * taken for value, taken in zip(own, chosen, strict=True)) for chosen in product((0, 1), repeat=len(own))}
    assert reachable_totals(lines) == sorted(sums)


def test_lines_of_one_feature_exclude_each_other() -> None:
    meanings = [
        (BinaryColumn("age", ">=", 75.0), 20),  # not in order: the meaning counts, not the place
        (BinaryColumn("age", ">=", 65.0), 1),
        (BinaryColumn("age", "missing"), 5),
        (BinaryColumn("town", "=", "Oslo"), 100),
        (BinaryColumn("town", "=", "Rome"), 300),
    ]
    lines = [CardLine(meaning.name, own, meaning=meaning) for meaning, own in meanings]
    age, town = (0, 1, 21, 5), (0, 100, 300)
    assert reachable_totals(lines) == sorted(a + t for a in age for t in town)


def test_whole_columns_reach_every_multiple_in_their_range() -> None:
    assert reachable_totals([CardLine("visits", -2, "integer", -1.0, 2.0)]) == [-4, -2, 0, 2]
    assert reachable_totals([CardLine("visits", 1, "integer")]) is None
    assert reachable_totals([CardLine("weight", 1, "real", 0.0, 1.0)]) is None


lines = st.one_of(
    st.builds(lambda own: (own, "binary", None, None), points),
    st.builds(lambda own, low, span: (own, "integer", low, low + span), points, st.integers(-30, 30), st.integers(0, 400)),
    st.builds(lambda own, low, span: (own, "real", low, low + span), points, st.floats(-99, 99), st.floats(0.0, 500.0)),
    st.builds(lambda own, kind: (own, kind, None, None), points, st.sampled_from(["real", "integer"])),
)


@given(st.lists(lines, max_size=6), st.integers(-60, 60), st.floats(0.1, 30), st.data())
def test_every_total_has_a_row_whose_risks_enclose_its_own(
    own: list[tuple[int, str, float | None, float | None]], intercept: int, multiplier: float, data: st.DataObject
) -> None:
    card = [CardLine(f"x{at}", *entry) for at, entry in enumerate(own)]  # type: ignore[arg-type]
    table = risk_table(card, intercept, multiplier)
    assert 1 <= len(table.rows) <= MOST_ROWS
    assert all(row.low <= row.high and row.low_risk <= row.high_risk for row in table.rows)
    step = 1 if table.whole else 0
    assert all(one.high + step <= two.low for one, two in zip(table.rows, table.rows[1:], strict=False))
    total = 0.0
    for line in card:
        if line.kind == "binary":
            total += line.points * data.draw(st.integers(0, 1))
            continue
        low, high = (-(10**6), 10**6) if line.lowest is None else (line.lowest, line.highest)
        values = st.integers(int(low), int(high)) if line.kind == "integer" else st.floats(low, high)
        total += line.points * data.draw(values)
    risk = risk_of(total, intercept, multiplier)
    # Sums of real values round differently in another order.
    slack = 1e-9 * (1 + abs(total))
    found = [row for row in table.rows if row.low - slack <= total <= row.high + slack]
    assert found
    assert any(row.low_risk - 1e-9 <= risk <= row.high_risk + 1e-9 for row in found)
    if table.exact:
        assert [row.low_risk for row in found] == [risk]


def test_a_few_totals_have_a_row_each_and_more_are_grouped() -> None:
    few = risk_table([CardLine(f"x{k}", 1) for k in range(MOST_ROWS - 1)], 0, 1.0)
    assert few.exact and len(few.rows) == MOST_ROWS
    many = risk_table([CardLine(f"x{k}", 1) for k in range(MOST_ROWS)], -12, 1.0)
    assert not many.exact and len(many.rows) <= MOST_ROWS
    assert many.rows[0].low == 0 and many.rows[-1].high == MOST_ROWS


def test_columns_without_a_range_have_open_ends() -> None:
    table = risk_table([CardLine("weight", 2, "real")], -100, 4.0)
    assert table.rows[0].low == -math.inf and table.rows[0].low_risk == 0
    assert table.rows[-1].high == math.inf and table.rows[-1].high_risk == 1
    assert table.rows[0].high_risk <= 0.005 and table.rows[-1].low_risk >= 0.99


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"points": 1.5}, "points are whole numbers"),
        ({"points": True}, "points are whole numbers"),
        ({"kind": "text"}, "use 'binary', 'integer' or 'real'"),
        ({"lowest": 0.0, "highest": 1.0}, "makes no sense"),
        ({"kind": "real", "lowest": 0.0}, "makes no sense"),
        ({"kind": "real", "lowest": 3.0, "highest": 1.0}, "runs from 3.0 down to 1.0"),
        ({"kind": "real", "lowest": 0.0, "highest": math.inf}, "makes no sense"),
        ({"kind": "real", "meaning": BinaryColumn("a", "missing")}, "only a 0/1 column has a meaning"),
    ],
)
def test_lines_that_make_no_sense_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CardLine(**{"feature": "x", "points": 1, **arguments})  # type: ignore[arg-type]


@given(st.floats(0.2, 20.0), st.integers(-12, 12), st.lists(st.integers(-5, 5).filter(bool), min_size=1, max_size=4))
def test_the_printed_multiplier_is_short_and_makes_the_printed_table(multiplier: float, intercept: int, own: list[int]) -> None:
    card = ScoreCard.from_points({f"x{at}": value for at, value in enumerate(own)}, intercept, multiplier=multiplier)
    formula = formula_text(card.intercept, card.multiplier, card.table)
    if multiplier == 1.0:
        return
    shown = formula.rsplit("/ ", 1)[1].rstrip(")")
    assert all(risk_text(risk_of(row.low, intercept, float(shown))) == risk_text(row.low_risk) for row in card.table.rows)
    # One digit less, if more than three are shown, would change a risk of the table.
    digits = len(shown.replace(".", "").lstrip("0"))
    if digits > 3:
        shorter = float(f"{multiplier:.{digits - 1}g}")
        assert any(risk_text(risk_of(row.low, intercept, shorter)) != risk_text(row.low_risk) for row in card.table.rows)
    assert shown in card.text
