"""The SVM's part of the trusted base against its oracles: kernels in every unit, tied breakpoints, tight and loose batches."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from reference.trusted_chancesvm import (
    are_inner_products,
    batch_moments,
    batch_sums,
    best_intercepts,
    constraint_excess,
    counted,
    dual_value,
    gram,
    hinge_loss,
    inner_product,
    is_svm_problem,
    monomials,
    needed_margins,
    primal_value,
    projected_product,
    sample_values,
    tail_factor,
)

from surefoot.chancesvm.problem.feasible_mix import feasible_mix
from surefoot.chancesvm.problem.kernels import Kernel
from surefoot.chancesvm.problem.landmark_kernel import LandmarkKernel
from surefoot.chancesvm.problem.problem import ChanceSVMProblem, KernelPlane, require_inner_products

INF = math.inf
KERNELS = {
    "linear": Kernel("linear"),
    "quadratic": Kernel("poly", gamma=0.5, degree=2, coef0=1.0),
    "cubic without lower terms": Kernel("poly", gamma=0.7, degree=3, coef0=0.0),
    "rbf": Kernel("rbf", gamma=0.5),
    "callable": Kernel("callable", function=lambda left, right: 1.0 + left @ right.T),
}


def drawn(seed: int, kernel: Kernel, *, offset: float = 0.0, unit: float = 1.0) -> ChanceSVMProblem:
    """Batches of one to four samples, equal samples within and between batches, weights and costs of any size."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    sizes = rng.integers(1, 5, n)
    sizes[0] = 1
    starts = np.concatenate(([0], np.cumsum(sizes)))
    samples = rng.integers(-2, 3, (starts[-1], 2)) + (0.3 * rng.normal(size=(starts[-1], 2)) if seed % 3 else 0.0)
    samples = offset + unit * samples
    samples[-1] = samples[0]
    weights = rng.uniform(0.01, 1.0, starts[-1])
    weights /= np.repeat(np.add.reduceat(weights, starts[:-1]), sizes)
    labels = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    radii = seed % 2 == 0
    if kernel.name == "precomputed":
        samples = Kernel("rbf", gamma=0.5).products(samples, samples)
    return ChanceSVMProblem(
        samples,
        starts,
        labels,
        10.0 ** rng.uniform(-3, 3, n),
        rng.choice([1e-4, 0.05, 0.5, 0.9], n),
        kernel,
        weights,
        rng.uniform(0, 0.2, n) * (rng.random(n) < 0.7) if radii else None,
        rng.uniform(0, 0.2, n) if radii else None,
    )


def close(found: float, wanted: Fraction, slack: float) -> bool:
    return abs(Fraction(float(found)) - wanted) <= Fraction(slack)


def table(rng: np.random.Generator, shape: tuple[int, int], kind: str) -> np.ndarray:
    values = rng.normal(size=shape)
    return {
        "plain": values,
        "far": 1e9 + values,
        "tiny": 1e-9 * values,
        "large": 1e3 * values,
        "units": values * 10.0 ** np.linspace(-9, 3, shape[1]),
        "equal": np.ones(shape),
        "whole": np.round(values),
    }[kind]


