from __future__ import annotations

import numpy as np
import pytest
from problem_bank import draw_problem

from surefoot.robust.scaling.standard_rows import StandardRows
from surefoot.robust.wide.box_newton import BoxNewton, Face
from surefoot.robust.wide.parameters import WideParameters
from surefoot.robust.wide.wide_rows import WideRows


def make_box(label_weight: float, *, fit_intercept: bool = True) -> BoxNewton:
    problem = draw_problem(3, rows=80, numeric=30, label_weight=label_weight, density=0.4, fit_intercept=fit_intercept)
    return BoxNewton(WideRows(StandardRows.of(problem).problem), WideParameters(initial_width=0.5), lambda: False)


def inside_the_box(box: BoxNewton, x: np.ndarray) -> bool:
    priced = ~box.rows.free
    return bool((np.abs(x[:-1][priced]) <= box.bounds[priced] * x[-1]).all())


def test_gradient_along_a_face_is_the_adjoint_of_its_directions():
    draw = np.random.default_rng(0)
    held = draw.random(9) < 0.5
    face = Face(held, np.where(held, draw.normal(size=9), 0.0))
    gradient, direction = draw.normal(size=10), draw.normal(size=10)
    direction[:-1][held] = 0.0
    assert face.reduced(gradient) @ direction == pytest.approx(gradient @ face.extended(direction), rel=1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("label_weight", [np.inf, 0.7])
def test_gradient_along_the_face_is_a_derivative(label_weight, fit_intercept):
    box = make_box(label_weight, fit_intercept=fit_intercept)
    draw = np.random.default_rng(1)
    point = box.at(box.project(draw.normal(size=box.rows.gamma.size), 0.2))
    assert point.face.active.any() and not point.face.active.all()
    for _ in range(5):
        direction = draw.normal(size=point.x.size)
        direction[:-1][point.face.active] = 0.0
        there = [point.x + step * point.face.extended(direction) for step in (-1e-5, 1e-5)]
        below, above = (box.loss.at(x[-1], box.rows.rows @ x[:-1]).value for x in there)
        assert (above - below) / 2e-5 == pytest.approx(point.gradient @ direction, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("label_weight", [np.inf, 0.7])
def test_steps_stay_in_the_box_and_lower_the_smoothed_objective(label_weight):
    box = make_box(label_weight)
    point = box.at(np.zeros(box.rows.gamma.size + 1))
    first_loss = None
    for _ in range(12):
        step, _, _ = box.step(point, 1e-6)
        if step is None:
            break
        assert inside_the_box(box, step.x)
        # Next to the minimum R cannot tell a better point any more, and the gradient decides.
        assert step.smoothed.value <= point.smoothed.value + 2.0 * WideParameters.objective_rounding * abs(point.smoothed.value)
        point = step
        first_loss = first_loss or box.bound_loss(point)
    assert first_loss is not None and box.bound_loss(point) <= 1e-4 * first_loss
    # At a minimum over the box, what is held would leave it and what is free has no slope.
    gradient = box.loss.gradient(point.smoothed)[:-1]
    assert (np.sign(point.x[:-1]) * gradient)[point.face.active].max(initial=0.0) <= 0.0
    assert np.abs(gradient[~point.face.active]).max(initial=0.0) <= 1e-5


def test_smoothed_rows_are_below_the_exact_ones_and_updates_close_the_difference():
    box = make_box(0.7)
    rows, smoothing = box.rows, box.loss
    x = box.project(np.random.default_rng(2).normal(size=rows.gamma.size), 0.3)
    margins = rows.rows @ x[:-1]
    exact = rows.value(margins, float(x[-1]))
    hidden = []
    for _ in range(60):
        there = smoothing.at(float(x[-1]), margins)
        hidden.append(exact - there.value)
        smoothing.update_multipliers(there)
    assert hidden[0] > 1e-4
    assert min(hidden) >= -1e-12
    assert hidden[-1] <= 1e-3 * hidden[0]
