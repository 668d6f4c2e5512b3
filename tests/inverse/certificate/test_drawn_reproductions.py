"""What was once false and verified, on drawn data, against references of another kind: radii, euros, errors."""

from __future__ import annotations

import re
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.optimize

from surefoot.exceptions import InconsistentDataError
from surefoot.inverse import InverseOptimizer, forward


def choices(seed: int, n: int, p: int = 3, *, whole: bool = False) -> tuple[list[Any], list[int]]:
    random = np.random.default_rng(seed)
    theta = np.abs(random.normal(size=p)) + 0.1
    signals = [random.normal(scale=3.0, size=(5, p)) for _ in range(n)]
    signals = [np.round(signal) for signal in signals] if whole else signals
    return signals, [int(np.argmin(signal @ theta)) for signal in signals]


def inradius(rows: Any) -> float:
    """The radius of the largest ball of consistent costs around a unit vector: no distance and no feature enters."""
    theta, radius = cp.Variable(rows.shape[1]), cp.Variable()
    rules = [rows @ theta + radius * np.linalg.norm(rows, axis=1) <= 0, cp.norm(theta) <= 1]
    return float(cp.Problem(cp.Maximize(radius), rules).solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("distance", ["l1", "l2", "linf", "squared-l2", "zero-one"])
@pytest.mark.parametrize("turned", [False, True])
def test_a_radius_is_claimed_only_if_it_is_that_of_the_cone(seed: int, distance: str, turned: bool) -> None:
    signals, responses = choices(seed, 10)
    mix = np.random.default_rng(seed).normal(size=(3, 3))
    features = (lambda _s, x: mix @ x) if turned else None
    model = InverseOptimizer(forward.FiniteChoice(), approach="incenter", distance=distance, features=features)
    claim = model.fit(signals, responses).certificate_.claim
    said = re.search(r"is at least ([0-9.e-]+), and for no cost vector of the prior set is it above ([0-9.e-]+)\.$", claim)
    if distance != "l2" or turned:
        assert said is None and "sine" not in claim and "radius" not in claim
        return
    assert said is not None
    rows = np.vstack([s[k] - np.delete(s, k, axis=0) for s, k in zip(signals, responses, strict=True)])
    assert float(said[1]) <= inradius(rows) * (1 + 1e-7) and float(said[2]) >= inradius(rows) * (1 - 1e-7)
    assert float(said[2]) - float(said[1]) <= 1e-5 * float(said[2])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("prior", [None, "nonnegative", "simplex"])
def test_noiseless_choices_in_euros_rooms_and_kilometres_are_learned(seed: int, prior: Any) -> None:
    """A box of 1e4 around the costs once had a lower bound of 96,807 verified where 0 is attained."""
    random = np.random.default_rng(seed)
    theta = np.array([1.0, -2e4 if prior is None else 2e4, 3e3])
    spans = ((5e4, 6e5), (1, 7), (0, 40))
    signals = [np.column_stack([random.uniform(*span, 6) for span in spans]) for _ in range(40)]
    responses = [int(np.argmin(signal @ theta)) for signal in signals]
    model = InverseOptimizer(forward.FiniteChoice(), approach="suboptimality" if prior == "simplex" else "asl", prior=prior)
    certificate = model.fit(signals, responses).certificate_
    assert certificate.verified, certificate.claim
    assert certificate.lower_bound <= 0.0
    found = model.predict(signals)
    # Without distances ties are as good.
    assert prior == "simplex" or all(np.array_equal(x, s[k]) for x, s, k in zip(found, signals, responses, strict=True))


def a_cost_exists(rows: Any, lower: float, upper: float) -> bool:
    """Whether some cost but 0 within bounds explains everything, by a linear programme along every axis."""
    size = np.abs(rows).max(axis=1)
    scaled = rows[size > 0] / size[size > 0, None]
    p = rows.shape[1]
    for axis in np.vstack((np.eye(p), -np.eye(p))):
        found = scipy.optimize.linprog(-axis, A_ub=scaled, b_ub=np.zeros(len(scaled)), bounds=[(lower, upper)] * p)
        if found.status == 0 and -found.fun > 1e-6:
            return True
    return False


@pytest.mark.parametrize("kind", ["ties", "alike", "bounded", "tiny"])
def test_data_are_inconsistent_exactly_if_no_cost_explains_them(kind: str) -> None:
    """17 of 39 such errors were once false."""
    refused = fitted = 0
    for seed in range(24):
        random = np.random.default_rng([seed, len(kind)])
        unit = 1e-7 if kind == "tiny" else 1.0
        signals = [unit * np.round(2 * random.normal(size=(4, 2))) for _ in range(3)]
        theta = random.normal(size=2)
        responses = [int(np.argmin(s @ theta + unit * random.normal(size=4))) for s in signals]
        features = (lambda _s, x: x[:1]) if kind == "alike" else None
        bounds = (0.0, 1.0) if kind == "bounded" else (-1.0, 1.0)
        rows = np.vstack([s[k] - s for s, k in zip(signals, responses, strict=True)]) / unit
        exists = a_cost_exists(rows[:, :1] if kind == "alike" else rows, *bounds)
        prior = (0.0, 1.0) if kind == "bounded" else None
        model = InverseOptimizer(forward.FiniteChoice(), approach="feasibility", features=features, prior=prior)
        if not rows[:, : 1 if kind == "alike" else 2].any():
            continue
        if exists:
            assert model.fit(signals, responses).certificate_.verified
            fitted += 1
        else:
            with pytest.raises(InconsistentDataError) as caught:
                model.fit(signals, responses)
            assert "not proven" in str(caught.value) or caught.value.certificate.lower_bound > 0
            refused += 1
    assert min(fitted, refused) > 0


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.ZeroCostWarning")
@pytest.mark.parametrize("approach", ["asl", "incenter", "suboptimality", "feasibility", "cutting-plane", "predictability"])
@pytest.mark.parametrize("what", ["one decision", "the centre explains", "no distance", "all of it"])
def test_problems_without_any_cut_are_solved(approach: str, what: str) -> None:
    """SciPy's nnls aborts the process where there is no column."""
    signal = np.array([[1.0, 2.0]]) if what in ("one decision", "all of it") else np.array([[1.0, 2.0], [20.0, 30.0]])
    options: dict[str, Any] = {} if what == "one decision" else {"center": [1.0, 1.0]}
    options |= {"distance": "none"} if what in ("no distance", "all of it") else {}
    model = InverseOptimizer(forward.FiniteChoice(), approach=approach, **options).fit([signal], [0])
    assert model.certificate_.verified, model.certificate_.claim
    assert not re.search(r"e-[1-3]\d\d", model.certificate_.claim)


def test_slopes_of_quadratic_costs_are_known_to_rounding_and_no_better() -> None:
    """x^2 of a double is no double: a slope that is 0 after rounding proves nothing over unbounded costs."""
    from surefoot.inverse.certificate.cost_bound import cost_bound
    from surefoot.inverse.problem.cost_proof import CostProof

    x = 0.1
    signals, responses = [(np.eye(1), np.zeros(1), -1.0)], [np.array([x])]
    problem = InverseOptimizer(forward.EllipsoidProgram(), distance="squared-l2")._pose(signals, responses)
    # (x^2, 2 x) - (y^2, 2 y) of y = -x is (0, 4 x), and of y = x it is 0.
    points = (np.array([x]), np.array([-x]))
    proof = CostProof(np.zeros(2, dtype=np.int32), points, np.array([1.0, 0.0]), np.empty(0), exact=("1", "0"))
    assert cost_bound(problem, proof) == -np.inf


def test_tiny_features_have_no_ties_but_tiny_ones() -> None:
    from surefoot.inverse.certificate.certificate import certify_predictions

    signals = [1e-9 * np.array([[0.0], [3.0]])]
    problem = InverseOptimizer(forward.FiniteChoice(), approach="predictability")._pose(signals, [0])
    assert certify_predictions(problem, np.array([1.0]), 1e-6).verified
    wrong = certify_predictions(problem, np.array([-1.0]), 1e-6)
    assert not wrong.verified and wrong.upper_bound == pytest.approx(3e-9)
