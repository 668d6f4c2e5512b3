"""The SQP loop on a table in partitions: memory for one partition, the tied rows, and a few p x p matrices.

    pass 1       weight, mean and spread of every column, weight of every level (:mod:`surefoot.robust.problem.column_moments`)
    pass 2       a sample of the rows, at most as many as the largest partition has pass 3 ...   SQP iterations
    (:mod:`surefoot.robust.sqp.sqp_loop`) from the optimum of the sample, on sums over the partitions

Passes over a table cost more than work on a sample, so the sample is solved more exactly than in
:mod:`surefoot.robust.sqp.sqp`. Small tables start as they do there.

The adversary's plan is never written out for all rows at once: it is stored as the pieces of the tied rows, and the plan of a
partition is worked out when somebody has that partition at hand (:class:`PartitionedPlan`).

Radius 0 and infinite weights are refused: whether a model exists at all then depends on whether the rows can be separated, and
both that question and the proof of optimality need all rows at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import scipy.sparse

from surefoot.core.arrays import IntArray, RowArray
from surefoot.core.outcome import SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.core.solve_run import SolveRun
from surefoot.exceptions import SeparableDataError, UnsupportedProblemError
from surefoot.robust.problem.column_moments import BatchSums, batch_sums
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem, ShiftPlan
from surefoot.robust.problem.row_batch import RowBatch
from surefoot.robust.problem.terms import Terms
from surefoot.robust.sqp.critical_radius import InterceptOnly, intercept_only_from_sums
from surefoot.robust.sqp.dual_bound import PlanBound
from surefoot.robust.sqp.initial_point import initial_point
from surefoot.robust.sqp.lifted_coordinates import LiftedCoordinates
from surefoot.robust.sqp.row_sums import TableRows
from surefoot.robust.sqp.sqp import coarse_minimiser, too_wide
from surefoot.robust.sqp.sqp_loop import SqpLoop, minimise
from surefoot.robust.streaming.resident_partitions import (
    PARAMETERS,
    ResidentPartitions,
    ResidentStandardPartitions,
    minimiser_of_sample,
)
from surefoot.robust.streaming.standard_partitions import RawPartitions, Standard, StandardPartitions, SummedRows


@dataclass(frozen=True)
class PartitionedPlan:
    """The adversary's plan of a table in partitions; ``source`` is a dual bound, or the model without features."""

    source: PlanBound | InterceptOnly
    standard: Standard
    first_rows: tuple[int, ...]

    def of_partition(self, k: int, batch: RowBatch) -> ShiftPlan:
        """The plan of the k-th partition, given its raw rows; its masses are their weights over the weight of all rows."""
        part, weighted = self.standard.rows(batch)
        posed = part.under(self.standard.terms)
        if isinstance(self.source, InterceptOnly):
            plan = self.source.plan(posed)
        else:
            plan = self.source.plan(TableRows(posed, 1), self.first_rows[k])
        return ShiftPlan(weighted[plan.row], plan.moved, plan.flipped, plan.mass, plan.slope, plan.lowest, plan.highest)

    def restricted(self, k: int) -> PartitionedPlan:
        """What the k-th partition needs of the plan, as its partition 0: all that has to travel to it."""
        if isinstance(self.source, InterceptOnly):
            return self
        begin, end = self.first_rows[k : k + 2]
        words = LiftedCoordinates(self.standard.terms).mask_words
        own = replace(self.source, native_plan=self.source.native_plan.of_rows(begin, end, words))
        return PartitionedPlan(own, self.standard, (0, end - begin))


PartitionedOutcome = SolveOutcome[RobustCoefficients, PartitionedPlan]


def partition_sums(partitions: RawPartitions, n_levels: IntArray) -> BatchSums:
    """The first pass."""
    sums: BatchSums = reduce(add, partitions.each(batch_sums, [(n_levels,)] * len(partitions.counts)))
    return sums


def require_streamable(terms: Terms) -> None:
    """Raise ``UnsupportedProblemError`` if a problem with these terms cannot be solved from partitions of its rows."""
    infinite = terms.cost.immovable.any() or np.isinf(terms.cost.categorical_weights).any()
    if terms.radius == 0 or infinite:
        cause = "the radius is 0" if terms.radius == 0 else "some columns have an infinite weight, or a range without width"
        raise UnsupportedProblemError(
            f"{cause}, and whether such a model exists, and is optimal, can only be told from all rows at once. Fit a table in "
            "memory instead of batches, or choose a radius above 0 and finite weights."
        )
    reason = too_wide(terms)
    if reason is not None:
        raise UnsupportedProblemError(f"this problem cannot be solved from batches: {reason}")


