"""Stochastic approximate mirror descent ("samd"): Algorithm 1 of Zattoni Scroccaro, Atasoy and Mohajerin Esfahani (2024).

    min over theta in Theta of   kappa R(theta) + (1/N) sum_i loss_i(theta)

One step, with the step lengths of :mod:`~.mirror_run` and the Bregman divergences B of :mod:`~.mirror_map`:

    draw a batch of examples
    for each, solve max over x of d(x_i, x) - <theta_t, phi(s_i, x)>, to optimality or for a given time: x_i,t
    g_t = kappa grad R(theta_t) + mean of phi(s_i, x_i) - phi(s_i, x_i,t)
    theta_t+1 = argmin over Theta of eta_t <g_t, theta> + B(theta, theta_t)

Each of the three departures from the subgradient method can be switched (:class:`~.mirror_run.MirrorSwitches`): the update, the
batch, and the time for a forward problem.

A decision found in a limited time is as good a cut as any, so the lower bound of :mod:`~.weighted_decisions` never needs an
exact oracle. The upper bound is the objective at the returned cost, from a pass over all examples; where forward problems are
only ever solved approximately (a caller's own solver that promises nothing), it is NaN. Passes are made whenever the number of
steps has doubled, and at the end; the best cost of all passes is returned. Termination: the gap of a pass is closed, or a limit
of the options.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Status, handed_over
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import ForwardSolveError
from surefoot.inverse.exact.constraint_generation import CostOutcome
from surefoot.inverse.exact.cost_run import CostRun
from surefoot.inverse.mirror.mirror_map import EuclideanMap, ExponentiatedMap, MirrorMap, project, refuses_exponentiated
from surefoot.inverse.mirror.mirror_run import Draws, MirrorRun, MirrorSwitches
from surefoot.inverse.mirror.native_steps import NativeSteps
from surefoot.inverse.mirror.parameters import MirrorParameters
from surefoot.inverse.mirror.weighted_decisions import WeightedDecisions
from surefoot.inverse.oracle.forward_oracle import ForwardOracle
from surefoot.inverse.problem.cost_proof import CostProof, proven_bound
from surefoot.inverse.problem.exact_weights import exact_proof
from surefoot.inverse.problem.problem import InverseProblem


@dataclass(frozen=True, eq=False)
class Batch:
    """A subgradient and the value of the mean loss of a batch of examples at a point."""

    gradient: FloatArray
    value: float


class MirrorDescent:
    """The solver ``"samd"``.

    Parameters
    ----------
    switches : MirrorSwitches, optional
    oracle : ForwardOracle, optional
        One that has solved forward problems of the same examples before.
    parameters : MirrorParameters, optional
    """

    name = "samd"

    def __init__(
        self,
        switches: MirrorSwitches | None = None,
        oracle: ForwardOracle | None = None,
        parameters: MirrorParameters | None = None,
    ) -> None:
        self.switches = MirrorSwitches() if switches is None else switches
        self.parameters = MirrorParameters() if parameters is None else parameters
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
        return _Solve(self, problem, options).run_to_end()

    def begin(self, problem: InverseProblem) -> MirrorRun:
        """A run at its start, with every "auto" resolved for the problem."""
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
        self.oracle, self.parameters = solver.oracle, solver.parameters
        self.cuts = WeightedDecisions(problem)
        self.descent = solver.begin(problem)
        self.draws = Draws(solver.switches, problem.n_examples)
        self.native = NativeSteps.of(problem, self.descent)
        # Bounds are NaN until a pass has computed them.
        self.run: CostRun[FloatArray, CostProof] = CostRun(options, self.descent.answer, np.nan, lower_bound=np.nan)

    def run_to_end(self) -> CostOutcome:
        limit = self.options.max_iter
        if limit is None:
            limit = self.parameters.default_passes * -(-self.problem.n_examples // self.draws.size)
        status, check = Status.ITERATION_LIMIT, 1
        try:
            while self.descent.steps < limit:
                if self.options.out_of_time:
                    status = Status.TIME_LIMIT
                    break
                self._advance(min(limit, check) - self.descent.steps)
                if self.descent.steps == check:
                    check *= 2
                    if self._pass():
                        status = Status.OPTIMAL
                        break
            # A pass takes as long as forward problems do; after the time limit it makes do with bounds that come quickly.
            last = self._last_seconds() if status is Status.TIME_LIMIT else np.inf
            if status is not Status.OPTIMAL and self._pass(last):
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
        most = max(1, self.parameters.native_batch // self.draws.size)
        drawn = self.draws.next(min(steps, most) if self.native is not None else 1)
        made = 0
        if self.native is not None:
            first = self.descent.weight
            made, points, _ = self.native.advance(self.descent, drawn, self._seconds())
            weights = first + np.arange(made) if self.descent.switches.average == "linear" else np.ones(made)
            owners = drawn[:made].ravel().tolist()
            for at, point, weight in zip(owners, points, np.repeat(weights, self.draws.size).tolist(), strict=False):
                self.cuts.add(at, None if np.isnan(point[0]) else point, weight)
        for row in drawn[made:]:
            theta = self.descent.theta
            weight = self.descent.weight
            batch = evaluate(self.problem, self.oracle, row.tolist(), theta, self._seconds(), self.cuts, weight)
            self.descent.advance(batch.gradient + regularizer_gradient(self.problem, theta))

    def _seconds(self) -> float:
        return np.inf if self.switches.oracle_seconds is None else self.switches.oracle_seconds

    def _last_seconds(self) -> float:
        return self.parameters.last_pass_fraction * float(self.options.time_limit or 0.0) / self.problem.n_examples

    def _pass(self, seconds: float = np.inf) -> bool:
        """Both bounds at what would be returned now, by a pass over all examples; whether they have met."""
        theta, run = self.descent.answer, self.run
        upper = self.problem.objective(theta, loss_bounds(self.problem, self.oracle, theta, seconds))
        if np.any(theta) and (run.fallback is None or upper < run.fallback[1]):
            run.fallback = (theta, upper)
        if np.isfinite(upper):
            run.improve(theta, upper)
        else:
            run.primal = theta
        proof = exact_proof(self.problem, self.cuts.proof())
        run.tighten(proven_bound(self.problem, self.cuts.pool.cuts(), proof), proof)
        run.record(self.descent.steps)
        return run.converged

    def _outcome(self, status: Status) -> CostOutcome:
        if not self.run.history:
            self.run.primal = self.descent.answer
        return self.run.outcome(status, self.descent.steps)


def evaluate(
    problem: InverseProblem,
    oracle: ForwardOracle,
    drawn: Sequence[int],
    theta: FloatArray,
    seconds: float,
    cuts: WeightedDecisions | None = None,
    weight: float = 1.0,
) -> Batch:
    """Subgradient and value of the mean loss of some examples, by their worst decisions found within ``seconds`` each."""
    gradient, value = np.zeros(problem.n_features), 0.0
    for at in drawn:
        example = problem.examples[at]
        choice = oracle.augmented(example, theta, problem.distance, seconds=seconds)
        # Where a negative loss counts as 0, the response itself is the worst decision then.
        counts = choice.value > 0.0 or not problem.clamp
        if counts:
            gradient += example.slopes(choice.point[None, :])[0]
            value += choice.value
        if cuts is not None:
            cuts.add(at, choice.point if counts else None, weight)
    return Batch(gradient / len(drawn), value / len(drawn))


def regularizer_gradient(problem: InverseProblem, theta: FloatArray) -> FloatArray:
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
