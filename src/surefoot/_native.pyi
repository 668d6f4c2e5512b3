"""Types of the compiled core; documented in cpp/include/surefoot. Attributes of results are read-only."""

import enum
from collections.abc import Callable
from typing import Protocol, overload

import numpy as np
from numpy.typing import NDArray

_Float = NDArray[np.float64]
_Int32 = NDArray[np.int32]
_Int64 = NDArray[np.int64]
_Bytes = NDArray[np.uint8]
_Words = NDArray[np.uint64]

class WorstCaseSum:
    loss: float
    cost: float

class WorstCaseRows:
    loss: _Float
    moved: _Bytes
    flipped: _Bytes
    cost: _Float

class RobustRows:
    def __init__(
        self,
        *,
        numeric: _Float | tuple[_Int64, _Int32, _Float, int],
        codes: _Int32,
        labels: _Float,
        weights: _Float,
        n_levels: _Int32,
        move_price: _Float,
        flip_price: float,
        fit_intercept: bool,
        n_extra: int = 0,
        ranges: _Float | None = None,
    ) -> None: ...
    size: int
    mask_words: int
    first_numeric: int
    price_slot: int
    level_slots: _Int32
    low_slots: _Int32
    high_slots: _Int32
    def worst_case_sum(self, x: _Float, n_threads: int) -> WorstCaseSum: ...
    def worst_case_rows(self, x: _Float, n_threads: int) -> WorstCaseRows: ...

class WorkingSet:
    @overload
    def __init__(self) -> None: ...
    @overload
    def __init__(self, row: _Int64, mask: _Words, flipped: _Bytes, fraction: _Float) -> None: ...
    def __len__(self) -> int: ...
    row: _Int64
    mask: _Words
    flipped: _Bytes
    fraction: _Float
    def joined(self, other: WorkingSet) -> WorkingSet: ...
    def of_rows(self, begin: int, end: int) -> WorkingSet: ...
    def shifted(self, first_row: int) -> WorkingSet: ...

class ModelRegion:
    def __init__(self, active_width: float = 0.0, precision: float = 0.0, cut_radius: float = 0.0) -> None: ...
    active_width: float
    precision: float
    cut_radius: float

class PieceGradients:
    row: _Int64
    weight: _Float
    value: _Float
    gradient: _Float

class HingeGradients:
    piece: _Int64
    value: _Float
    gradient: _Float

class RowModel:
    gradient: _Float
    curvature: _Float
    n_pieces: int
    n_hinges: int
    def pieces(self) -> PieceGradients: ...
    def hinges(self) -> HingeGradients: ...
    def append(self, part: RowModel, first_row: int) -> None: ...

class Plan:
    def of_rows(self, begin: int, end: int, mask_words: int) -> Plan: ...

class PlanSums:
    conjugate: float
    cost: float
    gradient: _Float
    curvature: _Float
    def add(self, part: PlanSums) -> None: ...

class WrittenPlan:
    row: _Int64
    moved: _Bytes
    flipped: _Bytes
    mass: _Float
    slope: _Float

class RowOracle(Protocol):
    """Rows that the native loop evaluates through Python; see robust/sqp/row_sums.py."""

    def value(self, x: _Float) -> float: ...
    def row_model(self, x: _Float, region: ModelRegion, working_set: WorkingSet) -> RowModel: ...
    def plan_sums(self, plan: Plan, x: _Float, with_curvature: bool) -> PlanSums: ...
    def worst_pieces(self, x: _Float, before: _Float) -> WorkingSet: ...

class QpTerms:
    linear: _Float
    regularisation: _Float

class LiftedSpace:
    def __init__(
        self,
        layout: RobustRows,
        *,
        numeric_weights: _Float,
        norm: str,
        priced: _Int32,
        constrained_levels: _Int32,
        first: _Int32,
        first_coef: _Float,
        second: _Int32,
        second_coef: _Float,
        sum_slot: _Int32,
        sum_coef: _Float,
        cone_slot: _Int32,
        cone_scale: _Float,
    ) -> None: ...
    def tighten(self, x: _Float) -> None: ...
    def least_price(self, x: _Float) -> float: ...
    def qp_terms(self, model: RowModel, radius: float, regularisation: float) -> QpTerms: ...

class InteriorPointParameters:
    initial_margin: float
    least_centrality: float
    hinge_centrality: float
    cone_interior: float
    boundary_fraction: float
    max_correctors: int
    corrector_threshold: float
    corrector_extension: float
    corrector_gain: float
    neighbourhood: float
    pivot_floor: float
    inexact_fraction: float
    merit_improvement: float
    max_stalled_iterations: int
    max_diverging_iterations: int
    small_merit: float
    divergence_factor: float
    def __init__(self) -> None: ...

