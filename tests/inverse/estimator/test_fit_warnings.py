"""What a fit ends as and what is proven of it agree; whatever is not proven is warned of."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from surefoot import verify
from surefoot.core.outcome import Status
from surefoot.exceptions import ConvergenceLimitWarning
from surefoot.inverse import InverseOptimizer, forward


def programmes(n: int) -> tuple[list[Any], list[Any], list[Any]]:
    """Decisions of a planner with the costs (1, 2, 3): bounds of 0 and 100 apart from the rows, and as rows."""
    random, apart, rows, responses = np.random.default_rng(1), [], [], []
    for _ in range(n):
        A, b = -random.uniform(0.5, 1.5, (2, 3)), -random.uniform(50, 100, 2)
        apart.append((A, b))
        rows.append((np.vstack((A, np.eye(3), -np.eye(3))), np.r_[b, [100.0] * 3, [0.0] * 3]))
        responses.append(linprog([1, 2, 3], A_ub=A, b_ub=b, bounds=(0, 100)).x)
    return apart, rows, responses


def offers(scale: list[float]) -> tuple[list[Any], list[int]]:
    """Choices among four offers with the costs (1, 0.5, 10), attributes in these units."""
    random = np.random.default_rng(0)
    signals = [np.c_[random.uniform(10, 100, 4), random.uniform(30, 240, 4), random.integers(0, 3, 4)] for _ in range(60)]
    return [signal * scale for signal in signals], [int(np.argmin(signal @ [1.0, 0.5, 10.0])) for signal in signals]


@pytest.mark.parametrize("approach", ["suboptimality", "feasibility"])
def test_a_proven_fit_is_optimal(approach: str) -> None:
    signals, _, responses = programmes(6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = InverseOptimizer(forward.LinearProgram(upper=100.0), approach=approach).fit(signals, responses)
    assert model.certificate_.verified and model.outcome_.status is Status.OPTIMAL


@pytest.mark.parametrize("approach", ["suboptimality", "feasibility"])
def test_bounds_that_are_given_as_rows_are_proven_too(approach: str) -> None:
    _, signals, responses = programmes(15)
    model = InverseOptimizer(forward.LinearProgram(), approach=approach).fit(signals, responses)
    assert model.certificate_.verified and model.certificate_.trust == ""


@pytest.mark.parametrize("n", [3, 15])
def test_circumcentres_of_programmes_are_proven_and_say_to_what(n: int) -> None:
    signals, _, responses = programmes(n)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = InverseOptimizer(forward.LinearProgram(upper=100.0), approach="circumcenter").fit(signals, responses)
    certificate = model.certificate_
    assert certificate.verified and certificate.trust == "" and verify(model, signals, responses).verified
    saved = re.search(r"costs count as consistent at which no decision saves more than (\S+) times", certificate.claim)
    assert saved is not None and 0 < float(saved.group(1)) < 1e-7
    # The planner's own costs are consistent, and no farther away than the claim says.
    cosine = model.cost_ @ [1.0, 2.0, 3.0] / np.linalg.norm(model.cost_) / np.sqrt(14.0)
    assert np.arccos(cosine) <= certificate.upper_bound


def test_what_is_taken_on_trust_without_a_solver_of_the_callers_is_warned_of() -> None:
    """Beside a column of 1e9 the ends of the rays differ in two directions, as far as doubles tell."""
    signals, responses = offers([1e9, 1.0, 1.0])
    with pytest.warns(ConvergenceLimitWarning, match="optimal only provided that the ends of the rays lie in a plane"):
        model = InverseOptimizer(forward.FiniteChoice(), approach="ellipsoidal-circumcenter").fit(signals, responses)
    assert not model.certificate_.verified
    assert model.certificate_.claim.startswith("Provided that the ends of the rays lie in a plane")


def test_predictability_of_inconsistent_data_advises_nothing_that_cannot_help() -> None:
    """The middle one of three offers on a line through all costs of the simplex is best for none of them."""
    signals, responses = [np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])], [1]
    model = InverseOptimizer(forward.FiniteChoice(), approach="predictability", prior="simplex")
    with pytest.warns(ConvergenceLimitWarning) as heard:
        model.fit(signals, responses)
    said = str(heard[0].message)
    assert not model.certificate_.verified and model.certificate_.upper_bound > 0
    assert "prove no lower bound but 0" in said and "time_limit" not in said
