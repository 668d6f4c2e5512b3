"""Levels that one coefficient serves: presolve for columns with thousands of levels, and the way back.

Let labels never flip (kappa = inf), a feature have a finite weight, and the radius be positive. Take a level c of which every
row has the label +1, and any model. Raise beta_c to high, the largest coefficient of the feature:

- rows at c lose no more: where they stay, their score has grown, and where they move, it is to the lowest level;
- rows with the label +1 elsewhere move to the lowest level, whose coefficient is the same or has grown;
- rows with the label -1 move to the highest level, which is as high as before.

So some optimum has all these levels at high, and, for the same reason, all levels of which every row has the label -1 at low.
A level without any row may have the coefficient of the reference level whatever the prices are: moves to it gain no more than
those to the lowest or the highest. Each of the three groups is one level of a smaller problem with the same optimum. Among
thousands of levels most have few rows, and half of them and more have one label: steps, which cost the third power of the
coefficients, take a small part of the time. Without an intercept the reference level, whose coefficient is 0, stays as it is.

The way back. A model gives every level of a group the coefficient of the group. In a plan of the smaller problem the gradient
of a group vanishes: the flow of its rows that stay, F = sum over its levels of f_c, equals what moves to it. Divided among the
levels in proportion to f_c, what moves to each equals f_c, and the gradient of each vanishes too. A plan so divided is a plan
of the problem and proves the same bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray, IntArray
from surefoot.robust.problem.problem import RobustLogisticProblem, ShiftPlan
from surefoot.robust.problem.terms import Terms

# Fewer levels less save no time worth a model that other ways to the optimum, row by row, may find elsewhere in a flat bottom.
LEAST_SAVED = 100
MIXED, POSITIVE, NEGATIVE, EMPTY = range(4)


@dataclass(frozen=True)
class MergedLevels:
    """The levels of all features in groups.

    Attributes
    ----------
    groups : ndarray of shape (number of levels,)
        The group of each level; groups are numbered like levels, feature after feature, reference levels first.
    representatives : ndarray of shape (number of groups,)
        A level of each group.
    n_levels : ndarray of shape (n_categorical,)
        Number of groups of each feature.
    """

    groups: IntArray
    representatives: IntArray
    n_levels: IntArray

    @classmethod
    def of(cls, problem: RobustLogisticProblem) -> MergedLevels | None:
        """The groups of a problem; None if they save too little."""
        total = int(problem.n_levels.sum())
        if total < LEAST_SAVED:
            return None
        feature = np.repeat(np.arange(problem.n_categorical), problem.n_levels)
        place = problem.codes + problem.level_offsets[:-1]
        present = problem.weights > 0
        held = [np.bincount(place[present & (problem.labels == label)].ravel(), minlength=total) > 0 for label in (1.0, -1.0)]
        kind = np.select([held[0] & held[1], held[0], held[1]], [MIXED, POSITIVE, NEGATIVE], EMPTY)
        one_label = (kind == POSITIVE) | (kind == NEGATIVE)
        kind[one_label & ~may_merge(problem.terms)[feature]] = MIXED
        first = problem.level_offsets[:-1]
        if not problem.fit_intercept:
            kind[first] = MIXED
        _, earliest, same = np.unique(4 * feature + kind, return_index=True, return_inverse=True)
        leader = np.where(kind == MIXED, np.arange(total), earliest[same.ravel()])
        leader = np.where(kind == EMPTY, first[feature], leader)
        representatives, groups = np.unique(leader, return_inverse=True)
        if total - representatives.size < LEAST_SAVED:
            return None
        counts = np.bincount(feature[representatives], minlength=problem.n_categorical)
        return cls(groups.ravel().astype(np.int64), representatives, counts.astype(np.int32))

    def merged(self, problem: RobustLogisticProblem) -> RobustLogisticProblem:
        """The smaller problem: the same rows with the groups of their levels."""
        starts = np.cumsum(self.n_levels) - self.n_levels
        codes = self.groups[problem.codes + problem.level_offsets[:-1]] - starts
        return replace(problem, codes=codes.astype(np.int32), n_levels=self.n_levels)

    def divided_plan(self, plan: ShiftPlan, problem: RobustLogisticProblem) -> ShiftPlan:
        """A plan of the smaller problem, its rows those of the given one, as a plan of the given one."""
        place = problem.codes[plan.row] + problem.level_offsets[:-1]
        staying = ~plan.moved[:, : problem.n_categorical]
        flow = np.broadcast_to((plan.mass * plan.slope)[:, None], place.shape)
        flows = np.bincount(place[staying], weights=flow[staying], minlength=self.groups.size)
        total = np.bincount(self.groups, weights=flows, minlength=self.representatives.size)
        # Where nothing stays nothing arrives, or rounding does: all of it goes to one level.
        lone = np.zeros(self.groups.size)
        lone[self.representatives] = 1.0
        whole = total[self.groups]
        share: FloatArray = np.divide(flows, whole, out=lone, where=whole > 0)
        return replace(plan, lowest=plan.lowest[self.groups] * share, highest=plan.highest[self.groups] * share)


def may_merge(terms: Terms) -> BoolArray:
    """Of which features the levels with rows of one label may be merged; those without rows always may."""
    priced: BoolArray = np.isfinite(terms.cost.categorical_weights)
    return priced & (terms.radius > 0 and not np.isfinite(terms.cost.label_weight))
