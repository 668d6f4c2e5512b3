"""The verdict on a robust logistic model, for a table in memory or in parts.

    lower bound  <=  min over beta, lambda of F(beta, lambda)  <=  F(beta, lambda) of the model at hand  <=  upper bound.

Everything that is needed of rows or of entries of a plan is a sum, or a maximum, so a table is judged in two passes that hold
one part at a time, or in some more where the first bound is not enough:

1. total weight, weighted means of the numeric columns, fingerprint of the rows (``survey``);
2. losses of the model, sums over either label, and the plan of each part, checked and summed (``judge``);
3. where that leaves something to prove: the curvature of the plan's entries, and what else ``corrected_slopes`` asks for.

A whole table is one part, and its weights are shares already. The weights of parts are divided by the total found in the first
pass. Each lower bound is valid, so the largest counts, and 0 is one whatever the plan, as losses are positive. Nothing here
knows how the model or the plan were found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.core.certificate import Certificate, Statement, digest, require_tolerance, verdict
from surefoot.core.enclosure import Enclosure, enclose
from surefoot.exceptions import CertificateError
from surefoot.robust.certificate import corrected_slopes
from surefoot.robust.certificate.checked_plan import RefusedPlanError, check_plan
from surefoot.robust.certificate.objective import flaw, model_digest, objective_of, require_shapes, row_sums
from surefoot.robust.certificate.posed_rows import Frame, Setting, Sums, read_part, read_setting
from surefoot.robust.certificate.weak_duality import coefficient_limits, plan_sums, weak_duality_bound

if TYPE_CHECKING:
    from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem, ShiftPlan
    from surefoot.robust.problem.terms import Terms

# How far the weights of a whole table may sum from 1, and from what an earlier pass met: more than rounding, less than a row.
WEIGHT_SLACK, SAME_WEIGHT = 1e-6, 1e-9


def survey(batch: Any, setting: Setting) -> Sums:
    """Weight; weighted sums of the numeric columns; 1 if these are sparse; fingerprint."""
    part = read_part(batch, setting)
    x, columns, numeric = part.numeric, np.zeros(setting.gamma.size), {"x": part.numeric}
    if part.is_sparse:  # never centred: that would make them dense
        numeric = {"data": x.data, "at": x.indices, "rows": x.indptr, "shape": x.shape}
    else:
        with np.errstate(all="ignore"):
            columns = part.weights @ x
    mark = digest("rows", {**numeric, "codes": part.codes, "labels": part.labels, "weights": part.weights})
    return Sums((enclose(part.weights).sum(), columns, int(part.is_sparse), mark))


def frame_of(setting: Setting, seen: Sums, *, shares: bool) -> Frame:
    """The frame of a table that has been surveyed; ``shares`` says that weights are not to be divided by their total."""
    weight, columns, sparse_parts, _ = seen
    with np.errstate(all="ignore"):
        centre = columns / weight.mid
    if not setting.fit_intercept or sparse_parts or not np.isfinite(centre).all():
        centre = np.zeros(setting.gamma.size)
    return Frame(setting, enclose(1.0) if shares else weight, centre)


def judge(batch: Any, plan: Any, frame: Frame, model: Any) -> Sums:
    """Losses; sums over the rows of either label; sums of the plan, or why there are none."""
    part = read_part(batch, frame.setting)
    sums = row_sums(part, frame, model)
    if plan is None:
        return Sums((*sums, [], ["there is no plan to prove a better bound"]))
    try:
        return Sums((*sums, [plan_sums(check_plan(part, frame, plan))], []))
    except RefusedPlanError as refusal:
        where = f"rows {part.first_row} to {part.first_row + part.labels.size - 1}"
        return Sums((*sums, [], [f"the plan of {where} is refused because {refusal}"]))


def look_again(batch: Any, plan: Any, frame: Frame, work: Callable[..., Sums], *arguments: Any) -> Sums:
    """A later pass, ``work``, over one part and its plan, which the second pass has found sound; and the mass of the plan."""
    checked = check_plan(read_part(batch, frame.setting), frame, plan)
    return Sums((checked.mass.sum(), work(checked, *arguments)))


@dataclass(frozen=True)
class LocalParts:
    """Parts that are read here, one after the other. Parts that live elsewhere have the same methods.

    ``map`` calls ``work(batch, *arguments)`` with the rows of every part, wherever they are, and yields the answers in the
    order of the parts; ``map_with_plans`` calls ``work(batch, plan, *arguments)``. All of these can be pickled.
    """

    parts: Iterable[tuple[Any, Any]]

    def map(self, work: Callable[..., Any], *arguments: Any) -> Iterable[Any]:
        return (work(batch, *arguments) for batch, _ in self.parts)

    def map_with_plans(self, work: Callable[..., Any], *arguments: Any) -> Iterable[Any]:
        return (work(batch, plan, *arguments) for batch, plan in self.parts)


def certify_robust_logistic(
    problem: RobustLogisticProblem, coefficients: RobustCoefficients, plan: ShiftPlan | None, tolerance: float
) -> Certificate:
    """Judge a model and the plan that is said to prove it optimal to a relative gap of ``tolerance``.

    A price too low for the numeric coefficients is raised to an admissible one. Without a plan, or with one that is refused,
    the lower bound is 0. Raises ``CertificateError`` if shapes do not fit, or the problem's own arrays break its conventions.
    """
    weight = float(np.sum(problem.weights))
    if not abs(weight - 1.0) <= WEIGHT_SLACK:
        raise CertificateError(f"weights sum to {weight}; they are shares, which sum to 1.")
    return _certificate(problem, coefficients, LocalParts([(problem, plan)]), tolerance, plan, shares=True)


def certify_parts(terms: Terms, coefficients: RobustCoefficients, parts: Any, tolerance: float) -> Certificate:
    """The same for a table in parts: pairs of rows and their plan, or parts with the methods of ``LocalParts``.

    They are read several times and start again each time, with the same rows. A plan counts the rows of its own part from 0 and
    distributes their weights divided by the weight of all rows. It is only ever seen in parts, so the ``witness`` of the
    certificate is None.
    """
    placed = parts if hasattr(parts, "map_with_plans") else LocalParts(parts)
    return _certificate(terms, coefficients, placed, tolerance, None, shares=False)


@np.errstate(all="ignore")
def _certificate(source: Any, model: Any, parts: Any, tolerance: float, witness: Any, *, shares: bool) -> Certificate:
    require_tolerance(tolerance)
    setting = read_setting(source)
    require_shapes(setting, model)
    seen: Sums = reduce(add, parts.map(survey, setting))
    if not 0 < seen[0].mid < np.inf:
        raise CertificateError(f"the row weights sum to {seen[0].mid}; they must sum to a positive number.")
    upper, lower, wrong = np.inf, 0.0, flaw(setting, model)
    if not wrong:
        upper, lower, wrong = _bounds(frame_of(setting, seen, shares=shares), seen[0], model, parts, tolerance)
    shifted = f", where rows may shift at a mean ground cost of up to {setting.radius!r} ({setting.norm} norm)"
    statement = Statement(
        models=f"linear logistic model with these columns{'' if setting.fit_intercept else ' and without an intercept'}",
        quantity="worst-case log loss" if setting.radius > 0 else "log loss",
        scope=f"on these rows{shifted if setting.radius > 0 else ''}",
        flaw=wrong,
    )
    numbers = np.array([setting.kappa, setting.radius, float(setting.fit_intercept)])
    fields = {"levels": setting.n_levels, "gamma": setting.gamma, "delta": setting.delta, "numbers": numbers}
    return verdict(
        statement,
        upper=upper,
        lower=lower,
        tolerance=tolerance,
        witness=None if wrong else witness,
        problem_digest=digest("robust logistic problem", {**fields, "norm": setting.norm, "rows": seen[-1]}),
        model_digest=model_digest(model),
    )


def _bounds(frame: Frame, total: Enclosure, model: Any, parts: Any, tolerance: float) -> tuple[float, float, str]:
    """Upper bound, lower bound, and why there is no better one if somebody knows."""
    losses, weights, columns, plans, refusals = reduce(add, parts.map_with_plans(judge, frame, model))
    weight, expected = (weights / frame.total).sum(), float(total.mid / frame.total.mid)
    _require_same_weight(weight, expected)
    upper = float(objective_of(frame, model, losses).high)
    if not np.isfinite(upper):
        return np.inf, 0.0, "its scores are too large for double precision"
    if refusals:
        return upper, 0.0, refusals[0]
    # beta = 0, lambda = 0 is a model too, with loss log 2.
    zero = float((enclose(2.0).log() * weight).high)
    limits = coefficient_limits(frame.setting, weights / frame.total, columns / frame.total, min(upper, zero))
    plan: Sums = reduce(add, plans)
    lower = weak_duality_bound(frame.setting, plan, limits)
    # The second bound costs a dense Hessian: it is only worked out where the first leaves something to prove.
    if not lower >= upper * (1.0 - 0.999 * tolerance) and not corrected_slopes.too_large(frame, plan[-1]):

        def gather(work: Callable[..., Sums], *arguments: Any) -> Sums:
            mass, sums = reduce(add, parts.map_with_plans(look_again, frame, work, *arguments))
            _require_same_weight(mass, expected)
            return Sums(sums)

        lower = max(lower, corrected_slopes.corrected_bound(frame, plan, limits.price, gather))
    return upper, max(lower, 0.0), ""


def _require_same_weight(found: Enclosure, expected: float) -> None:
    if not abs(found.mid - expected) <= SAME_WEIGHT * expected:
        raise CertificateError(f"a later pass met other rows than the first: {found.mid / expected} times their weight.")
