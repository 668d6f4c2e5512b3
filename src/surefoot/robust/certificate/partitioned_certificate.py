"""The certificate of a robust logistic model whose table is read in parts.

Everything that :mod:`surefoot.robust.certificate.certificate` adds up over rows or over entries of a plan adds up over parts
too: the losses of the model (``loss_sums``), the weights and column sums of either label (``label_sums``), and the sums of the
plan (``plan_sums``). So a table is judged in two passes that hold one part at a time, or in up to four where the first bound is
not enough:

1. total weight, weighted means of the numeric columns, losses of the model, fingerprint of the rows;
2. with the means as centre: label sums, and the plan of each part, checked and summed;
3. where that leaves something to prove: the expansion of the loss at the model, for ``curvature_bound``;
4. the one maximum over entries that ``curvature_bound`` needs, if it does.

What the sums prove is worked out by the same code as for a table in memory, with rounding counted over all rows, entries and
parts. Row weights come as they are and are divided by the total found in the first pass; the plans are plans for the divided
weights.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, Protocol

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.certificate import Certificate, require_tolerance
from surefoot.exceptions import CertificateError
from surefoot.robust.certificate.certificate import ceiling_on_optimum, flaw, require_shapes, verdict
from surefoot.robust.certificate.checked_plan import CheckedPlan, RefusedPlanError, check_plan
from surefoot.robust.certificate.curvature_bound import (
    ExpansionPlace,
    bound_from_expansion,
    expansion_place,
    significant_part,
    too_large,
)
from surefoot.robust.certificate.expansion import ExpansionSums, expansion_sums, longest_entry
from surefoot.robust.certificate.objective import LossSums, WorstCaseObjective, loss_sums, objective_from_sums, price_of
from surefoot.robust.certificate.weak_duality import PlanSums, bound_from_sums, plan_sums
from surefoot.robust.problem.coefficient_bounds import CoefficientBounds, LabelSums, bounds_from_sums, label_sums
from surefoot.robust.problem.numeric_columns import fingerprint_parts
from surefoot.robust.problem.problem import RobustCoefficients, ShiftPlan
from surefoot.robust.problem.row_batch import PosedBatch, RowBatch
from surefoot.robust.problem.terms import Terms

# Largest deviation from 1 of the weights that a later pass meets: two sums of the same weights differ by rounding alone.
SAME_WEIGHT = 1e-9


@dataclass(frozen=True)
class ModelSums:
    """What the first pass learns from a part; ``columns`` are the weighted sums of the numeric columns."""

    losses: LossSums
    columns: FloatArray
    is_sparse: bool
    digest: bytes

    def __add__(self, other: ModelSums) -> ModelSums:
        return ModelSums(
            self.losses + other.losses,
            self.columns + other.columns,
            self.is_sparse or other.is_sparse,
            self.digest + other.digest,
        )


@dataclass(frozen=True)
class ProofSums:
    """What the second pass learns from a part; ``refusal`` says why a part's plan proves nothing."""

    labels: LabelSums
    plan: PlanSums | None
    refusal: str

    def __add__(self, other: ProofSums) -> ProofSums:
        both = self.plan + other.plan if self.plan is not None and other.plan is not None else None
        return ProofSums(self.labels + other.labels, both, self.refusal or other.refusal)


def model_sums(batch: RowBatch, terms: Terms, coefficients: RobustCoefficients) -> ModelSums:
    """The first pass over one part, weights as they are."""
    part = _posed(batch, terms)
    mark = hashlib.sha256()
    for array in (*fingerprint_parts(part.numeric), part.codes, part.labels, part.weights):
        mark.update(str(array.shape).encode())
        mark.update(array.data if array.size else b"")
    with np.errstate(over="ignore", invalid="ignore"):
        columns = np.asarray(part.weights @ part.numeric)
    return ModelSums(loss_sums(part, coefficients), columns, part.is_sparse, mark.digest())


def proof_sums(batch: RowBatch, plan: ShiftPlan | None, terms: Terms, total: float, centre: FloatArray) -> ProofSums:
    """The second pass over one part and its plan, weights divided by their total."""
    part = _posed(replace(batch, weights=batch.weights / total), terms)
    labels = label_sums(part, centre)
    if plan is None:
        return ProofSums(labels, None, "there is no plan to prove a better bound")
    try:
        checked = check_plan(part, plan)
    except RefusedPlanError as refusal:
        where = f"rows {batch.first_row} to {batch.first_row + batch.n_rows - 1}"
        return ProofSums(labels, None, f"the plan of {where} is refused because {refusal}")
    with np.errstate(over="ignore", invalid="ignore"):
        return ProofSums(labels, plan_sums(checked, centre), "")


def curvature_sums(
    batch: RowBatch, plan: ShiftPlan, terms: Terms, total: float, centre: FloatArray, where: ExpansionPlace
) -> ExpansionSums:
    """The third pass over one part and its plan, which the second pass has found sound."""
    return expansion_sums(_significant_plan(batch, plan, terms, total), centre, where.point, where.finite_box)


def longest_of_part(
    batch: RowBatch,
    plan: ShiftPlan,
    terms: Terms,
    total: float,
    centre: FloatArray,
    where: ExpansionPlace,
    whitening: FloatArray,
) -> float:
    """The fourth pass over one part and its plan."""
    return longest_entry(_significant_plan(batch, plan, terms, total), centre, where.point, whitening)


