"""From rows in groups, in clusters or one by one, or from given moments, to the problem of a chance-constrained SVM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from surefoot.chancesvm.estimator.posed_svm import PosedSVM
from surefoot.chancesvm.estimator.svm_kernel import make_kernel
from surefoot.chancesvm.estimator.svm_settings import SVMSettings
from surefoot.chancesvm.inputs.borrowed_repeats import Repeats, RepeatSamples, borrowed_samples
from surefoot.chancesvm.inputs.class_clusters import class_clusters, kernel_coordinates
from surefoot.chancesvm.inputs.class_prices import class_prices
from surefoot.chancesvm.inputs.column_units import ColumnUnits, standard_units
from surefoot.chancesvm.inputs.given_moments import MomentSamples, moment_samples, read_covariances
from surefoot.chancesvm.inputs.uncertain_inputs import (
    UncertainInputs,
    gather_inputs,
    read_violation,
    require_enough_samples,
    violation_of,
)
from surefoot.chancesvm.problem.kernel_matrix import mended
from surefoot.chancesvm.problem.kernels import Kernel, centred
from surefoot.chancesvm.problem.landmark_kernel import on_landmarks
from surefoot.chancesvm.problem.moment_radii import MomentRadii, least_samples, moment_radii
from surefoot.chancesvm.problem.problem import ChanceSVMProblem
from surefoot.core.arrays import FloatArray, RowArray
from surefoot.design.encode.row_groups import RowGroups, read_row_groups
from surefoot.design.encode.schema import Level
from surefoot.exceptions import CertificateError
from surefoot.sklearn_api.number_table import dense
from surefoot.sklearn_api.training_rows import TrainingRows


def read_groups(groups: Any, n_rows: int, rows: TrainingRows, settings: SVMSettings) -> RowGroups | None:
    """The groups of the rows that count, or None if nobody named any."""
    if groups is None:
        if settings.confidence is not None:
            raise ValueError(
                "confidence needs groups: neither single rows nor clusters are independent samples of one input. Pass groups "
                "to fit, or confidence=None."
            )
        return None
    return read_row_groups(groups, n_rows).take(rows.positions)


def pose_rows(
    rows: TrainingRows,
    given: RowGroups | None,
    settings: SVMSettings,
    units: ColumnUnits | None = None,
    *,
    named: bool | None,
) -> PosedSVM:
    """The problem of rows, in given groups, in clusters or one by one; in the units of a fit, or in those of the settings.

    ``named`` says whether it was the user who named the groups; None for a model from before that made a difference, when every
    input cost C.

    Raises
    ------
    CertificateError
        If the units of a fit are not the standard ones of these rows.
    """
    block = raw = settings.block(rows.design, rows)
    if settings.has_units:
        units = _own_units(units, standard_units(raw, rows.weights), raw)
        block = units.standardized(raw)
    kernel = make_kernel(settings.kernel, settings.gamma, settings.degree, settings.coef0, block, rows.weights)
    groups = _own_groups(block, rows, settings) if given is None else given
    inputs = gather_inputs(groups, rows.labels, rows.classes, rows.weights)
    violation = read_violation(settings.violation, None if given is None else groups.names)
    order = inputs.order
    if np.array_equal(order, np.arange(order.size)):
        samples = np.ascontiguousarray(block)
    else:
        samples = block[np.ix_(order, order)] if settings.precomputed else block[order]
    with np.errstate(over="ignore", under="ignore"):
        prices = _prices(rows.counts[order], inputs.starts, named)
        costs = settings.cost * prices * _class_factors(settings, rows, order[inputs.starts[:-1]], inputs.labels, prices)
    _require_prices(costs, settings)
    borrowed = repeats = None
    if named and settings.borrows:
        repeats = Repeats.of(samples, inputs.starts, inputs.weights, rows.counts[order])
        borrowed = borrowed_samples(repeats, rows.counts[order], same=settings.covariance == "pooled")
    made = None if borrowed is None else borrowed[0]
    posed = _pose(samples, inputs, violation_of(violation, inputs.names), costs, kernel, settings, made=made)
    pool = None if borrowed is None else borrowed[1]
    return replace(posed, units=units, rows=raw if settings.has_units else None, pool=pool, repeats=repeats)


def _own_units(known: ColumnUnits | None, found: ColumnUnits, rows: FloatArray) -> ColumnUnits:
    """The units of a fit, to the last digit, if these are its rows; or those that were found."""
    if known is None:
        return found
    if not known.fit(found, rows):
        raise CertificateError(
            "these are not the rows of the proof, or not with its weights: the model has its columns in other units than "
            "theirs."
        )
    return known


def _class_factors(
    settings: SVMSettings, rows: TrainingRows, first: RowArray, labels: FloatArray, counts: FloatArray
) -> FloatArray:
    """By what the classes of inputs multiply their prices; ``first`` is a row of each."""
    if settings.row_prices is not None:
        return settings.row_prices[rows.positions[first]]
    return class_prices(settings.class_weight, rows.classes, (labels > 0).astype(np.intp), counts)


def _require_prices(costs: FloatArray, settings: SVMSettings) -> None:
    if not (costs.min() > 0 and np.isfinite(costs.sum())):
        weighted = "" if settings.class_weight is None else " times class_weight"
        raise ValueError(
            f"C times sample_weight{weighted} is no price of slack: it must be a finite number above 0 for every input."
        )


def _prices(counts: FloatArray, starts: RowArray, named: bool | None) -> FloatArray:
    """What the slack of each input costs at C = 1: all together as much as the rows would if each were an input."""
    if named is None:
        return np.ones(starts.size - 1)
    # Batches that nobody named stand for their rows; inputs that somebody did are as important as each other.
    if named:
        return np.full(starts.size - 1, counts.sum() / (starts.size - 1))
    return np.add.reduceat(counts, starts[:-1])


def pose_moments(rows: TrainingRows, covariances: Any, settings: SVMSettings, units: ColumnUnits | None = None) -> PosedSVM:
    """The problem of inputs that are known by their moments; in given units, or in those of the settings."""
    means = dense(rows.design.numeric)
    matrices = read_covariances(means, covariances)
    if settings.has_units:
        variances = np.diagonal(matrices, axis1=1, axis2=2)
        units = _own_units(units, standard_units(means, rows.weights, variances), np.vstack((means, np.sqrt(variances))))
        means, matrices = units.standardized(means), units.covariances(matrices)
    moments = moment_samples(means, matrices)
    names: tuple[Level, ...] = tuple(rows.positions.tolist())
    sizes = np.diff(moments.starts)
    inputs = UncertainInputs(
        names=names,
        labels=rows.labels,
        order=np.arange(len(moments.samples)),
        starts=moments.starts,
        weights=np.repeat(1.0 / sizes, sizes),
        equal_weights=True,
    )
    violation = violation_of(read_violation(settings.violation, names), names)
    with np.errstate(over="ignore", under="ignore"):
        every = np.arange(len(names))
        costs = settings.cost * _class_factors(settings, rows, every, rows.labels, np.ones(len(names)))
    _require_prices(costs, settings)
    posed = _pose(moments.samples, inputs, violation, costs, Kernel("linear"), settings, moments)
    return replace(posed, units=units)


def _pose(
    samples: FloatArray,
    inputs: UncertainInputs,
    violation: FloatArray,
    costs: FloatArray,
    kernel: Kernel,
    settings: SVMSettings,
    moments: MomentSamples | None = None,
    made: RepeatSamples | None = None,
) -> PosedSVM:
    radii = _radii(inputs, settings)
    starts, weights = inputs.starts, inputs.weights
    if made is not None:
        samples, starts, weights = made.samples, made.starts, made.weights
    problem = ChanceSVMProblem(
        samples=samples,
        starts=starts,
        labels=inputs.labels,
        costs=costs,
        violation=violation,
        kernel=kernel,
        weights=weights,
        # Checked and mended below.
        gram=samples if kernel.name == "precomputed" and settings.n_landmarks is None else None,
        mean_radius=None if radii is None else radii.mean,  # type: ignore[arg-type]
        covariance_radius=None if radii is None else radii.covariance,  # type: ignore[arg-type]
        means=None if moments is None else moments.means,
        covariances=None if moments is None else moments.covariances,
        widening=0.0 if moments is None else moments.widening,
        standardized=settings.has_units,
        borrowed=made is not None,
    )
    solved = on_landmarks(problem, settings.n_landmarks, settings.landmark_candidates)
    if solved is problem:
        # Combinations of landmarks need not add up to 0, so they would be other planes seen from a centre.
        problem = solved = mended(replace(problem, kernel=centred(kernel, samples)))
    return PosedSVM(problem, solved, inputs, radii, from_rows=moments is None)


def _radii(inputs: UncertainInputs, settings: SVMSettings) -> MomentRadii | None:
    if settings.confidence is None or settings.kernel_bound is None:
        return None
    if not inputs.equal_weights:
        raise ValueError("confidence needs rows of equal weight: it counts independent samples. Leave sample_weight out.")
    require_enough_samples(inputs, least_samples(settings.confidence), settings.confidence)
    return moment_radii(inputs.sizes, settings.confidence, settings.kernel_bound)


def _own_groups(block: FloatArray, rows: TrainingRows, settings: SVMSettings) -> RowGroups:
    """Where nobody named groups: every row on its own, or clusters."""
    if settings.batches in ("auto", "rows"):
        return RowGroups(tuple(range(len(block))), np.arange(len(block)), rows.positions)
    count = None if isinstance(settings.batches, str) else settings.batches
    points = kernel_coordinates(block, rows.labels) if settings.precomputed else block
    codes = class_clusters(points, rows.labels, rows.weights, count, settings.seed)
    names: Sequence[Level] = range(int(codes.max()) + 1)
    return RowGroups(tuple(names), codes, rows.positions)
