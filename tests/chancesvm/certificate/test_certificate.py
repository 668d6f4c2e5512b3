from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.chance_svm import KERNELS, exact_objective, mended_problem, random_problem

from surefoot.chancesvm.certificate.certificate import certify_chance_svm, certify_chance_svms
from surefoot.chancesvm.certificate.inner_products import InnerProducts
from surefoot.chancesvm.problem.feasible_mix import feasible_mix
from surefoot.chancesvm.problem.kernel_matrix import mended
from surefoot.chancesvm.problem.kernels import Kernel, centred
from surefoot.chancesvm.problem.landmark_kernel import on_landmarks
from surefoot.chancesvm.problem.problem import EllipsoidMix, KernelPlane
from surefoot.chancesvm.solvers.ellipsoid_cuts import EllipsoidCuts
from surefoot.core.enclosure import between, computing_in, enclose
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import CertificateError

RBF = Kernel("rbf", gamma=0.5)


def solved(problem):
    outcome = EllipsoidCuts().solve(problem, SolveOptions(tolerance=1e-8))
    return outcome.primal, outcome.dual


def hollowed(record, **parts):
    """The record with other parts, past its own checks."""
    found = object.__new__(type(record))
    for field in dataclasses.fields(record):
        object.__setattr__(found, field.name, parts.get(field.name, getattr(record, field.name)))
    return found


@pytest.fixture(scope="module")
def case():
    problem = random_problem(11, RBF)
    return (problem, *solved(problem))


def test_optimum_is_verified(case):
    certificate = certify_chance_svm(*case, 1e-7)
    assert certificate.verified
    assert 0 <= certificate.relative_gap <= 1e-7


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(["noise", "scale", "sign", "one", "wild"]), radii=st.booleans())
def test_no_coefficients_prove_more_than_the_optimum(seed, kind, radii):
    rng = np.random.default_rng(seed)
    problem = random_problem(seed % 5, KERNELS[seed % 4], radii=radii)
    plane, mix = solved(problem)
    optimum = problem.objective(plane)
    given = {
        "noise": mix.coefficients * rng.uniform(0.5, 1.5, problem.n_samples),
        "scale": 100.0 * mix.coefficients,
        "sign": -mix.coefficients,
        "one": np.where(rng.uniform(size=problem.n_samples) < 0.3, 0.0, mix.coefficients),
        "wild": rng.normal(size=problem.n_samples) * 10.0 ** rng.integers(-3, 4),
    }[kind]
    assert certify_chance_svm(problem, plane, EllipsoidMix(given), 1e-7).lower_bound <= optimum * (1 + 1e-9)


def test_repaired_mixes_are_feasible():
    problem = random_problem(2, RBF)
    for seed in range(20):
        mix = feasible_mix(problem, np.random.default_rng(seed).normal(size=problem.n_samples) * 20)
        c, weights = mix.coefficients, mix.weights
        assert abs(c.sum()) < 1e-10
        alpha = problem.labels * problem.sums(c)
        np.testing.assert_allclose(alpha, weights, atol=1e-10)
        assert np.all((alpha >= -1e-12) & (alpha <= problem.costs * (1 + 1e-12)))
        assert np.all(problem.sums(c**2 / problem.weights) <= alpha**2 / problem.violation * (1 + 1e-9) + 1e-12)


def test_a_worse_plane_is_not_verified(case):
    problem, plane, mix = case
    for worse in (
        KernelPlane(0.99 * plane.coefficients, plane.intercept),
        KernelPlane(plane.coefficients, plane.intercept + 0.1),
        KernelPlane(plane.coefficients[::-1].copy(), plane.intercept),
    ):
        certificate = certify_chance_svm(problem, worse, mix, 1e-7)
        assert not certificate.verified
        assert certificate.upper_bound == pytest.approx(problem.objective(worse))
        assert "above the tolerance" in certificate.claim


def test_without_a_mix_only_0_is_proven(case):
    certificate = certify_chance_svm(case[0], case[1], None, 1e-7)
    assert certificate.lower_bound == 0.0
    assert not certificate.verified


