"""Types of the compiled core; documented in cpp/include/surefoot."""

import enum
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

_Float = NDArray[np.float64]
_Int32 = NDArray[np.int32]
_Int64 = NDArray[np.int64]
_Bytes = NDArray[np.uint8]
_Words = NDArray[np.uint64]

class RobustRows:
    def __init__(
        self,
        numeric: _Float | tuple[_Int64, _Int32, _Float, int],
        codes: _Int32,
        labels: _Float,
        weights: _Float,
        n_levels: _Int32,
        move_price: _Float,
        flip_price: float,
        fit_intercept: bool,
        n_extra: int = 0,
    ) -> None: ...
    @property
    def size(self) -> int: ...
    @property
    def mask_words(self) -> int: ...
    @property
    def first_numeric(self) -> int: ...
    @property
    def price_slot(self) -> int: ...
    @property
    def level_slots(self) -> _Int32: ...
    @property
    def low_slots(self) -> _Int32: ...
    @property
    def high_slots(self) -> _Int32: ...
    def worst_case_sum(self, x: _Float, n_threads: int) -> tuple[float, float]: ...
    def worst_case_rows(self, x: _Float, n_threads: int) -> tuple[_Float, _Bytes, _Bytes, _Float]: ...

class RowModel:
    @property
    def gradient(self) -> _Float: ...
    @property
    def curvature(self) -> _Float: ...
    @property
    def n_pieces(self) -> int: ...
    @property
    def n_hinges(self) -> int: ...
    def pieces(self) -> tuple[_Int64, _Float, _Float, _Float]: ...
    def hinges(self) -> tuple[_Int64, _Float, _Float]: ...
    def append(self, part: RowModel, first_row: int) -> None: ...

class Plan:
    def of_rows(self, begin: int, end: int, mask_words: int) -> Plan: ...

class AskedRows(Protocol):
    """Rows that the core asks through Python; see robust/sqp/lifted_rows.py."""

    def value(self, x: _Float) -> float: ...
    def row_model(self, x: _Float, tie_width: float, precision: float, far: float, remembered: Any) -> RowModel: ...
    def plan_sums(self, plan: Plan, x: _Float, with_curvature: bool) -> tuple[float, float, _Float, _Float]: ...
    def worst_pieces(self, x: _Float, before: _Float) -> _Pieces: ...

class LiftedSpace:
    def __init__(
        self,
        layout: RobustRows,
        numeric_weights: _Float,
        norm: str,
        priced: _Int32,
        constrained_levels: _Int32,
        first: _Int32,
        first_coef: _Float,
        second: _Int32,
        second_coef: _Float,
        wide_slot: _Int32,
        wide_coef: _Float,
        cone_slot: _Int32,
        cone_scale: _Float,
    ) -> None: ...
    def tighten(self, x: _Float) -> None: ...
    def least_price(self, x: _Float) -> float: ...
    def step_terms(self, model: RowModel, radius: float, damping: float) -> tuple[_Float, _Float]: ...

_Pieces = tuple[_Int64, _Words, _Bytes, _Float]

class Descent:
    x: _Float
    objective: float
    remembered: _Pieces
    tie_width: float
    damping: float
    expected: float
    def __init__(
        self,
        space: LiftedSpace,
        rows: RobustRows | AskedRows,
        x: _Float,
        objective: float,
        radius: float,
        tolerance: float,
        price_limit: float,
        intercept_limit: float,
        level_limit: float,
        near: bool,
        proofs: bool,
        n_rows: int,
        n_threads: int,
    ) -> None: ...
    @property
    def lower_bound(self) -> float: ...
    @property
    def proven(self) -> bool: ...
    @property
    def optimal(self) -> bool: ...
    @property
    def reach(self) -> tuple[float, float, float]: ...
    @property
    def proof(self) -> tuple[Plan, _Float, _Float, _Float, float] | None: ...
    def advance(self) -> bool: ...
    def walk(self, most_steps: int, failures: int, patience: int, seconds: float) -> list[tuple[float, float, bool, float]]: ...
    def prove_last(self) -> None: ...
    def remember(self, plan: Plan, missed: _Float | None) -> None: ...

def worst_pieces(rows: RobustRows, x: _Float, before: _Float, n_threads: int) -> _Pieces: ...
def build_row_model(
    rows: RobustRows,
    x: _Float,
    tie_width: float,
    precision: float,
    far: float,
    row: _Int64,
    mask: _Words,
    flipped: _Bytes,
    share: _Float,
    n_threads: int,
) -> RowModel: ...
def sum_plan(
    rows: RobustRows, plan: Plan, x: _Float, with_curvature: bool, n_threads: int
) -> tuple[float, float, _Float, _Float]: ...
def write_plan(rows: RobustRows, plan: Plan, x: _Float) -> tuple[_Int64, _Bytes, _Bytes, _Float, _Float]: ...
def solve_quadratic_step(
    model: RowModel,
    space: LiftedSpace,
    x: _Float,
    linear: _Float,
    damping: _Float,
    tolerance: float,
    max_iterations: int,
    final_decrease: float,
    near: float,
    n_threads: int,
) -> tuple[_Float, _Float, _Float, _Float, float, Plan]: ...

class CardRules:
    def __init__(self) -> None: ...
    def add_group(self, *, member: _Bytes, least: int, most: int) -> None: ...
    def add_implication(self, *, cause: _Bytes, effect: _Bytes) -> None: ...
    def add_linear(self, *, lower: float, upper: float, intercept_coefficient: float, coefficient: _Float) -> None: ...
    def add_sign(self, *, member: _Bytes) -> None: ...
    def add_rate(self, *, positive: bool, least: float, most: float, threshold: float, unflagged: float) -> None: ...
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

class SearchProgress:
    @property
    def upper_bound(self) -> float: ...
    @property
    def lower_bound(self) -> float: ...
    @property
    def seconds(self) -> float: ...
    @property
    def n_fitted(self) -> int: ...

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
def search_flips(
    rows: _Float, room: _Float, slack: _Float, gain: _Float, table: _Float, floor: float, max_nodes: int
) -> tuple[bool, bool, float, _Float, int]: ...
def search_all_flips(
    rows: _Float, room: _Float, slack: _Float, gain: _Float, table: _Float, floors: _Float, max_nodes: int, prices: _Float
) -> tuple[_Float, _Float, NDArray[np.int8]]: ...

class FlipExamples: ...

def flip_examples(
    rows: _Float,
    room: _Float,
    slack: _Float,
    start: _Float,
    tilt: _Float,
    constant: _Float,
    table: _Float,
    features: _Float,
    own: _Float,
) -> FlipExamples: ...
def walk(
    examples: FlipExamples,
    exponentiated: bool,
    fixed_total: bool,
    log_radius: float,
    lower: _Float,
    upper: _Float,
    signs: NDArray[np.int8],
    rule: int,
    scale: float,
    convexity: float,
    linear_average: bool,
    kappa: float,
    squares: bool,
    center: _Float,
    state: _Float,
    mean: _Float,
    mass: float,
    sum_squares: float,
    steps: int,
    drawn: NDArray[np.int64],
    max_nodes: int,
    complete: bool,
    prices: _Float,
    decided: NDArray[np.int8],
) -> tuple[int, _Float, _Float, float, float, NDArray[np.int8]]: ...
