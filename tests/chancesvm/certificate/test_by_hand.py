"""Bounds worked out by hand, and products of samples against their definitions: what a tired hand would get wrong."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from reference.chance_svm import KERNELS, mended_problem, random_problem

from surefoot.chancesvm.certificate import certificate as judged
from surefoot.chancesvm.certificate.certificate import certify_chance_svm
from surefoot.chancesvm.certificate.inner_products import InnerProducts
from surefoot.chancesvm.problem.kernels import Kernel, centred
from surefoot.chancesvm.problem.landmark_kernel import LandmarkKernel, on_landmarks
from surefoot.chancesvm.problem.problem import ChanceSVMProblem, EllipsoidMix, KernelPlane
from surefoot.chancesvm.solvers.ellipsoid_cuts import EllipsoidCuts
from surefoot.core.enclosure import computing_in, enclose
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import CertificateError


def line(*places: float, labels: tuple[float, ...], cost: float = 10.0, **parts: object) -> ChanceSVMProblem:
    """Single samples on a line, one input each."""
    count = len(places)
    given = {"kernel": Kernel("linear"), **parts}
    return ChanceSVMProblem(
        np.array(places)[:, None], np.arange(count + 1), np.array(labels), np.full(count, cost), np.full(count, 0.5), **given
    )


def lower(problem: ChanceSVMProblem, *mix: float) -> float:
    nothing = KernelPlane(np.zeros(problem.n_samples), 0.0)
    return certify_chance_svm(problem, nothing, EllipsoidMix(np.array(mix)), 1e-6).lower_bound


def test_a_balanced_mix_within_the_costs_is_taken_as_it_is() -> None:
    # alpha = 0.2 each, g = 0.2 + 0.2: 0.4 - 0.4^2 / 2.
    assert lower(line(-1.0, 1.0, labels=(-1.0, 1.0)), -0.2, 0.2) == pytest.approx(0.32, rel=1e-12)


def test_weights_above_the_costs_are_cut() -> None:
    # The optimum itself: w = 0.4 with two margins of 0.6 missed at 0.2 each.
    assert lower(line(-1.0, 1.0, labels=(-1.0, 1.0), cost=0.2), -1.0, 1.0) == pytest.approx(0.32, rel=1e-12)


@pytest.mark.parametrize("mix", [(-0.2, 0.5), (-0.7, 0.2)])
def test_the_heavier_class_is_scaled_down_to_the_other(mix: tuple[float, float]) -> None:
    assert lower(line(-1.0, 1.0, labels=(-1.0, 1.0)), *mix) == pytest.approx(0.32, rel=1e-12)


def test_a_class_without_weight_proves_nothing() -> None:
    assert lower(line(-1.0, 1.0, labels=(-1.0, 1.0)), 0.3, 0.3) == 0.0
    # A batch whose sum has the wrong sign is left out, the others stay.
    assert lower(line(-1.0, 1.0, 5.0, labels=(-1.0, 1.0, 1.0)), -0.2, 0.2, -0.1) == pytest.approx(0.32, rel=1e-12)


def test_deviations_are_shortened_to_their_ellipsoid() -> None:
    """Samples -2 and 0 of one input, 1 of the other: e = (-d, d), l^2 = 2 d^2 / 0.5 <= tau^2 alpha^2 = alpha^2 for eps 1/2."""
    problem = ChanceSVMProblem(
        np.array([[-2.0], [0.0], [1.0]]), np.array([0, 2, 3]), np.array([-1.0, 1.0]), np.full(2, 10.0), np.full(2, 0.5),
        Kernel("linear"),
    )  # fmt: skip
    # alpha = 0.2: d is cut from 0.5 to 0.1, so that c = (0, -0.2, 0.2) and g = 0.2.
    assert lower(problem, 0.4, -0.6, 0.2) == pytest.approx(0.4 - 0.02, rel=1e-12)


def test_radii_shorten_the_mix_by_what_deviations_leave() -> None:
    problem = ChanceSVMProblem(
        np.array([[-2.0], [0.0], [1.0]]), np.array([0, 2, 3]), np.array([-1.0, 1.0]), np.full(2, 10.0), np.full(2, 0.5),
        Kernel("linear"), mean_radius=np.array([0.1, 0.2]), covariance_radius=np.array([0.25, 0.0]),
    )  # fmt: skip
    # c = (-0.04, -0.16, 0.2): d = 0.06, l = 0.12, what is left of 0.2 is 0.16. g = 0.08 + 0.2, R = 0.5 * 0.16 + 0.02 + 0.04.
    assert lower(problem, -0.04, -0.16, 0.2) == pytest.approx(0.4 - 0.5 * (0.28 - 0.14) ** 2, rel=1e-12)


def test_given_weights_are_divided_by_their_sum() -> None:
    problem = ChanceSVMProblem(
        np.array([[0.0], [10.0], [-1.0]]), np.array([0, 2, 3]), np.array([-1.0, 1.0]), np.full(2, 1.0), np.full(2, 0.5),
        Kernel("linear"), weights=np.array([0.5 + 8e-10, 0.5, 1.0]),
    )  # fmt: skip
    # w = 1 (10 times a tenth): the first input has the mean 10 p and the deviation 10 sqrt(p (1 - p)), tau is 1.
    p = 0.5 / (1.0 + 8e-10)
    found = certify_chance_svm(problem, KernelPlane(np.array([0.0, 0.1, 0.0]), 0.25), None, 1e-6).upper_bound
    wanted = 0.5 + (1.0 + 10 * p + 0.25 + 10 * np.sqrt(p * (1 - p))) + (1.0 + 1.0 - 0.25)
    assert found == pytest.approx(wanted, rel=1e-13)


def test_landmarks_prove_no_more_than_the_projection_onto_them() -> None:
    """Samples (0, 0), (2, 2), (2, 0), planes along (2, 2) alone: half of the length of (2, 0) is lost."""
    samples, places = np.array([[0.0, 0.0], [2.0, 2.0], [2.0, 0.0]]), np.array([1])
    kernel = LandmarkKernel(base=Kernel("linear"), landmarks=samples[places], places=places)
    problem = ChanceSVMProblem(samples, np.arange(4), np.array([-1.0, 1.0, 1.0]), np.full(3, 9.0), np.full(3, 0.5), kernel)
    # P g = 0.3 * (1, 1): 0.6 - 0.18 / 2.
    assert lower(problem, -0.3, 0.0, 0.3) == pytest.approx(0.6 - 0.09, rel=1e-12)
    plane = KernelPlane(np.array([0.0, 0.5, 0.0]), -1.0)
    found = certify_chance_svm(problem, plane, EllipsoidMix(np.array([-1.0, 0.0, 1.0])), 1e-6)
    assert found.verified and found.upper_bound == pytest.approx(1.0)


def test_a_system_of_landmarks_that_is_solved_badly_costs_bound_and_not_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = on_landmarks(random_problem(4, Kernel("rbf", gamma=0.5), most=9), 6)
    outcome = EllipsoidCuts().solve(problem, SolveOptions(tolerance=1e-8))
    optimum, plane = outcome.upper_bound, problem.kernel.on_landmarks(problem, outcome.primal)
    good = certify_chance_svm(problem, plane, outcome.dual, 1e-6).lower_bound
    assert good == pytest.approx(optimum, rel=1e-6)
    solve = np.linalg.solve
    for worse in (0.0, 0.9, 1.1):
        monkeypatch.setattr(judged.np.linalg, "solve", lambda a, b, by=worse: by * solve(a, b))
        assert certify_chance_svm(problem, plane, outcome.dual, 1e-6).lower_bound < good


@pytest.mark.parametrize("apart", [0.0, 1e-15, 2e-15, 3e-15])
def test_landmarks_that_rounding_cannot_tell_apart_prove_nothing(apart: float) -> None:
    """Their least eigenvalue is ``apart``, above 0, and still below what Cholesky's method loses."""
    gram = np.array([[1.0, 1.0 - apart, -1.0], [1.0 - apart, 1.0, -1.0], [-1.0, -1.0, 1.0]])
    plain = dataclasses.replace(line(1.0, 1.0, -1.0, labels=(1.0, 1.0, -1.0)), samples=gram, kernel=Kernel("precomputed"))
    near, problem = object.__new__(LandmarkKernel), object.__new__(ChanceSVMProblem)
    for name, value in {"name": "landmarks", "base": Kernel("precomputed"), "places": np.array([0, 1])}.items():
        object.__setattr__(near, name, value)
    for field in dataclasses.fields(plain):
        object.__setattr__(problem, field.name, near if field.name == "kernel" else getattr(plain, field.name))
    assert lower(problem, 0.1, 0.1, -0.2) == 0.0


