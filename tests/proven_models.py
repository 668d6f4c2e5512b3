"""One fitted model of every kind, with what ``verify`` needs and ways to change it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

import surefoot as sf
from surefoot.inverse.forward import BinaryProgram, LinearProgram


@dataclass(frozen=True)
class Proven:
    """A fitted model and its rows; tests change copies of it."""

    model: Any
    X: Any
    y: Any
    more: dict[str, Any] = field(default_factory=dict)

    def verify(self, model: Any = None, **more: Any) -> Any:
        return sf.verify(self.model if model is None else model, self.X, self.y, **{**self.more, **more})


def _rows(seed: int = 0, n: int = 120) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 10.0, 0.1]
    y = np.where(X[:, 0] - 0.1 * X[:, 1] + rng.normal(size=n) > 0, "yes", "no")
    return X, y, rng


def _set(name: str, make: Callable[[Any], Any]) -> Callable[[Any], None]:
    return lambda model: setattr(model, name, make(getattr(model, name)))


def _linear(name: str) -> Any:
    return _set(name, lambda value: value * (1 + 1e-9))


COEFFICIENTS = {
    "coef_": _set("coef_", lambda value: 3 * value),
    "coef_ in its last digits": _linear("coef_"),
    "intercept_": _linear("intercept_"),
    "dual_price_": _set("dual_price_", lambda value: value + 1e-6),
    "classes_": _set("classes_", lambda value: value[::-1].copy()),
    "radius_": _set("radius_", lambda value: value / 2),
}


def robust() -> Proven:
    X, y, _ = _rows()
    return Proven(sf.RobustLogisticRegression(radius=0.05).fit(X, y), X, y)


def robust_mixed() -> Proven:
    X, y, rng = _rows(1)
    table = [[*row, level] for row, level in zip(X.tolist(), rng.choice(["a", "b", "c"], len(X)), strict=True)]
    weights = rng.integers(0, 3, len(X)).astype(float)
    table[0][3], weights[0] = "seen in a row of weight 0 only", 0.0
    model = sf.RobustLogisticRegression(radius=0.05, label_weight=1.0).fit(table, y, weights)
    return Proven(model, table, y, {"sample_weight": weights})


def robust_path() -> Proven:
    X, y, _ = _rows(2)
    return Proven(sf.RobustLogisticRegressionCV(radii=[0.01, 0.1], cv=3).fit(X, y), X, y)


def card() -> Proven:
    X, y, _ = _rows(3)
    B = 1.0 * (X > 0)
    return Proven(sf.RiskScoreClassifier(max_features=2).fit(B, y), B, y)


def ruled_card() -> Proven:
    X, y, _ = _rows(9)
    B = 1.0 * (X > 0)
    rules = [
        sf.constraints.Sign("x0", "+"),
        sf.constraints.AtMost(1, ["x1", "x2"]),
        sf.constraints.TruePositiveRate(0.2),
        sf.constraints.MaxProbability({"x0": 1, "x1": 1}, 0.99),
    ]
    return Proven(sf.RiskScoreClassifier(max_features=2, constraints=rules).fit(B, y), B, y)


def robust_card() -> Proven:
    X, y, _ = _rows(10)
    B = 1.0 * (X > 0)
    return Proven(sf.RiskScoreClassifier(max_features=2, radius=0.02, max_points=3).fit(B, y), B, y)


def free_card() -> Proven:
    X, y, _ = _rows(4)
    B = 1.0 * (X > 0)
    model = sf.RiskScoreClassifier(max_features=2, scale="free", class_weight="balanced").fit(B, y)
    return Proven(model, B, y)


PLANE = {
    "dual_coef_": _set("dual_coef_", lambda value: 3 * value),
    "dual_coef_ in its last digits": _linear("dual_coef_"),
    "intercept_": _set("intercept_", lambda value: value + 1e-9),
    "support_vectors_": _set("support_vectors_", lambda value: value + 1e-9),
    "support_": _set("support_", lambda value: value[::-1].copy()),
}


def _with_units(change: Callable[[Any], Any]) -> Callable[[Any], None]:
    def changed(model: Any) -> None:
        scores = model._scores
        model._scores = dataclasses.replace(scores, units=change(scores.units))

    return changed


UNITS = {
    "units": _with_units(lambda units: dataclasses.replace(units, scales=units.scales * 2)),
    "units in their last digits": _with_units(lambda units: dataclasses.replace(units, offsets=units.offsets + 1e-12)),
    "no units": _with_units(lambda units: None),
    "what groups cost": _set("_named_groups", lambda value: not value),
}


def plane() -> Proven:
    X, y, _ = _rows(5)
    X[:, 0] += 4.0 * (y == "yes")
    model = sf.ChanceConstrainedSVC(kernel="linear", batches="clusters", random_state=0).fit(X, y)
    return Proven(model, X, y)


def plane_of_rows() -> Proven:
    X, y, rng = _rows(13)
    weights = rng.integers(0, 3, len(X)).astype(float)
    model = sf.ChanceConstrainedSVC(batches="rows").fit(X, y, sample_weight=weights)
    return Proven(model, X, y, {"sample_weight": weights})


def grouped_plane() -> Proven:
    X, _, rng = _rows(6)
    groups = np.repeat(np.arange(30), 4)
    y = np.repeat(rng.permutation([0, 1] * 15), 4)
    X[:, 0] += 3 * y
    model = sf.ChanceConstrainedSVC().fit(X, y, groups=groups)
    return Proven(model, X, y, {"groups": groups})


def moments() -> Proven:
    rng = np.random.default_rng(7)
    y = np.array([0, 1] * 5)
    means, covariances = rng.normal(size=(10, 2)) + 3 * y[:, None], np.tile(0.1 * np.eye(2), (10, 1, 1))
    model = sf.ChanceConstrainedSVC(kernel="linear").fit_moments(means, covariances, y)
    return Proven(model, (means, covariances), y)


def landmarks() -> Proven:
    X, y, _ = _rows(11)
    X[:, 0] += 4.0 * (y == "yes")
    return Proven(sf.ChanceConstrainedSVC(n_landmarks=15, batches="clusters", random_state=0, tol=1e-3).fit(X, y), X, y)


def precomputed() -> Proven:
    X, y, _ = _rows(12)
    X[:, 0] += 4.0 * (y == "yes")
    gram = X @ X.T
    return Proven(sf.ChanceConstrainedSVC(kernel="precomputed", batches="clusters", random_state=0).fit(gram, y), gram, y)


COST = {
    "cost_": _set("cost_", lambda value: 3 * value),
    "cost_, written in place": lambda model: np.multiply(model.cost_, 1.5, out=model.cost_),
    "one entry of cost_": _set("cost_", lambda value: value + 1e-6 * (np.arange(value.size) == 0)),
}


def cost(approach: str = "incenter") -> Proven:
    three = (-np.ones((1, 4)), np.array([-3.0]))
    no_tea = (np.array([[1.0, 0, 0, 0], [-1, -1, -1, -1]]), np.array([0.0, -2.0]))
    signals, responses = [three, no_tea], [[1, 1, 1, 0], [0, 1, 1, 0]]
    model = sf.inverse.InverseOptimizer(BinaryProgram(), approach=approach).fit(signals, responses)
    return Proven(model, signals, responses)


def inconsistent_cost() -> Proven:
    """No cost explains both choices, so "cutting-plane" goes over to another problem."""
    one = (-np.ones((1, 3)), np.array([-1.0]))
    signals, responses = [one, one], [[1, 0, 0], [0, 1, 1]]
    model = sf.inverse.InverseOptimizer(BinaryProgram(), approach="cutting-plane", prior="simplex").fit(signals, responses)
    return Proven(model, signals, responses)


def noisy_cost() -> Proven:
    rng = np.random.default_rng(8)
    signals = [(np.vstack([-np.eye(3), np.ones((1, 3))]), np.append(-rng.random(3), 3.0)) for _ in range(5)]
    responses = [-b[:3] + [0.0, 0.1, 0.2] for _, b in signals]
    model = sf.inverse.InverseOptimizer(LinearProgram(), approach="suboptimality", prior="simplex")
    return Proven(model.fit(signals, responses), signals, responses)


POINTS = {
    "points_": lambda model: model.points_.update({"x0": 1}),
    "coef_": _set("coef_", lambda value: value + 1),
    "intercept_": _set("intercept_", lambda value: value - 1),
    "multiplier_": _set("multiplier_", lambda value: value * 2),
}
_MAKERS: dict[str, tuple[Callable[[], Proven], dict[str, Callable[[Any], None]]]] = {
    "robust": (robust, COEFFICIENTS),
    "robust, mixed columns and weights": (robust_mixed, COEFFICIENTS),
    "robust, cross-validated": (robust_path, COEFFICIENTS),
    "card": (card, POINTS),
    "card with rules": (ruled_card, POINTS),
    "robust card": (robust_card, POINTS),
    "card at a free scale": (free_card, {"multiplier_": _linear("multiplier_")}),
    "plane": (plane, {**PLANE, "coef_": _set("coef_", lambda value: 3 * value)}),
    "plane of groups": (grouped_plane, {**PLANE, "gamma_": _linear("gamma_")}),
    "plane of rows": (plane_of_rows, {**PLANE, "gamma_": _linear("gamma_"), **UNITS}),
    "plane of moments": (moments, {**PLANE, **UNITS}),
    "plane of landmarks": (landmarks, {"dual_coef_": PLANE["dual_coef_"]}),
    "precomputed plane": (precomputed, {"dual_coef_": PLANE["dual_coef_"]}),
    "cost": (cost, COST),
    "circumcenter": (lambda: cost("circumcenter"), COST),
    "ellipsoid": (lambda: cost("ellipsoidal-incenter"), COST),
    "predictability": (lambda: cost("predictability"), COST),
    "inconsistent cost": (inconsistent_cost, COST),
    "noisy cost": (noisy_cost, COST),
}
KINDS = tuple(_MAKERS)
# What makes another model of one, by kind.
CHANGES = {kind: changes for kind, (_, changes) in _MAKERS.items()}


@cache
def proven_model(kind: str) -> Proven:
    """A model of that kind, fitted once; do not change it."""
    return _MAKERS[kind][0]()