def test_another_problems_mix_proves_less(case):
    problem, plane, mix = case
    other = dataclasses.replace(problem, violation=problem.violation * 2)
    certificate = certify_chance_svm(other, plane, mix, 1e-7)
    assert not certificate.verified
    assert certificate.lower_bound <= other.objective(solved(other)[0]) * (1 + 1e-9)


def test_arrays_that_do_not_belong_together_are_refused(case):
    problem, plane, mix = case
    with pytest.raises(CertificateError, match="plane needs a finite coefficient for each sample, 28 in all"):
        certify_chance_svm(problem, KernelPlane(plane.coefficients[:-1], 0.0), mix, 1e-7)
    with pytest.raises(CertificateError, match="intercept is nan"):
        certify_chance_svm(problem, KernelPlane(plane.coefficients, np.nan), mix, 1e-7)
    broken = mix.coefficients.copy()
    broken[2] = np.nan
    with pytest.raises(CertificateError, match="mix needs a finite coefficient for each sample"):
        certify_chance_svm(problem, plane, EllipsoidMix(broken), 1e-7)
    tampered = random_problem(11, RBF)
    tampered.weights[0] = 3.0
    with pytest.raises(CertificateError, match="breaks its own conventions"):
        certify_chance_svm(tampered, plane, mix, 1e-7)


def test_answers_are_judged_together_as_they_are_alone(case):
    problem = case[0]
    dearer = dataclasses.replace(problem, costs=3 * problem.costs)
    answers = [case, (dearer, *solved(dearer))]
    together = certify_chance_svms(answers, 1e-7)
    for certificate, alone in zip(together, [certify_chance_svm(*answer, 1e-7) for answer in answers], strict=True):
        assert certificate.verified
        assert certificate.problem_digest == alone.problem_digest
        assert certificate.upper_bound == pytest.approx(alone.upper_bound, rel=1e-12)
        assert certificate.lower_bound == pytest.approx(alone.lower_bound, rel=1e-12)
    moved = (dataclasses.replace(problem, samples=problem.samples + 1.0), *case[1:])
    with pytest.raises(CertificateError, match="the same samples and kernel"):
        certify_chance_svms([case, moved], 1e-7)


@pytest.mark.parametrize("worse", [1.0, 1.0 + 1e-9, 1.01, 2.0])
def test_the_tolerance_decides_and_nothing_is_added_to_it(case, worse):
    problem, plane, mix = case
    answer = (problem, KernelPlane(worse * plane.coefficients, worse * plane.intercept), mix)
    gap = certify_chance_svm(*answer, 1.0).relative_gap
    assert 0 < gap < 1
    assert certify_chance_svm(*answer, 1.01 * gap).verified
    assert not certify_chance_svm(*answer, 0.99 * gap).verified


@pytest.mark.parametrize("offset", [1e3, 1e5, 1e7])
def test_columns_with_an_offset_excuse_nothing(offset):
    """A plane that is far from optimal, and a kernel whose entries are as large as the offset makes them."""
    problem = random_problem(3, Kernel("linear"), cost=1e6)
    problem = dataclasses.replace(problem, samples=problem.samples + np.array([0.0, offset, 0.0]))
    nothing = EllipsoidMix(np.zeros(problem.n_samples))
    for posed in (problem, dataclasses.replace(problem, kernel=centred(problem.kernel, problem.samples))):
        plane, mix = solved(posed)
        worse = KernelPlane(1.5 * plane.coefficients, 1.5 * plane.intercept)
        for answer in ((posed, worse, mix), (posed, plane, nothing), (posed, worse, nothing)):
            assert not certify_chance_svm(*answer, 1e-6).verified
    assert certify_chance_svm(posed, plane, mix, 1e-6).verified


