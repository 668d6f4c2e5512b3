"""Certificates of learned costs: bounds on the optimal objective, recomputed from the raw arrays.

The upper bound is the objective of the cost vector itself, over losses that no decision exceeds
(:mod:`surefoot.inverse.certificate.decision_bound`). If the prior set prescribes a sum, it holds for the cost vector and for
its multiple with exactly this sum. The lower bound is that of :mod:`surefoot.inverse.certificate.cost_bound`. Costs of norm 1
lie on the facets theta_j = +-1 of a cube, or on the one facet sum(theta) = 1 where they cannot be negative; each facet has a
proof of its own.

Objectives that are 0 have no relative gap. ``floor`` is a tenth of the scale of the data: of a distance and of the features of
one observation, on average; it does not depend on the cost vector. A cost vector may miss its prior set, or losses that must
not be above 0, by ``NEAR`` of that scale; the claim then says by how much it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.certificate import Certificate, Statement, digest, require_tolerance, rounded_down, rounded_up, verdict
from surefoot.core.enclosure import Enclosure, between, enclose
from surefoot.exceptions import CertificateError
from surefoot.inverse.certificate.cost_bound import cost_bound, proof_flaw
from surefoot.inverse.certificate.decision_bound import decision_bound
from surefoot.inverse.certificate.observation import SLACK, distances, features_of, listed, slopes, whole_unknowns

if TYPE_CHECKING:
    from surefoot.inverse.problem.decision_proof import LossProof
    from surefoot.inverse.problem.prior_set import PriorSet
    from surefoot.inverse.problem.problem import InverseProblem

NEAR = 1e-7
FLOOR_FRACTION = 0.1
# Decisions whose cost exceeds the smallest by no more than this, for a cost whose largest entry is 1, are best decisions too.
TIED = 1e-7


@np.errstate(all="ignore")
def certify_cost(
    problem: InverseProblem,
    theta: FloatArray,
    losses: FloatArray,
    proof: Any,
    tolerance: float,
    loss_proofs: Sequence[LossProof | None] | None = None,
) -> Certificate:
    """Judge a cost vector and what is said to prove it best.

    Parameters
    ----------
    problem : InverseProblem
    theta : ndarray
        The cost vector.
    losses : ndarray, one per observation
        What its losses are said not to exceed; taken on trust, and said so, where they cannot be recomputed.
    proof : CostProof, FacetProof or None
        A ``FacetProof`` is about the facets of a sphere, on which the cost vector must lie.
    tolerance : float
        The relative gap to prove.
    loss_proofs : sequence, one entry per observation, optional
        Proofs that no decision exceeds a loss, for sets that are neither lists nor vectors of a few 0/1 unknowns.
    """
    require_tolerance(tolerance)
    require_cost(problem, theta)
    n = len(problem.examples)
    if losses.shape != (n,):
        raise CertificateError(f"{losses.size} losses were given; there are {n} observations.")
    facets, models, flaw = _facets(problem, proof)
    if problem.hard:
        models += f" that prices every other decision above the observed one by {_spelled(problem)} or more"
    lower, wrong = _lower(problem, facets, proof)
    star, outside = min((_member(facet, theta) for facet in facets), key=lambda pair: pair[1])
    scale, unit = _scales(problem)
    known = [
        decision_bound(example, star, problem.distance, _at(loss_proofs, i), claimed=float(losses[i]))
        for i, example in enumerate(problem.examples)
    ]
    missing = [example.instance.index for example, bound in zip(problem.examples, known, strict=True) if bound is None]
    free = np.array([example.inside or problem.clamp for example in problem.examples])
    bounds = np.array([losses[i] if bound is None else bound for i, bound in enumerate(known)])
    bounds = np.where(free, np.maximum(bounds, 0.0), bounds)
    worst = int(np.argmax(bounds))
    remarks = []
    flaw = flaw or wrong
    if outside > NEAR * max(1.0, float(np.abs(theta).max())):
        flaw = flaw or f"the cost vector lies outside its prior set by {outside:.3g}"
    elif problem.hard and bounds[worst] > NEAR * scale:
        flaw = flaw or f"observation {problem.examples[worst].instance.index} is not explained by the cost vector"
    else:
        remarks += [f"It lies outside its prior set by at most {rounded_up(outside, 3)}."] if outside > 0 else []
        if problem.hard and bounds[worst] > 0:
            remarks.append(f"Its largest loss is not proven to be 0, but at most {rounded_up(bounds[worst], 3)}.")
    upper = np.inf
    if not flaw or flaw == wrong:
        mean = enclose(0.0) if problem.hard else enclose(bounds).sum() / float(n)
        upper = float((_regularizer(problem, star) + mean).high)
    remarks += _radius(problem, upper, lower) if not flaw and not missing and not remarks else []
    return verdict(
        Statement(
            models=models,
            quantity=_quantity(problem),
            scope=scope(problem),
            flaw=flaw,
            trust=f"the forward solver is right about the losses of observation {missing[0]}" if missing else "",
            remark=" ".join(remarks),
        ),
        upper=upper,
        lower=lower,
        tolerance=tolerance,
        witness=proof,
        problem_digest=problem_digest(problem),
        model_digest=digest("cost vector", {"theta": theta}),
        floor=FLOOR_FRACTION * (_hard_floor(problem, scale, unit) if problem.hard else scale),
    )


@np.errstate(all="ignore")
def certify_predictions(
    problem: InverseProblem, theta: FloatArray, tolerance: float, loss_proofs: Sequence[LossProof | None] | None = None
) -> Certificate:
    """The predictability loss of a cost. Nothing but 0 is proven to bound it from below: it is verified if it is 0.

    Where decisions are too many to list, ``loss_proofs`` can prove that no decision of an observation costs less than the
    response, which is then predicted; nothing else is known there.
    """
    require_tolerance(tolerance)
    require_cost(problem, theta)
    largest = float(np.abs(theta).max(initial=0.0))
    unit = enclose(theta) / largest if largest > 0 else None
    places = range(len(problem.examples))
    found = [None if unit is None else _predicted(problem, i, unit, _at(loss_proofs, i)) for i in places]
    apart = np.array([np.inf if each is None else each for each in found])
    # Distances that are all 0 have the mean 0 without rounding.
    upper = float((enclose(apart).sum() / float(apart.size)).high) if apart.any() else 0.0
    return verdict(
        Statement(
            models="cost vector",
            quantity=f"mean distance from the observed decisions to its best ones, which are those within {TIED:g} times its "
            "largest entry of the least cost,",
            scope=scope(problem),
            flaw="" if np.isfinite(upper) else "the predicted decisions were not recomputed: decisions are too many to list",
        ),
        upper=upper,
        lower=0.0,
        tolerance=tolerance,
        witness=None,
        problem_digest=problem_digest(problem),
        model_digest=digest("cost vector", {"theta": theta}),
    )


def _predicted(problem: InverseProblem, i: int, theta: Enclosure, proof: LossProof | None) -> float | None:
    """At or above the distance of the best decisions of one observation; None if they cannot be listed."""
    example = problem.examples[i]
    points = listed(example.instance.decisions)
    if points is None:
        bound = decision_bound(example, theta, replace(problem.distance, integer="none", continuous="none"), proof)
        return 0.0 if bound is not None and bound <= TIED and example.inside else None
    gains = slopes(example, points) @ theta
    best = gains.low >= gains.high.max() - TIED * (1 - 1e-9)
    same = np.all(points == example.response, axis=1) | (problem.distance.integer == "none")
    if np.any(best & same):
        return 0.0
    return float(distances(example, problem.distance, points[best]).high.min(initial=np.inf)) if best.any() else None


def require_cost(problem: InverseProblem, theta: FloatArray) -> None:
    """Raise if this is no cost vector of the problem."""
    p = problem.prior.lower.size
    if theta.shape != (p,) or not np.isfinite(theta).all():
        raise CertificateError(f"the cost vector has shape {theta.shape}; {p} finite entries are needed.")


def _at(proofs: Sequence[LossProof | None] | None, i: int) -> LossProof | None:
    return None if proofs is None else proofs[i]


def _facets(problem: InverseProblem, proof: Any) -> tuple[list[PriorSet], str, str]:
    """The prior sets that a proof is about, the words for their union, and what is wrong with them."""
    prior, named = problem.prior, "cost vector of the prior set"
    if not hasattr(proof, "facets"):
        return [prior], named, ""
    if len(proof.facets) != len(proof.proofs):
        return [prior], named, "the proof is refused because facets and their proofs differ in number"
    if len(proof.facets) == 1 and _same(proof.facets[0], prior):
        return [prior], named, ""
    if np.all(prior.lower >= 0) and len(proof.facets) == 1 and _same(proof.facets[0], replace(prior, total=1.0)):
        return list(proof.facets), f"{named} whose entries sum to 1", ""
    sides = []
    lower, upper = np.maximum(prior.lower, -1.0), np.minimum(prior.upper, 1.0)
    for j in range(prior.lower.size):
        for value in (1.0, -1.0):
            if lower[j] <= value <= upper[j]:
                at = np.arange(prior.lower.size) == j
                sides.append(replace(prior, lower=np.where(at, value, lower), upper=np.where(at, value, upper)))
    alike = len(sides) == len(proof.facets) > 0 and all(map(_same, sides, proof.facets))
    words = f"{named} whose largest entry, without its sign, is 1"
    return (
        (sides, words, "") if alike else ([prior], named, "the proof is refused because its facets are not those of a sphere")
    )


def _same(first: PriorSet, second: PriorSet) -> bool:
    arrays = all(
        np.array_equal(getattr(first, name), getattr(second, name)) for name in ("lower", "upper", "matrix", "ceiling")
    )
    return arrays and first.total == second.total and first.psd == second.psd


def _lower(problem: InverseProblem, facets: list[PriorSet], proof: Any) -> tuple[float, str]:
    """The smallest bound of all facets, and what is wrong with a proof."""
    parts = proof.proofs if hasattr(proof, "facets") and len(proof.proofs) == len(facets) else [proof]
    if len(parts) != len(facets):
        parts = [None] * len(facets)
    # No loss is negative where the response is a decision, and no regularizer.
    never = 0.0 if problem.hard or all(example.inside or problem.clamp for example in problem.examples) else -np.inf
    lowest, flaw = np.inf, ""
    for facet, part in zip(facets, parts, strict=True):
        task, bound = replace(problem, prior=facet), never
        if part is not None and not hasattr(part, "facets"):
            wrong = proof_flaw(task, part)
            flaw = flaw or wrong
            bound = never if wrong else max(never, cost_bound(task, part))
        lowest = min(lowest, bound)
    return lowest, flaw


def _member(prior: PriorSet, theta: FloatArray) -> tuple[Enclosure, float]:
    """The cost vector, scaled to the sum that the set prescribes, and by how much it breaks a condition at most."""
    star, parts = enclose(theta), [0.0]
    if prior.total is not None:
        total = star.sum()
        off = float((total - prior.total).size)
        if prior.total != 0 and off <= NEAR * abs(prior.total):
            star = star * prior.total / total
            # What is said of the cost vector holds for itself and for the member beside it.
            star = between(np.minimum(star.low, theta), np.maximum(star.high, theta))
        else:
            parts.append(off)
    # A bound that the vector itself meets is met by its multiple up to rounding, which is part of what is reported.
    exact = prior.total is None or bool(np.all((prior.lower == 0) | np.isinf(prior.lower)) and np.all(np.isinf(prior.upper)))
    low, high = (theta, theta) if exact else (star.low, star.high)
    parts += [float(np.max(prior.lower - low)), float(np.max(high - prior.upper))]
    if len(prior.ceiling):
        parts.append(float((enclose(prior.matrix) @ star - prior.ceiling).high.max()))
    if prior.psd:
        square = theta[: prior.psd**2].reshape(prior.psd, prior.psd)
        values, axes = np.linalg.eigh((square + square.T) / 2)
        root = enclose(axes * np.sqrt(np.maximum(values, 0.0)))
        rest = (enclose(square) + square.T) * 0.5 - root @ root.transposed
        parts.append(float((rest * rest).sum().sqrt().high))
    return star, max(parts)


def _regularizer(problem: InverseProblem, star: Enclosure) -> Enclosure:
    away = star - problem.regularizer.center
    return problem.kappa * ((away * away).sum() * 0.5 if problem.regularizer.kind == "l2" else abs(away).sum())


def _scales(problem: InverseProblem) -> tuple[float, float]:
    """Mean over observations of a distance, or without one of a feature times the centre's size; and the mean feature."""
    apart, steep = [], []
    for example in problem.examples:
        decisions: Any = example.instance.decisions
        if hasattr(decisions, "points"):
            points = decisions.points[np.any(decisions.points != example.response, axis=1)]
            apart.append(float(distances(example, problem.distance, points).mid.max(initial=0.0)))
            steep.append(float(np.abs(slopes(example, points).mid).max(initial=0.0)))
            continue
        whole = whole_unknowns(decisions)
        named = "none" if (problem.distance.integer if whole.any() else problem.distance.continuous) == "none" else "some"
        apart.append(
            0.0 if named == "none" else 1.0 if whole.any() else float(np.abs(example.response).max(initial=0.0)) or 1.0
        )
        features: Any = example.instance.features
        matrix = features.matrix if hasattr(features, "matrix") else features_of(example, example.response[None, :]).mid
        steep.append(float(np.abs(matrix).max(initial=0.0)))
    size = float(np.abs(problem.regularizer.center).max(initial=0.0)) or 1.0
    unit = float(np.mean(steep)) or 1.0
    return float(np.mean(apart)) or size * unit, unit


