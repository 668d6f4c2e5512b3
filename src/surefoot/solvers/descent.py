"""Sequential quadratic programming on a finite maximum: exact, any real weights, a handful of steps.

The objective is, per row, a maximum of smooth pieces softplus(a_ik . x) - lambda d_ik (x: lifted coordinates, see
:mod:`surefoot.solvers.lifted_rows`). Around the current point

    model(d) = sum over rows of  max_k (piece k linearised)  +  1/2 d' H d,      H = sum_ik share_ik curvature of piece k,

with the shares the previous model's multipliers gave to the pieces. Its minimiser is the next step, a line search on the true
objective guards it, and its multipliers are the adversary's plan: they prove a lower bound
(:mod:`surefoot.solvers.plan_bound`).

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
settle the coefficients themselves (``Descent.settle``, with steps solved by :mod:`surefoot.solvers.exact_step`). Convergence
is quadratic, so two or three reach what double precision can tell, and tables in memory, in parts, or on other machines lead
to the same model wherever the optimum is unique; where the ties are too many for an exact step, the model is known as well
as its gap says, and no better. Objectives cannot guide these steps: near an optimum they only tell points apart that are
the square root of a rounding away. The lengths of the steps do.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surefoot import _native
from surefoot.problems.arrays import FloatArray
from surefoot.solvers.exact_step import ExactStep, Multipliers, can_be_exact
from surefoot.solvers.lifted_rows import RowSums
from surefoot.solvers.outcome import Progress, Status
from surefoot.solvers.plan_bound import PlanBound, plan_bound
from surefoot.solvers.registry import SolveOptions
from surefoot.solvers.remembered import Remembered

DEFAULT_STEPS = 200
# After so many short steps the model asks for tangents that are right this far away, unless there are too many cells to hinge.
SHORT_STEPS = 3
FAR = 1.0
MOST_TANGENT_CELLS = 20_000
# A table with fewer rows for each level has levels that hardly any row holds; there a gap so many times the fall of a step, at
# the optimum or not, lacks those tangents.
THIN = 4
UNSEEN = 3.0
# Most ties that a model lists stay broken as they are: a step is first sought among those this near, relative to its width.
AWAKE = 0.05
# At the optimum objectives differ by their rounding, while the end of a last, quadratically convergent step is still closer.
ROUNDING = 1e-14
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
# A decrease is a gap of the model's order, and the bound that its multipliers prove misses by the order after it, that is by
# bend * decrease^1.5 relative to the objective. Nothing is known of the factor before the first proof; this one is hopeful.
LEAST_BEND = 0.35
# So many steps in a row that do not lower the objective say that double precision, or this method, is at its end.
PATIENCE = 8


@dataclass(frozen=True)
class Step:
    """A solved model: where to go, what to expect, and the multipliers."""

    direction: FloatArray
    plan: _native.Plan
    multiplier: FloatArray
    decrease: float


class Descent:
    """The state of one minimisation over one set of rows; without proofs, for a start, it never calls itself optimal."""

    def __init__(self, rows: RowSums, x: FloatArray, tolerance: float, *, near: bool = False, proofs: bool = True) -> None:
        self.rows = rows
        self.x = x
        self.objective = rows.objective(x)
        self.tolerance = tolerance
        self.lower_bound = 0.0
        self.bound: PlanBound | None = None
        self.near = near
        # Near an optimum little is left to gain, and the model can be trusted farther than it will go.
        self.tie_width = 0.07 if near else 0.1
        self.damping = 1e-4 if near else 0.1
        self.expected = (1e-4 if near else 0.1) * self.objective
        # A walk along a path of a thin table has met those levels before: a single short step calls for far tangents.
        self.short_steps = SHORT_STEPS - 1 if near and self._thin else 0
        self.inexact_steps = 0
        self.proofs = proofs
        self.bend = LEAST_BEND
        self.remembered = Remembered.nothing(rows.mask_words)

    @property
    def _thin(self) -> bool:
        return self.rows.n_rows < THIN * int(self.rows.terms.n_levels.sum())

    @property
    def gap(self) -> float:
        return self.objective - self.lower_bound

    @property
    def optimal(self) -> bool:
        return self.gap <= self.tolerance * abs(self.objective)

    @property
    def worth_proving(self) -> float:
        """The decrease, relative to the objective, of the first step that may end the descent."""
        return max((self.tolerance / self.bend) ** (2.0 / 3.0), self.tolerance) if self.proofs else -np.inf

    def advance(self) -> bool:
        """One step; returns whether the objective fell."""
        step = self._step()
        end = self.x + step.direction
        # A proof costs about as much as a step, and before the last steps it proves little.
        proven = step.decrease <= self.worth_proving * self.objective
        if proven:
            self._prove(step, end)
            if self.optimal:
                self._accept(*self._at(end), slack=ROUNDING * self.objective)
                return True
            if self.gap > UNSEEN * step.decrease and self._thin:
                self.short_steps = SHORT_STEPS
        length, point, objective = self._line_search(step)
        if proven and step.decrease > 0:
            missed = max(objective - self.lower_bound, 0.0) / self.objective
            self.bend = max(missed / (step.decrease / self.objective) ** 1.5, LEAST_BEND)
        self._remember(step, end if length < 1.0 else None)
        # Half of what was promised says that the model is right; a short step says that it reaches too far.
        if length == 1.0 and self.objective - objective >= 0.5 * step.decrease:
            self.damping = max(0.1 * self.damping, 1e-10)
        elif length < 0.5:
            self.damping = min(3.0 * self.damping, 1e6)
            self.short_steps += 1
        wanted = float(np.sqrt(max(step.decrease, 0.0)))
        self.tie_width = min(1.0, max(wanted, 1e-7) if length == 1.0 else max(2.0 * self.tie_width, wanted))
        self.expected = max(step.decrease, 0.0)
        self.last = step, end
        return self._accept(point, objective)

    def prove_last(self) -> None:
        """The bound of the last step, if it has not been asked for yet."""
        self._prove(*self.last)

    def settle(self, options: SolveOptions) -> None:
        """Steps until the coefficients stand still."""
        self.damping = 1e-10
        previous = np.inf
        for _ in range(SETTLING_STEPS):
            if options.out_of_time or self.inexact_steps >= INEXACT_STEPS:
                break
            self.tie_width = max(min(self.tie_width, float(np.sqrt(self.expected))), SETTLING_WIDTH)
            step = self._exact_step()
            if step is None:
                break
            point, objective = self._at(self.x + step.direction)
            if objective > (1.0 + SETTLING_SLACK) * self.objective:
                # The model lacked the pieces that are worst where its step ended.
                self._remember(step, self.x + step.direction)
                continue
            moved = self._distance(point)
            if moved > 0.5 * previous:
                break
            self._remember(step, None)
            self.x, self.objective = point, objective
            self.expected = max(step.decrease, 0.0)
            # The next step is shorter by this factor at least, and usually by its square.
            if moved * (moved / previous if np.isfinite(previous) else 1.0) <= SETTLED:
                break
            previous = moved

    def _distance(self, point: FloatArray) -> float:
        """How far the coefficients of a point are from the current ones, relative to the largest of these."""
        slots = slice(self.rows.n_coefficients)
        here = self.x[slots]
        return float(np.abs(point[slots] - here).max(initial=0.0) / (1.0 + np.abs(here).max(initial=0.0)))

    def _row_model(self) -> _native.RowModel:
        rows = self.rows
        cells = rows.n_rows * rows.terms.n_categorical
        far = FAR if self.short_steps >= SHORT_STEPS and cells <= MOST_TANGENT_CELLS else 0.0
        return rows.row_model(self.x, self.tie_width, 0.2 * self.expected, far, self.remembered)

    def _linear_terms(self, model: _native.RowModel) -> tuple[FloatArray, FloatArray]:
        """Gradient and damping of a step around the current point."""
        rows = self.rows
        linear = model.gradient
        linear[rows.price_slot] += rows.terms.radius
        linear[rows.size] = 0.0
        curvature = model.curvature_diagonal
        # Price and envelopes have no curvature of their own; the damping must hold them too while the pieces are incomplete.
        typical = float(curvature[: rows.n_coefficients].mean()) if rows.n_coefficients else 1.0
        return linear, self.damping * np.maximum(curvature, typical)

    def _step(self) -> Step:
        accuracy = max(0.01 * self.tolerance * self.objective, 1e-3 * self.expected)
        model = self._row_model()
        # How far the first step from a neighbour's answer falls is not known before; only what may be the last must be exact.
        final = self.worth_proving * self.objective if self.near else np.inf
        direction, told, decrease = self._solve(model, *self._linear_terms(model), accuracy, final, AWAKE * self.tie_width)
        return Step(direction, self.rows.make_plan(model, told.mass, told.hinge_mass), told.shared, decrease)

    def _exact_step(self) -> Step | None:
        """The step to the last digit, or what the interior point says if no set of active pieces answers for it.

        None if that is too much work.
        """
        model = self._row_model()
        if not can_be_exact(self.rows, model):
            # Without the ties that a step of this length could only just break there may be fewer.
            self.tie_width = SETTLING_WIDTH
            model = self._row_model()
            if not can_be_exact(self.rows, model):
                return None
        linear, damping = self._linear_terms(model)
        direction, told, decrease = self._solve(model, linear, damping, SETTLING_ACCURACY * self.objective)
        exact = ExactStep(self.rows, self.x, model, linear, damping).minimiser(direction, told)
        self.inexact_steps += exact is None
        return Step(
            direction if exact is None else exact, self.rows.make_plan(model, told.mass, told.hinge_mass), told.shared, decrease
        )

    def _solve(
        self,
        model: _native.RowModel,
        linear: FloatArray,
        damping: FloatArray,
        accuracy: float,
        final: float = np.inf,
        near: float = np.inf,
    ) -> tuple[FloatArray, Multipliers, float]:
        """Minimiser of the quadratic model, its multipliers, and by how much the model falls.

        A fall greater than ``final`` is known to a hundredth only. ``near`` is how close to breaking ties must be to be looked
        at first; a step to the last digit looks at all.
        """
        rows, constraints, norm = self.rows, self.rows.constraints, self.rows.norm_constraint
        direction, mass, hinge_mass, multiplier, decrease, _, _ = _native.solve_quadratic_step(
            model,
            linear,
            damping,
            constraints.first,
            constraints.first_coef,
            constraints.second,
            constraints.second_coef,
            constraints.slack(self.x),
            norm.wide_slot,
            norm.wide_coef,
            -float(norm.wide_coef @ self.x[norm.wide_slot]),
            norm.cone_slot,
            norm.cone_scale,
            norm.cone_scale * self.x[norm.cone_slot],
            rows.price_slot,
            float(self.x[rows.price_slot]),
            accuracy,
            100,
            final,
            near,
            rows.n_threads,
        )
        return direction, Multipliers(mass, hinge_mass, multiplier), float(decrease)

    def _prove(self, step: Step, end: FloatArray) -> None:
        bound = plan_bound(self.rows, step.plan, step.multiplier, end, self.objective, self.tolerance)
        if self.bound is None or bound.value > self.lower_bound:
            self.bound = bound
            self.lower_bound = max(self.lower_bound, bound.value)

    def _line_search(self, step: Step) -> tuple[float, FloatArray, float]:
        length = 1.0
        while True:
            point, objective = self._at(self.x + length * step.direction)
            if objective <= self.objective - 0.1 * length * step.decrease or length < 1e-3:
                if length == 1.0 and self.objective - objective > step.decrease:
                    point, objective = self._stretch(step, point, objective)
                return length, point, objective
            length *= 0.5

    def _stretch(self, step: Step, point: FloatArray, objective: float) -> tuple[FloatArray, float]:
        """Goes on past the step's end while that pays: the loss of a row driven far out falls faster than a parabola."""
        length = 2.0
        while True:
            farther, lower = self._at(self.x + length * step.direction)
            if lower >= objective:
                return point, objective
            point, objective = farther, lower
            length *= 2.0

    def _at(self, x: FloatArray) -> tuple[FloatArray, float]:
        point = self.rows.tighten(x)
        return point, self.rows.objective(point)

    def _accept(self, point: FloatArray, objective: float, *, slack: float = 0.0) -> bool:
        """Moves to the point if it is better, or no worse than the slack; returns whether it is better."""
        better = objective < self.objective
        if objective < self.objective + slack:
            self.x, self.objective = point, objective
        return better

    def _remember(self, step: Step, missed: FloatArray | None) -> None:
        """Keeps the pieces that hold mass; after a step that fell short, all it had and the worst ones where it ended."""
        kept = Remembered.of_plan(step.plan, self.rows.mask_words)
        if missed is None:
            self.remembered = kept.chosen(kept.share > 1e-3)
        else:
            worst = self.rows.worst_pieces(self.rows.tighten(missed), self.x)
            self.remembered = kept.chosen(kept.share > 1e-4).joined(worst)


