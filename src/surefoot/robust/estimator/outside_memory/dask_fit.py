"""Fitting rows that live in the partitions of a Dask table: the solver's loop runs here, sums over rows run where the rows are.

    fit = learn the columns, encode, sum up, standardise, solve, certify; each a map over all partitions, or several

Rows never travel. What goes to a partition is a point (one number per coefficient) and the pieces of its own tied rows; what
comes back are sums, at most a square matrix over the coefficients, and the pieces of its tied rows. Everything that is held on
the workers is released when the fit ends, however it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeVar

import joblib
from threadpoolctl import threadpool_limits

from surefoot.core.certificate import Certificate
from surefoot.design.read.dask_partitions import Partitions, open_partitions
from surefoot.design.read.dask_table import open_dask_table
from surefoot.design.read.partitioned_table import Part, PartitionedTable, encode_part, learn_partitions
from surefoot.exceptions import CertificateError
from surefoot.robust.certificate.certificate import certify_parts
from surefoot.robust.estimator.automatic_radius import told
from surefoot.robust.estimator.outside_memory.partitioned_fit import fit_partitions, require_support, with_plan
from surefoot.robust.estimator.robust_logistic_model import RobustLogisticModel
from surefoot.robust.problem.row_batch import RowBatch
from surefoot.robust.problem.terms import Terms
from surefoot.robust.registry import RobustLogisticSolver
from surefoot.robust.streaming.streamed import PartitionedOutcome, PartitionedPlan
from surefoot.sklearn_api.limit_warning import warn_of_limit
from surefoot.sklearn_api.proven_model import ProofParts

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class PlacedParts:
    """Partitions as the parts that a solver sums over; what is made of them is released with ``keeping``."""

    partitions: Partitions
    counts: Sequence[int]
    keeping: ExitStack

    def each(self, work: Callable[..., Answer], arguments: Sequence[tuple[Any, ...]]) -> Iterable[Answer]:
        return self.partitions.each(work, arguments)

    def persist(self, work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> PlacedParts:
        made = self.partitions.kept(work, arguments)
        self.keeping.callback(made.release)
        return PlacedParts(made, self.counts, self.keeping)

    def release(self) -> None:
        self.partitions.release()


@dataclass(frozen=True)
class PlannedParts:
    """The same partitions, each with its part of the adversary's plan, which is written out where the rows are."""

    parts: PlacedParts
    plan: PartitionedPlan | None
    n_threads: int

    def map(self, work: Callable[..., Any], *arguments: Any) -> Iterable[Any]:
        plans = [None if self.plan is None else self.plan.restricted(k) for k in range(len(self.parts.counts))]
        return self.parts.each(_judge_part, [(work, self.n_threads, plan, *arguments) for plan in plans])


def fit_dask(
    model: RobustLogisticModel, X: Any, y: Any, sample_weight: Any, solver: RobustLogisticSolver, radius: float | None
) -> None:
    """Fit a model to a Dask table; nothing of the model changes before the fit has succeeded."""
    require_support(model, solver, "partitions")
    table = open_dask_table(X, y, sample_weight)
    with ExitStack() as keeping:
        parts, learned = _encoded_parts(model, table.delayed, keeping)
        options = model._options(f"{type(model).__name__}, radius {told(radius)}, {len(parts.counts)} partitions")

        def certify(terms: Terms, outcome: PartitionedOutcome) -> Certificate:
            return _certify(model, terms, outcome, parts)

        solution = fit_partitions(model, learned, parts, options, radius, certify, table.sample)
    if not solution.certificate.verified:
        warn_of_limit(solution, f"{type(model).__name__}.fit")


def dask_proof(model: RobustLogisticModel, X: Any, y: Any, sample_weight: Any, outcome: PartitionedOutcome) -> ProofParts:
    """What the certificate of a fit on Dask judges; rows stay where they are."""
    terms = Terms(model.schema_.n_levels, model.ground_cost_, model.radius_, bool(model.fit_intercept))

    def judge() -> Certificate:
        with ExitStack() as keeping:
            parts, learned = _encoded_parts(model, open_dask_table(X, y, sample_weight).delayed, keeping)
            if learned.schema != model.schema_ or learned.classes.tolist() != model.classes_.tolist():
                raise CertificateError("these are not the rows of the proof: columns, levels or classes are others.")
            if model.part_rows_ is not None and model.part_rows_ != tuple(parts.counts):
                raise CertificateError("these are not the rows of the proof, or other partitions of them.")
            return _certify(model, terms, with_plan(model, terms, outcome, parts), parts)

    return ProofParts("robust", {"terms": terms, "coefficients": outcome.primal, "tolerance": float(model.tol)}, judge)


def _certify(model: RobustLogisticModel, terms: Terms, outcome: PartitionedOutcome, parts: PlacedParts) -> Certificate:
    planned = PlannedParts(parts, outcome.dual, joblib.effective_n_jobs(model.n_jobs))
    return certify_parts(terms, outcome.primal, planned, float(model.tol))


def _encoded_parts(
    model: RobustLogisticModel, delayed: Sequence[Any], keeping: ExitStack
) -> tuple[PlacedParts, PartitionedTable]:
    """The rows of every partition as numbers, held where it lives; the tables they were made of are released."""
    raw = open_partitions(delayed)
    try:
        tables, learned = learn_partitions(raw, model._encoder())
        encoded = tables.kept(row_batch, learned.encodings)
    finally:
        raw.release()
    keeping.callback(encoded.release)
    return PlacedParts(encoded, learned.counts, keeping), learned


def row_batch(part: Part, *arguments: Any) -> RowBatch:
    """The encoded rows of one partition."""
    encoded = encode_part(part, *arguments)
    return RowBatch(encoded.design.numeric, encoded.design.codes, encoded.signs, encoded.weights, encoded.first_row)


def _judge_part(
    batch: RowBatch, work: Callable[..., Any], n_threads: int, share: PartitionedPlan | None, *arguments: Any
) -> Any:
    with threadpool_limits(limits=n_threads, user_api="blas"):
        return work(batch, None if share is None else share.of_partition(0, batch), *arguments)
