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
what was far below becomes the worst. If steps keep falling short, every row is given tangents that bound its loss from below
wherever the step ends (``far`` in the row model).

Above the critical radius nothing has to be solved (:mod:`surefoot.solvers.critical_radius`).

Large tables are solved on a sample of rows first: the point it ends at is within sampling error of the optimum, which saves the
steps in which many rows are tied.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot import _native
from surefoot.problems.arrays import AnyArray, FloatArray, RowArray
from surefoot.problems.robust_logistic import RobustCoefficients, RobustLogisticProblem, ShiftPlan
from surefoot.solvers.critical_radius import intercept_only
from surefoot.solvers.lifted_rows import LiftedRows
from surefoot.solvers.outcome import Progress, SolveOutcome, Status
from surefoot.solvers.plan_bound import PlanBound, plan_bound
from surefoot.solvers.registry import RobustOutcome, SolveOptions, require_acceptance
from surefoot.solvers.separation import require_attained
from surefoot.solvers.standard_rows import StandardRows
from surefoot.solvers.starting_point import starting_point

# A dense Hessian of this many coordinates takes half a gigabyte and a factorisation minutes.
MOST_COORDINATES = 8000
DEFAULT_STEPS = 200
# After so many short steps the model asks for tangents that are right this far away, unless there are too many cells to hinge.
SHORT_STEPS = 3
FAR = 1.0
MOST_TANGENT_CELLS = 20_000
# Samples below this size save less time than they cost.
SAMPLE_ROWS = 1000
SAMPLE_SHARE = 8
# A row is this well classified only at odds of ten thousand to one: time to ask whether the data are separable.
WIDE_MARGIN_LOSS = 1e-4


class Remembered(NamedTuple):
    """Pieces the next model must contain, in the order of their rows, with the share of its row that each held."""

    row: RowArray
    mask: NDArray[np.uint64]
    flipped: NDArray[np.uint8]
    share: FloatArray

    @classmethod
    def nothing(cls, rows: LiftedRows) -> Remembered:
        return cls(np.empty(0, np.int64), np.empty((0, rows.mask_words), np.uint64), np.empty(0, np.uint8), np.empty(0))

    @classmethod
    def worst(cls, rows: LiftedRows, x: FloatArray) -> Remembered:
        """The worst piece of every row at a point."""
        _, moved, flipped, _ = rows.native.worst_case_rows(x, rows.n_threads)
        problem = rows.problem
        bits = np.zeros((problem.n_rows, 64 * rows.mask_words), dtype=np.uint8)
        bits[:, : problem.n_categorical] = moved.reshape(problem.n_rows, problem.n_categorical)
        mask = np.packbits(bits, axis=1, bitorder="little").view("<u8").astype(np.uint64)
        return cls(np.arange(problem.n_rows), mask, flipped, np.zeros(problem.n_rows))

    def chosen(self, which: AnyArray) -> Remembered:
        """The pieces at these positions, or where this mask is set."""
        return Remembered(self.row[which], self.mask[which], self.flipped[which], self.share[which])

    def joined(self, other: Remembered) -> Remembered:
        """Both, in the order of their rows."""
        both = Remembered(
            np.concatenate((self.row, other.row)),
            np.concatenate((self.mask, other.mask)),
            np.concatenate((self.flipped, other.flipped)),
            np.concatenate((self.share, other.share)),
        )
        return both.chosen(np.argsort(both.row, kind="stable"))


@dataclass(frozen=True)
class Step:
    """A solved model: where to go, what to expect, and the multipliers."""

    model: _native.RowModel
    direction: FloatArray
    plan: _native.Plan
    multiplier: FloatArray
    decrease: float


