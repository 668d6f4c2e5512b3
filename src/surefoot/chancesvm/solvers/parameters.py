"""Tuning constants of the solvers for chance-constrained SVMs, one record per algorithm.

Where a line names no benchmark, the value was set when the algorithm was written and has not been tuned since. Fractions and
tolerances have no unit unless one is named.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class PlaneScaleParameters:
    """The exact line search over s in s w, see :mod:`surefoot.chancesvm.solvers.plane_run`."""

    # Bracket of s for a w of the same solve. Wider ones cost pieces, narrower ones lose the best scale.
    bracket: tuple[float, float] = (0.5, 2.0)
    # Bracket of s for a w that solves another problem: least squares, or a neighbour on a path.
    wide_bracket: tuple[float, float] = (0.0, 64.0)
    # Over the tolerance: by how much margins are exceeded, so that they hold in any arithmetic. Costs twice as much of the gap.
    reserve: float = 0.02
    # Linear pieces of the loss that are examined at most; a safeguard, the search ends on the minimal piece long before.
    max_pieces: int = 60
    # Bounds the relative rise of the loss over both supporting lines below which their crossing is the minimum.
    loss_rounding: float = 1e-15


@dataclass(frozen=True)
class FeatureSpaceParameters:
    """Memory and blocks of kernel products, see :mod:`surefoot.chancesvm.solvers.feature_space`."""

    # Bytes that a Gram matrix may take; a larger one is computed again in every pass. Memory against time.
    gram_memory: int = 1 << 31
    # Bytes of one block of kernel products: what stays in a processor's cache between the steps that compute it.
    block_memory: int = 1 << 22
    # Bytes of one block of explicit features: what is made between two looks at the clock.
    feature_block_memory: int = 1 << 26
    # Samples in a row with one column from which on they get a matrix product of their own instead of a gather.
    run_length: int = 8


@dataclass(frozen=True)
class PointMachineParameters:
    """The plain support vector machine, see :mod:`surefoot.chancesvm.solvers.point_machine`."""

    # Bounds what is missing to optimality conditions, in units of the margin; the relative gap is about twice that.
    margin_tolerance: float = 1e-7
    # Of LIBSVM's cache of kernel rows.
    cache_megabytes: float = 1000.0
    # Steps for each point: few need more than ten, and where a hundred are not enough, as at large prices, masters are cheaper.
    steps_a_point: int = 100
    # Steps that are timed where there is a limit, and which fraction of the rest may then be spent.
    timed_steps: int = 200
    time_fraction: float = 0.5
    # Steps of the active set, and free coefficients from which on there are none: a dense system of as many rows.
    max_polishes: int = 10
    most_free: int = 4000
    # Over its cost: a weight this near to 0 or its ceiling counts as there.
    near_ceiling: float = 1e-9
    # Over the mean of the diagonal: of the system of the free coefficients, which duplicates make singular.
    ridge: float = 1e-13


@dataclass(frozen=True)
class GramObjectiveParameters:
    """Newton's systems of whole ellipsoids, see :mod:`surefoot.chancesvm.interior.gram_objective`."""

    # Landmarks of the preconditioner: the quadratic cost of a factorisation against steps. 256 take as long at C = 1, and twice
    # as long at C = 1000 (320 inputs of 10 rows). Of fewer samples one in eight: with 384, fits of 70 such inputs take 1.5 to
    # 1.9 times as long, those of 160 inputs 1.2 to 1.4 times.
    most_landmarks: int = 384
    samples_a_landmark: int = 8
    # Over the mean diagonal: what keeps rounding from making the preconditioner indefinite.
    lift: float = 1e-10
    # Steps of conjugate gradients end at this fraction of the right-hand side, in the norm of the preconditioner, or after so
    # many: a coarse solution is cheap, and costs iterations of the interior-point method.
    residual_fraction: float = 0.1
    max_steps: int = 40


@dataclass(frozen=True)
class WholeEllipsoidParameters:
    """Whole ellipsoids at once, see :mod:`surefoot.chancesvm.solvers.whole_ellipsoids`."""

    # Samples of the smallest table, and of the largest batch: cutting planes are as fast for fewer samples, and blocks of
    # larger batches take longer than the rest, but for violations of 0.3 and below (tau from 1.5 on), whose ellipsoids need
    # most of their directions: 50 inputs of 62 rows take 1 s instead of 6 at 0.1, and would take 1 s instead of 0.5 at 0.5.
    least_samples: int = 600
    most_batch_samples: int = 40
    most_long_batch_samples: int = 64
    long_tau: float = 1.5
    # Bounds the longest squared norm of a sample, beyond which squares of costs and norms leave double precision.
    norms: tuple[float, float] = (1e-100, 1e100)
    # Over the tolerance, of the interior-point method's own gap.
    gap_fraction: float = 0.01
    # A relative gap from which on iterates are offered as incumbents with a line search.
    near_gap: float = 1e-3
    max_iterations: int = 50
    objective: GramObjectiveParameters = field(default_factory=GramObjectiveParameters)


