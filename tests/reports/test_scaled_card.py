"""Cards in points of a trade, and reasons: whole points against exact scores, and against reading the card by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surefoot as sf
from surefoot.design.binarize.binary_column import BinaryColumn
from surefoot.reports.card.score_card import ScoreCard

MEANINGS = [
    BinaryColumn("age", ">=", 40.0),
    BinaryColumn("age", ">=", 65.0),
    BinaryColumn("ward", "=", "icu"),
    BinaryColumn("ward", "=", "er"),
    BinaryColumn("pulse", "missing"),
    BinaryColumn("smoker", "=", True),
]
POINTS = {"age >= 65": 1, "age >= 40": 2, "ward = icu": 3, "ward = er": -1, "pulse missing": 1, "smoker": 1, "odd": -2}
CARD = ScoreCard.from_points(POINTS, -3, meanings=MEANINGS, classes=("well", "ill"), multiplier=1.3)


def people() -> pd.DataFrame:
    """Everybody who can exist."""
    rows = [
        (a >= 65, a >= 40, w == "icu", w == "er", p, s, o)
        for a in (30, 50, 70)
        for w in ("icu", "er", "")
        for p in (0, 1)
        for s in (0, 1)
        for o in (0, 1)
    ]
    return pd.DataFrame(rows, columns=list(POINTS)).astype(int)


def test_questions_have_the_answers_of_their_variable():
    told = CARD.scaled().table()
    by_question = {name: list(own["answer"]) for name, own in told.groupby("question", sort=False)}
    assert by_question["age"] == ["below 40", "40 to below 65", "65 or more"]
    assert by_question["ward"] == ["none of these", "icu", "er"]
    assert by_question["pulse"] == ["known", "not known"]
    assert by_question["smoker"] == by_question["odd"] == ["no", "yes"]


@given(
    base_score=st.floats(-1000, 1000),
    base_odds=st.floats(0.01, 100),
    double=st.floats(0.5, 100),
    rising=st.booleans(),
)
def test_whole_points_are_within_the_stated_distance_of_the_exact_score(
    base_score: float, base_odds: float, double: float, rising: bool
):
    scaled = CARD.scaled(base_score=base_score, base_odds=base_odds, points_to_double=double, rising=rising)
    table = people()
    exact = np.array([scaled.exact_score(total) for total in CARD.totals(table)])
    off = np.abs(scaled.scores(table) - exact)
    assert off.max() == pytest.approx(scaled.largest_rounding, abs=1e-6)
    assert off.max() <= 0.5 * (1 + len(scaled.questions)) + 1e-9
    risks = [CARD.risk(total) for total in CARD.totals(table)]
    np.testing.assert_allclose([scaled.risk(score) for score in exact], risks, rtol=1e-6)
    assert min(points for question in scaled.questions for _, points in scaled.points(question)) == 0


def test_the_base_score_stands_for_the_base_odds_and_points_double_them():
    scaled = CARD.scaled(base_score=600, base_odds=50, points_to_double=20)
    for score, odds in ((600, 50), (620, 100), (580, 25)):
        assert (1 - scaled.risk(score)) / scaled.risk(score) == pytest.approx(odds)
    rising = CARD.scaled(rising=True)
    assert rising.risk(600) == pytest.approx(50 / 51)
    assert "odds of 50 to 1 for 'well'; 20 points double them" in " ".join(scaled.text.split())
    assert "odds of 50 to 1 for 'ill'" in " ".join(rising.text.split())
    assert '<td>65 or more</td><td class="sf-number">67</td>' in rising.html


def test_the_printed_points_add_up_to_the_scores():
    scaled = CARD.scaled()
    table = people()
    points = {question.feature: dict(scaled.points(question)) for question in scaled.questions}
    for row, score in zip(table.to_dict("records"), scaled.scores(table).tolist(), strict=True):
        assert score == scaled.start + sum(points[q.feature][q.answer(row)] for q in scaled.questions)
    assert scaled.text.splitlines()[2].split()[-1] == str(scaled.start)
    lines = [line.split() for line in scaled.text.splitlines()]
    assert ["Score", "Risk"] in lines


def test_grouped_totals_have_ranges_of_scores():
    many = ScoreCard.from_points({f"q{k}": 2**k for k in range(7)}, -40, multiplier=9.0)
    assert not many.table.exact
    scores = [line for line in many.scaled().text.splitlines() if " to " in line and "%" in line]
    assert len(scores) == len(many.table.rows)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base_odds": 0}, "base_odds = 0 must be a finite number above 0"),
        ({"points_to_double": -20}, "points_to_double = -20"),
        ({"base_score": math.nan}, "base_score = nan"),
        ({"base_score": True}, "base_score = True"),
        ({"rising": "yes"}, "rising = 'yes'"),
    ],
)
def test_scales_that_make_no_sense_are_refused(settings: dict[str, object], message: str):
    with pytest.raises(ValueError, match=message):
        CARD.scaled(**settings)


def test_columns_of_numbers_have_no_list_of_answers():
    card = ScoreCard.from_points({"visits": 2}, 0, kinds={"visits": "integer"}, ranges={"visits": (0, 9)})
    with pytest.raises(ValueError, match="'visits' holds numbers"):
        card.scaled()
    (reason,) = card.reasons({"visits": 3})
    assert (reason.answer, reason.excess) == ("3", 6)
    unknown = ScoreCard.from_points({"visits": 2}, 0, kinds={"visits": "integer"})
    with pytest.raises(ValueError, match="range is not known"):
        unknown.reasons({"visits": 3})
    assert unknown.reasons({"visits": 3}, typical=pd.DataFrame({"visits": [1, 2]}))[0].excess == 3


def test_reasons_are_the_answers_with_most_points_above_the_best_one():
    person = dict.fromkeys(POINTS, 0) | {"age >= 40": 1, "age >= 65": 1, "ward = icu": 1}
    reasons = CARD.reasons(person)
    # Away from "er" the ward is worth 4 points, age 3, and of "odd" the answer no is 2 points above yes.
    assert [(reason.feature, reason.answer, reason.excess) for reason in reasons] == [
        ("ward", "icu", 4.0),
        ("age", "65 or more", 3.0),
        ("odd", "no", 2.0),
    ]
    assert reasons[0].odds_ratio == pytest.approx(math.exp(4 / 1.3))
    assert str(reasons[1]) == "age: 65 or more (3 points more, odds times 10)"
    assert CARD.reasons(person, most=1) == CARD.reasons(pd.Series(person), most=1) == reasons[:1]
    assert CARD.reasons(dict.fromkeys(POINTS, 0) | {"ward = er": 1, "odd": 1}) == ()


def test_reasons_of_a_table_are_those_of_its_rows_and_may_be_compared_with_typical_people():
    table = people()
    for row, reasons in zip(table.to_dict("records"), CARD.reasons(table), strict=True):
        assert reasons == CARD.reasons(row)
        assert sum(reason.excess for reason in CARD.reasons(row, most=9)) == CARD.total(row) - (-1 - 2)
    typical = CARD.reasons(table.iloc[[0]], typical=table)[0]
    means = {"ward": (3 - 1) / 3, "age": (0 + 2 + 3) / 3}
    for reason in typical:
        assert reason.excess == pytest.approx(reason.points - means.get(reason.feature, reason.reference))
    with pytest.raises(ValueError, match="lacks 'odd'"):
        CARD.reasons({name: 0 for name in POINTS if name != "odd"})
    with pytest.raises(sf.InvalidTableError, match="lacks column 'odd'"):
        CARD.reasons(table.drop(columns="odd"))
    with pytest.raises(ValueError, match="most = 0"):
        CARD.reasons(table, most=0)