class Descent:
    """The state of one minimisation over one set of rows."""

    def __init__(self, rows: LiftedRows, x: FloatArray, tolerance: float, *, near: bool = False) -> None:
        self.rows = rows
        self.x = x
        self.objective = rows.objective(x)
        self.tolerance = tolerance
        self.lower_bound = 0.0
        self.bound: PlanBound | None = None
        # Near an optimum little is left to gain, and the model can be trusted farther than it will go.
        self.tie_width = 0.02 if near else 0.1
        self.damping = 1e-3 if near else 0.1
        self.expected = (1e-4 if near else 0.1) * self.objective
        self.short_steps = 0
        self.remembered = Remembered.nothing(rows)

    @property
    def gap(self) -> float:
        return self.objective - self.lower_bound

    @property
    def optimal(self) -> bool:
        return self.gap <= self.tolerance * abs(self.objective)

    def advance(self) -> bool:
        """One step; returns whether the objective fell."""
        step = self._solve_model()
        end = self.x + step.direction
        if step.decrease <= 1e3 * self.tolerance * self.objective:
            self._prove(step, end)
            if self.optimal:
                self._accept(*self._at(end))
                return True
        length, point, objective = self._line_search(step)
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

    def _solve_model(self) -> Step:
        rows = self.rows
        cells = rows.problem.n_rows * rows.problem.n_categorical
        far = FAR if self.short_steps >= SHORT_STEPS and cells <= MOST_TANGENT_CELLS else 0.0
        model = _native.build_row_model(
            rows.native, self.x, self.tie_width, 0.05 * self.expected, far, *self.remembered, rows.n_threads
        )
        linear = model.gradient
        linear[rows.price_slot] += rows.problem.radius
        linear[rows.size] = 0.0
        curvature = model.curvature_diagonal
        # Price and envelopes have no curvature of their own; the damping must hold them too while the pieces are incomplete.
        typical = float(curvature[: rows.n_coefficients].mean()) if rows.n_coefficients else 1.0
        damping = self.damping * np.maximum(curvature, typical)
        constraints, norm = rows.constraints, rows.norm_constraint
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
            max(0.01 * self.tolerance * self.objective, 1e-3 * self.expected),
            100,
            rows.n_threads,
        )
        plan = _native.make_plan(rows.native, model, mass, hinge_mass)
        return Step(model, direction, plan, multiplier, float(decrease))

    def _prove(self, step: Step, end: FloatArray) -> None:
        bound = plan_bound(self.rows, step.model, step.plan, step.multiplier, end, self.objective)
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

    def _accept(self, point: FloatArray, objective: float) -> bool:
        """Moves to the point if it is better."""
        better = objective < self.objective
        if better:
            self.x, self.objective = point, objective
        return better

    def _remember(self, step: Step, missed: FloatArray | None) -> None:
        """Keeps the pieces that hold mass; after a step that fell short, all it had and the worst ones where it ended."""
        row = step.plan.row
        share = step.plan.mass / self.rows.problem.weights[row]
        kept = Remembered(row, step.plan.mask.reshape(row.size, self.rows.mask_words), step.plan.flipped, share)
        if missed is None:
            self.remembered = kept.chosen(share > 1e-3)
        else:
            self.remembered = kept.chosen(share > 1e-4).joined(Remembered.worst(self.rows, self.rows.tighten(missed)))


