"""Cards for the tests of the reports: a plain one, one with every kind of line, and one whose names mean harm."""

from __future__ import annotations

from surefoot.design.binarize.binary_column import BinaryColumn
from surefoot.reports.card.card_proof import CardProof
from surefoot.reports.card.score_card import ScoreCard

HOSTILE_NAMES = [
    "<script>alert('x')</script>",
    "</style></title></textarea>-->",
    'quoted" onmouseover="alert(1)',
    "$\\frac{1}{2}$_%#^~{}&",
    "\\input{/etc/passwd} }{",
    "]]> <![CDATA[",
    "\u00dcberdru\u00df \u2265 3 \u5e74\u9f62\u533a\u5206 \U0001f600",
    "\u202egnorw",
    "bell\x07 and null\x00",
    "two\nlines\tand\u2028more",
    "[optional] * ``quotes'' --- -- ?` !`",
    "a rather long name " * 8,
    "w" * 150,
    " ",
]

MEANINGS = [
    BinaryColumn("age", ">=", 65.0),
    BinaryColumn("age", ">=", 75.0),
    BinaryColumn("age", "missing"),
    BinaryColumn("channel", "=", "web"),
    BinaryColumn("channel", "=", "phone"),
    BinaryColumn("channel", "in", ("fax", "letter")),
]

PLAIN = ScoreCard.from_points({"age >= 75": 2, "smoker": 1, "vaccinated": -1}, -2, classes=("well", "ill"))
RICH = ScoreCard.from_points(
    {
        "age >= 65": 1,
        "age >= 75": 2,
        "age missing": 1,
        "channel = web": -1,
        "channel = phone": 2,
        "channel in {fax, letter}": 3,
        "smoker": 4,
        "visits": 1,
        "temperature": 2,
    },
    -80,
    kinds={"visits": "integer", "temperature": "real"},
    ranges={"visits": (0, 9), "temperature": (35.0, 42.0)},
    meanings=MEANINGS,
    classes=("well", "ill"),
    proof=CardProof(objective=0.41, lower_bound=0.38, relative_gap=0.03 / 0.41, verified=True, rows=961),
)
HOSTILE = ScoreCard.from_points(
    {name: at % 5 + 1 for at, name in enumerate(HOSTILE_NAMES)},
    -7,
    multiplier=2.5,
    classes=("<b>no</b>", '"yes" & </title>'),
    title='<img src=x onerror=alert(1)> " onfocus="alert(1) \\today',
    proof=CardProof(objective=0.3, lower_bound=0.3, relative_gap=0.0, verified=False, rows=12),
)
EMPTY = ScoreCard((), -3)
CARDS = {"plain": PLAIN, "rich": RICH, "hostile": HOSTILE, "empty": EMPTY}