class ActiveRowsParameters:
    least_hinges: int
    least_inactive: float
    loose_factor: float
    violation_fraction: float
    free_hinges: int
    least_scale: float
    max_rounds: int
    crowded: float
    crowded_width: float
    def __init__(self) -> None: ...

class DualBoundParameters:
    max_corrections: int
    ridge: tuple[float, float, float]
    residual_reduction: float
    chord_reduction: float
    binding_margin: float
    least_spent: float
    spare_budget: float
    budget_rounding: float
    assumed_size: float
    deficit_of_gap: float
    deficit_of_tolerance: float
    deficit_stall: float
    def __init__(self) -> None: ...

class SqpParameters:
    cold_active_width: float
    warm_active_width: float
    cold_regularisation: float
    warm_regularisation: float
    cold_decrease: float
    warm_decrease: float
    hinge_precision: float
    min_active_width: float
    max_active_width: float
    width_growth: float
    max_short_steps: int
    cut_radius: float
    max_cut_cells: int
    working_fraction: float
    failed_fraction: float
    qp_active_width: float
    qp_max_iterations: int
    qp_gap_fraction: float
    qp_decrease_fraction: float
    qp_refinement: float
    least_qp_gap_fraction: float
    sufficient_decrease: float
    backtracking: float
    min_step_length: float
    expansion: float
    good_ratio: float
    regularisation_decrease: float
    short_length: float
    regularisation_increase: float
    min_regularisation: float
    max_regularisation: float
    prediction_constant: float
    bound_error_factor: float
    objective_rounding: float
    interior_point: InteriorPointParameters
    active_rows: ActiveRowsParameters
    dual_bound: DualBoundParameters
    def __init__(self) -> None: ...

class SqpIteration:
    objective: float
    lower_bound: float
    decreased: bool
    seconds: float

class DualBound:
    plan: Plan
    lowest: _Float
    highest: _Float
    point: _Float
    value: float

class SqpLoop:
    x: _Float
    objective: float
    working_set: WorkingSet
    active_width: float
    regularisation: float
    predicted_decrease: float
    def __init__(
        self,
        space: LiftedSpace,
        rows: RobustRows | RowOracle,
        x: _Float,
        *,
        objective: float,
        radius: float,
        tolerance: float,
        price_limit: float,
        intercept_limit: float,
        level_limit: float,
        warm_start: bool,
        dual_bounds: bool,
        n_rows: int,
        n_threads: int,
        parameters: SqpParameters,
    ) -> None: ...
    lower_bound: float
    has_bound: bool
    optimal: bool
    region: ModelRegion
    dual_bound: DualBound | None
    def advance(self, *, seconds_left: float = ...) -> bool: ...
    def iterate(
        self, *, max_iterations: int, failures: int, max_failures: int, seconds: float, seconds_left: float = ...
    ) -> list[SqpIteration]: ...
    def bound_last_step(self, *, seconds_left: float = ...) -> None: ...
    def update_working_set(self, plan: Plan, failed: _Float | None) -> None: ...

class QpSolution:
    step: _Float
    mass: _Float
    hinge_mass: _Float
    pair_multiplier: _Float
    predicted_decrease: float
    iterations: int
    converged: bool
    plan: Plan

def worst_pieces(rows: RobustRows, x: _Float, before: _Float, *, n_threads: int) -> WorkingSet: ...
def build_row_model(
    rows: RobustRows, x: _Float, region: ModelRegion, working_set: WorkingSet, *, n_threads: int
) -> RowModel: ...
def sum_plan(rows: RobustRows, plan: Plan, x: _Float, *, with_curvature: bool, n_threads: int) -> PlanSums: ...
def write_plan(rows: RobustRows, plan: Plan, x: _Float) -> WrittenPlan: ...
def solve_qp(
    model: RowModel,
    space: LiftedSpace,
    x: _Float,
    terms: QpTerms,
    *,
    tolerance: float,
    max_iterations: int,
    n_threads: int,
) -> QpSolution: ...

