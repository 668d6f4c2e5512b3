"""Inverse optimization: learn the cost behind observed decisions."""

from surefoot.inverse import forward
from surefoot.inverse.estimator.inverse_optimizer import InverseOptimizer
from surefoot.inverse.measures.decision_metrics import (
    cost_angle,
    cost_difference,
    decision_error,
    relative_cost_difference,
    unpredicted_share,
)
from surefoot.reports.displays.inverse_curve_display import InverseCurveDisplay

__all__ = [
    "InverseCurveDisplay",
    "InverseOptimizer",
    "cost_angle",
    "cost_difference",
    "decision_error",
    "forward",
    "relative_cost_difference",
    "unpredicted_share",
]
