"""Whether the parts of a fitted estimator that a file brings belong together.

Every part has been checked by itself. What is left is that arrays which a prediction would multiply have shapes that fit, so
that a file that loads also predicts. A function returns what is wrong, or None.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from surefoot.chancesvm.certificate.inner_products import MOST_DEGREES
from surefoot.chancesvm.estimator.input_table import INPUT_COLUMNS
from surefoot.core.arrays import AnyArray
from surefoot.design.binarize.binary_column import BinaryColumn
from surefoot.design.encode.schema import ColumnSchema, Level, Schema
from surefoot.exceptions import ModelFileError
from surefoot.files.forward_problems import FORWARDS, fixed_size
from surefoot.riskscore.estimator.near_optimal import NearOptimalSet
from surefoot.robust.estimator.automatic_radius import AUTO
from surefoot.sklearn_api.path_choice import SELECTS


def robust_fault(model: Any) -> str | None:
    """What is wrong with a robust logistic regression."""
    schema = model.schema_
    cost = model.ground_cost_
    sizes = len(schema.numeric_positions), len(schema.categorical_positions)
    return _first_fault(
        (_is_finite(model.coef_, (1, schema.n_coefficients)), "coef_ does not fit schema_"),
        (_is_finite(model.intercept_, (1,)), "intercept_ is not one number"),
        ((cost.numeric_weights.size, cost.categorical_weights.size) == sizes, "ground_cost_ does not fit schema_"),
        (_matches_columns(model, schema), "the names of the columns contradict each other"),
        (_explains_radius(model), "sampling_error_ does not fit radius_"),
        (min(model.part_rows_ or (1,)) >= 0, "there are parts with fewer than no rows"),
    )


def _explains_radius(model: Any) -> bool:
    error = model.sampling_error_
    if error is None:
        return model.radius != AUTO or model.shift is not None if hasattr(model, "radius") else True
    told = error.held_out
    sizes = [] if told is None else [told.rule, told.multiple]
    losses = [] if told is None else [told.rule_loss, told.loss]
    return bool(
        0 < error.rows < np.inf
        and error.coefficients >= 0
        and 0 <= error.highest < np.inf
        and all(0 < size < np.inf for size in sizes)
        and all(0 <= loss < np.inf for loss in losses)
    )


def path_fault(model: Any) -> str | None:
    """What is wrong with a robust logistic regression with its path."""
    points = model.path_.points
    size = model.schema_.n_coefficients
    return robust_fault(model) or _first_fault(
        (len(points) > 0, "path_ is empty"),
        (all(_is_finite(point.coef, (size,)) for point in points), "path_ does not fit schema_"),
        (all(point.scores.ndim == 1 and point.scores.size for point in points), "path_ has no scores"),
        (len({point.scores.shape for point in points}) < 2, "the scores of path_ are of different folds"),
        (
            all(len(model.path_.environments) in (0, point.scores.size) for point in points),
            "the environments of path_ are not those of its scores",
        ),
        (model.path_.select in SELECTS, "path_ was chosen by no known rule"),
    )


def card_fault(model: Any) -> str | None:
    """What is wrong with a score card."""
    schema, points = model.schema_, model.coef_
    near = model.near_optimal_
    shaped = bool(points.shape == (1, len(schema.columns)) and not schema.categorical_positions)
    return _first_fault(
        (shaped, "coef_ does not fit schema_"),
        (
            shaped and model.points_ == {schema.names[at]: int(points[0, at]) for at in np.flatnonzero(points[0])},
            "points_ and coef_ contradict each other",
        ),
        (0 < model.multiplier_ < np.inf, "multiplier_ is not positive"),
        (model._n_rows >= 2, "the card names fewer than two rows"),
        (set(model._ranges) == set(model.points_), "ranges of values are not those of the columns with points"),
        (all(kind in ("binary", "integer", "real") for kind, _, _ in model._ranges.values()), "a column is of no kind"),
        (_matches_columns(model, schema), "the names of the columns contradict each other"),
        (near is None or _is_card_list(near, len(schema.columns)), "near_optimal_ does not fit schema_"),
    )


def svc_fault(model: Any) -> str | None:
    """What is wrong with a support vector machine."""
    scores, schema = model._scores, model.schema_
    kernel, support = scores.kernel.name, scores.support
    columns = 0 if kernel == "precomputed" else len(schema.columns)
    places = model._kernel_columns
    width = len(schema.columns) if places is None else places.size
    limit = width if kernel == "precomputed" else np.iinfo(np.int64).max
    shown = getattr(model, "coef_", None)
    return _first_fault(
        (kernel in ("linear", "poly", "rbf", "precomputed") and scores.kernel.function is None, "the kernel is not known"),
        (scores.kernel.degree <= MOST_DEGREES, "the degree of the kernel is too large"),
        (set(model._inputs) == set(INPUT_COLUMNS), "the table of inputs has other columns"),
        (_is_finite(scores.samples, (support.size, columns)), "support vectors do not fit schema_"),
        (scores.kernel.centre is None or len(scores.kernel.centre) == columns, "the centre of the kernel does not fit schema_"),
        (scores.units is None or _are_units(scores.units, columns), "the units of the columns do not fit schema_"),
        (model._pool is None or _is_pool(model._pool, columns), "the deviations that inputs borrow do not fit schema_"),
        (model._held_out is None or _are_margins(model._held_out), "the margins of held-out inputs are no ascending numbers"),
        (_is_finite(scores.coefficients, (support.size,)) and np.isfinite(scores.intercept), "coefficients are not numbers"),
        (shown is None or _is_finite(shown, (1, columns)), "coef_ does not fit schema_"),
        (_is_finite(model.intercept_, (1,)), "intercept_ is not one number"),
        (_is_finite(model.dual_coef_, (1, model.support_.size)), "dual_coef_ does not fit support_"),
        (all(not isinstance(column, np.ndarray) or column.dtype.kind in "biuf" for column in model._inputs.values()), "inputs"),
        (_are_places(support, limit), "support_ names rows that there are not"),
        ((places is None) == (kernel != "precomputed"), "the columns of the kernel do not fit it"),
        (places is None or _are_places(places, len(schema.columns)), "the columns of the kernel do not fit schema_"),
        (not schema.categorical_positions, "schema_ has categories"),
        (_matches_columns(model, schema), "the names of the columns contradict each other"),
        (
            {len(column) for column in model._inputs.values()} == {len(model.groups_)},
            "groups_ does not fit the table of inputs",
        ),
    )


def machines_fault(model: Any) -> str | None:
    """What is wrong with support vector machines that tell more than two classes apart."""
    machines, classes, schema = model.machines_, model.classes_.tolist(), model.schema_
    ovo = [[classes[i], classes[j]] for i, j in itertools.combinations(range(len(classes)), 2)]
    pairs = ovo if model.multi_class_ == "ovo" else [[f"not {name}", str(name)] for name in classes]
    fitted = all(type(machine) is type(model) and hasattr(machine, "_scores") for machine in machines)
    return _first_fault(
        (model.multi_class_ in ("ovo", "ovr"), "multi_class_ is no scheme"),
        (fitted and len(machines) == len(pairs), "machines_ are not those of the classes"),
        (fitted and [machine.classes_.tolist() for machine in machines] == pairs, "machines_ are not those of the classes"),
        (fitted and all(machine.schema_ == schema for machine in machines), "machines_ do not fit schema_"),
        (_matches_columns(model, schema), "the names of the columns contradict each other"),
    )


def _are_units(units: Any, columns: int) -> bool:
    shape = (columns,)
    return _is_finite(units.offsets, shape) and _is_finite(units.scales, shape) and bool(np.all(units.scales > 0))


def _is_pool(pool: Any, columns: int) -> bool:
    count = len(pool.deviations) if pool.deviations.ndim else 0
    sound = count > 0 and _is_finite(pool.deviations, (count, columns))
    return sound and 0 < pool.variance < np.inf and 1 <= pool.directions < np.inf


def _are_margins(margins: Any) -> bool:
    return all(part.ndim == 1 and not np.any(np.diff(part) < 0) and np.isfinite(part).all() for part in vars(margins).values())


def inverse_fault(model: Any) -> str | None:
    """What is wrong with a learned cost."""
    cost, forward = model.cost_, model.forward
    size = fixed_size(forward)
    return _first_fault(
        (type(forward) in FORWARDS.values(), "forward is no forward problem"),
        (cost.ndim == 1 and cost.size > 0 and _is_finite(cost, cost.shape), "cost_ is no vector of numbers"),
        (size is None or cost.size == size, "cost_ does not fit forward"),
        (model.features is None, "features is not a function"),
        (hasattr(model, "certificate_") <= hasattr(model, "outcome_"), "a certificate without the outcome of its fit"),
    )


def binarizer_fault(model: Any) -> str | None:
    """What is wrong with a binarizer."""
    plan = model.plan_
    config = getattr(model, "_sklearn_output_config", {})
    numeric = plan.schema.numeric_positions
    made: dict[str, list[float]] = {}
    for column in plan.columns:
        if column.operator == ">=":
            made.setdefault(column.feature, []).append(column.value)
    return _first_fault(
        (len(plan.outputs) == len(plan.schema.columns), "plan_ does not fit its schema"),
        (
            all(column.feature == name for name, own in zip(plan.schema.names, plan.outputs, strict=False) for column in own),
            "plan_ names columns that there are not",
        ),
        (
            all(_is_readable(column, at in numeric) for at, own in enumerate(plan.outputs) for column in own),
            "plan_ has a column that says nothing",
        ),
        (
            len(plan.fills) == (len(plan.schema.columns) if plan.missing == "typical" else 0)
            and all(_is_fill(fill, column) for fill, column in zip(plan.fills, plan.schema.columns, strict=False)),
            "plan_ fills gaps with what its columns do not hold",
        ),
        (model.columns_ == plan.columns and model.thresholds_ == made, "columns_ and thresholds_ are not those of plan_"),
        (_matches_columns(model, plan.schema), "the names of the columns contradict each other"),
        (set(config) <= {"transform"} and all(way in ("default", "pandas", "polars") for way in config.values()), "set_output"),
    )


def scaler_fault(model: Any) -> str | None:
    """What is wrong with a scaler."""
    shape = (model.n_features_in_,)
    numbers = [model.mean_, model.var_, model.scale_]
    switches = type(model.with_mean) is bool and type(model.with_std) is bool
    names = getattr(model, "feature_names_in_", None)
    named = names is None or (names.shape == shape and all(isinstance(name, str) for name in names.tolist()))
    return _first_fault(
        (named, "the names of the columns are not one text for each"),
        (all(array is None or _is_finite(array, shape) for array in numbers), "numbers per column"),
        (switches, "with_mean and with_std are not true or false"),
        (not model.with_mean or model.mean_ is not None, "mean_ is missing"),
        (not model.with_std or (model.scale_ is not None and bool(np.all(model.scale_ != 0))), "scale_ is missing, or 0"),
    )


def require_two_classes(classes: AnyArray) -> None:
    """Raise ``ModelFileError`` for classes that no model has."""
    if not (classes.shape == (2,) and _are_classes(classes.tolist())):
        raise ModelFileError(f"classes_ is {classes!r:.80}, which are not two classes.")


def require_several_classes(classes: AnyArray) -> None:
    """Raise ``ModelFileError`` for classes that no model of more than two has."""
    if not (classes.ndim == 1 and classes.size > 2 and _are_classes(classes.tolist())):
        raise ModelFileError(f"classes_ is {classes!r:.80}, which are not several classes.")


def _are_classes(values: list[Any]) -> bool:
    same_kind = len({type(value) for value in values}) == 1 and type(values[0]) in (str, bool, int, float)
    return same_kind and len(set(values)) == len(values)


def _first_fault(*tests: tuple[Any, str]) -> str | None:
    return next((fault for passed, fault in tests if not passed), None)


def _is_finite(array: AnyArray, shape: tuple[int, ...]) -> bool:
    return array.shape == shape and array.dtype.kind in "fi" and bool(np.isfinite(array).all())


def _are_places(places: AnyArray, limit: int) -> bool:
    return places.ndim == 1 and (places.size == 0 or (int(places.min()) >= 0 and int(places.max()) < limit))


def _is_card_list(near: NearOptimalSet, n_columns: int) -> bool:
    cards = near.cards
    count = (len(cards.objectives),)
    return (
        cards.points.shape == (*count, n_columns)
        and cards.intercepts.shape == cards.multipliers.shape == count
        and len(near.names) == n_columns
    )


def _is_readable(column: BinaryColumn, numeric: bool) -> bool:
    if column.operator == ">=":
        return numeric and isinstance(column.value, float)
    if column.operator == "in":
        return isinstance(column.value, tuple) and not numeric
    return not isinstance(column.value, tuple) and (column.value is None) == (column.operator == "missing")


def _is_fill(fill: Level, column: ColumnSchema) -> bool:
    if fill is None:
        return True
    return isinstance(fill, float) and bool(np.isfinite(fill)) if column.kind == "numeric" else fill in column.levels


def _matches_columns(model: Any, schema: Schema) -> bool:
    if model.n_features_in_ != len(schema.columns):
        return False
    names = getattr(model, "feature_names_in_", None)
    if (names is None) == schema.named:
        return False
    return names is None or (names.shape == (len(schema.columns),) and tuple(names.tolist()) == schema.names)