SCALES = st.sampled_from([1e-9, 1e-3, 1.0, 1e3, 1e9])


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    number=st.integers(0, 5),
    unit=SCALES,
    offset=st.sampled_from([0.0, 3.0, 1e5]),
    radii=st.booleans(),
)
def test_bounds_contain_those_of_exact_arithmetic(seed, number, unit, offset, radii):
    """Plane and mix are anything at all; the reference has the definitions of kernel, objective and dual in 400 bits."""
    pytest.importorskip("flint")
    rng = np.random.default_rng(seed)
    kernel = (*KERNELS[:4], Kernel("precomputed"), Kernel("poly", gamma=0.3, degree=4, coef0=0.5))[number]
    problem = random_problem(seed % 7, kernel, n_batches=4, most=3, radii=radii, cost=10.0 ** rng.integers(-3, 6))
    if kernel.name != "precomputed":
        problem = dataclasses.replace(problem, samples=unit * problem.samples + offset)
        if seed % 2:
            problem = dataclasses.replace(problem, kernel=centred(kernel, problem.samples))
    else:
        # Far from singular, so that nothing need be added to its diagonal.
        problem = dataclasses.replace(problem, samples=problem.samples + np.eye(problem.n_samples))
    plane = KernelPlane(rng.normal(size=problem.n_samples) * 10.0 ** rng.integers(-4, 4), float(rng.normal()))
    mix = EllipsoidMix(rng.normal(size=problem.n_samples) + 2 * np.repeat(problem.labels, problem.sizes))
    certificate = certify_chance_svm(problem, plane, mix, 1e-7)
    exact = exact_objective(problem, plane)
    assert exact <= certificate.upper_bound
    if np.isfinite(certificate.upper_bound) and offset == 0:
        assert certificate.upper_bound <= exact * (1 + 1e-9)
    assert certificate.lower_bound <= exact


def test_bounds_are_sharper_in_ball_arithmetic_and_the_verdict_is_the_same():
    pytest.importorskip("flint")
    from surefoot.core.flint_enclosure import FlintEnclosure

    for number, kernel in enumerate((*KERNELS, Kernel("precomputed"), Kernel("rbf", gamma=1e-7))):
        problem = mended_problem(number, kernel, n_batches=4, most=4, radii=bool(number % 2))
        if kernel.name in ("poly", "rbf"):
            problem = dataclasses.replace(problem, kernel=centred(kernel, problem.samples))
        plane, mix = solved(problem)
        doubles = certify_chance_svm(problem, plane, mix, 1e-6)
        with computing_in(FlintEnclosure):
            balls = certify_chance_svm(problem, plane, mix, 1e-6)
        assert doubles.verified and balls.verified
        assert doubles.lower_bound <= balls.lower_bound <= balls.upper_bound <= doubles.upper_bound
        assert (doubles.problem_digest, doubles.model_digest) == (balls.problem_digest, balls.model_digest)


@pytest.mark.parametrize("seed", range(4))
def test_large_coefficients_that_cancel_cost_doubles_no_more_than_balls(seed):
    """Rows of a kernel matrix with offsets times coefficients up to C = 5e6 nearly cancel: rounding alone was a gap of 6e-6."""
    pytest.importorskip("flint")
    from surefoot.core.flint_enclosure import FlintEnclosure

    plain = random_problem(seed, Kernel("linear"), n_batches=6, most=5, cost=5e6)
    gram = (plain.samples + 40.0) @ (plain.samples + 40.0).T
    problem = mended(dataclasses.replace(plain, samples=gram, kernel=Kernel("precomputed")))
    plane, mix = solved(problem)
    doubles = certify_chance_svm(problem, plane, mix, 1e-6)
    with computing_in(FlintEnclosure):
        balls = certify_chance_svm(problem, plane, mix, 1e-6)
    assert doubles.upper_bound - balls.upper_bound <= 1e-9 * balls.upper_bound
    assert balls.lower_bound - doubles.lower_bound <= 1e-9 * balls.upper_bound