def _hard_floor(problem: InverseProblem, scale: float, unit: float) -> float:
    """The regularizer of a cost whose losses have the scale of the data."""
    size = scale / unit
    return problem.kappa * (size * size / 2 if problem.regularizer.kind == "l2" else size)


def _radius(problem: InverseProblem, upper: float, lower: float) -> list[str]:
    """What an incenter says about angles, where the distance of a decision is the length of its slope."""
    prior = problem.prior
    ends = np.concatenate((prior.lower, prior.upper))
    cone = prior.total is None and bool(np.all((ends == 0) | np.isinf(ends))) and not prior.ceiling.any()
    plain = problem.hard and problem.regularizer.kind == "l2" and problem.kappa == 1 and problem.distance.integer == "l2"
    if not (plain and cone and lower > 0 and not problem.regularizer.center.any()):
        return []
    for example in problem.examples:
        features: Any = example.instance.features
        identity = hasattr(features, "matrix") and np.array_equal(features.matrix, np.eye(example.response.size))
        if not (identity and whole_unknowns(example.instance.decisions).all()):
            return []
    least, most = 1.0 / (2.0 * enclose(upper)).sqrt(), 1.0 / (2.0 * enclose(lower)).sqrt()
    return [
        "The sine of its angle to the nearest cost vector that another decision refutes is at least "
        f"{rounded_down(float(least.low))}, and for no cost vector is it above {rounded_up(float(most.high))}."
    ]


