"""Resident partitions: standardised once, where they live, and evaluated from then on without being read again.

Large tables are solved on a sample of their rows first, as elsewhere (:mod:`surefoot.robust.sqp.sqp`). The sample stays in its
partitions too, so that rows never travel. That takes more evaluations than it would with the sample at hand, and helps only
where many rows of a large table would be tied in the first iterations: tied rows do travel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.problem.column_moments import BatchSums, batch_sums
from surefoot.robust.problem.row_batch import RowBatch
from surefoot.robust.problem.terms import Terms
from surefoot.robust.sqp.initial_point import initial_point
from surefoot.robust.sqp.parameters import SAMPLE_DEFAULTS, SampleParameters
from surefoot.robust.sqp.row_sums import TableRows
from surefoot.robust.sqp.sqp import approximate_minimiser
from surefoot.robust.streaming.partitioned_rows import PartitionedRows
from surefoot.robust.streaming.standard_partitions import RawPartitions, Standard, StandardPartitions

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class StreamParameters:
    """The sample of a table in partitions. No record tells which benchmark chose a value."""

    sample: SampleParameters = SAMPLE_DEFAULTS
    min_rows: int = 100_000  # of a table with resident partitions; below it a sample saves less than its evaluations cost
    max_sample_rows: int = 200_000  # more rows tell the sample little that a pass over the table will not
    sample_tolerance: float = 1e-6  # predicted decrease that ends the sample, over its objective; passes are expensive
    # The optimum of a sample is about (coefficients / rows of the sample) above the table's: below this it counts as a warm
    # start.
    warm_fraction: float = 1e-3


PARAMETERS = StreamParameters()


@runtime_checkable
class ResidentPartitions(RawPartitions, Protocol):
    """Partitions that can hold what is made of them where they live."""

    def persist(self, work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> ResidentPartitions:
        """Partitions with ``work(rows, *arguments[k])`` in the place of the rows of partition k, and the same counts."""
        ...

    def release(self) -> None:
        """Let go of what is held."""
        ...


@dataclass(frozen=True)
class ResidentStandardPartitions(StandardPartitions):
    """Standardised partitions of which each has its rows at hand."""

    lifted: ResidentPartitions

    @classmethod
    def of(
        cls, raw: ResidentPartitions, standard: Standard, counts: Sequence[int], n_threads: int
    ) -> ResidentStandardPartitions:
        lifted = raw.persist(_lifted, [(standard, n_threads)] * len(counts))
        return cls(raw, standard, counts, n_threads, lifted)

    def each(self, work: Callable[..., Answer], arguments: Sequence[tuple[Any, ...]]) -> Iterable[Answer]:
        return self.lifted.each(work, arguments)


@dataclass(frozen=True)
class SampleMinimiser:
    """A lifted vector near the optimum of a sample, and the rows of the sample."""

    x: FloatArray
    n_rows: int


def minimiser_of_sample(
    raw: ResidentPartitions,
    standard: Standard,
    counts: Sequence[int],
    options: SolveOptions,
    parameters: StreamParameters = PARAMETERS,
) -> SampleMinimiser | None:
    """A lifted vector near the optimum of some rows of each partition, and their number; None where that would be of no use."""
    terms, n_rows = standard.terms, sum(counts)
    ties = terms.n_categorical > 0 or np.isfinite(terms.cost.label_weight)
    if n_rows < parameters.min_rows or not ties:
        return None
    fraction = min(1.0 / parameters.sample.divisor, parameters.max_sample_rows / n_rows)
    sizes = [int(fraction * count) for count in counts]
    taken = raw.persist(_taken, [(standard, size) for size in sizes])
    try:
        sums: BatchSums = reduce(add, taken.each(batch_sums, [(terms.n_levels,)] * len(counts)))
        if sums.positive.weight == 0 or sums.negative.weight == 0:
            return None
        lifted = taken.persist(_lifted_sample, [(terms, sums.all_rows.weight, options.n_threads)] * len(counts))
    finally:
        taken.release()
    try:
        few = PartitionedRows(terms, _Counted(lifted, sizes), options.n_threads)
        return SampleMinimiser(
            approximate_minimiser(
                few, initial_point(few, seconds_left=options.seconds_left), options, parameters.sample_tolerance
            ),
            few.n_rows,
        )
    finally:
        lifted.release()


@dataclass(frozen=True)
class _Counted:
    """Partitions with other counts than those they were made of."""

    partitions: ResidentPartitions
    counts: Sequence[int]

    def each(self, work: Callable[..., Answer], arguments: Sequence[tuple[Any, ...]]) -> Iterable[Answer]:
        return self.partitions.each(work, arguments)


def _lifted(batch: RowBatch, standard: Standard, n_threads: int) -> TableRows:
    part, _ = standard.rows(batch)
    return TableRows(part.under(standard.terms), n_threads)


def _taken(batch: RowBatch, standard: Standard, size: int) -> RowBatch:
    """One row from each of so many equal stretches of a partition, in standard units."""
    part, _ = standard.rows(batch)
    # The same rows every time, but no pattern that a sorted table could share.
    places = np.arange(size) + np.random.default_rng(batch.first_row).random(size)
    return part.take(np.minimum((places * (part.n_rows / max(size, 1))).astype(np.int64), part.n_rows - 1))


def _lifted_sample(batch: RowBatch, terms: Terms, total: float, n_threads: int) -> TableRows:
    return TableRows(replace(batch, weights=batch.weights / total).under(terms), n_threads)