def test_no_member_of_a_mix_is_longer_than_its_matrix_says():
    """Coefficients known to 0.1 or 1: at the corners of their enclosure ||g||^2 is at most what is returned, and near it."""
    rng = np.random.default_rng(3)
    root = rng.normal(size=(5, 5))
    products = InnerProducts(Kernel("precomputed"), root @ root.T + np.eye(5))
    middle = rng.normal(size=(5, 1))
    for radius in (0.0, 0.1, 1.0):
        mixes = enclose(middle) + between(np.full((5, 1), -radius), np.full((5, 1), radius))
        values, squares, longest = products.evaluated(middle, mixes, np.arange(5))
        corners = middle + radius * np.array(list(itertools.product((-1.0, 1.0), repeat=5))).T
        largest = ((products.matrix @ corners) * corners).sum(axis=0).max()
        assert largest * (1 - 1e-12) <= longest.high[0] <= largest * (1 + 1e-12 + 12 * radius)
        assert values.mid[:, :1] == pytest.approx(products.matrix @ middle)
        assert squares.mid == pytest.approx((middle * (products.matrix @ middle)).sum(axis=0))


def test_landmarks_are_judged_among_their_own_combinations():
    problem = on_landmarks(random_problem(4, RBF, most=9), 10)
    plane, mix = solved(problem)
    moved = problem.kernel.on_landmarks(problem, plane)
    certificate = certify_chance_svm(problem, moved, mix, 1e-6)
    assert certificate.verified
    assert "combines these 10 landmarks by the rbf kernel of gamma = 0.5" in certificate.claim
    assert f"more of the {problem.n_samples} samples" in certificate.claim
    with pytest.raises(CertificateError, match="a plane uses samples that are no landmarks"):
        certify_chance_svm(problem, plane, mix, 1e-6)
    # A landmark that is named twice, or in another order, is still one.
    twice = np.concatenate((problem.kernel.places[::-1], problem.kernel.places[:3]))
    again = certify_chance_svm(dataclasses.replace(problem, kernel=hollowed(problem.kernel, places=twice)), moved, mix, 1e-6)
    assert (again.upper_bound, again.lower_bound) == (certificate.upper_bound, certificate.lower_bound)
    # Landmarks that depend on each other have no least eigenvalue to divide by.
    dependent = dataclasses.replace(problem, kernel=hollowed(problem.kernel, base=Kernel("linear")))
    assert certify_chance_svm(dependent, moved, mix, 1e-6).lower_bound == 0.0


def test_a_singular_matrix_is_mended_and_the_claim_says_by_how_much():
    plain = random_problem(6, Kernel("linear"))
    gram = plain.samples @ plain.samples.T
    singular = dataclasses.replace(plain, samples=gram, kernel=Kernel("precomputed"))
    problem = mended(singular)
    plane, mix = solved(problem)
    certificate = certify_chance_svm(problem, plane, mix, 1e-6)
    assert certificate.verified
    added = float(certificate.claim.split("given kernel, ")[1].split()[0])
    assert 0 < added == problem.kernel.added < 1e-10
    assert np.linalg.eigvalsh(gram + added * np.eye(len(gram)))[0] > 0
    with pytest.raises(CertificateError, match="negative eigenvalues: too little is added"):
        certify_chance_svm(singular, plane, mix, 1e-6)
    regular = mended(dataclasses.replace(singular, samples=gram + np.eye(len(gram))))
    assert regular.kernel.added == 0
    assert "added" not in certify_chance_svm(regular, plane, mix, 1e-6).claim
    for broken in (gram - 0.1 * np.eye(len(gram)), gram + np.triu(np.ones_like(gram), 1)):
        with pytest.raises(CertificateError, match=r"symmetric: it holds no inner products|negative eigenvalues"):
            certify_chance_svm(hollowed(problem, samples=broken), plane, mix, 1e-6)


def test_what_is_added_to_the_diagonal_counts_in_both_bounds():
    """A rank one matrix with 0.5 added, worked out by the kernel that has it in its entries."""
    plain = random_problem(6, Kernel("linear"))
    first = plain.samples[:, :1]
    inside = dataclasses.replace(plain, samples=first @ first.T + 0.5 * np.eye(len(first)), kernel=Kernel("precomputed"))
    added = dataclasses.replace(inside, samples=first @ first.T, kernel=Kernel("precomputed", added=0.5))
    answer = solved(inside)
    one, other = (certify_chance_svm(problem, *answer, 1e-6) for problem in (inside, added))
    assert one.verified and other.verified
    assert other.upper_bound == pytest.approx(one.upper_bound, rel=1e-12)
    assert other.lower_bound == pytest.approx(one.lower_bound, rel=1e-12)
    assert added.objective(answer[0]) == pytest.approx(inside.objective(answer[0]), rel=1e-12)
    np.testing.assert_allclose(added.kernel_matrix(), inside.samples, rtol=1e-15)


