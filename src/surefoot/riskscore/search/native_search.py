"""The one call of the native search for score cards: the problem as it takes it, and what it is asked for."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from surefoot import _native
from surefoot.core.arrays import FloatArray, IntArray
from surefoot.core.solve_options import SolveOptions
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.search.checkpoint import SearchCheckpoint
from surefoot.riskscore.search.native_rules import native_rules, point_limits

# Rows turned at a time.
_BLOCK = 1024


def search_cards(
    problem: RiskScoreProblem,
    options: SolveOptions,
    *,
    seconds: float,
    search: bool = True,
    on_progress: Callable[[float, float, float, int], bool] | None = None,
    near_optimal: float | None = None,
    near_limit: int = 0,
    on_cards: Callable[[FloatArray, IntArray, IntArray, FloatArray], bool] | None = None,
    proof_limit: int = 0,
    resume: SearchCheckpoint | None = None,
    snapshot_interval: float = np.inf,
    on_snapshot: Callable[[IntArray, IntArray, int, IntArray], bool] | None = None,
) -> _native.SupportSearchResult:
    """Search for ``seconds`` at most; without ``search`` only for a good card. The rest is that of ``ExactScore``."""
    begun = time.perf_counter()
    columns = by_column(problem.columns)
    nothing = np.zeros(0, dtype=np.int32)
    card = RiskScore(0, nothing) if resume is None or resume.card is None else resume.card
    lower, upper = point_limits(problem)
    return _native.search_supports(
        columns,
        problem.labels,
        problem.weights,
        lower,
        upper,
        problem.intercept_lower,
        problem.intercept_upper,
        min(problem.max_features, problem.n_columns),
        problem.penalty,
        *native_rules(problem),
        *_native_shift(problem),
        *problem.multiplier_range,
        gap=options.tolerance,
        # Turning a large table takes a part of the time there is.
        time_limit=max(seconds - (time.perf_counter() - begun), 0.0),
        heuristic=True,
        n_threads=options.n_threads,
        on_progress=on_progress,
        near_optimal=-1.0 if near_optimal is None else near_optimal,
        near_limit=near_limit,
        proof_limit=proof_limit,
        on_cards=on_cards,
        resume_order=nothing if resume is None else resume.order,
        resume_finished=nothing.reshape(0, 2) if resume is None else resume.finished,
        resume_intercept=card.intercept,
        resume_points=card.points,
        snapshot_interval=snapshot_interval,
        on_snapshot=on_snapshot,
        search=search,
    )


def by_column(columns: FloatArray) -> FloatArray:
    """A copy with its columns one after the other. In blocks that stay in the cache: ten times as fast as all at once."""
    if columns.flags.f_contiguous:
        return np.ascontiguousarray(columns.T)
    turned = np.empty(columns.shape[::-1])
    for start in range(0, columns.shape[0], _BLOCK):
        turned[:, start : start + _BLOCK] = columns[start : start + _BLOCK].T
    return turned


def _native_shift(problem: RiskScoreProblem) -> tuple[float, float, FloatArray, NDArray[np.uint8]]:
    """Radius, label price, and prices and kinds of the columns, as the core takes them; a radius of 0 leaves the rows alone."""
    shift = problem.shift
    if shift is None:
        return 0.0, np.inf, np.empty(0), np.empty(0, dtype=np.uint8)
    return shift.radius, shift.label_price, shift.prices, shift.flips.astype(np.uint8)
