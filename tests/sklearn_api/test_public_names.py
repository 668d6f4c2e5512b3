"""The face of the package, and the examples in its docstrings."""

from __future__ import annotations

import doctest
from importlib.metadata import PackageNotFoundError, version

import pytest

import surefoot as sf

PUBLIC = {
    "Ambiguity",
    "BelowChanceWarning",
    "CertificateError",
    "ChangedModelWarning",
    "ChanceConstrainedSVC",
    "ChanceConstrainedSVCCV",
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
    "ScoreCard",
    "ScoreCardDisplay",
    "SeparableDataError",
    "ShiftModel",
    "RoundedInterceptWarning",
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
}


def test_the_public_names_are_these_and_exist() -> None:
    assert set(sf.__all__) == PUBLIC
    assert all(hasattr(sf, name) for name in PUBLIC)


def test_the_version_is_that_of_the_installed_package() -> None:
    try:
        expected = version("surefoot")
    except PackageNotFoundError:
        expected = "0+unknown"
    assert sf.__version__ == expected


def test_errors_can_be_caught_as_one_family_and_as_value_errors() -> None:
    for error in (sf.InvalidTableError, sf.SeparableDataError, sf.UnsupportedProblemError, sf.CertificateError):
        assert issubclass(error, sf.SurefootError) and issubclass(error, ValueError)
    assert issubclass(sf.ConvergenceLimitWarning, UserWarning)


@pytest.mark.parametrize(
    "name",
    [
        "ChanceConstrainedSVC",
        "ChanceConstrainedSVCCV",
        "RobustLogisticRegression",
        "RobustLogisticRegressionCV",
        "ShiftModel",
        "ThresholdBinarizer",
        "internal_validation",
        "stress_test",
        "worst_case_rows",
    ],
)
def test_the_example_in_the_docstring_runs_and_prints_what_it_shows(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = (found for found in doctest.DocTestFinder(recurse=False).find(getattr(sf, name), name) if found.examples)
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example)
    assert capsys.readouterr().out == ""
