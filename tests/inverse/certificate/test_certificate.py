"""Certificates of learned costs: what is true is accepted, what was tampered with is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from reference.decision_bound import bound_of
from reference.enumerated_inverse import binary_vectors, drawn, loss, smallest_loss

from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import CertificateError
from surefoot.inverse.certificate.certificate import certify_cost
from surefoot.inverse.certificate.cone_center import certify_rays
from surefoot.inverse.certificate.cost_ellipsoid import certify_ellipsoid
from surefoot.inverse.exact.constraint_generation import ConstraintGeneration
from surefoot.inverse.exact.exact_solver import ExactSolver
from surefoot.inverse.forward.programs import BinaryProgram
from surefoot.inverse.problem.approaches import APPROACHES
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.ellipsoidal_cost import EllipsoidalCost
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import InverseProblem, Regularizer


def posed(signals: Any, responses: Any, *, prior: Any = None, kappa: float = 0.05, name: str = "l2") -> InverseProblem:
    examples = tuple(BinaryProgram().example(i, s, x) for i, (s, x) in enumerate(zip(signals, responses, strict=True)))
    p = responses[0].size
    return InverseProblem(
        examples, Distance.of(name), Regularizer("l2", np.zeros(p)), kappa, PriorSet.of(prior, p), clamp=False
    )


@pytest.fixture(scope="module")
def solved() -> Any:
    _, signals, responses = drawn(5, 3, 12, seed=1, noise=0.4, signed=True)
    problem = posed(signals, responses)
    solver = ConstraintGeneration()
    outcome = solver.solve(problem, SolveOptions())
    return problem, outcome, solver.separation.losses(problem, outcome.primal)[1], signals, responses


def test_a_true_proof_is_accepted(solved: Any) -> None:
    problem, outcome, _, signals, responses = solved
    verdict = certify_cost(problem, outcome.primal, outcome.dual, 1e-6)
    wanted = smallest_loss(signals, responses, kappa=0.05)
    assert verdict.verified
    assert verdict.lower_bound <= wanted + 1e-7
    assert verdict.upper_bound >= wanted - 1e-7


def test_bounds_hold_for_any_weights_and_any_cost(solved: Any) -> None:
    problem, outcome, _, signals, responses = solved
    random = np.random.default_rng(2)
    wanted = smallest_loss(signals, responses, kappa=0.05)
    for _ in range(20):
        proof = replace(outcome.dual, weights=outcome.dual.weights * random.uniform(0, 3, outcome.dual.weights.size))
        theta = outcome.primal + 0.3 * random.normal(size=5)
        verdict = certify_cost(problem, theta, proof, 1e-6)
        assert verdict.lower_bound <= wanted + 1e-7
        value = 0.05 * theta @ theta / 2 + loss(theta, signals, responses, "l2").mean()
        assert verdict.upper_bound == pytest.approx(value, abs=1e-7)
        assert not verdict.verified


def tampered(problem: InverseProblem, proof: Any) -> dict[str, tuple[Any, str]]:
    first = np.array(proof.points[0])
    flipped = (first + 0.25, *proof.points[1:])
    refused = next(
        x for x in binary_vectors(5) if not problem.examples[int(proof.owners[0])].instance.decisions.allowed(x[None, :])[0]
    )
    return {
        "a fractional decision": (replace(proof, points=flipped), "no decision of observation"),
        "a forbidden decision": (replace(proof, points=(refused, *proof.points[1:])), "no decision of observation"),
        "an unknown observation": (replace(proof, owners=proof.owners + 50), "does not exist"),
        "missing weights": (replace(proof, weights=proof.weights[1:]), "differ in number"),
        "weights that are not finite": (replace(proof, weights=np.full(proof.weights.size, np.inf)), "not finite"),
        "prices of other rows": (replace(proof, row_prices=np.ones(3)), "not those of the prior set"),
    }


@pytest.mark.parametrize(
    "what",
    [
        "a fractional decision",
        "a forbidden decision",
        "an unknown observation",
        "missing weights",
        "weights that are not finite",
        "prices of other rows",
    ],
)
def test_a_tampered_proof_is_refused(solved: Any, what: str) -> None:
    problem, outcome, *_ = solved
    proof, message = tampered(problem, outcome.dual)[what]
    verdict = certify_cost(problem, outcome.primal, proof, 1e-6)
    assert not verdict.verified
    assert message in verdict.claim
    assert verdict.lower_bound == 0.0


def test_losses_said_to_be_smaller_than_they_are_do_not_help(solved: Any) -> None:
    problem, outcome, losses, *_ = solved
    claimed = [float(loss) - 0.5 for loss in losses]
    verdict = certify_cost(problem, outcome.primal, outcome.dual, 1e-6, claimed)
    # They are not gone through, and taken on trust: nothing is verified then.
    assert not verdict.verified and "smaller than it can be" in verdict.claim
    assert "provided that the forward solver is right about the losses of observation 0" in verdict.claim
    unknown = certify_cost(problem, outcome.primal, outcome.dual, 1e-6, [*claimed[1:], np.inf])
    assert unknown.upper_bound == np.inf and "nothing is proven about the losses of observation 11" in unknown.claim
    with pytest.raises(CertificateError, match="finite entries are needed"):
        certify_cost(problem, np.full(5, np.nan), outcome.dual, 1e-6)


def test_a_cost_outside_its_prior_set_is_refused(solved: Any) -> None:
    _, outcome, _, signals, responses = solved
    problem = posed(signals, responses, prior="nonnegative")
    verdict = certify_cost(problem, -np.abs(outcome.primal), None, 1e-6)
    assert not verdict.verified
    assert "outside its prior set" in verdict.claim


@pytest.mark.parametrize("name", ["l1", "l2", "linf", "squared-l2", "zero-one", "none"])
@pytest.mark.parametrize("n", [6, 13])
def test_the_bound_on_decisions_is_the_largest_value(name: str, n: int) -> None:
    random = np.random.default_rng(n)
    every = binary_vectors(n)
    for seed in range(2 if n == 6 else 1):
        _, signals, responses = drawn(n, 4, 1, seed=seed, signed=True)
        example = BinaryProgram().example(0, signals[0], responses[0])
        theta = random.normal(size=n)
        matrix, ceiling = signals[0]
        points = every[np.all(every @ matrix.T <= ceiling, axis=1)]
        values = example.slopes(points) @ theta + example.distances(Distance.of(name), points)
        best = values.max()
        assert bound_of(example, theta, Distance.of(name)) == pytest.approx(best, abs=1e-9)


def test_fractional_responses_are_priced_too() -> None:
    _, signals, responses = drawn(14, 4, 1, seed=3, signed=True)
    example = BinaryProgram().example(0, signals[0], 0.3 + 0.2 * responses[0])
    theta, every = np.linspace(-1, 1, 14), binary_vectors(14)
    points = every[np.all(every @ signals[0][0].T <= signals[0][1], axis=1)]
    for name in ("l1", "squared-l2", "l2", "linf"):
        best = (example.slopes(points) @ theta + example.distances(Distance.of(name), points)).max()
        assert bound_of(example, theta, Distance.of(name)) == pytest.approx(best, abs=1e-9)


def test_rays_that_are_missing_or_stray_are_noticed() -> None:
    _, signals, responses = drawn(4, 3, 20, seed=4)
    task = APPROACHES["circumcenter"].pose(posed(signals, responses, prior="nonnegative"))
    outcome = ExactSolver("circumcenter").solve(task, SolveOptions())
    proof = outcome.dual
    assert certify_rays(task, outcome.primal, proof, 1e-6).verified
    fewer = replace(proof, rays=proof.rays[1:], weights=np.full(len(proof.rays) - 1, 1.0))
    assert not certify_rays(task, outcome.primal, fewer, 1e-6).verified
    stray = replace(proof, rays=np.vstack((proof.rays, np.full(4, -0.5))), weights=np.append(proof.weights, 0.0))
    assert "outside the prior set" in certify_rays(task, outcome.primal, stray, 1e-6).claim
    wrong = np.roll(outcome.primal, 1)
    assert not certify_rays(task, wrong, proof, 1e-6).verified


def test_room_that_reaches_too_far_is_noticed() -> None:
    _, signals, responses = drawn(4, 3, 15, seed=5)
    task = APPROACHES["ellipsoidal-incenter"].pose(posed(signals, responses, prior="nonnegative"))
    outcome = ExactSolver("ellipsoidal-incenter").solve(task, SolveOptions())
    cost = outcome.primal
    assert certify_ellipsoid(task, cost, outcome.dual, 1e-5).verified
    larger = EllipsoidalCost(cost.theta, 1.01 * cost.shape)
    assert "reaches a decision" in certify_ellipsoid(task, larger, outcome.dual, 1e-5).claim
    smaller = certify_ellipsoid(task, EllipsoidalCost(cost.theta, 0.9 * cost.shape), outcome.dual, 1e-5)
    assert not smaller.verified
    assert smaller.lower_bound == pytest.approx(outcome.lower_bound)
    longer = certify_ellipsoid(task, EllipsoidalCost(2 * cost.theta, 2 * cost.shape), outcome.dual, 1e-5)
    assert "longer than 1" in longer.claim
    # A row of the prior set that the cost breaks; nobody but the author of a proof file could have asked for it.
    total = float(cost.theta.sum())
    rows = replace(task.prior, matrix=np.ones((1, 4)), ceiling=np.array([total - 0.1]))
    beyond = certify_ellipsoid(replace(task, prior=rows), cost, outcome.dual, 1e-5)
    assert "outside its prior set" in beyond.claim and not beyond.verified
    sums = certify_ellipsoid(replace(task, prior=replace(task.prior, total=total + 0.1)), cost, outcome.dual, 1e-5)
    assert "outside its prior set" in sums.claim and not sums.verified


def test_bounds_hold_without_a_box_around_the_centre() -> None:
    _, signals, responses = drawn(4, 3, 20, seed=6, noise=1.5, signed=True)
    solver = ConstraintGeneration()
    bounds = []
    for kappa, prior in ((0.0, None), (0.0, "simplex"), (0.05, None)):
        problem = posed(signals, responses, kappa=kappa, prior=prior)
        outcome = solver.solve(problem, SolveOptions())
        verdict = certify_cost(problem, outcome.primal, outcome.dual, 1e-6)
        assert verdict.verified
        bounds.append((verdict.lower_bound, verdict.upper_bound))
        assert "within" not in verdict.claim.split("observations")[0]
    assert all(low <= high for low, high in bounds)


@pytest.mark.parametrize("approach", ["ellipsoidal-incenter", "ellipsoidal-asl"])
def test_no_weights_or_directions_prove_more_room_than_there_is(approach: str) -> None:
    _, signals, responses = drawn(3, 3, 8, seed=5, noise=0.0 if approach == "ellipsoidal-incenter" else 0.5)
    task = APPROACHES[approach].pose(posed(signals, responses, prior="nonnegative"))
    outcome = ExactSolver(approach).solve(task, SolveOptions())
    proof = outcome.dual
    best = certify_ellipsoid(task, outcome.primal, proof, 1e-5)
    assert best.verified
    random = np.random.default_rng(0)
    changes = [replace(proof, directions=5.0 * proof.directions), replace(proof, directions=-proof.directions)]
    changes += [replace(proof, weights=factor * proof.weights) for factor in (0.5, 3.0, 30.0)]
    changes += [replace(proof, weights=proof.weights * random.uniform(0, 3, proof.weights.size)) for _ in range(10)]
    changes += [replace(proof, directions=proof.directions + random.normal(size=proof.directions.shape)) for _ in range(10)]
    for wrong in changes:
        assert certify_ellipsoid(task, outcome.primal, wrong, 1e-5).lower_bound <= best.upper_bound
