"""Inverse optimization: learn the cost behind observed decisions."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surefoot.inverse import forward
    from surefoot.inverse.estimator.cost_confidence import CostConfidence, cost_confidence
    from surefoot.inverse.estimator.inverse_optimizer import InverseOptimizer
    from surefoot.inverse.estimator.inverse_optimizer_cv import InverseOptimizerCV
    from surefoot.inverse.measures.decision_metrics import (
        cost_angle,
        cost_difference,
        decision_error,
        relative_cost_difference,
        unpredicted_share,
    )
    from surefoot.reports.displays.cost_display import CostDisplay
    from surefoot.reports.displays.inverse_curve_display import InverseCurveDisplay

# Where each public name is found. They are imported when first used: certificates of this family need none of them.
_PLACES = {
    "CostConfidence": "surefoot.inverse.estimator.cost_confidence",
    "CostDisplay": "surefoot.reports.displays.cost_display",
    "InverseCurveDisplay": "surefoot.reports.displays.inverse_curve_display",
    "InverseOptimizer": "surefoot.inverse.estimator.inverse_optimizer",
    "InverseOptimizerCV": "surefoot.inverse.estimator.inverse_optimizer_cv",
    "cost_angle": "surefoot.inverse.measures.decision_metrics",
    "cost_confidence": "surefoot.inverse.estimator.cost_confidence",
    "cost_difference": "surefoot.inverse.measures.decision_metrics",
    "decision_error": "surefoot.inverse.measures.decision_metrics",
    "forward": "surefoot.inverse.forward",
    "relative_cost_difference": "surefoot.inverse.measures.decision_metrics",
    "unpredicted_share": "surefoot.inverse.measures.decision_metrics",
}

__all__ = [
    "CostConfidence",
    "CostDisplay",
    "InverseCurveDisplay",
    "InverseOptimizer",
    "InverseOptimizerCV",
    "cost_angle",
    "cost_confidence",
    "cost_difference",
    "decision_error",
    "forward",
    "relative_cost_difference",
    "unpredicted_share",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_PLACES[name])
    found = module if name == "forward" else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
