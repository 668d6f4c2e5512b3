"""Online mirror descent: one example at a time, each evaluated before it is learned from (Remark 5.4 of the paper).

At time t the cost theta_t is known, an example arrives, the objective f_t = kappa R + loss_t is incurred at theta_t, and one
step of mirror descent is made. The regret after T examples is what was incurred beyond the best fixed cost in hindsight,

    regret_T = sum_t f_t(theta_t)  -  min over theta in Theta of sum_t f_t(theta).

The minimum is bounded from below by the cuts of the decisions found (see :mod:`~.weighted_decisions`), so ``regret`` is an
upper bound, computed from the data in memory for one vector. For steps of size scale / sqrt(t) it is at most

    (D / scale) sqrt(T) + scale sum_t ||g_t||_*^2 / (2 sqrt(t)),    D the largest divergence from a point met to one of Theta,

that is O(sqrt(T)) where Theta is bounded and updates are Euclidean, and with steps "strong" O(log(T)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.inverse.mirror.mirror_descent import MirrorDescent, regularizer_gradient
from surefoot.inverse.mirror.mirror_run import MirrorRun
from surefoot.inverse.mirror.native_steps import NativeSteps
from surefoot.inverse.mirror.weighted_decisions import mean_multipliers
from surefoot.inverse.oracle.forward_oracle import ForwardOracle
from surefoot.inverse.problem.cost_proof import separable_minimum
from surefoot.inverse.problem.problem import Example, InverseProblem


class OnlineMirror:
    """A cost that learns from a stream of examples.

    Parameters
    ----------
    solver : MirrorDescent
        Its batch size does not matter: a step sees the example that has arrived.
    problem : InverseProblem
        Says what is minimised; of its examples only the number of features is used.

    Attributes
    ----------
    n_seen : int
    incurred : float
        Sum of the objectives incurred; infinite if the forward solver promises no bound.
    """

    def __init__(self, solver: MirrorDescent, problem: InverseProblem) -> None:
        self.solver, self.problem = solver, problem
        self.run: MirrorRun = solver.begin(problem)
        self.n_seen = 0
        self.incurred = 0.0
        self._slope = np.zeros(problem.n_features)
        self._offset = 0.0
        self._zero = True

    @property
    def theta(self) -> FloatArray:
        """The cost after all examples seen."""
        return self.run.theta

    @property
    def answer(self) -> FloatArray:
        """The cost to predict with: the last one, or the average that the switches name."""
        return self.run.answer

    @property
    def regret(self) -> float:
        """An upper bound on the regret; 0 before the first example."""
        if self.n_seen == 0:
            return 0.0
        slope, offset = self._slope / self.n_seen, self._offset / self.n_seen
        fraction, multiplier = mean_multipliers(self.problem, slope)
        # Without responses that are decisions, a fraction below 1 is no mean of cuts, and nothing is known about the minimum.
        if fraction < 1.0 and not self._zero:
            return np.inf
        least = float(separable_minimum(self.problem, fraction * slope + multiplier, np.inf).sum()) + fraction * offset
        least -= multiplier * (self.problem.prior.total or 0.0)
        return self.incurred - self.n_seen * (max(least, 0.0) if self._zero else least)

    def observe_block(self, examples: Sequence[Example]) -> int:
        """Learn from examples one after the other in one native call; how many of them, counted from the first.

        None are where they are no sets of a few 0/1 unknowns: see :class:`~.native_steps.NativeSteps`.
        """
        if any(example.instance.features.n_features != self.problem.n_features for example in examples):
            return 0
        native = NativeSteps.of(replace(self.problem, examples=tuple(examples)), self.run)
        if native is None:
            return 0
        limit = self.solver.switches.oracle_seconds
        drawn = np.arange(len(examples))[:, None]
        made, points, objectives = native.advance(self.run, drawn, np.inf if limit is None else limit)
        learned = ~np.isnan(points[:, 0]) & (np.arange(len(points)) < made)
        slopes, distances = native.batch.cuts(np.where(np.isnan(points), 0.0, points))
        self._slope, self._offset = self._slope + slopes[learned].sum(axis=0), self._offset + float(distances[learned].sum())
        self.n_seen += made
        # A search that was cut short promises nothing about the loss.
        self.incurred += float(objectives[:made].sum()) if limit is None else np.inf
        return made

    def observe(self, example: Example) -> float:
        """Evaluate an example at the present cost, then learn from it.

        Returns
        -------
        float
            kappa R + loss at the cost before the step; nothing has changed if an error is raised.
        """
        theta, problem = self.theta, self.problem
        limit = self.solver.switches.oracle_seconds
        # An oracle of its own: the example is met once, and what would be retained for it is of no use later.
        choice = ForwardOracle().augmented(example, theta, problem.distance, seconds=np.inf if limit is None else limit)
        loss = max(choice.bound, 0.0) if problem.clamp else choice.bound
        slope, offset = np.zeros(problem.n_features), 0.0
        if choice.value > 0.0 or not problem.clamp:
            slope = example.slopes(choice.point[None, :])[0]
            offset = choice.value - float(slope @ theta)
        self.run.advance(slope + regularizer_gradient(problem, theta))
        self._slope, self._offset = self._slope + slope, self._offset + offset
        self._zero = self._zero and (problem.clamp or example.inside)
        self.n_seen += 1
        objective = problem.objective(theta, np.array([loss]))
        self.incurred += objective
        return objective
