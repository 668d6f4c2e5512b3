"""How well a model does on the rows of a report: reliability, ROC curve and decision curve, in figures and pictures."""

from __future__ import annotations

from surefoot.reports.charts import decision_chart, reliability_chart, roc_chart
from surefoot.reports.model_section import rows_note
from surefoot.reports.page import figures, paragraph, table
from surefoot.reports.reliability import Reliability
from surefoot.reports.sections.findings import Findings
from surefoot.reports.sections.net_benefit import useful_range


def quality_blocks(found: Findings) -> tuple[str, ...]:
    """The section."""
    subject, bins, metrics = found.subject, found.bins, found.metrics
    roc = (
        roc_chart(subject.rows),
        "ROC curve: for every threshold, whom it finds among the positive and among the negative rows.",
    )
    which = "predicted" if subject.goes_by_score else "more likely"
    told = [f"the {which} class is right in {metrics['accuracy']:.1%} of the rows"]
    if bins is None or subject.probability is None:
        return (
            paragraph(f"In these rows {told[0]}. Reliability needs probabilities: fit the model with probability=True."),
            figures(roc),
        )
    told.append(f"the mean log loss is {metrics['log_loss']:.4f}")
    verdict = (
        "The predicted probability lies in every interval."
        if bins.n_outside == 0
        else f"The predicted probability lies outside the interval of {bins.n_outside} of {bins.predicted.size} groups."
    )
    reliability = (
        reliability_chart(bins),
        "Reliability: rows in groups of similar probability, with 95 % intervals of the observed share. On the dashed line "
        f"predictions are right. {verdict}",
    )
    models = {} if found.rivals is None else {name: rows[:, 1] for name, rows in found.rivals.probability.items()}
    decision = (
        decision_chart(models or {"this model": subject.probability[:, 1]}, subject.positive),
        f"Decision curve: what acting on the model is worth, in cases found per row less false alarms at their price. Dashed: "
        f"acting on everybody; dotted: on nobody. {_use(found)}",
    )
    return (
        rows_note(same_rows=found.check.same_rows),
        paragraph(f"In these rows {' and '.join(told)}."),
        figures(reliability, roc, decision),
        _bins_table(bins),
    )


def _use(found: Findings) -> str:
    assert found.subject.probability is not None
    useful = useful_range(found.subject.probability[:, 1], found.subject.positive)
    if useful is None:
        return "At no threshold is the model worth more than these two."
    return f"The model is worth more than both for whoever acts from a risk between {useful[0]:.0%} and {useful[1]:.0%}."


def _bins_table(bins: Reliability) -> str:
    rows = [
        [f"{at}", f"{weight:,.0f}", f"{predicted:.1%}", f"{observed:.1%}", f"{low:.1%} to {high:.1%}"]
        for at, (predicted, observed, low, high, weight) in enumerate(
            zip(bins.predicted, bins.observed, bins.low, bins.high, bins.weight, strict=True), 1
        )
    ]
    return table(
        ("group", "rows", "predicted", "observed", "95 % interval"), rows, caption="The reliability diagram in figures"
    )
