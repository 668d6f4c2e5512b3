"""Exact steps: what an interior point found without its last errors, for every norm, with ties and dependent equations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from problem_bank import draw_problem

from surefoot import _native
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.scaling.standard_rows import StandardRows
from surefoot.robust.sqp import active_set_polish as exact_step
from surefoot.robust.sqp.active_set_polish import ExactStep, Multipliers, can_be_exact
from surefoot.robust.sqp.lifted_rows import LiftedRows
from surefoot.robust.sqp.sqp import SQP
from surefoot.robust.sqp.sqp_loop import Descent


class Watched(Descent):
    """Solves the model at one point and keeps what an exact step is made of."""

    def step(self, accuracy):
        rows = self.rows
        model = rows.row_model(self.x, *self.reach, self.remembered)
        linear, damping = rows.space.step_terms(model, rows.terms.radius, self.damping)
        near, mass, hinge_mass, shared, _, _ = _native.solve_quadratic_step(
            model, rows.space, self.x, linear, damping, accuracy, 100, np.inf, np.inf, 1
        )
        return ExactStep(rows, self.x, model, linear, damping), near, Multipliers(mass, hinge_mass, shared)


def near_optimum(problem, tie_width=1e-3):
    standard = StandardRows.of(problem)
    rows = LiftedRows(standard.problem, 1)
    x = rows.lift(standard.standardize(SQP().solve(problem, SolveOptions()).primal))
    draw = np.random.default_rng(0)
    moved = rows.unlift(x)
    moved = replace(
        moved, numeric=moved.numeric * (1 + 1e-5 * draw.normal(size=moved.numeric.size)), price=1.0001 * moved.price
    )
    descent = Watched(rows, rows.lift(moved), 1e-6, near=True)
    descent.damping, descent.tie_width, descent.expected = 1e-10, tie_width, 1e-9
    return descent


def exact(step, near, told):
    return ExactStep.minimiser(step, near, told)


def value_of(step, d):
    """The model's value at a step, all maxima taken."""
    d = d[: step.size]
    rises = step.hinge_value + step.hinge_gradient @ d
    worth = step._worth(d, rises)
    tied = float(step.weight[step.first] @ np.maximum.reduceat(worth, step.first)) if worth.size else 0.0
    return float(step.linear @ d + 0.5 * d @ step.curvature @ d) + tied


CASES = [(norm, kappa, levels) for norm in ("l1", "l2", "linf") for kappa in (np.inf, 1.5) for levels in ((), (4, 3))]


@pytest.mark.parametrize(("norm", "kappa", "levels"), CASES)
def test_answers_of_different_accuracy_lead_to_the_same_step_which_keeps_all_constraints(norm, kappa, levels, monkeypatch):
    problem = draw_problem(1, rows=600, numeric=4, levels=levels, radius=0.05, label_weight=kappa, norm=norm)
    descent = near_optimum(problem)
    steps, rough = [], []
    for accuracy in (1e-8, 1e-10, 1e-12):
        step, near, told = descent.step(accuracy)
        steps.append(exact(step, near, told))
        rough.append(near)
    coefficients = slice(descent.rows.n_coefficients)
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
    rows = LiftedRows(problem, 1)
    best = SQP().solve(problem, SolveOptions()).primal
    descent = Watched(rows, rows.lift(best), 1e-6, near=True)
    descent.damping, descent.tie_width, descent.expected = 1e-10, 1e-3, 1e-9
    step, near, told = descent.step(1e-11)
    assert step.value.size > 0
    found = exact(step, near, told)
    assert np.abs(found[: rows.n_coefficients]).max() < 1e-9


def test_a_wrong_first_guess_is_corrected(monkeypatch):
    problem = draw_problem(3, rows=400, numeric=3, levels=(3,), radius=0.05, label_weight=1.5)
    descent = near_optimum(problem)
    step, near, told = descent.step(1e-12)
    right = exact(step, near, told)
    pushing = int(np.argmax(told.shared))
    for change in (-1.0, 1.0):
        shared = told.shared.copy()
        # A constraint that pushes is forgotten, or one that does not is taken for one that does.
        at = pushing if change < 0 else int(np.argmin(told.shared))
        shared[at] = -1.0 if change < 0 else 1e3
        wrong = exact(step, near, Multipliers(told.mass, told.hinge_mass, shared))
        np.testing.assert_allclose(wrong[: step.size], right[: step.size], rtol=0, atol=1e-11)


def test_without_an_answer_in_a_few_rounds_there_is_none(monkeypatch):
    descent = near_optimum(draw_problem(3, rows=400, numeric=3, levels=(3,), radius=0.05))
    step, near, told = descent.step(1e-12)
    monkeypatch.setattr(exact_step, "ROUNDS", 0)
    assert exact(step, near, told) is None
    monkeypatch.setattr(exact_step, "ROUNDS", 8)
    monkeypatch.setattr(exact_step, "MOST_UNKNOWNS", step.size - 1)
    assert exact(step, near, told) is None
    assert not can_be_exact(descent.rows, descent.rows.row_model(descent.x, 1e-3, 0.0, 0.0, descent.remembered))
