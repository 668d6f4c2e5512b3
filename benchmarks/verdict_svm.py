"""Chance-constrained SVMs against the conic model of all ellipsoids in explicit features.

The reference centres and scales features, solves the cone programme with Clarabel, and takes the best intercept for its w, by
trying all breakpoints. Its plane and the one at hand are evaluated with 60 digits from the samples.
"""

from __future__ import annotations

import itertools
import math
import re
import warnings
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import verdict_svm_kinds
from numpy.typing import NDArray
from verdict_conic import Programme, Row
from verdict_fits import begin, excuse_limit, fitted
from verdict_numbers import Numbers, exact, exactly, total
from verdict_record import EXTREME, FALSE_CLAIM, NUMBER, POOR, REFUSED, Record, judge, short
from verdict_repeats import require_borrowed

import surefoot as sf
from surefoot.core.outcome import Status
from surefoot.exceptions import ConvergenceLimitWarning, RoundedInterceptWarning

FAMILY = "svm"
ODD = (
    "offset", "columns of 1e+-9", "sensors", "tiny C", "huge C", "tiny violation", "violation near 1", "duplicate rows",
    "contradicting groups", "constant column", "single samples", "two groups", "zero weights", "spread weights", "separable",
    "large gamma", "tiny gamma", "ties", "twelve sensors", "one sample a batch",
)  # fmt: skip
SMALL_EIGENVALUE = 1e-13
# How often the estimator is not told which rows belong together, and what then makes inputs of single rows.
UNNAMED, ROWS = 0.3, ("auto", "rows")
# What sums of doubles may leave of a mean or a deviation of a column, over its largest value and over its deviation.
CONSTANT = Decimal(2) ** -45
SUM_ROUNDING, UNIT_ROUNDING = Decimal("1e-12"), Decimal("1e-9")


@dataclass
class Case:
    """Rows with labels and groups, and the parameters of the estimator; groups that are not named are not passed to it."""

    X: NDArray[Any]
    y: NDArray[Any]
    groups: NDArray[Any]
    weight: NDArray[Any] | None
    params: dict[str, Any]
    covariances: NDArray[Any] | None = None  # then the rows are means, and nothing else is known of the inputs
    named: bool = True

    @property
    def given_groups(self) -> NDArray[Any] | None:
        return self.groups if self.named else None

    @property
    def counting(self) -> NDArray[Any]:
        return np.arange(self.y.size) if self.weight is None else np.flatnonzero(self.weight > 0)


@dataclass
class Inputs:
    """The problem as the reference reads it: samples that count, group by group.

    Batch weights are those of the rows divided by their sum, in real numbers and as doubles, and so are prices: rounding them
    is part of posing a problem, and an answer may be about either. Standard units are held against their definition; rows in
    these units are doubles. Products may be seen from a centre of the feature space, which moves the
    intercept, and a matrix of products may have a number added to its diagonal, where the claim says so. A function is read as
    the matrix that it returns, and radii as the doubles that the model names.
    """

    X: NDArray[Any]
    members: list[NDArray[Any]]
    labels: list[int]
    shares: list[Numbers]
    rounded: list[Numbers]
    tau: list[Decimal]
    costs: list[Decimal]
    kernel: str
    gamma: Decimal
    degree: int
    coef0: Decimal
    rounded_costs: list[Decimal] | None = None
    units: tuple[NDArray[Any], NDArray[Any]] | None = None  # what rows were moved and divided by
    centre: NDArray[Any] | None = None
    added: Decimal = Decimal(0)
    mean_radius: list[Decimal] | None = None
    covariance_radius: list[Decimal] | None = None
    landmarks: NDArray[Any] | None = None  # the samples that planes may combine, if not all
    moments: tuple[list[Numbers], list[Numbers]] | None = None  # means and covariances, if these were given
    moves: Numbers | None = None


