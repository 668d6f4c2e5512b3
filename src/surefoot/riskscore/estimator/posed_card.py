"""From training rows and rules by name to a risk score problem, and back to names where no card obeys the rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.arrays import FloatArray
from surefoot.design.encode.schema import Schema
from surefoot.exceptions import InfeasibleProblemError
from surefoot.riskscore.estimator.card_columns import CardColumns
from surefoot.riskscore.estimator.card_limits import CardLimits
from surefoot.riskscore.estimator.constraint import Constraint
from surefoot.riskscore.estimator.parameters import FIT_PARAMETERS
from surefoot.riskscore.problem.card_rules import CardRule, FairRule, GroupRule, RateRule
from surefoot.riskscore.problem.problem import RiskScoreProblem
from surefoot.riskscore.problem.score_shift import ScoreShift
from surefoot.riskscore.search.rule_conflict import find_conflict

# Rates of more groups than these would be those of a few rows each.
MOST_GROUPS = 20


@dataclass(frozen=True)
class PosedCard:
    """A problem with the user's rules.

    Attributes
    ----------
    problem : RiskScoreProblem
        With all rules.
    constraints : tuple of Constraint
    parts : tuple of tuples of rules
        What each constraint became.
    limits : CardLimits
    """

    problem: RiskScoreProblem
    constraints: tuple[Constraint, ...]
    parts: tuple[tuple[CardRule, ...], ...]
    limits: CardLimits

    def require_consistent(self, seconds: float) -> None:
        """Raise ``InfeasibleProblemError`` if rules other than rates contradict each other; a matter of milliseconds."""
        chosen = [k for k, part in enumerate(self.parts) if not any(isinstance(rule, RateRule | FairRule) for rule in part)]
        if chosen:
            self._raise_conflict(chosen, min(seconds, FIT_PARAMETERS.conflict_seconds))

    def explain(self, seconds: float) -> None:
        """Raise ``InfeasibleProblemError`` with the rules that contradict each other, if they can be named in time."""
        self._raise_conflict(range(len(self.parts)), min(seconds, FIT_PARAMETERS.conflict_seconds))

    def _raise_conflict(self, chosen: Sequence[int], seconds: float) -> None:
        size = self.problem.n_columns if self.limits.max_features is None else self.limits.max_features
        unruled = replace(self.problem, max_features=size, rules=(), shift=None)
        conflict = find_conflict(unruled, [self.parts[k] for k in chosen], seconds)
        if conflict is None:
            return
        named = [repr(self.constraints[chosen[k]]) for k in conflict.parts]
        if len(named) == 1:
            raise InfeasibleProblemError(f"no score card obeys {named[0]} within {self.limits}. Drop it or widen the limits.")
        listed = "".join(f"\n- {name}" for name in named)
        raise InfeasibleProblemError(
            f"no score card obeys these {len(named)} rules together, within {self.limits}:{listed}\n"
            + ("Without any one of them there would be one." if conflict.minimal else "Drop or loosen some of them.")
        )


def pose_card(
    block: FloatArray,
    schema: Schema,
    labels: FloatArray,
    weights: FloatArray,
    constraints: Any,
    limits: CardLimits,
    shift: ScoreShift | None = None,
) -> PosedCard:
    """The problem of the best card for these rows under these rules.

    Raises
    ------
    ValueError
        If a rule cannot be understood; the message names it, and the column.
    """
    rules = constraint_list(constraints)
    d = block.shape[1]
    most = np.full(d, limits.max_points, dtype=np.int32)
    binary = binary_columns(block)
    columns = CardColumns(schema.names, binary, -most, most, np.where(binary, weights @ block, np.nan))
    columns = _widened(columns, rules)
    parts = tuple(rule.rules(columns) for rule in rules)
    allowed = d if limits.max_features is None else limits.max_features
    for rule in (rule for part in parts for rule in part):
        if isinstance(rule, GroupRule) and len(rule.columns) == d:
            # As a limit on the size it shortens the search, as a rule it only forbids.
            allowed = min(allowed, rule.most)
    for wish, part in zip(rules, parts, strict=True):
        for fair in (rule for rule in part if isinstance(rule, FairRule)):
            _require_groups(fair, wish, block)
    problem = RiskScoreProblem(
        columns=block,
        labels=labels,
        weights=weights,
        lower=columns.lower,
        upper=columns.upper,
        intercept_lower=-limits.intercept_bound,
        intercept_upper=limits.intercept_bound,
        max_features=allowed,
        penalty=limits.penalty,
        rules=tuple(rule for part in parts for rule in part),
        shift=shift,
        scale=limits.scale,
        multipliers=limits.multipliers,
    )
    return PosedCard(problem, rules, parts, limits)


def _require_groups(rule: FairRule, wish: Constraint, block: FloatArray) -> None:
    """Raise unless there are two groups of rows to compare, and not so many that each has a few rows."""
    # All rows: that a group lacks those of one class, as in a part of a table it may, leaves it without a rate.
    n_groups = len(np.unique(block[:, list(rule.columns)], axis=0))
    if not 2 <= n_groups <= MOST_GROUPS:
        raise ValueError(
            f"{wish!r} compares rows with different values in that column, which makes {n_groups} of them; it takes 2 to "
            f"{MOST_GROUPS}. Name a column of few values, such as one that ThresholdBinarizer made."
        )


def binary_columns(block: FloatArray) -> NDArray[np.bool_]:
    """Which columns hold 0 and 1 and nothing else."""
    binary: NDArray[np.bool_] = np.all((block == 0) | (block == 1), axis=0)
    return binary


def constraint_list(constraints: Any) -> tuple[Constraint, ...]:
    """The rules as a tuple; a single one may come alone."""
    if isinstance(constraints, Constraint):
        return (constraints,)
    if constraints is None:
        return ()
    if isinstance(constraints, str) or not isinstance(constraints, Iterable):
        raise ValueError(f"constraints = {constraints!r} must be a list of rules from surefoot.constraints.")
    rules = tuple(constraints)
    for at, rule in enumerate(rules):
        if not isinstance(rule, Constraint):
            raise ValueError(f"constraints[{at}] = {rule!r} is not a rule from surefoot.constraints.")
    return rules


def _widened(columns: CardColumns, rules: tuple[Constraint, ...]) -> CardColumns:
    """The columns with limits that hold all points that rules speak of; the rules themselves narrow them again."""
    lower, upper = columns.lower.copy(), columns.upper.copy()
    for rule in rules:
        for at, values in rule.values(columns).items():
            lower[at], upper[at] = min(lower[at], *values), max(upper[at], *values)
    return replace(columns, lower=lower, upper=upper)
