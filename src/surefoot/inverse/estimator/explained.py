"""What a learned cost explains of observations, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.inverse.measures.decision_scores import METRICS, decision_measure
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.distance import NO_DISTANCE
from surefoot.inverse.problem.predicted_distances import tied_costs
from surefoot.inverse.problem.problem import InverseProblem


@dataclass(frozen=True, eq=False)
class Explained:
    """Observations beside what a model decides at their signals.

    Attributes
    ----------
    problem : InverseProblem
        The observations, read.
    cost : ndarray
        The learned cost.
    predicted : list of ndarray
    excess : ndarray
        By how much each observed decision costs more than the best one, at the learned cost.
    best : BoolArray
        Whether the observed decision is a best one, ties included.
    apart : ndarray
        The model's ``metric`` between each observed and predicted decision.
    same : BoolArray
        Whether the predicted decision is the observed one. Where that is a best one and another is predicted, both tie.
    """

    problem: InverseProblem
    cost: FloatArray
    predicted: list[FloatArray]
    excess: FloatArray
    best: BoolArray
    apart: FloatArray
    same: BoolArray


def explained(model: Any, signals: Sequence[Any], responses: Sequence[Any]) -> Explained:
    """What a fitted model says of observations, be they those of its fit or others."""
    problem = model._pose(signals, responses)
    plain = replace(problem, distance=NO_DISTANCE, kappa=0.0, hard=False)
    losses, _ = Separation().losses(plain, model.cost_)
    measure = decision_measure(model.metric)
    predicted = model.predict(signals)
    apart = [measure(example.response, found) for example, found in zip(problem.examples, predicted, strict=True)]
    inside = np.array([example.inside for example in problem.examples])
    tied = tied_costs(plain, model.cost_)
    differs = METRICS["unpredicted share"]
    same = [not differs(example.response, found) for example, found in zip(problem.examples, predicted, strict=True)]
    best = np.asarray(inside & (losses <= tied))
    return Explained(problem, model.cost_, predicted, losses, best, np.array(apart), np.array(same, dtype=bool))
