"""Pictures of a score card at work on a table: is the risk right, whom does a threshold find, where do people stand.

matplotlib is optional; it is imported when a picture is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.reports.card.scored_rows import ScoredRows, score_groups, scored_rows
from surefoot.reports.displays.canvas import BLUE, GREY, INK, ORANGE, matplotlib, plain
from surefoot.reports.wording import number_text, totals_text

if TYPE_CHECKING:
    from surefoot.reports.card.score_card import ScoreCard

# More marks than these would hide each other on the curve.
_MOST_MARKS = 12


def plot_card(card: ScoreCard, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """Reliability, ROC curve and distribution of the totals side by side.

    Parameters
    ----------
    card : ScoreCard
    X : data frame or other table with the columns that have points
    y : array-like of shape (n_rows,)
    sample_weight : array-like of shape (n_rows,), optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    rows = scored_rows(card, X, y, sample_weight)
    figure, axes = matplotlib("pyplot").subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    for draw, ax in zip((draw_reliability, draw_roc, draw_totals), axes, strict=True):
        draw(card, rows, ax)
    return figure


def draw_reliability(card: ScoreCard, rows: ScoredRows, ax: Any) -> None:
    """Share of positive rows next to the predicted risk, for each row of the table of risks, with 95 % intervals."""
    groups = score_groups(card, rows, [totals_text(row, card.table) for row in card.table.rows])
    predicted = np.array([group.predicted for group in groups])
    observed = np.array([group.observed for group in groups])
    spread = [observed - [group.low for group in groups], [group.high for group in groups] - observed]
    sizes = np.array([group.weight for group in groups])
    ax.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1, label="as predicted")
    ax.errorbar(predicted, observed, yerr=np.maximum(spread, 0.0), fmt="none", ecolor=INK, elinewidth=1, capsize=2, zorder=3)
    ax.scatter(predicted, observed, s=20 + 180 * sizes / sizes.max(), color=BLUE, alpha=0.8, label="people with one total")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="predicted risk", ylabel="observed share", title="Reliability")
    ax.set_aspect("equal")
    ax.legend(loc="upper left", markerscale=0.6, frameon=False)


def draw_roc(card: ScoreCard, rows: ScoredRows, ax: Any) -> None:
    """True against false positives for every threshold on the total, with the thresholds written next to the curve."""
    thresholds, false, true = rows.rates()
    ax.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1)
    ax.plot([0, *false], [0, *true], color=BLUE, label=f"AUC {rows.auc():.3f}")
    # The last threshold flags everybody, which is no decision.
    marks = np.unique(np.linspace(0, thresholds.size - 2, min(_MOST_MARKS, max(thresholds.size - 1, 0))).astype(int))
    ax.plot(false[marks], true[marks], linestyle="none", marker="o", markersize=4, color=BLUE)
    for at in marks:
        text = f"\u2265 {number_text(round(float(thresholds[at]), 2))}"
        inside = (6, -9) if false[at] < 0.85 else (-4, -13)
        ax.annotate(text, (false[at], true[at]), inside, textcoords="offset points", fontsize=8, color=GREY)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="false positive rate", ylabel="true positive rate")
    ax.set_title("Thresholds on the total")
    ax.set_aspect("equal")
    ax.legend(loc="lower right", frameon=False)


def draw_totals(card: ScoreCard, rows: ScoredRows, ax: Any) -> None:
    """How the rows of each class are spread over the totals."""
    distinct = np.unique(rows.totals)
    edges: Any = np.histogram_bin_edges(rows.totals, bins=30)
    if card.table.exact or distinct.size <= 30:
        step = float(np.min(np.diff(distinct))) if distinct.size > 1 else 1.0
        edges = np.arange(distinct[0] - step / 2, distinct[-1] + step, step)
    for rows_of, colour, name in ((~rows.positive, BLUE, card.classes[0]), (rows.positive, ORANGE, card.classes[1])):
        own = rows.weights * rows_of
        ax.hist(rows.totals, bins=edges, weights=own / own.sum(), color=colour, alpha=0.6, label=plain(name))
    ax.set(xlabel="total points", ylabel="share of the class", title="Distribution of the totals")
    ax.legend(frameon=False)