def _significant_plan(batch: RowBatch, plan: ShiftPlan, terms: Terms, total: float) -> CheckedPlan:
    part = _posed(replace(batch, weights=batch.weights / total), terms)
    try:
        return significant_part(check_plan(part, plan))
    except RefusedPlanError as refusal:
        raise CertificateError(f"a later pass met another plan than the second: {refusal}") from refusal


def _posed(batch: RowBatch, terms: Terms) -> PosedBatch:
    try:
        return batch.under(terms)
    except ValueError as wrong:
        raise CertificateError(f"the rows break the conventions of their problem: {wrong}") from wrong


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

    parts: Iterable[tuple[RowBatch, ShiftPlan | None]]

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

    Parameters
    ----------
    terms : Terms
    coefficients : RobustCoefficients
    parts : iterable of (RowBatch, ShiftPlan or None)
        Read up to four times, so it must start again each time. A plan counts the rows of its own part from 0 and distributes
        their weights divided by the weight of all rows.
    tolerance : float
        The relative gap to prove.

    Returns
    -------
    Certificate
        ``witness`` is None: the plan was only ever seen in parts.

    Raises
    ------
    CertificateError
        If shapes do not fit, rows break their conventions, no row has weight, or the second pass meets other rows.
    """
    return certify_placed_parts(terms, coefficients, LocalParts(parts), tolerance)


def certify_placed_parts(terms: Terms, coefficients: RobustCoefficients, parts: PlannedRows, tolerance: float) -> Certificate:
    """The same for parts whose sums are taken where they live."""
    require_tolerance(tolerance)
    require_shapes(terms, coefficients)
    reason = flaw(terms, coefficients) or ""
    if reason:
        broken = WorstCaseObjective(value=np.inf, rounding=np.inf, price=np.inf)
        return verdict(broken, 0.0, None, reason, tolerance, radius=terms.radius, digest="")
    first: ModelSums = reduce(add, parts.map(model_sums, terms, coefficients))
    objective, centre = model_enclosure(terms, coefficients, first)
    if not np.isfinite(objective.value):
        return parts_verdict(terms, first, objective, None, tolerance)
    total = first.losses.weight
    second: ProofSums = reduce(add, parts.map_with_plans(proof_sums, terms, total, centre))

    def curved(bounds: CoefficientBounds, enough: float) -> float:
        where = expansion_place(terms, coefficients, centre, bounds)
        common = terms, total, centre, where
        sums: ExpansionSums = reduce(add, parts.map_with_plans(curvature_sums, *common))
        _require_same_weight(sums.mass)

        def longest(whitening: FloatArray) -> float:
            return float(max(parts.map_with_plans(longest_of_part, *common, whitening)))

        return bound_from_expansion(terms, sums, where, bounds, longest, enough=enough)

    return parts_verdict(terms, first, objective, second, tolerance, curved)


def _require_same_weight(weight: float) -> None:
    if not abs(weight - 1.0) <= SAME_WEIGHT:
        raise CertificateError(f"a later pass met other rows than the first: {weight} times their weight.")


def model_enclosure(terms: Terms, coefficients: RobustCoefficients, first: ModelSums) -> tuple[WorstCaseObjective, FloatArray]:
    """The objective of the model, and the centre for the second pass."""
    total = first.losses.weight
    if not 0 < total < np.inf:
        raise CertificateError(f"the row weights sum to {total}; they must sum to a positive number.")
    scaled = replace(first.losses, weight=1.0, losses=first.losses.losses / total, sizes=first.losses.sizes / total)
    objective = objective_from_sums(terms, scaled, price_of(terms, coefficients))
    with np.errstate(over="ignore", invalid="ignore"):
        centre = first.columns / total
    if not terms.fit_intercept or first.is_sparse or not np.isfinite(centre).all():
        centre = np.zeros(terms.n_numeric)
    return objective, centre


def parts_verdict(
    terms: Terms,
    first: ModelSums,
    objective: WorstCaseObjective,
    second: ProofSums | None,
    tolerance: float,
    curved: Callable[[CoefficientBounds, float], float] | None = None,
) -> Certificate:
    """What the passes prove together; ``curved(bounds, enough)`` makes the further ones and returns ``curvature_bound``."""
    mark = hashlib.sha256(f"parts, {terms.cost.numeric_norm}".encode())
    numbers = np.array([terms.cost.label_weight, terms.radius, float(terms.fit_intercept)])
    for array in (terms.n_levels, terms.cost.numeric_weights, terms.cost.categorical_weights, numbers):
        mark.update(str(array.shape).encode())
        mark.update(np.ascontiguousarray(array).tobytes())
    mark.update(first.digest)
    lower, reason = 0.0, "its scores are too large for double precision"
    if second is not None:
        reason = second.refusal
        weight = float(second.labels.positive[0] + second.labels.negative[0])
        _require_same_weight(weight)
        if second.plan is not None:
            bounds = bounds_from_sums(terms, second.labels, ceiling_on_optimum(objective, weight))
            with np.errstate(over="ignore", invalid="ignore"):
                proven = bound_from_sums(terms, second.plan, bounds)
                enough = objective.value * (1.0 - tolerance)
                if not proven >= enough and curved is not None and not too_large(terms, second.plan.n_entries):
                    proven = np.nanmax((proven, curved(bounds, enough), 0.0))
            lower = max(float(proven), 0.0) if np.isfinite(proven) else 0.0
    return verdict(objective, lower, None, reason, tolerance, radius=terms.radius, digest=mark.hexdigest())
