"""A fitted model as a sum of terms that any language can add up.

    score = (intercept + sum of terms) / divisor,    probability of the second class = 1 / (1 + exp(-(slope * score + offset)))

    linear   coefficient * value                                    a gap counts as ``fill``
    levels   the number that stands beside the value                another value counts as ``other``, a gap as ``missing``
    steps    sum of the numbers whose threshold the value reaches   a gap counts as ``missing``

Where ``fill``, ``other`` or ``missing`` is None the model refuses such a row, and so has whoever adds up. Columns that change
no score are not listed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from surefoot.chancesvm.estimator.chance_svc import ChanceConstrainedSVC
from surefoot.core.arrays import FloatArray
from surefoot.core.certificate import Certificate
from surefoot.design.binarize.binary_column import BinaryColumn
from surefoot.design.binarize.table_binarizer import BinaryPlan
from surefoot.design.encode.schema import Level, Schema
from surefoot.riskscore.estimator.risk_score import RiskScoreClassifier
from surefoot.robust.estimator.robust_logistic_model import RobustLogisticModel
from surefoot.sklearn_api.proven_model import changed_columns, standing_certificate
from surefoot.sklearn_api.threshold_binarizer import ThresholdBinarizer


@dataclass(frozen=True)
class LinearTerm:
    """A numeric column times a coefficient."""

    feature: str
    coefficient: float
    fill: float | None = None


@dataclass(frozen=True)
class LevelTerm:
    """A number for every value of a column."""

    feature: str
    levels: tuple[tuple[Level, float], ...]
    missing: float | None = None
    other: float | None = None


@dataclass(frozen=True)
class StepTerm:
    """Numbers that are added where a numeric column reaches their thresholds, which rise."""

    feature: str
    steps: tuple[tuple[float, float], ...]
    missing: float | None = None


Term: TypeAlias = LinearTerm | LevelTerm | StepTerm


@dataclass(frozen=True)
class Formula:
    """What :func:`read_formula` makes of a model; see the module docstring.

    Attributes
    ----------
    intercept, divisor : float
    terms : tuple of LinearTerm, LevelTerm or StepTerm
        One per column.
    classes : tuple of two levels
    slope, offset : float or None
        None where a score is all that the model has to say.
    certificate : Certificate
    behind_steps : bool
        Whether the model is a pipeline, so that the certificate is about its last step.
    """

    intercept: float
    divisor: float
    terms: tuple[Term, ...]
    classes: tuple[Level, Level]
    slope: float | None
    offset: float | None
    certificate: Certificate
    behind_steps: bool = False


def read_formula(model: Any) -> Formula:
    """The formula of a fitted model.

    Raises
    ------
    ValueError
        If the model is no sum over its columns, such as a support vector machine with a curved kernel, or if a pipeline hands
        other columns to its last step than in the fit.
    """
    before, last = _parts(model)
    check_is_fitted(last)
    columns = changed_columns(model)
    if columns:
        raise ValueError(f"the steps of the pipeline no longer fit together: {columns}. Fit it again.")
    names: Any = None
    levels_of: dict[int, Term] = {}
    divisor: float = 1.0
    slope: float | None = 1.0
    offset: float | None = 0.0
    coefficients: FloatArray
    if isinstance(last, RobustLogisticModel):
        last.warn_of_rounding(stacklevel=4)
        numeric, levels = last.schema_.split_coefficients(last.coef_[0])
        intercept, coefficients = float(last.intercept_[0]), numeric
        if last.schema_.categorical_positions and before is not None:
            raise ValueError("a model of categories stands behind a step that makes numbers, so it has no formula in columns.")
        levels_of = _level_terms(last.schema_, levels)
    elif isinstance(last, RiskScoreClassifier):
        intercept, coefficients, divisor = float(last.intercept_), last.coef_[0].astype(np.float64), last.multiplier_
    else:
        last.warn_of_rounding(stacklevel=4)
        intercept, coefficients = float(last.intercept_[0]), last.coef_[0]
        sigmoid = last.sigmoid_
        slope, offset = (None, None) if sigmoid is None else (sigmoid.slope, sigmoid.offset)
    schema = last.schema_
    if isinstance(before, ThresholdBinarizer):
        terms = _plan_terms(before.plan_, coefficients)
    else:
        if isinstance(before, StandardScaler):
            names = getattr(before, "feature_names_in_", None)
            intercept, coefficients = _unscaled(before, intercept, coefficients)
        terms = _in_order(schema, {**_linear_terms(schema, coefficients, names), **levels_of})
    # A card may give the risk of the first of its classes.
    first, second = (last.card_classes_ if isinstance(last, RiskScoreClassifier) else last.classes_).tolist()
    return Formula(
        intercept, float(divisor), terms, (first, second), slope, offset, standing_certificate(model), before is not None
    )


def _parts(model: Any) -> tuple[Any, Any]:
    """What stands before a model, or None, and the model."""
    steps = [step for _, step in model.steps if step != "passthrough"] if isinstance(model, Pipeline) else [model]
    last = steps[-1]
    known = isinstance(last, (RobustLogisticModel, RiskScoreClassifier, ChanceConstrainedSVC))
    if not known or len(steps) > 2 or (len(steps) == 2 and not isinstance(steps[0], (ThresholdBinarizer, StandardScaler))):
        raise ValueError(
            f"{model!r:.120} is no linear model. Formulas are made of robust logistic regressions, score cards and support "
            "vector machines with a linear kernel, alone or behind a ThresholdBinarizer or a StandardScaler."
        )
    if hasattr(last, "machines_"):
        raise ValueError(
            f"a support vector machine of {len(last.classes_)} classes is no single formula; export machines_ one by one."
        )
    if isinstance(last, ChanceConstrainedSVC) and not hasattr(last, "coef_"):
        raise ValueError(f"a support vector machine with kernel={last.kernel!r:.40} is no sum over columns; only 'linear' is.")
    return (steps[0] if len(steps) == 2 else None), last


def _linear_terms(schema: Schema, coefficients: FloatArray, names: Any) -> dict[int, Term]:
    known = schema.names if names is None else tuple(names.tolist())
    return {
        at: LinearTerm(known[at], float(weight), schema.columns[at].median)
        for at, weight in zip(schema.numeric_positions, coefficients, strict=True)
        if weight != 0
    }


def _level_terms(schema: Schema, levels: FloatArray) -> dict[int, Term]:
    starts = np.cumsum([0, *schema.n_levels])
    other = 0.0 if schema.unseen_categories == "reference" else None
    found: dict[int, Term] = {}
    for k, at in enumerate(schema.categorical_positions):
        own = dict(zip(schema.columns[at].levels, levels[starts[k] : starts[k + 1]].tolist(), strict=True))
        if any(own.values()):
            # A gap in a column that had none in training is one more unknown level, if gaps are allowed at all.
            unknown_gap = other if schema.missing_categorical == "level" else None
            missing = own.pop(None, unknown_gap)
            found[at] = LevelTerm(schema.columns[at].name, tuple(own.items()), missing, other)
    return found


def _in_order(schema: Schema, terms: dict[int, Term]) -> tuple[Term, ...]:
    return tuple(terms[at] for at in range(len(schema.columns)) if at in terms)


def _unscaled(scaler: Any, intercept: float, coefficients: FloatArray) -> tuple[float, FloatArray]:
    if scaler.scale_ is not None:
        coefficients = coefficients / scaler.scale_
    if scaler.mean_ is not None:
        intercept -= float(coefficients @ scaler.mean_)
    return intercept, coefficients


def _plan_terms(plan: BinaryPlan, weights: FloatArray) -> tuple[Term, ...]:
    """Terms of the columns that a table had before it was made 0 and 1."""
    terms: list[Term] = []
    start = 0
    for at, own in enumerate(plan.outputs):
        made = [(column, float(weight)) for column, weight in zip(own, weights[start : start + len(own)], strict=True)]
        start += len(own)
        if any(weight for _, weight in made):
            terms.append(_plan_term(plan, at, made))
    return tuple(terms)


def _plan_term(plan: BinaryPlan, at: int, made: list[tuple[BinaryColumn, float]]) -> Term:
    column = plan.schema.columns[at]
    other = 0.0 if plan.unseen == "zero" else None
    known_gap = None in column.levels or any(own.operator == "missing" for own, _ in made)
    gap = sum(weight for own, weight in made if _holds(own, None)) if known_gap else other
    if plan.missing == "error":
        gap = None
    elif plan.missing == "typical":
        met = _met if column.kind == "numeric" else _holds
        gap = sum(weight for own, weight in made if met(own, plan.fills[at]))
    if column.kind == "categorical":
        worth = {
            level: sum(weight for own, weight in made if _holds(own, level)) for level in column.levels if level is not None
        }
        return LevelTerm(column.name, tuple(worth.items()), gap, other)
    steps = tuple((float(own.value), weight) for own, weight in made if own.operator == ">=")  # type: ignore[arg-type]
    if steps:
        return StepTerm(column.name, tuple(step for step in steps if step[1] != 0) or steps, gap)
    yes = sum(weight for own, weight in made if own.operator == "=")
    return LevelTerm(column.name, ((0, 0.0), (1, yes)), gap, other)


def _met(column: BinaryColumn, number: Level) -> bool:
    """Whether a number meets what a column says of numbers: a threshold, or being 1."""
    assert isinstance(number, float)
    return number >= float(column.value) if column.operator == ">=" else number == 1.0  # type: ignore[arg-type]


def _holds(column: BinaryColumn, level: Level) -> bool:
    if column.operator == ">=":
        return False
    meant = column.value if isinstance(column.value, tuple) else (column.value,)
    return any(type(value) is type(level) and value == level for value in meant)
