"""One run of mirror descent: where it stands, how far it steps, and what it averages.

Step t along a subgradient g_t has the size (Proposition 5.2 and Section 6.4 of Zattoni Scroccaro et al., 2024)

    "adaptive"     scale / sqrt(sum_s<=t ||g_s||_*^2)   no constant of the problem need be known
    "normalized"   scale / (||g_t||_* sqrt(t))          that of the paper's experiments
    "sqrt"         scale / sqrt(t)                      mean objective within (R^2 / scale + scale G^2) / sqrt(T) of the optimum
    "strong"       2 / (alpha (t + 1))                  the same within 2 G^2 / (alpha (T + 1)), where the regulariser is
                                                        alpha-strongly convex: kappa R with R = 1/2 ||.||^2 has alpha = kappa
    "constant"     scale

("normalized" lengthens the short subgradients among stochastic ones, which biases their mean: where most examples have no loss,
what is left of g_t is the regulariser's part, stretched to full length. "adaptive" does not.)

Examples are drawn in passes: each once, in random order, before any is drawn again. The noise of drawing cancels over a pass,
so that averages converge several times sooner than with independent draws ("uniform", as in the paper's Algorithm 1).

What is returned is the last point ("last"), the mean of all ("uniform"), or their mean with weights t ("linear", which the rate
of "strong" is proved for).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray, RowArray
from surefoot.inverse.mirror.mirror_map import MirrorMap

UPDATES = ("auto", "euclidean", "exponentiated")
STEPS = ("auto", "adaptive", "normalized", "sqrt", "strong", "constant")
AVERAGES = ("auto", "last", "uniform", "linear")
SAMPLINGS = ("passes", "uniform")


@dataclass(frozen=True)
class MirrorSwitches:
    """Everything about the method that can be switched; "auto" is resolved by :class:`~.mirror_descent.MirrorDescent`.

    Attributes
    ----------
    update : {"auto", "euclidean", "exponentiated"}
    batch_size : int or None
        Examples per step; None takes all of them (deterministic).
    sampling : {"passes", "uniform"}
        Whether every example is drawn once, in random order, before any is drawn again, or each step draws among all of them.
    oracle_seconds : float or None
        Time for one augmented forward problem, whose best decision until then is taken; None solves each to the end.
    step : {"auto", "adaptive", "normalized", "sqrt", "strong", "constant"} or callable
        A callable is given t = 1, 2, ... and returns the size.
    step_scale : float
    average : {"auto", "last", "uniform", "linear"}
    radius : float or None
        Bound on the sum of absolute values, for exponentiated updates.
    start : ndarray or None
        Where to begin; 0, or equal weights, by default.
    random_state : int, numpy.random.Generator or None
    """

    update: str = "auto"
    batch_size: int | None = 1
    sampling: str = "passes"
    oracle_seconds: float | None = None
    step: str | Callable[[int], float] = "auto"
    step_scale: float = 1.0
    average: str = "auto"
    radius: float | None = None
    start: FloatArray | None = None
    random_state: int | np.random.Generator | None = None

    def __post_init__(self) -> None:
        choices = (
            ("update", self.update, UPDATES),
            ("average", self.average, AVERAGES),
            ("sampling", self.sampling, SAMPLINGS),
        )
        for name, value, known in choices:
            if value not in known:
                raise ValueError(f"{name}={value!r} is not known. Choose one of {', '.join(map(repr, known))}.")
        if not callable(self.step) and self.step not in STEPS:
            raise ValueError(
                f"step={self.step!r} is not known. Choose one of {', '.join(map(repr, STEPS))}, or give a callable."
            )
        if self.batch_size is not None and (isinstance(self.batch_size, bool) or self.batch_size < 1):
            raise ValueError(
                f"batch_size = {self.batch_size!r} must be a whole number of at least 1, or None for all examples."
            )
        for name, number in (
            ("oracle_seconds", self.oracle_seconds),
            ("step_scale", self.step_scale),
            ("radius", self.radius),
        ):
            if number is not None and not (np.isfinite(number) and number > 0):
                raise ValueError(f"{name} = {number!r} must be a positive number.")


class Draws:
    """Which examples the steps of a run look at."""

    def __init__(self, switches: MirrorSwitches, n_examples: int) -> None:
        self.count = n_examples
        self.size = min(switches.batch_size or n_examples, n_examples)
        self._uniform = switches.sampling == "uniform"
        self._generator = np.random.default_rng(switches.random_state)
        self._rest: RowArray = np.empty(0, dtype=np.int64)

    def next(self, steps: int) -> RowArray:
        """Examples of the next steps, one row each; a row across two passes may hold an example twice."""
        shape = (steps, self.size)
        if self.size == self.count:
            return np.broadcast_to(np.arange(self.count), shape)
        if self._uniform:
            return np.array([self._generator.choice(self.count, size=self.size, replace=False) for _ in range(steps)])
        missing = max(steps * self.size - self._rest.size, 0)
        passes = [self._generator.permutation(self.count) for _ in range(-(-missing // self.count))]
        drawn = np.concatenate([self._rest, *passes])
        self._rest = drawn[steps * self.size :]
        return drawn[: steps * self.size].reshape(shape)


class MirrorRun:
    """Where a run stands.

    Parameters
    ----------
    chart : MirrorMap
    switches : MirrorSwitches
        With ``step`` and ``average`` resolved.
    convexity : float
        alpha of the step "strong".
    """

    def __init__(self, chart: MirrorMap, switches: MirrorSwitches, convexity: float = 0.0) -> None:
        self.chart, self.switches, self.convexity = chart, switches, convexity
        self.state = chart.begin(switches.start)
        self.steps = 0
        self.mean = chart.point(self.state)
        self.mass = 0.0
        self.sum_squares = 0.0

    @property
    def theta(self) -> FloatArray:
        """The point at which the next subgradient is taken."""
        return self.chart.point(self.state)

    @property
    def answer(self) -> FloatArray:
        """What the run returns: the last point, or the average of those at which subgradients were taken."""
        return self.theta if self.switches.average == "last" or self.mass == 0.0 else self.mean

    @property
    def weight(self) -> float:
        """Weight of the next point in the average, and of what is learned there in a bound."""
        return float(self.steps + 1) if self.switches.average == "linear" else 1.0

    def advance(self, gradient: FloatArray) -> float:
        """Step along a subgradient taken at ``theta``; the size of the step."""
        here, weight = self.theta, self.weight
        self.steps += 1
        self.mass += weight
        self.mean = self.mean + (here - self.mean) * (weight / self.mass)
        size = self._size(gradient)
        if size > 0.0:
            self.state = self.chart.step(self.state, gradient, size)
        return size

    def adopt(self, state: FloatArray, mean: FloatArray, mass: float, sum_squares: float, steps: int) -> None:
        """Take over the state after steps made elsewhere; ``steps`` counts all of them."""
        self.state, self.mean, self.mass, self.sum_squares, self.steps = state, mean, mass, sum_squares, steps

    def _size(self, gradient: FloatArray) -> float:
        rule, scale, t = self.switches.step, self.switches.step_scale, self.steps
        if callable(rule):
            size = float(rule(t))
            if not (np.isfinite(size) and size > 0):
                raise ValueError(f"step({t}) returned {size!r}; a step must be a positive number.")
            return size
        if rule == "strong":
            return 2.0 / (self.convexity * (t + 1))
        if rule == "constant":
            return scale
        if rule == "sqrt":
            return float(scale / np.sqrt(t))
        length = self.chart.dual_norm(gradient)
        self.sum_squares += length**2
        # A subgradient of zero says that this point cannot be improved by what was sampled: stay.
        if length == 0.0:
            return 0.0
        return float(scale / (np.sqrt(self.sum_squares) if rule == "adaptive" else length * np.sqrt(t)))
