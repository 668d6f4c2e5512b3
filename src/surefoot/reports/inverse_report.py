"""The report about a learned cost: of observations instead of rows, with no classes, rankings and shifts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from surefoot.design.read.observation_rows import rows_of
from surefoot.exceptions import SurefootError
from surefoot.inverse.estimator.cost_confidence import CostConfidence, cost_confidence
from surefoot.inverse.estimator.explained import Explained, explained
from surefoot.inverse.estimator.inverse_optimizer import InverseOptimizer
from surefoot.reports.model_section import certificate_blocks, certificate_fact, check_of, model_name, setting_blocks
from surefoot.reports.page import ReportPage, Section, paragraph, table
from surefoot.reports.sections.cost_section import (
    cost_blocks,
    explained_blocks,
    explained_fact,
    problem_blocks,
    trust_blocks,
    trust_facts,
)
from surefoot.sklearn_api.proven_model import last_step, refitted

# Refits for the bands of a report, and seconds for them where no others are asked for.
_REFITS, _SECONDS = 30, 20.0


@dataclass(frozen=True)
class _Count:
    n_rows: int


@dataclass(frozen=True, eq=False)
class InverseSubject:
    """A learned cost and observations; ``whole`` to ``data`` as those of :class:`~surefoot.reports.subject.Subject`."""

    whole: Any
    model: InverseOptimizer
    seen: Sequence[Any]
    y: Sequence[Any]
    data: _Count
    explained: Explained


def is_inverse(model: Any) -> bool:
    """Whether a report on a model is one on a learned cost."""
    return isinstance(last_step(refitted(model)), InverseOptimizer)


def refuse_table_options(given: Mapping[str, Any]) -> None:
    """Raise if options of reports on tables are given for a learned cost."""
    named = next((name for name, value in given.items() if value is not None), None)
    if named is not None:
        raise ValueError(f"{named} is for models of tables; a report on an InverseOptimizer has no use for it.")


def read_inverse_subject(model: Any, signals: Sequence[Any], responses: Sequence[Any]) -> InverseSubject:
    """Hold a learned cost against observations.

    Raises
    ------
    InvalidObservationError
        If an observation does not fit the forward problem, naming it.
    """
    model = refitted(model)
    check_is_fitted(model, "cost_")
    if getattr(model, "certificate_", None) is None:
        raise ValueError("this InverseOptimizer has no certificate: what partial_fit learns is not proven, and has no report.")
    if responses is None:
        raise ValueError("a report on an InverseOptimizer needs signals and responses, and there are no responses.")
    signals, responses = rows_of(signals), rows_of(responses)
    found = explained(model, signals, responses)
    return InverseSubject(model, model, signals, responses, _Count(len(signals)), found)


def inverse_page(subject: InverseSubject, *, title: str, seconds: float | None, random_state: Any, footer: str) -> ReportPage:
    """The page about it."""
    model, seen = subject.model, subject.explained
    check = check_of(subject, rows="observations")
    trust, why_not = _trust(subject, same=check.same_rows, seconds=seconds, random_state=random_state)
    name, count = model_name(model), subject.data.n_rows
    sections = (
        Section("The learned cost", cost_blocks(model, trust)),
        Section("What is decided", problem_blocks(model, seen)),
        Section("What it explains", explained_blocks(seen, same_rows=check.same_rows)),
        Section("What is proven", certificate_blocks(model, check, rows="observations")),
        Section("How far to trust it", trust_blocks(trust, why_not)),
        Section("The observations", _observation_blocks(subject)),
        Section("Settings", setting_blocks(model)),
    )
    return ReportPage(
        title=title or f"{name}: the cost behind {count:,} decisions",
        subtitle=f"{name}, approach {model.approach!r}, judged on {count:,} observations",
        facts=(certificate_fact(check, rows="observations"), explained_fact(seen), *trust_facts(trust)),
        sections=sections,
        footer=footer,
    )


def _trust(
    subject: InverseSubject, *, same: bool, seconds: float | None, random_state: Any
) -> tuple[CostConfidence | None, str]:
    """Confidence in the cost, or why there is none."""
    model = subject.model
    if not np.any(model.cost_):
        return None, "The learned cost is 0: it has no direction, and there is nothing to be sure of."
    if not same:
        return None, (
            "This is told from the observations that the cost was learned from: write a report on those, or call "
            "surefoot.inverse.cost_confidence with them."
        )
    try:
        found = cost_confidence(
            model,
            subject.seen,
            subject.y,
            n_resamples=_REFITS,
            time_limit=_SECONDS if seconds is None else float(seconds),
            random_state=random_state,
        )
    except SurefootError as flaw:
        return None, f"It could not be told: {flaw}"
    return found, ""


def _observation_blocks(subject: InverseSubject) -> tuple[str, ...]:
    """How many observations there are, and the first few as they were given."""
    examples = subject.explained.problem.examples
    outside = sum(not example.inside for example in examples)
    told = f"{len(examples):,} observations, each a signal and what was decided at it."
    if outside:
        told += f" {outside:,} of the responses are no decisions of their signals; losses below 0 count as 0 there."
    rows = [
        [str(example.index), _given(signal), _given(response)]
        for example, signal, response in list(zip(examples, subject.seen, subject.y, strict=True))[:5]
    ]
    return (paragraph(told), table(("", "signal", "response"), rows, left=3, caption="The first of them, as they were given"))


def _given(part: Any) -> str:
    """A signal or a response in a few words."""
    if isinstance(part, Mapping):
        return ", ".join(f"{name}: {_given(value)}" for name, value in list(part.items())[:6])[:160]
    if hasattr(part, "shape") and np.size(part) > 12:
        return f"array of shape {' x '.join(map(str, np.shape(part)))}"
    if isinstance(part, tuple):
        return "; ".join(map(_given, part))[:160]
    if isinstance(part, np.ndarray) and part.dtype.kind in "biuf":
        return np.array2string(part, precision=4, separator=", ")
    return f"{part!r:.160}"
