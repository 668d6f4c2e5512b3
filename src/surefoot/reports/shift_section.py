"""What a report says about shifts: the worst one in words, and what many random ones do."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.chancesvm.estimator.chance_svc import ChanceConstrainedSVC
from surefoot.core.arrays import FloatArray
from surefoot.design.read.table import Table
from surefoot.exceptions import InvalidTableError
from surefoot.reports.charts import stress_chart
from surefoot.reports.page import Fact, figures, paragraph, table
from surefoot.reports.shift_wording import ASSUMED, price_words, shift_words, worst_shift_blocks
from surefoot.reports.subject import Subject
from surefoot.robust.estimator.worst_case import LABEL_FEATURE, WorstCase
from surefoot.shift.default_shift import default_shift, own_shift
from surefoot.shift.shift_model import ShiftModel
from surefoot.shift.stress.metrics import REWARDS
from surefoot.shift.stress.stress_report import StressReport
from surefoot.shift.stress.stress_test import stress_test

_METRICS = {"auc": "AUC", "ace": "calibration error", "log_loss": "log loss"}


@dataclass(frozen=True)
class ShiftSectionParameters:
    """What a report assumes where nobody said anything, and how it keeps to its time. Not tuned."""

    # Radius of the worst shift of a model that was fitted with none.
    radius: float = 0.05
    # Shifted tables of a stress test, fewer of large tables: so many cells are rewritten in all. The clock has no say in it.
    sets: int = 1000
    cells: float = 1e9
    # Shifted tables that tell how long one takes, and the fewest that make a distribution.
    probed_sets: int = 2
    min_sets: int = 20


PARAMETERS = ShiftSectionParameters()
# What the model of the report is called beside others.
OWN_NAME = "this model"


def worst_case_of(subject: Subject) -> WorstCase | None:
    """The worst shift within the radius of the model; None for models that know none."""
    model = subject.model
    if isinstance(model, ChanceConstrainedSVC):
        return None
    worst: WorstCase = model.worst_case(subject.seen, subject.y)
    return worst if worst.radius > 0 else model.worst_case(subject.seen, subject.y, radius=PARAMETERS.radius)


def is_of_sampling_error(model: Any) -> bool:
    """Whether the radius of a model is the automatic one, which no shift was thought of for."""
    return getattr(model, "sampling_error_", None) is not None and float(model.radius_) > 0


def worst_case_fact(subject: Subject, worst: WorstCase) -> Fact:
    """The worst shift as a tile."""
    within = f"within radius {worst.radius:.3g}, which stands for sampling error only and not for shifts"
    note = f"mean log loss under the worst shift{f' {within}' if is_of_sampling_error(subject.model) else ''}"
    return Fact("Worst case", f"{worst.expected_loss:.3f}", f"{note}; {worst.nominal_loss:.3f} without")


def worst_case_blocks(subject: Subject, worst: WorstCase | None, *, stressed: bool = False) -> tuple[str, ...]:
    """The section about the worst shift; ``stressed`` says that a stress test follows."""
    if worst is None:
        return (
            paragraph(
                "This model is protected input by input, not column by column: the column 'misclassified at most' above is the "
                "probability under the worst distribution with the moments of each input."
            ),
        )
    moves = worst.summed()
    touched = set(map(str, moves["feature"]))
    blocks = list(
        worst_shift_blocks(
            moves,
            radius=worst.radius,
            nominal_loss=worst.nominal_loss,
            expected_loss=worst.expected_loss,
            label_feature=LABEL_FEATURE,
            untouched=[name for name in _counting(subject.model) if name not in touched],
            prices=_prices(subject.model),
            binary=worst.endless_binary if isinstance(worst, WorstCase) else (),
        )
    )
    if is_of_sampling_error(subject.model):
        other = (
            " The stress test below draws shifts that the radius was not made for; where they are larger, losses there are "
            "above this worst case."
        )
        blocks.insert(
            1,
            paragraph(
                f"The radius of {worst.radius:.3g} is automatic: it stands for the sampling error of the rows of the fit only, "
                "and not for shifts. What may shift tomorrow takes a radius or a shift model of its own."
                + (other if stressed else "")
            ),
        )
    own = float(getattr(subject.model, "radius_", getattr(subject.model, "radius", 0.0)) or 0.0)
    if own == 0 and getattr(subject.model, "shift", None) is None:
        blocks.insert(
            0,
            paragraph(
                f"The model was not fitted to be safe against shifts; this is what a radius of {PARAMETERS.radius} would do."
            ),
        )
    return tuple(blocks)


def _counting(model: Any) -> tuple[str, ...]:
    """Columns that the model looks at."""
    names: tuple[str, ...] = tuple(getattr(model, "points_", model.schema_.names))
    return names


def _prices(model: Any) -> str:
    if not hasattr(model, "ground_cost_"):
        own = (
            "what its shift model says"
            if model.shift is not None
            else "1 per standard deviation, and 1 per flip of a 0/1 column"
        )
        return own
    schema, cost = model.schema_, model.ground_cost_
    names = [[column.name for column in columns] for columns in (schema.numeric_columns, schema.categorical_columns)]
    parts = [
        price_words(names[0], cost.numeric_weights.tolist(), unit="unit", unit_of="numeric"),
        price_words(names[1], cost.categorical_weights.tolist(), unit="change", unit_of="categorical"),
    ]
    if cost.label_weight < math.inf:
        parts.append(f"{cost.label_weight:.3g} for a label")
    return "; ".join(filter(None, parts))


@dataclass(frozen=True)
class Stress:
    """A finished stress test, or why there is none; ``assumed`` says what shifts were taken for granted."""

    report: StressReport | None
    reason: str
    assumed: str

    def values(self, metric: str, model: str = OWN_NAME) -> FloatArray:
        """A metric of a model on all shifted tables."""
        assert self.report is not None, "there is a report wherever its figures are asked for"
        return self.report.of(metric, model=model)

    @property
    def fact(self) -> Fact | None:
        if self.report is None:
            return None
        values = self.values("auc")
        return Fact(
            "AUC under stress", f"{values.mean():.3f}", f"mean of {values.size:,} shifted tables; worst {values.min():.3f}"
        )

    @property
    def blocks(self) -> tuple[str, ...]:
        if self.report is None:
            return (paragraph(self.reason),)
        report, pictures, rows = self.report, [], []
        for at, (metric, label) in enumerate(_METRICS.items()):
            values, unshifted = self.values(metric), float(report.unshifted[0, at])
            worst = float(values.min() if metric in REWARDS else values.max())
            pictures.append(
                (stress_chart(label, values, unshifted, worst), f"{label[0].upper()}{label[1:]} on the shifted tables")
            )
            low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
            rows.append([label, *(f"{value:.4f}" for value in (unshifted, values.mean(), low, middle, high, worst))])
        return (
            paragraph(f"{report.n_sets:,} random shifts of the table. {self.assumed}"),
            figures(*pictures),
            table(("metric", "no shift", "mean", "5%", "50%", "95%", "worst"), rows),
            paragraph("AUC: greater is better. Calibration error and log loss: smaller is better.", "small"),
        )


def default_sets(data: Table) -> int:
    """How many shifted tables there are by default: the same on every machine."""
    cells = data.n_rows * len(data.names)
    return min(PARAMETERS.sets, max(PARAMETERS.min_sets, int(PARAMETERS.cells / cells)))


def run_stress(
    subject: Subject,
    shift: ShiftModel | None,
    *,
    rivals: Mapping[str, Any],
    reference: Any,
    n_sets: int,
    seconds: float | None,
    random_state: Any,
    n_jobs: int | None,
    verbose: int,
) -> Stress:
    """As many shifted tables as ``n_sets``, or as the user's time allows; rivals see the same ones."""
    if subject.probability is None:
        return Stress(None, "A stress test needs probabilities: fit the model with probability=True.", "")
    given, assumed = _chosen_shift(subject, shift)
    models = {OWN_NAME: subject.whole, **rivals}

    def run(count: int, voice: int) -> StressReport:
        return stress_test(
            models,
            subject.X,
            subject.y,
            given,
            count,
            tuple(_METRICS),
            random_state,
            n_jobs,
            reference=reference,
            verbose=voice,
        )

    try:
        if seconds is None:
            return Stress(run(n_sets, verbose), "", assumed)
        count, each = _affordable_sets(run, n_sets, seconds)
        if count < min(PARAMETERS.min_sets, n_sets):
            return Stress(
                None,
                f"No stress test: one shifted table takes {each:.2g} s, so that {seconds:g} s are too few. Allow more time.",
                "",
            )
        if count < n_sets:
            assumed += f" There would have been {n_sets:,} in more time than {seconds:g} s."
        return Stress(run(count, verbose), "", assumed)
    except InvalidTableError as error:
        if shift is not None:
            raise
        return Stress(None, f"No stress test: {error}", "")


