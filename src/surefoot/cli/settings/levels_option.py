"""``--levels``: the levels that categorical columns may take on a command line, as the estimators take them."""

from __future__ import annotations

import csv
from typing import Any

HELP = "robust: levels of a column that no row need hold: colour=red,green,blue; again for more columns"


def category_levels(given: list[str] | None) -> dict[str, Any] | None:
    """The parameter ``category_levels`` behind all options ``--levels``; None if there are none.

    Levels that hold a comma stand in quotes, as in a CSV file.

    Raises
    ------
    ValueError
        If an option is not understood, or names a column twice.
    """
    if not given:
        return None
    named: dict[str, Any] = {}
    for text in given:
        name, mark, listed = text.partition("=")
        if not (mark and name and listed):
            raise ValueError(f"--levels {text!r} is not understood; say a column and its levels, as in colour=red,green,blue.")
        if name in named:
            raise ValueError(f"--levels names column {name!r} twice.")
        named[name] = [level.strip() for level in next(csv.reader([listed], skipinitialspace=True))]
    return named
