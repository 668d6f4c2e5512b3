"""Steps of mirror descent in the native core, where all decisions are sets of a few 0/1 unknowns.

Problem, step and termination are those of ``cpp/include/surefoot/inverse/mirror_steps.hpp``.
"""

from __future__ import annotations

import numpy as np

from surefoot import _native
from surefoot.core.arrays import FloatArray, RowArray
from surefoot.inverse.mirror.mirror_map import EuclideanMap, ExponentiatedMap
from surefoot.inverse.mirror.mirror_run import MirrorRun
from surefoot.inverse.oracle.binary_batch import PARAMETERS, BinaryBatch
from surefoot.inverse.problem.problem import InverseProblem

RULES = tuple(rule.name for rule in _native.StepRule)


class NativeSteps:
    """Advances a run natively, by the same steps as :meth:`MirrorRun.advance`."""

    def __init__(self, problem: InverseProblem, batch: BinaryBatch, examples: _native.BinaryExamples) -> None:
        self.problem, self.batch = problem, batch
        self._examples = examples
        # The decisions of the last searches: feasible, and as good as a limited search may find.
        self._decisions = np.full((problem.n_examples, problem.examples[0].response.size), -1, dtype=np.int8)

    @classmethod
    def of(cls, problem: InverseProblem, run: MirrorRun) -> NativeSteps | None:
        """The native steps, or None if the observations or the run's steps are of another kind."""
        prior, chart = problem.prior, run.chart
        if run.switches.step not in RULES or problem.clamp or prior.matrix.shape[0] or prior.psd:
            return None
        boxed = isinstance(chart, EuclideanMap) and prior.total is None
        if not (boxed or isinstance(chart, ExponentiatedMap)):
            return None
        batch = BinaryBatch.of(problem)
        examples = None if batch is None else batch.examples()
        return None if batch is None or examples is None else cls(problem, batch, examples)

    def advance(self, run: MirrorRun, drawn: RowArray, seconds: float = np.inf) -> tuple[int, FloatArray, FloatArray]:
        """Make a step for each row of ``drawn``; how many were made, the decisions, and the objectives before each step.

        There is a row of decisions for every example drawn. An objective is that of the batch, no less than the true one.
        Rows of decisions are NaN where nothing better than the response was found. Fewer steps than requested mean that a
        forward problem took too many nodes to be solved here.
        """
        problem, chart, switches = self.problem, run.chart, run.switches
        exponentiated = isinstance(chart, ExponentiatedMap)
        signs = chart.signed if isinstance(chart, ExponentiatedMap) else np.zeros(problem.n_features)
        limited = np.isfinite(seconds)
        most = PARAMETERS.batch_max_nodes
        options = _native.MirrorOptions(
            exponentiated=exponentiated,
            fixed_total=problem.prior.total is not None,
            log_radius=float(np.log(chart.radius)) if isinstance(chart, ExponentiatedMap) else 0.0,
            lower=problem.prior.lower,
            upper=problem.prior.upper,
            signs=np.asarray(signs, dtype=np.int8),
            rule=_native.StepRule[str(switches.step)],
            scale=switches.step_scale,
            convexity=run.convexity,
            linear_average=switches.average == "linear",
            kappa=problem.kappa,
            squares=problem.regularizer.kind == "l2",
            center=problem.regularizer.center,
        )
        state = _native.MirrorState(
            iterate=run.state, mean=run.mean, mass=run.mass, sum_squares=run.sum_squares, steps=run.steps
        )
        made = _native.mirror_steps(
            self._examples,
            options,
            state,
            drawn=np.ascontiguousarray(drawn, dtype=np.int64),
            max_nodes=int(max(1.0, min(seconds * PARAMETERS.nodes_per_second, most))) if limited else most,
            complete=not limited,
            multipliers=self.batch.multipliers,
            decisions=self._decisions,
        )
        run.adopt(state.iterate, state.mean, state.mass, state.sum_squares, state.steps)
        flips = made.flips
        points = self.batch.points(drawn.ravel(), flips)
        return made.n_steps, np.where(flips < 0, np.nan, points), made.objectives + PARAMETERS.value_tolerance
