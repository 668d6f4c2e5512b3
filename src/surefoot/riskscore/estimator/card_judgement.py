"""A card from elsewhere on trial: how well it does on a table, and how far it is from the best card under the same rules.

A published or hand-made card is a card like any other, so the question has an exact answer. The class of cards that it is
compared with are those of its own form: as many questions, points as large, whole, at the same kind of scale, and whatever
rules are added. The search finds the best of them, and the certificate of the card at hand takes that search's proof:

    lower bound  <=  loss of every card of the class  <=  ...  <=  loss of the card at hand.

What a wrong intercept costs is told apart from what wrong points cost. With z the card's log odds, the loss of the logistic
regression of the labels on z (calibration intercept and slope; Cox, Biometrika 1958) is what is left once z is moved and
stretched as suits the table best.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

from surefoot.core.certificate import Certificate, rounded_down
from surefoot.reports.card.scored_rows import ScoreGroup, score_groups, scored_rows
from surefoot.reports.evidence.calibration import Interval, recalibration
from surefoot.reports.wording import totals_text
from surefoot.riskscore.certificate.certificate import certify_risk_score
from surefoot.riskscore.estimator.printed_card import print_card, value_ranges
from surefoot.riskscore.problem.problem import RiskScore
from surefoot.riskscore.registry import require_score_acceptance

if TYPE_CHECKING:
    from surefoot.reports.card.score_card import ScoreCard
    from surefoot.riskscore.estimator.risk_score import RiskScoreClassifier

# Intercepts of the cards that a card is compared with go this far, or as far as its own.
_INTERCEPTS = 100


@dataclass(frozen=True)
class CardJudgement:
    """What a table says about a card, and what is proven about better ones.

    Attributes
    ----------
    loss : float
        Mean log loss of the card's risks.
    calibrated_loss : float
        The same once its log odds are moved and stretched as suits the table best; NaN where they cannot be.
    calibration_intercept, calibration_slope : float
        That move and stretch: 0 and 1 for a card whose risks are right.
    calibration_intercept_interval, calibration_slope_interval : tuple of float
        Their 95 % intervals, with weights counted as numbers of rows.
    calibration_in_the_large : float
        The move alone, without a stretch.
    calibration_in_the_large_interval : tuple of float
    observed, predicted : float
        Share of the positive class, and mean risk.
    auc : float
        Chance that a positive row has more points than a negative one.
    groups : list of ScoreGroup
        Rows by line of the table of risks: weight, observed share with a 95 % interval, predicted risk.
    n_rows : int
    certificate : Certificate
        Of this card: ``lower_bound`` is proven for every card under the same rules.
    best : ScoreCard
        The best card found under the same rules; this one if none better was found.
    best_loss : float
    form : str
        What "the same rules" are, in words.
    """

    loss: float
    calibrated_loss: float
    calibration_intercept: float
    calibration_slope: float
    calibration_intercept_interval: Interval
    calibration_slope_interval: Interval
    calibration_in_the_large: float
    calibration_in_the_large_interval: Interval
    observed: float
    predicted: float
    auc: float
    groups: list[ScoreGroup] = field(repr=False)
    n_rows: int
    certificate: Certificate = field(repr=False)
    best: ScoreCard = field(repr=False)
    best_loss: float
    form: str

    @property
    def excess(self) -> tuple[float, float]:
        """How much larger the loss is than that of the best card, relative to the latter: at least, and at most (proven)."""
        lower = self.certificate.lower_bound
        least = max(self.loss / self.best_loss - 1.0, 0.0) if self.best_loss > 0 else 0.0
        return least, self.certificate.upper_bound / lower - 1.0 if lower > 0 else math.inf

    @property
    def verdict(self) -> str:
        """How far the card is from the best one, in words that the certificate proves."""
        least, most = self.excess
        if not math.isfinite(self.certificate.upper_bound):
            return (
                f"This card is none of {self.form.removesuffix(',')}: nothing else is said about it. {self.certificate.claim}"
            )
        here = f"a log loss of {self.loss:.6g} on {self.n_rows:,} rows"
        proven = f"none is below {rounded_down(self.certificate.lower_bound, 6)}"
        if self.certificate.verified:
            return f"Best possible: this card has {here}, and of {self.form} {proven} (proven)."
        if self.certificate.lower_bound <= 0:
            proven = "nothing is proven about better ones"
        found = f"the best one found has {self.best_loss:.6g}"
        if least == 0.0:
            return f"This card has {here}; of {self.form} no better one was found, and {proven}."
        above = f"This card has {here}; of {self.form} {found}, and {proven}"
        # Tenths of a percent, rounded so that both ends hold.
        ends = f"at least {math.floor(1000 * least * (1 - 1e-12)) / 10:.1f} %"
        ends += f" and at most {math.ceil(1000 * most * (1 + 1e-12)) / 10:.1f} %" if math.isfinite(most) else ""
        return f"{above}. Its loss is {ends} above that of the best."

    def __str__(self) -> str:
        lines = [
            self.verdict,
            f"observed {self.observed:.1%}, predicted {self.predicted:.1%}; AUC {self.auc:.3f}",
        ]
        if math.isfinite(self.calibration_slope):
            (low, high), (least, most) = self.calibration_intercept_interval, self.calibration_slope_interval
            lines.append(
                f"calibration: intercept {self.calibration_intercept:+.2f} (95 % interval {low:+.2f} to {high:+.2f}), slope "
                f"{self.calibration_slope:.2f} ({least:.2f} to {most:.2f}); corrected by them the loss would be "
                f"{self.calibrated_loss:.6g}"
            )
        return "\n".join(lines)


def judge_card(
    card: ScoreCard,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    max_features: int | None = None,
    max_points: int | None = None,
    constraints: Any = (),
    time_limit: float | None = 60.0,
    n_jobs: int | None = None,
) -> CardJudgement:
    """Judge a card on a table; the parameters are those of :meth:`surefoot.ScoreCard.judge`."""
    # Only here: the estimator prints its cards by the module that calls this one.
    from surefoot.riskscore.estimator.risk_score import RiskScoreClassifier

    rows = scored_rows(card, X, y, sample_weight)
    size = len(card.lines) if max_features is None else max_features
    largest = max((abs(line.points) for line in card.lines), default=1) if max_points is None else max_points
    model = RiskScoreClassifier(
        max_features=max(size, 0),
        max_points=max(largest, 1),
        intercept_bound=max(_INTERCEPTS, abs(card.intercept)),
        sparsity_penalty=0.0,
        constraints=constraints,
        time_limit=time_limit,
        n_jobs=n_jobs,
        scale="unit" if card.multiplier == 1.0 else "free",
    )
    against = _against_the_best(model, card, X, rows.positive.astype(np.int64), sample_weight)
    best, best_loss, certificate, (low, high) = against
    risks = np.array([card.risk(total) for total in rows.totals])
    weights = rows.weights / rows.weights.sum()
    log_odds = (rows.totals + card.intercept) / card.multiplier
    signs = np.where(rows.positive, 1.0, -1.0)
    loss = float(weights @ np.logaddexp(0.0, -signs * log_odds))
    found = recalibration(log_odds, rows.positive, rows.weights)
    move, slope = found.intercept, found.slope
    columns = "1 column" if model.max_features == 1 else f"{model.max_features} columns"
    form = (
        f"the cards of up to {columns} of this table with points up to {model.max_points}"
        f"{f', at a multiplier from {low!r} to {high!r},' if model.scale == 'free' else ''}"
        f"{' under these rules' if constraints else ''}"
    )
    calibrated = weights @ np.logaddexp(0.0, -signs * (move + slope * log_odds)) if math.isfinite(slope) else math.nan
    return CardJudgement(
        loss=loss,
        calibrated_loss=float(calibrated),
        calibration_intercept=move,
        calibration_slope=slope,
        calibration_intercept_interval=found.intercept_interval,
        calibration_slope_interval=found.slope_interval,
        calibration_in_the_large=found.in_the_large,
        calibration_in_the_large_interval=found.in_the_large_interval,
        observed=float(weights @ rows.positive),
        predicted=float(weights @ risks),
        auc=rows.auc(),
        groups=score_groups(card, rows, [totals_text(row, card.table) for row in card.table.rows]),
        n_rows=int(np.count_nonzero(rows.weights)),
        certificate=certificate,
        best=best,
        best_loss=best_loss,
        form=form,
    )


def _against_the_best(
    model: RiskScoreClassifier, card: ScoreCard, X: Any, y: Any, sample_weight: Any
) -> tuple[ScoreCard, float, Certificate, tuple[float, float]]:
    """The best card under a model's rules, its loss, the certificate of the card at hand with its proof, and multipliers."""
    started = time.perf_counter()
    rows, posed = model._pose(X, y, sample_weight)
    problem, names = posed.problem, rows.design.schema.names
    low, high = problem.multipliers
    # A card of the form that it has itself: multipliers go as far as its own.
    problem = replace(problem, multipliers=(min(low, card.multiplier), max(high, card.multiplier)))
    posed = replace(posed, problem=problem)
    solver = model._named_solver()
    require_score_acceptance(solver, problem)
    outcome = model._solve(solver, posed, started)
    points = np.zeros(len(names), dtype=np.int32)
    points[[names.index(line.feature) for line in card.lines]] = [line.points for line in card.lines]
    judged = RiskScore(card.intercept, points, card.multiplier)
    left = math.inf if model.time_limit is None else max(model.time_limit - (time.perf_counter() - started), 0.0)
    arguments = {**model._proof_arguments(posed, outcome), "card": judged, "price": 0.0}
    with threadpool_limits(limits=joblib.effective_n_jobs(model.n_jobs), user_api="blas"):
        certificate = certify_risk_score(**arguments, max_seconds=left)
    best = outcome.primal
    if problem.admits(judged) and not outcome.upper_bound < problem.loss(judged):
        return card, problem.loss(judged), certificate, problem.multipliers
    kept = {names[at]: int(best.points[at]) for at in np.flatnonzero(best.points)}
    ranges = value_ranges(problem.columns, names, best.points)
    meanings = [line.meaning for line in card.lines if line.meaning is not None]
    made = print_card(
        kept, best.intercept, best.multiplier, np.array(card.classes), ranges, None, title=card.title, meanings=meanings
    )
    return made, outcome.upper_bound, certificate, problem.multipliers
