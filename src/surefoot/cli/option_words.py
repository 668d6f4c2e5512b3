"""Messages of estimators in the words of the command line: options where they name parameters of Python."""

from __future__ import annotations

import re

# Parameters by their options.
OPTIONS = {
    "time_limit": "--time-limit",
    "max_features": "--max-features",
    "max_points": "--max-points",
    "violation": "--violation",
    "class_weight": "--class-weight",
    "C": "--C",
    "sample_weight": "--weights",
    "numeric_range": "--range",
    "category_levels": "--levels",
    "n_jobs": "--jobs",
    "radius": "--radius",
    "tol": "--gap",
    "gap": "--gap",
}
# Words that mean nothing else in a sentence; the others are options only where a value or advice shows it.
_UNIQUE = "numeric_range|category_levels|time_limit|max_features|max_points|sample_weight|n_jobs|class_weight"
# Names in quotes are columns or files.
_BEFORE, _BEHIND = r"(?<!['\"\w.])", r"(?!['\"\w])"
_WORDS = (
    (r"\b[A-Z]\w+\.fit\b", "the fit"),
    (r"\bsurefoot\.verify\b(?!\()", "'surefoot verify'"),
    (rf"{_BEFORE}time_limit or max_iter{_BEHIND}", "time_limit"),
    (r"\bradius=\"auto\"", "--radius auto"),
    (r"\b(missing='column'|missing_categorical='level'|missing_numeric='median')", "'surefoot fit --missing fill'"),
    (r"\bmissing='drop'", "--missing drop"),
    (r"\bRaise violation towards\b", "Raise --violation towards"),
    (r"\ba larger C\b", "a larger --C"),
    (r"; ChanceConstrainedSVCCV tries several\.", "."),
    (r"\bpredict takes no gaps\b", "'surefoot score' takes none"),
    (r"\b(unseen='zero'|unseen_categories='reference')", "'surefoot fit --unseen ignore'"),
)


def in_options(message: str) -> str:
    """The message as a user of the command line can follow it."""
    for pattern, words in _WORDS:
        message = re.sub(pattern, words, message)
    names = "|".join(OPTIONS)
    message = re.sub(rf"{_BEFORE}({names}) = (\S+) must be (?:None or )?", _stated, message)
    message = re.sub(rf"{_BEFORE}(tol|gap) = ", "--gap ", message)
    message = re.sub(rf"\bless with (tol|gap){_BEHIND}", "less with --gap", message)
    return re.sub(rf"{_BEFORE}({_UNIQUE}){_BEHIND}", lambda found: OPTIONS[found[1]], message)


def _stated(found: re.Match[str]) -> str:
    return f"{OPTIONS[found[1]]} {found[2]} must be "
