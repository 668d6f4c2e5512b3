from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
import scipy.sparse
from problem_bank import PROBLEM_BANK, WHOLE_BANK

from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem, ShiftPlan


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
    with pytest.raises(ValueError, match=next(iter(part))):
        replace(problem, **part)


BROKEN = {
    "gap": ("numeric", (2, 1), np.nan, "numeric column 1 holds nan in row 2"),
    "infinity": ("numeric", (3, 0), -np.inf, "numeric column 0 holds -inf in row 3"),
    "code too large": ("codes", (4, 1), 2, "categorical column 1 holds code 2 in row 4, but it has 2 levels"),
    "negative code": ("codes", (4, 0), -1, "categorical column 0 holds code -1 in row 4, but it has 3 levels"),
    "no level": ("n_levels", 1, 0, r"n_levels\[1\] = 0"),
    "label 0": ("labels", 5, 0.0, r"labels\[5\] = 0.0"),
    "label not a number": ("labels", 5, np.nan, r"labels\[5\] = nan"),
    "negative weight": ("weights", 6, -1e-9, r"weights\[6\] = -1e-09"),
    "weight not a number": ("weights", 6, np.nan, r"weights\[6\] = nan"),
    "infinite weight": ("weights", 6, np.inf, r"weights\[6\] = inf"),
    "weights above 1": ("weights", 6, 0.05 + 2e-6, "weights sum to 1.000002"),
    "weights below 1": ("weights", 6, 0.05 - 2e-6, "weights sum to 0.999998"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_value_that_breaks_the_conventions_is_refused_and_named(problem, what):
    part, at, value, message = BROKEN[what]
    array = getattr(problem, part).copy()
    array[at] = value
    with pytest.raises(ValueError, match=message):
        replace(problem, **{part: array})
    # Frozen fields do not freeze what the arrays hold, so the same check can be run again.
    getattr(problem, part)[at] = value
    with pytest.raises(ValueError, match=message):
        problem.check()


@pytest.mark.parametrize("part", ["labels", "weights"])
def test_columns_in_place_of_vectors_are_refused(problem, part):
    with pytest.raises(ValueError, match=rf"{part} has shape \(20, 1\)"):
        replace(problem, **{part: getattr(problem, part)[:, None]})


@pytest.mark.parametrize("value", [0.5, np.nan, 2.0**32, 2**32])
def test_codes_that_a_cast_would_change_are_refused(problem, value):
    codes = problem.codes.astype(np.asarray(value).dtype)
    codes[3, 1] = value
    with pytest.raises(ValueError, match=r"codes\[3, 1\] = "):
        replace(problem, codes=codes)


def test_weights_may_miss_1_by_rounding(problem):
    weights = problem.weights.copy()
    weights[0] += 1e-7
    assert replace(problem, weights=weights).weights.sum() > 1


def test_printing_stays_short_and_comparing_never_looks_into_arrays(problem):
    rows = np.arange(5000)
    many = replace(
        problem,
        numeric=problem.numeric[rows % 20],
        codes=problem.codes[rows % 20],
        labels=problem.labels[rows % 20],
        weights=np.full(5000, 1 / 5000),
    )
    assert repr(many) == "RobustLogisticProblem(rows=5000, numeric=2, categorical=2, radius=0.1)"
    nothing = np.zeros(5000)
    plan = ShiftPlan(rows, np.zeros((5000, 2), bool), nothing > 0, nothing, nothing, np.zeros(5), np.zeros(5))
    assert repr(plan) == "ShiftPlan(entries=5000, features=2)"
    model = RobustCoefficients(0.5, np.array([1.0, -2.0]), nothing, 0.25)
    assert (
        repr(model) == "RobustCoefficients(intercept=0.5, numeric=[ 1., -2.], levels=[0., 0., 0., ..., 0., 0., 0.], price=0.25)"
    )
    for made, again in ((many, replace(many)), (plan, replace(plan)), (model, replace(model)), (many.cost, replace(many.cost))):
        assert made == made and made != again
        assert len({made, again}) == 2


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
    "norm l2": lambda problem: {"cost": replace(problem.cost, numeric_norm="l2")},
    "norm linf": lambda problem: {"cost": replace(problem.cost, numeric_norm="linf")},
    "sparse": lambda problem: {"numeric": scipy.sparse.csr_array(problem.numeric)},
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
    for build in WHOLE_BANK.values():
        problem = build()
        assert build().digest() == problem.digest()
        assert np.isfinite(problem.numeric.data if problem.is_sparse else problem.numeric).all()
        assert set(np.unique(problem.labels)) <= {-1.0, 1.0}
        assert (problem.weights >= 0).all()
        assert problem.weights.sum() == pytest.approx(1.0)
        assert ((problem.codes >= 0) & (problem.codes < problem.n_levels)).all()