@pytest.mark.parametrize("kind", ["plain", "far", "tiny", "large", "units", "equal", "whole"])
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_are_their_definitions(name: str, kind: str) -> None:
    kernel, rng = KERNELS[name], np.random.default_rng(3)
    left, right = table(rng, (3, 3), kind), table(rng, (4, 3), kind)
    found, diagonal = kernel.products(left, right), kernel.diagonal(left)
    assert found.shape == (3, 4)
    for i, x in enumerate(left):
        # What a product can lose: a few units of the last place of the product of lengths, and of its power.
        for j, z in enumerate(right):
            dot = np.abs(x) @ np.abs(z)
            powered = abs(kernel.gamma * dot + kernel.coef0) ** kernel.degree if kernel.name == "poly" else 1.0 + dot
            middle = right.mean(axis=0)
            apart = float(np.sum((x - middle) ** 2 + (z - middle) ** 2)) if kernel.name == "rbf" else 0.0
            slack = 1e-14 * (powered if kernel.name != "rbf" else 1.0 + apart)
            assert close(found[i, j], inner_product(kernel, x, z), slack), (i, j)
        own = np.abs(x) @ np.abs(x)
        size = abs(kernel.gamma * own + kernel.coef0) ** kernel.degree if kernel.name == "poly" else 1.0 + own
        assert close(diagonal[i], inner_product(kernel, x, x), 1e-14 * size)


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("coef0", [0.0, 0.5])
@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_features_multiply_to_the_kernel(n_columns: int, coef0: float, degree: int) -> None:
    kernel = Kernel("poly", gamma=1.7, degree=degree, coef0=coef0)
    rng = np.random.default_rng(degree)
    left, right = rng.normal(size=(3, n_columns)), 10.0 * rng.normal(size=(2, n_columns))
    mapped, other = kernel.features(left), kernel.features(right)
    assert kernel.n_features(n_columns) == monomials(n_columns, degree, coef0 > 0) == mapped.shape[1]
    for i, x in enumerate(left):
        for j, z in enumerate(right):
            size = (1.7 * np.abs(x) @ np.abs(z) + coef0) ** degree
            assert close(mapped[i] @ other[j], inner_product(kernel, x, z), 1e-13 * size)
    linear = Kernel("linear")
    assert linear.n_features(n_columns) == n_columns == monomials(n_columns, 1, False)
    assert close(linear.features(left)[0] @ linear.features(right)[0], inner_product(linear, left[0], right[0]), 1e-13)
    for name in ("rbf", "callable"):
        without = KERNELS[name]
        assert without.n_features(n_columns) is None
        with pytest.raises(ValueError, match="feature space"):
            without.features(left)


@pytest.mark.parametrize("name", KERNELS)
def test_landmarks_project_onto_their_span(name: str) -> None:
    base, rng = KERNELS[name], np.random.default_rng(5)
    landmarks, samples = rng.normal(size=(2, 2)), rng.normal(size=(4, 2))
    kernel = LandmarkKernel(base=base, landmarks=landmarks, places=np.array([0, 1]))
    products, diagonal, features = kernel.products(samples, samples), kernel.diagonal(samples), kernel.features(samples)
    assert kernel.n_features(2) == len(landmarks) == features.shape[1]
    for i, x in enumerate(samples):
        assert close(diagonal[i], projected_product(base, landmarks, x, x), 1e-10)
        for j, z in enumerate(samples):
            wanted = projected_product(base, landmarks, x, z)
            assert close(products[i, j], wanted, 1e-10)
            assert close(features[i] @ features[j], wanted, 1e-10)
    assert close(
        kernel.products(samples[:1], samples[2:])[0, 1], projected_product(base, landmarks, samples[0], samples[3]), 1e-10
    )
    # The span contains the landmarks themselves.
    assert close(kernel.products(landmarks, landmarks)[0, 1], inner_product(base, landmarks[0], landmarks[1]), 1e-10)


@pytest.mark.parametrize("seed", range(12))
def test_batches_have_the_shape_that_can_be_counted(seed: int) -> None:
    problem = drawn(seed, Kernel("linear"))
    told = counted(problem)
    assert (problem.n_batches, problem.n_samples) == (told["n_batches"], told["n_samples"])
    assert problem.sizes.tolist() == told["sizes"]
    assert problem.batch.tolist() == told["batch"]
    assert problem.has_radii == told["has_radii"]
    for name in ("mean_radius", "covariance_radius"):
        alone = replace(problem, mean_radius=None, covariance_radius=None)
        assert alone.has_radii == counted(alone)["has_radii"]
        alone = replace(alone, **{name: np.full(problem.n_batches, 1e-9)})
        assert alone.has_radii == counted(alone)["has_radii"]
    for found, violation in zip(problem.tau, problem.violation, strict=True):
        assert close(found, tail_factor(violation), 1e-15 * found * 4)


VALUES = ["plain", "offset", "tiny", "large", "equal", "zero"]