def products(kernel: Kernel, x: np.ndarray, z: np.ndarray) -> np.ndarray:
    if kernel.name == "rbf":
        return np.exp(-kernel.gamma * np.square(x[:, None] - z[None]).sum(axis=2))
    return x @ z.T if kernel.name == "linear" else (kernel.gamma * x @ z.T + kernel.coef0) ** kernel.degree


@pytest.mark.parametrize(
    "kernel", [*KERNELS[:4], Kernel("poly", gamma=0.3, degree=4, coef0=0.5)], ids=lambda one: one.spelled()
)
@pytest.mark.parametrize("count", [7, 60])
@pytest.mark.parametrize("seen", [False, True])
def test_products_are_those_of_the_definition(kernel: Kernel, count: int, seen: bool) -> None:
    """60 samples in two columns have more products than monomials, and 7 fewer; coefficients need not add up to 0."""
    rng = np.random.default_rng(count)
    samples, centre = rng.normal(size=(count, 2)), np.array([[0.25, -0.5]])
    gram = products(kernel, samples, samples)
    if seen:
        kernel = dataclasses.replace(kernel, centre=tuple(centre[0]))
        beside = products(kernel, samples, centre)
        gram = gram - beside - beside.T + products(kernel, centre, centre)
    own = InnerProducts(kernel, samples)
    np.testing.assert_allclose(own.block(np.arange(count), np.arange(count)).mid, gram, rtol=1e-9, atol=1e-11)
    c = rng.normal(size=(count, 2)) + 1.0
    values, squares, mixed = own.evaluated(c, enclose(2.0 * c), np.arange(count))
    np.testing.assert_allclose(values.mid[:, :2], gram @ c, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(squares.mid, np.einsum("si,st,ti->i", c, gram, c), rtol=1e-9)
    np.testing.assert_allclose(mixed.mid, 4.0 * squares.mid, rtol=1e-9)


@pytest.mark.parametrize("seen", [False, True])
def test_near_samples_among_far_ones_keep_their_distance(seen: bool) -> None:
    samples = np.array([[0.0, 3.0], [0.5, 3.0], [1e6, 3.0]])
    block = InnerProducts(Kernel("rbf", gamma=2.0, centre=(0.0, 3.0) if seen else None), samples).block(
        np.arange(3), np.arange(3)
    )
    near, far = (np.exp(-0.5), 0.0) if not seen else (0.0, 0.0)
    assert block.mid[0, 1] == pytest.approx(near, rel=1e-14)
    assert block.mid[0, 2] == pytest.approx(far, abs=1e-14)
    assert block.rad.max() < 1e-14


def test_a_matrix_that_is_nearly_symmetric_counts_as_the_mean_of_both_halves() -> None:
    matrix = np.array([[1.0, 0.5], [0.5 + 4e-9, 1.0]])
    block = InnerProducts(Kernel("precomputed"), matrix).block(np.arange(2), np.arange(2)).mid
    np.testing.assert_allclose(block, [[1.0, 0.5 + 2e-9], [0.5 + 2e-9, 1.0]], rtol=1e-14)


def test_weights_and_batches_are_part_of_the_fingerprint() -> None:
    problem = random_problem(11, Kernel("rbf", gamma=0.5))
    nothing = KernelPlane(np.zeros(problem.n_samples), 0.0)
    others = [problem, dataclasses.replace(problem, weights=None)]
    moved = others[1].starts.copy()
    moved[2] += 1
    others.append(dataclasses.replace(others[1], starts=moved, weights=None))
    assert len({certify_chance_svm(other, nothing, None, 1e-6).problem_digest for other in others}) == 3


@pytest.mark.parametrize("seed", range(30))
def test_balls_and_doubles_agree(seed: int) -> None:
    pytest.importorskip("flint")
    from surefoot.core.flint_enclosure import FlintEnclosure

    kernels = (*KERNELS, Kernel("precomputed"), Kernel("rbf", gamma=1e-6), Kernel("poly", gamma=0.2, degree=4, coef0=2.0))
    problem = mended_problem(
        seed, kernels[seed % 8], n_batches=3 + seed % 3, most=4, radii=seed % 3 == 0, cost=10.0 ** (seed % 5)
    )
    if seed % 2 and problem.kernel.name in ("linear", "poly", "rbf"):
        shifted = problem.samples + (1e4 if problem.kernel.name == "linear" else 3.0)
        problem = dataclasses.replace(problem, samples=shifted, kernel=centred(problem.kernel, shifted))
    if seed % 5 == 4 and problem.kernel.added == 0:
        problem = on_landmarks(problem, 4)
    outcome = EllipsoidCuts().solve(problem, SolveOptions(tolerance=1e-7))
    plane = outcome.primal
    if isinstance(problem.kernel, LandmarkKernel):
        plane = problem.kernel.on_landmarks(problem, plane)
    for judged_plane in (plane, KernelPlane(1.01 * plane.coefficients, plane.intercept)):
        doubles = certify_chance_svm(problem, judged_plane, outcome.dual, 1e-6)
        with computing_in(FlintEnclosure):
            balls = certify_chance_svm(problem, judged_plane, outcome.dual, 1e-6)
        assert doubles.verified == balls.verified
        assert doubles.lower_bound <= balls.lower_bound <= balls.upper_bound <= doubles.upper_bound
        assert doubles.problem_digest == balls.problem_digest


@pytest.mark.parametrize("heavier", [1.0, -1.0])
def test_the_heavier_class_gives_way(heavier: float) -> None:
    """Points 2 and -1 with weights 0.3 and 0.2: both count 0.2, and the heavier one is the farther."""
    problem = line(2.0, -1.0, labels=(heavier, -heavier))
    assert lower(problem, heavier * 0.3, -heavier * 0.2) == pytest.approx(0.4 - 0.5 * 0.6**2, rel=1e-12)


def stand_ins(**moments: object) -> ChanceSVMProblem:
    """Samples -2 and 0 of one input, with mean -1 and variance 1, and 1 of the other."""
    return ChanceSVMProblem(
        np.array([[-2.0], [0.0], [1.0]]), np.array([0, 2, 3]), np.array([-1.0, 1.0]), np.full(2, 10.0), np.full(2, 0.5),
        Kernel("linear"), **moments,  # type: ignore[arg-type]
    )  # fmt: skip


def test_bounds_are_about_the_moments_that_were_given_and_not_about_samples() -> None:
    """Mean -1.5 and variance 4 are given, and samples have -1 and 1."""
    problem = stand_ins(means=np.array([[-1.5], [1.0]]), covariances=np.array([[[4.0]], [[0.0]]]))
    plane = KernelPlane(np.array([0.0, 0.0, 0.5]), 0.25)
    mix = EllipsoidMix(np.array([-0.1, -0.1, 0.2]), np.array([[-0.03], [7.0]]))
    found = certify_chance_svm(problem, plane, mix, 1e-6)
    # w = 0.5: demands 1 + (-0.75 + 0.25) + sqrt(4 * 0.25) and 1 - (0.5 + 0.25).
    assert found.upper_bound == pytest.approx(0.125 + 10 * 1.5 + 10 * 0.25, rel=1e-12)
    # alpha = 0.2, T z = -0.12 of length 0.06 <= 0.2: g = -(0.2 * -1.5 - 0.12) + 0.2, and the other input has no spread.
    assert found.lower_bound == pytest.approx(0.4 - 0.5 * 0.62**2, rel=1e-12)
    assert "on these means and covariances;" in found.claim
    plain = certify_chance_svm(stand_ins(), plane, None, 1e-6)
    assert plain.problem_digest != found.problem_digest and "on these batches" in plain.claim
    other = dataclasses.replace(problem, covariances=np.array([[[4.5]], [[0.0]]]))
    assert certify_chance_svm(other, plane, mix, 1e-6).problem_digest != found.problem_digest


@pytest.mark.parametrize("centre", [0.75, -3.0])
def test_moments_are_seen_from_the_centre_as_samples_are(centre: float) -> None:
    """Coefficients that add up to 0 are the same plane from anywhere, but for the intercept."""
    given = {"means": np.array([[-1.5], [1.0]]), "covariances": np.array([[[4.0]], [[0.0]]])}
    mix = EllipsoidMix(np.array([-0.1, -0.1, 0.2]), np.array([[-0.03], [0.0]]))
    c = np.array([0.25, -0.5, 0.25])  # w = -0.25
    plain = certify_chance_svm(stand_ins(**given), KernelPlane(c, 0.5), mix, 1e-6)
    seen = dataclasses.replace(stand_ins(**given), kernel=Kernel("linear", centre=(centre,)))
    found = certify_chance_svm(seen, KernelPlane(c, 0.5 - 0.25 * centre), mix, 1e-6)
    assert found.upper_bound == pytest.approx(plain.upper_bound, rel=1e-12)
    assert found.lower_bound == pytest.approx(plain.lower_bound, rel=1e-12)
    # Those that do not are w = sum_s c_s (x_s - m).
    other = certify_chance_svm(seen, KernelPlane(np.array([0.0, 0.0, 1.0]), 0.0), None, 1e-6)
    w = 1.0 - centre
    demands = [1 + w * (-1.5 - centre) + 2 * abs(w), 1 - w * (1.0 - centre)]
    assert other.upper_bound == pytest.approx(w * w / 2 + 10 * sum(max(0.0, d) for d in demands), rel=1e-12)


def test_directions_that_are_too_long_are_shortened_and_none_at_all_leave_the_means() -> None:
    problem = stand_ins(means=np.array([[-1.5], [1.0]]), covariances=np.array([[[4.0]], [[0.0]]]))
    plane, coefficients = KernelPlane(np.zeros(3), 0.0), np.array([-0.1, -0.1, 0.2])
    # Length 0.2 = tau alpha is what there is: T z = 0.4 towards the other input.
    long = certify_chance_svm(problem, plane, EllipsoidMix(coefficients, np.array([[5.0], [0.0]])), 1e-6)
    assert long.lower_bound == pytest.approx(0.4 - 0.5 * (0.3 - 0.4 + 0.2) ** 2, rel=1e-12)
    means = certify_chance_svm(problem, plane, EllipsoidMix(coefficients), 1e-6)
    assert means.lower_bound == pytest.approx(0.4 - 0.5 * 0.5**2, rel=1e-12)


def test_widened_variances_are_part_of_the_problem_and_of_the_claim() -> None:
    given = {"means": np.array([[-1.5], [1.0]]), "covariances": np.array([[[4.0]], [[0.0]]])}
    plane = KernelPlane(np.array([0.0, 0.0, 0.5]), 0.25)
    mix = EllipsoidMix(np.array([-0.1, -0.1, 0.2]), np.array([[-0.03], [0.0]]))
    found = certify_chance_svm(stand_ins(**given, widening=0.25), plane, mix, 1e-6)
    assert found.upper_bound == pytest.approx(0.125 + 10 * (0.5 + np.sqrt(1.25)) + 10 * 0.25, rel=1e-12)
    assert found.lower_bound == pytest.approx(0.4 - 0.5 * 0.65**2, rel=1e-12)
    assert "on these means and covariances (all variances times 1 + 0.25);" in found.claim
    assert found.problem_digest != certify_chance_svm(stand_ins(**given), plane, mix, 1e-6).problem_digest


@pytest.mark.parametrize("widening", [-1e-3, np.nan, np.inf])
def test_a_widening_that_is_none_is_refused(widening: float) -> None:
    problem = stand_ins(means=np.zeros((2, 1)), covariances=np.zeros((2, 1, 1)))
    object.__setattr__(problem, "widening", widening)
    with pytest.raises(CertificateError, match="a finite mean and covariance for each input"):
        certify_chance_svm(problem, KernelPlane(np.zeros(3), 0.0), None, 1e-6)


@pytest.mark.parametrize(
    ("covariance", "widening", "sound"),
    [
        ([[1.0, 1.0], [1.0, 1.0]], 0.0, False),
        ([[1.0, 1.0], [1.0, 1.0]], 1e-13, True),
        ([[1.0, 0.5], [0.5, 1.0]], 0.0, True),
        ([[1e18, 0.5], [0.5, 1e-18]], 0.0, True),
        ([[1e18, 1.5], [1.5, 1e-18]], 1e-13, False),
        ([[1.0, 1.0 + 1e-9], [1.0 + 1e-9, 1.0]], 1e-13, False),
        ([[1.0, 1.0 + 1e-11], [1.0 + 1e-11, 1.0]], 1e-12, False),
        ([[1.0, 1.0], [1.0, 1.0]], 4e-16, False),
        ([[1.0, 0.0], [0.0, 0.0]], 0.0, True),
        ([[1.0, 1e-9], [0.0, 0.0]], 1.0, False),
        ([[1.0, 0.0], [0.0, -1e-300]], 1.0, False),
        ([[1.0, 2.5], [-0.5, 1.0]], 1e-13, True),
        ([[1.0, 2.5], [-0.4, 1.0]], 1e-13, False),
    ],
)
def test_covariances_must_be_semidefinite_for_certain(covariance: list[list[float]], widening: float, sound: bool) -> None:
    """In whatever units columns are; the symmetric part is what counts."""
    samples = np.array([[-2.0, 3.0], [0.0, 3.0], [1.0, 3.0]])
    problem = dataclasses.replace(
        stand_ins(), samples=samples, means=np.zeros((2, 2)), covariances=np.array([covariance, np.eye(2)]), widening=widening
    )
    plane = KernelPlane(np.zeros(3), 0.0)
    if sound:
        assert certify_chance_svm(problem, plane, None, 1e-6).upper_bound == pytest.approx(20.0, rel=1e-12)
    else:
        with pytest.raises(CertificateError, match="may have negative eigenvalues: variances are widened too little"):
            certify_chance_svm(problem, plane, None, 1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_bounds_of_given_moments_hold_in_exact_arithmetic(seed: int) -> None:
    """Long inputs that w avoids: doubles that cancel would have nothing left of w' T w and T z."""
    rng = np.random.default_rng(seed)
    axis = 10.0 ** rng.uniform(0, 4) * rng.normal(size=2)
    covariances = np.array([np.outer(axis, axis)] * 2)
    means, widening = rng.normal(size=(2, 2)) * 2.0, 1e-13
    across = np.array([-axis[1], axis[0]]) / np.hypot(*axis)
    samples = np.array([means[0] + across, means[0] - across, means[1]])
    problem = dataclasses.replace(stand_ins(), samples=samples, means=means, covariances=covariances, widening=widening)
    c = rng.normal(size=3)
    z = 10.0 ** rng.uniform(-3, 3) * across * rng.normal(size=(2, 1))
    found = certify_chance_svm(problem, KernelPlane(c, 0.1), EllipsoidMix(np.array([-0.1, -0.1, 0.2]), z), 1e-6)
    w = [sum(Fraction(a) * Fraction(x) for a, x in zip(c, column, strict=True)) for column in samples.T]
    wide = [[Fraction(v) * (1 + Fraction(widening) * (j == k)) for k, v in enumerate(r)] for j, r in enumerate(covariances[0])]

    def image(v: list[Fraction]) -> list[Fraction]:
        return [sum(a * b for a, b in zip(row, v, strict=True)) for row in wide]

    def root(square: Fraction) -> float:
        return math.sqrt(square)

    loss = 0.0
    for mean, label in zip(means, (-1, 1), strict=True):
        score = sum(a * Fraction(m) for a, m in zip(w, mean, strict=True)) + Fraction(0.1)
        loss += max(0.0, float(1 - label * score) + root(sum(a * b for a, b in zip(w, image(w), strict=True))))
    upper = float(sum(a * a for a in w)) / 2 + 10.0 * loss
    assert upper * (1 - 1e-12) <= found.upper_bound <= upper * (1 + 1e-9)
    point = [0.0, 0.0]
    for mean, own, label in zip(means, z, (-1, 1), strict=True):
        exact = [Fraction(v) for v in own]
        moved, length = image(exact), root(sum(a * b for a, b in zip(exact, image(exact), strict=True)))
        short = min(1.0, 0.2 / length)
        point = [p + label * (0.2 * m + short * float(t)) for p, m, t in zip(point, mean, moved, strict=True)]
    lower = max(0.0, 0.4 - 0.5 * float(np.dot(point, point)))
    assert lower * (1 - 1e-9) - 1e-12 <= found.lower_bound <= lower * (1 + 1e-12) + 1e-15


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("means", None), ("means", np.zeros((2, 2))), ("covariances", np.zeros((2, 1))), ("covariances", np.zeros((1, 1, 1))),
        ("covariances", np.array([[[np.nan]], [[0.0]]])), ("means", np.array([[np.inf], [0.0]])), ("kernel", Kernel("rbf")),
    ],
)  # fmt: skip
def test_moments_that_are_none_are_refused(name: str, value: object) -> None:
    problem = stand_ins(means=np.zeros((2, 1)), covariances=np.zeros((2, 1, 1)))
    object.__setattr__(problem, name, value)
    with pytest.raises(CertificateError, match="a finite mean and covariance for each input, and need the linear kernel"):
        certify_chance_svm(problem, KernelPlane(np.zeros(3), 0.0), None, 1e-6)


