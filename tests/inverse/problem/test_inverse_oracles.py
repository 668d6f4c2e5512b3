"""Decisions, distances, costs and prior sets of the trusted base against their oracles; bounds have a file of their own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from reference.trusted_inverse import (
    counted_unknowns,
    cut_of,
    decisions_of,
    distance_between,
    dot,
    ellipsoid_features,
    every_whole_value,
    general_features,
    given_prior_allows,
    is_prior,
    largest_term,
    linear_features,
    mean_cost,
    multiples_stay,
    named_parts,
    one_sided_rows,
    overshoot,
    points_of_box,
    prior_excess,
    quadratic_features,
    regularization,
    row_holds,
    symmetric_block,
    tied_distance,
    zero_or_one,
)

from surefoot.exceptions import UnsupportedProblemError
from surefoot.inverse.problem.augmented_terms import distance_terms
from surefoot.inverse.problem.decision_set import EllipsoidSet, LinearSet, ListedSet, OpaqueSet
from surefoot.inverse.problem.distance import NAMES, Distance
from surefoot.inverse.problem.hypothesis import GeneralFeatures, LinearFeatures, QuadraticFeatures
from surefoot.inverse.problem.predicted_distances import predicted_distances
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import Example, Instance, InverseProblem, Regularizer
from surefoot.inverse.problem.quadratic_terms import continuous_rows, directions, whole_values

INF = math.inf


def drawn_set(seed: int, *, binary: bool = False, mixed: bool = True) -> LinearSet:
    """A few rows, some without a side; whole and continuous unknowns; unknowns with one value only."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 4)), int(rng.integers(0, 4))
    whole = rng.random(n) < 0.6 if mixed else np.ones(n, dtype=bool)
    lower = np.where(whole & (not binary), rng.integers(-1, 1, n), 0.0)
    lower = np.where(whole, lower, rng.choice([-0.5, 0.0, 1.0], n))
    upper = lower + np.where(whole, 1 if binary else rng.integers(0, 4, n), 2.0)
    matrix = rng.integers(-2, 3, (m, n)) * 10.0 ** rng.integers(-3, 4, (m, 1))
    middle = matrix @ lower
    size = np.abs(matrix).sum(axis=1)
    low = np.where(rng.random(m) < 0.5, -INF, middle - size * rng.random(m))
    high = np.where((rng.random(m) < 0.4) & (low > -INF), INF, middle + size * rng.random(m))
    return LinearSet(matrix.astype(float), low, high, lower.astype(float), upper.astype(float), whole)


def sets() -> list[Any]:
    found: list[Any] = [drawn_set(seed) for seed in range(12)]
    found.append(
        LinearSet(
            np.zeros((0, 2)), np.zeros(0), np.zeros(0), np.array([0.0, -INF]), np.array([1.0, INF]), np.array([True, False])
        )
    )
    found += [ListedSet(np.array([[0.0, 1.0], [2.0, 3.0]])), ListedSet(np.array([[1e9], [1e-9]]))]
    found += [
        EllipsoidSet.of(np.diag([2.0, 0.5]), np.array([0.3, -0.1]), -1.0),
        EllipsoidSet.of(1e6 * np.eye(1), np.zeros(1), -1.0),
    ]
    found += [OpaqueSet(2, lambda theta: theta), OpaqueSet(2, lambda theta: theta, contains=lambda x: bool(x[0] > 0))]
    return found


@pytest.mark.parametrize("at", range(len(sets())))
def test_points_are_decisions_exactly_if_they_keep_to_every_condition(at: int) -> None:
    decisions, rng = sets()[at], np.random.default_rng(at)
    n, whole = counted_unknowns(decisions)
    assert decisions.n_unknowns == n
    assert list(decisions.whole) == whole
    if isinstance(decisions, LinearSet):
        assert list(decisions.binary) == zero_or_one(decisions)
    tried = [rng.normal(size=n) for _ in range(20)] + [np.round(2 * rng.normal(size=n)) for _ in range(20)]
    if isinstance(decisions, LinearSet):
        tried += [np.array(point) for point in points_of_box(decisions.lower, decisions.upper, decisions.whole, 2)]
    if isinstance(decisions, ListedSet):
        tried += list(decisions.points)
    tried += [point + away * np.sign(rng.normal(size=n)) for point in tried[:30] for away in (1e-7, 3e-6)]
    # Rounding of what was observed is mended before it is judged.
    found = decisions.allowed(np.array([decisions.nearest(point) for point in tried]))
    assert len(found) == len(tried)
    clear = 0
    for verdict, point in zip(found, tried, strict=True):
        missed = overshoot(decisions, point)
        if missed <= 0.5 or missed >= 2.0:
            assert verdict == (missed <= 0.5), (point, missed)
            clear += 1
    assert clear >= 20