def draw(rng: np.random.Generator, record: Record) -> Case:
    """Random groups of samples with random settings."""
    odd = set(rng.choice(ODD, size=int(rng.integers(1, 4)), replace=False)) if record.stratum == EXTREME else set()
    record.settings = sorted(map(str, odd))
    n, n_groups = int(rng.integers(1, 4)), 2 if "two groups" in odd else int(rng.integers(3, 7))
    sizes = np.ones(n_groups, dtype=int) if "single samples" in odd else rng.integers(1, 5, size=n_groups)
    groups = np.repeat(np.arange(n_groups), sizes)
    means = rng.normal(size=(n_groups, n)) * 1.5
    sides = (means[:, 0] + (0.0 if "separable" in odd else 1.0) * rng.normal(size=n_groups) > 0).astype(int)
    if np.unique(sides).size < 2:
        sides[0] = 1 - sides[0]
    X = np.round(means[groups] + 0.4 * rng.normal(size=(groups.size, n)), 0 if "ties" in odd else 6)
    if "contradicting groups" in odd:
        first, last = np.flatnonzero(groups == 0), np.flatnonzero(groups == n_groups - 1)
        sides[-1] = 1 - sides[0]
        X[last] = X[first[np.arange(last.size) % first.size]]
    if "duplicate rows" in odd:
        X[-1] = X[-2]
    if "constant column" in odd:
        X[:, 0] = 2.5
    kernel = str(rng.choice(["linear", "linear", "poly", "rbf", "rbf", "precomputed"]))
    if "columns of 1e+-9" in odd:
        X = X * 10.0 ** rng.uniform(-9, 9, size=n)
    if "sensors" in odd:
        X[:, 0] = 101_325.0 + 30.0 * X[:, 0]
        X[:, -1] = 20.0 + X[:, -1] if n > 1 else X[:, -1]
    if "offset" in odd:
        X = X + np.abs(X).max() * 10.0 ** rng.uniform(1, 6, size=n)
    if kernel == "precomputed":
        whole = rng.integers(-4, 5, size=(groups.size, n + 1)).astype(float)
        X = whole @ whole.T
    weight = rng.integers(1, 4, size=groups.size).astype(float) if rng.random() < 0.15 or "zero weights" in odd else None
    if "spread weights" in odd:
        weight = 10.0 ** rng.uniform(-4, 4, size=groups.size)
    if "zero weights" in odd and weight is not None:
        spare = [k for k in range(groups.size) if k and groups[k] == groups[k - 1]]
        weight[spare[:2]] = 0.0
    case = Case(X, sides[groups], groups, weight, _params(rng, odd, kernel))
    if "one sample a batch" in odd:
        case = replace(case, groups=np.arange(groups.size))
    case = _sensors(rng, case) if "twelve sensors" in odd else case
    if rng.random() < UNNAMED:
        batches: Any = [*ROWS, "clusters", 3][int(rng.integers(4))]
        record.settings.append("rows as inputs" if batches in ROWS else "clusters")
        case = replace(case, named=False, params={**case.params, "batches": batches, "random_state": 0})
    return case


def _sensors(rng: np.random.Generator, case: Case) -> Case:
    """Readings of twelve sensors of two kinds in degrees and pascals; the linear kernel, no slack for less than a fortune."""
    kind, size = np.arange(12) % 2, int(rng.integers(2, 5))
    spread = rng.uniform(0.2, 1.5)
    centres = np.where(kind, 1.0, -1.0)[:, None] * rng.uniform(0.5, 2.0, size=2) + spread * rng.normal(size=(12, 2))
    readings = np.repeat(centres, size, axis=0) + 0.2 * rng.normal(size=(12 * size, 2))
    X = np.array([21.0, 101_325.0]) + readings * np.array([1.0, 10.0 ** rng.uniform(0, 2)])
    params = {**case.params, "kernel": "linear", "C": float(rng.choice([1.0, 1e3, 1e6]))}
    return replace(case, X=X, y=np.repeat(kind, size), groups=np.repeat(np.arange(12), size), weight=None, params=params)


