"""The charts of a report, from plain numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.inverse.estimator.cost_confidence import CostConfidence
from surefoot.reports.card.scored_rows import ScoredRows
from surefoot.reports.displays.canvas import BLUE, GREY, ORANGE, SERIES
from surefoot.reports.reliability import Reliability
from surefoot.reports.sections.net_benefit import THRESHOLDS, benefit_for_all, net_benefit
from surefoot.reports.svg_chart import Axis, SvgChart, readable_ticks, themed

# Points of a curve beyond which no eye sees a difference.
_MOST_POINTS = 400
_BINS = 28
# Ends of ranges are drawn up to this many lengths of a cost; names of its entries up to this many letters.
_FAR, _LONGEST = 2.0, 22


def reliability_chart(bins: Reliability, title: str = "Reliability diagram") -> str:
    """Observed shares against predicted probabilities, with 95 % intervals."""
    told = "; ".join(
        f"{predicted:.0%} predicted, {observed:.0%} observed ({low:.0%} to {high:.0%})"
        for predicted, observed, low, high in zip(bins.predicted, bins.observed, bins.low, bins.high, strict=True)
    )
    chart = SvgChart(title, Axis.shares("predicted probability"), Axis.shares("observed share"), told=f"{told}.")
    chart.line([0, 1], [0, 1], GREY, stroke_dasharray="5 4")
    chart.whiskers(bins.predicted, bins.low, bins.high)
    chart.dots(bins.predicted, bins.observed, 3 + 4 * np.sqrt(bins.weight / bins.weight.max()), BLUE)
    return chart.svg()


def roc_chart(rows: ScoredRows) -> str:
    """True against false positives over all thresholds."""
    _, false, true = rows.rates()
    chosen = np.unique(np.linspace(0, false.size - 1, min(false.size, _MOST_POINTS)).astype(int))
    ends = (Axis.shares("false positive rate"), Axis.shares("true positive rate"))
    told = ", ".join(f"{true[false <= alarm].max(initial=0.0):.0%} at {alarm:.0%}" for alarm in (0.05, 0.1, 0.2, 0.5))
    chart = SvgChart("ROC curve", *ends, told=f"AUC {rows.auc():.3f}. True positive rates at false positive rates: {told}.")
    chart.line([0, 1], [0, 1], GREY, stroke_dasharray="5 4")
    chart.line([0.0, *false[chosen]], [0.0, *true[chosen]], BLUE, stroke_width="2.2")
    chart.note(0.97, 0.06, f"AUC {rows.auc():.3f}", anchor="end")
    return chart.svg()


def decision_chart(rows: Mapping[str, FloatArray], positive: BoolArray) -> str:
    """Net benefit against the threshold for some models, for acting on everybody and for acting on nobody."""
    everybody = benefit_for_all(positive)
    curves = {name: net_benefit(probability, positive) for name, probability in list(rows.items())[: len(SERIES) - 3]}
    top = 1.1 * max(float(positive.mean()), *(float(worth.max()) for worth in curves.values()))
    ticks, digits = readable_ticks(-0.25 * top, top, 4)
    height = Axis("net benefit per row", -0.25 * top, top, ticks, lambda value: f"{value:.{digits}f}")
    first = next(iter(curves.values()))
    told = ", ".join(f"{first[at]:.3f} at {THRESHOLDS[at]:.0%} (everybody {everybody[at]:.3f})" for at in (9, 19, 49))
    chart = SvgChart("Decision curve", Axis.shares("risk from which one acts"), height, told=f"Net benefit {told}; nobody 0.")
    shown = everybody >= -0.25 * top
    chart.line(THRESHOLDS[shown], everybody[shown], GREY, stroke_dasharray="5 4")
    chart.line([0, 1], [0, 0], GREY, stroke_dasharray="2 3")
    for at, (name, worth) in reversed(list(enumerate(curves.items()))):
        kept = worth >= -0.25 * top
        chart.line(THRESHOLDS[kept], worth[kept], SERIES[at], stroke_width="2.2" if at == 0 else "1.4")
        if len(curves) > 1:
            chart.note(0.02, top * (-0.06 - 0.075 * at), name, colour=SERIES[at])
    return chart.svg()


def stress_chart(label: str, values: FloatArray, unshifted: float, worst: float) -> str:
    """Histogram of a metric over shifted tables, with its value on the table as it was, and the worst."""
    ends = Axis.around(label, np.append(values, unshifted))
    edges = np.linspace(float(values.min()), float(values.max()), _BINS + 1)
    if edges[0] == edges[-1]:  # nothing that shifts matters to the model
        half = (ends.high - ends.low) / (2 * _BINS)
        edges = np.array([edges[0] - half, edges[0] + half])
    shares = np.histogram(values, edges)[0] / values.size
    top = 1.35 * float(shares.max())  # room for the names of the marks
    ticks, digits = readable_ticks(0.0, 100 * top, 3)
    height = Axis("share of shifted tables", 0.0, top, tuple(tick / 100 for tick in ticks), lambda v: f"{100 * v:.{digits}f}%")
    middle = float(np.median(values))
    told = f"{unshifted:.3f} without a shift; over the shifted tables the median is {middle:.3f} and the worst {worst:.3f}."
    chart = SvgChart(f"Distribution of {label} over shifted tables", ends, height, told=told, width=320, height=240)
    chart.bars(edges, shares, BLUE)
    chart.mark(unshifted, "no shift", dashed=True)
    chart.mark(worst, "worst", colour=ORANGE, level=1)
    return chart.svg()


def spark_histogram(values: FloatArray) -> str:
    """A histogram the size of a word, for tables; empty for a column without spread."""
    known = values[np.isfinite(values)]
    if known.size == 0 or known.min() == known.max():
        return ""
    # From 0 on, because there are no 16 numbers between neighbours far from it; halves, because spreads of 1e308 overflow.
    counts = np.histogram(known / 2 - known.min() / 2, 16)[0]
    heights = 18 * counts / counts.max()
    bars = "".join(f"M{5 * at + 2.5:g} 19v{-h:.1f}" for at, h in enumerate(heights) if h > 0)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 80 20" width="80" height="20" aria-hidden="true">'
        f'<path d="{bars}" stroke="{themed(BLUE)}" stroke-width="4"/><path d="M0 19.5h80" stroke="{themed(GREY)}"/></svg>'
    )


def cost_chart(names: list[str], trust: CostConfidence, at: list[int]) -> str:
    """Entries of a learned cost at length 1, one below the other, with their ranges and bands."""
    ends = np.concatenate([part[at] for part in (trust.cost, trust.least, trust.most, trust.low, trust.high)])
    x = Axis.around("cost at length 1", np.append(np.clip(ends[np.isfinite(ends)], -_FAR, _FAR), 0.0))
    count = len(names)
    places = tuple(float(count - 1 - k) for k in range(count))
    cut = [name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}\u2026" for name in names]
    shown = dict(zip(places, cut, strict=True))
    y = Axis("", -0.7, count - 0.3, places, lambda value: shown[value])
    told = "; ".join(f"{name} {trust.cost[entry]:.3g}" for name, entry in zip(names, at, strict=True))
    chart = SvgChart("Entries of the learned cost", x, y, told=f"{told}.", width=420, height=70 + 24 * count, left=150)
    chart.line([0.0, 0.0], [-0.7, count - 0.3], GREY)
    for place, entry in zip(places, at, strict=True):
        if np.isfinite(trust.cone_degrees):
            pair = np.clip([trust.least[entry], trust.most[entry]], x.low, x.high)
            chart.line(pair, [place, place], BLUE, stroke_width="9", stroke_opacity="0.25")
        if np.isfinite(trust.low[entry]):
            chart.line([trust.low[entry], trust.high[entry]], [place, place], ORANGE, stroke_width="2")
    chart.dots(trust.cost[at], np.array(places), np.full(count, 4.0), BLUE)
    return chart.svg()


def excess_chart(excess: FloatArray) -> str:
    """The share of observations whose decision costs at most so much more than the best one."""
    worst = np.sort(np.maximum(excess, 0.0))
    chosen = np.unique(np.linspace(0, worst.size - 1, min(worst.size, _MOST_POINTS)).astype(int))
    x = Axis.around("cost beyond the best decision", np.append(worst, 0.0))
    told = f"Half of the decisions cost at most {np.median(worst):.3g} more than the best one, all at most {worst[-1]:.3g}."
    chart = SvgChart("Cost beyond the best decision", x, Axis.shares("share of observations"), told=told)
    values, shares = worst[chosen], (chosen + 1) / worst.size
    steps = np.repeat(values, 2)[1:], np.repeat(shares, 2)[:-1]
    chart.line([values[0], *steps[0], x.high], [0.0, *steps[1], 1.0], BLUE, stroke_width="2.2")
    return chart.svg()
