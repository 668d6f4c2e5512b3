"""Certificates of learned costs: bounds on the optimal objective, recomputed from the raw arrays.

The upper bound is the objective of the cost vector itself, over losses that no decision exceeds
(:mod:`surefoot.inverse.certificate.decision_bound`). If the prior set prescribes a sum, it holds for the cost vector and for
its multiple with exactly this sum. The lower bound is that of :mod:`surefoot.inverse.certificate.cost_bound`. Costs of norm 1
lie on the facets theta_j = +-1 of a cube, or on the one facet sum(theta) = 1 where they cannot be negative; each facet has a
proof of its own.

Objectives that are 0 have no relative gap. ``floor`` is a tenth of the scale of the data: of a distance and of the features of
one observation, on average; it does not depend on the cost vector. A cost vector may miss its prior set, or losses that must
not be above 0, by ``NEAR`` of that scale; the claim then says by how much it does. Such a cost vector may have a smaller
objective than all that miss nothing, but not by more than the tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.certificate import Certificate, Statement, digest, require_tolerance, rounded_down, rounded_up, verdict
from surefoot.core.definite import length, square_near
from surefoot.core.enclosure import Enclosure, between, enclose
from surefoot.exceptions import CertificateError
from surefoot.inverse.certificate.cost_bound import cost_bound, proof_flaw
from surefoot.inverse.certificate.decision_bound import decision_bounds
from surefoot.inverse.certificate.observation import ROUND_SLACK, SLACK, cuts, features_of, listed, whole_unknowns

if TYPE_CHECKING:
    from surefoot.inverse.problem.decision_proof import LossProof
    from surefoot.inverse.problem.prior_set import PriorSet
    from surefoot.inverse.problem.problem import Example, InverseProblem

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
    require_cost(problem, theta, tolerance)
    n = len(problem.examples)
    if losses.shape != (n,):
        raise CertificateError(f"{losses.size} losses were given; there are {n} observations.")
    facets, models = ([problem.prior], "") if not hasattr(proof, "proofs") else _sphere(problem.prior)
    models = f"cost vector of the prior set{models}"
    if problem.hard:
        models += f" that prices every other decision above the observed one by {_spelled(problem)} or more"
    lower, wrong = _lower(problem, facets, proof)
    star, outside = min((_member(facet, theta) for facet in facets), key=lambda pair: pair[1])
    scale, floor = _scales(problem)
    known = decision_bounds(problem.examples, star, problem.distance, loss_proofs)
    missing = [example.instance.index for example, bound in zip(problem.examples, known, strict=True) if bound is None]
    free = np.array([example.inside or problem.clamp for example in problem.examples])
    bounds = np.array([losses[i] if bound is None else bound for i, bound in enumerate(known)])
    bounds = np.where(free, np.maximum(bounds, 0.0), bounds)
    worst = int(np.argmax(bounds))
    flaw, remarks = "", []
    if outside > NEAR * max(1.0, float(np.abs(theta).max())):
        flaw = f"the cost vector lies outside its prior set by {outside:.3g}"
    elif problem.hard and bounds[worst] > NEAR * scale:
        flaw = f"observation {problem.examples[worst].instance.index} is not explained by the cost vector"
    else:
        remarks += [f"It lies outside its prior set by at most {rounded_up(outside, 3)}."] if outside > 0 else []
        if problem.hard and bounds[worst] > 0:
            remarks.append(f"Its largest loss is not proven to be 0, but at most {rounded_up(bounds[worst], 3)}.")
    upper = np.inf
    if not flaw:
        mean = enclose(0.0) if problem.hard else enclose(bounds).sum() / float(n)
        upper = float((_regularizer(problem, star) + mean).high)
    remarks += _radius(problem, upper, lower) if not (flaw or wrong or missing or remarks) else []
    trust = f"the forward solver is right about the losses of observation {missing[0]}" if missing else ""
    words = Statement(models, _quantity(problem), flaw=wrong or flaw, trust=trust, remark=" ".join(remarks))
    return conclude(problem, words, {"theta": theta}, (upper, lower), tolerance, proof, floor)


def conclude(
    problem: InverseProblem,
    words: Statement,
    answer: dict[str, FloatArray],
    bounds: tuple[float, float],
    tolerance: float,
    proof: Any,
    floor: float,
) -> Certificate:
    """The verdict on an answer, with the digests of problem and answer.

    One that misses its conditions, as the remark says, may fall short of all that miss nothing, if only by the tolerance.
    """
    upper, lower = bounds
    if words.remark and upper < lower and not words.flaw:
        close = lower - upper <= tolerance * max(abs(lower), floor)
        words = words if close else replace(words, flaw="what it misses makes its objective smaller than it can be")
        upper = lower
    sets = [each.instance.decisions for each in problem.examples if not hasattr(each.instance.decisions, "points")]
    slack = ROUND_SLACK if all(whole_unknowns(each).all() for each in sets) else SLACK
    rows = f", whose decisions meet their rows to within {slack:g} of the largest entry" if sets else ""
    count = f"these {len(problem.examples)} observations" if len(problem.examples) > 1 else "this 1 observation"
    return verdict(
        replace(words, scope=f"on {count}{rows}{words.scope}"),
        upper=upper,
        lower=lower,
        tolerance=tolerance,
        witness=proof,
        problem_digest=problem_digest(problem),
        model_digest=digest("cost with room" if "shape" in answer else "cost vector", answer),
        floor=floor,
    )


@np.errstate(all="ignore")
def certify_predictions(
    problem: InverseProblem, theta: FloatArray, tolerance: float, loss_proofs: Sequence[LossProof | None] | None = None
) -> Certificate:
    """The predictability loss of a cost. Nothing but 0 is proven to bound it from below: it is verified if it is 0.

    Where decisions are too many to list, ``loss_proofs`` can prove that no decision of an observation costs less than the
    response, which is then predicted; nothing else is known there.
    """
    require_cost(problem, theta, tolerance)
    apart = np.full(len(problem.examples), np.inf)
    if theta.any():
        unit = enclose(theta) / float(np.abs(theta).max())
        bounds = decision_bounds(problem.examples, unit, type(problem.distance)("none", "none"), loss_proofs)
        for i, (example, bound) in enumerate(zip(problem.examples, bounds, strict=True)):
            chosen = bound is not None and bound <= TIED and example.inside
            apart[i] = 0.0 if chosen else _predicted(problem, example, unit)
    # Distances that are all 0 have the mean 0 without rounding.
    upper = float((enclose(apart).sum() / float(apart.size)).high) if apart.any() else 0.0
    words = Statement(
        "cost vector",
        f"mean distance from the observed decisions to its best ones, which are those within {TIED:g} times its largest entry "
        "of the least cost,",
        flaw="" if np.isfinite(upper) else "the predicted decisions of an observation are not known for certain",
    )
    return conclude(problem, words, {"theta": theta}, (upper, 0.0), tolerance, None, 0.0)


def _predicted(problem: InverseProblem, example: Example, theta: Enclosure) -> float:
    """At or above the distance of the best decisions of an observation; infinite if they cannot be listed."""
    points = listed(example.instance.decisions)
    if points is None or problem.distance.integer == "none":
        return np.inf if points is None else 0.0
    steep, apart = cuts([(example, points)], problem.distance)
    gains = steep @ theta
    best = gains.low >= gains.high.max() - TIED * (1 - 1e-9)
    return float(apart.high[best].min(initial=np.inf))


def require_cost(problem: InverseProblem, theta: FloatArray, tolerance: float) -> None:
    """Raise if this is no cost vector of the problem, or no gap can be at or below the tolerance."""
    require_tolerance(tolerance)
    p = problem.prior.lower.size
    if theta.shape != (p,) or not np.isfinite(theta).all():
        raise CertificateError(f"the cost vector has shape {theta.shape}; {p} finite entries are needed.")


def is_cone(prior: PriorSet) -> bool:
    """Whether every multiple of a member is one."""
    ends = np.concatenate((prior.lower, prior.upper))
    return prior.total is None and bool(np.all((ends == 0) | np.isinf(ends))) and not prior.ceiling.any()


def _sphere(prior: PriorSet) -> tuple[list[PriorSet], str]:
    """The facets of the costs of norm 1, and the words for them: one, if a prior set does not hold 0 by itself."""
    lower, upper = np.maximum(prior.lower, -1.0), np.minimum(prior.upper, 1.0)
    if prior.total or np.any(prior.lower > 0) or np.any(prior.upper < 0) or np.any(prior.ceiling < 0):
        return [prior], ""
    if np.all(prior.lower >= 0) and is_cone(prior):
        return [replace(prior, total=1.0)], " whose entries sum to 1"
    sides = []
    for j, value in np.ndindex(prior.lower.size, 2):
        end, at = 1.0 - 2.0 * value, np.arange(prior.lower.size) == j
        if lower[j] <= end <= upper[j]:
            sides.append(replace(prior, lower=np.where(at, end, lower), upper=np.where(at, end, upper)))
    return sides or [prior], " whose largest entry, without its sign, is 1"


def _lower(problem: InverseProblem, facets: list[PriorSet], proof: Any) -> tuple[float, str]:
    """The smallest bound of all facets, and what is wrong with a proof."""
    parts = proof.proofs if hasattr(proof, "proofs") else [proof]
    # No loss is negative where the response is a decision, and no regularizer.
    never = 0.0 if problem.hard or all(example.inside or problem.clamp for example in problem.examples) else -np.inf
    if len(parts) != len(facets):
        return never, "the proof is refused because its facets are not those of a sphere"
    bounds, flaws = [], []
    for facet, part in zip(facets, parts, strict=True):
        task = replace(problem, prior=facet)
        flaws.append("" if part is None else proof_flaw(task, part))
        bounds.append(never if part is None or flaws[-1] else max(never, cost_bound(task, part)))
    return min(bounds), next((flaw for flaw in flaws if flaw), "")


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
        parts.append(length((enclose(square) + square.T) * 0.5 - square_near(square)))
    return star, max(parts)


def _regularizer(problem: InverseProblem, star: Enclosure) -> Enclosure:
    away = star - problem.regularizer.center
    return problem.kappa * ((away * away).sum() * 0.5 if problem.regularizer.kind == "l2" else abs(away).sum())


def _scales(problem: InverseProblem) -> tuple[float, float]:
    """Mean over observations of a distance, or without one of a feature times the centre's size; and the floor of gaps."""
    lists = [(each, each.instance.decisions.points) for each in problem.examples if hasattr(each.instance.decisions, "points")]
    apart, steep = [], []
    if lists:
        slopes, lengths = cuts(lists, problem.distance)
        first = np.cumsum([0, *(len(points) for _, points in lists)])[:-1]
        apart, steep = (
            np.maximum.reduceat(part, first).tolist() for part in (lengths.low.clip(0.0), np.abs(slopes.mid).max(axis=1))
        )
    for example in problem.examples:
        whole = whole_unknowns(example.instance.decisions)
        features: Any = example.instance.features
        if not hasattr(example.instance.decisions, "points"):
            measured = (problem.distance.integer if whole.any() else problem.distance.continuous) != "none"
            apart.append(measured * (1.0 if whole.any() else float(np.abs(example.response).max(initial=0.0)) or 1.0))
            linear = hasattr(features, "matrix")
            matrix = features.matrix if linear else features_of(example, example.response[None, :]).mid
            steep.append(float(np.abs(matrix).max(initial=0.0)))
    size = float(np.abs(problem.regularizer.center).max(initial=0.0)) or 1.0
    unit = float(np.mean(steep)) or 1.0
    scale = float(np.mean(apart)) or size * unit
    # Losses that must be 0 are no objective: the regularizer of a cost whose losses have the scale of the data.
    regularizer = (scale / unit) ** 2 / 2 if problem.regularizer.kind == "l2" else scale / unit
    return scale, FLOOR_FRACTION * (problem.kappa * regularizer if problem.hard else scale)


def _radius(problem: InverseProblem, upper: float, lower: float) -> list[str]:
    """What an incenter says about angles, where the distance of a decision is the length of its slope."""
    plain = problem.hard and problem.regularizer.kind == "l2" and problem.kappa == 1 and problem.distance.integer == "l2"
    if not (plain and is_cone(problem.prior) and lower > 0 and not problem.regularizer.center.any()):
        return []
    for example in problem.examples:
        features: Any = example.instance.features
        identity = hasattr(features, "matrix") and np.array_equal(features.matrix, np.eye(example.response.size))
        if not (identity and whole_unknowns(example.instance.decisions).all()):
            return []
    least, most = 1.0 / (2.0 * enclose(upper)).sqrt(), 1.0 / (2.0 * enclose(lower)).sqrt()
    return [
        "The sine of its angle to the nearest cost vector that another decision refutes is at least "
        f"{rounded_down(float(least.low))}, and for no cost vector of the prior set is it above {rounded_up(float(most.high))}."
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
