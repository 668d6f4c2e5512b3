"""Resident partitions: same sums, a sample that stays, and rows that can be pickled."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest
from problem_bank import draw_problem

from surefoot.core.solve_options import SolveOptions
from surefoot.robust.problem.row_batch import RowBatch
from surefoot.robust.sqp.parameters import SampleParameters
from surefoot.robust.sqp.row_sums import TableRows
from surefoot.robust.sqp.sqp import SQP
from surefoot.robust.streaming.resident_partitions import (
    ResidentPartitions,
    ResidentStandardPartitions,
    StreamParameters,
    minimiser_of_sample,
)
from surefoot.robust.streaming.standard_partitions import Standard, StandardPartitions, SummedRows
from surefoot.robust.streaming.streamed import partition_sums, solve_partitions


@dataclass
class Held:
    """States in memory, pickled whenever they are made, with a list of all that were made and not released."""

    states: list
    counts: list
    alive: list = field(default_factory=list)

    def each(self, work, arguments):
        for state, given in zip(self.states, arguments, strict=True):
            yield pickle.loads(pickle.dumps(work(state, *pickle.loads(pickle.dumps(given)))))

    def persist(self, work, arguments):
        made = Held(list(self.each(work, arguments)), self.counts, self.alive)
        self.alive.append(made)
        return made

    def release(self):
        self.alive.remove(self)


def parts_of(problem, cuts=(0, 40, 40, 90)):
    edges = [*cuts, problem.n_rows]
    batches = [
        RowBatch(problem.numeric[a:b], problem.codes[a:b], problem.labels[a:b], problem.weights[a:b], a)
        for a, b in pairwise(edges)
    ]
    return Held(batches, [batch.n_rows for batch in batches])


@pytest.fixture
def problem():
    return draw_problem(0, rows=400, numeric=3, levels=(3, 4), label_weight=2.0)


def test_resident_partitions_give_the_sums_of_parts_that_are_standardised_each_time(problem):
    parts = parts_of(problem)
    assert isinstance(parts, ResidentPartitions)
    sums = partition_sums(parts, problem.n_levels)
    standard = Standard.of(problem.terms, sums)
    again = SummedRows(StandardPartitions(parts, standard, parts.counts, 1), sums)
    once = SummedRows(ResidentStandardPartitions.of(parts, standard, parts.counts, 1), sums)
    x = once.tighten(np.random.default_rng(0).normal(size=once.size + 1) * 0.3)
    assert once.value(x) == again.value(x)
    np.testing.assert_array_equal(once.label_sums.positive, again.label_sums.positive)


def test_a_sample_of_all_rows_ends_at_the_optimum_and_is_let_go(problem):
    parameters = StreamParameters(sample=SampleParameters(divisor=1), min_rows=100)
    parts = parts_of(problem)
    sums = partition_sums(parts, problem.n_levels)
    standard = Standard.of(problem.terms, sums)
    found = minimiser_of_sample(parts, standard, parts.counts, SolveOptions(), parameters)
    assert parts.alive == []
    assert found.n_rows == problem.n_rows
    rows = SummedRows(StandardPartitions(parts, standard, parts.counts, 1), sums)
    assert rows.objective(rows.tighten(found.x)) == pytest.approx(SQP().solve(problem, SolveOptions()).upper_bound, rel=1e-6)


def test_a_sample_has_its_share_of_every_part_and_is_the_same_every_time(problem):
    parameters = StreamParameters(sample=SampleParameters(divisor=2), min_rows=100)
    parts = parts_of(problem)
    standard = Standard.of(problem.terms, partition_sums(parts, problem.n_levels))
    first, second = (minimiser_of_sample(parts, standard, parts.counts, SolveOptions(), parameters) for _ in range(2))
    assert first.n_rows == second.n_rows == sum(count // 2 for count in parts.counts)
    np.testing.assert_array_equal(first.x, second.x)


def test_small_tables_and_tables_without_ties_are_not_sampled(problem):
    parts = parts_of(problem)
    standard = Standard.of(problem.terms, partition_sums(parts, problem.n_levels))
    assert minimiser_of_sample(parts, standard, parts.counts, SolveOptions()) is None
    parameters = StreamParameters(min_rows=100)
    numeric = draw_problem(0, rows=400, numeric=3)
    parts = parts_of(numeric)
    standard = Standard.of(numeric.terms, partition_sums(parts, numeric.n_levels))
    assert minimiser_of_sample(parts, standard, parts.counts, SolveOptions(), parameters) is None


def test_a_solve_on_resident_partitions_is_the_solve_of_the_table(problem):
    found = solve_partitions(problem.terms, parts_of(problem), SolveOptions())
    expected = SQP().solve(problem, SolveOptions())
    np.testing.assert_allclose(found.primal.numeric, expected.primal.numeric, atol=1e-8)
    np.testing.assert_allclose(found.primal.levels, expected.primal.levels, atol=1e-8)


def test_a_restricted_plan_is_all_that_its_partition_needs(problem):
    parts = parts_of(problem)
    plan = solve_partitions(problem.terms, parts, SolveOptions()).dual
    for k, batch in enumerate(parts.states):
        own_plan = pickle.loads(pickle.dumps(plan.restricted(k)))
        whole, own = plan.of_partition(k, batch), own_plan.of_partition(0, batch)
        for name in ("row", "moved", "flipped", "mass", "slope", "lowest", "highest"):
            np.testing.assert_array_equal(getattr(own, name), getattr(whole, name))


def test_rows_in_memory_can_be_pickled(problem):
    rows = TableRows(problem, 1)
    x = rows.tighten(np.random.default_rng(1).normal(size=rows.size + 1))
    assert pickle.loads(pickle.dumps(rows)).value(x) == rows.value(x)