@pytest.mark.parametrize(
    "parts",
    [
        {"labels": np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -2.0])},
        {"labels": np.ones(8)},
        {"labels": np.ones(7)},
        {"costs": np.array([1.0, 1, 1, 1, 1, 1, 1, 0.0])},
        {"costs": np.array([1.0, 1, 1, 1, 1, 1, 1, np.inf])},
        {"violation": np.full(8, 1.0)},
        {"violation": np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.0])},
        {"mean_radius": np.array([0.0, 0, 0, 0, 0, 0, 0, -1e-9])},
        {"covariance_radius": np.array([0.0, 0, 0, 0, 0, 0, 0, np.nan])},
        {"starts": np.array([0, 5, 5, 9])},
        {"starts": np.array([0, 1])},
        {"weights": np.full(3, 0.5)},
        {"samples": np.full((30, 3), np.nan)},
    ],
)
def test_problems_that_break_their_conventions_are_refused(case, parts):
    problem, plane, mix = case
    with pytest.raises(CertificateError, match="breaks its own conventions"):
        certify_chance_svm(hollowed(problem, **parts), plane, mix, 1e-6)


def test_kernels_that_are_none_are_refused(case):
    problem, plane, mix = case
    for change in ({"gamma": -1.0}, {"name": "sigmoid"}, {"centre": (0.0, 1.0)}, {"centre": (0.0, 1.0, np.nan)}):
        kernel = hollowed(RBF, **change)
        with pytest.raises(CertificateError, match="kernel"):
            certify_chance_svm(dataclasses.replace(problem, kernel=kernel), plane, mix, 1e-6)


def test_fingerprints_tell_problems_and_planes_apart(case):
    problem, plane, mix = case
    first = certify_chance_svm(*case, 1e-6)
    others = [
        dataclasses.replace(problem, **{name: getattr(problem, name) * 0.5}) for name in ("samples", "costs", "violation")
    ]
    others += [
        dataclasses.replace(problem, mean_radius=problem.costs),
        dataclasses.replace(problem, covariance_radius=problem.costs),
        dataclasses.replace(problem, labels=-problem.labels),
        dataclasses.replace(problem, kernel=Kernel("rbf", gamma=0.51)),
        dataclasses.replace(problem, kernel=Kernel("rbf", gamma=0.5, centre=(0.0, 0.0, 0.0))),
        dataclasses.replace(problem, kernel=Kernel("poly", gamma=0.5)),
        on_landmarks(problem, 7),
        on_landmarks(problem, 8),
    ]
    marks = [certify_chance_svm(other, KernelPlane(plane.coefficients * 0, 0.0), mix, 1e-6) for other in others]
    assert len({first.problem_digest, *(mark.problem_digest for mark in marks)}) == len(others) + 1
    moved = certify_chance_svm(problem, KernelPlane(plane.coefficients, plane.intercept + 1e-9), mix, 1e-6)
    assert moved.problem_digest == first.problem_digest
    assert len({first.model_digest, moved.model_digest, marks[0].model_digest}) == 3


def test_standard_units_are_named_by_the_claim_and_the_fingerprint(case):
    problem, plane, mix = case
    raw = certify_chance_svm(problem, plane, mix, 1e-6)
    standard = certify_chance_svm(dataclasses.replace(problem, standardized=True), plane, mix, 1e-6)
    assert "on these batches, whose columns are in standard units; this one" in standard.claim
    assert "standard units" not in raw.claim
    assert raw.problem_digest != standard.problem_digest
    assert (raw.upper_bound, raw.lower_bound) == (standard.upper_bound, standard.lower_bound)
