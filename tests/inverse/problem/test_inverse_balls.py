"""Bounds over ellipsoids and balls: no point lies beyond them, the best meets them, and each is what the Lagrangian says."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from reference.trusted_inverse import (
    ball_value,
    dot,
    dual_value,
    ellipse_side,
    ellipsoid_features,
    overshoot,
    points_on_ellipse,
)

from surefoot.exceptions import UnsupportedProblemError
from surefoot.inverse.oracle.trust_region import smallest_in_ball
from surefoot.inverse.problem.decision_set import EllipsoidSet
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.ellipsoid_decisions import EllipsoidDecisions
from surefoot.inverse.problem.hypothesis import QuadraticFeatures
from surefoot.inverse.problem.problem import Example, Instance
from surefoot.inverse.problem.trust_region_dual import trust_region_bound

INF = math.inf


@pytest.mark.parametrize("measured", ["none", "squared-l2"])
@pytest.mark.parametrize("seed", range(12))
def test_no_decision_of_an_ellipsoid_exceeds_its_bound_and_one_meets_it(seed: int, measured: str) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(2, 2)) + np.eye(2)
    form = (root @ root.T + 0.1 * np.eye(2)) * 10.0 ** rng.integers(-2, 3)
    middle = rng.normal(size=2) * (1.0 if seed % 4 else 1e3)
    shift, constant = -form @ middle, float(middle @ form @ middle) - float(rng.uniform(0.1, 3.0))
    instance = Instance(0, EllipsoidSet.of(form, shift, constant), QuadraticFeatures.of_all(2))
    edge = list(points_on_ellipse(form, shift, constant, 720))
    response = edge[int(rng.integers(len(edge)))]
    example = Example(instance, response)
    theta = rng.normal(size=6) * (0.0 if seed == 5 else 1.0)
    if seed == 7:
        theta[:4] = 0.0  # a linear cost
    if seed == 9:
        theta[4:] = (
            -np.array([[theta[0], (theta[1] + theta[2]) / 2], [(theta[1] + theta[2]) / 2, theta[3]]]) @ middle
        )  # the hard case
    weight = 1.5 if measured != "none" else 0.0

    def value(x: np.ndarray) -> float:
        gain = dot(theta, ellipsoid_features(response)) - dot(theta, ellipsoid_features(x))
        return gain + weight * float((x - response) @ (x - response))

    ellipsoid = EllipsoidDecisions(instance)
    ball = ellipsoid.programme(example, theta, Distance("none", measured), weight)
    y, multiplier = smallest_in_ball(ball.form, ball.slope, ball.radius)
    point, bound = ellipsoid.decision(y), ball.bound(multiplier)
    tried = [value(x) for x in edge]
    # The values of the features cancel far from 0.
    slack = 1e-9 * (1.0 + max(map(abs, tried)) + float(np.abs(theta) @ np.abs(ellipsoid_features(response))))
    assert max(tried) <= bound + slack
    assert overshoot(instance.decisions, point) <= 1.0
    assert value(point) == pytest.approx(bound, abs=slack)
    # Points of the ball are decisions, the longest ones those of the edge, and have the values of their decisions.
    size = float(np.abs(form).max() * (1.0 + np.abs(point).max()) ** 2)
    for direction in rng.normal(size=(20, 2)):
        y = direction / np.linalg.norm(direction) * ball.radius * rng.choice([0.0, 0.5, 1.0])
        x = ellipsoid.decision(y)
        side = ellipse_side(form, shift, constant, x)
        assert float(side) == pytest.approx(float(y @ y) - ball.radius**2, abs=1e-12 * size)
        assert ball_value(ball, y) == pytest.approx(value(x), abs=slack)
    # Every multiplier proves something true, and exactly what the Lagrangian says unless that is (almost) flat somewhere.
    for factor in (0.0, 0.5, 0.9, 1.1, 2.0, 1e3):
        proven = ball.bound(factor * multiplier)
        assert max(tried) <= proven + slack
        if np.linalg.eigvalsh(ball.form)[0] + factor * multiplier > 1e-6 * np.abs(ball.form).max():
            wanted = ball.constant - dual_value(ball.form, ball.slope, ball.radius, factor * multiplier)
            assert proven == pytest.approx(wanted, rel=1e-9, abs=slack)


def test_other_distances_over_an_ellipsoid_are_refused() -> None:
    instance = Instance(0, EllipsoidSet.of(np.eye(2), np.zeros(2), -1.0), QuadraticFeatures.of_all(2))
    with pytest.raises(UnsupportedProblemError, match="linf"):
        EllipsoidDecisions(instance).programme(Example(instance, np.zeros(2)), np.zeros(6), Distance("none", "linf"), 1.0)


FORMS = [
    np.eye(2),
    np.zeros((2, 2)),
    np.diag([1.0, -1.0]),
    np.diag([-2.0, -2.0]),
    np.diag([1.0, 0.0]),
    np.diag([1e9, 1e-9]),
    np.diag([-1e9, 1e-9]),
    1e-100 * np.diag([1.0, -1.0]),
    -1e-9 * np.eye(2),
    np.ones((2, 2)),
    np.array([[0.0, 1.0], [1.0, 0.0]]),
    np.array([[2.0, 3.0], [0.0, -2.0]]),  # only its even part counts
    np.array([[-3.0]]),
    np.diag([-1.0, 2.0, -1.0]),
    *(rng.normal(size=(3, 3)) for rng in map(np.random.default_rng, range(4))),
]


@pytest.mark.parametrize("at", range(len(FORMS)))
@pytest.mark.parametrize("radius", [1e-3, 1.0, 1e3])
def test_multipliers_of_a_ball_prove_what_the_lagrangian_says(at: int, radius: float) -> None:
    form, rng = FORMS[at], np.random.default_rng(at)
    n = len(form)
    values, axes = np.linalg.eigh((form + form.T) / 2)
    scale, least = float(np.abs(values).max()) or 1.0, max(0.0, -float(values[0]))
    inside = rng.normal(size=(200, n))
    inside *= (rng.choice([0.1, 0.9, 1.0], 200) / np.linalg.norm(inside, axis=1))[:, None] * (1 - 1e-15)
    points = radius * np.vstack((np.zeros(n), axes.T, -axes.T, inside))
    slopes = [np.zeros(n), np.eye(n)[0], np.eye(n)[-1], axes[:, -1], rng.normal(size=n)]
    finite = singular = 0
    for slope, unit in itertools.product(slopes, (scale, 1e-10 * scale, 1e-3 * scale * radius, 1e9 * scale)):
        g = unit * slope
        heights = np.einsum("ki,ij,kj->k", points, form, points) + 2 * points @ g
        for multiplier in (0.0, least, least * (1 - 1e-6), least + 1e-6 * scale, least + scale, 1e3 * least + 1.0):
            found, exact = trust_region_bound(form, g, radius, multiplier), dual_value(form, g, radius, multiplier)
            slack = 1e-12 * (float(np.linalg.norm(g)) * radius + (scale + multiplier) * radius**2)
            assert found <= heights.min() + slack, (g, multiplier)
            left = float(values[0]) + multiplier
            if left > 1e-9 * scale:
                assert found == pytest.approx(exact, rel=1e-9, abs=slack)
                finite += 1
            elif left < -1e-9 * scale:
                assert found == exact == -INF
            elif np.array_equal(form, np.diag(np.diag(form))):
                # Singular to the last digit: what the slope has outside of the range costs its height on the ball, if it is
                # rounding, and proves nothing otherwise.
                flat = np.diag(form) + multiplier <= 1e-12 * scale
                lost = float(np.linalg.norm(g[flat]))
                wanted = dual_value(form, np.where(flat, 0.0, g), radius, multiplier) - 2 * radius * lost
                assert found == (pytest.approx(wanted, rel=1e-9, abs=slack) if lost <= 1e-9 * np.abs(form).max() else -INF)
                singular += 1
    assert finite > 0 and (singular > 0 or at in (0, 9, 10, 11) or at > 13)
    for none in (-1.0, -1e-300, math.nan, INF):
        assert trust_region_bound(form, slopes[-1], radius, none) == dual_value(form, slopes[-1], radius, none) == -INF


@pytest.mark.parametrize("at", range(len(FORMS)))
def test_the_best_multiplier_of_a_ball_meets_its_least_value(at: int) -> None:
    """Strong duality, which holds for every form: the best of many multipliers proves what the best of many points has."""
    form, rng = FORMS[at], np.random.default_rng(at)
    n, scale = len(form), float(np.abs(form).max()) or 1.0
    least = max(0.0, -float(np.linalg.eigvalsh((form + form.T) / 2)[0]))
    points = rng.normal(size=(20000, n))
    points *= (np.where(np.arange(20000) % 4 == 0, rng.random(20000), 1.0) / np.linalg.norm(points, axis=1))[:, None]
    g = scale * rng.normal(size=n)
    lowest = float(np.min(np.einsum("ki,ij,kj->k", points, form, points) + 2 * points @ g))
    multipliers = least + scale * np.concatenate(([0.0], 10.0 ** np.linspace(-9, 2, 400)))
    best = max(trust_region_bound(form, g, 1.0, float(multiplier)) for multiplier in multipliers)
    wanted = max(dual_value(form, g, 1.0, float(multiplier)) for multiplier in multipliers)
    assert best == pytest.approx(wanted, rel=1e-9, abs=1e-9 * scale)
    assert lowest - 0.05 * scale <= best <= lowest + 1e-12 * scale
