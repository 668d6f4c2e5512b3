"""Tuning values of the SQP solver, one record per algorithm.

The records that the native loop reads have the same defaults as their namesakes in cpp/include/surefoot/robust; a test compares
them. Losses and objectives have the same unit. Unless a line says otherwise, no record tells which benchmark chose a value; the
path timings of bench_real_weights were made with all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from surefoot import _native


@dataclass(frozen=True)
class InteriorPointParameters:
    """The primal-dual interior point of one quadratic programme (qp_interior_point.hpp)."""

    initial_margin: float = 0.1  # least slack at the initial point, units of loss; larger starts farther inside
    least_centrality: float = 1e-6  # least centrality weight of a constraint, units of loss
    hinge_centrality: float = 0.2  # centrality weight of a hinge over its piece's; more lets the many hinges bend the path
    cone_interior: float = 1.1  # initial apex of the cone over the norm of the rest, a factor
    boundary_fraction: float = 0.99  # of the step to the boundary; longer steps converge faster and are less central
    max_correctors: int = 3  # centrality correctors per factorisation; each costs one pass over the tied rows
    corrector_threshold: float = 0.9  # step length from which on no corrector is tried
    corrector_extension: float = 0.3  # added to the step length that a corrector aims at
    corrector_gain: float = 0.03  # least growth of the step length for another corrector
    neighbourhood: float = 10.0  # factor by which products may differ from sigma mu w before a corrector acts
    pivot_floor: float = 1e-14  # Cholesky pivots below this times their diagonal entry fix the coordinate at 0
    inexact_fraction: float = 0.01  # relative error of a predicted decrease before the last steps
    merit_improvement: float = 0.9  # an iterate is the best so far if its merit is below this times the best
    max_stalled_iterations: int = 15  # iterations without a new best iterate before rounding is said to have won
    max_diverging_iterations: int = 5  # the same, if the best merit is small and the present one large
    small_merit: float = 1e-6  # what small means, units of loss
    divergence_factor: float = 1e3  # what large means, over the best merit


@dataclass(frozen=True)
class ActiveRowsParameters:
    """Sifting: quadratic programmes are first solved over their active pieces and hinges (active_rows.hpp)."""

    least_hinges: int = 2000  # hinges of a model below which all are active at once
    least_inactive: float = 0.2  # fraction of the hinges that must be inactive for the selection to pay
    loose_factor: float = 100.0  # tolerance of a round that only finds the active set, over the final one
    violation_fraction: float = 0.1  # part of the predicted decrease that inactive pieces may take back
    free_hinges: int = 1000  # hinges that may become active in any one round
    least_scale: float = 1e-3  # fraction of a violating step below which no nearer point is looked at
    max_rounds: int = 20  # rounds before the whole model is solved
    # Active hinges per coordinate from which on the first active set is crowded, and what is left of its width then. Chosen on
    # 2,500 rows of HELOC within ranges at radius 1 (up to 20,000; half the time) and on online shoppers at 0.2 (at most 26,
    # where narrow sets take a fifth longer); confirmed on other rows of HELOC at 0.1 and on adult at 0.05 to 1.
    crowded: float = 100.0
    crowded_width: float = 0.04


@dataclass(frozen=True)
class DualBoundParameters:
    """Newton corrections of a plan's dual bound (dual_bound.hpp)."""

    max_corrections: int = 20  # Newton steps; slopes of well classified rows fall by a factor of e with each
    ridge: tuple[float, float, float] = (1e-10, 1e-6, 1e-2)  # regularisations tried in turn, over the mean curvature
    residual_reduction: float = 0.5  # a step that leaves at most this fraction of the residual needs no further regularisation
    chord_reduction: float = 0.1  # one that leaves at most this fraction shows that the curvature is still right
    binding_margin: float = 1e-3  # numeric coefficients this near the price, relative to it, may be what holds it
    least_spent: float = 0.5  # columns spending less than this fraction of the budget are not scaled up to it
    spare_budget: float = 1e-2  # a budget left over below this fraction of the radius is an inexact step's, and is spent
    budget_rounding: float = 1e-6  # relative margin by which a cost is reduced below the radius, or raised to it
    assumed_size: float = 10.0  # coefficients that nothing bounds are within this times 1 + the largest at hand
    deficit_of_gap: float = 0.1  # deficit at which corrections end, over the gap that would remain without it
    deficit_of_tolerance: float = 0.1  # the least gap so considered, over the tolerance
    deficit_stall: float = 0.7  # corrections end when one leaves more than this fraction of the deficit


