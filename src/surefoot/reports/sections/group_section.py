"""How a model does in groups of rows: whether its probabilities are right in each, and whom its answers find and miss.

Shares have Wilson's 95 % interval. Differences between groups are told where the intervals of two groups do not meet, which is
a cautious reading: groups may differ by less. With k groups there are k (k - 1) / 2 pairs, and chance alone parts some.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import BoolArray
from surefoot.reports.card.scored_rows import ScoredRows
from surefoot.reports.charts import reliability_chart
from surefoot.reports.page import figures, paragraph, table
from surefoot.reports.reliability import reliability_of, wilson_interval
from surefoot.reports.sections.groupings import RowGroup
from surefoot.reports.subject import Subject

# Diagrams side by side, bins in each, and the fewest rows that make one.
_MOST_CHARTS, _BINS, _FEWEST_ROWS = 6, 5, 20


@dataclass(frozen=True)
class Share:
    """A share of rows, and the ends of its 95 % interval; NaN where there is no row to count."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, hits: BoolArray) -> Share:
        if hits.size == 0:
            return cls(math.nan, math.nan, math.nan)
        value = float(hits.mean())
        low, high = wilson_interval(np.array([value]), np.array([float(hits.size)]))
        return cls(value, float(low[0]), float(high[0]))

    def __str__(self) -> str:
        return "\u2013" if math.isnan(self.value) else f"{self.value:.1%} ({self.low:.0%} to {self.high:.0%})"


@dataclass(frozen=True)
class GroupFigures:
    """What a model does in one group; ``predicted`` and ``log_loss`` are NaN for a model without probabilities."""

    label: str
    rows: int
    observed: Share
    predicted: float
    auc: float
    log_loss: float
    flagged: Share
    found: Share
    false_alarms: Share


def group_figures(subject: Subject, group: RowGroup) -> GroupFigures:
    """Figures of one group; AUC is NaN where the group has rows of one class only."""
    rows, positive = group.rows, subject.positive[group.rows]
    flagged = (subject.scores > 0)[rows]
    predicted = log_loss = math.nan
    if subject.probability is not None:
        own = subject.probability[rows]
        happened = np.where(positive, own[:, 1], own[:, 0])
        predicted = float(own[:, 1].mean())
        log_loss = float(-np.log(np.maximum(happened, np.finfo(np.float64).tiny)).mean())
    both = bool(positive.any() and not positive.all())
    auc = ScoredRows(subject.scores[rows], positive, np.ones(positive.size)).auc() if both else math.nan
    return GroupFigures(
        label=group.label,
        rows=int(rows.sum()),
        observed=Share.of(positive),
        predicted=predicted,
        auc=auc,
        log_loss=log_loss,
        flagged=Share.of(flagged),
        found=Share.of(flagged[positive]),
        false_alarms=Share.of(flagged[~positive]),
    )


def group_blocks(subject: Subject, groupings: dict[str, list[RowGroup]]) -> tuple[str, ...]:
    """The section, one part for every column."""
    blocks = [
        paragraph(
            f"Whether the model treats groups of rows alike. Found: how many rows of {subject.classes[1]} it predicts to be "
            "so. False alarms: how many of the others. In brackets are 95 % intervals. Where groups differ in what is "
            "observed, all figures can seldom be equal at once; which of them matter is for people to decide."
        )
    ]
    for name, groups in groupings.items():
        blocks += _column_blocks(subject, name, groups)
    return tuple(blocks)


def _column_blocks(subject: Subject, name: str, groups: list[RowGroup]) -> list[str]:
    lines = [group_figures(subject, group) for group in groups]
    rows = [
        [line.label, f"{line.rows:,}", str(line.observed), _share(line.predicted), *map(_number, (line.auc, line.log_loss))]
        for line in lines
    ]
    answers = [[line.label, str(line.flagged), str(line.found), str(line.false_alarms)] for line in lines]
    headings = ("group", "rows", "observed", "predicted", "AUC", "log loss")
    blocks = [
        table(headings, rows, caption=f"By {name}: probabilities"),
        table(("group", "predicted to be so", "found", "false alarms"), answers, caption=f"By {name}: answers"),
        paragraph(" ".join(_differences(lines))),
    ]
    if subject.probability is not None:
        charts = [
            (_chart(subject, group, name), f"{name}: {group.label}, {int(group.rows.sum()):,} rows")
            for group in groups
            if group.rows.sum() >= _FEWEST_ROWS
        ]
        if charts:
            blocks.append(figures(*charts[:_MOST_CHARTS]))
    return blocks


def _chart(subject: Subject, group: RowGroup, name: str) -> str:
    assert subject.probability is not None
    bins = reliability_of(subject.probability[group.rows, 1], subject.positive[group.rows], n_bins=_BINS)
    return reliability_chart(bins, f"Reliability where {name} is {group.label}")


def _differences(lines: list[GroupFigures]) -> list[str]:
    """Sentences about groups that chance does not explain, or one that there are none."""
    told = []
    off = [
        line
        for line in lines
        if not math.isnan(line.predicted) and not line.observed.low <= line.predicted <= line.observed.high
    ]
    for line in off:
        side = "too low" if line.predicted < line.observed.value else "too high"
        told.append(f"Probabilities are {side} in {line.label}: {line.predicted:.1%} predicted, {line.observed} observed.")
    for what, shares in (
        ("found", [(line.label, line.found) for line in lines]),
        ("false alarms", [(line.label, line.false_alarms) for line in lines]),
    ):
        known = [(label, share) for label, share in shares if not math.isnan(share.value)]
        if len(known) < 2:
            continue
        least, most = min(known, key=lambda entry: entry[1].value), max(known, key=lambda entry: entry[1].value)
        if least[1].high < most[1].low:
            told.append(
                f"The share of {what} differs by more than these intervals: {most[0]} {most[1]}, {least[0]} {least[1]}."
            )
    return told or ["No difference between these groups is larger than the intervals allow; small groups have wide ones."]


def _share(value: float) -> str:
    return "\u2013" if math.isnan(value) else f"{value:.1%}"


def _number(value: float) -> str:
    return "\u2013" if math.isnan(value) else f"{value:.3f}"
