"""Rules for score cards, by column name: ``RiskScoreClassifier(constraints=[...])``."""

from surefoot.riskscore.estimator.column_constraints import (
    AtLeast,
    AtMost,
    Bounds,
    Choose,
    CostBudget,
    Fixed,
    ForbiddenTogether,
    Implies,
    MaxFeatures,
    MaxThresholds,
    MinFeatures,
    MinShare,
    Monotone,
    PointSet,
    Sign,
)
from surefoot.riskscore.estimator.constraint import Constraint
from surefoot.riskscore.estimator.risk_constraints import (
    FairRates,
    FalsePositiveRate,
    MaxProbability,
    MinProbability,
    TruePositiveRate,
)

__all__ = [
    "AtLeast",
    "AtMost",
    "Bounds",
    "Choose",
    "Constraint",
    "CostBudget",
    "FairRates",
    "FalsePositiveRate",
    "Fixed",
    "ForbiddenTogether",
    "Implies",
    "MaxFeatures",
    "MaxProbability",
    "MaxThresholds",
    "MinFeatures",
    "MinProbability",
    "MinShare",
    "Monotone",
    "PointSet",
    "Sign",
    "TruePositiveRate",
]
