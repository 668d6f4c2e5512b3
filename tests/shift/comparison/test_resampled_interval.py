"""Bootstrap intervals: which order statistics they end at, and what reflection does to a bias."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.shift.comparison.resampled_interval import reflected_interval, resampled_quantiles


def test_a_further_draw_falls_outside_as_often_as_the_level_says() -> None:
    # Of 199 draws the 10th and the 190th: a 200th is below the 10th with probability 10 / 200.
    drawn = np.random.default_rng(0).permutation(np.arange(1.0, 200.0))
    assert resampled_quantiles(drawn, 0.1) == pytest.approx((10.0, 190.0))


def test_a_single_draw_is_both_ends() -> None:
    assert resampled_quantiles(np.array([3.0]), 0.05) == (3.0, 3.0)


def test_what_resampling_lowers_is_raised_and_amounts_are_not_negative() -> None:
    drawn = np.arange(1.0, 200.0)
    # The samples lie around 100, 20 below the estimate, which lies as far below the truth: around 140.
    assert reflected_interval(120.0, drawn, 0.1) == pytest.approx((50.0, 230.0))
    assert reflected_interval(50.0, drawn, 0.1) == pytest.approx((0.0, 90.0))
