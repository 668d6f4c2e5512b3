from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from surefoot.robust.problem.ground_cost import GroundCost


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, -np.inf])
@pytest.mark.parametrize("name", ["numeric_weights", "categorical_weights"])
def test_weights_that_are_not_positive_are_refused_by_name_and_position(name, value):
    weights = {"numeric_weights": np.ones(3), "categorical_weights": np.ones(3)}
    weights[name] = np.array([1.0, value, 2.0])
    with pytest.raises(ValueError, match=rf"{name}\[1\]"):
        GroundCost(**weights)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan])
def test_label_weight_that_is_not_positive_is_refused(value):
    with pytest.raises(ValueError, match="label_weight"):
        GroundCost(np.ones(1), np.ones(1), value)


def test_weights_must_be_one_dimensional():
    with pytest.raises(ValueError, match="one-dimensional"):
        GroundCost(np.ones((2, 2)), np.ones(1))


def test_infinite_weights_are_allowed_and_labels_do_not_flip_by_default():
    cost = GroundCost(np.array([np.inf]), [1, np.inf])
    assert cost.label_weight == np.inf
    assert cost.categorical_weights.dtype == np.float64
    np.testing.assert_array_equal(cost.categorical_weights, [1.0, np.inf])


@pytest.mark.parametrize("norm", ["l3", "L1", 2, None])
def test_an_unknown_norm_is_refused_with_the_choices(norm):
    with pytest.raises(ValueError, match=r"numeric_norm=.* is not known\. Choose one of 'l1', 'l2', 'linf'"):
        GroundCost(np.ones(1), np.ones(1), numeric_norm=norm)


def test_prices_of_shifts_and_of_models_are_dual_to_each_other():
    cost = GroundCost(np.array([1.0, 2.0]), np.zeros(0))
    assert cost.numeric_norm == "l1"
    shift, beta = np.array([3.0, 2.0]), np.array([4.0, 6.0])
    assert (cost.numeric_price(shift), cost.admitting_price(beta)) == (7.0, 4.0)
    other = replace(cost, numeric_norm="l2")
    assert (other.numeric_price(shift), other.admitting_price(beta)) == (5.0, 5.0)
    other = replace(cost, numeric_norm="linf")
    assert (other.numeric_price(shift), other.admitting_price(beta)) == (4.0, 7.0)
