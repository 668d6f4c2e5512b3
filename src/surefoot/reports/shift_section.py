"""What a report says about shifts: the worst one in words, and what many random ones do."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.chancesvm.estimator.chance_svc import ChanceConstrainedSVC
from surefoot.design.encode.schema import Schema
from surefoot.design.read.table import Table
from surefoot.exceptions import InvalidTableError
from surefoot.reports.charts import stress_chart
from surefoot.reports.page import Fact, figures, paragraph, table
from surefoot.reports.shift_wording import certainty_words, price_words, worst_shift_blocks
from surefoot.reports.subject import Subject
from surefoot.robust.estimator.worst_case import LABEL_FEATURE, WorstCase
from surefoot.shift.column_settings import DEFAULT_INTERVAL
from surefoot.shift.shift_model import ShiftModel
from surefoot.shift.stress.metrics import REWARDS
from surefoot.shift.stress.stress_report import StressReport
from surefoot.shift.stress.stress_test import stress_test

_METRICS = {"auc": "AUC", "ace": "calibration error", "log_loss": "log loss"}


@dataclass(frozen=True)
class ShiftSectionParameters:
    """What a report assumes where nobody said anything, and how it keeps to its time. Not tuned."""

    # Radius of the worst shift of a model that was fitted with none: the default of robust models.
    radius: float = 0.05
    # Certainty of every column, and the interval of numeric ones, which is the paper's.
    certainty: float = 0.9
    interval: str = DEFAULT_INTERVAL
    # Shifted tables that tell how long one takes, and the fewest that make a distribution.
    probed_sets: int = 2
    min_sets: int = 20


PARAMETERS = ShiftSectionParameters()


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

    @property
    def fact(self) -> Fact | None:
        if self.report is None:
            return None
        values = self.report.of("auc")
        return Fact(
            "AUC under stress", f"{values.mean():.3f}", f"mean of {values.size:,} shifted tables; worst {values.min():.3f}"
        )

    @property
    def blocks(self) -> tuple[str, ...]:
        if self.report is None:
            return (paragraph(self.reason),)
        report, pictures, rows = self.report, [], []
        for at, (metric, label) in enumerate(_METRICS.items()):
            values, unshifted = report.of(metric), float(report.unshifted[0, at])
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


def run_stress(
    subject: Subject,
    shift: ShiftModel | None,
    *,
    reference: Any,
    n_sets: int,
    seconds: float,
    random_state: Any,
    n_jobs: int | None,
    verbose: int,
) -> Stress:
    """As many shifted tables as the time allows, up to ``n_sets``."""
    if subject.probability is None:
        return Stress(None, "A stress test needs probabilities: fit the model with probability=True.", "")
    model, given = subject.whole, shift
    assumed = f"The shift model that was given says that {_told(shift)}." if isinstance(shift, ShiftModel) else ""
    if given is None:
        own = getattr(subject.model, "shift", None)
        # Behind other steps the model's own columns are not those of the table.
        if isinstance(own, ShiftModel) and subject.seen is subject.X:
            given, assumed = own, f"The shift model that it was fitted with says that {_told(own)}."
        else:
            given, assumed = _assumed_shift(subject)
    if not isinstance(given, ShiftModel):
        raise ValueError(f"shift = {given!r} must be None or a ShiftModel.")

    def run(count: int, voice: int) -> StressReport:
        return stress_test(
            model,
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

    if n_sets <= PARAMETERS.probed_sets:
        return Stress(run(n_sets, verbose), "", assumed)
    started = time.perf_counter()
    try:
        run(PARAMETERS.probed_sets, 0)
    except InvalidTableError as error:
        if shift is not None:
            raise
        return Stress(None, f"No stress test: {error}", "")
    each = (time.perf_counter() - started) / PARAMETERS.probed_sets
    if n_sets > PARAMETERS.min_sets <= seconds / each:
        # Most of a first look is reading the table; a second one tells what a set takes.
        run(PARAMETERS.min_sets, 0)
        each = (time.perf_counter() - started) / (PARAMETERS.probed_sets + PARAMETERS.min_sets)
    count = min(n_sets, int(seconds / each))
    if count < min(PARAMETERS.min_sets, n_sets):
        return Stress(
            None,
            f"No stress test: one shifted table takes {each:.2g} s, so that {seconds:g} s are too few. Allow more time.",
            "",
        )
    if count < n_sets:
        assumed += f" There would have been {n_sets:,} in more time than {seconds:g} s."
    return Stress(run(count, verbose), "", assumed)


def _assumed_shift(subject: Subject) -> tuple[ShiftModel, str]:
    """A shift that may move every column, for those about which nobody said anything."""
    data = subject.data
    schema = subject.model.schema_ if subject.seen is subject.X else None
    categorical = [name for at, name in enumerate(data.names) if _is_category(data, at, schema)]
    numeric = [name for name in data.names if name not in categorical]
    model = ShiftModel(
        numeric_certainty=dict.fromkeys(numeric, PARAMETERS.certainty) or None,
        numeric_interval=PARAMETERS.interval,
        categorical_certainty=dict.fromkeys(categorical, PARAMETERS.certainty) or None,
    )
    told = certainty_words(
        PARAMETERS.certainty if numeric else None, PARAMETERS.interval, PARAMETERS.certainty if categorical else None
    )
    return model, f"Nobody said what may shift, so it is assumed that {told}, all independently."


def _told(shift: ShiftModel) -> str:
    return certainty_words(shift.numeric_certainty, shift.numeric_interval, shift.categorical_certainty)


def _is_category(data: Table, at: int, schema: Schema | None) -> bool:
    column = data.columns[at]
    if schema is not None and schema.columns[at].kind == "categorical":
        return True
    if schema is None and column.natural_kind() == "categorical":
        return True
    values = column.numbers()
    return bool(np.all(np.isnan(values) | (values == 0) | (values == 1)))
