"""The one call of the native search for score cards: the problem as it takes it, and its options."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from surefoot import _native
from surefoot.core.arrays import FloatArray
from surefoot.core.solve_options import SolveOptions
from surefoot.riskscore.problem.problem import RiskScoreProblem
from surefoot.riskscore.search.checkpoint import SearchCheckpoint
from surefoot.riskscore.search.native_rules import native_rules, point_limits
from surefoot.riskscore.search.parameters import DEFAULT_PARAMETERS


def search_cards(
    problem: RiskScoreProblem,
    options: SolveOptions,
    *,
    seconds: float,
    search: bool = True,
    on_progress: Callable[[_native.SearchProgress], bool] | None = None,
    near_optimal: float | None = None,
    near_limit: int = 0,
    on_cards: Callable[[_native.CardBlock], bool] | None = None,
    proof_limit: int = 0,
    resume: SearchCheckpoint | None = None,
    snapshot_interval: float = np.inf,
    on_snapshot: Callable[[_native.SearchSnapshot], bool] | None = None,
) -> _native.SearchResult:
    """Search for ``seconds`` at most; without ``search`` only for a good card. The rest is that of ``ExactScore``."""
    begun = time.perf_counter()
    native = native_problem(problem)
    native_options = _native.SearchOptions()
    native_options.gap = options.tolerance
    native_options.n_threads = options.n_threads
    native_options.search = search
    native_options.near_optimal = -1.0 if near_optimal is None else near_optimal
    native_options.near_limit = near_limit
    native_options.proof_limit = proof_limit
    native_options.snapshot_interval = snapshot_interval
    if resume is not None:
        native_options.resume = native_snapshot(resume)
    # Transposing a large table takes a part of the time there is.
    native_options.time_limit = max(seconds - (time.perf_counter() - begun), 0.0)
    return _native.search_supports(native, native_options, on_progress=on_progress, on_cards=on_cards, on_snapshot=on_snapshot)


def native_problem(problem: RiskScoreProblem) -> _native.ScoreProblem:
    """The problem in the core's terms; the table is copied column by column."""
    lower, upper = point_limits(problem)
    least_multiplier, most_multiplier = problem.multiplier_range
    return _native.ScoreProblem(
        columns=by_column(problem.columns),
        labels=problem.labels,
        weights=problem.weights,
        lower=lower,
        upper=upper,
        intercept_lower=problem.intercept_lower,
        intercept_upper=problem.intercept_upper,
        max_size=min(problem.max_features, problem.n_columns),
        penalty=problem.penalty,
        least_multiplier=least_multiplier,
        most_multiplier=most_multiplier,
        rules=native_rules(problem),
        shift=_native_shift(problem),
    )


def native_snapshot(state: SearchCheckpoint) -> _native.SearchSnapshot:
    """A checkpoint as the search resumes from it."""
    nothing = np.zeros(0, dtype=np.int32)
    intercept, points = (0, nothing) if state.card is None else (state.card.intercept, state.card.points)
    return _native.SearchSnapshot(order=state.order, finished=state.finished, intercept=intercept, points=points)


def by_column(columns: FloatArray, block: int = DEFAULT_PARAMETERS.transposed_rows) -> FloatArray:
    """A copy with its columns one after the other, transposed in blocks of rows that stay in the cache."""
    if columns.flags.f_contiguous:
        return np.ascontiguousarray(columns.T)
    turned = np.empty(columns.shape[::-1])
    for start in range(0, columns.shape[0], block):
        turned[:, start : start + block] = columns[start : start + block].T
    return turned


def _native_shift(problem: RiskScoreProblem) -> _native.ShiftTerm | None:
    """Radius and prices of shifts, or None where the rows stay as they are."""
    shift = problem.shift
    if shift is None or not shift.radius > 0:
        return None
    return _native.ShiftTerm(
        radius=shift.radius, label_price=shift.label_price, price=shift.prices, flips=shift.flips.astype(np.uint8)
    )
