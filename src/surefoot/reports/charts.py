"""The charts of a report, from plain numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.reports.card.scored_rows import ScoredRows
from surefoot.reports.displays.canvas import BLUE, GREY, ORANGE, SERIES
from surefoot.reports.reliability import Reliability
from surefoot.reports.sections.net_benefit import THRESHOLDS, benefit_for_all, net_benefit
from surefoot.reports.svg_chart import Axis, SvgChart, readable_ticks, themed

# Points of a curve beyond which no eye sees a difference.
_MOST_POINTS = 400
_BINS = 28


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
