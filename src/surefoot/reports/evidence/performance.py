"""The measures of a clinical prediction model: loss, discrimination and calibration."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.special import logit

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.reports.card.scored_rows import ScoredRows
from surefoot.reports.evidence.calibration import recalibration
from surefoot.reports.sections.net_benefit import THRESHOLDS

MEASURES = ("log loss", "Brier score", "AUC", "calibration in the large", "calibration slope")
# Risks of 0 and 1 have no log odds; predictions in doubles do not tell risks apart that are closer to them.
_LEAST_RISK = 1e-12


def threshold_grid(thresholds: Iterable[float]) -> FloatArray:
    """Thresholds of risk as an array; 0.01 to 0.99 where none are named."""
    grid = np.array(list(thresholds) or THRESHOLDS, dtype=np.float64)
    if grid.ndim != 1 or not np.all((grid > 0) & (grid < 1)):
        raise ValueError("thresholds must be risks between 0 and 1, without the ends.")
    return grid


def log_odds_of(risks: FloatArray) -> FloatArray:
    """Log odds of risks, finite."""
    return np.asarray(logit(np.clip(risks, _LEAST_RISK, 1 - _LEAST_RISK)), dtype=np.float64)


def performance(risks: FloatArray, positive: BoolArray) -> FloatArray:
    """The values of ``MEASURES``."""
    log_odds, weights = log_odds_of(risks), np.ones(risks.size)
    found = recalibration(log_odds, positive, weights)
    return np.array(
        [
            np.mean(np.logaddexp(0.0, np.where(positive, -log_odds, log_odds))),
            np.mean((risks - positive) ** 2),
            ScoredRows(risks, positive, weights).auc(),
            found.in_the_large,
            found.slope,
        ]
    )
