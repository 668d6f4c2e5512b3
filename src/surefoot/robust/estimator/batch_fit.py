"""Fitting rows that come in batches: the same steps as for a table in memory, one batch at a time.

    fit = learn the columns (design), sum them up (problems), solve (solvers), certify (certificates), unpack

Every step is a pass over the batches or several. A batch is encoded, asked for its sums, and forgotten; nothing is written to
disk, and an interrupt between two batches ends the fit with the model as it was before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

from surefoot.design.encode.mixed_design import MixedDesign
from surefoot.design.read.batches import BatchTable, is_batches, learn_batches
from surefoot.design.read.parquet import ParquetBatches, is_parquet_path, open_parquet
from surefoot.design.read.partitioned_table import PartitionedTable
from surefoot.exceptions import InvalidTableError, UnsupportedProblemError
from surefoot.robust.automatic import Automatic
from surefoot.robust.certificate.partitioned_certificate import certify_parts
from surefoot.robust.estimator.robust_logistic_model import RobustLogisticModel, ShiftPrices, Solution
from surefoot.robust.problem.column_moments import BatchSums
from surefoot.robust.problem.problem import ShiftPlan
from surefoot.robust.problem.row_batch import RowBatch
from surefoot.robust.problem.terms import Terms
from surefoot.robust.registry import RobustLogisticSolver
from surefoot.robust.sqp.sqp import SQP
from surefoot.robust.streaming.streamed import PartitionedPlan, partition_sums, require_streamable, solve_partitions
from surefoot.sklearn_api.limit_warning import warn_of_limit
from surefoot.sklearn_api.training_rows import TrainingRows

Answer = TypeVar("Answer")


def open_batches(X: Any, y: Any, sample_weight: Any) -> Iterable[Any] | None:
    """What was given to ``fit`` as batches, or None if it is a table.

    Raises
    ------
    InvalidTableError
        If the batches can be read only once, or what stands beside them makes no sense; nothing has been read then.
    """
    if is_parquet_path(X):
        return open_parquet(X, y, sample_weight)
    if not is_batches(X, y):
        return None
    if sample_weight is not None:
        raise InvalidTableError("the weights of rows in batches come with each batch: (X, y, sample_weight).")
    batches: Iterable[Any] = X
    return batches


@dataclass(frozen=True)
class EncodedParts:
    """The batches of a table as the parts that a solver asks."""

    table: BatchTable

    @property
    def counts(self) -> Sequence[int]:
        return self.table.counts

    def __iter__(self) -> Iterator[RowBatch]:
        for batch in self.table:
            yield RowBatch(batch.design.numeric, batch.design.codes, batch.signs, batch.weights, batch.first_row)

    def each(self, work: Callable[..., Answer], arguments: Sequence[tuple[Any, ...]]) -> Iterable[Answer]:
        for batch, given in zip(self, arguments, strict=True):
            yield work(batch, *given)


@dataclass(frozen=True)
class PlannedParts:
    """The same batches, each with its share of the adversary's plan."""

    parts: EncodedParts
    plan: PartitionedPlan | None

    def __iter__(self) -> Iterator[tuple[RowBatch, ShiftPlan | None]]:
        for k, batch in enumerate(self.parts):
            yield batch, None if self.plan is None else self.plan.of_partition(k, batch)


def fit_batches(model: RobustLogisticModel, source: Iterable[Any], solver: RobustLogisticSolver, radius: float) -> None:
    """Fit a model to batches; nothing of the model changes before the fit has succeeded."""
    require_support(model, solver, "batches")
    table = learn_batches(source, model._encoder())
    parts = EncodedParts(table)
    schema = table.schema
    sums = partition_sums(parts, schema.n_levels)
    summary = summary_rows(table, sums)
    prices = ShiftPrices(model.numeric_weights, model.categorical_weights, None)
    terms = Terms(schema.n_levels, model._cost(summary, prices), radius, bool(model.fit_intercept))
    require_streamable(terms)
    title = f"{type(model).__name__}, radius {radius:g}, {len(table.counts)} batches"
    outcome = solve_partitions(terms, parts, model._options(title), sums=sums)
    with threadpool_limits(limits=joblib.effective_n_jobs(model.n_jobs), user_api="blas"):
        certificate = certify_parts(terms, outcome.primal, PlannedParts(parts, outcome.dual), float(model.tol))
    solution = Solution(terms, outcome, certificate, SQP.name)
    model._unpack(None if isinstance(source, ParquetBatches) else table.sample, summary, terms, outcome.primal)
    model._unpack_proof(solution)
    if not certificate.verified:
        warn_of_limit(solution, f"{type(model).__name__}.fit")


def require_support(model: RobustLogisticModel, solver: RobustLogisticSolver, parts: str) -> None:
    """Raise ``UnsupportedProblemError`` if the model asks for what rows in parts (batches, partitions) cannot give."""
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


def summary_rows(table: BatchTable | PartitionedTable, sums: BatchSums) -> TrainingRows:
    """Two rows, one standard deviation to either side of 0: all that the default prices ask of the columns."""
    moments = sums.all_rows
    spread = np.where(moments.low == moments.high, 0.0, moments.spread)
    codes = np.zeros((2, len(table.schema.categorical_positions)), dtype=np.int32)
    design = MixedDesign(np.vstack((-spread, spread)), codes, table.schema.n_levels, table.schema)
    return TrainingRows(design, np.array([-1.0, 1.0]), np.array([0.5, 0.5]), table.classes, np.arange(2))
