"""The verdict on a score card.

    lower bound  <=  objective of every admissible card,      upper bound = objective of the card at hand.

Both sides are recomputed from the raw columns with NumPy:

- ``proof_reader``: does the proof cover every support and, within supports, every card;
- ``score_bounds``: what each of its claims proves, by the tangent bound of a convex loss.

Coverage is always checked as a whole. Claims are all recomputed where there are few enough of them; otherwise a random sample
is, and the claim of the certificate says how many of how many. Without a proof, a single point with an entry for every
column proves a weaker bound; without either the bound is 0, since the loss is positive. Nothing here knows how card and
proof were found.
"""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.certificate import Certificate, require_tolerance
from surefoot.exceptions import CertificateError
from surefoot.riskscore.certificate.proof_reader import LARGEST_POINT, read_proof
from surefoot.riskscore.certificate.score_bounds import ScoreBounds
from surefoot.riskscore.certificate.score_claims import Claim, NodeClaim, RefusedProofError
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.problem.score_proof import ScoreProof


def certify_risk_score(
    problem: RiskScoreProblem,
    card: RiskScore,
    proof: ScoreProof | None,
    tolerance: float,
    *,
    tangent: FloatArray | None = None,
    max_claims: int = 2000,
    random_state: int = 0,
) -> Certificate:
    """Judge a score card and what is said to prove it best.

    Parameters
    ----------
    problem : RiskScoreProblem
    card : RiskScore
    proof : ScoreProof or None
        Refused if it is about other data, leaves cards out, or has a claim that does not hold.
    tolerance : float
        The relative gap to prove; what rounding may cost is allowed on top.
    tangent : ndarray of shape (n_columns + 1,), optional
        Coefficients, intercept first, at which a tangent plane bounds the loss of all cards.
    max_claims : int, default=2000
        Proofs with more claims are checked by a sample of so many of them.
    random_state : int, default=0
        Draws the sample.

    Returns
    -------
    Certificate
        ``witness`` is the proof, if accepted. ``claim`` says what was recomputed.

    Raises
    ------
    CertificateError
        If the problem's own arrays break its conventions, or card or tangent do not have one entry per column.
    """
    require_tolerance(tolerance)
    try:
        problem.check()
    except ValueError as flaw:
        raise CertificateError(f"the problem breaks its own conventions: {flaw}") from flaw
    if card.points.shape != (problem.n_columns,):
        raise CertificateError(f"the card has points of shape {card.points.shape}; the table has {problem.n_columns} columns.")
    bounds = ScoreBounds(problem, None if proof is None else proof.intercepts)
    digest = problem.digest()
    upper, reason = (problem.objective(card), "") if problem.admits(card) else (np.inf, "the card breaks limits or rules")
    lower, checked, witness = 0.0, "", None
    if tangent is not None:
        lower = max(lower, _tangent_bound(bounds, tangent))
    if proof is not None:
        try:
            proven, checked = _proven_bound(bounds, proof, digest, max_claims, random_state)
            lower, witness = max(lower, proven), proof
        except RefusedProofError as refusal:
            reason = reason or f"the proof is refused because {refusal}"
    used = tuple(np.flatnonzero(card.points).tolist())
    rounding = 2 * bounds.slack(used, np.append(card.intercept, card.points[list(used)]) / card.multiplier)
    return _verdict(upper, lower, rounding, tolerance, witness, reason, checked, digest)


def _tangent_bound(bounds: ScoreBounds, tangent: FloatArray) -> float:
    point = np.asarray(tangent, dtype=np.float64)
    if point.shape != (bounds.problem.n_columns + 1,):
        raise CertificateError(
            f"the tangent's point has shape {point.shape}; it needs an intercept and {bounds.problem.n_columns} columns."
        )
    if not np.all(np.abs(point) < LARGEST_POINT):
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        bound = bounds.everywhere(point)
    return bound if np.isfinite(bound) else 0.0


def _proven_bound(bounds: ScoreBounds, proof: ScoreProof, digest: str, max_claims: int, random_state: int) -> tuple[float, str]:
    """What the proof proves, and a sentence on how that was checked."""
    if proof.problem_digest != digest:
        raise RefusedProofError("it is about other data")
    if not np.isfinite(proof.threshold):
        raise RefusedProofError(f"its threshold is {proof.threshold}")
    claims = read_proof(bounds.problem, proof)
    chosen = np.arange(len(claims))
    if len(claims) > max_claims:
        chosen = np.random.default_rng(random_state).choice(chosen, max_claims, replace=False)
    least = np.inf
    for at in chosen.tolist():
        bound = bounds.of(claims[at])
        if not bound >= proof.threshold - _allowance(bounds, claims[at]):
            raise RefusedProofError(f"{_named(claims[at])} proves {bound:.10g}, not {proof.threshold:.10g}")
        least = min(least, bound)
    if len(claims) <= max_claims:
        return min(least, proof.threshold), f"all {len(claims)} claims of its proof were recomputed"
    return (
        min(least, proof.threshold),
        f"its proof covers every card, and {max_claims} of its {len(claims)} claims, drawn with random_state={random_state}, "
        "were recomputed; the others are taken from the search",
    )


def _allowance(bounds: ScoreBounds, claim: Claim) -> float:
    """What rounding may cost those who wrote a claim and those who read it, wherever in the limits its point is."""
    support = claim.prefix if isinstance(claim, NodeClaim) else claim.support
    return 4 * bounds.slack(support, np.zeros(len(support) + 1))


def _named(claim: Claim) -> str:
    return f"its node at columns {claim.prefix}" if isinstance(claim, NodeClaim) else f"its leaf at columns {claim.support}"


def _verdict(
    upper: float,
    lower: float,
    rounding: float,
    tolerance: float,
    witness: ScoreProof | None,
    reason: str,
    checked: str,
    digest: str,
) -> Certificate:
    gap = upper - lower
    relative_gap = gap / upper if 0 < upper < np.inf else gap
    consistent = gap >= -rounding
    if np.isfinite(upper) and not consistent:
        reason = "the bounds contradict each other, so at least one of them is wrong"
    verified = bool(np.isfinite(upper) and consistent and gap <= tolerance * abs(upper) + 2 * rounding)
    how = f"; {checked}" if checked else ""
    if verified:
        claim = (
            f"No admissible score card has an objective below {lower:.10g} on these data; this one has {upper:.10g}, so it is "
            f"optimal to a relative gap of {max(relative_gap, 0.0):.1e} (asked for: {tolerance:.1e}){how}."
        )
    else:
        reason = reason or f"the relative gap {relative_gap:.1e} is above the tolerance {tolerance:.1e}"
        claim = (
            f"Not proven optimal: this card has an objective of {upper:.10g}, and no admissible card has one below "
            f"{lower:.10g}{how}; {reason}."
        )
    return Certificate(
        claim=claim,
        upper_bound=upper,
        lower_bound=lower,
        gap=gap,
        relative_gap=relative_gap,
        tolerance=tolerance,
        witness=witness,
        verified=verified,
        problem_digest=digest,
    )
