"""Active-set polish: an interior point's answer without its last errors, for every norm, with ties and dependent equations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from problem_bank import draw_problem

from surefoot import _native
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.scaling.standard_rows import StandardRows
from surefoot.robust.sqp.active_set_polish import ActiveSetStep, Multipliers, can_polish
from surefoot.robust.sqp.parameters import ActiveSetParameters
from surefoot.robust.sqp.row_sums import TableRows
from surefoot.robust.sqp.sqp import SQP
from surefoot.robust.sqp.sqp_loop import SqpLoop


class OneStep(SqpLoop):
    """Solves the model at one point and keeps what its polish is made of."""

    def step(self, accuracy):
        rows = self.rows
        model = rows.row_model(self.x, self.region, self.working_set)
        terms = rows.space.qp_terms(model, rows.terms.radius, self.regularisation)
        found = _native.solve_qp(model, rows.space, self.x, terms, tolerance=accuracy, max_iterations=100, n_threads=1)
        multipliers = Multipliers(found.mass, found.hinge_mass, found.pair_multiplier)
        return ActiveSetStep(rows, self.x, model, terms), found.step, multipliers


def near_optimum(problem, active_width=1e-3):
    standard = StandardRows.of(problem)
    rows = TableRows(standard.problem, 1)
    x = rows.lift(standard.standardize(SQP().solve(problem, SolveOptions()).primal))
    draw = np.random.default_rng(0)
    moved = rows.unlift(x)
    moved = replace(
        moved, numeric=moved.numeric * (1 + 1e-5 * draw.normal(size=moved.numeric.size)), price=1.0001 * moved.price
    )
    loop = OneStep(rows, rows.lift(moved), 1e-6, warm_start=True)
    loop.regularisation, loop.active_width, loop.predicted_decrease = 1e-10, active_width, 1e-9
    return loop


def polished(step, near, multipliers):
    return ActiveSetStep.minimiser(step, near, multipliers)


def value_of(step, d):
    """The model's value at a step, all maxima taken."""
    d = d[: step.size]
    rises = step.hinge_value + step.hinge_gradient @ d
    values = step._piece_values(d, rises)
    tied = float(step.weight[step.first] @ np.maximum.reduceat(values, step.first)) if values.size else 0.0
    return float(step.linear @ d + 0.5 * d @ step.curvature @ d) + tied


CASES = [(norm, kappa, levels) for norm in ("l1", "l2", "linf") for kappa in (np.inf, 1.5) for levels in ((), (4, 3))]


@pytest.mark.parametrize(("norm", "kappa", "levels"), CASES)
def test_answers_of_different_accuracy_lead_to_the_same_step_which_keeps_all_constraints(norm, kappa, levels, monkeypatch):
    problem = draw_problem(1, rows=600, numeric=4, levels=levels, radius=0.05, label_weight=kappa, norm=norm)
    loop = near_optimum(problem)
    steps, rough = [], []
    for accuracy in (1e-8, 1e-10, 1e-12):
        step, near, multipliers = loop.step(accuracy)
        steps.append(polished(step, near, multipliers))
        rough.append(near)
    coefficients = slice(loop.rows.n_coefficients)
    for other in steps[1:]:
        np.testing.assert_allclose(other[coefficients], steps[0][coefficients], rtol=0, atol=1e-12)
    assert np.abs(rough[0][coefficients] - steps[0][coefficients]).max() > 1e-12
    assert (step.limits @ steps[0][: step.size] <= step.slack + 1e-12).all()
    if norm == "l2":
        assert step._cone(steps[0][: step.size])[0] <= 1e-12
    assert value_of(step, steps[0]) <= value_of(step, rough[-1]) + 1e-15


def test_equations_that_depend_on_each_other_are_no_obstacle(monkeypatch):
    problem = draw_problem(2, rows=60, numeric=2, levels=(3,), radius=0.05, label_weight=1.0)
    twice = np.concatenate((np.arange(60), np.arange(60)))
    # Equal rows, kept apart: their ties are the same equations.
    problem = replace(
        problem,
        numeric=problem.numeric[twice],
        codes=problem.codes[twice],
        labels=problem.labels[twice],
        weights=np.full(120, 1 / 120),
    )
    rows = TableRows(problem, 1)
    best = SQP().solve(problem, SolveOptions()).primal
    loop = OneStep(rows, rows.lift(best), 1e-6, warm_start=True)
    loop.regularisation, loop.active_width, loop.predicted_decrease = 1e-10, 1e-3, 1e-9
    step, near, multipliers = loop.step(1e-11)
    assert step.value.size > 0
    found = polished(step, near, multipliers)
    assert np.abs(found[: rows.n_coefficients]).max() < 1e-9


def test_a_wrong_first_guess_is_corrected(monkeypatch):
    problem = draw_problem(3, rows=400, numeric=3, levels=(3,), radius=0.05, label_weight=1.5)
    loop = near_optimum(problem)
    step, near, multipliers = loop.step(1e-12)
    right = polished(step, near, multipliers)
    binding = int(np.argmax(multipliers.pairs))
    for change in (-1.0, 1.0):
        pairs = multipliers.pairs.copy()
        # A binding constraint is forgotten, or one that does not is taken for one that does.
        at = binding if change < 0 else int(np.argmin(multipliers.pairs))
        pairs[at] = -1.0 if change < 0 else 1e3
        wrong = polished(step, near, Multipliers(multipliers.mass, multipliers.hinge_mass, pairs))
        np.testing.assert_allclose(wrong[: step.size], right[: step.size], rtol=0, atol=1e-11)


def test_without_an_answer_in_a_few_rounds_there_is_none(monkeypatch):
    loop = near_optimum(draw_problem(3, rows=400, numeric=3, levels=(3,), radius=0.05))
    step, near, multipliers = loop.step(1e-12)
    step.parameters = ActiveSetParameters(max_rounds=0)
    assert polished(step, near, multipliers) is None
    step.parameters = small = ActiveSetParameters(max_unknowns=step.size - 1)
    assert polished(step, near, multipliers) is None
    model = loop.rows.row_model(loop.x, _native.ModelRegion(1e-3), loop.working_set)
    assert not can_polish(loop.rows, model, small)
