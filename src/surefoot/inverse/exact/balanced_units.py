"""Units of a master: what costs and losses are divided by, so that its arithmetic sees numbers near 1.

Columns may be nanoseconds beside euros, and one observation a thousand times as large as the next. With s_j a power of 2 near
the largest feature j, u_i one near the largest loss of observation i, and t one near the size of the cost, a master is solved
in theta_j s_j / t and loss_i / u_i. Regularizers, bounds and rows of the prior set get the factors that leave the problem as it
was posed; powers of 2 leave its numbers as they were, too. Data of one unit are left alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.inverse.exact.parameters import BalancedUnitsParameters
from surefoot.inverse.problem.decision_set import LinearSet, ListedSet
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.hypothesis import LinearFeatures, QuadraticFeatures
from surefoot.inverse.problem.problem import Example, InverseProblem

PARAMETERS = BalancedUnitsParameters()


@dataclass(frozen=True, eq=False, repr=False)
class ObservationSizes:
    """Largest differences of features by observation and coordinate, and largest distances, as far as arrays tell."""

    steep: FloatArray
    apart: FloatArray
    listed: BoolArray

    @classmethod
    def of(cls, problem: InverseProblem) -> ObservationSizes:
        return _sizes(problem.examples, problem.distance)

    def losses(self, theta: FloatArray) -> FloatArray:
        """What the loss of every observation is made of at a cost: its distance, and its largest product with a feature."""
        return np.asarray(np.maximum(self.apart, (self.steep * np.abs(theta)).max(axis=1, initial=0.0)))

    def units(self, theta: FloatArray) -> FloatArray:
        """What tolerances on losses are fractions of: 1, or less where listed decisions have smaller losses.

        Forward solvers have tolerances of their own, whatever losses are made of.
        """
        return np.where(self.listed, np.minimum(self.losses(theta), 1.0), 1.0)

    @property
    def columns(self) -> FloatArray:
        """s of the module docstring; ones for columns of one unit."""
        largest = self.steep.max(axis=0, initial=0.0)
        some = largest > 0
        if not some.any() or largest[some].max() <= PARAMETERS.alike * largest[some].min():
            return np.ones_like(largest)
        return np.where(some, power_of_2(np.where(some, largest, 1.0)), 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class BalancedUnits:
    """Units of the entries of a cost and of the losses of observations; all 1 where nothing is to be balanced."""

    cost: FloatArray
    loss: FloatArray

    @classmethod
    def of(cls, problem: InverseProblem) -> BalancedUnits | None:
        """The units of a problem's masters; None where its numbers are of one size already."""
        if problem.prior.psd:
            return None
        sizes = ObservationSizes.of(problem)
        columns = sizes.columns
        scaled = (sizes.steep / columns).max(axis=1, initial=0.0)
        moving = scaled > 0
        uneven = moving.any() and scaled[moving].max() > PARAMETERS.alike * scaled[moving].min()
        if not uneven and columns.max() == columns.min():
            return None
        cost = _cost_size(problem, sizes, columns, scaled) / columns
        loss = np.maximum(sizes.apart, (sizes.steep * cost).max(axis=1, initial=0.0))
        return cls(cost, power_of_2(np.where(loss > 0, loss, 1.0)))


def unit_advice(problem: InverseProblem) -> str:
    """What to do about columns of very different sizes, or nothing."""
    largest = ObservationSizes.of(problem).steep.max(axis=0, initial=0.0)
    some = np.flatnonzero(largest > 0)
    most, least = (int(some[at(largest[some])]) if some.size else 0 for at in (np.argmax, np.argmin))
    if not some.size or largest[most] <= PARAMETERS.apart * largest[least]:
        return ""
    return (
        f"Features differ in size by a factor of {largest[most] / largest[least]:.0e}: feature {most} varies by up to "
        f"{largest[most]:.1e}, feature {least} by up to {largest[least]:.1e}. Divide such columns so that all vary by about 1."
    )


def power_of_2(sizes: FloatArray) -> FloatArray:
    """Powers of 2 near positive numbers."""
    return np.asarray(np.ldexp(1.0, np.clip(np.rint(np.log2(sizes)), -900, 900).astype(np.int64)))


def _cost_size(problem: InverseProblem, sizes: ObservationSizes, columns: FloatArray, scaled: FloatArray) -> float:
    """t of the module docstring: what distances ask of a cost, as far as its prior set allows that, or what that or its centre
    asks for.
    """
    prior, center = problem.prior, np.abs(problem.regularizer.center) * columns
    center = center[center > 0]
    if problem.hard:
        # Every observation is to be explained.
        asked = np.divide(sizes.apart, scaled, out=np.zeros_like(scaled), where=scaled > 0).max()
    else:
        asked = sizes.apart.max() / max(scaled.max(), 1e-300)
    most = np.maximum(np.abs(prior.lower), np.abs(prior.upper))
    if prior.total is not None and np.all(prior.lower >= 0):
        most = np.minimum(most, prior.total)
    asked = min(asked, (most * columns).max())
    if not asked > 0:
        asked = np.max(np.maximum(np.maximum(prior.lower, -prior.upper), 0.0) * columns)
    if not asked > 0 and prior.total:
        asked = abs(prior.total) * columns.min()
    if not asked > 0:
        asked = center.min(initial=center.max(initial=0.0))
    return float(power_of_2(np.array(asked if asked > 0 else 1.0)))


@lru_cache(maxsize=4)
def _sizes(examples: tuple[Example, ...], distance: Distance) -> ObservationSizes:
    pairs = [_size(example, distance) for example in examples]
    listed = np.array([isinstance(example.instance.decisions, ListedSet) for example in examples])
    return ObservationSizes(np.array([steep for steep, _ in pairs]), np.array([apart for _, apart in pairs]), listed)


def _size(example: Example, distance: Distance) -> tuple[FloatArray, float]:
    decisions, features = example.instance.decisions, example.instance.features
    if isinstance(decisions, ListedSet):
        steep = np.abs(example.slopes(decisions.points)).max(axis=0, initial=0.0)
        return np.asarray(steep), float(example.distances(distance, decisions.points).max(initial=0.0))
    whole = bool(decisions.whole.any())
    own = np.abs(example.response)
    size = 1.0 if whole else float(own.max(initial=0.0)) or 1.0
    apart = 0.0 if (distance.integer if whole else distance.continuous) == "none" else size
    if isinstance(features, QuadraticFeatures) or not isinstance(features, LinearFeatures):
        return np.abs(example.own), apart
    if isinstance(decisions, LinearSet):
        room = decisions.upper - decisions.lower
        own = np.where(np.isfinite(room), room, np.where(own > 0, own, 1.0))
    else:
        own = np.ones_like(own)
    return np.asarray((np.abs(features.matrix) * own).max(axis=1, initial=0.0)), apart
