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
from surefoot.core.certificate import Certificate, Statement, digest, require_tolerance, verdict
from surefoot.core.enclosure import enclose
from surefoot.exceptions import CertificateError
from surefoot.riskscore.certificate.card_table import CardTable
from surefoot.riskscore.certificate.claim_bounds import WorstCard, bounds_of
from surefoot.riskscore.certificate.loss_planes import LossPlanes, smaller, tangents
from surefoot.riskscore.certificate.proof_reader import LARGEST_POINT, ProofReader, RefusedProofError
from surefoot.riskscore.certificate.row_cells import CountedCells, RowCells

if TYPE_CHECKING:
    from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
    from surefoot.riskscore.problem.score_proof import ScoreProof

# A proof whose claims fall short of its threshold by more, relative to it, is refused rather than taken for less.
SHORT = 1e-6


@np.errstate(all="ignore")
def certify_risk_score(
    problem: RiskScoreProblem,
    card: RiskScore,
    proof: ScoreProof | None,
    tolerance: float,
    *,
    tangent: FloatArray | None = None,
    max_claims: int | None = None,
    max_seconds: float = np.inf,
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
        The relative gap to prove.
    tangent : ndarray of shape (n_columns + 1,), optional
        Coefficients, intercept first, at which a tangent plane bounds the loss of all cards.
    max_claims : int, optional
        Recompute at most so many claims, drawn at random with ``random_state``. The others are then taken on trust, the
        certificate says so, and it is not verified. All are recomputed unless this is given.
    max_seconds : float, optional
        Claims that are left after so many seconds are taken on trust as well; that the proof covers all cards is checked
        nevertheless.
    random_state : int, default=0

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
    table = CardTable(problem)
    n_columns = table.columns.shape[1]
    points = np.asarray(card.points)
    if points.shape != (n_columns,) or np.any(points != np.round(points)):
        raise CertificateError(f"a card has {n_columns} whole points here, not points of shape {points.shape}: {points!s:.80}.")
    fingerprint = table.digest()
    flaw = table.flaw_of(card)
    upper = np.inf if flaw else _objective(table, card)
    lower, trust, remark, witness = 0.0, "", "", None
    if tangent is not None:
        lower = max(lower, _tangent_bound(table, np.asarray(tangent, dtype=np.float64)))
    if proof is not None:
        try:
            proven, trust, remark = _proven_bound(table, proof, fingerprint, max_claims, max_seconds, random_state)
            lower, witness = max(lower, proven), proof
        except RefusedProofError as refusal:
            flaw = flaw or f"the proof is refused because {refusal}"
    rules = ", and these rules to 1e-9" if table.rules else ""
    shift = " under the worst shift of these rows within this radius" if table.radius > 0 else " on these rows"
    return verdict(
        Statement(
            models=f"score card on these columns that keeps these limits of points and columns{rules}",
            quantity="penalised log loss" if table.penalty > 0 else "log loss",
            scope=shift.strip(),
            flaw=flaw,
            trust=trust,
            remark=remark,
        ),
        upper=upper,
        lower=lower,
        tolerance=tolerance,
        witness=witness,
        problem_digest=fingerprint,
        model_digest=digest(
            "score card", {"intercept": int(card.intercept), "points": points, "multiplier": float(card.multiplier)}
        ),
    )


def _objective(table: CardTable, card: RiskScore) -> float:
    """A number at or above the objective of the card."""
    used, scale = np.flatnonzero(card.points), 1.0 / float(card.multiplier)
    points = np.append(float(card.intercept), np.asarray(card.points)[used].astype(np.float64))
    penalty = enclose(table.penalty) * used.size
    if table.radius > 0:
        loss = enclose(WorstCard(used, points, LossPlanes(table, RowCells(table))).objective(scale))
    else:
        scores = (points[0] + table.columns[:, used] @ enclose(points[1:])) / float(card.multiplier)
        loss = (table.weights * (-table.labels * scores).softplus()).sum()
    return float((loss + penalty).high)


def _tangent_bound(table: CardTable, point: FloatArray) -> float:
    """Bound on every card from the plane at a point with an entry for the intercept and for every column."""
    if point.shape != (table.columns.shape[1] + 1,):
        raise CertificateError(
            f"the tangent's point has shape {point.shape}; it needs an intercept and {table.columns.shape[1]} columns."
        )
    if not np.all(np.abs(point) < LARGEST_POINT):
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        up, down, height = tangents(np.nan_to_num(point[0] + table.columns @ point[1:]))
    # choose is spelled out by labels: u of negative rows, minus u of positive ones.
    negative = (table.labels < 0).astype(np.float64)
    residuals = (up * negative - down * (1.0 - negative)) * table.weights
    slope, slopes = residuals.sum(), table.columns.T[table.usable] @ residuals
    gains = -smaller(slopes * table.lower[table.usable], slopes * table.upper[table.usable])
    bounds = []
    for t in table.scales:
        worth = np.sort((gains * t - table.penalty).high)[::-1][: table.size]
        start = smaller(slope * (t * table.intercepts[0]), slope * (t * table.intercepts[1]))
        bounds.append(float(((height * table.weights).sum() + start - enclose(np.maximum(worth, 0.0)).sum()).low))
    return max(min(bounds), 0.0)


def _proven_bound(
    table: CardTable, proof: ScoreProof, fingerprint: str, max_claims: int | None, max_seconds: float, random_state: int
) -> tuple[float, str, str]:
    """What the proof proves, what of it was taken on trust, and a sentence on what was recomputed."""
    started = time.monotonic()
    if proof.problem_digest != fingerprint:
        raise RefusedProofError("it is about other data")
    threshold = float(proof.threshold)
    if not np.isfinite(threshold):
        raise RefusedProofError(f"its threshold is {threshold}")
    reader = ProofReader(table, proof)
    counted = CountedCells.suits(table, reader.columns)
    planes = LossPlanes(table, CountedCells(table, reader.columns) if counted else RowCells(table))
    n_claims, n_checked, least = 0, 0, np.inf
    chosen = None
    if max_claims is not None:
        total = sum(len(part) for part in ProofReader(table, proof).claims())
        chosen = np.sort(np.random.default_rng(random_state).choice(total, min(max_claims, total), replace=False))
    for part in reader.claims():
        own = part
        if chosen is not None:
            at = chosen[(chosen >= n_claims) & (chosen < n_claims + len(part))] - n_claims
            own = part.take(at)
        n_claims += len(part)
        if time.monotonic() - started > max_seconds:
            continue
        n_checked += len(own)
        if len(own):
            bounds = bounds_of(own, planes, reader.intercepts, threshold)
            worst = int(np.argmin(bounds))
            if not bounds[worst] >= threshold - SHORT * max(abs(threshold), 1e-3):
                columns = tuple(own.support[worst].tolist())
                raise RefusedProofError(f"its claim on columns {columns} proves {bounds[worst]:.10g}, not {threshold:.10g}")
            least = min(least, float(bounds[worst]))
    remark = f"All {n_claims:,} claims of its proof were recomputed."
    trust = ""
    if n_checked < n_claims:
        trust = f"{n_claims - n_checked:,} of the {n_claims:,} claims of its proof hold"
        drawn = "" if max_claims is None else f", drawn with random_state={random_state}"
        remark = f"Recomputed were {n_checked:,} of the {n_claims:,} claims of its proof{drawn}."
    return min(least, threshold), trust, remark