def _params(rng: np.random.Generator, odd: set[str], kernel: str) -> dict[str, Any]:
    cost, violation = 10.0 ** rng.uniform(-1, 2), rng.uniform(0.05, 0.8)
    if "tiny C" in odd:
        cost = 10.0 ** rng.uniform(-6, -3)
    if "huge C" in odd:
        cost = 10.0 ** rng.uniform(4, 7)
    if "tiny violation" in odd:
        violation = 10.0 ** rng.uniform(-6, -2)
    if "violation near 1" in odd:
        violation = 1.0 - 10.0 ** rng.uniform(-9, -2)
    gamma: Any = "scale" if rng.random() < 0.5 else float(rng.uniform(0.1, 2.0))
    if "large gamma" in odd:
        gamma = float(10.0 ** rng.uniform(1, 4))
    if "tiny gamma" in odd:
        gamma = float(10.0 ** rng.uniform(-8, -3))
    params: dict[str, Any] = {
        "C": float(cost), "violation": float(violation), "kernel": kernel, "gamma": gamma, "degree": int(rng.integers(1, 4)),
        "standardize": bool(rng.random() < 0.6), "coef0": float(rng.choice([0.0, 1.0, 1.0])),
        "solver": str(rng.choice(["auto"] * 8 + ["socp", "worst-points", "admm"])),
        "covariance": "batch",
    }  # fmt: skip
    if rng.random() < 0.05:
        params["time_limit"] = float(10.0 ** rng.uniform(-6, -1))
    return params


@exactly
def read(case: Case, model: Any) -> Inputs:
    """The problem in exact numbers; gamma is the model's own."""
    if case.covariances is not None:
        return verdict_svm_kinds.read_moments(case, model)
    at, kernel = case.counting, case.params["kernel"]
    X = case.X[at] if kernel != "precomputed" else case.X[np.ix_(at, at)]
    weight = np.ones(at.size) if case.weight is None else case.weight[at]
    units = units_of(case, model, X, weight)
    problem = verdict_svm_kinds.posed_problem(case, model)
    X, kernel = (
        (kernel(X, X), "precomputed") if callable(kernel) else (X if units is None else (X - units[0]) / units[1], kernel)
    )
    codes = groups_of(case, model)[at]
    members = [np.flatnonzero(codes == group) for group in np.unique(codes)]
    costs, rounded_costs = prices(case, members, weight)
    eps = Decimal(case.params["violation"])
    labels = [int(2 * case.y[at][rows[0]] - 1) for rows in members]
    shares = [exact(weight[rows]) / total(exact(weight[rows])) for rows in members]
    rounded = [exact(weight[rows] / weight[rows].sum()) for rows in members]
    if problem is not None:
        require_borrowed(X, members, weight, problem, same=case.params["covariance"] == "pooled")
        X, members = problem.samples, [np.arange(*ends) for ends in itertools.pairwise(problem.starts)]
        rounded = [exact(problem.weights[own]) for own in members]
        shares = [own / total(own) for own in rounded]
    mean_radius, covariance_radius = verdict_svm_kinds.radii(case, model, [rows.size for rows in members])
    return Inputs(
        X=X,
        members=members,
        labels=labels,
        shares=shares,
        rounded=rounded,
        tau=[((1 - eps) / eps).sqrt()] * len(members),
        costs=costs,
        rounded_costs=rounded_costs,
        units=units,
        kernel=kernel,
        gamma=Decimal(float(getattr(model, "gamma_", 1.0))),
        degree=case.params["degree"],
        coef0=Decimal(case.params["coef0"]),
        centre=centre_of(model),
        added=_added(model.certificate_.claim),
        mean_radius=mean_radius,
        covariance_radius=covariance_radius,
        landmarks=verdict_svm_kinds.landmarks(case, model, members),
    )


