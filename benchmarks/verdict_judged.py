"""Cards from elsewhere, judged on a drawn table: what is proven about better ones of their form, against all of these."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from verdict_cards import FINEST, Card, Case, judge_card, obeys, objective, reference
from verdict_fits import excuse_limit, fitted
from verdict_numbers import exactly
from verdict_record import FALSE_CLAIM, NUMBER, Record

import surefoot as sf

JUDGED = "judged card"
# Losses are told to six digits, and logarithms of doubles are a little off.
TOLD, ROUNDED = Decimal("6e-6"), Decimal("1e-9")


def drawn_card(rng: np.random.Generator, case: Case) -> Card:
    """What somebody might have made up: few small points, at a multiplier of their own where it is free."""
    d = case.X.shape[1]
    points = np.where(rng.random(d) < 0.7, rng.integers(-2, 3, size=d), 0)
    multiplier = float(rng.choice([0.25, 2.5, 30.0])) if case.params["scale"] == "free" else 1.0
    return Card(points, int(rng.choice([-120, -4, -2, 0, 1, 3])), Decimal(multiplier))


def judge_drawn(record: Record, case: Case, rng: np.random.Generator) -> None:
    """Judge a card that nobody searched for, in place of a fit."""
    record.settings.append(JUDGED)
    card, limit = drawn_card(rng, case), 1e-6 if rng.random() < 0.3 else None
    posed = _posed(case, card)
    cards, any_card = reference(posed)
    if cards and rng.random() < 0.3:
        card = cards[0]
    names = [f"x{j}" for j in range(case.X.shape[1])]
    kinds: Any = {name: "real" for name, binary in zip(names, case.binary, strict=True) if not binary}
    ranges = {name: (float(case.X[:, j].min()), float(case.X[:, j].max())) for j, name in enumerate(names) if name in kinds}
    shown = dict(zip(names, map(int, card.points), strict=True))
    told = sf.ScoreCard.from_points(
        shown, card.intercept, multiplier=float(card.multiplier), classes=("0", "1"), kinds=kinds, ranges=ranges
    )
    given = {"sample_weight": case.weight, "constraints": case.params.get("constraints", ()), "time_limit": limit}
    given |= {name: posed.params[name] for name in ("max_features", "max_points")}

    def right(error: Exception) -> bool:
        if np.unique(case.y[case.counting]).size < 2:
            return "no row of positive weight is of class" in str(error)
        return isinstance(error, sf.InfeasibleProblemError) and ("in the time given" in str(error) or not any_card)

    judged = fitted(record, lambda: told.judge(pd.DataFrame(case.X, columns=names), case.y, **given), limit, right)
    if judged is None:
        return
    judge_card(record, posed, judged.certificate, card, cards)
    if obeys(posed, card) and cards:
        _check_words(record, judged, objective(posed, card), min(objective(posed, other) for other in cards))
    # Nobody refuses a card for which no better one was found in no time.
    excuse_limit(record, limit)


def _posed(case: Case, card: Card) -> Case:
    """The problem that the card is one answer to, as the page of ``judge`` describes it."""
    params = case.params | {
        "max_features": int(np.count_nonzero(card.points)),
        "max_points": max(1, int(np.abs(card.points).max())),
        "intercept_bound": max(100, abs(card.intercept)),
        "sparsity_penalty": 0.0,
        "radius": 0.0,
        "scale": "unit" if card.multiplier == 1 else "free",
    }
    own = float(card.multiplier)
    return replace(case, params=params, finest=max(FINEST, own), coarsest=min(own, 1.0))


@exactly
def _check_words(record: Record, judged: Any, own: Decimal, best: Decimal) -> None:
    """The numbers of the verdict as printed, and how much larger the loss is than that of the best card."""
    least, most = judged.excess
    if best > 0 and not Decimal(least) * (1 - ROUNDED) - ROUNDED <= own / best - 1:
        record.add(FALSE_CLAIM, f"the loss is at least {least!r} above the best, and it is {own / best - 1:.12g}")
    if best > 0 and most < np.inf and Decimal(most) * (1 + ROUNDED) + ROUNDED < own / best - 1:
        record.add(FALSE_CLAIM, f"the loss is at most {most!r} above the best, and it is {own / best - 1:.12g}")
    if Decimal(judged.best_loss) < best * (1 - ROUNDED):
        record.add(FALSE_CLAIM, f"a card with a loss of {judged.best_loss!r} is named, and the best has {best:.12g}")
    for text in re.findall(rf"none is below {NUMBER}", judged.verdict):
        if Decimal(text) > min(own, best) * (1 + ROUNDED):
            record.add(FALSE_CLAIM, f"'none is below {text}' where {best:.12g} is reachable")
    for text in re.findall(rf"this card has a log loss of {NUMBER}", judged.verdict, flags=re.IGNORECASE):
        if abs(Decimal(text) - own) > TOLD * abs(own):
            record.add(FALSE_CLAIM, f"'a log loss of {text}' where it is {own:.12g}")