class CardRules:
    def __init__(self) -> None: ...
    def add_group(self, *, member: _Bytes, least: int, most: int) -> None: ...
    def add_implication(self, *, cause: _Bytes, effect: _Bytes) -> None: ...
    def add_linear(self, *, lower: float, upper: float, intercept_coefficient: float, coefficient: _Float) -> None: ...
    def add_sign(self, *, member: _Bytes) -> None: ...
    def add_rate(self, *, positive: bool, least: float, most: float, threshold: float, unflagged: float) -> None: ...
    def add_budget(self, *, column: _Int32, group: _Int32, cost: _Float, most: float) -> None: ...
    def add_fair(self, *, group: _Int32, share: _Float, observed: _Float, most: float, threshold: float) -> None: ...
    def set_values(self, column: int, values: _Int32) -> None: ...

class ShiftTerm:
    def __init__(self, *, radius: float, label_price: float, price: _Float, flips: _Bytes) -> None: ...

class ScoreProblem:
    def __init__(
        self,
        *,
        columns: _Float,
        labels: _Float,
        weights: _Float,
        lower: _Int32,
        upper: _Int32,
        intercept_lower: int,
        intercept_upper: int,
        max_size: int,
        penalty: float,
        least_multiplier: float,
        most_multiplier: float,
        rules: CardRules,
        shift: ShiftTerm | None,
    ) -> None: ...

class SearchSnapshot:
    def __init__(self, *, order: _Int32, finished: _Int32, intercept: int, points: _Int32) -> None: ...
    @property
    def order(self) -> _Int32: ...
    @property
    def finished(self) -> _Int32: ...
    @property
    def intercept(self) -> int: ...
    @property
    def points(self) -> _Int32: ...

class SearchOptions:
    def __init__(self) -> None: ...
    n_threads: int
    time_limit: float
    gap: float
    heuristic: bool
    search: bool
    near_optimal: float
    near_limit: int
    proof_limit: int
    resume: SearchSnapshot
    snapshot_interval: float

class SearchEnd(enum.Enum):
    COMPLETE = 0
    TIME_LIMIT = 1
    INTERRUPTED = 2

class CandidateMark(enum.IntEnum):
    EXCLUDED = 0
    NOT_FIRST = 1
    CHILD = 2
    TWIN = 3

class BoxCode(enum.IntEnum):
    BOUNDED = 0
    BRANCHED = 1
    SINGLE_CARD = 2
    EMPTY = 3
    NOT_ADMITTED = 4
    BY_NODE = 5

class SearchProgress:
    @property
    def upper_bound(self) -> float: ...
    @property
    def lower_bound(self) -> float: ...
    @property
    def seconds(self) -> float: ...
    @property
    def n_fitted(self) -> int: ...
    @property
    def fraction_done(self) -> float: ...

class CardBlock:
    @property
    def objectives(self) -> _Float: ...
    @property
    def intercepts(self) -> _Int32: ...
    @property
    def points(self) -> _Int32: ...
    @property
    def multipliers(self) -> _Float: ...

class ScoreProof:
    @property
    def threshold(self) -> float: ...
    @property
    def intercept_lower(self) -> int: ...
    @property
    def intercept_upper(self) -> int: ...
    @property
    def columns(self) -> _Int32: ...
    @property
    def twins(self) -> _Int32: ...
    @property
    def steps(self) -> _Int32: ...
    @property
    def points(self) -> _Float: ...

class SearchResult:
    @property
    def end(self) -> SearchEnd: ...
    @property
    def value(self) -> float: ...
    @property
    def intercept(self) -> int: ...
    @property
    def points(self) -> _Int32: ...
    @property
    def multiplier(self) -> float: ...
    @property
    def lower_bound(self) -> float: ...
    @property
    def n_fitted(self) -> int: ...
    @property
    def n_searched(self) -> int: ...
    @property
    def n_boxes(self) -> int: ...
    @property
    def heuristic_value(self) -> float: ...
    @property
    def merging_seconds(self) -> float: ...
    @property
    def heuristic_seconds(self) -> float: ...
    @property
    def near_cards(self) -> CardBlock: ...
    @property
    def n_near(self) -> int: ...
    @property
    def near_ceiling(self) -> float: ...
    @property
    def relaxed_point(self) -> _Float: ...
    @property
    def near_complete(self) -> bool: ...
    @property
    def snapshot(self) -> SearchSnapshot: ...
    @property
    def proof(self) -> ScoreProof | None: ...

