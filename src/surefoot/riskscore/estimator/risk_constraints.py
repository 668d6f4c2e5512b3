"""Rules about predictions: the risk of a described person, and the fractions of the training rows that are flagged."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.riskscore.estimator.card_columns import CardColumns
from surefoot.riskscore.estimator.constraint import Constraint, require_fraction
from surefoot.riskscore.problem.card_rules import CardRule, FairRiskRule, FairRule, LinearRule, PointSetRule, RateRule


@dataclass(frozen=True, repr=False)
class MinProbability(Constraint):
    """The card gives the described person a risk of at least ``risk``.

    ``person`` maps columns to values; columns that it leaves out are 0.
    """

    person: Mapping[Any, float]
    risk: float

    def rules(self, columns: CardColumns) -> tuple[CardRule, ...]:
        described = _described(self.person, columns, self._name)
        return (LinearRule(described, lower=_log_odds(self.risk, self._name)),)


@dataclass(frozen=True, repr=False)
class MaxProbability(Constraint):
    """The card gives the described person a risk of at most ``risk``.

    ``person`` maps columns to values; columns that it leaves out are 0.
    """

    person: Mapping[Any, float]
    risk: float

    def rules(self, columns: CardColumns) -> tuple[CardRule, ...]:
        described = _described(self.person, columns, self._name)
        return (LinearRule(described, upper=_log_odds(self.risk, self._name)),)


@dataclass(frozen=True, repr=False)
class FalsePositiveRate(Constraint):
    """Of the training rows that are not of the class ``pos_label_``, at most the fraction ``most`` is flagged.

    A row is flagged if the card gives it a risk above ``risk``; at 0.5, if ``predict`` says this class. Rows count with
    their weights.
    """

    most: float
    risk: float = 0.5

    def rules(self, columns: CardColumns) -> tuple[CardRule, ...]:
        most, threshold = require_fraction(self.most, self._name, "most"), _log_odds(self.risk, self._name)
        return (RateRule(-1.0, upper=most, threshold=threshold),)


@dataclass(frozen=True, repr=False)
class TruePositiveRate(Constraint):
    """Of the training rows of the class ``pos_label_``, at least the fraction ``least`` is flagged.

    Flagged is as in :class:`FalsePositiveRate`.
    """

    least: float
    risk: float = 0.5

    def rules(self, columns: CardColumns) -> tuple[CardRule, ...]:
        least, threshold = require_fraction(self.least, self._name, "least"), _log_odds(self.risk, self._name)
        return (RateRule(1.0, lower=least, threshold=threshold),)


@dataclass(frozen=True, repr=False)
class FairRates(Constraint):
    """Groups of the training rows are treated alike: their rates differ by at most ``max_difference``, whichever two.

    Parameters
    ----------
    column : str or int
        A column of few values, or the name of the variable that 0/1 columns were made from. Rows with equal values are a group.
    metric : {"tpr", "fpr", "selection", "calibration", "positive balance", "negative balance"}
        The share that is flagged, of the rows of the class ``pos_label_`` (equal opportunity), of the other rows, or of all
        rows (demographic parity). Or, at the unit scale, the mean risk: less the observed share (calibration in the large,
        where no group may be off by more than ``max_difference`` itself), or of the rows of the class ``pos_label_``, or of
        the other rows.
    max_difference : float
        From 0 to 1. With 1 nothing is limited, and the rates are told.
    risk : float, default=0.5
        Flagged is a row with a risk above it. At a free scale it is 0.5; for mean risks it says nothing.
    on_card : bool, default=False
        Whether the column may have points itself. Otherwise it is barred: rates are easily made alike by points for belonging
        to a group, which many who ask for like rates must not give.

    Rows count with their weights, those of ``class_weight`` included.
    """

    column: Any
    metric: str = "tpr"
    max_difference: float = 0.1
    risk: float = 0.5
    on_card: bool = False

    # The rows that count, by label, and whether their risks are compared.
    _METRICS: ClassVar[dict[str, tuple[float, bool]]] = {
        "tpr": (1.0, False),
        "fpr": (-1.0, False),
        "selection": (0.0, False),
        "calibration": (0.0, True),
        "positive balance": (1.0, True),
        "negative balance": (-1.0, True),
    }

    def rules(self, columns: CardColumns) -> tuple[CardRule, ...]:
        meant = self._METRICS.get(self.metric) if isinstance(self.metric, str) else None
        if meant is None:
            known = ", ".join(map(repr, self._METRICS))
            raise ValueError(f"{self._name}: metric = {self.metric!r} is not understood; use one of {known}.")
        label, of_risks = meant
        most = require_fraction(self.max_difference, self._name, "max_difference")
        threshold = _log_odds(self.risk, self._name)
        if isinstance(self.column, str):
            group = columns.of_variable(self.column, self._name)
        else:
            group = columns.find_all(self.column, self._name)
        if not isinstance(self.on_card, bool):
            raise ValueError(f"{self._name}: on_card = {self.on_card!r} must be True or False.")
        barred = () if self.on_card else tuple(PointSetRule(at, (0,)) for at in group)
        kind = FairRiskRule if of_risks else FairRule
        return (kind(group, label, most, threshold), *barred)


def _log_odds(risk: Any, rule: str) -> float:
    probability = require_fraction(risk, rule, "risk", open_ends=True)
    return math.log(probability) - math.log1p(-probability)


def _described(person: Any, columns: CardColumns, rule: str) -> FloatArray:
    if not isinstance(person, Mapping):
        raise ValueError(f"{rule}: person = {person!r} must be a mapping from columns to values.")
    described = np.zeros(len(columns.names))
    for column, value in person.items():
        at = columns.find(column, rule)
        if not (isinstance(value, (numbers.Real, np.bool_)) and math.isfinite(float(value))):
            raise ValueError(f"{rule}: column {columns.names[at]!r} of the person holds {value!r}, which is no finite number.")
        if columns.binary[at] and float(value) not in (0.0, 1.0):
            raise ValueError(f"{rule}: column {columns.names[at]!r} of the person holds {value!r}, but is 0 or 1 in the table.")
        described[at] = float(value)
    return described