@pytest.mark.parametrize("kernel", [Kernel("linear"), Kernel("poly", gamma=0.5), Kernel("rbf", gamma=0.5)])
def test_nothing_is_added_to_the_products_of_a_formula(kernel: Kernel) -> None:
    """What is added to a diagonal is named by claims about given matrices alone; elsewhere it could hide a problem."""
    problem = random_problem(11, kernel)
    nothing = KernelPlane(np.ones(problem.n_samples), 0.0)
    forged = SimpleNamespace(**vars(problem))  # as a file has it: records without the checks of their classes
    forged.kernel = SimpleNamespace(**{**vars(problem.kernel), "added": 0.5})
    plain, other = (certify_chance_svm(each, nothing, None, 1e-6) for each in (problem, forged))
    assert (other.upper_bound, other.problem_digest) == (plain.upper_bound, plain.problem_digest)


def test_a_degree_that_would_take_for_ever_is_refused() -> None:
    problem = random_problem(11, Kernel("poly", gamma=0.5, degree=100_000))
    with pytest.raises(CertificateError, match="no kernel"):
        certify_chance_svm(problem, KernelPlane(np.ones(problem.n_samples), 0.0), None, 1e-6)


@pytest.mark.parametrize("name", ["samples", "weights", "labels", "costs", "violation", "mean_radius", "covariance_radius"])
@pytest.mark.parametrize("kind", [np.int8, np.float32])
def test_only_doubles_are_judged(name: str, kind: type) -> None:
    """Products of whole numbers wrap where those of doubles do not."""
    problem = random_problem(11, Kernel("linear"))
    forged = SimpleNamespace(**vars(problem))
    setattr(forged, name, getattr(problem, name).astype(kind))
    with pytest.raises(CertificateError, match="conventions"):
        certify_chance_svm(forged, KernelPlane(np.ones(problem.n_samples), 0.0), None, 1e-6)


def test_coefficients_are_doubles() -> None:
    problem = random_problem(11, Kernel("linear"))
    whole = np.full(problem.n_samples, -128, dtype=np.int8)
    for plane, mix in ((whole, None), (np.ones(problem.n_samples), SimpleNamespace(coefficients=whole))):
        with pytest.raises(CertificateError, match="finite coefficient"):
            certify_chance_svm(problem, SimpleNamespace(coefficients=plane, intercept=0.0), mix, 1e-6)
