"""Problems, answers and witnesses as a stranger's file may hold them: whatever it is, nothing false follows."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from reference.enumerated_inverse import drawn

from surefoot.core.enclosure import enclose
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import CertificateError
from surefoot.inverse.certificate.certificate import certify_cost, outside_of
from surefoot.inverse.certificate.cone_center import certify_rays
from surefoot.inverse.certificate.cost_bound import cost_bound
from surefoot.inverse.certificate.decision_bound import decision_bounds
from surefoot.inverse.certificate.observation import measured
from surefoot.inverse.exact.constraint_generation import ConstraintGeneration
from surefoot.inverse.exact.exact_solver import ExactSolver
from surefoot.inverse.forward.programs import BinaryProgram
from surefoot.inverse.problem.approaches import APPROACHES
from surefoot.inverse.problem.decision_proof import DecisionTrees, Leaf
from surefoot.inverse.problem.decision_set import EllipsoidSet
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.hypothesis import QuadraticFeatures
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import Example, Instance, InverseProblem, Regularizer


def posed(signals: Any, responses: Any, *, prior: Any = None, name: str = "l2") -> InverseProblem:
    examples = tuple(BinaryProgram().example(i, s, x) for i, (s, x) in enumerate(zip(signals, responses, strict=True)))
    p = responses[0].size
    return InverseProblem(examples, Distance.of(name), Regularizer("l2", np.zeros(p)), 0.05, PriorSet.of(prior, p), clamp=False)


@pytest.fixture(scope="module")
def solved() -> Any:
    _, signals, responses = drawn(4, 3, 6, seed=1, noise=0.4, signed=True)
    problem = posed(signals, responses)
    return problem, ConstraintGeneration().solve(problem, SolveOptions())


def plain(value: Any) -> Any:
    """Records without the checks of their classes, as files are read."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if not dataclasses.is_dataclass(value):
        return value
    names = [field.name for field in dataclasses.fields(value)]
    made = dataclasses.make_dataclass(type(value).__name__, names)
    return made(**{name: plain(getattr(value, name)) for name in names})


def places(record: Any) -> Iterator[tuple[Any, str]]:
    """Every array of a record, as its owner and its name there."""
    for part in record if isinstance(record, tuple) else [record]:
        for field in dataclasses.fields(part) if dataclasses.is_dataclass(part) else ():
            inner = getattr(part, field.name)
            if isinstance(inner, np.ndarray):
                yield part, field.name
            else:
                yield from places(inner)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int8, np.int64])
def test_only_doubles_are_judged(solved: Any, kind: type) -> None:
    """Whole numbers wrap and short floats underflow where doubles do not, and all would have the same fingerprint."""
    problem, outcome = solved
    honest = plain(problem)
    assert certify_cost(honest, outcome.primal, outcome.dual, 1e-6).verified
    found = list(places(honest))
    assert len(found) > 30
    for owner, name in found:
        kept = getattr(owner, name)
        setattr(owner, name, np.nan_to_num(kept, posinf=100.0, neginf=-100.0).astype(kind))
        with pytest.raises(CertificateError, match="doubles"):
            certify_cost(honest, outcome.primal, outcome.dual, 1e-6)
        setattr(owner, name, kept)
    with pytest.raises(CertificateError, match="doubles"):
        certify_cost(problem, outcome.primal.astype(kind), outcome.dual, 1e-6)


def test_what_is_no_number_is_refused(solved: Any) -> None:
    problem, outcome = solved
    forged = plain(problem)
    forged.examples[0].instance.decisions.high[0] = np.nan
    with pytest.raises(CertificateError, match="NaN"):
        certify_cost(forged, outcome.primal, outcome.dual, 1e-6)
    forged.examples[0].instance.decisions.high[0] = 1.0


@pytest.mark.parametrize(("name", "value"), [("kappa", -1.0), ("kappa", math.inf), ("kappa", math.nan)])
def test_a_kappa_that_no_estimator_takes_is_refused(solved: Any, name: str, value: float) -> None:
    problem, outcome = solved
    forged = plain(problem)
    setattr(forged, name, value)
    with pytest.raises(CertificateError):
        certify_cost(forged, outcome.primal, outcome.dual, 1e-6)


def test_distances_and_regularizers_have_names_that_are_known(solved: Any) -> None:
    problem, outcome = solved
    for part, name in (("distance", "integer"), ("distance", "continuous"), ("regularizer", "kind")):
        forged = plain(problem)
        setattr(getattr(forged, part), name, "L2")
        with pytest.raises(CertificateError, match="no name that is known"):
            certify_cost(forged, outcome.primal, outcome.dual, 1e-6)


