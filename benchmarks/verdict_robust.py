"""Robust logistic regression against enumeration: every label and every vector of categories of every row is a piece.

The reference solves the conic model on rescaled columns with Clarabel, adding violated pieces, and its model is judged by its
exact objective, so that its own errors cannot accuse anyone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import scipy.optimize
import scipy.sparse
from numpy.typing import NDArray
from verdict_conic import Programme, Row
from verdict_fits import begin, excuse_limit, fitted, row_weights
from verdict_numbers import exact, exactly, total
from verdict_record import EXTREME, NO_REFERENCE, POOR, REFUSED, Record, judge
from verdict_shifts import Model, Rows, objectives

import surefoot as sf

FAMILY = "robust"
ODD = (
    "offset", "columns of 1e+-9", "time stamps", "prices of 1e+-6", "category prices of 1e+-6", "label price of 1e+-6",
    "tiny radius", "huge radius", "radius 0", "duplicate rows", "duplicate columns", "separable", "two rows", "one row",
    "zero weights", "spread weights", "infinite price", "infinite beside spread prices", "constant column", "ties",
    "columns of 1e+-9 with offsets",
)  # fmt: skip
# How the rows are handed over; one in ten comes as sparse columns, one in ten in batches.
WAYS = ("table",) * 8 + ("sparse", "batches")
ROUNDS = 12


@dataclass
class Case:
    """A table, and the parameters of the estimator."""

    X: NDArray[Any]
    y: NDArray[Any]
    weight: NDArray[Any] | None
    n_numeric: int
    params: dict[str, Any]
    way: str = "table"

    def fit(self, model: Any) -> Any:
        """Fit a model to the rows, handed over in the way that was drawn."""
        if self.way == "batches":
            parts = (slice(0, 2), slice(2, len(self.y) // 2 + 2), slice(len(self.y) // 2 + 2, None))
            columns = (self.X, self.y) if self.weight is None else (self.X, self.y, self.weight)
            batches = [tuple(column[part] for column in columns) for part in parts if self.y[part].size]
            return model.fit(batches)
        return model.fit(scipy.sparse.csr_array(self.X) if self.way == "sparse" else self.X, self.y, self.weight)


def draw(rng: np.random.Generator, record: Record) -> Case:
    """A random table with random settings."""
    odd = set(rng.choice(ODD, size=int(rng.integers(1, 4)), replace=False)) if record.stratum == EXTREME else set()
    record.settings = sorted(map(str, odd))
    n, m = int(rng.integers(0, 4)), int(rng.integers(0, 4))
    n = max(n, 1) if m == 0 or odd & {*ODD[:4], ODD[-1]} else n
    n = max(n, 2 - m) if "infinite beside spread prices" in odd else n
    rows = 1 if "one row" in odd else 2 if "two rows" in odd else int(rng.integers(4, 13))
    numeric = np.round(rng.normal(size=(rows, n)), 0 if "ties" in odd else 6)
    codes = np.column_stack([rng.integers(0, rng.integers(2, 4), size=rows) for _ in range(m)]) if m else np.zeros((rows, 0))
    if "constant column" in odd and n:
        numeric[:, 0] = 1.5
    if "duplicate columns" in odd and n > 1:
        numeric[:, 1] = numeric[:, 0]
    score = numeric.sum(axis=1) + codes.sum(axis=1) + rng.normal()
    noise = 0.0 if "separable" in odd else 1.0
    y = (score - np.median(score) + noise * rng.normal(size=rows) > 0).astype(int)
    if "duplicate rows" in odd:
        numeric[-1], codes[-1] = numeric[0], codes[0]
        y[-1] = y[0] if rng.random() < 0.5 else 1 - y[0]
    weight = None
    if "zero weights" in odd or rng.random() < 0.2:
        weight = rng.integers(1, 4, size=rows).astype(float)
    if "spread weights" in odd:
        weight = 10.0 ** rng.uniform(-6, 6, size=rows)
    if "zero weights" in odd and weight is not None and rows > 3:
        weight[rng.integers(0, rows, size=rows // 3)] = 0.0
    counting = np.arange(rows) if weight is None else np.flatnonzero(weight > 0)
    if np.unique(y[counting]).size < 2:
        y[counting[0]] = 1 - y[counting[0]]
    if np.unique(y[counting]).size < 2 and rows > 1:
        weight, y[0], y[1] = None, 0, 1
    prices = _prices(rng, odd, n, m)
    numeric = _moved(rng, odd, numeric, prices)
    X = np.column_stack((numeric, codes))
    params: dict[str, Any] = {
        "radius": _radius(rng, odd),
        "norm": str(rng.choice(["l1", "l1", "l2", "linf"])),
        "categorical_features": list(range(n, n + m)) or None,
        "fit_intercept": bool(rng.random() < 0.85),
        "solver": str(rng.choice(["auto", "auto", "auto", "auto", "auto", "auto", "auto", "graph", "conic", "lp-admm"])),
        **prices,
    }
    if rng.random() < 0.05:
        params["time_limit"] = float(10.0 ** rng.uniform(-6, -1))
    record.settings += [f"{params['norm']} norm", *(["labels may flip"] if np.isfinite(params["label_weight"]) else [])]
    way = str(rng.choice(WAYS))
    if way != "table":
        record.settings.append(way)
        params["solver"] = "auto"
    if way == "table" and n and params["norm"] == "l1" and rng.random() < 0.3:
        params["numeric_range"] = _ranges(rng, X[:, :n])
        params["solver"] = "conic" if params["solver"] == "conic" else "auto"  # published methods know no ranges
        record.settings.append("numeric ranges")
    if way != "sparse" and m and rng.random() < 0.15:
        params["category_levels"] = _levels(rng, codes, n)
        record.settings.append("levels without rows")
        # A hundred of them: levels that no row tells apart are solved for as one.
        if m == 1 and rng.random() < 0.2:
            params["category_levels"][n] += [float(level) for level in range(10, 130)]
            record.settings.append("merged levels")
    return Case(X, y, weight, n, params, way)


def _ranges(rng: np.random.Generator, numeric: NDArray[Any]) -> dict[int, Any]:
    """Ranges of one or two columns: what the rows hold, a little more, much more, or more at one end only."""
    found: dict[int, Any] = {}
    for j in sorted(rng.choice(numeric.shape[1], size=min(numeric.shape[1], int(rng.integers(1, 3))), replace=False).tolist()):
        low, high = float(numeric[:, j].min()), float(numeric[:, j].max())
        width = (high - low) or abs(high) or 1.0
        kinds = ["observed", "observed +- 10 %", (low - width, high + 0.5 * width), (low, high + 20 * width), (low, high)]
        found[j] = kinds[int(rng.integers(len(kinds)))]
    return found


def _levels(rng: np.random.Generator, codes: NDArray[Any], n: int) -> dict[int, list[float]]:
    """Of some columns the levels of all rows and others, which may come before and between those."""
    found: dict[int, list[float]] = {}
    for l in range(codes.shape[1]):
        if l == 0 or rng.random() < 0.5:
            more = rng.choice([-1.0, 0.5, 1.5, 4.0], size=int(rng.integers(1, 3)), replace=False)
            found[n + l] = sorted({*codes[:, l].tolist(), *more.tolist()})
    return found


def ranges_of(case: Case, numeric: NDArray[Any]) -> NDArray[Any] | None:
    """The ends of all numeric columns, from the words of the case and the rows that count."""
    given = case.params.get("numeric_range")
    if given is None:
        return None
    found = np.tile([-np.inf, np.inf], (case.n_numeric, 1))
    for j, spec in given.items():
        low, high = float(numeric[:, j].min()), float(numeric[:, j].max())
        wider = 0.1 * (high - low) if spec == "observed +- 10 %" else 0.0
        found[j] = (low - wider, high + wider) if isinstance(spec, str) else spec
    return found


def _radius(rng: np.random.Generator, odd: set[str]) -> float:
    if "radius 0" in odd:
        return 0.0
    exponent = (
        rng.uniform(-9, -4) if "tiny radius" in odd else rng.uniform(0, 4) if "huge radius" in odd else rng.uniform(-3, 0)
    )
    return float(10.0**exponent)


def _prices(rng: np.random.Generator, odd: set[str], n: int, m: int) -> dict[str, Any]:
    numeric: Any = None if rng.random() < 0.3 else rng.uniform(0.3, 3.0, size=n)
    categories: Any = None if rng.random() < 0.3 else rng.uniform(0.3, 3.0, size=m)
    label = float(rng.choice([np.inf, np.inf, 1.0, rng.uniform(0.2, 3.0)]))
    if "prices of 1e+-6" in odd:
        numeric = 10.0 ** rng.uniform(-6, 6, size=n)
    if "category prices of 1e+-6" in odd:
        categories = 10.0 ** rng.uniform(-6, 6, size=m)
    if "label price of 1e+-6" in odd:
        label = float(10.0 ** rng.uniform(-6, 6))
    if "infinite beside spread prices" in odd:
        numeric, categories = 10.0 ** rng.uniform(-6, 6, size=n), 10.0 ** rng.uniform(-6, 6, size=m)
    if odd & {"infinite price", "infinite beside spread prices"} and n + m:
        numeric = rng.uniform(0.3, 3.0, size=n) if numeric is None else numeric
        categories = np.ones(m) if categories is None else categories
        chosen = int(rng.integers(n + m))
        (numeric if chosen < n else categories)[chosen if chosen < n else chosen - n] = np.inf
    return {"numeric_weights": numeric, "categorical_weights": categories, "label_weight": label}


def _moved(rng: np.random.Generator, odd: set[str], numeric: NDArray[Any], prices: dict[str, Any]) -> NDArray[Any]:
    """Columns in other units, or far from 0; prices given per unit follow their column."""
    n = numeric.shape[1]
    if odd & {"columns of 1e+-9", "columns of 1e+-9 with offsets"} and n:
        scale = 10.0 ** rng.uniform(-9, 9, size=n)
        numeric = numeric * scale
        if prices["numeric_weights"] is not None and rng.random() < 0.7:
            prices["numeric_weights"] = prices["numeric_weights"] / scale
    if "columns of 1e+-9 with offsets" in odd and n:
        numeric = numeric + scale * 10.0 ** rng.uniform(2, 15, size=n)
    if "offset" in odd and n:
        numeric = numeric + np.abs(numeric).max() * 10.0 ** rng.uniform(2, 8, size=n)
    if "time stamps" in odd and n:
        numeric[:, 0] = 1.7e9 + rng.normal(size=numeric.shape[0])
    return numeric


def read(case: Case, model: Any) -> Rows:
    """The problem as the reference sees it: rows that count, codes by rank, prices as the model states them."""
    counting = np.arange(case.y.size) if case.weight is None else np.flatnonzero(case.weight > 0)
    codes = np.empty((counting.size, case.X.shape[1] - case.n_numeric), dtype=int)
    n_levels = []
    for l in range(codes.shape[1]):
        own = case.X[counting, case.n_numeric + l]
        levels = np.union1d(own, case.params.get("category_levels", {}).get(case.n_numeric + l, []))
        codes[:, l] = np.searchsorted(levels, own)
        n_levels.append(levels.size)
    cost = model.ground_cost_
    return Rows(
        numeric=case.X[counting, : case.n_numeric],
        codes=codes,
        n_levels=n_levels,
        labels=2.0 * case.y[counting] - 1.0,
        weights=row_weights(case.weight, case.y.size)[counting],
        gamma=np.asarray(cost.numeric_weights),
        delta=np.asarray(cost.categorical_weights),
        kappa=float(cost.label_weight),
        radius=float(case.params["radius"]),
        norm=case.params["norm"],
        intercept=case.params["fit_intercept"],
        ranges=ranges_of(case, case.X[counting, : case.n_numeric]),
    )


def model_of(rows: Rows, model: Any) -> Model:
    """The coefficients of a fitted estimator, exactly."""
    coefficients, n = exact(model.coef_[0]), rows.numeric.shape[1]
    levels, at = [], n
    for count in rows.n_levels:
        levels.append(np.concatenate(([Decimal(0)], coefficients[at : at + count - 1])))
        at += count - 1
    return Model(Decimal(float(model.intercept_[0])), coefficients[:n], levels, Decimal(float(model.dual_price_)))


def reference(rows: Rows, price_scale: float) -> Model | None:
    """A model near the optimum, in exact numbers, from columns that are centred and scaled for Clarabel."""
    n, N = rows.numeric.shape[1], len(rows.labels)
    centre = rows.numeric.mean(axis=0) if rows.intercept else np.zeros(n)
    spread = np.abs(rows.numeric - centre).max(axis=0, initial=0.0)
    spread[spread == 0] = 1.0
    programme = Programme()
    intercept, columns, price = programme.add(1)[0], programme.add(n), programme.add(1)[0]
    levels = [programme.add(count) for count in rows.n_levels]
    losses = programme.add(N)
    programme.zeros += [({block[0]: 1.0}, 0.0) for block in levels]
    if not rows.intercept:
        programme.zeros.append(({intercept: 1.0}, 0.0))
    programme.positives.append(({price: 1.0}, 0.0))
    programme.linear = {price: rows.radius * price_scale, **{losses[i]: float(w) for i, w in enumerate(rows.weights)}}
    if rows.radius > 0:
        _price_rows(programme, rows, columns, price, rows.endless * spread * price_scale)
    known: list[list[Any]] = [[] for _ in range(N)]

    def add(i: int, piece: Any) -> None:
        to, sign, at, cost = piece
        places = (np.array(at) - centre) / spread
        terms = {intercept: -sign, **{columns[j]: -sign * float(places[j]) for j in range(n)}}
        terms |= {levels[l][level]: -sign for l, level in enumerate(to)}
        programme.softplus_below((terms, 0.0), ({losses[i]: 1.0, price: cost * price_scale}, 0.0))
        known[i].append(piece)

    moves = [rows.moves(i) for i in range(N)]
    for i in range(N):
        add(i, moves[i][0])
    x = None
    for _ in range(ROUNDS):
        found = programme.solve()
        if found is None:
            break
        x = found
        slopes = x[list(columns)]
        new = False
        for i in range(N):
            scores = {at: x[intercept] + ((np.array(at) - centre) / spread) @ slopes for at in {move[2] for move in moves[i]}}
            values = [
                np.logaddexp(0.0, -sign * (scores[at] + sum(x[levels[l][level]] for l, level in enumerate(to))))
                - cost * price_scale * x[price]
                for to, sign, at, cost in moves[i]
            ]
            worst = int(np.argmax(values))
            if values[worst] > x[losses[i]] + 1e-10 and moves[i][worst] not in known[i]:
                add(i, moves[i][worst])
                new = True
        if not new:
            break
    return None if x is None else _restored(rows, x, intercept, columns, levels, centre, spread, x[price] * price_scale)


def _price_rows(programme: Programme, rows: Rows, columns: range, price: int, units: NDArray[Any]) -> None:
    finite = [j for j in range(len(columns)) if np.isfinite(rows.endless[j])]
    if rows.norm == "l1":
        for j in finite:
            programme.positives += [({price: float(units[j]), columns[j]: sign}, 0.0) for sign in (1.0, -1.0)]
    elif rows.norm == "l2" and finite:
        parts: list[Row] = [({columns[j]: 1.0 / float(units[j])}, 0.0) for j in finite]
        programme.cones.append(("second", [({price: 1.0}, 0.0), *parts]))
    elif finite:
        sizes = programme.add(len(finite))
        for size, j in zip(sizes, finite, strict=True):
            programme.positives += [({size: 1.0, columns[j]: sign}, 0.0) for sign in (1.0, -1.0)]
        programme.positives.append(
            ({price: 1.0, **{s: -1.0 / float(units[j]) for s, j in zip(sizes, finite, strict=True)}}, 0.0)
        )


@exactly
def _restored(
    rows: Rows, x: NDArray[Any], intercept: int, columns: range, levels: list[range], centre: Any, spread: Any, price: float
) -> Model:
    numeric = exact(x[list(columns)]) / exact(spread) if len(columns) else exact([])
    found = [exact(x[list(block)]) for block in levels]
    for block in found:
        block[0] = Decimal(0)
    start = Decimal(float(x[intercept])) if rows.intercept else Decimal(0)
    shift = total(beta * c for beta, c in zip(numeric, exact(centre), strict=True)) if rows.intercept else Decimal(0)
    return Model(start - shift, numeric, found, max(Decimal(float(price)), Decimal(0)))


def best_known(rows: Rows, enough: Decimal | None) -> Decimal | None:
    """The exact objective of the best of several references; more are tried while they are above ``enough``."""
    with np.errstate(all="ignore"):
        spread = np.ptp(rows.numeric, axis=0)
        prices = np.concatenate((rows.gamma * np.where(spread > 0, spread, 1.0), rows.delta, [rows.kappa]))
    finite = prices[np.isfinite(prices)]
    scales = [1.0, *(1.0 / part for part in (np.median(finite), finite.max(), finite.min()))] if finite.size else [1.0]
    found: list[Decimal] = []
    for scale in dict.fromkeys(scales):
        model = reference(rows, float(scale))
        if model is not None:
            found.append(objectives(rows, model)[1])
        if found and enough is not None and min(found) <= enough * (1 + POOR / 100):
            break
    return min(found, default=None)


def separable(case: Case) -> bool:
    """Whether a plane puts no row on the wrong side and some row on its own, along coefficients that cost nothing."""
    rows = case.X.shape[0] if case.weight is None else int((case.weight > 0).sum())
    counting = np.arange(case.y.size) if case.weight is None else np.flatnonzero(case.weight > 0)
    columns = [np.ones(rows)] if case.params["fit_intercept"] else []
    ends = ranges_of(case, case.X[counting, : case.n_numeric])
    for j in range(case.X.shape[1]):
        numeric = j < case.n_numeric
        given = case.params["numeric_weights" if numeric else "categorical_weights"]
        price = 1.0 if given is None else given[j if numeric else j - case.n_numeric]
        flat = numeric and ends is not None and ends[j, 0] == ends[j, 1]
        if case.params["radius"] > 0 and np.isfinite(price) and not flat:
            continue
        values = case.X[counting, j]
        if numeric:
            middle = values.mean() if case.params["fit_intercept"] else 0.0
            columns.append((values - middle) / (np.abs(values - middle).max() or 1.0))
        else:
            columns += [(values == level).astype(float) for level in np.unique(values)[1:]]
    if not columns:
        return False
    signed = (2.0 * case.y[counting] - 1.0)[:, None] * np.column_stack(columns)
    both = np.vstack((signed, -signed))
    limits = np.concatenate((np.ones(rows), np.zeros(rows)))
    found = scipy.optimize.linprog(-signed.sum(axis=0), A_ub=both, b_ub=limits, bounds=(None, None))
    return bool(found.status == 3 or (found.fun is not None and found.fun < -1e-9))


def estimator(case: Case) -> Any:
    return sf.RobustLogisticRegression(**case.params)


def right_error(case: Case) -> Callable[[Exception], bool]:
    counting = case.y if case.weight is None else case.y[case.weight > 0]
    if np.unique(counting).size < 2:
        return lambda error: "only one class" in str(error)
    return lambda error: isinstance(error, sf.SeparableDataError) and separable(case)


def trial(seed: int) -> Record:
    """Draw, fit, and hold the certificate against the reference."""
    record, rng = begin(FAMILY, seed)
    case = draw(rng, record)
    limit = case.params.get("time_limit")
    model = fitted(record, lambda: case.fit(estimator(case)), limit, right_error(case))
    if model is None:
        return record
    rows = read(case, model)
    at_price, least = objectives(rows, model_of(rows, model))
    judge(record, model.certificate_, at_price, best_known(rows, least), least=least)
    excuse_limit(record, limit)
    if case.params["solver"] != "auto" and not record.verified:
        # The plans of published methods end where those methods end: nobody refuses them.
        record.settings.append(f"solver {case.params['solver']}")
        record.found.pop(REFUSED, None)
    if not record.verified and separable(case):
        record.settings.append("no minimiser")
        record.found.pop(NO_REFERENCE, None)
    return record
