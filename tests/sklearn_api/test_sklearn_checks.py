"""scikit-learn's own checks of every estimator, none of them excused."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import surefoot as sf


# Several checks bring classes smaller than the number of folds, of which scikit-learn's splitter warns.
@pytest.mark.filterwarnings("ignore:The least populated class in y has only:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
# Checks know no groups, and some of them bring labels that nothing could tell apart.
@pytest.mark.filterwarnings("ignore::surefoot.exceptions.SingleSampleWarning")
@pytest.mark.filterwarnings("ignore::surefoot.exceptions.WeakModelWarning")
@parametrize_with_checks(
    [
        sf.RobustLogisticRegression(),
        sf.RobustLogisticRegressionCV(),
        sf.ThresholdBinarizer(),
        sf.ThresholdBinarizer(strategy="supervised"),
        sf.ThresholdBinarizer(missing="column", unseen="zero"),
        sf.RiskScoreClassifier(),
        sf.RiskScoreClassifier(scale="free"),
        sf.ChanceConstrainedSVC(),
        sf.ChanceConstrainedSVC(batches="rows"),
        sf.ChanceConstrainedSVC(kernel="linear"),
        sf.ChanceConstrainedSVC(kernel="linear", standardize=False),
        sf.ChanceConstrainedSVCCV(costs=[1.0, 10.0], gammas=["scale"], cv=3),
    ]
)
def test_check_estimator(estimator: Any, check: Any) -> None:
    check(estimator)
