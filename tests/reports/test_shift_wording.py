"""What a person said about shifts, and what they cost, in words."""

from __future__ import annotations

import math
from typing import Any

import pytest

from surefoot.reports.shift_wording import certainty_words, price_words, worst_shift_blocks


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((None, None, None), "nothing shifts"),
        ((0.8, None, None), "every number moves by at most 0.4 standard deviations with probability 80%"),
        (({"age": 0.6}, {"age": 5.0}, None), "age moves by at most 5.0 with probability 60%"),
        (
            (None, None, {"a": 0.9, "b": 0.9, "c": 0.9}),
            "a category in any of 3 columns stays the same with probability 90%",
        ),
        (
            (0.5, "1 std", {"a": 0.9, "b": 0.8}),
            "every number moves by at most 1 standard deviations with probability 50% and that a stays the same with "
            "probability 90% and that b stays the same with probability 80%",
        ),
        (
            ({f"x{at}": 0.1 + 0.1 * at for at in range(8)}, None, None),
            "each number in 8 columns shifts with the certainty of its column",
        ),
    ],
)
def test_certainties_in_words(given: Any, expected: str) -> None:
    assert certainty_words(*given) == expected


def test_prices_in_words() -> None:
    def words(names: str, weights: list[float]) -> str:
        return price_words(list(names), weights, unit="change", unit_of="categorical")

    assert words("ab", [0.5, 2.0]) == "a 0.5 per change, b 2 per change"
    assert words("abc", [1.0, math.inf, 1.0]) == "1 per change in any of 2 categorical columns"
    assert words("a", [math.inf]) == ""
    assert words("abcdefgh", list(range(1, 9))).endswith("f 6 per change and 2 more")


def test_moves_of_labels_numbers_and_categories_are_told_apart() -> None:
    moves = {
        "feature": ["pain", "(label)", "age", "pain"],
        "from": ["much", "ill", None, "some"],
        "to": ["none", "well", None, "none"],
        "mass": [0.04, 0.02, 1e-7, 0.01],
        "budget": [0.05, 0.02, 0.02, 0.01],
    }
    page = " ".join(
        worst_shift_blocks(
            moves, radius=0.1, nominal_loss=0.3, expected_loss=0.5, label_feature="(label)", untouched=["sex"], prices="1 each"
        )
    )
    assert (
        "<strong>pain</strong> takes 60.0% of the price: much becomes none in 4.0% of all rows; some becomes none in 1.0%"
        in page
    )
    assert "<strong>Labels</strong> are recorded wrongly and take 20.0% of the price: ill becomes well in 2.0%" in page
    assert "<strong>age</strong> takes 20.0% of the price: very few rows with a number very far from where it was" in page
    assert "from 0.3000 to 0.5000" in page and "It leaves alone: sex." in page and "What a shift costs: 1 each." in page


def test_a_table_that_no_shift_hurts_is_said_to_be_one() -> None:
    nothing: dict[str, Any] = {part: [] for part in ("feature", "from", "to", "mass", "budget")}
    (block,) = worst_shift_blocks(nothing, radius=0.1, nominal_loss=0.3, expected_loss=0.3, label_feature="", untouched=[])
    assert "No shift at a mean price of up to 0.1 per row raises the log loss of 0.3000" in block


def test_a_column_of_0_and_1_is_not_told_to_take_a_range() -> None:
    moves = {"feature": ["smoker"], "from": [None], "to": [None], "mass": [1e-7], "budget": [0.1]}
    losses = {"radius": 0.1, "nominal_loss": 0.3, "expected_loss": 0.5}
    page = " ".join(worst_shift_blocks(moves, **losses, label_feature="", untouched=[], binary=("smoker",)))
    assert "categorical_weights" in page and "numeric_range" not in page
