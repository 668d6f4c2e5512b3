from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from problem_bank import PROBLEM_BANK

from surefoot.problems.ground_cost import GroundCost
from surefoot.problems.robust_logistic import RobustLogisticProblem


@pytest.fixture
def problem() -> RobustLogisticProblem:
    return PROBLEM_BANK["mixed_with_label_price"]()


def test_arrays_take_the_agreed_types_and_layout():
    numeric = np.asfortranarray(np.arange(6).reshape(3, 2))
    problem = RobustLogisticProblem(
        numeric=numeric,
        codes=np.array([[0, 1, 0]], dtype=np.int64).T,
        n_levels=[2],
        labels=[1, -1, 1],
        weights=[0.5, 0.25, 0.25],
        cost=GroundCost(np.ones(2), np.ones(1)),
        radius=0.1,
    )
    for array, dtype in ((problem.numeric, np.float64), (problem.codes, np.int32), (problem.labels, np.float64)):
        assert array.dtype == dtype
        assert array.flags.c_contiguous
    np.testing.assert_array_equal(problem.numeric, numeric)
    assert (problem.n_rows, problem.n_numeric, problem.n_categorical) == (3, 2, 1)


def test_level_offsets_are_the_slices_of_the_features(problem):
    np.testing.assert_array_equal(problem.level_offsets, [0, 3, 5])
    assert problem.level_offsets.dtype == np.int32
    np.testing.assert_array_equal(PROBLEM_BANK["numeric_only"]().level_offsets, [0])


@pytest.mark.parametrize(
    "part",
    [
        {"labels": np.ones(3)},
        {"weights": np.ones(3) / 3},
        {"codes": np.zeros((3, 2))},
        {"numeric": np.zeros((3, 2))},
        {"numeric": np.zeros(20)},
        {"n_levels": np.array([3])},
        {"cost": GroundCost(np.ones(1), np.ones(2))},
        {"cost": GroundCost(np.ones(2), np.ones(3))},
    ],
)
def test_shapes_that_do_not_belong_together_are_refused(problem, part):
    with pytest.raises(ValueError):
        replace(problem, **part)


@pytest.mark.parametrize("radius", [-1e-9, np.nan, np.inf])
def test_radius_must_be_finite_and_not_negative(problem, radius):
    with pytest.raises(ValueError, match="radius"):
        replace(problem, radius=radius)


def test_problem_is_frozen(problem):
    with pytest.raises(FrozenInstanceError):
        problem.radius = 1.0


CHANGES = {
    "numeric": lambda problem: {"numeric": problem.numeric + 1e-12},
    "codes": lambda problem: {"codes": (problem.codes + 1) % problem.n_levels},
    "n_levels": lambda problem: {"n_levels": problem.n_levels + 1},
    "labels": lambda problem: {"labels": -problem.labels},
    "weights": lambda problem: {"weights": problem.weights[::-1] * np.linspace(0.9, 1.1, problem.n_rows)},
    "numeric weights": lambda problem: {"cost": replace(problem.cost, numeric_weights=problem.cost.numeric_weights * 2)},
    "categorical weights": lambda problem: {"cost": replace(problem.cost, categorical_weights=np.array([np.inf, 1.0]))},
    "label weight": lambda problem: {"cost": replace(problem.cost, label_weight=np.inf)},
    "radius": lambda problem: {"radius": problem.radius * (1 + 1e-15)},
    "intercept": lambda problem: {"fit_intercept": False},
}


def test_digest_is_the_same_for_equal_problems_and_differs_for_every_change(problem):
    assert replace(problem, numeric=problem.numeric.copy()).digest() == problem.digest()
    digests = {what: replace(problem, **change(problem)).digest() for what, change in CHANGES.items()}
    assert len({problem.digest(), *digests.values()}) == len(CHANGES) + 1


def test_digest_tells_a_reshaped_table_from_the_original():
    base = {"codes": np.zeros((2, 0)), "n_levels": np.zeros(0), "labels": np.ones(2), "weights": np.full(2, 0.5), "radius": 0.1}
    # Without the shapes, a column moved from the table to the weights would leave the same bytes.
    narrow = RobustLogisticProblem(numeric=np.array([[1.0], [1.0]]), cost=GroundCost(np.ones(1), np.zeros(0)), **base)
    wide = RobustLogisticProblem(numeric=np.ones((2, 2)), cost=GroundCost(np.ones(2), np.zeros(0)), **base)
    assert narrow.digest() != wide.digest()


def test_every_problem_of_the_bank_keeps_the_conventions_and_is_the_same_each_time():
    for build in PROBLEM_BANK.values():
        problem = build()
        assert build().digest() == problem.digest()
        assert np.isfinite(problem.numeric).all()
        assert set(np.unique(problem.labels)) <= {-1.0, 1.0}
        assert (problem.weights >= 0).all()
        assert problem.weights.sum() == pytest.approx(1.0)
        assert ((problem.codes >= 0) & (problem.codes < problem.n_levels)).all()
