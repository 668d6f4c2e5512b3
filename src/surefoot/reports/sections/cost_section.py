"""What a report says about a learned cost: its entries, the forward problem in words, what it explains, and how sure it is."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from surefoot.core.certificate import rounded_down, rounded_up
from surefoot.inverse.estimator.cost_confidence import CostConfidence
from surefoot.inverse.estimator.cost_names import cost_names
from surefoot.inverse.estimator.explained import Explained
from surefoot.inverse.forward.models.called_model import as_forward
from surefoot.inverse.problem.approaches import APPROACHES
from surefoot.inverse.problem.decision_set import EllipsoidSet, LinearSet, ListedSet
from surefoot.inverse.problem.hypothesis import QuadraticFeatures
from surefoot.reports.charts import cost_chart, excess_chart
from surefoot.reports.page import Fact, figures, paragraph, signed_bar, table
from surefoot.reports.wording import number_text

# A page is to be read: more entries of a cost than these are left to cost_, and more observations to explained tables.
_MOST_ENTRIES, _MOST_DRAWN, _MOST_OBSERVATIONS = 60, 15, 12
# Degrees below which a tie is one.
_NO_TURN = 1e-6

_AIMS = {
    "asl": "least augmented suboptimality loss: decisions far from the observed one are to cost more by their distance",
    "suboptimality": "least suboptimality: what the observed decisions cost beyond the best ones, on average",
    "predictability": "decisions nearest to the observed ones",
    "feasibility": "any cost for which every observed decision is a best one",
    "incenter": "the cost that explains everything and is farthest from every cost that does not",
    "circumcenter": "the cost whose largest angle to the others that explain everything is least",
    "cutting-plane": "the cost that explains everything and is nearest to a first guess",
    "ellipsoidal-asl": "least augmented suboptimality loss, for a whole ellipsoid of costs",
    "ellipsoidal-incenter": "the centre of the largest ellipsoid of costs that explain everything",
    "ellipsoidal-circumcenter": "the centre of the least ellipsoid around the costs that explain everything",
}
assert _AIMS.keys() == APPROACHES.keys()


def cost_blocks(model: Any, trust: CostConfidence | None) -> tuple[str, ...]:
    """The section about the cost itself."""
    cost, names = model.cost_, cost_names(model)
    length = float(np.linalg.norm(cost))
    if length == 0:
        return (paragraph("The learned cost is 0: it prices all decisions alike, and explains nothing.", "warn"),)
    order = np.argsort(-np.abs(cost), kind="stable")
    largest = float(np.abs(cost).max())
    ranged = trust is not None and bool(np.isfinite(trust.cone_degrees))
    banded = trust is not None and bool(np.isfinite(trust.low).all())
    rows = []
    for at in order[:_MOST_ENTRIES].tolist():
        row = [names[at], _short(cost[at]), _short(cost[at] / length)]
        if ranged and trust is not None:
            row.append(_between(_floor(trust.least[at]), -_floor(-trust.most[at])))
        if banded and trust is not None:
            row.append(_between(float(trust.low[at]), float(trust.high[at])))
        rows.append([*row, signed_bar(float(cost[at]) / largest)])
    headings = ["prices", "cost", "at length 1", *(["explains all"] * ranged), *(["band"] * banded), "cheap \u00b7 dear"]
    blocks = [
        paragraph(
            "A cost of this kind is a direction: twice as much of everything leads to the same decisions. Entries are compared "
            "with each other, at length 1; below 0 stands what is wanted."
        ),
        table(headings, rows, ready=(len(headings) - 1,)),
    ]
    if cost.size > _MOST_ENTRIES:
        blocks.append(paragraph(f"{cost.size - _MOST_ENTRIES:,} smaller entries are left out; cost_ has all.", "small"))
    if ranged:
        blocks.append(
            paragraph(
                "Explains all: no cost that explains all observations has this entry outside of the range, if it is scaled to "
                "be as long as the learned one along it (a bound).",
                "small",
            )
        )
    if banded and trust is not None:
        share = f"{trust.level:.0%} of {trust.n_refits} refits to resampled observations"
        blocks.append(paragraph(f"Band: {share} have this entry in it (an estimate).", "small"))
    if trust is not None and (ranged or banded):
        some = order[:_MOST_DRAWN]
        caption = "The learned cost at length 1"
        caption += ", the range of all costs that explain everything (wide bars)" if ranged else ""
        caption += ", and the band of the refits (thin lines)." if banded else "."
        blocks.append(figures((cost_chart([names[at] for at in some.tolist()], trust, some.tolist()), caption)))
    return tuple(blocks)


def problem_blocks(model: Any, seen: Explained) -> tuple[str, ...]:
    """The section about what is decided, in words."""
    forward, examples = as_forward(model.forward), seen.problem.examples
    kinds = Counter(_kind(example.instance.decisions) for example in examples)
    features: Any = examples[0].instance.features
    priced = "the decision itself" if model.features is None else "features that a function makes of signal and decision"
    if isinstance(features, QuadraticFeatures):
        priced = "squares and products of the continuous unknowns, and linear terms"
    elif model.features is None and features.n_features != examples[0].instance.decisions.n_unknowns:
        priced = "sums of unknowns"
    sizes = [example.instance.decisions.n_unknowns for example in examples]
    rows = [
        ["what is decided", repr(forward)],
        ["decisions", "; ".join(f"{kind} ({count:,} observations)" for kind, count in kinds.most_common(4))],
        ["unknowns", _span(sizes)],
        ["what is priced", f"{priced}: {_several(features.n_features, 'entry', 'entries')}"],
        ["what the cost is to achieve", _AIMS[model.approach]],
    ]
    if not seen.problem.distance.absent and model.approach not in ("suboptimality", "feasibility", "cutting-plane"):
        rows.append(["distance of decisions", _distance(seen)])
    if isinstance(model.prior, str):
        rows.append(["costs that are admitted", "none below 0" + ", with the sum 1" * (model.prior == "simplex")])
    elif model.prior is not None:
        rows.append(["costs that are admitted", "within the bounds and rows of the settings"])
    lists = [example.instance.decisions for example in examples if isinstance(example.instance.decisions, ListedSet)]
    if lists:
        rows.append(["alternatives", _span([len(each.points) for each in lists])])
    return (
        paragraph("At a signal some decisions are open, and one of least cost is taken. The cost was learned from decisions."),
        table(("", ""), rows, left=2),
    )


def explained_fact(seen: Explained) -> Fact:
    """How many observations a cost explains, for the first screen."""
    count, tied = int(seen.best.sum()), int((seen.best & ~seen.same).sum())
    note = "observed decisions that are a best one at the learned cost"
    note += f"; for {tied} of them predict() proposes another one that costs as much" * bool(tied)
    return Fact("Explained", f"{count} of {seen.best.size}", note)


def explained_blocks(seen: Explained, *, same_rows: bool) -> tuple[str, ...]:
    """The section about what a cost explains."""
    count, n = int(seen.best.sum()), seen.best.size
    which = (
        paragraph(
            "These are the observations the cost was learned from, which flatters it: judge it by others.",
            "warn",
        )
        if same_rows
        else paragraph(
            "Figures are of the observations handed to this report. Those that it learned from would flatter it.", "small"
        )
    )
    mean = float(seen.apart.mean())
    told = (
        f"Of {_several(n, 'observed decision', 'observed decisions')} {count} {'is' if count == 1 else 'are'} a best one at "
        f"the learned cost. The mean distance between what was decided and what would be is {mean:.4g}."
    )
    same, tied = int(seen.same.sum()), int((seen.best & ~seen.same).sum())
    told += f" {same} {'is' if same == 1 else 'are'} proposed by predict() exactly as observed"
    told += (
        f"; {tied} {'ties' if tied == 1 else 'tie'} with another decision, which costs as much and is proposed instead."
        if tied
        else "."
    )
    blocks = [which, paragraph(told)]
    missed = np.flatnonzero(~seen.best)
    if missed.size == 0:
        return (*blocks, paragraph("No observed decision costs more than another one that was open.", "good"))
    order = missed[np.argsort(-seen.excess[missed], kind="stable")]
    rows = []
    for at in order[:_MOST_OBSERVATIONS].tolist():
        example = seen.problem.examples[at]
        own, more = float(example.own @ seen.cost), seen.excess[at]
        rows.append([str(example.index), *map(_short, (own, own - more, more, seen.apart[at]))])
    headings = ("observation", "observed decision costs", "best one costs", "more by", "distance")
    blocks.append(table(headings, rows, caption="Observations that the cost explains least"))
    if order.size > _MOST_OBSERVATIONS:
        blocks.append(paragraph(f"{order.size - _MOST_OBSERVATIONS:,} others that it does not explain are left out.", "small"))
    caption = "By how much observed decisions cost more than best ones, at a cost of length 1."
    blocks.append(figures((excess_chart(seen.excess / float(np.linalg.norm(seen.cost))), caption)))
    return tuple(blocks)


def trust_facts(trust: CostConfidence | None) -> list[Fact]:
    """How far a cost may turn, and how far others are, for the first screen."""
    facts = []
    if trust is not None and np.isfinite(trust.cone_degrees) and trust.cone_degrees < 90:
        text = f"{rounded_up(trust.cone_degrees, 3)}\u00b0"
        facts.append(Fact("Other costs within", text, "all costs that explain every observation are no farther away"))
    if trust is not None and np.isfinite(trust.turn_least).any():
        least = float(np.nanmin(trust.turn_least))
        shown, note = f"{rounded_down(least, 3)}\u00b0", "before a first decision of these changes"
        if least < _NO_TURN:
            shown, note = "0\u00b0", "at some observation two decisions cost the same"
        facts.append(Fact("May turn by", shown, note))
    return facts


def trust_blocks(trust: CostConfidence | None, why_not: str) -> tuple[str, ...]:
    """The section about how far a cost can be trusted."""
    if trust is None:
        return (paragraph(why_not),)
    lines = [paragraph(f"{sentence[0].upper()}{sentence[1:]}.") for sentence in trust.sentences()]
    if not np.isfinite(trust.pull).all() or not trust.pull.any():
        return tuple(lines)
    order = np.argsort(-trust.pull, kind="stable")[:_MOST_OBSERVATIONS].tolist()
    rows = [
        [str(at), f"{trust.pull[at]:.1%}", _degrees(trust.turn_least[at]), _degrees(trust.turn_most[at])]
        for at in order
        if trust.pull[at] > 0
    ]
    headings = ("observation", "share of the pull", "its decision holds to", "and changes at")
    lines.append(table(headings, rows, caption="Observations that hold the cost where it is"))
    rest = int((trust.pull > 0).sum()) - len(rows)
    free = int((trust.pull == 0).sum())
    told = f"{rest:,} others pull less. " * (rest > 0)
    told += f"Without the losses of {free:,} others the cost would be the best one still. " * (free > 0)
    note = "Degrees are those that the cost may turn before the decision predicted there changes."
    return (*lines, paragraph(told + note, "small"))


def _kind(decisions: Any) -> str:
    if isinstance(decisions, ListedSet):
        return "one of several alternatives"
    if isinstance(decisions, EllipsoidSet):
        return "points of an ellipsoid"
    if not isinstance(decisions, LinearSet):
        return "whatever a solver of the caller's allows"
    if decisions.whole.all():
        return "0/1 vectors that meet rows" if decisions.binary.all() else "vectors of whole numbers that meet rows"
    return "numbers that meet rows" if not decisions.whole.any() else "whole and other numbers that meet rows"


def _distance(seen: Explained) -> str:
    continuous, integer = seen.problem.distance.spelled()
    if integer == "given":
        return "what a function of the caller's returned"
    whole = np.concatenate([example.instance.decisions.whole for example in seen.problem.examples])
    if whole.all() or not whole.any():
        return repr(integer if whole.any() else continuous)
    return f"{continuous!r} of continuous and {integer!r} of whole unknowns"


def _several(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def _span(sizes: list[int]) -> str:
    low, high = min(sizes), max(sizes)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _short(value: float) -> str:
    return number_text(float(f"{value:.4g}"))


def _degrees(value: float) -> str:
    return f"{value:.3g}\u00b0" if np.isfinite(value) else "not known"


def _floor(value: float) -> float:
    """At or below a number, with four decimals."""
    return float(np.floor(value * 1e4) / 1e4)


def _between(low: float, high: float) -> str:
    return f"{_short(low)} to {_short(high)}"
