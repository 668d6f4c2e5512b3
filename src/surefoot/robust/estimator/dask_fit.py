"""Fitting rows that live in the partitions of a Dask table: the solver's loop runs here, sums over rows run where the rows are.

    fit = learn the columns, encode, sum up, standardise, solve, certify; each a question to all partitions, or several

Rows never travel. What goes to a partition is a point (one number per coefficient) and its share of the tied rows' pieces;
what comes back are sums, at most a square matrix over the coefficients, and the pieces of its tied rows. Everything that is
kept on the workers is let go when the fit ends, however it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from surefoot.design.read.dask_partitions import Partitions, open_partitions
from surefoot.design.read.dask_table import open_dask_table
from surefoot.design.read.partitioned_table import Part, PartitionedTable, encode_part, learn_partitions
from surefoot.robust.certificate.partitioned_certificate import certify_placed_parts
from surefoot.robust.estimator.batch_fit import require_support, summary_rows
from surefoot.robust.estimator.robust_logistic_model import RobustLogisticModel, ShiftPrices, Solution
from surefoot.robust.problem.row_batch import RowBatch
from surefoot.robust.problem.terms import Terms
from surefoot.robust.registry import RobustLogisticSolver
from surefoot.robust.sqp.sqp import SQP
from surefoot.robust.streaming.streamed import PartitionedPlan, partition_sums, require_streamable, solve_partitions
from surefoot.sklearn_api.limit_warning import warn_of_limit

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class PlacedParts:
    """Partitions as the parts that a solver asks; what is made of them is let go with ``keeping``."""

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
    """The same partitions, each with its share of the adversary's plan, which is written out where the rows are."""

    parts: PlacedParts
    plan: PartitionedPlan | None
    n_threads: int

    def judged(self, work: Callable[..., Any], *arguments: Any) -> Iterable[Any]:
        return self.parts.each(_judge, [(work, self.n_threads, *arguments)] * len(self.parts.counts))

    def judged_with_plans(self, work: Callable[..., Any], *arguments: Any) -> Iterable[Any]:
        shares = [None if self.plan is None else self.plan.restricted(k) for k in range(len(self.parts.counts))]
        return self.parts.each(_judge_with_plan, [(work, self.n_threads, share, *arguments) for share in shares])


def fit_dask(
    model: RobustLogisticModel, X: Any, y: Any, sample_weight: Any, solver: RobustLogisticSolver, radius: float
) -> None:
    """Fit a model to a Dask table; nothing of the model changes before the fit has succeeded."""
    require_support(model, solver, "partitions")
    table = open_dask_table(X, y, sample_weight)
    with ExitStack() as keeping:
        parts, learned = _encoded_parts(model, table.delayed, keeping)
        sums = partition_sums(parts, learned.schema.n_levels)
        summary = summary_rows(learned, sums)
        prices = ShiftPrices(model.numeric_weights, model.categorical_weights, None)
        terms = Terms(learned.schema.n_levels, model._cost(summary, prices), radius, bool(model.fit_intercept))
        require_streamable(terms)
        options = model._options(f"{type(model).__name__}, radius {radius:g}, {len(parts.counts)} partitions")
        outcome = solve_partitions(terms, parts, options, sums=sums)
        planned = PlannedParts(parts, outcome.dual, options.n_threads)
        certificate = certify_placed_parts(terms, outcome.primal, planned, float(model.tol))
    solution = Solution(terms, outcome, certificate, SQP.name)
    model._unpack(table.sample, summary, terms, outcome.primal)
    model._unpack_proof(solution)
    if not certificate.verified:
        warn_of_limit(solution, f"{type(model).__name__}.fit")


def _encoded_parts(
    model: RobustLogisticModel, delayed: Sequence[Any], keeping: ExitStack
) -> tuple[PlacedParts, PartitionedTable]:
    """The rows of every partition as numbers, kept where it lives; the tables they were made of are let go."""
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


def _judge(batch: RowBatch, work: Callable[..., Any], n_threads: int, *arguments: Any) -> Any:
    with threadpool_limits(limits=n_threads, user_api="blas"):
        return work(batch, *arguments)


def _judge_with_plan(
    batch: RowBatch, work: Callable[..., Any], n_threads: int, share: PartitionedPlan | None, *arguments: Any
) -> Any:
    return _judge(batch, work, n_threads, None if share is None else share.of_partition(0, batch), *arguments)