def solve_partitions(
    terms: Terms,
    partitions: RawPartitions,
    options: SolveOptions,
    *,
    sums: BatchSums | None = None,
    warm_start: RobustCoefficients | None = None,
) -> PartitionedOutcome:
    """Minimise the objective of :class:`RobustLogisticProblem` over a table in partitions.

    Parameters
    ----------
    terms : Terms
        In the units of the table.
    partitions : RawPartitions
        Their weights may have any sum; they are divided by it.
    options : SolveOptions
    sums : BatchSums, optional
        What :func:`partition_sums` found, if it is known.
    warm_start : RobustCoefficients, optional

    Returns
    -------
    SolveOutcome
        ``primal`` in the units of the table, ``dual`` a :class:`PartitionedPlan`.

    Raises
    ------
    UnsupportedProblemError
        Radius 0, infinite weights, too many coefficients.
    SeparableDataError
        All rows have the same label, and it cannot flip.
    """
    require_streamable(terms)
    run: SolveRun[Any, Any] = SolveRun(options, None)
    sums = partition_sums(partitions, terms.n_levels) if sums is None else sums
    _require_labels(terms, sums)
    standard = Standard.of(terms, sums)
    counts = (
        list(partitions.each(_count, [()] * len(partitions.counts)))
        if sums.n_rows < sum(partitions.counts)
        else list(partitions.counts)
    )
    first_rows = (0, *np.cumsum(counts).tolist())
    rows = SummedRows(_standard_partitions(partitions, standard, counts, options.n_threads), sums)
    known = intercept_only_from_sums(standard.terms, standard.sums(sums))
    if known is not None:
        return _known_outcome(run, rows, standard, known, first_rows)
    warm = warm_start is not None
    if warm_start is not None:
        x = rows.lift(standard.standardize(warm_start))
    elif isinstance(partitions, ResidentPartitions):
        found = minimiser_of_sample(partitions, standard, counts, options)
        x = initial_point(rows, seconds_left=options.seconds_left) if found is None else rows.tighten(found.x)
        warm = found is not None and rows.n_coefficients <= PARAMETERS.warm_fraction * found.n_rows
    else:
        sample = _sample(partitions, standard, counts)
        tolerance = PARAMETERS.sample_tolerance
        x = (
            initial_point(rows, seconds_left=options.seconds_left)
            if sample is None
            else rows.tighten(coarse_minimiser(sample, options, tolerance))
        )
        warm = sample is not None and rows.n_coefficients <= PARAMETERS.warm_fraction * sample.n_rows
    loop = SqpLoop(rows, x, options.tolerance, warm_start=warm)
    status = minimise(loop, run)
    bound = loop.bound
    run.primal = standard.restore(rows.unlift(loop.x))
    run.dual = PartitionedPlan(bound, standard, first_rows) if bound is not None else None
    return run.outcome(status, converged=status is Status.OPTIMAL)


def _count(batch: RowBatch) -> int:
    """Rows that count."""
    return int(np.count_nonzero(batch.weights > 0))


def _require_labels(terms: Terms, sums: BatchSums) -> None:
    one_label = sums.positive.weight == 0 or sums.negative.weight == 0
    if one_label and terms.fit_intercept and np.isinf(terms.cost.label_weight):
        raise SeparableDataError(
            "all rows have the same label, so the intercept would grow without end. Both classes are needed."
        )


def _known_outcome(
    run: SolveRun[Any, Any], rows: SummedRows, standard: Standard, known: InterceptOnly, first_rows: tuple[int, ...]
) -> PartitionedOutcome:
    """The outcome above the critical radius: the plan proves the objective itself."""
    run.upper_bound = run.lower_bound = rows.objective(rows.lift(known.coefficients))
    run.primal, run.dual = standard.restore(known.coefficients), PartitionedPlan(known, standard, first_rows)
    run.record(1)
    return run.outcome(Status.OPTIMAL, converged=True)


def _standard_partitions(
    partitions: RawPartitions, standard: Standard, counts: Sequence[int], n_threads: int
) -> StandardPartitions:
    """The partitions in standard units, once and for all if they can hold them."""
    if isinstance(partitions, ResidentPartitions):
        return ResidentStandardPartitions.of(partitions, standard, counts, n_threads)
    return StandardPartitions(partitions, standard, counts, n_threads)


def _sample(partitions: RawPartitions, standard: Standard, counts: Sequence[int]) -> RobustLogisticProblem | None:
    """One row from each of so many equal stretches of the table; None if that is too few rows to be of use."""
    n_rows = sum(counts)
    sample = PARAMETERS.sample
    if n_rows < sample.divisor * sample.min_rows:
        return None
    size = min(n_rows // sample.divisor, max(*counts, sample.min_rows), PARAMETERS.max_sample_rows)
    # The same rows every time, but no pattern that a sorted table could share.
    places = np.arange(size) + np.random.default_rng(0).random(size)
    chosen = np.minimum((places * (n_rows / size)).astype(np.int64), n_rows - 1)
    ends = np.cumsum(counts)
    cuts = np.searchsorted(chosen, ends)
    pieces = np.split(chosen, cuts[:-1])
    arguments = [(standard, piece - (end - count)) for piece, end, count in zip(pieces, ends, counts, strict=True)]
    batches = list(partitions.each(_taken, arguments))
    labels = np.concatenate([batch.labels for batch in batches])
    if labels.min() == labels.max():
        return None
    weights = np.concatenate([batch.weights for batch in batches])
    terms = standard.terms
    stack = scipy.sparse.vstack if any(batch.is_sparse for batch in batches) else np.vstack
    return RobustLogisticProblem(
        numeric=stack([batch.numeric for batch in batches]),
        codes=np.vstack([batch.codes for batch in batches]),
        n_levels=terms.n_levels,
        labels=labels,
        weights=weights / weights.sum(),
        cost=terms.cost,
        radius=terms.radius,
        fit_intercept=terms.fit_intercept,
    )


def _taken(batch: RowBatch, standard: Standard, rows: RowArray) -> RowBatch:
    """Some rows of a partition, in standard units."""
    part, _ = standard.rows(batch)
    return part.take(rows)
