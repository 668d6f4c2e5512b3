"""A distribution within the radius that nearly attains the worst-case expected loss of a model.

The adversary's best distribution splits the mass of each row into atoms: one stays, others change categories, go to the ends of
ranges or flip the label. What is left of the radius goes to the numeric columns without a range, where the supremum is
approached and not attained: an ever smaller mass moves ever further in the direction u that changes the score most for its
cost, beta . u = || (beta_j / gamma_j)_j ||_* at cost 1 (:func:`surefoot.robust.sqp.adversary.steepest_move`). With the l1 norm
that is the one column with the largest |beta_j| / gamma_j, with l2 and linf all columns move together.

Mass t of an atom with loss argument v that moves by (budget / t) u against its label has the loss argument v + price budget /
t. The loss log(1 + exp(.)) lies above its argument, so that mass adds at least

    t (v + price budget / t - log(1 + exp(v)))  =  price budget - t log(1 + exp(-v))

to the expected loss, t log(1 + exp(-v)) short of the supremum. t is chosen such that this is a small fraction of the loss.
Columns that move together split the cost in proportion to the parts beta_j u_j that they have in the change of the score.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray, NumericArray, RowArray
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.sqp.adversary import WorstCaseDistribution, steepest_move

# Distance from the supremum that numeric columns only approach, relative to the expected loss.
SUPREMUM_GAP = 1e-6


@dataclass(frozen=True)
class Atoms:
    """A discrete distribution atom by atom: the row it comes from, its mass, and labels and categories there and here.

    ``ends`` has an entry per numeric column with a range: 0 where it stays, 1 at the low end, 2 at the high end.
    """

    row: RowArray
    mass: FloatArray
    label: FloatArray
    codes: RowArray
    final_label: FloatArray
    final_codes: RowArray
    ends: RowArray

    @classmethod
    def of(cls, problem: RobustLogisticProblem, coefficients: RobustCoefficients, distribution: WorstCaseDistribution) -> Atoms:
        label = problem.labels[distribution.row]
        final_label = np.where(distribution.flipped, -label, label)
        codes = problem.codes[distribution.row].astype(np.int64)
        # A feature moves to its lowest coefficient under a final label +1 and to its highest under -1, whatever the row.
        slices = [slice(*ends) for ends in zip(problem.level_offsets[:-1], problem.level_offsets[1:], strict=True)]
        lowest = np.array([np.argmin(coefficients.levels[own]) for own in slices], dtype=np.int64)
        highest = np.array([np.argmax(coefficients.levels[own]) for own in slices], dtype=np.int64)
        worst = np.where(final_label[:, None] > 0, lowest, highest)
        features = distribution.moved[:, : problem.n_categorical]
        to_low, to_high = (distribution.moved[:, problem.n_categorical + end :: 2] for end in (0, 1))
        final_codes = np.where(features, worst, codes)
        row = distribution.row.astype(np.int64)
        return cls(row, distribution.mass, label, codes, final_label, final_codes, to_low + 2 * to_high.astype(np.int64))

    def numeric(self, problem: RobustLogisticProblem) -> NumericArray:
        """The numeric columns where the atoms went to."""
        numeric = problem.numeric[self.row]
        if problem.cost.numeric_ranges is not None:
            ranged = problem.cost.ranged
            low, high = problem.cost.numeric_ranges[ranged].T
            numeric[:, ranged] = np.where(self.ends == 0, numeric[:, ranged], np.where(self.ends == 1, low, high))
        return numeric

    def split(self, atom: int, mass: float) -> Atoms:
        """The same distribution with some mass of one atom set apart, as the last atom."""
        doubled = np.append(np.arange(self.row.size), atom)
        masses = self.mass[doubled]
        masses[atom] -= mass
        masses[-1] = mass
        parts = (part[doubled] for part in (self.label, self.codes, self.final_label, self.final_codes, self.ends))
        return Atoms(self.row[doubled], masses, *parts)


@dataclass(frozen=True)
class NumericMove:
    """Part of an atom that moves along some numeric columns, by signed distances, and what each of them costs."""

    atom: int
    mass: float
    columns: RowArray
    distances: FloatArray
    prices: FloatArray


def numeric_move(
    problem: RobustLogisticProblem, coefficients: RobustCoefficients, distribution: WorstCaseDistribution, atoms: Atoms
) -> NumericMove | None:
    """How to spend the numeric budget, or None if there is none; see the module docstring."""
    budget = float(distribution.numeric_budget)
    move = steepest_move(problem.cost, coefficients.numeric)
    columns = np.flatnonzero(move)
    if columns.size == 0 or not budget > 0:
        return None
    scores = coefficients.intercept + atoms.numeric(problem) @ coefficients.numeric
    scores = scores + coefficients.levels[problem.level_offsets[:-1] + atoms.final_codes].sum(axis=1)
    argument = np.where(atoms.mass > 0, -atoms.final_label * scores, -np.inf)
    atom = int(np.argmax(argument))
    shortfall_per_mass = float(np.logaddexp(0.0, -argument[atom]))
    wanted = SUPREMUM_GAP * float(distribution.expected_loss) / max(shortfall_per_mass, 1e-300)
    mass = min(float(atoms.mass[atom]), wanted)
    effect = coefficients.numeric[columns] * move[columns]
    away = -float(atoms.final_label[atom]) * budget / mass
    return NumericMove(atom, mass, columns, away * move[columns], budget / mass * effect / effect.sum())
