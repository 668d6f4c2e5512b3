"""Rules for score cards, by column name: ``RiskScoreClassifier(constraints=[...])``."""

from surefoot.riskscore.estimator.column_constraints import (
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
from surefoot.riskscore.estimator.constraint import Constraint
from surefoot.riskscore.estimator.risk_constraints import FalsePositiveRate, MaxProbability, MinProbability, TruePositiveRate

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
