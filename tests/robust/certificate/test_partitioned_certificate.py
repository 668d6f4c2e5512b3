"""The certificate of a table in parts: the verdict on the whole table, and no mercy for what was tampered with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from problem_bank import WHOLE_BANK, draw_problem

from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import CertificateError
from surefoot.robust.certificate import lower_bound
from surefoot.robust.certificate.certificate import certify_parts, certify_robust_logistic
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem, ShiftPlan
from surefoot.robust.problem.row_batch import RowBatch
from surefoot.robust.sqp.sqp import SQP

FACTOR = 3.0


def in_parts(problem: RobustLogisticProblem, plan: ShiftPlan, pieces: int = 4) -> list[tuple[RowBatch, ShiftPlan]]:
    """The problem and its plan cut into parts; the weights of the rows are those of the problem times a factor."""
    cuts = np.linspace(0, problem.n_rows, pieces + 1).astype(int)
    parts = []
    for begin, end in pairwise(cuts):
        rows = slice(begin, end)
        held = (plan.row >= begin) & (plan.row < end)
        parts.append(
            (
                RowBatch(
                    problem.numeric[rows], problem.codes[rows], problem.labels[rows], FACTOR * problem.weights[rows], int(begin)
                ),
                ShiftPlan(
                    plan.row[held] - begin,
                    plan.moved[held],
                    plan.flipped[held],
                    plan.mass[held],
                    plan.slope[held],
                    plan.lowest,
                    plan.highest,
                ),
            )
        )
    return parts


@dataclass
class Solved:
    problem: RobustLogisticProblem
    model: RobustCoefficients
    parts: list[tuple[RowBatch, ShiftPlan]]

    def certify(self, **changes):
        given = {"coefficients": self.model, "parts": self.parts, "tolerance": 1e-6, **changes}
        return certify_parts(self.problem.terms, given["coefficients"], given["parts"], given["tolerance"])


@pytest.fixture(scope="module")
def solved():
    problem = draw_problem(11, rows=90, numeric=3, levels=(3, 4), radius=0.04, label_weight=0.8)
    outcome = SQP().solve(problem, SolveOptions(tolerance=1e-9))
    return Solved(problem, outcome.primal, in_parts(problem, outcome.dual))


@pytest.mark.parametrize("name", WHOLE_BANK)
def test_the_verdict_is_that_on_the_whole_table(name):
    problem = WHOLE_BANK[name]()
    outcome = SQP().solve(problem, SolveOptions(tolerance=1e-8))
    whole = certify_robust_logistic(problem, outcome.primal, outcome.dual, 1e-7)
    seen = certify_parts(problem.terms, outcome.primal, in_parts(problem, outcome.dual, 3), 1e-7)
    assert seen.verified == whole.verified
    assert seen.upper_bound == pytest.approx(whole.upper_bound, rel=1e-12)
    assert seen.lower_bound == pytest.approx(whole.lower_bound, rel=1e-7)
    assert seen.lower_bound <= seen.upper_bound


def change_plan(solved, k, **changes):
    parts = list(solved.parts)
    parts[k] = (parts[k][0], replace(parts[k][1], **changes))
    return parts


@pytest.mark.parametrize("k", [0, 3])
def test_a_plan_with_forged_masses_slopes_or_rows_is_refused_and_the_part_is_named(solved, k):
    _, plan = solved.parts[k]
    mass, slope, row = plan.mass.copy(), plan.slope.copy(), plan.row.copy()
    mass[0] *= 1.001
    slope[0] = 1.5
    row[0] = solved.parts[k][0].n_rows
    first = solved.parts[k][0].first_row
    for changes in ({"mass": mass}, {"slope": slope}, {"row": row}):
        seen = solved.certify(parts=change_plan(solved, k, **changes))
        assert not seen.verified and seen.lower_bound == 0
        assert f"the plan of rows {first} to" in seen.claim and "refused" in seen.claim


def test_slopes_that_prove_too_much_are_penalised(solved, monkeypatch):
    # The other bound corrects them.
    monkeypatch.setattr(lower_bound, "MAX_OPERATIONS", 0.0)
    best = solved.certify()
    assert best.verified
    for k in range(4):
        plan = solved.parts[k][1]
        seen = solved.certify(parts=change_plan(solved, k, slope=0.5 + 0.5 * (plan.slope - 0.5)))
        assert seen.lower_bound <= best.upper_bound
        assert not seen.verified


class Counted:
    """Parts that count how often they are read."""

    def __init__(self, parts):
        self.parts, self.passes = parts, 0

    def __iter__(self):
        self.passes += 1
        return iter(self.parts)


@pytest.mark.parametrize("kappa", [np.inf, 1.5])
@pytest.mark.parametrize("radius", [0.0, 1e-10, 1e-8])
def test_where_bounds_on_the_coefficients_prove_too_little_the_curvature_of_all_parts_does(radius, kappa):
    problem = draw_problem(3, rows=500, numeric=3, levels=(4, 3), radius=radius, label_weight=kappa)
    outcome = SQP().solve(problem, SolveOptions())
    parts = Counted(in_parts(problem, outcome.dual))
    seen = certify_parts(problem.terms, outcome.primal, parts, 1e-6)
    assert seen.verified, seen.claim
    assert parts.passes in (3, 4)
    whole = certify_robust_logistic(problem, outcome.primal, outcome.dual, 1e-6)
    assert seen.lower_bound == pytest.approx(whole.lower_bound, rel=1e-10)


def test_a_proof_that_needs_no_curvature_reads_the_parts_twice(solved):
    parts = Counted(solved.parts)
    assert solved.certify(parts=parts).verified
    assert parts.passes == 2


def test_moves_that_were_not_paid_for_lower_the_bound(solved):
    plan = solved.parts[1][1]
    seen = solved.certify(parts=change_plan(solved, 1, flipped=np.ones_like(plan.flipped)))
    assert not seen.verified and seen.lower_bound <= solved.certify().upper_bound


def test_plans_of_other_parts_are_not_accepted(solved):
    swapped = [(batch, solved.parts[(k + 1) % 4][1]) for k, (batch, _) in enumerate(solved.parts)]
    assert not solved.certify(parts=swapped).verified


def test_one_part_without_a_plan_leaves_nothing_proven(solved):
    parts = [*solved.parts[:2], (solved.parts[2][0], None), solved.parts[3]]
    seen = solved.certify(parts=parts)
    assert seen.lower_bound == 0 and "no plan" in seen.claim


@pytest.mark.parametrize("change", [{"intercept": np.nan}, {"price": -1.0}, {"levels": np.ones(7)}])
def test_numbers_that_are_no_model_are_not_verified(solved, change):
    seen = solved.certify(coefficients=replace(solved.model, **change))
    assert not seen.verified and seen.upper_bound == np.inf


def test_a_worse_model_is_not_verified_and_its_objective_is_recomputed(solved):
    worse = replace(solved.model, numeric=solved.model.numeric * 0.5)
    seen = solved.certify(coefficients=worse)
    assert not seen.verified
    alone = certify_robust_logistic(solved.problem, worse, None, 1e-6)
    assert seen.upper_bound == pytest.approx(alone.upper_bound, rel=1e-12)


@pytest.mark.parametrize("sound_passes", [1, 2])
def test_rows_that_change_between_the_passes_are_noticed(sound_passes):
    # A radius whose proof takes a third pass.
    problem = draw_problem(3, rows=90, numeric=3, levels=(4, 3), radius=1e-9)
    outcome = SQP().solve(problem, SolveOptions())
    parts = in_parts(problem, outcome.dual)

    class Shrinking(Counted):
        def __iter__(self):
            whole = super().__iter__()
            return whole if self.passes <= sound_passes else iter(self.parts[:-1])

    with pytest.raises(CertificateError, match="other rows"):
        certify_parts(problem.terms, outcome.primal, Shrinking(parts), 1e-6)


def test_parts_that_do_not_fit_the_terms_are_refused(solved):
    batch, plan = solved.parts[1]
    wrong = batch.codes.copy()
    wrong[2, 1] = 4
    with pytest.raises(CertificateError, match=f"code 4 in row {batch.first_row + 2}"):
        solved.certify(parts=[solved.parts[0], (replace(batch, codes=wrong), plan)])
    with pytest.raises(CertificateError, match="numeric is float64 of shape"):
        solved.certify(parts=[(replace(batch, numeric=batch.numeric[:, :2]), plan)])


def test_the_digest_belongs_to_rows_and_terms(solved):
    own = solved.certify().problem_digest
    batch, plan = solved.parts[0]
    numeric = batch.numeric.copy()
    numeric[0, 0] = np.nextafter(numeric[0, 0], 9.0)
    assert solved.certify(parts=[(replace(batch, numeric=numeric), plan), *solved.parts[1:]]).problem_digest != own
    terms = replace(solved.problem.terms, radius=0.041)
    assert certify_parts(terms, solved.model, solved.parts, 1e-6).problem_digest != own
    assert solved.certify().problem_digest == own
