"""Stochastic approximate mirror descent ("samd"): Algorithm 1 of Zattoni Scroccaro, Atasoy and Mohajerin Esfahani (2024).

    repeat   draw a batch of examples
             for each, solve max over x of d(x_i, x) - <theta_t, phi(s_i, x)>, to the end or for a given time: x_i,t
             g_t = kappa grad R(theta_t) + mean of phi(s_i, x_i) - phi(s_i, x_i,t)
             theta_t+1 = argmin over Theta of eta_t <g_t, theta> + B(theta, theta_t)

Each of the three departures from the subgradient method can be switched (:class:`~.mirror_run.MirrorSwitches`): the update, the
batch, and the time for a forward problem.

A decision found in a limited time is as good a cut as any, so the lower bound of :mod:`~.visited_decisions` never needs an
exact oracle. The upper bound is the objective at the returned cost, from a pass over all examples; where forward problems are
only ever solved approximately (a caller's own solver that promises nothing), it is NaN. Passes are made whenever the number of
steps has doubled, and at the end; the best cost seen by them is returned.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Progress, SolveOutcome, Status, handed_over
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import ForwardSolveError
from surefoot.inverse.exact.constraint_generation import CostOutcome
from surefoot.inverse.mirror.mirror_map import EuclideanMap, ExponentiatedMap, MirrorMap, project, refuses_exponentiated
from surefoot.inverse.mirror.mirror_run import Draws, MirrorRun, MirrorSwitches
from surefoot.inverse.mirror.native_steps import FlipWalk
from surefoot.inverse.mirror.visited_decisions import VisitedDecisions
from surefoot.inverse.oracle.forward_oracle import ForwardOracle
from surefoot.inverse.problem.cost_proof import CostProof, proven_bound
from surefoot.inverse.problem.problem import InverseProblem

# Passes over the examples if no number of steps is given.
DEFAULT_PASSES = 100
# Forward problems solved in one native call.
MOST_SEARCHES = 2000
# Share of a time limit that the pass after it may take.
LAST_PASS = 0.05


@dataclass(frozen=True, eq=False)
class Batch:
    """What a batch of examples says at a point: mean slope and mean value of the decisions found."""

    slope: FloatArray
    value: float


class MirrorDescent:
    """The solver ``"samd"``.

    Parameters
    ----------
    switches : MirrorSwitches, optional
    oracle : ForwardOracle, optional
        One that has solved forward problems of the same examples before.
    """

    name = "samd"

    def __init__(self, switches: MirrorSwitches | None = None, oracle: ForwardOracle | None = None) -> None:
        self.switches = MirrorSwitches() if switches is None else switches
        self.oracle = ForwardOracle() if oracle is None else oracle

    def refuses(self, problem: InverseProblem) -> str | None:
        """Why the switches do not suit a problem, or None."""
        switches, prior = self.switches, problem.prior
        if problem.hard:
            return "losses that must be 0 cannot be traded against others. Use solver='exact'."
        if switches.update == "exponentiated":
            reason = refuses_exponentiated(prior)
            if reason is not None:
                return f"{reason}. Use update='euclidean'."
            if switches.radius is None and prior.total is None and problem.kappa == 0:
                return "exponentiated updates need a bound on the cost: give a radius, kappa > 0, or prior='simplex'."
        if switches.step == "strong" and not self._strongly_convex(problem):
            return "step='strong' needs kappa > 0, regularizer='l2' and update='euclidean'. Use step='adaptive'."
        if switches.start is not None and np.shape(switches.start) != (problem.n_features,):
            return f"start has shape {np.shape(switches.start)}, but costs have {problem.n_features} entries."
        return None

    def solve(self, problem: InverseProblem, options: SolveOptions) -> CostOutcome:
        """Run until the gap is closed, or for as long as the options allow.

        Raises
        ------
        SolveInterrupted
            On Ctrl-C, with the best cost so far.
        ForwardSolveError
            If a forward problem fails, with the best cost so far as ``outcome``.
        """
        return _Solve(self, problem, options).run()

    def begin(self, problem: InverseProblem) -> MirrorRun:
        """A run at its start, with every "auto" settled for the problem."""
        switches = self.switches
        exponentiated = switches.update == "exponentiated" or (switches.update == "auto" and self._simplex(problem))
        chart: MirrorMap = EuclideanMap(problem.prior)
        if exponentiated:
            chosen = problem.prior.total or switches.radius or default_radius(problem, self.oracle)
            chart = ExponentiatedMap(problem.prior, float(chosen))
        step, average = switches.step, switches.average
        if step == "auto":
            step = "strong" if self._strongly_convex(problem) and not exponentiated else "adaptive"
        if average == "auto":
            average = "uniform" if step == "sqrt" else "linear"
        start = None if switches.start is None else np.asarray(switches.start, dtype=np.float64)
        return MirrorRun(chart, replace(switches, step=step, average=average, start=start), problem.kappa)

    def _strongly_convex(self, problem: InverseProblem) -> bool:
        return problem.kappa > 0 and problem.regularizer.kind == "l2" and self.switches.update != "exponentiated"

    @staticmethod
    def _simplex(problem: InverseProblem) -> bool:
        return problem.prior.total is not None and refuses_exponentiated(problem.prior) is None


class _Solve:
    """One call of :meth:`MirrorDescent.solve`."""

    def __init__(self, solver: MirrorDescent, problem: InverseProblem, options: SolveOptions) -> None:
        self.problem, self.options, self.switches = problem, options, solver.switches
        self.oracle = solver.oracle
        self.seen = VisitedDecisions(problem)
        self.run_ = solver.begin(problem)
        self.draws = Draws(solver.switches, problem.n_examples)
        self.native = FlipWalk.of(problem, self.run_)
        self.best, self.upper = self.run_.answer, np.nan
        # The best cost that is not 0: what a run that is cut short returns, since 0 decides nothing.
        self.telling: tuple[float, FloatArray] | None = None
        self.proof: CostProof | None = None
        self.lower = np.nan
        self.history: list[Progress] = []

    def run(self) -> CostOutcome:
        limit = self.options.max_iter
        if limit is None:
            limit = DEFAULT_PASSES * -(-self.problem.n_examples // self.draws.size)
        status, check = Status.ITERATION_LIMIT, 1
        try:
            while self.run_.steps < limit:
                if self.options.out_of_time:
                    status = Status.TIME_LIMIT
                    break
                self._advance(min(limit, check) - self.run_.steps)
                if self.run_.steps == check:
                    check *= 2
                    if self._look():
                        status = Status.OPTIMAL
                        break
            # A pass takes as long as forward problems do; after the time limit it makes do with bounds that come quickly.
            last = self._last_seconds() if status is Status.TIME_LIMIT else np.inf
            if status is not Status.OPTIMAL and self._look(last):
                status = Status.OPTIMAL
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        except ForwardSolveError as flaw:
            raise ForwardSolveError(
                f"{flaw} What had been learned until then is kept in 'outcome'.", self._outcome(status)
            ) from flaw
        return handed_over(self._outcome(status))

    def _advance(self, steps: int) -> None:
        """Some of the next ``steps`` steps: as many as leave a look at the clock now and then."""
        drawn = self.draws.next(min(steps, max(1, MOST_SEARCHES // self.draws.size)) if self.native is not None else 1)
        made = 0
        if self.native is not None:
            first = self.run_.weight
            made, points = self.native.advance(self.run_, drawn, self._seconds())
            weights = first + np.arange(made) if self.run_.switches.average == "linear" else np.ones(made)
            owners = drawn[:made].ravel().tolist()
            for at, point, weight in zip(owners, points, np.repeat(weights, self.draws.size).tolist(), strict=False):
                self.seen.add(at, None if np.isnan(point[0]) else point, weight)
        for row in drawn[made:]:
            theta = self.run_.theta
            batch = price(self.problem, self.oracle, row.tolist(), theta, self._seconds(), self.seen, self.run_.weight)
            self.run_.advance(batch.slope + regular_slope(self.problem, theta))

    def _seconds(self) -> float:
        return np.inf if self.switches.oracle_seconds is None else self.switches.oracle_seconds

    def _last_seconds(self) -> float:
        return LAST_PASS * float(self.options.time_limit or 0.0) / self.problem.n_examples

    def _look(self, seconds: float = np.inf) -> bool:
        """Both bounds at what would be returned now; whether they have met."""
        theta = self.run_.answer
        upper = self.problem.objective(theta, loss_bounds(self.problem, self.oracle, theta, seconds))
        if np.any(theta) and (self.telling is None or upper < self.telling[0]):
            self.telling = (upper, theta)
        if np.isfinite(upper) and not upper >= self.upper:
            self.best, self.upper = theta, upper
        elif not np.isfinite(upper):
            self.best = theta
        proof = self.seen.proof()
        bound = proven_bound(self.problem, self.seen.pool.cuts(), proof)
        if not bound <= self.lower:
            self.lower, self.proof = bound, proof
        line = Progress(self.run_.steps, self.upper, self.lower, time.perf_counter() - self.options.started)
        self.history.append(line)
        if self.options.on_progress is not None:
            self.options.on_progress(line)
        return line.gap <= self.options.tolerance * abs(self.upper)

    def _outcome(self, status: Status) -> CostOutcome:
        if not self.history:
            self.best = self.run_.answer
        if status is not Status.OPTIMAL and self.telling is not None and not np.any(self.best):
            self.upper, self.best = self.telling
        return SolveOutcome(
            status=status,
            primal=self.best,
            dual=self.proof,
            upper_bound=float(self.upper),
            lower_bound=float(self.lower),
            iterations=self.run_.steps,
            seconds=time.perf_counter() - self.options.started,
            history=tuple(self.history),
        )


def price(
    problem: InverseProblem,
    oracle: ForwardOracle,
    drawn: Sequence[int],
    theta: FloatArray,
    seconds: float,
    seen: VisitedDecisions | None = None,
    weight: float = 1.0,
) -> Batch:
    """The worst decisions of some examples, found within ``seconds`` each, as a mean slope and a mean value."""
    slope, value = np.zeros(problem.n_features), 0.0
    for at in drawn:
        example = problem.examples[at]
        choice = oracle.augmented(example, theta, problem.distance, seconds=seconds)
        # A negative loss counts as 0 where that was asked for: there the response itself is the worst decision.
        kept = choice.value > 0.0 or not problem.clamp
        if kept:
            slope += example.slopes(choice.point[None, :])[0]
            value += choice.value
        if seen is not None:
            seen.add(at, choice.point if kept else None, weight)
    return Batch(slope / len(drawn), value / len(drawn))


def regular_slope(problem: InverseProblem, theta: FloatArray) -> FloatArray:
    """A subgradient of kappa R."""
    away = theta - problem.regularizer.center
    found: FloatArray = problem.kappa * (away if problem.regularizer.kind == "l2" else np.sign(away))
    return found


def loss_bounds(problem: InverseProblem, oracle: ForwardOracle, theta: FloatArray, seconds: float = np.inf) -> FloatArray:
    """Upper bounds on all losses at a cost; the losses themselves where there is time, and an exact forward solver."""
    found = [oracle.augmented(example, theta, problem.distance, seconds=seconds).bound for example in problem.examples]
    return np.maximum(found, 0.0) if problem.clamp else np.asarray(found, dtype=np.float64)


def default_radius(problem: InverseProblem, oracle: ForwardOracle) -> float:
    """A bound on the sum of absolute values of the best cost.

    Where losses are not negative, kappa R at the best cost is at most the objective F of any other cost of Theta, here of the
    one nearest to the centre of R. So ||theta - center||_1 is at most F / kappa, or sqrt(2 p F / kappa) for squares.
    """
    center = project(problem.prior, problem.regularizer.center)
    value = problem.objective(center, loss_bounds(problem, oracle, center))
    if not np.isfinite(value) or not (problem.clamp or all(example.inside for example in problem.examples)):
        raise ValueError(
            "the size of the best cost is not known, since the forward solver promises no bound, or responses are not among "
            "the decisions: give a radius."
        )
    away = value / problem.kappa
    if problem.regularizer.kind == "l2":
        away = float(np.sqrt(problem.n_features * 2.0 * value / problem.kappa))
    return max(away + float(np.abs(problem.regularizer.center).sum()), 1e-9)
