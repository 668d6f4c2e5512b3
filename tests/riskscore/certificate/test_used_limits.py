"""The least and the largest points that a column may have once it is used, against a walk through all of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from surefoot.riskscore.certificate.card_table import CardTable


class PointSetRule(SimpleNamespace):
    """The rule as a proof file brings it: fields and a name."""


def problem(lower: int, upper: int, rules: tuple[Any, ...]) -> Any:
    return SimpleNamespace(
        columns=np.array([[0.0], [1.0]]), labels=np.array([-1.0, 1.0]), weights=np.array([0.5, 0.5]),
        lower=np.array([lower]), upper=np.array([upper]), intercept_lower=-1, intercept_upper=1, max_features=1, penalty=0.0,
        rules=rules, shift=None, scale="unit", multipliers=(1.0, 1.0),
    )  # fmt: skip


@pytest.mark.parametrize("lower", [-3, -1, 0])
@pytest.mark.parametrize("upper", [0, 1, 3])
@pytest.mark.parametrize("sets", [(), ((0, 1, 5),), ((-2, 0, 2), (-2, 2, 3)), ((0,),), ((-9, 9),)])
def test_used_limits_are_those_of_all_points_but_0(lower: int, upper: int, sets: tuple[tuple[int, ...], ...]) -> None:
    table = CardTable(problem(lower, upper, tuple(PointSetRule(column=0, values=values) for values in sets)))
    left = [points for points in range(lower, upper + 1) if points != 0 and all(points in values for values in sets)]
    assert (table.lower[0], table.upper[0]) == ((min(left), max(left)) if left else (np.inf, -np.inf))
