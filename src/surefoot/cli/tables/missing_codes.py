"""``--missing-codes``: numbers that stand for gaps, such as -9 for "never asked", in all columns or in those that are named."""

from __future__ import annotations

import csv

HELP = (
    "numbers that stand for gaps: income=-9,-8 in one column, again for more; --missing-codes=-9,-8 in all. A command that "
    "reads another table for the model needs them too"
)


def missing_codes(given: list[str] | None) -> tuple[tuple[str, ...], dict[str, frozenset[str]]]:
    """The codes of all columns, and those of single ones, behind all options ``--missing-codes``.

    Raises
    ------
    ValueError
        If an option is not understood, or names a column twice.
    """
    everywhere: tuple[str, ...] = ()
    by_column: dict[str, frozenset[str]] = {}
    for text in given or ():
        name, mark, listed = text.rpartition("=")
        codes = [code.strip() for code in next(csv.reader([listed]), [])]
        if not codes or not all(map(_is_number, codes)) or (mark and not name):
            raise ValueError(
                f"--missing-codes {text!r} is not understood: numbers belong there, as in income=-9,-8. For texts there is "
                "--missing-values."
            )
        if name in by_column:
            raise ValueError(f"--missing-codes names column {name!r} twice.")
        # A file may write -9 or -9.0.
        written = tuple(form for code in codes for form in _forms(code))
        if mark:
            by_column[name] = frozenset(written)
        else:
            everywhere += written
    return everywhere, by_column


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _forms(code: str) -> tuple[str, ...]:
    number = float(code)
    whole = (str(int(number)), str(number)) if number.is_integer() else ()
    return tuple(dict.fromkeys((code, *whole)))
