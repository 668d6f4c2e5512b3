"""Small named problems that every solver and every certificate must handle.

Each function builds one problem from a fixed seed, small enough that ``reference.enumerated_model`` can write out all
of its category vectors. ``PROBLEM_BANK`` maps the function's name to the function; ``NORM_BANK`` and ``SPARSE_BANK`` do so for
problems with other norms than l1 and with sparse columns. Parametrise tests over them::

    @pytest.mark.parametrize("name", PROBLEM_BANK)
    def test_something(name):
        problem = PROBLEM_BANK[name]()
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.sparse

from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.numeric_norm import NumericNorm
from surefoot.robust.problem.problem import RobustLogisticProblem


def draw_problem(
    seed: int,
    *,
    rows: int = 20,
    numeric: int = 0,
    levels: tuple[int, ...] = (),
    radius: float = 0.05,
    label_weight: float = np.inf,
    fit_intercept: bool = True,
    norm: NumericNorm = "l1",
    density: float | None = None,
    ranged: int = 0,
) -> RobustLogisticProblem:
    """A random problem with noisy labels, real-valued weights and both labels present (if ``rows`` > 1).

    The first ``ranged`` numeric columns have a range: what they hold, or up to a standard deviation more at either end. With a
    ``density`` about that share of the numeric entries is kept and the columns are sparse.
    """
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(rows, numeric))
    if density is not None:
        x[np.random.default_rng((seed, 1)).random(x.shape) > density] = 0.0
    codes = np.column_stack([draw.integers(0, count, size=rows) for count in levels]) if levels else np.zeros((rows, 0))
    score = 1.2 * x @ draw.normal(size=numeric)
    for l, count in enumerate(levels):
        score = score + draw.normal(size=count)[codes[:, l]]
    labels = np.where(score + 1.5 * draw.logistic(size=rows) > 0, 1.0, -1.0)
    if rows > 1 and np.abs(labels.sum()) == rows:
        labels[0] = -labels[0]
    ranges = np.tile([-np.inf, np.inf], (numeric, 1))
    if ranged and rows:
        wider = np.maximum(np.random.default_rng((seed, 2)).uniform(-0.5, 1.0, size=(2, ranged)), 0.0)
        ranges[:ranged] = np.column_stack((x[:, :ranged].min(axis=0) - wider[0], x[:, :ranged].max(axis=0) + wider[1]))
    return RobustLogisticProblem(
        numeric=x if density is None else scipy.sparse.csr_array(x),
        codes=codes,
        n_levels=np.array(levels, dtype=np.int32),
        labels=labels,
        weights=np.full(rows, 1.0 / rows),
        cost=GroundCost(
            numeric_weights=draw.uniform(0.5, 2.0, size=numeric),
            categorical_weights=draw.uniform(0.3, 1.7, size=len(levels)),
            label_weight=label_weight,
            numeric_norm=norm,
            numeric_ranges=ranges,
        ),
        radius=radius,
        fit_intercept=fit_intercept,
    )


def _unit_free(problem: RobustLogisticProblem) -> RobustLogisticProblem:
    """The same problem with the default numeric weights, 1 / standard deviation (1 for a constant column)."""
    spread = problem.numeric.std(axis=0)
    gamma = 1.0 / np.where(spread > 0, spread, 1.0)
    return replace(problem, cost=replace(problem.cost, numeric_weights=gamma))


def numeric_only() -> RobustLogisticProblem:
    return draw_problem(1, rows=30, numeric=3)


def categorical_only() -> RobustLogisticProblem:
    return draw_problem(2, rows=24, levels=(3, 2, 3))


def mixed() -> RobustLogisticProblem:
    return draw_problem(101, rows=24, numeric=2, levels=(3, 2), radius=0.08)


def numeric_with_label_price() -> RobustLogisticProblem:
    return draw_problem(4, rows=24, numeric=2, radius=0.04, label_weight=0.7)


def mixed_with_label_price() -> RobustLogisticProblem:
    """Numeric shifts, categorical moves and label flips all happen at the optimum."""
    return draw_problem(169, rows=20, numeric=2, levels=(3, 2), radius=0.1, label_weight=1.6)


def unequal_weights() -> RobustLogisticProblem:
    """Row weights over three orders of magnitude, a quarter of them 0."""
    problem = draw_problem(6, rows=24, numeric=1, levels=(3, 2))
    weights = 10.0 ** np.random.default_rng(60).uniform(-3, 0, size=24)
    weights[::4] = 0.0
    return replace(problem, weights=weights / weights.sum())


def duplicate_rows() -> RobustLogisticProblem:
    """Few distinct rows, many times over, with contradicting labels."""
    draw = np.random.default_rng(7)
    few = draw_problem(70, rows=5, numeric=1, levels=(2, 3))
    pick = draw.integers(0, 5, size=24)
    labels = np.where(draw.random(24) < 0.25, -few.labels[pick], few.labels[pick])
    return replace(few, numeric=few.numeric[pick], codes=few.codes[pick], labels=labels, weights=np.full(24, 1 / 24))


def separable() -> RobustLogisticProblem:
    """One column decides the label: without the radius the coefficients would grow without end."""
    problem = draw_problem(8, rows=18, numeric=1, levels=(3, 2), radius=0.03)
    return replace(problem, labels=np.where(problem.codes[:, 0] == 1, 1.0, -1.0))


def one_level_column() -> RobustLogisticProblem:
    """A categorical column with a single level has no coefficient to choose and nowhere to move."""
    return draw_problem(9, rows=20, numeric=1, levels=(1, 3))


def unused_level() -> RobustLogisticProblem:
    """Level 2 of the first column occurs in no row, but the adversary may move there."""
    problem = draw_problem(10, rows=20, numeric=1, levels=(3, 2))
    codes = problem.codes.copy()
    codes[codes[:, 0] == 2, 0] = 1
    return replace(problem, codes=codes)


def constant_numeric_column() -> RobustLogisticProblem:
    problem = draw_problem(11, rows=20, numeric=2, levels=(2,))
    numeric = problem.numeric.copy()
    numeric[:, 1] = 5.0
    return replace(problem, numeric=numeric)


def equal_columns() -> RobustLogisticProblem:
    """Two numeric columns are equal, and so are two categorical ones: the optimum is not unique."""
    problem = draw_problem(12, rows=20, numeric=2, levels=(3, 3))
    numeric, codes = problem.numeric.copy(), problem.codes.copy()
    numeric[:, 1], codes[:, 1] = numeric[:, 0], codes[:, 0]
    return replace(problem, numeric=numeric, codes=codes)


def huge_and_tiny_scales() -> RobustLogisticProblem:
    """Columns in units of 1e9 and 1e-9, with the default weights that make the units irrelevant."""
    problem = draw_problem(100, rows=24, numeric=2, levels=(3,))
    return _unit_free(replace(problem, numeric=problem.numeric * np.array([1e9, 1e-9])))


def far_from_zero() -> RobustLogisticProblem:
    """A numeric column whose mean is a million times its spread."""
    problem = draw_problem(14, rows=24, numeric=2)
    return replace(problem, numeric=problem.numeric + np.array([1e6, -3.0]))


def no_intercept() -> RobustLogisticProblem:
    return draw_problem(107, rows=24, numeric=2, levels=(3, 2), fit_intercept=False)


def large_radius() -> RobustLogisticProblem:
    """Numeric and categorical shifts cost so little that only the intercept survives."""
    problem = draw_problem(16, rows=20, numeric=2, levels=(2, 2), radius=50.0)
    return replace(problem, labels=np.where(np.arange(20) % 3 == 0, 1.0, -1.0))


def tiny_radius() -> RobustLogisticProblem:
    return draw_problem(17, rows=40, numeric=1, levels=(2, 2), radius=1e-6)


def infinite_weights() -> RobustLogisticProblem:
    """One numeric and one categorical column never shift; the others do."""
    problem = draw_problem(18, rows=40, numeric=2, levels=(2, 3))
    cost = GroundCost(
        numeric_weights=np.array([np.inf, 0.8]),
        categorical_weights=np.array([np.inf, 0.6]),
        label_weight=problem.cost.label_weight,
    )
    return replace(problem, cost=cost)


def symmetric_board() -> RobustLogisticProblem:
    """All 27 boards of three cells (blank, x, o), won by the majority: ties and exchangeable columns, as in tic-tac-toe."""
    codes = np.array(list(itertools.product(range(3), repeat=3)), dtype=np.int32)
    labels = np.where((codes == 1).sum(axis=1) > (codes == 2).sum(axis=1), 1.0, -1.0)
    return RobustLogisticProblem(
        numeric=np.zeros((27, 0)),
        codes=codes,
        n_levels=np.array([3, 3, 3], dtype=np.int32),
        labels=labels,
        weights=np.full(27, 1 / 27),
        cost=GroundCost(numeric_weights=np.zeros(0), categorical_weights=np.ones(3)),
        radius=0.2,
    )


def one_class_with_label_price() -> RobustLogisticProblem:
    """Only positive rows; the optimum exists because labels may flip."""
    problem = draw_problem(20, rows=12, numeric=1, levels=(3,), radius=0.05, label_weight=0.5)
    return replace(problem, labels=np.ones(12))


def plain_logistic() -> RobustLogisticProblem:
    """Radius 0 on overlapping classes: logistic regression without any penalty."""
    return draw_problem(21, rows=60, numeric=2, levels=(3,), radius=0.0)


PROBLEM_BANK: dict[str, Callable[[], RobustLogisticProblem]] = {
    build.__name__: build
    for build in (
        numeric_only,
        categorical_only,
        mixed,
        numeric_with_label_price,
        mixed_with_label_price,
        unequal_weights,
        duplicate_rows,
        separable,
        one_level_column,
        unused_level,
        constant_numeric_column,
        equal_columns,
        huge_and_tiny_scales,
        far_from_zero,
        no_intercept,
        large_radius,
        tiny_radius,
        infinite_weights,
        symmetric_board,
        one_class_with_label_price,
        plain_logistic,
    )
}


def numeric_l2() -> RobustLogisticProblem:
    return draw_problem(31, rows=30, numeric=4, norm="l2")


def numeric_linf() -> RobustLogisticProblem:
    """Lasso: some coefficients are 0 at the optimum."""
    return draw_problem(32, rows=30, numeric=5, radius=0.1, norm="linf")


def numeric_l2_with_label_price() -> RobustLogisticProblem:
    return draw_problem(328, rows=24, numeric=3, radius=0.08, label_weight=1.0, norm="l2")


def numeric_linf_with_label_price() -> RobustLogisticProblem:
    return draw_problem(353, rows=24, numeric=3, radius=0.04, label_weight=0.7, norm="linf")


def mixed_l2() -> RobustLogisticProblem:
    return draw_problem(35, rows=24, numeric=3, levels=(3, 2), radius=0.08, norm="l2")


def mixed_linf() -> RobustLogisticProblem:
    return draw_problem(36, rows=24, numeric=3, levels=(3, 2), radius=0.08, norm="linf")


def mixed_l2_with_label_price() -> RobustLogisticProblem:
    return draw_problem(338, rows=20, numeric=2, levels=(3, 2), radius=0.1, label_weight=1.6, norm="l2")


def mixed_linf_with_label_price() -> RobustLogisticProblem:
    return draw_problem(302, rows=20, numeric=2, levels=(3, 2), radius=0.1, label_weight=1.6, norm="linf", fit_intercept=False)


def one_column_never_moves(problem: RobustLogisticProblem) -> RobustLogisticProblem:
    """The same problem with an infinite weight on its first numeric column."""
    gamma = problem.cost.numeric_weights.copy()
    gamma[0] = np.inf
    return replace(problem, cost=replace(problem.cost, numeric_weights=gamma))


def infinite_weight_l2() -> RobustLogisticProblem:
    return one_column_never_moves(draw_problem(39, rows=40, numeric=3, levels=(2,), norm="l2"))


def infinite_weight_linf() -> RobustLogisticProblem:
    return one_column_never_moves(draw_problem(40, rows=40, numeric=3, label_weight=1.2, norm="linf"))


def no_column_moves_l2() -> RobustLogisticProblem:
    """All numeric columns have infinite weights: the cone of the norm is empty."""
    problem = draw_problem(41, rows=40, numeric=2, levels=(3,), norm="l2")
    return replace(problem, cost=replace(problem.cost, numeric_weights=np.full(2, np.inf)))


def scales_and_offsets_l2() -> RobustLogisticProblem:
    """Columns in units of 1e6 and 1e-6, one of them far from 0, with the default weights that make the units irrelevant."""
    problem = draw_problem(42, rows=24, numeric=2, levels=(3,), norm="l2")
    return _unit_free(replace(problem, numeric=(problem.numeric + np.array([0.0, 1e4])) * np.array([1e6, 1e-6])))


def scales_linf() -> RobustLogisticProblem:
    problem = draw_problem(43, rows=24, numeric=2, levels=(3,), norm="linf")
    return _unit_free(replace(problem, numeric=problem.numeric * np.array([1e6, 1e-6])))


def large_radius_linf() -> RobustLogisticProblem:
    """Only the intercept survives."""
    problem = draw_problem(44, rows=20, numeric=2, levels=(2, 2), radius=50.0, norm="linf")
    return replace(problem, labels=np.where(np.arange(20) % 3 == 0, 1.0, -1.0))


def plain_logistic_l2() -> RobustLogisticProblem:
    """Radius 0: the norm makes no difference."""
    return draw_problem(45, rows=60, numeric=2, levels=(3,), radius=0.0, norm="l2")


NORM_BANK: dict[str, Callable[[], RobustLogisticProblem]] = {
    build.__name__: build
    for build in (
        numeric_l2,
        numeric_linf,
        numeric_l2_with_label_price,
        numeric_linf_with_label_price,
        mixed_l2,
        mixed_linf,
        mixed_l2_with_label_price,
        mixed_linf_with_label_price,
        infinite_weight_l2,
        infinite_weight_linf,
        no_column_moves_l2,
        scales_and_offsets_l2,
        scales_linf,
        large_radius_linf,
        plain_logistic_l2,
    )
}


def sparse_l1() -> RobustLogisticProblem:
    return draw_problem(51, rows=30, numeric=5, density=0.4)


def sparse_l2_with_label_price() -> RobustLogisticProblem:
    return draw_problem(309, rows=30, numeric=5, density=0.4, label_weight=0.8, norm="l2")


def sparse_linf() -> RobustLogisticProblem:
    return draw_problem(53, rows=30, numeric=5, density=0.4, norm="linf")


def sparse_mixed_with_label_price() -> RobustLogisticProblem:
    return draw_problem(301, rows=20, numeric=4, levels=(3, 2), density=0.4, radius=0.1, label_weight=1.6)


def sparse_mixed_linf() -> RobustLogisticProblem:
    return draw_problem(55, rows=24, numeric=4, levels=(3, 2), density=0.4, norm="linf", fit_intercept=False)


def sparse_infinite_weight_l2() -> RobustLogisticProblem:
    return one_column_never_moves(draw_problem(56, rows=40, numeric=3, levels=(2,), density=0.6, norm="l2"))


def sparse_empty_rows_and_columns() -> RobustLogisticProblem:
    """A column without any entry, and rows without any."""
    problem = draw_problem(57, rows=24, numeric=4, levels=(2,), density=0.4, label_weight=0.9)
    table = problem.numeric.toarray()
    table[:, 2] = 0.0
    table[5:9] = 0.0
    return replace(problem, numeric=scipy.sparse.csr_array(table))


def sparse_duplicate_rows() -> RobustLogisticProblem:
    """Few distinct rows, many times over, with contradicting labels; a fifth of them weighs nothing."""
    draw = np.random.default_rng(58)
    few = draw_problem(580, rows=6, numeric=3, levels=(2,), density=0.5)
    pick = draw.integers(0, 6, size=30)
    labels = np.where(draw.random(30) < 0.25, -few.labels[pick], few.labels[pick])
    weights = np.where(np.arange(30) % 5 == 0, 0.0, 1 / 24)
    return replace(few, numeric=few.numeric[pick], codes=few.codes[pick], labels=labels, weights=weights)


def sparse_scales() -> RobustLogisticProblem:
    """Columns in units of 1e6 and 1e-6, with weights to match."""
    problem = draw_problem(59, rows=24, numeric=2, density=0.6)
    units = np.array([1e6, 1e-6])
    cost = replace(problem.cost, numeric_weights=problem.cost.numeric_weights / units)
    return replace(problem, numeric=problem.numeric * units, cost=cost)


def sparse_plain_logistic() -> RobustLogisticProblem:
    return draw_problem(60, rows=60, numeric=3, density=0.6, radius=0.0)


SPARSE_BANK: dict[str, Callable[[], RobustLogisticProblem]] = {
    build.__name__: build
    for build in (
        sparse_l1,
        sparse_l2_with_label_price,
        sparse_linf,
        sparse_mixed_with_label_price,
        sparse_mixed_linf,
        sparse_infinite_weight_l2,
        sparse_empty_rows_and_columns,
        sparse_duplicate_rows,
        sparse_scales,
        sparse_plain_logistic,
    )
}


def ranged_numeric() -> RobustLogisticProblem:
    return draw_problem(61, rows=24, numeric=3, ranged=3)


def ranged_mixed_with_label_price() -> RobustLogisticProblem:
    return draw_problem(62, rows=16, numeric=2, levels=(3, 2), radius=0.1, label_weight=1.4, ranged=1)


def ranged_without_an_intercept() -> RobustLogisticProblem:
    return draw_problem(63, rows=20, numeric=3, levels=(2,), radius=0.2, fit_intercept=False, ranged=2)


def ranged_scales_and_offsets() -> RobustLogisticProblem:
    """Columns in units of 1e6 and 1e-6, far from 0."""
    problem = draw_problem(64, rows=20, numeric=2, levels=(2,), ranged=2)
    units, offsets = np.array([1e6, 1e-6]), np.array([30.0, -500.0])
    cost = replace(
        problem.cost,
        numeric_weights=problem.cost.numeric_weights / units,
        numeric_ranges=(problem.cost.numeric_ranges + offsets[:, None]) * units[:, None],
    )
    return replace(problem, numeric=(problem.numeric + offsets) * units, cost=cost)


def ranged_one_column_never_moves() -> RobustLogisticProblem:
    """A range without width is a column that never shifts."""
    problem = draw_problem(65, rows=40, numeric=2, ranged=1)
    table = np.column_stack((problem.numeric, np.full(40, 2.0)))
    ranges = np.vstack((problem.cost.numeric_ranges, (2.0, 2.0)))
    cost = replace(problem.cost, numeric_weights=np.append(problem.cost.numeric_weights, 1.0), numeric_ranges=ranges)
    return replace(problem, numeric=table, cost=cost)


def ranged_large_radius() -> RobustLogisticProblem:
    """More than all rows could spend: the price is 0."""
    problem = draw_problem(66, rows=18, numeric=2, levels=(2,), radius=50.0, ranged=2)
    return replace(problem, labels=np.where(np.arange(18) % 3 == 0, 1.0, -1.0))


def ranged_plain_logistic() -> RobustLogisticProblem:
    return draw_problem(67, rows=60, numeric=2, levels=(3,), radius=0.0, ranged=2)


RANGE_BANK: dict[str, Callable[[], RobustLogisticProblem]] = {
    build.__name__: build
    for build in (
        ranged_numeric,
        ranged_mixed_with_label_price,
        ranged_without_an_intercept,
        ranged_scales_and_offsets,
        ranged_one_column_never_moves,
        ranged_large_radius,
        ranged_plain_logistic,
    )
}

# Ranges are for quadratic steps alone: problems with them are no part of the whole bank, which all solvers are asked about.
WHOLE_BANK = {**PROBLEM_BANK, **NORM_BANK, **SPARSE_BANK}