def _affordable_sets(run: Callable[[int, int], StressReport], n_sets: int, seconds: float) -> tuple[int, float]:
    """How many shifted tables there is time for, and the seconds that each takes."""
    if n_sets <= PARAMETERS.probed_sets:
        return n_sets, 0.0
    started = time.perf_counter()
    run(PARAMETERS.probed_sets, 0)
    each = (time.perf_counter() - started) / PARAMETERS.probed_sets
    if n_sets > PARAMETERS.min_sets <= seconds / each:
        # Most of a first look is reading the table; a second one tells what a set takes.
        run(PARAMETERS.min_sets, 0)
        each = (time.perf_counter() - started) / (PARAMETERS.probed_sets + PARAMETERS.min_sets)
    return min(n_sets, int(seconds / each)), each


def _chosen_shift(subject: Subject, shift: ShiftModel | None) -> tuple[ShiftModel, str]:
    """The shift model of the stress test, and where it comes from."""
    if isinstance(shift, ShiftModel):
        return shift, f"The shift model that was given says that {shift_words(shift)}."
    if shift is not None:
        raise ValueError(f"shift = {shift!r} must be None or a ShiftModel.")
    own = own_shift(subject.whole)
    if own is not None:
        return own, f"The shift model that it was fitted with says that {shift_words(own)}."
    assumed = default_shift(subject.whole)
    return assumed, f"{ASSUMED} {shift_words(assumed)}, all independently."
