"""The classes of a target: two of them, several, or one of several against all others.

Where one class is to be told from all others, these share the label "(not LABEL)". It sorts before LABEL, so that LABEL is the
second class, whose probability models give; and it says later what the values of a target mean for the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from surefoot.cli.table_source import ReadColumn, TableSource
from surefoot.design.read.column_guess import ColumnTally
from surefoot.design.read.written_values import TRUTH_TEXTS
from surefoot.exceptions import InvalidTableError

# Values beyond which nobody means each of them as a class.
MOST_CLASSES = 20


def rest_of(positive: str) -> str:
    """The label of all other classes."""
    return f"(not {positive})"


def positive_of(classes: Sequence[Any]) -> str | None:
    """The class that a model tells from all others, or None if it tells two classes of the table apart."""
    if len(classes) == 2 and isinstance(classes[1], str) and classes[0] == rest_of(classes[1]):
        return classes[1]
    return None


def read_target(source: TableSource, name: str, *, positive: str | None, several: bool, named_order: bool) -> ReadColumn:
    """How the target of a fit is read.

    Parameters
    ----------
    source : TableSource
    name : str
    positive : str, optional
        The class whose probability the model is to give.
    several : bool
        Whether the model tells more than two classes apart.
    named_order : bool
        Whether the model can be told which of two classes is the positive one; otherwise it is the second in sorted order.

    Raises
    ------
    InvalidTableError
        If there are gaps, or not as many classes as the model takes.
    """
    tally = source.tallies[source.require(name, "--target")]
    if tally.n_missing:
        raise InvalidTableError(
            f"the target {name!r} is missing in {tally.n_missing:,} of {tally.n_rows:,} rows. Leave them out."
        )
    plain = source.fitted_column(name, "numeric" if tally.all_numbers else "categorical")
    if positive is not None:
        require_class(tally, positive)
        values = sorted(map(str, tally.levels))
        if len(values) == 2 and (named_order or _same(values[1], positive)):
            return plain
        if len(values) >= 2 and not tally.truncated:
            return one_against_rest(source, name, positive)
    classes = len(tally.levels)
    if classes < 2 or (classes > 2 and not several) or tally.truncated:
        counts = list(tally.levels.items())[:5]
        shown = ", ".join(f"{value!r}" if tally.truncated else f"{value!r} ({count:,} rows)" for value, count in counts)
        more = ", ..." if len(tally.levels) > 5 else ""
        first = next(iter(tally.levels), "")
        if 2 < classes <= MOST_CLASSES and not tally.truncated:
            what = f"Say --positive {first} to tell {first!r} from all others, and so for each of them, or put values together"
        elif classes > 2:
            what = "Compare a number with a threshold first, or put values together"
        else:
            what = "Take rows of another class too, or name another column"
        raise InvalidTableError(
            f"the target {name!r} holds {tally.n_levels} value{'' if classes == 1 else 's'} ({shown}{more}), but a "
            f"model tells two classes apart (--model svm several). {what}."
        )
    return plain


def one_against_rest(source: TableSource, name: str, positive: str) -> ReadColumn:
    """How a target is read in which one class stands against all others."""
    texts: Mapping[str, str] = {
        str(value): positive if _same(value, positive) else rest_of(positive) for value in source.tallies[name].levels
    }
    # A file with types hands over numbers, and a text file may pad its texts with blanks.
    return ReadColumn(name, "categorical", levels=texts)


def label_of(tally: ColumnTally, given: str) -> Any:
    """The label that a text names, as a fit has it: a number of a column of numbers, a truth value of one of those."""
    if tally.all_truths:
        return TRUTH_TEXTS.get(given, given)
    number = float(given) if tally.all_numbers else None
    return given if number is None else int(number) if number.is_integer() else number


def require_class(tally: ColumnTally, given: str) -> None:
    """Raise unless a text names a class."""
    if not any(_same(value, given) for value in tally.levels):
        known = ", ".join(repr(str(value)) for value in list(tally.levels)[:10])
        raise InvalidTableError(f"--positive {given} is no value of {tally.name!r}, which holds {known}.")


def _same(value: Any, text: str) -> bool:
    if str(value) == text:
        return True
    try:
        return not isinstance(value, bool) and float(value) == float(text)
    except (TypeError, ValueError):
        return False
