"""Quadratic costs in every approach that they have, against scans of costs and lists of decisions."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.exceptions import InconsistentDataError, UnsupportedProblemError
from surefoot.inverse import InverseOptimizer, forward

Interval = tuple[float, float]


def intervals(seed: int, *, noisy: bool) -> tuple[list[Interval], np.ndarray]:
    """One continuous unknown with the cost 2 y^2 - 3 y, in intervals; noisy decisions are nowhere near the best ones."""
    random = np.random.default_rng(seed)
    found = [(float(low), float(low + random.uniform(0.3, 2.0))) for low in random.uniform(-1.0, 0.6, 5)]
    decided = np.array([np.clip(0.75, low, high) for low, high in found])
    if noisy:
        decided = np.array([low + random.uniform(0.0, 1.0) * (high - low) for low, high in found])
    return found, decided[:, None]


def rows(interval: Interval) -> tuple[np.ndarray, np.ndarray]:
    return np.array([[1.0], [-1.0]]), np.array([interval[1], -interval[0]])


def mean_loss(costs: np.ndarray, signals: list[Interval], decided: np.ndarray) -> np.ndarray:
    """The mean suboptimality of many costs (q, l), by the formula of the best y."""
    q, slope = costs.T
    found = np.zeros(len(costs))
    for (low, high), (y,) in zip(signals, decided, strict=True):
        inner = np.clip(-slope / np.maximum(2 * q, 1e-300), low, high)
        best = np.min([q * at**2 + slope * at for at in (inner, np.full_like(q, low), np.full_like(q, high))], axis=0)
        found += (q * y**2 + slope * y - best) / len(signals)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_the_least_suboptimality_of_a_quadratic_cost_is_that_of_a_scan(seed: int) -> None:
    signals, decided = intervals(seed, noisy=True)
    model = InverseOptimizer(forward.QuadraticProgram(), approach="suboptimality", tol=1e-4)
    model.fit([rows(each) for each in signals], decided)
    line = np.linspace(-1, 1, 20_001)
    facets = [np.column_stack((np.ones_like(line), line))]
    facets += [np.column_stack(((line + 1) / 2, np.full_like(line, side))) for side in (-1.0, 1.0)]
    least = min(float(mean_loss(facet, signals, decided).min()) for facet in facets)
    assert model.certificate_.verified
    assert model.certificate_.upper_bound == pytest.approx(least, rel=1e-4, abs=1e-7)
    assert model.certificate_.lower_bound <= least
    assert mean_loss(model.cost_[None, :], signals, decided)[0] == pytest.approx(least, rel=1e-3, abs=1e-7)
    with pytest.raises(InconsistentDataError, match="no cost vector of the prior set but 0 explains all"):
        InverseOptimizer(forward.QuadraticProgram(), approach="feasibility").fit([rows(each) for each in signals], decided)


@pytest.mark.parametrize("approach", ["feasibility", "suboptimality", "cutting-plane", "predictability"])
def test_a_quadratic_cost_that_explains_everything_is_found(approach: str) -> None:
    signals, decided = intervals(7, noisy=False)
    model = InverseOptimizer(forward.QuadraticProgram(), approach=approach).fit([rows(each) for each in signals], decided)
    assert model.certificate_.verified
    assert model.cost_[0] > 0.1
    assert -model.cost_[1] / (2 * model.cost_[0]) == pytest.approx(0.75, abs=1e-3)


def two_unknowns() -> tuple[list[Any], list[np.ndarray]]:
    """Decisions of the cost y' y - y_1 - 2 y_2 in boxes, which y_1 y_2 - y_2 y_1, no cost at all, explains as well."""
    random = np.random.default_rng(3)
    signals, decided = [], []
    for _ in range(5):
        low, high = random.uniform(-1.0, 0.2, 2), random.uniform(0.3, 1.5, 2)
        signals.append((np.vstack((np.eye(2), -np.eye(2))), np.concatenate((high, -low))))
        decided.append(np.clip([0.5, 1.0], low, high))
    return signals, decided


def test_no_cost_is_made_of_entries_that_cancel() -> None:
    signals, decided = two_unknowns()
    model = InverseOptimizer(forward.QuadraticProgram(), approach="feasibility").fit(signals, decided)
    square = model.cost_[:4].reshape(2, 2)
    assert model.certificate_.verified
    assert np.allclose(square, square.T, atol=1e-12)
    assert np.abs(square + square.T).max() + np.abs(model.cost_[4:]).max() > 0.1
    model.cost_ = np.array([0.0, 1.0, -1.0, 0.0, 0.0, 0.0])
    with pytest.raises(sf.exceptions.CertificateError):
        sf.verify(model, signals, decided)