@dataclass(frozen=True)
class SqpParameters:
    """The SQP loop itself (sqp_loop.hpp); "warm" is a start at the optimum of a neighbouring problem."""

    cold_active_width: float = 0.1  # of the first model, units of loss; wider lists more pieces and breaks fewer steps
    warm_active_width: float = 0.07
    cold_regularisation: float = 0.1  # Levenberg-Marquardt factor of the first model, over the curvature; more shortens steps
    warm_regularisation: float = 1e-4
    cold_decrease: float = 0.1  # predicted decrease assumed before the first step, over the objective
    warm_decrease: float = 1e-4
    hinge_precision: float = 0.2  # error of hinges, over the predicted decrease of the last step; coarser models are smaller
    min_active_width: float = 1e-7  # units of loss
    max_active_width: float = 1.0  # units of loss
    width_growth: float = 2.0  # factor on the active width after a shortened step
    max_short_steps: int = 3  # short steps before the model is given outer linearisation cuts
    cut_radius: float = 1.0  # how far from the point these cuts hold, units of loss
    max_cut_cells: int = 20_000  # rows times features above which cuts would cost more than they save
    working_fraction: float = 1e-3  # of its row's mass from which on a piece stays in the working set after a full step
    failed_fraction: float = 1e-4  # the same after a shortened one
    qp_active_width: float = 0.05  # first active set of the quadratic programme, over the active width of the model
    qp_max_iterations: int = 100  # of its interior point, which takes 10 to 30
    qp_gap_fraction: float = 0.01  # its tolerance, over the gap to be reached
    qp_decrease_fraction: float = 1e-3  # its tolerance, over the predicted decrease of the last step; the larger counts
    qp_refinement: float = 0.1  # factor on qp_gap_fraction after a step that gained nothing and proved too little
    least_qp_gap_fraction: float = 1e-8  # where that ends; not tuned
    sufficient_decrease: float = 0.1  # Armijo: actual over predicted decrease of the shortened step
    backtracking: float = 0.5  # factor on the step length
    min_step_length: float = 1e-3  # below it the step is taken as it is
    expansion: float = 2.0  # factor on the step length while a full step fell by more than predicted
    good_ratio: float = 0.5  # actual over predicted decrease from which on a full step's model is trusted
    regularisation_decrease: float = 0.1
    short_length: float = 0.5  # step length below which the model is trusted less
    regularisation_increase: float = 3.0
    min_regularisation: float = 1e-10
    max_regularisation: float = 1e6
    prediction_constant: float = 0.35  # prediction error of a model, over decrease^1.5 relative to the objective; measured
    bound_error_factor: float = 2.0  # error of the dual bound, over the prediction error at the end of the step
    objective_rounding: float = 1e-14  # objectives closer than this, relatively, are equal
    interior_point: InteriorPointParameters = InteriorPointParameters()
    active_rows: ActiveRowsParameters = ActiveRowsParameters()
    dual_bound: DualBoundParameters = DualBoundParameters()


@dataclass(frozen=True)
class RunParameters:
    """How iterations are counted, timed and ended (sqp_loop.py)."""

    max_iterations: int = 200  # unless the options say otherwise; most problems take 5 to 20
    tolerance_fraction: float = 0.99  # of the tolerance; certificates allow for rounding, so their bounds are a little lower
    turn_seconds: float = 0.05  # native iterations between two looks at progress, limits and Ctrl-C
    bound_grace: float = 0.1  # of the time limit: what the first bound may take beyond it, and one factorisation
    check_interval: int = 10  # iterations between two looks at whether the data are separable
    max_failures: int = 8  # iterations in a row without a decrease: the end of double precision, or of this method


