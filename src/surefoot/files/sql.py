"""A formula as an SQL expression.

Names are quoted as standard SQL quotes them, "..." with doubled quotes, and text as '...', so that no name and no level can end
the expression. A row that the model refuses has the value NULL.
"""

from __future__ import annotations

from typing import Any

from surefoot.design.encode.schema import Level
from surefoot.files.formula import LevelTerm, LinearTerm, Term, read_formula


def to_sql(model: Any, *, output: str = "probability", table: str | None = None, name: str | None = None) -> str:
    """A linear model or a score card as standard SQL.

    Parameters
    ----------
    model : as for :func:`surefoot.export.to_json`
        Fitted to a table with names.
    output : {"probability", "score"}, default="probability"
        The probability of the second class, or the log odds (the margin of a support vector machine).
    table : str, optional
        Name of a table: the result is then a whole query that adds a column to it. None: the expression alone.
    name : str, optional
        Name of that column; by default ``output``.

    Returns
    -------
    str
        Of CASE, COALESCE, arithmetic and EXP. A row that ``predict`` would refuse (gaps, unknown levels) is NULL.

    Examples
    --------
    >>> import numpy as np, surefoot as sf
    >>> answers = [[1, 0], [1, 1], [0, 1], [0, 0], [1, 1], [0, 0], [1, 0], [0, 1]]
    >>> ill = ["yes", "yes", "no", "no", "yes", "no", "no", "no"]
    >>> model = sf.RiskScoreClassifier(max_features=1).fit(answers, ill)
    >>> print(sf.export.to_sql(model, output="score"))
    (-4.0 + 5.0 * "x0") / 1.0
    """
    if output not in ("probability", "score"):
        raise ValueError(f"output = {output!r} is not known; use 'probability' or 'score'.")
    formula = read_formula(model)
    if output == "probability" and formula.slope is None:
        raise ValueError("this model was fitted with probability=False; fit it again, or use output='score'.")
    parts = [_number(formula.intercept), *map(_term, formula.terms)]
    score = f"({' + '.join(parts)}) / {_number(formula.divisor)}"
    odds = score
    if formula.slope is not None and (formula.slope, formula.offset) != (1.0, 0.0):
        odds = f"{_number(formula.slope)} * ({score}) + {_number(formula.offset or 0.0)}"
    if table is None:
        return score if output == "score" else f"1.0 / (1.0 + EXP(-({odds})))"
    column = _identifier(output if name is None else name)
    if output == "score":
        return f"SELECT *, {score} AS {column} FROM {_identifier(table)}"
    # Of the two forms of the sigmoid each is used where its exponential is below 1: some engines fail on EXP(800).
    inner = _identifier(f"{output if name is None else name} log odds")
    sigmoid = f"CASE WHEN {inner} >= 0 THEN 1.0 / (1.0 + EXP(-{inner})) ELSE EXP({inner}) / (1.0 + EXP({inner})) END"
    return f"SELECT *, {sigmoid} AS {column} FROM (SELECT *, {odds} AS {inner} FROM {_identifier(table)}) AS scored"


def _term(term: Term) -> str:
    column = _identifier(term.feature)
    if isinstance(term, LinearTerm):
        value = column if term.fill is None else f"COALESCE({column}, {_number(term.fill)})"
        return f"{_number(term.coefficient)} * {value}"
    # A gap comes first: no comparison with NULL is true, so it would pass for a value of no level, or below every threshold.
    cases = [f"WHEN {column} IS NULL THEN {_optional(term.missing)}"]
    if isinstance(term, LevelTerm):
        cases += [f"WHEN {column} = {_literal(level)} THEN {_number(worth)}" for level, worth in term.levels]
        return f"CASE {' '.join(cases)} ELSE {_optional(term.other)} END"
    total, reached = 0.0, []
    for threshold, worth in term.steps:
        total += worth
        reached.append(f"WHEN {column} >= {_number(threshold)} THEN {_number(total)}")
    return f"CASE {' '.join([*cases, *reversed(reached)])} ELSE 0.0 END"


def _identifier(name: str) -> str:
    if "\0" in name:
        raise ValueError(f"the column {name!r} has a zero byte in its name, which no database takes. Rename it.")
    return '"' + name.replace('"', '""') + '"'


def _literal(level: Level) -> str:
    if isinstance(level, bool):
        return "TRUE" if level else "FALSE"
    if isinstance(level, str):
        if "\0" in level:
            raise ValueError(f"the level {level!r:.80} has a zero byte in it, which no database takes.")
        return "'" + level.replace("'", "''") + "'"
    return repr(level)


def _number(value: float) -> str:
    """A floating point literal with all digits."""
    return repr(float(value))


def _optional(value: float | None) -> str:
    return "NULL" if value is None else _number(value)
