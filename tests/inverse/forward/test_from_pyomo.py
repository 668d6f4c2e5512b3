"""Models of Pyomo learn what the same arrays learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.exceptions import UnsupportedProblemError
from surefoot.inverse import InverseOptimizer, forward

pyo = pytest.importorskip("pyomo.environ", reason="pyomo is not installed")


def rota() -> Any:
    """Days that need people, of whom some are at hand and others are called in for whole shifts."""
    model = pyo.ConcreteModel()
    model.days = pyo.Set(initialize=["mon", "tue"])
    model.need = pyo.Param(model.days, mutable=True, initialize={"mon": 2.0, "tue": 3.0})
    model.most = pyo.Param(mutable=True, initialize=4.0)
    model.wage = pyo.Param(model.days, mutable=True, initialize=0.0)
    model.call = pyo.Param(mutable=True, initialize=0.0)
    model.hours = pyo.Var(model.days, bounds=(0, model.most))
    model.extra = pyo.Var(model.days, domain=pyo.Binary)
    model.cover = pyo.Constraint(model.days, rule=lambda m, d: m.hours[d] + 2 * m.extra[d] >= m.need[d])
    model.goal = pyo.Objective(
        expr=sum(model.wage[d] * model.hours[d] for d in model.days) + model.call * sum(model.extra.values())
    )
    return model


SIGNALS: list[dict[str, Any]] = [
    {"need": {"mon": 3.0, "tue": 1.0}},
    {"need[tue]": 4.0},
    {"need": {"mon": 1, "tue": 2}, "most": 4.0},
]
DECIDED: list[dict[str, Any]] = [
    {"hours": {"mon": 1.0, "tue": 1.0}, "extra": {"mon": 1, "tue": 0}},
    {"hours": {"mon": 2.0, "tue": 2.0}, "extra": {"mon": 0, "tue": 1}},
    {"hours[mon]": 1.0, "hours[tue]": 2.0, "extra[mon]": 0, "extra[tue]": 0},
]


def test_a_model_learns_what_its_arrays_learn(tmp_path: Path) -> None:
    model = rota()
    planner = forward.from_pyomo(model, [model.need, model.most])
    assert repr(planner).startswith(
        "ParametricProgram(Pyomo: 4 unknowns, 2 of them whole, 2 rows, parameters need[mon], need[tue], most"
    )
    assert list(planner.priced) == ["wage[mon]", "wage[tue]", "call"]
    assert [pyo.value(each) for each in model.need.values()] == [2.0, 3.0]
    ours = InverseOptimizer(planner, prior="nonnegative", kappa=0.05).fit(SIGNALS, DECIDED)
    data, sums = [], np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]])
    for mon, tue in [(3.0, 1.0), (2.0, 4.0), (1.0, 2.0)]:
        data.append((np.array([[-1.0, 0], [0, -1]]), np.array([[-2.0, 0], [0, -2]]), np.array([-mon, -tue])))
    plain = InverseOptimizer(
        forward.MixedIntegerProgram(continuous_bounds=(0, 4)), prior="nonnegative", kappa=0.05, features=lambda _, x: sums @ x
    )
    plain.fit(data, [[1, 1, 1, 0], [2, 2, 0, 1], [1, 2, 0, 0]])
    assert np.allclose(ours.cost_, plain.cost_, rtol=0, atol=1e-8)
    assert ours.certificate_.verified
    sf.save(ours, tmp_path / "model")
    again = sf.load(tmp_path / "model")
    assert np.array_equal(again.predict(SIGNALS), ours.predict(SIGNALS))


def test_a_parameter_may_be_a_bound() -> None:
    model = rota()
    planner = forward.from_pyomo(model, [model.most])
    assert planner.decisions({"most": 3.0}).upper.tolist() == [3.0, 3.0, 1.0, 1.0]
    model.cap = pyo.Constraint(expr=-2 * model.hours["mon"] >= -10)
    model.rise = pyo.Constraint(expr=-2 * model.hours["tue"] >= -model.most)
    tighter = forward.from_pyomo(model, [model.most]).decisions({"most": 3.0})
    # Of two bounds of one unknown, one of which is a parameter, the other stays a row.
    assert tighter.upper.tolist() == [5.0, 1.5, 1.0, 1.0]
    assert tighter.matrix[2:].tolist() == [[1, 0, 0, 0], [0, 1, 0, 0]]
    assert tighter.low.tolist()[2:] == [0.0, 0.0]
    assert tighter.high.tolist()[2:] == [3.0, 3.0]


def test_variables_and_expressions_are_priced() -> None:
    model = rota()
    model.hours["mon"].fix(1.0)
    program = forward.from_pyomo(model, model.need, [model.hours["tue"], model.extra["mon"] + model.extra["tue"]])
    assert program.unknowns == ["hours[tue]", "extra[mon]", "extra[tue]"]
    assert program.priced_parts({})[0].tolist() == [[1, 0, 0], [0, 1, 1]]
    assert program.decisions({"need": {"mon": 3.0}}).low.tolist()[0] == 2.0


def test_what_cannot_be_extracted_is_named() -> None:
    model = rota()
    with pytest.raises(ValueError, match="there is nothing to learn"):
        forward.from_pyomo(model, [model.need, model.wage, model.call])
    with pytest.raises(ValueError, match=r"cost parameter 'need\[mon\]' stands in constraint 'cover\[mon\]'"):
        forward.from_pyomo(model, [], model.need)
    model.round = pyo.Constraint(expr=model.hours["mon"] ** 2 <= 3)
    with pytest.raises(UnsupportedProblemError, match="constraint 'round' is not linear"):
        forward.from_pyomo(model, [model.need])
    with pytest.raises(TypeError, match="model is a list"):
        forward.from_pyomo([])
    twice = rota()
    twice.more = pyo.Constraint(expr=twice.hours["mon"] * twice.most * twice.most <= 9)
    with pytest.raises(UnsupportedProblemError, match="not affine in its parameters"):
        forward.from_pyomo(twice, [twice.need, twice.most])
