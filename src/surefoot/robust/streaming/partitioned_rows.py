"""Partitioned rows: each partition evaluates its sums where it lives, and the answers are added up (map and reduce).

A partition may be a batch that is read when it is needed and forgotten afterwards, or live on another machine: all that matters
is that :class:`Partitions` can bring a piece of work to it. What comes back is of the size of the coefficients (sums) or of the
tied rows, never of the rows. The order of the partitions is fixed, so sums do not depend on which is ready first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, reduce
from itertools import pairwise
from operator import add
from typing import Any, Protocol, TypeVar

import numpy as np

from surefoot import _native
from surefoot.core.arrays import FloatArray
from surefoot.robust.problem.coefficient_bounds import LabelSums
from surefoot.robust.problem.terms import Terms
from surefoot.robust.sqp.row_sums import RowSums, TableRows

Answer = TypeVar("Answer")


class Partitions(Protocol):
    """Where the partitions of a table live.

    ``counts`` are their numbers of rows. ``each`` calls ``work(rows, *arguments[k])`` with the rows of every partition k,
    wherever that is, and yields the answers in the order of the partitions. ``work`` is a function of a module, and its
    arguments and answers can be pickled.
    """

    @property
    def counts(self) -> Sequence[int]: ...

    def each(self, work: Callable[..., Answer], arguments: Sequence[tuple[Any, ...]]) -> Iterable[Answer]: ...


def evaluate(rows: TableRows, name: str, *arguments: Any) -> Any:
    """One partition's part of a sum of :class:`RowSums`."""
    member = getattr(rows, name)
    return member(*arguments) if callable(member) else member


class PartitionedRows(RowSums):
    """The sums of all partitions."""

    def __init__(self, terms: Terms, partitions: Partitions, n_threads: int) -> None:
        super().__init__(terms)
        self.partitions = partitions
        self.n_threads = n_threads
        self.first_rows = [0, *np.cumsum(partitions.counts).tolist()]
        self.n_rows = self.first_rows[-1]

    def value(self, x: FloatArray) -> float:
        return float(sum(self._each("value", x)))

    def row_model(self, x: FloatArray, region: _native.ModelRegion, working_set: _native.WorkingSet) -> _native.RowModel:
        arguments = [("row_model", x, region, working_set.of_rows(begin, end)) for begin, end in pairwise(self.first_rows)]
        whole: _native.RowModel | None = None
        for first_row, model in zip(self.first_rows, self.partitions.each(evaluate, arguments), strict=False):
            # One by one: a batch's own matrix is let go before the next one is made.
            if whole is None:
                whole = model
            else:
                whole.append(model, first_row)
        if whole is None:
            raise ValueError("a table needs at least one partition")
        return whole

    def plan_sums(self, plan: _native.Plan, x: FloatArray, with_curvature: bool) -> _native.PlanSums:
        arguments = [
            ("plan_sums", plan.of_rows(begin, end, self.mask_words), x, with_curvature)
            for begin, end in pairwise(self.first_rows)
        ]
        whole: _native.PlanSums | None = None
        for part in self.partitions.each(evaluate, arguments):
            if whole is None:
                whole = part
            else:
                whole.add(part)
        if whole is None:
            raise ValueError("a table needs at least one partition")
        return whole

    def worst_pieces(self, x: FloatArray, before: FloatArray) -> _native.WorkingSet:
        answers = self._each("worst_pieces", x, before)
        shifted = [part.shifted(first) for first, part in zip(self.first_rows, answers, strict=False)]
        return reduce(_native.WorkingSet.joined, shifted, _native.WorkingSet())

    @cached_property
    def label_sums(self) -> LabelSums:
        sums: LabelSums = reduce(add, self._each("label_sums"))
        return sums

    @cached_property
    def level_weights(self) -> FloatArray:
        return reduce(add, self._each("level_weights"))

    def _each(self, name: str, *arguments: Any) -> Iterable[Any]:
        return self.partitions.each(evaluate, [(name, *arguments)] * len(self.partitions.counts))
