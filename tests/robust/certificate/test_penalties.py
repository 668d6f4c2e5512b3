"""Limits and residual penalties of the weak-duality bound, on numbers small enough to work them out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.core.enclosure import enclose
from surefoot.robust.certificate.lower_bound import coefficient_limits, weak_duality_bound
from surefoot.robust.certificate.posed_rows import Setting, Sums

# One numeric column (weight 2), one feature of three levels (weight 1).
SETTING = Setting(np.array([3]), np.array([2.0]), np.array([1.0]), np.inf, "l1", 0.5, True)


def bound(intercept: float, numeric: float, levels: list[float], price: float = 0.0) -> float:
    sums = Sums((*map(enclose, (1.0, price, intercept)), enclose([numeric]), enclose(levels), 0, 4))
    return weak_duality_bound(SETTING, sums, (enclose(10.0), enclose(100.0), enclose(1000.0)))


def test_every_residual_is_paid_at_its_limit_whatever_its_sign() -> None:
    assert bound(0.0, 0.0, [0.0, 0.0, 0.0]) == pytest.approx(1.0)
    for sign in (1.0, -1.0):
        assert bound(0.001 * sign, 0.0, [0.0, 0.0, 0.0]) == pytest.approx(1.0 - 0.1)
        # Levels of one feature add up, and the reference level, whose coefficient is 0, costs nothing.
        assert bound(0.0, 0.0, [9.0, 1e-4 * sign, 2e-4]) == pytest.approx(1.0 - 0.3)
        # The column moves at twice its gradient; only what exceeds the radius is paid.
        assert bound(0.0, 0.2 * sign, [0.0, 0.0, 0.0]) == pytest.approx(1.0)
        assert bound(0.0, 0.2 * sign, [0.0, 0.0, 0.0], price=0.13) == pytest.approx(1.0 - 10.0 * 0.03)


def test_limits_hold_on_both_sides() -> None:
    """Few positive rows (a tenth, mean 3) and many negative ones (mean -0.5): the worse side limits the intercept."""
    upper, price = 0.6, 0.6 / 0.5
    found = limits([0.1, 0.9], [[0.3, -0.45]], upper)
    positive, negative = max(upper / 0.1, price * (1.0 + 2.0 * 3.0)), max(upper / 0.9, price * (1.0 + 2.0 * 0.5))
    assert max(positive, negative) == pytest.approx(8.4)
    assert found == pytest.approx((price, 8.4, max(upper * (1 / 0.1 + 1 / 0.9), price * (2.0 + 2.0 * 3.5))))
    assert limits([0.9, 0.1], [[-0.45, 0.3]], upper) == pytest.approx(found)


def test_limits_are_those_of_the_label_with_less_weight_where_shifts_are_cheap() -> None:
    found = limits([0.01, 0.99], [[0.0, 0.0]], 0.6)
    assert found == pytest.approx((1.2, 0.6 / 0.01, 0.6 / 0.01 + 0.6 / 0.99))


def limits(weights: list[float], columns: list[list[float]], upper: float) -> tuple[float, ...]:
    return tuple(float(limit.high) for limit in coefficient_limits(SETTING, enclose(weights), enclose(columns), upper))
