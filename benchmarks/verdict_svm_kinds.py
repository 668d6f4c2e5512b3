"""Chance-constrained SVMs beyond samples and a named kernel: landmarks, confidence, functions as kernels, given moments.

About a third of the problems of :mod:`verdict_svm` are changed into one of these. Radii, which the reference takes from the
model, are held against the definitions first. Means and covariances are those given; the points that stand for them in the
model only say which plane its coefficients are.
"""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import verdict_svm
from numpy.typing import NDArray
from verdict_numbers import Numbers, exact, exactly, total
from verdict_record import EXTREME, NUMBER, Record

from surefoot.chancesvm.estimator.chance_svc_proof import read_rows
from surefoot.chancesvm.estimator.svm_settings import read_settings

if TYPE_CHECKING:
    from verdict_svm import Case, Inputs

VARIED = 0.35
# Radii are products and quotients of a few doubles.
ROUNDED = Decimal("1e-14")
# How often extreme covariances are long in the same directions for all inputs, so that the best w avoids these.
LONG = 0.5


def dot(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """The linear kernel, entry by entry: its matrix does not depend on the order of rows."""
    return np.asarray((left[:, None, :] * right[None]).sum(axis=2))


def quadratic(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """A polynomial kernel."""
    return np.asarray((dot(left, right) + 1.0) ** 2)


def laplace(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """A kernel that has no name here."""
    return np.asarray(np.exp(-0.5 * np.abs(left[:, None, :] - right[None]).sum(axis=2)))


def varied(case: Case, rng: np.random.Generator, record: Record) -> Case:
    """The case, or one of another kind."""
    return _borrowing(_of_another_kind(case, rng, record), rng, record)


def _of_another_kind(case: Case, rng: np.random.Generator, record: Record) -> Case:
    if rng.random() > VARIED:
        return case
    kind = str(rng.choice(["landmarks", "landmarks", "confidence", "function", "function", "moments"]))
    if kind == "landmarks" and case.counting.size > 3:
        params = {**case.params, "n_landmarks": int(rng.integers(2, case.counting.size)), "solver": "auto"}
        if case.params["kernel"] == "linear" or rng.random() < 0.2:
            params["kernel"] = "rbf" if case.params["kernel"] != "precomputed" else "precomputed"
        found = replace(case, params=params)
    elif kind == "confidence":
        found = _confident(case, rng)
    elif kind == "function" and case.params["kernel"] != "precomputed":
        found = replace(case, params={**case.params, "kernel": [dot, quadratic, laplace][int(rng.integers(3))]})
    elif kind == "moments" and case.params["kernel"] != "precomputed":
        found = _by_moments(case, rng, odd=record.stratum == EXTREME)
    else:
        return case
    record.settings.append(kind)
    return found


def _borrowing(case: Case, rng: np.random.Generator, record: Record) -> Case:
    """Some inputs borrow deviations from each other, where that is a question."""
    kernel = case.params["kernel"]
    asked = str(rng.choice(["batch", "batch", "auto", "shrunk", "pooled"]))
    other = case.covariances is not None or case.params.get("confidence") or case.params.get("n_landmarks")
    if other or not case.named or not isinstance(kernel, str) or kernel == "precomputed":
        asked = "batch"
    record.settings += [f"covariance {asked}"] if asked != "batch" else []
    return replace(case, params={**case.params, "covariance": asked})


def posed_problem(case: Case, model: Any) -> Any:
    """The problem whose samples inputs that borrow from each other are, as the model has them; None where none do."""
    if "borrowed from each other" not in model.certificate_.claim:
        return None
    settings = read_settings(model)
    return model._posed_again(*read_rows(case.X, case.y, case.groups, case.weight, settings), settings).problem


def _confident(case: Case, rng: np.random.Generator) -> Case:
    """Groups of as many rows as a confidence needs, around the rows of the first groups, and without weights."""
    kernel = "rbf" if case.params["kernel"] == "precomputed" else case.params["kernel"]
    starts = [np.flatnonzero(case.groups == group)[0] for group in np.unique(case.groups)]
    sides = case.y[starts]
    chosen = [starts[int(np.flatnonzero(sides == 0)[0])], starts[int(np.flatnonzero(sides == 1)[0])]]
    size = int(rng.integers(17, 21))
    rows = case.X[chosen] if case.X.shape[1] < 4 else rng.normal(size=(2, 2))
    spread = np.abs(rows[0] - rows[1]) * rng.uniform(0.01, 0.3) + 1e-3 * np.abs(rows).max()
    X = np.repeat(rows, size, axis=0) + spread * rng.normal(size=(2 * size, rows.shape[1]))
    params = {**case.params, "kernel": kernel, "confidence": float(rng.uniform(0.05, 0.5))}
    if kernel != "rbf":
        params["kernel_bound"] = float(10.0 ** rng.uniform(-3, 1) * (1.0 + np.abs(X).max()))
    return replace(
        case, X=X, y=np.repeat(case.y[chosen], size), groups=np.repeat([0, 1], size), weight=None, params=params, named=True
    )


def _by_moments(case: Case, rng: np.random.Generator, *, odd: bool) -> Case:
    """A mean and a covariance for each group, of full rank; extreme ones of any rank, or ill-conditioned and common to all."""
    starts = [np.flatnonzero(case.groups == group)[0] for group in np.unique(case.groups)]
    means, n = case.X[starts], case.X.shape[1]
    units = np.abs(means - means.mean(axis=0)).max(axis=0) * rng.uniform(0.05, 0.5)
    covariances = np.zeros((len(means), n, n))
    for matrix in covariances:
        rank = n if not odd else int(rng.integers(0, n + 1))
        axes = rng.normal(size=(rank, n)) * units
        matrix[:] = np.einsum("ki,kj->ij", axes, axes)
    if odd and rng.random() < LONG:
        axes = rng.normal(size=(max(1, n - 1), n)) * units * 10.0 ** rng.uniform(0, 4)
        covariances[:] = np.einsum("ki,kj->ij", axes, axes)
    params = {**case.params, "kernel": "linear"}
    return replace(
        case, X=means, y=case.y[starts], groups=np.arange(len(means)), weight=None, params=params, covariances=covariances,
        named=True,
    )  # fmt: skip


def fit(model: Any, case: Case) -> Any:
    """Fit an estimator to rows, or to moments."""
    if case.covariances is not None:
        return model.fit_moments(case.X, case.covariances, case.y)
    return model.fit(case.X, case.y, case.given_groups, case.weight)


@exactly
def radii(case: Case, model: Any, sizes: list[int]) -> tuple[list[Decimal] | None, list[Decimal] | None]:
    """The radii of a model, which must be those of the definition."""
    if model.moment_radii_ is None:
        return None, None
    delta = 1 - Decimal(case.params["confidence"])
    bound = Decimal(case.params.get("kernel_bound", 1.0))
    named = [Decimal(float(r)) for r in model.moment_radii_.mean], [Decimal(float(v)) for v in model.moment_radii_.covariance]
    for size, mean, covariance in zip(sizes, *named, strict=True):
        wanted = bound / Decimal(size).sqrt() * (2 + (2 * (2 / delta).ln()).sqrt())
        wider = 2 * bound**2 / Decimal(size).sqrt() * (2 + (2 * (4 / delta).ln()).sqrt())
        if abs(mean - wanted) > ROUNDED * wanted or abs(covariance - wider) > ROUNDED * wider:
            raise ValueError(f"the radii are {mean} and {covariance}, not {wanted} and {wider}.")
    return named


def landmarks(case: Case, model: Any, members: list[NDArray[Any]]) -> NDArray[Any] | None:
    """Which samples planes combine, by their places among those that count; None if all."""
    if "n_landmarks" not in case.params:
        return None
    arguments = model._proof_parts(case.X, case.y, case.weight, case.given_groups).arguments
    kernel = arguments["problem"].kernel
    return np.concatenate(members)[kernel.places] if kernel.name == "landmarks" else None


@exactly
def read_moments(case: Case, model: Any) -> Inputs:
    """Given moments, and the points that stand for them as batches, with one more for each column."""
    assert case.covariances is not None
    problem = model._proof_parts((case.X, case.covariances), case.y, None, None).arguments["problem"]
    members = np.split(np.arange(problem.n_samples), problem.starts[1:-1])
    eps = Decimal(case.params["violation"])
    points, moves = _with_axes(problem.samples)
    shares = [exact(np.ones(rows.size)) / Decimal(rows.size) for rows in members]
    # Variances count as often as the claim says; what a covariance is beside its symmetric part cancels in w' S w.
    said = re.search(rf"all variances times 1 \+ {NUMBER}", model.certificate_.claim)
    factor = 1 + (Decimal(float(said[1])) if said else Decimal(0))
    means, matrices = case.X, case.covariances
    variances = np.diagonal(matrices, axis1=1, axis2=2)
    units = verdict_svm.units_of(case, model, means, np.ones(len(means)), variances)
    if units is not None:
        means, matrices = (means - units[0]) / units[1], matrices / units[1][:, None] / units[1]
    covariances = [exact(covariance) for covariance in matrices]
    for covariance in covariances:
        np.fill_diagonal(covariance, np.diagonal(covariance) * factor)
    return verdict_svm.Inputs(
        X=points,
        members=members,
        labels=[int(2 * side - 1) for side in case.y],
        shares=shares,
        rounded=[exact(np.full(rows.size, 1.0 / rows.size)) for rows in members],
        tau=[((1 - eps) / eps).sqrt()] * len(members),
        costs=[Decimal(case.params["C"])] * len(members),
        units=units,
        kernel="linear",
        gamma=Decimal(1),
        degree=1,
        coef0=Decimal(0),
        centre=verdict_svm.centre_of(model),
        moments=([exact(mean) for mean in means], covariances),
        moves=moves,
    )


def _with_axes(points: NDArray[Any]) -> tuple[NDArray[Any], Numbers]:
    """The points, with the first one moved along each column at the end, and by how much: what tells w by its values."""
    moves = np.exp2(np.round(np.log2(np.abs(points - points[0]).max(axis=0) + 1e-9 * np.abs(points[0]) + 1e-30)))
    moved = points[0] + np.diag(moves)
    return np.vstack((points, moved)), exact(np.diagonal(moved)) - exact(points[0])


@exactly
def moments_along(inputs: Inputs, values: Numbers) -> list[tuple[Decimal, Decimal]]:
    """w . M + constant and w' S w of every input, from the values of a plane at the points of :func:`_with_axes`."""
    assert inputs.moves is not None and inputs.moments is not None
    w = (values[-len(inputs.moves) :] - values[0]) / inputs.moves
    first, found = exact(inputs.X[0]), []
    for mean, covariance in zip(*inputs.moments, strict=True):
        variance = total(w[j] * w[k] * covariance[j, k] for j in range(len(w)) for k in range(len(w)))
        found.append((values[0] + total(w * (mean - first)), max(variance, Decimal(0))))
    return found
