"""The measures of a clinical prediction model: loss, discrimination, calibration, and the net benefit of acting on it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.special import logit

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.reports.card.scored_rows import ScoredRows
from surefoot.reports.evidence.calibration import recalibration

MEASURES = ("log loss", "Brier score", "AUC", "calibration in the large", "calibration slope")
# Risks of 0 and 1 have no log odds; predictions in doubles do not tell risks apart that are closer to them.
_LEAST_RISK = 1e-12


def threshold_grid(thresholds: Iterable[float]) -> FloatArray:
    """Thresholds of risk as an array; 0.01 to 0.99 where none are named."""
    grid = np.array(list(thresholds) or [k / 100 for k in range(1, 100)], dtype=np.float64)
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


def net_benefit(risks: FloatArray, positive: BoolArray, weights: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Net benefit of acting where the risk is at or above each threshold (Vickers and Elkin, Medical Decision Making 2006).

    True positives less false positives times the odds of the threshold, as a share of all rows: at a threshold of 10 % nine
    acts in vain weigh as much as one that was needed.
    """
    acts = risks[:, None] >= thresholds[None, :]
    total = weights.sum()
    true, false = (weights * positive) @ acts / total, (weights * ~positive) @ acts / total
    return np.asarray(true - false * thresholds / (1.0 - thresholds), dtype=np.float64)


def benefit_for_all(prevalence: float, thresholds: FloatArray) -> FloatArray:
    """Net benefit of acting on everybody."""
    return prevalence - (1.0 - prevalence) * thresholds / (1.0 - thresholds)
