"""Fitting rows in partitions, wherever they are: sum up, pose, solve, certify, unpack, one partition at a time.

Batches (:mod:`surefoot.robust.estimator.outside_memory.batch_fit`) and the partitions of a Dask table
(:mod:`surefoot.robust.estimator.outside_memory.dask_fit`) differ in where the rows are and in how a certificate gets at them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from surefoot.core.certificate import Certificate
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.design.encode.doubtful_columns import warn_of_doubtful_columns
from surefoot.design.encode.mixed_design import MixedDesign
from surefoot.design.read.batches import BatchTable
from surefoot.design.read.partitioned_table import PartitionedTable
from surefoot.exceptions import UnsupportedProblemError
from surefoot.robust.automatic import Automatic
from surefoot.robust.estimator.automatic_radius import FoundRadius, find_radius, sampling_error
from surefoot.robust.estimator.held_out_radius import HeldOut, asked, can_be_asked
from surefoot.robust.estimator.lone_intercept import warn_of_lone_intercept
from surefoot.robust.estimator.robust_logistic_model import RobustLogisticModel, ShiftPrices, Solution, named_solver
from surefoot.robust.estimator.unseen_levels import with_unseen_levels
from surefoot.robust.problem.column_moments import BatchSums
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.problem.row_batch import RowBatch
from surefoot.robust.problem.terms import Terms
from surefoot.robust.registry import RobustLogisticSolver
from surefoot.robust.sqp.sqp import SQP
from surefoot.robust.streaming.standard_partitions import RawPartitions
from surefoot.robust.streaming.streamed import PartitionedOutcome, partition_sums, require_streamable, solve_partitions
from surefoot.sklearn_api.sample_weight import row_weights
from surefoot.sklearn_api.training_rows import TrainingRows

# Tolerance of a second solve, relative to the first, where its plan did not prove what its bound said.
CLOSER = 1e-3


def require_support(model: RobustLogisticModel, solver: RobustLogisticSolver, parts: str) -> None:
    """Raise ``UnsupportedProblemError`` if the model needs what rows in parts (batches, partitions) cannot give."""
    for refused, reason in (
        (solver.name not in (Automatic.name, SQP.name), f"solver={model.solver!r} needs all rows at once. Use solver='auto'"),
        (model.missing_numeric == "median", f"missing_numeric='median' needs all rows at once. Fill the gaps in the {parts}"),
        (
            model.shift is not None,
            "a shift model is calibrated on a table. Calibrate it on a sample and pass its weights and radius",
        ),
    ):
        if refused:
            raise UnsupportedProblemError(f"cannot fit {parts} of rows: {reason}.")


def fit_partitions(
    model: RobustLogisticModel,
    table: BatchTable | PartitionedTable,
    parts: RawPartitions,
    options: SolveOptions,
    radius: float | None,
    certify: Callable[[Terms, PartitionedOutcome], Certificate],
    sample: Any,
) -> Solution:
    """Fit a model to rows in partitions; nothing of the model changes before the solve is certified.

    Parameters
    ----------
    model : RobustLogisticModel
    table : BatchTable or PartitionedTable
        What has been learned about the columns.
    parts : the encoded rows
    options : SolveOptions
    radius : float or None
        None: it follows from the sampling error of the table.
    certify : callable
        Certifies an outcome for the given terms.
    sample : table or None
        A few rows as they came in, which tell the data frame library.
    """
    present = [sum(parts.counts)] * len(table.schema.categorical_positions)
    warn_of_doubtful_columns(f"{type(model).__name__}.fit", table.schema, None, present, **model._known_columns(), stacklevel=5)
    sums = partition_sums(parts, table.schema.n_levels)
    summary = summary_rows(table, sums)
    prices = ShiftPrices(model.numeric_weights, model.categorical_weights, None, ranges=model.numeric_range)
    if model.numeric_range is not None and sums.is_sparse:
        raise UnsupportedProblemError(
            "the columns of sparse parts have no ranges: make the parts dense, or leave numeric_range out."
        )
    cost = model._cost(summary, prices, (sums.all_rows.low, sums.all_rows.high))
    terms = Terms(table.schema.n_levels, cost, radius or 0.0, bool(model.fit_intercept))
    found = None
    if radius is None:
        found = _find_radius(terms, parts, options, sums)
        terms = replace(terms, radius=found.radius)
    require_streamable(terms)
    held = sums.positive_levels + sums.negative_levels

    def solved(own: SolveOptions, nearest: RobustCoefficients | None) -> PartitionedOutcome:
        outcome = solve_partitions(terms, parts, own, sums=sums, warm_start=nearest)
        return replace(outcome, primal=with_unseen_levels(terms, outcome.primal, held))

    outcome = solved(options, None if found is None else found.nearest)
    certificate = certify(terms, outcome)
    if outcome.status is Status.OPTIMAL and not certificate.verified:
        # A solver's own bound may be a claim, and plans in partitions are not polished: some steps more.
        closer = replace(options, tolerance=CLOSER * options.tolerance)
        again = solved(closer, outcome.primal)
        judged = certify(terms, again)
        if judged.relative_gap < certificate.relative_gap:
            outcome, certificate = replace(again, iterations=outcome.iterations + again.iterations), judged
    solution = Solution(terms, outcome, certificate, SQP.name)
    model._unpack(sample, summary, terms, outcome.primal)
    model.sampling_error_ = None if found is None else found.error
    model.part_rows_ = tuple(map(int, parts.counts))
    model._unpack_proof(solution)
    if found is None and certificate.verified:
        warn_of_lone_intercept(terms, outcome.primal, sums, sums.tally, f"{type(model).__name__}.fit")
    return solution


def _find_radius(terms: Terms, parts: RawPartitions, options: SolveOptions, sums: BatchSums) -> FoundRadius:
    def solve(radius: float, own: SolveOptions, nearest: RobustCoefficients | None) -> RobustCoefficients:
        posed = replace(terms, radius=radius)
        require_streamable(posed)
        return solve_partitions(posed, parts, own, sums=sums, warm_start=nearest).primal

    def ask(radius: float, own: SolveOptions) -> HeldOut | None:
        rows, coefficients = sum(parts.counts), terms.n_numeric + int(terms.n_levels.sum())
        if not can_be_asked(sums.tally, rows, coefficients):
            return None
        batch = _joined(list(parts.each(_weighted_rows, [()] * len(parts.counts))))
        weights = row_weights(batch.weights, batch.n_rows)
        posed = (batch.numeric, batch.codes, terms.n_levels, batch.labels, weights, terms.cost, radius, terms.fit_intercept)
        return asked(RobustLogisticProblem(*posed), batch.weights, named_solver(Automatic.name), own)

    return find_radius(sampling_error(terms, sums, sums.tally), solve, options, ask)


def _joined(batches: Sequence[RowBatch]) -> RowBatch:
    """The rows of all batches, in their order."""
    numeric = [batch.numeric for batch in batches]
    stacked = scipy.sparse.vstack(numeric, format="csr") if batches[0].is_sparse else np.vstack(numeric)
    codes, labels, weights = (
        np.concatenate([getattr(batch, name) for batch in batches]) for name in ("codes", "labels", "weights")
    )
    return RowBatch(stacked, codes, labels, weights)


def _weighted_rows(batch: RowBatch) -> RowBatch:
    return batch.take(np.flatnonzero(batch.weights > 0))


def with_plan(
    model: RobustLogisticModel, terms: Terms, outcome: PartitionedOutcome, parts: RawPartitions
) -> PartitionedOutcome:
    """The outcome as it is, or after loading, when its plan is gone, with one found again by some steps from its model."""
    if outcome.dual is not None:
        return outcome
    options = model._options(f"{type(model).__name__}, its plan again")
    options = replace(options, polish=False, tolerance=CLOSER * options.tolerance)
    return replace(outcome, dual=solve_partitions(terms, parts, options, warm_start=outcome.primal).dual)


def summary_rows(table: BatchTable | PartitionedTable, sums: BatchSums) -> TrainingRows:
    """Two rows, one standard deviation to either side of 0: all that the default prices need of the columns."""
    moments = sums.all_rows
    spread = np.where(moments.low == moments.high, 0.0, moments.spread)
    codes = np.zeros((2, len(table.schema.categorical_positions)), dtype=np.int32)
    design = MixedDesign(np.vstack((-spread, spread)), codes, table.schema.n_levels, table.schema)
    return TrainingRows(design, np.array([-1.0, 1.0]), np.array([0.5, 0.5]), table.classes, np.arange(2), np.ones(2))