def test_an_ellipsoid_is_not_explained_by_entries_that_cancel() -> None:
    random = np.random.default_rng(0)
    signals, decided = [], []
    for _ in range(4):
        middle = random.normal(size=2)
        signals.append((np.eye(2), -middle, float(middle @ middle - 1.0)))
        decided.append(middle - np.array([0.6, 0.8]))  # the least of 0.6 x_1 + 0.8 x_2
    model = InverseOptimizer(forward.EllipsoidProgram(), approach="suboptimality", infeasible="clamp", tol=1e-3)
    model.fit(signals, decided)
    square = model.cost_[:4].reshape(2, 2)
    assert np.abs(square + square.T).max() + np.abs(model.cost_[4:]).max() > 0.1
    with pytest.raises(UnsupportedProblemError, match="curved sides"):
        InverseOptimizer(forward.EllipsoidProgram(), approach="circumcenter", infeasible="clamp").fit(signals, decided)


def mixed() -> tuple[list[Any], list[np.ndarray], list[np.ndarray]]:
    """One continuous unknown and two whole ones; the decisions of a grid besides."""
    cost = np.array([1.0, 0.5, -0.3, -1.2, 0.2, -0.4])
    signals, decided, grids = [], [], []
    for k in range(4):
        first, second, side = np.array([[1.0], [-1.0]]), np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([2.0, 1.0 + 0.2 * k])
        every = []
        for z in itertools.product((0.0, 1.0), repeat=2):
            low, high = -(side[1] - z[1]), side[0] - z[0]
            every += [
                np.array([y, *z]) for y in (*np.linspace(low, high, 121), np.clip(-(cost[1:4] @ [*z, 1.0]) / 2, low, high))
            ]
        signals.append((first, second, side))
        grids.append(np.array(every))
        decided.append(min(every, key=lambda x: float(quadratic_features(None, x) @ cost)))
    return signals, decided, grids


def quadratic_features(signal: Any, x: Any) -> np.ndarray:
    y, *z = x
    return np.array([y * y, *(y * np.array([*z, 1.0])), *z])


def whole_apart(signal: Any, observed: np.ndarray, decision: np.ndarray) -> float:
    return float(np.linalg.norm(observed[1:] - decision[1:]))


def test_a_quadratic_incenter_measures_whole_unknowns_and_is_that_of_a_list_of_decisions() -> None:
    signals, decided, grids = mixed()
    model = InverseOptimizer(forward.QuadraticProgram(), approach="incenter", distance=("none", "l2"))
    model.fit(signals, decided)
    assert model.certificate_.verified
    listed = InverseOptimizer(
        forward.FiniteChoice(), approach="incenter", features=quadratic_features, distance=whole_apart,
        prior=([0.0, *[-np.inf] * 5], np.inf),
    ).fit(grids, decided)  # fmt: skip
    # Of fewer decisions the least regularizer is smaller.
    assert listed.certificate_.upper_bound == pytest.approx(model.certificate_.upper_bound, rel=2e-3)
    assert listed.certificate_.upper_bound <= model.certificate_.upper_bound * (1 + 1e-6)
    assert sf.inverse.cost_angle(listed.cost_, model.cost_) < 0.05


def test_a_distance_of_continuous_unknowns_leaves_no_quadratic_incenter_inside_of_bounds() -> None:
    signals, decided = intervals(1, noisy=True)
    with pytest.raises(UnsupportedProblemError, match="rises less than any distance"):
        InverseOptimizer(forward.QuadraticProgram(), approach="incenter").fit([rows(each) for each in signals], decided)


def test_the_facets_of_a_semidefinite_block_are_those_of_its_diagonal() -> None:
    from surefoot.inverse.exact.sphere_facets import facets
    from surefoot.inverse.problem.prior_set import PriorSet

    plain = PriorSet.of(None, 6)
    ends = [np.flatnonzero(each.lower == each.upper).tolist() for each in facets(replace(plain, psd=2), 0.0)]
    assert ends == [[0], [0], [3], [3], [4], [4], [5], [5]]
    assert len(facets(plain, 0.0)) == 12