def groups_of(case: Case, model: Any) -> NDArray[Any]:
    """The input of every row: as named, each its own, or as the model's k-means has it, one class at a time."""
    if case.named:
        return case.groups
    if case.params["batches"] in ROWS:
        return np.arange(case.y.size)
    codes = np.asarray(model.row_groups_)
    at = case.counting
    if any(np.unique(case.y[at][codes[at] == code]).size != 1 for code in np.unique(codes[at])):
        raise ValueError("a cluster has rows of two classes.")
    return codes


@exactly
def prices(case: Case, members: list[NDArray[Any]], weight: NDArray[Any]) -> tuple[list[Decimal], list[Decimal]]:
    """What slack costs: C for each row, those of named inputs shared evenly; in real numbers, and in doubles."""
    cost, counts = float(case.params["C"]), [weight[rows] for rows in members]
    if case.named:
        together = np.concatenate(counts)
        return (
            [Decimal(cost) * total(exact(together)) / len(members)] * len(members),
            [Decimal(cost * float(together.sum() / len(members)))] * len(members),
        )
    starts = np.concatenate(([0], np.cumsum([own.size for own in counts])[:-1]))
    rounded = cost * np.add.reduceat(np.concatenate(counts), starts)
    return [Decimal(cost) * total(exact(own)) for own in counts], [Decimal(float(price)) for price in rounded]


