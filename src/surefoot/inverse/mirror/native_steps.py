"""Steps of mirror descent in the native core, where all decisions are sets of a few 0/1 unknowns."""

from __future__ import annotations

import numpy as np

from surefoot import _native
from surefoot.core.arrays import FloatArray, RowArray
from surefoot.inverse.mirror.mirror_map import EuclideanMap, ExponentiatedMap
from surefoot.inverse.mirror.mirror_run import MirrorRun
from surefoot.inverse.oracle.binary_batch import MOST_NODES, FlipBatch
from surefoot.inverse.oracle.binary_search import NODES_PER_SECOND
from surefoot.inverse.problem.problem import InverseProblem

RULES = ("adaptive", "normalized", "sqrt", "strong", "constant")


class FlipWalk:
    """Walks a run natively, by the same steps as :meth:`MirrorRun.advance`."""

    def __init__(self, problem: InverseProblem, batch: FlipBatch, examples: _native.FlipExamples) -> None:
        self.problem, self.batch = problem, batch
        self._examples = examples
        # What was decided last: as good a decision as a limited search may find.
        self._decided = np.full((problem.n_examples, problem.examples[0].response.size), -1, dtype=np.int8)

    @classmethod
    def of(cls, problem: InverseProblem, run: MirrorRun) -> FlipWalk | None:
        """The walk, or None if the observations or the run's steps are of another kind."""
        prior, chart = problem.prior, run.chart
        if run.switches.step not in RULES or problem.clamp or prior.matrix.shape[0] or prior.psd:
            return None
        boxed = isinstance(chart, EuclideanMap) and prior.total is None
        if not (boxed or isinstance(chart, ExponentiatedMap)):
            return None
        batch = FlipBatch.of(problem)
        examples = None if batch is None else batch.examples()
        return None if batch is None or examples is None else cls(problem, batch, examples)

    def advance(self, run: MirrorRun, drawn: RowArray, seconds: float = np.inf) -> tuple[int, FloatArray]:
        """Make a step for each row of ``drawn``; how many were made, and the decisions, one row for every example drawn.

        Rows of decisions are NaN where nothing better than the response was found. Fewer steps than asked for mean that a
        forward problem took too long to be solved here.
        """
        problem, chart, switches = self.problem, run.chart, run.switches
        exponentiated = isinstance(chart, ExponentiatedMap)
        signs = chart.signed if isinstance(chart, ExponentiatedMap) else np.zeros(problem.n_features)
        limited = np.isfinite(seconds)
        made, state, mean, mass, squares, flips = _native.walk(
            self._examples,
            exponentiated,
            problem.prior.total is not None,
            float(np.log(chart.radius)) if isinstance(chart, ExponentiatedMap) else 0.0,
            problem.prior.lower,
            problem.prior.upper,
            np.asarray(signs, dtype=np.int8),
            RULES.index(str(switches.step)),
            switches.step_scale,
            run.convexity,
            switches.average == "linear",
            problem.kappa,
            problem.regularizer.kind == "l2",
            problem.regularizer.center,
            run.state,
            run.mean,
            run.mass,
            run.squares,
            run.steps,
            np.ascontiguousarray(drawn, dtype=np.int64),
            int(max(1.0, min(seconds * NODES_PER_SECOND, MOST_NODES))) if limited else MOST_NODES,
            not limited,
            self.batch.prices,
            self._decided,
        )
        run.jump(state, mean, mass, squares, made)
        points = self.batch.points(drawn.ravel(), flips)
        return made, np.where(flips < 0, np.nan, points)
