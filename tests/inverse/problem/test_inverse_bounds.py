"""Bounds of the trusted base on inverse problems: no written-out point lies beyond them, and some meet them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from reference.trusted_inverse import (
    angle,
    cost_over,
    cut_of,
    decisions_of,
    determinant,
    differing,
    dot,
    enclosing_volumes,
    exact_rank,
    farthest_angle,
    leaf_bound,
    least_eigenvalue,
    log_room,
    points_of_box,
    prior_excess,
    quadratic_value,
    room_objective,
    separable_values,
    tree_bound,
    within_reach,
)

from surefoot.inverse.problem.cost_proof import CostProof, proven_bound, separable_minimum
from surefoot.inverse.problem.decision_proof import Leaf, Split, TermBound, Tree
from surefoot.inverse.problem.decision_set import LinearSet, ListedSet
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.ellipsoidal_cost import (
    EllipsoidalCost,
    EllipsoidProof,
    ellipsoid_bound,
    ellipsoid_objective,
    moving_directions,
)
from surefoot.inverse.problem.hypothesis import GeneralFeatures, LinearFeatures, QuadraticFeatures
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import Example, Instance, InverseProblem, Regularizer
from surefoot.inverse.problem.quadratic_terms import curvature_axes, lagrangian_bound
from surefoot.inverse.problem.ray_proof import ellipsoid_volumes, largest_angle, least_angle, widest_angle

INF = math.inf


def listed_problem(
    slopes: list[np.ndarray],
    *,
    kappa: float = 0.5,
    kind: str = "l2",
    center: np.ndarray | None = None,
    prior: object = None,
    psd: int = 0,
    hard: bool = False,
    clamp: bool = False,
    inside: bool = True,
    distance: str = "none",
) -> InverseProblem:
    """Features are the decisions themselves; the response is 0, a decision (if ``inside``), so the others are minus slopes."""
    p = slopes[0].shape[1]
    identity = LinearFeatures(np.eye(p), np.zeros(p))
    examples = []
    for i, rows in enumerate(slopes):
        points = np.vstack((np.zeros((1, p)), -rows)) if inside else -rows
        examples.append(Example(Instance(i, ListedSet(points), identity), np.zeros(p), inside))
    regularizer = Regularizer(kind, np.zeros(p) if center is None else center)
    return InverseProblem(tuple(examples), Distance.of(distance), regularizer, kappa, PriorSet.of(prior, p, psd), clamp, hard)


def all_points(problem: InverseProblem) -> list[list[list[float]]]:
    return [example.instance.decisions.points.tolist() for example in problem.examples]


# Costs -----------------------------------------------------------------------------------------------------------------------

SLOPES = [0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 1e-9, -1e9]


@pytest.mark.parametrize("kind", ["l1", "l2"])
@pytest.mark.parametrize("kappa", [0.0, 0.5, 1.0, 1e-9, 1e9])
@pytest.mark.parametrize("center", [0.0, 1.0, -7.0, 1e9])
def test_coordinates_have_their_smallest_value_at_an_end_the_centre_or_a_flat_place(
    kind: str, kappa: float, center: float
) -> None:
    for low, high in ((-INF, INF), (0.0, INF), (-INF, 0.0), (-1.0, 2.0), (3.0, 3.0), (-5.0, -4.0)):
        p = len(SLOPES)
        problem = listed_problem([np.ones((1, p))], kappa=kappa, kind=kind, center=np.full(p, center), prior=(low, high))
        for reach in (INF, 0.5, 4.0, 0.0):
            found = separable_minimum(problem, np.array(SLOPES), reach)
            wanted = separable_values(problem, SLOPES, reach)
            for value, told, slope in zip(found, wanted, SLOPES, strict=True):
                size = (kappa + abs(slope)) * (1.0 + abs(center) + 5.0) ** 2 + 4.0 * abs(told)
                assert value == told or abs(value - told) <= 1e-14 * size, (low, high, reach, slope)
            spans = within_reach(problem, reach)
            # No point of the interval lies below.
            for (a, b), value, slope in zip(spans, found, SLOPES, strict=True):
                for t in np.clip(center + np.array([-1e3, -1.0, -0.3, 0.0, 0.7, 1.0, 1e3]), a, b):
                    size = kappa * (abs(t - center) if kind == "l1" else (t - center) ** 2 / 2)
                    assert size + slope * t >= value - 1e-9 * (1.0 + abs(size) + abs(slope * t))


def random_proof(problem: InverseProblem, rng: np.random.Generator, reach: float = INF) -> CostProof:
    owners, points = [], []
    for i, listed in enumerate(all_points(problem)):
        for point in listed:
            owners.append(i)
            points.append(np.array(point))
    weights = rng.exponential(size=len(owners)) * (rng.random(len(owners)) < 0.7)
    psd = problem.prior.psd
    root = rng.normal(size=(psd, psd)) if psd else None
    return CostProof(
        np.array(owners, dtype=np.int32),
        tuple(points),
        weights,
        rng.exponential(size=problem.prior.ceiling.size),
        float(rng.normal()) if problem.prior.total is not None else 0.0,
        None if root is None else root @ root.T,
        reach,
    )


def members(problem: InverseProblem, rng: np.random.Generator, count: int) -> list[np.ndarray]:
    """Cost vectors of the prior set, of every size."""
    prior, found = problem.prior, []
    p = prior.n_features
    while len(found) < count:
        theta = rng.normal(size=p) * 10.0 ** rng.uniform(-2, 1)
        if prior.psd:
            root = rng.normal(size=(prior.psd, prior.psd))
            theta[: prior.psd**2] = (root @ root.T).ravel()
        theta = np.clip(theta, prior.lower, prior.upper)
        if prior.total is not None:
            theta = np.abs(theta) + 1e-3
            theta *= prior.total / theta.sum()
        if prior_excess(prior, theta) <= 1e-12:
            found.append(theta)
    return found


CASES: list[dict[str, object]] = [
    {},
    {"kind": "l1", "prior": (-2.0, 2.0)},
    {"kappa": 0.0, "prior": (-2.0, 1.0)},
    {"prior": "simplex", "kappa": 0.1},
    {"prior": {"A": [[1.0, 1.0, 0.0, 0.0], [-1.0, 0.5, 0.0, 2.0]], "b": [0.5, 1.0]}},
    {"prior": "nonnegative", "kind": "l1", "center": np.array([1.0, 0.0, 2.0, -1.0])},
    {"psd": 2},
    {"clamp": True, "inside": False},
    {"inside": False, "distance": "l1"},
    {"hard": True, "distance": "l2"},
]


@pytest.mark.parametrize("case", range(len(CASES)))
@pytest.mark.parametrize("seed", range(4))
def test_no_cost_vector_lies_below_a_proven_bound(seed: int, case: int) -> None:
    rng = np.random.default_rng(seed)
    slopes = [rng.normal(size=(3, 4)) for _ in range(int(rng.integers(1, 4)))]
    problem = listed_problem(slopes, **CASES[case])  # type: ignore[arg-type]
    points, reached = all_points(problem), -INF
    for k in range(8):
        proof = random_proof(problem, rng, 3.0 if k % 4 == 3 else INF)
        cuts = problem.cuts(proof.owners.tolist(), proof.points)
        bound = proven_bound(problem, cuts, proof)
        reached = max(reached, bound)
        for theta in members(problem, rng, 12):
            if np.all(np.abs(theta - problem.regularizer.center) <= proof.reach):
                value = cost_over(problem, theta, points)
                assert value >= bound - 1e-9 * (1.0 + abs(bound)), (theta, bound)
    assert reached > -INF or case in (0, 1, 5, 9)


@pytest.mark.parametrize("kind", ["l1", "l2"])
@pytest.mark.parametrize("seed", range(4))
def test_the_best_proof_meets_the_best_cost_of_one_coordinate(seed: int, kind: str) -> None:
    """Strong duality: the best of many weights proves what the best of many costs has."""
    rng = np.random.default_rng(seed)
    slopes = [np.array([[1.0 + rng.random()], [-1.0 - rng.random()]])]
    problem = listed_problem(
        slopes, kind=kind, kappa=0.4, center=np.array([0.7]), prior=(-2.0, 3.0), inside=False, distance="l1"
    )
    points = all_points(problem)
    proof = random_proof(problem, rng)
    cuts = problem.cuts(proof.owners.tolist(), proof.points)
    bounds = []
    for share in np.linspace(0, 1, 301):
        mixed = CostProof(proof.owners, proof.points, 5.0 * np.array([share, 1 - share]), np.zeros(0))
        bounds.append(proven_bound(problem, cuts, mixed))
    values = [cost_over(problem, [theta], points) for theta in np.linspace(-2, 3, 501)]
    assert max(bounds) <= min(values) + 1e-12
    assert max(bounds) >= min(values) - 2e-2


@pytest.mark.parametrize("scale", [1e-3, 1.0, 50.0])
def test_weights_of_a_loss_that_is_never_negative_prove_no_more_than_its_cost(scale: float) -> None:
    """max(0, 2 + 2 t, 2 - 2 t) is 2 at best, at t = 0, whatever the weights say; smaller weights prove their part of it."""
    problem = listed_problem([np.array([[2.0], [-2.0]])], kappa=0.0, prior=(-3.0, 3.0), distance="l1")
    points = all_points(problem)
    cuts = problem.cuts([0, 0], [np.array(point) for point in points[0][1:]])
    proof = CostProof(cuts.owners, cuts.points, scale * np.array([0.5, 0.5]), np.zeros(0))
    best = min(cost_over(problem, [theta], points) for theta in np.linspace(-3, 3, 61))
    assert best == pytest.approx(2.0)
    assert proven_bound(problem, cuts, proof) == pytest.approx(min(scale, 1.0) * best)


def test_weights_of_a_loss_that_may_be_negative_are_brought_to_their_sum() -> None:
    """The loss t + 2 is -1 at t = -3: its weight is 1 in the end, whatever it was, and without one nothing is proven."""
    problem = listed_problem([np.array([[1.0]])], kappa=0.0, prior=(-4.0, 3.0), inside=False)
    cuts = problem.cuts([0], [np.array([-1.0])])
    best = min(cost_over(problem, [theta], all_points(problem)) for theta in (-4.0, 0.0, 3.0))
    for weight in (1e-3, 1.0, 7.0):
        assert proven_bound(problem, cuts, CostProof(cuts.owners, cuts.points, np.array([weight]), np.zeros(0))) == best == -4.0
    assert proven_bound(problem, cuts, CostProof(cuts.owners, cuts.points, np.zeros(1), np.zeros(0))) == -INF


def test_multipliers_of_hard_losses_have_any_sum() -> None:
    """min of t^2 / 2 with 1 - t <= 0, twice over: 1/2, proven by a multiplier of 1 on either."""
    problem = listed_problem([np.array([[-1.0]])] * 2, kappa=1.0, hard=True, distance="l1")
    cuts = problem.cuts([0], [np.array([1.0])])
    proof = CostProof(cuts.owners, cuts.points, np.ones(1), np.zeros(0))
    assert proven_bound(problem, cuts, proof) == 0.5 == cost_over(problem, [1.0], all_points(problem))


@pytest.mark.parametrize("prior", ["simplex", {"A": [[1.0, 0.0], [-1.0, -1.0]], "b": [0.25, -1.0], "bounds": (-9.0, 9.0)}])
def test_prices_of_the_prior_set_prove_its_best_cost(prior: object) -> None:
    """Theta has its best corner at (1/4, 3/4) or (1, 0); prices that make all slopes equal to 0 prove it."""
    problem = listed_problem([np.array([[1.0, 3.0]])], kappa=0.0, prior=prior, inside=False)
    cuts = problem.cuts([0], [np.array([-1.0, -3.0])])
    best = min(
        cost_over(problem, [a, b], all_points(problem))
        for a, b in [(0.25, 0.75), (0.0, 1.0), (1.0, 0.0)]
        if prior_excess(problem.prior, [a, b]) <= 0
    )
    if prior == "simplex":
        proof = CostProof(cuts.owners, cuts.points, np.ones(1), np.zeros(0), total_price=-1.0)
    else:
        proof = CostProof(cuts.owners, cuts.points, np.ones(1), np.array([2.0, 3.0]))
    assert proven_bound(problem, cuts, proof) == pytest.approx(best)


def test_a_block_price_proves_what_semidefinite_costs_cannot_undercut() -> None:
    """A positive semidefinite matrix has a trace of at least 0; without the block nothing holds it."""
    problem = listed_problem([np.array([[1.0, 0.0, 0.0, 1.0]])], kappa=0.0, psd=2, inside=False)
    cuts = problem.cuts([0], [np.array([-1.0, 0.0, 0.0, -1.0])])
    proof = CostProof(cuts.owners, cuts.points, np.ones(1), np.zeros(0), block_price=np.eye(2))
    assert proven_bound(problem, cuts, proof) == 0.0 == cost_over(problem, np.zeros(4), all_points(problem))
    # Costs diag(0, t) go below everything here; what would cancel their slope is no price, and its negative part is left out.
    falling = listed_problem([np.array([[1.0, 0.0, 0.0, -1.0]])], kappa=0.0, psd=2, inside=False)
    cuts = falling.cuts([0], [np.array([-1.0, 0.0, 0.0, 1.0])])
    wrong = CostProof(cuts.owners, cuts.points, np.ones(1), np.zeros(0), block_price=np.diag([1.0, -1.0]))
    assert proven_bound(falling, cuts, wrong) == -INF


# Decisions -------------------------------------------------------------------------------------------------------------------


def drawn_bound(seed: int) -> TermBound:
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 4)), int(rng.integers(0, 3))
    table = None if seed % 3 == 0 else np.sqrt(np.arange(n + 1.0))
    whole = rng.random(n) < 0.7
    lower = np.zeros(n)
    upper = np.where(whole, 1.0 if table is not None else 2.0, 1.5)
    matrix = rng.integers(-2, 3, (m, n)).astype(float) * 10.0 ** rng.integers(-2, 3, (m, 1))
    low = np.where(rng.random(m) < 0.5, -INF, -np.abs(matrix).sum(axis=1) * rng.random(m))
    high = np.where((rng.random(m) < 0.4) & (low > -INF), INF, np.abs(matrix).sum(axis=1) * rng.random(m))
    response = np.where(whole, rng.integers(0, 2, n), rng.random(n))
    cost = rng.normal(size=n) * 10.0 ** rng.integers(-2, 3, n)
    return TermBound(LinearSet(matrix, low, high, lower, upper, whole), cost, table, response.astype(float))


def random_leaf(bound: TermBound, rng: np.random.Generator) -> Leaf:
    m = bound.decisions.high.size
    prices = rng.normal(size=m) * 10.0 ** rng.integers(-2, 2, m) * (rng.random(m) < 0.7)
    # A price of a missing side proves nothing; most leaves keep to those there are.
    if rng.random() < 0.9:
        prices = np.where(np.isinf(bound.decisions.high), -np.abs(prices), prices)
        prices = np.where(np.isinf(bound.decisions.low), np.abs(prices), prices)
    return Leaf(prices, float(rng.normal()) if bound.table is not None else 0.0)


def random_tree(bound: TermBound, rng: np.random.Generator, depth: int) -> Tree:
    whole = np.flatnonzero(bound.decisions.whole)
    if depth == 0 or whole.size == 0 or rng.random() < 0.2:
        return random_leaf(bound, rng)
    at = float(rng.integers(-1, 3))
    return Split(int(rng.choice(whole)), at, random_tree(bound, rng, depth - 1), random_tree(bound, rng, depth - 1))


def largest_value(bound: TermBound, points: list[list[float]]) -> float:
    """max of -cost . x + table[h(x)] over points."""
    values = []
    for point in points:
        values.append(-dot(bound.cost, point))
        if bound.table is not None:
            values[-1] += float(bound.table[differing(bound.response, point, bound.decisions.whole)])
    return max(values, default=-INF)


@pytest.mark.parametrize("seed", range(60))
def test_leaves_and_trees_bound_every_decision(seed: int) -> None:
    bound, rng = drawn_bound(seed), np.random.default_rng(seed)
    decisions = bound.decisions
    top = largest_value(bound, decisions_of(decisions))
    base = sum(round(float(value)) for value, mark in zip(bound.response, decisions.whole, strict=True) if mark)
    for point in points_of_box(decisions.lower, np.minimum(decisions.upper, 1.0), decisions.whole, 1):
        whole = [round(value) for value in point]
        assert base + dot(bound.count_slope, whole) == differing(bound.response, whole, decisions.whole)
    for _ in range(6):
        leaf, tree = random_leaf(bound, rng), random_tree(bound, rng, 3)
        for found, wanted in (
            (bound.leaf(leaf, decisions.lower, decisions.upper), leaf_bound(bound, leaf, decisions.lower, decisions.upper)),
            (bound.tree(tree), tree_bound(bound, tree)),
        ):
            assert found == pytest.approx(wanted, rel=1e-11, abs=1e-11)
            assert found >= top - 1e-9 * (1.0 + abs(top))


def full_tree(bound: TermBound, columns: list[int], leaf: Leaf, low: list[float], high: list[float]) -> Tree:
    """Every whole unknown split down to single values."""
    for j in columns:
        if low[j] < high[j]:
            at = math.floor((low[j] + high[j]) / 2)
            left, right = [*high], [*low]
            left[j], right[j] = at, at + 1
            return Split(j, float(at), full_tree(bound, columns, leaf, low, left), full_tree(bound, columns, leaf, right, high))
    return leaf


@pytest.mark.parametrize("seed", range(20))
def test_a_tree_down_to_single_decisions_proves_the_largest_value(seed: int) -> None:
    """Without rows and tables, leaves of one value each prove the maximum over the box, and no more."""
    bound = drawn_bound(3 * seed)
    n = bound.cost.size
    free = LinearSet(
        np.zeros((0, n)), np.zeros(0), np.zeros(0), bound.decisions.lower, bound.decisions.upper, bound.decisions.whole
    )
    bound = TermBound(free, bound.cost, None, bound.response)
    tree = full_tree(bound, np.flatnonzero(free.whole).tolist(), Leaf(np.zeros(0)), free.lower.tolist(), free.upper.tolist())
    top = largest_value(bound, decisions_of(free))
    assert bound.tree(tree) == pytest.approx(top, rel=1e-12, abs=1e-12)
    assert tree_bound(bound, tree) == pytest.approx(top, rel=1e-12, abs=1e-12)


def test_a_tree_over_an_open_unknown_or_between_whole_numbers_proves_nothing() -> None:
    free = LinearSet(
        np.zeros((0, 2)), np.zeros(0), np.zeros(0), np.array([0.0, -INF]), np.array([2.0, INF]), np.array([True, False])
    )
    leaf = Leaf(np.zeros(0))
    flat, steep = (TermBound(free, np.array([1.0, slope]), None, np.zeros(2)) for slope in (0.0, 1e-3))
    assert flat.tree(leaf) == tree_bound(flat, leaf) == 0.0
    assert steep.tree(leaf) == tree_bound(steep, leaf) == INF
    for wrong in (Split(1, 0.0, leaf, leaf), Split(0, 0.5, leaf, leaf)):
        assert flat.tree(wrong) == tree_bound(flat, wrong) == INF
    longer = Leaf(np.ones(1))
    assert flat.leaf(longer, free.lower, free.upper) == leaf_bound(flat, longer, free.lower, free.upper) == INF


# Ellipsoidal costs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(16))
def test_moving_directions_are_an_orthonormal_basis_of_the_slopes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, rank = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    slopes = rng.integers(-3, 4, (6, min(rank, p))).astype(float) @ rng.integers(-2, 3, (min(rank, p), p)).astype(float)
    slopes = slopes * 2.0 ** rng.integers(-30, 31)  # exactly, so that the rank stays
    if not np.any(slopes):
        slopes[0, 0] = 1.0
    basis = moving_directions(slopes)
    assert basis.shape == (p, exact_rank(slopes))
    assert basis.T @ basis == pytest.approx(np.eye(basis.shape[1]), abs=1e-12)
    assert slopes @ basis @ basis.T == pytest.approx(slopes, rel=1e-9, abs=1e-9 * np.abs(slopes).max())


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("prior", [None, "nonnegative"])
@pytest.mark.parametrize("seed", range(4))
def test_no_cost_with_room_lies_below_an_ellipsoid_bound(seed: int, prior: str | None, hard: bool) -> None:
    rng = np.random.default_rng(seed)
    slopes = [rng.normal(size=(4, 2)) - (2.0 if hard else 0.0) for _ in range(2)]
    problem = listed_problem(slopes, kappa=1.0 if hard else 0.6, prior=prior, hard=hard)
    listed = [np.vstack((np.zeros(2), rows)) for rows in slopes]
    stacked = np.vstack(listed)
    moving = moving_directions(stacked)
    assert np.array_equal(moving, np.eye(2))
    owners = np.repeat([0, 1], 5).astype(np.int32)
    best = -INF
    for k in range(20):
        # Directions along the slopes, some longer than 1, which are shortened.
        turned = stacked / np.maximum(np.linalg.norm(stacked, axis=1), 1e-9)[:, None] + 0.3 * rng.normal(size=stacked.shape)
        proof = EllipsoidProof(owners, tuple(-stacked), rng.exponential(size=10), turned * (2.0 if k % 2 else 0.5))
        bound = ellipsoid_bound(problem, stacked, proof, moving)
        best = max(best, bound)
        for _ in range(12):
            theta = rng.normal(size=2)
            theta = np.abs(theta) if prior or hard else theta
            theta *= rng.random() / np.linalg.norm(theta)
            root = rng.normal(size=(2, 2)) * rng.choice([0.05, 0.5, 1.0])
            shape = root @ root.T + 1e-3 * np.eye(2)
            assert room_objective(problem, theta, shape, listed) >= bound - 1e-9 * (1.0 + abs(bound))
            cost = EllipsoidalCost(theta, shape)
            losses = rng.exponential(size=2)
            wanted = log_room(problem, shape) + (0.0 if hard else float(losses.mean()))
            assert ellipsoid_objective(problem, cost, losses, moving) == pytest.approx(wanted, rel=1e-9, abs=1e-9)
    assert best > -INF


@pytest.mark.parametrize("kappa", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("slope", [0.5, -2.0])
@pytest.mark.parametrize("prior", [None, "nonnegative"])
def test_an_ellipsoid_bound_meets_the_optimum_of_one_coordinate(kappa: float, slope: float, prior: str | None) -> None:
    """min over |t| <= 1 and a > 0 of -kappa log a + slope t + a |slope|: t at an end, and a = kappa / |slope|."""
    problem = listed_problem([np.array([[slope]])], kappa=kappa, prior=prior)
    proof = EllipsoidProof(np.zeros(1, dtype=np.int32), (np.array([-slope]),), np.ones(1), np.array([[np.sign(slope)]]))
    bound = ellipsoid_bound(problem, np.array([[slope]]), proof, np.eye(1))
    best = min(
        room_objective(problem, [t], np.array([[a]]), [np.array([[slope]])])
        for t in (-1.0, 0.0, 1.0)
        for a in (kappa / abs(slope)) * np.array([0.5, 1.0, 2.0])
    )
    assert bound == pytest.approx(best)
    # Room where no decision varies is left out; a flat shape has no volume.
    assert ellipsoid_objective(problem, EllipsoidalCost(np.zeros(1), np.zeros((1, 1))), np.zeros(1), np.eye(1)) == INF
    assert log_room(problem, [[0.0]]) == INF


# Quadratic costs -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "square",
    [
        np.eye(2),
        np.zeros((2, 2)),
        np.diag([1.0, 0.0]),
        np.diag([1e9, 1e-3]),
        np.ones((2, 2)),
        np.array([[2.0, 1.0], [0.0, 2.0]]),
        np.diag([1.0, -0.1]),
        np.diag([1.0, -1e-9]),
        np.array([[0.0, 1.0], [1.0, 0.0]]),
        -1e-9 * np.eye(2),
        1e-9 * np.array([[2.0, -1.0], [-1.0, 2.0]]),
    ],
)
def test_curved_axes_are_those_of_the_cost_unless_it_curves_down(square: np.ndarray) -> None:
    features = QuadraticFeatures(2, GeneralFeatures(lambda z: np.ones(1), 1), GeneralFeatures(lambda z: np.ones(1), 1))
    theta = np.concatenate((square.T.ravel(), np.zeros(3)))
    found = curvature_axes(features, theta)
    even = (square + square.T) / 2
    if least_eigenvalue(even.tolist()) < -1e-12 * np.abs(even).max():
        assert found is None
        return
    assert found is not None
    values, axes = found
    assert np.all(values > 0)
    assert axes.T @ axes == pytest.approx(np.eye(values.size), abs=1e-12)
    # What is left out is less than a share of 1e-10 of the largest curvature, and above 0.
    left = even - (axes * values) @ axes.T
    assert np.abs(left).max() <= 2e-10 * np.abs(even).max()
    assert least_eigenvalue(left.tolist()) >= -1e-12 * np.abs(even).max()


@pytest.mark.parametrize("seed", range(20))
def test_nothing_within_the_bounds_exceeds_what_is_left(seed: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(2, int(rng.integers(0, 3))))
    square = root @ root.T
    features = QuadraticFeatures(2, GeneralFeatures(lambda z: np.ones(1), 1), GeneralFeatures(lambda z: np.ones(1), 1))
    axes = curvature_axes(features, np.concatenate((square.ravel(), np.zeros(3))))
    assert axes is not None
    lower, upper = -rng.random(2), rng.random(2) + 0.1
    pulls = rng.normal(size=(3, 2)) * np.array([[1.0], [1e-3], [10.0]])
    found = lagrangian_bound(axes, lower, upper, pulls, np.zeros(3))
    for pull, most in zip(pulls, found, strict=True):
        grid = itertools.product(*(np.linspace(a, b, 9) for a, b in zip(lower, upper, strict=True)))
        tried = [quadratic_value(square, pull, point) for point in grid]
        assert max(tried) <= most + 1e-9
        if root.shape[1] == 0:  # nothing curves: a corner has it
            assert max(tried) == pytest.approx(most)
        if root.shape[1] == 2:  # all curves: the bounds play no part, and the flat place has it
            assert quadratic_value(square, pull, -np.linalg.solve(square, pull) / 2) == pytest.approx(most, rel=1e-6)
    # An unknown without a bound may have no slope but that of rounding.
    flat = (np.zeros(0), np.zeros((2, 0)))
    open_ = lagrangian_bound(flat, np.full(2, -INF), np.full(2, INF), np.array([[1e-17, 0.0], [1.0, 0.0]]), np.full(2, 1e-15))
    assert open_.tolist() == [0.0, INF]


# Rays ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_angles_are_those_of_the_half_angle_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rays = rng.normal(size=(4, 3)) * 10.0 ** rng.integers(-9, 10, (4, 1))
    for theta in (rng.normal(size=3), rays[0], -rays[0], 1e-9 * rng.normal(size=3)):
        assert largest_angle(theta, rays) == pytest.approx(farthest_angle(theta, rays), abs=3e-8)
    if seed == 0:
        assert (
            largest_angle(np.array([1.0, 0.0]), np.array([[1.0, 1.0]]))
            == pytest.approx(math.pi / 4)
            == pytest.approx(angle([1, 0], [1, 1]))
        )


@pytest.mark.parametrize("seed", range(10))
def test_no_vector_has_all_rays_within_less_than_the_least_angle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rays = (rng.normal(size=(4, 3)) + np.array([2.0, 0.0, 0.0])) * 10.0 ** rng.integers(-3, 4, (4, 1))
    for weights in (rng.exponential(size=4), np.array([1.0, 0.0, 0.0, 0.0]), np.array([1.0, -3.0, 1.0, 0.0])):
        least = least_angle(rays, weights)
        unit = rays / np.linalg.norm(rays, axis=1)[:, None]
        tried = [*rng.normal(size=(200, 3)), np.maximum(weights, 0) @ unit, unit.mean(axis=0)]
        assert min(farthest_angle(theta, rays) for theta in tried) >= least - 1e-7
    # Two rays: half of what lies between them.
    pair = rays[:2]
    assert least_angle(pair, np.ones(2)) == pytest.approx(angle(pair[0], pair[1]) / 2, abs=1e-7)


@pytest.mark.parametrize(
    "theta", [[1.0, 2.0, 3.0], [1.0, 0.0, 0.0], [1.0, 1.0, 1.0], [3.0, -1.0, 2.0], [1.0, -1.0, -1.0], [-1.0, -2.0, -0.5]]
)
@pytest.mark.parametrize("prior", ["nonnegative", None, (0.0, 5.0)])
def test_no_cost_of_a_prior_set_is_farther_than_the_widest_angle(theta: list[float], prior: object) -> None:
    rng = np.random.default_rng(0)
    held = PriorSet.of(prior, 3)
    tried = [
        value for value in (*np.abs(rng.normal(size=(500, 3))), *np.eye(3), -np.array(theta), np.maximum(-np.array(theta), 0.0))
    ]
    tried = [value for value in tried if prior_excess(held, value) <= 0 and np.any(value)]
    widest = widest_angle(np.array(theta), held)
    assert farthest_angle(theta, tried) == pytest.approx(widest, abs=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_no_ellipsoid_around_the_rays_is_smaller_than_the_least_volume(seed: int) -> None:
    """Ends in a plane of three dimensions; the ellipsoids are drawn within the plane."""
    rng = np.random.default_rng(seed)
    flat = rng.normal(size=(5 if seed else 3, 2)) * np.array([1.0, 10.0 ** rng.integers(-2, 3)])
    frame, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    rays = flat @ frame[:2] + 2.0 * frame[2]
    for weights in (np.ones(len(rays)), rng.exponential(size=len(rays))):
        around, least = ellipsoid_volumes(rays, weights)
        assert least <= around + 1e-9
        tried = list(enclosing_volumes(flat, rng, 60))
        assert min(tried) >= least - 1e-9
        share = weights / weights.sum()
        spread = (flat - share @ flat).T * share @ (flat - share @ flat)
        assert least == pytest.approx(0.5 * math.log(float(determinant(2 * spread))), abs=1e-9)
        needed = max(float(end @ np.linalg.solve(2 * spread, end)) for end in flat - share @ flat)
        assert around == pytest.approx(least + max(math.log(needed), 0.0), abs=1e-9)
    if seed == 0:  # the smallest ellipse around a triangle has its corners on it, with equal weights
        around, least = ellipsoid_volumes(rays, np.ones(3))
        assert around == pytest.approx(least, abs=1e-9)
    assert ellipsoid_volumes(rays[:1], np.ones(1)) == (0.0, 0.0)
    assert cut_of(listed_problem([rays]), 0, rays[0])[0] == pytest.approx(-rays[0])