def _quantity(problem: InverseProblem) -> str:
    squared = problem.regularizer.kind == "l2"
    regularizer = "halved squared Euclidean distance from the centre" if squared else "l1 distance from the centre"
    if problem.hard:
        return regularizer
    penalty = f" plus {problem.kappa:g} times the {regularizer}" if problem.kappa else ""
    return f"mean suboptimality loss with {_spelled(problem)}{penalty}"


def _spelled(problem: InverseProblem) -> str:
    """The distance in words."""
    continuous, integer = problem.distance.continuous, problem.distance.integer
    if all(whole_unknowns(example.instance.decisions).all() for example in problem.examples):
        return f"the distance {integer!r}"
    return f"the distances {continuous!r} of continuous and {integer!r} of whole unknowns"


def scope(problem: InverseProblem) -> str:
    """On what a claim holds."""
    sets = any(not hasattr(example.instance.decisions, "points") for example in problem.examples)
    rows = f", whose decisions meet their rows to within {SLACK:g} of the largest entry" if sets else ""
    return f"on these {len(problem.examples)} observations{rows}"


def problem_digest(problem: InverseProblem) -> str:
    """Fingerprint of everything that defines the optimum, as far as it is data and not a caller's function."""
    prior, distance = problem.prior, problem.distance
    form = (distance.continuous, distance.integer, problem.regularizer.kind, float(problem.kappa), problem.clamp, problem.hard)
    parts: dict[str, Any] = {"form": repr((*form, prior.total, prior.psd)), "center": problem.regularizer.center}
    parts |= {name: getattr(prior, name) for name in ("lower", "upper", "matrix", "ceiling")}
    for i, example in enumerate(problem.examples):
        for part in (example.instance.decisions, example.instance.features):
            for name in (each.name for each in fields(part)):
                if isinstance(getattr(part, name), np.ndarray | float | int):
                    parts[f"{i} {type(part).__name__} {name}"] = getattr(part, name)
        parts[f"{i} response"], parts[f"{i} inside"] = example.response, int(example.inside)
        points = getattr(example.instance.decisions, "points", example.response[None, :])
        if not hasattr(example.instance.features, "matrix"):
            parts[f"{i} features"] = features_of(example, points).mid
    return digest("inverse problem", parts)
