"""Models you can stand behind: exact optimization, robust to shift, with a proof for each fit.

Names are imported when they are first used: ``python -m surefoot.verify`` checks a proof with NumPy and the trusted base alone.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surefoot import constraints, export, inverse
    from surefoot.chancesvm.estimator.chance_svc import ChanceConstrainedSVC
    from surefoot.chancesvm.estimator.chance_svc_cv import ChanceConstrainedSVCCV
    from surefoot.design.encode.deciding_columns import DecidingColumnWarning
    from surefoot.exceptions import (
        BelowChanceWarning,
        CertificateError,
        ChangedModelWarning,
        ConvergenceLimitWarning,
        DoubtfulColumnWarning,
        ForwardSolveError,
        GridEdgeWarning,
        InconsistentDataError,
        InfeasibleProblemError,
        InvalidObservationError,
        InvalidTableError,
        ModelFileError,
        PositiveClassWarning,
        RoundedInterceptWarning,
        SeparableDataError,
        SingleSampleWarning,
        SurefootError,
        UnmeasuredColumnWarning,
        UnsupportedProblemError,
        WeakModelWarning,
        ZeroCostWarning,
    )
    from surefoot.files.model_file import load, save
    from surefoot.files.proof_export import export_proof
    from surefoot.reports.card.score_card import ScoreCard
    from surefoot.reports.displays.comparison_display import ComparisonDisplay
    from surefoot.reports.displays.radius_path_display import RadiusPathDisplay
    from surefoot.reports.displays.reliability_display import ReliabilityDisplay
    from surefoot.reports.displays.score_card_display import ScoreCardDisplay
    from surefoot.reports.displays.stress_display import StressDisplay
    from surefoot.reports.displays.uncertain_inputs_display import UncertainInputsDisplay
    from surefoot.reports.displays.worst_case_display import WorstCaseDisplay
    from surefoot.reports.evidence.internal_validation import InternalValidation, internal_validation
    from surefoot.reports.model_report import report
    from surefoot.riskscore.estimator.risk_score import RiskScoreClassifier
    from surefoot.robust.estimator.robust_logistic import RobustLogisticRegression
    from surefoot.robust.estimator.robust_logistic_cv import RobustLogisticRegressionCV
    from surefoot.robust.first_order.parameters import PublishedLpAdmm
    from surefoot.robust.problem.ground_cost import GroundCost
    from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
    from surefoot.robust.sqp.adversary import worst_case_rows
    from surefoot.shift.ambiguity import Ambiguity
    from surefoot.shift.comparison.compare import compare
    from surefoot.shift.comparison.comparison import Comparison
    from surefoot.shift.shift_model import ShiftModel
    from surefoot.shift.stress.stress_report import StressReport
    from surefoot.shift.stress.stress_test import stress_test
    from surefoot.sklearn_api.threshold_binarizer import ThresholdBinarizer
    from surefoot.sklearn_api.verification import verify

try:
    __version__ = version("surefoot")
except PackageNotFoundError:  # imported from a source tree that was never installed
    __version__ = "0+unknown"

# Where each public name is found; a module stands under its own name.
_PLACES = {
    "Ambiguity": "shift.ambiguity",
    "BelowChanceWarning": "exceptions",
    "CertificateError": "exceptions",
    "ChanceConstrainedSVC": "chancesvm.estimator.chance_svc",
    "ChanceConstrainedSVCCV": "chancesvm.estimator.chance_svc_cv",
    "ChangedModelWarning": "exceptions",
    "Comparison": "shift.comparison.comparison",
    "ComparisonDisplay": "reports.displays.comparison_display",
    "ConvergenceLimitWarning": "exceptions",
    "DecidingColumnWarning": "design.encode.deciding_columns",
    "DoubtfulColumnWarning": "exceptions",
    "ForwardSolveError": "exceptions",
    "GridEdgeWarning": "exceptions",
    "GroundCost": "robust.problem.ground_cost",
    "InconsistentDataError": "exceptions",
    "InfeasibleProblemError": "exceptions",
    "InternalValidation": "reports.evidence.internal_validation",
    "InvalidObservationError": "exceptions",
    "InvalidTableError": "exceptions",
    "ModelFileError": "exceptions",
    "PositiveClassWarning": "exceptions",
    "PublishedLpAdmm": "robust.first_order.parameters",
    "RadiusPathDisplay": "reports.displays.radius_path_display",
    "ReliabilityDisplay": "reports.displays.reliability_display",
    "RiskScoreClassifier": "riskscore.estimator.risk_score",
    "RobustCoefficients": "robust.problem.problem",
    "RobustLogisticProblem": "robust.problem.problem",
    "RobustLogisticRegression": "robust.estimator.robust_logistic",
    "RobustLogisticRegressionCV": "robust.estimator.robust_logistic_cv",
    "ScoreCard": "reports.card.score_card",
    "ScoreCardDisplay": "reports.displays.score_card_display",
    "SeparableDataError": "exceptions",
    "ShiftModel": "shift.shift_model",
    "RoundedInterceptWarning": "exceptions",
    "SingleSampleWarning": "exceptions",
    "StressDisplay": "reports.displays.stress_display",
    "StressReport": "shift.stress.stress_report",
    "SurefootError": "exceptions",
    "ThresholdBinarizer": "sklearn_api.threshold_binarizer",
    "UncertainInputsDisplay": "reports.displays.uncertain_inputs_display",
    "UnmeasuredColumnWarning": "exceptions",
    "UnsupportedProblemError": "exceptions",
    "WeakModelWarning": "exceptions",
    "WorstCaseDisplay": "reports.displays.worst_case_display",
    "ZeroCostWarning": "exceptions",
    "compare": "shift.comparison.compare",
    "constraints": "constraints",
    "export": "export",
    "export_proof": "files.proof_export",
    "internal_validation": "reports.evidence.internal_validation",
    "inverse": "inverse",
    "load": "files.model_file",
    "report": "reports.model_report",
    "save": "files.model_file",
    "stress_test": "shift.stress.stress_test",
    "verify": "verify",
    "worst_case_rows": "robust.sqp.adversary",
}

__all__ = [
    "Ambiguity",
    "BelowChanceWarning",
    "CertificateError",
    "ChanceConstrainedSVC",
    "ChanceConstrainedSVCCV",
    "ChangedModelWarning",
    "Comparison",
    "ComparisonDisplay",
    "ConvergenceLimitWarning",
    "DecidingColumnWarning",
    "DoubtfulColumnWarning",
    "ForwardSolveError",
    "GridEdgeWarning",
    "GroundCost",
    "InconsistentDataError",
    "InfeasibleProblemError",
    "InternalValidation",
    "InvalidObservationError",
    "InvalidTableError",
    "ModelFileError",
    "PositiveClassWarning",
    "PublishedLpAdmm",
    "RadiusPathDisplay",
    "ReliabilityDisplay",
    "RiskScoreClassifier",
    "RobustCoefficients",
    "RobustLogisticProblem",
    "RobustLogisticRegression",
    "RobustLogisticRegressionCV",
    "RoundedInterceptWarning",
    "ScoreCard",
    "ScoreCardDisplay",
    "SeparableDataError",
    "ShiftModel",
    "SingleSampleWarning",
    "StressDisplay",
    "StressReport",
    "SurefootError",
    "ThresholdBinarizer",
    "UncertainInputsDisplay",
    "UnmeasuredColumnWarning",
    "UnsupportedProblemError",
    "WeakModelWarning",
    "WorstCaseDisplay",
    "ZeroCostWarning",
    "__version__",
    "compare",
    "constraints",
    "export",
    "export_proof",
    "internal_validation",
    "inverse",
    "load",
    "report",
    "save",
    "stress_test",
    "verify",
    "worst_case_rows",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = import_module(f"{__name__}.{_PLACES[name]}")
    if _PLACES[name] != name:
        found = getattr(found, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
