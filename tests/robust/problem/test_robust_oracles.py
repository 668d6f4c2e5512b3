"""The robust part of the trusted base against its oracles, in all units, far from 0, with ties and without rows."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from problem_bank import WHOLE_BANK, draw_problem
from reference.random_points import random_model
from reference.trusted_robust import (
    canonical_arrays,
    counted_shape,
    entries,
    exact_label_sums,
    held_sparsely,
    is_ground_cost,
    is_problem,
    is_sound,
    largest_entries,
    largest_gain,
    picked_rows,
    price_of_shift,
    proven_sizes,
    sizes_of_model,
    terms_told,
    weighted_mean,
)
from reference.worst_case import objective

from surefoot.core.row_blocks import summation_error
from surefoot.robust.problem.canonical_csr import canonical_csr
from surefoot.robust.problem.coefficient_bounds import (
    ROUNDING_FACTOR,
    BoundingRows,
    LabelSums,
    bounds_from_sums,
    coefficient_bounds,
    label_sums,
    numeric_centre,
)
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.numeric_columns import as_dense, column_sizes, is_sparse
from surefoot.robust.problem.numeric_norm import NUMERIC_NORMS, coefficient_norm, gradient_norm, norm_rounding
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.robust.problem.row_batch import RowBatch

INF = math.inf


def ugly_problem(seed: int) -> RobustLogisticProblem:
    """Columns of all units, offsets of 1e9, constant columns, ties, zero weights, infinite prices, one row, one label."""
    rng = np.random.default_rng(seed)
    rows = int(rng.choice([1, 2, 5, 12]))
    n, levels = int(rng.integers(0, 4)), tuple(rng.integers(1, 4, int(rng.integers(0, 3))).tolist())
    problem = draw_problem(
        seed,
        rows=rows,
        numeric=n,
        levels=levels,
        radius=float(rng.choice([1e-6, 0.05, 2.0])),
        label_weight=float(rng.choice([INF, 0.7])),
        fit_intercept=bool(rng.random() < 0.7),
        norm=NUMERIC_NORMS[seed % 3],
        density=0.5 if rng.random() < 0.3 else None,
    )
    if not problem.is_sparse and n:
        numeric = problem.numeric * 10.0 ** rng.integers(-9, 10, n) + rng.choice([0.0, 0.0, 1e9], n)
        numeric[:, 0] = numeric[0, 0] if rng.random() < 0.3 else numeric[:, 0]
        gamma = np.where(rng.random(n) < 0.1, INF, 10.0 ** rng.integers(-9, 10, n))
        problem = replace(problem, numeric=numeric, cost=replace(problem.cost, numeric_weights=gamma))
    if levels and rng.random() < 0.15:
        delta = problem.cost.categorical_weights.copy()
        delta[0] = INF
        problem = replace(problem, cost=replace(problem.cost, categorical_weights=delta))
    if rows > 2:
        weights = rng.exponential(size=rows)
        weights[1] = 0.0
        problem = replace(problem, weights=weights / weights.sum())
    return problem


UGLY = [ugly_problem(seed) for seed in range(40)]


def agree(found: float, exact: Fraction | float, slack: float) -> bool:
    """Whether a number is within a share of the exact one."""
    if math.isinf(found) or (isinstance(exact, float) and math.isinf(exact)):
        return bool(found == exact)
    return abs(Fraction(found) - exact) <= Fraction(slack) * abs(exact)


VECTORS = [
    (np.zeros(0), np.zeros(0)),
    (np.array([0.0, 0.0]), np.array([1.0, INF])),
    (np.array([3.0, 4.0]), np.array([1.0, 1.0])),
    (np.array([2.0, -2.0, 2.0]), np.array([0.5, 0.5, 0.5])),
    (np.array([1.0, -1e-9, 1e9]), np.array([1e9, 1e-9, 1.0])),
    (np.array([1e200, 1e200]), np.array([1.0, 3.0])),
    (np.array([1e-200, 3e-200]), np.array([1.0, 3.0])),
    (np.array([1.0, 5.0]), np.array([INF, 2.0])),
    (np.array([0.0, 5.0]), np.array([INF, 2.0])),
    *(
        (rng.normal(size=n) * 10.0 ** rng.integers(-9, 10, n), 10.0 ** rng.uniform(-9, 9, n))
        for rng in map(np.random.default_rng, range(20))
        for n in [int(rng.integers(1, 9))]
    ),
]


@pytest.mark.parametrize("norm", NUMERIC_NORMS)
@pytest.mark.parametrize("at", range(len(VECTORS)))
def test_norms_are_within_their_rounding_of_the_exact_ones(at: int, norm: str) -> None:
    vector, weights = VECTORS[at]
    slack = norm_rounding(vector.size)
    assert 0 < slack < 1e-14
    cost = GroundCost(weights, np.zeros(0), numeric_norm=norm)
    gain, price = largest_gain(vector, weights, norm), price_of_shift(vector, weights, norm)
    for found in (coefficient_norm(vector, weights, norm), cost.admitting_price(vector)):
        assert agree(found, gain, slack)
    for found in (gradient_norm(vector, weights, norm), cost.numeric_price(vector)):
        assert agree(found, price, slack)


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_the_rounding_allowed_to_a_norm_covers_its_additions(norm: str) -> None:
    """1 + u rounds to 1, so that adding n such terms loses n - 1 units of rounding."""
    for n in (2, 50, 2000):
        vector = np.array([1.0] + [2.0**-53] * (n - 1)) if norm != "l2" else np.full(n, 0.1)
        found = gradient_norm(vector, np.ones(n), norm)
        assert agree(found, price_of_shift(vector, np.ones(n), norm), norm_rounding(n))
    # One by one would lose all of them; the allowance must cover that order too.
    lost = Fraction(n - 1, 2**53) / (1 + Fraction(n - 1, 2**53))
    assert Fraction(norm_rounding(n)) >= lost


@pytest.mark.parametrize(
    ("numeric", "categorical", "label", "norm"),
    [
        ([], [], INF, "l1"),
        ([1.0, INF], [INF], 0.1, "l2"),
        ([1e-300], [1e300], INF, "linf"),
        ([0.0], [], INF, "l1"),
        ([1.0, -1.0], [], INF, "l1"),
        ([math.nan], [], INF, "l1"),
        ([], [-INF], INF, "l1"),
        ([], [1.0, 0.0], INF, "l1"),
        ([], [], 0.0, "l1"),
        ([], [], math.nan, "l1"),
        ([], [], -1.0, "l1"),
        ([], [], INF, "l3"),
        ([[1.0]], [], INF, "l1"),
        ([], [[1.0]], INF, "l1"),
    ],
)
def test_prices_are_refused_exactly_if_they_are_no_ground_cost(
    numeric: list, categorical: list, label: float, norm: str
) -> None:
    try:
        GroundCost(np.array(numeric, dtype=float), np.array(categorical, dtype=float), label, norm)
    except ValueError:
        assert not is_ground_cost(numeric, categorical, label, norm)
    else:
        assert is_ground_cost(numeric, categorical, label, norm)


TABLES = [
    np.zeros((0, 0)),
    np.zeros((0, 3)),
    np.zeros((3, 0)),
    np.array([[1e9, -1e-9], [-1e9, 0.0]]),
    np.array([[5.0, 5.0]]),
    scipy.sparse.csr_array((2, 3)),
    scipy.sparse.csr_array(np.array([[0.0, -7.0, 0.0], [1e-9, 3.0, 0.0]])),
    scipy.sparse.coo_array(([1.0, 2.0, -4.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2)),
    # Twice the same place, the sum of which is 0 or rounded; columns from right to left; zeros written out; empty rows.
    scipy.sparse.coo_array(([1.0, -1.0, 1e16, 1.0], ([0, 0, 2, 2], [1, 1, 0, 0])), shape=(4, 2)),
    scipy.sparse.csr_array((np.array([5.0, 0.0, -0.0, 1.0]), np.array([2, 1, 0, 2]), np.array([0, 3, 3, 4])), shape=(3, 3)),
    scipy.sparse.csc_array(np.array([[0, 3, 0], [-2, 0, 1]])),
    scipy.sparse.lil_matrix(np.array([[True, False], [False, True]])),
    scipy.sparse.csr_array((0, 3)),
    scipy.sparse.csr_array((3, 0)),
]


@pytest.mark.parametrize("at", range(len(TABLES)))
def test_numeric_columns_hold_what_their_entries_say(at: int) -> None:
    table = TABLES[at]
    rows = table.shape[0]
    batch = RowBatch(table, np.zeros((rows, 0)), np.ones(rows), np.ones(rows))
    assert is_sparse(table) == is_sparse(batch.numeric) == held_sparsely(table)
    assert as_dense(batch.numeric).tolist() == entries(table)
    assert column_sizes(batch.numeric).tolist() == largest_entries(table)
    if is_sparse(table):
        for found in (canonical_csr(table), canonical_csr(canonical_csr(table)), batch.numeric):
            assert found.dtype == np.float64 and found.shape == table.shape
            assert (found.indptr.tolist(), found.indices.tolist(), found.data.tolist()) == canonical_arrays(table)


@pytest.mark.parametrize("at", range(len(UGLY)))
def test_sums_and_centres_are_within_rounding_of_the_exact_ones(at: int) -> None:
    problem = UGLY[at]
    centre = numeric_centre(problem)
    allowed = Fraction(summation_error(2 * problem.n_rows))
    largest = largest_entries(problem.numeric)
    assert len(centre) == problem.numeric.shape[1]
    for found, exact, size in zip(centre, weighted_mean(problem), largest, strict=True):
        assert abs(Fraction(found) - exact) <= allowed * Fraction(size)
    rng = np.random.default_rng(at)
    for middle in (centre, rng.normal(size=centre.size), np.zeros(centre.size)):
        sums = label_sums(problem, middle)
        for found, label in ((sums.positive, 1.0), (sums.negative, -1.0)):
            exact = exact_label_sums(problem, middle, label)
            assert abs(Fraction(found[0]) - exact.weight) <= allowed
            assert len(found) == 1 + len(exact.columns)
            for value, told, size in zip(found[1:], exact.columns, exact.sizes, strict=True):
                assert abs(Fraction(value) - told) <= allowed * size


def test_sums_of_parts_add_up_to_those_of_the_table() -> None:
    for problem in UGLY:
        if problem.n_rows < 2:
            continue
        batch = RowBatch(problem.numeric, problem.codes, problem.labels, problem.weights)
        cut = problem.n_rows // 2
        parts = [batch.take(np.arange(cut)), batch.take(np.arange(cut, problem.n_rows))]
        middle = numeric_centre(problem)
        first, second = (label_sums(part.under(problem.terms), middle) for part in parts)
        whole = first + second
        assert isinstance(whole, LabelSums)
        for found, label in ((whole.positive, 1.0), (whole.negative, -1.0)):
            exact = exact_label_sums(problem, middle, label)
            assert abs(Fraction(found[0]) - exact.weight) <= Fraction(summation_error(problem.n_rows, 2))
            for value, told, size in zip(found[1:], exact.columns, exact.sizes, strict=True):
                assert abs(Fraction(value) - told) <= Fraction(summation_error(2 * problem.n_rows, 2)) * size


@pytest.mark.parametrize("at", range(len(UGLY)))
def test_bounds_on_coefficients_are_those_of_the_forced_shifts(at: int) -> None:
    problem = UGLY[at]
    # A centre that is a power of two away leaves the sums exact enough for nine digits.
    centre = numeric_centre(problem)
    for upper in (math.log(2.0), 1e-9, 1e6):
        exact = proven_sizes(problem, upper, centre)
        sums = label_sums(problem, centre)
        for found in (
            coefficient_bounds(problem, upper, centre),
            bounds_from_sums(problem.terms, sums, upper),
            BoundingRows.of(problem.terms, sums).bounds(problem.radius, upper),
        ):
            for name in ("price", "intercept", "levels"):
                value, told = getattr(found, name), getattr(exact, name)
                if math.isinf(value) or told == math.inf:
                    assert value == told, name
                else:
                    # At or above the exact bound, by what ROUNDING_FACTOR adds and rounding takes.
                    assert told <= Fraction(value) <= told * Fraction(ROUNDING_FACTOR) * (1 + Fraction(1, 10**9)), name


def test_without_a_radius_nothing_bounds_the_coefficients() -> None:
    for intercept in (True, False):
        problem = replace(draw_problem(3, numeric=2, levels=(2,)), radius=0.0, fit_intercept=intercept)
        centre = numeric_centre(problem)
        found, exact = coefficient_bounds(problem, 1.0, centre), proven_sizes(problem, 1.0, centre)
        assert (found.price, found.intercept, found.levels) == (exact.price, exact.intercept, exact.levels)


@pytest.mark.parametrize("name", WHOLE_BANK)
def test_models_are_within_the_bounds_of_their_own_objective(name: str) -> None:
    problem = WHOLE_BANK[name]()
    if problem.radius == 0 or problem.n_rows * np.prod(problem.n_levels) > 2000:
        return
    rng, centre = np.random.default_rng(0), numeric_centre(problem)
    for size in (1e-3, 1.0, 30.0):
        model = random_model(problem, rng, size)
        top = objective(problem, model)
        if math.isfinite(top):
            bounds, own = coefficient_bounds(problem, top, centre), sizes_of_model(problem, model, centre)
            assert own.price <= bounds.price * (1 + 1e-9)
            assert own.levels <= bounds.levels * (1 + 1e-9)
            assert not problem.fit_intercept or own.intercept <= bounds.intercept * (1 + 1e-9)


@pytest.mark.parametrize("at", range(0, len(UGLY), 3))
def test_problems_and_their_parts_have_the_shape_that_can_be_counted(at: int) -> None:
    problem = UGLY[at]
    told = counted_shape(problem, problem.n_levels)
    batch = RowBatch(problem.numeric, problem.codes, problem.labels, problem.weights)
    posed = batch.under(problem.terms)
    for rows in (problem, posed):
        assert (rows.n_rows, rows.n_numeric, rows.n_categorical) == (told["n_rows"], told["n_numeric"], told["n_categorical"])
        assert rows.level_offsets.tolist() == told["level_offsets"]
        assert rows.is_sparse == told["is_sparse"]
    assert (batch.n_rows, batch.is_sparse) == (told["n_rows"], told["is_sparse"])
    terms = problem.terms
    assert (terms.n_numeric, terms.n_categorical) == (told["n_numeric"], told["n_categorical"])
    assert terms.level_offsets.tolist() == told["level_offsets"]


@pytest.mark.parametrize("at", range(0, len(UGLY), 3))
def test_parts_hold_the_rows_and_the_terms_they_were_made_of(at: int) -> None:
    problem = UGLY[at]
    rng = np.random.default_rng(at)
    places = rng.integers(0, problem.n_rows, 5)
    batch = RowBatch(problem.numeric, problem.codes, problem.labels, problem.weights)
    wanted = picked_rows(problem, places.tolist())
    part = batch.take(places)
    posed = part.under(problem.terms)
    assert picked_rows(part, range(5)) == wanted
    rebuilt = RowBatch(posed.numeric, posed.codes, posed.labels, posed.weights)
    assert picked_rows(rebuilt, range(5)) == wanted
    told = list(terms_told(problem))
    assert list(terms_told(problem.terms)) == told
    assert [posed.n_levels, posed.cost, posed.radius, posed.fit_intercept] == [
        problem.n_levels,
        problem.cost,
        problem.radius,
        problem.fit_intercept,
    ]
    assert list(terms_told(posed)) == told


def test_another_price_leaves_the_rows_as_they_are() -> None:
    for problem in UGLY[::4]:
        everything = range(problem.n_rows)
        cost = GroundCost(np.full(problem.n_numeric, 2.0), np.full(problem.n_categorical, 3.0), 4.0, "l2")
        priced = problem.priced(cost, 0.25)
        assert picked_rows(priced, everything) == picked_rows(problem, everything)
        assert list(terms_told(priced)) == list(terms_told(replace(problem, cost=cost, radius=0.25)))
        for broken in (-1.0, INF, math.nan):
            with pytest.raises(ValueError, match="radius"):
                problem.priced(cost, broken)


def sound_parts() -> dict[str, object]:
    return {
        "numeric": np.array([[1.0, 2.0], [3.0, 4.0]]),
        "codes": np.array([[0], [1]]),
        "n_levels": np.array([2]),
        "labels": np.array([1.0, -1.0]),
        "weights": np.array([0.5, 0.5]),
        "radius": 0.1,
    }


BROKEN: list[dict[str, object]] = [
    {},
    {"numeric": np.array([[1.0, INF], [3.0, 4.0]])},
    {"numeric": np.array([[1.0, math.nan], [3.0, 4.0]])},
    {"numeric": scipy.sparse.csr_array(np.array([[1.0, math.nan], [3.0, 4.0]]))},
    {"numeric": scipy.sparse.csr_array(np.array([[1.0, 0.0], [3.0, 4.0]]))},
    {"numeric": np.array([[1e308, -1e308], [1e9, 1e-9]])},
    {"numeric": np.array([1.0, 2.0])},
    {"numeric": np.array([[1.0, 2.0]])},
    {"numeric": np.zeros((2, 0))},
    {"codes": np.array([[0], [2]])},
    {"codes": np.array([[0], [-1]])},
    {"codes": np.array([[0.0], [0.5]])},
    {"codes": np.array([[0.0], [2.0**40]])},
    {"codes": np.array([0, 1])},
    {"codes": np.zeros((2, 0))},
    {"n_levels": np.array([0])},
    {"n_levels": np.array([3])},
    {"n_levels": np.array([[2]])},
    {"n_levels": np.array([2, 2])},
    {"labels": np.array([1.0, 0.0])},
    {"labels": np.array([1.0, 1.0])},
    {"labels": np.array([1.0, math.nan])},
    {"labels": np.array([1.0])},
    {"weights": np.array([1.0, 0.0])},
    {"weights": np.array([1.5, -0.5])},
    {"weights": np.array([0.5, 0.4])},
    {"weights": np.array([0.5, 0.5 + 5e-7])},
    {"weights": np.array([0.5, 0.5 + 5e-6])},
    {"weights": np.array([math.nan, 1.0])},
    {"weights": np.array([[0.5, 0.5]])},
    {"radius": -1e-300},
    {"radius": 0.0},
    {"radius": INF},
    {"radius": math.nan},
]


@pytest.mark.parametrize("change", BROKEN, ids=lambda change: " ".join(change))
def test_rows_are_refused_exactly_if_an_entry_breaks_the_conventions(change: dict[str, object]) -> None:
    parts = {**sound_parts(), **change}
    cost = GroundCost(np.ones(2), np.ones(1))
    whole = is_problem(
        *(parts[name] for name in ("numeric", "codes", "n_levels", "labels", "weights")), (2, 1), parts["radius"]
    )
    try:
        RobustLogisticProblem(**parts, cost=cost)
    except ValueError:
        assert not whole
    else:
        assert whole
    rows = {name: parts[name] for name in ("numeric", "codes", "labels", "weights")}
    sound = is_sound(*rows.values())
    try:
        RowBatch(**rows)
    except ValueError:
        assert not sound
    else:
        assert sound


@pytest.mark.parametrize("field", ["numeric", "codes", "labels", "weights"])
def test_an_array_that_is_written_to_later_is_looked_at_again(field: str) -> None:
    problem = RobustLogisticProblem(**sound_parts(), cost=GroundCost(np.ones(2), np.ones(1)))
    problem.check()
    getattr(problem, field)[(0,) * getattr(problem, field).ndim] = 9 if field == "codes" else math.nan
    told = [getattr(problem, name) for name in ("numeric", "codes", "n_levels", "labels", "weights")]
    assert not is_problem(*told, (2, 1), problem.radius)
    with pytest.raises(ValueError, match=field if field != "codes" else "code 9"):
        problem.check()


def test_fields_of_a_problem_are_all_told() -> None:
    assert {field.name for field in fields(RobustLogisticProblem)} == {*sound_parts(), "cost", "fit_intercept"}
