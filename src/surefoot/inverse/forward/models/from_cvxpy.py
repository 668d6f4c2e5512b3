"""Models of cvxpy: extracted where constraints are linear, called otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.inverse.forward.models.parametric_program import Numbers, flat, labels, parametric
from surefoot.inverse.forward.programs import ForwardProblem

REST = "the rest of the objective"
# By how much a constraint may be violated where cvxpy solves, relative to the largest entry: what its solvers leave by default.
FEASIBILITY = 1e-5


def from_cvxpy(problem: Any, parameters: Sequence[Any] = (), cost: Any = None) -> ForwardProblem:
    """A model of cvxpy, whose cost is to be learned.

    Parameters
    ----------
    problem : cvxpy.Problem
    parameters : sequence of cvxpy.Parameter
        Those that differ from one observation to the next: signals give their values by name.
    cost : cvxpy.Parameter, variable or expression, or a sequence of them, optional
        What is to be learned: parameters that stand in the objective, whose values a cost vector then has; or variables and
        linear expressions, which it prices instead of the objective. By default all parameters that are not among
        ``parameters``. What the objective has besides learned parameters is one more priced term, the last one: divided by the
        last entry, a cost vector is in the units of the objective.

    Returns
    -------
    ParametricProgram or ModelProblem
        The former where all constraints are linear in the variables and their numbers in the parameters: data, which are
        proven and saved, and need no cvxpy any more. Otherwise cvxpy solves the problem at every cost that is asked, which
        needs ``distance="none"`` and ``approach="suboptimality"`` or another without a distance.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import surefoot as sf
    >>> buy, need, price = cp.Variable(2, name="buy"), cp.Parameter(name="need"), cp.Parameter(2, name="price")
    >>> shop = cp.Problem(cp.Minimize(price @ buy), [cp.sum(buy) >= need, buy >= 0, buy <= 3])
    >>> shopper = sf.inverse.forward.from_cvxpy(shop, [need], price)
    >>> shopper
    ParametricProgram(cvxpy: 2 unknowns, 1 rows, parameters need, priced by price[0], price[1])
    >>> model = sf.inverse.InverseOptimizer(shopper, prior="simplex")
    >>> model = model.fit([{"need": 2.0}, {"need": 4.0}], [{"buy": [2.0, 0.0]}, {"buy": [3.0, 1.0]}])
    >>> bool(model.cost_[0] < model.cost_[1]) and model.certificate_.verified
    True
    """
    model = _Model(problem, _listed(parameters), cost)
    found = None
    if model.is_linear:
        found = parametric(
            model.numbers,
            blocks=[(variable.name(), variable.shape) for variable in model.variables],
            parameters=[(parameter.name(), parameter.shape) for parameter in model.parameters],
            defaults=model.defaults(),
            bounds=model.bounds(),
            whole=model.whole(),
            priced_names=model.priced_names,
            origin="cvxpy",
        )
    model.restore()
    if found is not None:
        return found
    from surefoot.inverse.forward.models.called_model import ModelProblem

    return ModelProblem(model)


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]


def _marked(variable: Any, kind: str) -> Any:
    """Which entries of a variable are boolean, or integer."""
    mark = np.zeros(variable.shape, dtype=np.bool_)
    if variable.attributes.get(kind) is True:
        mark[...] = True
    elif variable.attributes.get(kind):
        places = variable.boolean_idx if kind == "boolean" else variable.integer_idx
        mark[places if isinstance(places, tuple) else tuple(np.array(list(places), dtype=np.int64).T)] = True
    return mark


class _Model:
    """What is asked of a model: its numbers at given parameters, and its best decision at a cost."""

    def __init__(self, problem: Any, parameters: list[Any], cost: Any) -> None:
        cvxpy: Any = import_module("cvxpy")

        if not isinstance(problem, cvxpy.Problem):
            raise TypeError(f"problem is a {type(problem).__name__}, and not a problem of cvxpy.")
        self.problem, self.parameters = problem, parameters
        self._given = [(leaf, leaf.value) for leaf in (*problem.parameters(), *problem.variables())]
        self.variables = sorted(problem.variables(), key=lambda variable: variable.id)
        self.constraints = list(problem.constraints)
        named = {parameter.id for parameter in parameters}
        unknown = next((each for each in parameters if each.id not in {own.id for own in problem.parameters()}), None)
        if unknown is not None:
            raise ValueError(f"parameter {unknown.name()!r} does not stand in the problem.")
        costs = [each for each in problem.parameters() if each.id not in named] if cost is None else _listed(cost)
        if not costs:
            raise ValueError("there is nothing to learn: all parameters of the problem are those of signals. Give cost=...")
        self.sign = -1.0 if isinstance(problem.objective, cvxpy.Maximize) else 1.0
        learned = [each for each in costs if isinstance(each, cvxpy.Parameter)]
        if learned and len(learned) < len(costs):
            raise ValueError("cost mixes parameters with variables or expressions; give one kind.")
        self.learned = learned
        self.expressions = [] if learned else [cvxpy.vec(each, order="F") for each in costs]
        in_rules = {own.id for rule in problem.constraints for own in rule.parameters()}
        wrong = next((each for each in learned if each.id in in_rules), None)
        if wrong is not None:
            raise ValueError(f"cost parameter {wrong.name()!r} stands in a constraint, and not in the objective alone.")
        free = named | {each.id for each in learned}
        wrong = next((own for own in problem.parameters() if own.id not in free and own.value is None), None)
        if wrong is not None:
            raise ValueError(f"parameter {wrong.name()!r} has no value, and is neither among parameters nor cost.")
        self.n_learned = sum(each.size for each in learned)
        self.priced_names = [label for each in learned for label in labels(each.name(), each.shape)]
        for number, each in enumerate(costs if not learned else []):
            name = each.name() if isinstance(each, cvxpy.Variable) else f"cost[{number}]" if each.size > 1 else str(each)
            self.priced_names += labels(name, each.shape)
        self._known: dict[int, Any] = {}
        names = [each.name() for each in (*self.variables, *parameters)]
        if len(set(names)) < len(names):
            double = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"two variables or parameters are called {double!r}; give them names of their own.")
        kinds = ("symmetric", "PSD", "NSD", "diag", "hermitian", "complex", "imag", "sparsity")
        self._shaped = any(variable.attributes.get(kind) for variable in self.variables for kind in kinds)
        if learned:
            self.price(np.zeros(self.n_learned))
            rest = problem.objective.expr
            own = bool(rest.variables()) and (not rest.is_affine() or any(np.any(part) for part in self._moving_rest(rest)))
            self.priced_names += [REST] if own else []
            self.has_rest = own

    def _moving_rest(self, rest: Any) -> list[FloatArray]:
        """Slopes of the objective without its learned part, at two vectors of parameters."""
        found = []
        for value in (1.0, 2.0):
            self.put(np.full(sum(each.size for each in self.parameters), value))
            found.append(self._affine(rest)[0])
        return found

    def put(self, values: FloatArray) -> None:
        """Give the parameters their values."""
        at = 0
        for each in self.parameters:
            each.save_value(values[at : at + each.size].reshape(each.shape, order="F"))
            at += each.size

    def price(self, theta: FloatArray) -> None:
        """Give the learned parameters their values."""
        at = 0
        for each in self.learned:
            each.save_value(theta[at : at + each.size].reshape(each.shape, order="F"))
            at += each.size

    @property
    def is_linear(self) -> bool:
        rules: Any = import_module("cvxpy.constraints")

        kinds = (rules.Equality, rules.Inequality, rules.Zero, rules.NonNeg, rules.NonPos)
        linear = all(isinstance(rule, kinds) and all(each.is_affine() for each in rule.args) for rule in self.constraints)
        priced = [self.problem.objective.expr] if self.learned else self.expressions
        return linear and not self._shaped and all(each.is_affine() for each in priced)

    def _affine(self, expression: Any) -> tuple[FloatArray, FloatArray]:
        """Matrix and offset of an affine expression at the parameters' values."""
        for variable in self.variables:
            variable.save_value(np.zeros(variable.shape))
        size = int(np.prod(expression.shape))
        gradient = expression.grad if expression.variables() else {}
        blocks = []
        for variable in self.variables:
            part = gradient.get(variable, 0.0)
            dense = np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=np.float64)
            blocks.append(
                np.broadcast_to(dense.reshape(variable.size, size).T if dense.size > 1 else dense, (size, variable.size))
            )
        offset = np.asarray(expression.value, dtype=np.float64).ravel(order="F")
        return np.hstack(blocks), offset

    def _rows(self) -> list[tuple[FloatArray, FloatArray, bool, float]]:
        """Matrix and offset of every constraint, whether it is an equality, and the sign that makes it "at most 0"."""
        rules: Any = import_module("cvxpy.constraints")

        found = []
        for rule in self.constraints:
            if id(rule) in self._known:
                found.append(self._known[id(rule)])
                continue
            expression = rule.args[0] - rule.args[1] if len(rule.args) == 2 else rule.args[0]
            sign = -1.0 if isinstance(rule, rules.NonNeg) else 1.0
            part = (*self._affine(expression), isinstance(rule, rules.Equality | rules.Zero), sign)
            if not rule.parameters():
                self._known[id(rule)] = part
            found.append(part)
        return found

    def numbers(self, values: FloatArray) -> Numbers:
        """A, low, high, F and f at a vector of parameters."""
        self.put(values)
        n = sum(variable.size for variable in self.variables)
        rows = self._rows()
        matrix = np.vstack([np.empty((0, n)), *(sign * left for left, _, _, sign in rows)])
        high = np.concatenate([np.empty(0), *(-sign * offset for _, offset, _, sign in rows)])
        equal = np.concatenate([np.empty(0, dtype=np.bool_), *(np.full(offset.size, same) for _, offset, same, _ in rows)])
        low = np.where(equal, high, -np.inf)
        if not self.learned:
            parts = [self._affine(each) for each in self.expressions]
            left, right = (np.concatenate(each) for each in zip(*parts, strict=True))
            return matrix, low, high, self.sign * left, self.sign * right
        expression = self.problem.objective.expr
        self.price(np.zeros(self.n_learned))
        rest = self._affine(expression)
        left, right = np.empty((self.n_learned, n)), np.empty(self.n_learned)
        for k in range(self.n_learned):
            self.price(np.eye(self.n_learned)[k])
            slope, offset = self._affine(expression)
            left[k], right[k] = (slope - rest[0])[0], (offset - rest[1])[0]
        if self.has_rest:
            left, right = np.vstack((left, rest[0])), np.append(right, rest[1])
        return matrix, low, high, self.sign * left, self.sign * right

    def restore(self) -> None:
        """Give parameters and variables the values that they had."""
        for leaf, value in self._given:
            leaf.save_value(value)

    def defaults(self) -> FloatArray:
        given = {leaf.id: value for leaf, value in self._given}
        values = [(each.size, given[each.id]) for each in self.parameters]
        return np.concatenate([np.empty(0), *(np.full(k, np.nan) if v is None else np.ravel(v, order="F") for k, v in values)])

    def whole(self) -> Any:
        return np.concatenate(
            [(_marked(each, "boolean") | _marked(each, "integer")).ravel(order="F") for each in self.variables]
        )

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        lows, highs = [], []
        for variable in self.variables:
            low, high = np.full(variable.shape, -np.inf), np.full(variable.shape, np.inf)
            given = variable.attributes
            if given.get("bounds") is not None:
                low, high = (
                    np.broadcast_to(np.asarray(side, dtype=np.float64), variable.shape).copy() for side in given["bounds"]
                )
            if given.get("nonneg") or given.get("pos"):
                low = np.maximum(low, 0.0)
            if given.get("nonpos") or given.get("neg"):
                high = np.minimum(high, 0.0)
            binary = _marked(variable, "boolean")
            low, high = np.where(binary, np.maximum(low, 0.0), low), np.where(binary, np.minimum(high, 1.0), high)
            lows.append(low.ravel(order="F"))
            highs.append(high.ravel(order="F"))
        return np.concatenate(lows), np.concatenate(highs)

    # What follows is asked of models that are called.

    def set_signal(self, signal: Any) -> None:
        given = {} if signal is None else flat(signal) if isinstance(signal, Mapping) else None
        if given is None:
            raise ValueError("the signal must be a mapping with values of the parameters")
        for each in self.parameters:
            if each.name() in given:
                each.value = np.asarray(given[each.name()], dtype=np.float64)
            elif each.value is None:
                raise ValueError(f"parameter {each.name()!r} has no value")

    def solve(self, theta: FloatArray, signal: Any) -> FloatArray:
        cvxpy: Any = import_module("cvxpy")

        self.set_signal(signal)
        if self.learned:
            self.price(np.zeros(self.n_learned))
            rest = self.problem.objective.expr
            scale = float(theta[-1]) if self.has_rest else 1.0
            if not scale > 0:
                raise ValueError(f"{REST} has the price {scale:g}; give a prior that keeps it above 0")
            self.price(theta[: self.n_learned] / scale)
            task = self.problem
        else:
            ends = np.cumsum([each.size for each in self.expressions])[:-1]
            rest = sum(part @ each for part, each in zip(np.split(theta, ends), self.expressions, strict=True))
            goal = cvxpy.Maximize(rest) if self.sign < 0 else cvxpy.Minimize(rest)
            task = cvxpy.Problem(goal, self.constraints)
        task.solve()
        if task.status not in ("optimal", "optimal_inaccurate"):
            raise ValueError(f"cvxpy says that the problem is {task.status}")
        return np.concatenate([np.ravel(variable.value, order="F") for variable in self.variables])

    def _place(self, x: FloatArray) -> None:
        at = 0
        for variable in self.variables:
            variable.save_value(x[at : at + variable.size].reshape(variable.shape, order="F"))
            at += variable.size

    def contains(self, signal: Any, x: FloatArray) -> bool:
        """Whether constraints hold, to what solvers leave of them."""
        self.set_signal(signal)
        self._place(x)
        room = FEASIBILITY * (1.0 + float(np.abs(x).max(initial=0.0)))
        return all(float(np.max(rule.violation())) <= room for rule in self.constraints)

    def features(self, signal: Any, x: FloatArray) -> FloatArray:
        self.set_signal(signal)
        self._place(x)
        if not self.learned:
            return self.sign * np.concatenate([np.ravel(each.value) for each in self.expressions])
        expression = self.problem.objective.expr
        self.price(np.zeros(self.n_learned))
        rest = float(np.asarray(expression.value).item())
        found = []
        for k in range(self.n_learned):
            self.price(np.eye(self.n_learned)[k])
            found.append(float(np.asarray(expression.value).item()) - rest)
        return self.sign * np.array(found + ([rest] if self.has_rest else []))
