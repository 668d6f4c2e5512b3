"""What LCPA knows besides its tree: initial cuts, and cards made from real-valued points and from other cards.

Initialisation (Algorithm 6 of Ustun and Rudin, JMLR 2019), before the first node:

1. Cut at the fits of the l1 path of the loss; the best of their tangent bounds is a first dual bound.
2. Solve the linear relaxation; cut at its solution and halfway between it and the best real-valued point; repeat until
   relaxation and loss agree. The optimum of the relaxation is a dual bound.
3. Round the real-valued points one coordinate at a time (Algorithm 4).

Every card that comes near the incumbent is polished by discrete coordinate descent (Algorithm 3), and the loss is cut at it, at
what it becomes, and at the real-valued fit of its columns. Both heuristics run on a sample of rows where there are many.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.solve_options import SolveOptions
from surefoot.riskscore.baselines.discrete_descent import polished
from surefoot.riskscore.baselines.merged_rows import coordinates
from surefoot.riskscore.baselines.parameters import PathParameters
from surefoot.riskscore.baselines.regularisation_path import PenalisedFit, regularisation_path
from surefoot.riskscore.baselines.rounding import sequential
from surefoot.riskscore.baselines.tangent_bound import tangent_bound
from surefoot.riskscore.lattice.cut_run import CutRun
from surefoot.riskscore.lattice.parameters import CutParameters
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem


class LatticeRun(CutRun):
    """A run with primal heuristics."""

    def __init__(self, problem: RiskScoreProblem, options: SolveOptions, parameters: CutParameters) -> None:
        super().__init__(problem, options)
        self.parameters = parameters
        self.sample = self.rows.sample(parameters.heuristic_rows)
        self.fitter = PenalisedFit(self.rows, problem, stopped=self._stopped)
        self.fitted: set[bytes] = set()
        self._recorded = 0.0

    def record_now_and_then(self, iteration: int, bound: Callable[[], float] | None = None) -> None:
        """One more line of history if the last one is some time ago; a bound is evaluated only then."""
        if self.options.elapsed - self._recorded >= self.parameters.report_interval:
            self._recorded = self.options.elapsed
            if bound is not None:
                self.raise_bound(bound())
            self.record(iteration)

    def take_card(self, card: RiskScore, _value: float) -> None:
        """A card that the tree came upon, whatever objective the cuts gave it."""
        before = self.upper_bound
        if self.offer(card):
            self.refine(card)
        if self.upper_bound < before:
            self.master.chain_bounds(self.upper_bound, self.lower_bound)

    def initialise(self) -> None:
        """Cuts, cards and a bound before the first node (Algorithm 6)."""
        parameters = self.parameters
        self.try_card(RiskScore(0, np.zeros(self.problem.n_columns, dtype=np.int32)))
        over = self._in(parameters.initial_fraction)
        best, best_loss, proven = np.zeros(self.problem.n_columns + 1), np.inf, 0.0
        l1_path = PathParameters(mixtures=(1.0,), n_penalties=parameters.path_cuts)
        for model in regularisation_path(self.rows, self.problem, l1_path, stopped=over):
            self.cut_at(model.point)
            bound = tangent_bound(self.problem, model.point, model.loss, model.gradient)
            if bound > proven:
                proven, self.relaxed_point = bound, model.point
            self.tighten(bound)
            if self._within_budget(model.point) and model.loss < best_loss:
                best, best_loss = model.point, model.loss
            self.round(model.point)
            if over():
                break
        over = self._in(parameters.initial_fraction)
        for _ in range(parameters.relaxation_rounds):
            if over():
                break
            relaxation = self.master.programme.solve(seconds=self.options.seconds_left)
            if relaxation.point is None:
                break
            self.raise_bound(relaxation.bound)
            point = self.master.point_of(relaxation.point)
            for candidate in (point, 0.5 * (point + best)):
                loss = self.master.cut(candidate)
                if loss < best_loss:
                    best, best_loss = candidate, loss
            if best_loss - self.lower_bound <= parameters.relaxation_gap * best_loss:
                break
        self.round(best)

    def _in(self, fraction: float) -> Callable[[], bool]:
        """Whether this fraction of the time that is left now has passed."""
        end = self.options.elapsed + fraction * self.options.seconds_left
        return lambda: self.options.elapsed >= end

    def _stopped(self) -> bool:
        return self.options.out_of_time

    def _within_budget(self, point: FloatArray) -> bool:
        """Whether a point is feasible for the relaxation, which uses columns by fractions: only then it competes with it."""
        limits = np.where(point[1:] > 0, self.problem.upper, -self.problem.lower)
        used = point[1:] != 0
        return float((np.abs(point[1:][used]) / np.maximum(limits[used], 1)).sum()) <= self.problem.max_features

    def round(self, point: FloatArray) -> None:
        """A card from a real-valued point."""
        card = sequential(self.problem, self.sample, point, self.problem.max_features, stopped=self._stopped)
        if card is not None:
            self.try_card(card)

    def try_card(self, card: RiskScore) -> None:
        """Offer a card and, if it is admissible, cut at it and at what it leads to."""
        if self.offer(card):
            self.cut_at(coordinates(card))
            self.refine(card)

    def refine(self, card: RiskScore) -> None:
        """Polish a card near the incumbent, and cut at the result and at the real-valued fit of its columns."""
        if self.problem.admits(card) and self.problem.objective(card) <= self.parameters.polish_ratio * self.upper_bound:
            better = polished(self.problem, self.sample, card, stopped=self._stopped)
            self.offer(better)
            self.cut_at(coordinates(better))
            card = better
        used = np.flatnonzero(card.points).astype(np.int32)
        if used.tobytes() not in self.fitted:
            self.fitted.add(used.tobytes())
            self.cut_at(self.fitter.fit(self.fitter.at(coordinates(card)), columns=used).point)
