"""How far apart the costs are that explain all observations: a range for each entry, and an angle.

Costs have no length of their own. Of every consistent cost that multiple is taken that is as long as the learned cost along
it, <theta, learned> = |learned|^2; consistent costs at a right angle to the learned one, or beyond, have no such multiple. Each
entry is minimised and maximised over these, by linear programmes to which decisions are added that refute what they find. With
any decisions left out the range is only wider, so it holds whenever the search ends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.backends.highs import LinearProgramme
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import SurefootError
from surefoot.inverse.oracle.cut_pool import CutPool
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.distance import NO_DISTANCE
from surefoot.inverse.problem.predicted_distances import tied_costs
from surefoot.inverse.problem.problem import InverseProblem

# Entries are sought within so many lengths of the learned cost; one that reaches that is unbounded.
REACH = 1e4
# What programmes miss, of the length of the learned cost: ranges are wider by as much.
ROUNDING = 1e-6
# Rounds of one programme, each with the decisions that refute the last.
ROUNDS = 30


@dataclass(frozen=True, eq=False)
class ConsistentRange:
    """Between ``least`` and ``most`` are all entries of consistent costs; no such cost is more than ``degrees`` away."""

    least: FloatArray
    most: FloatArray
    degrees: float


def consistent_range(
    problem: InverseProblem, separation: Separation, cost: FloatArray, options: SolveOptions
) -> ConsistentRange | None:
    """The range of the consistent costs around a learned one; None if that explains not all observations, or is 0."""
    length = float(np.linalg.norm(cost))
    plain = replace(problem, distance=NO_DISTANCE, kappa=0.0, hard=False)
    if length == 0 or problem.prior.psd:
        return None
    unit, pool = cost / length, CutPool(plain)
    try:
        found, _ = separation.losses(plain, unit, pool, seconds=options.seconds_left)
        tied = tied_costs(plain, unit)
        if np.any(found > tied):
            return None
        least, most = _ends(plain, separation, unit, tied, pool, options)
    except SurefootError:
        return None
    away = np.maximum(np.abs(least - unit), np.abs(most - unit))
    degrees = float(np.degrees(np.arctan(np.linalg.norm(away)))) if np.isfinite(away).all() else 90.0
    return ConsistentRange(least * length, most * length, degrees)


def _ends(
    problem: InverseProblem,
    separation: Separation,
    unit: FloatArray,
    tied: FloatArray,
    pool: CutPool,
    options: SolveOptions,
) -> tuple[FloatArray, FloatArray]:
    p, prior = unit.size, problem.prior
    # Bounds and rows that leave the multiples of a cost alone; others are left out, which only widens the range.
    lower, upper = np.where(prior.lower == 0, 0.0, -REACH), np.where(prior.upper == 0, 0.0, REACH)
    programme = LinearProgramme(lower, upper, np.zeros(p))
    columns = np.arange(p, dtype=np.int32)
    programme.add_row(columns, unit, 1.0, 1.0)
    for row, side in zip(prior.matrix, prior.ceiling, strict=True):
        if side == 0:
            programme.add_row(columns, row, -np.inf, 0.0)
    ends, known = np.empty((2, p)), 0
    for k, sign in enumerate((1.0, -1.0)):
        for j in range(p):
            programme.price(sign * np.eye(p)[j])
            for _ in range(ROUNDS):
                cuts = pool.cuts()
                for slope, slack in zip(cuts.slopes[known:], tied[cuts.owners[known:]], strict=True):
                    # What counts as a tie of the learned cost is none of others: slopes that are rounding say nothing.
                    size = float(np.abs(slope).max(initial=0.0))
                    if size > slack:
                        programme.add_row(columns, slope / size, -np.inf, slack / size)
                known = cuts.size
                answer = programme.solve(seconds=max(options.seconds_left, 1.0))
                if answer.point is None or options.out_of_time:
                    break
                separation.losses(problem, answer.point, pool, seconds=options.seconds_left)
                if len(pool.owners) == known:
                    break
            # Where no entry of the optimum is at the end of what is sought, that end has no say in it.
            inside = answer.point is not None and np.abs(answer.point).max() < REACH * (1 - 1e-9)
            ends[k, j] = sign * answer.bound if inside else -sign * np.inf
    return ends[0] - ROUNDING, ends[1] + ROUNDING
