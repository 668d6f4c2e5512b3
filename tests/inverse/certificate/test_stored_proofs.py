"""What a fit leaves is all that a verification needs: nothing is searched again, and time limits reach the proofs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference.enumerated_inverse import drawn

import surefoot as sf
from surefoot.inverse import InverseOptimizer, forward
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.cost_witness import CostWitness
from surefoot.inverse.problem.decision_proof import DecisionTrees
from surefoot.inverse.problem.exact_weights import exact_sum


def quadratic(seed: int) -> tuple[list[Any], list[Any]]:
    random = np.random.default_rng(seed)
    rows = np.vstack((np.eye(2), -np.eye(2)))
    signals = [(rows, np.full(4, random.uniform(0.5, 1.5))) for _ in range(4)]
    return signals, [np.clip(random.normal(size=2), -0.4, 0.4) for _ in signals]


def ellipsoids(seed: int) -> tuple[list[Any], list[Any]]:
    random = np.random.default_rng(seed)
    signals = [(np.diag(random.uniform(0.5, 2.0, 2)), 0.2 * random.normal(size=2), -1.0) for _ in range(4)]
    return signals, [0.3 * random.uniform(-1, 1, size=2) for _ in signals]


def case(name: str) -> tuple[InverseOptimizer, list[Any], list[Any]]:
    if name == "quadratic":
        return InverseOptimizer(forward.QuadraticProgram(), kappa=0.1, distance="none"), *quadratic(1)
    if name == "ellipsoids":
        return InverseOptimizer(forward.EllipsoidProgram(), kappa=0.1, distance="squared-l2"), *ellipsoids(2)
    _, signals, responses = drawn(12, 3, 5, seed=4, noise=0.5, signed=True)
    options = {"asl": {"kappa": 0.1}, "predictability": {}}[name]
    if name == "predictability":
        _, signals, responses = drawn(12, 3, 3, seed=4, signed=True)
    return InverseOptimizer(forward.BinaryProgram(), approach=name, **options), signals, responses


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.ZeroCostWarning")
@pytest.mark.filterwarnings("ignore::surefoot.exceptions.ConvergenceLimitWarning")
@pytest.mark.parametrize("name", ["asl", "predictability", "quadratic", "ellipsoids"])
def test_verifying_searches_nothing_and_says_the_same(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, signals, responses = case(name)
    model.fit(signals, responses)
    assert isinstance(model.outcome_.dual, CostWitness)
    assert model.certificate_.verified, model.certificate_.claim
    sf.save(model, tmp_path / "model.sf")

    def forbidden(*_: Any, **__: Any) -> Any:
        raise AssertionError("a verification searches")

    monkeypatch.setattr(Separation, "losses", forbidden)
    monkeypatch.setattr(Separation, "proofs", forbidden)
    for each in (model, sf.load(tmp_path / "model.sf")):
        again = sf.verify(each, signals, responses)
        assert (again.verified, again.claim) == (model.certificate_.verified, model.certificate_.claim)
        assert (again.upper_bound, again.lower_bound) == (model.certificate_.upper_bound, model.certificate_.lower_bound)


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.ZeroCostWarning")
@pytest.mark.parametrize("name", ["asl", "quadratic", "ellipsoids"])
def test_proofs_of_losses_are_exported(name: str, tmp_path: Path) -> None:
    model, signals, responses = case(name)
    model.fit(signals, responses)
    sf.export_proof(model, signals, responses, tmp_path / "cost.proof.npz")
    from surefoot.proofs.judge import judge
    from surefoot.proofs.proof_file import read_proof_file

    found = judge(read_proof_file(tmp_path / "cost.proof.npz"))
    assert found.verified and found.claim == model.certificate_.claim


def test_a_model_without_a_witness_says_so(tmp_path: Path) -> None:
    model, signals, responses = case("asl")
    sf.save(model.fit(signals, responses), tmp_path / "model.sf", witness=False)
    with pytest.raises(sf.CertificateError, match="carries no witness"):
        sf.verify(sf.load(tmp_path / "model.sf"), signals, responses)


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.ConvergenceLimitWarning")
@pytest.mark.parametrize("approach", ["asl", "incenter", "suboptimality", "feasibility"])
def test_a_time_limit_reaches_the_proofs_of_losses(approach: str) -> None:
    """50 items and two rows of small weights took 15 seconds with a limit of a millionth of one."""
    random = np.random.default_rng(0)
    rows = random.uniform(0.001, 0.002, (2, 50))
    response = (np.arange(50) < 20).astype(float)
    model = InverseOptimizer(forward.BinaryProgram(), approach=approach, kappa=0.1, time_limit=1e-6)
    start = time.process_time()
    model.fit([(rows, 0.5 * rows.sum(axis=1))], [response])
    assert time.process_time() - start < 1.0
    assert not model.certificate_.verified
    assert model.certificate_.lower_bound <= model.certificate_.upper_bound


def test_trees_end_with_their_time() -> None:
    _, signals, responses = drawn(14, 3, 6, seed=4, signed=True)
    problem = InverseOptimizer(forward.BinaryProgram(), kappa=0.1)._pose(signals, responses)
    theta, separation = np.linspace(-1, 1, 14), Separation()
    losses = separation.losses(problem, theta)[1]
    assert all(isinstance(proof, DecisionTrees) for proof in separation.proofs(problem, theta, losses))
    assert separation.proofs(problem, theta, losses, seconds=0.0) == tuple(losses.tolist())


@pytest.mark.parametrize("seed", range(8))
def test_entries_that_are_to_sum_to_1_do(seed: int) -> None:
    random = np.random.default_rng(seed)
    theta = random.dirichlet(np.full(int(random.integers(2, 40)), 50.0))
    found = exact_sum(theta, 1.0)
    assert sum(map(int, (found * 2.0**53).tolist())) == 2**53
    np.testing.assert_allclose(found, theta, rtol=1e-9, atol=1e-15)
    assert np.array_equal(exact_sum(2 * theta, 1.0), 2 * theta)
    assert exact_sum(theta, None) is theta
    # An entry that such a change would change stays as it is.
    tiny = np.append(theta * (1 - 1e-18), 1e-18)
    assert exact_sum(tiny, 1.0)[-1] == 1e-18


def test_what_a_closed_gap_depends_on_is_a_field() -> None:
    signals, responses = [None] * 3, [np.array([1.0, 0.0])] * 3

    def solve(cost: Any, _signal: Any) -> Any:
        return np.array([1.0, 0.0]) if cost[0] <= cost[1] else np.array([0.0, 1.0])

    problem = forward.CallableProblem(solve, n_unknowns=2, binary=True)
    model = InverseOptimizer(problem, distance="none", kappa=0.1, center=[1.0, 2.0]).fit(signals, responses)
    assert not model.certificate_.verified
    assert model.certificate_.trust == "the forward solver is right about the losses of observation 0"
    assert f"Provided that {model.certificate_.trust}, which was not recomputed: " in model.certificate_.claim
