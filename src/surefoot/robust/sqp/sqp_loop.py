"""Sequential quadratic programming on a finite maximum: exact, any real weights, a handful of steps.

The objective is, per row, a maximum of smooth pieces softplus(a_ik . x) - lambda d_ik (x: lifted coordinates, see
:mod:`surefoot.robust.sqp.lifted_rows`). Around the current point

    model(d) = sum over rows of  max_k (piece k linearised)  +  1/2 d' H d,      H = sum_ik share_ik curvature of piece k,

with the shares the previous model's multipliers gave to the pieces. Its minimiser is the next step, a line search on the true
objective guards it, and its multipliers are the adversary's plan: they prove a lower bound
(cpp/include/surefoot/plan_bound.hpp).

Which pieces enter. Exactly tied pieces of a row are nested prefixes of one order (softplus is strictly convex, so maximisers
form a chain), and the oracle lists all of them. Pieces that are not tied but could be within the coming step must enter too:
those within ``tie_width`` of the maximum, a width that follows the square root of the predicted decrease, because that is how
far losses move when a quadratic falls by so much. A step that disappoints widens it.

Rows far on the wrong side are nearly straight there, and every subset of their undecided features is nearly tied. They are not
listed: a piece stands for them with one hinge per undecided feature (cpp/include/surefoot/row_model.hpp).

Tables with levels that only one or two rows hold have directions in which the loss hardly bends, steps along them are long, and
what was far below becomes the worst. If steps keep falling short, or the bound of such a table stays behind its steps, every
row is given tangents that bound its loss from below wherever the step ends (``far`` in the row model).

A gap of 1e-6 leaves a bottom so flat that coefficients differ in the fourth digit, and which of these points a solve ends at
is chance: the first point, the order of the rows, whether equal rows were merged. So once the gap is closed a few more steps
settle the coefficients themselves (``Descent.settle``, with steps solved by :mod:`surefoot.robust.sqp.active_set_polish`).
Convergence is quadratic, so two or three reach what double precision can tell, and tables in memory, in parts, or on other
machines lead to the same model wherever the optimum is unique; where the ties are too many for an exact step, the model is
known as well as its gap says, and no better. Objectives cannot guide these steps: near an optimum they only tell points apart
that are the square root of a rounding away. The lengths of the steps do.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surefoot import _native
from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Progress, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.problem.coefficient_bounds import CoefficientBounds
from surefoot.robust.sqp.active_set_polish import ExactStep, Multipliers, can_be_exact
from surefoot.robust.sqp.dual_bound import PlanBound
from surefoot.robust.sqp.lifted_rows import RowSums
from surefoot.robust.sqp.remembered import Remembered

DEFAULT_STEPS = 200
# Certificates allow for rounding, and so find bounds that are lower by a little; this part of the tolerance is left to them.
AIM = 0.99
# Steps are taken for so long, in seconds, before the interpreter hears of them: for progress, limits and Ctrl-C.
TURN = 0.05
# Data that may be separable are looked at after so many steps.
STEPS_TO_CHECK = 10
# Steps of the interior point on one model; it takes 10 to 30.
MODEL_STEPS = 100
# Those who ask for less than this do not want to wait for more.
SETTLING_TOLERANCE = 1e-5
# A settled model is known this well, relative to its largest coefficient, unless its optimum is flat.
SETTLED = 1e-10
# Quadratic convergence is done by then; steps that take longer would not settle.
SETTLING_STEPS = 6
# An interior point's own step, taken where no exact one is found, converges as well, but not to the last digits.
INEXACT_STEPS = 2
# How exactly the models of these steps are solved, and the width of ties below which a row has one worst case.
SETTLING_ACCURACY = 1e-13
SETTLING_WIDTH = 1e-7
# Objectives that differ by less than this, relatively, are the same for all that is known of them.
SETTLING_SLACK = 1e-13
# So many steps in a row that do not lower the objective say that double precision, or this method, is at its end.
PATIENCE = 8


@dataclass(frozen=True)
class _ExactEnd:
    """Where a step to the last digit ends, and what to expect of the next one."""

    point: FloatArray
    objective: float
    plan: _native.Plan
    decrease: float


class Descent(_native.Descent):
    """The state of one minimisation over one set of rows; without proofs, for a start, it never calls itself optimal.

    The steps themselves are native (cpp/include/surefoot/descent.hpp): a step on a small table takes less time than it takes
    two threads to hand the interpreter to one another.
    """

    def __init__(
        self,
        rows: RowSums,
        x: FloatArray,
        tolerance: float,
        *,
        objective: float | None = None,
        near: bool = False,
        proofs: bool = True,
    ) -> None:
        # They are proportional to the objective of the model at hand. Without proofs nobody asks for them.
        limits = rows.coefficient_bounds(1.0) if proofs else CoefficientBounds(np.inf, np.inf, np.inf)
        super().__init__(
            rows.space,
            rows.asked,
            x,
            rows.objective(x) if objective is None else objective,
            rows.terms.radius,
            AIM * tolerance,
            limits.price,
            limits.intercept,
            limits.levels,
            near,
            proofs,
            rows.n_rows,
            rows.n_threads,
        )
        self.rows = rows
        self.inexact_steps = 0

    @property
    def bound(self) -> PlanBound | None:
        """The best bound so far."""
        proof = self.proof
        return None if proof is None else PlanBound(*proof)

    def settle(self, options: SolveOptions) -> None:
        """Steps until the coefficients stand still."""
        self.damping = 1e-10
        previous = missed = np.inf
        for _ in range(SETTLING_STEPS):
            if options.out_of_time or self.inexact_steps >= INEXACT_STEPS:
                break
            self.tie_width = max(min(self.tie_width, float(np.sqrt(self.expected))), SETTLING_WIDTH)
            end = self._exact_end()
            if end is None:
                break
            if end.objective > (1.0 + SETTLING_SLACK) * self.objective:
                # The model lacked the pieces that are worst where its step ended; if adding them hardly helped, nothing will.
                if end.objective - self.objective > 0.5 * missed:
                    break
                missed = end.objective - self.objective
                self.remember(end.plan, end.point)
                continue
            moved = self._distance(end.point)
            if moved > 0.5 * previous:
                break
            self.remember(end.plan, None)
            self.x, self.objective = end.point, end.objective
            self.expected = max(end.decrease, 0.0)
            # The next step is shorter by this factor at least, and usually by its square.
            if moved * (moved / previous if np.isfinite(previous) else 1.0) <= SETTLED:
                break
            previous = moved

    def _distance(self, point: FloatArray) -> float:
        """How far the coefficients of a point are from the current ones, relative to the largest of these."""
        slots = slice(self.rows.n_coefficients)
        here = self.x[slots]
        return float(np.abs(point[slots] - here).max(initial=0.0) / (1.0 + np.abs(here).max(initial=0.0)))

    def _exact_end(self) -> _ExactEnd | None:
        """Where the step to the last digit leads, or the interior point's if no set of active pieces answers for it.

        None if that is too much work.
        """
        rows, x = self.rows, self.x
        model = rows.row_model(x, *self.reach, Remembered(*self.remembered))
        if not can_be_exact(rows, model):
            # Without the ties that a step of this length could only just break there may be fewer.
            self.tie_width = SETTLING_WIDTH
            model = rows.row_model(x, *self.reach, Remembered(*self.remembered))
            if not can_be_exact(rows, model):
                return None
        linear, damping = rows.space.step_terms(model, rows.terms.radius, self.damping)
        accuracy = SETTLING_ACCURACY * self.objective
        direction, mass, hinge_mass, shared, decrease, plan = _native.solve_quadratic_step(
            model, rows.space, x, linear, damping, accuracy, MODEL_STEPS, np.inf, np.inf, rows.n_threads
        )
        exact = ExactStep(rows, x, model, linear, damping).minimiser(direction, Multipliers(mass, hinge_mass, shared))
        self.inexact_steps += exact is None
        point = rows.tighten(x + (direction if exact is None else exact))
        return _ExactEnd(point, rows.objective(point), plan, decrease)


def minimise(
    descent: Descent, options: SolveOptions, started: float, check: Callable[[], None] | None = None
) -> tuple[Status, tuple[Progress, ...]]:
    """Step until the gap is closed or a limit ends it; ``check`` is called now and then and at the end, and may raise."""
    history: list[Progress] = []

    def tell(iteration: int, upper_bound: float, lower_bound: float, seconds: float) -> None:
        history.append(Progress(iteration, upper_bound, lower_bound, seconds))
        if options.on_progress is not None:
            options.on_progress(history[-1])

    # Where the steps begin is a model too, and often a good one.
    tell(0, descent.objective, descent.lower_bound, time.perf_counter() - started)
    status, iteration, failures = Status.ITERATION_LIMIT, 0, 0
    most = options.max_iter or DEFAULT_STEPS
    settles = options.polish and options.tolerance <= SETTLING_TOLERANCE
    while iteration < most:
        begun = time.perf_counter()
        turn = TURN if options.time_limit is None else min(TURN, options.time_limit - options.elapsed)
        steps = min(STEPS_TO_CHECK - iteration % STEPS_TO_CHECK, most - iteration)
        # At least one, even where the time is over.
        *before, last = descent.walk(steps, failures, PATIENCE, turn)
        for upper_bound, lower_bound, fell, seconds in before:
            iteration, failures = iteration + 1, 0 if fell else failures + 1
            tell(iteration, upper_bound, lower_bound, begun + seconds - started)
        iteration, failures = iteration + 1, 0 if last[2] else failures + 1
        if settles and (descent.optimal or failures >= PATIENCE):
            descent.settle(options)
        tell(iteration, descent.objective, descent.lower_bound, time.perf_counter() - started)
        if descent.optimal:
            status = Status.OPTIMAL
            break
        if iteration % STEPS_TO_CHECK == 0 and check is not None:
            check()
        if failures >= PATIENCE:
            status = Status.STALLED
            break
        if options.out_of_time:
            status = Status.TIME_LIMIT
            break
    if check is not None:
        check()
    if not descent.proven:
        descent.prove_last()
    return status, tuple(history)
