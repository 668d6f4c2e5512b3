"""Fitting rows that come in batches: the same steps as for a table in memory, one batch at a time.

Every step is a pass over the batches or several. A batch is encoded, summed up, and forgotten; nothing is written to disk, and
an interrupt between two batches ends the fit with the model as it was before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, TypeVar

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

from surefoot.core.certificate import Certificate
from surefoot.design.encode.deciding_columns import warn_of_deciding_columns
from surefoot.design.read.batches import BatchTable, is_batches, learn_batches
from surefoot.design.read.parquet import ParquetBatches, is_parquet_path, open_parquet
from surefoot.exceptions import CertificateError, InvalidTableError
from surefoot.robust.certificate.certificate import certify_parts
from surefoot.robust.estimator.automatic_radius import told
from surefoot.robust.estimator.outside_memory.partitioned_fit import fit_partitions, require_support, with_plan
from surefoot.robust.estimator.robust_logistic_model import RobustLogisticModel
from surefoot.robust.problem.problem import ShiftPlan
from surefoot.robust.problem.row_batch import RowBatch
from surefoot.robust.problem.terms import Terms
from surefoot.robust.registry import RobustLogisticSolver
from surefoot.robust.streaming.streamed import PartitionedOutcome, PartitionedPlan
from surefoot.sklearn_api.limit_warning import warn_of_limit
from surefoot.sklearn_api.proven_model import ProofParts
from surefoot.sklearn_api.sample_weight import row_counts
from surefoot.sklearn_api.training_rows import reread_training_rows

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
        return _each(self, work, arguments)


@dataclass(frozen=True)
class CutRows:
    """Rows of a table in memory, cut as the plan of a fit from batches has cut them."""

    rows: RowBatch
    counts: Sequence[int]

    def __post_init__(self) -> None:
        if sum(self.counts) != self.rows.n_rows:
            raise CertificateError(
                f"these are not the rows of the proof: there are {self.rows.n_rows} with weight, and it is about "
                f"{sum(self.counts)}."
            )

    def __iter__(self) -> Iterator[RowBatch]:
        for begin, end in pairwise(accumulate(self.counts, initial=0)):
            own = np.arange(begin, end)
            batch = self.rows
            yield RowBatch(batch.numeric[own], batch.codes[own], batch.labels[own], batch.weights[own], begin)

    def each(self, work: Callable[..., Answer], arguments: Sequence[tuple[Any, ...]]) -> Iterable[Answer]:
        return _each(self, work, arguments)


def _each(parts: Iterable[RowBatch], work: Callable[..., Answer], arguments: Sequence[tuple[Any, ...]]) -> Iterator[Answer]:
    for batch, given in zip(parts, arguments, strict=True):
        yield work(batch, *given)


@dataclass(frozen=True)
class PlannedParts:
    """The same batches, each with its part of the adversary's plan."""

    parts: Iterable[RowBatch]
    plan: PartitionedPlan | None

    def __iter__(self) -> Iterator[tuple[RowBatch, ShiftPlan | None]]:
        for k, batch in enumerate(self.parts):
            yield batch, None if self.plan is None else self.plan.of_partition(k, batch)


def certify_rows(
    model: RobustLogisticModel, terms: Terms, outcome: PartitionedOutcome, parts: Iterable[RowBatch]
) -> Certificate:
    """The certificate of an answer, from rows that come in parts."""
    with threadpool_limits(limits=joblib.effective_n_jobs(model.n_jobs), user_api="blas"):
        return certify_parts(terms, outcome.primal, PlannedParts(parts, outcome.dual), float(model.tol))


def batched_proof(model: RobustLogisticModel, source: Iterable[Any], outcome: PartitionedOutcome) -> ProofParts:
    """What the certificate of a fit from batches judges, from the batches."""
    table = learn_batches(source, model._encoder())
    if table.schema != model.schema_ or table.classes.tolist() != model.classes_.tolist():
        raise CertificateError("these are not the rows of the proof: columns, levels or classes are not those of the model.")
    parts = EncodedParts(table)
    if model.part_rows_ is not None and model.part_rows_ != tuple(parts.counts):
        raise CertificateError(
            "these are not the rows of the proof, or other batches of them. Pass those of the fit, or all rows as one table."
        )
    return _parts_proof(model, parts, with_plan(model, _terms(model), outcome, parts))


def table_proof(model: RobustLogisticModel, X: Any, y: Any, sample_weight: Any, outcome: PartitionedOutcome) -> ProofParts:
    """The same from a table in memory that holds the rows of all batches, or of all partitions of a fit on Dask."""
    rows = reread_training_rows(model, X, y, sample_weight)
    counts = row_counts(sample_weight, len(y))[rows.positions]
    batch = RowBatch(rows.design.numeric, rows.design.codes, rows.labels, counts)
    parts = CutRows(batch, (batch.n_rows,) if model.part_rows_ is None else model.part_rows_)
    return _parts_proof(model, parts, with_plan(model, _terms(model), outcome, parts))


def _terms(model: RobustLogisticModel) -> Terms:
    return Terms(model.schema_.n_levels, model.ground_cost_, model.radius_, bool(model.fit_intercept))


def _parts_proof(model: RobustLogisticModel, parts: Iterable[RowBatch], outcome: PartitionedOutcome) -> ProofParts:
    terms = _terms(model)
    arguments = {
        "terms": terms,
        "coefficients": outcome.primal,
        "parts": PlannedParts(parts, outcome.dual),
        "tolerance": float(model.tol),
    }
    return ProofParts("robust", arguments, lambda: certify_rows(model, terms, outcome, parts))


def fit_batches(model: RobustLogisticModel, source: Iterable[Any], solver: RobustLogisticSolver, radius: float | None) -> None:
    """Fit a model to batches; nothing of the model changes before the fit has succeeded."""
    require_support(model, solver, "batches")
    table = learn_batches(source, model._encoder())
    first = next(iter(table))
    warn_of_deciding_columns(f"{type(model).__name__}.fit", first.design, first.signs, stacklevel=5)
    parts = EncodedParts(table)
    options = model._options(f"{type(model).__name__}, radius {told(radius)}, {len(table.counts)} batches")

    def certify(terms: Terms, outcome: PartitionedOutcome) -> Certificate:
        return certify_rows(model, terms, outcome, parts)

    sample = None if isinstance(source, ParquetBatches) else table.sample
    solution = fit_partitions(model, table, parts, options, radius, certify, sample)
    if not solution.certificate.verified:
        warn_of_limit(solution, f"{type(model).__name__}.fit")
