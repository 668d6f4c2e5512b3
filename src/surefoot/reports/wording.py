"""How a card puts its numbers into words; all renderings share these phrases, so they cannot disagree."""

from __future__ import annotations

import math
import unicodedata

from surefoot.design.binarize.cuts import spelled
from surefoot.reports.card.risk_table import RiskRow, RiskTable, risk_of

MINUS = "\u2212"
TIMES = "\u00d7"
# Significant digits of a multiplier; the table of a small card may be right with fewer.
_FEWEST_DIGITS = 3


def shown_name(name: str) -> str:
    """A name on one line, without characters that no document can hold or that reverse the order of what follows."""
    one_line = " ".join(name.split())
    return "".join("\ufffd" if _is_unprintable(letter) else letter for letter in one_line) or "(no name)"


def _is_unprintable(letter: str) -> bool:
    # Of the invisible formatting characters only the joiners are part of how words and emoji are spelled.
    category = unicodedata.category(letter)
    return category in ("Cc", "Cs", "Cn") or (category == "Cf" and letter not in "\u200c\u200d\u00ad")


def cells(text: str) -> int:
    """How many columns of a terminal a text takes: East Asian characters and emoji two, accents that combine none."""
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text
    )


def points_text(points: int) -> str:
    """Points with a true minus sign."""
    return f"{MINUS}{-points}" if points < 0 else str(points)


def number_text(number: float) -> str:
    """A number with a true minus sign."""
    text = spelled(abs(number)) if abs(number) != math.inf else "\u221e"
    return f"{MINUS}{text}" if number < 0 else text


def risk_name(positive: str) -> str:
    """What the card predicts: "risk of ill"; a class that is only called 1 or True has no name to show."""
    return "risk" if positive in ("1", "1.0", "True") else f"risk of {shown_name(positive)}"


def line_points_text(points: int, kind: str) -> str:
    """What a line adds: "2 points", or "2 points x value" for columns that are not 0/1."""
    word = "point" if abs(points) == 1 else "points"
    base = f"{points_text(points)} {word}"
    return base if kind == "binary" else f"{base} {TIMES} value"


def risk_text(risk: float) -> str:
    """A risk in percent; what is not 0 or 1 is never printed as if it were."""
    percent = 100 * risk
    if percent < 0.05:
        return "< 0.1%" if risk > 0 else "0%"
    if percent >= 99.95:
        return "> 99.9%" if risk < 1 else "100%"
    return f"{percent:.1f}%"


def totals_text(row: RiskRow, table: RiskTable) -> str:
    """Which totals a row stands for."""
    if row.low == row.high:
        return number_text(row.low)
    if row.low == -math.inf:
        return f"below {number_text(row.high)}" if not table.whole else f"{number_text(row.high)} or less"
    if row.high == math.inf:
        return f"{number_text(row.low)} or more"
    return f"{number_text(row.low)} to {number_text(row.high)}"


def risks_text(row: RiskRow) -> str:
    """The risk of a row, or its two ends."""
    low, high = risk_text(row.low_risk), risk_text(row.high_risk)
    return low if low == high else f"{low} to {high}"


def formula_text(intercept: int, multiplier: float, table: RiskTable) -> str:
    """The risk as a formula in the total, in plain ASCII."""
    sign = "-" if intercept < 0 else "+"
    inner = f"total {sign} {abs(intercept)}" if intercept else "total"
    if multiplier != 1:
        divisor = spelled(_readable(multiplier, intercept, table))
        inner = f"({inner}) / {divisor}" if intercept else f"{inner} / {divisor}"
    return f"risk = 1 / (1 + exp(-({inner})))"


def _readable(multiplier: float, intercept: int, table: RiskTable) -> float:
    """The multiplier with as few digits as make all risks of the table, as they are printed."""
    risks = [end for row in table.rows for end in ((row.low, row.low_risk), (row.high, row.high_risk))]
    # Between the totals of a grouped table the formula is all there is, so it gets two digits more.
    more = 0 if table.exact else 2
    for digits in range(_FEWEST_DIGITS, 16):
        rounded = float(f"{multiplier:.{digits}g}")
        if all(risk_text(risk_of(total, intercept, rounded)) == risk_text(risk) for total, risk in risks):
            return float(f"{multiplier:.{digits + more}g}")
    return multiplier


def grouping_text(table: RiskTable) -> str:
    """What must be said about a grouped table, or nothing."""
    if table.exact:
        return ""
    return "Totals are grouped: the risk lies between the two numbers of its row, and the formula gives it."