@pytest.mark.parametrize("seed", range(30))
def test_inequalities_are_the_finite_sides_of_the_rows(seed: int) -> None:
    """Sides that are the same, missing, or met with equality; rows of 0; whatever holds the inequalities holds the rows."""
    decisions, rng = drawn_set(seed), np.random.default_rng(seed)
    n = decisions.lower.size
    matrix = np.vstack((decisions.matrix, decisions.matrix, np.zeros((3, n))))
    low = np.concatenate((decisions.low, decisions.matrix @ decisions.lower, [-INF, -1.0, 1e300]))
    high = np.concatenate((decisions.high, decisions.matrix @ decisions.lower, [INF, 1e300, INF]))
    order = rng.permutation(low.size)
    longer = LinearSet(matrix[order], low[order], high[order], decisions.lower, decisions.upper, decisions.whole)
    for held in (decisions, longer):
        rows, sides = held.inequalities()
        wanted = one_sided_rows(held)
        assert rows.shape == (len(wanted), n) and sides.shape == (len(wanted),)
        assert [(row, side) for row, side in zip(rows.tolist(), sides.tolist(), strict=True)] == wanted
        for point in [*points_of_box(decisions.lower, decisions.upper, decisions.whole, 2)][:40]:
            inside = all(dot(row, point) <= side for row, side in zip(rows, sides, strict=True))
            ends = zip(held.matrix, held.low, held.high, strict=True)
            assert inside == all(low_ <= dot(row, point) <= high_ for row, low_, high_ in ends)


def test_small_rows_are_measured_as_closely_as_others() -> None:
    decisions = LinearSet(
        np.array([[0.1]]), np.array([-INF]), np.array([0.5]), np.zeros(1), np.full(1, 9.0), np.zeros(1, dtype=bool)
    )
    bounded = LinearSet(np.zeros((0, 1)), np.zeros(0), np.zeros(0), np.zeros(1), np.full(1, 9.0), np.zeros(1, dtype=bool))
    for value in (9.000003, 9.0000001, -0.000003, -0.0000001):
        assert bounded.allowed(np.array([[value]]))[0] == (overshoot(bounded, [value]) <= 0.5)
    for value in (5.0, 5.0003, 4.0):
        assert decisions.allowed(np.array([[value]]))[0] == (overshoot(decisions, [value]) <= 0.5)


@pytest.mark.parametrize(
    "given", [*NAMES, ("linf", "l1"), ("none", "l2"), ("squared-l2", "none"), ("l2", "l1"), "l3", 7, ("linf",)]
)
def test_distances_are_named_as_documented(given: Any) -> None:
    wanted = named_parts(given)
    if wanted is None:
        with pytest.raises(ValueError, match="distance="):
            Distance.of(given)
        return
    found = Distance.of(given)
    assert (found.integer, found.continuous) == wanted
    assert Distance.of(found) is found
    # Nothing is far under an absent distance, and something is under any other.
    far = distance_between(found.integer, found.continuous, [0.0, 0.0], [1.0, 1.0], [True, False])
    assert found.absent == (far == 0.0)


@pytest.mark.parametrize(
    ("integer", "continuous"), [("l3", "linf"), ("l2", "l1"), ("l2", "zero-one"), ("l2", "none"), ("none", "none")]
)
def test_distances_that_do_not_exist_are_refused(integer: str, continuous: str) -> None:
    if named_parts((continuous, integer)) is None:
        with pytest.raises(ValueError, match="distance="):
            Distance(integer, continuous)
    else:
        assert Distance(integer, continuous).integer == integer