@pytest.mark.parametrize("claimed", [math.nan, -math.inf, 0.0, math.inf])
def test_a_number_in_the_place_of_a_proof_is_never_more_than_trust(solved: Any, claimed: float) -> None:
    problem, outcome = solved
    for hard in (False, True):
        task = dataclasses.replace(problem, hard=hard)
        said = [claimed] * len(problem.examples)
        assert not certify_cost(task, np.zeros(4), outcome.dual, 1e-6, said).verified
        assert not certify_cost(task, outcome.primal, outcome.dual, 1e-6, said).verified


def test_a_cone_that_is_split_at_nothing_is_not_covered() -> None:
    _, signals, responses = drawn(4, 3, 20, seed=4)
    task = APPROACHES["circumcenter"].pose(posed(signals, responses, prior="nonnegative"))
    outcome = ExactSolver("circumcenter").solve(task, SolveOptions())
    cover = outcome.dual.cover
    assert certify_rays(task, outcome.primal, outcome.dual, 1e-6).verified
    assert cover.split.any()
    # One split whose parts are left out altogether: as a list of cones it closes, but it covers nothing.
    p = task.prior.lower.size
    empty = SimpleNamespace(
        split=np.ones(p + 1, dtype=bool), shares=np.zeros((p + 1, p)), prices=np.empty((0, cover.prices.shape[1])),
        mixes=cover.mixes, axis=cover.axis,
    )  # fmt: skip
    forged = dataclasses.replace(outcome.dual, cover=empty)
    assert not certify_rays(task, outcome.primal, forged, 1e-6).verified
    whole = dataclasses.replace(outcome.dual, rays=np.ones_like(outcome.dual.rays, dtype=np.int8))
    assert "do not fit" in certify_rays(task, outcome.primal, whole, 1e-6).claim


def test_a_price_of_a_block_is_a_matrix_of_its_order(solved: Any) -> None:
    problem, outcome = solved
    task = dataclasses.replace(problem, prior=dataclasses.replace(problem.prior, psd=2))
    for block in (np.zeros((4,)), np.zeros((1, 2, 2)), np.full((2, 2), np.inf), np.zeros((3, 3))):
        forged = dataclasses.replace(outcome.dual, block_price=block)
        assert "price of the block" in certify_cost(task, outcome.primal, forged, 1e-6).claim


def test_fractions_have_no_exponents(solved: Any) -> None:
    problem, outcome = solved
    n = len(outcome.dual.weights)
    forged = dataclasses.replace(outcome.dual, exact=("1e1000000000",) * n)
    assert cost_bound(problem, forged) <= outcome.upper_bound


def test_a_difference_that_overflows_may_be_none() -> None:
    far = enclose(np.array([[1.7e308], [1.0], [1.0]])) - np.array([[-1.7e308], [1.0], [0.0]])
    found = measured("zero-one", far)
    assert found.high[0] >= 1.0 and found.low[0] <= 0.0
    assert found.mid[1:].tolist() == [0.0, 1.0] and not found.rad[1:].any()


def test_what_is_missed_is_rounded_up() -> None:
    prior = dataclasses.replace(PriorSet.of(None, 1), lower=np.array([100.0 + 2.0**-40]))
    assert outside_of(prior, np.array([2.0**-60])) >= 100.0 + 2.0**-40 - 2.0**-60


@pytest.mark.parametrize("multipliers", [(5.0, 5.0, 1e-300, 1e-300), (5.0, 5.0, 5.0, 5.0), (10.0, 10.0, 10.0, 10.0)])
def test_leaves_over_an_ellipsoid_do_not_borrow_the_multiplier_of_another(multipliers: tuple[float, ...]) -> None:
    """The farthest point of a long ellipse is 10 away: with the curvature of the first leaf the others would say 5."""
    instance = Instance(0, EllipsoidSet.of(np.diag([100.0, 0.01]), np.zeros(2), -1.0), QuadraticFeatures.of_all(2))
    turns = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    leaves = [
        Leaf(np.array([y]), point=-turn / (2.0 * multipliers[0] * np.array([100.0, 0.01])))
        for y, turn in zip(multipliers, turns, strict=True)
    ]
    (bound,) = decision_bounds(
        [Example(instance, np.zeros(2))], np.zeros(6), Distance("none", "linf"), [DecisionTrees.of(leaves)]
    )
    assert bound >= 10.0
