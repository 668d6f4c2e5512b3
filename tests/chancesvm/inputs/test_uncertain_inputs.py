"""Rows put together by group, and violations as users write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surefoot.chancesvm.inputs.uncertain_inputs import gather_inputs, read_violation, violation_of
from surefoot.design.encode.row_groups import read_row_groups

CLASSES = np.array(["no", "yes"])


def test_rows_of_a_group_stand_together_and_their_weights_sum_to_1() -> None:
    groups = read_row_groups(["b", "a", "b", "c", "a"], 5)
    inputs = gather_inputs(groups, np.array([1.0, -1.0, 1.0, 1.0, -1.0]), CLASSES, np.array([0.1, 0.2, 0.3, 0.2, 0.2]))
    assert inputs.names == ("a", "b", "c")
    assert inputs.labels.tolist() == [-1.0, 1.0, 1.0]
    assert inputs.order.tolist() == [1, 4, 0, 2, 3] and inputs.starts.tolist() == [0, 2, 4, 5]
    np.testing.assert_allclose(inputs.weights, [0.5, 0.5, 0.25, 0.75, 1.0])
    assert not inputs.equal_weights
    assert gather_inputs(groups, np.array([1.0, -1.0, 1.0, 1.0, -1.0]), CLASSES, np.full(5, 0.2)).equal_weights


@pytest.mark.parametrize(
    "violation", [{"a": 0.1, "b": 0.2, "elsewhere": 0.5}, [0.1, 0.2], np.array([0.1, 0.2])], ids=["mapping", "list", "array"]
)
def test_violations_may_differ_by_group(violation: Any) -> None:
    read = read_violation(violation, ["a", "b"])
    assert violation_of(read, ["b"]).tolist() == [0.2] and violation_of(read, ["a", "b"]).tolist() == [0.1, 0.2]


def test_one_violation_is_for_all() -> None:
    assert violation_of(read_violation(0.3, None), [1, 2, 3]).tolist() == [0.3, 0.3, 0.3]


@pytest.mark.parametrize(
    ("violation", "names", "message"),
    [
        (0.0, None, r"violation = 0\.0 must be above 0 and below 1"),
        (1, None, "violation = 1 must be above 0 and below 1.*close to 1"),
        (-0.1, None, r"violation = -0\.1 must be above 0"),
        (float("nan"), None, "violation = nan must be above 0"),
        (1e-320, None, "too small to be told from 0"),
        ("small", None, "violation = 'small' must be a number above 0 and below 1, or one for each group"),
        (None, None, "violation = None must be a number"),
        ([0.1, 0.2], None, "violation differs by group, but no groups were given"),
        ([0.1], ["a", "b"], r"violation has shape \(1,\), but there are 2 groups.*'a', 'b'"),
        ([0.1, 1.5], ["a", "b"], r"violation of group 'b' = 1\.5 must be above 0"),
        ({"a": 0.1}, ["a", "b"], "violation names no value for group 'b'"),
        ({"a": 0.1, "b": "x"}, ["a", "b"], "violation of group 'b' = 'x' must be above 0"),
    ],
)
def test_senseless_violations_are_refused_with_group_and_value(violation: Any, names: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_violation(violation, names)
