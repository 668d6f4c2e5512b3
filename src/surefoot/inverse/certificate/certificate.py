"""Certificates of learned costs: bounds on the optimal objective, recomputed from the raw arrays.

The upper bound is the objective of the cost vector itself, over losses that no decision exceeds
(:mod:`surefoot.inverse.certificate.decision_bound`). The lower bound is that of :mod:`surefoot.inverse.certificate.cost_bound`.
Costs whose largest entry, without its sign, is r lie on the facets theta_j = +-r of a cube, or, in a cone without negative
ones, on the one facet sum(theta) = 1; each facet has a proof of its own. r is 1, or less where the prior set has narrower
bounds (``_reach``); the claim names it, and holds for any r.

Objectives that are 0 have no relative gap. ``floor`` is a tenth of the scale of losses: of a distance or, without one, of the
largest product of an entry of the cost and its feature, in one observation on average. What a column is measured in does not
change that product, so that no column excuses another; the claim names the floor where it decides. A cost vector may miss its
prior set by ``NEAR``, or losses that must not be above 0 by ``NEAR`` of their observation's scale; the claim then says by how
much it does. Such a cost vector may have a smaller objective than all that miss nothing, but not by more than the tolerance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.certificate import Certificate, Statement, digest, require_tolerance, rounded_down, rounded_up, verdict
from surefoot.core.definite import length, square_near
from surefoot.core.enclosure import Enclosure, enclose
from surefoot.exceptions import CertificateError
from surefoot.inverse.certificate.cost_bound import cost_bound, proof_flaw
from surefoot.inverse.certificate.decision_bound import decision_bounds
from surefoot.inverse.certificate.observation import TINY_ROW, cuts, features_of, is_decision, listed, stated, whole_unknowns

if TYPE_CHECKING:
    from surefoot.inverse.problem.cost_proof import CostProof, FacetProof
    from surefoot.inverse.problem.decision_proof import LossProof
    from surefoot.inverse.problem.prior_set import PriorSet
    from surefoot.inverse.problem.problem import Example, InverseProblem

NEAR = 1e-7
# What is missed by less is said to be missed by this: nobody reads 3e-300.
READ = 1e-16
DISTANCES = {"none", "l1", "l2", "linf", "squared-l2", "zero-one", "features", "given"}
FLOOR_FRACTION = 0.1
# Decisions whose cost exceeds the smallest by no more than this are best decisions too, for a cost whose largest entry is 1 and
# whose largest product with a feature is 1 or more; smaller products make it smaller.
TIED = 1e-7


@np.errstate(all="ignore")
def certify_cost(
    problem: InverseProblem,
    theta: FloatArray,
    proof: CostProof | FacetProof | None,
    tolerance: float,
    loss_proofs: Sequence[LossProof | None] | None = None,
) -> Certificate:
    """Judge a cost vector and what is said to prove it best.

    Parameters
    ----------
    problem : InverseProblem
    theta : ndarray
        The cost vector.
    proof : CostProof, FacetProof or None
        A ``FacetProof`` is about the facets of a sphere, on which the cost vector must lie.
    tolerance : float
        The relative gap to prove.
    loss_proofs : sequence, one entry per observation, optional
        Proofs that no decision exceeds a loss, for sets that are neither lists nor vectors of a few 0/1 unknowns. A number is
        what a loss is said not to exceed: it is taken on trust, which is then said and not verified.
    """
    require_cost(problem, theta, tolerance)
    facets, which, radius = _sphere(problem.prior) if hasattr(proof, "proofs") else ([problem.prior], "", 1.0)
    models = f"cost vector of the prior set{which}"
    marks, names = [whole_unknowns(example) for example in problem.examples], problem.distance
    bare = names.integer == "none" or not any(whole.any() for whole in marks)
    bare = bare and (names.continuous == "none" or all(whole.all() for whole in marks))
    if problem.hard:
        above = f"every other decision above the observed one by {_spelled(problem)} or more"
        models += " that prices " + ("no decision below the observed one" if bare else above)
    lower, flaw = _lower(problem, facets, proof)
    outside, (scales, floor) = min(outside_of(facet, theta) for facet in facets), _scales(problem, theta)
    given = [None] * len(problem.examples) if loss_proofs is None else loss_proofs
    on_trust = np.array([isinstance(entry, float) for entry in given])
    claims = np.array([entry if isinstance(entry, float) and entry == entry else np.inf for entry in given])
    losses = np.minimum(decision_bounds(problem.examples, theta, problem.distance, given), claims)
    if losses.min() == -np.inf:
        flaw = flaw or f"nothing shows that observation {problem.examples[int(losses.argmin())].instance.index} has a decision"
    losses = np.where([example.inside or problem.clamp for example in problem.examples], np.maximum(losses, 0.0), losses)
    if bare and not theta.any():
        losses = np.zeros(len(losses))  # nothing is priced, and nothing is rounded
    lost, upper, remarks = losses > NEAR * scales, np.inf, []
    name = f"observation {problem.examples[int(np.argmax(np.where(lost, losses, 0.0)))].instance.index}"
    if losses.max() == np.inf:
        flaw = flaw or f"nothing is proven about the losses of {name}"
    elif outside > NEAR * max(radius, float(np.abs(theta).max())):
        flaw = flaw or f"the cost vector lies outside its prior set by {outside:.3g}"
    elif problem.hard and lost.any():
        flaw = flaw or f"nothing shows that the cost vector explains {name}"
    else:
        remarks += [f"It lies outside its prior set by at most {rounded_up(max(outside, READ), 3)}."] if outside > 0 else []
        if problem.hard and losses.max() > 0:
            remarks.append(f"Its largest loss is not proven to be 0, but at most {rounded_up(max(losses.max(), READ), 3)}.")
        counted = np.zeros(1) if problem.hard else losses
        mean = enclose(counted).sum() / float(len(counted))
        # Nothing at all is 0 without rounding.
        some = (problem.kappa > 0 and np.any(theta != problem.regularizer.center)) or counted.any()
        upper = float((_regularizer(problem, enclose(theta)) + mean).high) if some else 0.0
    trusted = [problem.examples[i].instance.index for i in np.flatnonzero(on_trust)]
    trust = f"the forward solver is right about the losses of observation {trusted[0]}" if trusted else ""
    remark = " ".join(remarks) if flaw or trust or remarks or which else _radius(problem, upper, lower)
    words = Statement(models, _quantity(problem), flaw=flaw, trust=trust, remark=remark)
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
    if (words.remark or words.trust) and upper < lower and not words.flaw:
        if lower - upper > tolerance * max(abs(lower), floor):
            words = replace(words, flaw="what it misses, or was said of its losses, makes its objective smaller than it can be")
        upper = lower
    counted = [is_decision(example) for example in problem.examples]
    false = [each.instance.index for each, is_one in zip(problem.examples, counted, strict=True) if each.inside and not is_one]
    if false:  # nothing that was computed with it holds
        words = replace(words, flaw=f"the response of observation {false[0]} is no decision", remark="")
        upper, lower = np.inf, -np.inf
    outside, rows = len(counted) - sum(counted), stated(problem.examples)
    responses = f"{sum(counted)} of the responses" if outside else "the responses"
    rows = f", decisions being {f'{responses} and ' if any(counted) else ''}all that meets {rows}" if rows else ""
    rows += f"; {outside} of the responses are no decisions" if outside else ""
    rows += ", and negative losses count as 0" if outside and problem.clamp else ""
    count = f"these {len(problem.examples)} observations" if len(problem.examples) > 1 else "this 1 observation"
    return verdict(
        replace(words, scope=f"on {count}{rows}{words.scope}"),
        upper=upper,
        lower=lower,
        tolerance=tolerance,
        witness=proof,
        problem_digest=problem_digest(problem),
        model_digest=digest("cost with room" if "shape" in answer else "cost vector", answer),
        floor=floor if np.isfinite(floor) else 0.0,  # what overflows excuses nothing
    )


@np.errstate(all="ignore")
def certify_predictions(
    problem: InverseProblem, theta: FloatArray, tolerance: float, loss_proofs: Sequence[LossProof | None] | None = None
) -> Certificate:
    """The predictability loss of a cost. Nothing but 0 is proven to bound it from below: it is verified if it is 0.

    Where decisions are too many to list, ``loss_proofs`` can prove that no decision of an observation costs less than the
    response, which is then predicted; nothing else is known there, nor where a number stands for a proof.
    """
    require_cost(problem, theta, tolerance)
    apart = np.full(len(problem.examples), 0.0 if theta.any() else np.inf)
    if theta.any():
        unit, given = enclose(theta) / float(np.abs(theta).max()), loss_proofs or [None] * len(apart)
        bounds = decision_bounds(problem.examples, unit, replace(problem.distance, integer="none", continuous="none"), given)
        # Where nothing is priced all decisions cost the same, but for what enclosures of 0 need.
        tied = TIED * (sizes(problem)[1] * np.abs(unit.mid)).max(axis=1).clip(TINY_ROW, 1.0)
        for i, (example, bound) in enumerate(zip(problem.examples, bounds, strict=True)):
            if not (bound <= tied[i] and is_decision(example)):
                apart[i] = np.inf if isinstance(given[i], float) else _predicted(problem, example, unit, tied[i])
    # Distances that are all 0 have the mean 0 without rounding.
    upper = float((enclose(apart).sum() / float(apart.size)).high) if apart.any() else 0.0
    words = Statement(
        "cost vector",
        "mean distance between observed and predicted decisions",
        flaw="" if np.isfinite(upper) else "the predicted decisions of an observation are not known for certain",
        remark=f"Predicted are all decisions that cost at most {TIED:g} more than the cheapest one, where the largest entry of "
        f"the cost vector is 1; at most {TIED:g} of its largest product with a feature, where that is below 1.",
    )
    return conclude(problem, words, {"theta": theta}, (upper, 0.0), tolerance, None, 0.0)


def _predicted(problem: InverseProblem, example: Example, theta: Enclosure, tied: float) -> float:
    """At or above the distance of the best decisions of an observation; infinite if they cannot be listed, or there is none."""
    points = listed(example.instance.decisions)
    known = listed(example.instance.decisions, proven=True)
    if points is None or known is None or not len(known) or problem.distance.integer == "none":
        return 0.0 if known is not None and len(known) else np.inf
    steep, apart = cuts([(example, points)], problem.distance)
    gains = steep @ theta
    best = gains.low >= gains.high.max() - tied * (1 - 1e-9)
    return float(apart.high[best].min(initial=np.inf))


def require_cost(problem: InverseProblem, theta: FloatArray, tolerance: float) -> None:
    """Raise if this is no cost vector of the problem, or no gap can be at or below the tolerance."""
    require_tolerance(tolerance)
    if not problem.examples or not all(len(getattr(each.instance.decisions, "points", "one")) for each in problem.examples):
        raise CertificateError("there are no observations, or one of them has a list of no decisions.")
    p = problem.prior.lower.size
    if theta.shape != (p,) or theta.dtype != np.float64 or not np.isfinite(theta).all():
        raise CertificateError(f"the cost vector has shape {theta.shape}; {p} finite entries are needed, in doubles.")
    # Whole numbers may overflow, and short floats underflow, where doubles do not; NaN keeps no condition and breaks none.
    for name, part in _parts("problem", problem):
        if isinstance(part, np.ndarray) and (part.dtype != (np.bool_ if name.endswith("whole") else np.float64)):
            raise CertificateError(f"{name} holds {part.dtype}, and is to hold doubles, or truth values for whole unknowns.")
        if isinstance(part, np.ndarray | float) and np.isnan(part).any():
            raise CertificateError(f"{name} holds NaN.")
    known = {problem.distance.integer, problem.distance.continuous} <= DISTANCES and problem.regularizer.kind in ("l1", "l2")
    if not (known and 0 <= problem.kappa < np.inf):
        raise CertificateError("kappa is negative or not finite, or the distance or the regularizer has no name that is known.")


def is_cone(prior: PriorSet) -> bool:
    """Whether every multiple of a member is one."""
    ends = np.concatenate((prior.lower, prior.upper))
    return prior.total is None and bool(np.all((ends == 0) | np.isinf(ends))) and not prior.ceiling.any()


def _sphere(prior: PriorSet) -> tuple[list[PriorSet], str, float]:
    """The facets of the costs of one norm, the words for them, and the norm: one, if a prior set does not hold 0 by itself.

    The facets theta_j = +-r, with all entries within [-r, r] and theta in the prior set, are together all members of the prior
    set whose largest entry, without its sign, is r: what holds on each of them holds for the class that the words name.
    """
    if prior.total or np.any(prior.lower > 0) or np.any(prior.upper < 0) or np.any(prior.ceiling < 0):
        return [prior], "", 1.0
    if np.all(prior.lower >= 0) and is_cone(prior):
        return [replace(prior, total=1.0)], " whose entries sum to 1", 1.0
    radius = _reach(prior)
    lower, upper = np.maximum(prior.lower, -radius), np.minimum(prior.upper, radius)
    # The largest entry of a semidefinite matrix is on its diagonal.
    units = np.delete(np.eye(len(lower)), np.flatnonzero(1 - np.eye(prior.psd)), axis=0) > 0
    ends = [(at, end) for at in units for end in (radius, -radius) if lower[at] <= end <= upper[at]]
    sides = [replace(prior, lower=np.where(at, end, lower), upper=np.where(at, end, upper)) for at, end in ends]
    return sides or [prior], f" whose largest entry, without its sign, is {radius:.17g}", radius


def _reach(prior: PriorSet) -> float:
    """A power of 2, at most 1, so small that all directions of a prior set around 0 have members whose largest entry it is.

    Conditions that hold with equality at 0 (ends of 0, rows with the ceiling 0) hold for all multiples of a member. The others
    hold for every vector whose entries are within [-r, r] if r is at most the size of each end and ceiling / ||row||_1 of each
    row. So the multiple of a member other than 0 whose largest entry is r is a member too: suboptimality, which grows with the
    multiple, is 0 for no member but 0 if it is 0 for none of these. Ceilings are lessened by far more than sums of rows err.
    """
    ends = np.concatenate((-prior.lower, prior.upper, prior.ceiling * (1 - 1e-9) / np.abs(prior.matrix).sum(axis=1)))
    return float(np.ldexp(0.5, np.frexp(np.min(ends, where=ends > 0, initial=1.0))[1]))


def _lower(problem: InverseProblem, facets: list[PriorSet], proof: Any) -> tuple[float, str]:
    """The smallest bound of all facets, and what is wrong with a proof."""
    parts = proof.proofs if hasattr(proof, "proofs") else [proof]
    # No loss is negative where the response is a decision, and no regularizer.
    never = 0.0 if problem.hard or all(example.inside or problem.clamp for example in problem.examples) else -np.inf
    if len(parts) != len(facets):
        return never, "the proof is refused because its facets are not those of a sphere"
    tasks = [(replace(problem, prior=facet), part) for facet, part in zip(facets, parts, strict=True)]
    flaws = ["" if part is None else proof_flaw(task, part) for task, part in tasks]
    if any(flaws):
        return never, next(filter(None, flaws))
    return min(never if part is None else max(never, cost_bound(task, part)) for task, part in tasks), ""


def outside_of(prior: PriorSet, theta: FloatArray) -> float:
    """By how much a cost vector breaks a condition at most."""
    parts = [0.0]
    for broken, end in ((theta < prior.lower, prior.lower), (theta > prior.upper, prior.upper)):
        parts += (enclose(end[broken]) - theta[broken]).size.tolist()
    if prior.total is not None:
        off = abs(sum(map(Fraction, theta.tolist()), Fraction(0)) - Fraction(prior.total))
        parts.append(float(np.nextafter(float(off), np.inf)) if off else 0.0)
    if len(prior.ceiling):
        parts.append(float((enclose(prior.matrix) @ theta - prior.ceiling).high.max()))
    if prior.psd:
        square = theta[: prior.psd**2].reshape(prior.psd, prior.psd)
        parts.append(length(enclose(square) - square_near(square)))
    return max(parts)


def _regularizer(problem: InverseProblem, star: Enclosure) -> Enclosure:
    away = star - problem.regularizer.center
    return problem.kappa * ((away * away).sum() * 0.5 if problem.regularizer.kind == "l2" else abs(away).sum())


def sizes(problem: InverseProblem) -> tuple[FloatArray, FloatArray]:
    """The largest distance of every observation, and its largest features by coordinate, as far as its arrays tell."""
    apart, steep = np.zeros(len(problem.examples)), np.zeros((len(problem.examples), problem.prior.lower.size))
    lists = [i for i, each in enumerate(problem.examples) if hasattr(each.instance.decisions, "points")]
    if lists:
        pairs: Any = [(problem.examples[i], listed(problem.examples[i].instance.decisions)) for i in lists]
        slopes, lengths = cuts(pairs, problem.distance)
        first = np.cumsum([0, *(len(points) for _, points in pairs)])[:-1]
        apart[lists] = np.maximum.reduceat(lengths.low.clip(0.0), first)
        steep[lists] = np.maximum.reduceat(np.abs(slopes.mid), first)
    for i in set(range(len(problem.examples))) - set(lists):
        example, features = problem.examples[i], problem.examples[i].instance.features
        whole, response = whole_unknowns(example).any(), example.response[None, :]
        size = 1.0 if whole else float(np.abs(response).max(initial=0.0)) or 1.0
        apart[i] = 0.0 if (problem.distance.integer if whole else problem.distance.continuous) == "none" else size
        steep[i] = np.abs(getattr(features, "matrix", features_of(features, response).mid.T)).max(axis=1, initial=0.0)
    return apart, steep


def _scales(problem: InverseProblem, theta: FloatArray) -> tuple[FloatArray, float]:
    """The scale of the loss of every observation: a distance, or what the cost vector makes of a feature; the floor of gaps."""
    apart, steep = sizes(problem)
    scales = np.where(apart > 0, apart, (steep * np.abs(theta)).max(axis=1)).clip(TINY_ROW)
    if not problem.hard:
        return scales, FLOOR_FRACTION * float(np.mean(scales))
    # Losses that must be 0 are no objective: the regularizer of a cost with losses like distances, or of the centre's least.
    center = np.abs(problem.regularizer.center)
    per_unit = apart.any() and steep.any()  # under features that are all alike no cost has such losses
    least = float(np.mean(apart) / np.mean(steep.max(axis=1))) if per_unit else center[center > 0].min(initial=center.max())
    return scales, FLOOR_FRACTION * problem.kappa * (least * least / 2 if problem.regularizer.kind == "l2" else least)


def _radius(problem: InverseProblem, upper: float, lower: float) -> str:
    """What an incenter says about angles, where the distance of a decision is the length of its slope."""
    named, plain = problem.distance.integer, problem.hard and problem.regularizer.kind == "l2" and problem.kappa == 1
    plain = plain and named in ("l2", "features") and is_cone(problem.prior) and not problem.regularizer.center.any()
    for example in problem.examples:
        matrix = getattr(example.instance.features, "matrix", np.empty(0))
        same = named == "features" or np.array_equal(matrix, np.eye(example.response.size))
        plain = plain and same and bool(whole_unknowns(example).all())
    if not plain or not lower > 0:
        return ""
    least, most = 1.0 / (2.0 * enclose(upper)).sqrt(), 1.0 / (2.0 * enclose(lower)).sqrt()
    return (
        "The sine of its angle to the nearest cost vector that another decision refutes is at least "
        f"{rounded_down(float(least.low))}, and for no cost vector of the prior set is it above {rounded_up(float(most.high))}."
    )


def _quantity(problem: InverseProblem) -> str:
    squared = problem.regularizer.kind == "l2"
    regularizer = "halved squared Euclidean distance from the centre" if squared else "distance from the centre in the l1 norm"
    if problem.hard:
        return regularizer if problem.kappa == 1 else f"multiple by {problem.kappa!r} of the {regularizer}"
    penalty = f" plus {problem.kappa!r} times the {regularizer}" if problem.kappa else ""
    return f"mean suboptimality loss with {_spelled(problem)}{penalty}"


def _spelled(problem: InverseProblem) -> str:
    """The distance in words."""
    continuous, integer = problem.distance.continuous, problem.distance.integer
    whole = np.concatenate([whole_unknowns(example) for example in problem.examples])
    if integer == "given":
        return "the distances that a function of the caller's returned"
    if whole.all() or not whole.any() or continuous == integer == "none":
        return f"the distance {(integer if whole.any() else continuous)!r}"
    return f"the distances {continuous!r} of continuous and {integer!r} of whole unknowns"


def problem_digest(problem: InverseProblem) -> str:
    """Fingerprint of everything that defines the optimum; of a caller's function its values at the response, or the list."""
    parts = dict(_parts("problem", problem))
    for i, example in enumerate(problem.examples):
        points = getattr(example.instance.decisions, "points", example.response[None, :])
        if not hasattr(example.instance.features, "matrix"):
            parts[f"{i} features"] = features_of(example.instance.features, points).mid
    return digest("inverse problem", parts)


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Arrays, numbers and texts in a record, by name."""
    if isinstance(value, tuple | list):
        for k, part in enumerate(value):
            yield from _parts(f"{name} {k}", part)
    elif is_dataclass(value):
        for each in fields(value):
            yield from _parts(f"{name} {type(value).__name__} {each.name}", getattr(value, each.name))
    elif not callable(value):
        yield name, value