@pytest.mark.parametrize("seed", range(40))
def test_terms_add_up_to_the_distance_at_every_decision(seed: int) -> None:
    rng = np.random.default_rng(seed)
    decisions = drawn_set(seed, binary=seed % 2 == 0, mixed=seed % 4 < 2)
    box = list(points_of_box(decisions.lower, decisions.upper, decisions.whole, 2))
    response = np.array(box[int(rng.integers(len(box)))])
    understood = 0
    for name in NAMES:
        for continuous in ("linf", "squared-l2", "none"):
            distance = Distance(name, continuous)
            if seed % 5 == 0 and name in ("l1", "squared-l2", "none"):
                response = response + 0.25  # a response need not be a decision
            try:
                terms = distance_terms(decisions, response, distance)
            except UnsupportedProblemError:
                continue
            understood += 1
            for point in box:
                wanted = distance_between(name, continuous, response, point, decisions.whole)
                assert largest_term(terms, response, point, decisions.whole) == pytest.approx(wanted, abs=1e-12)
                found = distance.between(response, np.array([point]), decisions.whole)
                assert found[0] == pytest.approx(wanted, abs=1e-12)
    assert understood >= 2


def feature_maps() -> dict[str, tuple[Any, Any, int]]:
    """Features, their oracle, and the number of unknowns."""
    matrix, offset = np.array([[1.0, -2.0], [0.0, 1e-9], [1e9, 3.0]]), np.array([0.5, 0.0, -1e9])
    inner, outer = (lambda z: np.array([1.0, z[0] - z[1]])), (lambda z: np.array([z[0] * z[1]]))
    return {
        "linear": (LinearFeatures(matrix, offset), lambda x: linear_features(matrix, offset, x), 2),
        "quadratic": (
            QuadraticFeatures(2, GeneralFeatures(inner, 2), GeneralFeatures(outer, 1)),
            lambda x: quadratic_features(2, inner, outer, x),
            4,
        ),
        "ellipsoid": (QuadraticFeatures.of_all(3), ellipsoid_features, 3),
        "general": (
            GeneralFeatures(lambda x: [x[0] ** 2, x.sum()], 2),
            lambda x: general_features(lambda v: [v[0] ** 2, v.sum()], x),
            2,
        ),
    }


@pytest.mark.parametrize("name", feature_maps())
def test_features_are_their_definitions(name: str) -> None:
    features, oracle, n = feature_maps()[name]
    rng = np.random.default_rng(0)
    points = np.vstack((np.zeros(n), rng.normal(size=(4, n)), rng.integers(0, 2, (4, n)), 1e9 * rng.normal(size=(1, n))))
    found = features.of(points)
    assert found.shape == (len(points), features.n_features)
    for row, point in zip(found, points, strict=True):
        wanted = oracle(point)
        assert len(wanted) == features.n_features
        # The linear map may cancel its offset of 1e9; the others are single products.
        size = 1e9 * (1.0 + np.abs(point).max()) if name == "linear" else np.abs(wanted)
        assert row == pytest.approx(wanted, rel=1e-14, abs=1e-300) or np.all(np.abs(row - wanted) <= 1e-15 * size)


def test_costs_of_decisions_are_products_with_their_features() -> None:
    rng = np.random.default_rng(1)
    linear, _, n = feature_maps()["linear"]
    for theta in (rng.normal(size=3), np.zeros(3), np.array([1e9, 1.0, 1e-9])):
        cost = linear.linear_cost(theta)
        for point in rng.normal(size=(3, n)):
            constant = dot(theta, linear.offset)
            wanted = dot(theta, linear_features(linear.matrix, linear.offset, point))
            size = float(np.abs(theta) @ (np.abs(linear.matrix) @ np.abs(point) + np.abs(linear.offset)))
            assert dot(cost, point) + constant == pytest.approx(wanted, abs=1e-14 * size + 1e-300)
    quadratic = feature_maps()["quadratic"][0]
    for _ in range(10):
        theta, y, z = rng.normal(size=quadratic.n_features), rng.normal(size=2), rng.integers(0, 3, 2).astype(float)
        square, slope, constant = quadratic.quadratic_cost(theta, z)
        assert np.array_equal(square, square.T)
        value = float(y @ square @ y) + dot(slope, y) + constant
        features = quadratic_features(2, quadratic.inner.function, quadratic.outer.function, np.concatenate((y, z)))
        assert value == pytest.approx(dot(theta, features), rel=1e-12, abs=1e-12)