@exactly
def units_of(
    case: Case, model: Any, X: NDArray[Any], weight: NDArray[Any], variances: NDArray[Any] | None = None
) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Means and deviations of the columns as the model has them, which must be those of the definition; None if none."""
    wanted = case.params["standardize"] and isinstance(case.params["kernel"], str) and case.params["kernel"] != "precomputed"
    told = (model.column_means_, model.column_scales_)
    if not wanted:
        if told != (None, None):
            raise ValueError("columns are in other units, which nobody asked for.")
        return None
    shares = exact(weight) / total(exact(weight))
    for j, (offset, scale) in enumerate(zip(*told, strict=True)):
        column = exact(X[:, j])
        mean = total(shares * column)
        variance = total(share * (x - mean) ** 2 for share, x in zip(shares, column, strict=True))
        variance += Decimal(0) if variances is None else total(shares * exact(variances[:, j]))
        constant = len(set(X[:, j].tolist())) == 1 and (variances is None or not variances[:, j].any())
        largest = max(abs(x) for x in column) + (Decimal(0) if variances is None else max(exact(variances[:, j])).sqrt())
        # A spread of some last digits is rounding: the model may say so, as of a constant column.
        constant = constant or (scale == 1.0 and variance.sqrt() <= CONSTANT * largest)
        deviation = Decimal(1) if constant else variance.sqrt()
        slack = SUM_ROUNDING * largest + UNIT_ROUNDING * deviation
        if abs(Decimal(float(offset)) - mean) > slack or abs(Decimal(float(scale)) - deviation) > slack:
            raise ValueError(f"column {j} has the units {offset!r} and {scale!r}, not {short(mean)} and {short(deviation)}.")
    return told


def centre_of(model: Any) -> NDArray[Any] | None:
    """From where the plane that predicts is seen; it has no public name."""
    centre = getattr(model._scores.kernel, "centre", None)
    return None if centre is None else np.array(centre, dtype=np.float64)


def _added(claim: str) -> Decimal:
    said = re.search(rf"{NUMBER} added to the diagonal", claim)
    return Decimal(float(said[1])) if said else Decimal(0)


@exactly
def gram(inputs: Inputs) -> Numbers:
    """The products of all samples in feature space."""
    X = exact(inputs.X)
    if inputs.kernel == "precomputed":
        return X + inputs.added * exact(np.eye(len(X)))
    places = X if inputs.centre is None else np.vstack((X, exact(inputs.centre)))
    found = np.empty((len(places), len(places)), dtype=object)
    for s, t in itertools.product(range(len(places)), repeat=2):
        if inputs.kernel == "rbf":
            found[s, t] = (-inputs.gamma * total((a - b) ** 2 for a, b in zip(places[s], places[t], strict=True))).exp()
        else:
            product = total(a * b for a, b in zip(places[s], places[t], strict=True))
            found[s, t] = product if inputs.kernel == "linear" else (inputs.gamma * product + inputs.coef0) ** inputs.degree
    if inputs.centre is not None:
        found = found[:-1, :-1] - found[:-1, -1:] - found[-1:, :-1] + found[-1, -1]
    return found


@exactly
def features(inputs: Inputs) -> Numbers | None:
    """Explicit features of all samples, for kernels that have them."""
    X = exact(inputs.X)
    if inputs.kernel == "linear":
        return X
    if inputs.kernel != "poly":
        return None
    columns = []
    for powers in itertools.product(range(inputs.degree + 1), repeat=X.shape[1]):
        constant = inputs.degree - sum(powers)
        if constant < 0 or (constant > 0 and inputs.coef0 == 0):
            continue
        count = math.factorial(inputs.degree) // math.prod(math.factorial(k) for k in (*powers, constant))
        factor = (count * (inputs.coef0**constant if constant else 1) * inputs.gamma ** (inputs.degree - constant)).sqrt()
        columns.append(
            [factor * math.prod((x**k for x, k in zip(row, powers, strict=True) if k), start=Decimal(1)) for row in X]
        )
    return np.array(columns, dtype=object).T


@exactly
def demands(inputs: Inputs, values: Numbers, squared: Decimal, shares: list[Numbers]) -> list[Decimal]:
    """1 - y mean + tau deviation of every group, widened by its radii, for the values w . phi of the samples and ||w||^2."""
    found, squared = [], max(squared, Decimal(0))
    given = None if inputs.moments is None else verdict_svm_kinds.moments_along(inputs, values)
    for i, (rows, label, weights, tau) in enumerate(zip(inputs.members, inputs.labels, shares, inputs.tau, strict=True)):
        mean = total(weights * values[rows])
        variance = total(w * (value - mean) ** 2 for w, value in zip(weights, values[rows], strict=True))
        if given is not None:
            mean, variance = given[i]
        if inputs.mean_radius is not None and inputs.covariance_radius is not None:
            variance += inputs.covariance_radius[i] * squared
            mean -= label * inputs.mean_radius[i] * squared.sqrt()
        found.append(1 - label * mean + tau * variance.sqrt())
    return found


@exactly
def objective(inputs: Inputs, values: Numbers, squared: Decimal, intercept: Decimal | None) -> tuple[Decimal, Decimal]:
    """Objective with exact and with rounded batch weights; without an intercept, the best one of each."""
    found = []
    for shares, costs in ((inputs.shares, inputs.costs), (inputs.rounded, inputs.rounded_costs or inputs.costs)):
        needs = demands(inputs, values, squared, shares)
        places = [label * need for label, need in zip(inputs.labels, needs, strict=True)] if intercept is None else [intercept]
        hinge = min(
            total(
                cost * max(need - label * b, Decimal(0)) for label, need, cost in zip(inputs.labels, needs, costs, strict=True)
            )
            for b in places
        )
        found.append(max(squared, Decimal(0)) / 2 + hinge)
    return found[0], found[1]


def reference(inputs: Inputs, products: Numbers) -> Decimal | None:
    """The exact objective of the best plane that the conic model finds in two scalings; the larger of both readings."""
    explicit = features(inputs) if inputs.landmarks is None else None
    roots, basis = None, np.arange(len(products)) if inputs.landmarks is None else inputs.landmarks
    if explicit is None:
        values, vectors = np.linalg.eigh(products[np.ix_(basis, basis)].astype(np.float64))
        kept = values > SMALL_EIGENVALUE * values[-1]
        roots = vectors[:, kept], np.sqrt(values[kept])
        scaled = (
            roots[0] * roots[1] if inputs.landmarks is None else products[:, basis].astype(np.float64) @ (roots[0] / roots[1])
        )
        units = np.abs(scaled).max(axis=0, initial=0.0)
        scaled = scaled / units
    else:
        with np.errstate(all="ignore"):
            rough = np.array([[float(value) for value in row] for row in explicit])
        centre = exact(rough.mean(axis=0))
        away = (explicit - centre).astype(np.float64)
        units = np.abs(away).max(axis=0)
        units[units == 0] = 1.0
        scaled = away / units
    if not scaled.size:
        # All samples are one point of the feature space: w = 0 is as good as any.
        return None
    found = []
    for scale in (1.0, 1.0 / float(max(inputs.costs)), 1.0 / max(float(np.max(units)) ** -2, 1e-300)):
        w = _plane(inputs, scaled, units, scale)
        if w is None:
            continue
        if roots is not None:
            coefficients = np.zeros(len(products))
            coefficients[basis] = roots[0] @ (w / units / roots[1])
            reached = kernel_objective(inputs, products, exact(coefficients), None)
        else:
            reached = feature_objective(inputs, explicit, exact(w) / exact(units))
        found.append(max(reached))
    return min(found, default=None)


@exactly
def kernel_objective(inputs: Inputs, products: Numbers, coefficients: Numbers, intercept: Decimal | None) -> Any:
    values = products @ coefficients
    return objective(inputs, values, coefficients @ values, intercept)


@exactly
def feature_objective(inputs: Inputs, explicit: Any, w: Numbers) -> Any:
    return objective(inputs, explicit @ w, total(part * part for part in w), None)


def _plane(inputs: Inputs, scaled: NDArray[Any], units: NDArray[Any], scale: float) -> NDArray[Any] | None:
    """w over scaled features from the cone programme, its objective multiplied by ``scale``."""
    programme = Programme()
    p, count = scaled.shape[1], len(inputs.members)
    w, b, slack, length = programme.add(p), programme.add(1)[0], programme.add(count), programme.add(count)
    rho = programme.add(1)[0] if inputs.mean_radius is not None else None
    if rho is not None:
        programme.cones.append(("second", [({rho: 1.0}, 0.0), *(({w[j]: 1.0 / float(units[j])}, 0.0) for j in range(p))]))
    programme.square = {w[j]: scale / float(units[j]) ** 2 for j in range(p)}
    programme.linear = {slack[i]: scale * float(inputs.costs[i]) for i in range(count)}
    for i, rows in enumerate(inputs.members):
        share = np.array([float(part) for part in inputs.shares[i]])
        mean, label = share @ scaled[rows], inputs.labels[i]
        spread = np.sqrt(share)[:, None] * (scaled[rows] - mean)
        programme.positives.append(({slack[i]: 1.0}, 0.0))
        terms = {w[j]: label * float(mean[j]) for j in range(p)}
        parts: list[Row] = [({w[j]: float(line[j]) for j in range(p)}, 0.0) for line in spread]
        if rho is not None and inputs.mean_radius is not None and inputs.covariance_radius is not None:
            terms[rho] = -float(inputs.mean_radius[i])
            parts.append(({rho: math.sqrt(inputs.covariance_radius[i])}, 0.0))
        programme.positives.append(({slack[i]: 1.0, b: float(label), length[i]: -float(inputs.tau[i]), **terms}, -1.0))
        programme.cones.append(("second", [({length[i]: 1.0}, 0.0), *parts]))
    found = programme.solve()
    return None if found is None else found[list(w)]


def plane_of(case: Case, inputs: Inputs, model: Any) -> tuple[Numbers, Decimal]:
    """Coefficients of all samples that count, and the intercept as seen from the centre, of a fitted estimator."""
    made = case.covariances is not None or "borrowed from each other" in model.certificate_.claim
    counting = np.arange(len(inputs.X)) if made else case.counting
    place = {row: k for k, row in enumerate(counting.tolist())}
    coefficients = np.zeros(len(inputs.X))
    coefficients[[place[row] for row in np.asarray(model.support_).tolist()]] = np.asarray(model.dual_coef_)[0]
    return exact(coefficients), Decimal(float(model.centre_intercept_[0]))


def estimator(case: Case) -> Any:
    return sf.ChanceConstrainedSVC(**case.params)


def trial(seed: int) -> Record:
    """Draw, fit, and hold the certificate against the reference."""
    record, rng = begin(FAMILY, seed)
    case = verdict_svm_kinds.varied(draw(rng, record), rng, record)
    limit, kernel = case.params.get("time_limit"), case.params["kernel"]
    record.settings.append(f"{getattr(kernel, '__name__', kernel)} kernel")
    heard: list[type[Warning]] = []
    model = fitted(record, lambda: _listened(case, heard), limit, lambda error: False)
    if model is None:
        return record
    if model.outcome_.status is not Status.OPTIMAL and ConvergenceLimitWarning not in heard:
        record.add(FALSE_CLAIM, f"ended as {model.outcome_.status.value} without a word")
    inputs = read(case, model)
    products = gram(inputs)
    coefficients, intercept = plane_of(case, inputs, model)
    judge_plane(record, model.certificate_, inputs, products, coefficients, intercept)
    if ("in standard units" in model.certificate_.claim) != (inputs.units is not None):
        record.add(FALSE_CLAIM, "the claim is wrong about the units of the columns")
    if inputs.centre is not None or (inputs.units is not None and inputs.kernel == "linear"):
        _compare_public(record, replace(inputs, centre=None), model, coefficients, RoundedInterceptWarning in heard)
    excuse_limit(record, limit)
    if case.params["solver"] != "auto" and not record.verified:
        record.settings.append(f"solver {case.params['solver']}")
        record.found.pop(REFUSED, None)
    return record


def _listened(case: Case, heard: list[type[Warning]]) -> Any:
    """The fitted estimator; what it warns of is noted."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = verdict_svm_kinds.fit(estimator(case), case)
    heard += [entry.category for entry in said]
    return model


