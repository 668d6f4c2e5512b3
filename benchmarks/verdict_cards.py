"""Score cards against all cards: every intercept with every admissible vector of points, evaluated one by one.

Losses of all cards are compared in doubles, those of the best ones and of the card at hand again with 60 digits. At a free
scale the multiplier of every card is found by bisection; under a shift every set of flips of every row is a piece, and the
price of shifts is found by a search along it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray
from verdict_card_rules import Rule, Table, draw_rules
from verdict_fits import begin, excuse_limit, fitted, row_weights
from verdict_numbers import exact, exactly, softplus, total
from verdict_record import EXTREME, REFUSED, UNVERIFIED, Record, judge
from verdict_shifts import Model, Rows, objectives

import surefoot as sf

FAMILY = "cards"
ODD = (
    "column of 1e7", "columns of 1e+-9", "offset", "duplicate columns", "complementary columns", "duplicate rows", "separable",
    "two rows", "zero weights", "spread weights", "ties", "constant column", "huge penalty", "no intercept", "one column",
    "one row", "one class", "no time", "near the best",
)  # fmt: skip
PROVING = ("auto", "exact")
# Of 25 seeds those whose search is stopped, and has the bound of a relaxation; and those where a card from elsewhere is judged.
STOPPED, JUDGED = (8, 19), (6, 17)
# The best cards are compared with all digits, and must be among those near the best.
TOP = 12
SCALE_STEPS, PRICE_STEPS = 60, 120
FINEST = 20.0
# How close to a threshold the scale of a card may come, relative to it, and how much its multiplier may be off.
ASIDE, EDGE = 1.1e-11, 2e-12
# Cards whose objectives are that close to a ceiling may be on either side of it.
NEAR = Decimal("1e-9")


@dataclass
class Case:
    """A table, the parameters of the estimator, and its rules in words of our own."""

    X: NDArray[Any]
    y: NDArray[Any]
    weight: NDArray[Any] | None
    params: dict[str, Any]
    rules: list[Rule] = field(default_factory=list)
    finest: float = FINEST
    coarsest: float = math.inf

    @property
    def counting(self) -> NDArray[Any]:
        return np.arange(self.y.size) if self.weight is None else np.flatnonzero(self.weight > 0)

    @property
    def weights(self) -> NDArray[Any]:
        return row_weights(self.weight, self.y.size)[self.counting]

    @property
    def binary(self) -> NDArray[Any]:
        return np.asarray(np.all((self.X[self.counting] == 0) | (self.X[self.counting] == 1), axis=0))

    @property
    def multipliers(self) -> tuple[float, float]:
        free = min(1.0, self.params["max_points"] / 5.0, self.coarsest), self.finest
        return free if self.params["scale"] == "free" else (1.0, 1.0)


@dataclass
class Card:
    """Points, intercept and multiplier."""

    points: NDArray[Any]
    intercept: int
    multiplier: Decimal = Decimal(1)


def draw(rng: np.random.Generator, record: Record) -> Case:
    """A random table with random limits and rules."""
    odd = set(rng.choice(ODD, size=int(rng.integers(1, 4)), replace=False)) if record.stratum == EXTREME else set()
    record.settings = sorted(map(str, odd))
    free, robust = rng.random() < 0.15, rng.random() < 0.15
    robust = robust and not free
    small = free or robust
    d = 1 if "one column" in odd else int(rng.integers(2, 4 if small else 5))
    rows = 1 if "one row" in odd else 2 if "two rows" in odd else int(rng.integers(5, 13))
    X = (rng.random((rows, d)) < rng.uniform(0.2, 0.8, size=d)).astype(float)
    for j in np.flatnonzero(rng.random(d) < (0.25 if "no time" not in odd else 0.0)):
        X[:, j] = np.round(rng.normal(scale=2.0, size=rows), 0 if "ties" in odd else 3)
    if "column of 1e7" in odd:
        X[:, 0] = np.round(1e7 * rng.random(rows))
    if "columns of 1e+-9" in odd:
        X = X * 10.0 ** rng.integers(-9, 10, size=d)
    if "offset" in odd:
        X[:, 0] = 30.0 + np.round(rng.normal(size=rows), 2)
    if "constant column" in odd:
        X[:, -1] = 1.0
    if "duplicate columns" in odd and d > 1:
        X[:, 1] = X[:, 0]
    if "complementary columns" in odd and d > 1:
        X[:, 0] = (X[:, 0] > np.median(X[:, 0])).astype(float)
        X[:, 1] = 1.0 - X[:, 0]
    score = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-30) @ rng.normal(size=d)
    y = (score + (0.0 if "separable" in odd else 1.5) * rng.normal(size=rows) > 0).astype(int)
    if "duplicate rows" in odd:
        X[-1] = X[0]
    weight = rng.integers(1, 4, size=rows).astype(float) if rng.random() < 0.2 or "zero weights" in odd else None
    if "spread weights" in odd:
        weight = 10.0 ** rng.uniform(-6, 6, size=rows)
    if "zero weights" in odd and weight is not None and rows > 3:
        weight[rng.integers(0, rows, size=rows // 3)] = 0.0
    rare = free and rng.random() < 0.5
    if rare:  # low intercepts then give all rows a risk of next to nothing at most scales
        y = (np.arange(rows) == np.argmax(score)).astype(int)
        weight = (np.ones(rows) if weight is None else weight) * np.where(y == 1, 10.0 ** rng.uniform(-4, 0), 1.0)
    case = Case(X, y, weight, _limits(rng, odd, d, free, robust))
    if rare and "no intercept" not in odd:
        case.params["intercept_bound"] = int(rng.choice([20, 40]))
    if "one class" in odd:
        y[:] = y[0]
    if np.unique(y[case.counting]).size < 2 and not odd & {"one class", "one row"}:
        y[case.counting[0]] = 1 - y[case.counting[0]]
    if np.unique(y[case.counting]).size < 2 and not odd & {"one class", "one row"}:
        case.weight, y[0], y[1] = None, 0, 1
    if rng.random() < 0.4:
        table = Table(case.X[case.counting], case.weights, case.params["max_points"], free)
        case.rules = draw_rules(rng, table, scores=not odd)
        case.params["constraints"] = [rule.given for rule in case.rules]
        record.settings += sorted({f"rule {type(rule.given).__name__}" for rule in case.rules})
    if "near_optimal" not in case.params and record.seed % 25 in STOPPED:
        case.params |= {"solver": str(rng.choice(["auto", "exact"])), "time_limit": float(10.0 ** rng.uniform(-6, -4))}
    record.settings += [*(["free scale"] if free else []), *(["rare class"] if rare else []), *(["radius"] if robust else [])]
    return case


def _limits(rng: np.random.Generator, odd: set[str], d: int, free: bool, robust: bool) -> dict[str, Any]:
    small = free or robust
    solver = str(rng.choice(["auto"] * 12 + ["exact"] * 3 + ["heuristic", "lcpa", "rd", "rsrd", "seqrd*"]))
    params: dict[str, Any] = {
        "max_features": [None, 1, 2, 3][int(rng.integers(4))],
        "max_points": int(rng.integers(1, 3 if small else 4)),
        "intercept_bound": 0 if "no intercept" in odd else int(rng.choice([3, 5])) if small else int(rng.choice([5, 20, 100])),
        "sparsity_penalty": float(rng.choice([1e-8, 0.0, 1e-3, 0.01])),
        "gap": float(rng.choice([0.0, 0.0, 1e-6, 0.02])),
        "solver": "auto" if small else solver,
        "scale": "free" if free else "unit",
        "radius": float(10.0 ** rng.uniform(-3, 0)) if robust else 0.0,
    }
    if "huge penalty" in odd:
        params["sparsity_penalty"] = float(10.0 ** rng.uniform(-1, 6))
    if rng.random() < 0.05:
        params["time_limit"] = float(10.0 ** rng.uniform(-6, -1))
    if "no time" in odd:  # what a heuristic, or a search that was cut short, leaves unproven
        params |= {"solver": "rsrd"} if rng.random() < 0.5 and not small else {"solver": "exact", "time_limit": 1e-6}
    elif "near the best" in odd and not small:
        params |= {"solver": "exact", "near_optimal": float(rng.choice([0.0, 0.01, 0.3]))}
    return params


def all_points(case: Case) -> NDArray[Any]:
    """Every vector of points within limits and rules about points."""
    most = case.params["max_points"]
    lower, upper = np.full(case.X.shape[1], -most), np.full(case.X.shape[1], most)
    for rule in case.rules:
        for column, values in rule.widened.items():
            lower[column], upper[column] = min(lower[column], *values), max(upper[column], *values)
    ranges = [range(low, high + 1) for low, high in zip(lower, upper, strict=True)]
    points = np.array(list(itertools.product(*ranges)), dtype=np.int64)
    size = np.count_nonzero(points, axis=1)
    # A set of points that goes beyond the limits binds its own column only.
    kept = size <= (case.X.shape[1] if case.params["max_features"] is None else case.params["max_features"])
    spoken = {column for rule in case.rules for column in rule.widened}
    for column in range(case.X.shape[1]):
        if column not in spoken:
            kept &= np.abs(points[:, column]) <= most
    for rule in case.rules:
        if rule.points is not None:
            kept &= rule.points(points)
    return np.asarray(points[kept])


def reference(case: Case) -> tuple[list[Card], bool]:
    """The best cards of all, and whether there is any."""
    points = all_points(case)
    X, y = case.X[case.counting], 2.0 * case.y[case.counting] - 1.0
    bound = case.params["intercept_bound"]
    intercepts = np.arange(-bound, bound + 1)
    if not len(points):
        return [], False
    table = points @ X.T
    cards = np.array([(k, b) for k in range(len(points)) for b in intercepts])
    scores = table[cards[:, 0]] + cards[:, 1][:, None]
    people = [None if r.person is None else points[cards[:, 0]] @ r.person + cards[:, 1] for r in case.rules]
    scales = np.ones(len(cards))
    if case.params["scale"] == "free":
        scales = _best_scales(scores, y, case.weights, case.multipliers)
        scales = _ruled_scales(case, scores, people, y, scales)
    allowed = _obeyed(case, scores, people, y, scales)
    cards, scores, scales = cards[allowed], scores[allowed], scales[allowed]
    if not len(cards):
        return [], False
    if case.params["radius"] > 0:
        losses = _worst_losses(case, points[cards[:, 0]], cards[:, 1], y)
    else:
        losses = np.logaddexp(0.0, -y * scores * scales[:, None]) @ case.weights
    values = losses + case.params["sparsity_penalty"] * np.count_nonzero(points[cards[:, 0]], axis=1)
    low, high = (Decimal(end) for end in case.multipliers)
    best = np.argsort(values, kind="stable")[:TOP]
    return [Card(points[cards[k, 0]], int(cards[k, 1]), min(max(1 / Decimal(scales[k]), low), high)) for k in best], True


def _obeyed(case: Case, scores: NDArray[Any], people: list[Any], y: NDArray[Any], scales: NDArray[Any]) -> NDArray[Any]:
    """Which cards obey the rules about scores, each at its scale."""
    allowed = np.ones(len(scores), dtype=bool)
    for rule, own in zip(case.rules, people, strict=True):
        if rule.scores is not None:
            person = None if own is None else own * scales
            allowed &= rule.scores(scores * scales[:, None], person, y, case.weight, case.counting)
    return allowed


def _ruled_scales(case: Case, scores: NDArray[Any], people: list[Any], y: NDArray[Any], best: NDArray[Any]) -> NDArray[Any]:
    """The best scale at which a card obeys: its best one, or one next to where a row or a person meets a threshold.

    The loss is convex in the scale, so it is one of these. Rows on a threshold are not flagged, so a scale may be approached
    only: tried are those to both sides of it, as close as a card may come.
    """
    low, high = 1.0 / case.multipliers[1], 1.0 / case.multipliers[0]
    tried = [best, np.full(len(best), low), np.full(len(best), high)]
    for rule, own in zip(case.rules, people, strict=True):
        if rule.scores is not None and rule.odds != 0:
            for column in (scores if own is None else own[:, None]).T:
                with np.errstate(divide="ignore"):
                    meeting = np.clip(rule.odds / column, low / 2, 2 * high)
                tried += [np.clip(meeting * (1 + side), low, high) for side in (-ASIDE, ASIDE)]
    if len(tried) == 3:
        return best
    found, least = best.copy(), np.full(len(best), np.inf)
    for scales in tried:
        losses = np.logaddexp(0.0, -y * scores * scales[:, None]) @ case.weights
        better = _obeyed(case, scores, people, y, scales) & (losses < least)
        found, least = np.where(better, scales, found), np.where(better, losses, least)
    return found


def _best_scales(
    scores: NDArray[Any], y: NDArray[Any], weights: NDArray[Any], multipliers: tuple[float, float]
) -> NDArray[Any]:
    low, high = np.full(len(scores), 1.0 / multipliers[1]), np.full(len(scores), 1.0 / multipliers[0])
    for _ in range(SCALE_STEPS):
        middle = (low + high) / 2
        with np.errstate(over="ignore"):
            slope = (-y * scores / (1.0 + np.exp(y * scores * middle[:, None]))) @ weights
        low, high = np.where(slope < 0, middle, low), np.where(slope < 0, high, middle)
    return np.asarray((low + high) / 2)


def shift_prices(case: Case) -> NDArray[Any]:
    """A flip costs 1, a move of one standard deviation costs 1."""
    X, w = case.X[case.counting], case.weights
    spread = np.sqrt(w @ (X - w @ X) ** 2)
    constant = X.max(axis=0) == X.min(axis=0)
    return np.asarray(np.where(case.binary, 1.0, np.where(constant, 1.0, 1.0 / np.where(constant, 1.0, spread))))


def _worst_losses(case: Case, points: NDArray[Any], intercepts: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """The robust loss of many cards: all sets of flips, and a search along the price."""
    X, prices = case.X[case.counting], shift_prices(case)
    flips = [np.array(flip) for flip in itertools.product(*([0.0, 1.0] if binary else [0.0] for binary in case.binary))]
    losses, costs = [], []
    for flip in flips:
        moved = X + flip * (1.0 - 2.0 * X)
        losses.append(np.logaddexp(0.0, -y * (points @ moved.T + intercepts[:, None])))
        costs.append(float(flip @ prices))
    pieces, cost = np.array(losses), np.array(costs)
    numeric = np.where(case.binary, 0.0, np.abs(points) / prices).max(axis=1)

    def value(price: NDArray[Any]) -> NDArray[Any]:
        worst = (pieces - price[None, :, None] * cost[:, None, None]).max(axis=0)
        return np.asarray(price * case.params["radius"] + worst @ case.weights)

    low, high = numeric.copy(), numeric + pieces.max() + 1.0
    for _ in range(PRICE_STEPS):
        first, second = low + (high - low) / 3, high - (high - low) / 3
        left = value(first) <= value(second)
        low, high = np.where(left, low, first), np.where(left, second, high)
    return np.minimum(value((low + high) / 2), value(numeric))


@exactly
def objective(case: Case, card: Card) -> Decimal:
    """Loss, worst loss under a shift, and penalty of a card, with 60 digits."""
    X, y, weights = exact(case.X[case.counting]), 2 * case.y[case.counting] - 1, exact(case.weights)
    points = np.array([Decimal(int(point)) for point in card.points], dtype=object)
    if case.params["radius"] > 0:
        prices, binary = shift_prices(case), case.binary
        rows = Rows(
            numeric=case.X[case.counting][:, ~binary], codes=case.X[case.counting][:, binary].astype(int),
            n_levels=[2] * int(binary.sum()), labels=y.astype(float), weights=case.weights, gamma=prices[~binary],
            delta=prices[binary], kappa=math.inf, radius=case.params["radius"], norm="l1", intercept=True,
        )  # fmt: skip
        levels = [np.array([Decimal(0), point], dtype=object) for point in points[binary]]
        loss = objectives(rows, Model(Decimal(card.intercept), points[~binary], levels, Decimal(0)))[1]
    else:
        scores = [(row @ points + card.intercept) / card.multiplier for row in X]
        loss = total(w * softplus(-int(sign) * score) for w, sign, score in zip(weights, y, scores, strict=True))
    return loss + Decimal(case.params["sparsity_penalty"]) * int(np.count_nonzero(card.points))


def obeys(case: Case, card: Card) -> bool:
    """Whether a card keeps to limits and rules."""
    inside = abs(card.intercept) <= case.params["intercept_bound"] and bool((all_points(case) == card.points).all(axis=1).any())
    low, high = case.multipliers
    inside = inside and Decimal(low) * (1 - Decimal("1e-12")) <= card.multiplier <= Decimal(high) * (1 + Decimal("1e-12"))
    scores = (case.X[case.counting] @ card.points + card.intercept)[None, :]
    people = [None if r.person is None else np.array([float(card.points @ r.person + card.intercept)]) for r in case.rules]
    scale, y = float(1 / card.multiplier), 2.0 * case.y[case.counting] - 1
    tried = (scale, scale * (1 - EDGE), scale * (1 + EDGE)) if case.params["scale"] == "free" else (1.0,)
    return inside and any(_obeyed(case, scores, people, y, np.array([t]))[0] for t in tried)


def card_of(model: Any) -> Card:
    """The card of a fitted estimator."""
    return Card(np.round(model.coef_[0]).astype(np.int64), int(model.intercept_), Decimal(float(model.multiplier_)))


def right_error(case: Case) -> Callable[[Exception], bool]:
    """That no card was found in the time given is true, that there is none only if there is none."""

    def right(error: Exception) -> bool:
        if np.unique(case.y[case.counting]).size < 2:
            return "only one class" in str(error)
        return isinstance(error, sf.InfeasibleProblemError) and ("in the time given" in str(error) or not reference(case)[1])

    return right


def estimator(case: Case) -> Any:
    return sf.RiskScoreClassifier(**case.params)


def trial(seed: int) -> Record:
    """Draw, fit, and hold the certificate against all cards."""
    record, rng = begin(FAMILY, seed)
    case = draw(rng, record)
    limit = case.params.get("time_limit")
    if seed % 25 in JUDGED:
        from verdict_judged import judge_drawn

        judge_drawn(record, case, rng)
        return record
    model = fitted(record, lambda: estimator(case).fit(case.X, case.y, case.weight), limit, right_error(case))
    if model is None:
        return record
    cards, _ = reference(case)
    judge_card(record, case, model.certificate_, card_of(model), cards)
    if limit is not None and not record.verified and model.certificate_.lower_bound > 0:
        record.settings.append("stopped, with a bound")
    if "near_optimal" in case.params:
        judge_near(record, case, model, cards)
    excuse_limit(record, limit)
    if case.params["solver"] not in PROVING:
        # Heuristics and the published methods prove what they can.
        record.settings.append("unproven solver")
        record.found.pop(REFUSED, None)
        record.found.pop(UNVERIFIED, None)
    return record


def judge_near(record: Record, case: Case, model: Any, cards: list[Card]) -> None:
    """Hold the cards near the best against all cards: none that is surely near may be missing, none surely far be there."""
    near = model.near_optimal_
    if not near.complete or len(near) < near.n_found or not cards:
        return
    ceiling = (1 + Decimal(case.params["near_optimal"])) * min(objective(case, card) for card in cards)
    found = {(int(b), *map(int, p)) for b, p in zip(near.cards.intercepts, near.cards.points, strict=True)}
    for key in found:
        card = Card(np.array(key[1:]), key[0])
        if not obeys(case, card) or objective(case, card) > ceiling * (1 + NEAR) + NEAR:
            record.add("false claim", f"{key} is not near the best, or breaks a rule")
    missing = [card for card in cards if objective(case, card) < ceiling * (1 - NEAR) - NEAR]
    for card in missing:
        if (card.intercept, *map(int, card.points)) not in found:
            record.add("false claim", f"{card.points.tolist()}, {card.intercept} is missing among those near the best")


def judge_card(record: Record, case: Case, certificate: Any, card: Card, cards: list[Card]) -> None:
    """Hold a certificate against the best of all cards; one that breaks a rule must not be verified."""
    if not obeys(case, card):
        record.answered, record.verified = True, bool(certificate.verified)
        if certificate.verified:
            record.add("false verdict", f"verified a card that breaks a rule: {card.points.tolist()}, {card.intercept}")
        return
    best = min((objective(case, other) for other in cards), default=None)
    judge(record, certificate, objective(case, card), best)
