"""What a fitted model says of new inputs: their class, and how sure that is.

The scores of an input's rows have a mean. How far that of a further measurement is from it is said by the rows themselves, with
the deviations that they borrow where inputs of training did, and by deviations of others alone; the larger of both counts, so
that rows which the model was fitted to do not make it too sure. With margin m = |mean| and spread s no distribution with these
two moments has scores of the other sign more often than s^2 / (s^2 + m^2), the one-sided Chebyshev inequality; the covariance
is that of a further measurement, so this is how often one may be put into the other class.

Whether the class is the right one is another question, and inputs that the model has not seen answer it. Let z = y mean / s of
each of them, with its true label y. A new input that is as usual as they are has a z below q of n others with a probability of
q / (n + 1) or less: if its z for a class c is below that of all but a few inputs of this class, c is ruled out at that level
(split conformal prediction, class by class). Here each held-out input is scored by the model of the other folds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.chancesvm.estimator.input_table import largest_error
from surefoot.chancesvm.estimator.kernel_scores import KernelScores
from surefoot.chancesvm.inputs.borrowed_repeats import RepeatPool, Repeats
from surefoot.core.arrays import FloatArray, RowArray
from surefoot.design.encode.row_groups import RowGroups


@dataclass(frozen=True, eq=False)
class ScoreMoments:
    """Mean and standard deviation of the scores of each input; NaN where nothing is known of that."""

    means: FloatArray
    spreads: FloatArray

    @property
    def margins(self) -> FloatArray:
        """Means in units of the spread, or as they are where there is none or none is known."""
        return self.means / np.where(self.spreads > 0, self.spreads, 1.0)

    @property
    def flips(self) -> FloatArray:
        """The probability of a score of another sign that no distribution with these moments exceeds."""
        return largest_error(np.abs(self.means), self.spreads * self.spreads)


@dataclass(frozen=True, eq=False)
class HeldOutMargins:
    """Margins y mean / spread of held-out inputs, in ascending order.

    Attributes
    ----------
    first, second : ndarray
        Those of the inputs of either class.
    """

    first: FloatArray
    second: FloatArray

    def p_values(self, margins: FloatArray) -> FloatArray:
        """For inputs with these margins of the second class: how usual they would be in either class, one a column."""
        found = [
            (1.0 + np.searchsorted(known, sign * margins, side="right")) / (1.0 + known.size)
            for known, sign in ((self.first, -1.0), (self.second, 1.0))
        ]
        return np.column_stack(found)


def held_out_margins(margins: FloatArray, labels: FloatArray) -> HeldOutMargins:
    """Of inputs with these margins of the second class and labels -1.0 and +1.0."""
    return HeldOutMargins(np.sort(-margins[labels < 0]), np.sort(margins[labels > 0]))


def score_moments(scores: KernelScores, rows: FloatArray, groups: RowGroups, pool: RepeatPool | None) -> ScoreMoments:
    """The moments of the scores of groups of rows, which are in the units of their columns."""
    order = np.argsort(groups.codes, kind="stable")
    sizes = np.bincount(groups.codes, minlength=len(groups.names))
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    weights = np.repeat(1.0 / sizes, sizes)
    values = scores(rows[order])
    means = np.add.reduceat(weights * values, starts[:-1])
    if pool is None:
        return ScoreMoments(means, np.where(sizes == 1, np.nan, np.sqrt(_squares(values, weights, starts, means))))
    own = rows[order] if scores.units is None else scores.units.standardized(rows[order])
    repeats = Repeats.of(own, starts, weights, np.ones(len(rows)))
    squares = [
        _squares(scores.of_samples(made.samples), made.weights, made.starts, means)
        for made in (repeats.to_come(pool), repeats.unseen(pool))
    ]
    return ScoreMoments(means, np.sqrt(np.maximum(*squares)))


def _squares(values: FloatArray, weights: FloatArray, starts: RowArray, means: FloatArray) -> FloatArray:
    """Mean squares of the distances of values from the means of their inputs."""
    beside = values - np.repeat(means, np.diff(starts))
    return np.asarray(np.add.reduceat(weights * beside * beside, starts[:-1]))
