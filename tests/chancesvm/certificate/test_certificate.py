from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.chance_svm import KERNELS, random_problem

from surefoot.chancesvm.certificate.certificate import certify_chance_svm, certify_chance_svms
from surefoot.chancesvm.problem.feasible_mix import feasible_mix
from surefoot.chancesvm.problem.kernels import Kernel
from surefoot.chancesvm.problem.problem import EllipsoidMix, KernelPlane
from surefoot.chancesvm.solvers.ellipsoid_cuts import EllipsoidCuts
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import CertificateError

RBF = Kernel("rbf", gamma=0.5)


def solved(problem):
    outcome = EllipsoidCuts().solve(problem, SolveOptions(tolerance=1e-8))
    return outcome.primal, outcome.dual


@pytest.fixture(scope="module")
def case():
    problem = random_problem(11, RBF)
    return (problem, *solved(problem))


def test_optimum_is_verified(case):
    certificate = certify_chance_svm(*case, 1e-7)
    assert certificate.verified
    assert 0 <= certificate.relative_gap <= 1e-7
    assert certificate.problem_digest == case[0].digest()


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
    with pytest.raises(CertificateError, match="coefficients of shape"):
        certify_chance_svm(problem, KernelPlane(plane.coefficients[:-1], 0.0), mix, 1e-7)
    with pytest.raises(CertificateError, match="intercept is nan"):
        certify_chance_svm(problem, KernelPlane(plane.coefficients, np.nan), mix, 1e-7)
    broken = mix.coefficients.copy()
    broken[2] = np.nan
    with pytest.raises(CertificateError, match="coefficient 2 of the mix is nan"):
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
