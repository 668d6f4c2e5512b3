"""Fits of inverse optimizers: the problem that an approach poses, the solver that a name stands for, and fits online."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.backends.highs import LinearProgramme
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InvalidObservationError, UnsupportedProblemError
from surefoot.inverse.mirror.mirror_run import MirrorSwitches
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.oracle.solver_check import require_reaction
from surefoot.inverse.problem.approaches import APPROACHES
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import Example, InverseProblem
from surefoot.inverse.registry import SOLVERS, InverseOutcome

if TYPE_CHECKING:
    from surefoot.inverse.mirror.online_mirror import OnlineMirror


def fit_cost(
    model: Any, separation: Separation, problem: InverseProblem, options: SolveOptions
) -> tuple[InverseProblem, InverseOutcome]:
    """The problem that the model's approach poses, and its solution by the model's solver."""
    approach = APPROACHES[model.approach]
    if model.solver == "samd":
        task = mean_loss_task(problem, model.approach)
        solver = SOLVERS.make("samd", mirror_switches(model), separation.oracle)
    else:
        task = approach.pose(problem)
        solver = SOLVERS.make(model.solver, model.approach, separation)
    SOLVERS.require_acceptance(solver, task)
    outcome = solver.solve(task, options)
    if outcome.status is Status.INFEASIBLE and approach.otherwise is not None:
        task = APPROACHES[approach.otherwise].pose(replace(problem, kappa=0.0))
        outcome = SOLVERS.make(model.solver, approach.otherwise, separation).solve(task, options)
    require_reaction(task, separation.oracle)
    return task, outcome


def require_members(prior: PriorSet) -> None:
    """Raise if a prior set holds no cost vector, to the tolerances of a linear programme."""
    if prior.total is None and not prior.ceiling.size:
        return
    columns = np.arange(prior.n_features, dtype=np.int32)
    programme = LinearProgramme(prior.lower, prior.upper, np.zeros(prior.n_features))
    for row, side in zip(prior.matrix, prior.ceiling, strict=True):
        programme.add_row(columns, row, -np.inf, float(side))
    if prior.total is not None:
        programme.add_row(columns, np.ones(prior.n_features), prior.total, prior.total)
    if programme.solve().status is Status.INFEASIBLE:
        raise ValueError("prior: no cost vector meets all its bounds and rows; the set is empty.")


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


def mean_loss_task(problem: InverseProblem, approach: str) -> InverseProblem:
    """The problem of an approach, for solvers that minimise a mean of losses.

    Raises
    ------
    UnsupportedProblemError
        If it is of another kind, or if 0 would be an answer.
    """
    if not APPROACHES[approach].is_mean_loss:
        raise UnsupportedProblemError(
            f"solver='samd' minimises a mean of losses: approach must be 'asl' or 'suboptimality', not {approach!r}. "
            "Use solver='exact'."
        )
    task = APPROACHES[approach].pose(problem)
    zero = np.zeros(problem.n_features)
    if task.distance.absent and task.prior.excess(zero) <= 0 and not np.any(task.regularizer.center):
        raise UnsupportedProblemError(
            "without a distance a cost of 0 has no loss, and solver='samd' would find it: give prior='simplex' or another set "
            "without 0, or use solver='exact'."
        )
    return task


def begin_online(model: Any, problem: InverseProblem, start: FloatArray | None) -> OnlineMirror:
    """An online fit at its start; of the problem's examples only the first is used, for its shape."""
    from surefoot.inverse.mirror.mirror_descent import MirrorDescent
    from surefoot.inverse.mirror.online_mirror import OnlineMirror

    task = mean_loss_task(replace(problem, examples=problem.examples[:1]), model.approach)
    switches = mirror_switches(model, start)
    if switches.update == "exponentiated" and switches.radius is None and task.prior.total is None:
        raise UnsupportedProblemError("exponentiated updates online need a bound on the cost: give cost_bound=...")
    solver = MirrorDescent(switches)
    SOLVERS.require_acceptance(solver, task)
    return OnlineMirror(solver, task)


def observe_all(online: OnlineMirror, examples: Sequence[Example]) -> None:
    """Learn from examples one after the other; those before a failing one are learned."""
    width = online.problem.n_features
    for example in examples[online.observe_block(examples) :]:
        found = example.instance.features.n_features
        if found != width:
            raise InvalidObservationError(f"observation {example.index}: features have {found} entries, earlier ones {width}.")
        online.observe(example)
