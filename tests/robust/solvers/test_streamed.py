"""Tables in parts: the optimum of the table in memory, and a proof that is read in parts too."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
from problem_bank import WHOLE_BANK, draw_problem

from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import SeparableDataError, UnsupportedProblemError
from surefoot.robust.certificate.certificate import certify_parts, certify_robust_logistic
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.robust.problem.row_batch import RowBatch
from surefoot.robust.problem.terms import Terms
from surefoot.robust.sqp import sqp
from surefoot.robust.sqp.sqp import SQP
from surefoot.robust.streaming import streamed
from surefoot.robust.streaming.streamed import solve_partitions


@dataclass
class Cut:
    """A problem cut into parts, with weights that do not sum to 1; what goes to a part or comes back is pickled."""

    problem: RobustLogisticProblem
    cuts: tuple[int, ...]
    factor: float = 7.0

    @property
    def counts(self):
        return np.diff(self.cuts).tolist()

    def batch(self, k):
        rows = slice(self.cuts[k], self.cuts[k + 1])
        whole = self.problem
        return RowBatch(
            whole.numeric[rows], whole.codes[rows], whole.labels[rows], self.factor * whole.weights[rows], self.cuts[k]
        )

    def each(self, work, arguments):
        assert len(arguments) == len(self.counts)
        for k, given in enumerate(arguments):
            yield pickle.loads(pickle.dumps(work(self.batch(k), *pickle.loads(pickle.dumps(given)))))


@dataclass
class Planned:
    """Pairs of batch and plan, made anew in every pass; ``tamper`` may change them on the way."""

    parts: Cut
    dual: object
    tamper: object = staticmethod(lambda k, batch, plan: (batch, plan))

    def __iter__(self):
        for k in range(len(self.parts.counts)):
            batch = self.parts.batch(k)
            yield self.tamper(k, batch, self.dual.of_partition(k, batch))


def cut(problem):
    n = problem.n_rows
    return Cut(problem, (0, n // 5, n // 2, n // 2 + 1, n))


def streamable(problem):
    weights = np.append(problem.cost.numeric_weights, problem.cost.categorical_weights)
    return problem.radius > 0 and bool(np.isfinite(weights).all()) and np.unique(problem.labels).size == 2


STREAMABLE = [name for name in WHOLE_BANK if streamable(WHOLE_BANK[name]())]


@pytest.mark.parametrize("name", STREAMABLE)
def test_every_problem_of_the_bank_has_the_same_optimum_in_parts_and_a_proof(name):
    problem = WHOLE_BANK[name]()
    parts = cut(problem)
    outcome = solve_partitions(problem.terms, parts, SolveOptions(tolerance=1e-8))
    whole = SQP().solve(problem, SolveOptions(tolerance=1e-8))
    assert outcome.upper_bound == pytest.approx(whole.upper_bound, rel=3e-8)
    seen = certify_parts(problem.terms, outcome.primal, Planned(parts, outcome.dual), 1e-7)
    assert seen.verified, seen.claim
    alone = certify_robust_logistic(problem, outcome.primal, None, 1e-7)
    assert seen.upper_bound == pytest.approx(alone.upper_bound, rel=1e-12)


def same_coefficients(problem, parts, atol=1e-8, n_threads=1):
    streamed = solve_partitions(problem.terms, parts, SolveOptions(n_threads=n_threads))
    whole = SQP().solve(problem, SolveOptions())
    scale = np.maximum(problem.cost.numeric_weights, 1.0)
    np.testing.assert_allclose(streamed.primal.numeric / scale, whole.primal.numeric / scale, rtol=0, atol=atol)
    np.testing.assert_allclose(streamed.primal.levels, whole.primal.levels, rtol=0, atol=atol)
    assert streamed.primal.intercept == pytest.approx(whole.primal.intercept, abs=atol * scale.max())
    return streamed


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
@pytest.mark.parametrize("kappa", [np.inf, 0.8])
@pytest.mark.parametrize("density", [None, 0.4])
def test_coefficients_agree_to_eight_digits_for_every_norm_label_price_and_storage(norm, kappa, density):
    problem = draw_problem(5, rows=300, numeric=4, levels=(3, 2), radius=0.03, label_weight=kappa, norm=norm, density=density)
    same_coefficients(problem, cut(problem))


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("cuts", [(0, 6000), (0, 1, 2999, 6000), tuple(range(0, 6001, 500))])
@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
@pytest.mark.parametrize("kappa", [np.inf, 1.5, 0.5])
@pytest.mark.parametrize("levels", [(), (4, 3)])
def test_coefficients_do_not_depend_on_batches_threads_or_the_first_point(levels, kappa, norm, cuts, n_threads):
    # Large enough for a first point from a sample, which is another one in memory than in parts.
    problem = draw_problem(1, rows=6000, numeric=4, levels=levels, radius=0.02, label_weight=kappa, norm=norm)
    same_coefficients(problem, Cut(problem, cuts), n_threads=n_threads)


@pytest.mark.parametrize("kappa", [np.inf, 1.5])
def test_equal_rows_that_are_merged_in_memory_lead_to_the_same_coefficients_apart(kappa):
    few = draw_problem(3, rows=150, numeric=2, levels=(4, 3), radius=0.04, label_weight=kappa)
    pick = np.random.default_rng(3).integers(0, 150, size=1200)
    problem = replace(
        few, numeric=few.numeric[pick], codes=few.codes[pick], labels=few.labels[pick], weights=np.full(1200, 1 / 1200)
    )
    same_coefficients(problem, cut(problem))


@pytest.mark.parametrize("kappa", [np.inf, 1.5])
def test_large_tables_start_from_a_sample_and_end_at_the_same_coefficients(kappa, monkeypatch):
    problem = draw_problem(1, rows=6000, numeric=4, levels=(4, 3), radius=0.02, label_weight=kappa)
    asked = []
    original = streamed.coarse_minimiser
    monkeypatch.setattr(streamed, "coarse_minimiser", lambda s, *rest: asked.append(s.n_rows) or original(s, *rest))
    order = np.argsort(problem.labels, kind="stable")
    sorted_problem = replace(problem, numeric=problem.numeric[order], codes=problem.codes[order], labels=problem.labels[order])
    outcome = same_coefficients(sorted_problem, Cut(sorted_problem, (0, 900, 3000, 6000)))
    assert asked == [750]
    assert outcome.status is Status.OPTIMAL


def test_rows_without_weight_change_nothing_and_their_plan_is_still_a_plan():
    problem = draw_problem(2, rows=80, numeric=2, levels=(3,), radius=0.04)
    weights = problem.weights * (np.arange(80) % 3 > 0)
    weights[:16] = 0.0
    problem = replace(problem, weights=weights / weights.sum())
    parts = Cut(problem, (0, 16, 40, 80))
    outcome = same_coefficients(problem, parts)
    assert certify_parts(problem.terms, outcome.primal, Planned(parts, outcome.dual), 1e-6).verified


def test_columns_far_from_zero_with_little_spread_and_constant_columns():
    problem = draw_problem(3, rows=200, numeric=3, radius=0.02)
    numeric = problem.numeric * np.array([1.0, 1e-3, 0.0]) + np.array([1e9, 1e6, 3.7])
    cost = GroundCost(problem.cost.numeric_weights / np.array([1.0, 1e-3, 1.0]), np.empty(0))
    problem = replace(problem, numeric=numeric, cost=cost)
    parts = cut(problem)
    outcome = solve_partitions(problem.terms, parts, SolveOptions(tolerance=1e-11))
    whole = SQP().solve(problem, SolveOptions(tolerance=1e-11))
    np.testing.assert_allclose(outcome.primal.numeric, whole.primal.numeric, rtol=1e-7, atol=1e-8)
    assert outcome.primal.numeric[2] == 0
    assert certify_parts(problem.terms, outcome.primal, Planned(parts, outcome.dual), 1e-6).verified


@pytest.mark.parametrize("levels", [(), (3, 4)])
def test_above_the_critical_radius_the_closed_form_is_found_and_proven_in_parts(levels):
    problem = draw_problem(4, rows=90, numeric=3, levels=levels, radius=40.0)
    parts = cut(problem)
    outcome = solve_partitions(problem.terms, parts, SolveOptions())
    assert outcome.iterations == 1 and not outcome.primal.numeric.any() and not outcome.primal.levels.any()
    seen = certify_parts(problem.terms, outcome.primal, Planned(parts, outcome.dual), 1e-10)
    assert seen.verified, seen.claim


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"radius": 0.0}, "radius is 0"),
        ({"cost": GroundCost(np.array([np.inf, 1.0]), np.ones(1))}, "infinite weight"),
        ({"cost": GroundCost(np.ones(2), np.array([np.inf]))}, "infinite weight"),
    ],
)
def test_problems_whose_proof_needs_all_rows_are_refused(change, message):
    problem = replace(draw_problem(0, rows=20, numeric=2, levels=(3,)), **change)
    with pytest.raises(UnsupportedProblemError, match=message):
        solve_partitions(problem.terms, cut(problem), SolveOptions())


def test_more_coefficients_than_a_dense_method_takes_are_refused():
    wide = sqp.LIMITS.max_coordinates
    terms = Terms(np.empty(0, np.int32), GroundCost(np.ones(wide), np.empty(0)), 0.1, True)
    with pytest.raises(UnsupportedProblemError, match="Hessian"):
        solve_partitions(terms, Cut(draw_problem(0), (0, 20)), SolveOptions())


def test_one_label_only_is_refused():
    problem = draw_problem(0, rows=20, numeric=2)
    problem = replace(problem, labels=np.ones(20))
    with pytest.raises(SeparableDataError, match="same label"):
        solve_partitions(problem.terms, cut(problem), SolveOptions())


def test_an_iteration_limit_keeps_the_model_and_a_bound_that_holds():
    problem = draw_problem(6, rows=200, numeric=3, levels=(4, 3), radius=0.02)
    parts = cut(problem)
    outcome = solve_partitions(problem.terms, parts, SolveOptions(tolerance=1e-10, max_iter=1))
    assert outcome.status is Status.ITERATION_LIMIT
    seen = certify_parts(problem.terms, outcome.primal, Planned(parts, outcome.dual), 1e-10)
    best = SQP().solve(problem, SolveOptions(tolerance=1e-10)).upper_bound
    assert not seen.verified and 0 <= seen.lower_bound <= best <= seen.upper_bound * (1 + 1e-9)


def test_a_warm_start_leads_to_the_same_optimum():
    problem = draw_problem(7, rows=150, numeric=3, levels=(3,), radius=0.03)
    cold = solve_partitions(problem.terms, cut(problem), SolveOptions(tolerance=1e-9))
    warm = solve_partitions(problem.terms, cut(problem), SolveOptions(tolerance=1e-9), warm_start=cold.primal)
    assert warm.iterations <= cold.iterations
    assert warm.upper_bound == pytest.approx(cold.upper_bound, rel=1e-9)
