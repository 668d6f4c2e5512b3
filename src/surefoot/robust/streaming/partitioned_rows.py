"""Rows in parts: each part is asked for its sums where it lives, and the answers are added up.

A part may be a batch that is read when it is needed and forgotten afterwards, or a partition on another machine: all that
matters is that :class:`Parts` can bring a piece of work to it. What comes back is of the size of the coefficients (sums) or of
the tied rows, never of the rows. The order of the parts is fixed, so sums do not depend on who is ready first.
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
from surefoot.robust.sqp.lifted_rows import LiftedRows, PlanSums, RowSums
from surefoot.robust.sqp.remembered import Remembered

Answer = TypeVar("Answer")


class Parts(Protocol):
    """Where the parts of a table live.

    ``counts`` are their numbers of rows. ``each`` calls ``work(rows, *arguments[k])`` with the rows of every part k, wherever
    that is, and yields the answers in the order of the parts. ``work`` is a function of a module, and its arguments and answers
    can be pickled.
    """

    @property
    def counts(self) -> Sequence[int]: ...

    def each(self, work: Callable[..., Answer], arguments: Sequence[tuple[Any, ...]]) -> Iterable[Answer]: ...


def ask(rows: LiftedRows, question: str, *arguments: Any) -> Any:
    """One part's answer to a question of :class:`RowSums`."""
    answer = getattr(rows, question)
    return answer(*arguments) if callable(answer) else answer


class PartedRows(RowSums):
    """The sums of all parts."""

    def __init__(self, terms: Terms, parts: Parts, n_threads: int) -> None:
        super().__init__(terms)
        self.parts = parts
        self.n_threads = n_threads
        self.first_rows = [0, *np.cumsum(parts.counts).tolist()]
        self.n_rows = self.first_rows[-1]

    def value(self, x: FloatArray) -> float:
        return float(sum(self._each("value", x)))

    def row_model(
        self, x: FloatArray, tie_width: float, precision: float, far: float, remembered: Remembered
    ) -> _native.RowModel:
        # The core tells them without their name.
        pieces = Remembered(*remembered)
        arguments = [
            ("row_model", x, tie_width, precision, far, pieces.of_rows(begin, end)) for begin, end in pairwise(self.first_rows)
        ]
        whole: _native.RowModel | None = None
        for first_row, model in zip(self.first_rows, self.parts.each(ask, arguments), strict=False):
            # One by one: a batch's own matrix is let go before the next one is made.
            if whole is None:
                whole = model
            else:
                whole.append(model, first_row)
        if whole is None:
            raise ValueError("a table needs at least one part")
        return whole

    def plan_sums(self, plan: _native.Plan, x: FloatArray, with_curvature: bool) -> PlanSums:
        arguments = [
            ("plan_sums", plan.of_rows(begin, end, self.mask_words), x, with_curvature)
            for begin, end in pairwise(self.first_rows)
        ]
        conjugate = cost = 0.0
        gradient, curvature = np.zeros(self.size + 1), np.zeros((self.size + 1, self.size + 1) if with_curvature else 0)
        for part in self.parts.each(ask, arguments):
            conjugate += part[0]
            cost += part[1]
            gradient += part[2]
            if with_curvature:
                curvature += part[3]
        return conjugate, cost, gradient, curvature

    def worst_pieces(self, x: FloatArray, before: FloatArray) -> Remembered:
        answers = self._each("worst_pieces", x, before)
        shifted = [part._replace(row=part.row + first) for first, part in zip(self.first_rows, answers, strict=False)]
        return reduce(Remembered.joined, shifted, Remembered.nothing(self.mask_words))

    @cached_property
    def label_sums(self) -> LabelSums:
        sums: LabelSums = reduce(add, self._each("label_sums"))
        return sums

    @cached_property
    def level_weights(self) -> FloatArray:
        return reduce(add, self._each("level_weights"))

    def _each(self, question: str, *arguments: Any) -> Iterable[Any]:
        return self.parts.each(ask, [(question, *arguments)] * len(self.parts.counts))
