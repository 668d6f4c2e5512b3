"""The range of a numeric column, as users say it: two ends, or what the rows hold, perhaps widened by a share of it.

(18, 100)            from 18 to 100
"observed"           from the smallest to the largest number among the rows
"observed +- 10 %"   the same, wider at either end by a tenth of the way between them ("±" is understood too); rows from
                     0 to 1, as of a flag or a share, have these ends
None                 no range
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Mapping, Sequence
from typing import Any

_OBSERVED = re.compile(r"\s*observed\s*(?:(?:±|\+-|\+/-)\s*([0-9]+(?:\.[0-9]*)?)\s*%\s*)?")
# Digits of the way between both ends to which widened ones are rounded: what is said in tenths does not end in ...999999.
_DIGITS = 12
_FORMS = 'use two numbers such as (18, 100), "observed", or "observed +- 10 %"'


def require_numeric_range(given: Any, parameter: str = "numeric_range") -> None:
    """Raise ``ValueError`` unless this is a range for all columns in words, or a mapping of columns to ranges."""
    if isinstance(given, Mapping):
        for column, spec in given.items():
            _require_range(spec, f"{parameter} of column {column!r}")
    elif not (given is None or isinstance(given, str)):
        raise ValueError(
            f'{parameter} = {given!r} must be None, "observed", "observed +- 10 %", or a mapping from columns to ranges '
            'such as {"age": (18, 100)}.'
        )
    else:
        _require_range(given, parameter)


def range_of(spec: Any, low: float, high: float) -> tuple[float, float]:
    """The ends of a range for a column whose rows hold numbers from ``low`` to ``high``; infinite without a range."""
    if spec is None:
        return -math.inf, math.inf
    if isinstance(spec, str):
        words = _OBSERVED.fullmatch(spec)
        assert words is not None, "ranges are checked when parameters are"
        wider = float(words.group(1) or 0.0) / 100.0 * (high - low)
        if wider == 0 or (low, high) == (0, 1):
            return float(low), float(high)
        if not math.isfinite(wider):
            return float(low - wider), float(high + wider)
        places = _DIGITS - math.ceil(math.log10(high - low))
        return float(min(low, round(low - wider, places))), float(max(high, round(high + wider, places)))
    return float(spec[0]), float(spec[1])


def is_observed(spec: Any) -> bool:
    """Whether a range depends on what the rows hold."""
    return isinstance(spec, str)


def _require_range(spec: Any, where: str) -> None:
    if spec is None or (isinstance(spec, str) and _OBSERVED.fullmatch(spec)):
        return
    pair = isinstance(spec, Sequence) or (hasattr(spec, "__len__") and hasattr(spec, "__getitem__"))
    if isinstance(spec, str) or not pair or len(spec) != 2 or not all(_is_end(end) for end in spec):
        raise ValueError(f"{where} = {spec!r} is not understood: {_FORMS}. Both ends are finite.")
    if not spec[0] <= spec[1]:
        raise ValueError(f"{where} = {spec!r} ends before it begins: the lower end comes first.")


def _is_end(end: Any) -> bool:
    if not isinstance(end, numbers.Real) or isinstance(end, bool):
        return False
    try:
        return math.isfinite(float(end))
    except OverflowError:  # a whole number beyond doubles
        return False
