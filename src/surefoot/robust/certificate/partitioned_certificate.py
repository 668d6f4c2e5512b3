"""The verdict on a robust logistic model, from the parts of its table.

    lower bound  <=  min over beta, lambda of F(beta, lambda)  <=  F(beta, lambda) of the model at hand  <=  upper bound.

Everything that is needed of rows or of entries of a plan is a sum, or a maximum, so a table is judged in two passes that hold
one part at a time, or in up to four where the first bound is not enough:

1. total weight, weighted means of the numeric columns, fingerprint of the rows (``survey``);
2. losses of the model, sums over either label, and the plan of each part, checked and summed (``judge``);
3. where that leaves something to prove: the expansion of the loss at the model (``expansion_of_part``);
4. the one maximum over entries that ``curvature_bound`` needs, if it does (``longest_of_part``).

A whole table is one part whose weights are shares already. The weights of parts are divided by the total found in the first
pass. Each lower bound is valid, so the largest counts, and 0 is one whatever the plan, as losses are positive. Nothing here
knows how the model or the plan were found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.core.certificate import Certificate, Statement, digest, require_tolerance, verdict
from surefoot.core.enclosure import Enclosure, enclose
from surefoot.exceptions import CertificateError
from surefoot.robust.certificate import curvature_bound as curvature
from surefoot.robust.certificate.checked_plan import CheckedPlan, RefusedPlanError, check_plan
from surefoot.robust.certificate.coefficient_limits import CoefficientLimits, LabelSums, coefficient_limits, label_sums
from surefoot.robust.certificate.objective import flaw, loss_sum, model_digest, objective_of, require_shapes
from surefoot.robust.certificate.posed_rows import Frame, Setting, Sums, read_part, read_setting
from surefoot.robust.certificate.weak_duality import PlanSums, plan_sums, weak_duality_bound

if TYPE_CHECKING:
    from surefoot.robust.problem.problem import RobustCoefficients, ShiftPlan
    from surefoot.robust.problem.row_batch import RowBatch
    from surefoot.robust.problem.terms import Terms

# Relative difference of the weights that two passes meet: more than rounding, less than a row.
SAME_WEIGHT = 1e-9
NO_PLAN = "there is no plan to prove a better bound"


@dataclass(frozen=True)
class Survey(Sums):
    """What the first pass learns: the weight, weighted sums of the numeric columns, their smallest and largest numbers."""

    weight: Enclosure
    columns: FloatArray
    low: list[FloatArray]
    high: list[FloatArray]
    sparse_parts: int
    digests: str


@dataclass(frozen=True)
class Judgement(Sums):
    """What the second pass learns; ``refusals`` say why a part has no sums of a plan."""

    losses: Enclosure
    positive: LabelSums
    negative: LabelSums
    plans: list[PlanSums]
    refusals: list[str]


def survey(batch: Any, setting: Setting) -> Survey:
    """The first pass over one part, weights as they are."""
    part = read_part(batch, setting)
    low: FloatArray = np.zeros(setting.gamma.size)
    high: FloatArray = np.zeros(setting.gamma.size)
    if part.is_sparse:
        np.minimum.at(low, part.numeric.indices, part.numeric.data)
        np.maximum.at(high, part.numeric.indices, part.numeric.data)
    else:
        low, high = part.numeric.min(axis=0, initial=np.inf), part.numeric.max(axis=0, initial=-np.inf)
    with np.errstate(all="ignore"):
        columns = np.asarray(part.numeric.T @ part.weights)
        return Survey(enclose(part.weights).sum(), columns, [low], [high], int(part.is_sparse), part.digest())


def frame_of(setting: Setting, seen: Survey, total: Enclosure) -> Frame:
    """The frame of a table that has been surveyed."""
    with np.errstate(all="ignore"):
        mean: FloatArray = seen.columns / seen.weight.mid
    low, high = np.min(seen.low, axis=0), np.max(seen.high, axis=0)
    constant: BoolArray = low == high
    if setting.fit_intercept and not seen.sparse_parts and np.isfinite(mean).all():
        centre, live = np.where(constant, low, mean), ~constant
    else:
        centre, live = np.zeros(setting.gamma.size), ~(constant & (low == 0))
    largest = np.maximum((enclose(low) - centre).size, (enclose(high) - centre).size)
    return Frame(setting, total, centre, largest, live)


def judge(batch: Any, plan: Any, frame: Frame, model: Any) -> Judgement:
    """The second pass over one part and its plan."""
    part = read_part(batch, frame.setting)
    with np.errstate(all="ignore"):
        losses = loss_sum(part, frame, model)
        labels = label_sums(part, frame, 1.0), label_sums(part, frame, -1.0)
        if plan is None:
            return Judgement(losses, *labels, [], [NO_PLAN])
        try:
            return Judgement(losses, *labels, [plan_sums(check_plan(part, frame, plan))], [])
        except RefusedPlanError as refusal:
            where = f"of rows {part.first_row} to {part.first_row + part.labels.size - 1}"
            return Judgement(losses, *labels, [], [f"the plan {where} is refused because {refusal}"])


def expansion_of_part(batch: Any, plan: Any, frame: Frame, where: curvature.ExpansionPlace) -> curvature.Expansion:
    """The third pass over one part and its plan, which the second pass has found sound."""
    with np.errstate(all="ignore"):
        return curvature.expansion_sums(_sound_plan(batch, plan, frame), where)


def longest_of_part(batch: Any, plan: Any, frame: Frame, *arguments: Any) -> float:
    """The fourth pass over one part and its plan."""
    with np.errstate(all="ignore"):
        return curvature.longest_entry(_sound_plan(batch, plan, frame), *arguments)


def _sound_plan(batch: Any, plan: Any, frame: Frame) -> CheckedPlan:
    try:
        return curvature.significant_part(check_plan(read_part(batch, frame.setting), frame, plan))
    except RefusedPlanError as refusal:
        raise CertificateError(f"a later pass met another plan than the second: {refusal}") from refusal


class PlannedRows(Protocol):
    """Where the parts of a table live, each with its part of a plan.

    ``map`` calls ``work(batch, *arguments)`` with the rows of every part, wherever they are, and yields the answers in the
    order of the parts; ``map_with_plans`` calls ``work(batch, plan, *arguments)``. ``work`` is a function of this module,
    and its arguments and answers can be pickled.
    """

    def map(self, work: Callable[..., Any], *arguments: Any) -> Iterable[Any]: ...

    def map_with_plans(self, work: Callable[..., Any], *arguments: Any) -> Iterable[Any]: ...


@dataclass(frozen=True)
class LocalParts:
    """Parts that are read here, one after the other."""

    parts: Iterable[tuple[Any, Any]]

    def map(self, work: Callable[..., Any], *arguments: Any) -> Iterable[Any]:
        return (work(batch, *arguments) for batch, _ in self.parts)

    def map_with_plans(self, work: Callable[..., Any], *arguments: Any) -> Iterable[Any]:
        return (work(batch, plan, *arguments) for batch, plan in self.parts)


def certify_parts(
    terms: Terms,
    coefficients: RobustCoefficients,
    parts: Iterable[tuple[RowBatch, ShiftPlan | None]],
    tolerance: float,
) -> Certificate:
    """Judge a model by the parts of its table and the plan that is said to prove it optimal.

    ``parts`` is read up to four times, so it must start again each time. A plan counts the rows of its own part from 0 and
    distributes their weights divided by the weight of all rows. The ``witness`` of the certificate is None: the plan was only
    ever seen in parts.

    Raises
    ------
    CertificateError
        If shapes do not fit, rows break their conventions, no row has weight, or a later pass meets other rows.
    """
    return certify_placed_parts(terms, coefficients, LocalParts(parts), tolerance)


def certify_placed_parts(terms: Terms, coefficients: RobustCoefficients, parts: PlannedRows, tolerance: float) -> Certificate:
    """The same for parts whose sums are taken where they live."""
    require_tolerance(tolerance)
    setting = read_setting(terms)
    require_shapes(setting, coefficients)
    return certificate_of(setting, coefficients, examine(setting, coefficients, parts, tolerance), tolerance, None)


@dataclass(frozen=True)
class Findings:
    """Proven bounds, why there are no better ones if somebody knows, and the fingerprint of the problem."""

    upper: float
    lower: float
    flaw: str
    digest: str


def examine(setting: Setting, model: Any, parts: PlannedRows, tolerance: float, *, shares: bool = False) -> Findings:
    """All passes over the parts; ``shares`` says that the weights are not to be divided by their total."""
    seen: Survey = reduce(add, parts.map(survey, setting))
    weight = float(seen.weight.mid)
    if not 0 < weight < np.inf:
        raise CertificateError(f"the row weights sum to {weight}; they must sum to a positive number.")
    mark = _problem_digest(setting, seen.digests)
    wrong = flaw(setting, model)
    if wrong:
        return Findings(np.inf, 0.0, wrong, mark)
    frame = frame_of(setting, seen, enclose(1.0) if shares else seen.weight)
    found: Judgement = reduce(add, parts.map_with_plans(judge, frame, model))
    expected = weight / float(frame.total.mid)
    _require_same_weight(found.positive.weight + found.negative.weight, expected)
    with np.errstate(all="ignore"):
        upper = float(objective_of(frame, model, found.losses).high)
    if not np.isfinite(upper):
        return Findings(np.inf, 0.0, "its scores are too large for double precision", mark)
    if found.refusals:
        return Findings(upper, 0.0, found.refusals[0], mark)
    plan = reduce(add, found.plans)
    # beta = 0, lambda = 0 is a model too, with loss log 2.
    zero = enclose(2.0).log() * (found.positive.weight + found.negative.weight)
    with np.errstate(all="ignore"):
        limits = coefficient_limits(frame, found.positive, found.negative, min(upper, float(zero.high)))
        lower = weak_duality_bound(frame, plan, limits)
        # The second bound costs a dense Hessian: it is only worked out where the first leaves something to prove.
        enough = upper * (1.0 - 0.999 * tolerance)
        if not lower >= enough and not curvature.too_large(frame, plan.n_entries):
            lower = max(lower, _curved_bound(frame, model, parts, limits, expected, enough))
    return Findings(upper, max(lower, 0.0), "", mark)


def _curved_bound(
    frame: Frame, model: Any, parts: PlannedRows, limits: CoefficientLimits, weight: float, enough: float
) -> float:
    where = curvature.expansion_place(frame, model, limits)
    sums: curvature.Expansion = reduce(add, parts.map_with_plans(expansion_of_part, frame, where))
    _require_same_weight(sums.mass, weight)

    def longest(axes: FloatArray, curvatures: FloatArray) -> float:
        return float(max(parts.map_with_plans(longest_of_part, frame, where, axes, curvatures)))

    return curvature.bound_from_expansion(frame, sums, where, limits, longest, enough)


def _require_same_weight(found: Enclosure, expected: float) -> None:
    if not abs(float(found.mid) - expected) <= SAME_WEIGHT * expected:
        raise CertificateError(f"a later pass met other rows than the first: {float(found.mid) / expected} times their weight.")


def _problem_digest(setting: Setting, rows: str) -> str:
    numbers = np.array([setting.kappa, setting.radius, float(setting.fit_intercept)])
    parts = {"levels": setting.n_levels, "gamma": setting.gamma, "delta": setting.delta, "numbers": numbers}
    return digest("robust logistic problem", {**parts, "norm": setting.norm, "rows": rows})


def certificate_of(setting: Setting, model: Any, found: Findings, tolerance: float, witness: Any) -> Certificate:
    """The verdict on what was found."""
    intercept = "" if setting.fit_intercept else " and without an intercept"
    shifted = f", where rows may shift at a mean ground cost of up to {setting.radius!r} ({setting.norm} norm)"
    statement = Statement(
        models=f"linear logistic model with these columns{intercept}",
        quantity="worst-case log loss" if setting.radius > 0 else "log loss",
        scope=f"on these rows{shifted if setting.radius > 0 else ''}",
        flaw=found.flaw,
    )
    return verdict(
        statement,
        upper=found.upper,
        lower=found.lower,
        tolerance=tolerance,
        witness=None if found.flaw else witness,
        problem_digest=found.digest,
        model_digest=model_digest(model),
    )
