"""The regularised loss by generated decisions, against all decisions at once."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from reference.enumerated_inverse import drawn, loss, smallest_loss

from surefoot.inverse import InverseOptimizer, forward

PRIORS: dict[str, tuple[Any, Any]] = {
    "none": (None, lambda theta: []),
    "nonnegative": ("nonnegative", lambda theta: [theta >= 0]),
    "simplex": ("simplex", lambda theta: [theta >= 0, cp.sum(theta) == 1]),
    "box": ((-0.5, 2.0), lambda theta: [theta >= -0.5, theta <= 2]),
    "linear": (
        {"A": [[1.0, 1.0, 1.0, 1.0, 1.0], [-1.0, 0.0, 0.0, 0.0, 0.0]], "b": [1.5, -0.25]},
        lambda theta: [cp.sum(theta) <= 1.5, theta[0] >= 0.25],
    ),
}


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(("regularizer", "kappa"), [("l2", 0.02), ("l1", 0.02), ("l2", 0.0)])
def test_the_optimum_is_that_of_full_enumeration(prior: str, regularizer: str, kappa: float) -> None:
    _, signals, responses = drawn(5, 3, 12, seed=1, noise=0.3, signed=True)
    given, limits = PRIORS[prior]
    center = np.array([0.5, 0.0, -0.2, 0.3, 0.1])
    model = InverseOptimizer(
        forward.BinaryProgram(), regularizer=regularizer, kappa=kappa, prior=given, center=center, tol=1e-7
    ).fit(signals, responses)
    wanted = smallest_loss(signals, responses, kappa=kappa, regularizer=regularizer, center=center, limits=limits)
    assert model.certificate_.verified
    assert model.certificate_.upper_bound == pytest.approx(wanted, abs=2e-6)
    assert model.certificate_.lower_bound <= wanted + 1e-7
    away = model.cost_ - center
    size = away @ away / 2 if regularizer == "l2" else np.abs(away).sum()
    assert kappa * size + loss(model.cost_, signals, responses, "l2").mean() == pytest.approx(wanted, abs=2e-6)


@pytest.mark.parametrize("name", ["l1", "l2", "linf", "squared-l2", "zero-one"])
def test_every_distance_is_priced_exactly(name: str) -> None:
    _, signals, responses = drawn(5, 3, 10, seed=2, noise=0.3, signed=True)
    model = InverseOptimizer(forward.BinaryProgram(), distance=name, kappa=0.05).fit(signals, responses)
    assert model.certificate_.upper_bound == pytest.approx(smallest_loss(signals, responses, name=name, kappa=0.05), abs=3e-6)
