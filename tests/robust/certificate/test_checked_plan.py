from __future__ import annotations

import tracemalloc
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from problem_bank import PROBLEM_BANK, draw_problem
from reference.certificate_parts import checked
from reference.random_points import random_plan

from surefoot.exceptions import CertificateError
from surefoot.robust.certificate.checked_plan import RefusedPlanError
from surefoot.robust.certificate.lower_bound import plan_sums
from surefoot.robust.problem.problem import RobustLogisticProblem, ShiftPlan


@pytest.fixture
def problem() -> RobustLogisticProblem:
    return PROBLEM_BANK["mixed_with_label_price"]()


@pytest.fixture
def plan(problem: RobustLogisticProblem) -> ShiftPlan:
    return random_plan(problem, np.random.default_rng(0))


def _with(array, at, value):
    changed = array.copy()
    changed[at] = value
    return changed


REFUSALS = {
    "mass below 0": lambda plan: {"mass": _with(plan.mass, 0, -1e-9)},
    "mass not a number": lambda plan: {"mass": _with(plan.mass, 0, np.nan)},
    "mass infinite": lambda plan: {"mass": _with(plan.mass, 0, np.inf)},
    "a row's mass 1 percent too large": lambda plan: {"mass": plan.mass * np.where(plan.row == 3, 1.01, 1.0)},
    "all masses 1e-8 too small": lambda plan: {"mass": plan.mass * (1 - 1e-8)},
    "a row without mass": lambda plan: {"mass": np.where(plan.row == 3, 0.0, plan.mass)},
    "row below 0": lambda plan: {"row": _with(plan.row, int(np.argmax(plan.mass)), -1)},
    "row past the last": lambda plan: {"row": _with(plan.row, int(np.argmax(plan.mass)), 20)},
    "mass booked on another row": lambda plan: {"row": _with(plan.row, int(np.argmax(plan.mass)), (plan.row.max() + 1) // 2)},
    "slope above 1": lambda plan: {"slope": _with(plan.slope, int(np.argmax(plan.mass)), 1 + 1e-8)},
    "slope below 0": lambda plan: {"slope": _with(plan.slope, int(np.argmax(plan.mass)), -1e-8)},
    "slope not a number": lambda plan: {"slope": _with(plan.slope, int(np.argmax(plan.mass)), np.nan)},
    "lowest mix below 0": lambda plan: {"lowest": plan.lowest + np.array([0, 0, 0, 1.5, -1.5])},
    "highest mix below 0": lambda plan: {"highest": plan.highest + np.array([2, -2, 0, 0, 0])},
    "lowest mix not summing to 1": lambda plan: {"lowest": plan.lowest * 1.001},
    "highest mix not summing to 1": lambda plan: {"highest": plan.highest * 0.999},
    "mix not a number": lambda plan: {"highest": _with(plan.highest, 0, np.nan)},
}


@pytest.mark.parametrize("what", REFUSALS)
def test_what_is_not_a_plan_is_refused(problem, plan, what):
    with pytest.raises(RefusedPlanError):
        checked(problem, replace(plan, **REFUSALS[what](plan)))


def test_forbidden_moves_are_refused(problem, plan):
    no_flips = replace(problem, cost=replace(problem.cost, label_weight=np.inf))
    assert plan.flipped[plan.mass > 0].any()
    with pytest.raises(RefusedPlanError, match="label flips"):
        checked(no_flips, plan)
    fixed = replace(problem, cost=replace(problem.cost, categorical_weights=np.array([1.0, np.inf])))
    with pytest.raises(RefusedPlanError, match="weight is inf"):
        checked(fixed, plan)
    checked(fixed, replace(plan, moved=plan.moved & np.array([True, False])))


def test_forbidden_moves_without_mass_do_not_matter(problem, plan):
    idle = replace(
        plan,
        row=np.append(plan.row, 0),
        moved=np.vstack((plan.moved & np.array([True, False]), [[True, True]])),
        flipped=np.append(plan.flipped, True),
        mass=np.append(plan.mass, 0.0),
        slope=np.append(plan.slope, np.nan),
    )
    fixed = replace(problem, cost=replace(problem.cost, categorical_weights=np.array([1.0, np.inf])))
    assert checked(fixed, idle).row.size == np.count_nonzero(plan.mass)


def test_sums_that_are_off_by_rounding_are_rescaled_to_be_right(problem, plan):
    off = replace(plan, mass=plan.mass * (1 + 5e-10), lowest=plan.lowest * (1 - 5e-10), highest=plan.highest * (1 + 5e-10))
    sound = checked(problem, off)
    totals = np.bincount(sound.row, weights=sound.mass.mid, minlength=problem.n_rows)
    np.testing.assert_allclose(totals, problem.weights, rtol=1e-15)
    for feature in (0, 1):
        np.testing.assert_allclose(sound.mixed(feature).mid.sum(axis=1), 1.0, rtol=1e-15)


def test_values_of_levels_are_exact_at_all_places(problem, plan):
    values = np.array([0.0, 2.0, 5.0, 0.0, 3.0])
    mixes = {"lowest": np.array([0.0, 0.25, 0.75, 0.0, 1.0]), "highest": np.array([0.1, 0.2, 0.7, 0.25, 0.75])}
    sound = checked(problem, replace(plan, **mixes))
    third = (Fraction(0.2) * 2 + Fraction(0.7) * 5) / (Fraction(0.1) + Fraction(0.2) + Fraction(0.7))
    assert sound.place_values(0, values) == [0, 2, 5, Fraction(17, 4), third]
    assert sound.place_values(1, values) == [0, 3, 3, Fraction(9, 4)]


@pytest.mark.parametrize("name", ["moved", "flipped", "mass", "slope", "lowest", "highest"])
def test_wrong_shapes_are_an_error(problem, plan, name):
    with pytest.raises(CertificateError, match=name):
        checked(problem, replace(plan, **{name: getattr(plan, name)[:-1]}))


@pytest.mark.parametrize(
    ("name", "dtype"), [("row", np.float64), ("moved", np.int8), ("flipped", np.float64), ("mass", np.complex128)]
)
def test_wrong_types_are_an_error(problem, plan, name, dtype):
    with pytest.raises(CertificateError, match=name):
        checked(problem, replace(plan, **{name: getattr(plan, name).astype(dtype)}))


def test_entries_know_their_final_label_places_and_price(problem):
    plan = random_plan(problem, np.random.default_rng(3))
    sound = checked(problem, plan)
    full = plan.mass > 0
    given = replace(plan, moved=plan.moved[full], flipped=plan.flipped[full])
    columns = sound.part.columns(sound.row)
    for k in range(sound.row.size):
        row, flips, moves = sound.row[k], bool(given.flipped[k]), given.moved[k]
        sign = problem.labels[row] * (-1 if flips else 1)
        assert sound.sign[k] == sign
        assert sound.price.mid[k] == pytest.approx(
            problem.cost.categorical_weights[moves].sum() + flips * problem.cost.label_weight
        )
        np.testing.assert_allclose(columns.mid[k], problem.numeric[row] - problem.weights @ problem.numeric, rtol=1e-13)
        for l in range(2):
            mixed = problem.n_levels[l] + (0 if sign > 0 else 1)
            assert sound.places[k, l] == (mixed if moves[l] else problem.codes[row, l])


def test_levels_of_a_column_with_very_many_take_memory_in_proportion_to_them():
    count = 6000
    rng = np.random.default_rng(0)
    numbers = {"n_levels": np.array([count]), "codes": rng.integers(0, count, size=(50, 1))}
    problem = replace(draw_problem(1, rows=50, levels=(2,)), **numbers)
    row = np.arange(50)
    mix = np.full(count, 1.0 / count)
    moved = rng.random((50, 1)) < 0.5
    plan = ShiftPlan(row, moved, np.zeros(50, dtype=bool), problem.weights, np.full(50, 0.5), mix, mix)
    sound = checked(problem, plan)
    tracemalloc.start()
    levels = plan_sums(sound)[4]
    vectors = sound.level_vectors(0, row)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * 8 * count**2
    expected = np.where(moved, mix, problem.codes == np.arange(count))
    np.testing.assert_allclose(vectors.mid, expected, rtol=1e-12)
    np.testing.assert_allclose(levels.mid, (-problem.labels * problem.weights * 0.5) @ expected, atol=1e-15)
