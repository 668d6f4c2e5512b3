"""Parts that stay: standardised once, where they live, and asked from then on without being read again.

Large tables are solved on a sample of their rows first, as elsewhere (:mod:`surefoot.robust.sqp.sqp`). The sample stays in its
parts too, so that rows never travel. That takes more questions than it would with the sample at hand, and is worth it only
where many rows of a large table would be tied in the first steps: tied rows do travel.
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
from surefoot.robust.sqp.initial_point import starting_point
from surefoot.robust.sqp.lifted_rows import LiftedRows
from surefoot.robust.sqp.sqp import SAMPLE_SHARE, approached
from surefoot.robust.streaming.partitioned_rows import PartedRows
from surefoot.robust.streaming.standard_partitions import RawParts, Standard, StandardParts

Answer = TypeVar("Answer")

FEWEST_ROWS_TO_SAMPLE = 100_000
# More rows than this tell the sample little that a pass over the table will not.
MOST_SAMPLE_ROWS = 200_000
SAMPLE_TOLERANCE = 1e-6


@runtime_checkable
class KeepingParts(RawParts, Protocol):
    """Parts that can keep what is made of them where they live."""

    def kept(self, work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> KeepingParts:
        """Parts with ``work(rows, *arguments[k])`` in the place of the rows of part k, and the same counts."""
        ...

    def release(self) -> None:
        """Let go of what is kept."""
        ...


@dataclass(frozen=True)
class KeptStandardParts(StandardParts):
    """Standardised parts of which each has its rows at hand."""

    lifted: KeepingParts

    @classmethod
    def of(cls, raw: KeepingParts, standard: Standard, counts: Sequence[int], n_threads: int) -> KeptStandardParts:
        lifted = raw.kept(_lifted, [(standard, n_threads)] * len(counts))
        return cls(raw, standard, counts, n_threads, lifted)

    def each(self, work: Callable[..., Answer], arguments: Sequence[tuple[Any, ...]]) -> Iterable[Answer]:
        return self.lifted.each(work, arguments)


def minimiser_of_sample(
    raw: KeepingParts, standard: Standard, counts: Sequence[int], options: SolveOptions
) -> tuple[FloatArray, int] | None:
    """A lifted vector near the optimum of some rows of each part, and their number; None where that would be of no use."""
    terms, n_rows = standard.terms, sum(counts)
    ties = terms.n_categorical > 0 or np.isfinite(terms.cost.label_weight)
    if n_rows < FEWEST_ROWS_TO_SAMPLE or not ties:
        return None
    share = min(1.0 / SAMPLE_SHARE, MOST_SAMPLE_ROWS / n_rows)
    sizes = [int(share * count) for count in counts]
    taken = raw.kept(_taken, [(standard, size) for size in sizes])
    try:
        sums: BatchSums = reduce(add, taken.each(batch_sums, [(terms.n_levels,)] * len(counts)))
        if sums.positive.weight == 0 or sums.negative.weight == 0:
            return None
        lifted = taken.kept(_lifted_share, [(terms, sums.all_rows.weight, options.n_threads)] * len(counts))
    finally:
        taken.release()
    try:
        few = PartedRows(terms, _Counted(lifted, sizes), options.n_threads)
        return approached(few, starting_point(few), options, SAMPLE_TOLERANCE), few.n_rows
    finally:
        lifted.release()


@dataclass(frozen=True)
class _Counted:
    """Parts with other counts than those they were made of."""

    parts: KeepingParts
    counts: Sequence[int]

    def each(self, work: Callable[..., Answer], arguments: Sequence[tuple[Any, ...]]) -> Iterable[Answer]:
        return self.parts.each(work, arguments)


def _lifted(batch: RowBatch, standard: Standard, n_threads: int) -> LiftedRows:
    part, _ = standard.rows(batch)
    return LiftedRows(part.under(standard.terms), n_threads)


def _taken(batch: RowBatch, standard: Standard, size: int) -> RowBatch:
    """One row from each of so many equal stretches of a part, in standard units."""
    part, _ = standard.rows(batch)
    # The same rows every time, but no pattern that a sorted table could share.
    places = np.arange(size) + np.random.default_rng(batch.first_row).random(size)
    return part.take(np.minimum((places * (part.n_rows / max(size, 1))).astype(np.int64), part.n_rows - 1))


def _lifted_share(batch: RowBatch, terms: Terms, total: float, n_threads: int) -> LiftedRows:
    return LiftedRows(replace(batch, weights=batch.weights / total).under(terms), n_threads)
