"""Partitions presolved: each is centred and scaled by what all partitions have in common.

The conventions are those of :class:`~surefoot.robust.scaling.standard_rows.StandardRows`, the units those of
:mod:`surefoot.robust.scaling.standard_units`: columns are centred only if an intercept can absorb the shift, and never if they
are sparse; constant columns become 0; rows without weight leave. Centre and scale come from a first pass
(:mod:`surefoot.robust.problem.column_moments`). Equal rows stay apart: they may lie in different
partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
import scipy.sparse

from surefoot.core.arrays import FloatArray, RowArray
from surefoot.robust.problem.coefficient_bounds import LabelSums
from surefoot.robust.problem.column_moments import BatchSums, ColumnMoments
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.numeric_columns import is_sparse
from surefoot.robust.problem.row_batch import RowBatch
from surefoot.robust.problem.terms import Terms
from surefoot.robust.scaling.standard_units import LEAST_SHARE, StandardUnits, standard_cost
from surefoot.robust.sqp.row_sums import TableRows
from surefoot.robust.streaming.partitioned_rows import PartitionedRows, Partitions

Answer = TypeVar("Answer")


class RawPartitions(Partitions, Protocol):
    """Partitions of a table as they came in: ``work`` gets a :class:`RowBatch` in the units of the table."""


@dataclass(frozen=True)
class Standard(StandardUnits):
    """How raw rows become standard ones, and models come back.

    Attributes
    ----------
    terms : Terms
        Of the standardised problem.
    total : float
        Weight of all rows.
    centre, scale : ndarray of shape (n_numeric,)
    unit : float
        Of prices.
    """

    terms: Terms
    total: float
    centre: FloatArray
    scale: FloatArray
    unit: float

    @classmethod
    def of(cls, terms: Terms, sums: BatchSums) -> Standard:
        moments = sums.all_rows
        centred = terms.fit_intercept and not sums.is_sparse
        centre = moments.mean if centred else np.zeros(terms.n_numeric)
        scale = moments.spread.copy() if centred else moments.size_about(centre)
        scale[scale == 0] = 1.0
        cost, unit = standard_cost(terms.cost, centre, scale)
        return cls(replace(terms, cost=cost, radius=terms.radius / unit), moments.weight, centre, scale, unit)

    def rows(self, batch: RowBatch) -> tuple[RowBatch, RowArray]:
        """A batch in standard units, and where its rows stood: those without weight are left out."""
        weighted = np.flatnonzero(batch.weights > 0)
        part = batch if weighted.size == batch.n_rows else batch.take(weighted)
        numeric: FloatArray | scipy.sparse.csr_array
        if is_sparse(part.numeric):
            entries = (part.numeric.data / self.scale[part.numeric.indices], part.numeric.indices, part.numeric.indptr)
            numeric = scipy.sparse.csr_array(entries, shape=part.numeric.shape)
        else:
            numeric = (part.numeric - self.centre) / self.scale
        return replace(part, numeric=numeric, weights=np.maximum(part.weights / self.total, LEAST_SHARE)), weighted

    @property
    def cost(self) -> GroundCost:
        return self.terms.cost

    def sums(self, sums: BatchSums) -> BatchSums:
        """The sums of the raw rows as those of the standard ones."""

        def moments(raw: ColumnMoments) -> ColumnMoments:
            origin, low, high = (values - self.centre for values in (raw.origin, raw.low, raw.high))
            standard = (values / self.scale for values in (origin, raw.offset, raw.spread, low, high))
            return ColumnMoments(raw.weight / self.total, *standard)

        return replace(
            sums,
            positive=moments(sums.positive),
            negative=moments(sums.negative),
            positive_levels=sums.positive_levels / self.total,
            negative_levels=sums.negative_levels / self.total,
        )


def on_standard_rows(
    batch: RowBatch, work: Callable[..., Answer], standard: Standard, n_threads: int, *arguments: Any
) -> Answer:
    """Work on the standardised rows of a raw partition, where it lives."""
    part, _ = standard.rows(batch)
    return work(TableRows(part.under(standard.terms), n_threads), *arguments)


@dataclass(frozen=True)
class StandardPartitions:
    """The same partitions, standardised; ``counts`` leave out the rows without weight."""

    raw: RawPartitions
    standard: Standard
    counts: Sequence[int]
    n_threads: int

    def each(self, work: Callable[..., Answer], arguments: Sequence[tuple[Any, ...]]) -> Iterable[Answer]:
        return self.raw.each(on_standard_rows, [(work, self.standard, self.n_threads, *given) for given in arguments])


class SummedRows(PartitionedRows):
    """Partitions whose plain sums are known from a first pass, which saves evaluating them again."""

    def __init__(self, partitions: StandardPartitions, sums: BatchSums) -> None:
        super().__init__(partitions.standard.terms, partitions, partitions.n_threads)
        self._sums = partitions.standard.sums(sums)

    @property
    def label_sums(self) -> LabelSums:
        above, below = self._sums.positive, self._sums.negative
        return LabelSums(*(np.concatenate(([part.weight], part.weight * part.mean)) for part in (above, below)))

    @property
    def level_weights(self) -> FloatArray:
        weights: FloatArray = self._sums.positive_levels + self._sums.negative_levels
        return weights
