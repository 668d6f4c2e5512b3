"""The verdict on a score card: is none better, within these limits and rules, on these columns and rows?

    lower bound  <=  objective of every admissible card,      upper bound >= objective of the card at hand.

Both are ends of enclosures, computed from the raw columns. ``proof_reader`` checks that the proof covers every support and
every card, ``claim_bounds`` what each of its claims proves. The least of that is the lower bound. Without a proof, a single
point with an entry for every column proves a weaker bound; without either it is 0, since the loss is positive. Nothing here
knows how card and proof were found.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.certificate import Certificate, Statement, digest, require_tolerance, rounded_down, verdict
from surefoot.core.enclosure import Enclosure, enclose
from surefoot.exceptions import CertificateError
from surefoot.riskscore.certificate.card_table import LARGEST_WHOLE, Card, CardTable
from surefoot.riskscore.certificate.claim_bounds import Ways, bounds_of
from surefoot.riskscore.certificate.counted_planes import CountedPlanes
from surefoot.riskscore.certificate.loss_planes import LossPlanes, smaller
from surefoot.riskscore.certificate.proof_reader import LARGEST_POINT, ProofReader, RefusedProofError
from surefoot.riskscore.certificate.subset_counts import SubsetCounts

if TYPE_CHECKING:
    from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
    from surefoot.riskscore.problem.score_proof import ScoreProof

# A proof whose claims fall short of its threshold by more, relative to it, is refused rather than taken for less.
SHORT = 1e-6
# Where entries are larger, rounding may be why a claim falls short, and the refusal says so.
DEAR = 1e6


@np.errstate(all="ignore")
def certify_risk_score(
    problem: RiskScoreProblem,
    card: RiskScore,
    proof: ScoreProof | None,
    tolerance: float,
    *,
    tangent: FloatArray | None = None,
    price: float = 0.0,
    max_seconds: float = np.inf,
) -> Certificate:
    """Judge a score card and what is said to prove it best.

    Parameters
    ----------
    problem : RiskScoreProblem
    card : RiskScore
    proof : ScoreProof or None
        Refused if it is about other data, leaves cards out, or has a claim that does not hold.
    tolerance : float
        The relative gap to prove.
    tangent : ndarray of shape (n_columns + 1,), optional
        Coefficients, intercept first, at which a tangent plane bounds the loss of all cards.
    price : float, optional
        Under a shift: the price lambda of the card's worst loss. Any number at or above 0 will do, but only a good one gives a
        good upper bound.
    max_seconds : float, optional
        Claims that are left after so many seconds are not recomputed: the certificate says how many, and the proof then proves
        nothing. That it covers all cards is checked nevertheless, without looking at the rows.

    Returns
    -------
    Certificate
        ``witness`` is the proof, if accepted.

    Raises
    ------
    CertificateError
        If the problem's own arrays break its conventions, or card or tangent do not have one entry per column.
    """
    require_tolerance(tolerance)
    until = time.monotonic() + max_seconds
    table = CardTable(problem)
    n_columns = table.columns.shape[1]
    points = np.asarray(card.points)
    numbers = np.append(points, card.intercept)
    if points.shape != (n_columns,) or not np.all((np.abs(numbers) < LARGEST_WHOLE) & (numbers == np.round(numbers))):
        raise CertificateError(f"a card has {n_columns} whole points and a whole intercept here, not {numbers!s:.80}.")
    # One form for limits, objective and fingerprint, whatever the numbers came in.
    judged = Card(points.astype(np.int64), int(card.intercept), float(card.multiplier))
    fingerprint = table.digest()
    flaw = table.flaw_of(judged)
    planes = LossPlanes(table)
    upper = np.inf if flaw else _objective(planes, judged, price)
    lower, remark, witness = 0.0, "", None
    if tangent is not None:
        lower = max(lower, _tangent_bound(planes, np.asarray(tangent, dtype=np.float64)))
    if proof is not None:
        try:
            proven, remark = _proven_bound(planes, proof, fingerprint, until)
            lower, witness = max(lower, proven), proof
        except RefusedProofError as refusal:
            flaw = flaw or f"the proof is refused because {refusal}"
    remark = remark or ("" if lower > 0 else "No loss is below 0, so this says nothing about better cards.")
    rules = ", and these rules" if table.rules else ""
    bounded = {"LinearRule", "RateRule", "FairRule", "FairRiskRule", "BudgetRule"} & {kind for kind, _ in table.rules}
    rules += " (risks, rates and costs to 1e-9)" if bounded else ""
    rules += ", at a multiplier of its range (to a factor of 1e-12)" if table.free else ""
    shift = f"under the worst shift within a radius of {table.radius!r} at these prices " if table.radius > 0 else ""
    return verdict(
        Statement(
            models=f"score card on these columns that keeps these limits of points and columns{rules}",
            quantity="penalised log loss" if table.penalty > 0 else "log loss",
            scope=f"{shift}on these rows with their weights",
            flaw=flaw,
            remark=remark,
        ),
        upper=upper,
        lower=lower,
        tolerance=tolerance,
        witness=witness,
        problem_digest=fingerprint,
        model_digest=digest("score card", {name: getattr(judged, name) for name in ("intercept", "points", "multiplier")}),
    )


def _objective(planes: LossPlanes, card: Card, price: float) -> float:
    """A number at or above the objective of the card; without a shift every row stays as it is."""
    used = np.flatnonzero(card.points)
    points = np.append(float(card.intercept), card.points[used].astype(np.float64))
    worst = planes.worst_loss(used, points, 1.0 / enclose(card.multiplier), price)
    return float((worst + enclose(planes.table.penalty) * used.size).high)


def _tangent_bound(planes: LossPlanes, point: FloatArray) -> float:
    """Bound on every card from the plane at a point with an entry for the intercept and for every column."""
    table = planes.table
    n_columns = table.columns.shape[1]
    if point.shape != (n_columns + 1,):
        raise CertificateError(f"the tangent's point has shape {point.shape}; it needs an intercept and {n_columns} columns.")
    if not np.all(np.abs(point) < LARGEST_POINT):
        return 0.0
    # Without shifts the loss is no larger.
    found = planes.plain(np.arange(n_columns)[None, :], point[None, :], point[None, :])
    slope, slopes = found.gradient[0, 0], found.gradient[0, 1:][table.usable]
    gains = -smaller(slopes * table.lower[table.usable], slopes * table.upper[table.usable])
    bounds = []
    for t in table.scales:
        worth = np.sort((gains * t - table.penalty).high)[::-1][: table.size]
        start = smaller(slope * (t * table.intercepts[0]), slope * (t * table.intercepts[1]))
        bounds.append(float((found.constant[0] + start - enclose(np.maximum(worth, 0.0)).sum()).low))
    return max(min(bounds), 0.0)


def _proven_bound(planes: LossPlanes, proof: ScoreProof, fingerprint: str, until: float) -> tuple[float, str]:
    """What the proof proves, and a sentence on what of it was recomputed until a moment of the clock."""
    if proof.problem_digest != fingerprint:
        raise RefusedProofError("it is about other data")
    threshold = float(proof.threshold)
    if not np.isfinite(threshold):
        raise RefusedProofError(f"its threshold is {threshold}")
    reader = ProofReader(planes.table, proof)
    ways: Ways = [planes]
    counted = None
    if time.monotonic() < until and SubsetCounts.suits(planes.table, reader.columns):
        counts = SubsetCounts(planes.table, reader.columns)
        counted = CountedPlanes(planes.table, counts, exact=True)
        if type(enclose(0.0)) is Enclosure:
            ways = [CountedPlanes(planes.table, counts, exact=False), counted, planes]
    # What a claim must prove, at least, to count as one that holds.
    enough = threshold - SHORT * max(abs(threshold), 1e-3)
    n_claims, n_checked, least = 0, 0, threshold
    for part in reader.claims():
        n_claims += len(part)
        bounds = bounds_of(part, ways, threshold, until, counted)
        holds = bounds >= enough
        # Claims that were left when the time was over may hold or not: they are not recomputed, and not refused.
        if not (holds.all() or time.monotonic() > until):
            columns = part.support[np.argmin(bounds)].tolist()
            largest = np.abs(planes.table.columns[:, columns]).max(initial=0.0)
            why = f" (entries up to {largest:.1e} leave few digits: take off what rows share)" if largest > DEAR else ""
            raise RefusedProofError(
                f"its claim on columns {tuple(columns)} proves {bounds.min():.10g}, not {threshold:.10g}{why}"
            )
        n_checked += int(np.count_nonzero(holds))
        least = float(np.min(bounds[holds], initial=least))
    if n_checked == n_claims:
        return least, f"All {n_claims:,} claims of its proof were recomputed."
    believed = f"if the others hold, no such card is below {rounded_down(min(least, enough))}"
    return 0.0, f"Recomputed were {n_checked:,} of the {n_claims:,} claims of its proof; {believed}."
