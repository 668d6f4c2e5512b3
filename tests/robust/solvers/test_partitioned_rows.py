"""Rows in parts: the same sums, and the same optimum, as the rows in one piece."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
from problem_bank import WHOLE_BANK, draw_problem

from surefoot import _native
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.core.solve_run import SolveRun
from surefoot.robust.sqp.initial_point import initial_point
from surefoot.robust.sqp.row_sums import TableRows
from surefoot.robust.sqp.sqp_loop import SqpLoop, minimise
from surefoot.robust.streaming.partitioned_rows import PartitionedRows


class Part:
    """What a part needs of a problem whose weights do not sum to 1."""

    def __init__(self, problem, rows):
        self.numeric, self.codes = problem.numeric[rows], np.ascontiguousarray(problem.codes[rows])
        self.labels, self.weights = problem.labels[rows].copy(), problem.weights[rows].copy()
        self.n_rows, self.n_numeric, self.n_levels = len(self.labels), problem.n_numeric, problem.n_levels
        self.cost, self.terms, self.is_sparse = problem.cost, problem.terms, problem.is_sparse


@dataclass
class Slices:
    """Parts in memory; everything that goes to a part or comes from it is pickled on the way."""

    problem: object
    cuts: tuple[int, ...]

    @property
    def counts(self):
        return np.diff(self.cuts).tolist()

    def each(self, work, arguments):
        for k, given in enumerate(arguments):
            rows = TableRows(Part(self.problem, slice(self.cuts[k], self.cuts[k + 1])), 1)
            yield pickle.loads(pickle.dumps(work(rows, *pickle.loads(pickle.dumps(given)))))


def in_parts(problem):
    n = problem.n_rows
    return PartitionedRows(problem.terms, Slices(problem, (0, n // 3, n // 3, n // 2, n)), 1)


@pytest.mark.parametrize("name", WHOLE_BANK)
def test_sums_over_parts_are_the_sums_over_all_rows(name):
    problem = WHOLE_BANK[name]()
    whole, parts = TableRows(problem, 1), in_parts(problem)
    rng = np.random.default_rng(0)
    x = whole.tighten(rng.normal(size=whole.size + 1) * 0.3)
    end = whole.tighten(x + rng.normal(size=x.size))
    assert parts.objective(x) == pytest.approx(whole.objective(x), rel=1e-13)
    region, nothing = _native.ModelRegion(0.3, 1e-3), _native.WorkingSet()
    one, other = whole.row_model(x, region, nothing), parts.row_model(x, region, nothing)
    np.testing.assert_allclose(other.gradient, one.gradient, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(other.curvature, one.curvature, rtol=1e-11, atol=1e-13)
    ours, theirs = parts.worst_pieces(end, x), whole.worst_pieces(end, x)
    for name in ("row", "mask", "flipped", "fraction"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    np.testing.assert_allclose(parts.level_weights, whole.level_weights, rtol=1e-13)
    np.testing.assert_allclose(parts.label_sums.positive, whole.label_sums.positive, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_the_same_steps_lead_to_the_same_coefficients(seed, norm):
    problem = draw_problem(seed, rows=60, numeric=3, levels=(3, 2), radius=0.05, label_weight=0.7 if seed % 2 else np.inf)
    problem = replace(problem, cost=replace(problem.cost, numeric_norm=norm))
    ends = []
    for rows in (TableRows(problem, 1), in_parts(problem)):
        loop = SqpLoop(rows, initial_point(rows), 1e-9)
        run = SolveRun(SolveOptions(tolerance=1e-9), None)
        assert minimise(loop, run) is Status.OPTIMAL
        ends.append((loop.x, loop.lower_bound, len(run.history)))
    np.testing.assert_allclose(ends[1][0], ends[0][0], atol=1e-8)
    assert ends[1][1] == pytest.approx(ends[0][1], rel=1e-9)
    assert ends[1][2] == ends[0][2]


def test_a_plan_that_belongs_to_other_rows_is_refused():
    problem = draw_problem(3, rows=40, numeric=2, levels=(3, 2), radius=0.05)
    rows, few = TableRows(problem, 1), TableRows(Part(problem, slice(0, 5)), 1)
    loop = SqpLoop(rows, initial_point(rows), 1e-9)
    minimise(loop, SolveRun(SolveOptions(tolerance=1e-9), None))
    plan = loop.bound.native_plan
    assert loop.working_set.row.max() >= 5
    with pytest.raises(ValueError, match="does not belong to these rows"):
        few.plan_sums(plan, loop.x, False)


def test_state_that_was_cut_short_or_grew_is_refused():
    problem = draw_problem(3, rows=40, numeric=2, levels=(3, 2), radius=0.05)
    rows = TableRows(problem, 1)
    model = rows.row_model(initial_point(rows), _native.ModelRegion(0.5), _native.WorkingSet())
    state = model.__getstate__()
    for wrong in (state[:-3], state[:10], state + b"\0", b""):
        with pytest.raises(ValueError, match="packed state"):
            model.__class__.__new__(model.__class__).__setstate__(wrong)