def sample_numbers(rng: np.random.Generator, n: int, kind: str) -> np.ndarray:
    values = rng.normal(size=n)
    return {
        "plain": values,
        "offset": 1e9 + values,
        "tiny": 1e-9 * values,
        "large": 1e9 * values,
        "equal": np.full(n, 0.1),
        "zero": np.zeros(n),
    }[kind]


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("seed", range(6))
def test_sums_moments_and_demands_are_within_rounding_of_exact_ones(seed: int, kind: str) -> None:
    problem, rng = drawn(seed, Kernel("linear")), np.random.default_rng(seed)
    values = sample_numbers(rng, problem.n_samples, kind)
    size = float(np.abs(values).max())
    for found, wanted in zip(problem.sums(values), batch_sums(problem, values), strict=True):
        assert close(found, wanted, 1e-15 * 5 * size)
    means, deviations = problem.moments(values)
    for mean, deviation, (exact_mean, exact_deviation) in zip(means, deviations, batch_moments(problem, values), strict=True):
        assert close(mean, exact_mean, 1e-15 * 5 * size)
        # The mean is off by its own rounding, and weights sum to 1 up to theirs.
        assert close(deviation, exact_deviation, 1e-15 * 8 * size)
    for squared in (0.0, 1e-9, 4.0, 1e9):
        slack = 1e-15 * 16 * (1.0 + float(problem.tau.max()) + 1.0) * (1.0 + size + math.sqrt(squared))
        for found, wanted in zip(problem.demands(values, squared), needed_margins(problem, values, squared), strict=True):
            assert close(found, wanted, slack)


@pytest.mark.parametrize("seed", range(30))
def test_the_best_intercept_is_that_of_the_best_breakpoint(seed: int) -> None:
    problem, rng = drawn(seed, Kernel("linear")), np.random.default_rng(seed)
    kinds = [rng.normal(size=problem.n_batches), np.ones(problem.n_batches), np.round(rng.normal(size=problem.n_batches))]
    kinds += [1e9 + rng.normal(size=problem.n_batches), 1e-9 * rng.normal(size=problem.n_batches)]
    if seed % 2:  # costs that cancel leave a whole interval of best intercepts
        object.__setattr__(problem, "costs", np.ones(problem.n_batches))
    for demands in kinds:
        exact_demands = [Fraction(float(value)) for value in demands]
        least, first, last = best_intercepts(problem, exact_demands)
        found = problem.best_intercept(demands)
        size = float(problem.costs.sum() * (np.abs(demands).max() + 1e-300))
        assert hinge_loss(problem, exact_demands, Fraction(found)) <= least + Fraction(1e-12 * size)
        assert close(problem.hinge(demands, found), hinge_loss(problem, exact_demands, Fraction(found)), 1e-14 * size)
        middle = (first + last) / 2
        assert close(found, middle, 1e-9 * (float(last - first) + float(np.abs(demands).max()))) or least > 0


def test_a_whole_interval_of_best_intercepts_is_met_in_the_middle() -> None:
    problem = ChanceSVMProblem(
        np.zeros((2, 1)), np.array([0, 1, 2]), np.array([1.0, -1.0]), np.ones(2), np.full(2, 0.5), Kernel("linear")
    )
    demands = np.array([-1.0, -2.0])
    least, first, last = best_intercepts(problem, [Fraction(-1), Fraction(-2)])
    assert (least, first, last) == (0, -1, 2)
    assert problem.best_intercept(demands) == 0.5


@pytest.mark.parametrize("name", [*KERNELS, "precomputed"])
@pytest.mark.parametrize("seed", range(4))
def test_values_of_samples_are_sums_of_kernels(seed: int, name: str) -> None:
    problem = drawn(seed, KERNELS.get(name, Kernel("precomputed")))
    rng, matrix = np.random.default_rng(seed), gram(problem)
    sizes = np.abs(np.array([[float(value) for value in row] for row in matrix]))
    for c in (rng.normal(size=problem.n_samples), np.zeros(problem.n_samples), 1e9 * np.eye(problem.n_samples)[-1]):
        for memory in (8, 1 << 20):
            found = problem.values(c, memory)
            for value, wanted, size in zip(found, sample_values(matrix, c), sizes @ np.abs(c), strict=True):
                assert close(value, wanted, 1e-13 * (size + np.abs(c).max()))
    both = rng.normal(size=(problem.n_samples, 2))
    columns = problem.values(both)
    assert close(columns[0, 1], sample_values(matrix, both[:, 1])[0], 1e-12 * (1 + sizes.max()))