def drawn_problem(seed: int, *, kind: str = "l2", hard: bool = False, clamp: bool = False, prior: Any = None) -> InverseProblem:
    """Linear features over listed and linear sets, responses inside and (with ``clamp``) outside."""
    rng = np.random.default_rng(seed)
    p, examples = 2, []
    for i in range(int(rng.integers(1, 4))):
        features = LinearFeatures(rng.normal(size=(p, 2)), rng.normal(size=p))
        points = np.unique(rng.integers(0, 3, (5, 2)), axis=0).astype(float)
        if i % 2:
            decisions: Any = LinearSet(
                np.ones((1, 2)), np.array([-INF]), np.array([3.0]), np.zeros(2), np.full(2, 2.0), np.array([True, True])
            )
            response = np.array([1.0, 2.0])
        else:
            decisions, response = ListedSet(points), points[0]
        examples.append(
            Example(
                Instance(10 + i, decisions, features), response + (0.5 if clamp and i == 0 else 0.0), not (clamp and i == 0)
            )
        )
    center = rng.normal(size=p) * (seed % 3 > 0)
    return InverseProblem(
        tuple(examples),
        Distance(NAMES[seed % 6], "linf"),
        Regularizer(kind, center),
        float(rng.choice([0.0, 0.3, 2.0])),
        PriorSet.of(prior, p),
        clamp,
        hard,
    )


def listed(problem: InverseProblem) -> list[list[list[float]]]:
    """All decisions of every example."""
    found = []
    for example in problem.examples:
        decisions = example.instance.decisions
        found.append(decisions.points.tolist() if isinstance(decisions, ListedSet) else decisions_of(decisions))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_cuts_hold_the_slopes_and_distances_of_their_decisions(seed: int) -> None:
    problem, rng = drawn_problem(seed), np.random.default_rng(seed)
    assert problem.n_examples == sum(1 for _ in problem.examples)
    assert problem.n_features == len(cut_of(problem, 0, problem.examples[0].response)[0])
    pairs = [(i, point) for i, points in enumerate(listed(problem)) for point in points]
    order = rng.permutation(len(pairs))
    owners, points = [pairs[k][0] for k in order], [np.array(pairs[k][1]) for k in order]
    cuts = problem.cuts(owners, points)
    assert cuts.size == len(pairs)
    some = cuts.chosen(rng.integers(0, len(pairs), 3))
    empty = problem.cuts([], [])
    assert (empty.size, empty.slopes.shape) == (0, (0, problem.n_features))
    assert some.size == 3 == len(some.points)
    for found in (cuts, some):
        for k in range(found.size):
            slope, offset = cut_of(problem, int(found.owners[k]), found.points[k])
            assert found.slopes[k] == pytest.approx(slope, rel=1e-13, abs=1e-13)
            assert found.offsets[k] == pytest.approx(offset, rel=1e-13, abs=1e-13)
    for i, example in enumerate(problem.examples):
        assert example.index == example.instance.index == 10 + i
        block = np.array(listed(problem)[i])
        for slopes, apart, point in zip(example.slopes(block), example.distances(problem.distance, block), block, strict=True):
            slope, offset = cut_of(problem, i, point)
            assert slopes == pytest.approx(slope, rel=1e-13, abs=1e-13)
            assert apart == pytest.approx(offset, rel=1e-13, abs=1e-13)
        assert example.own == pytest.approx(
            linear_features(example.instance.features.matrix, example.instance.features.offset, example.response)
        )
        assert cut_of(problem, i, example.response)[0] == [0.0, 0.0]