@dataclass(frozen=True)
class EllipsoidCutParameters:
    """The cutting-plane loop and its master problem, see :mod:`surefoot.chancesvm.solvers.ellipsoid_cuts`."""

    # Passes (one master problem and one separation each) without max_iter.
    max_passes: int = 500
    # Relative gap of the master over that of the last pass: a coarser master is cheaper, and its bound worse.
    master_gap_fraction: float = 0.01
    # Once separation finds nothing, the fraction above falls tenfold a pass; below this one the solve has stalled.
    min_master_gap_fraction: float = 1e-6
    # The same over the requested tolerance, for a master that begins with the directions of other problems: one may suffice.
    warm_gap_fraction: float = 0.1
    # Bounds the relative gap of a master from below: double precision allows for no less.
    min_master_tolerance: float = 1e-12
    # A pass that leaves more than this fraction of the relative gap is slow, and doubles the directions of the next separation;
    # test_small_violations_of_large_batches_take_few_passes counts what it saves.
    slow_pass_fraction: float = 0.5
    # Unknowns of the master, and samples per unknown, from which on BLAS may use several threads; below, starting them takes
    # longer than the factorisation or the product.
    threaded_unknowns: int = 1500
    threaded_samples: int = 10
    # Batches in the first master where there are more than twice as many, and the most that one separation adds: the cubic
    # cost of a master against passes.
    first_batches: int = 1000
    joining_batches: int = 500
    # Unknowns of the master over coordinates of the feature space from which on its systems have a row for each coordinate.
    factored_ratio: float = 1.5
    # Ridge of the least-squares start over the mean diagonal of the inner products; many are singular without.
    ridge: float = 0.03
    # Bounds alpha_i over its mean: a batch below it, and clear of the margin, leaves the master.
    idle_weight_fraction: float = 1e-6
    # Bounds what is left of a unit vector after orthogonalisation: a shorter one is rounding and no new direction.
    min_direction_norm: float = 1e-6
    # Bounds the excess y_i (...) of a batch below the margin, in units of the margin: one this near is separated too.
    margin_tolerance: float = 1e-9
    # Neighbours on a path whose plane and dual point are offered before the first pass.
    max_warm_starts: int = 3
    scale: PlaneScaleParameters = field(default_factory=PlaneScaleParameters)
    feature_space: FeatureSpaceParameters = field(default_factory=FeatureSpaceParameters)
    points: PointMachineParameters = field(default_factory=PointMachineParameters)
    whole: WholeEllipsoidParameters = field(default_factory=WholeEllipsoidParameters)


@dataclass(frozen=True)
class EllipsoidDualParameters:
    """The interior-point method for the master problem, see :mod:`surefoot.chancesvm.interior.ellipsoid_dual`."""

    max_iterations: int = 60
    # Fraction of the step length to the boundary of the cones that is taken.
    step_fraction: float = 0.99
    # A primal and a dual step length of no more than this end the method: rounding stopped it.
    min_step: float = 1e-12
    # Bounds |y' alpha| over sum alpha at the end; what is left is cut away.
    equality_tolerance: float = 1e-9
    # Over what the dual residual costs: the least complementarity that is aimed at where systems are solved roughly. Below
    # 1e-3 iterates reach the boundary first; above 1e-2 iterations double.
    residual_share: float = 3e-3
    # Relative regularisations of the diagonal, tried in turn until the Cholesky factorisation succeeds.
    diagonal_lifts: tuple[float, ...] = (0.0, 1e-14, 1e-12, 1e-10)


@dataclass(frozen=True)
class ChanceAdmmParameters:
    """The published splitting, see :mod:`surefoot.chancesvm.solvers.chance_admm`."""

    # rho of the augmented Lagrangian: weight of the residual against the objective. The paper gives none. On its synthetic sets
    # RBF models are more accurate at 1000 and much less at 10, quadratic ones of eight columns at 1 (run.py chance_paper).
    penalty: float = 100.0
    # Bounds the Euclidean norm of the residual of the equations a_i = 1 - w . d_i - y_i b at the method's own end.
    residual_tolerance: float = 1e-3
    # Bounds the squared change of w's coefficients and b in an iteration at the method's own end (squared, as in the paper).
    change_tolerance: float = 1e-3
    # Iterations without max_iter.
    max_iterations: int = 2000
    # Iterations between two bounds: each bound costs a product with the Gram matrix.
    bound_interval: int = 25
    # Bounds the reciprocal condition number (1-norm) of the small system; below it the system is regularised.
    min_reciprocal_condition: float = 1e-14
    # The regularisation over the mean diagonal, and the steps of iterative refinement that correct it.
    regularisation: float = 1e-10
    refinements: int = 3


@dataclass(frozen=True)
class ChanceSocpParameters:
    """The cone programme, see :mod:`surefoot.chancesvm.solvers.chance_socp`."""

    # Rows of the largest Gram matrix that is accepted; Clarabel takes about an hour for it.
    max_gram_rows: int = 4000
    # Multiplications a second that Clarabel's factorisation of dense cones does (0.4e9 to 1.3e9 were measured for 300 to 2,400
    # samples), the iterations that a time limit must last for, and seconds that are refused to nobody.
    work_per_second: float = 1e9
    few_iterations: int = 10
    short_seconds: float = 1.0
    # Costs are cut off here at first, in units of a typical squared length: larger ones spoil the last digits.
    first_cost: float = 1e5
    # Bounds eigenvalues of the Gram matrix over the largest: those below are rounding and leave the basis.
    rank_tolerance: float = 1e-13
    # Over the tolerance: which fraction of its weights a dual point gives up when it is polished.
    polish_fraction: float = 0.2
