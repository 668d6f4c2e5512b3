"""Models you can stand behind: exact optimization, robust to shift, with a proof for each fit."""

from importlib.metadata import PackageNotFoundError, version

from surefoot import constraints, export, inverse
from surefoot.estimators.chance_svc import ChanceConstrainedSVC
from surefoot.estimators.report import report
from surefoot.estimators.risk_score import RiskScoreClassifier
from surefoot.estimators.robust_logistic import RobustLogisticRegression
from surefoot.estimators.robust_logistic_cv import RobustLogisticRegressionCV
from surefoot.estimators.stress_display import StressDisplay
from surefoot.estimators.stress_test import stress_test
from surefoot.estimators.threshold_binarizer import ThresholdBinarizer
from surefoot.exceptions import (
    BelowChanceWarning,
    CertificateError,
    ConvergenceLimitWarning,
    ForwardSolveError,
    InconsistentDataError,
    InfeasibleProblemError,
    InvalidObservationError,
    InvalidTableError,
    ModelFileError,
    SeparableDataError,
    SingleSampleWarning,
    SurefootError,
    UnsupportedProblemError,
)
from surefoot.files.model_file import load, save
from surefoot.problems.ground_cost import GroundCost
from surefoot.problems.robust_logistic import RobustCoefficients, RobustLogisticProblem
from surefoot.reports.radius_path_display import RadiusPathDisplay
from surefoot.reports.reliability_display import ReliabilityDisplay
from surefoot.reports.score_card import ScoreCard
from surefoot.reports.score_card_display import ScoreCardDisplay
from surefoot.reports.uncertain_inputs_display import UncertainInputsDisplay
from surefoot.reports.worst_case_display import WorstCaseDisplay
from surefoot.shift.ambiguity import Ambiguity
from surefoot.shift.shift_model import ShiftModel
from surefoot.shift.stress_report import StressReport
from surefoot.solvers.worst_case import worst_case_rows

try:
    __version__ = version("surefoot")
except PackageNotFoundError:  # imported from a source tree that was never installed
    __version__ = "0+unknown"

__all__ = [
    "Ambiguity",
    "BelowChanceWarning",
    "CertificateError",
    "ChanceConstrainedSVC",
    "ConvergenceLimitWarning",
    "ForwardSolveError",
    "GroundCost",
    "InconsistentDataError",
    "InfeasibleProblemError",
    "InvalidObservationError",
    "InvalidTableError",
    "ModelFileError",
    "RadiusPathDisplay",
    "ReliabilityDisplay",
    "RiskScoreClassifier",
    "RobustCoefficients",
    "RobustLogisticProblem",
    "RobustLogisticRegression",
    "RobustLogisticRegressionCV",
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
    "UnsupportedProblemError",
    "WorstCaseDisplay",
    "__version__",
    "constraints",
    "export",
    "inverse",
    "load",
    "report",
    "save",
    "stress_test",
    "worst_case_rows",
]