@pytest.mark.parametrize("kind", ["l1", "l2"])
@pytest.mark.parametrize("seed", range(6))
def test_objectives_are_regularization_plus_mean_loss(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    for hard in (False, True):
        problem = drawn_problem(seed, kind=kind, hard=hard)
        for theta in (rng.normal(size=2), np.zeros(2), np.array([1e9, 1e-9])):
            losses = rng.exponential(size=problem.n_examples)
            assert problem.regularizer(theta) == pytest.approx(
                regularization(kind, problem.regularizer.center, theta), rel=1e-13
            )
            assert problem.objective(theta, losses) == pytest.approx(mean_cost(problem, theta, losses), rel=1e-13)


@pytest.mark.parametrize("kind", ["l0", "L2", "", "l1", "l2"])
def test_other_regularizers_are_refused(kind: str) -> None:
    if kind in ("l1", "l2"):
        assert Regularizer(kind, np.zeros(1))(np.array([3.0])) == regularization(kind, [0.0], [3.0])
    else:
        with pytest.raises(ValueError, match="regularizer"):
            Regularizer(kind, np.zeros(1))


@pytest.mark.parametrize("seed", range(12))
def test_predicted_distances_are_those_of_the_cheapest_decisions(seed: int) -> None:
    problem, rng = drawn_problem(seed), np.random.default_rng(seed)
    points = [np.array(part) for part in listed(problem)]
    for theta in (rng.normal(size=2), np.array([1.0, 0.0]), np.array([1e9, -1e9]), 1e-9 * rng.normal(size=2), np.zeros(2)):
        wanted = tied_distance(problem, theta, listed(problem))
        assert predicted_distances(problem, theta, points) == pytest.approx(wanted, rel=1e-13, abs=1e-13)


PRIORS: list[Any] = [
    None,
    "nonnegative",
    "simplex",
    (0.0, 1.0),
    (-1.0, np.array([0.0, INF, 2.0, 1.0])),
    {"A": [[1.0, 1.0, 0.0, 0.0]], "b": [0.5]},
    {"A": [1.0, -1.0, 0.0, 1e9], "b": 0.0, "bounds": (-INF, 0.0)},
    {"bounds": (0.0, INF)},
]


def thetas(rng: np.random.Generator) -> list[np.ndarray]:
    drawn = [rng.normal(size=4) for _ in range(20)] + [np.round(rng.normal(size=4)) for _ in range(20)]
    return [
        *drawn,
        *np.abs(drawn),
        *(np.abs(v) / np.abs(v).sum() for v in drawn if np.any(v)),
        np.zeros(4),
        1e9 * drawn[0],
        1e-9 * drawn[1],
    ]


@pytest.mark.parametrize("at", range(len(PRIORS)))
@pytest.mark.parametrize("psd", [0, 1, 2])
def test_prior_sets_hold_what_they_are_given_for(at: int, psd: int) -> None:
    given, rng = PRIORS[at], np.random.default_rng(at)
    prior = PriorSet.of(given, 4, psd)
    assert prior.n_features == len(prior.lower) == 4
    assert PriorSet.of(prior, 4) is prior
    members = []
    for theta in thetas(rng):
        excess = prior_excess(prior, theta)
        assert prior.excess(theta) == pytest.approx(excess, rel=1e-12, abs=1e-12 * (1 + np.abs(theta).max()))
        if psd:
            assert prior.block(theta) == pytest.approx(np.array(symmetric_block(psd, theta)))
        if not psd and abs(excess) > 1e-9:
            assert (excess < 0) == given_prior_allows(given, theta)
        if excess <= 0:
            members.append(theta)
    if members:
        assert prior.is_cone == multiples_stay(prior, members)
    assert prior.is_cone == (at in (0, 1, 6, 7))


@pytest.mark.parametrize(
    ("lower", "upper", "matrix", "ceiling"),
    [
        ([0.0], [1.0], np.zeros((0, 1)), []),
        ([1.0], [1.0], np.ones((1, 1)), [0.0]),
        ([1.0], [0.0], np.zeros((0, 1)), []),
        ([math.nan], [0.0], np.zeros((0, 1)), []),
        ([0.0], [1.0], np.ones((1, 2)), [0.0]),
        ([0.0], [1.0], np.ones((2, 1)), [0.0]),
        ([0.0], [1.0], np.array([[INF]]), [0.0]),
        ([0.0], [1.0], np.ones((1, 1)), [math.nan]),
    ],
)
def test_prior_sets_are_refused_exactly_if_they_are_none(lower: list, upper: list, matrix: np.ndarray, ceiling: list) -> None:
    try:
        PriorSet(np.array(lower), np.array(upper), matrix, np.array(ceiling, dtype=float))
    except ValueError:
        assert not is_prior(lower, upper, matrix, ceiling)
    else:
        assert is_prior(lower, upper, matrix, ceiling)


@pytest.mark.parametrize("at", range(len(PRIORS)))
@pytest.mark.parametrize("moved", [False, True])
def test_costs_are_scalable_exactly_if_multiples_are_as_admissible_and_no_better(at: int, moved: bool) -> None:
    rng = np.random.default_rng(at)
    features = LinearFeatures(rng.normal(size=(4, 1)), np.zeros(4))
    examples = (Example(Instance(0, ListedSet(np.array([[0.0], [1.0]])), features), np.array([0.0])),)
    center = np.array([0.0, 1e-9, 0.0, 0.0]) if moved else np.zeros(4)
    problem = InverseProblem(examples, Distance(), Regularizer("l1", center), 1.0, PriorSet.of(PRIORS[at], 4))
    members = [theta for theta in thetas(rng) if prior_excess(problem.prior, theta) <= 0]
    grows = all(
        regularization("l1", center, 2 * theta) >= regularization("l1", center, theta)
        for theta in (*members, center, center / 2)
    )
    assert problem.scalable == (multiples_stay(problem.prior, members) and grows)


@pytest.mark.parametrize(
    ("count", "kappa", "size", "center"),
    [
        (1, 0.0, 2, 2),
        (1, 1.0, 2, 2),
        (0, 1.0, 2, 2),
        (1, -1.0, 2, 2),
        (1, INF, 2, 2),
        (1, math.nan, 2, 2),
        (1, 1.0, 3, 2),
        (1, 1.0, 2, 1),
    ],
)
def test_inverse_problems_are_refused_exactly_if_their_parts_disagree(count: int, kappa: float, size: int, center: int) -> None:
    features = LinearFeatures(np.eye(2), np.zeros(2))
    example = Example(Instance(0, ListedSet(np.zeros((1, 2))), features), np.zeros(2))
    sound = count > 0 and math.isfinite(kappa) and kappa >= 0 and size == center == 2
    try:
        problem = InverseProblem(
            (example,) * count, Distance(), Regularizer("l2", np.zeros(center)), kappa, PriorSet.of(None, size)
        )
    except ValueError:
        assert not sound
    else:
        assert sound
        assert mean_cost(problem, np.ones(2), [0.0]) == kappa


@pytest.mark.parametrize("seed", range(20))
def test_rows_of_the_continuous_part_hold_exactly_if_those_of_the_set_do(seed: int) -> None:
    decisions, rng = drawn_set(seed), np.random.default_rng(seed)
    first, second, sides = continuous_rows(decisions)
    u = int(np.sum(~decisions.whole))
    for z in every_whole_value(decisions)[:12]:
        for y in [rng.normal(size=u) for _ in range(4)] + [rng.integers(0, 3, u).astype(float) for _ in range(4)]:
            inside = bool(np.all(first @ y + second @ np.array(z) <= sides + 1e-12 * (1 + np.abs(sides))))
            assert inside == row_holds(decisions, y.tolist(), list(z))


@pytest.mark.parametrize("seed", range(20))
def test_every_whole_value_is_listed_once(seed: int) -> None:
    decisions = drawn_set(seed)
    instance = Instance(0, decisions, LinearFeatures(np.eye(1), np.zeros(1)))
    assert [tuple(row) for row in whole_values(instance).tolist()] == every_whole_value(decisions)


def test_too_many_whole_values_are_refused() -> None:
    n = 13
    decisions = LinearSet(np.zeros((0, n)), np.zeros(0), np.zeros(0), np.zeros(n), np.ones(n), np.ones(n, dtype=bool))
    assert len(every_whole_value(decisions)) == 2**n
    with pytest.raises(UnsupportedProblemError, match="8192 values"):
        whole_values(Instance(0, decisions, LinearFeatures(np.eye(1), np.zeros(1))))


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("continuous", ["linf", "none", "squared-l2"])
def test_directions_measure_the_continuous_part(n: int, continuous: str) -> None:
    """The largest product of the vectors with a difference is its distance."""
    distance, rng = Distance("none", continuous), np.random.default_rng(n)
    if continuous == "squared-l2" and n:
        with pytest.raises(UnsupportedProblemError, match="squared-l2"):
            directions(n, distance)
        return
    turns = directions(n, distance)
    for apart in (rng.normal(size=n), np.zeros(n), 1e9 * rng.normal(size=n)):
        wanted = distance_between("none", continuous, np.zeros(n), apart, np.zeros(n, dtype=bool))
        assert max(dot(turn, apart) for turn in turns) == pytest.approx(wanted)
