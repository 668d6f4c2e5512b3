"""Certificates of learned costs: bounds on the optimal objective, recomputed from the raw arrays.

The upper bound is the objective at the cost vector itself: no decision exceeds the losses claimed for it
(:mod:`surefoot.inverse.certificate.decision_bound`). The lower bound is that of :mod:`surefoot.inverse.problem.cost_proof`:
every decision of the proof is checked to be one, and its features and distances are computed anew. Nothing here knows how cost
and proof were found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray, IntArray
from surefoot.core.certificate import Certificate, require_tolerance
from surefoot.exceptions import CertificateError
from surefoot.inverse.certificate.decision_bound import decision_bound
from surefoot.inverse.certificate.parameters import CostTolerances
from surefoot.inverse.problem.cost_proof import CostProof, FacetProof, proven_bound
from surefoot.inverse.problem.decision_proof import LossProof
from surefoot.inverse.problem.problem import InverseProblem

TOLERANCES = CostTolerances()


def certify_cost(
    problem: InverseProblem,
    theta: FloatArray,
    losses: FloatArray,
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
    losses : ndarray, one per observation
        What its losses are said not to exceed.
    proof : CostProof, FacetProof or None
        A ``FacetProof`` is about the facets of a sphere, on which the cost vector must lie.
    tolerance : float
        The relative gap to prove; what rounding may cost is allowed besides.
    loss_proofs : sequence, one entry per observation, optional
        Proofs that no decision exceeds a loss, for linear sets with unknowns that are not 0/1, quadratic costs and ellipsoids.

    Returns
    -------
    Certificate
        ``verified`` needs losses that could be recomputed: of lists and sets of 0/1 unknowns, and of others where
        ``loss_proofs`` prove them. ``claim`` says so where they could not be (solvers of the caller's own), and the upper
        bound is then as good as the forward solver.
    """
    require_tolerance(tolerance)
    if theta.shape != (problem.n_features,) or not np.isfinite(theta).all():
        raise CertificateError(f"the cost vector has shape {theta.shape}; {problem.n_features} finite entries are needed.")
    if losses.shape != (problem.n_examples,):
        raise CertificateError(f"{losses.size} losses were given; there are {problem.n_examples} observations.")
    proofs = _by_facet(problem, proof)
    lower, reason = _lower(proofs)
    bounds, known = checked_losses(problem, theta, losses, loss_proofs)
    outside = min(task.prior.excess(theta) for task, _ in proofs)
    if outside > TOLERANCES.prior * max(1.0, float(np.abs(theta).max())):
        upper, reason = np.inf, reason or f"the cost vector lies outside its prior set by {outside:.3g}."
    elif problem.hard and bounds.max() > TOLERANCES.hard_loss:
        upper, reason = np.inf, reason or f"observation {_worst(problem, bounds)} is not explained by the cost vector."
    else:
        upper = problem.objective(theta, bounds)
    gap = upper - lower
    relative = gap / abs(upper) if upper else gap
    proven = bool(np.isfinite(upper) and gap <= tolerance * abs(upper) + TOLERANCES.loss)
    claim = reason or _claim(problem, upper, lower, known, _limit(proofs, upper))
    return Certificate(
        claim, upper, lower, gap, relative, tolerance, proof, bool(proven and known.all() and not reason), problem.digest()
    )


def checked_losses(
    problem: InverseProblem,
    theta: FloatArray,
    losses: FloatArray,
    loss_proofs: Sequence[LossProof | None] | None = None,
) -> tuple[FloatArray, BoolArray]:
    """Bounds on the losses at a cost vector, and which of them were recomputed."""
    bounds, known = np.empty(problem.n_examples), np.ones(problem.n_examples, dtype=np.bool_)
    for i, example in enumerate(problem.examples):
        proof = None if loss_proofs is None else loss_proofs[i]
        found = decision_bound(example, theta, problem.distance, float(losses[i]), proof=proof)
        known[i] = found is not None
        bounds[i] = losses[i] if found is None else found
        if (example.inside or problem.clamp) and bounds[i] <= TOLERANCES.loss:
            bounds[i] = 0.0
    return bounds, known