@dataclass(frozen=True)
class PolishParameters:
    """Steps after the gap is closed, until the coefficients stand still (sqp_loop.py)."""

    max_tolerance: float = 1e-5  # of the gap; whoever asks for less does not want to wait for more
    step_tolerance: float = 1e-10  # of the coefficients, relative to the largest
    max_steps: int = 6  # quadratic convergence is done by then
    max_inexact_steps: int = 2  # steps of the interior point where no active set answers; less accurate
    max_step_ratio: float = 0.5  # length of a step over that of the one before: above it they do not converge
    regularisation: float = 1e-10  # over the curvature
    min_active_width: float = 1e-7  # units of loss; below it a row has one worst case
    qp_tolerance: float = 1e-13  # of the quadratic programme, over the objective
    qp_max_iterations: int = 100
    objective_rounding: float = 1e-13  # objectives closer than this, relatively, are the same for all that is known of them


@dataclass(frozen=True)
class ActiveSetParameters:
    """The quadratic programme with its active constraints as equations (active_set_polish.py)."""

    max_entries: int = 1_000_000  # of the matrix of gradients; beyond it the polish takes longer than a step
    max_unknowns: int = 2000  # coordinates and multipliers; the same
    spare_equations: int = 200  # beyond the number of unknowns: they depend on the others, and many take long for nothing
    max_rounds: int = 8  # changes of the active set
    refinements: int = 4  # solves with one factor; right after two, polished after four
    cone_refinements: int = 8  # the same with a cone, whose curvature takes a few more to converge
    regularisation: float = 1e-12  # of the multipliers' block of the KKT matrix, for equations of unit length
    rounding: float = 1e-13  # violations and negative multipliers below this do not count, units of loss and of mass
    cone_margin: float = 1e-5  # this near its limit, relative to the price, the cone is taken to be active


@dataclass(frozen=True)
class InitialPointParameters:
    """A shrunken Newton step of plain logistic regression (initial_point.py)."""

    ridge: float = 0.01  # of the Newton step, over the diagonal of the Hessian
    max_halvings: int = 12  # of the price
    cubes_per_second: float = (
        2e10  # the third power of the coefficients, over the seconds of a step; of 3,000 it takes about one
    )
    min_probability: float = 1e-6  # of a label, where the intercept starts; a single label has none


@dataclass(frozen=True)
class SampleParameters:
    """The initial point of a large table: the optimum of a sample of its rows (sqp.py)."""

    divisor: int = 8  # rows of the table for each row of the sample
    min_rows: int = 500  # smaller samples save less time than they cost
    rows_per_coefficient: int = 4  # with fewer the sample is fitted to its noise
    good_rows_per_coefficient: int = 10  # with as many its optimum is near that of the table
    good_regularisation: float = 0.01  # of the first step from there, over the curvature
    tolerance: float = 1e-3  # predicted decrease that ends the sample, over its objective; sampling itself errs by more
    max_steps: int = 20


@dataclass(frozen=True)
class SolverParameters:
    """Limits of the solver (sqp.py)."""

    max_coordinates: int = 8000  # a dense Hessian of more takes half a gigabyte and minutes to factor
    wide_margin_loss: float = 1e-4  # smallest loss of a row at which separability is looked into: odds of ten thousand to one
    unbounded_tolerance: float = 1e-3  # factor on the tolerance without a priori bounds: the proof rests on curvature


SQP_DEFAULTS = SqpParameters()
POLISH_DEFAULTS = PolishParameters()
INITIAL_POINT_DEFAULTS = InitialPointParameters()
SAMPLE_DEFAULTS = SampleParameters()


@lru_cache
def native_parameters(parameters: SqpParameters) -> _native.SqpParameters:
    """The record as the native loop reads it, which copies it."""
    native = _native.SqpParameters()
    _write(parameters, native)
    return native


def _write(record: Any, native: Any) -> None:
    for field in fields(record):
        value = getattr(record, field.name)
        if hasattr(value, "__dataclass_fields__"):
            _write(value, getattr(native, field.name))
        else:
            setattr(native, field.name, value)
