"""Fitting rows that come in batches: the same steps as for a table in memory, one batch at a time.

Every step is a pass over the batches or several. A batch is encoded, summed up, and forgotten; nothing is written to disk, and
an interrupt between two batches ends the fit with the model as it was before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from surefoot.core.certificate import Certificate
from surefoot.design.read.batches import BatchTable, is_batches, learn_batches
from surefoot.design.read.parquet import ParquetBatches, is_parquet_path, open_parquet
from surefoot.exceptions import InvalidTableError
from surefoot.robust.certificate.certificate import certify_parts
from surefoot.robust.estimator.partitioned_fit import fit_partitions, require_support
from surefoot.robust.estimator.robust_logistic_model import RobustLogisticModel
from surefoot.robust.problem.problem import ShiftPlan
from surefoot.robust.problem.row_batch import RowBatch
from surefoot.robust.problem.terms import Terms
from surefoot.robust.registry import RobustLogisticSolver
from surefoot.robust.streaming.streamed import PartitionedOutcome, PartitionedPlan
from surefoot.sklearn_api.limit_warning import warn_of_limit

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
    """The batches of a table as the parts that a solver sums over."""

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
    """The same batches, each with its part of the adversary's plan."""

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
    options = model._options(f"{type(model).__name__}, radius {radius:g}, {len(table.counts)} batches")

    def certify(terms: Terms, outcome: PartitionedOutcome) -> Certificate:
        with threadpool_limits(limits=options.n_threads, user_api="blas"):
            return certify_parts(terms, outcome.primal, PlannedParts(parts, outcome.dual), float(model.tol))

    sample = None if isinstance(source, ParquetBatches) else table.sample
    solution = fit_partitions(model, table, parts, options, radius, certify, sample)
    if not solution.certificate.verified:
        warn_of_limit(solution, f"{type(model).__name__}.fit")
