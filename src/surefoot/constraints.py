"""Rules for score cards, by column name: ``RiskScoreClassifier(constraints=[...])``."""

from surefoot.estimators.column_constraints import (
    AtLeast,
    AtMost,
    Bounds,
    Choose,
    Fixed,
    Implies,
    MaxFeatures,
    MaxThresholds,
    MinFeatures,
    Monotone,
    PointSet,
    Sign,
)
from surefoot.estimators.constraint import Constraint
from surefoot.estimators.risk_constraints import FalsePositiveRate, MaxProbability, MinProbability, TruePositiveRate

__all__ = [
    "AtLeast",
    "AtMost",
    "Bounds",
    "Choose",
    "Constraint",
    "FalsePositiveRate",
    "Fixed",
    "Implies",
    "MaxFeatures",
    "MaxProbability",
    "MaxThresholds",
    "MinFeatures",
    "MinProbability",
    "Monotone",
    "PointSet",
    "Sign",
    "TruePositiveRate",
]
