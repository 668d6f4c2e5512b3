"""Parts that keep their standardised rows: same sums, a sample that stays, and rows that can be pickled."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest
from problem_bank import draw_problem

from surefoot.core.solve_options import SolveOptions
from surefoot.robust.problem.row_batch import RowBatch
from surefoot.robust.sqp.lifted_rows import LiftedRows
from surefoot.robust.sqp.sqp import SQP
from surefoot.robust.streaming import resident_partitions as kept_parts
from surefoot.robust.streaming.resident_partitions import KeepingParts, KeptStandardParts, minimiser_of_sample
from surefoot.robust.streaming.standard_partitions import Standard, StandardParts, SummedRows
from surefoot.robust.streaming.streamed import solve_parts, sums_of_parts


@dataclass
class Kept:
    """States in memory, pickled whenever they are made, with a list of all that were made and not released."""

    states: list
    counts: list
    alive: list = field(default_factory=list)

    def each(self, work, arguments):
        for state, given in zip(self.states, arguments, strict=True):
            yield pickle.loads(pickle.dumps(work(state, *pickle.loads(pickle.dumps(given)))))

    def kept(self, work, arguments):
        made = Kept(list(self.each(work, arguments)), self.counts, self.alive)
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
    return Kept(batches, [batch.n_rows for batch in batches])


@pytest.fixture
def problem():
    return draw_problem(0, rows=400, numeric=3, levels=(3, 4), label_weight=2.0)


def test_kept_parts_give_the_sums_of_parts_that_are_standardised_each_time(problem):
    parts = parts_of(problem)
    assert isinstance(parts, KeepingParts)
    sums = sums_of_parts(parts, problem.n_levels)
    standard = Standard.of(problem.terms, sums)
    again = SummedRows(StandardParts(parts, standard, parts.counts, 1), sums)
    once = SummedRows(KeptStandardParts.of(parts, standard, parts.counts, 1), sums)
    x = once.tighten(np.random.default_rng(0).normal(size=once.size + 1) * 0.3)
    assert once.value(x) == again.value(x)
    np.testing.assert_array_equal(once.label_sums.positive, again.label_sums.positive)


def test_a_sample_of_all_rows_ends_at_the_optimum_and_is_let_go(problem, monkeypatch):
    monkeypatch.setattr(kept_parts, "FEWEST_ROWS_TO_SAMPLE", 100)
    monkeypatch.setattr(kept_parts, "SAMPLE_SHARE", 1)
    parts = parts_of(problem)
    sums = sums_of_parts(parts, problem.n_levels)
    standard = Standard.of(problem.terms, sums)
    x, size = minimiser_of_sample(parts, standard, parts.counts, SolveOptions())
    assert parts.alive == []
    assert size == problem.n_rows
    rows = SummedRows(StandardParts(parts, standard, parts.counts, 1), sums)
    assert rows.objective(rows.tighten(x)) == pytest.approx(SQP().solve(problem, SolveOptions()).upper_bound, rel=1e-6)


def test_a_sample_has_its_share_of_every_part_and_is_the_same_every_time(problem, monkeypatch):
    monkeypatch.setattr(kept_parts, "FEWEST_ROWS_TO_SAMPLE", 100)
    monkeypatch.setattr(kept_parts, "SAMPLE_SHARE", 2)
    parts = parts_of(problem)
    standard = Standard.of(problem.terms, sums_of_parts(parts, problem.n_levels))
    first, second = (minimiser_of_sample(parts, standard, parts.counts, SolveOptions()) for _ in range(2))
    assert first[1] == second[1] == sum(count // 2 for count in parts.counts)
    np.testing.assert_array_equal(first[0], second[0])


def test_small_tables_and_tables_without_ties_are_not_sampled(problem, monkeypatch):
    parts = parts_of(problem)
    standard = Standard.of(problem.terms, sums_of_parts(parts, problem.n_levels))
    assert minimiser_of_sample(parts, standard, parts.counts, SolveOptions()) is None
    monkeypatch.setattr(kept_parts, "FEWEST_ROWS_TO_SAMPLE", 100)
    numeric = draw_problem(0, rows=400, numeric=3)
    parts = parts_of(numeric)
    standard = Standard.of(numeric.terms, sums_of_parts(parts, numeric.n_levels))
    assert minimiser_of_sample(parts, standard, parts.counts, SolveOptions()) is None


def test_a_solve_on_kept_parts_is_the_solve_of_the_table(problem):
    found = solve_parts(problem.terms, parts_of(problem), SolveOptions())
    expected = SQP().solve(problem, SolveOptions())
    np.testing.assert_allclose(found.primal.numeric, expected.primal.numeric, atol=1e-8)
    np.testing.assert_allclose(found.primal.levels, expected.primal.levels, atol=1e-8)


def test_a_share_of_the_plan_is_all_that_its_part_needs(problem):
    parts = parts_of(problem)
    plan = solve_parts(problem.terms, parts, SolveOptions()).dual
    for k, batch in enumerate(parts.states):
        share = pickle.loads(pickle.dumps(plan.share(k)))
        whole, own = plan.of_part(k, batch), share.of_part(0, batch)
        for name in ("row", "moved", "flipped", "mass", "slope", "lowest", "highest"):
            np.testing.assert_array_equal(getattr(own, name), getattr(whole, name))


def test_rows_in_memory_can_be_pickled(problem):
    rows = LiftedRows(problem, 1)
    x = rows.tighten(np.random.default_rng(1).normal(size=rows.size + 1))
    assert pickle.loads(pickle.dumps(rows)).value(x) == rows.value(x)
