"""Models of Pyomo whose constraints are linear."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.exceptions import UnsupportedProblemError
from surefoot.inverse.forward.models.parametric_program import Numbers, ParametricProgram, parametric

REST = "the rest of the objective"


def from_pyomo(model: Any, parameters: Sequence[Any] = (), cost: Any = None) -> ParametricProgram:
    """A concrete model of Pyomo with linear constraints, whose cost is to be learned.

    Parameters
    ----------
    model : pyomo.environ.ConcreteModel
    parameters : sequence of mutable Param
        Those that differ from one observation to the next: signals give their values by name, {"need": 4} or
        {"need": {"mon": 4, "tue": 5}}.
    cost : Param, Var or Expression, or a sequence of them, optional
        What is to be learned: mutable parameters of the objective, whose values a cost vector then has; or variables and
        linear expressions, which it prices instead of the objective. By default all mutable parameters of the objective that
        are not among ``parameters``. What the objective has besides is one more priced term, the last one.

    Returns
    -------
    ParametricProgram
        Data, which need no Pyomo any more. Variables that are fixed are numbers in it. Responses are mappings from names of
        variables to values, {"buy": {"mon": 1, "tue": 0}} or {"buy[mon]": 1, "buy[tue]": 0}, or vectors.

    Raises
    ------
    UnsupportedProblemError
        If a constraint or what is priced is not linear; its name is in the message.
    """
    found = _Reader(model, list(parameters) if isinstance(parameters, list | tuple) else [parameters], cost)
    try:
        program = parametric(
            found.numbers,
            blocks=[(variable.name, ()) for variable in found.variables],
            parameters=[(parameter.name, ()) for parameter in found.parameters],
            defaults=found.defaults,
            bounds=(np.full(len(found.variables), -np.inf), np.full(len(found.variables), np.inf)),
            whole=np.array([not variable.is_continuous() for variable in found.variables]),
            priced_names=found.priced_names,
            origin="Pyomo",
        )
    finally:
        found.restore()
    if program is None:
        raise UnsupportedProblemError(
            "the model is not affine in its parameters: two of them are multiplied, or one divides. Make a parameter of the "
            "product, or hand InverseOptimizer an object of your own with solve(cost, signal)."
        )
    return program


class _Reader:
    """The numbers of a model at given parameters."""

    def __init__(self, model: Any, parameters: list[Any], cost: Any) -> None:
        self._pyomo: Any = import_module("pyomo.environ")
        self._represent: Any = import_module("pyomo.repn").generate_standard_repn
        visitor: Any = import_module("pyomo.core.expr.visitor")
        if not isinstance(model, self._pyomo.ConcreteModel):
            raise TypeError(f"model is a {type(model).__name__}, and not a ConcreteModel of Pyomo.")
        self.parameters = [data for each in parameters for data in self._entries(each)]
        self.constraints = list(model.component_data_objects(self._pyomo.Constraint, active=True))
        self.variables = [each for each in model.component_data_objects(self._pyomo.Var, active=True) if not each.fixed]
        goals = list(model.component_data_objects(self._pyomo.Objective, active=True))
        self.objective = goals[0].expr if goals else 0.0
        self.sign = -1.0 if goals and goals[0].sense == self._pyomo.maximize else 1.0
        named = {id(each) for each in self.parameters}
        if cost is None:
            costs = [each for each in visitor.identify_mutable_parameters(self.objective) if id(each) not in named]
        else:
            costs = [data for each in (cost if isinstance(cost, list | tuple) else [cost]) for data in self._entries(each)]
        if not costs:
            raise ValueError(
                "there is nothing to learn: the objective has no mutable Param but those of signals. Give cost=..."
            )
        self.learned = [each for each in costs if _is_parameter(each)]
        if self.learned and len(self.learned) < len(costs):
            raise ValueError("cost mixes parameters with variables or expressions; give one kind.")
        self.expressions = [] if self.learned else costs
        own = {id(each) for each in self.learned}
        for rule in self.constraints:
            wrong = next((each for each in visitor.identify_mutable_parameters(rule.expr) if id(each) in own), None)
            if wrong is not None:
                raise ValueError(
                    f"cost parameter {wrong.name!r} stands in constraint {rule.name!r}, not in the objective alone."
                )
        self._place = {id(variable): k for k, variable in enumerate(self.variables)}
        self._given = [(each, each.value) for each in (*self.parameters, *self.learned)]
        self.defaults = np.array([np.nan if each.value is None else float(each.value) for each in self.parameters])
        self.priced_names = [getattr(each, "name", None) or str(each) for each in costs]
        self.has_rest = bool(self.learned) and self._has_rest()
        if self.has_rest:
            self.priced_names.append(REST)

    def _entries(self, given: Any) -> list[Any]:
        """The entries of a component, an expression by itself."""
        if not hasattr(given, "is_indexed"):
            return [given]
        if _is_parameter(given) and not given.mutable:
            raise ValueError(f"parameter {given.name!r} is not mutable: its values are gone from the model. Give mutable=True.")
        return list(given.values()) if given.is_indexed() else [given]

    def _has_rest(self) -> bool:
        for each in self.parameters:
            each.set_value(1.0)
        self._price(-1)
        return bool(np.any(self._affine(self.objective, "the objective")[0]))

    def _price(self, at: int) -> None:
        """One learned parameter at 1, all others at 0."""
        for k, each in enumerate(self.learned):
            each.set_value(float(k == at))

    def restore(self) -> None:
        for each, value in self._given:
            if value is not None:
                each.set_value(value)
            else:
                each.clear()

    def _affine(self, expression: Any, what: str) -> tuple[FloatArray, float]:
        found = self._represent(expression)
        if not found.is_linear():
            raise UnsupportedProblemError(
                f"{what} is not linear in the variables. Hand InverseOptimizer an object of your own with solve(cost, signal)."
            )
        row = np.zeros(len(self.variables))
        for coefficient, variable in zip(found.linear_coefs, found.linear_vars, strict=True):
            row[self._place[id(variable)]] += float(coefficient)
        return row, float(found.constant)

    def numbers(self, values: FloatArray) -> Numbers:
        """A, low, high, F and f at a vector of parameters; bounds of variables are rows."""
        for each, value in zip(self.parameters, values.tolist(), strict=True):
            each.set_value(value)
        n = len(self.variables)
        rows, lows, highs = [], [], []
        for rule in self.constraints:
            row, constant = self._affine(rule.body, f"constraint {rule.name!r}")
            rows.append(row)
            low, high = (self._pyomo.value(side) if side is not None else None for side in (rule.lower, rule.upper))
            lows.append(-np.inf if low is None else float(low) - constant)
            highs.append(np.inf if high is None else float(high) - constant)
        for variable in self.variables:
            low, high = variable.bounds
            lows.append(-np.inf if low is None else float(low))
            highs.append(np.inf if high is None else float(high))
        matrix = np.vstack([np.empty((0, n)), *rows, np.eye(n)])
        if not self.learned:
            left, right = zip(*(self._affine(each, f"cost {name!r}") for each, name in self._priced()), strict=True)
            return matrix, np.array(lows), np.array(highs), self.sign * np.array(left), self.sign * np.array(right)
        self._price(-1)
        rest, known = self._affine(self.objective, "the objective")
        found, offsets = [], []
        for k in range(len(self.learned)):
            self._price(k)
            row, constant = self._affine(self.objective, "the objective")
            found.append(row - rest)
            offsets.append(constant - known)
        if self.has_rest:
            found.append(rest)
            offsets.append(known)
        return matrix, np.array(lows), np.array(highs), self.sign * np.array(found), self.sign * np.array(offsets)

    def _priced(self) -> Any:
        return zip(self.expressions, self.priced_names, strict=True)


def _is_parameter(given: Any) -> bool:
    return hasattr(given, "is_parameter_type") and bool(given.is_parameter_type())
