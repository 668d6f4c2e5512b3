"""The default method on a table that is read in parts: memory for one part, the tied rows, and a few p x p matrices.

    pass 1       weight, mean and spread of every column, weight of every level (:mod:`surefoot.robust.problem.column_moments`)
    pass 2       a sample of the rows, at most as many as the largest part has
    pass 3 ...   quadratic steps (:mod:`surefoot.robust.sqp.sqp_loop`) from the optimum of the sample, on sums over the parts

Passes over a table cost more than work on a sample, so the sample is solved more exactly than in
:mod:`surefoot.robust.sqp.sqp`. Small tables start as they do there.

The adversary's plan is never written out for all rows at once: it is kept as the pieces of the tied rows, and a part's share of
it is worked out when somebody has that part at hand (:class:`PartedPlan`).

Radius 0 and infinite weights are refused: whether a model exists at all then depends on whether the rows can be separated, and
both that question and the proof of optimality need all rows at once.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
import scipy.sparse

from surefoot.core.arrays import IntArray, RowArray
from surefoot.core.outcome import Progress, SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import SeparableDataError, UnsupportedProblemError
from surefoot.robust.problem.column_moments import BatchSums, batch_sums
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem, ShiftPlan
from surefoot.robust.problem.row_batch import RowBatch
from surefoot.robust.problem.terms import Terms
from surefoot.robust.sqp.critical_radius import InterceptOnly, intercept_only_from_sums
from surefoot.robust.sqp.dual_bound import PlanBound
from surefoot.robust.sqp.initial_point import starting_point
from surefoot.robust.sqp.lifted_coordinates import LiftedCoordinates
from surefoot.robust.sqp.lifted_rows import LiftedRows
from surefoot.robust.sqp.sqp import SAMPLE_ROWS, SAMPLE_SHARE, coarse_minimiser, too_wide
from surefoot.robust.sqp.sqp_loop import Descent, minimise
from surefoot.robust.streaming.resident_partitions import (
    MOST_SAMPLE_ROWS,
    SAMPLE_TOLERANCE,
    KeepingParts,
    KeptStandardParts,
    minimiser_of_sample,
)
from surefoot.robust.streaming.standard_partitions import RawParts, Standard, StandardParts, SummedRows

# The sample's optimum is about (coefficients / sample rows) above the table's; below this share it is near enough to trust.
NEAR = 1e-3


@dataclass(frozen=True)
class PartedPlan:
    """The adversary's plan of a table in parts; ``source`` is the bound of a step, or the model without features."""

    source: PlanBound | InterceptOnly
    standard: Standard
    first_rows: tuple[int, ...]

    def of_part(self, k: int, batch: RowBatch) -> ShiftPlan:
        """The plan of the k-th part, given its raw rows; it shares out their weights over the weight of all rows."""
        part, kept = self.standard.rows(batch)
        posed = part.under(self.standard.terms)
        if isinstance(self.source, InterceptOnly):
            plan = self.source.plan(posed)
        else:
            plan = self.source.plan(LiftedRows(posed, 1), self.first_rows[k])
        return ShiftPlan(kept[plan.row], plan.moved, plan.flipped, plan.mass, plan.slope, plan.lowest, plan.highest)

    def share(self, k: int) -> PartedPlan:
        """What the k-th part needs of the plan, as its part 0: all that has to travel to it."""
        if isinstance(self.source, InterceptOnly):
            return self
        begin, end = self.first_rows[k : k + 2]
        words = LiftedCoordinates(self.standard.terms).mask_words
        own = replace(self.source, native_plan=self.source.native_plan.of_rows(begin, end, words))
        return PartedPlan(own, self.standard, (0, end - begin))


PartedOutcome = SolveOutcome[RobustCoefficients, PartedPlan]


def sums_of_parts(parts: RawParts, n_levels: IntArray) -> BatchSums:
    """The first pass."""
    sums: BatchSums = reduce(add, parts.each(batch_sums, [(n_levels,)] * len(parts.counts)))
    return sums


def require_streamable(terms: Terms) -> None:
    """Raise ``UnsupportedProblemError`` if a problem with these terms cannot be solved from parts of its rows."""
    infinite = np.isinf(terms.cost.numeric_weights).any() or np.isinf(terms.cost.categorical_weights).any()
    if terms.radius == 0 or infinite:
        cause = "the radius is 0" if terms.radius == 0 else "some columns have an infinite weight"
        raise UnsupportedProblemError(
            f"{cause}, and whether such a model exists, and is optimal, can only be told from all rows at once. Fit a table in "
            "memory instead of batches, or choose a radius above 0 and finite weights."
        )
    reason = too_wide(terms)
    if reason is not None:
        raise UnsupportedProblemError(f"this problem cannot be solved from batches: {reason}")