def search_supports(
    problem: ScoreProblem,
    options: SearchOptions,
    *,
    on_progress: Callable[[SearchProgress], bool] | None = None,
    on_cards: Callable[[CardBlock], bool] | None = None,
    on_snapshot: Callable[[SearchSnapshot], bool] | None = None,
) -> SearchResult: ...
def axis_losses(total: _Float, positive: _Float, score: _Float, column: _Float, steps: _Float) -> _Float: ...
def axis_table_losses(
    total: _Float, positive: _Float, score: _Int32, column: _Int32, steps: _Int32, table: _Float, first: int
) -> _Float: ...
def elastic_step(
    curvature: _Float,
    gradient: _Float,
    start: _Float,
    lower: _Float,
    upper: _Float,
    l1: _Float,
    l2: _Float,
    tolerance: float,
    max_sweeps: int,
) -> _Float: ...

class BinarySearchResult:
    @property
    def found(self) -> bool: ...
    @property
    def complete(self) -> bool: ...
    @property
    def value(self) -> float: ...
    @property
    def n_nodes(self) -> int: ...
    @property
    def flips(self) -> _Float: ...
    @property
    def log(self) -> _Int32: ...
    @property
    def order(self) -> _Int32: ...
    @property
    def multipliers(self) -> _Float: ...

class BinaryBatchResult:
    @property
    def flips(self) -> _Float: ...
    @property
    def solved(self) -> _Bytes: ...
    @property
    def infeasible(self) -> _Bytes: ...

def search_binary(
    *,
    rows: _Float,
    right: _Float,
    row_tolerance: _Float,
    gain: _Float,
    table: _Float,
    cutoff: float,
    max_nodes: int,
    start: _Float,
) -> BinarySearchResult: ...
def search_binary_batch(
    *,
    rows: _Float,
    right: _Float,
    row_tolerance: _Float,
    gain: _Float,
    table: _Float,
    cutoffs: _Float,
    max_nodes: int,
    multipliers: _Float,
) -> BinaryBatchResult: ...

class BinaryExamples:
    def __init__(
        self,
        *,
        rows: _Float,
        right: _Float,
        row_tolerance: _Float,
        start: _Float,
        tilt: _Float,
        constant: _Float,
        table: _Float,
        features: _Float,
        own: _Float,
    ) -> None: ...

class StepRule(enum.Enum):
    adaptive = ...
    normalized = ...
    sqrt = ...
    strong = ...
    constant = ...

class MirrorOptions:
    def __init__(
        self,
        *,
        exponentiated: bool,
        fixed_total: bool,
        log_radius: float,
        lower: _Float,
        upper: _Float,
        signs: NDArray[np.int8],
        rule: StepRule,
        scale: float,
        convexity: float,
        linear_average: bool,
        kappa: float,
        squares: bool,
        center: _Float,
    ) -> None: ...

class MirrorState:
    def __init__(self, *, iterate: _Float, mean: _Float, mass: float, sum_squares: float, steps: int) -> None: ...
    @property
    def iterate(self) -> _Float: ...
    @property
    def mean(self) -> _Float: ...
    @property
    def mass(self) -> float: ...
    @property
    def sum_squares(self) -> float: ...
    @property
    def steps(self) -> int: ...

class MirrorStepsResult:
    @property
    def n_steps(self) -> int: ...
    @property
    def flips(self) -> NDArray[np.int8]: ...
    @property
    def objectives(self) -> _Float: ...

def mirror_steps(
    examples: BinaryExamples,
    options: MirrorOptions,
    state: MirrorState,
    *,
    drawn: NDArray[np.int64],
    max_nodes: int,
    complete: bool,
    multipliers: _Float,
    decisions: NDArray[np.int8],
) -> MirrorStepsResult: ...

class BoxedDecisions:
    @property
    def points(self) -> _Float: ...
    @property
    def values(self) -> _Float: ...
    @property
    def complete(self) -> NDArray[np.uint8]: ...
    @property
    def found(self) -> NDArray[np.uint8]: ...

class BoxedProofs:
    @property
    def complete(self) -> NDArray[np.uint8]: ...
    @property
    def nodes(self) -> NDArray[np.int64]: ...
    @property
    def leaves(self) -> NDArray[np.int64]: ...
    @property
    def column(self) -> NDArray[np.int32]: ...
    @property
    def at(self) -> _Float: ...
    @property
    def multipliers(self) -> _Float: ...

class BoxedProgrammes:
    def __init__(
        self, *, rows: _Float, low: _Float, high: _Float, lower: _Float, upper: _Float, whole: NDArray[np.uint8]
    ) -> None: ...
    def search(self, *, gain: _Float, constant: _Float, cutoffs: _Float, max_nodes: int, seconds: float) -> BoxedDecisions: ...
    def prove(self, *, gain: _Float, constant: _Float, goals: _Float, max_nodes: int, seconds: float) -> BoxedProofs: ...
