"""Models you can stand behind: exact optimization, robust to shift, with a proof for each fit."""

from importlib.metadata import PackageNotFoundError, version

from surefoot import constraints, export, inverse
from surefoot.chancesvm.estimator.chance_svc import ChanceConstrainedSVC
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
from surefoot.reports.card.score_card import ScoreCard
from surefoot.reports.displays.radius_path_display import RadiusPathDisplay
from surefoot.reports.displays.reliability_display import ReliabilityDisplay
from surefoot.reports.displays.score_card_display import ScoreCardDisplay
from surefoot.reports.displays.stress_display import StressDisplay
from surefoot.reports.displays.uncertain_inputs_display import UncertainInputsDisplay
from surefoot.reports.displays.worst_case_display import WorstCaseDisplay
from surefoot.reports.model_report import report
from surefoot.riskscore.estimator.risk_score import RiskScoreClassifier
from surefoot.robust.estimator.robust_logistic import RobustLogisticRegression
from surefoot.robust.estimator.robust_logistic_cv import RobustLogisticRegressionCV
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.sqp.adversary import worst_case_rows
from surefoot.shift.ambiguity import Ambiguity
from surefoot.shift.shift_model import ShiftModel
from surefoot.shift.stress.stress_report import StressReport
from surefoot.shift.stress.stress_test import stress_test
from surefoot.sklearn_api.threshold_binarizer import ThresholdBinarizer

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