def solve_parts(
    terms: Terms,
    parts: RawParts,
    options: SolveOptions,
    *,
    sums: BatchSums | None = None,
    warm_start: RobustCoefficients | None = None,
) -> PartedOutcome:
    """Minimise the objective of :class:`RobustLogisticProblem` over a table in parts.

    Parameters
    ----------
    terms : Terms
        In the units of the table.
    parts : RawParts
        Their weights may have any sum; they are divided by it.
    options : SolveOptions
    sums : BatchSums, optional
        What :func:`sums_of_parts` found, if somebody has asked already.
    warm_start : RobustCoefficients, optional

    Returns
    -------
    SolveOutcome
        ``primal`` in the units of the table, ``dual`` a :class:`PartedPlan`.

    Raises
    ------
    UnsupportedProblemError
        Radius 0, infinite weights, too many coefficients.
    SeparableDataError
        All rows have the same label, and it cannot flip.
    """
    require_streamable(terms)
    started = time.perf_counter()
    sums = sums_of_parts(parts, terms.n_levels) if sums is None else sums
    _require_labels(terms, sums)
    standard = Standard.of(terms, sums)
    counts = list(parts.each(_count, [()] * len(parts.counts))) if sums.n_rows < sum(parts.counts) else list(parts.counts)
    first_rows = (0, *np.cumsum(counts).tolist())
    rows = SummedRows(_standard_parts(parts, standard, counts, options.n_threads), sums)
    known = intercept_only_from_sums(standard.terms, standard.sums(sums))
    if known is not None:
        return _known_outcome(rows, standard, known, first_rows, options, started)
    near = warm_start is not None
    if warm_start is not None:
        x = rows.lift(standard.standardize(warm_start))
    elif isinstance(parts, KeepingParts):
        found = minimiser_of_sample(parts, standard, counts, options)
        x = starting_point(rows) if found is None else rows.tighten(found[0])
        near = found is not None and rows.n_coefficients <= NEAR * found[1]
    else:
        sample = _sample(parts, standard, counts)
        x = starting_point(rows) if sample is None else rows.tighten(coarse_minimiser(sample, options, SAMPLE_TOLERANCE))
        near = sample is not None and rows.n_coefficients <= NEAR * sample.n_rows
    descent = Descent(rows, x, options.tolerance, near=near)
    status, history = minimise(descent, options, started)
    bound = descent.bound
    return SolveOutcome(
        status=status,
        primal=standard.restore(rows.unlift(descent.x)),
        dual=PartedPlan(bound, standard, first_rows) if bound is not None else None,
        upper_bound=descent.objective,
        lower_bound=descent.lower_bound,
        iterations=history[-1].iteration,
        seconds=time.perf_counter() - started,
        history=history,
    )


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
    rows: SummedRows,
    standard: Standard,
    known: InterceptOnly,
    first_rows: tuple[int, ...],
    options: SolveOptions,
    started: float,
) -> PartedOutcome:
    """The outcome above the critical radius: the plan proves the objective itself."""
    objective = rows.objective(rows.lift(known.coefficients))
    only = Progress(1, objective, objective, time.perf_counter() - started)
    if options.on_progress is not None:
        options.on_progress(only)
    return SolveOutcome(
        status=Status.OPTIMAL,
        primal=standard.restore(known.coefficients),
        dual=PartedPlan(known, standard, first_rows),
        upper_bound=objective,
        lower_bound=objective,
        iterations=1,
        seconds=only.seconds,
        history=(only,),
    )


def _standard_parts(parts: RawParts, standard: Standard, counts: Sequence[int], n_threads: int) -> StandardParts:
    """The parts in standard units, once and for all if they can keep them."""
    if isinstance(parts, KeepingParts):
        return KeptStandardParts.of(parts, standard, counts, n_threads)
    return StandardParts(parts, standard, counts, n_threads)


def _sample(parts: RawParts, standard: Standard, counts: Sequence[int]) -> RobustLogisticProblem | None:
    """One row from each of so many equal stretches of the table; None if that is too few rows to be of use."""
    n_rows = sum(counts)
    if n_rows < SAMPLE_SHARE * SAMPLE_ROWS:
        return None
    size = min(n_rows // SAMPLE_SHARE, max(*counts, SAMPLE_ROWS), MOST_SAMPLE_ROWS)
    # The same rows every time, but no pattern that a sorted table could share.
    places = np.arange(size) + np.random.default_rng(0).random(size)
    chosen = np.minimum((places * (n_rows / size)).astype(np.int64), n_rows - 1)
    ends = np.cumsum(counts)
    cuts = np.searchsorted(chosen, ends)
    pieces = np.split(chosen, cuts[:-1])
    arguments = [(standard, piece - (end - count)) for piece, end, count in zip(pieces, ends, counts, strict=True)]
    batches = list(parts.each(_taken, arguments))
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
    """Some rows of a part, in standard units."""
    part, _ = standard.rows(batch)
    return part.take(rows)
