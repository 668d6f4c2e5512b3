"""Radii of estimated moments: they cover the truth, and the widened demand is never less than the true one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from surefoot.chancesvm.problem.moment_radii import least_samples, moment_radii


def test_the_radii_are_those_of_the_lemmas() -> None:
    radii = moment_radii(np.array([100, 400]), 0.9, 3.0)
    mean = 3.0 / 10 * (2 + math.sqrt(2 * math.log(20.0)))
    covariance = 2 * 9.0 / 10 * (2 + math.sqrt(2 * math.log(40.0)))
    np.testing.assert_allclose(radii.mean, [mean, mean / 2])
    np.testing.assert_allclose(radii.covariance, [covariance, covariance / 2])
    assert (radii.confidence, radii.joint_confidence) == (0.9, pytest.approx(0.8))
    assert moment_radii(np.full(30, 100), 0.9, 1.0).joint_confidence == 0.0


def test_moments_of_drawn_batches_are_within_the_radii_at_least_as_often_as_promised() -> None:
    # Points on a circle: the longest possible vectors of length 1, and moments that are known.
    draw = np.random.default_rng(0)
    radii = moment_radii(np.array([40]), 0.5, 1.0)
    inside = 0
    for _ in range(200):
        angle = draw.uniform(0, 2 * np.pi, 40)
        points = np.column_stack([np.cos(angle), np.sin(angle)])
        mean, covariance = points.mean(axis=0), np.cov(points.T, bias=True)
        near = np.linalg.norm(mean) <= radii.mean[0] and np.linalg.norm(covariance - np.eye(2) / 2) <= radii.covariance[0]
        inside += bool(near)
    assert inside >= 100


def test_one_matrix_for_both_radii_would_ask_for_too_little() -> None:
    """The combination printed in Theorem 1 of the paper, against the two terms of its own proof."""
    radii, tau = moment_radii(np.array([60]), 0.95, 1.0), 3.0
    two_terms = tau * math.sqrt(radii.covariance[0]) + radii.mean[0]
    assert tau * math.sqrt(radii.mean[0] / tau + radii.covariance[0]) < two_terms


def test_too_small_batches_are_named() -> None:
    least = least_samples(0.95)
    assert moment_radii(np.array([least]), 0.95, 1.0).confidence == 0.95
    with pytest.raises(ValueError, match=rf"batch 1 has {least - 1} samples, but a confidence of 0\.95 needs at least {least}"):
        moment_radii(np.array([least, least - 1]), 0.95, 1.0)