def mixes(problem: ChanceSVMProblem, rng: np.random.Generator) -> list[np.ndarray]:
    """Coefficients of every kind: wild, too long, of the wrong sign, of one class only, and none."""
    n = problem.n_samples
    signs = np.repeat(problem.labels, problem.sizes)
    means = np.repeat(problem.costs, problem.sizes) * problem.weights * signs
    return [
        np.zeros(n),
        means,
        -means,
        0.5 * means + 1e-3 * rng.normal(size=n),
        1e6 * means,
        rng.normal(size=n),
        1e9 * rng.normal(size=n),
        np.where(signs > 0, means, 0.0),
        1e-9 * means * rng.uniform(0.5, 1.5, n),
        means * rng.uniform(0.1, 1.9, n),
    ]


@pytest.mark.parametrize("name", [*KERNELS, "precomputed"])
@pytest.mark.parametrize("seed", range(4))
def test_a_feasible_mix_is_feasible_and_its_bound_is_the_dual(seed: int, name: str) -> None:
    problem = drawn(seed, KERNELS.get(name, Kernel("precomputed")))
    rng, matrix = np.random.default_rng(seed), gram(problem)
    for c in mixes(problem, rng):
        mix = feasible_mix(problem, c)
        assert constraint_excess(problem, mix.coefficients) <= Fraction(1e-13)
        values = np.array([float(value) for value in sample_values(matrix, mix.coefficients)])
        square = float(np.abs(mix.coefficients) @ np.abs(values))
        wanted = dual_value(problem, mix.coefficients, matrix)
        assert close(mix.bound(values), wanted, 1e-7 * (float(problem.costs.sum()) + math.sqrt(square)) + 1e-12 * square)
        # Weak duality: no plane lies below, whatever its coefficients.
        for plane in (np.zeros_like(c), mix.coefficients, 0.5 * mix.coefficients, 1e-3 * rng.normal(size=c.size)):
            for intercept in (0.0, 1.0):
                above = primal_value(problem, plane, intercept, matrix)
                assert float(above) >= mix.bound(values) - 1e-9 * (1.0 + abs(float(above)) + square)


@pytest.mark.parametrize("seed", range(8))
def test_a_mix_that_is_feasible_already_stays_as_it_is(seed: int) -> None:
    """Half of every mean, scaled so that both classes sum to the same, with deviations well within the ellipsoids."""
    problem, rng = drawn(seed, Kernel("linear")), np.random.default_rng(seed)
    least = min(problem.costs[problem.labels == label].sum() for label in (1.0, -1.0))
    share = [0.5 * least / problem.costs[problem.labels == label].sum() for label in problem.labels]
    c = np.empty(problem.n_samples)
    for i, (start, stop) in enumerate(zip(problem.starts[:-1], problem.starts[1:], strict=True)):
        p = problem.weights[start:stop]
        turned = rng.normal(size=p.size)
        beside = p * (turned - p @ turned)
        length = math.sqrt(float(np.sum(beside**2 / p)))
        alpha = share[i] * problem.costs[i]
        tau = float(tail_factor(problem.violation[i]))
        beside = beside * (0.6 * tau * alpha / length) if length > 1e-9 else 0.0 * beside
        c[start:stop] = problem.labels[i] * (alpha * p + beside)
    assert constraint_excess(problem, c) <= Fraction(1e-13)
    mix = feasible_mix(problem, c)
    assert mix.coefficients == pytest.approx(c, rel=1e-9, abs=1e-12 * np.abs(c).max())


