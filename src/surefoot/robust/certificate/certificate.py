"""The verdict on a robust logistic model, for a table in memory or in parts.

    lower bound  <=  min over beta, lambda of F(beta, lambda)  <=  F(beta, lambda) of the model at hand  <=  upper bound.

Everything that is needed of rows or of entries of a plan is a sum, or a maximum, so a table is judged in two passes that hold
one part at a time, or in some more where the first bound is not enough:

1. total weight, weighted means of the numeric columns, fingerprint of the rows (``survey``);
2. losses of the model, sums over either label, and the plan of each part, checked and summed (``judge``);
3. where that leaves something to prove: the curvature of the plan's entries, and what else ``corrected_bound`` asks for.

A whole table is one part, and its weights are shares already. The weights of parts are divided by the total found in the first
pass. Each lower bound is valid, so the largest counts, and 0 is one whatever the plan, as losses are positive. Nothing here
knows how the model or the plan were found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.core.certificate import Certificate, Statement, digest, verdict
from surefoot.core.enclosure import enclose
from surefoot.exceptions import CertificateError
from surefoot.robust.certificate.checked_plan import RefusedPlanError, check_plan
from surefoot.robust.certificate.lower_bound import coefficient_limits, plan_bound, plan_sums
from surefoot.robust.certificate.objective import admissible_price, flaw, read_model, row_sums
from surefoot.robust.certificate.posed_rows import Setting, Sums, read_part, read_setting

if TYPE_CHECKING:
    from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem, ShiftPlan
    from surefoot.robust.problem.terms import Terms

# How far the weights of a whole table may sum from 1, and from what an earlier pass met: more than rounding, less than a row.
WEIGHT_SLACK, SAME_WEIGHT = 1e-6, 1e-9


@np.errstate(all="ignore")
def survey(batch: Any, _plan: Any, setting: Setting) -> Sums:
    """Weight; weighted sums of the numeric columns; 1 if these are sparse; fingerprint."""
    part, weights = read_part(batch, setting), batch.weights
    rows = {"x": part.numeric, "codes": part.codes, "labels": part.labels, "weights": weights}
    return Sums((enclose(weights).sum(), weights @ part.numeric, int(part.is_sparse), digest("rows", rows)))


@np.errstate(all="ignore")
def judge(batch: Any, plan: Any, frame: Any, model: Any, price: float) -> Sums:
    """Weight; losses; sums over the rows of either label; sums of the plan, or why there are none."""
    part = read_part(batch, *frame)
    sums = part.shares.sum(), *row_sums(part, model, price)
    try:
        return Sums((*sums, [plan_sums(check_plan(part, plan))], []))
    except RefusedPlanError as refusal:
        return Sums((*sums, [], [str(refusal)]))


@np.errstate(all="ignore")
def look_again(batch: Any, plan: Any, frame: Any, work: Callable[..., Sums], *arguments: Any) -> Sums:
    """Weight; what ``work`` says about the plan of a part, which ``judge`` has found sound."""
    checked = check_plan(read_part(batch, *frame), plan)
    return Sums((checked.mass.sum(), *work(checked, *arguments)))


def certify_robust_logistic(
    problem: RobustLogisticProblem, coefficients: RobustCoefficients, plan: ShiftPlan | None, tolerance: float
) -> Certificate:
    """Judge a model and the plan that is said to prove it optimal to a relative gap of ``tolerance``.

    A price too low for the numeric coefficients is raised to an admissible one. Without a plan, or with one that is refused,
    the lower bound is 0. Raises ``CertificateError`` if shapes do not fit, or the problem's own arrays break its conventions.
    """
    return _certificate(problem, coefficients, [(problem, plan)], tolerance, plan, shares=True)


def certify_parts(terms: Terms, coefficients: RobustCoefficients, parts: Any, tolerance: float) -> Certificate:
    """The same for a table in parts: pairs of rows and their plan, or an object with a method ``map``, if they live elsewhere.

    ``map(work, *arguments)`` calls ``work(batch, plan, *arguments)`` with the rows and the plan of every part, wherever they
    are, and yields the answers in the order of the parts; all of these can be pickled. Parts are read several times and start
    again each time, with the same rows. A plan counts the rows of its own part from 0 and distributes their weights divided by
    the weight of all rows. It is only ever seen in parts, so the ``witness`` of the certificate is None.
    """
    return _certificate(terms, coefficients, parts, tolerance, None, shares=False)


@np.errstate(all="ignore")
def _certificate(source: Any, coefficients: Any, parts: Any, tolerance: float, witness: Any, *, shares: bool) -> Certificate:
    def sweep_here(work: Callable[..., Any], *arguments: Any) -> Iterable[Any]:
        return (work(batch, plan, *arguments) for batch, plan in parts)

    sweep = getattr(parts, "map", sweep_here)
    setting = read_setting(source)
    model = read_model(setting, coefficients)
    total, columns, sparse_parts, rows = reduce(add, sweep(survey, setting))
    if not (abs(total.mid - 1.0) <= WEIGHT_SLACK if shares else 0 < total.mid < np.inf):
        raise CertificateError(
            f"the row weights sum to {total.mid}; they must sum to {'1' if shares else 'a positive number'}."
        )
    # Sparse columns are never centred: that would make them dense.
    centre = columns / total.mid if setting.fit_intercept and not sparse_parts else 0.0 * columns
    centre = np.where(np.isfinite(centre), centre, 0.0)
    if setting.fit_intercept:  # a mean lies in its range, but for its rounding
        centre[setting.ranged] = np.clip(centre[setting.ranged], setting.ranges[:, 1], setting.ranges[:, 2])
    frame = setting, total, centre

    def gather(work: Callable[..., Any], *arguments: Any) -> Any:
        """Sums over all parts, which must have the weight that the first pass has met."""
        weight, *sums = reduce(add, sweep(work, frame, *arguments))
        if not abs(weight.mid - 1.0) <= SAME_WEIGHT:
            raise CertificateError(f"a later pass met other rows than the first: a weight of {weight.mid}, not {total.mid}.")
        return sums

    wrong = flaw(setting, model)
    upper, lower, wrong = (np.inf, 0.0, wrong) if wrong else _bounds(setting, model, tolerance, gather)
    shifted = f", where rows may shift at a mean ground cost of up to {setting.radius!r} at these prices ({setting.norm} norm)"
    shifted += f", {len(setting.ranges)} of the columns within their ranges" if setting.ranges.size else ""
    statement = Statement(
        models=f"linear logistic model with these columns{'' if setting.fit_intercept else ' and without an intercept'}",
        quantity="worst-case log loss" if setting.radius > 0 else "log loss",
        scope=f"on these rows with their weights{shifted if setting.radius > 0 else ''}",
        flaw=wrong,
    )
    return verdict(
        statement,
        upper=upper,
        lower=lower,
        tolerance=tolerance,
        witness=None if wrong else witness,
        problem_digest=digest("robust logistic problem", {**_named(setting), "rows": rows}),
        model_digest=digest("robust logistic model", vars(model)),
    )


def _named(setting: Setting) -> dict[str, Any]:
    """The fields of a setting; ranges only where there are any, so that proofs from before there were any have their names."""
    return {name: value for name, value in vars(setting).items() if name != "ranges" or value.size}


def _bounds(setting: Setting, model: Any, tolerance: float, gather: Callable[..., Any]) -> tuple[float, float, str]:
    """Upper bound, lower bound, and why there is no better one if somebody knows."""
    price = admissible_price(setting, model)
    losses, weights, columns, plans, refusals = gather(judge, model, price)
    upper = float((losses + enclose(price) * setting.radius if setting.radius > 0 else losses).high)
    if not np.isfinite(upper):
        return np.inf, 0.0, "its scores are too large for double precision"
    if refusals:
        return upper, 0.0, refusals[0]
    # beta = 0, lambda = 0 is a model too, with loss log 2.
    limits = coefficient_limits(setting, weights, columns, min(upper, float((enclose(2.0).log() * weights.sum()).high)))
    enough = upper * (1.0 - 0.999 * tolerance)
    return upper, max(plan_bound(setting, reduce(add, plans), limits, enough, partial(gather, look_again)), 0.0), ""