def proof_flaw(problem: InverseProblem, proof: CostProof) -> str:
    """What is wrong with a proof, or nothing."""
    if len(proof.owners) != len(proof.weights):
        return "the proof is refused because owners and weights differ in number."
    if proof.row_prices.shape != problem.prior.ceiling.shape:
        return "the proof is refused because its prices are not those of the prior set's rows."
    if not np.isfinite(proof.weights).all():
        return "the proof is refused because its weights are not finite."
    return decisions_flaw(problem, proof.owners, proof.points)


def decisions_flaw(problem: InverseProblem, owners: IntArray, given: Sequence[FloatArray]) -> str:
    """What is wrong with the decisions of a proof, or nothing."""
    if len(owners) != len(given):
        return "the proof is refused because owners and decisions differ in number."
    for owner in sorted(set(owners.tolist())):
        if not 0 <= owner < problem.n_examples:
            return f"the proof is refused because observation {owner} does not exist."
        example = problem.examples[owner]
        points = [point for whose, point in zip(owners.tolist(), given, strict=True) if whose == owner]
        if any(point.shape != example.response.shape for point in points) or not (
            example.instance.decisions.allowed(np.array(points)).all()
        ):
            return f"the proof is refused because it uses a point that is no decision of observation {example.index}."
    return ""


def _by_facet(
    problem: InverseProblem, proof: CostProof | FacetProof | None
) -> Sequence[tuple[InverseProblem, CostProof | None]]:
    if isinstance(proof, FacetProof):
        return [(replace(problem, prior=facet), part) for facet, part in zip(proof.facets, proof.proofs, strict=True)]
    return [(problem, proof)]


def _lower(proofs: Sequence[tuple[InverseProblem, CostProof | None]]) -> tuple[float, str]:
    """The smallest bound of all parts, and what is wrong with one."""
    lowest, reason = np.inf, ""
    for task, proof in proofs:
        # No loss is negative where the response is a decision, and no regularizer.
        bound = 0.0 if task.hard or all(example.inside or task.clamp for example in task.examples) else -np.inf
        if proof is not None:
            wrong = proof_flaw(task, proof)
            reason = reason or wrong
            if not wrong:
                bound = max(bound, proven_bound(task, task.cuts(proof.owners.tolist(), proof.points), proof))
        lowest = min(lowest, bound)
    return lowest, reason


def _worst(problem: InverseProblem, bounds: FloatArray) -> int:
    return problem.examples[int(np.argmax(bounds))].index


def _limit(proofs: Sequence[tuple[InverseProblem, CostProof | None]], upper: float) -> float:
    """Radius around the centre within which the bounds hold: infinite if no better cost vector lies outside."""
    limit = np.inf
    for task, proof in proofs:
        radius = np.inf if proof is None else proof.reach
        center, prior = task.regularizer.center, task.prior
        highest = prior.upper
        if prior.total is not None and np.isfinite(prior.lower).all():
            # What all others leave of the sum.
            highest = np.minimum(highest, prior.lower + (prior.total - prior.lower.sum()))
        ends = np.maximum(highest - center, center - prior.lower).max()
        affordable = upper / task.kappa if task.kappa > 0 and task.regularizer.kind == "l1" else np.inf
        if min(ends, affordable) > radius:
            limit = min(limit, radius)
    return limit


def _claim(problem: InverseProblem, upper: float, lower: float, known: BoolArray, limit: float) -> str:
    if problem.hard and problem.scalable and problem.regularizer.kind == "l2" and lower > 0:
        most, least = 1.0 / np.sqrt(2 * lower), 1.0 / np.sqrt(2 * upper)
        text = f"the cone of consistent costs has a radius between {least:.9g} and {most:.9g}; this cost has the smaller one"
    else:
        whose = "no cost vector" if lower <= 0 or np.isinf(limit) else f"no cost vector within {limit:g} of the centre"
        text = f"{whose} has an objective below {lower:.9g}; this one has {upper:.9g}"
    if known.all():
        return text + "."
    missing = problem.examples[int(np.argmin(known))].index
    return text + f", if the forward solver is right about its losses, which was not recomputed (observation {missing})."