def test_the_dual_bound_meets_the_optimum_where_it_is_known() -> None:
    """Two points at -1 and +1: w = 1 and b = 0 separate them with margin 1, and cost 1/2."""
    problem = ChanceSVMProblem(
        np.array([[1.0], [-1.0]]),
        np.array([0, 1, 2]),
        np.array([1.0, -1.0]),
        np.full(2, 9.0),
        np.full(2, 0.1),
        Kernel("linear"),
    )
    c = np.array([0.5, -0.5])
    matrix = gram(problem)
    mix = feasible_mix(problem, c)
    assert mix.bound(problem.values(mix.coefficients)) == pytest.approx(0.5)
    assert dual_value(problem, c, matrix) == primal_value(problem, c, 0.0, matrix) == Fraction(1, 2)
    assert problem.objective(KernelPlane(c, 0.0)) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((0, 0)),
        np.zeros((2, 2)),
        np.eye(3),
        np.ones((3, 3)),
        np.array([[1.0, 2.0], [2.0, 1.0]]),
        np.array([[1.0, 0.5], [0.4, 1.0]]),
        np.array([[1.0, 1.0], [1.0 + 1e-12, 1.0]]),
        1e9 * np.array([[1.0, 1.0], [1.0, 1.0 - 1e-12]]),
        1e-9 * np.array([[1.0, 2.0], [2.0, 1.0]]),
        1e-9 * np.eye(2),
        np.diag([1.0, -1e-3]),
        np.diag([1.0, -1e-10]),
        np.diag([1.0, -1e-6]),
        -np.eye(2),
        np.array([[0.0, 1.0], [1.0, 0.0]]),
        np.zeros((2, 3)),
        *(a @ a.T for a in (np.random.default_rng(k).normal(size=(5, 3)) for k in range(4))),
        *(a @ a.T - 0.1 * np.eye(5) for a in (np.random.default_rng(k).normal(size=(5, 3)) for k in range(4))),
    ],
)
def test_matrices_are_refused_exactly_if_they_are_no_inner_products(matrix: np.ndarray) -> None:
    wanted = are_inner_products(matrix)
    assert wanted is not None
    try:
        require_inner_products(matrix)
    except ValueError:
        assert not wanted
    else:
        assert wanted


def parts() -> dict[str, object]:
    return {
        "samples": np.array([[1.0], [2.0], [3.0]]),
        "starts": np.array([0, 2, 3]),
        "labels": np.array([1.0, -1.0]),
        "costs": np.array([1.0, 2.0]),
        "violation": np.array([0.1, 0.2]),
        "weights": np.array([0.25, 0.75, 1.0]),
    }


CHANGES: list[dict[str, object]] = [
    {},
    {"weights": None},
    {"samples": np.array([[1.0], [INF], [3.0]])},
    {"samples": np.array([1.0, 2.0, 3.0])},
    {"samples": np.zeros((3, 0))},
    {"samples": np.ones((4, 1))},
    {"starts": np.array([0, 3])},
    {"starts": np.array([1, 2, 3])},
    {"starts": np.array([0, 3, 3])},
    {"starts": np.array([0, 2, 1, 3])},
    {"labels": np.array([1.0, 1.0])},
    {"labels": np.array([1.0, 0.0])},
    {"labels": np.array([-1.0, 1.0])},
    {"labels": np.array([-1.0, 1.0, 1.0])},
    {"costs": np.array([0.0, 1.0])},
    {"costs": np.array([INF, 1.0])},
    {"costs": np.array([1e-300, 1e300])},
    {"costs": np.array([1.0])},
    {"violation": np.array([0.0, 0.5])},
    {"violation": np.array([1.0, 0.5])},
    {"violation": np.array([math.nan, 0.5])},
    {"weights": np.array([0.0, 1.0, 1.0])},
    {"weights": np.array([0.5, 0.5, 0.9])},
    {"weights": np.array([0.5, 0.5 + 1e-10, 1.0])},
    {"weights": np.array([0.5, 0.5 + 1e-8, 1.0])},
    {"weights": np.array([0.5, 0.5])},
    {"mean_radius": np.array([0.0, 0.1])},
    {"mean_radius": np.array([-1e-9, 0.1])},
    {"covariance_radius": np.array([INF, 0.1])},
    {"covariance_radius": np.array([0.0, math.nan])},
    {"covariance_radius": np.array([0.0])},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: " ".join(change))
def test_problems_are_refused_exactly_if_an_entry_breaks_the_conventions(change: dict[str, object]) -> None:
    given = {**parts(), **change}
    try:
        ChanceSVMProblem(**given, kernel=Kernel("linear"))
    except ValueError:
        assert not is_svm_problem(given)
    else:
        assert is_svm_problem(given)
