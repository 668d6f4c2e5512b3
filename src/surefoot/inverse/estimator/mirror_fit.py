"""Inverse optimizers by mirror descent: the switches as estimators spell them, whole fits, and fits online."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InvalidObservationError, UnsupportedProblemError
from surefoot.inverse.exact.constraint_generation import CostOutcome, LossCuts
from surefoot.inverse.mirror.mirror_descent import MirrorDescent
from surefoot.inverse.mirror.mirror_run import MirrorSwitches
from surefoot.inverse.mirror.online_mirror import OnlineMirror
from surefoot.inverse.problem.distance import NO_DISTANCE
from surefoot.inverse.problem.problem import Example, InverseProblem

# Approaches that minimise a mean of losses, which is what mirror descent can do.
MIRRORED = ("asl", "suboptimality")


def mirror_switches(model: Any, start: FloatArray | None = None) -> MirrorSwitches:
    """The switches of an estimator; ``start`` stands in for a start it does not name."""
    given = start if model.start is None else np.asarray(model.start, dtype=np.float64)
    return MirrorSwitches(
        update=model.update,
        batch_size=model.batch_size,
        sampling=model.sampling,
        oracle_seconds=model.oracle_time_limit,
        step=model.step,
        step_scale=model.step_scale,
        average=model.average,
        radius=model.cost_bound,
        start=given,
        random_state=model.random_state,
    )


def mirror_task(problem: InverseProblem, approach: str) -> InverseProblem:
    """What mirror descent minimises for an approach.

    Raises
    ------
    UnsupportedProblemError
        If it minimises nothing of the kind, or if 0 would be an answer.
    """
    if approach not in MIRRORED:
        raise UnsupportedProblemError(
            f"solver='samd' minimises a mean of losses: approach must be 'asl' or 'suboptimality', not {approach!r}. "
            "Use solver='exact'."
        )
    task = problem if approach == "asl" else replace(problem, distance=NO_DISTANCE)
    zero = np.zeros(problem.n_features)
    if task.distance.absent and task.prior.excess(zero) <= 0 and not np.any(task.regularizer.center):
        raise UnsupportedProblemError(
            "without a distance a cost of 0 has no loss, and solver='samd' would find it: give prior='simplex' or another set "
            "without 0, or use solver='exact'."
        )
    return task


def chosen_solver(problem: InverseProblem, switches: MirrorSwitches, exact: LossCuts | None = None) -> MirrorDescent:
    """The solver, if it accepts the problem."""
    solver = MirrorDescent(switches, None if exact is None else exact.oracle)
    reason = solver.refuses(problem)
    if reason is not None:
        raise UnsupportedProblemError(f"solver='samd' cannot solve this problem: {reason}")
    return solver


def fit_by_mirror(
    model: Any, exact: LossCuts, problem: InverseProblem, options: SolveOptions
) -> tuple[InverseProblem, CostOutcome]:
    """The task of the estimator's approach, and what mirror descent made of it."""
    task = mirror_task(problem, model.approach)
    return task, chosen_solver(task, mirror_switches(model), exact).solve(task, options)


def begin_online(model: Any, problem: InverseProblem, start: FloatArray | None) -> OnlineMirror:
    """An online fit at its start; of the problem's examples only the first is kept, for its shape."""
    task = mirror_task(replace(problem, examples=problem.examples[:1]), model.approach)
    switches = mirror_switches(model, start)
    if switches.update == "exponentiated" and switches.radius is None and task.prior.total is None:
        raise UnsupportedProblemError("exponentiated updates online need a bound on the cost: give cost_bound=...")
    return OnlineMirror(chosen_solver(task, switches), task)


def observe_all(online: OnlineMirror, examples: Iterable[Example]) -> None:
    """Learn from examples one after the other; those before a failing one are learned."""
    width = online.problem.n_features
    for example in examples:
        found = example.instance.features.n_features
        if found != width:
            raise InvalidObservationError(f"observation {example.index}: features have {found} entries, earlier ones {width}.")
        online.observe(example)