class SQP:
    """The default solver; see the module docstring."""

    name = "sqp"

    def refuses(self, problem: RobustLogisticProblem) -> str | None:
        """Why the problem cannot be taken, or None."""
        coordinates = 2 + problem.n_numeric + int(problem.n_levels.sum()) + problem.n_categorical
        if coordinates > MOST_COORDINATES:
            return f"its Hessian would have {coordinates} rows, more than the {MOST_COORDINATES} that a dense method can take."
        return None

    def solve(
        self, problem: RobustLogisticProblem, options: SolveOptions, warm_start: RobustCoefficients | None = None
    ) -> RobustOutcome:
        """Minimise until the relative gap is at most the tolerance, or a limit ends it."""
        require_acceptance(self, problem)
        started = time.perf_counter()
        standard = StandardRows.of(problem)
        rows = LiftedRows(standard.problem, options.n_threads)
        known = intercept_only(standard.problem)
        if known is not None:
            return _known_outcome(standard, rows, known, options, started)
        if standard.problem.labels.min() == standard.problem.labels.max():
            require_attained(standard.problem)
        if warm_start is not None:
            x = rows.lift(standard.standardize(warm_start))
        else:
            x = _cold_start(rows, options)
        # Without a priori bounds the proof rests on curvature at the model itself, so the model must be closer to the optimum.
        tolerance = options.tolerance if rows.fully_priced else 0.01 * options.tolerance
        descent = Descent(rows, x, tolerance, near=warm_start is not None)
        history: list[Progress] = []
        status, failures = Status.ITERATION_LIMIT, 0
        for iteration in range(1, (options.max_iter or DEFAULT_STEPS) + 1):
            fell = descent.advance()
            history.append(Progress(iteration, descent.objective, descent.lower_bound, time.perf_counter() - started))
            if options.on_progress is not None:
                options.on_progress(history[-1])
            if descent.optimal:
                status = Status.OPTIMAL
                break
            if iteration % 10 == 0:
                _refuse_separable(rows, descent.x)
            failures = 0 if fell else failures + 1
            if failures >= 8:
                status = Status.STALLED
                break
            if options.out_of_time:
                status = Status.TIME_LIMIT
                break
        _refuse_separable(rows, descent.x)
        if descent.bound is None:
            descent.prove_last()
        coefficients = rows.unlift(descent.x)
        if problem.radius == 0:
            coefficients = replace(coefficients, price=rows.deterring_price(descent.x))
        return SolveOutcome(
            status=status,
            primal=standard.restore(coefficients),
            dual=standard.restore_plan(descent.bound.plan()) if descent.bound is not None else None,
            upper_bound=descent.objective,
            lower_bound=descent.lower_bound,
            iterations=len(history),
            seconds=time.perf_counter() - started,
            history=tuple(history),
        )


def _known_outcome(
    standard: StandardRows,
    rows: LiftedRows,
    known: tuple[RobustCoefficients, ShiftPlan],
    options: SolveOptions,
    started: float,
) -> RobustOutcome:
    """The outcome above the critical radius: the plan proves the objective itself."""
    coefficients, plan = known
    objective = rows.objective(rows.lift(coefficients))
    only = Progress(1, objective, objective, time.perf_counter() - started)
    if options.on_progress is not None:
        options.on_progress(only)
    return SolveOutcome(
        status=Status.OPTIMAL,
        primal=standard.restore(coefficients),
        dual=standard.restore_plan(plan),
        upper_bound=objective,
        lower_bound=objective,
        iterations=1,
        seconds=only.seconds,
        history=(only,),
    )


def _cold_start(rows: LiftedRows, options: SolveOptions) -> FloatArray:
    """A point near the optimum: that of a sample of the rows if the table is large, else a clipped Newton step."""
    n_rows = rows.problem.n_rows
    if n_rows < SAMPLE_SHARE * SAMPLE_ROWS:
        return starting_point(rows)
    # The same rows every time, but no pattern that a sorted table could share.
    chosen = np.sort(np.random.default_rng(0).choice(n_rows, n_rows // SAMPLE_SHARE, replace=False))
    labels = rows.problem.labels[chosen]
    if labels.min() == labels.max():
        return starting_point(rows)
    sample = replace(
        rows.problem,
        numeric=rows.problem.numeric[chosen],
        codes=rows.problem.codes[chosen],
        labels=labels,
        weights=rows.problem.weights[chosen] / rows.problem.weights[chosen].sum(),
    )
    few = LiftedRows(sample, options.n_threads)
    descent = Descent(few, _cold_start(few, options), 1e-3)
    for _ in range(20):
        fell = descent.advance()
        if descent.optimal or not fell or options.out_of_time:
            break
    return rows.tighten(descent.x)


def _refuse_separable(rows: LiftedRows, x: FloatArray) -> None:
    """Asks for separability, which takes a linear programme, only once margins have grown suspiciously wide."""
    if not rows.fully_priced and float(rows.plain_losses(x).min()) <= WIDE_MARGIN_LOSS:
        require_attained(rows.problem)
