"""``--range``: the ranges of numeric columns on a command line, as the estimators take them."""

from __future__ import annotations

from typing import Any

HELP = "robust: where numbers move to: age=18:100, income=observed, or 'observed +- 10 %%' for all columns; again for more"


def numeric_range(given: list[str] | None) -> Any:
    """The parameter ``numeric_range`` behind all options ``--range``; None if there are none.

    Raises
    ------
    ValueError
        If an option is not understood, or one for all columns stands beside others.
    """
    if not given:
        return None
    named: dict[str, Any] = {}
    for text in given:
        name, mark, spec = text.rpartition("=")
        if not mark:
            if len(given) > 1:
                raise ValueError(f"--range {text!r} is for all columns; to name some, say --range NAME={text!r} for each.")
            return text
        if name in named:
            raise ValueError(f"--range names column {name!r} twice.")
        named[name] = _ends(spec, text)
    return named


def _ends(spec: str, text: str) -> Any:
    low, mark, high = spec.partition(":")
    if not mark:
        return spec.strip()
    try:
        return float(low), float(high)
    except ValueError:
        raise ValueError(f"--range {text!r} is not understood; two numbers belong there, as in age=18:100.") from None
