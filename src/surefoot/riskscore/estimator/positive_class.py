"""Which of two classes a card gives the risk of."""

from __future__ import annotations

import re
import warnings
from typing import Any

from surefoot.core.arrays import AnyArray
from surefoot.exceptions import InvalidTableError, PositiveClassWarning

# What denies the name of the other class when it stands before it. Sorted, such a name often comes second.
_DENIES = re.compile(r"(no|not|non|without|never)[ _-]*", re.IGNORECASE)


def is_first_class(pos_label: Any, classes: AnyArray) -> bool:
    """Whether a positive class that was named is the first of two in sorted order.

    Raises
    ------
    InvalidTableError
        If it is neither.
    """
    names = classes.tolist()
    if pos_label not in names:
        raise InvalidTableError(f"pos_label = {pos_label!r:.80} is no class: y holds {names[0]!r:.80} and {names[1]!r:.80}.")
    return bool(pos_label == names[0])


def warn_of_denied_class(classes: AnyArray, where: str) -> None:
    """Warn if the second class in sorted order is the first one denied: the risk is then that of having nothing."""
    first, second = (str(name).strip().lower() for name in classes.tolist())
    found = _DENIES.match(second)
    if found is not None and second[found.end() :] == first:
        names = classes.tolist()
        warnings.warn(
            f"{where}: the card gives the risk of {names[1]!r}, the second class in sorted order. For that of {names[0]!r} say "
            f"pos_label={names[0]!r}.",
            PositiveClassWarning,
            stacklevel=3,
        )
