"""Models of cvxpy learn what the same arrays learn, and are called where they are no linear rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.exceptions import ConvergenceLimitWarning, InvalidObservationError
from surefoot.inverse import InverseOptimizer, forward

cp = pytest.importorskip("cvxpy", reason="cvxpy is not installed")


def dispatch() -> tuple[Any, Any, Any, Any]:
    """Two plants that are switched on or not, and a purchase, against a load; what they cost is the planner's secret."""
    power, on = cp.Variable(3, name="power"), cp.Variable(2, boolean=True, name="on")
    load, wind = cp.Parameter(name="load"), cp.Parameter(2, name="wind", nonneg=True)
    price, start = cp.Parameter(3, name="price"), cp.Parameter(2, name="start")
    rules = [
        cp.sum(power) >= load,
        power[:2] <= cp.multiply(wind, on) * 4,
        power >= 0,
        power[2] <= 9,
        on[0] + on[1] <= 2,
        power[:2] <= 6,
    ]
    return cp.Problem(cp.Minimize(price @ power + start @ on), rules), [load, wind], [price, start], (power, on)


def observed(count: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    random = np.random.default_rng(8)
    problem, (load, wind), (price, start), (power, on) = dispatch()
    price.value, start.value = np.array([1.0, 1.5, 4.0]), np.array([2.0, 1.0])
    signals, found = [], []
    for _ in range(count):
        load.value, wind.value = float(random.uniform(2, 8)), random.uniform(0.5, 1.2, 2)
        problem.solve(solver=cp.HIGHS)
        signals.append({"load": load.value, "wind": wind.value})
        found.append({"power": power.value, "on": np.rint(on.value)})
    return signals, found


OPTIONS: dict[str, Any] = {"prior": "nonnegative", "kappa": 0.05}


def test_a_model_learns_what_its_arrays_learn(tmp_path: Path) -> None:
    signals, found = observed(5)
    problem, given, cost, _ = dispatch()
    planner = forward.from_cvxpy(problem, given, cost)
    assert repr(planner) == (
        "ParametricProgram(cvxpy: 5 unknowns, 2 of them whole, 4 rows, parameters load, wind, priced by price[0], price[1], "
        "price[2], start[0], start[1])"
    )
    ours = InverseOptimizer(planner, **OPTIONS).fit(signals, found)
    data = []
    for signal in signals:
        first = np.array([[-1.0, -1, -1], [1, 0, 0], [0, 1, 0], [0, 0, 0]])
        second = np.array([[0.0, 0], [-4 * signal["wind"][0], 0], [0, -4 * signal["wind"][1]], [1, 1]])
        data.append((first, second, np.array([-signal["load"], 0, 0, 2])))
    plain = InverseOptimizer(forward.MixedIntegerProgram(continuous_bounds=(0.0, [6.0, 6.0, 9.0])), **OPTIONS)
    plain.fit(data, [(each["power"], each["on"]) for each in found])
    assert np.allclose(ours.cost_, plain.cost_, rtol=0, atol=1e-8)
    assert ours.certificate_.verified
    sf.save(ours, tmp_path / "planner")
    again = sf.load(tmp_path / "planner")
    assert np.array_equal(again.predict(signals), ours.predict(signals))
    assert sf.verify(again, signals, found).verified
    assert set(planner.readable(ours.predict(signals)[0])) == {"power", "on"}


def test_parameters_keep_the_values_of_the_model_and_it_keeps_them() -> None:
    problem, (load, wind), cost, _ = dispatch()
    wind.value = np.array([1.0, 0.5])
    planner = forward.from_cvxpy(problem, [load, wind], cost)
    assert wind.value.tolist() == [1.0, 0.5]
    assert load.value is None
    rows = planner.decisions({"load": 3.0}).matrix
    assert rows[1].tolist() == [1, 0, 0, -4, 0]
    assert rows[2].tolist() == [0, 1, 0, 0, -2]
    with pytest.raises(ValueError, match="parameter 'load' has no value"):
        planner.decisions(None)
    with pytest.raises(ValueError, match="the signal has 'lod', which is no parameter; there are load, wind"):
        planner.decisions({"lod": 3.0})
    with pytest.raises(ValueError, match=r"parameter 'wind' has shape \(3,\) and needs \(2,\)"):
        planner.decisions({"load": 3.0, "wind": [1, 2, 3]})


def test_a_maximisation_learns_the_values_that_are_maximised() -> None:
    take, value, room = cp.Variable(3, boolean=True, name="take"), cp.Parameter(3, name="value"), cp.Parameter(name="room")
    weights = np.array([3.0, 2, 2])
    packer = forward.from_cvxpy(cp.Problem(cp.Maximize(value @ take), [weights @ take <= room]), [room], value)
    taken = [np.array([0.0, 1, 1]), np.array([1.0, 0, 0])]
    model = InverseOptimizer(packer, approach="incenter").fit([{"room": 4.0}, {"room": 3.0}], [{"take": x} for x in taken])
    assert np.all(model.cost_ > 0)
    plain = InverseOptimizer(forward.BinaryProgram(), approach="incenter").fit(
        [(weights[None], [4.0]), (weights[None], [3.0])], taken
    )
    assert np.allclose(model.cost_, -plain.cost_, rtol=0, atol=1e-8)


def test_expressions_are_priced_and_known_terms_are_a_price_of_their_own() -> None:
    x = cp.Variable((2, 2), name="x", nonneg=True)
    need, theta = cp.Parameter(name="need"), cp.Parameter(name="theta")
    rules = [cp.sum(x) >= need, x <= 2]
    by_parts = forward.from_cvxpy(cp.Problem(cp.Minimize(0), rules), [need], [cp.sum(x[0]), cp.sum(x[1])])
    matrix, offset = by_parts.priced_parts({"need": 1.0})
    assert by_parts.unknowns == ["x[0,0]", "x[1,0]", "x[0,1]", "x[1,1]"]
    assert matrix.tolist() == [[1, 0, 1, 0], [0, 1, 0, 1]]
    known = forward.from_cvxpy(cp.Problem(cp.Minimize(theta * x[0, 0] + 3 * x[1, 1] + 5), rules), [need], theta)
    assert known.priced_parts({"need": 1.0})[0].tolist() == [[1, 0, 0, 0], [0, 0, 0, 3]]
    assert list(known.priced) == ["theta", "the rest of the objective"]
    assert offset.tolist() == [0, 0]


def test_a_convex_model_is_called() -> None:
    x, price, size = cp.Variable(2, name="x"), cp.Parameter(2, name="price"), cp.Parameter(name="size", pos=True)
    problem = cp.Problem(cp.Minimize(price @ x), [cp.norm(x) <= size])
    ball = forward.from_cvxpy(problem, [size], price)
    assert repr(ball) == "ModelProblem(cvxpy, called at every cost: 2 unknowns, priced by price[0], price[1])"
    truth = np.array([0.6, 0.8])
    sizes = [1.0, 2.0]
    model = InverseOptimizer(ball, approach="suboptimality", distance="none", prior="simplex", tol=1e-4)
    with pytest.warns(ConvergenceLimitWarning, match="the forward solver is right"):
        model.fit([{"size": s} for s in sizes], [{"x": -s * truth} for s in sizes])
    assert np.allclose(model.cost_, truth / truth.sum(), atol=1e-2)
    with pytest.raises(InvalidObservationError, match="observation 0: the response is no decision"):
        model.fit([{"size": 1.0}], [{"x": [-3.0, 0.0]}])


def test_models_without_anything_to_learn_are_refused() -> None:
    problem, given, cost, _ = dispatch()
    with pytest.raises(ValueError, match="there is nothing to learn"):
        forward.from_cvxpy(problem, [*given, *cost])
    with pytest.raises(ValueError, match="cost parameter 'wind' stands in a constraint"):
        forward.from_cvxpy(problem, given[:1], [*cost, given[1]])
    with pytest.raises(ValueError, match="parameter 'wind' has no value, and is neither"):
        forward.from_cvxpy(problem, given[:1], cost)
    with pytest.raises(TypeError, match="problem is a list"):
        forward.from_cvxpy([], [])