@exactly
def _compare_public(record: Record, plain: Inputs, model: Any, coefficients: Numbers, warned: bool) -> None:
    """What people read off the model is the plane that was proven, as nearly as doubles can say it, or the model says so.

    ``public_objective_`` is what it says, and what it warns of if that is not within the tolerance of the bound.
    """
    certificate, intercept = model.certificate_, Decimal(float(model.intercept_[0]))
    told = {}
    if plain.units is None or plain.kernel != "linear":
        told["dual_coef_"] = min(kernel_objective(plain, gram(plain), coefficients, intercept))
    if plain.kernel == "linear":
        w, rows, scales = exact(model.coef_[0]), exact(plain.X), exact(np.ones(plain.X.shape[1]))
        if plain.units is not None:
            # The objective counts ||w|| in standard units.
            offsets, scales = exact(plain.units[0]), exact(plain.units[1])
            rows = rows * scales + offsets
        told["coef_"] = min(objective(plain, rows @ w, total((w * scales) ** 2), intercept))
    known = float(model.public_objective_) if warned else certificate.upper_bound
    most = Decimal(max(certificate.upper_bound, known)) * (1 + Decimal(certificate.tolerance))
    for names, found in told.items():
        if certificate.verified and found > most:
            record.add(FALSE_CLAIM, f"{names} and intercept_ have {short(found)}, the claim says at most {short(most)}")


def judge_plane(
    record: Record, certificate: Any, inputs: Inputs, products: Numbers, coefficients: Numbers, intercept: Decimal
) -> None:
    """Hold a certificate against the exact objective of its plane and the reference."""
    readings = kernel_objective(inputs, products, coefficients, intercept)
    # No plane has no slack at all for less than this: w = 0 is one.
    flat = objective(inputs, exact(np.zeros(len(inputs.X))), Decimal(0), None)
    best = reference(inputs, products)
    best = max(flat) if best is None or (best > max(readings) * (1 + POOR) and max(flat) < best) else min(best, max(flat))
    judge(record, certificate, max(readings), best, least=min(readings))
