"""``--range``: the ranges of numeric columns on a command line, as the estimators take them."""

from __future__ import annotations

import re
from typing import Any

from surefoot.design.encode.numeric_range import require_numeric_range

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
            _require_words(text, text)
            return text
        if name in named:
            raise ValueError(f"--range names column {name!r} twice.")
        named[name] = _ends(spec, text)
    return named


def _ends(spec: str, text: str) -> Any:
    low, mark, high = spec.partition(":")
    if not mark:
        _require_words(spec, text)
        return spec.strip()
    try:
        if "_" in spec:  # Python takes 18_0 for 180
            raise ValueError
        return float(low), float(high)
    except ValueError:
        raise ValueError(f"--range {text!r} is not understood; two numbers belong there, as in age=18:100.") from None


# A name and two numbers, put together in another way: "age 18-90".
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)"
_LOOSELY = re.compile(rf"\s*(?P<name>.+?)[\s:=]+[\[(]?(?P<low>{_NUMBER})\s*(?:-|to|,|;|:|\.\.)\s*(?P<high>{_NUMBER})[\])]?\s*")


def _require_words(spec: str, text: str) -> None:
    """Raise unless a range without ends is one of the texts that the estimators know."""
    try:
        require_numeric_range(spec)
    except ValueError:
        meant = _LOOSELY.fullmatch(text)
        say = "{name}={low}:{high}".format(**meant.groupdict()) if meant else "age=18:100"
        say = f"'{say}'" if " " in say else say
        raise ValueError(
            f"--range = {text!r} is not understood: two numbers are given as in --range {say}, or say observed, or "
            "'observed +- 10 %', instead of the numbers, or alone for all columns."
        ) from None