def minimise(
    descent: Descent, options: SolveOptions, started: float, check: Callable[[], None] | None = None
) -> tuple[Status, tuple[Progress, ...]]:
    """Step until the gap is closed or a limit ends it; ``check`` is called now and then and at the end, and may raise."""
    history: list[Progress] = []

    def tell(iteration: int) -> None:
        history.append(Progress(iteration, descent.objective, descent.lower_bound, time.perf_counter() - started))
        if options.on_progress is not None:
            options.on_progress(history[-1])

    # Where the steps begin is a model too, and often a good one.
    tell(0)
    status, failures = Status.ITERATION_LIMIT, 0
    settles = options.settle and options.tolerance <= SETTLING_TOLERANCE
    for iteration in range(1, (options.max_iter or DEFAULT_STEPS) + 1):
        failures = 0 if descent.advance() else failures + 1
        if settles and (descent.optimal or failures >= PATIENCE):
            descent.settle(options)
        tell(iteration)
        if descent.optimal:
            status = Status.OPTIMAL
            break
        if iteration % 10 == 0 and check is not None:
            check()
        if failures >= PATIENCE:
            status = Status.STALLED
            break
        if options.out_of_time:
            status = Status.TIME_LIMIT
            break
    if check is not None:
        check()
    if descent.bound is None:
        descent.prove_last()
    return status, tuple(history)
